package wirecase

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"tokentape/internal/clock"
)

// Play writes the answer to conn: each write is one segment. Times count from
// start, in nanoseconds of the clock. It reports whether the connection may
// carry another request; when it may not, it is closed. accept is the request's
// Accept-Encoding. It ends early when ctx is done or the peer has gone.
func (a *Answer) Play(ctx context.Context, clk *clock.Clock, conn net.Conn, accept string, start int64) (again bool) {
	defer func() {
		if !again {
			_ = conn.Close()
		}
	}()
	zip := a.Gzip.On && (!a.Gzip.Asked || strings.Contains(accept, "gzip"))
	head := a.Head
	if zip {
		head = bytes.Replace(head, []byte("\r\n\r\n"), []byte("\r\nContent-Encoding: gzip\r\n\r\n"), 1)
	}
	if len(head) > 0 {
		if _, err := conn.Write(head); err != nil {
			return false
		}
	}
	out := &body{a: a, conn: conn}
	if zip {
		out.zip = gzip.NewWriter(&out.held)
	}
	for i := range a.Steps {
		s := &a.Steps[i]
		for at, data := range s.writes() {
			if clk.SleepUntil(ctx, start+at) != nil || out.write(data, s.Raw) != nil {
				return false
			}
		}
		if s.End == EndNone {
			continue
		}
		if clk.SleepUntil(ctx, start+int64(s.At)) != nil {
			return false
		}
		return out.end(ctx, clk, s)
	}
	return false
}

// writes are the step's writes with their times in ns.
func (s *Step) writes() func(yield func(int64, []byte) bool) {
	return func(yield func(int64, []byte) bool) {
		switch {
		case s.End != EndNone:
		case s.Drip:
			for i := range s.Data {
				if !yield(int64(s.At)+int64(i)*int64(s.Every), s.Data[i:i+1]) {
					return
				}
			}
		default:
			for i := range s.Count {
				if !yield(int64(s.At)+int64(i)*int64(s.Every), s.Data) {
					return
				}
			}
		}
	}
}

// body is the body of an answer under way.
type body struct {
	a    *Answer
	conn net.Conn
	held bytes.Buffer // compressed, not yet written
	zip  *gzip.Writer
	sent int
}

func (b *body) write(data []byte, raw bool) error {
	if raw {
		_, err := b.conn.Write(data)
		return err
	}
	if b.zip != nil {
		_, _ = b.zip.Write(data) // into memory: cannot fail
		if b.a.Gzip.End {
			return nil
		}
		_ = b.zip.Flush()
		data = bytes.Clone(b.held.Bytes())
		b.held.Reset()
	}
	return b.chunk(data)
}

func (b *body) chunk(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	b.sent += len(data)
	if b.a.Framing == FramingChunked {
		framed := fmt.Appendf(make([]byte, 0, len(data)+20), "%x\r\n", len(data))
		data = append(append(framed, data...), "\r\n"...)
	}
	_, err := b.conn.Write(data)
	return err
}

// end ends the body as s says.
func (b *body) end(ctx context.Context, clk *clock.Clock, s *Step) (again bool) {
	switch s.End {
	case EndClean:
		if b.zip != nil {
			_ = b.zip.Close()
			if b.chunk(b.held.Bytes()) != nil {
				return false
			}
		}
		switch b.a.Framing {
		case FramingChunked:
			trailer := ""
			for _, line := range s.Trailer {
				trailer += line + "\r\n"
			}
			_, err := io.WriteString(b.conn, "0\r\n"+trailer+"\r\n")
			return err == nil
		case FramingLength:
			return true
		}
	case EndReset:
		reset(b.conn)
	case EndHang:
		if s.For > 0 {
			_ = clk.SleepUntil(ctx, clk.Now()+int64(s.For))
			return false
		}
		_, _ = io.Copy(io.Discard, b.conn) // until the peer, or Server.Close, closes it
	}
	return false
}

// reset closes conn with an RST.
func reset(conn net.Conn) {
	if c, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
		conn = c.NetConn()
	}
	switch c := conn.(type) {
	case interface{ SetLinger(int) error }: // TCP
		_ = c.SetLinger(0)
	case interface{ Reset() }: // in memory
		c.Reset()
	}
}

// Server plays answers on raw connections. The zero value of Other is 404.
type Server struct {
	Clock *clock.Clock
	// Pick is the answer to a request whose body was read to its end; nil hands
	// it to Other. It must be safe for concurrent use.
	Pick  func(r *http.Request, body []byte) *Answer
	Other http.Handler

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup
}

var errServerClosed = errors.New("the server was closed")

func (s *Server) enter(conn net.Conn) (context.Context, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false
	}
	if s.ctx == nil {
		s.ctx, s.cancel = context.WithCancelCause(context.Background())
		s.conns = map[net.Conn]struct{}{}
	}
	s.conns[conn] = struct{}{}
	s.wg.Add(1)
	return s.ctx, true
}

// Serve takes connections from l until it is closed.
func (s *Server) Serve(l net.Listener) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go s.Conn(conn, bufio.NewReader(conn), nil, nil)
	}
}

// Conn serves one connection until it ends. first, when not nil, is a request
// that was already read from it, with its body.
func (s *Server) Conn(conn net.Conn, r *bufio.Reader, first *http.Request, body []byte) {
	ctx, ok := s.enter(conn)
	if !ok {
		_ = conn.Close()
		return
	}
	defer s.wg.Done()
	defer func() {
		_ = conn.Close()
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
	}()
	for req := first; ; req, first = nil, nil {
		if req == nil {
			var err error
			if req, err = http.ReadRequest(r); err != nil {
				return
			}
			if body, err = io.ReadAll(io.LimitReader(req.Body, 64<<20)); err != nil {
				return
			}
			req.RemoteAddr = conn.RemoteAddr().String()
		}
		start := s.Clock.Now()
		if a := s.Pick(req, body); a != nil {
			if !a.Play(ctx, s.Clock, conn, req.Header.Get("Accept-Encoding"), start) {
				return
			}
			continue
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		if !s.other(conn, req.WithContext(ctx)) {
			return
		}
	}
}

// other answers by Other, whole.
func (s *Server) other(conn net.Conn, req *http.Request) (again bool) {
	w := &memory{header: http.Header{}, status: http.StatusOK}
	if s.Other != nil {
		s.Other.ServeHTTP(w, req)
	} else {
		http.NotFound(w, req)
	}
	resp := &http.Response{
		StatusCode: w.status, ProtoMajor: 1, ProtoMinor: 1, Header: w.header, Request: req,
		ContentLength: int64(w.body.Len()), Body: io.NopCloser(&w.body), Close: req.Close,
	}
	return resp.Write(conn) == nil && !req.Close
}

// Close closes all connections and waits for their ends. Listeners are closed by
// whoever opened them.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	if s.cancel != nil {
		s.cancel(errServerClosed)
	}
	for conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// memory is a response kept until it is whole.
type memory struct {
	header http.Header
	status int
	wrote  bool
	body   bytes.Buffer
}

func (m *memory) Header() http.Header { return m.header }

func (m *memory) WriteHeader(status int) {
	if !m.wrote {
		m.status, m.wrote = status, true
	}
}

func (m *memory) Write(b []byte) (int, error) {
	m.wrote = true
	return m.body.Write(b)
}
