package chart

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"tokentape/internal/analysis"
)

// sheet gathers the charts, as time.js, dist.js and waterfall.js do.
type sheet struct {
	*data
	chosen string // window
	view   [2]float64
	charts []*Chart
}

func (s *sheet) add(c *Chart) {
	if c.label == "" {
		c.label = c.Title
	}
	s.charts = append(s.charts, c)
}

// over is a chart over time, if any of its series that are in the legend has a value.
type over struct {
	id, title string
	height    float64 // 0: 150
	series    []series
	levels    []level
}

func (s *sheet) time(o over) {
	shown := slices.DeleteFunc(o.series, func(l series) bool {
		return !slices.ContainsFunc(l.all(), func(v float64) bool { return !math.IsNaN(v) })
	})
	var legend []key
	var peaks []string
	for i := range shown {
		l := &shown[i]
		name := l.plain
		switch {
		case name == "" && l.name == "":
			continue
		case name == "":
			name = s.say(l.name)
		}
		legend = append(legend, key{l.color, name, l.dash != nil})
		peaks = append(peaks, name+": "+s.say("peak")+" "+num(greatest(l.all())))
	}
	if legend == nil {
		return
	}
	height := o.height
	if height == 0 {
		height = 150
	}
	view, spans := s.view, s.spans(s.chosen)
	s.add(&Chart{ID: o.id, Title: o.title, height: height, legend: legend, label: s.say("chart.label", o.title, strings.Join(peaks, "; ")),
		draw: func(c *pen, w, h float64, ink palette) { drawTime(c, w, h, shown, o.levels, view, spans, ink) }})
}

func greatest(vs []float64) float64 {
	m := math.NaN()
	for _, v := range vs {
		if math.IsNaN(m) || v > m {
			m = v
		}
	}
	return m
}

func (s *sheet) makeTime() {
	t := s.Time
	if t == nil {
		return
	}
	s.view = [2]float64{t.First, math.Max(t.Last, t.First+1e-3)}
	var there []ruled
	for _, kind := range s.Windows {
		if spans := s.spans(kind); len(spans) > 0 {
			there = append(there, ruled{kind, spans, kind == s.chosen})
		}
	}
	view := s.view
	s.add(&Chart{ID: "windows", Title: s.say("windows"), height: float64(max(1, len(there))*16 + 2),
		draw: func(c *pen, w, h float64, ink palette) { drawRuler(c, w, h, there, view, ink) }})
	of := func(name, column, color, kind string) series {
		g := &t.grid
		if kind == "rate" {
			g, kind = &t.Rates, "step"
		}
		return series{name: name, color: color, kind: kind, grid: g, values: t.Series[column]}
	}
	peak := of("peak", "in_flight_peak", "sky", "step")
	peak.width = 1
	var levels []level
	if n := float64(s.results.Load.Concurrency); n != 0 {
		levels = []level{{n, "C = " + num(n)}}
	}
	s.time(over{id: "in-flight", title: s.say("in_flight"), series: []series{of("in_flight", "in_flight", "blue", "area"), peak, of("waiting", "waiting", "orange", "step"), of("client_lag", "client_lag", "brown", "step")}, levels: levels})
	offered := of("offered", "offered", "grey", "rate")
	offered.dash = []float64{4, 3}
	s.time(over{id: "rates", title: s.say("rates"), series: []series{offered, of("sent", "sent", "blue", "rate"), of("ended", "ended", "green", "rate"), of("failed", "failed", "red", "rate"), of("abandoned", "abandoned", "purple", "rate")}})
	output := of("output_rate", "output_tokens", "green", "area")
	output.grid = &t.Tokens
	s.time(over{id: "output-tokens", title: s.say("output_rate"), series: []series{output}})
	input := of("input_rate", "input_tokens", "purple", "rate")
	input.kind = "area"
	s.time(over{id: "input-tokens", title: s.say("input_rate"), height: 110, series: []series{input}})
	for i := range s.Latency {
		l := &s.Latency[i]
		line := func(name string, vs []*float64, color string) series {
			return series{name: name, color: color, kind: "step", grid: &l.grid, values: values(vs)}
		}
		p99, p90, p50 := line("p99", l.P99, "red"), line("p90", l.P90, "orange"), line("p50", l.P50, "blue")
		p90.dash, p50.width = []float64{5, 3}, 2
		s.time(over{id: strings.Replace(l.Metric, "_ms", "-time", 1), title: s.say(l.Metric + ".time"), series: []series{s.cloudOf(l.Metric), p99, p90, p50}})
	}
	s.serverCharts()
	if c := s.results.Cache; c != nil && len(c.Time) > 1 {
		p := &points{}
		for _, slice := range c.Time {
			p.t = append(p.t, (slice.From+slice.To)/2)
			p.v = append(p.v, at(slice.Ratio)*100)
		}
		s.time(over{id: "cached-ratio", title: s.say("cached_over_time"), height: 110, series: []series{{name: "cached_share", color: "purple", kind: "line", points: p}}})
	}
}

// cloudOf are the measured ok requests as dots: by release, one value each. Of more
// than there is room for, the slowest of each moment and some of the others.
func (s *sheet) cloudOf(metric string) series {
	const mostDots, thinSlots = 8000, 1500
	vs, released := s.column(metric), s.column("released")
	out := series{color: "grey", kind: "dots", alpha: 0.6}
	if vs == nil || released == nil {
		return out
	}
	keep := slices.DeleteFunc(slices.Clone(s.measuredOK()), func(i int) bool { return math.IsNaN(vs[i]) || math.IsNaN(released[i]) })
	slices.SortStableFunc(keep, func(a, b int) int { return cmp.Compare(released[a], released[b]) })
	if len(keep) > 1000 {
		out.alpha = 0.3
	}
	from, to := place(keep, released, s.view[0]), place(keep, released, s.view[1])+1
	if to-from > mostDots {
		var take []int
		per := (len(keep) + thinSlots - 1) / thinSlots
		for a := 0; a < len(keep); a += per {
			b := min(len(keep), a+per)
			top := a
			for k := a; k < b; k++ {
				if vs[keep[k]] > vs[keep[top]] {
					top = k
				}
			}
			take = append(take, keep[top])
			for k := range 4 {
				take = append(take, keep[min(b-1, a+int((float64(k)+0.5)*float64(b-a)/4))])
			}
		}
		keep = take
	} else {
		keep = keep[from:min(to, len(keep))]
	}
	out.points = &points{pick(released, keep), pick(vs, keep)}
	return out
}

// place is where the first of the rows lies whose value is t or more.
func place(rows []int, col []float64, t float64) int {
	i, _ := slices.BinarySearchFunc(rows, t, func(row int, t float64) int { return cmp.Compare(col[row], t) })
	return i
}

// serverCharts are the server's own gauges: those of one name together, a line for
// each page.
func (s *sheet) serverCharts() {
	if s.results.Server == nil {
		return
	}
	by := map[string][]analysis.ServerLine{}
	var names []string
	for _, l := range s.results.Server.Lines {
		if by[l.Name] == nil {
			names = append(names, l.Name)
		}
		by[l.Name] = append(by[l.Name], l)
	}
	colors := []string{"blue", "orange", "green", "purple", "grey", "yellow", "sky", "red"}
	for _, name := range names {
		title := s.Defs["server."+name].Title
		if title == "" {
			title = strings.ReplaceAll(name, "_", " ")
		}
		o := over{id: "server-" + strings.ReplaceAll(name, "_", "-"), title: title + ", " + by[name][0].Unit, height: 110}
		for i, l := range by[name] {
			plain := l.Source
			if l.Part != nil {
				plain += " (" + strconv.FormatInt(*l.Part, 10) + ")"
			}
			o.series = append(o.series, series{plain: plain, color: colors[i%len(colors)], kind: "line", points: &points{l.T, l.Value}})
		}
		s.time(o)
	}
}

func (s *sheet) makeClient() {
	c := s.Client
	if c == nil {
		return
	}
	t := values(c["t"])
	if s.Time == nil {
		end := t[len(t)-1]
		if end == 0 {
			end = 1
		}
		s.view = [2]float64{math.Min(0, t[0]), end}
	}
	line := func(name, color string) series {
		return series{name: name, color: color, kind: "line", points: &points{t, values(c[name])}}
	}
	few := func(id string, list ...series) { s.time(over{id: id, title: s.say(id), height: 96, series: list}) }
	host := line("host_cpu", "grey")
	host.dash = []float64{4, 3}
	few("client.cpu", line("cpu", "blue"), host)
	few("client.lag", line("pacer_lag_p99_ms", "orange"), line("sched_p99_ms", "purple"), line("gc_pause_ms", "grey"))
	few("client.memory", line("rss_mb", "green"), line("queue", "red"))
}

func (s *sheet) summary(metric string) *analysis.Summary {
	for i := range s.results.Windows {
		if w := &s.results.Windows[i]; w.Kind == s.chosen {
			return w.Metrics[metric]
		}
	}
	return nil
}

func (s *sheet) makeDists() {
	var metrics []string
	for _, d := range s.Dists {
		if !slices.Contains(metrics, d.Metric) {
			metrics = append(metrics, d.Metric)
		}
	}
	for _, m := range metrics {
		s.dist(m)
	}
	s.lengths("ttft-input", "input", s.ByInput, "blue")
	s.lengths("ttft-cached", "cached", s.ByCached, "green")
}

// dist are the histogram and the CDF of a metric in the chosen window.
func (s *sheet) dist(m string) {
	var d *analysis.Distribution
	unit := ""
	for i := range s.Dists {
		if x := &s.Dists[i]; x.Metric == m {
			if unit == "" {
				unit = x.Unit
			}
			if x.Window == s.chosen && d == nil {
				d = x
			}
		}
	}
	var marks []mark
	label := s.say("not_observed")
	if sum := s.summary(m); sum != nil {
		marks = []mark{{at(sum.P50), "p50"}, {at(sum.P90), "p90"}, {at(sum.P99), "p99"}}
		label = s.say("chart.label", s.say(m+".histogram"), s.chosen+": n "+num(float64(sum.N))+", mean "+num(at(sum.Mean))+", p50 "+num(at(sum.P50))+", p90 "+num(at(sum.P90))+", p99 "+num(at(sum.P99))+", max "+num(at(sum.Max))+" "+sum.Unit)
	}
	id := strings.ReplaceAll(strings.TrimSuffix(m, "_ms"), "_", "-")
	histogram := &Chart{ID: id + "-histogram", Title: s.say(m + ".histogram"), height: 190, label: label, draw: s.nothing}
	cdf := &Chart{ID: id + "-cdf", Title: s.say(m + ".cdf"), height: 190, label: label, draw: s.nothing}
	if d != nil {
		b, log := &d.Linear, d.Log != nil
		if log {
			b = d.Log
		}
		legend := s.chosen + ", n " + num(float64(d.N))
		if b.Over != 0 {
			legend += " · " + s.say("bins.over", num(float64(b.Over)), num(b.From+float64(float64(len(b.Counts))*b.Step)))
		}
		if b.Under != 0 {
			legend += " · " + s.say("bins.under", num(float64(b.Under)), num(b.From))
		}
		histogram.legend = []key{{color: "blue", text: legend}}
		histogram.draw = func(c *pen, w, h float64, ink palette) { drawHistogram(c, w, h, b, log, unit, marks, ink) }
		cdf.legend = []key{{color: "blue", text: s.chosen}}
		cdf.draw = func(c *pen, w, h float64, ink palette) { drawCDF(c, w, h, d.CDF, unit, marks, ink) }
	}
	s.add(histogram)
	s.add(cdf)
}

func (s *sheet) nothing(c *pen, w, h float64, ink palette) {
	c.fill, c.align, c.baseline = ink["faint"], "center", "middle"
	c.fillText(s.say("not_observed"), w/2, h/2)
}

// lengths is TTFT against a length.
func (s *sheet) lengths(id, name string, list []analysis.LengthGroup, color string) {
	if len(list) == 0 {
		return
	}
	x, y := s.column(name), s.column("ttft_ms")
	p := &points{}
	if x != nil && y != nil {
		keep := slices.DeleteFunc(slices.Clone(s.measuredOK()), func(i int) bool { return math.IsNaN(x[i]) || math.IsNaN(y[i]) })
		p = &points{pick(x, keep), pick(y, keep)}
	}
	var groups []string
	for _, g := range list {
		groups = append(groups, num(float64(g.From))+"–"+num(float64(g.To))+": p50 "+num(at(g.P50))+" ms")
	}
	unit := s.say("tokens")
	s.add(&Chart{ID: id, Title: s.say(id), height: 220, label: s.say("chart.label", s.say(id), strings.Join(groups, "; ")),
		legend: []key{{color: color, text: "TTFT ms · " + num(float64(len(p.t))) + " " + s.say(map[bool]string{true: "request", false: "requests"}[len(p.t) == 1])}},
		draw:   func(c *pen, w, h float64, ink palette) { drawCloud(c, w, h, p, unit, color, ink) }})
}

func (s *sheet) makeFall() {
	if s.Time == nil {
		return
	}
	f := newFall(s.data)
	if f == nil {
		return
	}
	var legend []key
	for _, kind := range []string{"wait", "lag", "connect", "prefill", "decode", "whole", "tail", "stall", "failed", "abandoned"} {
		if f.has(kind) {
			name := kind
			if kind == "whole" && s.Untold {
				name = "untold"
			}
			legend = append(legend, key{color: fallColors[kind], text: s.say("w." + name)})
		}
	}
	view, spans, title := s.view, s.spans(s.chosen), s.say("waterfall.title")
	s.add(&Chart{ID: "waterfall", Title: title, height: 420, legend: legend,
		label: s.say("chart.label", title, num(float64(len(f.rel)))+" "+s.say("requests")+"; "+num(float64(s.results.Counts.Failed))+" "+s.say("failed")),
		draw:  func(c *pen, w, h float64, ink palette) { f.draw(c, w, h, view, spans, ink) }})
}
