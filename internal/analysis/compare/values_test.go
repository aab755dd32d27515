package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/catalog"
	"tokentape/internal/analysis/stat"
)

// fill sets every number, row and interval below v to a value of its own.
func fill(v reflect.Value, next *float64) {
	*next++
	switch v.Interface().(type) {
	case *float64:
		v.Set(reflect.ValueOf(ref(*next)))
	case int64:
		v.SetInt(int64(*next))
	case map[string][2]*float64:
		lo, hi := *next, *next+0.5
		v.Set(reflect.ValueOf(map[string][2]*float64{"requests_per_s": {&lo, &hi}, "output_tokens_per_s": {&lo, &hi}, "share": {&lo, &hi}}))
	case map[string]*float64:
		v.Set(reflect.ValueOf(map[string]*float64{fmt.Sprintf("row%.0f", *next): ref(*next)}))
	default:
		switch v.Kind() {
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), next)
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i), next)
			}
		}
	}
}

// TestNoTwoValuesShareAName: with every field of the results set, each number has a
// name of its own that the catalogue knows, and goodput is not throughput.
func TestNoTwoValuesShareAName(t *testing.T) {
	var w analysis.Window
	var n float64
	fill(reflect.ValueOf(&w).Elem(), &n)
	values, cis, err := service(&w)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[float64]string{}
	for k, v := range values {
		if other, twice := seen[*v]; twice {
			t.Errorf("%s and %s are one value", k, other)
		}
		seen[*v] = k
		if _, ok := catalog.Find(k, catalog.KindSystem, catalog.KindFact); !ok && !strings.HasPrefix(k, "row") {
			t.Errorf("%s is not in the catalogue, so no explain and no condition knows it", k)
		}
	}
	for k, want := range map[string]*float64{
		"output_tokens_per_s": w.System.OutputTokensPerS, "goodput.output_tokens_per_s": w.Facts.Goodput.OutputTokensPerS,
		"requests_per_s": w.System.RequestsPerS, "goodput.requests_per_s": w.Facts.Goodput.RequestsPerS, "goodput.share": w.Facts.Goodput.Share,
		"slo_good_share": w.Facts.GoodShare,
	} {
		if values[k] != want {
			t.Errorf("%s is %v, want %v", k, *values[k], *want)
		}
	}
	for k, want := range map[string]map[string][2]*float64{"requests_per_s": w.System.CI, "goodput.requests_per_s": w.Facts.Goodput.CI, "slo_good_requests_per_s": w.Facts.Goodput.CI} {
		if cis[k] != want["requests_per_s"] {
			t.Errorf("interval of %s: %v", k, cis[k])
		}
	}
	w.System.PerDevices["requests_per_s"] = ref(1.0)
	if _, _, err := service(&w); err == nil || !strings.Contains(err.Error(), "requests_per_s") {
		t.Errorf("two values of one name: %v", err)
	}
}

// TestGoodputIsNotThroughput: with report.slo throughput decides by itself; goodput
// can be asked for, and has its interval.
func TestGoodputIsNotThroughput(t *testing.T) {
	for range 20 { // whatever the order of a map
		c := turns(rand.New(rand.NewPCG(11, 11)), 5, 0.001, 1)
		for i, s := range c.sides {
			for _, r := range s.runs {
				good := 500 - 250*float64(i)
				r.res.Windows[0].Facts.Goodput = &analysis.Goodput{Judged: 500, Good: int64(good), Share: ref(good / 500), OutputTokensPerS: &good,
					CI: map[string][2]*float64{"output_tokens_per_s": {ref(good - 5), ref(good + 5)}}}
			}
		}
		out := compared(t, c)
		if out.Verdict == Worse {
			t.Fatalf("goodput stands for throughput: %s", out.Line)
		}
		c.o.On = []string{"goodput.output_tokens_per_s"}
		if out := compared(t, c); out.Verdict != Worse {
			t.Fatalf("asked for: %s", out.Line)
		}
		for _, s := range c.sides {
			s.runs = s.runs[:1]
		}
		if out := compared(t, c); out.Verdict != Worse || !strings.Contains(out.Line, "(-51.1 … -48.9)") {
			t.Fatalf("one run a side: %s", out.Line)
		}
	}
}

// TestNoImpossibleInterval: no interval says that a value falls below 0 or a share
// leaves 0 … 1, by any method.
func TestNoImpossibleInterval(t *testing.T) {
	ci := func(lo, hi float64) [2]*float64 { return [2]*float64{&lo, &hi} }
	e := byRatio(100, 66, ci(20, 240), ci(30, 110))
	if lo, hi := bySections(100, 66, ci(20, 240), ci(30, 110)).lo, e.hi; lo > -100 || e.lo <= -100 || e.lo > -34 || hi < -34 || e.p < 0.05 {
		t.Errorf("plain to %v, ratio %+v", lo, e)
	}
	// Turned round, the ratio's interval is turned round.
	back := byRatio(66, 100, ci(30, 110), ci(20, 240))
	if x := (1 + e.lo/100) * (1 + back.hi/66); math.Abs(x-1) > 1e-9 || math.Abs(back.p-e.p) > 1e-9 {
		t.Errorf("%+v and %+v", e, back)
	}
	if e := byRatio(5, 6, ci(0, 9), ci(1, 7)); e != bySections(5, 6, ci(0, 9), ci(1, 7)) {
		t.Errorf("an end at 0: %+v", e)
	}
	for _, c := range []struct {
		a, shift, lo, hi, wantLo, wantHi float64
		share                            bool
	}{
		{a: 100, shift: -33, lo: -137, hi: 2.6, wantLo: -100, wantHi: 2.6},
		{a: 0.9, shift: 0.05, lo: -0.1, hi: 0.2, wantLo: -0.1, wantHi: 0.1, share: true},
		{a: 0, shift: 0, lo: -3, hi: 3, wantLo: 0, wantHi: 3},
	} {
		e := effect{shift: c.shift, lo: c.lo, hi: c.hi}
		if e.bound(c.a, c.share); math.Abs(e.lo-c.wantLo) > 1e-12 || math.Abs(e.hi-c.wantHi) > 1e-12 {
			t.Errorf("%+v: %+v", c, e)
		}
	}
	// Two runs a side that scatter by their own size.
	c := turns(rand.New(rand.NewPCG(12, 12)), 2, 0.8, 0.3)
	for _, m := range compared(t, c).Pairs[0].Metrics {
		if m.ChangeCI[0] != nil && *m.ChangeCI[0] < -1 {
			t.Errorf("%s by %s: from %v", m.Name, m.Method, *m.ChangeCI[0])
		}
	}
}

// series are n values around 100 whose neighbours have correlation phi.
func series(r *rand.Rand, n int, phi float64) []float64 {
	out, v := make([]float64, n), r.NormFloat64()
	for i := range out {
		v = float64(phi*v) + float64(math.Sqrt(1-phi*phi)*r.NormFloat64())
		out[i] = 100 + 60*v
	}
	return out
}

// TestBlocksOfEqualSeries: without the help of plain and of a tolerance blocks call equal
// series different so rarely that three metrics together stay below 5 %, and where
// series hang together over their whole length, in 3 %; a plain difference they find.
func TestBlocksOfEqualSeries(t *testing.T) {
	rounds := 400
	if os.Getenv("TOKENTAPE_COMPARE") != "" {
		rounds = 10000
	}
	for _, n := range []int{16, 32, 52, 100} {
		for _, phi := range []float64{0, 0.5, 0.8, 0.95, 0.98, 0.99} {
			for _, q := range []int{0, 500} {
				r := rand.New(rand.NewPCG(uint64(n), uint64(phi*100)))
				called := 0
				for range rounds {
					a, b := series(r, n, phi), series(r, n, phi)
					if _, ok := byBlocks(stat.NewPairs(a, b), q, stat.At(b, q)-stat.At(a, q), 1, 0); ok {
						called++
					}
				}
				most := 0.05 / 3 // three metrics decide by default
				if phi > 0.98 {
					most = 0.03
				}
				t.Logf("n %d, correlation %g, q %d: called different in %.2f %%", n, phi, q, 100*float64(called)/float64(rounds))
				if limit := most*float64(rounds) + 3*math.Sqrt(most*float64(rounds)); float64(called) > limit {
					t.Errorf("n %d, correlation %g, q %d: called different in %d of %d", n, phi, q, called, rounds)
				}
			}
		}
	}
	r := rand.New(rand.NewPCG(13, 13))
	found := 0
	for range rounds {
		a, b := series(r, 52, 0.5), series(r, 52, 0.5)
		for i := range a {
			a[i], b[i] = 10+a[i]/1000, 20+b[i]/1000
		}
		shift := stat.At(b, 500) - stat.At(a, 500)
		if e, ok := byBlocks(stat.NewPairs(a, b), 500, shift, 10, DefaultTolerance); ok && e.lo > 9 && e.hi < 11 && e.p < 1e-3 {
			found++
		}
		for i := range b {
			b[i] -= 9.3 // 7 %: servers that nobody changed may differ by it
		}
		if e, ok := byBlocks(stat.NewPairs(a, b), 500, shift-9.3, 10, DefaultTolerance); ok {
			t.Fatalf("7 %% was called from blocks: %+v", e)
		}
	}
	if found < rounds*8/10 {
		t.Errorf("twice as slow was found in %d of %d", found, rounds)
	}
}

// TestWhyNoInterval: what keeps pairs from an interval is said as it is, with the
// number that would do.
func TestWhyNoInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 14))
	apart := []float64{1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}
	few := tooFew(stat.NewPairs(apart, apart), 12, 500, "tpot_ms.p50")
	if !strings.HasPrefix(few, "12 paired rows; an interval of tpot_ms.p50 takes about 40") {
		t.Error(few)
	}
	close := tooFew(stat.NewPairs(series(r, 60, 0.9), series(r, 60, 0.9)), 60, 500, "tpot_ms.p50")
	var worth float64
	var need int
	if _, err := fmt.Sscanf(close, "60 paired rows hang together so closely that they count as %g independent ones; an interval of tpot_ms.p50 takes about %d such rows", &worth, &need); err != nil || worth > 20 || need < 120 {
		t.Errorf("%s (%v)", close, err)
	}
	// That number does.
	p := stat.NewPairs(series(r, 60, 0), series(r, 60, 0))
	if _, _, _, ok := p.Quantile(slices.Index(stat.Quantiles[:], 990)); ok {
		t.Fatal("p99 of 60 has an interval")
	}
	_, n := p.Need(990)
	if _, _, _, ok := stat.NewPairs(series(r, int(2*n), 0), series(r, int(2*n), 0)).Quantile(slices.Index(stat.Quantiles[:], 990)); !ok || n < 900 {
		t.Errorf("p99: %g were said to do", n)
	}
}
