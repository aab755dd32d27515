package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"tokentape/internal/clock"
)

// stampedConn notes when the first write since clear returned: the reference's pacer lag
// is taken at the same moment as ours.
type stampedConn struct {
	net.Conn
	clk   *clock.Clock
	wrote atomic.Int64
}

func (c *stampedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.wrote.CompareAndSwap(0, c.clk.Now())
	return n, err
}

// dialStamped makes a transport's connections stamp their writes.
func dialStamped(t *http.Transport, clk *clock.Clock) {
	var d net.Dialer
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &stampedConn{Conn: c, clk: clk}, nil
	}
}

// traceLag makes req tell of its lag. The returned function gives it once the answer is
// there: due to first byte written, less the time in which a connection was made.
func traceLag(req *http.Request, clk *clock.Clock, due int64) (*http.Request, func() int64) {
	var conn *stampedConn
	var asked, setup int64
	trace := &httptrace.ClientTrace{
		GetConn: func(string) { asked = clk.Now() },
		GotConn: func(i httptrace.GotConnInfo) {
			conn = i.Conn.(*stampedConn)
			conn.wrote.Store(0)
			if !i.Reused {
				setup = clk.Now() - asked
			}
		}}
	return req.WithContext(httptrace.WithClientTrace(req.Context(), trace)), func() int64 { return conn.wrote.Load() - due - setup }
}
