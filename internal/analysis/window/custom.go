package window

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

// The prefixes of windows that the user sets. Their kind is the text itself.
const (
	prefixSeconds = "seconds:"
	prefixRows    = "rows:"
	prefixPhase   = "phase:"
)

// Phases are what phase:… may name.
var Phases = []tape.Phase{tape.PhaseProbe, tape.PhasePrepare, tape.PhaseWarmup, tape.PhaseMeasure, tape.PhaseTail}

// Usage says in a line what a kind may be.
const Usage = "whole, stable, steady, seconds:10..60, rows:100..299 or phase:warmup"

// IsPhase reports whether a kind is that of a phase.
func IsPhase(kind string) bool { return strings.HasPrefix(kind, prefixPhase) }

// Check reports what is wrong with the name of a window; nil: Choose knows it.
func Check(kind string) error {
	_, err := parse(kind)
	return err
}

// rule makes the window of one kind.
type rule func(reqs []metric.Request, l Load) Interval

func parse(kind string) (rule, error) {
	switch kind {
	case KindWhole:
		return func(reqs []metric.Request, _ Load) Interval { return whole(reqs) }, nil
	case KindStable:
		return stable, nil
	case KindSteady:
		return steady, nil
	}
	if text, ok := strings.CutPrefix(kind, prefixSeconds); ok {
		from, to, err := bounds(text, parseSeconds)
		if err != nil {
			return nil, fmt.Errorf("window %q: %w; seconds since the run's t = 0, such as seconds:10..60 or seconds:10.. to the end", kind, err)
		}
		return func(reqs []metric.Request, _ Load) Interval { return bySeconds(reqs, from, to) }, nil
	}
	if text, ok := strings.CutPrefix(kind, prefixRows); ok {
		from, to, err := bounds(text, parseRow)
		if err != nil {
			return nil, fmt.Errorf("window %q: %w; plan rows by seq, both included, such as rows:100..299 or rows:100.. to the last", kind, err)
		}
		return func(reqs []metric.Request, _ Load) Interval { return byRows(reqs, from, to) }, nil
	}
	if text, ok := strings.CutPrefix(kind, prefixPhase); ok {
		for _, p := range Phases {
			if text == string(p) {
				return func(reqs []metric.Request, _ Load) Interval { return byPhase(reqs, p) }, nil
			}
		}
		return nil, fmt.Errorf("window %q: no such phase; known: %v", kind, Phases)
	}
	return nil, fmt.Errorf("unknown window %q; known: %s", kind, Usage)
}

// bounds reads A..B. A left out is 0, B left out has no end.
func bounds(text string, number func(string) (int64, error)) (from, to int64, err error) {
	a, b, ok := strings.Cut(text, "..")
	if !ok {
		return 0, 0, fmt.Errorf("no \"..\" in %q", text)
	}
	to = math.MaxInt64
	if a != "" {
		if from, err = number(a); err != nil {
			return 0, 0, err
		}
	}
	if b != "" {
		if to, err = number(b); err != nil {
			return 0, 0, err
		}
	}
	if to < from {
		return 0, 0, fmt.Errorf("it ends (%s) before it begins (%s)", b, a)
	}
	return from, to, nil
}

// What a spec takes, and none of Go's 1_0, 0x1p4 and 1e3.
var (
	secondsText = regexp.MustCompile(`^[0-9]{1,8}(\.[0-9]+)?s?$`)
	rowText     = regexp.MustCompile(`^[0-9]{1,15}$`)
)

func parseSeconds(text string) (int64, error) {
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "s"), 64)
	if err != nil || !secondsText.MatchString(text) {
		return 0, fmt.Errorf("%q is no number of seconds", text)
	}
	return int64(math.Round(v * 1e9)), nil
}

// shortly is a time in seconds to the hundredth: "10.28".
func shortly(ns int64) string {
	return strconv.FormatFloat(math.Round(float64(ns)/1e7)/100, 'f', -1, 64)
}

func parseRow(text string) (int64, error) {
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !rowText.MatchString(text) {
		return 0, fmt.Errorf("%q is no row", text)
	}
	return v, nil
}

// bySeconds: latencies of the measured requests that were released in (from,
// to], rates by what happened in it. An end beyond the run is the run's end.
func bySeconds(reqs []metric.Request, from, to int64) Interval {
	w := Interval{From: from, To: to, ByEvents: true}
	last := int64(math.MinInt64)
	for i := range reqs {
		if reqs[i].Released != metric.Absent {
			last = max(last, ended(&reqs[i]))
		}
	}
	if last <= from {
		w.Why = fmt.Sprintf("the run ended before %s", seconds(from))
		return w
	}
	w.To = min(to, last)
	w.CohortTo = w.To
	clipped := ""
	if to < math.MaxInt64 && last < to {
		clipped = fmt.Sprintf("clipped to %s–%s s, where the run ended: ", shortly(from), shortly(w.To))
	}
	w.pick(reqs, func(q *metric.Request) bool { return from < q.Released && q.Released <= w.To }, "released outside")
	w.Why = clipped + "as asked: seconds since t = 0; latencies of requests released in it, rates by the token events and stream ends in it"
	return w
}

// byRows: the measured requests with from ≤ seq ≤ to; the interval is from their
// first release to their last end.
func byRows(reqs []metric.Request, from, to int64) Interval {
	w := Interval{ByEvents: true}
	w.span(reqs, func(q *metric.Request) bool { return measured(q) && from <= q.Seq && q.Seq <= to })
	if !w.OK {
		w.Why = "no measured request of these rows was issued"
		return w
	}
	w.pick(reqs, func(q *metric.Request) bool { return from <= q.Seq && q.Seq <= to }, "of other rows")
	if asked := to - from + 1; to < math.MaxInt64 {
		exist := int64(0)
		for i := range reqs {
			if q := &reqs[i]; measured(q) && from <= q.Seq && q.Seq <= to {
				exist++
			}
		}
		if exist < asked {
			w.Why = fmt.Sprintf("%d of %d asked rows exist as measured requests: ", exist, asked)
		}
	}
	w.Why += "as asked: plan rows; from their first release to their last end, rates by everything that happened between these"
	return w
}

// byPhase: every request of one phase, from its first release to its last end.
// Rates count whole requests of the phase alone.
func byPhase(reqs []metric.Request, phase tape.Phase) Interval {
	in := func(q *metric.Request) bool { return q.Phase == phase && q.Released != metric.Absent }
	var w Interval
	w.span(reqs, in)
	if !w.OK {
		w.Why = fmt.Sprintf("no request of phase %s was issued", phase)
		return w
	}
	var bad, other int
	for i := range reqs {
		switch q := &reqs[i]; {
		case q.Released == metric.Absent:
		case !in(q):
			other++
		case !q.OK:
			bad++
		default:
			w.Cohort = append(w.Cohort, i)
		}
	}
	w.leave(part{other, "of other phases"}, part{bad, "not ok"})
	w.Why = fmt.Sprintf("as asked: phase %s, from its first release to its last end; whole requests of the phase ÷ duration", phase)
	return w
}

// span sets the interval from the first release to the last end of the requests
// that in holds for.
func (w *Interval) span(reqs []metric.Request, in func(*metric.Request) bool) {
	w.From, w.To = math.MaxInt64, math.MinInt64
	for i := range reqs {
		if q := &reqs[i]; in(q) {
			w.OK = true
			w.From, w.To = min(w.From, q.Released), max(w.To, ended(q))
		}
	}
	w.CohortTo = w.To
}

// pick fills the cohort with the ok measured requests that in holds for.
func (w *Interval) pick(reqs []metric.Request, in func(*metric.Request) bool, outside string) {
	w.OK = true
	var out, bad, other int
	for i := range reqs {
		switch q := &reqs[i]; {
		case q.Released == metric.Absent:
		case !measured(q):
			other++
		case !in(q):
			out++
		case !q.OK:
			bad++
		default:
			w.Cohort = append(w.Cohort, i)
		}
	}
	w.leave(part{out, outside}, part{bad, "not ok"}, part{other, "of other phases"})
}
