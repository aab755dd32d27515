package report

import (
	"strings"
	"testing"

	"tokentape/internal/analysis"
)

// What holds of several windows is said once, and of which; a check above is not
// repeated.
func TestTooSmallOnce(t *testing.T) {
	const warning = "too small to confirm a steady state (convention): 12 requests (128 wanted)"
	for _, c := range []struct {
		name  string
		of    []int // windows that warn
		check bool
		want  string
		not   string
	}{
		{"all", []int{0, 2}, true, "  ! too small to confirm a steady state, as above: whole, steady\n", "convention): whole"},
		{"one, as above", []int{2}, true, "", "as above"},
		{"one", []int{2}, false, "  ! too small to confirm a steady state (convention): steady, 12 requests (128\n    wanted)\n", "as above"},
		{"two", []int{0, 2}, false, "  ! too small to confirm a steady state (convention): whole, steady\n", "as above"},
		{"none", nil, true, "", "as above"},
	} {
		r := openLoop()
		for _, i := range c.of {
			r.Windows[i].Warnings = append(r.Windows[i].Warnings, warning)
		}
		want := 0
		if c.check {
			r.Verdict.Checks = append(r.Verdict.Checks, analysis.Check{Name: "window_sufficiency", Severity: "note", Result: "miss", Why: warning})
			want++
		}
		out := text(t, r, consoleOf(Options{Width: 80}))
		if c.want != "" {
			want++
		}
		if n := strings.Count(out, "too small to confirm"); n != want || !strings.Contains(out, c.want) || c.not != "" && strings.Contains(out, c.not) {
			t.Errorf("%s: %d times\n%s", c.name, n, out)
		}
	}
}

// In Markdown verdict, expectations and tables are in sight, the rest is folded, and
// no command of a terminal is named.
func TestMarkdownFolds(t *testing.T) {
	for _, c := range cases {
		for _, full := range []bool{false, true} {
			out := text(t, c.of(), markdownOf(Options{Full: full}))
			if n := strings.Count(out, "<details>"); n == 0 || n != strings.Count(out, "</details>") {
				t.Errorf("%s, full %v: %d folds", c.name, full, n)
			}
			before, _, _ := strings.Cut(out, "<details>")
			if strings.Contains(out, "report RUN") || strings.Contains(out, "--full") || strings.Contains(before, "**server**") {
				t.Errorf("%s, full %v:\n%s", c.name, full, out)
			}
			if !full && strings.Contains(out, "| Latency by window") && !strings.Contains(before, "| Latency by window") {
				t.Errorf("%s: the table is folded away", c.name)
			}
		}
	}
}

// What no length of the run mends is the one line about intervals, and not repeated
// among the warnings.
func TestNoIntervalWithThisLoad(t *testing.T) {
	r := openLoop()
	s := r.Windows[0].Metrics["ttft_ms"]
	s.Warnings = append([]string{"mean: no interval with this load: a queue reaches over the run"}, s.Warnings...)
	out := strings.Join(strings.Fields(text(t, r, consoleOf(Options{Width: 200}))), " ")
	if n := strings.Count(out, "a queue reaches over the run"); n != 1 || !strings.Contains(out, "mean of TTFT (whole) has none with this load: a queue reaches over the run") {
		t.Errorf("%d times\n%s", n, out)
	}
}

// What a check above says in full is not said again under its window.
func TestWarningsAboveAreNotRepeated(t *testing.T) {
	r := openLoop()
	const trend = "output all but stops from 8.2 to 10.0 s: not steady"
	r.Windows[2].Warnings = append(r.Windows[2].Warnings, trend, "another")
	r.Verdict.Checks = append(r.Verdict.Checks, analysis.Check{Name: "window_trend", Severity: "note", Result: "miss", Why: "in the steady window " + trend})
	out := strings.Join(strings.Fields(text(t, r, consoleOf(Options{Width: 200}))), " ")
	if strings.Count(out, trend) != 1 || !strings.Contains(out, "! another") {
		t.Error(out)
	}
}
