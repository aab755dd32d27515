package analysis

import (
	"fmt"
	"strings"

	"tokentape/internal/analysis/scrape"
	"tokentape/internal/analysis/window"
)

// server explains a row of the metrics pages: which series of which page it is, and
// what it was in one window.
func (x *explainer) server(asked []string) {
	name := strings.TrimPrefix(x.c.Name, "server.")
	row := scrape.RowNamed(name)
	x.e.Unit = serverUnit(name)
	if all := row.Series(); len(all) > 0 {
		x.how("known series, the first that a page has: %s", join(all, ", "))
	}
	s := x.res.Server
	if s == nil {
		x.e.Absent = "no metrics pages were asked for (telemetry.metrics)"
		return
	}
	kind := x.serverWindowKind(asked)
	w := x.shown(kind)
	if w == nil {
		x.e.Absent = "this run has no window " + kind
		return
	}
	x.e.Window = &ExplainedWindow{Kind: w.Kind, From: w.From, To: w.To, FromWall: w.FromWall, ToWall: w.ToWall, Requests: w.Requests, Why: w.Why, LeftOut: w.LeftOut}
	var values []*float64
	for i := range s.Windows {
		sw := &s.Windows[i]
		if sw.Window != kind {
			continue
		}
		r := sw.Row(name)
		if r == nil {
			x.how("%s: no series of it%s", x.pageName(sw), parenthesised(sw.Why))
			continue
		}
		values = append(values, r.value())
		x.e.N = r.N
		of := ""
		if r.Of > 1 {
			of = fmt.Sprintf(", the %s of %d series", map[bool]string{true: "mean", false: "sum"}[row.Mean], r.Of)
		}
		x.how("%s: %s%s; %s over %.1f of the window's %.1f s, %s", x.pageName(sw), r.Series, of, r.told(), sw.CoveredS, sw.LengthS, plural(sw.Readings, "reading"))
		if h := r.Histogram; h != nil {
			x.histogram(h, r)
		}
		if sw.Gaps > 0 {
			x.how("%s in it longer than two intervals", plural(sw.Gaps, "gap"))
		}
		x.e.Warnings = append(x.e.Warnings, r.Warnings...)
	}
	switch len(values) {
	case 0:
		x.e.Absent = "no metrics page has a series of it in this window"
	case 1:
		x.e.Value = values[0]
	default:
		x.e.Word = fmt.Sprintf("%d pages", len(values))
	}
}

// serverWindowKind is the window that is meant: as for other values of windows.
func (x *explainer) serverWindowKind(asked []string) string {
	if len(asked) > 0 {
		return asked[0]
	}
	for _, k := range []string{window.KindSteady, window.KindStable, window.KindWhole} {
		if w := x.shown(k); w != nil && w.From != nil {
			return k
		}
	}
	return window.KindWhole
}

func (x *explainer) shown(kind string) *Window {
	for i := range x.res.Windows {
		if x.res.Windows[i].Kind == kind {
			return &x.res.Windows[i]
		}
	}
	return nil
}

// pageName is a page with its role and what publishes it.
func (x *explainer) pageName(w *ServerWindow) string {
	for _, s := range x.res.Server.Sources {
		if s.Name != w.Source || (s.Part != nil) != (w.Part != nil) || s.Part != nil && *s.Part != *w.Part {
			continue
		}
		var about []string
		for _, v := range []string{s.Role, s.Kind} {
			if v != "" {
				about = append(about, v)
			}
		}
		if s.Part != nil {
			about = append(about, fmt.Sprintf("part %d", *s.Part))
		}
		return s.Name + parenthesised(join(about, ", "))
	}
	return w.Source
}

func parenthesised(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

func (x *explainer) histogram(h *ServerHistogram, r *ServerRow) {
	if h.Counts != "" {
		x.how("an observation is %s", h.Counts)
	}
	if c := h.Client; c != nil && c.Mean != nil && r.Mean != nil {
		x.how("client, %s (%s): mean %s %s, %s more than the server's", thousands(c.N), c.Of, digits(*c.Mean), r.Unit, digits(*c.Mean-*r.Mean))
	}
	for _, q := range serverQuantiles {
		name := quantileName(q)
		b, ok := h.Quantiles[name]
		if !ok {
			continue
		}
		bounds := "above " + digits(*b.Low)
		if b.Value != nil {
			bounds = fmt.Sprintf("%s, between %s and %s", digits(*b.Value), digits(*b.Low), digits(*b.High))
		}
		if h.Client != nil && h.Client.Quantiles[name] != nil {
			bounds += ", client " + digits(*h.Client.Quantiles[name])
		}
		x.how("%s: %s %s", name, bounds, r.Unit)
	}
}

// value is the one number of a row that stands for it.
func (r *ServerRow) value() *float64 {
	if r.Mean != nil {
		return r.Mean
	}
	return r.Increase
}

// told is a row in words.
func (r *ServerRow) told() string {
	switch {
	case r.Increase != nil && r.PerS != nil:
		return fmt.Sprintf("grew by %s, %s a second", digits(*r.Increase), digits(*r.PerS))
	case r.Increase != nil:
		return "grew by " + digits(*r.Increase)
	case r.Histogram != nil:
		s := digits(r.Histogram.N) + " observations"
		if r.Mean != nil {
			s += ", mean " + digits(*r.Mean) + " " + r.Unit
		}
		return s
	case r.Mean == nil:
		return "no value"
	case r.Min == nil || r.Last == nil:
		return digits(*r.Mean)
	}
	return fmt.Sprintf("mean %s, least %s, greatest %s, last %s", digits(*r.Mean), digits(*r.Min), digits(*r.Max), digits(*r.Last))
}
