package stat

import "math"

// EffectiveSize is n ÷ g, with g the statistical inefficiency of xs in the given
// order: the number of independent samples that would pin the mean down as well.
// A constant series counts in full.
func EffectiveSize(xs []float64) float64 {
	m, _ := Mean(xs)
	z := make([]float64, len(xs))
	for i, x := range xs {
		z[i] = x - m
	}
	g, _ := inefficiency(z)
	return float64(len(xs)) / g
}

// surely is the one-sided 95 % quantile of the normal distribution.
const surely = 1.645

// Inefficiency is g of EffectiveSize at the upper end of what it may be (one-sided
// 95 %).
func Inefficiency(xs []float64) float64 {
	m, _ := Mean(xs)
	z := make([]float64, len(xs))
	for i, x := range xs {
		z[i] = x - m
	}
	g, off := inefficiency(z)
	return g * (1 + float64(surely*off))
}

// Correlation is that of Pearson between two series of one length, −1 to 1; 0 where
// either is constant.
func Correlation(xs, ys []float64) float64 {
	mx, _ := Mean(xs)
	my, _ := Mean(ys)
	var a Acc
	for i := range xs {
		a.Add(float64((xs[i] - mx) * (ys[i] - my)))
	}
	both := float64(math.Sqrt(sumSquares(xs, mx)) * math.Sqrt(sumSquares(ys, my)))
	if both <= 0 {
		return 0
	}
	return a.Sum() / both
}

// points that inefficiency looks at one by one; longer series are averaged in
// equal groups first, which keeps what hangs together over more than a group.
const correlated = 4096

// inefficiency is g = 1 + 2 Σ ρ(t), the integrated autocorrelation of z, whose
// mean is 0: the variance of its mean is g · variance ÷ n. The sum ends at the
// first lag, from the fourth on, whose correlation is not positive; lags grow
// further apart as they grow, each weighted with its step, so that long series
// stay cheap (Chodera, J. Chem. Theory Comput. 12 (2016) 1799). g is at least 1:
// what evens itself out is not taken for more evidence than there is.
//
// off is the relative standard error of g, √((4M + 2) ÷ n) for a sum that ended
// at lag M (Madras and Sokal, J. Stat. Phys. 50 (1988) 109).
func inefficiency(z []float64) (g, off float64) {
	n := len(z)
	c0 := sumSquares(z, 0) / float64(max(1, n))
	if n < 3 || c0 <= 0 {
		return 1, 0
	}
	scale := 1.0
	if n > correlated {
		size := (n + correlated - 1) / correlated
		groups := make([]float64, n/size)
		for i := range groups {
			groups[i], _ = Mean(z[i*size : (i+1)*size])
		}
		// What one group's mean varies by, against independent samples.
		grouped := sumSquares(groups, 0) / float64(len(groups))
		scale = grouped * float64(size) / c0
		z, n, c0 = groups, len(groups), grouped
		if c0 <= 0 {
			return 1, 0
		}
	}
	g, last := 1.0, 1
	for t, step := 1, 1; t < n-1; t += step {
		var a Acc
		for i := 0; i+t < n; i++ {
			a.Add(float64(z[i] * z[i+t]))
		}
		rho := a.Sum() / float64(n) / c0
		if rho <= 0 && t > 3 {
			break
		}
		last = t
		g += float64(2 * rho * float64(step))
		if t > 20 {
			step++
		}
	}
	return max(1, g*scale), math.Sqrt(float64(4*last+2) / float64(n))
}
