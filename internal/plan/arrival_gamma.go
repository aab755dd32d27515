package plan

import "math"

// gammaGaps have shape b (load.burstiness) and mean 1, so that their coefficient
// of variation is 1 ÷ √b: b = 1 has the distribution of Poisson gaps, b < 1 comes
// in bursts. Method: Marsaglia and Tsang, "A simple method for generating gamma
// variables" (2000); for b < 1 a draw of shape b + 1 times u^(1/b).
func gammaGaps(q Params, r *rng) func() float64 {
	b := q.Burstiness
	shape := b
	if b < 1 {
		shape = b + 1
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(float64(9*d))
	return func() float64 {
		for {
			x := r.normal()
			v := 1 + float64(c*x)
			if v <= 0 {
				continue
			}
			v = float64(float64(v*v) * v)
			// ln u < x²/2 + d − d·v + d·ln v
			limit := float64(0.5*float64(x*x)) + d - float64(d*v) + float64(d*ln(v))
			if ln(r.uniform()) >= limit {
				continue
			}
			g := float64(d*v) / b
			if b < 1 {
				g = float64(g * exp(ln(r.uniform())/b))
			}
			return g
		}
	}
}
