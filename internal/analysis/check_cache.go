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
func (r *run) cacheOffPlan(res *Results) Check {
	c := Check{Name: "cache_off_plan", Severity: SeverityNote, Result: ResultNone, Unit: "share", Limit: ref(cacheShare)}
	p := res.Cache.Plan
	switch {
	case p == nil:
		c.Why = "nothing was expected of the prefix cache: no manifest of a built set, and workload.cache is not zero"
		return c
	case p.Share == nil:
		c.Why = fmt.Sprintf("the server reported no cached tokens to hold against those expected of %s: see cache_state", plural(p.Requests, "request"))
		return c
	}
	c.Value, c.Result = p.Share, ResultPass
	c.Why = fmt.Sprintf("%s of %s input tokens came from the prefix cache (%s), %s; %d of %s differ",
		thousands(p.Cached), thousands(p.Input), percent(float64(p.Cached)/float64(p.Input)), r.meant(p.Expected, p.Input), p.Off, plural(p.N, "row"))
	if p.Off > 0 { // the sums may be alike where rows are not
		c.Why += fmt.Sprintf(", by %s tokens together, %s of the input (judged: more than %s)", thousands(p.Apart), percent(*p.Share), percent(cacheShare))
	}
	if left := p.Requests - p.N; left > 0 {
		c.Why += fmt.Sprintf(", of %d the server reported nothing", left)
	}
	if i, got := r.worstHit(); i >= 0 {
		c.Why += fmt.Sprintf("; most of all request %d (row %d of the dataset): %s, expected %s", r.reqs[i].Seq, r.facts[i].row, thousands(got), thousands(r.facts[i].expected))
	}
	if *p.Share <= cacheShare {
		return c
	}
	c.Result = ResultMiss
	switch {
	case p.Cached > p.Expected:
		c.Do = "the server knew prompts already: empty its cache first (prepare.flush), send each row once, or make a fresh set (tokentape dataset build --resalt)"
	default:
		c.Do = "send what seeds the cache first (prepare.dataset), and rows in the order of the file; rows that are in flight together find nothing of each other; is the server's cache large enough, and its page as the set's?"
	}
	if r.bySpec() {
		c.Do += "; or workload.cache: auto, if hits are meant"
	}
	return c
}

// worstHit is the request that is farthest from what was expected of it, and what it
// found; −1: none is off.
func (r *run) worstHit() (worst int, got int64) {
	worst = -1
	var by int64
	r.okCached(func(i int, q *metric.Request) {
		want := r.facts[i].expected
		hit, _, ok := q.CachedTokens(r.proved)
		if !ok || want == metric.Absent || q.Input == metric.Absent {
			return
		}
		if d := max(hit-want, want-hit); d > by {
			worst, by, got = i, d, hit
		}
	})
	return worst, got
}

// cacheState: the share of cached input was observable, where something was
// expected of it, and answers say no other than the probe. What came is stated
// here, and judged by cacheOffPlan.
func (r *run) cacheState(res *Results) Check {
	c := Check{Name: "cache_state", Severity: SeverityNote, Result: ResultNone, Unit: "share",
		Why: "nothing was expected of the prefix cache, and the server reports no cached tokens: its state is not observable"}
	x := res.Cache
	switch {
	case x.All.Ratio != nil:
		c.Result, c.Value = ResultPass, x.All.Ratio
		c.Why = fmt.Sprintf("%s of input tokens came from the prefix cache (observed in %d, inferred 0 in %d", percent(*x.All.Ratio), x.All.Observed, x.All.Inferred)
		if x.All.NotObserved > 0 {
			c.Why += fmt.Sprintf(", not observed in %d", x.All.NotObserved)
		}
		c.Why += ")"
	case x.Contradicted > 0 && x.All.Observed+x.All.Inferred == 0:
		c.Why = "every cached count that the server reported is impossible: see usage_contradicted"
	case x.Plan != nil:
		c.Result, c.Do = ResultMiss, x.Do
		c.Why = fmt.Sprintf("%s, not observable: %s", r.meant(r.expectedOf()), r.hidden(x))
		if x.Verdict == CacheByPages {
			c.Why = x.Line
		}
	default:
		c.Do = x.Do
	}
	for i := range x.Evidence {
		if e := &x.Evidence[i]; e.Contradicted != "" && e.Probe != tape.CachedAlways { // that one is probe_contradicted
			c.Result = ResultMiss
			c.Why += "; " + e.Contradicted
			c.Do = "probe the server again; where a router stands before several, they may report differently: give each in target.urls"
			break
		}
	}
	return c
}

// expectedOf are the tokens that the cache was to serve, and the input of those
// requests.
func (r *run) expectedOf() (expected, input int64) {
	r.okCached(func(i int, q *metric.Request) {
		if want := r.facts[i].expected; want != metric.Absent && q.Input != metric.Absent {
			expected, input = expected+want, input+q.Input
		}
	})
	return expected, input
}
