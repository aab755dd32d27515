package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tokentape/internal/clock"
)

// Config is a client's settings. The zero value of every field but Clock is usable.
type Config struct {
	Clock       *clock.Clock
	Dial        func(ctx context.Context, network, addr string) (net.Conn, error) // nil: net.Dialer; tests hand in memnet
	MaxIdle     int                                                               // idle connections kept per host; below 1: 1
	IdleTimeout time.Duration                                                     // how long an unused connection is kept; 0: 4 s
	Connect     time.Duration                                                     // limit of look-up, dial, tunnel and TLS handshake together; 0: none

	Insecure     bool              // do not verify TLS certificates
	RootCAs      *x509.CertPool    // nil: the system's
	Certificates []tls.Certificate // the client's own, shown to a server that asks
	ServerName   string            // that the server's certificate must carry; "": the URL's host

	// HTTP2 speaks HTTP/2 and nothing else: over TLS by ALPN, else with prior
	// knowledge.
	HTTP2 bool
	// Proxy is the http:// proxy of a URL, nil for none; a nil func: none ever.
	Proxy    func(*url.URL) (*url.URL, error)
	Resolver *Resolver // nil: Dial looks names up
	// RenewAfter closes a connection that has carried so many requests; 0: never.
	// It means nothing to HTTP/2.
	RenewAfter int64

	// Waited is told how long, in ns, the newest bytes of each read lay in the kernel
	// before it, by the kernel's own stamps; nil: none are asked for. It is called on
	// the read path of one connection in WaitedOf (below 2: of each), from many
	// goroutines, and must be cheap. Connections that have no such stamps, and all of
	// HTTP/2, never call it.
	Waited   func(ns int64)
	WaitedOf int64
}

// IdleOf is Config.MaxIdle of a load of at most concurrency requests in flight; 0: no cap,
// so that there may be any number.
func IdleOf(concurrency int64) int {
	if concurrency == 0 {
		return 4096
	}
	return int(max(concurrency, 64))
}

// Trace is what happened on the connection, in nanoseconds of the client's
// clock; -1 means that it never happened. It is complete when Do failed, when
// Body.Read returned an error or io.EOF, and after Body.Close.
type Trace struct {
	// GotConn is when the request got a connection, new or reused; over HTTP/2 a
	// free stream on it, so that a wait for one lies before it.
	GotConn int64
	// WroteFirst and Wrote are the returns of the writes that carried the
	// request's first and (so far) last byte. Where the answer overtakes the
	// return of the first write, they are the time of the answer. Wrote is after
	// Headers when the server answered before it had the whole request.
	WroteFirst, Wrote int64
	// Headers is the return of the read that brought the first byte of the final
	// response's status line; 1xx responses before it do not count.
	Headers int64
	// ConnID numbers the connections of one client from 1 in order of dialling.
	ConnID int64
	// Reused says that an earlier request had used the connection.
	Reused bool
	// Remote is the address of the peer. Without a connection it is the address
	// that was tried, where a Resolver named it, or empty.
	Remote string
	// DNS, Dial and TLS are how long it took to look the name up, to connect
	// (through a proxy its CONNECT included) and to shake hands, in ns; −1: no such
	// step, or the connection was reused.
	DNS, Dial, TLS int64
	// DialErr and TLSErr say that there is no connection because dialling or the
	// TLS handshake failed, be it by the connect limit.
	DialErr, TLSErr bool
	// Sent is how many bytes of the request, header included, were written; over
	// HTTP/2 those of its body that the connection took.
	Sent int64
}

func newTrace() Trace {
	return Trace{GotConn: -1, WroteFirst: -1, Wrote: -1, Headers: -1, ConnID: -1, DNS: -1, Dial: -1, TLS: -1}
}

// Response is the final response's header, and its body still to be read.
// Redirects are responses like any other.
type Response struct {
	Status int
	Proto  string // "HTTP/1.1"
	Proxy  string // host:port of the proxy that handed it on, or ""
	Header http.Header
	Body   *Body // never nil; must be closed
}

// Client sends requests. It is safe for concurrent use.
type Client struct {
	cfg   Config
	load  *http.Transport // Do
	side  *http.Transport // Get: its connections never mix with the load's
	ctx   context.Context // done: closed
	close context.CancelCauseFunc
	conns conns
	dials atomic.Int64 // for Config.WaitedOf

	parsed  sync.Map // of address, by URL: a load has a few
	proxies sync.Map // addresses that are dialled as proxies
	muxes   sync.Map // of *mux, by transport and address
}

// sideIdle is how long Get keeps a connection: long enough for a scrape every second.
const sideIdle = 2 * time.Second

// New makes a client; it opens no connection. Close it in the end.
func New(cfg Config) *Client {
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	if cfg.IdleTimeout <= 0 {
		cfg.IdleTimeout = 4 * time.Second
	}
	c := &Client{cfg: cfg}
	c.ctx, c.close = context.WithCancelCause(context.Background())
	c.load = c.transport(max(cfg.MaxIdle, 1), cfg.IdleTimeout)
	c.side = c.transport(1, min(sideIdle, cfg.IdleTimeout))
	return c
}

// The read stamps of a client's bodies; the words of a tape's header.
const (
	StampConn = "conn" // return of the read from the connection
	StampBody = "body" // return of the read from the decoded body
)

// ReadStamp says which of the two the client's marks are.
func (c *Client) ReadStamp() string {
	if c.cfg.HTTP2 {
		return StampBody
	}
	return StampConn
}

// Bytes that are read off a connection at once. A larger buffer stamps what came
// together together, with fewer reads: an eighth of the processor's time where an answer
// comes in one piece. Of many connections net/http's own size is the most that memory
// should carry.
const (
	readFew, readMany = 16 << 10, 4 << 10
	fewConns          = 512
)

// ReadBuffer is how many bytes of an HTTP/1 connection one read brings at most.
func (c *Client) ReadBuffer() int {
	if c.cfg.MaxIdle > fewConns {
		return readMany
	}
	return readFew
}

// writeBuffer takes a request's header, and a short body with it; the rest of a long one
// is written from where it lies.
func (c *Client) writeBuffer() int {
	if c.cfg.MaxIdle > fewConns {
		return readMany / 2
	}
	return readMany
}

// transport speaks one protocol, as the configuration says.
func (c *Client) transport(maxIdle int, idle time.Duration) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!c.cfg.HTTP2)
	protocols.SetHTTP2(c.cfg.HTTP2)
	protocols.SetUnencryptedHTTP2(c.cfg.HTTP2)
	return &http.Transport{
		Proxy:                  c.proxyOf,
		DialContext:            c.dialPlain,
		DialTLSContext:         c.dialTLS,
		Protocols:              protocols,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    maxIdle,
		ReadBufferSize:         c.ReadBuffer(),
		WriteBufferSize:        c.writeBuffer(),
		IdleConnTimeout:        idle,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// Do sends one request, at most once, and returns when the response's header is
// there. ctx rules the body too: when it is done, reading fails with its cause.
// Every error is an *Error. tr is overwritten.
//
// The request carries the given header and nothing else, except Host,
// Content-Length, "Accept-Encoding: identity" unless given, and Authorization
// when the URL names a user and the header does not; in particular no User-Agent.
//
// A reused connection may turn out to be closed by the server. If not a byte of
// the request was written to it, the next connection is taken, for no request
// has been made yet; GotConn and the others are then those of the last
// connection. Once a byte was written nothing is ever sent again. The same holds
// for a request over HTTP/2 whose connection ended before its stream began.
func (c *Client) Do(ctx context.Context, method, rawURL string, header http.Header, body []byte, tr *Trace) (*Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	resp, err := c.DoOwn(ctx, cancel, method, rawURL, header, body, tr)
	if err != nil {
		cancel(nil)
	}
	return resp, err
}

// DoOwn is Do for a caller whose ctx is that of this request alone, so that no other
// need be made of it. It calls cancel, which ends ctx, when the body was read to its end
// or is closed; the caller does where there is none.
func (c *Client) DoOwn(ctx context.Context, cancel context.CancelCauseFunc, method, rawURL string, header http.Header, body []byte, tr *Trace) (*Response, error) {
	*tr = newTrace()
	target, err := c.parse(rawURL)
	if err != nil {
		return nil, err
	}
	if c.ctx.Err() != nil {
		return nil, wrap(c.ctx, PhaseConnect, "send the request", ErrClosed)
	}
	if c.cfg.HTTP2 {
		return c.doStream(ctx, cancel, method, target, header, body, tr)
	}
	for {
		var fl *flight
		hooks := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
			tr.GotConn = c.cfg.Clock.Now()
			if cn, ok := info.Conn.(*conn); ok {
				tr.took(cn, info.Reused)
				fl = newFlight(method)
				if n := cn.begin(fl); c.cfg.RenewAfter > 0 && n > c.cfg.RenewAfter {
					_ = cn.Close() // nothing can be written to it, so that another one is taken
				}
			}
		}}
		resp, err := c.load.RoundTrip(newRequest(httptrace.WithClientTrace(ctx, hooks), method, target, header, body))
		if fl != nil {
			fl.fill(tr)
		}
		if err != nil {
			if fl != nil && tr.Reused && tr.Sent == 0 && tr.Headers < 0 && ctx.Err() == nil && c.ctx.Err() == nil {
				continue
			}
			if fl != nil && Classify(err) == ClassOther {
				if cut := fl.cut(); cut != nil {
					err = cut
				}
			}
			return nil, c.failed(ctx, cancel, tr, target, err)
		}
		b := &Body{inner: resp.Body, c: c, ctx: ctx, cancel: cancel, f: fl, tr: tr, last: -1}
		b.approx = fl == nil || !fl.agrees(len(resp.TransferEncoding) > 0, resp.ContentLength)
		return c.response(resp, b, target), nil
	}
}

// parse is parseURL, once a URL.
func (c *Client) parse(raw string) (address, error) {
	if a, ok := c.parsed.Load(raw); ok {
		return a.(address), nil
	}
	a, err := parseURL(raw)
	if err == nil {
		c.parsed.Store(raw, a)
	}
	return a, err
}

func (c *Client) response(resp *http.Response, b *Body, target address) *Response {
	return &Response{Status: resp.StatusCode, Proto: resp.Proto, Proxy: c.proxyName(target.url), Header: resp.Header, Body: b}
}

// took notes which connection a request got.
func (tr *Trace) took(cn *conn, reused bool) {
	tr.Reused, tr.ConnID, tr.Remote = reused, cn.id, cn.remote
	tr.DNS, tr.Dial, tr.TLS = -1, -1, -1
	if !reused {
		tr.DNS, tr.Dial, tr.TLS = cn.setup.dns, cn.setup.dial, cn.setup.tls
	}
}

func (c *Client) failed(ctx context.Context, cancel context.CancelCauseFunc, tr *Trace, target address, err error) error {
	doing := "send the request to " + target.name
	if tr.Sent > 0 {
		doing = "wait for the response of " + target.name
	}
	if proxy := c.proxyName(target.url); proxy != "" {
		doing += " through the proxy " + proxy
	}
	err = wrap(c.either(ctx), PhaseRequest, doing, err)
	cancel(nil)
	var e *Error
	if errors.As(err, &e) {
		if e.Phase == PhaseRequest && e.Class == ClassOther && tr.GotConn >= 0 && tr.Headers < 0 {
			e.Class = ClassReset // there was a connection, and it gave no answer that net/http could misread
		}
		if (e.Class == ClassReset || e.Class == ClassEOF) && tr.Reused && tr.Headers < 0 && !c.cfg.HTTP2 {
			e.Hint = "the server closed a kept connection as it was used again: target.renew_after: 1 or a shorter limits.keep_alive helps"
		}
		if e.Phase == PhaseConnect || e.Phase == PhaseTLS { // whatever connection was passed over before
			*tr = newTrace()
			tr.Remote = e.Remote
		}
		tr.DialErr, tr.TLSErr = e.Phase == PhaseConnect, e.Phase == PhaseTLS
	}
	return err
}

// either is the context that explains a failure: the request's, or the client's
// when the client was closed.
func (c *Client) either(ctx context.Context) context.Context {
	if ctx.Err() == nil && c.ctx.Err() != nil {
		return c.ctx
	}
	return ctx
}

// Values that net/http only reads.
var (
	identity = []string{"identity"}
	noAgent  = []string{""} // net/http's way of none
)

func newRequest(ctx context.Context, method string, target address, header http.Header, body []byte) *http.Request {
	req := &http.Request{
		Method: method, URL: target.url, Host: target.host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header, len(header)+2),
	}
	for key, values := range header {
		if len(values) == 0 {
			continue
		}
		switch canonical := http.CanonicalHeaderKey(key); canonical {
		case "Host":
			req.Host = values[0]
		case "Idempotency-Key", "X-Idempotency-Key":
			// net/http takes the canonical spelling as a permission to send the
			// request again. Field names are case-insensitive.
			req.Header[strings.ToLower(key)] = values
		default:
			if was := req.Header[canonical]; was != nil { // given in two spellings
				values = append(slices.Clip(was), values...)
			}
			req.Header[canonical] = values
		}
	}
	if req.Header["Accept-Encoding"] == nil {
		req.Header["Accept-Encoding"] = identity
	}
	if req.Header["User-Agent"] == nil {
		req.Header["User-Agent"] = noAgent
	}
	if u := target.url.User; u != nil && req.Header["Authorization"] == nil {
		password, _ := u.Password()
		req.SetBasicAuth(u.Username(), password)
	}
	// A body without GetBody is what net/http will not send twice. GET and its
	// kin are sent twice with http.NoBody, but not with an empty body.
	switch {
	case len(body) > 0:
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	case method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions:
		req.Body = io.NopCloser(strings.NewReader(""))
	default:
		req.Body = http.NoBody
	}
	return req.WithContext(ctx)
}

// withConn notes the connection that a request gets.
func withConn(ctx context.Context, s *Simple) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if cn, ok := info.Conn.(*conn); ok {
			s.on(cn, info.Reused)
		}
	}})
}

// on notes which connection carried it.
func (s *Simple) on(cn *conn, reused bool) {
	s.Remote, s.TLS, s.Reused = cn.remote, cn.setup.info, reused
	s.DNS, s.Dial, s.Shake = -1, -1, -1
	if !reused {
		s.DNS, s.Dial, s.Shake = cn.setup.dns, cn.setup.dial, cn.setup.tls
	}
}

// CloseIdle closes the connections over HTTP/1 that carry no request, so that the
// next request of the load finds none ready.
func (c *Client) CloseIdle() { c.load.CloseIdleConnections() }

// Close ends all requests with ErrClosed and closes every connection. It does not
// wait for the goroutines of net/http, which end at once.
func (c *Client) Close() {
	c.close(ErrClosed)
	c.conns.closeAll()
	c.load.CloseIdleConnections()
	c.side.CloseIdleConnections()
}
