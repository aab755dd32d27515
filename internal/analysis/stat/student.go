package stat

import "math"

// StudentTail is P(|T| ≥ t) of Student's t with df > 0 degrees of freedom, t ≥ 0:
// the regularised incomplete beta function at df ÷ (df + t²).
func StudentTail(t, df float64) float64 {
	if math.IsInf(t, 1) {
		return 0
	}
	return beta(df/(df+float64(t*t)), df/2, 0.5)
}

// StudentQuantile is the t that |T| exceeds with probability p, 0 < p < 1.
func StudentQuantile(p, df float64) float64 {
	lo, hi := 0.0, 1.0
	for StudentTail(hi, df) > p && hi < 1e9 {
		hi *= 2
	}
	for range 200 {
		mid := lo + (hi-lo)/2
		if mid == lo || mid == hi {
			break
		}
		if StudentTail(mid, df) > p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// NormalQuantile is the z with P(Z ≤ z) = p, 0 < p < 1.
func NormalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// beta is the regularised incomplete beta function I_x(a, b) by its continued
// fraction (Lentz); DLMF 8.17.22.
func beta(x, a, b float64) float64 {
	if x <= 0 {
		return 0
	}
	if x >= 1 {
		return 1
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab - la - lb + float64(a*math.Log(x)) + float64(b*math.Log1p(-x)))
	if x > (a+1)/(a+b+2) {
		return 1 - front*fraction(1-x, b, a)/b
	}
	return front * fraction(x, a, b) / a
}

func fraction(x, a, b float64) float64 {
	const tiny = 1e-300
	away := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1))
	f := d
	for i := 1; i < 500; i++ {
		m := float64(i)
		for _, num := range [2]float64{
			m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m)),
			-(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1)),
		} {
			d = 1 / away(1+float64(num*d))
			c = away(1 + num/c)
			f *= c * d
		}
		if math.Abs(c*d-1) < 1e-15 {
			break
		}
	}
	return f
}
