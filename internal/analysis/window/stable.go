package window

import (
	"cmp"
	"fmt"
	"slices"

	"tokentape/internal/analysis/metric"
)

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
		w.Do = "set a cap that the load reaches (load.concurrency), or read the steady window, which needs none"
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
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.t, b.t) })
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
			w.Do = "a higher load.rate or a lower load.concurrency, so that the cap fills; more requests alone will not; or read the steady window, which needs no full cap"
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
	w.leave(part{before, "started before"}, part{after, "started after"}, part{other, "not ok or of other phases"})
	return w
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
