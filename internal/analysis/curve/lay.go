package curve

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tokentape/internal/sweep"
)

// loads are the fields that say how much is asked of the server at once.
var loads = []string{"load.concurrency", "load.rate"}

// choose says which throughput and which latencies the curves are of.
func (c *Curves) choose() {
	open := slices.ContainsFunc(c.Points, func(p Point) bool { return p.State == Measured && p.Loop != "closed" })
	c.Latencies = []string{"ttft_ms", "tpot_ms", "e2e_ms"}
	if open {
		c.Latencies = []string{"ttft_from_due_ms", "tpot_ms", "e2e_from_due_ms"}
	}
	devices, tokens := true, false
	for _, p := range c.Points {
		if p.State == Measured {
			devices = devices && p.has("output_tokens_per_s_per_device")
			tokens = tokens || p.has("output_tokens_per_s")
		}
	}
	switch {
	case devices && tokens:
		c.Throughput = "output_tokens_per_s_per_device"
	case tokens:
		c.Throughput = "output_tokens_per_s"
	default:
		c.Throughput = "requests_per_s"
	}
	base := "requests_per_s"
	if tokens {
		base = "output_tokens_per_s"
	}
	for i := range c.Points {
		if p := &c.Points[i]; p.Window != "" {
			p.power(base)
		}
	}
}

func (p *Point) has(name string) bool { return p.Values[name].Value != nil }

// lay orders the points along curves, and reads each curve.
func (c *Curves) lay() {
	axis := c.axis()
	groups := map[string]*Curve{}
	var order []string
	for i := range c.Points {
		at := c.others(axis, i)
		g, ok := groups[at]
		if !ok {
			g = &Curve{At: at, Axis: field(c.Fields, axis), Points: []int{}}
			groups[at], order = g, append(order, at)
		}
		g.Points = append(g.Points, i)
	}
	if len(order) > 1 && len(order) == len(c.Points) { // fields that move together have no axis
		all := &Curve{}
		for i := range c.Points {
			all.Points = append(all.Points, i)
		}
		groups, order, axis = map[string]*Curve{"": all}, []string{""}, -1
	}
	for _, at := range order {
		g := groups[at]
		g.Numeric = axis >= 0
		for _, i := range g.Points {
			_, number := c.value(i, axis)
			g.Numeric = g.Numeric && number
		}
		if g.Numeric {
			slices.SortStableFunc(g.Points, func(a, b int) int {
				x, _ := c.value(a, axis)
				y, _ := c.value(b, axis)
				return cmp.Compare(x, y)
			})
		}
		c.bunches(g)
		c.fronts(g)
		c.saturation(g)
		c.knee(g)
		c.Curves = append(c.Curves, *g)
	}
}

// axis is the field along which points make a curve: the load, else the fastest one.
// −1: there is none.
func (c *Curves) axis() int {
	found := -1
	for i, f := range c.Fields {
		if slices.Contains(loads, f) {
			if found >= 0 {
				found = -1 // both: the grid says which is faster
				break
			}
			found = i
		}
	}
	if found < 0 {
		return len(c.Fields) - 1
	}
	return found
}

func field(fields []string, i int) string {
	if i < 0 {
		return ""
	}
	return fields[i]
}

// others are the settings of a point besides that of the axis, "" where there are none.
func (c *Curves) others(axis, i int) string {
	var fields []string
	var at []any
	for k, v := range c.Points[i].At {
		if k != axis {
			fields, at = append(fields, c.Fields[k]), append(at, v)
		}
	}
	return sweep.Label(fields, sweep.Point{At: at})
}

// value of a point on the axis; false where it is no number.
func (c *Curves) value(i, axis int) (float64, bool) {
	if axis < 0 {
		return 0, false
	}
	switch v := c.Points[i].At[axis].(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	}
	return 0, false
}

// apartBy is how far two values without intervals must be from each other to be called
// apart: what runs of one server differ by on a real machine is less, and one run a
// point says nothing of it. worseBy is what a dominating point may be worse by in the
// other value.
const (
	apartBy = 0.10
	worseBy = 0.02
)

// clearly reports whether a is clearly better than b: their intervals lie apart, or
// where one has none, they are more than apartBy apart.
func clearly(a, b Value, higher bool) bool {
	if a.Value == nil || b.Value == nil {
		return false
	}
	if !higher {
		a, b = negative(a), negative(b)
	}
	if a.CI[0] != nil && b.CI[1] != nil {
		return *a.CI[0] > *b.CI[1]
	}
	return *a.Value-*b.Value > apartBy*math.Max(math.Abs(*a.Value), math.Abs(*b.Value))
}

func negative(v Value) Value {
	v.Value = ref(-*v.Value)
	if v.CI[0] != nil && v.CI[1] != nil {
		v.CI = [2]*float64{ref(-*v.CI[1]), ref(-*v.CI[0])}
	}
	return v
}

// noWorse reports whether a is at most worseBy worse than b.
func noWorse(a, b Value, higher bool) bool {
	d := *b.Value - *a.Value
	if !higher {
		d = -d
	}
	return d <= worseBy*math.Abs(*b.Value)
}

// dominates: clearly better in throughput or latency, and not worse in the other.
func (c *Curves) dominates(a, b *Point, latency string) bool {
	xa, xb, ta, tb := a.Values[c.Throughput], b.Values[c.Throughput], a.Values[latency], b.Values[latency]
	return clearly(xa, xb, true) && noWorse(ta, tb, false) || clearly(ta, tb, false) && noWorse(xa, xb, true)
}

// percentile is the one that fronts are of: p95 where every measured point has it.
func (c *Curves) percentile(g *Curve, metric string) string {
	for _, i := range g.Points {
		p := &c.Points[i]
		if v := p.Values[metric+".p95"]; p.State == Measured && v.Value == nil && v.Why == "n too small" {
			return metric + ".p50"
		}
	}
	return metric + ".p95"
}

func (c *Curves) fronts(g *Curve) {
	g.Fronts = []Front{}
	for _, m := range c.Latencies {
		f := Front{Latency: c.percentile(g, m), Points: []int{}}
		var able []int
		for _, i := range g.Points {
			p := &c.Points[i]
			switch {
			case m == "tpot_ms" && p.tooQuick:
				f.LeftOut = append(f.LeftOut, i)
			case p.has(c.Throughput) && p.has(f.Latency):
				able = append(able, i)
			case p.State == Measured:
				f.LeftOut = append(f.LeftOut, i)
			}
		}
		if len(able) < 2 {
			continue
		}
		for _, i := range able {
			if !slices.ContainsFunc(able, func(k int) bool { return k != i && c.dominates(&c.Points[k], &c.Points[i], f.Latency) }) {
				f.Points = append(f.Points, i)
				c.Points[i].Front = append(c.Points[i].Front, f.Latency)
			}
		}
		g.Fronts = append(g.Fronts, f)
	}
}

// measured are the points of a curve that were, in its order.
func (c *Curves) measured(g *Curve) (out []int) {
	for _, i := range g.Points {
		if c.Points[i].State == Measured {
			out = append(out, i)
		}
	}
	return out
}

// saturation says up to where more load brings more.
func (c *Curves) saturation(g *Curve) {
	list := c.measured(g)
	if !g.Numeric || len(list) < 2 {
		return
	}
	s := &Saturation{}
	g.Saturation = s
	if !slices.ContainsFunc(list, func(i int) bool { return c.Points[i].Backlog != nil }) {
		c.level(s, list)
		return
	}
	for _, i := range list {
		b := c.Points[i].Backlog
		switch {
		case b == nil:
		case b.State == Unstable && s.Unstable == nil:
			s.Unstable = ref1(i)
		case b.State == Stable && s.Unstable == nil:
			s.Point = ref1(i)
		}
	}
	switch {
	case s.Unstable != nil && s.Point != nil:
		s.Line = fmt.Sprintf("the server keeps up with %s and not with %s", c.Points[*s.Point].Label, c.Points[*s.Unstable].Label)
	case s.Unstable != nil:
		s.Line = fmt.Sprintf("the server does not keep up with %s, and no lower load is proved stable", c.Points[*s.Unstable].Label)
	case s.Point != nil:
		s.Line = fmt.Sprintf("the server keeps up with every load that could be judged, %s at the most", c.Points[*s.Point].Label)
	default:
		s.Line = "whether the server keeps up is open at every load: send for longer"
	}
	if s.Unstable != nil {
		var most *float64
		for _, i := range list {
			p := &c.Points[i]
			if v := p.Values["kept_up_per_s"].Value; p.Backlog != nil && p.Backlog.State == Unstable && v != nil && (most == nil || *v > *most) {
				most = v
			}
		}
		if most != nil {
			s.Line += fmt.Sprintf(" (where it does not, it ends %s requests/s at the most)", digits(*most))
		}
	}
}

// levelGain is the gain in throughput that is worth a step of load.
const levelGain = 0.05

// level finds the first point that no later one clearly exceeds.
func (c *Curves) level(s *Saturation, list []int) {
	for k, i := range list {
		v := c.Points[i].Values[c.Throughput]
		if v.Value == nil {
			continue
		}
		gained := slices.ContainsFunc(list[k+1:], func(n int) bool {
			later := c.Points[n].Values[c.Throughput]
			return later.Value != nil && *later.Value > (1+levelGain)**v.Value && clearly(later, v, true)
		})
		if gained {
			continue
		}
		if k == len(list)-1 {
			s.Line = fmt.Sprintf("throughput still rises at the last point, %s: it does not level off within the ladder", c.Points[i].Label)
			return
		}
		s.Point = ref1(i)
		s.Line = fmt.Sprintf("throughput levels off at %s (%s %s): no later point has clearly more", c.Points[i].Label, digits(*v.Value), Unit(c.Throughput))
		return
	}
	s.Line = "no throughput was observed"
}

func ref1(i int) *int { return &i }
