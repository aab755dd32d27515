package report

import (
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
	shown := 0
	for i := range s.Sources {
		src := &s.Sources[i]
		if shown == pagesInShort {
			continue
		}
		shown++
		lead := "  " + pad("metrics", 10, false)
		if shown > 1 {
			lead = strings.Repeat(" ", 12)
		}
		text := join(" · ", serverTitle(src), c.serverShort(src, kind))
		if last := i == len(s.Sources)-1; !last && shown == pagesInShort {
			text += fmt.Sprintf(" · and %d more with --full", len(s.Sources)-shown)
		}
		c.hang(lead, clean(text), plain)
	}
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
	if r := w.Row("generation_throughput"); r != nil && r.Mean != nil {
		parts = append(parts, num(*r.Mean)+" tok/s")
	}
	for _, row := range []string{"ttft_ms", "itl_ms"} {
		if r := w.Row(row); r != nil && r.Mean != nil && r.Histogram != nil {
			text := fmt.Sprintf("%s mean %s ms", strings.ToUpper(strings.TrimSuffix(row, "_ms")), num(*r.Mean))
			if cl := r.Histogram.Client; cl != nil && cl.Mean != nil {
				text += ", client " + num(*cl.Mean)
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
	for i := range s.Sources {
		src := &s.Sources[i]
		c.heading("Metrics page " + clean(serverTitle(src)))
		c.serverFacts(src)
		var ws []*analysis.ServerWindow
		for k := range c.r.Windows {
			if w := serverWindow(s, src, c.r.Windows[k].Kind); w != nil {
				ws = append(ws, w)
			}
		}
		if len(ws) > 0 {
			c.table(c.serverTable(ws))
		}
	}
}

// named is how many gaps and resets are listed one by one.
const named = 5

// serverFacts say how a page was read.
func (c *console) serverFacts(s *analysis.ServerSource) {
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

// serverTable are the rows of one page, a column a window.
func (c *console) serverTable(ws []*analysis.ServerWindow) table {
	t := table{head: []string{""}}
	for _, w := range ws {
		t.head = append(t.head, w.Window)
	}
	add := func(label string, of func(w *analysis.ServerWindow) string) {
		r := row{cells: []string{label}}
		for _, w := range ws {
			v := of(w)
			if v == dash {
				c.dashes = true
			}
			r.cells = append(r.cells, v)
		}
		t.rows = append(t.rows, r)
	}
	add("covered by readings, s", func(w *analysis.ServerWindow) string { return num(w.CoveredS) + " of " + num(w.LengthS) })
	add("readings", func(w *analysis.ServerWindow) string { return count(w.Readings) })
	if slices.ContainsFunc(ws, func(w *analysis.ServerWindow) bool { return w.Gaps > 0 }) {
		add("gaps", func(w *analysis.ServerWindow) string { return count(w.Gaps) })
	}
	for _, name := range serverNames(ws) {
		var first *analysis.ServerRow
		var warned []string
		for _, w := range ws {
			if r := w.Row(name); r != nil {
				if first == nil {
					first = r
				}
				for _, x := range r.Warnings {
					warned = append(warned, w.Window+": "+x)
				}
			}
		}
		cellOf := func(f func(r *analysis.ServerRow) string) func(w *analysis.ServerWindow) string {
			return func(w *analysis.ServerWindow) string {
				r := w.Row(name)
				if r == nil {
					return dash
				}
				return f(r)
			}
		}
		label := serverLabel(name)
		under := func() {
			of := ""
			if first.Of > 1 {
				of = fmt.Sprintf(", %d series", first.Of)
			}
			t.rows = append(t.rows, row{under: clean(join(" ", first.Series+of, c.marks(warned)))})
		}
		switch {
		case first.Histogram != nil:
			warned = append(warned, c.serverHistogram(add, cellOf, label, first)...)
		case first.Increase != nil:
			add(withUnit(label, first.Unit), cellOf(func(r *analysis.ServerRow) string { return signed(r.Increase) + inParens(r.PerS, "/s") }))
		default:
			add(withUnit(label, first.Unit), cellOf(func(r *analysis.ServerRow) string {
				if r.Min == nil || r.Max == nil || *r.Min == *r.Max {
					return scaledCell(r.Mean, r.Unit)
				}
				return scaledCell(r.Mean, r.Unit) + " (" + scaledCell(r.Min, r.Unit) + "–" + scaledCell(r.Max, r.Unit) + ")"
			}))
		}
		under()
	}
	return t
}

// serverNames are the rows that any of the windows has, in the order of the
// catalogue.
func serverNames(ws []*analysis.ServerWindow) []string {
	var names []string
	for _, d := range analysis.Definitions() {
		name, ok := strings.CutPrefix(d.Name, "server.")
		if ok && slices.ContainsFunc(ws, func(w *analysis.ServerWindow) bool { return w.Row(name) != nil }) {
			names = append(names, name)
		}
	}
	return names
}

// serverHistogram are the lines of one: the server's, the client's, and the
// difference. It returns what one has to know of them.
func (c *console) serverHistogram(add func(string, func(*analysis.ServerWindow) string), cellOf func(func(*analysis.ServerRow) string) func(*analysis.ServerWindow) string, label string, first *analysis.ServerRow) (remarks []string) {
	client := first.Histogram.Client != nil
	add(withUnit(label+", mean", first.Unit), cellOf(func(r *analysis.ServerRow) string { return cell(r.Mean) + " (n " + num(r.Histogram.N) + ")" }))
	if client {
		add("  client", cellOf(func(r *analysis.ServerRow) string {
			if r.Histogram.Client == nil {
				return dash
			}
			return cell(r.Histogram.Client.Mean) + " (n " + count(r.Histogram.Client.N) + ")"
		}))
		add("  client − server", cellOf(func(r *analysis.ServerRow) string { return plus(r.Histogram.DifferenceMean) }))
	}
	for _, q := range []string{"p50", "p90", "p99"} {
		add(withUnit(label+", "+q, first.Unit), cellOf(func(r *analysis.ServerRow) string { return bounded(r.Histogram.Quantiles, q, true) }))
		if client {
			add("  client", cellOf(func(r *analysis.ServerRow) string {
				if r.Histogram.Client == nil {
					return dash
				}
				return cell(r.Histogram.Client.Quantiles[q])
			}))
			add("  client − server", cellOf(func(r *analysis.ServerRow) string { return bounded(r.Histogram.Difference, q, false) }))
		}
	}
	if first.Histogram.Counts != "" {
		remarks = append(remarks, label+" of a server: "+first.Histogram.Counts)
	}
	if client {
		remarks = append(remarks, "the client's beside it: "+first.Histogram.Client.Of)
	}
	return remarks
}

// bounded is a quantile, of which the bounds of its bucket are known and the place
// between them is a guess; of a difference the bounds alone.
func bounded(all map[string]analysis.ServerBounded, q string, value bool) string {
	b, ok := all[q]
	show := cell
	if !value {
		show = plus
	}
	switch {
	case !ok:
		return dash
	case b.High == nil && b.Low != nil:
		return "above " + show(b.Low)
	case b.Low == nil && b.High != nil:
		return "below " + show(b.High)
	case b.Low == nil:
		return dash
	case value:
		return fmt.Sprintf("~%s (%s–%s)", show(b.Value), show(b.Low), show(b.High))
	}
	return show(b.Low) + " to " + show(b.High)
}

// plus is cell with a sign.
func plus(p *float64) string {
	if p != nil && *p > 0 {
		return "+" + num(*p)
	}
	return strings.ReplaceAll(cell(p), "-", "−")
}

// signed is an increase.
func signed(p *float64) string {
	if p == nil {
		return dash
	}
	return "+" + num(*p)
}

// inParens is a value with its unit in brackets, or nothing.
func inParens(p *float64, unit string) string {
	if p == nil {
		return ""
	}
	return " (" + num(*p) + unit + ")"
}

// withUnit is a label with its unit, where the label does not say it.
func withUnit(label, unit string) string {
	switch {
	case unit == "" || unit == "requests" || strings.Contains(label, unit):
		return label
	case unit == "share":
		return label + ", %"
	}
	return label + ", " + unit
}

// scaledCell is a value in the unit of withUnit.
func scaledCell(p *float64, unit string) string {
	if p != nil && unit == "share" {
		return num(*p * 100)
	}
	return cell(p)
}
