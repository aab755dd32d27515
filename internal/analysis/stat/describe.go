package stat

import (
	"math"
	"slices"
)

// Quantiles are those of every summary, in thousandths: integers, so that no
// rule depends on how 0.999 is rounded.
var Quantiles = [count]int{500, 750, 900, 950, 990, 999}

const count = 6

// Description is the distribution of one metric. Values that do not exist are
// nil.
type Description struct {
	N                  int64
	NEff               *float64
	Mean, SD, Min, Max *float64
	Q                  [count]*float64 // at Quantiles
	// CI are 95 % intervals of the mean and of Quantiles, where the sample carries
	// one.
	MeanCI *[2]float64
	QCI    [count]*[2]float64
	// More is, for each quantile that has fewer than 10 effective samples beyond
	// it, how many further samples it would take; 0 where there are enough. It is
	// filled only for quantiles above the median.
	More [count]int64
}

// TailSamples is how many effective samples must lie beyond a quantile for it to
// get an interval.
const TailSamples = 10

// Describe summarises xs, given in the order of the plan; it does not change xs.
//
// The value of a quantile q is given when n ≥ 1 ÷ (1 − q): below that no sample
// is expected beyond it, and interpolation would print little but the maximum
// under another name. Its interval needs TailSamples effective samples beyond it.
func Describe(xs []float64, ci bool) Description {
	d := points(xs)
	switch {
	case len(xs) == 0:
	case ci:
		d.intervals(xs, EffectiveSize(xs), evenly(len(xs)))
	default:
		d.tail(float64(len(xs)))
	}
	return d
}

// points fills the values that need no order.
func points(xs []float64) Description {
	n := len(xs)
	d := Description{N: int64(n)}
	if n == 0 {
		return d
	}
	d.Mean = value(Mean(xs))
	d.SD = value(SD(xs))
	d.Min, d.Max = value(slices.Min(xs), true), value(slices.Max(xs), true)
	v, _ := quantilesOf(slices.Clone(xs))
	for i, q := range Quantiles {
		d.Q[i] = value(v[i], Given(int64(n), q))
	}
	return d
}

// Given reports whether n samples carry a value of the quantile of q
// thousandths. The median always has one.
func Given(n int64, q int) bool { return n > 0 && (q <= 500 || n*int64(1000-q) >= 1000) }

// tail fills More from the effective size.
func (d *Description) tail(eff float64) {
	g := 1.0
	if eff > 0 {
		g = max(1, float64(d.N)/eff)
	}
	for i, q := range Quantiles {
		if q <= 500 {
			continue
		}
		need := math.Ceil(float64(TailSamples*1000) / float64(1000-q) * g)
		if float64(d.N) < need {
			d.More[i] = int64(need) - d.N
		}
	}
}

// value is a pointer to v, or nil.
func value(v float64, ok bool) *float64 {
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
