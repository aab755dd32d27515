package report

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"tokentape/internal/analysis/compare"
	"tokentape/internal/analysis/curve"
)

// CurveCompareConsole writes the comparison of two sweeps for people: how each metric
// goes along the curve, the points, and what makes them unlike.
func CurveCompareConsole(w io.Writer, c *curve.Comparison, o Options) error {
	width := o.Width
	if width == 0 {
		width = 80
	}
	return writeCurveCompare(w, c, o, page{width: max(width, 60), color: o.Color})
}

// CurveCompareMarkdown is CurveCompareConsole as Markdown.
func CurveCompareMarkdown(w io.Writer, c *curve.Comparison, o Options) error {
	return writeCurveCompare(w, c, o, page{width: 160, md: true})
}

func writeCurveCompare(w io.Writer, c *curve.Comparison, o Options, p page) error {
	if err := finiteValue(reflect.ValueOf(*c), "comparison"); err != nil {
		return err
	}
	st := styleOf(c.Verdict)
	if !c.Fit {
		st = red
	}
	p.hang("", strings.ToUpper(c.Verdict)+": "+clean(c.Line), st)
	p.blank()
	p.fact("A", clean(c.A.Path)+": "+clean(c.A.Line))
	p.fact("B", clean(c.B.Path)+": "+clean(c.B.Line))
	p.fact("decided by", CurveCompareTests(c))
	p.heading("Along the curve")
	for _, l := range c.Along {
		name := l.Metric
		if l.At != "" {
			name += " at " + clean(l.At)
		}
		p.hang("  "+name+" ", clean(l.Line), plain)
	}
	var open []string
	for _, u := range c.Open {
		text := strings.Join(u.Of, "; ") + ": " + u.Why
		if u.Do != "" {
			text += " → " + u.Do
		}
		open = append(open, text)
	}
	p.list("Why undecided", open, yellow)
	for _, one := range CurveCompareTables(c) {
		p.heading(one.Metric)
		t := table{head: []string{"point", "A", "B", "change", "interval", "verdict"}}
		for _, r := range one.Rows {
			t.rows = append(t.rows, row{cells: []string{clean(r.Label), r.A, r.B, r.Change, r.Interval, r.Verdict}})
		}
		p.table(t)
	}
	for _, s := range []struct {
		name string
		only []string
	}{{"A", c.OnlyA}, {"B", c.OnlyB}} {
		if len(s.only) > 0 {
			p.heading(fmt.Sprintf("Points in %s alone (%d)", s.name, len(s.only)))
			p.hang("  ", clean(strings.Join(s.only, ", ")), yellow)
		}
	}
	p.list("Warnings", c.Warnings, yellow)
	if o.Full {
		for i := range c.Pairs {
			if pair := &c.Pairs[i]; pair.Of != nil {
				p.list("Unlike at "+clean(pair.Label), pair.Of.Pairs[0].Unlike, yellow)
			}
		}
	}
	p.blank()
	p.hang("  ", CurveCompareLegend, dim)
	_, err := io.WriteString(w, p.b.String())
	return err
}

// CurveCompareTests says by what it is decided, and of how many tests.
func CurveCompareTests(c *curve.Comparison) string {
	on := strings.Join(c.On, ", ")
	if c.Family == 0 {
		return on + "; at no point could a test be made"
	}
	return fmt.Sprintf("%s; %s at all points, corrected for their number (Holm), at 5 %%", on, count(int64(c.Family))+" "+plural(int64(c.Family), "test"))
}

// CurveCompareTable is one deciding metric at every point that both sweeps have.
type CurveCompareTable struct {
	Metric string
	Rows   []CurveCompareRow
}

// CurveCompareRow is one point, its numbers as people read them.
type CurveCompareRow struct{ Label, A, B, Change, Interval, Verdict string }

// CurveCompareTables are the tables of a comparison, in the order of its metrics.
func CurveCompareTables(c *curve.Comparison) []CurveCompareTable {
	var out []CurveCompareTable
	for _, name := range c.On {
		t := CurveCompareTable{Metric: name}
		for i := range c.Pairs {
			pair := &c.Pairs[i]
			r := CurveCompareRow{pair.Label, dash, dash, dash, dash, dash}
			if m := metricOf(pair, name); m != nil {
				r = CurveCompareRow{pair.Label, sideValue(m, m.A), sideValue(m, m.B), marked(m), reach(m), sign(m)}
				if !m.Decides {
					r.Verdict = "not judged"
				}
			}
			t.Rows = append(t.Rows, r)
		}
		out = append(out, t)
	}
	return out
}

// CurveCompareLegend says what the signs of these tables mean.
const CurveCompareLegend = "change: B − A in percent of A (pt: points of a share), with its interval of 95 % or more; † of the paired rows alone; ~ undecided; " +
	"better and worse: different by the test, after correction, and beyond the tolerance; same: the whole interval within it"

func metricOf(p *curve.PointPair, name string) *compare.Metric {
	if p.Of == nil {
		return nil
	}
	for i := range p.Of.Pairs[0].Metrics {
		if m := &p.Of.Pairs[0].Metrics[i]; m.Name == name {
			return m
		}
	}
	return nil
}
