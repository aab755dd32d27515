package curve

import (
	"fmt"
	"slices"
	"strings"

	"tokentape/internal/analysis/window"
	"tokentape/internal/sweep"
)

// What makes points unlike: a spread of the cached share, and of mean lengths that no
// field asked for.
const (
	unlikeCache  = 0.05
	unlikeTokens = 0.05
)

// notes say what a reader must know before reading points against each other.
func (c *Curves) notes(m *sweep.Manifest) {
	say := func(format string, args ...any) { c.Notes = append(c.Notes, fmt.Sprintf(format, args...)) }
	if lo, hi, at, to := c.spread("cached_ratio"); at >= 0 && hi-lo > unlikeCache {
		say("points are unlike: cached share %.2f (%s) … %.2f (%s): part of what differs is the prefix cache, not the load", lo, c.Points[at].Label, hi, c.Points[to].Label)
	}
	if m.Prompts == "same" {
		text := "every point sent the same prompts: what an earlier one left in the prefix cache serves the later ones"
		if _, hi, at, _ := c.spread("cached_ratio"); at < 0 {
			text += "; the server does not say how much"
		} else if hi < unlikeCache {
			text += fmt.Sprintf("; the server says that it was %.0f %% of the input at most", hi*100)
		}
		say("%s", text)
	}
	for _, l := range []struct{ metric, what string }{{"input_tokens.mean", "prompts"}, {"output_tokens.mean", "answers"}} {
		if c.asked(l.metric) {
			continue
		}
		if lo, hi, at, to := c.spread(l.metric); at >= 0 && hi-lo > unlikeTokens*hi {
			say("points are unlike: mean length of the %s %s tokens (%s) … %s (%s), which no field of the sweep asks for", l.what, digits(lo), c.Points[at].Label, digits(hi), c.Points[to].Label)
		}
	}
	c.windowNotes(say)
	c.bunchNotes(say)
	unfit := 0
	for _, p := range c.Points {
		if p.State == Measured && !p.Fit {
			unfit++
		}
		if p.State == Measured && p.Reason != "" {
			say("%s: %s", p.Label, p.Reason)
		}
		if p.RateMisfit != "" {
			say("%s: %s", p.Label, p.RateMisfit)
		}
		for _, r := range p.Runs {
			if r.Hook != "" && !strings.HasPrefix(r.Hook, "ok") {
				say("%s: before it: %s", r.Name, r.Hook)
			}
		}
	}
	if unfit > 0 {
		say("%d of %d measured points are not fit for use: their runs' own reports say why; --fit-only leaves them out", unfit, c.Measured)
	}
	if n := c.open(); n > 0 {
		say("%d of the points are too short to tell whether the server keeps up", n)
	}
}

// asked reports whether a field of the sweep sets lengths.
func (c *Curves) asked(metric string) bool {
	return slices.ContainsFunc(c.Fields, func(f string) bool {
		return strings.HasPrefix(f, "workload.") && (strings.HasPrefix(metric, "input") || strings.Contains(f, "output_tokens") || strings.Contains(f, "dataset") || strings.Contains(f, "sampling")) || strings.HasPrefix(f, "target.")
	})
}

func (c *Curves) open() (n int) {
	for _, p := range c.Points {
		if p.Backlog != nil && p.Backlog.State == Open {
			n++
		}
	}
	return n
}

// spread is the least and the greatest of a value, and the points that have them; −1:
// fewer than two points have it.
func (c *Curves) spread(name string) (lo, hi float64, at, to int) {
	at, to = -1, -1
	n := 0
	for i := range c.Points {
		v := c.Points[i].Values[name].Value
		if v == nil {
			continue
		}
		if n++; at < 0 || *v < lo {
			lo, at = *v, i
		}
		if to < 0 || *v > hi {
			hi, to = *v, i
		}
	}
	if n < 2 {
		at, to = -1, -1
	}
	return lo, hi, at, to
}

// windowNotes say which points are read off another window than the rest.
func (c *Curves) windowNotes(say func(string, ...any)) {
	by := map[string][]string{}
	for _, p := range c.Points {
		if p.State == Measured && !(p.Window == window.KindWhole && p.WindowWhy == "") { // which was asked for
			by[p.Window] = append(by[p.Window], p.Label)
		}
	}
	if whole := by[window.KindWhole]; len(whole) > 0 && len(by[window.KindSteady]) > 0 {
		say("points are of different windows: %s of the whole run, start-up and end included, since they have no steady one, or too short a one (about 15 requests for each in flight make one); the others of the steady one", list(whole))
	} else if len(whole) > 0 {
		say("no point has a steady window that is long enough (about 15 requests for each in flight make one): all are read off whole runs, start-up and end included")
	}
	if none := by[""]; len(none) > 0 {
		say("without the window that was asked for: %s", list(none))
	}
}

// list is up to eight names.
func list(names []string) string {
	if len(names) > 8 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:8], ", "), len(names)-8)
	}
	return strings.Join(names, ", ")
}

// rules say how fronts, knee, saturation and pooled values were decided.
func (c *Curves) rules() {
	add := func(name, text string) { c.Rules = append(c.Rules, Rule{name, text}) }
	add("front", fmt.Sprintf("a point is dominated when another one of its curve is clearly better in throughput (%s) or in the latency, and at most %.0f %% worse in the other; clearly: their 95 %% intervals lie apart, or where one has none, they are more than %.0f %% apart", c.Throughput, worseBy*100, apartBy*100))
	add("knee", "the point at which throughput ÷ latency (output_tokens_per_s ÷ mean E2E, from due in an open loop) is greatest (Kleinrock 1979); a load that the server does not keep up with has none; no knee where it still rises at the end of the ladder")
	if slices.ContainsFunc(c.Points, func(p Point) bool { return p.Backlog != nil }) {
		add("saturation", fmt.Sprintf("unstable: the 95 %% interval of the backlog's slope (due and not ended) lies above 0 and the slope is %.0f %% of the offered rate or more; stable: it does not, and the interval ends below %.0f %% of the rate; percentiles of an unstable load depend on how long it went on, and are not shown", material*100, settled*100))
	} else {
		add("saturation", fmt.Sprintf("throughput levels off at the first point that no later one exceeds clearly and by more than %.0f %%", levelGain*100))
	}
	if slices.ContainsFunc(c.Points, func(p Point) bool { return p.Pooled > 1 }) {
		add("repeats", "the value of a point is the mean of its runs' values; its interval is Student's t over them from three runs on, which holds what runs differ by; of two runs it reaches over the intervals of both; never the best of them")
	}
}

// say makes the line of the whole.
func (c *Curves) say() {
	parts := []string{fmt.Sprintf("%d of %d points measured", c.Measured, len(c.Points))}
	if c.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", c.Failed))
	}
	if c.NotRun > 0 {
		parts = append(parts, fmt.Sprintf("%d not run", c.NotRun))
	}
	if len(c.Curves) == 1 && c.Measured > 0 {
		g := &c.Curves[0]
		if g.Knee != nil {
			parts = append(parts, g.Knee.Line)
		}
		if g.Saturation != nil {
			parts = append(parts, g.Saturation.Line)
		}
	}
	c.Line = strings.Join(parts, "; ")
	if !c.Fit {
		c.Line += ". NOT to be relied on: " + c.unfit()
	}
}

// unfit names why runs are not fit for use, where it is one reason for all.
func (c *Curves) unfit() string {
	n, reason := 0, ""
	for _, p := range c.Points {
		if p.State != Measured || p.Fit {
			continue
		}
		_, why, _ := strings.Cut(p.Verdict, ": ")
		why, _, _ = strings.Cut(why, ";")
		if n++; n == 1 {
			reason = why
		} else if why != reason {
			reason = "not fit for use"
		}
	}
	return fmt.Sprintf("%d of %d measured points %s", n, c.Measured, reason)
}
