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

// A gateway that compresses although identity was asked for is understood, and one
// that sends a bomb is not.
func TestGetCompressed(t *testing.T) {
	pack := func(open func(io.Writer) io.WriteCloser, text string) string {
		var b bytes.Buffer
		w := open(&b)
		_, _ = io.WriteString(w, text)
		_ = w.Close()
		return b.String()
	}
	gz := func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }
	zl := func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }
	fl := func(w io.Writer) io.WriteCloser { f, _ := flate.NewWriter(w, 1); return f }
	const text = `{"data":[{"id":"m"}]}`
	whole := pack(gz, text)
	for _, c := range []struct{ name, coding, body, want, err string }{
		{"gzip", "gzip", whole, text, ""},
		{"spelt otherwise", " X-GZIP", whole, text, ""},
		{"deflate", "deflate", pack(zl, text), text, ""},
		{"deflate without zlib", "deflate", pack(fl, text), text, ""},
		{"plain, said to be gzip", "gzip", text, text, ""},
		{"plain, said to be deflate", "deflate", text, text, ""},
		{"another coding", "br", text, text, ""},
		{"cut short", "gzip", whole[:len(whole)-9], "", "the gzip body cannot be decoded"},
		{"only its mark", "gzip", whole[:3], "", "the gzip body cannot be decoded"},
		{"a bomb", "gzip", pack(gz, strings.Repeat("0", 1<<20)), "", "longer than 2000 bytes"},
		{"a bomb without zlib", "deflate", pack(fl, strings.Repeat("0", 1<<18)), "", "longer than 2000 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serveRaw(segments(segment{0, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s", c.coding, len(c.body), c.body)}))
				got, err := start(t, s).Get(t.Context(), "http://sim.test/v1/models", nil, 2000)
				switch {
				case c.err != "":
					if err == nil || !strings.Contains(err.Error(), c.err) {
						t.Errorf("%v", err)
					}
				case err != nil || string(got.Body) != c.want:
					t.Errorf("%+v, %v", got, err)
				}
			})
		})
	}
}
