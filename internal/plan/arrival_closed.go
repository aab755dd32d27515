package plan

import "math"

// SlotOpens says when each of the C slots of a closed loop opens, in nanoseconds
// from the start, ascending; nil when all are open from the start (no ramp, or
// an open loop, whose ramp is in the due times).
//
// A ramp of a closed loop raises the number of slots, not the spacing of the
// first C rows: rows stay in issue order, a row takes whichever slot is free, and
// short requests keep the slots that are open busy from the start.
//
// With load.stagger slot k (from 0) opens at k·stagger. In a plan of sessions the
// slots are places for sessions.
//
// With a ramp slot k opens when the curve of load.ramp passes k + 1:
//
//	linear:      t = D·(k + 1 − f) ÷ (C − f)
//	exponential: t = D·ln((k + 1)/f) ÷ ln(C/f)
func (p *Plan) SlotOpens() []int64 {
	q := p.Params
	if !q.Open() && q.Stagger > 0 {
		opens := make([]int64, q.slots())
		for k := range opens {
			opens[k] = int64(k) * q.Stagger
		}
		return opens
	}
	if q.Open() || q.RampShape == "" {
		return nil
	}
	f, c := q.RampFrom, float64(q.slots())
	opens := make([]int64, q.slots())
	for k := range opens {
		n := float64(k + 1)
		if n <= f || k == 0 { // a loop without a slot would never begin
			continue
		}
		part := (n - f) / (c - f)
		if q.RampShape == "exponential" {
			part = ln(n/f) / ln(c/f)
		}
		opens[k] = int64(math.Round(float64(part * float64(q.RampDuration))))
	}
	return opens
}
