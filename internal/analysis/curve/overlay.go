package curve

import (
	"slices"
	"strings"
)

// overlay lays the curves of two sweeps over the same fields into one document, for
// charts: A's first, then B's, each named by its side. What each says of itself (knee,
// front) stays its own.
func overlay(a, b *Curves) *Curves {
	out := &Curves{Schema: Schema, Kind: a.Kind, Name: a.Name, Fields: a.Fields, Fit: a.Fit && b.Fit, Curves: []Curve{}, Rules: []Rule{}, Notes: []string{}}
	for i, c := range []*Curves{a, b} {
		first := len(out.Points)
		for _, p := range c.Points {
			at := make([]any, len(a.Fields))
			for k, f := range a.Fields {
				at[k] = p.At[slices.Index(c.Fields, f)]
			}
			p.At = at
			out.Points = append(out.Points, p)
		}
		for _, g := range c.Curves {
			points := make([]int, len(g.Points))
			for k, n := range g.Points {
				points[k] = n + first
			}
			g.Points, g.At = points, strings.TrimSuffix([]string{"A", "B"}[i]+" · "+g.At, " · ")
			g.Knee, g.Saturation, g.Fronts = nil, nil, nil // by the numbers of points in their own sweep
			out.Curves = append(out.Curves, g)
		}
		out.Measured, out.Failed, out.NotRun = out.Measured+c.Measured, out.Failed+c.Failed, out.NotRun+c.NotRun
	}
	out.choose()
	return out
}
