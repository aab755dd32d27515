package analysis

import (
	"fmt"
	"slices"
	"strings"

	"tokentape/tape"
)

// cacheVerdict fills the word, the sentence and the advice.
func (r *run) cacheVerdict(c *Cache) {
	p := c.Plan
	zero := p != nil && p.Zero
	known := c.All.Ratio != nil
	if !known || p != nil && p.N == 0 {
		c.Verdict = CacheHidden
		c.Line = "not observable: " + r.hidden(c)
		if zero {
			c.Line = "zero cache " + c.Line
		}
		c.Do = r.makeVisible(zero)
		return
	}
	from := cameFrom(*c.All.Cached, *c.All.Input)
	if p != nil && p.Requests < c.All.Requests { // later turns of sessions: what they find depends on the answers
		from = cameFrom(p.Cached, p.Input) + fmt.Sprintf(" in the %s of which something was expected, %s in all", plural(p.Requests, "request"), percent(*c.All.Ratio))
	}
	switch {
	case p == nil:
		c.Verdict, c.Line = CacheStated, from
	case zero && *p.Share > cacheShare:
		c.Verdict, c.Line = CacheRefuted, CacheRefuted+": "+from
	case zero && p.N < p.Requests:
		c.Verdict, c.Line = CachePartly, fmt.Sprintf("zero cache confirmed in %s of %s: %s", thousands(p.N), plural(p.Requests, "request"), from)
	case zero:
		c.Verdict, c.Line = CacheConfirmed, CacheConfirmed+": "+from
	case *p.Share > cacheShare:
		c.Verdict, c.Line = CacheOffPlan, from+", not as planned"
	default:
		c.Verdict, c.Line = CacheAsPlanned, from+", as planned"
	}
	if c.All.NominalRatio != nil && (!zero || p.Expected > 0) {
		c.Line += fmt.Sprintf(" (%s expected)", percent(*c.All.NominalRatio))
	}
	c.Line += ", " + r.seen(c)
	if c.All.NotObserved > 0 {
		c.Do = r.makeVisible(zero)
	}
}

// cameFrom is how much of an input came from the cache, in words.
func cameFrom(cached, input int64) string {
	v, _ := share(cached, input)
	return fmt.Sprintf("%s of input tokens came from the prefix cache (%s of %s)", percent(v), thousands(cached), thousands(input))
}

// seen is in how many requests the count was observed, inferred or neither, and from
// what that follows.
func (r *run) seen(c *Cache) string {
	a := &c.All
	text := fmt.Sprintf("observed in %s", thousands(a.Observed))
	if a.Inferred > 0 {
		text += fmt.Sprintf(", inferred 0 in %s", thousands(a.Inferred))
	}
	text += fmt.Sprintf(" of %s", plural(a.Requests, "request"))
	if a.Inferred > 0 {
		text += " (" + reasons(c, true) + ")"
	}
	if a.NotObserved > 0 {
		text += fmt.Sprintf("; not observed in %s: %s", thousands(a.NotObserved), r.notSeen(c))
	}
	return text
}

// notSeen says why counts are not known.
func (r *run) notSeen(c *Cache) string {
	var parts []string
	if c.Contradicted > 0 {
		parts = append(parts, fmt.Sprintf("%s that cannot be true (usage_contradicted)", plural(c.Contradicted, "count")))
	}
	if why := reasons(c, false); why != "" {
		parts = append(parts, why)
	}
	if len(parts) == 0 {
		parts = append(parts, "their answers carried no usage")
	}
	return strings.Join(parts, "; ")
}

// reasons are the grounds on which missing counts of servers were taken for 0, or
// were not; each is said once.
func reasons(c *Cache, zero bool) string {
	var parts []string
	for i := range c.Evidence {
		e := &c.Evidence[i]
		if e.MissingIsZero != zero || e.Missing == 0 {
			continue
		}
		why := e.Why
		if e.Contradicted != "" {
			why = e.Contradicted
		}
		if e.Server != "" {
			why = e.Server + ": " + why
		}
		if e.Part != nil {
			why = fmt.Sprintf("part %d: %s", *e.Part, why)
		}
		if len(parts) < 3 {
			parts = append(parts, why)
		}
	}
	return strings.Join(parts, "; ")
}

// hidden says why nothing is known of the cache.
func (r *run) hidden(c *Cache) string {
	switch a := &c.All; {
	case a.Requests == 0:
		return "no measured request ended well"
	case c.Contradicted > 0 && a.Observed+a.Inferred == 0:
		return "every cached count that the server reported is contradictory and not used (usage_contradicted)"
	case a.Observed+a.Inferred > 0 && a.N == 0:
		return "cached tokens were reported, and no input tokens to hold them against"
	}
	text := fmt.Sprintf("the server reported no cached tokens in %s", plural(c.All.Requests, "request"))
	for i := range c.Evidence {
		if e := &c.Evidence[i]; e.Missing > 0 && (e.Probe != "" || r.servers[i].silent != "") {
			return text + ": " + e.Why
		}
	}
	return text + ": it served none and leaves out 0, or does not report them"
}

// makeVisible is what would make cached tokens observable.
func (r *run) makeVisible(zero bool) string {
	api, engine := r.spec.Target.API, strings.ToLower(r.header.Server.Engine)
	sglang := "start SGLang with --enable-cache-report"
	vllm := "start vLLM with --enable-prompt-tokens-details"
	var do string
	switch {
	case r.reports():
		do = "the server is set to report them: what stands between drops them, or its version does not tell them by this API; ask its own (target.api: sglang-generate), which always tells"
	case strings.Contains(engine, "sglang"):
		do = sglang + ", or ask its own API (target.api: sglang-generate), which always tells"
	case strings.Contains(engine, "vllm"):
		do = vllm
	case api == "ollama" || api == "tgi" || api == "triton-generate":
		return "this API has no field for cached tokens: ask the server's OpenAI route where it has one (target.api: openai-chat)"
	default:
		do = "switch cache reporting on (" + strings.TrimPrefix(sglang, "start ") + ", " + strings.TrimPrefix(vllm, "start ") + ")"
	}
	if (zero || r.header.Cache != nil) && !r.askedTwice() {
		do += "; one hit in the run proves that it is on: probe: cache in the spec, or a prompt that is prepared twice"
	}
	return do
}

// reports: a server said of itself that it reports cached tokens.
func (r *run) reports() bool {
	return slices.ContainsFunc(r.servers, func(k reporting) bool { return k.says != "" })
}

// askedTwice: a probe has sent the same prompt twice, so that to do so again proves
// nothing more.
func (r *run) askedTwice() bool {
	return slices.ContainsFunc(r.servers, func(k reporting) bool { return k.probe != "" })
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

// bySpec: the expectation is that of workload.cache.
func (r *run) bySpec() bool {
	return r.header.Cache != nil && r.header.Cache.By == tape.CacheBySpec
}
