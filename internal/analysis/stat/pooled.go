package stat

// DescribePooled summarises samples that come in groups, several from one unit of
// observation: xs holds all groups one after the other in plan order, ends[k] is
// where group k ends in xs. Batches are contiguous groups. The effective size is
// s² ÷ (squared standard error of the mean over 20 batches), at most n; it is
// absent, and with it every interval, below 2 groups a batch. All else is as in
// Describe.
func DescribePooled(xs []float64, ends []int, ci bool) Description {
	d := points(xs)
	if len(xs) == 0 {
		return d
	}
	eff, ok := 0.0, false
	if ci {
		eff, ok = pooledEffective(xs, ends)
	}
	if ok {
		d.intervals(xs, eff, byGroups(ends))
	} else {
		d.tail(float64(len(xs)))
	}
	return d
}

// pooledEffective is the effective size of samples in groups.
func pooledEffective(xs []float64, ends []int) (float64, bool) {
	if len(ends) < minBatch*BatchesCentre {
		return 0, false
	}
	borders := byGroups(ends)(BatchesCentre)
	whole, _ := Mean(xs)
	values := make([]float64, BatchesCentre)
	for i := range values {
		m, ok := Mean(xs[borders[i]:borders[i+1]])
		if !ok {
			return 0, false
		}
		values[i] = m
	}
	n := float64(len(xs))
	variance := sumSquares(xs, whole) / max(1, n-1)
	error2 := sumSquares(values, whole) / (BatchesCentre - 1) / BatchesCentre
	if variance <= 0 || error2 <= 0 {
		return n, true
	}
	return min(n, variance/error2), true
}
