package analysis

import (
	"encoding/json"
	"fmt"
	"strings"

	"tokentape/internal/analysis/metric"
)

// countName is which count it is that came and is none: "cached" of "cached=-3".
func countName(said string) string {
	name, _, _ := strings.Cut(said, "=")
	return name
}

const usageContradicted = "usage_contradicted" // the check, and the flag of its rows

// choicesAsked is how many choices each request asks for; 0: the spec does not say.
func (r *run) choicesAsked() (n int64) {
	json.Unmarshal(r.spec.Workload.Sampling.N, &n) // anything else is 0
	return n
}

// usageContradicted: the counts that enter numbers contradict neither each other
// nor what was asked. Impossible ones are taken for not known before.
func (r *run) usageContradicted() Check {
	c := Check{Name: usageContradicted, Severity: SeverityFail, Result: ResultPass, Unit: "requests", Limit: ref(0),
		Do: "find out which count is wrong, of the server or of a proxy before it, before any token number is used; the tape holds them as they came"}
	type example struct {
		metric.Contradiction
		seq, n int64
		last   *metric.Request // the request counted last: several counts of one are one request
	}
	var kinds []*example // in the order in which they are met
	var counted, off int64
	n := r.choicesAsked()
	r.okMeasured(func(q *metric.Request) {
		found := q.Contradicts
		if above, ok := q.AboveAsked(n); ok {
			found = append(found[:len(found):len(found)], above)
		}
		if len(found) > 0 || q.Input != metric.Absent || q.Output != metric.Absent {
			counted++
		}
		if len(found) > 0 {
			off++
		}
	next:
		for _, f := range found {
			for _, k := range kinds {
				if k.Kind == f.Kind && countName(k.Said) == countName(f.Said) {
					if k.last != q {
						k.n, k.last = k.n+1, q
					}
					continue next
				}
			}
			kinds = append(kinds, &example{f, q.Seq, 1, q})
		}
	})
	if counted == 0 {
		c.Result, c.Why = ResultNone, "no token counts"
		return c
	}
	c.Value, c.Why = ref(float64(off)), fmt.Sprintf("no contradiction in the counts of %s", plural(counted, "request"))
	if off == 0 {
		return c
	}
	c.Result, c.Why = ResultMiss, ""
	for i, k := range kinds {
		if i > 0 {
			c.Why += "; "
		}
		c.Why += fmt.Sprintf("%s in %d of %s (request %d: ", k.Kind, k.n, plural(counted, "request"), k.seq)
		switch {
		case k.Said != "":
			c.Why += short(k.Said, 60) + ")"
		case k.Kind == metric.BelowZero:
			c.Why += fmt.Sprintf("%d)", k.Got)
		case k.Kind == metric.NoInput:
			c.Why += thousands(k.Got) + ")"
		case k.Kind == metric.NoOutput:
			c.Why += plural(k.Than, "event") + ")"
		case k.Kind == metric.FewerThanEvents:
			c.Why += fmt.Sprintf("%s in %s)", thousands(k.Got), plural(k.Than, "event"))
		default:
			c.Why += fmt.Sprintf("%s, %s)", thousands(k.Got), thousands(k.Than))
		}
	}
	return c
}
