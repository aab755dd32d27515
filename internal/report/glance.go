package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tokentape/internal/analysis"
)

// exist are the windows that this run has.
func (c *console) exist() []*analysis.Window {
	var ws []*analysis.Window
	for i := range c.r.Windows {
		if c.r.Windows[i].From != nil {
			ws = append(ws, &c.r.Windows[i])
		}
	}
	return ws
}

// tables puts the windows side by side: latencies, then rates.
func (c *console) tables() {
	ws := c.exist()
	if len(ws) == 0 {
		return
	}
	latency := sideTable{heads: []sideRow{{label: "Latency by window"}, {label: "  ms"}}}
	service := sideTable{heads: []sideRow{{label: "The whole service"}}}
	for _, w := range ws {
		latency.heads[0].cells = append(latency.heads[0].cells, beside{value: w.Kind + " · n " + count(w.Held())})
		latency.heads[1].cells = append(latency.heads[1].cells, beside{value: moment(w.From) + dash + moment(w.To) + " s"})
		service.heads[0].cells = append(service.heads[0].cells, beside{value: w.Kind})
	}
	latency.rows = c.latencyRows(ws)
	service.rows = c.serviceRows(ws)
	tables := []sideTable{latency, service}
	for _, t := range tables {
		for _, r := range t.rows {
			c.intervals = c.intervals || slices.ContainsFunc(r.cells, func(b beside) bool { return strings.HasSuffix(b.interval, ")") })
		}
	}
	c.sideTables(tables)
}

// glanced are the metrics of the short view. TTFT from due says something of its
// own only where requests waited for a slot.
func (c *console) glanced() []string {
	names := []string{"ttft_ms"}
	if w := c.r.Load.SlotWaitShare; w != nil && *w > 0 {
		names = append(names, "ttft_from_due_ms")
	}
	names = append(names, "tpot_ms", "itl_ms", "e2e_ms")
	return slices.DeleteFunc(names, func(name string) bool {
		return !slices.ContainsFunc(c.exist(), func(w *analysis.Window) bool { return w.Metrics[name] != nil })
	})
}

func title(name string) string { return metricLabel(name, "") }

func (c *console) latencyRows(ws []*analysis.Window) []sideRow {
	names := c.glanced()
	width := 0
	for _, name := range names {
		width = max(width, columns.StringWidth(title(name)))
	}
	var rows []sideRow
	for _, name := range names {
		c.explain(name)
		of := func(w *analysis.Window) *analysis.Summary {
			if s := w.Metrics[name]; s != nil {
				return s
			}
			return &analysis.Summary{}
		}
		label := title(name)
		for _, stat := range statsOf(ws, of) {
			r := sideRow{label: "  " + pad(label, width, false) + " " + stat.label}
			for _, w := range ws {
				s := of(w)
				v := stat.of(s)
				switch {
				case s.N == 0:
					r.cells = append(r.cells, beside{value: absent})
				case v == nil:
					c.dashes = true
					r.cells = append(r.cells, beside{value: dash})
				default:
					b := beside{value: num(*v)}
					if stat.interval {
						b.interval = parens(brief(s.CI[stat.label]))
					}
					r.cells = append(r.cells, b)
				}
			}
			rows = append(rows, r)
			if !c.md { // there each row stands for itself
				label = ""
			}
		}
	}
	return rows
}

func parens(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}

// statistic is one row of a metric.
type statistic struct {
	label    string
	of       func(*analysis.Summary) *float64
	interval bool
}

var statistics = []statistic{
	{"mean", func(s *analysis.Summary) *float64 { return s.Mean }, false},
	{"p50", func(s *analysis.Summary) *float64 { return s.P50 }, true},
	{"p90", func(s *analysis.Summary) *float64 { return s.P90 }, false},
	{"p99", func(s *analysis.Summary) *float64 { return s.P99 }, true},
}

// statsOf are the rows that a metric is worth: one where all its values are the
// same, as those of a single request are; else those that some window has.
func statsOf(ws []*analysis.Window, of func(*analysis.Window) *analysis.Summary) []statistic {
	varies := func(w *analysis.Window) bool {
		s := of(w)
		return s.N > 1 && (s.Min == nil || s.Max == nil || *s.Min != *s.Max)
	}
	if !slices.ContainsFunc(ws, varies) {
		only := statistics[0]
		only.label = ""
		return []statistic{only}
	}
	var some []statistic
	for _, s := range statistics {
		if slices.ContainsFunc(ws, func(w *analysis.Window) bool { return s.of(of(w)) != nil }) {
			some = append(some, s)
		}
	}
	return some
}

func (c *console) serviceRows(ws []*analysis.Window) []sideRow {
	var rows []sideRow
	add := func(label string, of func(w *analysis.Window) beside) {
		r := sideRow{label: "  " + label}
		for _, w := range ws {
			r.cells = append(r.cells, of(w))
		}
		rows = append(rows, r)
	}
	rate := func(label, key string, of func(w *analysis.Window) *float64) {
		add(label, func(w *analysis.Window) beside { return beside{value(of(w)), parens(brief(w.System.CI[key]))} })
	}
	for _, name := range systemRates {
		add(systemLabel(name), func(w *analysis.Window) beside {
			if w.System.RequestsPerS == nil && w.System.DurationS != nil { // the window says why
				return beside{"no rate", ""}
			}
			return beside{value(*systemValue(&w.System, name)), parens(brief(w.System.CI[name]))}
		})
	}
	for _, name := range economy(c.r.Windows) {
		if atAGlance(name) {
			rate(deviceLabel(name), name, func(w *analysis.Window) *float64 { return economyValue(w, name) })
		}
	}
	add("concurrency / peak", func(w *analysis.Window) beside {
		if w.System.DurationS == nil {
			return beside{value(nil), ""}
		}
		return beside{value(w.System.ConcurrencyMean), join(" ", "/ "+whole(w.System.ConcurrencyPeak), parens(brief(w.System.CI["concurrency_mean"])))}
	})
	rate("duration, s", "duration_s", func(w *analysis.Window) *float64 { return w.System.DurationS })
	if slices.ContainsFunc(ws, func(w *analysis.Window) bool { return w.Facts.CachedRatio != nil }) {
		rate("cached ÷ input, %", "", func(w *analysis.Window) *float64 { return percent(w.Facts.CachedRatio) })
	}
	drafts := func(label string, of func(w *analysis.Window) (*float64, *int64)) {
		if !slices.ContainsFunc(ws, func(w *analysis.Window) bool { v, _ := of(w); return v != nil }) {
			return
		}
		add(label, func(w *analysis.Window) beside {
			v, n := of(w)
			if v == nil {
				return beside{value: absent}
			}
			return beside{num(*v), "n " + whole(n)}
		})
	}
	drafts(verifyLabel, acceptLength)
	drafts(draftsLabel, acceptRate)
	if slices.ContainsFunc(ws, func(w *analysis.Window) bool { return w.Facts.GoodShare != nil }) {
		rate("within the SLO, %", "", func(w *analysis.Window) *float64 { return percent(w.Facts.GoodShare) })
		rate("  requests/s", "", func(w *analysis.Window) *float64 { return w.Facts.GoodPerS })
	}
	return rows
}

func percent(share *float64) *float64 {
	if share == nil {
		return nil
	}
	v := *share * 100
	return &v
}

// reasons say how each window was chosen, what it left out and what to beware of.
func (c *console) reasons() {
	if len(c.r.Windows) == 0 {
		return
	}
	if len(c.exist()) > 1 {
		c.heading("Why the columns differ")
	} else {
		c.heading("Windows")
	}
	var small []*analysis.Window
	for i := range c.r.Windows {
		w := &c.r.Windows[i]
		text := w.Why
		above := slices.IndexFunc(missed(c.r.Verdict), func(k analysis.Check) bool { return k.Why == w.Why })
		if w.From == nil && above >= 0 {
			text = "does not exist: see " + missed(c.r.Verdict)[above].Name + " above"
		}
		if w.LeftOut != "" && w.LeftOut != "nothing" {
			text += ". Left out: " + w.LeftOut
		}
		c.hang("  "+pad(w.Kind, 7, false)+" ", clean(text), plain)
		for _, t := range w.Warnings {
			switch {
			case summedUp(t):
			case strings.HasPrefix(t, tooSmall):
				small = append(small, w)
			case c.above(t):
			default:
				c.hang("          ! ", clean(t), yellow)
			}
		}
	}
	c.small(small)
	c.shortDifferences()
	c.metricWarnings()
}

// above reports whether a check that missed says the same already.
func (c *console) above(warning string) bool {
	return slices.ContainsFunc(missed(c.r.Verdict), func(k analysis.Check) bool { return strings.Contains(k.Why, warning) })
}

// tooSmall begins analysis's warning of a window's size.
const tooSmall = "too small to confirm a steady state (convention): "

// small says once which windows miss the conventions of size; a check above may
// have said it of one.
func (c *console) small(ws []*analysis.Window) {
	var kinds []string
	for _, w := range ws {
		text := w.Kind
		for _, t := range w.Warnings {
			if what, ok := strings.CutPrefix(t, tooSmall); ok && len(ws) == 1 {
				text += ", " + what
			}
		}
		kinds = append(kinds, text)
	}
	said := slices.ContainsFunc(missed(c.r.Verdict), func(k analysis.Check) bool { return k.Name == "window_sufficiency" })
	switch {
	case len(ws) == 0 || said && len(ws) == 1:
	case said:
		c.hang("  ! ", "too small to confirm a steady state, as above: "+clean(strings.Join(kinds, ", ")), yellow)
	default:
		c.hang("  ! ", tooSmall+clean(strings.Join(kinds, ", ")), yellow)
	}
}

// metricWarnings show what qualifies a metric, once for all windows and metrics
// that share it: every warning but tail guards, and, of the metrics in the
// tables, what their sources say.
func (c *console) metricWarnings() {
	type remark struct {
		text           string
		metrics, kinds []string
	}
	var all []remark
	add := func(text, name, kind string) {
		i := slices.IndexFunc(all, func(r remark) bool { return r.text == text })
		if i < 0 {
			i, all = len(all), append(all, remark{text: text})
		}
		if t := title(name); !slices.Contains(all[i].metrics, t) {
			all[i].metrics = append(all[i].metrics, t)
		}
		if !slices.Contains(all[i].kinds, kind) {
			all[i].kinds = append(all[i].kinds, kind)
		}
	}
	for i := range c.r.Windows {
		w := &c.r.Windows[i]
		for _, name := range metricNames(w) {
			s := w.Metrics[name]
			for _, t := range s.Warnings {
				if !summedUp(t) {
					add(t, name, w.Kind)
				}
			}
			if _, t, ok := strings.Cut(s.Source, "; "); ok && (c.metrics[name] || name == "cached_tokens") {
				add(t, name, w.Kind)
			}
		}
	}
	for _, r := range all {
		where := ""
		if len(r.kinds) < len(c.exist()) {
			where = " (" + strings.Join(r.kinds, ", ") + ")"
		}
		c.hang("  ", clean(strings.Join(r.metrics, ", ")+where+": "+r.text), plain)
	}
}

// tailGuard is analysis's remark on quantiles that have too few samples beyond
// them, the one kind of warning that the short view sums up.
var tailGuard = regexp.MustCompile(`^(mean|p\d+) needs ((?:about )?([\d,]+) more requests?\b.*)$`)

// noInterval is analysis's remark on values that no length of the run gives an
// interval.
var noInterval = regexp.MustCompile(`^(mean|p\d+): no interval (with this load: .*)$`)

// summedUp reports whether a warning is one of those that the short view sums up.
func summedUp(t string) bool { return tailGuard.MatchString(t) || noInterval.MatchString(t) }

// tailGuards is one line for all of them, with the largest need of a metric in
// the tables. A single request has no tail to speak of, and a quantile that no
// table shows needs none.
func (c *console) tailGuards() string {
	var where string
	most := int64(-1)
	for _, w := range c.exist() {
		if w.Held() < 2 {
			continue
		}
		for _, name := range c.glanced() {
			s := w.Metrics[name]
			if s == nil {
				continue
			}
			for _, t := range s.Warnings {
				if m := noInterval.FindStringSubmatch(t); m != nil && m[1] != "p999" {
					if most < math.MaxInt64 {
						most, where = math.MaxInt64, fmt.Sprintf("%s of %s (%s) has none %s", m[1], title(name), w.Kind, m[2])
					}
					continue
				}
				m := tailGuard.FindStringSubmatch(t)
				if m == nil || m[1] == "p999" {
					continue
				}
				if n, err := strconv.ParseInt(strings.ReplaceAll(m[3], ",", ""), 10, 64); err == nil && n > most {
					most, where = n, fmt.Sprintf("%s of %s (%s) needs %s", m[1], title(name), w.Kind, m[2])
				}
			}
		}
	}
	if where == "" {
		return ""
	}
	text := "No interval where too few independent samples carry one: " + clean(where) + "."
	if c.md {
		return text
	}
	return text + " All: report --full."
}
