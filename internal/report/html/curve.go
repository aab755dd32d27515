package html

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/curve"
	"tokentape/internal/report"
)

//go:embed curve.html
var curvePage string

//go:embed curve_words.json
var curveOwnWords []byte

// curveWords are the words of the page of a sweep: its own, and those of the kit that
// it uses.
var curveWords = sync.OnceValue(func() map[string][2]string {
	var w map[string][2]string
	if err := json.Unmarshal(curveOwnWords, &w); err != nil {
		panic(err) // it is part of the program
	}
	for _, key := range []string{"table", "csv", "svg", "png", "table.more", "chart.label", "theme", "print", "skip", "sections", "noscript", "not_observed"} {
		if v, ok := dictionary()[key]; ok {
			w[key] = v
		}
	}
	return w
})

// WriteCurves writes the page of a sweep or search: one file, whole in itself, whose
// points lead to report.html of their runs beside it. Errors: those of w, a language
// that is none of Languages, Curves that hold a NaN.
func WriteCurves(w io.Writer, c *curve.Curves, o Options) error {
	return writeCurvePage(w, curvePage, c, o, func(p curveFrame) any {
		v := newCurveView(c, p.lang)
		v.CSP, v.Style = p.csp, p.style
		return v
	})
}

// curveFrame is what every page with curves has.
type curveFrame struct {
	lang, csp string
	style     template.CSS
}

// writeCurvePage writes a template with the curves c for its charts. view makes what the
// template shows.
func writeCurvePage(w io.Writer, page string, c *curve.Curves, o Options, view func(curveFrame) any) error {
	if o.Lang == "" {
		o.Lang = Languages()[0]
	}
	if !slices.Contains(Languages(), o.Lang) {
		return fmt.Errorf("language %q: one of %s", o.Lang, strings.Join(Languages(), ", "))
	}
	var doc bytes.Buffer
	if err := report.CurveJSON(&doc, c); err != nil {
		return err
	}
	data, err := json.Marshal(map[string]any{"words": curveWords(), "curves": json.RawMessage(doc.Bytes()), "units": curveUnits(c)})
	if err != nil {
		return err
	}
	script, err := curveScript()
	if err != nil {
		return err
	}
	said := func(key string) string { return curveSaid(key, o.Lang) }
	t, err := template.New("curve").Funcs(template.FuncMap{
		"word": said,
		"t": func(key string) template.HTML {
			return template.HTML(`<span data-t="` + template.HTMLEscapeString(key) + `">` + template.HTMLEscapeString(said(key)) + `</span>`)
		},
		"s": func(text string) template.HTML { return curveSentence(text, o.Lang) },
		"l": func(label string) template.HTML { // each part by itself: what reads from the right keeps its place
			return template.HTML("<bdi>" + strings.ReplaceAll(template.HTMLEscapeString(label), " · ", "</bdi> · <bdi>") + "</bdi>")
		},
	}).Parse(page)
	if err != nil {
		return err
	}
	style := Style()
	if err := t.Execute(w, view(curveFrame{o.Lang, policy(style, script), template.CSS(style)})); err != nil {
		return err
	}
	// json.Marshal leaves no < that could end the element.
	_, err = fmt.Fprintf(w, "<script type=\"application/json\" id=\"data\">%s</script>\n<script>%s%s", data, script, pageEnd)
	return err
}

func curveSaid(key, lang string) string {
	w, ok := curveWords()[key]
	if !ok {
		return key
	}
	return w[max(0, slices.Index(Languages(), lang))]
}

// curveSentence is a sentence of the analysis in the language of the page, with the
// other beside it for the switch. One that the dictionary does not know stays English.
func curveSentence(text, lang string) template.HTML {
	zh := report.Chinese(text)
	if zh == text {
		return template.HTML(`<bdi lang="en">` + template.HTMLEscapeString(text) + `</bdi>`)
	}
	shown := text
	if lang == "zh" {
		shown = zh
	} else {
		lang = "en"
	}
	return template.HTML(fmt.Sprintf(`<bdi lang="%s" data-en="%s" data-zh="%s">%s</bdi>`, lang, template.HTMLEscapeString(text), template.HTMLEscapeString(zh), template.HTMLEscapeString(shown)))
}

func curveScript() ([]byte, error) {
	own, err := files.ReadFile("js/curve.js")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("(() => {\n\"use strict\";\n")
	b.Write(Kit())
	b.Write(own)
	b.WriteString("})();\n")
	return b.Bytes(), nil
}

// CurvePolicy is the content security policy of the pages that WriteCurves makes. A
// file that claims to be such a page can be served with it: no other script runs in it.
func CurvePolicy() string {
	script, err := curveScript()
	if err != nil {
		panic(err) // it is part of the program
	}
	return policy(Style(), script)
}

// curveUnits are the units of all values that points have.
func curveUnits(c *curve.Curves) map[string]string {
	out := map[string]string{}
	for _, p := range c.Points {
		for name := range p.Values {
			out[name] = curve.Unit(name)
		}
	}
	return out
}

// curveView is what curve.html shows.
type curveView struct {
	C                    *curve.Curves
	Lang, CSP, Kind      string
	Style                template.CSS
	Prompts, Chosen      string
	FrontOf              string // TTFT p95, TPOT p50
	Lines                []curveLine
	Quantiles            []string
	Tables               []curveTable
	Lost, Expected, Runs []curveRow
	ExpectedHead         []string
	Defs                 []curveDef
}

type curveDef struct{ Name, Text string }

// curveLine is what came of one curve of several: its other settings, and sentences.
type curveLine struct{ At, Text string }

type curveTable struct {
	Title string
	Head  []curveText
	Rows  []curveRow
}

type curveRow struct {
	Label, To, State string
	Reasons          []string
	Unfit            bool
	Cells            []curveText
}

// curveText is a word of the page (Key), or a text as it is.
type curveText struct{ Key, Text, CI string }

func newCurveView(c *curve.Curves, lang string) *curveView {
	v := &curveView{
		C: c, Lang: lang, Kind: "c." + c.Kind, Quantiles: curveQuantiles, Chosen: chosenQuantile(c), FrontOf: frontOf(c),
		ExpectedHead: []string{"c.point", "c.value", "c.expectedv", "c.measured", "c.interval", "c.ratio", "c.inside"},
	}
	if c.Prompts == "distinct" || c.Prompts == "same" {
		v.Prompts = "c." + c.Prompts
	}
	for i := range c.Curves {
		g := &c.Curves[i]
		if len(c.Curves) < 2 {
			break
		}
		var parts []string
		if g.Knee != nil {
			parts = append(parts, g.Knee.Line)
		}
		if g.Saturation != nil {
			parts = append(parts, g.Saturation.Line)
		}
		if len(parts) > 0 {
			v.Lines = append(v.Lines, curveLine{g.At, strings.Join(parts, "; ")})
		}
	}
	v.tables()
	v.runs()
	v.expected()
	v.defs()
	return v
}

// curveQuantiles are the percentiles that charts can show.
var curveQuantiles = []string{"p50", "p95", "p99"}

// chosenQuantile is the percentile that charts begin with: p95, or p50 where most points
// that have this lack the other.
func chosenQuantile(c *curve.Curves) string {
	p50, p95 := 0, 0
	for i := range c.Points {
		for _, m := range c.Latencies {
			if c.Points[i].Values[m+".p50"].Value != nil {
				p50++
			}
			if c.Points[i].Values[m+".p95"].Value != nil {
				p95++
			}
		}
	}
	if 2*p95 < p50 {
		return "p50"
	}
	return "p95"
}

// frontOf are the latencies that fronts are of, with their percentiles.
func frontOf(c *curve.Curves) string {
	var out []string
	for i := range c.Curves {
		for _, f := range c.Curves[i].Fronts {
			m, q, _ := strings.Cut(f.Latency, ".")
			if text := report.Label(m, "ms") + " " + q; !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return strings.Join(out, ", ")
}

// curveColumn is a column of the tables of points, shown where some point has it.
type curveColumn struct {
	head curveText
	cell func(*curve.Point) curveText
}

func (v *curveView) tables() {
	value := func(key, name string) curveColumn {
		return curveColumn{curveText{Key: key}, func(p *curve.Point) curveText { return curveNumber(p.Values[name], curve.Unit(name)) }}
	}
	load := []curveColumn{
		value("c.offered", "offered_per_s"), value("c.req", "requests_per_s"), value("c.inflight", "concurrency_mean"), value("c.out", "output_tokens_per_s"),
		value("c.device", "output_tokens_per_s_per_device"), value("c.user", "output_tokens_per_s_per_user"),
		value("c.failed", "failed_share"), value("c.goodshare", "slo_good_share"), value("c.good", "slo_good_requests_per_s"), value("c.cached", "cached_ratio"),
		{curveText{Key: "c.cachedfrom"}, func(p *curve.Point) curveText { return curveText{Text: p.CachedFrom} }},
		value("c.backlog", "backlog_end"), value("c.slope", "backlog_slope_per_s"),
		{curveText{Key: "c.load"}, func(p *curve.Point) curveText {
			if p.Backlog == nil {
				return curveText{}
			}
			return curveText{Key: "c." + p.Backlog.State}
		}},
		value("c.queue", "server_queue"),
		{curveText{Key: "c.window"}, func(p *curve.Point) curveText { return curveText{Text: p.Window} }},
		{curveText{Key: "c.marks"}, func(p *curve.Point) curveText { return curveText{Text: report.CurveMarks(v.C, p)} }},
		{curveText{Key: "c.fit"}, func(p *curve.Point) curveText {
			if p.Fit {
				return curveText{Key: "c.yes"}
			}
			return curveText{Key: "c.no"}
		}},
	}
	v.Tables = append(v.Tables, v.table("", load))
	var latency []curveColumn
	for _, m := range v.C.Latencies {
		for _, q := range v.Quantiles {
			name := m + "." + q
			latency = append(latency, curveColumn{curveText{Text: report.Label(m, "ms") + " " + q}, func(p *curve.Point) curveText { return curveNumber(p.Values[name], "ms") }})
		}
	}
	latency = append(latency, curveColumn{curveText{Key: "c.n"}, func(p *curve.Point) curveText { return curveText{Text: report.Number(float64(p.Requests))} }})
	v.Tables = append(v.Tables, v.table("TTFT, TPOT, E2E", latency))
}

// curveNumber is a value with its interval, or why there is none.
func curveNumber(v curve.Value, unit string) curveText {
	switch {
	case v.Value == nil && strings.HasPrefix(v.Why, "unstable"):
		return curveText{Key: "c.unstable"}
	case v.Value == nil && v.Why == "n too small":
		return curveText{Key: "c.small"}
	case v.Value == nil:
		return curveText{Text: report.Cell(nil)}
	case unit == "share":
		t := curveText{Text: report.Measure(v.Value, unit)}
		if v.CI[0] != nil && v.CI[1] != nil {
			t.CI = report.Measure(v.CI[0], unit) + " … " + report.Measure(v.CI[1], unit)
		}
		return t
	}
	return curveText{Text: report.Cell(v.Value), CI: report.Interval(v.CI)}
}

func (v *curveView) table(title string, columns []curveColumn) curveTable {
	var points []*curve.Point
	for i := range v.C.Curves {
		for _, k := range v.C.Curves[i].Points {
			if p := &v.C.Points[k]; p.State == curve.Measured {
				points = append(points, p)
			}
		}
	}
	empty := report.Cell(nil)
	used := slices.DeleteFunc(slices.Clone(columns), func(col curveColumn) bool {
		return !slices.ContainsFunc(points, func(p *curve.Point) bool { c := col.cell(p); return c.Key != "" || c.Text != "" && c.Text != empty })
	})
	t := curveTable{Title: title}
	for _, col := range used {
		t.Head = append(t.Head, col.head)
	}
	for _, p := range points {
		r := curveRow{Label: p.Label, To: curveLink(p), Unfit: !p.Fit}
		for _, col := range used {
			r.Cells = append(r.Cells, col.cell(p))
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

// curveLink is the page of a point's only run, or of the first that was measured.
func curveLink(p *curve.Point) string {
	for _, r := range p.Runs {
		if r.State == curve.Measured {
			return runLink(r, p.Window)
		}
	}
	return ""
}

// runLink is the page of a run, relative to that of the sweep, which opens in the window
// that was read: see windowFromLink in page.js.
func runLink(r curve.Run, window string) string {
	if r.Path == "" {
		return ""
	}
	u := url.URL{Path: path.Join(r.Path, "report.html")}
	if window != "" {
		u.Fragment = "window=" + window
	}
	return u.String()
}

func (v *curveView) runs() {
	for _, p := range v.C.Points {
		if p.State != curve.Measured {
			v.Lost = append(v.Lost, curveRow{Label: p.Label, State: strings.ReplaceAll(p.State, "_", " "), Reasons: given(p.Reason)})
		}
		for _, r := range p.Runs {
			row := curveRow{Label: r.Name, State: strings.ReplaceAll(r.State, "_", " "), Reasons: given(r.Verdict, r.Reason, r.Hook)}
			if r.State == curve.Measured {
				row.To = runLink(r, p.Window)
			} else {
				row.Reasons = given(r.Reason, r.Verdict, r.Hook)
			}
			v.Runs = append(v.Runs, row)
		}
	}
}

// given are the texts that say something.
func given(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

func (v *curveView) expected() {
	if v.C.Expected == nil {
		return
	}
	for _, r := range v.C.Expected.Rows {
		inside := curveText{Text: report.Cell(nil)}
		if r.Inside != nil {
			inside = curveText{Key: map[bool]string{true: "c.yes", false: "c.no"}[*r.Inside]}
		}
		v.Expected = append(v.Expected, curveRow{
			Label: v.C.Points[r.Point].Label, Unfit: r.Inside != nil && !*r.Inside,
			Cells: []curveText{{Text: r.Metric}, {Text: report.Number(r.Expected)}, curveNumber(curve.Value{Value: r.Measured, Why: r.Why}, ""), {Text: report.Interval(r.CI)}, {Text: report.Cell(r.Ratio)}, inside},
		})
	}
}

// defs are the definitions of the values that points have.
func (v *curveView) defs() {
	names := map[string]bool{}
	for _, p := range v.C.Points {
		for name, val := range p.Values {
			if val.Value != nil {
				name, _, _ := strings.Cut(name, ".")
				names[name] = true
			}
		}
	}
	for _, d := range analysis.Definitions() {
		if names[d.Name] {
			v.Defs = append(v.Defs, curveDef{d.Name, d.Definition})
			delete(names, d.Name) // a rate and a metric can have one name
		}
	}
}
