package tape

import (
	"io"
	"sync"
)

// Ahead makes the reader work ahead of Next: one goroutine decompresses and cuts
// the lines, workers of them parse. Next yields the same records in the same
// order as without. What is held is bounded by the lines of a few batches of
// some 256 KiB, or by as many lines where these are longer. Call it before the
// first Next, and Close at the end: it waits for the goroutines, and so for a
// read that is under way. A source that is still growing should be read without.
func (r *Reader) Ahead(workers int) {
	if r.ahead == nil && r.lines == nil && workers > 0 {
		r.ahead = &ahead{workers: workers}
	}
}

const (
	batchBytes = 256 << 10
	keptBytes  = 4 << 20 // a buffer that a longer line made is not kept
)

// ahead moves batches of lines in a circle: free, filled in order, parsed by any
// worker, read in order.
type ahead struct {
	workers           int
	free, work, order chan *batch
	stop              chan struct{}
	running           sync.WaitGroup

	now *batch // being read
	at  int    // its next line
}

type batch struct {
	buf    []byte // never grows while lines point into it
	lines  []line
	parsed chan struct{} // gets one value when a worker is done
}

// start is called when the source is known to be open.
func (a *ahead) start(r *Reader) {
	n := 2*a.workers + 2
	a.free, a.work, a.order = make(chan *batch, n), make(chan *batch, n), make(chan *batch, n)
	a.stop = make(chan struct{})
	for range n {
		a.free <- &batch{parsed: make(chan struct{}, 1)}
	}
	a.running.Add(1 + a.workers)
	go a.read(r)
	for range a.workers {
		go a.parse(r.trust)
	}
}

// next is the next line; after the last, the last error again.
func (a *ahead) next(r *Reader) *line {
	if a.order == nil {
		a.start(r)
	}
	for a.now == nil || a.at == len(a.now.lines) {
		if a.now != nil {
			a.free <- a.now
		}
		b, more := <-a.order
		if !more {
			a.now, r.own = nil, line{err: io.EOF}
			return &r.own
		}
		<-b.parsed
		a.now, a.at = b, 0
	}
	a.at++
	return &a.now.lines[a.at-1]
}

// read fills batches until an error that readLine does not go on after.
func (a *ahead) read(r *Reader) {
	defer a.running.Done()
	defer close(a.order)
	defer close(a.work)
	var b *batch
	for last := false; !last; {
		text, size, err := r.readLine()
		last = err != nil && !passing(err)
		if b != nil && len(b.buf)+len(text) > cap(b.buf) {
			a.work <- b
			a.order <- b
			b = nil
		}
		if b == nil {
			select {
			case b = <-a.free:
			case <-a.stop:
				return
			}
			b.empty(len(text))
		}
		from := len(b.buf)
		b.buf = append(b.buf, text...)
		b.lines = append(b.lines, line{b: b.buf[from:len(b.buf):len(b.buf)], size: size, err: err})
	}
	a.work <- b
	a.order <- b
}

// empty makes room for a first line of n bytes.
func (b *batch) empty(n int) {
	clear(b.lines) // drops the requests
	b.lines = b.lines[:0]
	if n = max(n, batchBytes); cap(b.buf) < n || cap(b.buf) > keptBytes {
		b.buf = make([]byte, 0, n)
	}
	b.buf = b.buf[:0]
}

func (a *ahead) parse(trust bool) {
	defer a.running.Done()
	for b := range a.work {
		for i := range b.lines {
			if b.lines[i].err == nil {
				b.lines[i].parse(trust)
			}
		}
		b.parsed <- struct{}{}
	}
}

func (a *ahead) close() {
	if a.order == nil {
		return
	}
	select {
	case <-a.stop:
		return
	default:
	}
	close(a.stop)
	a.running.Wait()
}
