package stat

// EffectiveSize is n ÷ g with g = 1 + 2 Σ (1 − t/n) ρ(t), the integrated
// autocorrelation of xs in the given order: the number of independent samples
// that would pin the mean down as well. The sum ends at the first lag, from the
// fourth on, whose correlation is not positive; lags grow further apart as they
// grow, each weighted with its step, so that long series stay cheap (the fast
// estimator of Chodera 2016). g is at least 1. A constant series counts in full.
func EffectiveSize(xs []float64) float64 {
	n := len(xs)
	if n < 3 {
		return float64(n)
	}
	m, _ := Mean(xs)
	c0 := sumSquares(xs, m)
	if c0 <= 0 {
		return float64(n)
	}
	c0 /= float64(n)
	g, step := 1.0, 1
	for t := 1; t < n-1; t += step {
		var a Acc
		for i := 0; i+t < n; i++ {
			a.Add(float64((xs[i] - m) * (xs[i+t] - m)))
		}
		rho := a.Sum() / float64(n-t) / c0
		if rho <= 0 && t > 3 {
			break
		}
		g += float64(2 * rho * (1 - float64(t)/float64(n)) * float64(step))
		if t > 20 {
			step++
		}
	}
	return float64(n) / max(1, g)
}
