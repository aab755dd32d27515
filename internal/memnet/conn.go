package memnet

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"tokentape/internal/clock"
)

// Window is how many bytes one direction of a connection holds before Write
// waits for the reader.
const Window = 1 << 20

// Conn is one end of a connection. Like TCP: what was written before Close or
// CloseWrite can still be read by the peer, then comes io.EOF. Unlike TCP: a
// Close with unread bytes does not turn into a reset; call Reset for one.
type Conn struct {
	in, out       *half
	local, remote *net.TCPAddr
}

func pair(clk *clock.Clock, a, b *net.TCPAddr) (*Conn, *Conn) {
	ab, ba := newHalf(clk), newHalf(clk)
	return &Conn{in: ba, out: ab, local: a, remote: b}, &Conn{in: ab, out: ba, local: b, remote: a}
}

// Read returns what is there, up to len(p), and waits only when nothing is.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.wrap("read", err)
}

// Write copies p into the window, waiting for room when the window is full.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	return n, c.wrap("write", err)
}

func (c *Conn) wrap(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if _, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError(op, err)
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// Close ends both directions. Calls that wait on this end fail with
// net.ErrClosed; the peer reads what is buffered, then io.EOF, and its writes
// fail with EPIPE.
func (c *Conn) Close() error {
	c.in.end(func(h *half) {
		h.rerr, h.werr, h.data = first(h.rerr, net.ErrClosed), first(h.werr, syscall.EPIPE), nil
	})
	c.out.end(func(h *half) { h.rerr, h.werr = first(h.rerr, io.EOF), first(h.werr, net.ErrClosed) })
	return nil
}

// CloseWrite ends the direction to the peer, which reads the rest, then io.EOF.
func (c *Conn) CloseWrite() error {
	c.out.end(func(h *half) { h.rerr, h.werr = first(h.rerr, io.EOF), first(h.werr, syscall.EPIPE) })
	return nil
}

// CloseRead ends this end's reading: Read returns io.EOF, and what the peer
// still writes is thrown away.
func (c *Conn) CloseRead() error {
	c.in.end(func(h *half) { h.rerr, h.data, h.discard = first(h.rerr, io.EOF), nil, true })
	return nil
}

// Reset breaks the connection as a TCP RST does: buffered bytes are lost, the
// peer's reads and writes fail with ECONNRESET at once, this end is closed.
func (c *Conn) Reset() {
	c.out.end(func(h *half) { h.rerr, h.werr, h.data = syscall.ECONNRESET, net.ErrClosed, nil })
	c.in.end(func(h *half) { h.rerr, h.werr, h.data = net.ErrClosed, syscall.ECONNRESET, nil })
}

func first(old, err error) error {
	if old != nil {
		return old
	}
	return err
}

// LocalAddr is this end's address.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr is the peer's address.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines; the zero time means none.
func (c *Conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

// SetReadDeadline makes reads that wait at t, or start later, fail with
// os.ErrDeadlineExceeded. Bytes that are there win over the deadline only before t.
func (c *Conn) SetReadDeadline(t time.Time) error { c.in.rlimit.set(c.in, t); return nil }

// SetWriteDeadline is SetReadDeadline for writes.
func (c *Conn) SetWriteDeadline(t time.Time) error { c.out.wlimit.set(c.out, t); return nil }

// half is one direction.
type half struct {
	clock *clock.Clock

	mu             sync.Mutex
	cond           sync.Cond
	data           []byte // unread bytes are data[off:]
	off            int
	rerr, werr     error // what reads (after the data) and writes come to
	discard        bool
	rlimit, wlimit limit
}

// limit is one deadline.
type limit struct {
	passed bool
	turn   int // tells a timer that fired late that it was replaced
	timer  *clock.Timer
}

func newHalf(clk *clock.Clock) *half {
	h := &half{clock: clk}
	h.cond.L = &h.mu
	return h
}

func (h *half) end(change func(*half)) {
	h.mu.Lock()
	change(h)
	if h.data == nil {
		h.off = 0
	}
	if h.rerr != nil && h.werr != nil {
		h.rlimit.stop()
		h.wlimit.stop()
	}
	h.cond.Broadcast()
	h.mu.Unlock()
}

func (h *half) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.rlimit.passed && h.rerr == nil:
			return 0, os.ErrDeadlineExceeded
		case h.off < len(h.data):
			n := copy(p, h.data[h.off:])
			if h.off += n; h.off == len(h.data) {
				h.data, h.off = h.data[:0], 0
			}
			h.cond.Broadcast()
			return n, nil
		case h.rerr != nil:
			return 0, h.rerr
		case len(p) == 0:
			return 0, nil
		}
		h.cond.Wait()
	}
}

func (h *half) write(p []byte) (n int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.werr != nil:
			return n, h.werr
		case h.wlimit.passed:
			return n, os.ErrDeadlineExceeded
		case h.discard:
			return n + len(p), nil
		}
		if room := Window - (len(h.data) - h.off); room > 0 && len(p) > 0 {
			if h.off > 0 && len(h.data)+min(room, len(p)) > cap(h.data) {
				h.data, h.off = h.data[:copy(h.data, h.data[h.off:])], 0
			}
			k := min(room, len(p))
			h.data = append(h.data, p[:k]...)
			p, n = p[k:], n+k
			h.cond.Broadcast()
		}
		if len(p) == 0 {
			return n, nil
		}
		h.cond.Wait()
	}
}

func (l *limit) stop() {
	l.turn++
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

func (l *limit) set(h *half, t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l.stop()
	l.passed = false
	if t.IsZero() || h.rerr != nil && h.werr != nil {
		return
	}
	d := t.Sub(h.clock.Wall())
	if d <= 0 {
		l.passed = true
		h.cond.Broadcast()
		return
	}
	turn := l.turn
	l.timer = h.clock.AfterFunc(int64(d), func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if l.turn == turn {
			l.passed = true
			h.cond.Broadcast()
		}
	})
}
