package stat

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestShareBounds holds the bounds against closed forms and against tables (Clopper
// and Pearson 1934; R's binom.test).
func TestShareBounds(t *testing.T) {
	lo, hi := ShareBounds(200, 200, 0.05)
	near(t, "all good, lower", lo, math.Pow(0.05, 1.0/200), 1e-9)
	near(t, "all good, upper", hi, 1, 0)
	lo, hi = ShareBounds(0, 50, 0.025)
	near(t, "none good, lower", lo, 0, 0)
	near(t, "none good, upper", hi, 1-math.Pow(0.025, 1.0/50), 1e-9)
	lo, hi = ShareBounds(7, 10, 0.025)
	near(t, "7 of 10, lower", lo, 0.3475471, 1e-6)
	near(t, "7 of 10, upper", hi, 0.9332605, 1e-6)
	if lo, hi = ShareBounds(0, 0, 0.05); lo != 0 || hi != 1 {
		t.Errorf("nothing seen: %v to %v", lo, hi)
	}
}

// TestShareBoundsMean: the bound is the share at which what was seen, or more, has
// exactly the probability alpha.
func TestShareBoundsMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		k := rapid.IntRange(1, n).Draw(t, "k")
		alpha := rapid.Float64Range(0.001, 0.3).Draw(t, "alpha")
		lo, hi := ShareBounds(float64(k), float64(n), alpha)
		if got := atLeast(k, n, lo); math.Abs(got-alpha) > 1e-6 {
			t.Fatalf("%d of %d at %v: P(X ≥ k) is %v, want %v", k, n, lo, got, alpha)
		}
		if k < n {
			if got := 1 - atLeast(k+1, n, hi); math.Abs(got-alpha) > 1e-6 {
				t.Fatalf("%d of %d at %v: P(X ≤ k) is %v, want %v", k, n, hi, got, alpha)
			}
		}
	})
}

// atLeast is P(X ≥ k) of a binomial count of n, summed term by term.
func atLeast(k, n int, p float64) float64 {
	sum := 0.0
	for i := k; i <= n; i++ {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(i + 1))
		c, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(a - b - c + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}
