package analysis

import (
	"slices"
	"strings"
)

// verdict judges the run by its checks: a missed check of severity fail decides,
// notes are counted.
func (r *run) verdict(res *Results, o Options) Verdict {
	if res.Probe != nil && res.Probe.Only {
		return r.probeVerdict(res)
	}
	v := Verdict{Fit: true, Checks: r.checks(res, o)}
	var failed, notes []string
	for i := range v.Checks {
		c := &v.Checks[i]
		if slices.Contains(r.spec.Report.Strict, c.Name) {
			c.Severity = SeverityFail
		}
		if c.Result != ResultMiss {
			c.Do = ""
			continue
		}
		if c.Severity == SeverityFail {
			v.Fit = false
			failed = append(failed, inVerdict(c, res))
		} else {
			notes = append(notes, inVerdict(c, res))
		}
	}
	v.Line = "fit for use"
	if !v.Fit {
		v.Line = "NOT fit for use: " + strings.Join(failed, ", ")
	}
	if len(notes) > 0 { // by name: a fit run need not be a steady one
		v.Line += "; " + plural(int64(len(notes)), "note") + ": " + strings.Join(notes, ", ")
	}
	return v
}

// inVerdict is a check's miss in the verdict's line. That zero cache was meant and
// refuted is said in these words, whichever check found it.
func inVerdict(c *Check, res *Results) string {
	if x := res.Cache; x != nil && (c.Name == "cache_off_plan" && x.Verdict == CacheRefuted || c.Name == "cache_state" && x.Verdict == CacheByPages) {
		return x.Verdict
	}
	return missed[c.Name]
}
