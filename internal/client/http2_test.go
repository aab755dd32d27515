package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
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

// serveHTTP2 is a TLS server of net/http that speaks HTTP/2 with the given limit.
func serveHTTP2(t testing.TB, streams int, h http.HandlerFunc) *httptest.Server {
	srv := httptest.NewUnstartedServer(h)
	srv.EnableHTTP2 = true
	srv.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: streams}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv
}

// A23: six requests of 200 ms where a connection takes two. They run side by side
// on further connections, or wait for a stream before GotConn: never after it.
func TestHTTP2Streams(t *testing.T) {
	var now, peak atomic.Int64
	srv := serveHTTP2(t, 2, func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
		}
		time.Sleep(200 * time.Millisecond)
		now.Add(-1)
		io.WriteString(w, r.Proto)
	})
	c := New(Config{Clock: clock.New(), Insecure: true, HTTP2: true})
	defer c.Close()
	var wg sync.WaitGroup
	begun := c.cfg.Clock.Now()
	for range 6 {
		wg.Go(func() {
			var tr Trace
			resp, err := c.Do(t.Context(), "POST", srv.URL, nil, []byte("{}"), &tr)
			if err != nil {
				t.Error(err)
				return
			}
			if body := finish(t, resp); body != "HTTP/2.0" || resp.Proto != "HTTP/2.0" {
				t.Errorf("%q, %q", body, resp.Proto)
			}
			order := []int64{begun, tr.GotConn, tr.WroteFirst, tr.Headers}
			if !slices.IsSorted(order) || tr.Sent != 2 || tr.ConnID < 1 || tr.Remote != strings.TrimPrefix(srv.URL, "https://") {
				t.Errorf("%+v", tr)
			}
			// 200 ms of service, whatever the wait for a stream: it is in GotConn.
			if served := tr.Headers - tr.GotConn; served > 350*ms {
				t.Errorf("%d ms between the stream and the answer: a wait is hidden there", served/ms)
			}
		})
	}
	wg.Wait()
	took := c.cfg.Clock.Now() - begun
	t.Logf("peak %d, wall %d ms", peak.Load(), took/ms)
	if peak.Load() < 2 || took > 1500*ms {
		t.Errorf("peak %d, wall %d ms", peak.Load(), took/ms)
	}
	if c.ReadStamp() != StampBody {
		t.Errorf("read stamp %q", c.ReadStamp())
	}
}

// A23: RST_STREAM fails the request that it is for and no other.
func TestHTTP2Reset(t *testing.T) {
	srv := serveHTTP2(t, 100, func(w http.ResponseWriter, r *http.Request) {
		for range 2 {
			io.WriteString(w, "data: token\n\n")
			w.(http.Flusher).Flush()
		}
		if r.URL.Path == "/bad" {
			panic(http.ErrAbortHandler) // RST_STREAM, INTERNAL_ERROR
		}
		time.Sleep(50 * time.Millisecond)
		io.WriteString(w, "data: [DONE]\n\n")
	})
	c := New(Config{Clock: clock.New(), Insecure: true, HTTP2: true})
	defer c.Close()
	conns := map[int64]bool{}
	var mu sync.Mutex
	do := func(path string) (string, error) {
		var tr Trace
		resp, err := c.Do(t.Context(), "POST", srv.URL+path, nil, []byte("{}"), &tr)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		mu.Lock()
		conns[tr.ConnID] = true
		mu.Unlock()
		data, stamps, _, err := readAll(t, resp.Body, 1000)
		if !slices.IsSorted(append(append([]int64{tr.Headers}, stamps...), resp.Body.Last(), c.cfg.Clock.Now())) || !resp.Body.Approximate() {
			t.Errorf("%s: stamps out of order: %+v, %v, %d", path, tr, stamps, resp.Body.Last())
		}
		return string(data), err
	}
	if _, err := do("/first"); err != nil { // so that the others share its connection
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			if i == 2 {
				data, err := do("/bad")
				if Classify(err) != ClassReset || !strings.Contains(err.Error(), "INTERNAL_ERROR") || strings.Count(data, "token") != 2 {
					t.Errorf("%q, %v (%v)", data, err, Classify(err))
				}
				return
			}
			if data, err := do("/good"); err != nil || !strings.Contains(data, "[DONE]") {
				t.Errorf("%q, %v", data, err)
			}
		})
	}
	wg.Wait()
	if len(conns) != 1 {
		t.Errorf("%d connections: the streams did not share one", len(conns))
	}
}

// frames is a server of HTTP/2 written by hand, with prior knowledge.
type frames struct {
	nc net.Conn
	mu sync.Mutex
}

func (f *frames) write(kind, flags byte, stream uint32, payload string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	head := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	_, _ = f.nc.Write(append(binary.BigEndian.AppendUint32(head, stream), payload...))
}

const (
	frameData, frameHeaders, frameReset, frameSettings, framePing, frameGoAway = 0, 1, 3, 4, 6, 7

	endStream, endHeaders, ack = 1, 4, 1
	status200                  = "\x88" // HPACK, static table
)

// read calls request for every stream whose request is complete.
func (f *frames) read(request func(stream uint32)) {
	preface := make([]byte, 24)
	if _, err := io.ReadFull(f.nc, preface); err != nil {
		return
	}
	f.write(frameSettings, 0, 0, "")
	for head := make([]byte, 9); ; {
		if _, err := io.ReadFull(f.nc, head); err != nil {
			return
		}
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(f.nc, payload); err != nil {
			return
		}
		kind, flags, stream := head[3], head[4], binary.BigEndian.Uint32(head[5:])
		switch {
		case kind == frameSettings && flags&ack == 0:
			f.write(frameSettings, ack, 0, "")
		case kind == framePing && flags&ack == 0:
			f.write(framePing, ack, 0, string(payload))
		case (kind == frameData || kind == frameHeaders) && flags&endStream != 0:
			request(stream)
		}
	}
}

func startFrames(t testing.TB, serve func(f *frames, n int, stream uint32)) *Client {
	l := memnet.Listen()
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			n := 0
			wg.Go(func() {
				defer nc.Close()
				f := &frames{nc: nc}
				f.read(func(stream uint32) {
					i := n
					n++
					wg.Go(func() { serve(f, i, stream) })
				})
			})
		}
	})
	c := New(Config{Clock: clock.New(), Dial: l.Dial, HTTP2: true})
	t.Cleanup(func() { c.Close(); l.Close(); wg.Wait() })
	return c
}

// HTTP/2 with prior knowledge: the stamp of a body's bytes is the return of Read.
func TestHTTP2Stamps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startFrames(t, func(f *frames, _ int, stream uint32) {
			time.Sleep(20 * time.Millisecond)
			f.write(frameHeaders, endHeaders, stream, status200)
			for range 3 {
				time.Sleep(10 * time.Millisecond)
				f.write(frameData, 0, stream, "data: x\n\n")
			}
			time.Sleep(5 * time.Millisecond)
			f.write(frameData, endStream, stream, "")
		})
		var tr Trace
		resp := post(t, c, &tr)
		data, stamps, _, err := readAll(t, resp.Body, 1000)
		want := slices.Concat(slices.Repeat([]int64{30 * ms}, 9), slices.Repeat([]int64{40 * ms}, 9), slices.Repeat([]int64{50 * ms}, 9))
		if len(data) != 27 || err != nil || !slices.Equal(stamps, want) || resp.Body.Last() != 55*ms {
			t.Errorf("%q, %v, %v, end %d", data, err, stamps, resp.Body.Last())
		}
		resp.Body.Close()
		if tr.GotConn != 0 || tr.WroteFirst != 0 || tr.Wrote != 0 || tr.Headers != 20*ms || tr.Sent != 7 || resp.Proto != "HTTP/2.0" {
			t.Errorf("%+v, %s", tr, resp.Proto)
		}
	})
}

// A23: GOAWAY fails the streams above its last id, and none below. The server
// reads every request once: nothing is sent again.
func TestHTTP2GoAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var read atomic.Int64
		c := startFrames(t, func(f *frames, n int, stream uint32) {
			read.Add(1)
			f.write(frameHeaders, endHeaders, stream, status200)
			time.Sleep(100 * time.Millisecond)
			if n == 2 { // the third stream is 5; it and no other is refused
				f.write(frameGoAway, 0, 0, string(binary.BigEndian.AppendUint32(nil, 3))+"\x00\x00\x00\x00")
				return
			}
			time.Sleep(100 * time.Millisecond)
			f.write(frameData, endStream, stream, fmt.Sprint(stream))
		})
		var wg sync.WaitGroup
		for i := range 3 {
			time.Sleep(time.Millisecond)
			wg.Go(func() {
				var tr Trace
				resp := post(t, c, &tr)
				defer resp.Body.Close()
				data, err := io.ReadAll(resp.Body)
				if i < 2 && (err != nil || string(data) != fmt.Sprint(2*i+1)) {
					t.Errorf("stream %d: %q, %v", i, data, err)
				}
				if i == 2 && (Classify(err) != ClassReset || !strings.Contains(err.Error(), "GOAWAY")) {
					t.Errorf("refused stream: %q, %v (%v)", data, err, Classify(err))
				}
			})
		}
		wg.Wait()
		if read.Load() != 3 {
			t.Errorf("the server read %d requests, want 3", read.Load())
		}
		var tr Trace
		resp := post(t, c, &tr) // a new connection
		if body := finish(t, resp); body != "1" || tr.ConnID != 2 {
			t.Errorf("%q, %+v", body, tr)
		}
	})
}

// A stream that the server refuses is a failure, not sent again in silence.
func TestHTTP2RefusedStream(t *testing.T) {
	for _, body := range []string{"{}", ""} {
		synctest.Test(t, func(t *testing.T) {
			var read atomic.Int64
			c := startFrames(t, func(f *frames, _ int, stream uint32) {
				read.Add(1)
				f.write(frameReset, 0, stream, "\x00\x00\x00\x07")
			})
			_, err := c.Do(t.Context(), "POST", "http://sim.test/", nil, []byte(body), new(Trace))
			if Classify(err) != ClassReset || read.Load() != 1 {
				t.Errorf("body %q: %v (%v), read %d times", body, err, Classify(err), read.Load())
			}
		})
	}
}

func TestHTTP2Cancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startFrames(t, func(f *frames, n int, stream uint32) {
			f.write(frameHeaders, endHeaders, stream, status200)
			time.Sleep(10 * time.Second)
			f.write(frameData, endStream, stream, "late")
		})
		why := errors.New("first token limit")
		ctx, cancel := context.WithCancelCause(t.Context())
		var tr, other Trace
		resp, err := c.Do(ctx, "POST", "http://sim.test/", nil, []byte("x"), &tr)
		if err != nil {
			t.Fatal(err)
		}
		second := post(t, c, &other)
		time.AfterFunc(time.Second, func() { cancel(why) })
		_, err = io.ReadAll(resp.Body)
		if Classify(err) != ClassCancelled || !errors.Is(err, why) || c.cfg.Clock.Now() != 1000*ms {
			t.Errorf("%v at %d", err, c.cfg.Clock.Now())
		}
		resp.Body.Close()
		if body := finish(t, second); body != "late" || other.ConnID != tr.ConnID || !other.Reused {
			t.Errorf("%q, %+v", body, other)
		}
	})
}

// HTTP/2 that was asked for is spoken or refused, never replaced in silence.
func TestHTTP2Missing(t *testing.T) {
	quiet := log.New(io.Discard, "", 0)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = quiet
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewUnstartedServer(http.NotFoundHandler())
	plain.Config.ErrorLog = quiet
	plain.Start()
	defer plain.Close()
	for _, url := range []string{secure.URL, plain.URL} {
		c := New(Config{Clock: clock.New(), Insecure: true, HTTP2: true})
		defer c.Close()
		_, err := c.Do(t.Context(), "POST", url, nil, []byte("{}"), new(Trace))
		if err == nil || !strings.Contains(err.Error(), `target.http: "1.1"`) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// What is no HTTP/2 in answer to a request that waits for its header breaks the
// connection: no failure to connect, and nothing that may be sent again in silence.
func TestHTTP2Broken(t *testing.T) {
	const frameContinuation, frameWindow = 9, 8
	for name, answer := range map[string]func(f *frames, stream uint32){
		"garbage": func(f *frames, _ uint32) { io.WriteString(f.nc, strings.Repeat("\xffgarbage", 20)) },
		"window":  func(f *frames, _ uint32) { f.write(frameWindow, 0, 0, "\x7f\xff\xff\xff") },
		"other stream": func(f *frames, stream uint32) {
			f.write(frameHeaders, 0, stream, status200)
			f.write(frameData, 0, stream, "x")
		},
		"half a frame": func(f *frames, _ uint32) { io.WriteString(f.nc, "\x00\x00\x09"); f.nc.Close() },
		"continuations": func(f *frames, stream uint32) {
			f.write(frameHeaders, 0, stream, status200)
			for range 200 {
				f.write(frameContinuation, 0, stream, "\x00\x01a\x7f\x81\x3e"+strings.Repeat("x", 8000)+"")
			}
			f.nc.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var read atomic.Int64
				c := startFrames(t, func(f *frames, _ int, stream uint32) { read.Add(1); answer(f, stream) })
				var tr Trace
				_, err := c.Do(t.Context(), "POST", "http://sim.test/", nil, []byte("{}"), &tr)
				if class := Classify(err); class != ClassReset && class != ClassEOF || read.Load() != 1 {
					t.Errorf("%v (%v), read %d times, %+v", err, class, read.Load(), tr)
				}
			})
		})
	}
}
