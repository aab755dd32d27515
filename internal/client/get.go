package client

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Simple is a whole response of Get.
type Simple struct {
	Status int
	Header http.Header
	Body   []byte   // without its content coding, if that is gzip or deflate
	Remote string   // address of the peer
	TLS    *TLSInfo // nil: not encrypted

	// DNS, Dial and Shake are how long it took to look the name up, to connect and to
	// shake hands, in ns; −1: no such step, or Reused.
	DNS, Dial, Shake int64
	Reused           bool // the connection had carried a request before
}

// ErrTooLong is the cause of the error of a body of more bytes than Get was to take.
var ErrTooLong = errors.New("the response is longer than")

// Get fetches one small thing, for the preflight and for scrapes, on connections
// apart from the load's. Redirects are not followed, the status is not judged.
// A body of more than limit bytes is an error, before and after it is decompressed,
// which some gateways make necessary although identity was asked for. Unlike Do, a GET may be sent
// again when the server closed an idle connection. Every error is an *Error.
func (c *Client) Get(ctx context.Context, rawURL string, header http.Header, limit int64) (*Simple, error) {
	target, err := c.parse(rawURL)
	if err != nil {
		return nil, err
	}
	if c.ctx.Err() != nil {
		return nil, wrap(c.ctx, PhaseConnect, "send the request", ErrClosed)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &Simple{DNS: -1, Dial: -1, Shake: -1}
	req := newRequest(withConn(ctx, s), http.MethodGet, target, header, nil)
	req.Body = http.NoBody
	doing := "GET " + target.name + target.url.EscapedPath()
	if proxy := c.proxyName(target.url); proxy != "" {
		doing += " through the proxy " + proxy
	}
	resp, err := c.sideTrip(ctx, target, req, s)
	if err != nil {
		return nil, wrap(c.either(ctx), PhaseRequest, doing, err)
	}
	defer resp.Body.Close()
	s.Status, s.Header = resp.StatusCode, resp.Header
	tooLong := &Error{Class: ClassOther, Phase: PhaseBody, Doing: doing, Err: fmt.Errorf("%w %d bytes", ErrTooLong, limit)}
	if resp.ContentLength > limit {
		return nil, tooLong
	}
	whole := bytes.NewBuffer(make([]byte, 0, max(resp.ContentLength, 0)+bytes.MinRead)) // in one piece, where the length is known
	if _, err = whole.ReadFrom(io.LimitReader(resp.Body, limit+1)); err != nil {
		return nil, wrap(c.either(ctx), PhaseBody, doing, err)
	}
	s.Body = whole.Bytes()
	if int64(len(s.Body)) <= limit {
		coding := strings.ToLower(strings.TrimSpace(s.Header.Get("Content-Encoding")))
		// The cause is not wrapped: an end of the data would count as one of the connection.
		if s.Body, err = decode(coding, s.Body, limit); err != nil {
			return nil, &Error{Class: ClassOther, Phase: PhaseBody, Doing: doing,
				Err: fmt.Errorf("the %s body cannot be decoded (identity was asked for): %v", coding, err)}
		}
	}
	if int64(len(s.Body)) > limit {
		return nil, tooLong
	}
	return s, nil
}

// decode takes a content coding off, up to one byte more than limit. A body that does
// not begin like its coding is taken as it stands.
func decode(coding string, body []byte, limit int64) ([]byte, error) {
	in := bytes.NewReader(body)
	var r io.Reader
	var err error
	switch coding {
	case "gzip", "x-gzip":
		if !bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
			return body, nil
		}
		r, err = gzip.NewReader(in)
	case "deflate": // zlib, and from some servers what is inside of it
		if r, err = zlib.NewReader(in); err == nil {
			break
		}
		in.Reset(body)
		if out, err := io.ReadAll(io.LimitReader(flate.NewReader(in), limit+1)); err == nil {
			return out, nil
		}
		return body, nil
	default:
		return body, nil
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, limit+1))
}

func (c *Client) sideTrip(ctx context.Context, target address, req *http.Request, s *Simple) (*http.Response, error) {
	if !c.cfg.HTTP2 {
		return c.side.RoundTrip(req)
	}
	g, err := c.mux(c.side, target.url).acquire(ctx)
	if err != nil {
		return nil, err
	}
	s.on(g.l.cn, g.l.cn.uses.Add(1) > 1)
	return g.l.cc.RoundTrip(req)
}
