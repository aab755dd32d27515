package cli

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tokentape/internal/analysis"
	"tokentape/internal/spec"
)

// report.strict knows the checks that there are.
func TestStrictNames(t *testing.T) {
	if diff := cmp.Diff(analysis.CheckNames(), spec.CheckNames); diff != "" {
		t.Errorf("analysis.CheckNames and spec.CheckNames differ (-analysis +spec):\n%s", diff)
	}
	doc, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range analysis.CheckNames() {
		if !bytes.Contains(doc, []byte("| `"+name+"` |")) {
			t.Errorf("docs/metrics.md has no row for the check %s", name)
		}
	}
}

// The verdict decides the exit code: notes never, too many failures before any
// other missed check.
func TestVerdictEnding(t *testing.T) {
	check := func(name, severity, result string) analysis.Check {
		return analysis.Check{Name: name, Severity: severity, Result: result, Why: "why"}
	}
	note := check("window_sufficiency", analysis.SeverityNote, analysis.ResultMiss)
	failures := check(analysis.CheckFailures, analysis.SeverityFail, analysis.ResultMiss)
	bound := check("client_bound", analysis.SeverityFail, analysis.ResultMiss)
	for _, c := range []struct {
		name   string
		fit    bool
		checks []analysis.Check
		code   int
	}{
		{"nothing missed", true, nil, exitFit},
		{"notes alone", true, []analysis.Check{note}, exitFit},
		{"a missed check", false, []analysis.Check{note, bound}, exitUnfit},
		{"failures come before it", false, []analysis.Check{bound, failures}, exitFailures},
	} {
		err := verdictEnding(&analysis.Results{Counts: analysis.Counts{OK: 1}, Verdict: analysis.Verdict{Fit: c.fit, Line: "line", Checks: c.checks}})
		code := exitFit
		var e *exitError
		if errors.As(err, &e) {
			code = e.code
		}
		if code != c.code {
			t.Errorf("%s: exit code %d, want %d", c.name, code, c.code)
		}
	}
}
