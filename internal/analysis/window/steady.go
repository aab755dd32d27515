package window

import (
	"fmt"
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
// them. In an open loop without ramp or warm-up it is the first release.
func steady(reqs []metric.Request, l Load) Interval {
	w := Interval{ByEvents: true}
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
	if warm != math.MinInt64 {
		later(warm, "last warm-up release")
	}
	if !l.Open && l.Concurrency > 0 {
		fill := min(int(l.Concurrency), len(releases))
		later(releases[fill-1], fmt.Sprintf("release of request %d, which filled the cap", fill))
	}
	if l.Ramp > 0 {
		end := releases[0] + l.Ramp
		if i, _ := slices.BinarySearch(releases, end+1); i > 0 {
			later(releases[i-1], "last release of the ramp")
		}
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
	w.Why = rule + fmt.Sprintf("; latencies of requests that start until %s (p95 E2E, %s, before the end); rates by the token events of every phase", seconds(w.CohortTo), seconds(int64(p95)))
	w.LeftOut = leftOut(part{before, "started before"}, part{after, "started in the last p95 E2E or after"}, part{bad, "not ok"}, part{others, "of other phases"})
	return w
}
