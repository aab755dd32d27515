package report

import (
	"encoding/csv"
	"errors"
	"strings"
	"testing"

	"tokentape/internal/analysis"
)

// pair is a run of a disaggregated pair: one page with all there is, one that died,
// and one that never answered.
func pair() *analysis.Results {
	r := openLoop()
	b := func(v, lo, hi float64) analysis.ServerBounded {
		return analysis.ServerBounded{Value: &v, Low: &lo, High: &hi}
	}
	beyond := analysis.ServerBounded{Low: p(400.0)}
	window := func(kind, source string) analysis.ServerWindow {
		return analysis.ServerWindow{Window: kind, Source: source, FromS: p(1.0), ToS: p(105.0), LengthS: 105.5, CoveredS: 104, Readings: 105}
	}
	steady := window("steady", "prefill-0")
	steady.Gaps, steady.Resets = 1, 1
	steady.Rows = []analysis.ServerRow{
		{Name: "queue_depth", Type: "gauge", Unit: "requests", Series: "sglang:num_queue_reqs", Of: 8, N: 105, Mean: p(3.25), Min: p(0.0), Max: p(12.0), Last: p(1.0)},
		{Name: "kv_usage", Type: "gauge", Unit: "share", Series: "sglang:token_usage", Of: 8, N: 105, Mean: p(0.41), Min: p(0.1), Max: p(0.93), Last: p(0.2)},
		{Name: "cached_share", Type: "ratio", Unit: "share", Series: "sglang:cached_tokens_total ÷ sglang:prompt_tokens_total", Of: 2, N: 105, Mean: p(0.9)},
		{Name: "generation_tokens", Type: "counter", Unit: "tokens", Series: "sglang:generation_tokens_total", Of: 1, N: 105, Increase: p(640000.0), PerS: p(6153.8), Resets: 1, Warnings: []string{"counters began anew once"}},
		{Name: "ttft_ms", Type: "histogram", Unit: "ms", Series: "sglang:time_to_first_token_seconds", Of: 1, N: 105, Mean: p(181.5), Histogram: &analysis.ServerHistogram{
			N: 628, Quantiles: map[string]analysis.ServerBounded{"p50": b(171, 100, 200), "p90": b(390, 200, 400), "p95": beyond, "p99": beyond}, Counts: "from the arrival to the first token",
			Client:         &analysis.ServerClient{N: 628, Of: "requests whose first token came in the time covered", Mean: p(193.25), Quantiles: map[string]*float64{"p50": p(185.0), "p90": p(395.0), "p99": p(450.0)}},
			DifferenceMean: p(11.75), Difference: map[string]analysis.ServerBounded{"p50": b(14, -15, 85), "p90": b(5, -5, 195), "p99": {High: p(50.0)}}}},
		{Name: "queue_time_ms", Type: "histogram", Unit: "ms", Series: "sglang:queue_time_seconds", Of: 1, N: 105, Mean: p(4.5), Histogram: &analysis.ServerHistogram{N: 628, Quantiles: map[string]analysis.ServerBounded{"p50": b(4, 0, 5)}}},
	}
	whole := window("whole", "prefill-0")
	whole.Rows = steady.Rows[:2]
	r.Server = &analysis.Server{
		Sources: []analysis.ServerSource{
			{Name: "prefill-0", Role: "prefill", Kind: "sglang", IntervalS: p(1.0), Readings: 130, Failed: 4, Missed: 2, Causes: map[string]int64{"timeout": 4}, Example: "no answer within 10s\x1b[31m", FromS: p(0.01), ToS: p(139.0),
				Gaps: []analysis.ServerGap{{FromS: 20, ToS: 25, Why: "timeout"}}, GapsN: 1, GapsS: 5, Resets: []analysis.ServerReset{{TS: 30, Counters: 14, Anew: true, Why: "the start time of its process moved"}}, ResetsN: 1, Restarts: 1, SeriesN: 131,
				Warnings: []string{"3 values that are NaN or infinite are left out"}},
			{Name: "decode-0", Role: "decode", Kind: "vllm", IntervalS: p(1.0), Readings: 2, FromS: p(0.02), ToS: p(1.02)},
			{Name: "gpu", Role: "device", IntervalS: p(1.0), Failed: 140, Causes: map[string]int64{"connect": 140}, Example: "connection refused"},
		},
		Windows: []analysis.ServerWindow{whole, steady},
		Series:  analysis.SeriesOf([]analysis.ServerSeries{{Source: "prefill-0", Name: "=evil{a=\"b\"}", Type: "counter", N: p[int64](3), First: p(1.0), Last: p(4.0), Min: p(1.0), Max: p(4.0), Increase: p(3.0)}}),
	}
	return r
}

func TestServerViews(t *testing.T) {
	r := pair()
	for name, o := range map[string]Options{"server.txt": {Width: 100}, "server.full.txt": {Width: 100, Full: true}} {
		var b strings.Builder
		if err := Console(&b, r, o); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		from, to := strings.Index(text, "  metrics "), strings.Index(text, "\nLatency by")
		if o.Full {
			from, to = strings.Index(text, "Metrics page"), strings.Index(text, "\nWarnings")
		}
		if from < 0 || to < from {
			t.Fatalf("%s: no metrics pages in\n%s", name, text)
		}
		for _, l := range strings.Split(text[from:to], "\n") {
			if columns.StringWidth(l) > 100 || strings.Contains(l, "\x1b") {
				t.Errorf("%q", l)
			}
		}
		golden(t, name, text[from:to])
	}
	var md, csvText, js strings.Builder
	if err := Markdown(&md, r, Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(md.String(), "## Metrics page prefill-0 (prefill, sglang)") || !strings.Contains(md.String(), "| TTFT, p50, ms | – | \\~171 (100–200) |") {
		t.Error(md.String())
	}
	if err := ServerCSV(&csvText, r); err != nil {
		t.Fatal(err)
	}
	golden(t, "server.csv", csvText.String())
	lines, err := csv.NewReader(strings.NewReader(csvText.String())).ReadAll()
	if err != nil || len(lines) != 1+3+1+1+8+1 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
	if err := JSON(&js, r); err != nil || !strings.Contains(js.String(), `"difference_mean": 11.75`) {
		t.Errorf("%v", err)
	}
	bare := openLoop()
	csvText.Reset()
	if err := ServerCSV(&csvText, bare); err != nil || strings.Count(csvText.String(), "\n") != 1 {
		t.Errorf("%q, %v", csvText.String(), err)
	}
}

// The compact table: rows at 0 and quantiles that say nothing are one line together,
// another metric beside a server's has its name, and ranges without a sign are left out.
func TestServerTable(t *testing.T) {
	r := pair()
	b := func(v, lo, hi float64) analysis.ServerBounded {
		return analysis.ServerBounded{Value: &v, Low: &lo, High: &hi}
	}
	r.Server.Sources = r.Server.Sources[:1]
	r.Server.Sources[0].RoleFrom = "page"
	r.Server.Windows = r.Server.Windows[1:]
	r.Server.Windows[0].Rows = []analysis.ServerRow{
		{Name: "queue_depth", Type: "gauge", Unit: "requests", N: 9, Mean: p(0.0), Min: p(0.0), Max: p(0.0)},
		{Name: "running_requests", Type: "gauge", Unit: "requests", N: 9, Mean: p(0.0), Min: p(0.0), Max: p(1.0)},
		{Name: "aborted_requests", Type: "counter", Unit: "requests", N: 9, Increase: p(0.0), PerS: p(0.0)},
		{Name: "ttft_ms", Type: "histogram", Unit: "ms", Mean: p(7.0), Histogram: &analysis.ServerHistogram{N: 10, Quantiles: map[string]analysis.ServerBounded{"p50": b(50, 0, 100), "p90": b(90, 0, 100), "p99": b(150, 100, 200)},
			Client: &analysis.ServerClient{N: 10, Mean: p(8.0), Quantiles: map[string]*float64{"p50": p(6.0), "p90": p(7.0), "p99": p(180.0)}}, DifferenceMean: p(1.0), Difference: map[string]analysis.ServerBounded{"p50": b(-44, -94, 6), "p99": b(30, -20, 80)}}},
		{Name: "itl_ms", Type: "histogram", Unit: "ms", Mean: p(5.0), Histogram: &analysis.ServerHistogram{N: 100, Quantiles: map[string]analysis.ServerBounded{}, Client: &analysis.ServerClient{N: 99, Metric: "tpot", Mean: p(5.5), Quantiles: map[string]*float64{}}, DifferenceMean: p(0.5)}},
		{Name: "queue_time_ms", Type: "histogram", Unit: "ms", Histogram: &analysis.ServerHistogram{}},
	}
	var out strings.Builder
	if err := Console(&out, r, Options{Width: 100, Full: true}); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"0 throughout: requests waiting, requests aborted\n", "nothing observed: time in queue\n", "p50 p90 of TTFT", "client TPOT", "5.500 (+0.500)", "prefill, as its series say (engine_type)", "requests running", "  180\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text[strings.Index(text, "Metrics page"):strings.Index(text, "\nWarnings")])
		}
	}
	if strings.Contains(text, "−94") || strings.Contains(text, "−20 to") {
		t.Error("a difference that has no sign is shown")
	}
}

// The rate on the short page is the counter's, where there is one: SGLang's gauge tells
// of what was. With --full the gauge is called one.
func TestGenerationRate(t *testing.T) {
	gauge := analysis.ServerRow{Name: "generation_throughput", Type: "gauge", Unit: "tokens/s", Series: "sglang:gen_throughput", N: 9, Mean: p(495.8), Min: p(0.0), Max: p(700.0), Last: p(650.0)}
	counter := analysis.ServerRow{Name: "generation_tokens", Type: "counter", Unit: "tokens", Series: "sglang:generation_tokens_total", N: 9, Increase: p(6401.0), PerS: p(640.1)}
	derived := analysis.ServerRow{Name: "generation_throughput", Type: "gauge", Unit: "tokens/s", Series: "vllm:generation_tokens_total", N: 9, Mean: p(640.1), Min: p(600.0), Max: p(700.0)}
	for _, c := range []struct {
		rows        []analysis.ServerRow
		short, full string
		not         string
	}{
		{[]analysis.ServerRow{gauge, counter}, "640.1 tok/s", "generation, the engine's gauge", "495.8 tok/s"},
		{[]analysis.ServerRow{gauge}, "495.8 tok/s by the engine's gauge", "generation, the engine's gauge", "640.1"},
		{[]analysis.ServerRow{derived, counter}, "640.1 tok/s", "  generation", "gauge"},
	} {
		r := pair()
		r.Server.Sources, r.Server.Windows = r.Server.Sources[:1], r.Server.Windows[1:]
		r.Server.Windows[0].Rows = c.rows
		var short, full strings.Builder
		if err := errors.Join(Console(&short, r, Options{Width: 200}), Console(&full, r, Options{Width: 200, Full: true})); err != nil {
			t.Fatal(err)
		}
		table := full.String()[strings.Index(full.String(), "\nMetrics page"):]
		if !strings.Contains(short.String(), c.short) || !strings.Contains(table, c.full) || strings.Contains(short.String(), c.not) {
			t.Errorf("%+v\n%s\n%s", c, short.String(), table)
		}
	}
}

// Of more pages than the short page has room for, those that could not be read and
// then those of the entry and of prefill are on it.
func TestServerOrder(t *testing.T) {
	all := []analysis.ServerSource{
		{Name: "a-decode", Role: "decode", Readings: 9}, {Name: "b-device", Role: "device", Readings: 9}, {Name: "c-prefill", Role: "prefill", Readings: 9},
		{Name: "d", Readings: 9}, {Name: "e-decode", Role: "decode", Readings: 8, Failed: 1}, {Name: "f-prefill", Role: "prefill", Failed: 9},
	}
	var got []string
	for _, s := range serverOrder(all) {
		got = append(got, s.Name)
	}
	if want := "f-prefill e-decode c-prefill a-decode d b-device"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}
