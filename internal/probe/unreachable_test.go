package probe

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/spec"
)

// A name that no DNS knows is called so; no server of that name is asked for.
func TestUnknownName(t *testing.T) {
	base := spec.Base{Root: "http://gpu-7:30000"}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&net.DNSError{Err: "no such host", Name: "gpu-7", IsNotFound: true}, `no host is known by the name "gpu-7": check its spelling`},
		{fmt.Errorf("dial: %w", &net.DNSError{Err: "server misbehaving", Name: "gpu-7", IsTemporary: true}), `the name "gpu-7" could not be looked up`},
	} {
		if got := unreachable(c.err, base); !strings.Contains(got, c.want) || strings.Contains(got, "tokentape sim") {
			t.Errorf("%v: %q", c.err, got)
		}
	}
}

// The hint mends what broke: asked of real sockets, since it is the wording of
// crypto/tls and net/http that is understood.
func TestUnreachable(t *testing.T) {
	serve := func(cfg *tls.Config) string {
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.TLS = cfg
		s.StartTLS()
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	raw := func(answer string) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Read(make([]byte, 4096))
				_, _ = io.WriteString(c, answer)
				_ = c.Close()
			}
		}()
		return l.Addr().String()
	}
	h1 := client.Config{}
	h2 := client.Config{HTTP2: true, Insecure: true}
	for _, c := range []struct {
		name, url string
		cfg       client.Config
		hint, not string
	}{
		{"an unknown authority", "https://" + serve(nil), h1, "target.ca_file", ""},
		{"HTTP/1.1 alone", "https://" + serve(&tls.Config{NextProtos: []string{"http/1.1"}}), h2, `target.http: "1.1"`, "authority"},
		{"no ALPN", "https://" + raw(""), h2, "does that port speak TLS", "authority"},
		{"TLS 1.1 alone", "https://" + serve(&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}), h1, "1.2 and 1.3", "authority"},
		{"a TLS alert to plain HTTP", "http://" + raw("\x15\x03\x01\x00\x02\x02\x16"), h1, "https://127.0.0.1:", ""},
		{"plain HTTP to a Go server of HTTPS", "http://" + serve(nil), h1, "https://", ""},
		{"a connection that ends", "http://" + raw(""), h1, "does that port speak TLS? Then use https://127.0.0.1:", ""},
		{"an answer cut short", "http://" + raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"), h1, "could not be read", "TLS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			base, _, err := spec.ResolveURL(c.url, "/v1/chat/completions")
			if err != nil {
				t.Fatal(err)
			}
			c.cfg.Clock, c.cfg.Connect = clock.New(), 5*time.Second
			cl := client.New(c.cfg)
			defer cl.Close()
			_, err = Preflight(t.Context(), cl, base, http.Header{}, nil, "m", false)
			e, ok := err.(*Error)
			if !ok || !strings.Contains(e.Hint, c.hint) || c.not != "" && strings.Contains(e.Hint, c.not) {
				t.Errorf("%v; hint %q", err, e.Hint)
			}
			t.Log(err)
		})
	}
}
