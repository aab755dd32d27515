package stat

import (
	"math"
	"slices"
)

// maxExact is the largest number of values, both sides together, whose rank sum
// is judged by its exact distribution; beyond it the normal approximation is
// good to three decimals.
const maxExact = 60

// RankSum is the two-sided p-value of the Wilcoxon–Mann–Whitney rank-sum test that
// a and b, independent of each other, come from one distribution. Ties take
// midranks, and up to 60 values in all the distribution of the rank sum is that of
// all ways to deal out these very ranks, so that p is exact with ties too; beyond,
// the normal approximation with the tie and continuity corrections. p is the share
// of ways whose rank sum lies as far from its mean or farther. 1 when a side is
// empty.
func RankSum(a, b []float64) float64 {
	n, m := len(a), len(b)
	if n == 0 || m == 0 {
		return 1
	}
	ranks, ties := midranks(a, b)
	sum := 0
	for _, r := range ranks[:n] {
		sum += r
	}
	centre := n * (n + m + 1) // of doubled ranks
	off := max(sum-centre, centre-sum)
	if n+m > maxExact {
		N := float64(n + m)
		v := float64(n*m) / 12 * (N + 1 - ties/(N*(N-1)))
		if v <= 0 {
			return 1
		}
		z := max(0, float64(off)/2-0.5) / math.Sqrt(v)
		return math.Erfc(z / math.Sqrt2)
	}
	ways := rankSums(ranks, n)
	var far, all Acc
	for s, w := range ways {
		all.Add(w)
		if s-centre >= off || centre-s >= off {
			far.Add(w)
		}
	}
	return min(1, far.Sum()/all.Sum())
}

// midranks are the ranks of a, then of b, among both together, doubled so that
// they are whole numbers; ties is Σ(t³ − t) over groups of equal values.
func midranks(a, b []float64) (doubled []int, ties float64) {
	all := slices.Concat(a, b)
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		switch {
		case all[x] < all[y]:
			return -1
		case all[x] > all[y]:
			return 1
		}
		return 0
	})
	doubled = make([]int, len(all))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && all[order[j]] == all[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			doubled[k] = i + 1 + j // the mean of i+1 … j, twice
		}
		t := float64(j - i)
		ties += float64(t*t*t) - t
		i = j
	}
	return doubled, ties
}

// rankSums counts, for each sum, the ways to choose n of the ranks with that sum.
// Counts stay below 2⁵³ up to 56 values, and their shares right far beyond.
func rankSums(ranks []int, n int) []float64 {
	top := 0
	for _, r := range ranks {
		top += r
	}
	ways := make([][]float64, n+1) // by number chosen
	for k := range ways {
		ways[k] = make([]float64, top+1)
	}
	ways[0][0] = 1
	reached := 0
	for i, r := range ranks {
		reached += r
		for k := min(n, i+1); k > 0; k-- {
			to, from := ways[k], ways[k-1]
			for s := reached; s >= r; s-- {
				to[s] += from[s-r]
			}
		}
	}
	return ways[n]
}

// Shift is the Hodges–Lehmann estimate of how far b lies above a, the median of
// all differences b − a, with its interval of at least the given level (0.95): the
// differences between which the rank-sum test of that level does not tell b − shift
// from a. level is what the interval reaches, which for few values is more than was
// asked; ok is false when no interval of that level exists (3 and 3 values reach
// 0.9, 4 and 4 0.971). Hollander, Wolfe, Chicken: Nonparametric Statistical Methods,
// 4.2 and 4.3.
func Shift(a, b []float64, level float64) (shift, lo, hi, reached float64, ok bool) {
	if len(a) == 0 || len(b) == 0 {
		return 0, 0, 0, 0, false
	}
	diffs := make([]float64, 0, len(a)*len(b))
	for _, y := range b {
		for _, x := range a {
			diffs = append(diffs, y-x)
		}
	}
	slices.Sort(diffs)
	shift, _ = Quantile(diffs, 0.5)
	k, tail := rankTail(len(a), len(b), (1-level)/2)
	if k == 0 {
		return shift, 0, 0, 0, false
	}
	return shift, diffs[k-1], diffs[len(diffs)-k], 1 - 2*tail, true
}

// rankTail is the largest k with P(U ≤ k − 1) ≤ alpha for the statistic U of n and
// m values without ties, and that probability.
func rankTail(n, m int, alpha float64) (k int, tail float64) {
	if n+m > maxExact {
		sd := math.Sqrt(float64(n*m) * float64(n+m+1) / 12)
		z := NormalQuantile(1 - alpha)
		k = max(0, int(math.Floor(float64(n*m)/2+0.5-float64(z*sd))))
		return k, alpha
	}
	ranks := make([]int, n+m)
	for i := range ranks {
		ranks[i] = i + 1
	}
	ways := rankSums(ranks, n)
	total := Sum(ways)
	low := n * (n + 1) / 2 // the smallest rank sum: U = 0
	var below Acc
	for u := 0; u <= n*m; u++ {
		below.Add(ways[low+u])
		p := below.Sum() / total
		if p > alpha {
			return k, tail
		}
		k, tail = u+1, p
	}
	return k, tail
}
