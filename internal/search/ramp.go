package search

import "fmt"

// Guess is the decision of a ramp: its stages are too short to prove anything, and
// what was there before one weighs on the next.
const Guess = "guess"

// rampEnough is how many requests a stage needs to end a ramp.
const rampEnough = 10

// RampStages are the loads of a ramp, rising by a factor of about √2.
func (p Params) RampStages() []float64 {
	var out []float64
	for x := p.From; ; x *= 1.4142135623730951 {
		at := p.place(x)
		if n := len(out); n == 0 || at > out[n-1] {
			out = append(out, at)
		}
		if at >= p.To {
			return out
		}
	}
}

// Broke reports whether a stage shows by its point that the limit does not hold.
func (p Params) Broke(s Stage) bool {
	return s.N >= rampEnough && float64(s.Good) < p.Share*float64(s.N)
}

// guess is the load to begin with: the highest stage of the ramp below the first
// that broke. ok is false without a ramp that says anything.
func (p Params) guess(looks []Look) (at float64, ok bool) {
	for _, l := range looks {
		if l.Kind != KindRamp || !l.usable() {
			continue
		}
		for _, s := range l.Stages {
			if p.Broke(s) {
				break
			}
			if s.N >= rampEnough {
				at, ok = s.At, true
			}
		}
	}
	return at, ok
}

func (p Params) judgeRamp(l *Look) (decision, why string) {
	if !l.usable() {
		return Guess, "nothing to be learned: " + l.Client + l.Unfit
	}
	for _, s := range l.Stages {
		if p.Broke(s) {
			return Guess, fmt.Sprintf("at %s %d of %d requests were good", p.Load(s.At), s.Good, s.N)
		}
	}
	return Guess, "no stage broke the limit"
}
