package memnet_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"tokentape/internal/memnet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func dial(t *testing.T, l *memnet.Listener) (client, server *memnet.Conn) {
	t.Helper()
	c, err := l.Dial(t.Context(), "tcp", "any:1")
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return c.(*memnet.Conn), s.(*memnet.Conn)
}

func TestAddresses(t *testing.T) {
	a, b := memnet.Listen(), memnet.Listen()
	c, s := dial(t, a)
	seen := map[string]bool{}
	for _, addr := range []net.Addr{a.Addr(), b.Addr(), c.LocalAddr()} {
		if seen[addr.String()] {
			t.Errorf("address %v twice", addr)
		}
		seen[addr.String()] = true
	}
	if c.RemoteAddr().String() != a.Addr().String() || s.RemoteAddr().String() != c.LocalAddr().String() {
		t.Errorf("ends disagree: %v->%v, %v->%v", c.LocalAddr(), c.RemoteAddr(), s.LocalAddr(), s.RemoteAddr())
	}
}

func TestEnds(t *testing.T) {
	tests := []struct {
		name      string
		end       func(*memnet.Conn)
		wantRead  string // what the peer still reads
		readErr   error
		writeErr  error // of the peer's next write
		ownRead   error
		ownWrite  error
		afterward bool // the peer's write succeeds
	}{
		{name: "Close", end: func(c *memnet.Conn) { c.Close() }, wantRead: "tail", readErr: io.EOF, writeErr: syscall.EPIPE, ownRead: net.ErrClosed, ownWrite: net.ErrClosed},
		{name: "CloseWrite", end: func(c *memnet.Conn) { c.CloseWrite() }, wantRead: "tail", readErr: io.EOF, afterward: true, ownWrite: syscall.EPIPE},
		{name: "CloseRead", end: func(c *memnet.Conn) { c.CloseRead(); c.CloseWrite() }, wantRead: "tail", readErr: io.EOF, afterward: true, ownRead: io.EOF, ownWrite: syscall.EPIPE},
		{name: "Reset", end: func(c *memnet.Conn) { c.Reset() }, readErr: syscall.ECONNRESET, writeErr: syscall.ECONNRESET, ownRead: net.ErrClosed, ownWrite: net.ErrClosed},
		{name: "Close then Reset", end: func(c *memnet.Conn) { c.Close(); c.Reset() }, readErr: syscall.ECONNRESET, writeErr: syscall.ECONNRESET, ownRead: net.ErrClosed, ownWrite: net.ErrClosed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := memnet.Listen()
			defer l.Close()
			c, s := dial(t, l)
			io.WriteString(c, "tail")
			tt.end(c)
			got, err := io.ReadAll(s)
			if err == nil {
				err = io.EOF
			}
			if string(got) != tt.wantRead || !errors.Is(err, tt.readErr) {
				t.Errorf("peer read %q, %v; want %q, %v", got, err, tt.wantRead, tt.readErr)
			}
			_, err = io.WriteString(s, "x")
			if tt.afterward != (err == nil) || !errors.Is(err, tt.writeErr) {
				t.Errorf("peer write: %v, want %v", err, tt.writeErr)
			}
			if tt.ownRead != nil {
				if _, err = c.Read(make([]byte, 1)); !errors.Is(err, tt.ownRead) {
					t.Errorf("own read: %v, want %v", err, tt.ownRead)
				}
			}
			if _, err = io.WriteString(c, "x"); !errors.Is(err, tt.ownWrite) {
				t.Errorf("own write: %v, want %v", err, tt.ownWrite)
			}
		})
	}
}

func TestListenerClose(t *testing.T) {
	l := memnet.Listen()
	c, err := l.Dial(t.Context(), "tcp", "x")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept: %v", err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read of a connection nobody accepted: %v", err)
	}
	if _, err := l.Dial(t.Context(), "tcp", "x"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("Dial: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := memnet.Listen().Dial(ctx, "tcp", "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("Dial with a done context: %v", err)
	}
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memnet.Listen()
		c, s := dial(t, l)
		start := time.Now()
		buf := make([]byte, 1)

		c.SetReadDeadline(start.Add(time.Second))
		if _, err := c.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("read: %v after %v", err, time.Since(start))
		}
		io.WriteString(s, "x")
		if _, err := c.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read past the deadline: %v", err)
		}
		c.SetReadDeadline(time.Time{})
		if _, err := c.Read(buf); err != nil {
			t.Errorf("read without a deadline: %v", err)
		}

		// A later deadline replaces an earlier one, which must not fire.
		c.SetDeadline(time.Now().Add(time.Second))
		c.SetDeadline(time.Now().Add(3 * time.Second))
		from := time.Now()
		if _, err := c.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(from) != 3*time.Second {
			t.Errorf("replaced deadline: %v after %v", err, time.Since(from))
		}

		// net/http's server aborts a read this way.
		c.SetDeadline(time.Time{})
		from = time.Now()
		time.AfterFunc(time.Second, func() { c.SetReadDeadline(time.Unix(1, 0)) })
		if _, err := c.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(from) != time.Second {
			t.Errorf("deadline in the past: %v after %v", err, time.Since(from))
		}

		c.SetWriteDeadline(time.Now().Add(time.Second))
		n, err := c.Write(make([]byte, memnet.Window+1))
		if n != memnet.Window || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write into a full window: %d, %v", n, err)
		}
		c.SetDeadline(time.Now().Add(time.Hour))
		c.Close() // the timers must not outlive the bubble
		s.Close()
	})
}

// A waiting reader and a waiting writer are woken by every kind of end.
func TestWaitersWake(t *testing.T) {
	for name, end := range map[string]func(c, s *memnet.Conn){
		"own close":  func(c, s *memnet.Conn) { c.Close() },
		"peer close": func(c, s *memnet.Conn) { s.Close() },
		"reset":      func(c, s *memnet.Conn) { s.Reset() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := dial(t, memnet.Listen())
				var wg sync.WaitGroup
				wg.Go(func() {
					if _, err := c.Read(make([]byte, 1)); err == nil {
						t.Error("read without data")
					}
				})
				wg.Go(func() {
					if _, err := c.Write(make([]byte, 2*memnet.Window)); err == nil {
						t.Error("write without a reader")
					}
				})
				synctest.Wait()
				end(c, s)
				wg.Wait()
			})
		})
	}
}

// Ten megabytes through a window of one, in odd pieces, come out as they went in.
func TestWindowKeepsOrder(t *testing.T) {
	c, s := dial(t, memnet.Listen())
	want := make([]byte, 10<<20)
	rand.Read(want)
	go func() {
		for rest := want; len(rest) > 0; {
			k := min(len(rest), 77_777)
			c.Write(rest[:k])
			rest = rest[k:]
		}
		c.Close()
	}()
	var got bytes.Buffer
	if _, err := io.CopyBuffer(struct{ io.Writer }{&got}, struct{ io.Reader }{s}, make([]byte, 33_333)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Error("bytes changed on the way")
	}
}

// The reason for this package: a real client and a real server in virtual time,
// 200 streams, every event at its nanosecond.
func TestHTTPStreamsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const streams, events = 200, 50
		gap := func(i int) time.Duration { return time.Duration(1_000_003 + 7*i) }
		l := memnet.Listen()
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var i int
			fmt.Sscan(r.Header.Get("I"), &i)
			w.Header().Set("Content-Type", "text/event-stream")
			for k := range events {
				time.Sleep(gap(i))
				fmt.Fprintf(w, "data: %d\n\n", k)
				w.(http.Flusher).Flush()
			}
		})}
		go srv.Serve(l)
		tr := &http.Transport{DialContext: l.Dial, MaxIdleConnsPerHost: streams}
		start := time.Now()
		var wg sync.WaitGroup
		for i := range streams {
			wg.Go(func() {
				req, _ := http.NewRequest("POST", "http://sim/", strings.NewReader("{}"))
				req.Header.Set("I", fmt.Sprint(i))
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				in := bufio.NewScanner(resp.Body)
				k := 0
				for in.Scan() {
					if in.Text() == "" {
						continue
					}
					if want := fmt.Sprintf("data: %d", k); in.Text() != want {
						t.Errorf("stream %d: %q, want %q", i, in.Text(), want)
					}
					k++
					if at, want := time.Since(start), time.Duration(k)*gap(i); at != want {
						t.Errorf("stream %d event %d at %d, want %d", i, k, at, want)
					}
				}
				if k != events || in.Err() != nil {
					t.Errorf("stream %d: %d events, %v", i, k, in.Err())
				}
			})
		}
		wg.Wait()
		tr.CloseIdleConnections()
		srv.Close()
	})
}
