package client

import (
	"context"
	"io"
)

// Limits of the short drain in Body.Close.
const (
	drainTime  = 50_000_000 // ns
	drainBytes = 64 << 10
)

// Body is a response body whose bytes carry the times at which they came off the
// connection. It is for one goroutine.
//
// net/http's own chunked reader waits until a chunk that came in several
// segments is complete, if the buffer has room for it. Read therefore asks only
// for bytes that are known to be there, or for one when none is, so that bytes
// are handed on as they come.
type Body struct {
	inner  io.ReadCloser
	c      *Client
	ctx    context.Context
	cancel context.CancelCauseFunc
	f      *flight // nil: HTTP/2
	s      *stream // nil: HTTP/1
	tr     *Trace
	last   int64 // without a flight: return of the last read, −1 for none
	marks  []Mark
	approx bool
	err    error
}

// Read reads the next body bytes into p, waiting only while none is there. At
// the end of the body it returns io.EOF, possibly together with the last bytes;
// every other error is an *Error, of class EOF when the connection ended before
// the body did. Marks says when the bytes came.
func (b *Body) Read(p []byte) (n int, err error) {
	b.marks = b.marks[:0]
	if b.err != nil || len(p) == 0 {
		return 0, b.err
	}
	if b.approx {
		n, err = b.inner.Read(p)
		if b.f == nil {
			b.last = b.c.cfg.Clock.Now()
		}
	} else {
		avail := b.f.available()
		n, err = b.inner.Read(p[:min(max(avail, 1), len(p))])
		if avail == 0 && n == 1 && err == nil {
			if more := min(b.f.available()-1, len(p)-1); more > 0 {
				var m int
				m, err = b.inner.Read(p[1 : 1+more])
				n += m
			}
		}
	}
	b.mark(n)
	if err != nil {
		b.end(err)
	}
	return n, b.err
}

func (b *Body) mark(n int) {
	if n == 0 {
		return
	}
	if b.approx {
		b.marks = append(b.marks, Mark{n, b.Last()})
		return
	}
	var exact bool
	if b.marks, exact = b.f.take(n, b.marks); !exact {
		b.approx = true
	}
}

func (b *Body) end(err error) {
	if err == io.EOF {
		b.err = io.EOF
		b.approx = b.approx || b.f == nil || !b.f.settled()
	} else {
		b.err = wrap(b.c.either(b.ctx), PhaseBody, "read the response body", err)
	}
	b.finish()
	b.cancel(nil) // the response is complete or lost: releases the context only
}

func (b *Body) finish() {
	switch {
	case b.f != nil:
		b.f.fill(b.tr)
	case b.s != nil:
		b.s.fill(b.tr)
	}
}

// Marks tells when the bytes of the last Read came off the connection, in order;
// their N add up to Read's n. It is valid until the next Read. Neighbouring
// bytes with the same time share a mark.
func (b *Body) Marks() []Mark { return b.marks }

// Approximate reports that at least one mark is coarser than the read that
// brought its bytes: the account of the raw bytes disagreed with net/http, or
// there is none (HTTP/2). Marks then carry the last read of the connection, or,
// over HTTP/2, the return of Read.
func (b *Body) Approximate() bool { return b.approx }

// Last is the return of the last read that brought something of this response,
// be it framing or the end of the connection, in nanoseconds of the clock: after
// Read returned io.EOF, the end of the stream. -1: unknown.
func (b *Body) Last() int64 {
	if b.f == nil {
		return b.last
	}
	return b.f.lastRead()
}

// Close gives the body up. If its end was not read yet, Close reads on for at
// most 50 ms and 64 KiB so that the connection can be used again, and closes the
// connection when that is not enough or the request was cancelled. It completes
// the Trace, and always returns nil.
func (b *Body) Close() error {
	if b.err == nil && b.ctx.Err() == nil {
		timer := b.c.cfg.Clock.AfterFunc(drainTime, func() { b.cancel(errDrain) })
		var scratch [1024]byte
		for total := 0; total < drainBytes; {
			n, err := b.inner.Read(scratch[:])
			total += n
			if err != nil {
				b.err = err
				break
			}
		}
		timer.Stop()
	}
	if b.err == nil {
		b.err = wrap(b.c.either(b.ctx), PhaseBody, "read the response body", errBodyClosed)
	}
	_ = b.inner.Close()
	b.finish()
	b.cancel(errBodyClosed)
	return nil
}
