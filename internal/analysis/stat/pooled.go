package stat

import (
	"math"
	"slices"
)

// DescribePooled summarises samples that come in groups, several per unit of
// observation: xs holds all groups one after the other in plan order, ends[k] is
// where group k ends in xs. Batches are contiguous groups. The effective size is
// s² ÷ (squared standard error of the mean over 20 batches), at most n; it is
// absent below 2 groups a batch. Quantile values and the tail rule are those of
// Describe. xs is sorted in place at the end.
func DescribePooled(xs []float64, ends []int, ci bool) Description {
	d := Description{N: int64(len(xs))}
	if len(xs) == 0 {
		return d
	}
	eff, ok := pooledEffective(xs, ends)
	var batches [BatchesTail][]float64
	if ci && ok {
		for i := range batches {
			batches[i] = slices.Clone(batchOf(xs, ends, i, BatchesTail))
			slices.Sort(batches[i])
		}
		d.NEff = &eff
	}
	mean, medians := sectionCentre(xs, ends, ci && ok)
	sorted := slices.Clone(xs)
	slices.Sort(sorted)
	d.points(xs, sorted)
	if !ci || !ok {
		d.tail(float64(len(xs)))
		return d
	}
	d.tail(eff)
	put := func(whole *float64, values []float64) *[2]float64 {
		if whole == nil || eff < float64(minBatch*len(values)) {
			return nil
		}
		h := HalfWidth(values, *whole)
		return &[2]float64{*whole - h, *whole + h}
	}
	d.MeanCI = put(d.Mean, mean)
	for i, q := range Quantiles {
		switch {
		case q == 500:
			d.QCI[i] = put(d.Q[i], medians)
		case d.More[i] == 0:
			values := make([]float64, BatchesTail)
			for b := range values {
				v, ok := Quantile(batches[b], float64(q)/1000)
				if !ok {
					values = nil
					break
				}
				values[b] = v
			}
			if values != nil {
				d.QCI[i] = put(d.Q[i], values)
			}
		}
	}
	return d
}

// sectionCentre gives means and medians of the 20 batches.
func sectionCentre(xs []float64, ends []int, want bool) (means, medians []float64) {
	if !want {
		return nil, nil
	}
	for i := range BatchesCentre {
		b := slices.Clone(batchOf(xs, ends, i, BatchesCentre))
		m, _ := Mean(b)
		slices.Sort(b)
		v, _ := Quantile(b, 0.5)
		means, medians = append(means, m), append(medians, v)
	}
	return means, medians
}

// batchOf is the i-th of b contiguous batches of groups.
func batchOf(xs []float64, ends []int, i, b int) []float64 {
	at := func(group int) int {
		if group == 0 {
			return 0
		}
		return ends[group-1]
	}
	return xs[at(i*len(ends)/b):at((i+1)*len(ends)/b)]
}

// pooledEffective is the effective size; ok is false below 2 groups a batch or
// when a batch is empty.
func pooledEffective(xs []float64, ends []int) (float64, bool) {
	if len(ends) < 2*BatchesCentre {
		return 0, false
	}
	n := float64(len(xs))
	whole, _ := Mean(xs)
	values := make([]float64, BatchesCentre)
	for i := range values {
		m, ok := Mean(batchOf(xs, ends, i, BatchesCentre))
		if !ok {
			return 0, false
		}
		values[i] = m
	}
	variance := sumSquares(xs, whole) / max(1, n-1)
	error2 := sumSquares(values, whole) / (BatchesCentre - 1) / BatchesCentre
	if variance <= 0 || error2 <= 0 {
		return n, true
	}
	return math.Min(n, variance/error2), true
}
