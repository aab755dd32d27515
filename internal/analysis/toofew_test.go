package analysis

import (
	"strings"
	"testing"

	"tokentape/internal/analysis/stat"
	"tokentape/internal/analysis/window"
	"tokentape/tape"
)

// A part of a run with a handful of requests, or shorter than one of them, has
// latencies and no rates; the whole run and a phase have theirs. That there is no
// window at all has an advice that would make one.
func TestTooFewForRates(t *testing.T) {
	for _, c := range []struct {
		window string
		rates  bool
		why    string
	}{
		{"whole", true, ""},
		{"steady", true, ""},
		{"seconds:10..10.05", false, "no rates: the window holds 0 requests (8 wanted for a rate)"},
		{"seconds:10..10.75", false, "no rates: the window holds 7 requests (8 wanted for a rate)"},
		{"seconds:10..10.85", true, ""},
		{"rows:100..106", false, "7 requests"},
		{"rows:100..107", true, ""},
		{"phase:measure", true, ""},
	} {
		s := steadyRun(200)
		s.spec = `{"load":{"requests":200,"rate":10},"report":{"slo":{"ttft_ms":1000}}}`
		w := s.analyse(t, Options{Windows: []string{c.window}}).Windows[0]
		sys, facts := w.System, w.Facts
		for name, v := range map[string]*float64{"requests": sys.RequestsPerS, "output": sys.OutputTokensPerS, "input": sys.InputTokensPerS, "total": sys.TotalTokensPerS,
			"good": facts.GoodPerS, "good tokens": facts.GoodTokensPerS} {
			if (v != nil) != c.rates {
				t.Errorf("%s: %s %v", c.window, name, v)
			}
		}
		if got := strings.Join(w.Warnings, "; "); !strings.Contains(got, c.why) || c.rates && strings.Contains(got, "no rates") {
			t.Errorf("%s: %q", c.window, got)
		}
		if sys.DurationS == nil {
			t.Errorf("%s: no duration", c.window)
		}
	}
	s := steadyRun(200) // many requests that all last longer than the window
	for i, q := range s.reqs {
		s.reqs[i] = ok(q.Seq, int64(i)*msec, every(20, 50*msec, 50*msec)...)
	}
	s.spec = `{"load":{"requests":200,"concurrency":500}}`
	if w := s.analyse(t, Options{Windows: []string{"seconds:0..0.1"}}).Windows[0]; w.System.RequestsPerS != nil || !strings.Contains(strings.Join(w.Warnings, "; "), "no rates: the window is 0.10 median E2E long (1 wanted for a rate)") {
		t.Errorf("%v", w.Warnings)
	}
}

func TestAdviceWithoutAWindow(t *testing.T) {
	for spec, do := range map[string]string{
		`{"load":{"requests":200,"rate":10,"concurrency":16}}`: "a higher load.rate or a lower load.concurrency",
		`{"load":{"requests":200,"rate":10}}`:                  "set a cap",
	} {
		s := steadyRun(200)
		s.spec = spec
		r, _, _, err := analyse(&records{recs: s.records()}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if w := window.ChooseOver(window.KindStable, r.reqs, r.groups); w.OK || !strings.HasPrefix(w.Do, do) {
			t.Errorf("%s: %q → %q", spec, w.Why, w.Do)
		}
	}
	s := steadyRun(0) // a window that failures keep from being
	for i := range int64(40) {
		s.reqs = append(s.reqs, failed(i, i*100*msec, 50*msec, tape.OutcomeReset, "m"))
	}
	c := check(t, s.analyse(t, Options{}), "window_sufficiency")
	if c.Result != ResultMiss || !strings.HasPrefix(c.Do, "mend what the failed requests say") {
		t.Errorf("%s %q → %q", c.Result, c.Why, c.Do)
	}
}

// A queue that reaches over the run is no matter of a few more requests, and is not
// put into a number that nobody can send.
func TestHopelessNeed(t *testing.T) {
	const said = "mean: no interval with this load: a queue reaches over the run"
	const want = "mean needs about 31,000 more requests"
	for more, text := range map[int64]string{57_000_000: said, 30_900: want} {
		d := stat.Description{N: 310, Mean: ref(3.0), SD: ref(1.0), MeanMore: more}
		if got := summary(d, 1).Warnings; len(got) != 1 || got[0] != text {
			t.Errorf("%d: %q", more, got)
		}
	}
	few := stat.Describe(every10, nil) // a rare quantile of few samples is a matter of size
	if got := strings.Join(summary(few, 1).Warnings, "; "); strings.Contains(got, "no interval with this load") || !strings.Contains(got, "needs about") {
		t.Errorf("%q", got)
	}
}

var every10 = []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
