package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
)

// rng draws the numbers of one random dimension. Only PCG's 64-bit output is
// taken from the standard library, whose sequence is fixed; how it becomes a
// float or an index is written out here, so that a seed keeps its meaning.
type rng struct {
	pcg   *rand.PCG
	spare float64 // second half of a pair of normals
	has   bool
}

// newRNG derives the dimension's own generator: the first 16 bytes of
// SHA-256("tokentape.plan/1 <name> <seed>") seed a PCG. Dimensions thus never
// share draws, and a new dimension never moves an old one.
func newRNG(seed int64, name string) *rng {
	h := sha256.Sum256(fmt.Appendf(nil, "tokentape.plan/1 %s %d", name, seed))
	return &rng{pcg: rand.NewPCG(binary.BigEndian.Uint64(h[:8]), binary.BigEndian.Uint64(h[8:16]))}
}

// uniform is in (0, 1), never either end: the middle of one of 2⁵² equal steps.
func (r *rng) uniform() float64 {
	return (float64(r.pcg.Uint64()>>12) + 0.5) * (1.0 / (1 << 52))
}

// normal is standard normal, by Marsaglia's polar method.
func (r *rng) normal() float64 {
	if r.has {
		r.has = false
		return r.spare
	}
	for {
		x, y := 2*r.uniform()-1, 2*r.uniform()-1
		s := float64(x*x) + float64(y*y)
		if s >= 1 || s == 0 {
			continue
		}
		f := math.Sqrt(float64(-2*ln(s)) / s)
		r.spare, r.has = float64(y*f), true
		return float64(x * f)
	}
}

// below is uniform in [0, n), without bias (Lemire's multiplication).
func (r *rng) below(n uint64) uint64 {
	hi, lo := bits.Mul64(r.pcg.Uint64(), n)
	if lo < n {
		for reject := -n % n; lo < reject; {
			hi, lo = bits.Mul64(r.pcg.Uint64(), n)
		}
	}
	return hi
}

// maxDataRows bounds what a saved plan may claim; a shuffled order holds 4 bytes
// a row and is bounded by MaxRows.
const maxDataRows = 1_000_000_000

// order maps places in sending order to dataset rows; nil is file order.
type order []uint32

func newOrder(q Params) order {
	if q.Order != OrderShuffle {
		return nil
	}
	r := newRNG(q.OrderSeed, "order")
	o := make(order, q.DataRows)
	for i := range o {
		j := r.below(uint64(i) + 1)
		o[i] = o[j]
		o[j] = uint32(i)
	}
	return o
}

func (o order) item(place int64) int64 {
	if o == nil {
		return place
	}
	return int64(o[place])
}
