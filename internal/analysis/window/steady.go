package window

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/stat"
	"tokentape/tape"
)

// steady: from = last ramp or warm-up release + median E2E; to = last measured
// release. The cohort are starts in [from, to − p95 E2E]. Median and p95 are
// over all ok measured requests. In a closed loop the releases that fill the cap
// at the start are a ramp: without any other the C-th release is the last of
// them. In an open loop without ramp or warm-up it is the first release. Of runs
// that went on at the same time, from is the latest of theirs, and to the earliest:
// between these all of them sent.
func steady(reqs []metric.Request, l Load) Interval {
	w := Interval{ByEvents: true}
	var e2e []float64
	runs := map[int32]*sending{}
	for i := range reqs {
		q := &reqs[i]
		if q.Released == metric.Absent {
			continue
		}
		s := runs[q.Part]
		if s == nil {
			s = &sending{first: math.MaxInt64, last: math.MinInt64, warm: math.MinInt64}
			runs[q.Part] = s
		}
		switch q.Phase {
		case tape.PhaseWarmup:
			s.warm = max(s.warm, q.Released)
			s.releases = append(s.releases, q.Released)
		case tape.PhaseMeasure:
			s.releases = append(s.releases, q.Released)
			s.first, s.last = min(s.first, q.Released), max(s.last, q.Released)
			if d, ok := q.E2E(); ok && q.OK {
				e2e = append(e2e, float64(d))
			}
		}
	}
	if len(e2e) == 0 {
		w.Why = "no steady window: no measured request ended well"
		w.Do = "mend what the failed requests say; more of them will not help"
		return w
	}
	slices.Sort(e2e)
	median, _ := stat.Quantile(e2e, 0.5)
	p95, _ := stat.Quantile(e2e, 0.95)

	anchor, what, last, which := int64(math.MinInt64), "", int64(math.MaxInt64), ""
	for _, k := range slices.Sorted(maps.Keys(runs)) {
		s := runs[k]
		if s.last == math.MinInt64 { // it measured nothing
			continue
		}
		if t, name := s.begun(l.of(k)); t > anchor {
			anchor, what = t, name
		}
		last = min(last, s.last)
	}
	if len(runs) > 1 {
		which = " of the run that ended first"
	}
	w.From = anchor + int64(math.Round(median))
	w.To = last
	w.CohortTo = w.To - int64(math.Round(p95))
	rule := fmt.Sprintf("from %s (%s) + median E2E (%s) to the last measured release%s (%s)", what, tenths(anchor), tenths(int64(median)), which, seconds(last))
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
	w.Why = rule + fmt.Sprintf("; latencies of requests that start until %s (p95 E2E, %s, before the end); rates by the token events of every phase", seconds(w.CohortTo), seconds(int64(p95)))
	w.leave(part{before, "started before"}, part{after, "started in the last p95 E2E or after"}, part{bad, "not ok"}, part{others, "of other phases"})
	return w
}

// sending is when one run sent.
type sending struct {
	releases          []int64 // warm-up and measured, for the filling of the cap
	first, last, warm int64   // measured, measured, warm-up
}

// begun is the release after which a run sends as it goes on to, and which one that
// is.
func (s *sending) begun(l Load) (anchor int64, what string) {
	slices.Sort(s.releases)
	anchor = math.MinInt64
	later := func(t int64, name string) {
		if t > anchor {
			anchor, what = t, name
		}
	}
	if s.warm != math.MinInt64 {
		later(s.warm, "last warm-up release")
	}
	if !l.Open && l.Concurrency > 0 {
		fill := min(int(l.Concurrency), len(s.releases))
		later(s.releases[fill-1], fmt.Sprintf("release of request %d, which filled the cap", fill))
	}
	if l.Ramp > 0 {
		end := s.releases[0] + l.Ramp
		if i, _ := slices.BinarySearch(s.releases, end+1); i > 0 {
			later(s.releases[i-1], "last release of the ramp")
		}
	}
	if what == "" {
		anchor, what = s.first, "first release"
	}
	return anchor, what
}
