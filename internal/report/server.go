package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tokentape/internal/analysis"
)

// pagesInShort is how many metrics pages have a line on the page.
const pagesInShort = 2

// metricsInShort is a line for each metrics page: what one looks for first.
func (c *console) metricsInShort() {
	s := c.r.Server
	if s == nil {
		return
	}
	kind := c.servedWindow()
	pages := serverOrder(s.Sources)
	for i, src := range pages[:min(len(pages), pagesInShort)] {
		lead := "  " + pad("metrics", 10, false)
		if i > 0 {
			lead = strings.Repeat(" ", 12)
		}
		text := join(" · ", serverTitle(src), c.serverShort(src, kind))
		if i == pagesInShort-1 && len(pages) > pagesInShort {
			text += fmt.Sprintf(" · and %d more with --full", len(pages)-pagesInShort)
		}
		c.hang(lead, clean(text), plain)
	}
}

// serverOrder is the order in which pages are shown: what went wrong first, then as a
// request goes through them.
func serverOrder(all []analysis.ServerSource) []*analysis.ServerSource {
	var out []*analysis.ServerSource
	for i := range all {
		out = append(out, &all[i])
	}
	trouble := func(s *analysis.ServerSource) int {
		switch {
		case s.Readings == 0:
			return 0
		case s.Failed > 0 || s.GapsN > 0 || s.ResetsN > 0:
			return 1
		}
		return 2
	}
	place := func(s *analysis.ServerSource) int {
		if i := slices.Index([]string{"entry", "prefill", "decode", "", "node", "device"}, s.Role); i >= 0 {
			return i
		}
		return 3
	}
	slices.SortStableFunc(out, func(a, b *analysis.ServerSource) int {
		return cmp.Or(cmp.Compare(trouble(a), trouble(b)), cmp.Compare(place(a), place(b)))
	})
	return out
}

// servedWindow is the window whose metrics are on the page: the last that exists,
// which is the steadiest.
func (c *console) servedWindow() string {
	kind := ""
	for i := range c.r.Windows {
		if c.r.Windows[i].From != nil {
			kind = c.r.Windows[i].Kind
		}
	}
	return kind
}

// serverTitle is a page's name with what is known of it.
func serverTitle(s *analysis.ServerSource) string {
	part := ""
	if s.Part != nil {
		part = fmt.Sprintf("part %d", *s.Part)
	}
	return join(" ", s.Name, parens(join(", ", s.Role, s.Kind, part)))
}

// serverShort is what a page says of a window, in one run of words.
func (c *console) serverShort(src *analysis.ServerSource, kind string) string {
	if src.Readings == 0 {
		return join(": ", "never read", src.Example)
	}
	w := serverWindow(c.r.Server, src, kind)
	if w == nil {
		return fmt.Sprintf("%s %s, none in a window", count(src.Readings), plural(src.Readings, "reading"))
	}
	parts := []string{fmt.Sprintf("%s, %s of %s s", w.Window, num(w.CoveredS), num(w.LengthS))}
	if src.Failed > 0 {
		parts = append(parts, join(" ", fmt.Sprintf("%s of %s readings failed", count(src.Failed), count(src.Failed+src.Readings)), parens(flags(src.Causes))))
	}
	gauge := func(row, label string) {
		r := w.Row(row)
		if r == nil || r.Mean == nil {
			return
		}
		text := label + " " + measure(r.Mean, unitIn(r.Unit))
		if r.Max != nil && *r.Max != *r.Mean {
			text += ", at most " + measure(r.Max, unitIn(r.Unit))
		}
		parts = append(parts, text)
	}
	gauge("queue_depth", "waiting")
	gauge("running_requests", "running")
	gauge("kv_usage", "KV")
	// The counter before the gauge: an engine reckons that from time to time, and
	// between two times it tells of what was.
	if r := w.Row("generation_tokens"); r != nil && r.PerS != nil {
		parts = append(parts, num(*r.PerS)+" tok/s")
	} else if r := w.Row("generation_throughput"); r != nil && r.Mean != nil {
		parts = append(parts, num(*r.Mean)+" tok/s by the engine's gauge")
	}
	for _, row := range []string{"ttft_ms", "itl_ms"} {
		if r := w.Row(row); r != nil && r.Mean != nil && r.Histogram != nil {
			text := fmt.Sprintf("%s mean %s ms", strings.ToUpper(strings.TrimSuffix(row, "_ms")), num(*r.Mean))
			if cl := r.Histogram.Client; cl != nil && cl.Mean != nil {
				text += ", " + besideName(cl) + " " + num(*cl.Mean)
			}
			parts = append(parts, text)
		}
	}
	for _, row := range []string{"device_utilisation", "device_power", "cpu_busy"} {
		switch r := w.Row(row); {
		case r == nil:
		case r.Mean != nil:
			parts = append(parts, serverLabel(row)+" "+measure(r.Mean, r.Unit))
		case r.PerS != nil:
			parts = append(parts, serverLabel(row)+" "+measure(r.PerS, r.Unit))
		}
	}
	if w.Gaps > 0 {
		parts = append(parts, fmt.Sprintf("%s %s", count(w.Gaps), plural(w.Gaps, "gap")))
	}
	if w.Resets > 0 {
		parts = append(parts, fmt.Sprintf("counters began anew %s×", count(w.Resets)))
	}
	return strings.Join(parts, " · ")
}

// unitIn is a unit as it is worth saying in a line: requests are what is meant.
func unitIn(unit string) string {
	if unit == "requests" {
		return ""
	}
	return unit
}

func serverWindow(s *analysis.Server, src *analysis.ServerSource, kind string) *analysis.ServerWindow {
	for i := range s.Windows {
		w := &s.Windows[i]
		if w.Window == kind && w.Source == src.Name && (w.Part == nil) == (src.Part == nil) && (w.Part == nil || *w.Part == *src.Part) {
			return w
		}
	}
	return nil
}

// serverLabel is the title of a row.
func serverLabel(row string) string {
	for _, d := range analysis.Definitions() {
		if d.Name == "server."+row {
			return d.Title
		}
	}
	return row
}

// metricsPages shows every page: how it was read, then its rows by window.
func (c *console) metricsPages() {
	s := c.r.Server
	if s == nil {
		return
	}
	pages := serverOrder(s.Sources)
	for i, src := range pages {
		c.heading("Metrics page " + clean(serverTitle(src)))
		c.serverFacts(src)
		var ws []*analysis.ServerWindow
		for k := range c.r.Windows {
			if w := serverWindow(s, src, c.r.Windows[k].Kind); w != nil {
				ws = append(ws, w)
			}
		}
		if len(ws) > 0 {
			c.serverTable(ws)
		}
		if i == len(pages)-1 {
			c.hang("  ", "In brackets beside the client's value: client − server. Which series a row is made of: tokentape explain server.NAME RUN. All quantiles with their bounds, and all series: server.csv.", dim)
		}
	}
}

// named is how many gaps and resets are listed one by one.
const named = 5

// serverFacts say how a page was read.
func (c *console) serverFacts(s *analysis.ServerSource) {
	if from := map[string]string{"page": "as its series say (engine_type)", "name": "by its name"}[s.RoleFrom]; from != "" {
		c.fact("role", s.Role+", "+from+"; telemetry.metrics.role was not given")
	}
	text := fmt.Sprintf("%s %s", count(s.Readings), plural(s.Readings, "reading"))
	if s.Readings > 0 {
		text += fmt.Sprintf(" from %s to %s s", moment(s.FromS), moment(s.ToS))
	}
	if s.IntervalS != nil {
		text += ", one every " + num(*s.IntervalS) + " s asked for"
	}
	text += fmt.Sprintf("; %s failed", count(s.Failed))
	if s.Missed > 0 {
		text += fmt.Sprintf(", %s left out since the page took longer than the interval", count(s.Missed))
	}
	c.fact("read", text)
	if s.Failed > 0 {
		c.fact("failed", join(", for example: ", flags(s.Causes), clean(s.Example)))
	}
	for k, g := range s.Gaps {
		if k == named {
			c.fact("", fmt.Sprintf("and %s more, %s s in all", count(s.GapsN-named), num(s.GapsS)))
			break
		}
		c.fact("gap", clean(join(": ", fmt.Sprintf("%s to %s s", num(g.FromS), num(g.ToS)), g.Why)))
	}
	for k, x := range s.Resets {
		if k == named {
			c.fact("", fmt.Sprintf("and %s more", count(s.ResetsN-named)))
			break
		}
		c.fact("began anew", fmt.Sprintf("before %s s: %s", num(x.TS), clean(x.Why)))
	}
	for _, w := range s.Warnings {
		c.fact("note", clean(w))
	}
}
