package window

import (
	"math"

	"tokentape/internal/analysis/metric"
)

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
	w.leave(part{others, "of other phases"}, part{bad, "not ok"})
	return w
}
