package run

import (
	"sync"
	"sync/atomic"
	"time"

	"tokentape/tape"
)

const (
	// queueLen is how many finished requests may wait for the tape before the
	// run is stopped: at 10,000 requests/s a stall of 0.8 s.
	queueLen = 8192
	// flushEvery bounds what a kill can lose.
	flushEvery = int64(500 * time.Millisecond)
)

// recorder owns the tape: one goroutine writes, everyone else puts.
type recorder struct {
	tape *tape.Writer
	ch   chan any
	stop func(reason, message string)
	wg   sync.WaitGroup
	err  atomic.Pointer[error] // first write error
}

type flushMark struct{}

func newRecorder(w *tape.Writer, stop func(reason, message string)) *recorder {
	r := &recorder{tape: w, ch: make(chan any, queueLen), stop: stop}
	r.wg.Go(r.loop)
	return r
}

// put hands over a line. It never drops: when the queue is full the run is
// stopped, and put waits.
func (r *recorder) put(line any) {
	select {
	case r.ch <- line:
	default:
		r.stop(tape.ReasonRecorder, "the tape cannot be written as fast as requests end; a faster disk, or record.compress: false, helps")
		r.ch <- line
	}
}

// flush asks for the lines so far to reach the file; with a queue that is full
// anyway the writer is busy and the next tick will do.
func (r *recorder) flush() {
	select {
	case r.ch <- flushMark{}:
	default:
	}
}

func (r *recorder) queued() int64 { return int64(len(r.ch)) }

func (r *recorder) loop() {
	for line := range r.ch {
		if r.err.Load() != nil {
			continue // drained so that nobody blocks; the tape ends where it broke
		}
		var err error
		if _, ok := line.(flushMark); ok {
			err = r.tape.Flush()
		} else {
			err = r.tape.Write(line)
		}
		if err != nil {
			r.err.Store(&err)
			r.stop(tape.ReasonDisk, err.Error())
		}
	}
}

// close writes the footer and ends the recorder. Nobody may put afterwards.
func (r *recorder) close(f *tape.Footer) error {
	close(r.ch)
	r.wg.Wait()
	if p := r.err.Load(); p != nil {
		_ = r.tape.Close()
		return *p
	}
	if err := r.tape.Write(f); err != nil {
		_ = r.tape.Close()
		return err
	}
	return r.tape.Close()
}
