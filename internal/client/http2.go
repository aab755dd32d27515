package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"

	"tokentape/internal/clock"
)

// stream is one request over HTTP/2, where a connection carries several and its
// bytes are frames: the stamps are those of net/http's trace.
type stream struct {
	clock *clock.Clock

	mu         sync.Mutex
	open       int64 // a stream of the connection was free for it
	wroteFirst int64
	wrote      int64
	headers    int64
	sent       int64 // bytes of the body that were handed to the connection
}

func newStream(clk *clock.Clock) *stream {
	return &stream{clock: clk, open: -1, wroteFirst: -1, wrote: -1, headers: -1}
}

// begun reports whether a byte of the request may have been sent.
func (s *stream) begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open >= 0
}

// hook sets the hooks. net/http encodes the header when it has a stream.
func (s *stream) hook(h *httptrace.ClientTrace) {
	once := func(at *int64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if *at < 0 {
			*at = s.clock.Now()
		}
	}
	h.WroteHeaderField = func(string, []string) { once(&s.open) }
	h.WroteHeaders = func() { once(&s.wroteFirst) }
	h.WroteRequest = func(info httptrace.WroteRequestInfo) {
		if info.Err == nil {
			once(&s.wrote)
		}
	}
	h.GotFirstResponseByte = func() { once(&s.headers) }
}

// body counts what the connection took of a request's body.
func (s *stream) body(r io.Reader) io.ReadCloser { return &sentBody{r, s} }

type sentBody struct {
	r io.Reader
	s *stream
}

func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.s.mu.Lock()
	b.s.sent += int64(n)
	b.s.mu.Unlock()
	return n, err
}

func (b *sentBody) Close() error { return nil }

func (s *stream) fill(tr *Trace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tr.GotConn, tr.WroteFirst, tr.Wrote, tr.Headers, tr.Sent = s.open, s.wroteFirst, s.wrote, s.headers, s.sent
	if tr.Headers >= 0 && (tr.WroteFirst < 0 || tr.WroteFirst > tr.Headers) {
		tr.WroteFirst = tr.Headers // the answer overtook the return of the write that it answers
	}
}

// maxFresh is how often another stream is taken when the connection ended before
// the request began, so that a server that ends every connection ends the request.
const maxFresh = 10

// doStream is Do over HTTP/2.
func (c *Client) doStream(ctx context.Context, cancel context.CancelCauseFunc, method string, target address, header http.Header, body []byte, tr *Trace) (*Response, error) {
	m := c.mux(c.load, target.url)
	for try := 1; ; try++ {
		g, err := m.acquire(ctx)
		if err != nil {
			return nil, c.failed(ctx, cancel, tr, target, err)
		}
		tr.took(g.l.cn, !g.first)
		st, hooks := newStream(c.cfg.Clock), new(httptrace.ClientTrace)
		st.hook(hooks)
		req := newRequest(httptrace.WithClientTrace(ctx, hooks), method, target, header, body)
		if len(body) > 0 {
			req.Body = st.body(bytes.NewReader(body))
		}
		resp, err := g.l.cc.RoundTrip(req)
		st.fill(tr)
		if err == nil {
			b := &Body{inner: resp.Body, c: c, ctx: ctx, cancel: cancel, s: st, tr: tr, last: -1, approx: true}
			return c.response(resp, b, target), nil
		}
		if st.begun() || try == maxFresh || ctx.Err() != nil || c.ctx.Err() != nil {
			return nil, c.failed(ctx, cancel, tr, target, err)
		}
	}
}

// streamError is net/http's unexported error of a stream that one side reset;
// errors.As fills it in by its shape.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

var resetCodes = [...]string{"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
	"FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"}

func (e streamError) Error() string {
	name := fmt.Sprint(e.Code)
	if int(e.Code) < len(resetCodes) {
		name = resetCodes[e.Code]
	}
	return "the server reset the stream: " + name
}

// isGone knows net/http's unexported errors of a connection that the server gave
// up, by their texts.
func isGone(err error) bool {
	text := err.Error()
	return strings.Contains(text, "GOAWAY") || strings.Contains(text, "connection error: ") || strings.Contains(text, "http2: client connection lost") || strings.Contains(text, "stream error: stream ID ")
}

// notRetried takes away what net/http wraps around an error for which it would
// have sent the request again, had it been allowed to.
func notRetried(text string) string {
	if _, inner, ok := strings.Cut(text, "cannot retry err ["); ok {
		if inner, _, ok = strings.Cut(inner, "] after Request.Body was written"); ok {
			return inner
		}
	}
	return text
}
