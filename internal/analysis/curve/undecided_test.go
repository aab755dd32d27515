package curve

import (
	"strings"
	"testing"

	"tokentape/internal/analysis/compare"
)

// Every undecided metric has its reason once, where it holds, and what would decide it.
func TestUndecided(t *testing.T) {
	const few = "one run a side, and too few samples (or none by time) for an interval within it"
	metric := func(name, verdict, why string, p *float64) compare.Metric {
		return compare.Metric{Name: name, Decides: true, Verdict: verdict, Why: why, P: p, Tolerance: 0.1}
	}
	pair := func(label string, ms ...compare.Metric) PointPair {
		return PointPair{Label: label, Verdict: compare.Undecided, Of: &compare.Comparison{
			On: []string{"a", "b"}, Sides: []compare.Side{{Runs: make([]compare.Ref, 2)}, {Runs: make([]compare.Ref, 2)}},
			Pairs: []compare.Pair{{Verdict: compare.Undecided, Metrics: ms}},
		}}
	}
	o := &Comparison{Fit: true, On: []string{"a", "b"}, Pairs: []PointPair{
		pair("c=1", metric("a", compare.Undecided, few, nil), metric("b", compare.Undecided, "it could be chance", ref(0.3))),
		pair("c=2", metric("a", compare.Undecided, few, nil), metric("b", compare.Better, "", ref(0.01))),
	}}
	o.undecided()
	if len(o.Open) != 2 {
		t.Fatalf("%+v", o.Open)
	}
	if u := o.Open[0]; u.Why != few || strings.Join(u.Of, "; ") != "a at every point" || !strings.Contains(u.Do, "--add --repeats") {
		t.Errorf("%+v", u)
	}
	if u := o.Open[1]; u.Why != "it could be chance" || strings.Join(u.Of, "; ") != "b at c=1" || !strings.Contains(u.Do, "--tolerance above 10 %") {
		t.Errorf("%+v", u)
	}
	o.Pairs, o.Warnings = o.Pairs[1:], nil
	o.undecided()
	o.conclude(&Curves{}, &Curves{})
	if !strings.Contains(o.Line, few) {
		t.Errorf("the one reason is not in the line: %s", o.Line)
	}
}
