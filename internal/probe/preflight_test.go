package probe

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/client"
	"tokentape/internal/spec"
)

// pages answers by path; a path that is not there hangs until the context ends.
type pages struct {
	answers map[string]*client.Simple
	asked   []string
}

func (p *pages) Get(ctx context.Context, url string, _ http.Header, _ int64) (*client.Simple, error) {
	path := strings.TrimPrefix(url, "http://h:1")
	p.asked = append(p.asked, path)
	if a, ok := p.answers[path]; ok {
		return a, nil
	}
	<-ctx.Done()
	return nil, errors.New("cut short")
}

func page(status int, body string) *client.Simple {
	return &client.Simple{Status: status, Body: []byte(body), Header: http.Header{}}
}

func preflight(t *testing.T, p *pages, model string) (*Result, error) {
	t.Helper()
	base, _, err := spec.ResolveURL("h:1", "/v1/chat/completions")
	if err != nil {
		t.Fatal(err)
	}
	return Preflight(t.Context(), p, base, nil, model)
}

func TestPreflight(t *testing.T) {
	const one = `{"data":[{"id":"m","owned_by":"sglang"}]}`
	info := page(200, `{"version":"0.5.2"}`)
	gone := page(404, `{"detail":"Not Found"}`)
	for _, c := range []struct {
		name, model string
		list        *client.Simple
		want        string // model, or part of the error
		note        string
	}{
		{"the only model", "", page(200, one), "m", ""},
		{"by name", "m", page(200, one), "m", ""},
		{"without :latest", "tiny", page(200, `{"data":[{"id":"tiny:latest"}]}`), "tiny", ""},
		{"a LoRA adapter", "m:adapter", page(200, one), "m:adapter", ""},
		{"unknown name", "other", page(200, one), "other", `"other" is not among`},
		{"no list, but a name", "m", gone, "m", "no model list"},
		{"no list, no name", "", gone, "no such path", ""},
		{"several", "", page(200, `{"data":[{"id":"a"},{"id":"b"}]}`), "several models: a, b", ""},
		{"none", "", page(200, `{"data":[]}`), "lists no model", ""},
		{"key refused", "m", page(401, `{"message":"invalid token"}`), "refuses the key", ""},
		{"a page", "m", page(200, "<html>log in</html>"), "no model list", ""},
		{"a redirect", "m", page(302, ""), "redirects", ""},
		{"loading", "m", page(503, "loading"), "not ready", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &pages{answers: map[string]*client.Simple{"/v1/models": c.list, "/get_server_info": info, "/server_info": info}}
			res, err := preflight(t, p, c.model)
			if err != nil {
				var e *Error
				if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) || e.Hint == "" {
					t.Fatalf("%v", err)
				}
				return
			}
			if res.Server.Model != c.want || res.Server.Version != "0.5.2" || res.Server.Engine != "sglang" {
				t.Errorf("%+v", res.Server)
			}
			if notes := strings.Join(res.Notes, " "); (c.note == "") != (notes == "") || !strings.Contains(notes, c.note) {
				t.Errorf("notes %q", notes)
			}
			for _, path := range p.asked {
				if path != "/v1/models" && path != "/get_server_info" && path != "/server_info" {
					t.Errorf("asked for %s", path)
				}
			}
		})
	}
}

// A server that takes the connection and says nothing is given up; one that is
// silent about its version alone is measured.
func TestPreflightHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		_, err := preflight(t, &pages{}, "")
		if err == nil || !strings.Contains(err.Error(), "no answer within 15s") || time.Since(begin) != listLimit {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		begin = time.Now()
		res, err := preflight(t, &pages{answers: map[string]*client.Simple{"/v1/models": page(200, `{"data":[{"id":"m"}]}`)}}, "")
		if err != nil || res.Server.Model != "m" || time.Since(begin) != 2*engineLimit {
			t.Errorf("%+v, %v after %s", res, err, time.Since(begin))
		}
	})
}
