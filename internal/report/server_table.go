package report

import (
	"fmt"
	"slices"
	"strings"

	"tokentape/internal/analysis"
)

// serverTable shows the rows of one page, a column a window. Rows that are 0 in all
// windows, and quantiles of which the bucket says less than nothing, are named below it.
func (c *console) serverTable(ws []*analysis.ServerWindow) {
	t := serverRows{c: c, ws: ws, table: table{head: []string{""}}}
	for _, w := range ws {
		t.head = append(t.head, w.Window)
	}
	t.add("covered by readings, s", func(w *analysis.ServerWindow) string { return num(w.CoveredS) + " of " + num(w.LengthS) })
	t.add("readings", func(w *analysis.ServerWindow) string { return count(w.Readings) })
	if slices.ContainsFunc(ws, func(w *analysis.ServerWindow) bool { return w.Gaps > 0 }) {
		t.add("gaps", func(w *analysis.ServerWindow) string { return count(w.Gaps) })
	}
	for _, name := range serverNames(ws) {
		t.row(name)
	}
	c.table(t.table)
	below := func(lead string, what []string) {
		if len(what) > 0 {
			c.hang("  ", lead+": "+strings.Join(what, ", "), dim)
		}
	}
	below("0 throughout", t.zero)
	below("nothing observed", t.none)
	below("left out, since the bucket is wider than the value", t.vague)
}

// serverRows is such a table while it is made.
type serverRows struct {
	table
	c                 *console
	ws                []*analysis.ServerWindow
	zero, none, vague []string // labels
}

// add adds a line.
func (t *serverRows) add(label string, of func(w *analysis.ServerWindow) string) {
	r := row{cells: []string{label}}
	for _, w := range t.ws {
		v := of(w)
		if v == dash {
			t.c.dashes = true
		}
		r.cells = append(r.cells, v)
	}
	t.rows = append(t.rows, r)
}

// line adds a line of a named row.
func (t *serverRows) line(label, name string, of func(r *analysis.ServerRow) string) {
	t.add(label, func(w *analysis.ServerWindow) string {
		if r := w.Row(name); r != nil {
			return of(r)
		}
		return dash
	})
}

// row adds a named row.
func (t *serverRows) row(name string) {
	var all []*analysis.ServerRow
	var warned []string
	for _, w := range t.ws {
		if r := w.Row(name); r != nil {
			all = append(all, r)
			for _, x := range r.Warnings {
				warned = append(warned, w.Window+": "+x)
			}
		}
	}
	first, label := all[0], serverLabel(name)
	if first.Last != nil && reckoned[name] {
		label += ", the engine's gauge"
	}
	every := func(is func(r *analysis.ServerRow) bool) bool {
		return !slices.ContainsFunc(all, func(r *analysis.ServerRow) bool { return !is(r) })
	}
	marked := func(label string, more ...string) string {
		return join(" ", label, t.c.marks(append(more, warned...)))
	}
	switch {
	case first.Histogram != nil && every(func(r *analysis.ServerRow) bool { return r.Histogram == nil || r.Histogram.N == 0 }) && len(warned) == 0:
		t.none = append(t.none, label)
	case first.Histogram != nil:
		t.histogram(name, label, all, marked)
	case len(warned) == 0 && every(func(r *analysis.ServerRow) bool {
		return isZero(r.Increase) || r.Increase == nil && isZero(r.Mean) && (r.Max == nil || isZero(r.Max))
	}):
		t.zero = append(t.zero, label)
	case first.Increase != nil:
		t.line(marked(withUnit(label, first.Unit)), name, func(r *analysis.ServerRow) string { return signed(r.Increase) + inParens(r.PerS, "/s") })
	default:
		t.line(marked(withUnit(label, first.Unit)), name, func(r *analysis.ServerRow) string {
			if r.Min == nil || r.Max == nil || *r.Min == *r.Max {
				return scaledCell(r.Mean, r.Unit)
			}
			return scaledCell(r.Mean, r.Unit) + " (" + scaledCell(r.Min, r.Unit) + "–" + scaledCell(r.Max, r.Unit) + ")"
		})
	}
}

// reckoned are the rows that an engine reckons over a time of its own, often its last
// batch alone. Where its counters tell the same, the row is made of those, and has no
// last value.
var reckoned = map[string]bool{"generation_throughput": true, "cache_hit_rate": true, "accept_length": true, "accept_rate": true}

func isZero(p *float64) bool { return p != nil && *p == 0 }

// histogram adds the mean, and the quantiles of which the bucket says something, each
// with the client's below it and client − server in brackets; of a quantile only where
// the bounds tell at least its sign.
func (t *serverRows) histogram(name, label string, all []*analysis.ServerRow, marked func(string, ...string) string) {
	var remarks []string
	var client *analysis.ServerClient
	unit := all[0].Unit
	for _, r := range all {
		if r.Histogram == nil {
			continue
		}
		if x := r.Histogram.Counts; x != "" && len(remarks) == 0 {
			remarks = append(remarks, label+" of a server: "+x)
		}
		if client == nil {
			client = r.Histogram.Client
		}
	}
	beside := ""
	if client != nil {
		beside = "  " + besideName(client)
		remarks = append(remarks, "the client's beside it: "+client.Of)
	}
	t.line(marked(withUnit(label+", mean", unit), remarks...), name, func(r *analysis.ServerRow) string {
		return cell(r.Mean) + " (n " + num(r.Histogram.N) + ")"
	})
	if client != nil {
		t.line(beside, name, func(r *analysis.ServerRow) string {
			cl := r.Histogram.Client
			if cl == nil {
				return dash
			}
			more := []string{}
			if r.Histogram.DifferenceMean != nil {
				more = append(more, plus(r.Histogram.DifferenceMean))
			}
			if n := float64(cl.N); n < 0.9*r.Histogram.N || n > 1.1*r.Histogram.N {
				more = append(more, "n "+count(cl.N))
			}
			return join(" ", cell(cl.Mean), parens(strings.Join(more, ", ")))
		})
	}
	var vague []string
	for _, q := range []string{"p50", "p90", "p99"} {
		if !slices.ContainsFunc(all, func(r *analysis.ServerRow) bool { _, ok := r.Histogram.Quantiles[q]; return ok }) {
			continue
		}
		clear := func(r *analysis.ServerRow) bool {
			b, ok := r.Histogram.Quantiles[q]
			return ok && (b.High == nil || b.Low == nil || b.Value != nil && *b.High-*b.Low <= *b.Value)
		}
		if !slices.ContainsFunc(all, clear) {
			vague = append(vague, q)
			continue
		}
		t.line(withUnit(label+", "+q, unit), name, func(r *analysis.ServerRow) string { return bounded(r.Histogram.Quantiles, q, true) })
		if client != nil && client.Quantiles[q] != nil {
			t.line(beside, name, func(r *analysis.ServerRow) string {
				if r.Histogram.Client == nil || r.Histogram.Client.Quantiles[q] == nil {
					return dash
				}
				text := cell(r.Histogram.Client.Quantiles[q])
				if d := r.Histogram.Difference[q]; d.Low != nil && *d.Low > 0 || d.High != nil && *d.High < 0 {
					text = join(" ", text, parens(bounded(r.Histogram.Difference, q, false)))
				}
				return text
			})
		}
	}
	if len(vague) > 0 {
		t.vague = append(t.vague, strings.Join(vague, " ")+" of "+label)
	}
}

// besideName is the client's value beside a server's.
func besideName(c *analysis.ServerClient) string {
	if c.Metric != "" {
		return "client " + strings.ToUpper(c.Metric)
	}
	return "client"
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
