package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// Simple is a whole response of Get.
type Simple struct {
	Status int
	Header http.Header
	Body   []byte
	Remote string   // address of the peer
	TLS    *TLSInfo // nil: not encrypted
}

// Get fetches one small thing, for the preflight and for scrapes, on connections
// apart from the load's. Redirects are not followed, the status is not judged.
// A body of more than limit bytes is an error. Unlike Do, a GET may be sent
// again when the server closed an idle connection. Every error is an *Error.
func (c *Client) Get(ctx context.Context, rawURL string, header http.Header, limit int64) (*Simple, error) {
	target, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	if c.ctx.Err() != nil {
		return nil, wrap(c.ctx, PhaseConnect, "send the request", ErrClosed)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := new(Simple)
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
	if s.Body, err = io.ReadAll(io.LimitReader(resp.Body, limit+1)); err != nil {
		return nil, wrap(c.either(ctx), PhaseBody, doing, err)
	}
	if int64(len(s.Body)) > limit {
		return nil, &Error{Class: ClassOther, Phase: PhaseBody, Doing: doing,
			Err: fmt.Errorf("the response is longer than %d bytes", limit)}
	}
	return s, nil
}

func (c *Client) sideTrip(ctx context.Context, target address, req *http.Request, s *Simple) (*http.Response, error) {
	if !c.cfg.HTTP2 {
		return c.side.RoundTrip(req)
	}
	g, err := c.mux(c.side, target.url).acquire(ctx)
	if err != nil {
		return nil, err
	}
	s.Remote, s.TLS = g.l.cn.remote, g.l.cn.setup.info
	return g.l.cc.RoundTrip(req)
}
