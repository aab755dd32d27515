package window

import (
	"fmt"
	"math"
	"slices"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/stat"
	"tokentape/tape"
)

// The kinds of windows.
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
	// Why says how the window was chosen or why it does not exist, LeftOut what is
	// not in it.
	Why, LeftOut string
	// Within [From, CohortTo] a measured request had to start to be in the cohort.
	CohortTo int64
}

// Load is what a window needs to know of the spec.
type Load struct {
	Concurrency int64 // cap, 0: none
	Open        bool  // sends have due times
	Ramp        int64 // length of the ramp in nanoseconds, 0: none
	RampShape   string
}

// Choose makes the window of a kind. reqs are all requests of the run in plan
// order. An unknown kind is a window that does not exist.
func Choose(kind string, reqs []metric.Request, l Load) Interval {
	var w Interval
	switch kind {
	case KindWhole:
		w = whole(reqs)
	case KindStable:
		w = stable(reqs, l)
	case KindSteady:
		w = steady(reqs, l)
	default:
		w.Why = fmt.Sprintf("no such window; known: %v", Kinds())
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

// whole: first release to last stream end of all measured requests, failures
// included.
func whole(reqs []metric.Request) Interval {
	w := Interval{From: math.MaxInt64, To: math.MinInt64}
	var others, bad int
	for i := range reqs {
		q := &reqs[i]
		if !measured(q) {
			if q.Released != metric.Absent {
				others++
			}
			continue
		}
		w.OK = true
		w.From, w.To = min(w.From, q.Released), max(w.To, ended(q))
		if q.OK {
			w.Cohort = append(w.Cohort, i)
		} else {
			bad++
		}
	}
	if !w.OK {
		w.Why = "no measured request was issued"
		return w
	}
	w.CohortTo = w.To
	w.Why = "first release to last stream end of all measured requests, failures included; system rates count ok requests"
	w.LeftOut = leftOut(part{others, "of other phases"}, part{bad, "not ok"})
	return w
}

// part is a number of requests left out and the reason.
type part struct {
	n   int
	why string
}

func leftOut(parts ...part) string {
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
		return "nothing"
	}
	return s
}

// stable is AISBench's rule as of commit 29c363e, over ok requests in plan order
// with start = released and end = last event before [DONE] (an answer in one
// piece: end of body). All starts and ends are sorted by time alone, ties in
// list order, a request's start before its end. A counter follows them; the
// window opens at the second start that brings it to exactly the cap, and closes
// at the last event that leaves it at exactly the cap. It holds the requests that
// start inside, both ends closed.
func stable(reqs []metric.Request, l Load) Interval {
	var w Interval
	if l.Concurrency <= 0 {
		w.Why = "no stable window: load.concurrency sets no cap, and the rule needs one to be reached"
		return w
	}
	type event struct {
		t     int64
		start bool
	}
	var events []event
	for i := range reqs {
		if start, end, ok := Lifetime(&reqs[i]); ok {
			events = append(events, event{start, true}, event{end, false})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmpInt(a.t, b.t) })
	var c, top, starts int64
	for _, e := range events {
		if e.start {
			c++
			top = max(top, c)
		} else {
			c--
		}
		if c != l.Concurrency {
			continue
		}
		if e.start {
			starts++
			if starts == 2 {
				w.OK, w.From = true, e.t
			}
		}
		w.To = e.t
	}
	if !w.OK {
		switch {
		case top < l.Concurrency:
			w.Why = fmt.Sprintf("no stable window: the cap of %d was never full; at most %d ok requests were in flight", l.Concurrency, top)
		default:
			w.Why = fmt.Sprintf("no stable window: in flight rose to exactly %d only %s; the second rise opens the window", l.Concurrency, times(starts))
		}
		return w
	}
	var before, after, other int
	for i := range reqs {
		q := &reqs[i]
		start, _, ok := Lifetime(q)
		switch {
		case !ok:
			if q.Released != metric.Absent {
				other++
			}
		case start < w.From:
			before++
		case start > w.To:
			after++
		default:
			w.Cohort = append(w.Cohort, i)
		}
	}
	w.CohortTo = w.To
	w.Why = fmt.Sprintf("AISBench's rule (29c363e): from the second start that brings in-flight to exactly %d to the last event at that level; "+
		"requests that start inside, whole requests ÷ duration", l.Concurrency)
	w.LeftOut = leftOut(part{before, "started before"}, part{after, "started after"}, part{other, "not ok or of other phases"})
	return w
}

func cmpInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// Lifetime is a request's start and end under AISBench's rule; ok is false for
// requests that the rule does not see: not measured or not ok.
func Lifetime(q *metric.Request) (start, end int64, ok bool) {
	if !q.OK || !measured(q) {
		return 0, 0, false
	}
	end = q.LastEvent
	if !q.Streamed || end == metric.Absent {
		end = q.End
	}
	return q.Released, end, end != metric.Absent
}

// steady: from = last ramp or warm-up release + median E2E; to = last measured
// release. The cohort are starts in [from, to − p95 E2E]. Median and p95 are
// over all ok measured requests. In a closed loop the releases that fill the cap
// at the start are a ramp: without any other the C-th release is the last of
// them. In an open loop without ramp or warm-up it is the first release.
func steady(reqs []metric.Request, l Load) Interval {
	var w Interval
	var e2e []float64
	var releases []int64 // warm-up and measured, for the filling of the cap
	first, last, warm := int64(math.MaxInt64), int64(math.MinInt64), int64(math.MinInt64)
	for i := range reqs {
		q := &reqs[i]
		if q.Released == metric.Absent {
			continue
		}
		switch q.Phase {
		case tape.PhaseWarmup:
			warm = max(warm, q.Released)
			releases = append(releases, q.Released)
		case tape.PhaseMeasure:
			releases = append(releases, q.Released)
			first, last = min(first, q.Released), max(last, q.Released)
			if d, ok := q.E2E(); ok && q.OK {
				e2e = append(e2e, float64(d))
			}
		}
	}
	if len(e2e) == 0 {
		w.Why = "no steady window: no measured request ended well"
		return w
	}
	slices.Sort(e2e)
	slices.Sort(releases)
	median, _ := stat.Quantile(e2e, 0.5)
	p95, _ := stat.Quantile(e2e, 0.95)

	anchor, what := int64(math.MinInt64), ""
	later := func(t int64, name string) {
		if t > anchor {
			anchor, what = t, name
		}
	}
	if !l.Open && l.Concurrency > 0 {
		later(releases[min(int(l.Concurrency), len(releases))-1], fmt.Sprintf("release of request %d that filled the cap", min(int(l.Concurrency), len(releases))))
	}
	if l.Ramp > 0 {
		end := releases[0] + l.Ramp
		i, _ := slices.BinarySearch(releases, end+1)
		later(releases[i-1], "last release of the ramp")
	}
	if warm != math.MinInt64 {
		later(warm, "last warm-up release")
	}
	if what == "" {
		anchor, what = first, "first release"
	}
	w.From = anchor + int64(math.Round(median))
	w.To = last
	w.CohortTo = w.To - int64(math.Round(p95))
	rule := fmt.Sprintf("from %s (%s) + median E2E (%s) to the last measured release (%s)", what, seconds(anchor), seconds(int64(median)), seconds(last))
	switch {
	case w.From >= w.To:
		w.Why = "no steady window: " + rule + " is empty; the run is too short for its service time"
		return w
	case w.CohortTo < w.From:
		w.Why = fmt.Sprintf("no steady window: %s holds no request that starts p95 E2E (%s) before its end; the run is too short for its service time", rule, seconds(int64(p95)))
		return w
	}
	var before, after, bad, others int
	for i := range reqs {
		q := &reqs[i]
		switch {
		case q.Released == metric.Absent:
		case !measured(q):
			others++
		case q.Released < w.From:
			before++
		case q.Released > w.CohortTo:
			after++
		case !q.OK:
			bad++
		default:
			w.Cohort = append(w.Cohort, i)
		}
	}
	if len(w.Cohort) == 0 {
		w.Why = "no steady window: " + rule + " holds no ok request"
		return w
	}
	w.OK = true
	w.Why = rule + fmt.Sprintf("; latencies of requests that start until %s (p95 E2E, %s, before the end); rates by token events", seconds(w.CohortTo), seconds(int64(p95)))
	w.LeftOut = leftOut(part{before, "started before"}, part{after, "started in the last p95 E2E or after"}, part{bad, "not ok"}, part{others, "of other phases"})
	return w
}

func seconds(ns int64) string { return fmt.Sprintf("%.3f s", float64(ns)/1e9) }
