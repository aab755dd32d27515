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
	Remote string // address of the peer
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
	req := newRequest(withRemote(ctx, &s.Remote), http.MethodGet, target, header, nil)
	req.Body = http.NoBody
	doing := "GET " + target.Host + target.EscapedPath()
	resp, err := c.side.RoundTrip(req)
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
