package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPairedShiftCovers: what the rows have in common cancels, and the interval
// holds the true shift as often as it says.
func TestPairedShiftCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, q := range []int{-1, 0, 2} { // the mean, P50, P90
		held, wide, rounds := 0, 0.0, 120
		for range rounds {
			n := 400
			a, b := make([]float64, n), make([]float64, n)
			for i := range a {
				common := 100 + 50*r.ExpFloat64() // lengths of prompts, say
				a[i], b[i] = common+r.NormFloat64(), common+3+r.NormFloat64()
			}
			p := NewPairs(a, b)
			shift, se, df, ok := p.Mean()
			if q >= 0 {
				shift, se, df, ok = p.Quantile(q)
			}
			if !ok {
				t.Fatalf("no interval for %d pairs at %d", n, q)
			}
			h := se * StudentQuantile(0.05, df)
			wide += h
			if shift-h <= 3 && 3 <= shift+h {
				held++
			}
		}
		if share := float64(held) / float64(rounds); share < 0.90 {
			t.Errorf("at %d the 95 %% interval held the shift in %.1f %% of %d", q, share*100, rounds)
		}
		if mean := wide / float64(rounds); q < 0 && mean > 0.3 { // unpaired it would be 7
			t.Errorf("half-width of the mean's shift is %.3f: nothing cancelled", mean)
		}
	}
}

func TestPairsRefuse(t *testing.T) {
	a := make([]float64, 100)
	for i := range a {
		a[i] = float64(i % 7)
	}
	if _, _, _, ok := NewPairs(a[:20], a[:20]).Mean(); ok {
		t.Error("20 pairs gave an interval of the mean")
	}
	if _, _, _, ok := NewPairs(a, a).Quantile(4); ok {
		t.Error("100 pairs gave an interval of P99")
	}
	if shift, se, _, ok := NewPairs(a, a).Quantile(0); !ok || shift != 0 || se != 0 {
		t.Errorf("a run against itself: %v ± %v, %v", shift, se, ok)
	}
	if _, _, _, ok := NewPairs(nil, nil).Quantile(0); ok {
		t.Error("no pairs gave an interval")
	}
}

// TestOrderQuantiles: the quantiles of a sample given by counts are those of the
// sample written out.
func TestOrderQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(-5, 5), 1, 30).Draw(t, "xs")
		times := make([]int32, len(xs))
		var all []float64
		for i := range times {
			times[i] = rapid.Int32Range(0, 4).Draw(t, "times")
			for range times[i] {
				all = append(all, xs[i])
			}
		}
		if len(all) == 0 {
			return
		}
		slices.Sort(all)
		got := ranked(xs).quantiles(times, len(all))
		for i, q := range Quantiles {
			if want, _ := Quantile(all, float64(q)/1000); math.Abs(got[i]-want) > 1e-9 {
				t.Fatalf("P%d of %v is %v, not %v", q, all, got[i], want)
			}
		}
	})
}

func TestPooledShift(t *testing.T) {
	shift, se, df, ok := PooledShift([]float64{1, 2, 3}, []float64{4, 6})
	if !ok || df != 3 {
		t.Fatalf("df %v, %v", df, ok)
	}
	near(t, "shift", shift, 3, 1e-12)
	near(t, "se", se, 1.0540925533894598, 1e-12) // √((2+2)/3 · (1/3+1/2))
	if _, _, _, ok := PooledShift([]float64{1}, []float64{2}); ok {
		t.Error("two values gave an interval")
	}
}
