package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/catalog"
	"tokentape/internal/analysis/stat"
)

// at5 is the start of every test's first run.
var at5 = time.Date(2026, 11, 30, 5, 0, 0, 0, time.UTC)

// made is a run with some values of its steady window, started n minutes in.
func made(name string, n int, ttft, tpot, rate float64) *run {
	sum := func(v float64) *analysis.Summary { return &analysis.Summary{N: 500, P50: ref(v), Mean: ref(v * 1.1)} }
	to := 50.0
	w := analysis.Window{Kind: "steady", From: ref(0.0), To: &to, Requests: new(int64(500)),
		Metrics: map[string]*analysis.Summary{"ttft_ms": sum(ttft), "tpot_ms": sum(tpot), "e2e_ms": sum(ttft + 100*tpot)}}
	w.System.OutputTokensPerS = &rate
	r := &run{
		ref: Ref{Path: name, Run: name, TapeSHA256: name, Fit: true, Verdict: "fit for use", Planned: 500, OK: 500},
		res: &analysis.Results{Windows: []analysis.Window{w}}, facts: map[string]string{"spec.load.requests": "500"},
		started: at5.Add(time.Duration(n) * time.Minute),
	}
	r.ended = r.started.Add(50 * time.Second)
	return r
}

// turns makes k runs a side in turns, values drawn with the given relative sd; b's
// decode takes slower times as long.
func turns(r *rand.Rand, k int, sd, slower float64) *comparison {
	c := &comparison{sides: []*side{{name: "A", path: "a"}, {name: "B", path: "b"}}}
	n := 0
	for i := range k {
		for s := range 2 {
			f := []float64{1, slower}[(s+i)%2]
			draw := func(v float64) float64 { return v * math.Exp(sd*r.NormFloat64()) }
			side := c.sides[(s+i)%2]
			tpot := draw(10 * f)
			side.runs = append(side.runs, made(fmt.Sprintf("%s%d", side.path, i), n, draw(200), tpot, 8000/tpot*math.Exp(sd/3*r.NormFloat64())))
			n++
		}
	}
	return c
}

func compared(t *testing.T, c *comparison) *Comparison {
	t.Helper()
	out, err := c.compare()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestFamilyRate: over many repeats equal servers are called different no more often
// than 5 %, whatever the number of runs, and 3 % is found as often as docs/howto/compare.md
// says. TPOT and throughput hang together, as they do.
func TestFamilyRate(t *testing.T) {
	rounds, runs, sds := 100, []int{3, 5}, []float64{0.005}
	if os.Getenv("TOKENTAPE_COMPARE") != "" {
		rounds, runs, sds = 2000, []int{3, 5, 8, 10}, []float64{0.003, 0.005, 0.01, 0.02}
	}
	for _, k := range runs {
		for _, sd := range sds {
			r := rand.New(rand.NewPCG(uint64(k), uint64(sd*1e4)))
			called, found := 0, 0
			zero := 0.0
			for range rounds {
				c := turns(r, k, sd, 1)
				c.o.Tolerance = &zero // the test alone; a tolerance only makes it rarer
				if v := compared(t, c).Verdict; v == Better || v == Worse {
					called++
				}
				if compared(t, turns(r, k, sd, 1.03)).Verdict == Worse {
					found++
				}
			}
			t.Logf("%d runs a side, %.1f %% between runs: equal called different %.1f %%, 3 %% slower found %.1f %%",
				k, sd*100, 100*float64(called)/float64(rounds), 100*float64(found)/float64(rounds))
			if limit := 0.05 + 3*math.Sqrt(0.05*0.95/float64(rounds)); float64(called) > limit*float64(rounds) {
				t.Errorf("%d runs, sd %g: equal servers are called different in %d of %d", k, sd, called, rounds)
			}
			if k >= 5 && sd == 0.005 && float64(found) < 0.9*float64(rounds) {
				t.Errorf("%d runs, sd %g: 3 %% found in %d of %d only", k, sd, found, rounds)
			}
		}
	}
}

// TestVerdicts: what the interval, the test and the tolerance make of a metric.
func TestVerdicts(t *testing.T) {
	value := func(v float64) Value { return Value{Runs: 5, Value: &v} }
	for _, c := range []struct {
		name             string
		a, shift, lo, hi float64
		p                float64
		good, unit, want string
	}{
		{name: "slower", a: 100, shift: 5, lo: 4, hi: 6, p: 0.008, good: "lower", want: Worse},
		{name: "faster", a: 100, shift: -5, lo: -6, hi: -4, p: 0.008, good: "lower", want: Better},
		{name: "more tokens", a: 100, shift: 5, lo: 4, hi: 6, p: 0.008, good: "higher", want: Better},
		{name: "fewer tokens", a: 100, shift: -5, lo: -6, hi: -4, p: 0.008, good: "higher", want: Worse},
		{name: "no direction", a: 100, shift: -5, lo: -6, hi: -4, p: 0.008, want: Differs},
		{name: "certain, but small", a: 100, shift: 1, lo: 0.5, hi: 1.5, p: 0.008, good: "lower", want: Same},
		{name: "certain, perhaps small", a: 100, shift: 1.5, lo: 0.5, hi: 2.5, p: 0.008, good: "lower", want: Undecided},
		{name: "large, but chance", a: 100, shift: 9, lo: -4, hi: 20, p: 0.3, good: "lower", want: Undecided},
		{name: "nothing, well known", a: 100, shift: 0.1, lo: -1, hi: 1, p: 0.8, good: "lower", want: Same},
		{name: "nothing, badly known", a: 100, shift: 0.1, lo: -3, hi: 3, p: 0.8, good: "lower", want: Undecided},
		{name: "from 0", a: 0, shift: 3, lo: 2, hi: 4, p: 0.008, good: "lower", want: Worse},
		{name: "0 and 0", a: 0, shift: 0, lo: 0, hi: 0, p: 1, good: "lower", want: Same},
		{name: "a share from 0, in points", a: 0, shift: 0.01, lo: 0.005, hi: 0.015, p: 0.008, good: "lower", unit: "share", want: Same},
		{name: "a share, in points", a: 0.5, shift: 0.04, lo: 0.03, hi: 0.05, p: 0.008, good: "lower", unit: "share", want: Worse},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := Metric{Good: c.good, Unit: c.unit, A: value(c.a), B: value(c.a + c.shift), Shift: &c.shift, ShiftCI: [2]*float64{&c.lo, &c.hi}, P: &c.p, Tolerance: DefaultTolerance}
			if m.judge(); m.Verdict != c.want {
				t.Errorf("%s, want %s (%s)", m.Verdict, c.want, m.Why)
			}
			if m.Verdict == Undecided && m.Why == "" {
				t.Error("undecided without a reason")
			}
		})
	}
}

// TestUnfitIsSaid: no verdict rests on a client-bound run without saying so in its line.
func TestUnfitIsSaid(t *testing.T) {
	c := turns(rand.New(rand.NewPCG(1, 1)), 5, 0.002, 1.1)
	bad := c.sides[1].runs[2]
	bad.ref.Fit, bad.ref.Verdict = false, "NOT fit for use: client-bound"
	out := compared(t, c)
	if out.Verdict != Worse || out.Fit || !strings.HasPrefix(out.Line, "B is worse than A") ||
		!strings.HasSuffix(out.Line, ". NOT to be relied on: 1 of 10 runs client-bound; --fit-only leaves it out") || strings.Count(out.Line, "client-bound") != 1 {
		t.Errorf("fit %v, %s: %s", out.Fit, out.Verdict, out.Line)
	}
	other := c.sides[0].runs[0]
	other.ref.Fit, other.ref.Verdict = false, "NOT fit for use: tape incomplete; 1 note: window too small"
	if out := compared(t, c); !strings.HasSuffix(out.Line, ": 2 of 10 runs not fit for use; --fit-only leaves them out") {
		t.Error(out.Line)
	}
	c = turns(rand.New(rand.NewPCG(1, 1)), 5, 0.002, 1.1)
	c.sides[1].runs[2].ref = bad.ref
	if err := c.fitOnly(); err != nil {
		t.Fatal(err)
	}
	out = compared(t, c)
	if !out.Fit || len(out.Sides[1].Runs) != 4 || !strings.Contains(strings.Join(out.Warnings, "\n"), "left out: b2") {
		t.Errorf("fit only: fit %v, %d runs, %q", out.Fit, len(out.Sides[1].Runs), out.Warnings)
	}
	for _, r := range c.sides[0].runs {
		r.ref.Fit = false
	}
	if err := c.fitOnly(); err == nil {
		t.Error("a side without a fit run was compared")
	}
}

// TestTurns: runs that did not take turns, or overlapped, are told.
func TestTurns(t *testing.T) {
	start := func(s *side, minutes ...int) {
		for i, m := range minutes {
			s.runs[i].started = at5.Add(time.Duration(m) * time.Minute)
			s.runs[i].ended = s.runs[i].started.Add(50 * time.Second)
		}
	}
	for _, c := range []struct {
		name string
		a, b []int
		want string
	}{
		{"ab ba ab", []int{0, 3, 4}, []int{1, 2, 5}, ""},
		{"bb aa in the middle", []int{0, 3, 4}, []int{1, 2, 5}, ""},
		{"one after the other", []int{0, 1, 2}, []int{3, 4, 5}, "did not take turns"},
		{"at once", []int{0, 2, 4}, []int{0, 2, 4}, "at the same time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := turns(rand.New(rand.NewPCG(2, 2)), 3, 0.01, 1)
			start(x.sides[0], c.a...)
			start(x.sides[1], c.b...)
			got := strings.Join(x.order(x.sides[0], x.sides[1]), "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestBetweenRunVariance: with one run on a side it is said to be unknown.
func TestBetweenRunVariance(t *testing.T) {
	for _, c := range []struct{ a, b int }{{1, 1}, {1, 5}, {5, 1}} {
		x := turns(rand.New(rand.NewPCG(3, 3)), 5, 0.01, 1.2)
		x.sides[0].runs, x.sides[1].runs = x.sides[0].runs[:c.a], x.sides[1].runs[:c.b]
		out := compared(t, x)
		if !strings.Contains(out.Line, "between-run variance unknown") {
			t.Errorf("%d and %d runs: %s", c.a, c.b, out.Line)
		}
	}
	if line := compared(t, turns(rand.New(rand.NewPCG(3, 3)), 5, 0.01, 1.2)).Line; strings.Contains(line, "between-run") {
		t.Errorf("five runs a side: %s", line)
	}
}

// TestBySections: two intervals make one of the difference, with a p that agrees with
// it; without an interval on a side there is none.
func TestBySections(t *testing.T) {
	ci := func(lo, hi float64) [2]*float64 { return [2]*float64{&lo, &hi} }
	e := bySections(100, 105, ci(97, 104), ci(102, 107))
	if e.shift != 5 || math.Abs(e.lo) > 1e-12 || math.Abs(e.hi-(5+math.Sqrt(13))) > 1e-12 || math.Abs(e.p-0.05) > 1e-9 {
		t.Errorf("%+v", e)
	}
	if e := bySections(105, 100, ci(102, 107), ci(97, 104)); e.shift != -5 || math.Abs(e.hi) > 1e-12 || math.Abs(e.p-0.05) > 1e-9 {
		t.Errorf("the other way round: %+v", e)
	}
	if e := bySections(5, 5, ci(5, 5), ci(5, 5)); e.p != 1 || e.lo != 0 || e.hi != 0 {
		t.Errorf("constants: %+v", e)
	}
	if e := bySections(1, 2, [2]*float64{}, ci(1, 3)); e.method != ByNone || e.why == "" {
		t.Errorf("without an interval: %+v", e)
	}
}

// TestThreeSides: each against the first, and one family for all of them.
func TestThreeSides(t *testing.T) {
	c := turns(rand.New(rand.NewPCG(4, 4)), 6, 0.002, 1.1)
	third := turns(rand.New(rand.NewPCG(5, 5)), 6, 0.002, 0.9).sides[1]
	third.name, third.path = "C", "c"
	c.sides = append(c.sides, third)
	out := compared(t, c)
	if len(out.Pairs) != 2 || out.Pairs[0].Verdict != Worse || out.Pairs[1].Verdict != Better || out.Verdict != Worse || out.Family != 6 {
		t.Errorf("%s: %s, %d tests", out.Verdict, out.Line, out.Family)
	}
}

func TestBadQuestions(t *testing.T) {
	fresh := func() *comparison { return turns(rand.New(rand.NewPCG(6, 6)), 5, 0.01, 1) }
	c := fresh()
	c.o.On = []string{"ttft_ms.p42"}
	if _, err := c.compare(); err == nil || !strings.Contains(err.Error(), "ttft_ms.p42") || !strings.Contains(err.Error(), "tpot_ms") {
		t.Errorf("unknown metric: %v", err)
	}
	c = fresh()
	c.o.PerMetric = map[string]float64{"nope": 0.1}
	if _, err := c.compare(); err == nil {
		t.Error("a tolerance of an unknown metric was taken")
	}
	c = fresh()
	c.o.Window = "stable"
	if _, err := c.compare(); err == nil || !strings.Contains(err.Error(), "stable") {
		t.Errorf("a window that no run has: %v", err)
	}
	c = fresh()
	c.sides[1].runs[0].ref.TapeSHA256 = "a0"
	if err := c.distinct(); err == nil {
		t.Error("one tape on both sides was compared with itself")
	}
	c = fresh()
	c.o.On = []string{"e2e_ms.p50", "e2e_ms.p50"}
	if out := compared(t, c); len(out.On) != 1 || out.Family != 1 {
		t.Errorf("the same metric twice: %v, %d tests", out.On, out.Family)
	}
}

// TestUnstreamed: without a stream the whole request stands for TTFT and TPOT.
func TestUnstreamed(t *testing.T) {
	c := turns(rand.New(rand.NewPCG(7, 7)), 5, 0.01, 1)
	for _, s := range c.sides {
		for _, r := range s.runs {
			m := r.res.Windows[0].Metrics
			m["ttft_ms"], m["tpot_ms"] = &analysis.Summary{}, &analysis.Summary{}
		}
	}
	if got := strings.Join(compared(t, c).On, " "); got != "e2e_ms.p50 output_tokens_per_s" {
		t.Errorf("decided by %s", got)
	}
}

// TestFailuresDecide: a side whose requests fail is worse, however fast the rest, also
// when nothing else can be compared; one failure in many is chance.
func TestFailuresDecide(t *testing.T) {
	for _, c := range []struct {
		runs         int
		failed, want string
		each         int64
	}{{1, "all", Worse, 500}, {1, "a tenth", Worse, 50}, {1, "one", "", 1}, {3, "a tenth", Worse, 50}, {5, "a tenth", Worse, 50}} {
		t.Run(fmt.Sprintf("%d runs, %s", c.runs, c.failed), func(t *testing.T) {
			x := turns(rand.New(rand.NewPCG(9, 9)), 5, 0.001, 1)
			for _, s := range x.sides {
				s.runs = s.runs[:c.runs]
			}
			for _, r := range x.sides[1].runs {
				r.ref.OK, r.ref.Failed = 500-c.each, c.each
			}
			for _, s := range x.sides {
				for _, r := range s.runs {
					r.res.Counts = analysis.Counts{OK: r.ref.OK, Failed: r.ref.Failed}
				}
			}
			out := compared(t, x)
			if !slices.Contains(out.On, failedKey) || (out.Verdict == Worse) != (c.want == Worse) {
				t.Errorf("%s by %v: %s", out.Verdict, out.On, out.Line)
			}
		})
	}
}

// TestUnlike: what makes the question another one is listed.
func TestUnlike(t *testing.T) {
	c := turns(rand.New(rand.NewPCG(8, 8)), 5, 0.01, 1)
	for _, r := range c.sides[1].runs {
		r.res.Load = analysis.Load{Requests: 640, Concurrency: 90, RateAsked: ref(6.0), Loop: "open"}
		r.res.About.PlanSHA256 = "other"
		r.res.Windows[0].Facts.CachedRatio = ref(0.9)
		r.res.Windows[0].Metrics["output_tokens"] = &analysis.Summary{Mean: ref(64.0), Source: "usage"}
		r.ref.Failed, r.ref.OK = 10, 490
		r.facts["spec.prepare.flush"] = "/flush_cache"
	}
	c.sides[1].runs = c.sides[1].runs[:4]
	p := compared(t, c).Pairs[0]
	all := strings.Join(append(p.Unlike, p.Warnings...), "\n")
	for _, want := range []string{
		"(N): 0 → 640", "(C): none → 90", "(r): none → 6/s", "loop:  → open", "plan:  → other", "cache state", "observed on one side only",
		"length of the answers", "source of output token counts: none → usage", "number of runs: 5 → 4", "A 0 of 2500, B 40 of 2000", "flush /flush_cache",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not among\n%s", want, all)
		}
	}
}

// TestEveryMetricIsInTheCatalogue: direction and unit come from one place.
func TestEveryMetricIsInTheCatalogue(t *testing.T) {
	for _, m := range append([]string{unstreamed, failedKey}, DefaultOn...) {
		if e := parse(m).entry(); e.Name == "" || e.Unit == "" || e.Better == "" {
			t.Errorf("%s: %+v", m, e)
		}
	}
	for _, m := range rowMetrics {
		if _, ok := catalog.Find(m.key, catalog.KindMetric); !ok {
			t.Errorf("%s can be paired, but the catalogue does not know it", m.key)
		}
	}
	for _, s := range stats {
		if s.name != "mean" && s.name != "max" {
			found := false
			for _, q := range stat.Quantiles {
				found = found || q == s.quantile
			}
			if !found {
				t.Errorf("%s is no quantile of the summaries", s.name)
			}
		}
	}
}
