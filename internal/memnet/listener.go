package memnet

import (
	"context"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"tokentape/internal/clock"
)

// lastPort makes every address of the process its own; it may pass 65535.
var lastPort atomic.Int64

func newAddr() *net.TCPAddr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(lastPort.Add(1))}
}

// Listener is a net.Listener whose connections come from its own Dial. It is
// safe for concurrent use.
type Listener struct {
	addr  *net.TCPAddr
	clock *clock.Clock

	mu     sync.Mutex
	cond   sync.Cond
	queue  []*Conn
	closed bool
}

// Listen opens a listener on an address of its own. Inside a testing/synctest
// bubble call it there, so that deadlines run on the bubble's time.
func Listen() *Listener {
	l := &Listener{addr: newAddr(), clock: clock.New()}
	l.cond.L = &l.mu
	return l
}

// Accept returns the next dialled connection, in order of dialling. After Close
// it fails with net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && !l.closed {
		l.cond.Wait()
	}
	if l.closed {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.addr, Err: net.ErrClosed}
	}
	c := l.queue[0]
	l.queue = l.queue[1:]
	return c, nil
}

// Close stops accepting. Connections that nobody accepted are reset; accepted
// ones live on.
func (l *Listener) Close() error {
	l.mu.Lock()
	queue := l.queue
	l.queue, l.closed = nil, true
	l.cond.Broadcast()
	l.mu.Unlock()
	for _, c := range queue {
		c.Reset()
	}
	return nil
}

// Addr is the listener's address: 127.0.0.1 and a port that no other listener or
// connection of the process has.
func (l *Listener) Addr() net.Addr { return l.addr }

// Dial connects to the listener, whatever network and addr say, and returns at
// once: the backlog has no bound. It fails with the context's cause when ctx is
// done, and with ECONNREFUSED after Close.
func (l *Listener) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: l.addr, Err: err}
	}
	client, server := pair(l.clock, newAddr(), l.addr)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: l.addr,
			Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	l.queue = append(l.queue, server)
	l.cond.Signal()
	return client, nil
}
