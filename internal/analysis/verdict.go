package analysis

import (
	"fmt"
	"slices"
	"strings"
)

// verdict judges the run by its checks: a missed check of severity fail decides,
// notes are counted.
func (r *run) verdict(res *Results, o Options) Verdict {
	v := Verdict{Fit: true, Checks: r.checks(res, o)}
	var failed []string
	notes := 0
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
			notes++
		}
	}
	v.Line = "fit for use"
	if !v.Fit {
		v.Line = "NOT fit for use: " + strings.Join(failed, ", ")
	}
	switch notes {
	case 0:
	case 1:
		v.Line += "; 1 note"
	default:
		v.Line += fmt.Sprintf("; %d notes", notes)
	}
	return v
}
