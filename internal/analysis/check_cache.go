package analysis

import (
	"fmt"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

// cacheShare is the share of the input by which hits may differ from what was
// expected: pages of another size than planned lie within it.
const cacheShare = 0.01

// cacheOffPlan: the prefix cache served what the set was built for, or nothing
// where nothing was to be cached. The value is Σ |cached − expected| ÷ Σ input over
// ok requests where all three are known: hits of one row make up for none of
// another.
func (r *run) cacheOffPlan() Check {
	c := Check{Name: "cache_off_plan", Severity: SeverityNote, Result: ResultNone, Unit: "share", Limit: ref(cacheShare)}
	var planned, n, off, cached, expected, input, apart int64
	worst, worstBy := -1, int64(0)
	var got int64 // of the worst
	r.eachMeasured(func(i int, q *metric.Request) {
		want := r.facts[i].expected
		if !q.OK || want == metric.Absent {
			return
		}
		planned++
		hit, _, ok := q.CachedTokens(r.proved)
		if !ok || q.Input == metric.Absent {
			return
		}
		n++
		cached, expected, input = cached+hit, expected+want, input+q.Input
		d := max(hit-want, want-hit)
		apart += d
		if d > 0 {
			off++
		}
		if d > worstBy {
			worst, worstBy, got = i, d, hit
		}
	})
	plan := r.header.Cache
	switch {
	case planned == 0:
		c.Why = "nothing was expected of the prefix cache: no manifest of a built set, and workload.cache is not zero"
		return c
	case n == 0 || input == 0:
		c.Why = fmt.Sprintf("the server reported no cached tokens to hold against those expected of %s: see cache_state", plural(planned, "request"))
		return c
	}
	share := func(k int64) string { return percent(float64(k) / float64(input)) }
	v := float64(apart) / float64(input)
	c.Value, c.Result = &v, ResultPass
	c.Why = fmt.Sprintf("%s of %s input tokens came from the prefix cache (%s), %s; %d of %s differ", thousands(cached), thousands(input), share(cached), r.meant(expected, input), off, plural(n, "row"))
	if left := planned - n; left > 0 {
		c.Why += fmt.Sprintf(", of %d the server reported nothing", left)
	}
	if worst >= 0 {
		c.Why += fmt.Sprintf("; most of all request %d (row %d of the dataset): %s, expected %s", r.reqs[worst].Seq, r.facts[worst].row, thousands(got), thousands(r.facts[worst].expected))
	}
	if v <= cacheShare {
		return c
	}
	c.Result = ResultMiss
	switch {
	case cached > expected:
		c.Do = "the server knew prompts already: empty its cache first (prepare.flush), send each row once, or make a fresh set (tokentape dataset build --resalt)"
	default:
		c.Do = "send what seeds the cache first (prepare.dataset), and rows in the order of the file; rows that are in flight together find nothing of each other; is the server's cache large enough, and its page as the set's?"
	}
	if plan != nil && plan.By == tape.CacheBySpec {
		c.Do += "; or workload.cache: auto, if hits are meant"
	}
	return c
}

// meant is what the prefix cache was to serve of some input tokens (0: their number
// is not known), in words.
func (r *run) meant(expected, input int64) string {
	if plan := r.header.Cache; plan != nil && plan.Zero {
		if expected > 0 {
			return "meant for zero cache, where the template's own " + thousands(expected) + " are expected"
		}
		return "meant for zero cache"
	}
	if input == 0 {
		return "cached tokens expected"
	}
	return "expected " + thousands(expected) + " (" + percent(float64(expected)/float64(input)) + ")"
}
