package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tokentape/internal/analysis"
)

// windows shows system rates of all windows side by side, then the latency
// tables of each.
func (c *console) windows() {
	if len(c.r.Windows) == 0 {
		return
	}
	c.heading("The whole service, by window")
	c.table(c.systemTable())
	for i := range c.r.Windows {
		c.window(&c.r.Windows[i])
	}
}

func (c *console) systemTable() table {
	ws := c.r.Windows
	t := table{head: []string{""}}
	for _, w := range ws {
		t.head = append(t.head, w.Kind)
	}
	add := func(label string, of func(w *analysis.Window) string) {
		r := row{cells: []string{label}}
		seen := false
		for i := range ws {
			v := of(&ws[i])
			seen = seen || v != ""
			if v == dash {
				c.dashes = true
			}
			r.cells = append(r.cells, v)
		}
		if seen {
			t.rows = append(t.rows, r)
		}
	}
	ci := func(key string) {
		add("  95 % interval", func(w *analysis.Window) string { return between(w.System.CI[key]) })
	}
	add("from, s", func(w *analysis.Window) string { return moment(w.From) })
	add("to, s", func(w *analysis.Window) string { return moment(w.To) })
	add("duration, s", func(w *analysis.Window) string { return cell(w.System.DurationS) })
	add("ok requests in the tables", func(w *analysis.Window) string {
		if w.From == nil {
			return dash
		}
		return count(w.Held())
	})
	for _, name := range systemRates {
		add(systemLabel(name), func(w *analysis.Window) string { return cell(*systemValue(&w.System, name)) })
		ci(name)
	}
	add("tokens counted by", func(w *analysis.Window) string { return w.System.OutputTokensSource })
	add("concurrency, mean", func(w *analysis.Window) string { return cell(w.System.ConcurrencyMean) })
	ci("concurrency_mean")
	add("concurrency, peak", func(w *analysis.Window) string {
		if w.System.DurationS == nil {
			return dash
		}
		return whole(w.System.ConcurrencyPeak)
	})
	for _, name := range economy(ws) {
		add(systemLabel(name), func(w *analysis.Window) string { return cell(economyValue(w, name)) })
		ci(name)
	}
	add("in flight, mean ± sd", func(w *analysis.Window) string {
		if w.Facts.InFlightMean == nil || w.Facts.InFlightSD == nil {
			return cell(w.Facts.InFlightMean)
		}
		return num(*w.Facts.InFlightMean) + " ± " + num(*w.Facts.InFlightSD)
	})
	add("length in median E2E", func(w *analysis.Window) string { return cell(w.Facts.ServiceTimes) })
	if slices.ContainsFunc(ws, func(w analysis.Window) bool { return w.Facts.ToLastTokenS != nil }) {
		add("to the last token, s", func(w *analysis.Window) string { return cell(w.Facts.ToLastTokenS) })
	}
	add("cached ÷ input tokens", func(w *analysis.Window) string {
		if w.Facts.CachedRatio == nil {
			return dash
		}
		return share(w.Facts.CachedRatio)
	})
	if slices.ContainsFunc(ws, func(w analysis.Window) bool { return w.Facts.CachedRatio != nil }) {
		add("  observed + inferred 0", func(w *analysis.Window) string {
			if w.Facts.CachedRatio == nil {
				return dash
			}
			text := whole(w.Facts.CachedN) + " + " + whole(w.Facts.CachedInferN)
			if n := w.Facts.CachedNoneN; n != nil && *n > 0 {
				text += " of " + count(*w.Facts.CachedN+*w.Facts.CachedInferN+*n)
			}
			return text
		})
	}
	ratio := func(label string, of func(w *analysis.Window) (v *float64, n *int64)) {
		if !slices.ContainsFunc(ws, func(w analysis.Window) bool { v, _ := of(&w); return v != nil }) {
			return
		}
		add(label, func(w *analysis.Window) string { v, _ := of(w); return cell(v) })
		add("  n", func(w *analysis.Window) string {
			v, n := of(w)
			if v == nil {
				return dash
			}
			return whole(n)
		})
	}
	ratio(verifyLabel, acceptLength)
	ratio(draftsLabel, acceptRate)
	if slices.ContainsFunc(ws, func(w analysis.Window) bool { return w.Facts.GoodShare != nil }) {
		add("within the SLO", func(w *analysis.Window) string {
			if w.Facts.GoodShare == nil {
				return dash
			}
			return share(w.Facts.GoodShare)
		})
		good := func(label, key string, v func(w *analysis.Window) *float64) {
			if label != "" {
				add("  "+label, func(w *analysis.Window) string { return cell(v(w)) })
			}
			add("  95 % interval", func(w *analysis.Window) string {
				if w.Facts.Goodput == nil {
					return ""
				}
				return between(w.Facts.Goodput.CI[key])
			})
		}
		good("", "share", nil)
		good("requests/s", "requests_per_s", func(w *analysis.Window) *float64 { return w.Facts.GoodPerS })
		if slices.ContainsFunc(ws, func(w analysis.Window) bool { return w.Facts.GoodTokensPerS != nil }) {
			good("output tok/s", "output_tokens_per_s", func(w *analysis.Window) *float64 { return w.Facts.GoodTokensPerS })
		}
		for _, l := range goodLimits(ws) {
			add(fmt.Sprintf("  %s ≤ %s", l.Name, num(l.LimitMS)), func(w *analysis.Window) string {
				if w.Facts.Goodput == nil {
					return dash
				}
				i := slices.IndexFunc(w.Facts.Goodput.Limits, func(k analysis.GoodLimit) bool { return k.Name == l.Name })
				if i < 0 || w.Facts.Goodput.Limits[i].Share == nil {
					return dash
				}
				return share(w.Facts.Goodput.Limits[i].Share)
			})
		}
	}
	return t
}

// goodLimits are the limits of the SLO, the same in every window that has them.
func goodLimits(ws []analysis.Window) []analysis.GoodLimit {
	for i := range ws {
		if g := ws[i].Facts.Goodput; g != nil {
			return g.Limits
		}
	}
	return nil
}

// Speculation, as both views name it.
const (
	verifyLabel = "acceptance length"
	draftsLabel = "acceptance rate, %"
)

// acceptLength and acceptRate are the values of these rows and their n.
func acceptLength(w *analysis.Window) (*float64, *int64) {
	return w.Facts.AcceptLength, w.Facts.AcceptLenN
}

func acceptRate(w *analysis.Window) (*float64, *int64) {
	return percent(w.Facts.AcceptRate), w.Facts.AcceptRateN
}

// window is one latency table with how it was chosen and what it left out.
func (c *console) window(w *analysis.Window) {
	title := "Window " + w.Kind
	if w.From != nil && w.To != nil {
		title += fmt.Sprintf(" · %s to %s s · %s ok %s", moment(w.From), moment(w.To), count(w.Held()), plural(w.Held(), "request"))
	} else {
		title += " · does not exist in this run"
	}
	c.heading(title)
	if w.Why != "" {
		c.fact("chosen", clean(w.Why))
	}
	if w.LeftOut != "" {
		c.fact("left out", clean(w.LeftOut))
	}
	if w.FromWall != "" {
		c.fact("wall clock", clean(w.FromWall+" to "+w.ToWall))
	}
	if m := c.marks(w.Warnings); m != "" {
		c.fact("warnings", m)
	}
	names := metricNames(w)
	if len(names) == 0 {
		return
	}
	t := table{head: []string{"", "n", "mean", "p50", "p90", "p95", "p99", "max"}}
	for _, name := range names {
		s := w.Metrics[name]
		c.explain(name)
		label := metricLabel(name, s.Unit)
		if s.N == 0 {
			t.rows = append(t.rows, row{cells: []string{label, "0"}, wide: absent})
		} else {
			cells := []string{label, count(s.N)}
			for _, p := range []*float64{s.Mean, s.P50, s.P90, s.P95, s.P99, s.Max} {
				if p == nil {
					c.dashes = true
				}
				cells = append(cells, cell(p))
			}
			t.rows = append(t.rows, row{cells: cells})
		}
		if u := c.under(s); u != "" {
			t.rows = append(t.rows, row{under: u})
		}
	}
	c.table(t)
}

// under is the line below a metric: where the number is from, how many
// independent samples it is worth, how sure it is, what to beware of. What a
// source says of itself after a semicolon is a footnote, since metrics share it.
func (c *console) under(s *analysis.Summary) string {
	var parts []string
	source, remark, _ := strings.Cut(s.Source, "; ")
	if source != "" && s.N > 0 {
		if remark != "" {
			source += " " + c.note(remark)
		}
		parts = append(parts, clean(source))
	}
	if s.NEff != nil {
		parts = append(parts, "n_eff "+num(math.Round(*s.NEff)))
	}
	for _, k := range []string{"p50", "p99"} {
		if i := between(s.CI[k]); i != "" {
			parts = append(parts, k+" "+i)
		}
	}
	if m := c.marks(s.Warnings); m != "" {
		parts = append(parts, m)
	}
	return strings.Join(parts, " · ")
}

func (c *console) explain(name string) {
	if c.metrics == nil {
		c.metrics = map[string]bool{}
	}
	c.metrics[name] = true
}

// metricNames is the order of a window's metrics: analysis's own; the order of
// the definitions where that is not known (Results read back from JSON); what
// neither knows comes last, by name.
func metricNames(w *analysis.Window) []string {
	var names []string
	add := func(name string) {
		if w.Metrics[name] != nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range w.MetricOrder {
		add(name)
	}
	for _, t := range terms {
		add(t.name)
	}
	for _, name := range slices.Sorted(maps.Keys(w.Metrics)) {
		add(name)
	}
	return names
}

// systemRates are the rates that every window has, by their name in results.json.
var systemRates = []string{"requests_per_s", "output_tokens_per_s", "input_tokens_per_s", "total_tokens_per_s"}

// systemValue is the field of that name.
func systemValue(s *analysis.System, name string) **float64 {
	switch name {
	case "duration_s":
		return &s.DurationS
	case "requests_per_s":
		return &s.RequestsPerS
	case "output_tokens_per_s":
		return &s.OutputTokensPerS
	case "input_tokens_per_s":
		return &s.InputTokensPerS
	case "total_tokens_per_s":
		return &s.TotalTokensPerS
	case "concurrency_mean":
		return &s.ConcurrencyMean
	}
	panic("report: no system value " + name)
}

// systemLabel reads a name of results.json out: output_tokens_per_s_per_16_devices
// is "output tok/s per 16 devices".
func systemLabel(name string) string {
	return strings.NewReplacer("tokens_per_s", "tok/s", "requests_per_s", "requests/s", "_", " ").Replace(name)
}
