package client

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/clock"
	"tokentape/internal/memnet"
)

// B14: 20 bursts of 50 requests 10 ms apart use about 50 connections, not 1000.
func TestBurstsReuse(t *testing.T) {
	var opened atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") }))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	c := New(Config{Clock: clock.New(), MaxIdle: 64})
	defer c.Close()
	for range 20 {
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				resp, err := c.Do(t.Context(), "POST", srv.URL, nil, []byte("{}"), new(Trace))
				if err != nil {
					t.Error(err)
					return
				}
				finish(t, resp)
			})
		}
		wg.Wait()
		time.Sleep(10 * time.Millisecond)
	}
	if n := opened.Load(); n > 100 {
		t.Errorf("%d connections for 50 at a time", n)
	}
}

// B15: nothing caps the concurrency unseen: 300 requests of 1 s are over in 1 s.
func TestNoHiddenCap(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP2=%v", h2), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := memnet.Listen()
				var now, peak int
				var mu sync.Mutex
				srv := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					now++
					peak = max(peak, now)
					mu.Unlock()
					time.Sleep(time.Second)
					mu.Lock()
					now--
					mu.Unlock()
				})}
				srv.Protocols.SetHTTP1(!h2)
				srv.Protocols.SetUnencryptedHTTP2(h2)
				srv.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 7}
				go srv.Serve(l)
				c := New(Config{Clock: clock.New(), MaxIdle: 300, Dial: l.Dial, HTTP2: h2})
				var wg sync.WaitGroup
				conns := map[int64]int{}
				for range 300 {
					wg.Go(func() {
						var tr Trace
						resp, err := c.Do(t.Context(), "POST", "http://sim.test/", nil, []byte("{}"), &tr)
						if err != nil {
							t.Error(err)
							return
						}
						finish(t, resp)
						mu.Lock()
						conns[tr.ConnID]++
						mu.Unlock()
					})
				}
				wg.Wait()
				if peak != 300 || c.cfg.Clock.Now() != 1000*ms {
					t.Errorf("peak %d, wall %d ms", peak, c.cfg.Clock.Now()/ms)
				}
				if want := 300; h2 {
					want = (300 + 6) / 7
					if len(conns) > want+1 {
						t.Errorf("%d connections of 7 streams for 300 requests", len(conns))
					}
				} else if len(conns) != want {
					t.Errorf("%d connections", len(conns))
				}
				c.Close()
				srv.Close()
			})
		})
	}
}

// replicas is a name with four addresses and a server on each; down has none.
func replicas(down string) (lookups *atomic.Int64, r *Resolver, dial func(context.Context, string, string) (net.Conn, error), servers func()) {
	lookups = new(atomic.Int64)
	r = &Resolver{Lookup: func(context.Context, string) ([]netip.Addr, error) {
		lookups.Add(1)
		time.Sleep(30 * time.Millisecond)
		var out []netip.Addr
		for i := range 4 {
			out = append(out, netip.MustParseAddr(fmt.Sprintf("127.0.0.%d", i+1)))
		}
		return out, nil
	}}
	listeners := map[string]*rawServer{}
	for i := range 4 {
		if addr := fmt.Sprintf("127.0.0.%d:80", i+1); addr != down {
			listeners[addr] = serveRaw(segments(segment{time.Millisecond, okAnswer}))
		}
	}
	dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		time.Sleep(5 * time.Millisecond)
		s, ok := listeners[addr]
		if !ok {
			return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("connection refused")}
		}
		nc, err := s.l.Dial(ctx, network, addr)
		return at{nc, addr}, err
	}
	return lookups, r, dial, func() {
		for _, s := range listeners {
			s.stop()
		}
	}
}

// at is a connection with the address that was dialled.
type at struct {
	net.Conn
	addr string
}

func (c at) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.addr)) }

// B17: 400 requests at concurrency 8 to a name with four addresses.
func TestResolver(t *testing.T) {
	const dead = "127.0.0.3:80"
	for _, tt := range []struct {
		name          string
		once, spread  bool
		renew         int64
		down          string
		addresses     int // that answered
		failed        bool
		dns           int64 // of every new connection
		lookups, conn int64 // at most
	}{
		{name: "the first address", addresses: 1, dns: 30 * ms, lookups: 8, conn: 8},
		{name: "looked up once", once: true, addresses: 1, dns: -1, lookups: 1, conn: 8},
		{name: "spread", spread: true, addresses: 4, dns: 30 * ms, lookups: 8, conn: 8},
		{name: "spread, one dead", spread: true, once: true, renew: 5, down: dead, addresses: 3, failed: true, dns: -1, lookups: 1, conn: 400},
		{name: "the first one dead", once: true, down: "127.0.0.1:80", addresses: 1, dns: -1, lookups: 1, conn: 8},
		{name: "renewed", once: true, spread: true, renew: 10, addresses: 4, dns: -1, lookups: 1, conn: 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lookups, r, dial, stop := replicas(tt.down)
				r.Once, r.Spread = tt.once, tt.spread
				c := New(Config{Clock: clock.New(), Dial: dial, Resolver: r, MaxIdle: 8, RenewAfter: tt.renew, Connect: time.Second})
				t.Cleanup(func() { c.Close(); stop(); time.Sleep(time.Second) }) // dials that nobody waits for any more end
				if tt.once {                                                     // as a run does, before its first request
					if addrs, err := r.Resolve(t.Context(), "sim.test"); len(addrs) != 4 || err != nil {
						t.Fatal(addrs, err)
					}
				}
				var mu sync.Mutex
				served, failed, uses := map[string]int{}, map[string]int{}, map[int64]int64{}
				var wg sync.WaitGroup
				for range 8 {
					wg.Go(func() {
						for range 50 {
							var tr Trace
							resp, err := c.Do(t.Context(), "POST", "http://sim.test/", nil, []byte("{}"), &tr)
							mu.Lock()
							if err != nil {
								if failed[tr.Remote]++; Classify(err) != ClassConnect || !strings.Contains(err.Error(), dead) || tr.ConnID != -1 {
									t.Errorf("%v, %+v", err, tr)
								}
								mu.Unlock()
								continue
							}
							served[tr.Remote]++
							uses[tr.ConnID]++
							mu.Unlock()
							if tr.Reused != (tr.Dial < 0) || !tr.Reused && (tr.Dial < 5*ms || tr.DNS != tt.dns) || tr.Reused && tr.DNS >= 0 || tr.TLS != -1 {
								t.Errorf("%+v", tr)
							}
							finish(t, resp)
						}
					})
				}
				wg.Wait()
				if len(served) != tt.addresses || served[tt.down] > 0 || (len(failed) > 0) != tt.failed || tt.failed && failed[dead] == 0 {
					t.Errorf("served %v, failed %v", served, failed)
				}
				if int64(len(uses)) > tt.conn || lookups.Load() > tt.lookups {
					t.Errorf("%d connections, %d look-ups", len(uses), lookups.Load())
				}
				for id, n := range uses {
					if tt.renew > 0 && n > tt.renew {
						t.Errorf("connection %d carried %d requests", id, n)
					}
				}
				t.Logf("served %v, failed %v, %d connections", served, failed, len(uses))
			})
		})
	}
}

// fakeProxy is a proxy that writes down what it was asked for.
type fakeProxy struct {
	*httptest.Server
	mu      sync.Mutex
	seen    []string
	tunnels int
	ended   *sync.Cond // a tunnel did; a closing httptest.Server does not wait for them
}

func newProxy(t *testing.T, user string) *fakeProxy {
	p := &fakeProxy{}
	p.ended = sync.NewCond(&p.mu)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.seen = append(p.seen, r.Method+" "+r.RequestURI)
		p.mu.Unlock()
		if auth := r.Header.Get("Proxy-Authorization"); user != "" && auth != user {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		to, err := net.Dial("tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		if r.Method != http.MethodConnect {
			defer to.Close()
			r.Header.Del("Proxy-Authorization")
			_ = r.Write(to)
			resp, err := http.ReadResponse(bufio.NewReader(to), r)
			if err != nil {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			w.WriteHeader(resp.StatusCode)
			io.Copy(w, resp.Body)
			return
		}
		nc, _, _ := w.(http.Hijacker).Hijack()
		io.WriteString(nc, "HTTP/1.1 200 Connection established\r\n\r\n")
		p.mu.Lock()
		p.tunnels++
		p.mu.Unlock()
		var both sync.WaitGroup
		both.Go(func() { io.Copy(nc, to); nc.Close() })
		both.Go(func() { io.Copy(to, nc); to.Close() })
		both.Wait()
		p.mu.Lock()
		p.tunnels--
		p.ended.Signal()
		p.mu.Unlock()
	}))
	t.Cleanup(func() {
		p.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		for p.tunnels > 0 {
			p.ended.Wait()
		}
	})
	return p
}

func through(raw string) func(*url.URL) (*url.URL, error) {
	u, err := url.Parse(raw)
	return func(*url.URL) (*url.URL, error) { return u, err }
}

// B18: direct unless asked, whatever the environment says; a proxy that is asked
// for is used, and named when it fails.
func TestProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:9")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:9")
	quiet := log.New(io.Discard, "", 0)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s%v", r.Proto, r.Method, body, r.Header["Proxy-Authorization"])
	})
	plain := httptest.NewServer(handler)
	defer plain.Close()
	secure := httptest.NewUnstartedServer(handler)
	secure.EnableHTTP2, secure.Config.ErrorLog = true, quiet
	secure.StartTLS()
	defer secure.Close()
	proxy := newProxy(t, "Basic dTpzZXNhbWU=")
	withUser := strings.Replace(proxy.URL, "http://", "http://u:sesame@", 1)

	for _, tt := range []struct {
		name, url string
		proxy     string
		h2        bool
		want      string // the body, or part of the error
		asked     string // what the proxy saw; "" nothing
		fails     bool
	}{
		{name: "direct", url: plain.URL, want: "HTTP/1.1 POST {}[]"},
		{name: "direct TLS", url: secure.URL, want: "HTTP/1.1 POST {}[]"},
		{name: "plain", url: plain.URL, proxy: withUser, want: "HTTP/1.1 POST {}[]", asked: "POST " + plain.URL + "/"},
		{name: "tunnel", url: secure.URL, proxy: withUser, want: "HTTP/1.1 POST {}[]", asked: "CONNECT " + strings.TrimPrefix(secure.URL, "https://")},
		{name: "tunnel, HTTP/2", url: secure.URL, proxy: withUser, h2: true, want: "HTTP/2.0 POST {}[]", asked: "CONNECT " + strings.TrimPrefix(secure.URL, "https://")},
		{name: "no credentials", url: secure.URL, proxy: proxy.URL, fails: true, want: "through the proxy " + strings.TrimPrefix(proxy.URL, "http://") + ": it answered CONNECT with 407", asked: "CONNECT"},
		{name: "dead", url: plain.URL, proxy: "http://u:sesame@127.0.0.1:9", fails: true, want: "connect to the proxy 127.0.0.1:9"},
		{name: "dead, tunnel", url: secure.URL, proxy: "http://u:sesame@127.0.0.1:9", fails: true, want: "connect to the proxy 127.0.0.1:9 for 127.0.0.1:"},
		{name: "target down", url: "https://127.0.0.1:9", proxy: withUser, fails: true, want: "through the proxy", asked: "CONNECT 127.0.0.1:9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			proxy.mu.Lock()
			proxy.seen = nil
			proxy.mu.Unlock()
			cfg := Config{Clock: clock.New(), Insecure: true, HTTP2: tt.h2, Connect: 5 * time.Second}
			if tt.proxy != "" {
				cfg.Proxy = through(tt.proxy)
			}
			c := New(cfg)
			defer c.Close()
			var tr Trace
			resp, err := c.Do(t.Context(), "POST", tt.url, nil, []byte("{}"), &tr)
			if tt.fails {
				if err == nil || Classify(err) != ClassConnect || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "sesame") {
					t.Errorf("%v (%v)", err, Classify(err))
				}
			} else if err != nil {
				t.Fatal(err)
			} else {
				if body := finish(t, resp); body != tt.want || (resp.Proxy != "") != (tt.proxy != "") {
					t.Errorf("%q, proxy %q", body, resp.Proxy)
				}
				if resp.Body.Approximate() != tt.h2 || tr.Dial < 0 || (tr.TLS >= 0) != strings.HasPrefix(tt.url, "https") {
					t.Errorf("%+v", tr)
				}
				if s, err := c.Get(t.Context(), tt.url, nil, 100); err != nil || (s.TLS != nil) != (tr.TLS >= 0) {
					t.Errorf("Get: %+v, %v", s, err)
				}
			}
			proxy.mu.Lock()
			defer proxy.mu.Unlock()
			seen := strings.Join(proxy.seen, "\n")
			if (tt.asked == "") != (seen == "") || !strings.HasPrefix(seen, tt.asked) {
				t.Errorf("the proxy saw %q, want %q", seen, tt.asked)
			}
		})
	}
}

// A proxy's own refusal of a plain request is a response, and says whose.
func TestProxyStatus(t *testing.T) {
	proxy := newProxy(t, "")
	c := New(Config{Clock: clock.New(), Proxy: through(proxy.URL)})
	defer c.Close()
	resp, err := c.Do(t.Context(), "POST", "http://127.0.0.1:9/", nil, []byte("{}"), new(Trace))
	if err != nil {
		t.Fatal(err)
	}
	if finish(t, resp); resp.Status != 502 || "http://"+resp.Proxy != proxy.URL {
		t.Errorf("%d, %q", resp.Status, resp.Proxy)
	}
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %s", r.Proto, r.Host, r.URL.Path)
	}), Protocols: new(http.Protocols)}}
	srv.Config.Protocols.SetHTTP1(true)
	srv.Config.Protocols.SetUnencryptedHTTP2(true)
	srv.Start()
	defer srv.Close()
	for h2, want := range map[bool]string{false: "HTTP/1.1 localhost /v1/x", true: "HTTP/2.0 localhost /v1/x"} {
		c := New(Config{Clock: clock.New(), HTTP2: h2, Proxy: through("http://127.0.0.1:9"), Resolver: &Resolver{Spread: true}})
		defer c.Close()
		var tr Trace
		resp, err := c.Do(t.Context(), "POST", "unix://"+path+":/v1/x", nil, []byte("{}"), &tr)
		if err != nil {
			t.Fatal(err)
		}
		if body := finish(t, resp); body != want || tr.Remote != path || resp.Body.Approximate() != h2 {
			t.Errorf("%q, %+v", body, tr)
		}
		if s, err := c.Get(t.Context(), "unix://"+path+":/health", nil, 100); err != nil || s.Status != 200 || s.Remote != path {
			t.Errorf("%+v, %v", s, err)
		}
	}
	c := New(Config{Clock: clock.New()})
	defer c.Close()
	_, err = c.Do(t.Context(), "POST", "unix://"+path+".not:/v1", nil, nil, new(Trace))
	if Classify(err) != ClassConnect || !strings.Contains(err.Error(), "connect to the socket "+path+".not") {
		t.Error(err)
	}
}

// B19: what TLS is told holds for every call.
func TestTLSSettings(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, len(r.TLS.PeerCertificates)) }))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.EnableHTTP2 = true
	srv.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	srv.StartTLS()
	defer srv.Close()
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key, err := x509.MarshalPKCS8PrivateKey(srv.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	ca, keyFile := write("ca.pem", "CERTIFICATE", srv.Certificate().Raw), write("key.pem", "PRIVATE KEY", key)
	pool, err := LoadCAs(ca)
	if err != nil {
		t.Fatal(err)
	}
	own, err := LoadCertificate(ca, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][2]string{{ca, ca}, {keyFile, keyFile}, {"/nowhere", keyFile}, {ca, "/nowhere"}} {
		if _, err := LoadCertificate(bad[0], bad[1]); err == nil || !strings.Contains(err.Error(), "target.") {
			t.Errorf("%v: %v", bad, err)
		}
	}
	byName := strings.Replace(srv.URL, "127.0.0.1", "model.test", 1)
	resolver := &Resolver{Lookup: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}}
	for _, tt := range []struct {
		name, url, want string // want: part of the error; "" works
		cfg             Config
	}{
		{"authority and certificate", srv.URL, "", Config{RootCAs: pool, Certificates: []tls.Certificate{own}}},
		{"the same over HTTP/2", srv.URL, "", Config{RootCAs: pool, Certificates: []tls.Certificate{own}, HTTP2: true}},
		{"insecure", srv.URL, "", Config{Insecure: true, Certificates: []tls.Certificate{own}}},
		{"server name", byName, "", Config{RootCAs: pool, Certificates: []tls.Certificate{own}, ServerName: "example.com"}},
		{"nothing", srv.URL, "unknown authority", Config{}},
		{"no certificate", srv.URL, "target.cert_file", Config{RootCAs: pool}},
		{"other name", byName, "target.server_name", Config{RootCAs: pool, Certificates: []tls.Certificate{own}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Clock, tt.cfg.Resolver = clock.New(), resolver
			c := New(tt.cfg)
			defer c.Close()
			var tr Trace
			resp, err := c.Do(t.Context(), "POST", tt.url, nil, []byte("{}"), &tr)
			s, err2 := c.Get(t.Context(), tt.url, nil, 100)
			if tt.want != "" {
				for _, err := range []error{err, err2} {
					if err == nil || !strings.Contains(err.Error(), tt.want) {
						t.Errorf("%v, want %q", err, tt.want)
					}
				}
				return
			}
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			alpn := "" // the test server offers HTTP/2 alone
			if tt.cfg.HTTP2 {
				alpn = "h2"
			}
			if body := finish(t, resp); body != "1" || string(s.Body) != "1" || s.TLS == nil || s.TLS.Version != "TLS 1.3" || s.TLS.ALPN != alpn || !strings.HasPrefix(s.TLS.Cipher, "TLS_") {
				t.Errorf("%q, %+v, %+v", body, s, s.TLS)
			}
			if tr.TLS <= 0 || tr.Dial <= 0 {
				t.Errorf("%+v", tr)
			}
		})
	}
}
