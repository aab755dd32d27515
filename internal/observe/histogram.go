package observe

import (
	"math"
	"math/bits"
)

// Edges of a histogram: 32 buckets to each doubling, from 1 µs to 2.4 h. The middle of
// a bucket is within 1/64 of whatever fell into it.
const (
	fine    = 5
	lowest  = 10
	highest = 43
	buckets = (highest - lowest) << fine
)

// Span is how far back rates and spreads look, in nanoseconds.
const (
	Span  = int64(10e9)
	parts = 10
	part  = Span / parts
)

func bucketOf(v int64) int {
	if v < 1<<lowest {
		return 0
	}
	e := bits.Len64(uint64(v)) - 1
	if e >= highest {
		return buckets - 1
	}
	return (e-lowest)<<fine | int(v>>(e-fine))&(1<<fine-1)
}

func middleOf(bucket int) int64 {
	e := bucket>>fine + lowest
	width := int64(1) << (e - fine)
	return (1<<fine|int64(bucket&(1<<fine-1)))*width + width/2
}

// sliding is a histogram of durations over the last Span. Its size is fixed: 46 kB.
type sliding struct {
	total [buckets]uint32
	parts [parts][buckets]uint32
	now   int64 // number of the part that is being filled
	n     int64
	all   int64
	sum   int64
}

func (h *sliding) add(t, v int64) {
	h.advance(t)
	i := bucketOf(v)
	h.total[i]++
	h.parts[h.slot()][i]++
	h.n++
	h.all++
	h.sum += v
}

// floorPart is the number of the part that t is in; the run's epoch begins part 0.
func floorPart(t int64) int64 {
	if t < 0 {
		return (t+1)/part - 1
	}
	return t / part
}

func (h *sliding) slot() int { return int((h.now%parts + parts) % parts) }

// advance forgets what is older than Span at t. What comes a little late counts as of
// now.
func (h *sliding) advance(t int64) {
	to := floorPart(t)
	if h.all == 0 {
		h.now = to
	}
	if to-h.now > parts {
		h.now = to - parts
	}
	for h.now < to {
		h.now++
		old := &h.parts[h.slot()]
		for i, n := range old {
			if n > 0 {
				h.total[i] -= n
				h.n -= int64(n)
				old[i] = 0
			}
		}
	}
}

// spread is that of the last Span before t.
func (h *sliding) spread(t int64) Spread {
	h.advance(t)
	s := Spread{N: h.n, All: h.all, Sum: h.sum}
	if h.n == 0 {
		return s
	}
	want := []struct {
		rank int64
		to   *int64
	}{{rank(0.5, h.n), &s.P50}, {rank(0.9, h.n), &s.P90}, {rank(0.99, h.n), &s.P99}}
	var seen int64
	for i, n := range h.total {
		seen += int64(n)
		for len(want) > 0 && seen >= want[0].rank {
			*want[0].to = middleOf(i)
			want = want[1:]
		}
	}
	return s
}

// rank is that of the nearest-rank quantile, from 1.
func rank(q float64, n int64) int64 { return max(1, int64(math.Ceil(q*float64(n)))) }
