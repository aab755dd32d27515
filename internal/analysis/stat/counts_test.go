package stat

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestFisher(t *testing.T) {
	for _, c := range []struct {
		a, n, b, m int64
		want       float64
	}{
		{0, 12, 12, 12, 2.0 / 2704156}, // 2 ÷ binomial(24, 12)
		{3, 4, 1, 4, 0.4857142857},     // Fisher's tea
		{0, 10, 0, 10, 1},
		{0, 10, 1, 10, 1},
		{2, 12, 2, 12, 1},
		{0, 0, 3, 4, 1},
	} {
		near(t, "p", Fisher(c.a, c.n, c.b, c.m), c.want, 1e-9)
	}
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.Int64Range(1, 400).Draw(t, "n"), rapid.Int64Range(1, 400).Draw(t, "m")
		a, b := rapid.Int64Range(0, n).Draw(t, "a"), rapid.Int64Range(0, m).Draw(t, "b")
		p, back := Fisher(a, n, b, m), Fisher(b, m, a, n)
		if !(p > 0 && p <= 1) || math.Abs(p-back) > 1e-6 {
			t.Fatalf("p %v one way, %v the other", p, back)
		}
		shift, lo, hi := ShareShift(a, n, b, m, 0.95)
		if !(-1 <= lo && lo <= shift && shift <= hi && hi <= 1) {
			t.Fatalf("%v in %v … %v", shift, lo, hi)
		}
	})
}

// TestShareShift holds Newcombe's method 10 against his paper's first example, 56 of
// 70 and 48 of 80: 0.2, 0.0524 … 0.3339.
func TestShareShift(t *testing.T) {
	shift, lo, hi := ShareShift(48, 80, 56, 70, 0.95)
	near(t, "shift", shift, 0.2, 1e-12)
	near(t, "lower", lo, 0.0524, 5e-5)
	near(t, "upper", hi, 0.3339, 5e-5)
}

// TestShareShiftStaysWithin: rounding took the lower end of some of these to
// −1.0000000000000002, the upper one to its mirror.
func TestShareShiftStaysWithin(t *testing.T) {
	for n := int64(1); n <= 60; n++ {
		for m := int64(1); m <= 60; m++ {
			for _, ends := range [][2]int64{{n, 0}, {0, m}} {
				if shift, lo, hi := ShareShift(ends[0], n, ends[1], m, 0.95); !(-1 <= lo && lo <= shift && shift <= hi && hi <= 1) {
					t.Fatalf("%d of %d and %d of %d: %v in %v … %v", ends[0], n, ends[1], m, shift, lo, hi)
				}
			}
		}
	}
}
