package curve

import (
	"slices"
	"strings"
	"testing"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/window"
)

// lasting makes the steady window so many median service times long, and a whole one
// beside it with rates that fit.
func lasting(services, requestsPerS float64) func(*analysis.Results) {
	return func(r *analysis.Results) {
		whole := r.Windows[0]
		whole.Kind = window.KindWhole
		r.Windows[0].Facts.ServiceTimes = ref(services)
		r.Windows[0].System.RequestsPerS = ref(requestsPerS)
		r.Windows[0].Metrics = map[string]*analysis.Summary{"output_tokens": {N: 8, Mean: ref(16), P50: ref(16)}, "e2e_ms": whole.Metrics["e2e_ms"]}
		r.Windows = append(r.Windows, whole)
	}
}

// A steady window of two service times catches three ends: its requests/s (59.4 for the
// 40.8 that tokens say) is no point of a curve, and where it is asked for it is named.
func TestShortWindow(t *testing.T) {
	waves := func(services float64) *analysis.Results {
		return made(40, 198, 0.02, lasting(services, 59.37), func(r *analysis.Results) { r.Windows[0].System.OutputTokensPerS = ref(653.1) })
	}
	c := swept(t, concurrency, []any{8.0, 12.0}, []*analysis.Results{waves(2.04), waves(12)})
	if p := c.Points[0]; p.Window != window.KindWhole || *p.Values["requests_per_s"].Value != 40 || !strings.Contains(p.WindowWhy, "2.0 median service times long (10 wanted)") {
		t.Errorf("short: %s, %v requests/s, %q", p.Window, *p.Values["requests_per_s"].Value, p.WindowWhy)
	}
	if p := c.Points[1]; p.Window != window.KindSteady || p.RateMisfit != "" {
		t.Errorf("long enough: %s, %q", p.Window, p.RateMisfit)
	}
	if !slices.ContainsFunc(c.Notes, func(s string) bool { return strings.Contains(s, "different windows: c=8 of the whole run") }) {
		t.Errorf("the other window is not said: %q", c.Notes)
	}

	r := waves(2.04)
	p := Point{Values: map[string]Value{}}
	p.window([]*Result{{Res: r}}, window.KindSteady)
	if p.Window != window.KindSteady || !strings.Contains(p.RateMisfit, "59.4 requests/s do not fit 653 output tokens/s at 16 a request, which make 40.8") {
		t.Errorf("asked for: %s, %q", p.Window, p.RateMisfit)
	}
	r.Windows[0].System.RequestsPerS = ref(41)
	if text := misfit(&r.Windows[0]); text != "" {
		t.Errorf("a rate that fits is named: %s", text)
	}
}

// The knee is that of tokens ÷ latency, as the front is of tokens.
func TestKneeOfTokens(t *testing.T) {
	var runs []*analysis.Results
	for i, c := range []float64{1, 2, 4, 8} {
		x, e := roof(c, 2, 100)
		skew := []float64{1, 1, 1, 3}[i] // of ends in a window
		runs = append(runs, made(x, e, 0.02, func(r *analysis.Results) { r.Windows[0].System.RequestsPerS = ref(x * skew) }))
	}
	c := swept(t, concurrency, []any{1.0, 2.0, 4.0, 8.0}, runs)
	if k := c.Curves[0].Knee; k.Point == nil || c.Points[*k.Point].Label != "c=2" {
		t.Errorf("%s", k.Line)
	}
	if v := c.Points[0].Values["throughput_per_latency"]; *v.Value != 1000 || v.CI[0] == nil {
		t.Errorf("%v: 100 tokens/s ÷ 0.1 s, with an interval", *v.Value)
	}
}

// gaps sets the ITL and TPOT of a run.
func gaps(p50, p95, tpot float64) func(*analysis.Results) {
	return func(r *analysis.Results) {
		r.Windows[0].Metrics["itl_ms"] = &analysis.Summary{N: 480, Mean: ref(p50), P50: ref(p50), P95: ref(p95), P99: ref(p95)}
		r.Windows[0].Metrics["tpot_ms"] = &analysis.Summary{N: 32, Mean: ref(tpot), P50: ref(tpot), P95: ref(tpot), P99: ref(tpot)}
	}
}

func bursty(r *analysis.Results) {
	r.Verdict.Checks = []analysis.Check{{Name: "bursts", Result: analysis.ResultMiss, Why: "output arrived in bursts: in 90 % of responses …"}}
}

// No step under load is shorter than without: gaps that are came in bunches.
func TestBunches(t *testing.T) {
	for _, c := range []struct {
		name    string
		last    []func(*analysis.Results)
		bunched bool
		front   bool
	}{
		{"a step longer", []func(*analysis.Results){gaps(5.4, 6.2, 5.4)}, false, true},
		{"bunches", []func(*analysis.Results){gaps(3.43, 20.9, 4.89)}, true, false},
		{"bunches that slow, too", []func(*analysis.Results){gaps(3.43, 20.9, 6)}, true, true},
		{"prefill between", []func(*analysis.Results){gaps(5.1, 20.9, 6)}, false, true},
		{"quicker and even", []func(*analysis.Results){gaps(3.43, 3.6, 3.5)}, false, true},
		{"the run says so", []func(*analysis.Results){gaps(5.4, 6.2, 1), bursty}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := swept(t, concurrency, []any{16.0, 4.0, 8.0}, []*analysis.Results{
				made(20, 400, 0, c.last...), made(10, 200, 0, gaps(5.04, 6, 5.05)), made(16, 300, 0, gaps(5.2, 6, 5.23)),
			})
			p := got.Points[0]
			said := slices.ContainsFunc(got.Notes, func(s string) bool { return strings.HasPrefix(s, "c=16: ") && strings.Contains(s, p.Bunched) })
			if (p.Bunched != "") != c.bunched || said != c.bunched && c.bunched {
				t.Errorf("bunched %q, notes %q", p.Bunched, got.Notes)
			}
			if on := slices.Contains(p.Front, "tpot_ms.p95") || slices.Contains(p.Front, "tpot_ms.p50"); on != c.front {
				t.Errorf("on the front of TPOT: %v, want %v", on, c.front)
			}
			if !slices.Contains(p.Front, "e2e_ms.p95") {
				t.Error("it lost its place among E2E")
			}
		})
	}
	alike := swept(t, concurrency, []any{1.0, 2.0}, []*analysis.Results{made(10, 200, 0, bursty), made(20, 220, 0, bursty)})
	if f := alike.Points[1].Front; !slices.Contains(f, "tpot_ms.p95") {
		t.Errorf("all points of bursts are alike: %v", f)
	}
}

// A short look takes neither a percentile nor half the weight of the long one.
func TestShortLook(t *testing.T) {
	long := made(10, 200, 0.02, func(r *analysis.Results) { r.Counts.Planned = 468 })
	look := made(20, 400, 0.02, func(r *analysis.Results) { r.Counts.Planned = 36; r.Windows[0].Metrics["e2e_ms"].P99 = nil })
	c := swept(t, concurrency, []any{4.0, 4.0}, []*analysis.Results{look, long})
	p := c.Points[0]
	if v := p.Values["e2e_ms.p99"].Value; v == nil || *v != 200 {
		t.Errorf("p99 %v, want that of the long run", v)
	}
	if p.Pooled != 1 || !p.Runs[0].LeftOut || p.Runs[1].LeftOut || !strings.Contains(p.Reason, "left out beside a run of 468 requests: p0 (36 requests)") {
		t.Errorf("pooled %d, %q", p.Pooled, p.Reason)
	}
	near := made(20, 400, 0.02, func(r *analysis.Results) { r.Counts.Planned = 300 })
	if p := swept(t, concurrency, []any{4.0, 4.0}, []*analysis.Results{near, long}).Points[0]; p.Pooled != 2 || p.Reason != "" {
		t.Errorf("repeats of nearly one size: pooled %d, %q", p.Pooled, p.Reason)
	}
}
