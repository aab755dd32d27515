package html

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"tokentape/internal/analysis"
	"tokentape/internal/report"
)

// view is what page.html shows.
type view struct {
	Lang, CSP  string
	Style      template.CSS
	R          *analysis.Results
	Line       string // the verdict without its first words, which are the heading
	Title      string
	Started    string
	Missed     []analysis.Check
	Passed     []analysis.Check
	Unjudged   []analysis.Check
	Chosen     string // kind of the window that is shown first
	Windows    []windowView
	Side       []sideRow
	Exist      []string
	Counts     []countView
	Load       []fact
	About      []fact
	Charts     bool
	Timed      bool
	Panels     []panel // of the server
	More       []panel
	Provenance []table
	Spec       string
}

// fact is a key with its text, or with a Word of the dictionary, and where it leads.
type fact struct{ Key, Text, Word, Goto string }

type countView struct {
	Key   string
	N     string
	Class string
	Goto  string
}

type windowView struct {
	*analysis.Window
	Exists   bool
	Span     string
	Held     string
	Cards    []card
	Metrics  []metricRow
	System   []systemRow
	Warnings []string
}

// card is one key number.
type card struct {
	Name, Title, Unit string
	Value, Interval   string
	Stat              string // of Value: p50
	More              []pair
	Goto              string
	Absent            bool
	Why               string // it is
}

type pair struct{ Stat, Text, Goto string }

type metricRow struct {
	Name, Title, Source, NEff string
	N                         sideCell
	Cells                     []sideCell
	Warnings                  []string
}

type systemRow struct{ Name, Title, Text, Interval string }

// sideRow is one row of the windows side by side.
type sideRow struct {
	Name, Title, Stat string
	First             bool // of its metric
	Group             string
	Cells             []sideCell
}

type sideCell struct{ Text, Interval, Goto string }

func newView(r *analysis.Results, lang string) *view {
	v := &view{Lang: lang, R: r, Title: r.Name, Charts: r.Charts != nil}
	if v.Title == "" {
		v.Title = r.Run
	}
	v.Line = r.Verdict.Line
	for _, lead := range []string{"not fit for use", "fit for use"} {
		if n := len(lead); len(v.Line) >= n && strings.EqualFold(v.Line[:n], lead) {
			v.Line = strings.TrimLeft(v.Line[n:], ":; ")
			break
		}
	}
	v.Timed = v.Charts && r.Charts.Time != nil
	v.Started, _, _ = strings.Cut(r.About.Started, ".")
	v.Started = strings.TrimSuffix(strings.Replace(v.Started, "T", " ", 1), "Z")
	v.Missed = report.Missed(r.Verdict)
	for _, k := range r.Verdict.Checks {
		switch k.Result {
		case analysis.ResultPass:
			v.Passed = append(v.Passed, k)
		case analysis.ResultNone:
			v.Unjudged = append(v.Unjudged, k)
		}
	}
	for i := range r.Windows {
		w := &r.Windows[i]
		v.Windows = append(v.Windows, newWindow(r, w))
		if w.From != nil {
			v.Exist = append(v.Exist, w.Kind)
			if v.Chosen == "" || w.Kind == "steady" { // the window that is meant to be quoted
				v.Chosen = w.Kind
			}
		}
	}
	if v.Chosen == "" && len(r.Windows) > 0 {
		v.Chosen = r.Windows[0].Kind
	}
	v.Panels = []panel{cachePanel(r.Cache), speculationPanel(r.Speculation)}
	if p, ok := serverPanel(r); ok {
		v.Panels = append(v.Panels, p)
	}
	v.More = morePanels(r)
	v.Provenance = provenancePanel(r.Provenance, "")
	if r.Provenance != nil && len(r.Provenance.Spec) > 0 {
		var b bytes.Buffer
		if json.Indent(&b, r.Provenance.Spec, "", "  ") == nil {
			v.Spec = b.String()
		}
	}
	v.side(r)
	v.counts(r.Counts)
	v.load(r.Load)
	v.about(r)
	return v
}

// statistics are those that tables show.
var statistics = []struct {
	Name string
	of   func(*analysis.Summary) *float64
}{
	{"mean", func(s *analysis.Summary) *float64 { return s.Mean }},
	{"p50", func(s *analysis.Summary) *float64 { return s.P50 }},
	{"p90", func(s *analysis.Summary) *float64 { return s.P90 }},
	{"p95", func(s *analysis.Summary) *float64 { return s.P95 }},
	{"p99", func(s *analysis.Summary) *float64 { return s.P99 }},
	{"max", func(s *analysis.Summary) *float64 { return s.Max }},
}

// rowsOf are the metrics whose values stand in the rows of the page, so that a number
// leads to them.
var rowsOf = map[string]bool{
	"ttft_ms": true, "ttft_from_due_ms": true, "tpot_ms": true, "itl_ms": true, "e2e_ms": true, "e2e_from_due_ms": true, "stream_end_ms": true,
	"input_tokens": true, "output_tokens": true, "cached_tokens": true, "slot_wait_ms": true, "pacer_lag_ms": true,
}

// link is where a number leads: of a mean to all rows that enter it, of others to the row
// at the value too.
func link(window, metric, stat string, v *float64) string {
	if v == nil {
		return ""
	}
	if !rowsOf[metric] {
		return operands(window, metric)
	}
	return fmt.Sprintf("%s|%s|%s|%v", window, metric, stat, *v)
}

func newWindow(r *analysis.Results, w *analysis.Window) windowView {
	v := windowView{Window: w, Exists: w.From != nil, Held: report.Whole(w.Requests), Warnings: slices.DeleteFunc(slices.Clone(w.Warnings), func(t string) bool { // said above
		return slices.ContainsFunc(report.Missed(r.Verdict), func(k analysis.Check) bool {
			return strings.Contains(k.Why, t) || strings.Contains(t, k.Why) && k.Why != ""
		})
	})}
	if !v.Exists {
		return v
	}
	v.Span = report.Moment(w.From) + "–" + report.Moment(w.To) + " s"
	for _, name := range []string{"ttft_ms", "tpot_ms", "itl_ms", "e2e_ms"} {
		s := w.Metrics[name]
		if s == nil {
			continue
		}
		c := card{Name: name, Title: report.Label(name, ""), Unit: s.Unit, Stat: "p50", Value: report.Cell(s.P50), Interval: report.Interval(s.CI["p50"]), Goto: link(w.Kind, name, "p50", s.P50)}
		if s.N == 0 {
			c.Absent, c.Why = true, cmp.Or(strings.Join(s.Warnings, "; "), noneOK)
		}
		for _, st := range statistics {
			if c.Absent {
				break
			}
			if st.Name != "p50" && st.Name != "p95" && st.Name != "max" {
				p := st.of(s)
				c.More = append(c.More, pair{st.Name, report.Cell(p), link(w.Kind, name, st.Name, p)})
			}
		}
		v.Cards = append(v.Cards, c)
	}
	sys := w.System
	to := func(v *float64) string {
		if v == nil {
			return ""
		}
		return rateRows(r, w)
	}
	rate := func(name, unit string, value *float64, more ...pair) {
		goes := to(value)
		if name == "concurrency_mean" && value != nil {
			goes = during(r, w, "")
		}
		c := card{Goto: goes, Name: name, Title: report.Label(name, ""), Unit: unit, Value: report.Cell(value), Interval: report.Interval(sys.CI[name]), More: more, Absent: value == nil}
		if c.Absent {
			c.Why = noRate(w)
		}
		v.Cards = append(v.Cards, c)
	}
	rate("system.output_tokens_per_s", "tok/s", sys.OutputTokensPerS, pair{"input", report.Cell(sys.InputTokensPerS), to(sys.InputTokensPerS)}, pair{"total", report.Cell(sys.TotalTokensPerS), to(sys.TotalTokensPerS)})
	rate("requests_per_s", "/s", sys.RequestsPerS, pair{"n", v.Held, held(w)}, pair{"duration", report.Cell(sys.DurationS) + " s", ""})
	rate("concurrency_mean", "", sys.ConcurrencyMean, pair{"peak", report.Whole(sys.ConcurrencyPeak), during(r, w, "")}, pair{"cap", limit(r.Load.Concurrency), ""})
	if f := w.Facts; f.CachedRatio != nil {
		v.Cards = append(v.Cards, card{Name: "cached_ratio", Unit: "%", Value: percent(f.CachedRatio), Goto: target(rowsLink{Window: w.Kind, Has: []string{"cached", "input"}, Sort: "cached"}), More: []pair{{"n", report.Whole(f.CachedN), target(rowsLink{Window: w.Kind, Is: map[string]string{"cached_source": analysis.CachedObserved}})}, {"inferred", report.Whole(f.CachedInferN), target(rowsLink{Window: w.Kind, Is: map[string]string{"cached_source": analysis.CachedInferred}})}}})
	}
	if f := w.Facts; f.GoodShare != nil {
		v.Cards = append(v.Cards, card{Name: "slo_good_share", Unit: "%", Value: percent(f.GoodShare), Goto: target(rowsLink{Window: w.Kind}), More: []pair{{"requests_per_s", report.Cell(f.GoodPerS), to(f.GoodPerS)}}})
	}
	for _, name := range report.MetricNames(w) {
		s := w.Metrics[name]
		row := metricRow{Name: name, Title: report.Label(name, s.Unit), N: sideCell{Text: report.Number(float64(s.N)), Goto: metricRows(w.Kind, name, s)}, Source: s.Source, Warnings: s.Warnings}
		if s.NEff != nil {
			row.NEff = report.Number(float64(int64(*s.NEff)))
		}
		for _, st := range statistics {
			p := st.of(s)
			row.Cells = append(row.Cells, sideCell{report.Cell(p), report.Interval(s.CI[st.Name]), link(w.Kind, name, st.Name, p)})
		}
		v.Metrics = append(v.Metrics, row)
	}
	return v
}

const noneOK = "no request of the window ended well"

// noRate says why a window has no rate.
func noRate(w *analysis.Window) string {
	for _, t := range w.Warnings {
		if why, ok := strings.CutPrefix(t, "no rates: "); ok {
			return why
		}
		if strings.Contains(t, "no rates") {
			return t
		}
	}
	if w.Held() == 0 {
		return noneOK
	}
	return "no request of the window has the count that it needs"
}

// held is where the number of a window's requests leads.
func held(w *analysis.Window) string { return counted(w.Held(), rowsLink{Window: w.Kind}) }

// metricRows is where the number of a metric's values leads: a value a request, of itl_ms
// one a gap.
func metricRows(window, metric string, s *analysis.Summary) string {
	if !rowsOf[metric] && s.N > 0 {
		return operands(window, metric)
	}
	column := columnOf(metric)
	l := rowsLink{Window: window, Has: []string{column}, Sort: column}
	if metric == "itl_ms" && s.N > 0 {
		return target(l)
	}
	return counted(s.N, l)
}

// made are the columns of the rows that values of other metrics are made of.
var made = map[string][]string{
	"ttfo_ms": {"ttft_ms"}, "tokens_per_event": {"tpot_ms", "output"}, "output_tokens_per_s": {"output", "e2e_ms"}, "decode_tokens_per_s": {"tpot_ms"},
	"prefill_tokens_per_s": {"ttft_ms", "input"}, "prefill_uncached_tokens_per_s": {"ttft_ms", "input", "cached"}, "request_accept_length": {"verify_steps", "output"},
	"request_accept_rate": {"accepted", "rejected"},
}

// operands leads to the rows that have what a metric is made of, whose own values are in
// no column.
func operands(window, metric string) string {
	has := made[metric]
	if has == nil {
		return ""
	}
	return target(rowsLink{Window: window, Has: has, Sort: has[0]})
}

// columnOf is the column of the rows that holds the values of a metric.
func columnOf(metric string) string {
	switch metric {
	case "input_tokens", "output_tokens", "cached_tokens":
		return strings.TrimSuffix(metric, "_tokens")
	case "slot_wait_ms", "pacer_lag_ms":
		return strings.TrimSuffix(metric, "_ms")
	}
	return metric
}

func limit(n int64) string {
	if n == 0 {
		return "–"
	}
	return report.Whole(&n)
}

func percent(share *float64) string {
	if share == nil {
		return "–"
	}
	return report.Number(*share * 100)
}

// side puts the windows that exist side by side.
func (v *view) side(r *analysis.Results) {
	var ws []*analysis.Window
	for i := range r.Windows {
		if r.Windows[i].From != nil {
			ws = append(ws, &r.Windows[i])
		}
	}
	if len(ws) == 0 {
		return
	}
	for _, name := range []string{"ttft_ms", "ttft_from_due_ms", "tpot_ms", "itl_ms", "e2e_ms"} {
		first := true
		for _, st := range statistics {
			if st.Name == "p95" || st.Name == "max" {
				continue
			}
			row := sideRow{Name: name, Title: report.Label(name, ""), Stat: st.Name, Group: "latency"}
			some := false
			for _, w := range ws {
				s := w.Metrics[name]
				if s == nil {
					row.Cells = append(row.Cells, sideCell{Text: "–"})
					continue
				}
				p := st.of(s)
				some = some || p != nil
				row.Cells = append(row.Cells, sideCell{report.Cell(p), report.Interval(s.CI[st.Name]), link(w.Kind, name, st.Name, p)})
			}
			if some {
				row.First, first = first, false
				v.Side = append(v.Side, row)
			}
		}
	}
	first := true
	rate := func(w *analysis.Window) string { return rateRows(r, w) }
	flight := func(w *analysis.Window) string { return during(r, w, "") }
	// to is where the numbers of a row lead, by window; "": nowhere.
	add := func(name string, to func(w *analysis.Window) string, of func(w *analysis.Window) (text, interval string)) {
		row := sideRow{Name: name, Title: report.Label(strings.TrimPrefix(name, "system."), ""), Group: "service", First: first}
		some := false
		for _, w := range ws {
			text, interval := of(w)
			some = some || text != "–" && text != ""
			cell := sideCell{Text: text, Interval: interval}
			if text != "–" && text != "" {
				cell.Goto = to(w)
			}
			row.Cells = append(row.Cells, cell)
		}
		if some {
			v.Side = append(v.Side, row)
			first = false
		}
	}
	value := func(name string, of func(w *analysis.Window) *float64) {
		to := rate
		if name == "concurrency_mean" {
			to = flight
		}
		add(name, to, func(w *analysis.Window) (string, string) {
			return report.Cell(of(w)), report.Interval(w.System.CI[strings.TrimPrefix(name, "system.")])
		})
	}
	value("requests_per_s", func(w *analysis.Window) *float64 { return w.System.RequestsPerS })
	value("system.output_tokens_per_s", func(w *analysis.Window) *float64 { return w.System.OutputTokensPerS })
	value("input_tokens_per_s", func(w *analysis.Window) *float64 { return w.System.InputTokensPerS })
	value("total_tokens_per_s", func(w *analysis.Window) *float64 { return w.System.TotalTokensPerS })
	for _, name := range report.Economy(r.Windows) {
		if !report.AtAGlance(name) {
			continue
		}
		value(name, func(w *analysis.Window) *float64 { return report.EconomyValue(w, name) })
	}
	value("concurrency_mean", func(w *analysis.Window) *float64 { return w.System.ConcurrencyMean })
	add("concurrency_peak", flight, func(w *analysis.Window) (string, string) { return report.Whole(w.System.ConcurrencyPeak), "" })
	value("duration_s", func(w *analysis.Window) *float64 { return w.System.DurationS })
	add("cached_ratio", inWindow("cached", "input"), func(w *analysis.Window) (string, string) { return share(w.Facts.CachedRatio) })
	add("accept_length", inWindow("verify_steps"), func(w *analysis.Window) (string, string) { return report.Cell(w.Facts.AcceptLength), "" })
	add("accept_rate", inWindow("accepted"), func(w *analysis.Window) (string, string) { return share(w.Facts.AcceptRate) })
	add("slo_good_share", inWindow(), func(w *analysis.Window) (string, string) { return share(w.Facts.GoodShare) })
}

// inWindow leads to the rows of a window that have values in those columns.
func inWindow(columns ...string) func(w *analysis.Window) string {
	return func(w *analysis.Window) string { return target(rowsLink{Window: w.Kind, Has: columns}) }
}

func share(p *float64) (text, interval string) {
	if p == nil {
		return "–", ""
	}
	return report.Measure(p, "share"), ""
}

func (v *view) counts(n analysis.Counts) {
	add := func(key string, c int64, class, outcome string) {
		if c > 0 || key == "planned" || key == "ok" {
			to := ""
			if outcome != "" {
				to = counted(c, rowsLink{Phase: "measure", Outcome: outcome})
			}
			v.Counts = append(v.Counts, countView{key, report.Number(float64(c)), class, to})
		}
	}
	add("planned", n.Planned, "", "") // those that were not issued, or not recorded, have no row
	if n.NotIssued == 0 && n.Unrecorded == 0 {
		v.Counts[0].Goto = counted(n.Planned, rowsLink{Phase: "measure"})
	}
	add("ok", n.OK, "good", "ok")
	add("failed", n.Failed, "bad", "failed")
	add("cancelled", n.Cancelled, "warn", "cancelled")
	add("abandoned", n.Abandoned, "warn", "abandoned")
	add("not_issued", n.NotIssued, "mute", "")
	add("unrecorded", n.Unrecorded, "mute", "")
}

// loopWords are the keys of the words for a loop.
var loopWords = map[string]string{"open": "loop.open", "closed": "loop.closed", "partly open": "loop.partly"}

func (v *view) load(l analysis.Load) {
	put := func(key, text string) {
		if text != "" {
			v.Load = append(v.Load, fact{Key: key, Text: text})
		}
	}
	// leads says where the last fact leads.
	leads := func(l rowsLink) {
		if v.R.Rows.Len() == 0 {
			return
		}
		l.Phase = "measure"
		v.Load[len(v.Load)-1].Goto = target(l)
	}
	loop := fact{Key: "loop", Text: l.Loop, Word: loopWords[l.Loop]}
	if l.Loop == "" {
		loop.Word = "not_observed"
	}
	v.Load = append(v.Load, loop)
	put("N", report.Number(float64(l.Requests)))
	leads(rowsLink{})
	put("C", limit(l.Concurrency))
	if l.RateAsked != nil {
		put("r", report.Measure(l.RateAsked, "/s"))
	}
	if l.RatePlanned != nil {
		put("rate_planned", report.Measure(l.RatePlanned, "/s"))
	}
	sent := "rate_achieved"
	if l.RatePlanned == nil { // a closed loop has no rate to achieve
		sent = "rate_sent"
	}
	unseen := func(key string) { v.Load = append(v.Load, fact{Key: key, Word: "not_observed"}) }
	if l.RateAchieved != nil {
		put(sent, report.Measure(l.RateAchieved, "/s"))
	} else {
		unseen(sent)
	}
	if l.SlotWaitShare != nil {
		text := report.Measure(l.SlotWaitShare, "share")
		if l.SlotWaitMeanMS != nil {
			text += fmt.Sprintf(" (∅ %s, max %s)", report.Measure(l.SlotWaitMeanMS, "ms"), report.Measure(l.SlotWaitMaxMS, "ms"))
		}
		put("slot_wait", text)
		leads(rowsLink{Has: []string{"slot_wait"}, Sort: "slot_wait", Down: true})
	}
	if l.PacerLagP99MS != nil {
		put("pacer_lag.measured", "p50 "+report.Measure(l.PacerLagP50MS, "ms")+" · p99 "+report.Measure(l.PacerLagP99MS, "ms")+" · max "+report.Measure(l.PacerLagMaxMS, "ms"))
		leads(rowsLink{Has: []string{"pacer_lag"}, Sort: "pacer_lag", Down: true})
	}
	if l.ConcurrencyPeak != nil {
		put("in_flight", "∅ "+report.Cell(l.ConcurrencyMean)+" · max "+report.Whole(l.ConcurrencyPeak))
	} else {
		unseen("in_flight")
	}
	if l.NewConnections != nil {
		put("connections", report.Whole(l.NewConnections)+" + "+report.Whole(l.ReusedConnections))
		leads(rowsLink{Has: []string{"connect"}, Sort: "connect", Down: true})
	} else {
		unseen("connections")
	}
	if l.CPUMean != nil {
		put("client_cpu", "∅ "+report.Number(*l.CPUMean)+" · max "+report.Cell(l.CPUPeak))
	}
}

func (v *view) about(r *analysis.Results) {
	a := r.About
	put := func(key string, parts ...string) {
		parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
		if len(parts) > 0 {
			v.About = append(v.About, fact{Key: key, Text: strings.Join(parts, " · ")})
		}
	}
	put("run", r.Run)
	put("started", a.Started)
	put("stopped", a.Stop, a.StopWhy)
	put("server", a.URL, a.API)
	put("model", a.Model)
	put("engine", strings.TrimSpace(a.Engine+" "+a.Version))
	rows := ""
	if a.DataRows > 0 {
		rows = report.Number(float64(a.DataRows)) + " rows"
	}
	put("dataset", a.Dataset, rows)
	put("dataset_sha", a.DataSHA256)
	put("plan_sha", a.PlanSHA256)
	put("tape_sha", r.TapeSHA256)
	if a.Devices > 0 {
		text := report.Number(float64(a.Devices))
		if a.Prefill > 0 || a.Decode > 0 {
			text += fmt.Sprintf(" (%d prefill, %d decode)", a.Prefill, a.Decode)
		}
		put("devices", text)
	}
	put("price", a.Price)
	put("client", a.Host, a.Tool)
	finish := []string{}
	for _, k := range slices.Sorted(maps.Keys(r.Counts.Finish)) {
		finish = append(finish, k+" "+report.Number(float64(r.Counts.Finish[k])))
	}
	put("finish", strings.Join(finish, ", "))
	flags := []string{}
	for _, k := range slices.Sorted(maps.Keys(r.Counts.Flags)) {
		flags = append(flags, k+" "+report.Number(float64(r.Counts.Flags[k])))
	}
	put("flags", strings.Join(flags, ", "))
	if n := r.Counts; n.Preparation > 0 {
		put("beside", fmt.Sprintf("%s (%s warm-up, %s tail)", report.Number(float64(n.Preparation)), report.Number(float64(n.Warmup)), report.Number(float64(n.Tail))))
	}
}
