package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/clock"
	"tokentape/internal/memnet"
)

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

func finish(t testing.TB, resp *Response) string {
	t.Helper()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	resp.Body.Close()
	return string(data)
}

// Every stamp belongs to its own request, on a new and on a reused connection.
func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveRaw(segments(segment{20 * time.Millisecond, "HTTP/1.1 200 OK\r\n"}, segment{5 * time.Millisecond, "Content-Length: 2\r\n\r\nok"}))
		c := New(Config{Clock: clock.New(), MaxIdle: 1, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			time.Sleep(3 * time.Millisecond)
			nc, err := s.l.Dial(ctx, network, addr)
			return slowConn{nc}, err
		}})
		t.Cleanup(func() { c.Close(); s.stop() })
		var first, second Trace
		finish(t, post(t, c, &first))
		time.Sleep(time.Second)
		finish(t, post(t, c, &second))
		remote := s.l.Addr().String()
		// The header and body fit one write, which takes 7 ms; the server has the bytes at its start.
		want := []Trace{
			{GotConn: 3 * ms, WroteFirst: 10 * ms, Wrote: 10 * ms, Headers: 23 * ms, ConnID: 1, Remote: remote, Sent: first.Sent, DNS: -1, Dial: 3 * ms, TLS: -1},
			{GotConn: 1028 * ms, WroteFirst: 1035 * ms, Wrote: 1035 * ms, Headers: 1048 * ms, ConnID: 1, Remote: remote, Sent: first.Sent, Reused: true, DNS: -1, Dial: -1, TLS: -1},
		}
		for i, got := range []Trace{first, second} {
			if got != want[i] {
				t.Errorf("request %d:\n%+v, want\n%+v", i, got, want[i])
			}
		}
		if first.Sent < 50 {
			t.Errorf("Sent %d", first.Sent)
		}
	})
}

// slowConn returns from a write 7 ms after the bytes are on their way.
type slowConn struct{ net.Conn }

func (c slowConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	time.Sleep(7 * time.Millisecond)
	return n, err
}

// The answer overtakes the return of the write that it answers.
func TestTraceOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveRaw(segments(segment{2 * time.Millisecond, okAnswer}))
		c := New(Config{Clock: clock.New(), Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := s.l.Dial(ctx, network, addr)
			return slowConn{nc}, err
		}})
		t.Cleanup(func() { c.Close(); s.stop() })
		var tr Trace
		finish(t, post(t, c, &tr))
		if tr.WroteFirst != 2*ms || tr.Wrote != 2*ms || tr.Headers != 2*ms {
			t.Errorf("%+v", tr)
		}
		time.Sleep(time.Second)
	})
}

// A long body takes several writes; first and last are told apart.
func TestTraceLongBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveRaw(segments(segment{time.Second, okAnswer}))
		c := New(Config{Clock: clock.New(), Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := s.l.Dial(ctx, network, addr)
			return slowConn{nc}, err
		}})
		t.Cleanup(func() { c.Close(); s.stop() })
		body := strings.Repeat("x", 200_000)
		var tr Trace
		resp, err := c.Do(t.Context(), "POST", "http://sim.test/", nil, []byte(body), &tr)
		if err != nil {
			t.Fatal(err)
		}
		finish(t, resp)
		if tr.WroteFirst != 7*ms || tr.Wrote <= tr.WroteFirst || tr.Wrote >= tr.Headers || tr.Sent < 200_000 || s.bodies[0] != body {
			t.Errorf("%+v", tr)
		}
	})
}

func TestRequestHeader(t *testing.T) {
	tests := []struct {
		name   string
		url    string
		header http.Header
		want   http.Header // without Content-Length
	}{
		{name: "nothing added", url: "http://h/", want: http.Header{"Accept-Encoding": {"identity"}}},
		{
			name: "as given", url: "http://h/",
			header: http.Header{"accept-encoding": {"gzip"}, "User-Agent": {"me"}, "X-A": {"1", "2"}, "Content-Type": {"application/json"}},
			want:   http.Header{"Accept-Encoding": {"gzip"}, "User-Agent": {"me"}, "X-A": {"1", "2"}, "Content-Type": {"application/json"}},
		},
		{name: "user of the URL", url: "http://u:p@h/", want: http.Header{"Accept-Encoding": {"identity"}, "Authorization": {"Basic dTpw"}}},
		{
			name: "header wins over the URL", url: "http://u:p@h/", header: http.Header{"Authorization": {"Bearer x"}},
			want: http.Header{"Accept-Encoding": {"identity"}, "Authorization": {"Bearer x"}},
		},
		{
			name: "idempotency keys", url: "http://h/", header: http.Header{"Idempotency-Key": {"a"}, "X-Idempotency-Key": {"b"}},
			want: http.Header{"Accept-Encoding": {"identity"}, "Idempotency-Key": {"a"}, "X-Idempotency-Key": {"b"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serveRaw(segments(segment{0, okAnswer}))
				c := start(t, s)
				for _, body := range []string{"{}", ""} {
					resp, err := c.Do(t.Context(), "POST", tt.url, tt.header, []byte(body), new(Trace))
					if err != nil {
						t.Fatal(err)
					}
					finish(t, resp)
				}
				for i, length := range []string{"2", "0"} {
					got := s.headers[i]
					if got.Get("Content-Length") != length {
						t.Errorf("Content-Length %q, want %s", got.Get("Content-Length"), length)
					}
					got.Del("Content-Length")
					if !reflect.DeepEqual(got, tt.want) {
						t.Errorf("the server saw %v, want %v", got, tt.want)
					}
				}
			})
		})
	}
}

func TestHostHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var host string
		c := start(t, serveRaw(func(_ int, r *http.Request, nc *memnet.Conn) bool {
			host = r.Host
			io.WriteString(nc, okAnswer)
			return true
		}))
		resp, err := c.Do(t.Context(), "POST", "http://10.0.0.1:80/", http.Header{"Host": {"model.example"}}, nil, new(Trace))
		if err != nil {
			t.Fatal(err)
		}
		if finish(t, resp); host != "model.example" {
			t.Errorf("Host %q", host)
		}
	})
}

// D10: reused connections that the server closes after reading the request. The
// server must read every request once, whatever tempts net/http to replay.
func TestNoReplay(t *testing.T) {
	keys := http.Header{"Idempotency-Key": {"x"}, "X-Idempotency-Key": {"x"}}
	endings := map[string]func(*memnet.Conn){
		"closed": func(nc *memnet.Conn) {},
		"reset":  func(nc *memnet.Conn) { nc.Reset() },
	}
	for _, method := range []string{"POST", "PUT", "GET", "HEAD", "OPTIONS", "DELETE"} {
		for _, body := range []string{"", `{"a":1}`} {
			for name, ending := range endings {
				t.Run(fmt.Sprintf("%s %q %s", method, body, name), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := serveRaw(func(n int, _ *http.Request, nc *memnet.Conn) bool {
							if n%2 == 1 { // on the reused connection
								ending(nc)
								return false
							}
							io.WriteString(nc, "HTTP/1.1 204 No Content\r\n\r\n")
							return true
						})
						c := start(t, s)
						for i := range 20 {
							var tr Trace
							resp, err := c.Do(t.Context(), method, "http://sim.test/", keys, []byte(body), &tr)
							if err == nil {
								finish(t, resp)
							}
							if i%2 == 1 {
								if want := map[string]Class{"closed": ClassEOF, "reset": ClassReset}[name]; err == nil || Classify(err) != want || !tr.Reused {
									t.Errorf("request %d: %v (%v), %+v", i, err, Classify(err), tr)
								}
							} else if err != nil {
								t.Errorf("request %d: %v", i, err)
							}
						}
						if s.requests != 20 || s.headers[0].Get("Idempotency-Key") != "x" {
							t.Errorf("the server read %d requests, want 20; header %v", s.requests, s.headers[0])
						}
					})
				})
			}
		}
	}
}

// B16: the server closes idle connections after 50 ms, a request every 100 ms.
func TestServerClosesIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveRaw(func(_ int, _ *http.Request, nc *memnet.Conn) bool {
			io.WriteString(nc, okAnswer)
			nc.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			return true
		})
		c := start(t, s)
		for i := range 20 {
			var tr Trace
			finish(t, post(t, c, &tr))
			if tr.Reused || tr.ConnID != int64(i+1) {
				t.Errorf("request %d: %+v", i, tr)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if s.requests != 20 || s.conns != 20 {
			t.Errorf("%d requests on %d connections, want 20 and 20", s.requests, s.conns)
		}
	})
}

// A reused connection on which not a byte can be written is passed over.
func TestDeadIdleConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveRaw(segments(segment{0, okAnswer}))
		dials := 0
		c := New(Config{Clock: clock.New(), Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := s.l.Dial(ctx, network, addr)
			dials++
			return &oneWrite{Conn: nc, dead: dials <= 1}, err
		}})
		t.Cleanup(func() { c.Close(); s.stop() })
		var tr Trace
		finish(t, post(t, c, &tr))
		finish(t, post(t, c, &tr)) // the connection dies under this one
		if s.requests != 2 || tr.Reused || tr.ConnID != 2 || tr.Sent == 0 {
			t.Errorf("%d requests, %+v", s.requests, tr)
		}
	})
}

// oneWrite fails after its first write without writing anything, if it is dead.
type oneWrite struct {
	net.Conn
	dead bool
	n    int
}

func (c *oneWrite) Write(p []byte) (int, error) {
	if c.n++; c.dead && c.n > 1 {
		return 0, errors.New("gone")
	}
	return c.Conn.Write(p)
}

func TestIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveRaw(segments(segment{0, okAnswer}))
		c := start(t, s)
		var tr Trace
		for _, wait := range []time.Duration{0, 3900 * time.Millisecond, 4100 * time.Millisecond} {
			time.Sleep(wait)
			finish(t, post(t, c, &tr))
		}
		if s.conns != 2 || tr.Reused {
			t.Errorf("%d connections, want 2: 4 s of idleness by default; %+v", s.conns, tr)
		}
	})
}

func TestRedirectIsAResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveRaw(segments(segment{0, "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://else.test/\r\nContent-Length: 0\r\n\r\n"}))
		c := start(t, s)
		resp := post(t, c, new(Trace))
		finish(t, resp)
		simple, err := c.Get(t.Context(), "http://sim.test/v1/models", nil, 100)
		if resp.Status != 307 || resp.Header.Get("Location") == "" || err != nil || simple.Status != 307 || s.requests != 2 {
			t.Errorf("%d, %v %v, %d requests", resp.Status, simple, err, s.requests)
		}
	})
}

// A cancelled request takes its own connection with it and no other.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("first token limit")
		s := serveRaw(func(n int, r *http.Request, nc *memnet.Conn) bool {
			io.WriteString(nc, chunkedHead+chunk("a"))
			time.Sleep(10 * time.Second)
			io.WriteString(nc, chunk("b")+"0\r\n\r\n")
			return true
		})
		c := start(t, s)
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				var tr Trace
				resp, err := c.Do(ctx, "POST", "http://sim.test/", nil, []byte("x"), &tr)
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				if i == 0 {
					time.AfterFunc(3*time.Second, func() { cancel(why) })
				}
				data, err := io.ReadAll(resp.Body)
				at := c.cfg.Clock.Now()
				if i == 0 && (string(data) != "a" || Classify(err) != ClassCancelled || !errors.Is(err, why) || at != 3000*ms) {
					t.Errorf("cancelled: %q, %v at %d", data, err, at)
				}
				if i == 1 && (string(data) != "ab" || err != nil || at != 10000*ms) {
					t.Errorf("the other: %q, %v at %d", data, err, at)
				}
			})
		}
		wg.Wait()
	})
}

func TestCancelWhileWaitingForHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("enough")
		c := start(t, serveRaw(segments(segment{time.Minute, okAnswer})))
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		var tr Trace
		_, err := c.Do(ctx, "POST", "http://sim.test/", nil, []byte("x"), &tr)
		if Classify(err) != ClassCancelled || !errors.Is(err, why) || c.cfg.Clock.Now() != 1000*ms || tr.Headers != -1 || tr.WroteFirst != 0 {
			t.Errorf("%v at %d, %+v", err, c.cfg.Clock.Now(), tr)
		}
		// A request that never started.
		if _, err = c.Do(ctx, "POST", "http://sim.test/", nil, nil, &tr); Classify(err) != ClassCancelled || tr.GotConn != -1 {
			t.Errorf("%v, %+v", err, tr)
		}
	})
}

// Close of a body that is nearly over keeps the connection; of one that is not,
// it costs 50 ms and the connection.
func TestBodyCloseDrains(t *testing.T) {
	for _, tt := range []struct {
		name  string
		rest  segment
		reuse bool
		takes time.Duration
	}{
		{"rest comes at once", segment{time.Microsecond, "0\r\n\r\n"}, true, time.Microsecond},
		{"rest comes soon", segment{30 * time.Millisecond, "0\r\n\r\n"}, true, 30 * time.Millisecond},
		{"rest comes late", segment{time.Minute, "0\r\n\r\n"}, false, 50 * time.Millisecond},
		{"rest is long", segment{time.Microsecond, strings.Repeat(chunk(strings.Repeat("x", 1000)), 100)}, false, time.Microsecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serveRaw(segments(segment{0, chunkedHead + chunk("data: [DONE]\n\n")}, tt.rest))
				c := start(t, s)
				var tr Trace
				resp := post(t, c, &tr)
				if n, err := resp.Body.Read(make([]byte, 100)); n != 14 || err != nil {
					t.Fatal(n, err)
				}
				from := time.Now()
				resp.Body.Close()
				if d := time.Since(from); d != tt.takes {
					t.Errorf("Close took %v, want %v", d, tt.takes)
				}
				if _, err := resp.Body.Read(make([]byte, 1)); err == nil {
					t.Error("a closed body can be read")
				}
				_ = post(t, c, &tr)
				if tr.Reused != tt.reuse {
					t.Errorf("reused %v, want %v", tr.Reused, tt.reuse)
				}
			})
		})
	}
}

// Close ends what is in flight and leaves nothing behind (goleak, the bubble).
func TestClientClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveRaw(segments(segment{0, chunkedHead}, segment{time.Hour, "0\r\n\r\n"}))
		c := start(t, s)
		resp := post(t, c, new(Trace))
		time.AfterFunc(time.Second, c.Close)
		_, err := io.ReadAll(resp.Body)
		if !errors.Is(err, ErrClosed) || Classify(err) != ClassCancelled || c.cfg.Clock.Now() != 1000*ms {
			t.Errorf("%v at %d", err, c.cfg.Clock.Now())
		}
		resp.Body.Close()
		if _, err = c.Do(t.Context(), "POST", "http://sim.test/", nil, nil, new(Trace)); !errors.Is(err, ErrClosed) {
			t.Errorf("Do after Close: %v", err)
		}
		if _, err = c.Get(t.Context(), "http://sim.test/", nil, 1); !errors.Is(err, ErrClosed) {
			t.Errorf("Get after Close: %v", err)
		}
	})
}

// Close ends a dial that nothing else would end.
func TestCloseWhileDialling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{Clock: clock.New(), Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		time.AfterFunc(time.Second, c.Close)
		_, err := c.Do(t.Context(), "POST", "http://sim.test/", nil, nil, new(Trace))
		if !errors.Is(err, ErrClosed) || Classify(err) != ClassCancelled || c.cfg.Clock.Now() != 1000*ms {
			t.Errorf("%v at %d", err, c.cfg.Clock.Now())
		}
	})
}

// Real sockets, many at once: every stamp in its order, every answer whole, and
// most requests on a connection that was there. How many dials are begun before an
// idle connection comes back is up to the scheduler.
func TestConcurrent(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for range 20 {
			io.WriteString(w, "data: x\n\n")
			w.(http.Flusher).Flush()
		}
	}))
	defer srv.Close()
	const workers, each = 16, 20
	c := New(Config{Clock: clock.New(), MaxIdle: workers})
	defer c.Close()
	var wg sync.WaitGroup
	var reused atomic.Int64
	for range workers {
		wg.Go(func() {
			for range each {
				var tr Trace
				before := c.cfg.Clock.Now()
				resp, err := c.Do(t.Context(), "POST", srv.URL, nil, []byte("{}"), &tr)
				if err != nil {
					t.Error(err)
					return
				}
				if tr.Reused {
					reused.Add(1)
				}
				data, stamps, _, err := readAll(t, resp.Body, 4096)
				if len(data) != 180 || err != nil || resp.Body.Approximate() {
					t.Errorf("%d bytes, %v, approximate %v", len(data), err, resp.Body.Approximate())
				}
				order := append([]int64{before, tr.GotConn, tr.WroteFirst, tr.Wrote, tr.Headers}, append(stamps, resp.Body.Last(), c.cfg.Clock.Now())...)
				if !slices.IsSorted(order) {
					t.Errorf("stamps out of order: %v", order)
				}
				resp.Body.Close()
			}
		})
	}
	wg.Wait()
	if n := reused.Load(); n < workers*each/2 {
		t.Errorf("%d of %d requests had a connection that was there", n, workers*each)
	}
}
