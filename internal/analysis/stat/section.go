package stat

import "math"

// Batches of sectioning: contiguous in plan order.
const (
	BatchesCentre = 20 // mean and median
	BatchesTail   = 10
)

// minBatch is the least effective sample size of one batch: below it batches
// hang together nearly as much as single samples do, and an interval would be
// too short.
const minBatch = 2

// batch is what one contiguous part of the samples says.
type batch struct {
	mean float64
	q    [count]float64 // at Quantiles
}

// section cuts xs at the borders and describes every part. ok is false when one
// has fewer than 2 samples.
func section(xs []float64, borders []int) (parts []batch, ok bool) {
	var buf []float64
	for i := 1; i < len(borders); i++ {
		part := xs[borders[i-1]:borders[i]]
		if len(part) < 2 {
			return nil, false
		}
		var b batch
		b.mean, _ = Mean(part)
		buf = append(buf[:0], part...)
		b.q, _ = quantilesOf(buf)
		parts = append(parts, b)
	}
	return parts, true
}

// interval is the 95 % interval around whole by sectioning over the parts.
func interval(parts []batch, whole *float64, of func(batch) float64) *[2]float64 {
	if whole == nil || len(parts) < 2 {
		return nil
	}
	values := make([]float64, len(parts))
	for i, p := range parts {
		values[i] = of(p)
	}
	h := HalfWidth(values, *whole)
	return &[2]float64{*whole - h, *whole + h}
}

// intervals fills NEff, MeanCI, QCI and More. borders(b) cuts xs into b
// contiguous batches.
func (d *Description) intervals(xs []float64, eff float64, borders func(b int) []int) {
	d.NEff = &eff
	d.tail(eff)
	if eff >= minBatch*BatchesCentre {
		if parts, ok := section(xs, borders(BatchesCentre)); ok {
			d.MeanCI = interval(parts, d.Mean, func(b batch) float64 { return b.mean })
			d.QCI[0] = interval(parts, d.Q[0], func(b batch) float64 { return b.q[0] })
		}
	}
	if eff >= minBatch*BatchesTail {
		parts, ok := section(xs, borders(BatchesTail))
		for i, q := range Quantiles {
			if ok && q > 500 && d.More[i] == 0 {
				d.QCI[i] = interval(parts, d.Q[i], func(b batch) float64 { return b.q[i] })
			}
		}
	}
}

// evenly cuts n samples into b parts of sizes as equal as can be.
func evenly(n int) func(b int) []int {
	return func(b int) []int {
		borders := make([]int, b+1)
		for i := range borders {
			borders[i] = i * n / b
		}
		return borders
	}
}

// byGroups cuts samples that come in groups into b parts of whole groups;
// ends[k] is where group k ends.
func byGroups(ends []int) func(b int) []int {
	return func(b int) []int {
		borders := make([]int, b+1)
		for i := 1; i <= b; i++ {
			if k := i * len(ends) / b; k > 0 {
				borders[i] = ends[k-1]
			}
		}
		return borders
	}
}

// HalfWidth is t(b − 1) · √(Σ(value − whole)² ÷ (b − 1) ÷ b), the half-width of
// the 95 % interval of whole from b ≥ 2 batch values.
func HalfWidth(values []float64, whole float64) float64 {
	b := len(values)
	return float64(t95(b-1) * math.Sqrt(sumSquares(values, whole)/float64(b-1)/float64(b)))
}

// t95 is the two-sided 95 % quantile of Student's t with df ≥ 1 degrees of
// freedom; 1.96 beyond the table.
func t95(df int) float64 {
	if df <= len(t95s) {
		return t95s[df-1]
	}
	return 1.96
}

var t95s = [...]float64{12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
	2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860}
