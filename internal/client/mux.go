package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
)

// mux are the HTTP/2 connections to one address. A request takes a free stream of
// any of them, in order of arrival; when none is free, as many connections are
// made as the waiting requests need. So no server's limit of streams caps the
// concurrency, and whatever a request waits lies before its stream.
//
// net/http's own pool opens a hundred streams on a new connection before it knows
// the limit, which the server then refuses, and sends requests again.
type mux struct {
	c            *Client
	t            *http.Transport
	scheme, addr string
	idle         int64 // ns an unused connection is kept

	mu      sync.Mutex
	links   []*link
	queue   []*waiter
	dialing int
	takes   int // streams that a connection takes; 0: not known yet
}

// link is one connection.
type link struct {
	cc   *http.ClientConn
	cn   *conn
	used bool
	idle int64 // when its last stream ended, −1: in use
}

type waiter struct{ got chan grant }

// grant is a stream that is reserved, or why there is none.
type grant struct {
	l     *link
	first bool // nobody used the connection before
	err   error
}

// holder carries a new connection out of net/http.
type holder struct{ cn *conn }

type holderKey struct{}

// mux is the one for a URL, of the load or of Get.
func (c *Client) mux(t *http.Transport, u *url.URL) *mux {
	addr := u.Host
	if u.Port() == "" {
		addr = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	type key struct {
		t            *http.Transport
		scheme, addr string
	}
	m, _ := c.muxes.LoadOrStore(key{t, u.Scheme, addr}, &mux{c: c, t: t, scheme: u.Scheme, addr: addr, idle: int64(t.IdleConnTimeout)})
	return m.(*mux)
}

// acquire waits for a stream. The grant's reservation is used up by one RoundTrip.
func (m *mux) acquire(ctx context.Context) (grant, error) {
	w := &waiter{got: make(chan grant, 1)}
	m.mu.Lock()
	m.queue = append(m.queue, w)
	m.serve()
	m.mu.Unlock()
	var g grant
	select {
	case g = <-w.got:
		return g, g.err
	case <-ctx.Done():
	}
	m.mu.Lock()
	i := slices.Index(m.queue, w)
	if i >= 0 {
		m.queue = slices.Delete(m.queue, i, i+1)
	}
	m.mu.Unlock()
	if i < 0 { // granted meanwhile
		if g = <-w.got; g.err == nil {
			g.l.cc.Release()
		}
	}
	return grant{}, context.Cause(ctx)
}

// serve grants what is free and dials for who is left. m.mu is held.
func (m *mux) serve() {
	now := m.c.cfg.Clock.Now()
	m.links = slices.DeleteFunc(m.links, func(l *link) bool {
		if l.cc.Err() == nil && l.idle >= 0 && now-l.idle > m.idle {
			_ = l.cn.Close()
			return true
		}
		return l.cc.Err() != nil
	})
	for _, l := range m.links {
		for len(m.queue) > 0 && l.cc.Reserve() == nil {
			m.queue[0].got <- grant{l: l, first: !l.used}
			m.queue, l.used, l.idle = m.queue[1:], true, -1
		}
	}
	want := 1 // until it is known how many streams a connection takes
	if m.takes > 0 {
		want = (len(m.queue) + m.takes - 1) / m.takes
	}
	for ; len(m.queue) > 0 && m.dialing < want; m.dialing++ {
		go m.dial()
	}
}

// changed is called by net/http when a stream ended or the connection did.
func (m *mux) changed(l *link) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l.cc.InFlight() == 0 {
		l.idle = m.c.cfg.Clock.Now()
	}
	if len(m.queue) > 0 {
		m.serve()
	}
}

var (
	errNotHTTP2  = errors.New("the connection ended before the server spoke HTTP/2")
	errNoStreams = errors.New("the server takes no streams (SETTINGS_MAX_CONCURRENT_STREAMS is 0)")
)

// dial makes one connection. It belongs to no request, so it ends by the connect
// limit or with the client.
func (m *mux) dial() {
	l, err := m.connect()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dialing--
	if err == nil {
		m.links = append(m.links, l)
		m.takes = l.cc.Available()
		l.cc.SetStateHook(func(*http.ClientConn) { go m.changed(l) })
	} else {
		n := len(m.queue) // those for whom this connection was made
		if m.takes > 0 {
			n = min(n, m.takes)
		}
		for _, w := range m.queue[:n] {
			w.got <- grant{err: err}
		}
		m.queue = m.queue[n:]
	}
	m.serve()
}

func (m *mux) connect() (*link, error) {
	ctx, cancel := context.WithCancelCause(m.c.ctx)
	defer cancel(nil)
	if limit := m.c.cfg.Connect; limit > 0 {
		defer m.c.cfg.Clock.AfterFunc(int64(limit), func() { cancel(ErrConnectTimeout) }).Stop()
	}
	var h holder
	cc, err := m.t.NewClientConn(context.WithValue(ctx, holderKey{}, &h), m.scheme, m.addr)
	if err != nil {
		if h.cn != nil {
			_ = h.cn.Close()
		}
		return nil, err
	}
	doing := "begin HTTP/2 with " + m.addr
	if path, ok := socketOf(m.addr); ok {
		doing = "begin HTTP/2 with the socket " + path
	}
	switch err = h.cn.gate.pass(ctx); {
	case err != nil:
	case cc.Err() != nil:
		err = errNotHTTP2
	case cc.Available() == 0:
		err = errNoStreams
	default:
		return &link{cc: cc, cn: h.cn, idle: m.c.cfg.Clock.Now()}, nil
	}
	_ = cc.Close()
	return nil, m.c.dialError(ctx, PhaseConnect, doing, err)
}

// gate holds a new connection back until the server has said how many streams it
// takes. net/http writes its preface in one piece and acknowledges the server's
// settings as soon as it obeys them: with no request sent that is the second
// write.
type gate struct {
	writes atomic.Int32
	once   sync.Once
	open   chan struct{}
	spoke  bool // read it after open is closed
}

func (g *gate) wrote() {
	if g.writes.Add(1) == 2 {
		g.release(true)
	}
}

// release opens the gate; spoke says that it was the server's doing.
func (g *gate) release(spoke bool) {
	g.once.Do(func() {
		g.spoke = spoke
		close(g.open)
	})
}

func (g *gate) pass(ctx context.Context) error {
	select {
	case <-g.open:
		if !g.spoke {
			return errNotHTTP2
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
