package plan

import "math"

// stageCurve holds each rate for its duration, and the last one from then on. In
// stage k, which begins at t_k with Λ_k requests expected, t = t_k + (s − Λ_k)/r_k.
func stageCurve(stages []Stage) curve {
	type step struct{ s, t, rate float64 } // where the stage begins
	steps := make([]step, len(stages))
	var s, t float64
	for i, st := range stages {
		steps[i] = step{s, t, st.Rate}
		d := float64(st.Duration) / 1e9
		s, t = s+float64(st.Rate*d), t+d
	}
	return func(s float64) int64 {
		lo, hi := 0, len(steps)
		for hi-lo > 1 {
			if mid := (lo + hi) / 2; steps[mid].s <= s {
				lo = mid
			} else {
				hi = mid
			}
		}
		at := steps[lo]
		return nanoseconds(at.t + (s-at.s)/at.rate)
	}
}

// SlotStep says how many slots of a closed loop are open from a moment on.
type SlotStep struct {
	At int64 // nanoseconds from the start
	N  int64
}

// SlotSteps are the stages of a closed loop, ascending; nil when it has none.
// Slots that close while a request holds them close when it ends.
func (p *Plan) SlotSteps() []SlotStep {
	q := p.Params
	if q.Open() || len(q.Stages) == 0 {
		return nil
	}
	var at int64
	steps := make([]SlotStep, len(q.Stages))
	for i, s := range q.Stages {
		steps[i] = SlotStep{at, s.Concurrency}
		at += s.Duration
	}
	return steps
}

func (q Params) checkStages() error {
	if len(q.Stages) == 0 {
		return nil
	}
	var sum int64
	for i, s := range q.Stages {
		switch {
		case s.Duration <= 0 || s.Duration > maxDue || sum > maxDue:
			return issue("load.stages", "", "stage %d lasts %s, which is no length (or too long)", i, seconds(s.Duration))
		case (s.Rate > 0) == (s.Concurrency > 0), (s.Rate > 0) != (q.Stages[0].Rate > 0):
			return issue("load.stages", "", "stage %d: all stages need a rate, or all a concurrency", i)
		case s.Rate < 0 || math.IsNaN(s.Rate) || math.IsInf(s.Rate, 0):
			return issue("load.stages", "", "stage %d: %v is no rate", i, s.Rate)
		case s.Concurrency < 0 || s.Concurrency > q.slots() && !q.Open():
			return issue("load.stages", "", "stage %d: concurrency %d is not within that of the plan, %d", i, s.Concurrency, q.slots())
		}
		sum += s.Duration
	}
	switch {
	case q.Rate != 0 || q.RampShape != "" || q.Conditioned || q.Stagger != 0:
		return issue("load.stages", "", "a rate, a ramp, conditioning or staggering beside stages has no effect")
	case sum != q.Duration:
		return issue("load.stages", "", "the stages last %s, the plan says %s", seconds(sum), seconds(q.Duration))
	}
	return nil
}
