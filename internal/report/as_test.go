package report

import (
	"io"
	"strings"
	"testing"

	"tokentape/internal/analysis"
)

// withOthers is a run under two other tools' definitions, one of which could make
// no table of it.
func withOthers() *analysis.Results {
	r := openLoop()
	r.As = []analysis.AsTable{
		{
			Tool: "aisbench", Title: "AISBench/benchmark 3.1.0", Rule: "total: all successful requests. stable: from the second start at the cap",
			Sections: []analysis.AsSection{
				{Title: "total: per request", Columns: []string{"Performance Parameters", "Stage", "Average", "Min", "Max", "Median", "P75", "P90", "P99", "N"}, Rows: [][]string{
					{"E2EL", "total", "147.7 ms", "50.3 ms", "238.8 ms", "150.1 ms", "189.8 ms", "217.5 ms", "236.7 ms", "70"},
					{"PrefillTokenThroughput", "total", "5520.5324 token/s", "1162.0135 token/s", "9775.2309 token/s", "5528.329 token/s", "7547.9289 token/s", "8848.8463 token/s", "9565.8769 token/s", "70"},
				}},
				{Title: "stable", Columns: []string{"Error"}, Rows: [][]string{{"CALC-DATA-002: no stable stage\x1b[31m"}}},
			},
			Values:  map[string]*float64{"total.E2EL.Average": p(147.71), "total.Request Throughput": nil},
			Caveats: []string{"TTFT is the time to the first event", "PrefillTokenThroughput is a mean over requests, E2EL ends with the body"}, Elsewhere: []string{"nothing that bears on this tape"},
		},
		{Tool: "sglang", Error: "no request succeeded"},
	}
	return r
}

// Every cell, rule and caveat is in every view that has a place for it, whatever
// the width, and no line is wider than the page unless a single column is.
func TestAsReachesEveryView(t *testing.T) {
	r := withOthers()
	for name, view := range map[string]func(io.Writer, *analysis.Results) error{
		"60": consoleOf(Options{Width: 60}), "80": consoleOf(Options{Width: 80}), "100": consoleOf(Options{Width: 100, Full: true}), "wide": consoleOf(Options{Width: 300}), "json": JSON,
		"markdown": func(w io.Writer, r *analysis.Results) error { return Markdown(w, r, Options{}) },
	} {
		got := text(t, r, view)
		if _, tail, ok := strings.Cut(got, "As aisbench"); ok {
			got = tail
			for line := range strings.Lines(got) {
				if width := columns.StringWidth(strings.TrimRight(line, "\n")); name == "60" && width > 60 || name == "80" && width > 80 || name == "100" && width > 100 {
					t.Errorf("%s: a line of %d columns: %s", name, width, line)
				}
			}
		}
		got = strings.Join(strings.Fields(strings.ReplaceAll(got, `\`, "")), " ")
		for _, s := range r.As[0].Sections {
			for _, row := range s.Rows {
				for _, cell := range row {
					if cell, _, _ = strings.Cut(cell, "\x1b"); !strings.Contains(got, cell) {
						t.Errorf("%s lacks %q", name, cell)
					}
				}
			}
		}
		for _, want := range []string{"AISBench/benchmark 3.1.0", "from the second start at the cap", "TTFT is the time to the first event", "no request succeeded"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
		if has := strings.Contains(got, "nothing that bears on this tape"); has != (name == "100" || name == "json") {
			t.Errorf("%s: what does not bear on the tape is shown: %v", name, has)
		}
		if strings.Contains(got, "\x1b") {
			t.Errorf("%s: an escape sequence got through", name)
		}
	}
	golden(t, "as.txt", text(t, r, func(w io.Writer, r *analysis.Results) error {
		c := &console{page: page{width: 80}, r: r}
		c.as(false)
		_, err := io.WriteString(w, c.b.String())
		return err
	}))
}

// A caveat names the rows that it speaks of, in units' and latencies' short forms
// too; names of rows stay the tool's own.
func TestCaveatsNameTheirRows(t *testing.T) {
	for _, c := range []struct {
		caveat, label string
		want          bool
	}{
		{"Peak concurrent requests is the most that were open in any second", "Peak concurrent requests:", true},
		{"peak concurrent requests counts", "Peak concurrent requests:", true},
		{"TTFT is the first event with choices", "Mean TTFT (ms):", true},
		{"E2E of chat ends with the usage chunk", "P99 E2EL (ms):", true},
		{"ITL is one gap an event", "Mean TTFT (ms):", false},
		{"Output token throughput is a mean", "Output token throughput (tok/s):", true},
		{"Total token throughput", "Output token throughput (tok/s):", false},
		{"N counts requests", "N", false},
	} {
		if got := names(c.caveat, c.label); got != c.want {
			t.Errorf("%q names %q: %v", c.caveat, c.label, got)
		}
	}
	out := text(t, withOthers(), consoleOf(Options{Width: 300}))
	for _, want := range []string{"  E2EL   ", "  PrefillTokenThroughput  ", "  - [E2EL, PrefillTokenThroughput] PrefillTokenThroughput is a mean", "  - TTFT is the time"} {
		if !strings.Contains(out, want) {
			t.Errorf("lacks %q:\n%s", want, out)
		}
	}
}
