package report

import (
	"io"
	"strings"
	"testing"

	"tokentape/internal/analysis"
)

// withExpectations is a run of prefill and decode devices with a price, power and
// conditions of every kind.
func withExpectations() *analysis.Results {
	r := openLoop()
	r.About.Devices, r.About.Prefill, r.About.Decode, r.About.Price = 16, 8, 8, "16 devices × 2.5 an hour (USD)"
	for i := range r.Windows {
		s := &r.Windows[i].System
		if s.PerDevices == nil {
			continue
		}
		s.PerDevices["input_tokens_per_s_per_8_prefill_devices"] = p(1234.5)
		s.PerDevices["requests_per_s_per_8_prefill_devices"] = p(0.75)
		s.PerDevices["nominal_cached_input_tokens_per_s_per_16_devices"] = p(5555.5)
		s.PerDevices["output_tokens_per_s_per_8_decode_devices"] = p(768.0)
		s.Cost = map[string]*float64{"cost_per_hour": p(40.0), "cost_per_million_output_tokens": p(1.8125), "cost_per_request": p(0.00185)}
		s.Energy = map[string]*float64{"energy_j": p(1012800.0), "power_mean_w": p(9600.0), "joules_per_output_token": p(1.5625)}
	}
	limits := ci(1900, 2100)
	r.Expect = []analysis.Expectation{
		{Condition: "steady.ttft_ms.p95 < 2000", Result: "miss", Value: p(2010.25), Unit: "ms", N: 549, CI: &limits, Why: "the 95 % interval holds the limit: another run may decide otherwise"},
		{Condition: "verdict.fit == true", Result: "pass", Word: "true"},
		{Condition: "=cmd == 1", Result: "miss", Why: "cannot be read: \x1b[31m"},
		{Condition: "tokens.cached == 92160", Result: "miss", Unit: "tokens", N: 636, Missed: 7, Absent: 2, Why: "9 of 636 ok requests miss it, 2 without a value (the server has not proved that it reports them)",
			Rows: []analysis.ExpectRow{{Seq: 5, DatasetRow: 17, Value: p(0.0)}, {Seq: 9, DatasetRow: 21}, {Seq: 11, DatasetRow: 23, Word: "stop"}}},
	}
	return r
}

// Every condition, with its value, reason and rows, is in every view.
func TestExpectReachesEveryView(t *testing.T) {
	r := withExpectations()
	for name, view := range map[string]func(io.Writer, *analysis.Results) error{
		"page": consoleOf(Options{Width: 300}), "full": consoleOf(Options{Width: 300, Full: true}), "stats": StatsCSV, "json": JSON,
		"markdown": func(w io.Writer, r *analysis.Results) error { return Markdown(w, r, Options{}) },
	} {
		got := text(t, r, view)
		for _, want := range []string{"steady.ttft_ms.p95", "2000", "verdict.fit", "tokens.cached", "92160", "another run may decide otherwise", "9 of 636 ok requests miss it", "cannot be read"} {
			if name == "markdown" {
				got, want = strings.ReplaceAll(got, `\`, ""), strings.ReplaceAll(want, `\`, "")
			}
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
		if name != "stats" && strings.Contains(got, "\x1b") {
			t.Errorf("%s: an escape sequence got through", name)
		}
		if name == "stats" && !strings.Contains(got, ",'=cmd") && !strings.Contains(got, ",'=cmd == 1") {
			t.Errorf("stats: a formula got through")
		}
	}
	golden(t, "expect.txt", text(t, r, consoleOf(Options{})))
}

// Rows per device, of cost and of energy come in the order of their definitions,
// and every one is in the full tables and in stats.csv.
func TestEconomyRows(t *testing.T) {
	r := withExpectations()
	full, stats, page := text(t, r, consoleOf(Options{Width: 160, Full: true})), text(t, r, StatsCSV), text(t, r, consoleOf(Options{Width: 160}))
	at := 0
	for _, name := range economy(r.Windows) {
		i := strings.Index(full, "\n  "+systemLabel(name)+" ")
		if i < at {
			t.Errorf("%s at %d, after %d", name, i, at)
		}
		at = i
		if !strings.Contains(stats, ","+name+",") {
			t.Errorf("stats.csv lacks %s", name)
		}
		if _, ok := analysis.DefinitionOf(name); !ok {
			t.Errorf("%s is not defined", name)
		}
		if shown := strings.Contains(page, "\n  "+deviceLabel(name)+" "); shown != atAGlance(name) {
			t.Errorf("%s on the page: %v", name, shown)
		}
	}
}
