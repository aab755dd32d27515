package stat

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Pairs are two samples of the same rows, in plan order.
type Pairs struct {
	a, b []float64
	done bool
	diff [count]float64 // of quantiles
	se   [count]float64
	df   [count]float64 // 0: no interval
}

// NewPairs pairs a[i] with b[i]; both have the same length and are kept.
func NewPairs(a, b []float64) *Pairs { return &Pairs{a: a, b: b} }

// Sectioning of pairs takes pairBatches batches, each of minBatch effective pairs
// at least: what both runs met at the same rows has cancelled, and with it most of
// what hangs together.
const (
	pairBatches = 20
	minBatch    = 2
)

// Mean is how far the mean of b lies above that of a, with the standard error of
// that difference by sectioning of the differences in plan order, so that what both
// runs met at the same rows cancels; df is the number of batches less one. ok is
// false where the pairs carry no interval: too few effective samples.
func (p *Pairs) Mean() (shift, se, df float64, ok bool) {
	diffs := make([]float64, len(p.a))
	for i := range p.a {
		diffs[i] = p.b[i] - p.a[i]
	}
	shift, ok = Mean(diffs)
	if !ok || len(diffs) < 2*pairBatches || EffectiveSize(diffs) < minBatch*pairBatches {
		return shift, 0, 0, false
	}
	borders := evenly(len(diffs), pairBatches)
	means := make([]float64, pairBatches)
	for i := range means {
		means[i], _ = Mean(diffs[borders[i]:borders[i+1]])
	}
	df = pairBatches - 1
	return shift, math.Sqrt(sumSquares(means, shift) / df / pairBatches), df, true
}

// tailPairs is how many effective pairs must lie beyond a quantile.
const tailPairs = 10

// evenly gives the borders of b parts of n samples, of sizes as equal as can be.
func evenly(n, b int) []int {
	borders := make([]int, b+1)
	for i := range borders {
		borders[i] = i * n / b
	}
	return borders
}

// replicates of the bootstrap: the standard error is then known to 1 in 20.
const replicates = 200

// Quantile is Mean for the quantile Quantiles[i]. Its standard error is that of the
// difference over 200 samples of the pairs, drawn again in contiguous blocks of two
// autocorrelation times; df is the number of blocks less one. (Sections would not
// do: in a small batch of pairs that hang together closely the quantile falls on the
// same row on both sides, and scatters otherwise than in the whole.) ok is false
// below tailPairs effective samples beyond the quantile, too.
func (p *Pairs) Quantile(i int) (shift, se, df float64, ok bool) {
	if len(p.a) == 0 {
		return 0, 0, 0, false
	}
	if !p.done {
		p.quantiles()
	}
	return p.diff[i], p.se[i], p.df[i], p.df[i] > 0
}

func (p *Pairs) quantiles() {
	p.done = true
	n := len(p.a)
	a, b := ranked(p.a), ranked(p.b)
	one := make([]int32, n)
	for i := range one {
		one[i] = 1
	}
	qa, qb := a.quantiles(one, n), b.quantiles(one, n)
	for i := range Quantiles {
		p.diff[i] = qb[i] - qa[i]
	}
	eff := min(EffectiveSize(p.a), EffectiveSize(p.b))
	block := max(2, int(math.Ceil(2*float64(n)/eff)))
	blocks := n / block
	if blocks < pairBatches {
		return
	}
	// The draw depends on nothing but the number of pairs: the same tapes give the
	// same interval anywhere.
	r := rand.New(rand.NewPCG(uint64(n), uint64(block)))
	var drawn [count][]float64
	times := make([]int32, n)
	for range replicates {
		clear(times)
		total := 0
		for range blocks {
			k := r.IntN(blocks)
			lo, hi := k*n/blocks, (k+1)*n/blocks
			for i := lo; i < hi; i++ {
				times[i]++
			}
			total += hi - lo
		}
		qa, qb := a.quantiles(times, total), b.quantiles(times, total)
		for i := range Quantiles {
			drawn[i] = append(drawn[i], qb[i]-qa[i])
		}
	}
	for i, q := range Quantiles {
		if float64(eff*float64(1000-q)) < tailPairs*1000 {
			continue
		}
		p.se[i], _ = SD(drawn[i])
		p.df[i] = float64(blocks - 1)
	}
}

// order is a sample with the order of its values.
type order struct {
	xs   []float64
	rank []int32 // indices by value
}

func ranked(xs []float64) order {
	o := order{xs, make([]int32, len(xs))}
	for i := range o.rank {
		o.rank[i] = int32(i)
	}
	slices.SortStableFunc(o.rank, func(a, b int32) int {
		switch {
		case xs[a] < xs[b]:
			return -1
		case xs[a] > xs[b]:
			return 1
		}
		return 0
	})
	return o
}

// quantiles are those of the sample in which value i stands times[i] times, total
// in all, which is at least 1.
func (o order) quantiles(times []int32, total int) (out [count]float64) {
	var below [count]int
	var part [count]float64
	for i, q := range Quantiles {
		rank := float64(total-1) * float64(q) / 1000
		below[i] = min(int(rank), total-1)
		part[i] = rank - float64(below[i])
	}
	k, seen := 0, 0
	var lower [count]float64
	half := [count]bool{} // the lower neighbour is known
	for _, i := range o.rank {
		seen += int(times[i])
		for k < count && below[k] < seen {
			x := o.xs[i]
			if !half[k] {
				lower[k], half[k] = x, true
			}
			if below[k]+1 >= seen && below[k]+1 < total {
				break // the upper neighbour is a later value
			}
			out[k] = lower[k] + float64(part[k]*(x-lower[k]))
			k++
		}
		// Quantiles beyond the one that waits may have their lower neighbour here.
		for j := k + 1; j < count; j++ {
			if !half[j] && below[j] < seen {
				lower[j], half[j] = o.xs[i], true
			}
		}
	}
	return out
}

// At is the mean (q 0) or the quantile of q thousandths of xs, in any order; 0 for
// no values.
func At(xs []float64, q int) float64 {
	if q == 0 {
		m, _ := Mean(xs)
		return m
	}
	v, _ := Quantile(slices.Sorted(slices.Values(xs)), float64(q)/1000)
	return v
}

// PooledShift is the difference of the means of b and a, with its standard error
// when both scatter alike, and its degrees of freedom; ok is false below three
// values in all or when a side is empty.
func PooledShift(a, b []float64) (shift, se, df float64, ok bool) {
	n, m := float64(len(a)), float64(len(b))
	ma, okA := Mean(a)
	mb, okB := Mean(b)
	if !okA || !okB || n+m < 3 {
		return mb - ma, 0, 0, false
	}
	df = n + m - 2
	v := (sumSquares(a, ma) + sumSquares(b, mb)) / df
	return mb - ma, math.Sqrt(v * (1/n + 1/m)), df, true
}
