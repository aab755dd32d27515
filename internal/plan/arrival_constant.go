package plan

import (
	"math/big"
	"strconv"
)

// constantGaps are all 1: request i is due at i ÷ r.
func constantGaps(Params, *rng) func() float64 {
	return func() float64 { return 1 }
}

// exactCurve is round(s ÷ r · 10⁹) in integers for whole s, where r is the
// decimal number that the user wrote: request 3 at 0.3/s is due at 10 s exactly,
// and nothing adds up over millions of requests. Halves round up.
func exactCurve(r float64) curve {
	rate, _ := new(big.Rat).SetString(strconv.FormatFloat(r, 'g', -1, 64))
	num := new(big.Int).Mul(big.NewInt(2e9), rate.Denom()) // 2·10⁹ ÷ r = num ÷ den
	den := rate.Num()
	limit := big.NewInt(2 * maxDue)
	var a, half big.Int
	return func(s float64) int64 {
		a.SetInt64(int64(s))
		a.Mul(&a, num)
		half.Quo(&a, den) // twice the result, rounded down
		half.Add(&half, big.NewInt(1))
		half.Rsh(&half, 1)
		if half.Cmp(limit) > 0 {
			return 2 * maxDue
		}
		return half.Int64()
	}
}
