package search

import (
	"math"
	"slices"
)

// Why a search ends.
const (
	EndDecided     = "decided"
	EndLooks       = "looks"       // the declared looks are used up
	EndTime        = "time"        // another look would go beyond at_most
	EndRows        = "rows"        // the rows of the dataset are used up
	EndInterrupted = "interrupted" // Ctrl-C
	EndRun         = "run"         // a run broke, so that no further look is of use
)

// state is what the looks so far amount to.
type state struct {
	p      Params
	looks  []Look
	places []*place // looked at to find the limit
	again  []*place // measured again
	lo, hi *place   // the highest that holds below hi; the lowest that does not hold
	kept   int      // looks that are not spent on finding the limit
	order  bool     // what holds lies below what does not
}

func (p Params) state(looks []Look) *state {
	s := &state{p: p, looks: looks, places: p.places(looks, false), again: p.places(looks, true), order: true, kept: spare}
	held := slices.ContainsFunc(s.places, (*place).holds)
	if p.Goal == Highest && held && slices.ContainsFunc(s.places, func(pl *place) bool { return pl.settled && !pl.holds() }) {
		s.kept = Reserve
	}
	var fails *place
	for _, pl := range s.places {
		switch {
		case pl.holds():
			if s.hi == nil {
				s.lo = pl
			}
			if fails != nil {
				s.order = false
			}
		case pl.decision == Fails || pl.settled || s.left(s.kept+1) < 0:
			if s.hi == nil {
				s.hi = pl
			}
			if pl.decision == Fails && fails == nil {
				fails = pl
			}
		}
	}
	return s
}

// left is how many looks there are beside n others.
func (s *state) left(n int) int { return s.p.MostLooks - len(s.looks) - n }

// Next is the look to make now. ok is false when there is nothing more to do, and why
// says so (EndDecided, EndLooks, EndTime).
func (p Params) Next(looks []Look) (step Step, ok bool, why string) {
	if p.Ramp && len(looks) == 0 {
		return Step{Kind: KindRamp, At: p.From, Times: 1}, true, ""
	}
	s := p.state(looks)
	find := s.find
	if p.Goal == Goodput {
		find = s.findGoodput
	}
	step, candidate := find()
	wanted := step.Kind != ""
	if wanted && len(s.again) == 0 {
		switch {
		case s.left(s.kept) <= 0:
			why = EndLooks
		case !s.fits(step, candidate):
			why = EndTime
		default:
			return step, true, ""
		}
		if candidate == 0 {
			return Step{}, false, why
		}
	}
	again, done := s.confirm(candidate)
	switch {
	case !done && s.left(0) > 0 && s.fits(again, 0):
		return again, true, ""
	case !done && s.left(0) > 0:
		return Step{}, false, EndTime
	case !done:
		return Step{}, false, EndLooks
	}
	if held, above := s.measured(); wanted && held != nil && above == nil { // a bound ended the looks before the limit was known
		if s.left(s.kept) <= 0 {
			return Step{}, false, EndLooks
		}
		return Step{}, false, EndTime
	}
	return Step{}, false, EndDecided
}

func (s *state) took() (t float64) {
	for _, l := range s.looks {
		t += l.TookS
	}
	return t
}

// fits reports whether a step can be made in the time that is left, and the winner
// be measured again after it (candidate; 0: none yet). The first look always is.
func (s *state) fits(step Step, candidate float64) bool {
	if s.p.AtMostS <= 0 || len(s.looks) == 0 {
		return true
	}
	t := s.took() + s.p.estimate(step, s.looks)
	if candidate > 0 {
		t += s.p.estimate(Step{Kind: KindConfirm, At: candidate, Times: confirm}, s.looks)
	}
	return t <= s.p.AtMostS
}

// longer is another look at a place that is not settled.
func longer(pl *place) Step {
	step := Step{Kind: KindLonger, At: pl.at, Times: 1}
	if pl.times >= 1 {
		step.Times = math.Round(pl.times) + 1
	}
	if last := pl.looks[len(pl.looks)-1]; !last.usable() && step.Times <= last.Times {
		step.Kind = KindAgain
	}
	return step
}

// find is the next look for the limit, without a kind where there is none to make,
// and the highest place that holds so far (0: none).
func (s *state) find() (step Step, candidate float64) {
	if s.lo != nil {
		candidate = s.lo.at
	}
	for _, pl := range s.places {
		if !pl.holds() && !pl.settled && (s.hi == nil || pl.at < s.hi.at) {
			return longer(pl), candidate
		}
	}
	p := s.p
	if s.lo != nil && s.hi != nil && s.lo.times < 1 { // begun from an empty server, a short look may hold by that
		return longer(s.lo), candidate
	}
	var at float64
	kind := KindBracket
	switch {
	case s.lo == nil && s.hi == nil:
		at = p.From
		if x, ok := p.guess(s.looks); ok {
			at = x
		}
	case s.lo == nil && s.hi.at <= p.From, s.hi == nil && s.lo.at >= p.To:
		return Step{}, candidate
	case s.lo == nil:
		at = p.place(s.hi.at / 2)
	case s.hi == nil:
		at = p.place(s.lo.at * 2)
	case p.close(s.lo.at, s.hi.at):
		// Looks that are left are spent on what is undecided just above.
		if s.hi.decision == Undecided && s.hi.times < most && s.left(s.kept) > 0 {
			return longer(s.hi), candidate
		}
		return Step{}, candidate
	default:
		kind, at = KindBisect, p.place(math.Sqrt(s.lo.at*s.hi.at))
		if at <= s.lo.at || at >= s.hi.at { // rounding
			return Step{}, candidate
		}
	}
	step = Step{Kind: kind, At: at, Times: 1}
	if kind == KindBracket {
		step.Times = p.short(at)
	}
	return step, candidate
}

// confirm is the next look at the winner. done is true when there is none to make:
// the limit is known, or there is nothing to confirm.
func (s *state) confirm(candidate float64) (step Step, done bool) {
	measure := func(at float64) (Step, bool) { return Step{Kind: KindConfirm, At: at, Times: confirm}, false }
	if len(s.again) == 0 {
		if candidate == 0 {
			return Step{}, true
		}
		return measure(candidate)
	}
	held, above := s.measured()
	if held != nil {
		switch {
		case s.p.Goal == Goodput || above == nil:
			return Step{}, true
		case s.p.close(held.at, above.at):
			// Looks that are left go to what is undecided above, while it may hold by its point.
			again := s.againAt(above.at)
			if above.decision == Fails || above.decision == ClientBound || again != nil && (again.decision == Fails || len(again.looks) >= 3 || again.below()) {
				return Step{}, true
			}
			return measure(above.at)
		}
		at := s.p.place(math.Sqrt(held.at * above.at)) // it stepped down too far
		if at <= held.at || at >= above.at {
			return Step{}, true
		}
		return measure(at)
	}
	pl := s.again[0] // the lowest
	switch {
	case !pl.settledAgain() && s.left(0) >= 2 && (pl.decision == ClientBound || pl.decision == Unfit || pl.promising(2, s.p.Alpha(), true)): // the last look is better spent below
		return measure(pl.at)
	case pl.at <= s.p.From:
		return Step{}, true
	}
	at := s.down(pl.at)
	if (pl.decision == Fails || pl.below()) && at > s.p.From {
		at = s.down(at)
	}
	return measure(at)
}

// measured are the highest load that was measured again and holds, and the lowest that
// does not hold above it.
func (s *state) measured() (held, above *place) {
	for _, pl := range s.again {
		if pl.decision == Holds {
			held = pl
		}
	}
	for _, pl := range s.places {
		if s.p.Goal != Goodput && above == nil && !pl.holds() && (held == nil || pl.at > held.at) {
			above = pl
		}
	}
	for _, pl := range s.again {
		if pl.decision != Holds && (above == nil || pl.at < above.at) && (held == nil || pl.at > held.at) {
			above = pl
		}
	}
	return held, above
}

func (s *state) againAt(at float64) *place {
	for _, pl := range s.again {
		if pl.at == at {
			return pl
		}
	}
	return nil
}

// settledAgain reports whether a place will not be measured again once more.
func (pl *place) settledAgain() bool {
	return pl.decision == Holds || pl.decision == Fails || len(pl.looks) >= 2
}

// below reports whether a share lies below what is required by its point.
func (pl *place) below() bool {
	for i := range pl.facts {
		if f := &pl.facts[i]; f.Kind == KindShare && f.Value != nil && *f.Value < f.Limit {
			return true
		}
	}
	return false
}

// down is the next load to try when that at x did not hold again.
func (s *state) down(x float64) float64 {
	y := s.p.below(x)
	if s.p.Goal == Goodput {
		for _, pl := range s.places {
			if pl.at < x && pl.holds() {
				y = pl.at
			}
		}
	}
	return y
}
