package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

func TestGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveRaw(segments(segment{0, okAnswer}))
		c := start(t, s)
		for range 3 {
			got, err := c.Get(t.Context(), "http://sim.test/metrics", http.Header{"X-A": {"1"}}, 2)
			if err != nil || got.Status != 200 || string(got.Body) != "ok" || got.Remote != s.l.Addr().String() || s.headers[0].Get("X-A") != "1" {
				t.Fatalf("%+v, %v", got, err)
			}
		}
		_, err := c.Get(t.Context(), "http://user:secret@sim.test/metrics?key=secret", nil, 1)
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "longer than 1 bytes") {
			t.Errorf("limit: %v", err)
		}
		if s.conns != 1 {
			t.Errorf("%d connections for one scrape after the other", s.conns)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(io.ErrShortWrite)
		if _, err := c.Get(ctx, "http://sim.test/", nil, 1); !errors.Is(err, io.ErrShortWrite) || Classify(err) != ClassCancelled {
			t.Errorf("cancelled: %v", err)
		}
	})
}
