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
	order  bool     // what holds lies below what does not
}

func (p Params) state(looks []Look) *state {
	s := &state{p: p, looks: looks, places: p.places(looks, false), again: p.places(looks, true), order: true}
	var fails *place
	for _, pl := range s.places {
		switch {
		case pl.decision == Holds:
			if s.hi == nil {
				s.lo = pl
			}
			if fails != nil {
				s.order = false
			}
		case pl.decision == Fails || pl.settled || s.left(reserve+1) < 0:
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
	if step.Kind != "" && len(s.again) == 0 {
		if s.left(reserve) > 0 && s.fits(step, candidate) {
			return step, true, ""
		}
		if candidate == 0 {
			return Step{}, false, s.short()
		}
	}
	step, done := s.confirm(candidate)
	switch {
	case done:
		return Step{}, false, EndDecided
	case s.left(0) <= 0 || !s.fits(step, 0):
		return Step{}, false, s.short()
	}
	return step, true, ""
}

// short says which bound ends a search that is not done.
func (s *state) short() string {
	if s.left(0) <= 0 {
		return EndLooks
	}
	if s.p.AtMostS > 0 && s.took() > 0 {
		return EndTime
	}
	return EndLooks
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
		t += s.p.estimate(Step{Kind: KindConfirm, At: candidate, Times: 2}, s.looks)
	}
	return t <= s.p.AtMostS
}

// longer is another look at a place that is not settled.
func longer(pl *place, kind string) Step {
	times := 0
	for _, l := range pl.looks {
		if l.usable() {
			times += l.Times
		}
	}
	return Step{Kind: kind, At: pl.at, Times: max(1, times+1)}
}

// find is the next look for the limit, without a kind where there is none to make,
// and the highest place that holds so far (0: none).
func (s *state) find() (step Step, candidate float64) {
	if s.lo != nil {
		candidate = s.lo.at
	}
	for _, pl := range s.places {
		if pl.decision != Holds && !pl.settled && (s.hi == nil || pl.at < s.hi.at) {
			return longer(pl, KindLonger), candidate
		}
	}
	p := s.p
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
		return Step{}, candidate
	default:
		kind, at = KindBisect, p.place(math.Sqrt(s.lo.at*s.hi.at))
		if at <= s.lo.at || at >= s.hi.at { // rounding
			return Step{}, candidate
		}
	}
	return Step{Kind: kind, At: at, Times: 1}, candidate
}

// confirm is the next look at the winner. done is true when there is none to make:
// one was confirmed, or there is none to confirm.
func (s *state) confirm(candidate float64) (step Step, done bool) {
	if len(s.again) == 0 {
		if candidate == 0 {
			return Step{}, true
		}
		return Step{Kind: KindConfirm, At: candidate, Times: s.confirmTimes(candidate)}, false
	}
	last := s.looks[len(s.looks)-1].At // where it stands now
	i := slices.IndexFunc(s.again, func(pl *place) bool { return pl.at == last })
	if i < 0 {
		i = 0
	}
	pl := s.again[i]
	switch {
	case pl.decision == Holds:
		return Step{}, true
	case pl.decision == Undecided && len(pl.looks) < 2 && s.left(0) >= 2, // the last look is better spent below
		!pl.settled && pl.decision != Undecided:
		return Step{Kind: KindConfirm, At: pl.at, Times: s.confirmTimes(pl.at)}, false
	case pl.at <= s.p.From:
		return Step{}, true
	}
	at := s.down(pl.at)
	return Step{Kind: KindConfirm, At: at, Times: s.confirmTimes(at)}, false
}

// confirmTimes is how long the winner is measured again: twice, and as long as it was
// measured before.
func (s *state) confirmTimes(at float64) int {
	times := 0
	for _, pl := range s.places {
		if pl.at == at {
			for _, l := range pl.looks {
				times += l.Times
			}
		}
	}
	return max(2, times)
}

// down is the next load to try when that at x did not hold again.
func (s *state) down(x float64) float64 {
	y := s.p.below(x)
	if s.p.Goal == Goodput {
		for _, pl := range s.places {
			if pl.at < x && pl.decision == Holds {
				y = pl.at
			}
		}
	}
	return y
}
