package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s is %.9g, want %.9g", what, got, want)
	}
}

// TestRankSum holds p against tables (R's wilcox.test, exact) and against the
// smallest values that can be had: 2 ÷ binomial(n+m, n).
func TestRankSum(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b []float64
		want float64
	}{
		{"apart, 5 and 5", []float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, 2.0 / 252},
		{"apart, 3 and 3", []float64{1, 2, 3}, []float64{4, 5, 6}, 0.1},
		{"one swap", []float64{1, 2, 3, 4, 6}, []float64{5, 7, 8, 9, 10}, 4.0 / 252},
		{"equal", []float64{7, 7, 7, 7, 7}, []float64{7, 7, 7, 7, 7}, 1},
		{"mixed", []float64{1, 4, 5, 8}, []float64{2, 3, 6, 7}, 1},
		{"ties across", []float64{1, 2, 2}, []float64{2, 3, 4}, 0.3}, // 6 of 20 ways: by hand
		{"empty", nil, []float64{1}, 1},
	} {
		t.Run(c.name, func(t *testing.T) { near(t, "p", RankSum(c.a, c.b), c.want, 1e-12) })
	}
}

// brute deals the pooled values out in all ways.
func brute(a, b []float64) float64 {
	all := append(append([]float64{}, a...), b...)
	ranks, _ := midranks(a, b)
	n, centre := len(a), len(a)*(len(all)+1)
	off := func(sum int) int { return max(sum-centre, centre-sum) }
	own := 0
	for _, r := range ranks[:n] {
		own += r
	}
	far, ways := 0, 0
	for set := range 1 << len(all) {
		k, sum := 0, 0
		for i, r := range ranks {
			if set>>i&1 == 1 {
				k, sum = k+1, sum+r
			}
		}
		if k != n {
			continue
		}
		ways++
		if off(sum) >= off(own) {
			far++
		}
	}
	return float64(far) / float64(ways)
}

func TestRankSumIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Map(rapid.IntRange(0, 6), func(i int) float64 { return float64(i) }) // many ties
		a := rapid.SliceOfN(value, 1, 6).Draw(t, "a")
		b := rapid.SliceOfN(value, 1, 6).Draw(t, "b")
		got, want := RankSum(a, b), brute(a, b)
		if math.Abs(got-want) > 1e-12 {
			t.Fatalf("p is %v, by counting %v", got, want)
		}
		if back := RankSum(b, a); math.Abs(back-got) > 1e-12 {
			t.Fatalf("p is %v one way and %v the other", got, back)
		}
	})
}

// TestShift holds the interval against the confidence levels of the tables.
func TestShift(t *testing.T) {
	a := []float64{1, 2, 3, 4, 5}
	b := []float64{11.5, 12.25, 13.125, 14.0625, 15.03125}
	shift, lo, hi, level, ok := Shift(a, b, 0.95)
	if !ok {
		t.Fatal("no interval for 5 and 5")
	}
	near(t, "level", level, 1-2*4.0/252, 1e-12) // P(U ≤ 2) = 4/252
	near(t, "shift", shift, 10.125, 1e-12)
	if !(lo < shift && shift < hi && lo > 6 && hi < 14) {
		t.Errorf("interval %v … %v around %v", lo, hi, shift)
	}
	if _, _, _, _, ok := Shift(a[:3], b[:3], 0.95); ok {
		t.Error("3 and 3 values gave a 95 % interval")
	}
	if _, _, _, level, ok := Shift(a[:4], b[:4], 0.95); !ok || math.Abs(level-(1-2.0/70)) > 1e-12 {
		t.Errorf("4 and 4: level %v, ok %v", level, ok)
	}
}

// TestShiftAgreesWithRankSum: without ties the interval leaves 0 out exactly when
// the test says that the sides differ at that level.
func TestShiftAgreesWithRankSum(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	seen := [2]int{}
	for range 2000 {
		n, m := 4+r.IntN(8), 4+r.IntN(8)
		a, b := make([]float64, n), make([]float64, m)
		for i := range a {
			a[i] = r.NormFloat64()
		}
		for i := range b {
			b[i] = r.NormFloat64() + 1
		}
		_, lo, hi, _, ok := Shift(a, b, 0.95)
		if !ok {
			t.Fatalf("no interval for %d and %d", n, m)
		}
		differ := RankSum(a, b) <= 0.05
		if differ != (lo > 0 || hi < 0) {
			t.Fatalf("%d and %d: p %v, interval %v … %v", n, m, RankSum(a, b), lo, hi)
		}
		if differ {
			seen[1]++
		} else {
			seen[0]++
		}
	}
	if seen[0] < 100 || seen[1] < 100 {
		t.Errorf("one-sided sample: %v", seen)
	}
}

// TestManyRanks: where the exact distribution ends the approximation goes on
// without a step.
func TestManyRanks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		a, b := make([]float64, 30), make([]float64, 30)
		for i := range a {
			a[i], b[i] = r.NormFloat64(), r.NormFloat64()+0.5
		}
		exact := RankSum(a, b)
		mid := (b[0] + a[0]) / 2
		more := RankSum(append(a, mid), b) // 61 values
		if math.Abs(exact-more) > 0.1 && exact > 0.01 {
			t.Errorf("p of 60 values %v, of 61 %v", exact, more)
		}
		k, tail := rankTail(30, 30, 0.025)
		if k != 318 || tail > 0.025 { // R: qwilcox(0.025, 30, 30) = 318, so P(U ≤ 317) ≤ 0.025
			t.Fatalf("rankTail(30, 30) is %d, %v", k, tail)
		}
		if k, _ := rankTail(31, 30, 0.025); k < 318 || k > 340 {
			t.Fatalf("rankTail(31, 30) is %d", k)
		}
	}
}

func TestStudent(t *testing.T) {
	for i, want := range t95s {
		near(t, "quantile", StudentQuantile(0.05, float64(i+1)), want, 6e-5)
	}
	near(t, "Cauchy", StudentTail(1, 1), 0.5, 1e-12)                   // df 1
	near(t, "df 2", StudentTail(2, 2), 1-2/math.Sqrt(6), 1e-12)        // 1 − t/√(2+t²)
	near(t, "normal", StudentTail(1.959963985, 1e7), 0.05, 1e-6)       // df → ∞
	near(t, "far", StudentQuantile(0.002, 4), 7.173182, 1e-5)          // R: qt(0.999, 4)
	near(t, "middle", StudentTail(0, 7), 1, 1e-12)                     // all of it
	near(t, "normal quantile", NormalQuantile(0.975), 1.959964, 1e-6)  // R: qnorm
	near(t, "Holm", Holm([]float64{0.01, 0.04, 0.03})[1], 0.06, 1e-12) // max(0.03·2, 0.04)
	near(t, "Holm", Holm([]float64{0.01, 0.04, 0.03})[0], 0.03, 1e-12)
	near(t, "Holm", Holm([]float64{0.9})[0], 0.9, 1e-12)
}
