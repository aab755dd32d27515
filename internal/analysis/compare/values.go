package compare

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
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

// service are the values of the whole service and the facts of a window, and the
// intervals that it has of them, by the names of explain and of conditions: what a
// section holds beside the window's own rows has the section before it
// (goodput.requests_per_s).
func service(w *analysis.Window) (map[string]*float64, map[string][2]*float64, error) {
	values, cis := map[string]*float64{}, map[string][2]*float64{}
	for _, part := range []any{w.System, w.Facts} {
		if err := leaves(values, cis, "", reflect.ValueOf(part)); err != nil {
			return nil, nil, err
		}
	}
	for key, good := range sloRows { // the same numbers, so the same intervals
		if ci, ok := cis[good]; ok {
			cis[key] = ci
		}
	}
	return values, cis, nil
}

// sloRows are the rows of the window that stand, with their intervals, in goodput too.
var sloRows = map[string]string{
	"slo_good_share":               "goodput.share",
	"slo_good_requests_per_s":      "goodput.requests_per_s",
	"slo_good_output_tokens_per_s": "goodput.output_tokens_per_s",
}

// leaves puts every number of a section under its JSON name, rows of a map under
// their own, and intervals under the name of their value. Two numbers of one name are
// an error: one of them would stand for the other.
func leaves(values map[string]*float64, cis map[string][2]*float64, prefix string, v reflect.Value) error {
	put := func(name string, x *float64) error {
		if x == nil {
			return nil
		}
		if _, twice := values[name]; twice {
			return fmt.Errorf("two values of a window are called %s: this is a fault of tokentape; please report it", name)
		}
		values[name] = x
		return nil
	}
	for i := range v.NumField() {
		key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		var err error
		switch f := v.Field(i).Interface().(type) {
		case *float64:
			err = put(prefix+key, f)
		case int64:
			err = put(prefix+key, ref(float64(f)))
		case map[string]*float64:
			for k, x := range f {
				err = errors.Join(err, put(prefix+k, x))
			}
		case map[string][2]*float64:
			for k, ci := range f {
				cis[prefix+k] = ci
			}
		default:
			if f := v.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() && f.Type().Elem().Kind() == reflect.Struct {
				err = leaves(values, cis, prefix+key+".", f.Elem())
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// aboutWindow are facts that say how to read a window, and nothing of the service.
var aboutWindow = []string{"duration_s", "median_service_times", "inflight_mean", "inflight_sd", "to_last_token_s", "goodput.judged", "goodput.good"}

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
			for k := range r.service {
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
		return r.service[n.key], r.serviceCI[n.key]
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
