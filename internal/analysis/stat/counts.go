package stat

import "math"

// Fisher is the two-sided p-value of Fisher's exact test that a of n and b of m come
// from one share: the probability, given a + b, of all tables that are no more
// probable than this one.
func Fisher(a, n, b, m int64) float64 {
	if n <= 0 || m <= 0 {
		return 1
	}
	choose := func(n, k int64) float64 {
		x, _ := math.Lgamma(float64(n + 1))
		y, _ := math.Lgamma(float64(k + 1))
		z, _ := math.Lgamma(float64(n - k + 1))
		return x - y - z
	}
	k := a + b
	all := choose(n+m, k)
	of := func(x int64) float64 { return choose(n, x) + choose(m, k-x) - all }
	own := of(a) + 1e-7 // equal tables differ by rounding
	var sum Acc
	for x := max(0, k-m); x <= min(n, k); x++ {
		if p := of(x); p <= own {
			sum.Add(math.Exp(p))
		}
	}
	return min(1, sum.Sum())
}

// ShareShift is how far the share b of m lies above a of n, with the interval of
// Newcombe (1998, method 10), which joins the Wilson intervals of both and so stays
// within −1 and 1 and has a width where a share is 0. n and m are above 0.
func ShareShift(a, n, b, m int64, level float64) (shift, lo, hi float64) {
	z := NormalQuantile(1 - (1-level)/2)
	wilson := func(k, n int64) (p, lo, hi float64) {
		p, c := float64(k)/float64(n), float64(n)
		zz := float64(z * z)
		mid := (p + zz/(2*c)) / (1 + zz/c)
		h := z / (1 + zz/c) * math.Sqrt(float64(p*(1-p))/c+zz/(4*float64(c*c)))
		return p, max(0, mid-h), min(1, mid+h)
	}
	pa, la, ha := wilson(a, n)
	pb, lb, hb := wilson(b, m)
	shift = pb - pa
	// Rounding may take either end by one bit beyond what a shift can be.
	return shift, max(-1, shift-math.Hypot(pb-lb, ha-pa)), min(1, shift+math.Hypot(hb-pb, pa-la))
}
