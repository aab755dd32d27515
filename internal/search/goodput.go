package search

import (
	"math"

	"tokentape/internal/analysis/stat"
)

// worse is the share of the best goodput below which a load is past the top, however
// wide its interval.
const worse = 0.8

// goodput is that of a place; nil where the load was not sustained there, or nothing
// was measured.
func (pl *place) goodput() *Fact {
	if !pl.holds() {
		return nil
	}
	for i := range pl.facts {
		if f := &pl.facts[i]; f.Kind == KindGoodput && f.Value != nil {
			return f
		}
	}
	return nil
}

// apart reports whether a is surely more than b.
func apart(a, b *Fact, alpha float64) bool {
	se := math.Hypot(a.SE, b.SE)
	df := min(a.DF, b.DF)
	if se <= 0 || df < 1 {
		return *a.Value > *b.Value
	}
	return *a.Value-*b.Value > stat.StudentQuantile(2*alpha, df)*se
}

// findGoodput is find for the load of the most goodput: doubling until it surely
// falls, then the gaps beside the best place halved on a log scale. Of places that
// cannot be told from the best, and are within precision of it, the lowest load is
// the winner.
func (s *state) findGoodput() (step Step, candidate float64) {
	p := s.p
	for _, pl := range s.places {
		if !pl.holds() && pl.decision != Fails && !pl.settled && s.left(s.kept+1) >= 0 {
			return longer(pl), s.best(p.Alpha())
		}
	}
	if len(s.places) == 0 {
		at := p.From
		if x, ok := p.guess(s.looks); ok {
			at = x
		}
		return Step{Kind: KindBracket, At: at, Times: 1}, 0
	}
	candidate = s.best(p.Alpha())
	low, top := s.places[0], s.places[len(s.places)-1]
	if candidate == 0 {
		if low.at <= p.From {
			return Step{}, 0
		}
		return Step{Kind: KindBracket, At: p.place(low.at / 2), Times: 1}, 0
	}
	best := s.goodputAt(candidate)
	if g := top.goodput(); g != nil && top.at < p.To && !apart(best, g, p.Alpha()) && *g.Value >= worse**best.Value {
		return Step{Kind: KindBracket, At: p.place(top.at * 2), Times: 1}, candidate
	}
	if candidate == low.at && low.at > p.From {
		return Step{Kind: KindBracket, At: p.place(low.at / 2), Times: 1}, candidate
	}
	var down, up, widest float64
	for _, pl := range s.places {
		if pl.at < candidate {
			down = pl.at
		}
		if pl.at > candidate && up == 0 {
			up = pl.at
		}
	}
	try := func(lo, hi float64) {
		if lo == 0 || hi == 0 || p.close(lo, hi) || hi/lo <= max(widest, 1+2*p.Precision) {
			return
		}
		if at := p.place(math.Sqrt(lo * hi)); at > lo && at < hi {
			widest, step = hi/lo, Step{Kind: KindBisect, At: at, Times: 1}
		}
	}
	try(down, candidate)
	try(candidate, up)
	return step, candidate
}

// best is the winning load, 0 where there is none.
func (s *state) best(alpha float64) float64 {
	var top *Fact
	for _, pl := range s.places {
		if g := pl.goodput(); g != nil && (top == nil || *g.Value > *top.Value) {
			top = g
		}
	}
	for _, pl := range s.places { // in rising order
		if g := pl.goodput(); g != nil && *g.Value >= *top.Value*(1-s.p.Precision) && !apart(top, g, alpha) {
			return pl.at
		}
	}
	return 0
}

func (s *state) goodputAt(at float64) *Fact {
	for _, pl := range s.places {
		if pl.at == at {
			return pl.goodput()
		}
	}
	return nil
}
