package analysis

import (
	"fmt"
	"math"

	"tokentape/internal/analysis/window"
)

// witness asks the metrics pages what they say of the cache in the whole run, beside
// the counts of the answers.
func (r *run) witness(c *Cache, pages *Server) {
	s, ok := pages.Cached(window.KindWhole)
	if !ok {
		return
	}
	w := CacheWitness{Source: join(s.Sources, ", "), Ratio: &s.Ratio}
	w.Says = fmt.Sprintf("%s of %s prompt tokens by the server's own counters over %s s of the whole run, requests of every phase and outcome among them",
		thousands(int64(math.Round(s.Cached))), thousands(int64(math.Round(s.Prompt))), digits(s.CoveredS))
	switch {
	case c.All.Ratio != nil:
		w.Says += fmt.Sprintf("; the answers say %s", percent(*c.All.Ratio))
	case c.Verdict == CacheHidden:
		w.Says += "; the answers say nothing"
		pages := fmt.Sprintf("%s of prompt tokens came from the prefix cache, whoever sent them", percent(s.Ratio))
		if p := c.Plan; p != nil && p.Zero && p.PlannedInput > 0 && s.Ratio-float64(p.PlannedTokens)/float64(p.PlannedInput) > cacheShare {
			c.Verdict = CacheByPages
			c.Line = fmt.Sprintf("%s: %s (inferred: counters of the whole server, not of these requests alone); %s", c.Verdict, pages, c.Line)
			break
		}
		c.Line += "; its metrics pages say " + pages
	}
	if s.Resets > 0 {
		w.Says += fmt.Sprintf("; counters began anew %s", plural(s.Resets, "time"))
	}
	if s.Roleless {
		w.Says += "; the pages are added up: where one is of a decode worker, which counts a prompt again, say so (telemetry.metrics.role)"
	}
	c.Witnesses = append(c.Witnesses, w)
}
