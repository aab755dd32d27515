package curve

import (
	"fmt"
	"slices"

	"tokentape/internal/analysis"
)

// bursts takes over what the runs' own check says of output in bursts.
func (p *Point) bursts(pooled []*Result) {
	for _, r := range pooled {
		for _, c := range r.Res.Verdict.Checks {
			if c.Name == "bursts" && c.Result == analysis.ResultMiss && p.Bunched == "" {
				p.Bunched = c.Why
			}
		}
	}
}

// What tells bunches by the lighter loads of a curve: a middle gap that is quickerBy
// shorter than any of theirs, and a p95 that is spread times the middle one.
const (
	quickerBy = 0.10
	spread    = 2
)

// bunches finds the points whose token events came in bunches. More requests at once
// make no step of decoding shorter. Where the middle gap is yet shorter than at every
// lighter load, and the p95 of the gaps is long, events were held up and then read
// together: by a busy machine or a buffer between. A first event that was held up makes
// TPOT too short, so that a TPOT below the gaps of the lighter loads is no
// achievement and has no place on a front; nor has one of a point whose run itself says
// bursts, unless all points are of bursts (a server that drafts) and so alike.
func (c *Curves) bunches(g *Curve) {
	list := c.measured(g)
	alike := !slices.ContainsFunc(list, func(i int) bool { return c.Points[i].Bunched == "" })
	for _, i := range list {
		c.Points[i].tooQuick = c.Points[i].Bunched != "" && !alike
	}
	if !g.Numeric || !slices.Contains(loads, g.Axis) {
		return
	}
	var floor Value // the shortest middle gap of the lighter loads
	at := ""
	for _, i := range list {
		p := &c.Points[i]
		v, high := p.Values["itl_ms.p50"], p.Values["itl_ms.p95"]
		if v.Value == nil || p.Bunched != "" { // which is said, and no floor
			continue
		}
		quick := floor.Value != nil && *v.Value < (1-quickerBy)**floor.Value && clearly(v, floor, false)
		if quick && high.Value != nil && *high.Value >= spread**v.Value {
			p.Bunched = fmt.Sprintf("events came in bunches: the middle gap is %s ms (p95 %s), and %s ms or more at every lighter load (%s)", digits(*v.Value), digits(*high.Value), digits(*floor.Value), at)
			t := p.Values["tpot_ms.p50"].Value
			p.tooQuick = t != nil && *t < *floor.Value
			continue
		}
		if floor.Value == nil || *v.Value < *floor.Value {
			floor, at = v, p.Label
		}
	}
}

// bunchNotes say which points have their events in bunches.
func (c *Curves) bunchNotes(say func(string, ...any)) {
	for i := range c.Points {
		p := &c.Points[i]
		if p.Bunched == "" {
			continue
		}
		text := ""
		if p.tooQuick {
			text = "; its TPOT is not on the front"
		}
		say("%s: %s%s", p.Label, p.Bunched, text)
	}
}
