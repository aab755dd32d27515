package plan

import (
	"math"
	"math/big"
	"sort"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tokentape/internal/spec"
)

// Due times of a constant rate are the exact quotient, rounded once.
func TestConstantIsExact(t *testing.T) {
	for _, rate := range []float64{6, 0.3, 7, 1000, 1.0 / 3, 123.456, 1e-4, 3e8, 2e9, 5e11} {
		c := exactCurve(rate)
		r, _ := new(big.Rat).SetString(strconv.FormatFloat(rate, 'g', -1, 64))
		for _, i := range []int64{0, 1, 2, 3, 10, 639, 999_983, 9_999_999, 50_000_000} {
			want := new(big.Rat).Quo(new(big.Rat).SetInt64(i*sec), r)
			if want.Cmp(new(big.Rat).SetInt64(2*maxDue)) > 0 {
				want.SetInt64(2 * maxDue)
			}
			diff := new(big.Rat).Sub(want, new(big.Rat).SetInt64(c(float64(i))))
			if diff.Abs(diff).Cmp(big.NewRat(1, 2)) > 0 {
				t.Errorf("request %d at %v/s is due at %d, want %s", i, rate, c(float64(i)), want.FloatString(3))
			}
		}
	}
	if got := exactCurve(0.3)(3); got != 10*sec {
		t.Errorf("request 3 at 0.3/s is due at %d, want 10 s", got)
	}
	if got := exactCurve(5e-324)(1); got != 2*maxDue {
		t.Errorf("an absurd rate gives %d", got)
	}
}

// 100 requests at 10/s through one slot, 10 ms of service but 2 s for request
// 10: the schedule must make 22 of them late, the latest by 1.9 s.
func TestScheduleShowsAStall(t *testing.T) {
	p := make1(t, spec.Load{Requests: 100, Rate: 10, Concurrency: 1})
	var free, most int64
	late := 0
	for i, r := range rowsOf(p, 100) {
		if r.Due != int64(i)*sec/10 {
			t.Fatalf("request %d is due at %d", i, r.Due)
		}
		start := max(r.Due, free)
		if start > r.Due {
			late++
		}
		most = max(most, start-r.Due)
		service := sec / 100
		if i == 10 {
			service = 2 * sec
		}
		free = start + service
	}
	if late != 22 || most != 1900*sec/1000 {
		t.Errorf("%d late, by at most %d ns", late, most)
	}
}

func gapsOf(t *testing.T, l spec.Load) (mean, cv float64) {
	p := make1(t, l)
	var sum, sq float64
	n := p.Planned() - 1
	for i := range n {
		a, _ := p.At(i)
		b, _ := p.At(i + 1)
		g := float64(b.Due-a.Due) / 1e9
		sum += g
		sq += g * g
	}
	mean = sum / float64(n)
	return mean, math.Sqrt(sq/float64(n)-mean*mean) / mean
}

func TestGapStatistics(t *testing.T) {
	const n, rate = 200_000, 50.0
	tests := []struct {
		arrivals   string
		burstiness float64
		cv         float64
		tolerance  float64 // of mean and cv, relative: about four standard errors
	}{
		{"constant", 0, 0, 1e-9},
		{"poisson", 0, 1, 0.013},
		{"gamma", 1, 1, 0.013},
		{"gamma", 0.25, 2, 0.03},
		{"gamma", 0.05, math.Sqrt(20), 0.07},
		{"gamma", 4, 0.5, 0.01},
		{"gamma", 100, 0.1, 0.01},
	}
	for _, tt := range tests {
		mean, cv := gapsOf(t, spec.Load{Requests: n, Rate: rate, Arrivals: tt.arrivals, Burstiness: tt.burstiness})
		if math.Abs(mean*rate-1) > tt.tolerance {
			t.Errorf("%s %v: mean gap %v, want %v", tt.arrivals, tt.burstiness, mean, 1/rate)
		}
		if math.Abs(cv-tt.cv) > tt.tolerance*tt.cv+1e-6 { // due times are rounded to 1 ns of 20 ms
			t.Errorf("%s %v: cv %v, want %v", tt.arrivals, tt.burstiness, cv, tt.cv)
		}
	}
}

// Kolmogorov and Smirnov: exponential gaps, for Poisson and for gamma of shape 1.
func TestGapsAreExponential(t *testing.T) {
	const n = 50_000
	for _, arrivals := range []string{"poisson", "gamma"} {
		gap := newSchedule(Params{Rate: 1, Arrivals: arrivals, Burstiness: 1, ArrivalSeed: 3}).gap
		x := make([]float64, n)
		for i := range x {
			x[i] = gap()
		}
		sort.Float64s(x)
		var d float64
		for i, v := range x {
			f := 1 - math.Exp(-v)
			d = math.Max(d, math.Max(f-float64(i)/n, float64(i+1)/n-f))
		}
		if d > 1.63/math.Sqrt(n) { // 1 % level
			t.Errorf("%s: KS distance %v", arrivals, d)
		}
	}
}

// Poisson counts: the variance of the number of arrivals in a second is its mean.
func TestPoissonCounts(t *testing.T) {
	const seconds, rate = 4000, 20.0
	p := make1(t, spec.Load{Duration: dur(seconds * time.Second), Rate: rate, Arrivals: "poisson"})
	var counts [seconds]float64
	for i := range p.Planned() {
		r, _ := p.At(i)
		counts[r.Due/sec]++
	}
	var sum, sq float64
	for _, c := range counts {
		sum += c
		sq += c * c
	}
	mean := sum / seconds
	if v := sq/seconds - mean*mean; math.Abs(mean/rate-1) > 0.015 || math.Abs(v/rate-1) > 0.09 {
		t.Errorf("mean %v, variance %v, want both about %v", mean, v, rate)
	}
}

func TestConditioned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := spec.Load{
			Requests: rapid.Int64Range(2, 2000).Draw(t, "n"), Rate: rapid.Float64Range(0.01, 5000).Draw(t, "rate"),
			Arrivals: "poisson", Conditioned: true, Warmup: rapid.Int64Range(0, 20).Draw(t, "warmup"),
		}
		p, err := Make(l, 0, 10, RepeatCycle, "", spec.Seeds{Run: rapid.Int64().Draw(t, "seed")})
		if err != nil {
			t.Fatal(err)
		}
		first, _ := p.At(l.Warmup)
		last, _ := p.At(l.Warmup + l.Requests - 1)
		want := float64(l.Requests-1) / l.Rate * 1e9
		if d := float64(last.Due-first.Due) - want; math.Abs(d) > 1+want*1e-15 {
			t.Fatalf("%d requests at %v/s span %d ns, want %v", l.Requests, l.Rate, last.Due-first.Due, want)
		}
	})
	if p := make1(t, spec.Load{Requests: 1, Rate: 3, Arrivals: "poisson", Conditioned: true}); p.Planned() != 1 {
		t.Error("one conditioned request")
	}
}

// Under a ramp a constant process has request i due when the integral of the
// rate passes i; the integral is taken numerically here.
func TestRampCounts(t *testing.T) {
	const from, rate, length = 2.0, 30.0, 10.0
	for _, shape := range []string{"linear", "exponential"} {
		p := make1(t, spec.Load{Duration: dur(20 * time.Second), Rate: rate,
			Ramp: spec.Ramp{Shape: shape, From: from, Duration: dur(length * time.Second)}})
		lambda := func(t float64) float64 {
			switch {
			case t >= length:
				return rate
			case shape == "linear":
				return from + (rate-from)*t/length
			}
			return from * math.Pow(rate/from, t/length)
		}
		const step = 1e-4
		expected, at := 0.0, 0.0
		for i := range p.Planned() {
			r, _ := p.At(i)
			for due := float64(r.Due) / 1e9; at < due; {
				h := math.Min(step, due-at)
				expected += h * lambda(at+h/2)
				at += h
			}
			if math.Abs(expected-float64(i)) > 1e-4 {
				t.Fatalf("%s: request %d is due at %d, when %v were expected", shape, i, r.Due, expected)
			}
		}
		mean := map[string]float64{"linear": (from + rate) / 2, "exponential": (rate - from) / math.Log(rate/from)}[shape]
		if want := math.Ceil(mean*length + rate*10); float64(p.Planned()) != want {
			t.Errorf("%s: %d requests in 20 s, want %v", shape, p.Planned(), want)
		}
	}
}

// A random process under a ramp is the same draws on a bent time axis.
func TestRampBendsTime(t *testing.T) {
	flat := make1(t, spec.Load{Requests: 500, Rate: 1, Arrivals: "gamma", Burstiness: 0.5})
	ramp := make1(t, spec.Load{Requests: 500, Rate: 20, Arrivals: "gamma", Burstiness: 0.5,
		Ramp: spec.Ramp{Shape: "linear", Duration: dur(10 * time.Second)}})
	c := rampCurve(ramp.Params)
	for i := range int64(500) {
		a, _ := flat.At(i)
		b, _ := ramp.At(i)
		if d := c(float64(a.Due)/1e9) - b.Due; d < -2 || d > 2 {
			t.Fatalf("request %d: %d ns off", i, d)
		}
	}
}

func TestSlotOpens(t *testing.T) {
	p := make1(t, spec.Load{Requests: 9, Concurrency: 5, Ramp: spec.Ramp{Shape: "linear", Duration: dur(8 * time.Second)}})
	for k, got := range p.SlotOpens() {
		if want := int64(k) * 2 * sec; got != want {
			t.Errorf("linear: slot %d opens at %d, want %d", k, got, want)
		}
	}
	p = make1(t, spec.Load{Requests: 9, Concurrency: 8, Ramp: spec.Ramp{Shape: "exponential", From: 2, Duration: dur(2 * time.Second)}})
	got := p.SlotOpens()
	for k, want := range map[int]int64{0: 0, 1: 0, 3: sec, 7: 2 * sec} {
		if got[k] != want {
			t.Errorf("exponential: slot %d opens at %d, want %d", k, got[k], want)
		}
	}
	if p = make1(t, spec.Load{Requests: 9, Concurrency: 5}); p.SlotOpens() != nil {
		t.Error("without a ramp all slots are open")
	}
}

// Rates at the ends of what a float holds neither hang nor overflow.
func TestAbsurdRates(t *testing.T) {
	p := make1(t, spec.Load{Requests: 1000, Rate: 1e300, Arrivals: "poisson"})
	if last, _ := p.At(999); last.Due != 0 {
		t.Errorf("last due %d", last.Due)
	}
	p = make1(t, spec.Load{Rate: 1e-300, Duration: dur(time.Hour), Arrivals: "poisson"})
	if p.Planned() != 1 {
		t.Errorf("planned %d", p.Planned())
	}
	if p = make1(t, spec.Load{Requests: 1, Rate: 5e-324}); p.Planned() != 1 {
		t.Errorf("planned %d", p.Planned())
	}
	p = make1(t, spec.Load{Requests: 1000, Rate: 1e6, Arrivals: "gamma", Burstiness: 0.001})
	if p.Planned() != 1000 {
		t.Errorf("planned %d", p.Planned())
	}
}

func TestElementary(t *testing.T) {
	ulps := func(a, b float64) int64 {
		d := int64(math.Float64bits(a)) - int64(math.Float64bits(b))
		return max(d, -d)
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(1e-300, 1e300).Draw(t, "x")
		if got, want := ln(x), math.Log(x); ulps(got, want) > 1 {
			t.Fatalf("ln %v is %v, want %v", x, got, want)
		}
		u := rapid.Float64Range(1e-16, 1).Draw(t, "u")
		if got, want := ln(u), math.Log(u); got != want && ulps(got, want) > 1 {
			t.Fatalf("ln %v is %v, want %v", u, got, want)
		}
		y := rapid.Float64Range(-700, 0).Draw(t, "y")
		if got, want := exp(y), math.Exp(y); ulps(got, want) > 1 {
			t.Fatalf("exp %v is %v, want %v", y, got, want)
		}
	})
	if ln(1) != 0 || exp(0) != 1 || exp(-800) != 0 || exp(math.Inf(-1)) != 0 {
		t.Error("special values")
	}
}

func TestUniform(t *testing.T) {
	r := newRNG(1, "test")
	var sum float64
	for range 100_000 {
		u := r.uniform()
		if u <= 0 || u >= 1 {
			t.Fatalf("uniform gave %v", u)
		}
		sum += u
	}
	if m := sum / 100_000; math.Abs(m-0.5) > 0.004 {
		t.Errorf("mean %v", m)
	}
	// The ends of the range, as the formula gives them.
	for _, bits := range []uint64{0, math.MaxUint64} {
		if u := (float64(bits>>12) + 0.5) * (1.0 / (1 << 52)); u <= 0 || u >= 1 {
			t.Errorf("%x gives %v", bits, u)
		}
	}
}
