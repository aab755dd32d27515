package cli

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tokentape/internal/analysis"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/tape"
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
	met, unmet := analysis.Expectation{Condition: "counts.ok == 1", Result: analysis.ResultPass}, analysis.Expectation{Condition: "counts.ok == 2", Result: analysis.ResultMiss}
	for _, c := range []struct {
		name   string
		fit    bool
		checks []analysis.Check
		expect []analysis.Expectation
		code   int
	}{
		{"nothing missed", true, nil, nil, exitFit},
		{"notes alone", true, []analysis.Check{note}, nil, exitFit},
		{"a missed check", false, []analysis.Check{note, bound}, nil, exitUnfit},
		{"failures come before it", false, []analysis.Check{bound, failures}, nil, exitFailures},
		{"as expected", true, nil, []analysis.Expectation{met}, exitFit},
		{"not as expected", true, []analysis.Check{note}, []analysis.Expectation{met, unmet}, exitMissed},
		{"a missed check comes before that", false, []analysis.Check{bound}, []analysis.Expectation{unmet}, exitUnfit},
		{"failures do too", false, []analysis.Check{failures}, []analysis.Expectation{unmet}, exitFailures},
	} {
		err := verdictEnding(&analysis.Results{Counts: analysis.Counts{OK: 1}, Expect: c.expect, Verdict: analysis.Verdict{Fit: c.fit, Line: "line", Checks: c.checks}})
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

// A dataset that changes in mid-run breaks the run off: requests went out, so it is
// no refusal of the input, by the run as by its tape.
func TestDatasetChangedEnding(t *testing.T) {
	const why = "row 7 of the plan: data.jsonl changed"
	sum := &run.Summary{Footer: tape.Footer{Reason: tape.ReasonDataset, Message: why}}
	res := &analysis.Results{}
	res.About.Stop, res.About.StopWhy = tape.ReasonDataset, why
	for name, err := range map[string]error{
		"run":  (&job{spec: spec.Default()}).ending(sum, res, &run.StopError{Reason: tape.ReasonDataset, Message: why}, nil),
		"tape": tapeEnding(res),
	} {
		var e *exitError
		if !errors.As(err, &e) || e.code != exitInternal || !strings.Contains(e.msg, why) {
			t.Errorf("%s: %+v, want exit code %d with %q", name, e, exitInternal, why)
		}
	}
}
