package client

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tokentape/internal/clock"
	"tokentape/internal/memnet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// segment is written After the one before it.
type segment struct {
	After time.Duration
	Data  string
}

// rawServer answers every request with what answer says, byte for byte.
type rawServer struct {
	l      *memnet.Listener
	answer func(n int, r *http.Request, c *memnet.Conn) (keep bool) // n counts the requests of all connections from 0

	wg       sync.WaitGroup
	mu       sync.Mutex
	requests int
	conns    int
	bodies   []string
	headers  []http.Header
}

func serveRaw(answer func(n int, r *http.Request, c *memnet.Conn) bool) *rawServer {
	s := &rawServer{l: memnet.Listen(), answer: answer}
	s.wg.Go(func() {
		for {
			c, err := s.l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns++
			s.mu.Unlock()
			s.wg.Go(func() { s.serve(c.(*memnet.Conn)) })
		}
	})
	return s
}

// stop waits until the last answer is written, which costs no time in a bubble.
func (s *rawServer) stop() {
	s.l.Close()
	s.wg.Wait()
}

func (s *rawServer) serve(c *memnet.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		n := s.requests
		s.requests++
		s.bodies = append(s.bodies, string(body))
		s.headers = append(s.headers, r.Header)
		s.mu.Unlock()
		if !s.answer(n, r, c) {
			return
		}
	}
}

// segments is an answer in segments.
func segments(segs ...segment) func(int, *http.Request, *memnet.Conn) bool {
	return func(_ int, _ *http.Request, c *memnet.Conn) bool { writeSegments(c, segs); return true }
}

func writeSegments(c net.Conn, segs []segment) {
	for _, s := range segs {
		time.Sleep(s.After)
		io.WriteString(c, s.Data)
	}
}

// start makes a client of s; both end with the test (inside its bubble).
func start(t testing.TB, s *rawServer) *Client {
	c := New(Config{Clock: clock.New(), Dial: s.l.Dial, MaxIdle: 8, Connect: 10 * time.Second})
	t.Cleanup(func() {
		c.Close()
		s.stop()
	})
	return c
}

// readAll reads a body with a buffer of size bytes and stamps every byte.
func readAll(t testing.TB, b *Body, size int) (data []byte, stamps, delivered []int64, err error) {
	t.Helper()
	buf := make([]byte, size)
	for {
		n, err := b.Read(buf)
		sum := 0
		for _, m := range b.Marks() {
			sum += m.N
			for range m.N {
				stamps = append(stamps, m.T)
				delivered = append(delivered, b.c.cfg.Clock.Now())
			}
		}
		if sum != n {
			t.Fatalf("Read gave %d bytes, its marks %d", n, sum)
		}
		data = append(data, buf[:n]...)
		if err == io.EOF {
			return data, stamps, delivered, nil
		}
		if err != nil {
			return data, stamps, delivered, err
		}
	}
}

func post(t testing.TB, c *Client, tr *Trace) *Response {
	t.Helper()
	resp, err := c.Do(t.Context(), "POST", "http://sim.test/v1/x", nil, []byte(`{"a":1}`), tr)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}
