package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tokentape/internal/analysis"
)

// guard keeps a spreadsheet from running text that came from outside as a formula, and
// a terminal from obeying it.
func guard(s string) string {
	if s = clean(s); s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}

// stats.csv has one line per window and metric (row "metric"), per window and
// system value ("system"), per fact of speculation ("speculation"), per step
// from one window to the next ("difference"), and per thing that qualifies them
// ("fact", which without a window is one of the run, "window", "check", "note").
var statsHead = func() []string {
	h := []string{"row", "window", "from_s", "to_s", "name", "unit", "n", "n_eff", "value", "value_ci95_low", "value_ci95_high", "limit"}
	for _, s := range statColumns {
		h = append(h, s)
		if hasCI(s) {
			h = append(h, s+"_ci95_low", s+"_ci95_high")
		}
	}
	return append(h, "source", "text")
}()

var statColumns = []string{"mean", "sd", "min", "max", "p50", "p75", "p90", "p95", "p99", "p999"}

func hasCI(stat string) bool { return stat == "mean" || stat[0] == 'p' }

// record is one line of stats.csv, by column.
type record map[string]string

func (r record) float(column string, p *float64) {
	if p != nil {
		r[column] = strconv.FormatFloat(*p, 'g', -1, 64)
	}
}

func (r record) whole(column string, n *int64) {
	if n != nil {
		r[column] = strconv.FormatInt(*n, 10)
	}
}

func (r record) interval(column string, ci [2]*float64) {
	r.float(column+"_ci95_low", ci[0])
	r.float(column+"_ci95_high", ci[1])
}

// StatsCSV writes stats.csv (RFC 4180) in full precision: units are in the
// names, an absent value is an empty cell.
func StatsCSV(w io.Writer, r *analysis.Results) error {
	if err := finite(r); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	out.UseCRLF = true
	out.Write(statsHead)
	put := func(rec record) {
		line := make([]string, len(statsHead))
		for i, h := range statsHead {
			line[i] = rec[h]
		}
		out.Write(line)
	}
	for _, class := range slices.Sorted(maps.Keys(r.Counts.ByClass)) {
		put(record{"row": "fact", "name": "failed_" + class, "unit": "requests", "value": strconv.FormatInt(r.Counts.ByClass[class], 10),
			"text": statuses(r.Counts, class)})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Counts.Flags)) {
		put(record{"row": "fact", "name": "flag_" + name, "unit": "requests", "value": strconv.FormatInt(r.Counts.Flags[name], 10)})
	}
	for i := range r.Windows {
		statsWindow(&r.Windows[i], put)
	}
	for _, d := range r.Differences {
		differenceRows(d, put)
	}
	for _, k := range r.Verdict.Checks {
		rec := record{"row": "check", "name": k.Name, "unit": k.Unit, "source": k.Severity, "text": guard(join(": ", k.Result, join("; ", k.Why, k.Do)))}
		rec.float("value", k.Value)
		rec.float("limit", k.Limit)
		put(rec)
	}
	cacheRecords(r.Cache, put)
	expectRecords(r.Expect, put)
	speculationRecords(r.Speculation, put)
	for _, t := range r.Notes {
		put(record{"row": "note", "name": "note", "text": guard(t)})
	}
	for _, t := range r.About.Faults {
		put(record{"row": "note", "name": "tape_fault", "text": guard(t)})
	}
	out.Flush()
	return out.Error()
}

// differenceRows are lines "difference": value is the metric's step from A to B, or what one
// reason has of it.
func differenceRows(d analysis.Difference, put func(record)) {
	for _, row := range d.Rows {
		rec := record{"row": "difference", "window": d.A + " -> " + d.B, "name": row.Metric, "unit": row.Unit}
		rec.float("value", row.Step)
		put(rec)
		for _, p := range row.Parts {
			rec := record{"row": "difference", "window": d.A + " -> " + d.B, "name": row.Metric, "unit": row.Unit, "text": guard(p.Why)}
			rec.float("value", p.Change)
			put(rec)
		}
	}
}

func statsWindow(w *analysis.Window, put func(record)) {
	base := func(kind, name string) record {
		rec := record{"row": kind, "window": w.Kind, "name": name}
		rec.float("from_s", w.From)
		rec.float("to_s", w.To)
		return rec
	}
	text := func(name, s string) {
		if s != "" {
			rec := base("window", name)
			rec["text"] = guard(s)
			put(rec)
		}
	}
	text("why", w.Why)
	text("from_wall", w.FromWall)
	text("to_wall", w.ToWall)
	text("left_out", w.LeftOut)
	for _, s := range w.Warnings {
		text("warning", s)
	}
	for _, name := range metricNames(w) {
		s := w.Metrics[name]
		rec := base("metric", name)
		rec["unit"] = s.Unit
		rec["n"] = strconv.FormatInt(s.N, 10)
		rec.float("n_eff", s.NEff)
		for i, p := range []*float64{s.Mean, s.SD, s.Min, s.Max, s.P50, s.P75, s.P90, s.P95, s.P99, s.P999} {
			rec.float(statColumns[i], p)
		}
		for k, ci := range s.CI {
			rec.interval(k, ci)
		}
		rec["source"] = s.Source
		rec["text"] = guard(strings.Join(s.Warnings, "; "))
		put(rec)
	}
	system := func(name, source string, v *float64) {
		rec := base("system", name)
		rec.float("value", v)
		rec.interval("value", w.System.CI[name])
		rec["source"] = source
		put(rec)
	}
	requests := base("system", "requests")
	requests.whole("value", w.Requests)
	put(requests)
	for _, name := range slices.Concat([]string{"duration_s"}, systemRates, []string{"concurrency_mean"}) {
		source := ""
		if strings.Contains(name, "tokens") {
			source = w.System.OutputTokensSource
		}
		system(name, source, *systemValue(&w.System, name))
	}
	peak := base("system", "concurrency_peak")
	peak.whole("value", w.System.ConcurrencyPeak)
	put(peak)
	for _, name := range economy([]analysis.Window{*w}) {
		system(name, "", economyValue(w, name))
	}
	f := w.Facts
	of := map[string]*int64{"accept_length": f.AcceptLenN, "accept_rate": f.AcceptRateN}
	if f.CachedN != nil && f.CachedInferN != nil {
		of["cached_ratio"] = new(*f.CachedN + *f.CachedInferN)
	}
	for _, x := range []struct {
		name string
		v    *float64
	}{
		{"median_service_times", f.ServiceTimes}, {"inflight_mean", f.InFlightMean}, {"inflight_sd", f.InFlightSD},
		{"to_last_token_s", f.ToLastTokenS}, {"cached_ratio", f.CachedRatio}, {"nominal_cached_ratio", f.NominalCachedRatio},
		{"accept_length", f.AcceptLength}, {"accept_rate", f.AcceptRate},
		{"slo_good_share", f.GoodShare}, {"slo_good_requests_per_s", f.GoodPerS}, {"slo_good_output_tokens_per_s", f.GoodTokensPerS},
	} {
		rec := base("fact", x.name)
		rec.whole("n", of[x.name])
		rec.float("value", x.v)
		if g := f.Goodput; g != nil {
			rec.interval("value", g.CI[strings.TrimPrefix(x.name, "slo_good_")])
		}
		put(rec)
	}
	if f.Goodput == nil {
		return
	}
	for _, l := range f.Goodput.Limits {
		rec := base("fact", "slo_"+l.Name+"_share")
		rec["n"] = strconv.FormatInt(f.Goodput.Judged, 10)
		rec.float("value", l.Share)
		rec["text"] = "limit " + strconv.FormatFloat(l.LimitMS, 'g', -1, 64) + " ms"
		put(rec)
	}
}

type requestColumn struct {
	name string
	of   func(r *analysis.Row) any
}

// requestColumns is requests.csv: seconds since the run's t = 0 and durations in
// milliseconds, both to the nanosecond.
var requestColumns = []requestColumn{
	{"seq", func(r *analysis.Row) any { return r.Seq }},
	{"phase", func(r *analysis.Row) any { return r.Phase }},
	{"session", func(r *analysis.Row) any { return r.Session }},
	{"turn", func(r *analysis.Row) any { return r.Turn }},
	{"outcome", func(r *analysis.Row) any { return r.Outcome }},
	{"cause", func(r *analysis.Row) any { return r.Cause }},
	{"http_status", func(r *analysis.Row) any {
		if r.Status == 0 {
			return ""
		}
		return int64(r.Status)
	}},
	{"finish", func(r *analysis.Row) any { return r.Finish }},
	{"due_s", func(r *analysis.Row) any { return seconds{r.DueS} }},
	{"ready_s", func(r *analysis.Row) any { return seconds{r.ReadyS} }},
	{"released_s", func(r *analysis.Row) any { return seconds{r.ReleasedS} }},
	{"end_s", func(r *analysis.Row) any { return seconds{r.EndS} }},
	{"slot_wait_ms", func(r *analysis.Row) any { return millis{r.SlotWaitMS} }},
	{"pacer_lag_ms", func(r *analysis.Row) any { return millis{r.PacerLagMS} }},
	{"ttft_ms", func(r *analysis.Row) any { return millis{r.TTFTMS} }},
	{"ttfo_ms", func(r *analysis.Row) any { return millis{r.TTFOMS} }},
	{"tpot_ms", func(r *analysis.Row) any { return millis{r.TPOTMS} }},
	{"e2e_ms", func(r *analysis.Row) any { return millis{r.E2EMS} }},
	{"stream_end_ms", func(r *analysis.Row) any { return millis{r.StreamEndMS} }},
	{"ttft_from_due_ms", func(r *analysis.Row) any { return millis{r.TTFTDueMS} }},
	{"e2e_from_due_ms", func(r *analysis.Row) any { return millis{r.E2EDueMS} }},
	{"itl_mean_ms", func(r *analysis.Row) any { return millis{r.ITLMeanMS} }},
	{"itl_max_ms", func(r *analysis.Row) any { return millis{r.ITLMaxMS} }},
	{"input_tokens", func(r *analysis.Row) any { return r.Input }},
	{"input_source", func(r *analysis.Row) any { return r.InputSource }},
	{"output_tokens", func(r *analysis.Row) any { return r.Output }},
	{"output_source", func(r *analysis.Row) any { return r.OutputSource }},
	{"recounted_output_tokens", func(r *analysis.Row) any { return r.Recount }},
	{"asked_output_tokens", func(r *analysis.Row) any { return r.Asked }},
	{"asked_input_tokens", func(r *analysis.Row) any { return r.AskedInput }},
	{"cached_tokens", func(r *analysis.Row) any { return r.Cached }},
	{"cached_source", func(r *analysis.Row) any { return r.CachedSource }},
	{"cached_ratio", func(r *analysis.Row) any { return ratio{r.CachedRatio} }},
	{"cached_device_tokens", func(r *analysis.Row) any { return r.Device }},
	{"cached_host_tokens", func(r *analysis.Row) any { return r.Host }},
	{"cached_storage_tokens", func(r *analysis.Row) any { return r.Storage }},
	{"prefix_group", func(r *analysis.Row) any { return r.Group }},
	{"cache_touch", func(r *analysis.Row) any { return r.Touch }},
	{"expected_cached_tokens", func(r *analysis.Row) any { return r.ExpectedCached }},
	{"reasoning_tokens", func(r *analysis.Row) any { return r.Reasoning }},
	{"accepted_drafts", func(r *analysis.Row) any { return r.Accepted }},
	{"rejected_drafts", func(r *analysis.Row) any { return r.Rejected }},
	{"proposed_drafts", func(r *analysis.Row) any { return r.Drafted }},
	{"verify_steps", func(r *analysis.Row) any { return r.VerifySteps }},
	{"accept_rate", func(r *analysis.Row) any { return ratio{r.AcceptRate} }},
	{"accept_length", func(r *analysis.Row) any { return ratio{r.AcceptLength} }},
	{"tokens_per_event", func(r *analysis.Row) any { return ratio{r.TokensPerEvent} }},
	{"steps_accepting", func(r *analysis.Row) any { return list(r.StepsAccepting) }},
	{"events", func(r *analysis.Row) any { return r.Events }},
	{"token_events", func(r *analysis.Row) any { return r.TokenEvents }},
	{"attempts", func(r *analysis.Row) any {
		if r.Attempts == 0 { // an imported request whose tool does not say
			return ""
		}
		return int64(r.Attempts)
	}},
	{"retry_wait_ms", func(r *analysis.Row) any { return millis{r.RetryWaitMS} }},
	{"connection_reused", func(r *analysis.Row) any { return r.ConnReused }},
	{"dataset_row", func(r *analysis.Row) any { return r.DatasetRow }},
	{"windows", func(r *analysis.Row) any { return strings.Join(r.Windows, " ") }},
	{"flags", func(r *analysis.Row) any { return strings.Join(r.Flags, " ") }},
	{"message", func(r *analysis.Row) any { return r.Message }},
}

// partColumns are those that a merged tape has besides.
var partColumns = []requestColumn{
	{"part", func(r *analysis.Row) any { return r.Part }},
	{"part_seq", func(r *analysis.Row) any { return r.PartSeq }},
}

type seconds struct{ v *float64 }
type millis struct{ v *float64 }
type ratio struct{ v *float64 }

// list is counts with a space between.
func list(counts []int64) string {
	return strings.Trim(fmt.Sprint(counts), "[]")
}

// RequestsCSV writes requests.csv (RFC 4180), one line per request in plan
// order; an absent value is an empty cell.
func RequestsCSV(w io.Writer, r *analysis.Results) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	columns := requestColumns
	if len(r.Parts) > 0 {
		columns = slices.Concat(columns, partColumns)
	}
	line := make([]string, len(columns))
	for i, c := range columns {
		line[i] = c.name
	}
	out.Write(line)
	for _, row := range r.Rows.All() {
		for j, c := range columns {
			s, err := requestCell(c.of(&row))
			if err != nil {
				return fmt.Errorf("request %d, %s: %w", row.Seq, c.name, err)
			}
			line[j] = s
		}
		out.Write(line)
	}
	out.Flush()
	return out.Error()
}

func requestCell(v any) (string, error) {
	fixed := func(p *float64, digits int) (string, error) {
		if p == nil {
			return "", nil
		}
		if math.IsNaN(*p) || math.IsInf(*p, 0) {
			return "", notFinite(*p)
		}
		return strconv.FormatFloat(*p, 'f', digits, 64), nil
	}
	switch v := v.(type) {
	case string:
		return guard(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case *int64:
		if v == nil {
			return "", nil
		}
		return strconv.FormatInt(*v, 10), nil
	case *bool:
		if v == nil {
			return "", nil
		}
		return strconv.FormatBool(*v), nil
	case seconds:
		return fixed(v.v, 9)
	case millis:
		return fixed(v.v, 6)
	case ratio:
		return fixed(v.v, 6)
	}
	panic(fmt.Sprintf("report: no cell for %T", v))
}
