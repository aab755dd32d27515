package client

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"sync"
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
	nc, err := c.cfg.Dial(ctx, network, addr)
	if err != nil {
		return nil, c.dialError(ctx, PhaseConnect, "connect to "+addr, err)
	}
	if secure {
		// "h2" is offered here once HTTP/2 is spoken.
		tc := tls.Client(nc, &tls.Config{
			ServerName:         serverName(addr),
			NextProtos:         []string{"http/1.1"},
			InsecureSkipVerify: c.cfg.Insecure,
			RootCAs:            c.cfg.RootCAs,
		})
		if err := tc.HandshakeContext(ctx); err != nil {
			_ = nc.Close()
			return nil, c.dialError(ctx, PhaseTLS, "TLS handshake with "+addr, err)
		}
		nc = tc
	}
	cn := c.conns.add(nc, c)
	if c.ctx.Err() != nil { // closed meanwhile: closeAll may have missed it
		_ = cn.Close()
		return nil, c.dialError(ctx, PhaseConnect, "connect to "+addr, ErrClosed)
	}
	return cn, nil
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

func serverName(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	host, _, _ = strings.Cut(host, "%") // an IPv6 zone is no part of a name
	return host
}

// conns are the open connections of a client.
type conns struct {
	mu   sync.Mutex
	last int64
	open map[*conn]struct{}
}

func (s *conns) add(nc net.Conn, c *Client) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = make(map[*conn]struct{})
	}
	s.last++
	cn := &conn{Conn: nc, clock: c.cfg.Clock, id: s.last, remote: nc.RemoteAddr().String(), closed: s.remove}
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
