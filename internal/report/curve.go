package report

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"tokentape/internal/analysis/curve"
)

// mostCurveRows is how many points a table of the short view shows.
const mostCurveRows = 40

// CurveConsole writes a sweep for people: what came of it, what must be known before
// its points are read against each other, then the points. With o.Full every point,
// every run, and the rules by which things were decided.
func CurveConsole(w io.Writer, c *curve.Curves, o Options) error {
	width := o.Width
	if width == 0 {
		width = 80
	}
	return writeCurves(w, c, o, page{width: max(width, 60), color: o.Color})
}

// CurveMarkdown is CurveConsole as Markdown, fit for a pull request.
func CurveMarkdown(w io.Writer, c *curve.Curves, o Options) error {
	return writeCurves(w, c, o, page{width: 160, md: true})
}

func writeCurves(w io.Writer, c *curve.Curves, o Options, p page) error {
	if err := finiteValue(reflect.ValueOf(*c), "curves"); err != nil {
		return err
	}
	p.curves(c, o.Full)
	_, err := io.WriteString(w, p.b.String())
	return err
}

func (p *page) curves(c *curve.Curves, full bool) {
	st := bold
	if !c.Fit || c.Measured == 0 {
		st = red
	}
	p.hang("", strings.ToUpper(c.Kind)+" "+clean(c.Name)+": "+clean(c.Line), st)
	p.blank()
	p.fact("varies", clean(strings.Join(c.Fields, ", ")))
	if c.Prompts != "" {
		p.fact("prompts", c.Prompts+map[string]string{"distinct": " between points", "same": " at every point"}[c.Prompts])
	}
	if len(c.Curves) > 1 {
		for i := range c.Curves {
			p.curveLines(c, &c.Curves[i])
		}
	}
	p.list("Before the points are read against each other", c.Notes, yellow)
	if c.Measured > 0 {
		p.curveTables(c, full)
	}
	p.curveLost(c, full)
	if c.Expected != nil {
		p.curveExpected(c, full)
	}
	if full {
		p.curveRuns(c)
	}
	if !full {
		if c.Measured == 0 {
			return
		}
		p.blank()
		p.hang("  ", "The rules of knee, front and saturation, and every run: --full", dim)
		return
	}
	p.heading("How it was decided")
	for _, r := range c.Rules {
		p.hang("  "+pad(r.Name, 13, false), r.Text, dim)
	}
}

// curveLines says knee and saturation of one of several curves.
func (p *page) curveLines(c *curve.Curves, g *curve.Curve) {
	var parts []string
	if g.Knee != nil {
		parts = append(parts, g.Knee.Line)
	}
	if g.Saturation != nil {
		parts = append(parts, g.Saturation.Line)
	}
	if len(parts) > 0 {
		p.hang("  "+pad(clean(g.At), 13, false)+" ", clean(strings.Join(parts, "; ")), plain)
	}
}

// curveColumn is one column of a table of points.
type curveColumn struct {
	head string
	cell func(*curve.Point) string
	// keep shows the column even where no point has anything in it.
	keep bool
}

func number(head, name string) curveColumn {
	return curveColumn{head: head, cell: func(p *curve.Point) string { return cell(p.Values[name].Value) }}
}

func shareOf(head, name string) curveColumn {
	return curveColumn{head: head, cell: func(p *curve.Point) string {
		v := p.Values[name].Value
		if v == nil {
			return dash
		}
		return share(v)
	}}
}

// curveTables are the tables of points.
func (p *page) curveTables(c *curve.Curves, full bool) {
	p.heading("Load and throughput")
	p.curveTable(c, full, []curveColumn{
		number("offered/s", "offered_per_s"), number("req/s", "requests_per_s"), number("in flight", "concurrency_mean"), number("out tok/s", "output_tokens_per_s"),
		number("tok/s/device", "output_tokens_per_s_per_device"), number("tok/s/user", "output_tokens_per_s_per_user"),
		{head: "n", cell: func(p *curve.Point) string { return count(p.Requests) }},
		{head: "window", cell: func(p *curve.Point) string { return p.Window }},
		{head: "knee front", cell: func(p *curve.Point) string { return CurveMarks(c, p) }},
		{head: "fit", keep: true, cell: func(p *curve.Point) string {
			if p.Fit {
				return "yes"
			}
			return "NO"
		}},
	})
	for _, m := range c.Latencies {
		p.heading(metricLabel(m, "ms") + promised(c, m))
		var cols []curveColumn
		for _, q := range []string{"p50", "p95", "p99"} {
			name := m + "." + q
			cols = append(cols,
				curveColumn{head: q, cell: func(p *curve.Point) string { return curveCell(p.Values[name]) }},
				curveColumn{head: "interval", cell: func(p *curve.Point) string { return brief(p.Values[name].CI) }})
		}
		p.curveTable(c, full, append(cols, curveColumn{head: "n", cell: func(p *curve.Point) string {
			if n := p.Values[m+".p50"].N; n > 0 {
				return count(n)
			}
			return dash
		}}))
	}
	p.heading("Beside it")
	p.curveTable(c, full, []curveColumn{
		shareOf("failed", "failed_share"), shareOf("SLO met", "slo_good_share"), number("goodput req/s", "slo_good_requests_per_s"),
		shareOf("cached", "cached_ratio"),
		{head: "cached is", cell: func(p *curve.Point) string { return p.CachedFrom }},
		number("backlog", "backlog_end"), number("grows/s", "backlog_slope_per_s"),
		{head: "load is", cell: func(p *curve.Point) string {
			if p.Backlog == nil {
				return ""
			}
			return p.Backlog.State
		}},
		number("server queue", "server_queue"),
		{head: "runs", cell: func(p *curve.Point) string {
			if len(p.Runs) == 1 {
				return ""
			}
			return fmt.Sprintf("%d of %d", p.Pooled, len(p.Runs))
		}},
	})
	p.blank()
	p.hang("  ", curveLegend, dim)
}

// promised is what the head of a table of percentiles promises of intervals.
func promised(c *curve.Curves, metric string) string {
	have, lack := false, false
	for i := range c.Points {
		for _, q := range []string{".p50", ".p95", ".p99"} {
			if v := c.Points[i].Values[metric+q]; v.Value != nil {
				known := v.CI[0] != nil && v.CI[1] != nil
				have, lack = have || known, lack || !known
			}
		}
	}
	switch {
	case !have:
		return ", without intervals"
	case lack:
		return ", with 95 % intervals where they can be had"
	}
	return ", with 95 % intervals"
}

const curveLegend = "K: knee. T, P, E: on the front of throughput against TTFT, TPOT, E2E. n small: too few requests beyond the percentile; unstable: the server did not keep up, " +
	"so that percentiles depend on how long it went on; –: not observed. Every value and interval: --format csv or json"

// curveCell is a percentile, or why there is none.
func curveCell(v curve.Value) string {
	switch {
	case v.Value != nil:
		return num(*v.Value)
	case v.Why == "n too small":
		return "n small"
	case strings.HasPrefix(v.Why, "unstable"):
		return "unstable"
	}
	return dash
}

// CurveMarks are K for the knee, and the latencies in whose front a point is.
func CurveMarks(c *curve.Curves, p *curve.Point) string {
	s := ""
	if p.Knee {
		s = "K "
	}
	for i, m := range c.Latencies {
		if slices.ContainsFunc(p.Front, func(f string) bool { return strings.HasPrefix(f, m+".") }) {
			s += "TPE"[i : i+1]
		}
	}
	return strings.TrimSpace(s)
}

// curveTable shows the measured points of every curve in its order; columns in which
// no point has anything are left out.
func (p *page) curveTable(c *curve.Curves, full bool, cols []curveColumn) {
	var points []*curve.Point
	for i := range c.Curves {
		for _, k := range c.Curves[i].Points {
			if c.Points[k].State == curve.Measured {
				points = append(points, &c.Points[k])
			}
		}
	}
	used := slices.DeleteFunc(slices.Clone(cols), func(col curveColumn) bool {
		return !col.keep && !slices.ContainsFunc(points, func(p *curve.Point) bool { s := col.cell(p); return s != "" && s != dash })
	})
	if len(used) == 0 {
		p.hang("  ", absent, dim)
		return
	}
	t := table{head: []string{"point"}}
	for _, col := range used {
		t.head = append(t.head, col.head)
	}
	shown := points
	if !full && len(points) > mostCurveRows {
		shown = points[:mostCurveRows]
	}
	for _, pt := range shown {
		cells := []string{clean(pt.Label)}
		for _, col := range used {
			cells = append(cells, col.cell(pt))
		}
		t.rows = append(t.rows, row{cells: cells})
	}
	p.table(t)
	if n := len(points) - len(shown); n > 0 {
		p.hang("  ", fmt.Sprintf("… and %s more: --full, or --format csv", count(int64(n))), dim)
	}
}

// curveLost are the points that were not measured, with the reason.
func (p *page) curveLost(c *curve.Curves, full bool) {
	var lost []*curve.Point
	for i := range c.Points {
		if c.Points[i].State != curve.Measured {
			lost = append(lost, &c.Points[i])
		}
	}
	if len(lost) == 0 {
		return
	}
	p.heading("Not measured")
	for i, pt := range lost {
		if !full && i == mostCurveRows {
			p.hang("  ", fmt.Sprintf("… and %s more: --full", count(int64(len(lost)-i))), dim)
			return
		}
		text := strings.ReplaceAll(pt.State, "_", " ")
		if pt.Reason != "" {
			text += ": " + pt.Reason
		}
		p.hang("  "+pad(clean(pt.Label), 13, false)+" ", clean(text), yellow)
	}
}

// curveExpected is the table of expected values.
func (p *page) curveExpected(c *curve.Curves, full bool) {
	p.heading("Expected and measured")
	p.hang("  ", clean(c.Expected.Line)+" ("+clean(c.Expected.Path)+")", plain)
	p.blank()
	t := table{head: []string{"point", "value", "expected", "measured", "interval", "ratio", "inside"}}
	for i, r := range c.Expected.Rows {
		if !full && i == mostCurveRows {
			break
		}
		cells := []string{clean(c.Points[r.Point].Label), r.Metric, num(r.Expected), cell(r.Measured), brief(r.CI), cell(r.Ratio), dash}
		if r.Measured == nil {
			cells[3] = curveCell(curve.Value{Why: r.Why})
			if cells[3] == dash {
				cells[3] = r.Why
			}
		}
		if r.Inside != nil {
			cells[6] = map[bool]string{true: "yes", false: "NO"}[*r.Inside]
		}
		t.rows = append(t.rows, row{cells: cells})
	}
	p.table(t)
	if n := len(c.Expected.Rows) - len(t.rows); n > 0 {
		p.hang("  ", fmt.Sprintf("… and %s more: --full", count(int64(n))), dim)
	}
}

// curveRuns lists every run, and what is said of how points keep up.
func (p *page) curveRuns(c *curve.Curves) {
	p.heading("Runs")
	for i := range c.Points {
		pt := &c.Points[i]
		for _, r := range pt.Runs {
			text := strings.ReplaceAll(r.State, "_", " ")
			for _, more := range []string{r.Path, r.Verdict, r.Reason, r.Hook} {
				if more != "" {
					text += " · " + more
				}
			}
			p.hang("  "+pad(clean(r.Name), 13, false)+" ", clean(text), plain)
		}
		if pt.Backlog != nil {
			p.hang("                ", clean(pt.Backlog.State+": "+pt.Backlog.Why), dim)
		}
		if pt.Window != "" && pt.WindowWhy != "" {
			p.hang("                ", clean("window "+pt.Window+": "+pt.WindowWhy), dim)
		}
	}
}
