package curve

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// power is throughput ÷ latency of a point (Kleinrock, Power and deterministic rules of
// thumb for probabilistic problems in computer communications, ICC 1979): output tokens a
// second ÷ mean E2E; of a sweep without tokens, requests a second. (Tokens count when
// they come; requests when they end, of which a short window holds too many or too few.)
// It has the intervals of both, joined as ratios.
func (p *Point) power(throughput string) {
	x, t := p.Values[throughput], p.Values[p.e2e()+".mean"]
	v := Value{Why: t.Why}
	if x.Value != nil && t.Value != nil && *t.Value > 0 {
		v = Value{Value: ref(*x.Value / *t.Value * 1000)}
		xl, tl := logWidth(x), logWidth(t)
		if xl != nil && tl != nil && *x.Value > 0 {
			h := math.Hypot(*xl, *tl)
			v.CI, v.By = [2]*float64{ref(*v.Value * math.Exp(-h)), ref(*v.Value * math.Exp(h))}, x.By
		}
	}
	p.Values["throughput_per_latency"] = v
}

func (p *Point) e2e() string {
	if p.Loop == "closed" {
		return "e2e_ms"
	}
	return "e2e_from_due_ms"
}

// logWidth is half the width of an interval in logarithms, nil where it has none.
func logWidth(v Value) *float64 {
	if v.Value == nil || v.CI[0] == nil || v.CI[1] == nil || *v.CI[0] <= 0 {
		return nil
	}
	return ref((math.Log(*v.CI[1]) - math.Log(*v.CI[0])) / 2)
}

// leastKnee is how many points a knee takes: one before it and one behind.
const leastKnee = 3

// knee finds the point of the greatest power. A load that the server does not keep up
// with has no latency, and so none.
func (c *Curves) knee(g *Curve) {
	if !g.Numeric {
		return
	}
	const name = "throughput_per_latency"
	var list []int
	seen := 0
	for _, i := range c.measured(g) {
		p := &c.Points[i]
		if p.has(name) {
			list = append(list, i)
			seen++
		} else if p.Backlog != nil && p.Backlog.State == Unstable {
			seen++
		}
	}
	k := &Knee{Among: []int{}}
	g.Knee = k
	if seen < leastKnee || len(list) == 0 {
		k.Line = fmt.Sprintf("no knee: %d of the points have throughput and latency, and it takes %d", len(list), leastKnee)
		return
	}
	best := slices.MaxFunc(list, func(a, b int) int {
		x, y := *c.Points[a].Values[name].Value, *c.Points[b].Values[name].Value
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	top := c.Points[best].Values[name]
	for _, i := range list {
		if i == best || !clearly(top, c.Points[i].Values[name], true) {
			k.Among = append(k.Among, i)
		}
	}
	bends := len(list) < seen // an unstable load follows
	if best == list[len(list)-1] && !bends {
		k.Line = fmt.Sprintf("no knee within the ladder: throughput ÷ latency still rises at its end, %s", c.Points[best].Label)
		return
	}
	k.Point = ref1(best)
	c.Points[best].Knee = true
	k.Line = "knee at " + c.Points[best].Label
	if others := slices.DeleteFunc(slices.Clone(k.Among), func(i int) bool { return i == best }); len(others) > 0 {
		names := make([]string, len(others))
		for n, i := range others {
			names[n] = c.Points[i].Label
		}
		k.Line += ", not told apart from " + strings.Join(names, ", ")
		if !bends && slices.Contains(others, list[len(list)-1]) {
			k.Line += ": it may lie beyond the ladder"
		}
	}
	if best == list[0] {
		k.Line += ": the ladder begins at the knee or beyond it"
	}
}
