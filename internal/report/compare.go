package report

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"tokentape/internal/analysis/compare"
)

// CompareJSON writes a comparison as JSON, indented, fields in order: equal
// comparisons are equal bytes.
func CompareJSON(w io.Writer, c *compare.Comparison) error {
	if err := finiteValue(reflect.ValueOf(*c), "comparison"); err != nil {
		return err
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(c); err != nil {
		return fmt.Errorf("writing the comparison: %w", err)
	}
	return nil
}

// glimpse are the metrics of one page, beside those that decide. All others stand
// in the full console view and in JSON.
var glimpse = []string{
	"ttft_ms.p50", "ttft_ms.p95", "ttft_ms.p99", "tpot_ms.p50", "tpot_ms.p95", "itl_ms.p50", "itl_ms.p99", "e2e_ms.p50", "e2e_ms.p95",
	"output_tokens_per_s", "total_tokens_per_s", "requests_per_s", "slo_good_share", "slo_good_requests_per_s", "failed_share", "cached_ratio",
}

// shown are the metrics of a table: those that decide first.
func shown(p *compare.Pair, full bool) []*compare.Metric {
	var out []*compare.Metric
	for _, decides := range []bool{true, false} {
		for i := range p.Metrics {
			m := &p.Metrics[i]
			if m.Decides == decides && (decides || full || slices.Contains(glimpse, m.Name)) {
				out = append(out, m)
			}
		}
	}
	return out
}

// sign is the short form of a verdict: ~ where nothing was decided.
func sign(m *compare.Metric) string {
	if m.Verdict == compare.Undecided {
		return "~"
	}
	return m.Verdict
}

// inPercent is a change in percent, with its sign, or in points of a share.
func inPercent(p *float64) string {
	if p == nil {
		return dash
	}
	return fmt.Sprintf("%+.2f", *p*100)
}

// change is inPercent with its unit; where A is 0 there is no relative change, and the
// shift itself is shown.
func change(m *compare.Metric) string {
	switch {
	case m.Change == nil && m.Shift == nil:
		return dash
	case m.Change == nil:
		return fmt.Sprintf("%+.3g", *m.Shift)
	case m.Unit == "share":
		return inPercent(m.Change) + " pt"
	}
	return inPercent(m.Change) + " %"
}

// reach is the interval of change.
func reach(m *compare.Metric) string {
	if m.ChangeCI[0] == nil || m.ChangeCI[1] == nil {
		return dash
	}
	return inPercent(m.ChangeCI[0]) + " … " + inPercent(m.ChangeCI[1])
}

// sideValue is a value on one side.
func sideValue(m *compare.Metric, v compare.Value) string {
	if m.Unit == "share" && v.Value != nil {
		return share(v.Value)
	}
	return cell(v.Value)
}

// probability is a p-value to two digits.
func probability(p *float64) string {
	switch {
	case p == nil:
		return dash
	case *p < 0.001:
		return "<0.001"
	}
	return fmt.Sprintf("%.2g", *p)
}

// decisive says in words what a deciding metric is judged by.
func decisive(m *compare.Metric) string {
	unit := " %"
	if m.Unit == "share" {
		unit = " pt"
	}
	s := fmt.Sprintf("%s: %s (%s), tolerance %s%s", m.Verdict, change(m), reach(m), num(m.Tolerance*100), unit)
	if m.P != nil {
		s += ", p " + probability(m.P)
	}
	if m.PAdjusted != nil {
		s += ", adjusted " + probability(m.PAdjusted)
	}
	for _, more := range []string{m.Why, pairedRows(m)} {
		if more != "" {
			s += "; " + more
		}
	}
	return s
}

// pairedRows are the values of the rows that a change marked † is of.
func pairedRows(m *compare.Metric) string {
	if m.PairedA == nil || m.PairedB == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s → %s", count(m.Pairs), plural(m.Pairs, "paired row"), cell(m.PairedA), cell(m.PairedB))
}

// marked is change, with a † where it is of the paired rows alone.
func marked(m *compare.Metric) string {
	if m.PairedA == nil {
		return change(m)
	}
	return change(m) + " †"
}

// runsOf says how many runs a side has, and how many of them are not fit for use.
func runsOf(s compare.Side) string {
	unfit := 0
	for _, r := range s.Runs {
		if !r.Fit {
			unfit++
		}
	}
	text := "1 run"
	if n := len(s.Runs); n != 1 {
		text = fmt.Sprintf("%d runs", n)
	}
	switch {
	case unfit > 0 && len(s.Runs) == 1:
		return text + ", NOT fit for use"
	case unfit > 0:
		return fmt.Sprintf("%s, %d NOT fit for use", text, unfit)
	case len(s.Runs) == 1:
		return text + ", fit for use"
	}
	return text + ", all fit for use"
}

// corrected says how many tests the verdict rests on.
func corrected(c *compare.Comparison) string {
	if c.Family == 0 {
		return strings.Join(c.On, ", ") + "; no test could be made"
	}
	if c.Family == 1 {
		return fmt.Sprintf("%s; 1 test, at %s %%", strings.Join(c.On, ", "), num(c.Alpha*100))
	}
	return fmt.Sprintf("%s; %d tests, corrected for their number (Holm), at %s %%", strings.Join(c.On, ", "), c.Family, num(c.Alpha*100))
}

const compareLegend = "change: B − A in percent of A (pt: points of a share), with its interval of 95 % or more; ~ undecided; " +
	"better and worse: different by the test and beyond the tolerance; same: the whole interval within it. " +
	"Only metrics marked * decide. The others are not corrected for their number: at 95 % one in twenty equal ones looks different"

// legend is compareLegend, after what † means where it is used.
func legend(c *compare.Comparison) string {
	for _, p := range c.Pairs {
		for _, m := range p.Metrics {
			if m.PairedA != nil {
				return "†: change and interval are those of the rows that are paired; A and B are the runs' own values. " + compareLegend
			}
		}
	}
	return compareLegend
}

func styleOf(verdict string) style {
	switch verdict {
	case compare.Worse:
		return red
	case compare.Better, compare.Same:
		return green
	}
	return yellow
}

// CompareConsole writes a comparison for people: the verdict, what it rests on, the
// table, and everything that differs between the sides.
func CompareConsole(w io.Writer, c *compare.Comparison, o Options) error {
	if err := finiteValue(reflect.ValueOf(*c), "comparison"); err != nil {
		return err
	}
	width := o.Width
	if width == 0 {
		width = 80
	}
	p := &page{width: max(width, 60), color: o.Color, zh: o.Lang == zh}
	st := styleOf(c.Verdict)
	if !c.Fit {
		st = red
	}
	p.hang("", strings.ToUpper(c.Verdict)+": "+clean(c.Line), st)
	p.blank()
	for _, s := range c.Sides {
		p.fact(s.Name, clean(s.Path)+": "+runsOf(s))
		for _, r := range s.Runs {
			if !o.Full && len(s.Runs) > 1 && r.Fit {
				continue // one line says it
			}
			p.hang(strings.Repeat(" ", 15), fmt.Sprintf("%s · %s of %s ok · %s", clean(r.Path), count(r.OK), count(r.Planned), clean(r.Verdict)), dim)
		}
	}
	p.fact("window", clean(c.Window)+": "+clean(c.WindowWhy))
	p.fact("decided by", corrected(c))
	for i := range c.Pairs {
		p.pair(&c.Pairs[i], len(c.Pairs) > 1, o.Full)
	}
	p.list("Warnings about the runs", c.Warnings, yellow)
	p.blank()
	p.hang("  ", legend(c), dim)
	_, err := io.WriteString(w, p.b.String())
	return err
}

func (p *page) pair(r *compare.Pair, several, full bool) {
	p.heading(r.B + " against " + r.A)
	if several {
		p.hang("  ", clean(r.Line), styleOf(r.Verdict))
	}
	p.fact("method", clean(r.Method))
	for i := range r.Metrics {
		if m := &r.Metrics[i]; m.Decides {
			p.hang("  ", m.Name+" "+clean(decisive(m)), styleOf(m.Verdict))
		}
	}
	p.blank()
	t := table{head: []string{"metric", r.A, r.B, "change", "interval", "verdict"}}
	for _, m := range shown(r, full) {
		name := m.Name
		if m.Decides {
			name += " *"
		}
		cells := []string{name, sideValue(m, m.A), sideValue(m, m.B), marked(m), reach(m), p.said(sign(m))}
		if columns.StringWidth(name) > 25 { // a long name has a line of its own
			t.rows = append(t.rows, row{cells: []string{name}})
			cells[0] = ""
		}
		t.rows = append(t.rows, row{cells: cells})
	}
	p.compareTable(t)
	p.list("Unlike: the sides do not answer quite the same question", r.Unlike, yellow)
	p.list("Warnings", r.Warnings, yellow)
	if ds := folded(r.Differences); len(ds) > 0 {
		p.heading(fmt.Sprintf("Recorded facts that differ (%d)", len(ds)))
		for _, d := range ds {
			p.quote("  ", p.said(clean(d.Path))+p.colon()+p.sideFact(d.A)+" → "+p.sideFact(d.B), plain)
		}
	}
}

// compareTable is a table whose first column, when it is alone in its row, widens
// nothing.
func (p *page) compareTable(t table) {
	wide := t
	wide.rows = nil
	for _, r := range t.rows {
		if len(r.cells) == 1 {
			r = row{under: r.cells[0]}
		}
		wide.rows = append(wide.rows, r)
	}
	p.table(wide)
}

func (p *page) list(heading string, texts []string, st style) {
	if len(texts) == 0 {
		return
	}
	p.heading(heading)
	lead := "  · "
	if p.md {
		lead = "  - "
	}
	for _, t := range texts {
		p.hang(lead, clean(t), st)
	}
}

// sideFact is one side of a difference: a value from outside, in no language.
func (p *page) sideFact(s string) string {
	if s == "" {
		return p.said("(absent)")
	}
	return clean(s)
}

// colon is what stands between a name and what is said of it.
func (p *page) colon() string {
	if p.zh {
		return "："
	}
	return ": "
}

// place are the facts that say where a server was: that they differ is the point of
// most comparisons.
var place = regexp.MustCompile(`^(server\.(url|urls|remote)|spec\.target\.(url|urls))([.\[].*)?$`)

// folded are differences with those of place in one line, which names the addresses
// of both sides once.
func folded(ds []compare.Difference) []compare.Difference {
	var rest, at []compare.Difference
	for _, d := range ds {
		if place.MatchString(d.Path) {
			at = append(at, d)
		} else {
			rest = append(rest, d)
		}
	}
	if len(at) < 2 {
		return ds
	}
	best := at[0] // the recorded URL says most
	for _, d := range at {
		if d.Path == "server.url" {
			best = d
		}
	}
	return append([]compare.Difference{{Path: "where the server is", A: best.A, B: best.B}}, rest...)
}

// CompareMarkdown writes a comparison for a pull request: the verdict, the table and
// the warnings in sight, the rest folded away.
func CompareMarkdown(w io.Writer, c *compare.Comparison, o Options) error {
	if err := finiteValue(reflect.ValueOf(*c), "comparison"); err != nil {
		return err
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	pg := &page{zh: o.Lang == zh}
	said := func(text string) string { return md(pg.said(text)) }
	line("### %s\n", said(strings.ToUpper(c.Verdict)+": "+c.Line))
	for _, s := range c.Sides {
		line("* **%s** %s", s.Name, said(s.Path+": "+runsOf(s)))
	}
	line("* %s %s", said("window"), said(c.Window+": "+c.WindowWhy))
	line("* %s %s", said("decided by"), said(corrected(c)))
	for i := range c.Pairs {
		p := &c.Pairs[i]
		line("\n**%s**%s%s\n", said(p.B+" against "+p.A), pg.colon(), said(p.Method))
		if len(c.Pairs) > 1 {
			line("%s\n", said(p.Line))
		}
		line("| %s | %s | %s | %s | %s | p | %s |", said("metric"), p.A, p.B, said("change"), said("interval"), said("verdict"))
		line("|---|--:|--:|--:|--:|--:|---|")
		for _, m := range shown(p, false) {
			name, verdict := m.Name, pg.said(sign(m))
			if m.Decides {
				name = "**" + name + "**"
				verdict = "**" + verdict + "**"
				for _, more := range []string{m.Why, pairedRows(m)} {
					if more != "" {
						verdict += " " + said(more) + ";"
					}
				}
				verdict = strings.TrimSuffix(verdict, ";")
			}
			pv := m.P
			if m.PAdjusted != nil {
				pv = m.PAdjusted
			}
			line("| %s | %s | %s | %s | %s | %s | %s |", name, sideValue(m, m.A), sideValue(m, m.B), marked(m), reach(m), probability(pv), verdict)
		}
		bullets(&b, pg, "Unlike", p.Unlike)
		bullets(&b, pg, "Warnings", p.Warnings)
	}
	bullets(&b, pg, "Warnings about the runs", c.Warnings)
	line("\n<sub>%s (%s)</sub>", said(legend(c)), said("bold here; p of those that decide is corrected"))
	for i := range c.Pairs {
		p := &c.Pairs[i]
		ds := folded(p.Differences)
		if len(ds) == 0 {
			continue
		}
		line("\n<details><summary>%s</summary>\n", said(fmt.Sprintf("%s recorded %s differ between %s and %s", count(int64(len(ds))), plural(int64(len(ds)), "fact"), p.A, p.B)))
		line("| %s | %s | %s |\n|---|---|---|", said("fact"), p.A, p.B)
		for _, d := range ds {
			line("| %s | %s | %s |", said(d.Path), md(pg.sideFact(d.A)), md(pg.sideFact(d.B)))
		}
		line("\n</details>")
	}
	line("\n<details><summary>%s</summary>\n\n| %s | %s | ok | %s |\n|---|---|--:|---|", said("Runs"), said("side"), said("run"), said("verdict"))
	for _, s := range c.Sides {
		for _, r := range s.Runs {
			line("| %s | %s | %s | %s |", s.Name, md(r.Path), said(count(r.OK)+" of "+count(r.Planned)), said(r.Verdict))
		}
	}
	line("\n</details>")
	_, err := io.WriteString(w, b.String())
	return err
}

func bullets(b *strings.Builder, p *page, heading string, texts []string) {
	if len(texts) == 0 {
		return
	}
	fmt.Fprintf(b, "\n**%s**\n\n", p.said(heading))
	for _, t := range texts {
		fmt.Fprintf(b, "* %s\n", md(p.said(t)))
	}
}

// mdEscapes keep text from outside from being Markdown or HTML.
var mdEscapes = strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "~", `\~`)

func md(s string) string { return mdEscapes.Replace(clean(s)) }
