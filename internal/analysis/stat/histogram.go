package stat

import (
	"math"
	"math/big"
	"math/bits"
)

// Bins of Histogram: every power of two is cut into 2^sub bins, so that a value
// given as its bin's middle is at most 2^-(sub+1) = 0.05 % off; values below
// 2^sub are exact.
const sub = 10

// Histogram counts non-negative integers with at most 0.1 % error in their
// quantiles; count, sum, sum of squares, least and greatest value are exact. The
// zero Histogram is empty. Negative values count as 0.
type Histogram struct {
	bins     []int64
	n        int64
	min, max int64
	sum, sq  [2]uint64 // 128 bits, low word first
}

// Add counts v.
func (h *Histogram) Add(v int64) {
	v = max(v, 0)
	i := bin(uint64(v))
	h.grow(i)
	h.bins[i]++
	if h.n == 0 {
		h.min, h.max = v, v
	}
	h.min, h.max = min(h.min, v), max(h.max, v)
	h.n++
	add128(&h.sum, 0, uint64(v))
	hi, lo := bits.Mul64(uint64(v), uint64(v))
	add128(&h.sq, hi, lo)
}

// AddAll counts each of vs.
func (h *Histogram) AddAll(vs []int64) {
	if len(vs) == 0 {
		return
	}
	top, least := int64(0), int64(math.MaxInt64)
	for _, v := range vs {
		v = max(v, 0)
		top, least = max(top, v), min(least, v)
	}
	h.grow(bin(uint64(top)))
	if h.n == 0 {
		h.min, h.max = least, top
	}
	h.min, h.max = min(h.min, least), max(h.max, top)
	h.n += int64(len(vs))
	bins, sum, sq := h.bins, h.sum, h.sq // in registers
	for _, v := range vs {
		v := uint64(max(v, 0))
		bins[bin(v)]++
		var carry uint64
		sum[0], carry = bits.Add64(sum[0], v, 0)
		sum[1] += carry
		hi, lo := bits.Mul64(v, v)
		sq[0], carry = bits.Add64(sq[0], lo, 0)
		sq[1], _ = bits.Add64(sq[1], hi, carry)
	}
	h.sum, h.sq = sum, sq
}

// Merge counts all that o counts.
func (h *Histogram) Merge(o *Histogram) {
	if o.n == 0 {
		return
	}
	h.grow(len(o.bins) - 1)
	for i, n := range o.bins {
		h.bins[i] += n
	}
	if h.n == 0 {
		h.min, h.max = o.min, o.max
	}
	h.min, h.max = min(h.min, o.min), max(h.max, o.max)
	h.n += o.n
	add128(&h.sum, o.sum[1], o.sum[0])
	add128(&h.sq, o.sq[1], o.sq[0])
}

// grow makes room for bin i.
func (h *Histogram) grow(i int) {
	if i >= len(h.bins) {
		h.bins = append(h.bins, make([]int64, i+1-len(h.bins)+1<<sub)...)
	}
}

func add128(s *[2]uint64, hi, lo uint64) {
	var carry uint64
	s[0], carry = bits.Add64(s[0], lo, 0)
	s[1], _ = bits.Add64(s[1], hi, carry)
}

// N is the number of values.
func (h *Histogram) N() int64 { return h.n }

func bin(v uint64) int {
	if v < 1<<sub {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - sub
	return (shift+1)<<sub + int(v>>shift) - 1<<sub
}

// middle is the value that stands for a bin.
func middle(i int) float64 {
	if i < 1<<sub {
		return float64(i)
	}
	shift := i>>sub - 1
	low := uint64(i&(1<<sub-1)+1<<sub) << shift
	return float64(low) + float64(float64(uint64(1)<<shift-1)/2)
}

// at is the value of rank i (0-based) in sorted order, within the bounds of what
// was added.
func (h *Histogram) at(rank int64) float64 {
	var seen int64
	for i, c := range h.bins {
		seen += c
		if seen > rank {
			return min(max(middle(i), float64(h.min)), float64(h.max))
		}
	}
	return float64(h.max)
}

// Quantile is the q-quantile as Quantile gives it, within the bins' error.
func (h *Histogram) Quantile(q float64) (float64, bool) {
	if h.n == 0 {
		return 0, false
	}
	rank := float64(float64(h.n-1) * q)
	i := min(int64(rank), h.n-1)
	a, b := h.at(i), h.at(min(i+1, h.n-1))
	return a + float64((rank-float64(i))*(b-a)), true
}

// Describe summarises the histogram with every value divided by scale. There is
// no effective size and no interval: the order of the values is gone.
func (h *Histogram) Describe(scale float64) Description {
	d := Description{N: h.n}
	if h.n == 0 {
		return d
	}
	n := float64(h.n)
	mean := wide(h.sum)
	d.Mean = value(quo(mean, n*scale), true)
	d.Min, d.Max = value(float64(h.min)/scale, true), value(float64(h.max)/scale, true)
	if h.n > 1 {
		// (Σx² − (Σx)² ÷ n) ÷ (n − 1), wide enough to be exact before the last step.
		square := new(big.Float).SetPrec(512).Mul(mean, mean)
		square.Quo(square, big.NewFloat(n))
		square.Sub(wide(h.sq), square)
		d.SD = value(math.Sqrt(max(0, quo(square, n-1)))/scale, true)
	}
	for i, q := range Quantiles {
		if Given(h.n, q) {
			v, ok := h.Quantile(float64(q) / 1000)
			d.Q[i] = value(v/scale, ok)
		}
	}
	d.tail(n)
	return d
}

// wide is a 128-bit count as a float that holds it exactly.
func wide(v [2]uint64) *big.Float {
	x := new(big.Int).SetUint64(v[1])
	x.Lsh(x, 64).Or(x, new(big.Int).SetUint64(v[0]))
	return new(big.Float).SetPrec(512).SetInt(x)
}

func quo(x *big.Float, y float64) float64 {
	v, _ := new(big.Float).SetPrec(512).Quo(x, big.NewFloat(y)).Float64()
	return v
}

// Weighted is a value that was seen N times.
type Weighted struct {
	V float64
	N int64
}

// Values are what was added, in rising order, each within the bins' error.
func (h *Histogram) Values() []Weighted {
	var out []Weighted
	for i, n := range h.bins {
		if n > 0 {
			out = append(out, Weighted{min(max(middle(i), float64(h.min)), float64(h.max)), n})
		}
	}
	return out
}
