package stat

import (
	"math"
	"slices"
)

// Effective is how many independent pairs the pairs are worth at least: their number
// ÷ the inefficiency of a, of b or of their differences, whichever is greatest, each
// at the upper end of what it may be.
func (p *Pairs) Effective() float64 {
	if len(p.a) == 0 {
		return 0
	}
	diffs := p.diffs()
	return float64(len(p.a)) / max(Inefficiency(p.a), Inefficiency(p.b), Inefficiency(diffs))
}

// Scatter is the standard deviation of the differences of single pairs, 0 below two.
func (p *Pairs) Scatter() float64 {
	sd, _ := SD(p.diffs())
	return sd
}

func (p *Pairs) diffs() []float64 {
	out := make([]float64, len(p.a))
	for i := range p.a {
		out[i] = p.b[i] - p.a[i]
	}
	return out
}

// Blocks are the shifts of the mean (q 0) or of the quantile of q thousandths in
// contiguous blocks of the pairs, as many as they are worth independent ones, 20 at
// most.
func (p *Pairs) Blocks(q int) []float64 {
	k := min(pairBatches, int(p.Effective()))
	out := make([]float64, k)
	for i := range out {
		lo, hi := i*len(p.a)/k, (i+1)*len(p.a)/k
		out[i] = At(p.b[lo:hi], q) - At(p.a[lo:hi], q)
	}
	return out
}

// Need is about how many pairs that hang together as these do an interval of Mean
// (q 0) or Quantile (q thousandths) takes, and how many independent ones these are
// worth in its count.
func (p *Pairs) Need(q int) (worth, need float64) {
	n := float64(len(p.a))
	if n == 0 {
		return 0, minBatch * pairBatches
	}
	if q == 0 {
		worth = EffectiveSize(p.diffs())
		return worth, math.Ceil(minBatch * pairBatches * n / worth)
	}
	worth = min(EffectiveSize(p.a), EffectiveSize(p.b))
	need = pairBatches * max(2, math.Ceil(2*n/worth))
	if i := slices.Index(Quantiles[:], q); i >= 0 {
		need = max(need, math.Ceil(tailPairs*1000/float64(1000-q)*n/worth))
	}
	return worth, need
}
