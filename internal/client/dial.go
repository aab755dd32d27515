package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"
)

func (c *Client) dialPlain(ctx context.Context, network, addr string) (net.Conn, error) {
	return c.dial(ctx, network, addr, false)
}

func (c *Client) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	return c.dial(ctx, network, addr, true)
}

// dial connects and shakes hands within the connect limit. ctx is not the
// request's: net/http lets a dial go on when its request is gone, for the next
// one; Close ends it.
func (c *Client) dial(ctx context.Context, network, addr string, secure bool) (net.Conn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })()
	if c.cfg.Connect > 0 {
		defer c.cfg.Clock.AfterFunc(int64(c.cfg.Connect), func() { cancel(ErrConnectTimeout) }).Stop()
	}
	start := c.cfg.Clock.Now()
	made := setup{dns: -1, tls: -1}
	nc, err := c.reach(ctx, network, addr, secure, &made)
	if err != nil {
		return nil, err
	}
	made.dial = c.cfg.Clock.Now() - start - max(made.dns, 0)
	nc = c.kernelStamped(nc)
	if secure {
		tc := tls.Client(nc, c.tlsConfig(addr))
		before := c.cfg.Clock.Now()
		err = tc.HandshakeContext(ctx)
		made.tls = c.cfg.Clock.Now() - before
		if err == nil && c.cfg.HTTP2 && tc.ConnectionState().NegotiatedProtocol != "h2" {
			err = errNoHTTP2
		}
		if err != nil {
			_ = nc.Close()
			return nil, c.dialError(ctx, PhaseTLS, "TLS handshake with "+addr, err)
		}
		made.info = tlsInfo(tc.ConnectionState())
		nc = tc
	}
	cn := c.conns.add(nc, c, made)
	if h, ok := ctx.Value(holderKey{}).(*holder); ok {
		h.cn = cn
	}
	if c.ctx.Err() != nil { // closed meanwhile: closeAll may have missed it
		_ = cn.Close()
		return nil, c.dialError(ctx, PhaseConnect, "connect to "+addr, ErrClosed)
	}
	return cn, nil
}

var errNoHTTP2 = errors.New("the server does not speak HTTP/2 over TLS (ALPN)")

// reach gets a connection to addr, through a proxy when one is to be used.
func (c *Client) reach(ctx context.Context, network, addr string, secure bool, made *setup) (net.Conn, error) {
	doing := "connect to " + addr
	if path, ok := socketOf(addr); ok {
		network, addr, doing = "unix", path, "connect to the socket "+path
	}
	proxy, err := c.tunnelFor(addr, secure)
	switch {
	case err != nil:
		return nil, c.dialError(ctx, PhaseConnect, doing, err)
	case proxy != nil:
		doing = "connect to the proxy " + proxy.Host + " for " + addr
		nc, err := c.connect(ctx, network, hostPort(proxy), doing, made)
		if err != nil {
			return nil, err
		}
		if err := tunnel(ctx, nc, proxy, addr); err != nil {
			_ = nc.Close()
			return nil, c.dialError(ctx, PhaseConnect, "reach "+addr+" through the proxy "+proxy.Host, err)
		}
		return nc, nil
	case c.isProxy(addr):
		doing = "connect to the proxy " + addr
	}
	return c.connect(ctx, network, addr, doing, made)
}

// connect dials, with the name looked up by the resolver where there is one.
func (c *Client) connect(ctx context.Context, network, addr, doing string, made *setup) (net.Conn, error) {
	r := c.cfg.Resolver
	host, port, err := net.SplitHostPort(addr)
	if r == nil || network == "unix" || err != nil || isAddress(host) {
		nc, err := c.dialTimed(ctx, network, addr, made)
		if err != nil {
			return nil, c.dialError(ctx, PhaseConnect, doing, err)
		}
		return nc, nil
	}
	before := c.cfg.Clock.Now()
	addrs, looked, err := r.next(ctx, host)
	if looked {
		made.dns = c.cfg.Clock.Now() - before
	}
	if err != nil {
		return nil, c.dialError(ctx, PhaseConnect, doing, err)
	}
	for i, a := range addrs {
		to := net.JoinHostPort(a.String(), port)
		try, cancel := c.share(ctx, before, len(addrs)-i)
		var nc net.Conn
		nc, err = c.cfg.Dial(try, network, to)
		cancel()
		if err == nil {
			return nc, nil
		}
		if to != addr {
			err = c.dialError(ctx, PhaseConnect, doing+" ("+to+")", err)
			err.(*Error).Remote = to
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// share gives one of n addresses its part of what is left of the connect limit,
// so that a dead one does not eat the time of the others.
func (c *Client) share(ctx context.Context, start int64, n int) (context.Context, func()) {
	if n == 1 || c.cfg.Connect <= 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	left := int64(c.cfg.Connect) - (c.cfg.Clock.Now() - start)
	t := c.cfg.Clock.AfterFunc(max(left/int64(n), int64(time.Millisecond)), cancel)
	return ctx, func() { t.Stop(); cancel() }
}

// dialTimed dials and lets the dialer say how long it looked the name up.
func (c *Client) dialTimed(ctx context.Context, network, addr string, made *setup) (net.Conn, error) {
	var mu sync.Mutex
	begun, took := int64(-1), int64(-1)
	nc, err := c.cfg.Dial(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { mu.Lock(); begun = c.cfg.Clock.Now(); mu.Unlock() },
		DNSDone:  func(httptrace.DNSDoneInfo) { mu.Lock(); took = c.cfg.Clock.Now() - begun; mu.Unlock() },
	}), network, addr)
	mu.Lock()
	made.dns = took
	mu.Unlock()
	return nc, err
}

// dialError puts our own reason to end the dial before the "operation was
// canceled" that it caused.
func (c *Client) dialError(ctx context.Context, phase Phase, doing string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
		if cause == ErrConnectTimeout {
			doing += " within " + c.cfg.Connect.String()
		}
	}
	return wrap(context.Background(), phase, doing, err)
}

func (c *Client) tlsConfig(addr string) *tls.Config {
	t := &tls.Config{
		ServerName:         c.cfg.ServerName,
		NextProtos:         []string{"http/1.1"},
		InsecureSkipVerify: c.cfg.Insecure,
		RootCAs:            c.cfg.RootCAs,
		Certificates:       c.cfg.Certificates,
	}
	if t.ServerName == "" {
		t.ServerName = serverName(addr)
	}
	if c.cfg.HTTP2 {
		t.NextProtos = []string{"h2"}
	}
	return t
}

func serverName(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	host, _, _ = strings.Cut(host, "%") // an IPv6 zone is no part of a name
	return host
}

// setup is how a connection was made; durations in ns, -1: no such step.
type setup struct {
	dns, dial, tls int64
	info           *TLSInfo
}

// conns are the open connections of a client.
type conns struct {
	mu   sync.Mutex
	last int64
	open map[*conn]struct{}
}

func (s *conns) add(nc net.Conn, c *Client, made setup) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = make(map[*conn]struct{})
	}
	s.last++
	cn := &conn{Conn: nc, clock: c.cfg.Clock, id: s.last, remote: nc.RemoteAddr().String(), setup: made, closed: s.remove}
	if c.cfg.HTTP2 {
		cn.gate = &gate{open: make(chan struct{})}
	}
	s.open[cn] = struct{}{}
	return cn
}

func (s *conns) remove(cn *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, cn)
}

func (s *conns) closeAll() {
	s.mu.Lock()
	open := make([]*conn, 0, len(s.open))
	for cn := range s.open {
		open = append(open, cn)
	}
	s.mu.Unlock()
	for _, cn := range open {
		_ = cn.Close()
	}
}
