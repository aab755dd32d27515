package client

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"tokentape/internal/clock"
)

// streamConn answers every request with one prepared response, an event a read,
// so that a benchmark sees the client alone.
type streamConn struct {
	net.Conn
	response []string
	next     chan struct{}
	at       int
}

func (c *streamConn) Write(p []byte) (int, error) {
	if strings.HasSuffix(string(p), "\r\n\r\n{}") {
		c.next <- struct{}{}
	}
	return len(p), nil
}

func (c *streamConn) Read(p []byte) (int, error) {
	if c.at == 0 {
		if _, ok := <-c.next; !ok {
			return 0, io.EOF
		}
	}
	n := copy(p, c.response[c.at])
	c.at = (c.at + 1) % len(c.response)
	return n, nil
}

func (c *streamConn) Close() error {
	defer func() { _ = recover() }() // closed twice
	close(c.next)
	return nil
}

func (c *streamConn) RemoteAddr() net.Addr { return &net.TCPAddr{} }

const benchEvent = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" token"},"finish_reason":null}]}` + "\n\n"

func benchResponse(events int) []string {
	out := []string{chunkedHead}
	for range events {
		out = append(out, chunk(benchEvent))
	}
	return append(out, "0\r\n\r\n")
}

func benchStream(b *testing.B, do func(dial func(context.Context, string, string) (net.Conn, error)) func() int) {
	const events = 1000
	response := benchResponse(events)
	run := do(func(context.Context, string, string) (net.Conn, error) {
		return &streamConn{response: response, next: make(chan struct{}, 1)}, nil
	})
	b.ReportAllocs()
	for b.Loop() {
		if n := run(); n != events*len(benchEvent) {
			b.Fatal(n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
}

// BenchmarkStream reads a stream of 1000 events, an event a read.
func BenchmarkStream(b *testing.B) {
	buf := make([]byte, 16<<10)
	benchStream(b, func(dial func(context.Context, string, string) (net.Conn, error)) func() int {
		c := New(Config{Clock: clock.New(), Dial: dial})
		b.Cleanup(c.Close)
		return func() (total int) {
			resp, err := c.Do(b.Context(), "POST", "http://sim.test/", nil, []byte("{}"), new(Trace))
			if err != nil {
				b.Fatal(err)
			}
			for {
				n, err := resp.Body.Read(buf)
				for _, m := range resp.Body.Marks() {
					total += m.N
				}
				_ = n
				if err != nil {
					break
				}
			}
			resp.Body.Close()
			return total
		}
	})
}

// BenchmarkStreamBare is the same through net/http alone.
func BenchmarkStreamBare(b *testing.B) {
	buf := make([]byte, 16<<10)
	benchStream(b, func(dial func(context.Context, string, string) (net.Conn, error)) func() int {
		tr := &http.Transport{DialContext: dial, DisableCompression: true}
		b.Cleanup(tr.CloseIdleConnections)
		return func() (total int) {
			req, _ := http.NewRequest("POST", "http://sim.test/", strings.NewReader("{}"))
			resp, err := tr.RoundTrip(req)
			if err != nil {
				b.Fatal(err)
			}
			for err == nil {
				var n int
				n, err = resp.Body.Read(buf)
				total += n
			}
			resp.Body.Close()
			return total
		}
	})
}

// TestStreamAllocations: what a stream allocates does not grow with its events.
func TestStreamAllocations(t *testing.T) {
	count := func(events int) float64 {
		response := benchResponse(events)
		c := New(Config{Clock: clock.New(), Dial: func(context.Context, string, string) (net.Conn, error) {
			return &streamConn{response: response, next: make(chan struct{}, 1)}, nil
		}})
		defer c.Close()
		buf := make([]byte, 16<<10)
		return testing.AllocsPerRun(10, func() {
			resp, err := c.Do(t.Context(), "POST", "http://sim.test/", nil, []byte("{}"), new(Trace))
			if err != nil {
				t.Fatal(err)
			}
			for err == nil {
				_, err = resp.Body.Read(buf)
			}
			resp.Body.Close()
		})
	}
	if few, many := count(100), count(5000); many > few+10 {
		t.Errorf("%v allocations for 100 events, %v for 5000", few, many)
	}
}
