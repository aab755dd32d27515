package stat

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func floats(t *rapid.T, least int) []float64 {
	return rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), least, 60).Draw(t, "xs")
}

// bruteQuantile is the definition in exact arithmetic: rank (n − 1)q in
// thousandths, linear between neighbours.
func bruteQuantile(sorted []float64, q int64) float64 {
	rank := big.NewRat(int64(len(sorted)-1)*q, 1000)
	i := new(big.Int).Quo(rank.Num(), rank.Denom()).Int64()
	lo := new(big.Rat).SetFloat64(sorted[i])
	if int(i) == len(sorted)-1 {
		v, _ := lo.Float64()
		return v
	}
	hi := new(big.Rat).SetFloat64(sorted[i+1])
	f := rank.Sub(rank, big.NewRat(i, 1))
	hi.Sub(hi, lo).Mul(hi, f).Add(hi, lo)
	v, _ := hi.Float64()
	return v
}

func TestQuantileAgainstTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := floats(t, 1)
		slices.Sort(xs)
		q := rapid.Int64Range(0, 1000).Draw(t, "q")
		got, _ := Quantile(xs, float64(q)/1000)
		if want := bruteQuantile(xs, q); math.Abs(got-want) > 1e-6 {
			t.Fatalf("Quantile(%v, %d/1000) = %v, want %v", xs, q, got, want)
		}
	})
}

// Placing ranks gives what sorting gives, ties and patterns included.
func TestPlacedQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 2000).Draw(t, "n")
		wide := rapid.Uint64Range(1, 3000).Draw(t, "distinct")
		seed := rapid.Uint64().Draw(t, "seed")
		r := rand.New(rand.NewPCG(seed, 1))
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = float64(r.Uint64N(wide))
		}
		switch rapid.IntRange(0, 2).Draw(t, "order") {
		case 1:
			slices.Sort(xs)
		case 2:
			slices.Sort(xs)
			slices.Reverse(xs)
		}
		sorted := slices.Clone(xs)
		slices.Sort(sorted)
		got, _ := quantilesOf(xs)
		for i, q := range Quantiles {
			if want, _ := Quantile(sorted, float64(q)/1000); got[i] != want {
				t.Fatalf("q %d: %v, want %v", q, got[i], want)
			}
		}
	})
}

func TestKnownValues(t *testing.T) {
	xs := []float64{1, 2, 3, 4, 5}
	for q, want := range map[float64]float64{0: 1, 0.5: 3, 0.75: 4, 0.9: 4.6, 0.99: 4.96, 1: 5} {
		if got, _ := Quantile(xs, q); math.Abs(got-want) > 1e-12 {
			t.Errorf("q %v = %v, want %v", q, got, want)
		}
	}
	if sd, _ := SD([]float64{2, 4, 4, 4, 5, 5, 7, 9}); math.Abs(sd-math.Sqrt(32.0/7)) > 1e-12 {
		t.Errorf("sd = %v", sd)
	}
	if s := Sum([]float64{1e100, 1, -1e100}); s != 1 {
		t.Errorf("sum = %v", s)
	}
}

func TestNoSamples(t *testing.T) {
	for _, d := range []Description{Describe(nil, &Sections{Batches: 10}), DescribePooled(nil, nil, &Sections{Batches: 10}), new(Histogram).Describe(1)} {
		if d.N != 0 || d.Mean != nil || d.SD != nil || d.Min != nil || d.Max != nil || d.NEff != nil || d.MeanCI != nil || d.Q != [count]*float64{} || d.QCI != [count]*[2]float64{} {
			t.Errorf("%+v", d)
		}
	}
	if d := Describe([]float64{7}, &Sections{Batches: 10}); d.SD != nil || *d.Mean != 7 || *d.Q[0] != 7 || d.Q[1] != nil {
		t.Errorf("one sample: %+v", d)
	}
}

// A value of a quantile is given from 1 ÷ (1 − q) samples on, an interval from 15
// samples beyond it on.
func TestTailRule(t *testing.T) {
	for _, c := range []struct {
		n          int64
		q          int
		given      bool
		more       int64 // with n_eff = n
		moreAtHalf int64 // with n_eff = n ÷ 2
	}{
		{99, 990, false, 1401, 2901}, {100, 990, true, 1400, 2900}, {1500, 990, true, 0, 1500}, {3000, 990, true, 0, 0},
		{9, 900, false, 141, 291}, {10, 900, true, 140, 290}, {549, 999, false, 14451, 29451}, {1, 500, true, 0, 0}, {3, 750, false, 57, 117},
	} {
		if got := Given(c.n, c.q); got != c.given {
			t.Errorf("n %d, q %d: given %v", c.n, c.q, got)
		}
		i := slices.Index(Quantiles[:], c.q)
		d := Description{N: c.n}
		d.tail(float64(c.n))
		half := Description{N: c.n}
		half.tail(float64(c.n) / 2)
		if d.More[i] != c.more || half.More[i] != c.moreAtHalf {
			t.Errorf("n %d, q %d: more %d and %d, want %d and %d", c.n, c.q, d.More[i], half.More[i], c.more, c.moreAtHalf)
		}
	}
}

func TestIntervalsHoldTheValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(0, 100), 1, 400).Draw(t, "xs")
		before := slices.Clone(xs)
		d := Describe(xs, &Sections{Batches: 10})
		if !slices.Equal(xs, before) {
			t.Fatal("Describe changed its input")
		}
		if *d.NEff > float64(d.N) || *d.NEff <= 0 {
			t.Fatalf("n_eff %v of %d", *d.NEff, d.N)
		}
		for i := range Quantiles {
			if d.QCI[i] == nil {
				continue
			}
			if d.More[i] > 0 || d.Q[i] == nil || *d.Q[i] < d.QCI[i][0] || *d.Q[i] > d.QCI[i][1] {
				t.Fatalf("q %d: %v in %v, more %d", Quantiles[i], d.Q[i], d.QCI[i], d.More[i])
			}
		}
		if *d.Min > *d.Mean+1e-9 || *d.Mean > *d.Max+1e-9 {
			t.Fatalf("mean %v outside [%v, %v]", *d.Mean, *d.Min, *d.Max)
		}
	})
}

// Groups of one sample each are plain samples.
func TestPooledOfSingles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	xs, ends := make([]float64, 5000), make([]int, 5000)
	for i := range xs {
		xs[i], ends[i] = r.ExpFloat64(), i+1
	}
	a, b := Describe(xs, &Sections{Batches: 10}), DescribePooled(xs, ends, &Sections{Batches: 10})
	if *a.Mean != *b.Mean || *a.MeanCI != *b.MeanCI || *a.QCI[3] != *b.QCI[3] {
		t.Errorf("%v %v, %v %v", a.MeanCI, b.MeanCI, a.QCI[3], b.QCI[3])
	}
	if *b.NEff < 2000 {
		t.Errorf("n_eff of independent samples = %v of 5000", *b.NEff)
	}
	// The same sample ten times over is no more evidence.
	var ten []float64
	for i, x := range xs {
		for range 10 {
			ten = append(ten, x)
		}
		ends[i] = len(ten)
	}
	if c := DescribePooled(ten, ends, &Sections{Batches: 10}); *c.NEff > 1.1**b.NEff {
		t.Errorf("n_eff of doubled samples = %v, was %v", *c.NEff, *b.NEff)
	}
}

func TestEffectiveSize(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, rho := range []float64{0, 0.5, 0.9} {
		xs := ar1(r, 20000, rho)
		got := EffectiveSize(xs) / float64(len(xs))
		want := (1 - rho) / (1 + rho)
		if got < 0.75*want || got > 1.25*want {
			t.Errorf("AR(1) with %v: n_eff ÷ n = %.3f, theory %.3f", rho, got, want)
		}
	}
	if got := EffectiveSize(slices.Repeat([]float64{4}, 50)); got != 50 {
		t.Errorf("constant series: %v", got)
	}
}

// ar1 is a stationary autoregressive series with mean 0 and variance 1.
func ar1(r *rand.Rand, n int, rho float64) []float64 {
	xs := make([]float64, n)
	x := r.NormFloat64()
	for i := range xs {
		xs[i] = x
		x = rho*x + math.Sqrt(1-rho*rho)*r.NormFloat64()
	}
	return xs
}

// Where an interval is printed it must hold the truth about 95 times in 100, on
// correlated data too.
func TestCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const runs = 300
	for _, c := range []struct {
		rho    float64
		n      int
		lo, hi float64 // honest bounds: 300 runs have a standard error of 1.3 points
	}{
		{0, 2000, 0.91, 0.985},
		{0.5, 2000, 0.91, 0.985},
		{0.8, 4000, 0.90, 0.985},
	} {
		type tally struct{ held, given int }
		var mean, median, p90, p99 tally
		count := func(ci *[2]float64, truth float64, k *tally) {
			if ci == nil {
				return
			}
			k.given++
			if ci[0] <= truth && truth <= ci[1] {
				k.held++
			}
		}
		for range runs {
			d := Describe(ar1(r, c.n, c.rho), &Sections{Batches: 10})
			count(d.MeanCI, 0, &mean)
			count(d.QCI[0], 0, &median)
			count(d.QCI[2], 1.2815515655, &p90)
			count(d.QCI[4], 2.3263478740, &p99)
		}
		for name, k := range map[string]tally{"mean": mean, "median": median, "p90": p90, "p99": p99} {
			if k.given < runs/2 { // too rarely given to be judged: p99 at high correlation
				t.Logf("ρ %.1f n %d %s: given in %d of %d runs", c.rho, c.n, name, k.given, runs)
				continue
			}
			share := float64(k.held) / float64(k.given)
			t.Logf("ρ %.1f n %d %s: %.1f %% of %d", c.rho, c.n, name, share*100, k.given)
			if share < c.lo || share > c.hi {
				t.Errorf("ρ %.1f n %d %s: covers %.1f %%", c.rho, c.n, name, share*100)
			}
		}
	}
}

func TestHistogramError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vs := rapid.SliceOfN(rapid.Int64Range(0, 1<<rapid.IntRange(1, 45).Draw(t, "bits")), 1, 300).Draw(t, "vs")
		var h Histogram
		var xs []float64
		for _, v := range vs {
			h.Add(v)
			xs = append(xs, float64(v))
		}
		got, want := h.Describe(1), Describe(xs, nil)
		near := func(name string, a, b *float64, rel float64) {
			if (a == nil) != (b == nil) || a != nil && math.Abs(*a-*b) > rel*math.Abs(*b)+1e-9 {
				t.Fatalf("%s: %v, exact %v", name, a, b)
			}
		}
		near("mean", got.Mean, want.Mean, 1e-12)
		near("min", got.Min, want.Min, 0)
		near("max", got.Max, want.Max, 0)
		if want.SD != nil && *want.SD > 0 {
			near("sd", got.SD, want.SD, 1e-9)
		}
		for i := range Quantiles {
			near("quantile", got.Q[i], want.Q[i], 0.001)
		}
	})
}

func TestTrend(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	sure := 0
	for range 2000 {
		ys := make([]float64, TrendPoints)
		for i := range ys {
			ys[i] = 100 + r.NormFloat64()
		}
		if _, s := Trend(ys); s {
			sure++
		}
	}
	if sure > 8 { // 2 expected at the 99.9 % level
		t.Errorf("%d of 2000 series without a trend show one", sure)
	}
	ys := make([]float64, TrendPoints)
	for i := range ys {
		ys[i] = 100 + 5*float64(i) + r.NormFloat64()
	}
	if rise, s := Trend(ys); !s || math.Abs(rise-45) > 5 {
		t.Errorf("rise %v, sure %v; want about 45", rise, s)
	}
}
