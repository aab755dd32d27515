package client

import (
	"io"
	"net"
	"sync"
	"sync/atomic"

	"tokentape/internal/clock"
)

// conn is a connection whose reads and writes are stamped. It stands above TLS,
// so its bytes are HTTP's. One of HTTP/2 has no flight: its bytes are frames.
type conn struct {
	net.Conn
	clock  *clock.Clock
	id     int64
	remote string
	setup  setup
	uses   atomic.Int64
	gate   *gate // nil: HTTP/1
	cur    atomic.Pointer[flight]
	closed func(*conn) // called at every Close
}

// Read stamps right at the return, before anything looks at the bytes.
//
// net/http has a read outstanding while a connection is idle, so the flight is
// looked up after the read: bytes belong to the request that was begun last.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	t := c.clock.Now()
	if f := c.cur.Load(); f != nil {
		f.read(p[:n], t)
		if err != nil {
			f.lost(err)
		}
	}
	if err != nil && c.gate != nil {
		c.gate.release(false)
	}
	return n, err
}

// Write stamps at the return of the write that carried the bytes.
func (c *conn) Write(p []byte) (int, error) {
	f := c.cur.Load()
	if f != nil {
		f.writing(1)
	}
	n, err := c.Conn.Write(p)
	t := c.clock.Now()
	if f != nil {
		f.writing(-1)
		f.wrote(n, t)
	}
	if c.gate != nil {
		c.gate.wrote()
	}
	return n, err
}

func (c *conn) Close() error {
	c.closed(c)
	if c.gate != nil {
		c.gate.release(false)
	}
	return c.Conn.Close()
}

// begin gives what is written and read from here on to f. net/http uses a
// connection for one request at a time, and calls GotConn, where this is
// called, before it writes. begin returns how many requests c has had.
func (c *conn) begin(f *flight) int64 {
	c.cur.Store(f)
	return c.uses.Add(1)
}

// Mark says that N successive body bytes were brought by a read that returned
// at T, in nanoseconds of the client's clock.
type Mark struct {
	N int
	T int64
}

// flight is one request on one connection: its stamps, and the marks of body
// bytes that were read off the connection and not yet handed on. net/http reads
// the connection only when somebody reads the body, through a buffer of Client.ReadBuffer,
// so there are at most a buffer's worth of marks.
type flight struct {
	mu         sync.Mutex
	inWrite    int
	overtaken  bool // the answer came before the first write returned
	sent       int64
	wroteFirst int64
	wroteLast  int64
	headers    int64
	last       int64 // return of the last read, until the response is complete
	acc        account
	marks      []Mark // marks[at:] wait
	at         int
	avail      atomic.Int64 // their sum; written under mu
	ended      error        // how the server ended the connection before the head was complete
}

func newFlight(method string) *flight {
	f := &flight{wroteFirst: -1, wroteLast: -1, headers: -1, last: -1}
	f.acc.reset(method)
	return f
}

func (f *flight) writing(d int) {
	f.mu.Lock()
	f.inWrite += d
	f.mu.Unlock()
}

func (f *flight) wrote(n int, t int64) {
	if n <= 0 {
		return
	}
	f.mu.Lock()
	f.sent += int64(n)
	if f.overtaken {
		t, f.overtaken = f.wroteFirst, false
	}
	if f.wroteFirst < 0 {
		f.wroteFirst = t
	}
	f.wroteLast = t
	f.mu.Unlock()
}

func (f *flight) read(p []byte, t int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.acc.state == stDone {
		return // the next response's business, or the end of an idle connection
	}
	f.last = t
	if len(p) == 0 {
		return
	}
	heads := f.acc.heads
	body := f.acc.feed(p)
	if f.acc.heads != heads {
		f.headers = t
	}
	if f.wroteFirst < 0 && f.inWrite > 0 {
		// The answer overtook the return of the write that it answers.
		f.wroteFirst, f.overtaken = t, true
	}
	if body == 0 {
		return
	}
	f.avail.Add(int64(body))
	if k := len(f.marks); k > f.at && f.marks[k-1].T == t {
		f.marks[k-1].N += body
		return
	}
	if f.at > 0 && len(f.marks) == cap(f.marks) {
		f.marks = f.marks[:copy(f.marks, f.marks[f.at:])]
		f.at = 0
	}
	f.marks = append(f.marks, Mark{body, t})
}

// lost notes that the server ended the connection. net/http judges a torn head by
// its last line and forgets why there is no more of it.
func (f *flight) lost(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if class := Classify(err); f.ended == nil && f.acc.torn() && (class == ClassReset || class == ClassEOF) {
		f.ended = err
	}
}

// cut is why the connection ended inside the head or before it, nil when it did not.
func (f *flight) cut() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended == io.EOF && f.acc.heads > 0 {
		return io.ErrUnexpectedEOF
	}
	return f.ended
}

// take moves the marks of the next n body bytes to out. When fewer are known it
// stamps the rest with the last read and reports false.
func (f *flight) take(n int, out []Mark) ([]Mark, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	want := n
	for n > 0 && f.at < len(f.marks) {
		m := &f.marks[f.at]
		k := min(n, m.N)
		out = append(out, Mark{k, m.T})
		n -= k
		if m.N -= k; m.N == 0 {
			f.at++
		}
	}
	f.avail.Add(int64(n - want))
	if f.at == len(f.marks) {
		f.marks, f.at = f.marks[:0], 0
	}
	if n > 0 {
		return append(out, Mark{n, f.last}), false
	}
	return out, true
}

// available is how many body bytes can be read without waiting, as far as known.
func (f *flight) available() int { return int(f.avail.Load()) }

// agrees reports whether the account of the response's framing is net/http's.
func (f *flight) agrees(chunked bool, length int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch f.acc.mode {
	case modeChunked:
		return chunked
	case modeLength:
		return !chunked && length == f.acc.length
	case modeUntilClose:
		return !chunked && length < 0
	case modeNone:
		return true // no body bytes to stamp
	}
	return false
}

// settled reports whether the response was followed to its end, every body byte
// accounted for.
func (f *flight) settled() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.avail.Load() == 0 && (f.acc.state == stDone || f.acc.mode == modeUntilClose)
}

func (f *flight) lastRead() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

func (f *flight) fill(tr *Trace) {
	f.mu.Lock()
	defer f.mu.Unlock()
	tr.WroteFirst, tr.Wrote, tr.Headers, tr.Sent = f.wroteFirst, max(f.wroteLast, f.wroteFirst), f.headers, f.sent
}
