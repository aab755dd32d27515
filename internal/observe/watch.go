package observe

import (
	"cmp"
	"slices"
	"sync"

	"tokentape/tape"
)

// maxClasses is how many classes of failures are told apart; more are one.
const maxClasses = 16

// otherFailures stands for the classes that are not told apart.
const otherFailures = "other classes"

// End is a copy of a request that ended. Durations are nanoseconds.
type End struct {
	T       int64 // since the run's epoch
	Phase   tape.Phase
	Outcome tape.Outcome
	Class   string // of its failure, for people; "": the outcome
	Message string // of its failure
	// TTFT and TPOT as the report defines them; absent where they are.
	TTFT, TPOT tape.Opt[int64]
	Output     tape.Opt[int64] // tokens
	Events     int64           // token events
}

// Watch makes Moments of what a run publishes and of copies of its ends. It is safe
// for concurrent use.
type Watch struct {
	setup Setup

	mu             sync.Mutex
	ttft, tpot     sliding
	output, events int64 // of the requests whose output was counted
	failures       map[string]*Failure
	client         *tape.ClientSample
	past           []point         // of the last Span, oldest first
	first          *point          // at which the first requests had ended
	drained        tape.Opt[int64] // since when requests are drained
}

// point is what rates are made of.
type point struct{ t, due, issued, ended, tokens int64 }

// NewWatch makes a Watch over a run that begins.
func NewWatch(s Setup) *Watch {
	return &Watch{setup: s, failures: map[string]*Failure{}}
}

// Ended takes the end of a request. Requests of the probe and of a preparation are
// none of the load's, and are left out.
func (w *Watch) Ended(e End) {
	if e.Phase != tape.PhaseWarmup && e.Phase != tape.PhaseMeasure && e.Phase != tape.PhaseTail {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Outcome.Failed() {
		w.fail(e)
	}
	if e.Outcome != tape.OutcomeOK {
		return
	}
	if e.TTFT.OK {
		w.ttft.add(e.T, e.TTFT.V)
	}
	if e.TPOT.OK {
		w.tpot.add(e.T, e.TPOT.V)
	}
	if e.Output.OK && e.Events > 0 {
		w.output += e.Output.V
		w.events += e.Events
	}
}

func (w *Watch) fail(e End) {
	class := cmp.Or(e.Class, string(e.Outcome))
	if e.Phase != tape.PhaseMeasure {
		class = string(e.Phase) + ": " + class
	}
	f := w.failures[class]
	if f == nil && len(w.failures) >= maxClasses {
		class = otherFailures
		f = w.failures[class]
	}
	if f == nil {
		f = &Failure{Class: class}
		w.failures[class] = f
	}
	f.N++
	f.Message = e.Message
}

// Sampled takes a sample of the client's health.
func (w *Watch) Sampled(c tape.ClientSample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.client = &c
}

// Look takes the next state, and makes a Moment of it.
func (w *Watch) Look(s State) Moment {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := Moment{State: s, Setup: w.setup, Client: w.client, TTFT: w.ttft.spread(s.T), TPOT: w.tpot.spread(s.T)}
	if w.events > 0 {
		m.PerEvent = tape.Some(float64(w.output) / float64(w.events))
	}
	w.rates(&m)
	if n := s.ended(); n > 0 && w.first == nil {
		w.first = &point{t: s.T, ended: n}
	}
	if s.Draining && !w.drained.OK {
		w.drained = tape.Some(s.T)
	}
	m.Left = w.left(s)
	for _, f := range w.failures {
		m.Failures = append(m.Failures, *f)
	}
	slices.SortFunc(m.Failures, func(a, b Failure) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Class, b.Class)) })
	return m
}

// leastSpan is the shortest time that rates are taken over.
const leastSpan = int64(5e8)

func (w *Watch) rates(m *Moment) {
	now := point{m.T, m.Due.Or(0), m.Issued, m.ended(), m.Events}
	w.past = append(w.past, now)
	for len(w.past) > 2 && w.past[1].t <= m.T-Span {
		w.past = w.past[1:]
	}
	from := w.past[0]
	m.Span = now.t - from.t
	if m.Span < leastSpan || m.Final {
		return
	}
	per := func(n int64) tape.Opt[float64] { return tape.Some(float64(n) * 1e9 / float64(m.Span)) }
	if m.Due.OK {
		m.Offered = per(now.due - from.due)
	}
	m.Sent, m.Ended = per(now.issued-from.issued), per(now.ended-from.ended)
	if m.PerEvent.OK {
		m.Tokens = tape.Some(per(now.tokens-from.tokens).V * m.PerEvent.V)
	}
}

// left estimates how long the run will go on, in ns: what is sure of it, and from
// what has ended so far.
func (w *Watch) left(s State) tape.Opt[int64] {
	until := func(t int64) tape.Opt[int64] { return tape.Some(max(0, t-s.T)) }
	switch {
	case s.Final || !s.Begun.OK:
		return tape.Opt[int64]{}
	case s.Draining:
		return until(w.drained.V + w.setup.Drain)
	case s.Stopped != "":
		return tape.Opt[int64]{}
	}
	left := tape.Opt[int64]{}
	if w.setup.LastDue > 0 {
		left = until(s.Begun.V + w.setup.LastDue)
	}
	// By the pace since the first ends: before them the server only filled up.
	if n := s.ended(); s.Planned > 0 && w.first != nil && n-w.first.ended >= 3 {
		each := float64(s.T-w.first.t) / float64(n-w.first.ended)
		left = tape.Some(max(left.V, int64(each*float64(s.Planned-n))))
	}
	if w.setup.Duration > 0 {
		end := until(s.Begun.V + w.setup.Duration)
		if !left.OK || left.V > end.V {
			left = end
		}
	}
	return left
}
