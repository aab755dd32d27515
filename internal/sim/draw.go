package sim

import (
	"math"
	"math/rand/v2"
)

// outputLen draws an answer's length in tokens from a log-normal distribution
// with the given mean and coefficient of variation. It depends on seed alone, so
// the same prompt gets the same length whatever else is running.
func outputLen(seed uint64, mean, cv float64) int64 {
	x := mean
	if cv > 0 {
		v := math.Log1p(cv * cv)
		r := rand.New(rand.NewPCG(seed, 1))
		x = mean * math.Exp(math.Sqrt(v)*r.NormFloat64()-v/2)
	}
	return int64(math.Round(min(max(x, 1), 1e9)))
}

// accept draws how many of n drafted tokens are accepted: each with chance rate
// once all before it were. i is the number of output tokens made so far.
func accept(seed uint64, i int64, n int, rate float64) int {
	if rate >= 1 {
		return n
	}
	for k := range n {
		u := float64(mix(mix(seed+2)+uint64(i)<<16+uint64(k))>>11) / (1 << 53)
		if u >= rate {
			return k
		}
	}
	return n
}
