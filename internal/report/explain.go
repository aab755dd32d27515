package report

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	"tokentape/internal/analysis"
)

// ExplainJSON writes an explanation as JSON.
func ExplainJSON(w io.Writer, e *analysis.Explanation) error { return indented(w, e) }

// DefinitionsJSON writes definitions as JSON.
func DefinitionsJSON(w io.Writer, ds []analysis.Definition) error { return indented(w, ds) }

func indented(w io.Writer, v any) error {
	if err := finiteValue(reflect.ValueOf(v), "explanation"); err != nil {
		return err
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// kindHeads say, by kind, what a name stands for and how it is written.
var kindHeads = []struct {
	kind, head string
}{
	{"metric", "Metrics of a request, summed up per window: steady.ttft_ms.p99; in a condition on every request: ttft_ms"},
	{"request", "Values of a request that nothing sums up, for conditions on every request"},
	{"system", "Rows of a window, of the whole service: steady.output_tokens_per_s"},
	{"fact", "Facts of a window: steady.median_service_times"},
	{"load", "What was offered and what happened"},
	{"count", "Counts of the measured phase"},
	{"verdict", "Verdict"},
	{"check", "Checks: pass, miss or not_observed; with .value the number"},
	{"server", "Rows of the server's metrics pages, per page and window"},
	{"point", "Values of a point of a sweep, in curve.json and its table"},
	{"term", "Words of the report"},
}

// DefinitionsText lists names with what they mean, by kind.
func DefinitionsText(w io.Writer, ds []analysis.Definition, o Options) error {
	p := page{width: max(o.Width, 60), color: o.Color, zh: o.Lang == zh}
	for _, h := range kindHeads {
		var in []analysis.Definition
		width := 0
		for _, d := range ds {
			if string(d.Kind) == h.kind {
				in = append(in, d)
				width = max(width, min(36, len(d.Name)))
			}
		}
		if len(in) == 0 {
			continue
		}
		if p.b.Len() > 0 {
			p.blank()
		}
		p.hang("", h.head, bold)
		for _, d := range in {
			p.hang("  "+pad(d.Name, width, false)+"  ", means(d), plain)
		}
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

// means is a definition in the words of a list; a check's says when it misses.
func means(d analysis.Definition) string {
	if d.Severity != "" {
		return d.Severity + "; misses when " + d.Definition
	}
	return d.Definition
}

// ExplainText writes an explanation for people: what the name means, then, of a
// run, the value, how it came to be and the requests behind it.
func ExplainText(w io.Writer, e *analysis.Explanation, o Options) error {
	if err := finiteValue(reflect.ValueOf(e), "explanation"); err != nil {
		return err
	}
	p := &page{width: max(o.Width, 60), color: o.Color, zh: o.Lang == zh}
	for i, d := range e.Definitions {
		if i > 0 {
			p.blank()
		}
		define(p, d)
	}
	if e.Run != "" {
		valueOf(p, e)
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

// explained is a key and its text in an explanation.
func explained(p *page, key, text string) {
	if text != "" {
		p.hang("  "+pad(key, 12, false), text, plain)
	}
}

func define(p *page, d analysis.Definition) {
	head := d.Name
	if d.Title != "" {
		head += " · " + d.Title
	}
	if d.Unit != "" {
		head += " · " + d.Unit
	}
	p.hang("", head+" · "+string(d.Kind), bold)
	explained(p, "is", means(d))
	if strings.Contains(d.Name, "*") && len(d.Words) > 0 {
		explained(p, "* is", "one of "+strings.Join(d.Words, ", "))
	} else if len(d.Words) > 0 {
		explained(p, "one of", strings.Join(d.Words, ", "))
	}
	explained(p, "windows", d.Windows)
	explained(p, "from", strings.Join(d.Fields, ", "))
	explained(p, "enters", d.Enters)
	explained(p, "absent", d.Absent)
	if d.Better != "" {
		explained(p, "better", d.Better)
	}
}

func valueOf(p *page, e *analysis.Explanation) {
	p.heading("Run " + clean(e.Run))
	if w := e.Window; w != nil {
		text := w.Kind
		if w.From != nil && w.Requests != nil {
			text += fmt.Sprintf(", %s to %s s, %s ok %s", moment(w.From), moment(w.To), count(*w.Requests), plural(*w.Requests, "request"))
			if w.FromWall != "" {
				text += "; by the wall clock " + w.FromWall + " to " + w.ToWall
			}
		}
		explained(p, "window", clean(text))
		explained(p, "chosen", clean(w.Why))
		explained(p, "left out", clean(w.LeftOut))
	}
	explained(p, "value", valueText(e))
	if s := e.Summary; s != nil {
		for i, v := range []*float64{s.Mean, s.SD, s.Min, s.P50, s.P75, s.P90, s.P95, s.P99, s.P999, s.Max} {
			name := []string{"mean", "sd", "min", "p50", "p75", "p90", "p95", "p99", "p999", "max"}[i]
			if v == nil {
				continue
			}
			text := exact(*v)
			if ci, ok := s.CI[name]; ok {
				text += ", 95 % interval " + between(ci)
			}
			explained(p, "  "+name, text)
		}
	}
	if e.N > 0 {
		text := count(e.N)
		if e.NEff != nil {
			text += ", worth " + num(*e.NEff) + " independent ones (n ÷ g, by how alike neighbours are: docs/statistics.md)"
		}
		explained(p, "n", text)
	}
	explained(p, "source", clean(e.Source))
	for i, t := range e.How {
		explained(p, []string{"how", ""}[min(i, 1)], clean(t))
	}
	for _, t := range e.Warnings {
		explained(p, "! ", clean(t))
	}
	requests(p, e)
}

func valueText(e *analysis.Explanation) string {
	var text string
	switch {
	case e.Absent != "":
		return absent + ": " + clean(e.Absent)
	case e.Word != "":
		text = clean(e.Word)
		if e.Value != nil {
			text += ", " + exact(*e.Value) + " " + e.Unit
		}
	case e.Value != nil:
		text = strings.TrimSpace(exact(*e.Value) + " " + e.Unit)
	}
	if e.CI != nil {
		text += ", 95 % interval " + between(*e.CI)
	}
	return text
}

// requests is the table of the requests behind a value; columns without anything
// in them are left out.
func requests(p *page, e *analysis.Explanation) {
	if len(e.Requests) == 0 || e.RequestsAre == "" {
		return
	}
	head := e.RequestsAre
	if n := int64(len(e.Requests)); e.RequestsOf > n {
		head += fmt.Sprintf(" (%s of %s)", count(n), count(e.RequestsOf))
	}
	p.heading(strings.ToUpper(head[:1]) + head[1:])
	cols := []struct {
		head string
		of   func(r analysis.ExplainedRequest) string
	}{
		{"seq", func(r analysis.ExplainedRequest) string { return count(r.Seq) }},
		{"value", func(r analysis.ExplainedRequest) string {
			if r.Value == nil {
				return clean(r.Word)
			}
			return exact(*r.Value)
		}},
		{"rank", func(r analysis.ExplainedRequest) string { return unless0(r.Rank) }},
		{"weight", func(r analysis.ExplainedRequest) string {
			if r.Weight == nil {
				return ""
			}
			return exact(*r.Weight)
		}},
		{"gap", func(r analysis.ExplainedRequest) string { return unless0(r.Gap) }},
		{"row", func(r analysis.ExplainedRequest) string { return count(r.DatasetRow) }},
		{"released, s", func(r analysis.ExplainedRequest) string { return moment(r.ReleasedS) }},
		{"end, s", func(r analysis.ExplainedRequest) string { return moment(r.EndS) }},
		{"conn", func(r analysis.ExplainedRequest) string { return unless0(r.Connection) }},
		{"session", func(r analysis.ExplainedRequest) string {
			if r.Session == "" {
				return ""
			}
			return fmt.Sprintf("%s/%d", columns.Truncate(clean(r.Session), 12, "…"), r.Turn)
		}},
		{"outcome", func(r analysis.ExplainedRequest) string { return clean(r.Outcome) }},
		{"phase", func(r analysis.ExplainedRequest) string {
			if r.Phase == "measure" {
				return ""
			}
			return r.Phase
		}},
	}
	t := table{}
	cells := make([][]string, len(e.Requests))
	for _, c := range cols {
		some := false
		for _, r := range e.Requests {
			some = some || c.of(r) != ""
		}
		if !some {
			continue
		}
		t.head = append(t.head, c.head)
		for i, r := range e.Requests {
			cells[i] = append(cells[i], c.of(r))
		}
	}
	for i, r := range e.Requests {
		t.rows = append(t.rows, row{cells: cells[i]})
		if r.Message != "" {
			t.rows = append(t.rows, row{under: clean(r.Message)})
		}
	}
	p.table(t)
}

func unless0(n int64) string {
	if n == 0 {
		return ""
	}
	return count(n)
}
