package analysis

import (
	"fmt"
	"math"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

// failuresAllowed: no request failed, even where limits.failed_share lets some
// pass: they are in no latency, and a server that is gone for a while looks fast.
func (r *run) failuresAllowed(res *Results) Check {
	c := r.failures(res)
	c.Name, c.Severity, c.Limit = "failures_allowed", SeverityNote, ref(0)
	c.Do = "failed requests are in no latency and no rate: see the message of each class, and what the server did at that time"
	switch {
	case c.Result == ResultMiss:
		c.Result, c.Value, c.Why = ResultNone, nil, "more failed than is allowed: see failures"
	case c.Result == ResultPass && *c.Value == 0:
		c.Why = "no request failed"
	case c.Result == ResultPass:
		c.Result = ResultMiss
		c.Why += fmt.Sprintf("; limits.failed_share %s lets that pass", digits(r.spec.Limits.FailedShare))
	}
	return c
}

// whenFailed says when the failed requests were sent, and how much of the window
// that claims most lies between the first release and the last end of them. It is
// "" where none failed.
func (r *run) whenFailed(res *Results) string {
	if r.untimed() {
		return ""
	}
	first, last, end := int64(math.MaxInt64), int64(math.MinInt64), int64(math.MinInt64)
	r.eachMeasured(func(i int, q *metric.Request) {
		if o := r.facts[i].outcome; o.Failed() && o != tape.OutcomeClient && q.Released != metric.Absent {
			first, last, end = min(first, q.Released), max(last, q.Released), max(end, q.Released, q.End)
		}
	})
	if first > last {
		return ""
	}
	since := func(ns int64) float64 { return max(0, float64(ns)/1e9) } // a pacer may be early by microseconds: no "-0.0"
	from, to, until := since(first), since(last), since(end)
	text := fmt.Sprintf("; sent from %.1f to %.1f s", from, to)
	if first == last {
		text = fmt.Sprintf("; sent at %.1f s", from)
	}
	w := primary(res.Windows)
	if w == nil || w.From == nil || *w.To <= *w.From || len(w.Spans) > 0 {
		return text
	}
	inside := max(0, min(until, *w.To)-max(from, *w.From))
	return text + fmt.Sprintf(", which with their answers is %s of the %s window", percent(inside/(*w.To-*w.From)), w.Kind)
}
