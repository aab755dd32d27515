package stat

import "slices"

// quantilesOf gives the values at Quantiles of xs, which it reorders; ok is false
// for no values. It places only the ranks that are asked for, so that millions
// of gaps need no full sort.
func quantilesOf(xs []float64) (v [count]float64, ok bool) {
	n := len(xs)
	if n == 0 {
		return v, false
	}
	ranks := make([]int, 0, 2*count)
	for _, q := range Quantiles {
		i := floorRank(n, float64(q)/1000)
		ranks = append(ranks, i, min(i+1, n-1))
	}
	slices.Sort(ranks)
	place(xs, 0, slices.Compact(ranks), 1)
	for k, q := range Quantiles {
		v[k], _ = Quantile(xs, float64(q)/1000)
	}
	return v, true
}

// place puts the values of the given ranks (sorted, counted from the place of
// xs[0] at offset) where a full sort would. The pivots come from a fixed
// sequence, so that no order of the input is a bad one by design.
func place(xs []float64, offset int, ranks []int, seed uint64) {
	for len(ranks) > 0 {
		if len(xs) < 64 {
			slices.Sort(xs)
			return
		}
		seed = seed*6364136223846793005 + 1442695040888963407
		pivot := xs[int((seed>>33)%uint64(len(xs)))]
		// Three parts: [0, lt) below the pivot, [lt, gt) equal, [gt, n) above.
		lt, gt := 0, len(xs)
		for i := 0; i < gt; {
			switch x := xs[i]; {
			case x < pivot:
				xs[lt], xs[i] = x, xs[lt]
				lt++
				i++
			case x > pivot:
				gt--
				xs[gt], xs[i] = x, xs[gt]
			default:
				i++
			}
		}
		below, _ := slices.BinarySearch(ranks, offset+lt)
		above, _ := slices.BinarySearch(ranks, offset+gt)
		place(xs[:lt], offset, ranks[:below], seed)
		xs, offset, ranks = xs[gt:], offset+gt, ranks[above:]
	}
}
