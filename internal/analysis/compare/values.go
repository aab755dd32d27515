package compare

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/catalog"
)

// DefaultOn are the metrics that decide unless others are asked for: each of the
// three answers for a part of the service, and is steady enough for few runs. Where
// nothing was streamed e2e_ms.p50 stands for the first two. Where requests failed,
// failed_share decides too: they are in no other metric.
var DefaultOn = []string{"ttft_ms.p50", "tpot_ms.p50", "output_tokens_per_s"}

// unstreamed replaces those of DefaultOn that need a stream.
const unstreamed = "e2e_ms.p50"

// stats are the statistics of a per-request metric, with their thousandths; 0: the
// mean.
var stats = []struct {
	name     string
	quantile int
	of       func(*analysis.Summary) *float64
}{
	{"mean", 0, func(s *analysis.Summary) *float64 { return s.Mean }},
	{"p50", 500, func(s *analysis.Summary) *float64 { return s.P50 }},
	{"p75", 750, func(s *analysis.Summary) *float64 { return s.P75 }},
	{"p90", 900, func(s *analysis.Summary) *float64 { return s.P90 }},
	{"p95", 950, func(s *analysis.Summary) *float64 { return s.P95 }},
	{"p99", 990, func(s *analysis.Summary) *float64 { return s.P99 }},
	{"p999", 999, func(s *analysis.Summary) *float64 { return s.P999 }},
	{"max", -1, func(s *analysis.Summary) *float64 { return s.Max }},
}

// failedKey is the one value that no window has: failed ÷ (ok + failed) of the run.
const failedKey = "failed_share"

// system are the values of the whole service and the facts of a window, by the names
// of the catalogue, which has no two alike.
func (r *run) system(w *analysis.Window) map[string]*float64 {
	if r.service != nil {
		return r.service
	}
	out := map[string]*float64{failedKey: failedShare(&r.res.Counts)}
	for _, part := range []any{w.System, w.Facts} {
		b, _ := json.Marshal(part) // numbers that were made here
		var fields map[string]any
		_ = json.Unmarshal(b, &fields)
		leaves(out, fields)
	}
	r.service = out
	return out
}

func leaves(out map[string]*float64, fields map[string]any) {
	for k, v := range fields {
		switch v := v.(type) {
		case float64:
			out[k] = &v
		case map[string]any:
			if k != "ci" {
				leaves(out, v)
			}
		}
	}
}

// aboutWindow are facts that say how to read a window, and nothing of the service.
var aboutWindow = []string{"duration_s", "median_service_times", "inflight_mean", "inflight_sd", "to_last_token_s"}

// systemNames are those names in the order of the catalogue.
func systemNames(seen map[string]bool) []string {
	var out []string
	for _, e := range catalog.Of(catalog.KindSystem, catalog.KindFact) {
		for _, k := range slices.Sorted(maps.Keys(seen)) {
			if e.Is(k) && !slices.Contains(aboutWindow, k) && !strings.HasSuffix(k, "_n") && !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
	}
	return append(out, failedKey)
}

func failedShare(c *analysis.Counts) *float64 {
	n := c.OK + c.Failed
	if n == 0 {
		return nil
	}
	v := float64(c.Failed) / float64(n)
	return &v
}

// rowMetric takes a metric off a row.
type rowMetric struct {
	key string
	of  func(*analysis.Row) *float64
}

// rowMetrics are the metrics that can be paired by plan row.
var rowMetrics = [...]rowMetric{
	{"ttft_ms", func(r *analysis.Row) *float64 { return r.TTFTMS }},
	{"ttft_from_due_ms", func(r *analysis.Row) *float64 { return r.TTFTDueMS }},
	{"ttfo_ms", func(r *analysis.Row) *float64 { return r.TTFOMS }},
	{"tpot_ms", func(r *analysis.Row) *float64 { return r.TPOTMS }},
	{"e2e_ms", func(r *analysis.Row) *float64 { return r.E2EMS }},
	{"e2e_from_due_ms", func(r *analysis.Row) *float64 { return r.E2EDueMS }},
	{"stream_end_ms", func(r *analysis.Row) *float64 { return r.StreamEndMS }},
	{"slot_wait_ms", func(r *analysis.Row) *float64 { return r.SlotWaitMS }},
}

// name of a metric, taken apart.
type name struct {
	text, key string
	stat      int // index into stats; −1: of the system
}

func parse(text string) name {
	if key, st, ok := strings.Cut(text, "."); ok {
		for i, s := range stats {
			if s.name == st {
				return name{text, key, i}
			}
		}
	}
	return name{text, text, -1}
}

// names are all metrics that some run's window has: the whole service first, then
// those of requests in the order of the catalogue.
func (c *comparison) allNames() []name {
	ofSystem, ofRequests := map[string]bool{}, map[string]bool{}
	for _, s := range c.sides {
		for _, r := range s.runs {
			w := c.window(r, c.kind)
			for k := range r.system(w) {
				ofSystem[k] = true
			}
			for k := range w.Metrics {
				ofRequests[k] = true
			}
		}
	}
	var out []name
	for _, k := range systemNames(ofSystem) {
		out = append(out, name{k, k, -1})
	}
	for _, e := range catalog.Of(catalog.KindMetric) {
		if !ofRequests[e.Name] {
			continue
		}
		for i, s := range stats {
			out = append(out, name{e.Name + "." + s.name, e.Name, i})
		}
	}
	return out
}

// value of a metric in a run's window, with its interval; nil: absent.
func (n name) value(r *run, w *analysis.Window) (v *float64, ci [2]*float64) {
	if n.stat < 0 {
		return r.system(w)[n.key], w.System.CI[n.key]
	}
	s := w.Metrics[n.key]
	if s == nil {
		return nil, ci
	}
	st := stats[n.stat]
	return st.of(s), s.CI[st.name]
}

// entry is what the catalogue says of the metric: its unit, and which way is better.
func (n name) entry() catalog.Entry {
	switch {
	case n.stat >= 0:
		e, _ := catalog.Find(n.key, catalog.KindMetric)
		return e
	case n.key == failedKey:
		return catalog.Entry{Name: failedKey, Unit: "share", Better: catalog.Lower}
	}
	e, _ := catalog.Find(n.key, catalog.KindSystem, catalog.KindFact)
	return e
}
