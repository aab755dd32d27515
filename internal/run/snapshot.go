package run

import (
	"maps"
	"slices"
	"sync"

	"tokentape/tape"
)

// Snapshot is the state of a run at one moment, for live views: a copy, which
// cannot be used to reach the run.
type Snapshot struct {
	T         int64           // nanoseconds since the run's epoch
	Begun     tape.Opt[int64] // when the plan's time begins, as T; absent before that is known
	Planned   int64           // measured requests; −1: bound by time
	Issued    int64           // all phases
	Before    int64           // of these, before the plan's time: probe and preparation
	Measured  int64           // measured requests issued
	InFlight  int64
	OK        int64 // measured
	Failed    map[string]int64
	Cancelled int64
	Abandoned int64
	Prepared  int64 // ended requests of other phases
	Warmed    int64 // of these, of the warm-up
	Tokens    int64 // token events so far
	Draining  bool
	Stopped   string // stop reason, once there is one
	Why       string // beside it, for people
	Final     bool
	Queue     int64 // records waiting for the tape
}

func (e *engine) snapshot() Snapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := Snapshot{
		T: e.clk.Now(), Planned: e.cfg.Plan.Planned(),
		Issued: e.issued.Load(), Measured: e.counts.issuedMeasured, InFlight: e.inFlight.Load(),
		OK: e.counts.ok, Failed: maps.Clone(e.counts.failed), Cancelled: e.counts.cancelled, Abandoned: e.counts.abandoned,
		Prepared: e.counts.preparation, Warmed: e.counts.warmup, Draining: e.draining,
		Begun: e.planBegun, Before: e.issuedBefore,
		Queue: e.rec.queued(),
	}
	if e.stopped != nil {
		s.Stopped, s.Why = e.stopped.Reason, e.stopped.Message
	}
	if e.cfg.Tokens != nil {
		s.Tokens = e.cfg.Tokens()
	}
	return s
}

// Gauges are the counts that client samples carry.
type Gauges struct {
	InFlight, Queue int64
	PacerP99        tape.Opt[int64] // of the requests that ended since the last call
}

func (e *engine) gauges() Gauges {
	return Gauges{InFlight: e.inFlight.Load(), Queue: e.rec.queued(), PacerP99: e.lags.takeP99()}
}

// lagWindow keeps the pacer lags of requests that ended since it was last read,
// at most 4096 of them: a gauge for the health track. The numbers of the report
// come from the tape.
type lagWindow struct {
	mu   sync.Mutex
	lags []int64
}

func (w *lagWindow) add(req *tape.Request) {
	lag := req.PacerLag()
	if !lag.OK {
		return
	}
	w.mu.Lock()
	if len(w.lags) < 4096 {
		w.lags = append(w.lags, lag.V)
	}
	w.mu.Unlock()
}

func (w *lagWindow) takeP99() tape.Opt[int64] {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.lags)
	if n == 0 {
		return tape.Opt[int64]{}
	}
	slices.Sort(w.lags)
	v := w.lags[(n-1)*99/100]
	w.lags = w.lags[:0]
	return tape.Some(v)
}
