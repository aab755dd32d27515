package cli

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tokentape/simserver"
	"tokentape/tape"
)

// calls counts what reached a server, by protocol and path.
type calls struct {
	mu sync.Mutex
	n  map[string]int
	h  http.Handler
}

func (c *calls) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.n[r.Proto+" "+r.URL.Path]++
	c.mu.Unlock()
	c.h.ServeHTTP(w, r)
}

// simulated is a simulated server behind any listener.
func simulated(t *testing.T, set func(*httptest.Server)) (*httptest.Server, *calls) {
	t.Helper()
	sim := simserver.New(simserver.Instant())
	c := &calls{n: map[string]int{}, h: sim}
	srv := httptest.NewUnstartedServer(c)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	set(srv)
	t.Cleanup(func() { srv.Close(); sim.Close() })
	return srv, c
}

// measure runs the command and returns its tape.
func measure(t *testing.T, args ...string) (code int, said string, header *tape.Header, reqs []*tape.Request) {
	t.Helper()
	dir := t.TempDir()
	data := filepath.Join(dir, "data.jsonl")
	if err := os.WriteFile(data, []byte(strings.Repeat(`{"question":"hello there"}`+"\n", 12)), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code = Main(append([]string{"run", "--dataset", data, "--requests", "12", "--concurrency", "3", "--output-tokens", "4", "--no-live", "--out", dir}, args...), strings.NewReader(""), &out, &errs)
	said = errs.String() + out.String()
	found, _ := filepath.Glob(filepath.Join(dir, "run", "*", "tape.jsonl.zst"))
	if len(found) != 1 {
		return code, said, nil, nil
	}
	r, err := tape.OpenFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return code, said, header, reqs
		}
		if err != nil {
			t.Fatal(err)
		}
		switch rec := rec.(type) {
		case *tape.Header:
			header = rec
		case *tape.Request:
			reqs = append(reqs, rec)
		case *tape.Scrape:
			if !rec.OK {
				t.Errorf("scrape: %s", rec.Error)
			}
		}
	}
}

func allOK(t *testing.T, said string, header *tape.Header, reqs []*tape.Request) {
	t.Helper()
	if header == nil || len(reqs) != 12 {
		t.Fatalf("%d requests\n%s", len(reqs), said)
	}
	for _, r := range reqs {
		if r.Outcome != tape.OutcomeOK {
			t.Errorf("request %d: %s: %s", r.Seq, r.Outcome, r.Message)
		}
	}
}

// B19: authority, certificate and name hold for the preflight, the model list, the
// scrapes and the requests; without them the preflight says what is wrong.
func TestRunTLS(t *testing.T) {
	srv, seen := simulated(t, func(s *httptest.Server) {
		s.EnableHTTP2 = true
		s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, NextProtos: []string{"h2", "http/1.1"}}
		s.StartTLS()
	})
	dir := t.TempDir()
	ca, key := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "key.pem")
	os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600)
	der := mustKey(t, srv.TLS.Certificates[0].PrivateKey)
	os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
	url := "--url=" + srv.URL
	own := []string{"--set", "target.cert_file=" + ca, "--set", "target.key_file=" + key,
		"--set", "telemetry.metrics=[{name: sim, url: '" + srv.URL + "/metrics'}]", "--set", "telemetry.interval=20ms", "--rate=40"} // long enough for a scrape

	for _, tc := range []struct {
		args        []string
		proto, alpn string
		stamp       string
		unproved    bool
	}{
		{[]string{"--set", "target.ca_file=" + ca}, "HTTP/1.1", "http/1.1", "conn", false},
		{[]string{"--set", "target.ca_file=" + ca, "--set", "target.server_name=example.com", "--set", "target.http=2"}, "HTTP/2.0", "h2", "body", false},
		{[]string{"--set", "target.insecure=true"}, "HTTP/1.1", "http/1.1", "conn", true},
	} {
		seen.n = map[string]int{}
		_, said, h, reqs := measure(t, append(append([]string{url}, own...), tc.args...)...)
		allOK(t, said, h, reqs)
		if h.Anchor.ReadStamp != tc.stamp || h.Server.TLS == nil || h.Server.TLS.ALPN != tc.alpn || h.Server.TLS.Unproved != tc.unproved ||
			!strings.HasPrefix(h.Server.TLS.Version, "TLS 1.") || !strings.Contains(said, h.Server.TLS.Cipher) {
			t.Errorf("%+v, %+v", h.Anchor, h.Server.TLS)
		}
		if strings.Contains(strings.Join(h.Notes, " "), "target.insecure") != tc.unproved {
			t.Errorf("notes %q", h.Notes)
		}
		for _, r := range reqs {
			if r.HTTP.Proto != tc.proto || r.Conn == nil || r.Conn.TLS.OK == r.Conn.Reused {
				t.Errorf("%+v, %+v", r.HTTP, r.Conn)
			}
		}
		for _, path := range []string{"/v1/models", "/v1/chat/completions", "/metrics"} {
			if seen.n[tc.proto+" "+path] == 0 {
				t.Errorf("%s: the server saw %v", path, seen.n)
			}
		}
	}
	for want, args := range map[string][]string{
		"unknown authority":  nil,
		"target.cert_file":   {"--set", "target.ca_file=" + ca},
		"target.server_name": append([]string{"--set", "target.ca_file=" + ca, "--set", "target.server_name=other.test"}, own...),
	} {
		if code, said, h, _ := measure(t, append([]string{url}, args...)...); code != exitNothing || h != nil || !strings.Contains(said, want) {
			t.Errorf("exit %d, want %q in\n%s", code, want, said)
		}
	}
}

func TestRunUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_, seen := simulated(t, func(s *httptest.Server) { s.Listener.Close(); s.Listener = l; s.Start() })
	_, said, h, reqs := measure(t, "--url", "unix://"+path, "--set", "telemetry.metrics=[]")
	allOK(t, said, h, reqs)
	if h.Server.URL != "unix://"+path+":/v1/chat/completions" || reqs[0].Conn.Remote != path || seen.n["HTTP/1.1 /v1/chat/completions"] != 12 {
		t.Errorf("%+v, %v", h.Server, seen.n)
	}
}

// Several servers take requests in turn; each is asked before the run.
func TestRunSeveralServers(t *testing.T) {
	a, seenA := simulated(t, func(s *httptest.Server) { s.Start() })
	b, seenB := simulated(t, func(s *httptest.Server) { s.Start() })
	_, said, h, reqs := measure(t, "--set", fmt.Sprintf("target.urls=['%s', '%s']", a.URL, b.URL))
	allOK(t, said, h, reqs)
	const chat, models = "HTTP/1.1 /v1/chat/completions", "HTTP/1.1 /v1/models"
	if seenA.n[chat] != 6 || seenB.n[chat] != 6 || seenA.n[models] == 0 || seenB.n[models] == 0 || len(h.Server.URLs) != 2 {
		t.Errorf("%v, %v, %+v", seenA.n, seenB.n, h.Server)
	}
	for _, r := range reqs {
		if want := []string{a.URL, b.URL}[r.Seq%2]; r.URL != tape.Some(r.Seq%2) || "http://"+r.Conn.Remote != want {
			t.Errorf("request %d: URL %v, %+v", r.Seq, r.URL, r.Conn)
		}
	}
	_, said, _, reqs = measure(t, "--set", fmt.Sprintf("target.urls=['%s', '%s']", a.URL, b.URL), "--set", "prepare.rows=1")
	var prepared []int64
	for _, r := range reqs {
		if r.Phase == tape.PhasePrepare {
			prepared = append(prepared, r.URL.V)
		}
	}
	if !slices.Equal(prepared, []int64{0, 1}) || !strings.Contains(said, "each to all 2 servers") {
		t.Errorf("the row of preparation went to %v: %s", prepared, said)
	}
	b.Close()
	if code, said, h, _ := measure(t, "--set", fmt.Sprintf("target.urls=['%s', '%s']", a.URL, b.URL)); code != exitNothing || h != nil || !strings.Contains(said, b.URL) {
		t.Errorf("exit %d: %s", code, said)
	}
}

// B18: at the command line too: direct whatever the environment says, the proxy that
// is taken is said and recorded, and its password is nowhere.
func TestRunProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:9")
	t.Setenv("http_proxy", "http://127.0.0.1:9")
	srv, _ := simulated(t, func(s *httptest.Server) { s.Start() })
	_, said, h, reqs := measure(t, "--url", srv.URL)
	allOK(t, said, h, reqs)
	if h.Server.Proxy != "" || strings.Contains(said, "through the proxy") {
		t.Errorf("%q\n%s", h.Server.Proxy, said)
	}
	var through int
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		through++
		if r.Host != "vllm.example:8000" || r.Header.Get("Proxy-Authorization") == "" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		r.Header.Del("Proxy-Authorization")
		srv.Config.Handler.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	at := strings.TrimPrefix(proxy.URL, "http://")
	_, said, h, reqs = measure(t, "--url", "http://vllm.example:8000", "--concurrency", "1", "--set", "target.proxy=http://user:sesame@"+at)
	allOK(t, said, h, reqs)
	header, _ := json.Marshal(h)
	if h.Server.Proxy != proxy.URL || !strings.Contains(said, "through the proxy "+proxy.URL) || through < 13 || strings.Contains(said+string(header), "sesame") {
		t.Errorf("%q, %d through it\n%s", h.Server.Proxy, through, said)
	}
	// In the environment there is one, and it is dead: a failure names it.
	code, said, _, _ := measure(t, "--url", "http://vllm.example:8000", "--set", "target.proxy=environment")
	if code != exitNothing || !strings.Contains(said, "connect to the proxy 127.0.0.1:9") || !strings.Contains(said, "check target.proxy") {
		t.Errorf("exit %d\n%s", code, said)
	}
}

func TestRunResolvesOnce(t *testing.T) {
	srv, _ := simulated(t, func(s *httptest.Server) { s.Start() })
	_, said, h, reqs := measure(t, "--url", strings.Replace(srv.URL, "127.0.0.1", "localhost", 1), "--set", "target.resolve=once", "--set", "target.renew_after=2")
	allOK(t, said, h, reqs)
	if len(h.Server.Addresses) != 1 || !strings.HasPrefix(h.Server.Addresses[0], "localhost: ") || !strings.Contains(said, h.Server.Addresses[0]) {
		t.Errorf("%q\n%s", h.Server.Addresses, said)
	}
	uses := map[int64]int{}
	for _, r := range reqs {
		uses[r.Conn.ID]++
		if r.Conn.DNS.OK || uses[r.Conn.ID] > 2 {
			t.Errorf("%+v", r.Conn)
		}
	}
	code, said, _, _ := measure(t, "--url", "http://nowhere.invalid:1", "--set", "target.resolve=once")
	if code != exitNothing || !strings.Contains(said, "nowhere.invalid") {
		t.Errorf("exit %d\n%s", code, said)
	}
}

func mustKey(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}
