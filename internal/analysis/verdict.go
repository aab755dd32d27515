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
			failed = append(failed, missed[c.Name])
		} else {
			notes = append(notes, missed[c.Name])
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
