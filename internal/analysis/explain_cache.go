package analysis

import "slices"

// ofCache are the names whose value hangs on what is known of the cache.
var ofCache = []string{
	"cached_tokens", "cached_ratio", "cached_n", "cached_inferred_n", "cached_not_observed_n", "nominal_cached_ratio", "prefill_uncached_tokens_per_s", "tokens.cached",
	"checks.cache_state", "checks.cache_off_plan",
}

// cache says of how many requests the cached tokens were observed, inferred or
// neither, and what that rests on, beside every value that is made of them.
func (x *explainer) cache() {
	c := x.res.Cache
	if c == nil || !slices.Contains(ofCache, x.c.Name) {
		return
	}
	a := &c.All
	x.how("of the %s of the run: observed in %s, inferred 0 in %s, not observed in %s",
		plural(a.Requests, "ok request"), thousands(a.Observed), thousands(a.Inferred), thousands(a.NotObserved))
	for i := range c.Evidence {
		e := &c.Evidence[i]
		means := "not observed"
		if e.MissingIsZero {
			means = "an inferred 0"
		}
		of := ""
		if e.Server != "" {
			of = " by " + e.Server
		}
		x.how("a count left out%s is %s (%s of these): %s", of, means, thousands(e.Missing), e.Why)
		if e.Contradicted != "" {
			x.how("%s", e.Contradicted)
		}
	}
	if c.Contradicted > 0 {
		x.how("%s came and cannot be true: usage_contradicted", plural(c.Contradicted, "count"))
	}
	if c.Do != "" {
		x.how("to observe it: %s", c.Do)
	}
}
