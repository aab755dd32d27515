package window

import (
	"fmt"
	"strings"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

// The kinds of windows that a rule finds. Check says what else a kind may be.
const (
	KindWhole  = "whole"
	KindStable = "stable"
	KindSteady = "steady"
)

// Kinds are all kinds in the order in which they are shown.
func Kinds() []string { return []string{KindWhole, KindStable, KindSteady} }

// Interval is a window: (From, To], nanoseconds since the run's epoch.
type Interval struct {
	Kind     string
	OK       bool // false: the window does not exist, Why says why
	From, To int64
	Cohort   []int // indexes of the ok measured requests whose latencies count
	// CohortTo ends the starts of the cohort: they lie in [From, CohortTo].
	CohortTo int64
	// ByEvents: system rates count what happened in (From, To], of every phase;
	// else whole requests of the cohort.
	ByEvents bool
	// Spans are the stretches that the window is the union of, disjoint and in order
	// of time; nil: one, as above. From, To and CohortTo are then the outer ends.
	Spans []Span
	// Why says how the window was chosen or why it does not exist, LeftOut what is
	// not in it.
	Why, LeftOut string
	// Do says what would make a window that does not exist, where sending more
	// requests would not.
	Do string

	left []part // what LeftOut says
}

// Load is what a window needs to know of the spec.
type Load struct {
	Concurrency int64 // cap, 0: none
	Open        bool  // sends have due times
	Ramp        int64 // length of the ramp in nanoseconds, 0: none
	// Parts are the loads of runs that went on at the same time and make up this one,
	// by metric.Request.Part; nil: there is one run.
	Parts map[int32]Load
}

// of is the load of one run.
func (l Load) of(part int32) Load {
	if l.Parts == nil {
		return l
	}
	return l.Parts[part]
}

// Choose makes the window of a kind. reqs are all requests of the run in plan
// order. A kind that Check refuses is a window that does not exist.
func Choose(kind string, reqs []metric.Request, l Load) Interval {
	var w Interval
	if r, err := parse(kind); err != nil {
		w.Why = err.Error()
	} else {
		w = r(reqs, l)
	}
	w.Kind = kind
	if !w.OK {
		w.Cohort, w.LeftOut = nil, ""
	}
	return w
}

// measured reports whether the request was issued in the measured phase.
func measured(q *metric.Request) bool {
	return q.Phase == tape.PhaseMeasure && q.Released != metric.Absent
}

// ended is the last stamp of a request that was released.
func ended(q *metric.Request) int64 {
	return max(q.Released, q.End, q.LastToken, q.LastEvent)
}

// part is a number of requests left out and the reason.
type part struct {
	n   int
	why string
}

// leave says what is left out.
func (w *Interval) leave(parts ...part) {
	w.left = parts
	s := ""
	for _, p := range parts {
		if p.n == 0 {
			continue
		}
		if s != "" {
			s += ", "
		}
		s += fmt.Sprintf("%d %s", p.n, p.why)
	}
	if s == "" {
		s = "nothing"
	}
	w.LeftOut = s
}

// tenths is seconds to a tenth of a millisecond: of terms, so that they add up to a sum
// that is shown to one.
func tenths(ns int64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.4f", float64(ns)/1e9), "0"), ".") + " s"
}

func seconds(ns int64) string { return fmt.Sprintf("%.3f s", float64(ns)/1e9) }
