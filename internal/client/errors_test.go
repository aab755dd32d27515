package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/clock"
	"tokentape/internal/memnet"
)

// listen serves one connection after the other on a socket, and is its address.
func listen(t *testing.T, serve func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			serve(nc)
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func reset(nc net.Conn) { nc.(*net.TCPConn).SetLinger(0); nc.Close() }

// Real sockets: what the kernel and crypto/tls say is classified.
func TestClassesOnSockets(t *testing.T) {
	readHeader := func(nc net.Conn) {
		buf := make([]byte, 4096)
		for text := ""; !strings.Contains(text, "\r\n\r\n"); {
			n, err := nc.Read(buf)
			if err != nil {
				return
			}
			text += string(buf[:n])
		}
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()

	tests := []struct {
		name     string
		url      func(t *testing.T) string
		dial     func(context.Context, string, string) (net.Conn, error)
		class    Class
		phase    Phase
		contains []string
	}{
		{
			name: "refused", class: ClassConnect, phase: PhaseConnect, contains: []string{"connect to 127.0.0.1:", "connection refused"},
			url: func(t *testing.T) string {
				l, _ := net.Listen("tcp", "127.0.0.1:0")
				l.Close()
				return "http://user:secret@" + l.Addr().String()
			},
		},
		{
			name: "no such host", class: ClassConnect, phase: PhaseConnect, contains: []string{"lookup nowhere.invalid: "},
			url: func(*testing.T) string { return "http://user:secret@nowhere.invalid/?key=secret" },
			dial: (&net.Dialer{Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
				return nil, errors.New("no network in tests")
			}}}).DialContext,
		},
		{
			name: "accepted, reset", class: ClassReset, phase: PhaseRequest, contains: []string{"connection reset by peer"},
			url: func(t *testing.T) string {
				return "http://" + listen(t, func(nc net.Conn) { readHeader(nc); reset(nc) })
			},
		},
		{
			name: "closed without a response", class: ClassEOF, phase: PhaseRequest, contains: []string{"closed the connection without a response"},
			url: func(t *testing.T) string {
				return "http://" + listen(t, func(nc net.Conn) { readHeader(nc); nc.Close() })
			},
		},
		{
			name: "closed within the header", class: ClassEOF, phase: PhaseRequest, contains: []string{"ended before the response was complete"},
			url: func(t *testing.T) string {
				return "http://" + listen(t, func(nc net.Conn) { readHeader(nc); io.WriteString(nc, "HTTP/1.1 200 OK\r\nA:"); nc.Close() })
			},
		},
		{
			name: "not HTTP", class: ClassOther, phase: PhaseRequest, contains: []string{"malformed HTTP"},
			url: func(t *testing.T) string {
				return "http://" + listen(t, func(nc net.Conn) { readHeader(nc); io.WriteString(nc, "SSH-2.0-x\r\n"); nc.Close() })
			},
		},
		{
			name: "unknown authority", class: ClassTLS, phase: PhaseTLS, contains: []string{"TLS handshake with 127.0.0.1:", "unknown authority", "target.ca_file"},
			url: func(*testing.T) string { return secure.URL },
		},
		{
			name: "plain server", class: ClassTLS, phase: PhaseTLS, contains: []string{"use an http:// URL"},
			url: func(*testing.T) string { return strings.Replace(plain.URL, "http", "https", 1) },
		},
		{
			name: "handshake cut off", class: ClassTLS, phase: PhaseTLS,
			url: func(t *testing.T) string {
				return "https://" + listen(t, func(nc net.Conn) { nc.Read(make([]byte, 1)); reset(nc) })
			},
		},
		{
			name: "no descriptors", class: ClassLimit, phase: PhaseConnect, contains: []string{"too many open files", "ulimit -n"},
			url: func(*testing.T) string { return plain.URL },
			dial: func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)}
			},
		},
		{
			name: "no ports", class: ClassLimit, phase: PhaseConnect, contains: []string{"cannot assign requested address", "local port"},
			url: func(*testing.T) string { return plain.URL },
			dial: func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)}
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := New(Config{Clock: clock.New(), Dial: tt.dial, Connect: 5 * time.Second})
			defer c.Close()
			var tr Trace
			_, err := c.Do(t.Context(), "POST", tt.url(t), nil, []byte("{}"), &tr)
			var e *Error
			if !errors.As(err, &e) || e.Class != tt.class || Classify(fmt.Errorf("wrapped: %w", err)) != tt.class || e.Phase != tt.phase {
				t.Fatalf("%v, %+v; want class %v, phase %v", err, e, tt.class, tt.phase)
			}
			for _, part := range tt.contains {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("a secret in %q", err)
			}
			if tr.DialErr != (tt.phase == PhaseConnect) || tr.TLSErr != (tt.phase == PhaseTLS) || (tr.Sent > 0) != (tt.phase == PhaseRequest) || tr.Headers >= 0 && tt.phase != PhaseRequest {
				t.Errorf("trace %+v", tr)
			}
		})
	}
}

func TestTLS(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
	defer srv.Close()
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	for name, cfg := range map[string]Config{
		"RootCAs":  {RootCAs: pool},
		"Insecure": {Insecure: true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Clock = clock.New()
			c := New(cfg)
			defer c.Close()
			for i := range 3 {
				var tr Trace
				resp, err := c.Do(t.Context(), "POST", srv.URL, nil, []byte("{}"), &tr)
				if err != nil {
					t.Fatal(err)
				}
				body, stamps, _, err := readAll(t, resp.Body, 100)
				if string(body) != "HTTP/1.1" || err != nil || resp.Body.Approximate() {
					t.Errorf("%q, %v, approximate %v", body, err, resp.Body.Approximate())
				}
				resp.Body.Close()
				if tr.Reused != (i > 0) || !(0 <= tr.GotConn && tr.GotConn <= tr.WroteFirst && tr.WroteFirst <= tr.Wrote && tr.Wrote <= tr.Headers && tr.Headers <= stamps[0]) {
					t.Errorf("stamps out of order: %+v, %d", tr, stamps[0])
				}
			}
			if _, err := c.Get(t.Context(), srv.URL, nil, 100); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestIPv6(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 here: ", err)
	}
	srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.NotFoundHandler()}}
	srv.Start()
	defer srv.Close()
	c := New(Config{Clock: clock.New()})
	defer c.Close()
	var tr Trace
	resp, err := c.Do(t.Context(), "POST", srv.URL, nil, []byte("{}"), &tr)
	if err != nil || resp.Status != 404 || !strings.HasPrefix(tr.Remote, "[::1]:") {
		t.Fatalf("%v, %v, %+v", resp, err, tr)
	}
	finish(t, resp)
}

// The connect limit spans dial and TLS together.
func TestConnectLimit(t *testing.T) {
	for _, tt := range []struct {
		name  string
		url   string
		dial  time.Duration
		phase Phase
	}{
		{"dial hangs", "http://sim.test/", time.Hour, PhaseConnect},
		{"handshake hangs after a slow dial", "https://sim.test/", 1500 * time.Millisecond, PhaseTLS},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := memnet.Listen() // accepts, never answers
				c := New(Config{Clock: clock.New(), Connect: 2 * time.Second, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
					select {
					case <-time.After(tt.dial):
						return l.Dial(ctx, network, addr)
					case <-ctx.Done():
						return nil, &net.OpError{Op: "dial", Err: errors.New("operation was canceled")}
					}
				}})
				t.Cleanup(func() { c.Close(); l.Close() })
				var tr Trace
				_, err := c.Do(t.Context(), "POST", tt.url, nil, []byte("x"), &tr)
				if Classify(err) != ClassConnectTimeout || c.cfg.Clock.Now() != 2000*ms || !strings.Contains(err.Error(), "within 2s") {
					t.Errorf("%v at %d", err, c.cfg.Clock.Now())
				}
				if tr.DialErr != (tt.phase == PhaseConnect) || tr.TLSErr != (tt.phase == PhaseTLS) || tr.GotConn != -1 || tr.ConnID != -1 {
					t.Errorf("%+v", tr)
				}
			})
		})
	}
}

// A body that ends too early is told from one that ends.
func TestBodyErrors(t *testing.T) {
	for _, tt := range []struct {
		name  string
		head  string
		reset bool
		class Class
	}{
		{"chunked, closed", chunkedHead + chunk("ab"), false, ClassEOF},
		{"within a chunk", chunkedHead + "9\r\nab", false, ClassEOF},
		{"Content-Length, closed", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", false, ClassEOF},
		{"chunked, reset", chunkedHead + chunk("ab"), true, ClassReset},
		{"bad chunk", chunkedHead + chunk("ab") + "zz\r\n", false, ClassOther},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := start(t, serveRaw(func(_ int, _ *http.Request, nc *memnet.Conn) bool {
					io.WriteString(nc, tt.head)
					time.Sleep(time.Millisecond)
					if tt.reset {
						nc.Reset()
					}
					return false
				}))
				resp := post(t, c, new(Trace))
				body, stamps, _, err := readAll(t, resp.Body, 100)
				if string(body) != "ab" || stamps[1] != 0 || Classify(err) != tt.class {
					t.Errorf("%q, %v (%v), want class %v", body, err, Classify(err), tt.class)
				}
				if again, err2 := resp.Body.Read(make([]byte, 1)); again != 0 || err2 != err {
					t.Errorf("read after the error: %d, %v", again, err2)
				}
				resp.Body.Close()
			})
		})
	}
}

func TestBadURLs(t *testing.T) {
	c := New(Config{Clock: clock.New()})
	defer c.Close()
	for raw, want := range map[string]string{
		"http://user:sec%ret@host/":  "escape special characters",
		"http://user:sec/ret@host/":  "escape special characters",
		"ftp://user:secret@host/":    `scheme is "ftp"`,
		"http://:secret@/x":          "names no host",
		"http://host:port/":          "invalid port",
		"host:8000":                  "scheme",
		"http://host/\x00":           "invalid control character",
		"":                           "scheme",
		"http://%zz/":                "invalid URL escape",
		"http://[::1/":               "missing ']'",
		"http://user:sec ret@host/x": "escape special characters",
	} {
		_, err := c.Do(t.Context(), "POST", raw, nil, nil, new(Trace))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sec") {
			t.Errorf("%q: %v, want %q", raw, err, want)
		}
		if _, err2 := c.Get(t.Context(), raw, nil, 1); err2 == nil || err2.Error() != err.Error() {
			t.Errorf("%q: Get says %v", raw, err2)
		}
	}
}

func TestClassifyBare(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want Class
	}{
		{nil, ClassOther},
		{errors.New("x"), ClassOther},
		{context.Canceled, ClassCancelled},
		{fmt.Errorf("a: %w", io.ErrUnexpectedEOF), ClassEOF},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, ClassReset},
		{&net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}, ClassReset},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ETIMEDOUT)}, ClassConnect},
		{&net.DNSError{Err: "no such host", Name: "x"}, ClassConnect},
		{&tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "x"}}, ClassTLS},
	} {
		if got := Classify(tt.err); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.err, got, tt.want)
		}
	}
}

// A reset while a long request body is being written is a reset, whichever of
// net/http's goroutines sees it first.
func TestResetWhileWriting(t *testing.T) {
	url := "http://" + listen(t, func(nc net.Conn) { nc.Read(make([]byte, 100)); reset(nc) })
	c := New(Config{Clock: clock.New()})
	defer c.Close()
	body := make([]byte, 16<<20)
	for range 20 {
		var tr Trace
		_, err := c.Do(t.Context(), "POST", url, nil, body, &tr)
		if Classify(err) != ClassReset || strings.Contains(err.Error(), "use of closed") {
			t.Fatalf("%v (%v), %+v", err, Classify(err), tr)
		}
	}
}

// The end of a kept connection says what helps against it; that of a new one does not.
func TestKeptConnectionClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, serveRaw(func(n int, _ *http.Request, nc *memnet.Conn) bool {
			if n == 0 {
				io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			}
			return n == 0
		}))
		finish(t, post(t, c, new(Trace)))
		for _, kept := range []bool{true, false} {
			var tr Trace
			_, err := c.Do(t.Context(), "POST", "http://sim.test/", nil, []byte("{}"), &tr)
			if Classify(err) != ClassEOF || tr.Reused != kept || strings.Contains(err.Error(), "target.renew_after: 1") != kept {
				t.Errorf("kept %v: %v (%v), %+v", kept, err, Classify(err), tr)
			}
		}
	})
}
