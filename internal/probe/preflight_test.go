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
	"tokentape/internal/secret"
	"tokentape/internal/spec"
)

const key = `sk-very"secret/key+0123456789`

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

func ask(t *testing.T, p *pages, model string) (*Result, error) {
	t.Helper()
	base, _, err := spec.ResolveURL("h:1", "/v1/chat/completions")
	if err != nil {
		t.Fatal(err)
	}
	return Preflight(t.Context(), p, base, nil, secret.New([]string{key}), model, false)
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
		{"plain HTTP to a TLS port of Go", "m", page(400, "Client sent an HTTP request to an HTTPS server.\n"), "speaks TLS", ""},
		{"plain HTTP to a TLS port of nginx", "m", page(400, "<center>The plain HTTP request was sent to HTTPS port</center>"), "speaks TLS", ""},
		{"an id that steers a terminal", "", page(200, `{"data":[{"id":"m\u001b[2J"}]}`), `not fit to be used: "m [2J"`, ""},
		{"an id with the key", "", page(200, `{"data":[{"id":"sk-very\"secret\/key+0123456789"}]}`), `"***"`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &pages{answers: map[string]*client.Simple{"/v1/models": c.list, "/get_server_info": info, "/server_info": info}}
			res, err := ask(t, p, c.model)
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

// How long a request may be is what the list says of the model, else what the
// engine says; what is no number is not known.
func TestContext(t *testing.T) {
	for _, c := range []struct {
		name, list, info, model string
		own                     bool
		want                    Context
	}{
		{"vLLM and SGLang", `{"data":[{"id":"m","owned_by":"sglang","max_model_len":4096}]}`, `{"context_length":8192,"allow_auto_truncate":true}`, "", false, Context{4096, "max_model_len of GET http://h:1/v1/models", true}},
		{"a gateway", `{"data":[{"id":"a","context_length":1},{"id":"m","context_length":4096}]}`, `{}`, "m", false, Context{4096, "context_length of GET http://h:1/v1/models", false}},
		{"an adapter", `{"data":[{"id":"m","max_model_len":4096}]}`, `{}`, "m:x", false, Context{4096, "max_model_len of GET http://h:1/v1/models", false}},
		{"another model", `{"data":[{"id":"a","max_model_len":4096}]}`, `{"context_length":512}`, "m", false, Context{512, "context_length of GET http://h:1/get_server_info", false}},
		{"the engine alone", `{"data":[{"id":"m"}]}`, `{"context_length":512}`, "", false, Context{512, "context_length of GET http://h:1/get_server_info", false}},
		{"null and texts", `{"data":[{"id":"m","max_model_len":null,"context_length":"long"}]}`, `{"context_length":null}`, "", false, Context{}},
		{"not positive", `{"data":[{"id":"m","max_model_len":-1}]}`, `{"context_length":0}`, "", false, Context{}},
		{"bodies name the model, one is served", `{"data":[{"id":"m","max_model_len":7}]}`, `{}`, "", true, Context{7, "max_model_len of GET http://h:1/v1/models", false}},
		{"bodies name the model, several are served", `{"data":[{"id":"m","max_model_len":7},{"id":"n","max_model_len":8}]}`, `{}`, "", true, Context{}},
	} {
		p := &pages{answers: map[string]*client.Simple{"/v1/models": page(200, c.list), "/get_server_info": page(200, c.info)}}
		base, _, err := spec.ResolveURL("h:1", "/v1/chat/completions")
		if err != nil {
			t.Fatal(err)
		}
		res, err := Preflight(t.Context(), p, base, nil, secret.New(nil), c.model, c.own)
		if err != nil || res.Context != c.want {
			t.Errorf("%s: %+v, %v", c.name, res, err)
		}
		if c.own && res.Server.Model != "" {
			t.Errorf("%s: model %q", c.name, res.Server.Model)
		}
	}
	p := &pages{answers: map[string]*client.Simple{"/v1/models": page(404, ""), "/get_server_info": page(200, "{}")}}
	base, _, _ := spec.ResolveURL("h:1", "/v1/chat/completions")
	if res, err := Preflight(t.Context(), p, base, nil, secret.New(nil), "", true); err != nil || len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "name their own models") {
		t.Errorf("%+v, %v", res, err)
	}
}

// A server that takes the connection and says nothing is given up; one that is
// silent about its version alone is measured.
func TestPreflightHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		_, err := ask(t, &pages{}, "")
		if err == nil || !strings.Contains(err.Error(), "no answer within 15s") || time.Since(begin) != listLimit {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		begin = time.Now()
		res, err := ask(t, &pages{answers: map[string]*client.Simple{"/v1/models": page(200, `{"data":[{"id":"m"}]}`)}}, "")
		if err != nil || res.Server.Model != "m" || time.Since(begin) != 2*engineLimit {
			t.Errorf("%+v, %v after %s", res, err, time.Since(begin))
		}
	})
}

// Neither the key in any spelling, nor a control character, leaves preflight.
func TestWhatTheServerWrote(t *testing.T) {
	const spelt = `sk-very\"secret\/key\u002b0123456789` // in JSON
	clean := func(t *testing.T, text string) {
		t.Helper()
		for _, part := range []string{"sk-v", "secret", "0123456789", "\x1b", "\r", "\u009b"} {
			if strings.Contains(text, part) {
				t.Errorf("%q in %q", part, text)
			}
		}
	}
	for n := range 220 {
		p := &pages{answers: map[string]*client.Simple{"/v1/models": page(401, strings.Repeat("x", n)+" "+spelt+"\x1b[2J\u009b tail")}}
		_, err := ask(t, p, "m")
		var e *Error
		if !errors.As(err, &e) || len(e.Body) > maxQuote {
			t.Fatalf("%v", err)
		}
		clean(t, e.Error())
	}
	redirect := page(307, "")
	redirect.Header.Set("Location", "https://h/?k=sk-very%22secret%2Fkey%2B0123456789")
	_, err := ask(t, &pages{answers: map[string]*client.Simple{"/v1/models": redirect}}, "m")
	clean(t, err.Error())

	list := `{"data":[{"id":"a\u001b[2J","owned_by":"vllm"},{"id":"` + spelt + `"}]}`
	p := &pages{answers: map[string]*client.Simple{"/v1/models": page(200, list), "/version": page(200, `{"version":"1\r\u001b[2J`+spelt+`"}`)}}
	_, err = ask(t, p, "")
	clean(t, err.Error())
	clean(t, err.(*Error).Hint)
	res, err := ask(t, p, "other")
	if err != nil {
		t.Fatal(err)
	}
	clean(t, strings.Join(res.Notes, "")+strings.Join(res.Server.Models, "")+res.Server.Version)
	if res.Server.Version != "1 [2J***" || res.Server.Models[0] != "a [2J" || res.Server.Models[1] != "***" {
		t.Errorf("%+v", res.Server)
	}
}
