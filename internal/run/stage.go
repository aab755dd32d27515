package run

import (
	"sync"
	"sync/atomic"

	"tokentape/internal/plan"
	"tokentape/tape"
)

const (
	// Rows are prepared ahead of the pacer: as many as can be released at once, which
	// the start of a closed loop and a burst of an open one do, within these bounds.
	minAhead, maxAhead = 32, 1024
	// replayAhead is for traces, of which many rows can have one timestamp.
	replayAhead = 256
)

// aheadBytes bounds the bodies that wait, but for one; only tests change it.
var aheadBytes int64 = 256 << 20

// staging is the rows that are ready to go out, in the order of the plan. A body is
// read and encoded here, so that neither ever delays a send; before the first row is
// due, staging is full.
type staging struct {
	jobs  chan *job
	bytes atomic.Int64
	freed chan struct{} // a body was taken

	full chan struct{} // closed once no more can wait, or there is no more
	once sync.Once
}

// ahead is how many rows are staged.
func (e *engine) ahead() int64 {
	q := e.cfg.Plan.Params
	n := max(minAhead, q.Concurrency, q.SessionConcurrency, int64(min(q.Rate, maxAhead)))
	for _, s := range q.Stages {
		n = max(n, s.Concurrency, int64(min(s.Rate, maxAhead)))
	}
	if q.Replay != nil {
		n = max(n, replayAhead)
	}
	if e.inputs != nil {
		n = min(n, maxUncounted) // each of them is counted, which takes longer than preparing it
	}
	return min(n, maxAhead)
}

// stage prepares the rows, until issuing ends.
func (e *engine) stage() *staging {
	s := &staging{jobs: make(chan *job, e.ahead()), freed: make(chan struct{}, 1), full: make(chan struct{})}
	go func() {
		defer close(s.jobs)
		defer s.filled()
		for i := int64(0); ; i++ {
			row, ok := e.cfg.Plan.At(i)
			if !ok {
				break
			}
			if row.Turn > 0 {
				continue // sent by its session
			}
			if !e.put(s, row) {
				return
			}
		}
		for i := int64(0); e.cfg.Tail; i++ {
			row, ok := e.cfg.Plan.Tail(i)
			if !ok || !e.put(s, row) {
				return
			}
		}
	}()
	return s
}

// put prepares a row and stages it; false when there is to be no more.
func (e *engine) put(s *staging, row plan.Row) bool {
	for s.bytes.Load() >= aheadBytes {
		s.filled()
		select {
		case <-s.freed:
		case <-e.issue.Done():
			return false
		}
	}
	if e.issue.Err() != nil {
		return false
	}
	j, err := e.prepare(row)
	if err != nil {
		e.stop(tape.ReasonDataset, err.Error())
		return false
	}
	s.bytes.Add(int64(len(j.ready.Body)))
	select {
	case s.jobs <- j:
		return true
	default:
	}
	s.filled()
	select {
	case s.jobs <- j:
		return true
	case <-e.issue.Done():
		return false
	}
}

func (s *staging) filled() { s.once.Do(func() { close(s.full) }) }

// take is the next row, waiting for it if need be; not ok after the last.
func (s *staging) take() (j *job, ok bool) {
	if j, ok = <-s.jobs; ok {
		s.bytes.Add(-int64(len(j.ready.Body)))
		select {
		case s.freed <- struct{}{}:
		default:
		}
	}
	return j, ok
}
