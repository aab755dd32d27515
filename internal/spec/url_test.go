package spec

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const chat, completions = "/v1/chat/completions", "/v1/completions"

// B20: a host, IPv6, a prefix, a slash at the end, /v1 or the whole endpoint: the path is
// the same, and never doubled.
func TestResolveURL(t *testing.T) {
	for _, c := range []struct{ raw, path, want, health string }{
		{"http://h:8000", chat, "http://h:8000/v1/chat/completions", "http://h:8000/health"},
		{"http://h:8000/", chat, "http://h:8000/v1/chat/completions", "http://h:8000/health"},
		{"http://h:8000/v1", chat, "http://h:8000/v1/chat/completions", "http://h:8000/health"},
		{"http://h:8000/v1/", chat, "http://h:8000/v1/chat/completions", "http://h:8000/health"},
		{"http://h:8000//v1//", chat, "http://h:8000/v1/chat/completions", "http://h:8000/health"},
		{"http://h:8000/v1/chat/completions", chat, "http://h:8000/v1/chat/completions", "http://h:8000/health"},
		{"http://h:8000/v1/chat/completions/", chat, "http://h:8000/v1/chat/completions", "http://h:8000/health"},
		{"http://h:8000/v1/completions", completions, "http://h:8000/v1/completions", "http://h:8000/health"},
		{"http://h:8000/prefix", chat, "http://h:8000/prefix/v1/chat/completions", "http://h:8000/prefix/health"},
		{"http://h:8000/prefix/v1/", chat, "http://h:8000/prefix/v1/chat/completions", "http://h:8000/prefix/health"},
		{"http://h:8000/a/b/v1/chat/completions", chat, "http://h:8000/a/b/v1/chat/completions", "http://h:8000/a/b/health"},
		{"http://h:8000/a%2Fb/v1", chat, "http://h:8000/a%2Fb/v1/chat/completions", "http://h:8000/a%2Fb/health"},
		{"https://h/api/paas/v4/chat/completions", chat, "https://h/api/paas/v4/chat/completions", "https://h/api/paas/health"},
		{"https://h/api/paas/v4", chat, "https://h/api/paas/v4/chat/completions", "https://h/api/paas/health"},
		{"https://h/v1beta/openai/chat/completions", chat, "https://h/v1beta/openai/chat/completions", "https://h/v1beta/openai/health"},
		{"https://h/chat/completions", chat, "https://h/chat/completions", "https://h/health"},
		{"HTTPS://h", chat, "https://h/v1/chat/completions", "https://h/health"},
		{"h:8000", chat, "http://h:8000/v1/chat/completions", "http://h:8000/health"},
		{"h:8000/v1", chat, "http://h:8000/v1/chat/completions", "http://h:8000/health"},
		{"//h:8000/v1", chat, "http://h:8000/v1/chat/completions", "http://h:8000/health"},
		{"localhost", chat, "http://localhost/v1/chat/completions", "http://localhost/health"},
		{" 127.0.0.1:30000\n", chat, "http://127.0.0.1:30000/v1/chat/completions", "http://127.0.0.1:30000/health"},
		{"[::1]:8000", chat, "http://[::1]:8000/v1/chat/completions", "http://[::1]:8000/health"},
		{"http://[::1]:8000/v1", chat, "http://[::1]:8000/v1/chat/completions", "http://[::1]:8000/health"},
		{"http://[fe80::1%25eth0]:8000", chat, "http://[fe80::1%25eth0]:8000/v1/chat/completions", "http://[fe80::1%25eth0]:8000/health"},
		{"http://u:p@h:8000/v1", chat, "http://u:p@h:8000/v1/chat/completions", "http://u:p@h:8000/health"},
		{"unix:///run/x.sock", chat, "unix:///run/x.sock:/v1/chat/completions", "unix:///run/x.sock:/health"},
		{"unix:///run/x.sock:/v1/", chat, "unix:///run/x.sock:/v1/chat/completions", "unix:///run/x.sock:/health"},
		{"http+unix:///run/x.sock:/p/v1", chat, "unix:///run/x.sock:/p/v1/chat/completions", "unix:///run/x.sock:/p/health"},
		{"http+unix://%2Frun%2Fx.sock/v1", chat, "unix:///run/x.sock:/v1/chat/completions", "unix:///run/x.sock:/health"},
		{"unix:///run/x y.sock:/v1/chat/completions", chat, "unix:///run/x%20y.sock:/v1/chat/completions", "unix:///run/x%20y.sock:/health"},
		{"http://h:8000/generate", "/generate", "http://h:8000/generate", "http://h:8000/health"},
		{"http://h:8000/v1", "/generate", "http://h:8000/generate", "http://h:8000/health"},
		{"http://h:8000", "/generate", "http://h:8000/generate", "http://h:8000/health"},
	} {
		b, _, err := ResolveURL(c.raw, c.path)
		if err != nil {
			t.Errorf("%q: %v", c.raw, err)
			continue
		}
		if got := b.Join(c.path); got != c.want {
			t.Errorf("%q: requests go to %s, want %s", c.raw, got, c.want)
		}
		if got := b.Join("/health"); got != c.health {
			t.Errorf("%q: health is %s, want %s", c.raw, got, c.health)
		}
	}
	b, _, _ := ResolveURL("https://h/api/paas/v4/chat/completions", chat)
	if got := b.Join("/v1/models"); got != "https://h/api/paas/v4/models" {
		t.Errorf("models of a full endpoint: %s", got)
	}
}

func TestResolveURLNotes(t *testing.T) {
	for raw, want := range map[string]string{
		"h:8000":              "http assumed",
		"http://h/api/v4":     "/v4 is taken as the API root",
		"http://0.0.0.0:8000": "address to listen on",
		"http://h:8000/v1":    "",
	} {
		_, notes, err := ResolveURL(raw, chat)
		if got := strings.Join(notes, "\n"); err != nil || !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%q: notes %q, err %v; want %q", raw, notes, err, want)
		}
	}
}

func TestResolveURLRefuses(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"", "no URL; use http://HOST:PORT"},
		{"  ", "no URL"},
		{":8000", ":8000: no host before the port; use http://127.0.0.1:8000"},
		{"http://:8000/v1", "use http://127.0.0.1:8000/v1"},
		{"http://", "no host"},
		{"/v1", "no host"},
		{"::1", "use http://[::1]:8000"},
		{"http://::1/v1", "use http://[::1]:8000/v1"},
		{"::1:30000", "use http://[::1]:30000"},
		{"http://:::8000", "an IPv6 address needs brackets; use http://[::1]:8000"},
		{"http://fe80::a:b:9000/v1", "use http://[fe80::a:b]:9000/v1"},
		{"http://[::1:8000", `no "]"`},
		{"http://[zz]:8000", "[zz] is not an IPv6 address"},
		{"http://h:", "port"},
		{"http://h:0", "port"},
		{"http://h:70000", `port "70000" is not a number from 1 to 65535; use http://h:8000`},
		{"http://h:80a/v1", `port "80a"`},
		{"ftp://h/v1", `scheme "ftp" is not http or https; use http://h/v1`},
		{"unix://", "no socket"}, {"unix://run/x.sock", "begins with a slash"}, {"unix:///x.sock:/v1/v1", "/v1 twice"},
		{"unix:///x.sock:/v1/completions", "openai-completions"}, {"unix:///x?y", "leave it out"},
		{"http:/h:8000", `no "//" after the scheme; use http://h:8000`},
		{"https:h/v1", "use https://h/v1"},
		{"http://h/v1?x=1", "query string"},
		{"http://h/v1#a", "#fragment"},
		{"http://h/v1#", "#fragment"},
		{"http://h/v1/v1", "has /v1 twice; use http://h/v1"},
		{"http://h/v1/completions", "ends in /completions, the endpoint of openai-completions, but target.api is openai-chat; use --api openai-completions, or end the URL at http://h/v1"},
		{"http://h/v1/models", "ends in /models, which is not the endpoint of openai-chat (/v1/chat/completions); use http://h/v1"},
		{"http://h/generate", "ends in /generate"},
		{"http://h\x7f/v1", "invalid"},
		{"http://h%zz/v1", "invalid"},
		{"http://us er@h/v1", "%-escapes"},
	} {
		_, _, err := ResolveURL(c.raw, chat)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; want %q", c.raw, err, c.want)
		}
	}
	_, _, err := ResolveURL("http://h/v1/chat/completions", completions)
	if err == nil || !strings.Contains(err.Error(), "--api openai-chat") {
		t.Errorf("chat endpoint for completions: %v", err)
	}
}

func TestResolveURLErrorsHideUserinfo(t *testing.T) {
	for _, raw := range []string{
		"http://user:hunter2@h:99999", "http://user:hunter2@:8000", "http://user:hunter2@::1",
		"user:hunter2@h?x", "ftp://user:hunter2@h", "http://user:hun/ter2@h", "http://us er:hunter2@h",
		"http:/user:hunter2@h", "http://user:hunter2@h/v1/models", "http://user:hunter2@h/v1/v1", "http://user:hunter2%zz@h",
	} {
		_, _, err := ResolveURL(raw, chat)
		if err == nil {
			t.Errorf("%q is accepted", raw)
		} else if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "ter2") {
			t.Errorf("%q: the error shows the password: %v", raw, err)
		}
	}
}

func TestJoinNeverDoubles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SampledFrom([]string{"", "http://", "https://", "HTTP://"}).Draw(t, "scheme") +
			rapid.SampledFrom([]string{"h", "10.0.0.1", "[::1]", "a.b-c"}).Draw(t, "host") +
			rapid.SampledFrom([]string{"", ":1", ":8000"}).Draw(t, "port") +
			strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"/", "//", "/p", "/p/q"}), 0, 3).Draw(t, "prefix"), "") +
			rapid.SampledFrom([]string{"", "/", "/v1", "/v1/", "//v1//", "/v4", "/v1/chat/completions", "/chat/completions/"}).Draw(t, "tail")
		b, _, err := ResolveURL(raw, chat)
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		for _, p := range []string{chat, "/v1/models", "/health", "metrics"} {
			got := b.Join(p)
			_, path, _ := strings.Cut(got, "://")
			if strings.Contains(path, "//") || strings.Contains(path, "/v1/v1") {
				t.Fatalf("%q joined with %s is %s", raw, p, got)
			}
			if again, _, err := ResolveURL(b.API, chat); err != nil || strings.HasSuffix(b.API, "/v1") && again != b {
				t.Fatalf("%q: API root %s does not resolve to itself: %v %v", raw, b.API, again, err)
			}
		}
	})
}
