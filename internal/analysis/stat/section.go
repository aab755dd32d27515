package stat

import (
	"math"
	"slices"
)

// Batches of sectioning: contiguous in plan order.
const (
	BatchesCentre = 20 // mean and median
	BatchesTail   = 10
)

// minBatch is the least effective sample size of one batch: below it batches are
// as correlated as single samples, and the interval would be too short.
const minBatch = 2

// Section is the 95 % interval of a statistic by sectioning: xs is cut into b
// contiguous batches of as equal sizes as can be; the half-width around the
// whole sample's value is t(b − 1) · √(Σ(batch − whole)² ÷ (b − 1) ÷ b). ok is
// false with fewer than 2 samples a batch. of gets a batch that it may reorder.
func Section(xs []float64, whole float64, b int, of func([]float64) float64) (lo, hi float64, ok bool) {
	if len(xs) < 2*b {
		return 0, 0, false
	}
	values := make([]float64, b)
	var buf []float64
	for i := range values {
		part := xs[i*len(xs)/b : (i+1)*len(xs)/b]
		buf = append(buf[:0], part...)
		values[i] = of(buf)
	}
	h := HalfWidth(values, whole)
	return whole - h, whole + h, true
}

// HalfWidth is t(b − 1) · √(Σ(value − whole)² ÷ (b − 1) ÷ b) for b batch values.
func HalfWidth(values []float64, whole float64) float64 {
	b := len(values)
	return float64(T95(b-1) * math.Sqrt(sumSquares(values, whole)/float64(b-1)/float64(b)))
}

// T95 is the two-sided 95 % quantile of Student's t with df degrees of freedom;
// used with 9 and 19, and 1.96 beyond the table.
func T95(df int) float64 {
	switch {
	case df < 1:
		return math.Inf(1)
	case df <= len(t95):
		return t95[df-1]
	}
	return 1.96
}

var t95 = [...]float64{12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
	2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860}

// intervals fills NEff, MeanCI, QCI and More.
func (d *Description) intervals(xs []float64, eff float64) {
	d.NEff = &eff
	d.tail(eff)
	interval := func(whole *float64, b int, of func([]float64) float64) *[2]float64 {
		if whole == nil || eff < float64(minBatch*b) {
			return nil
		}
		lo, hi, ok := Section(xs, *whole, b, of)
		if !ok {
			return nil
		}
		return &[2]float64{lo, hi}
	}
	d.MeanCI = interval(d.Mean, BatchesCentre, func(xs []float64) float64 { m, _ := Mean(xs); return m })
	for i, q := range Quantiles {
		b := BatchesTail
		if q <= 500 {
			b = BatchesCentre
		}
		if d.More[i] > 0 {
			continue
		}
		d.QCI[i] = interval(d.Q[i], b, func(xs []float64) float64 {
			slices.Sort(xs)
			v, _ := Quantile(xs, float64(q)/1000)
			return v
		})
	}
}
