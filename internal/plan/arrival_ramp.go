package plan

import "math"

// rampCurve raises the rate from f (load.ramp.from) to r over D seconds and
// keeps r from then on. It inverts Λ(t), the number of requests expected by t:
//
//	linear:      λ = f + (r − f)·t/D        Λ = f·t + (r − f)·t²/2D
//	exponential: λ = f·e^(g·t/D), g = ln r/f  Λ = f·D/g · (e^(g·t/D) − 1)
//
// and after the ramp Λ = Λ(D) + r·(t − D).
func rampCurve(q Params) curve {
	f, r, d := q.RampFrom, q.Rate, float64(q.RampDuration)/1e9
	var inRamp float64 // Λ(D)
	var invert func(s float64) float64
	switch q.RampShape {
	case "linear":
		a := (r - f) / d
		inRamp = float64(d*(f+r)) / 2
		invert = func(s float64) float64 {
			// The root that does not cancel where a·s is small beside f².
			return float64(2*s) / (f + math.Sqrt(float64(f*f)+float64(float64(2*a)*s)))
		}
	case "exponential":
		g := ln(r / f)
		k := float64(f*d) / g
		inRamp = float64(d*(r-f)) / g
		invert = func(s float64) float64 { return float64(float64(d/g) * ln(1+s/k)) }
	}
	return func(s float64) int64 {
		if s < inRamp {
			return nanoseconds(invert(s))
		}
		return nanoseconds(d + (s-inRamp)/r)
	}
}
