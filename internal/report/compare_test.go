package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"tokentape/internal/analysis/compare"
)

// comparison is five runs against five and one, with every kind of remark.
func comparison() *compare.Comparison {
	value := func(v float64, runs int) compare.Value {
		return compare.Value{Runs: runs, Value: &v, Min: p(v * 0.99), Max: p(v * 1.01), Spread: p(0.004), All: []float64{v}}
	}
	metric := func(name, unit, verdict string, a, shift float64, decides bool, why string) compare.Metric {
		m := compare.Metric{
			Name: name, Unit: unit, Good: "lower", Decides: decides, Verdict: verdict, A: value(a, 5), B: value(a+shift, 5),
			Shift: &shift, ShiftCI: ci(shift*0.9, shift*1.1), Level: p(0.968), P: p(0.0079), Tolerance: 0.02, Method: compare.ByRank, Why: why,
		}
		scale := a
		if unit == "share" {
			scale = 1
		}
		if scale != 0 {
			m.Change, m.ChangeCI = p(shift/scale), ci(shift*0.9/scale, shift*1.1/scale)
		}
		if decides {
			m.PAdjusted = p(0.0238)
		}
		return m
	}
	refs := func(name string, n int) (out []compare.Ref) {
		for i := range n {
			out = append(out, compare.Ref{Path: fmt.Sprintf("runs/%s/%d", name, i+1), Run: fmt.Sprint(name, i), Started: "2026-11-30T04:00:00Z", TapeSHA256: "aa11",
				Fit: true, Verdict: "fit for use", Planned: 640, OK: 640})
		}
		return out
	}
	b := refs("数据", 5)
	b[2].Fit, b[2].Verdict, b[2].OK, b[2].Failed = false, "NOT fit for use: client-bound; 1 note", 630, 10
	absent := compare.Metric{Name: "ttft_ms.p50", Unit: "ms", Good: "lower", Decides: true, Verdict: compare.Undecided, A: compare.Value{All: []float64{}}, B: compare.Value{All: []float64{}},
		Tolerance: 0.02, Method: compare.ByNone, Why: "not observed on either side"}
	blocks := metric("tpot_ms.p50", "ms", compare.Worse, 10.4, 10.31, true, "each of the 7 independent blocks of rows shows it")
	blocks.Method, blocks.Pairs, blocks.PairedA, blocks.PairedB, blocks.A, blocks.B = compare.ByBlocks, 52, p(10.43), p(20.71), value(10.4, 1), value(20.93, 1)
	return &compare.Comparison{
		Schema: compare.Schema, Verdict: compare.Worse, Line: "against A: B worse, C undecided. NOT to be relied on: 1 of 15 runs client-bound; --fit-only leaves it out",
		Window: "steady", WindowWhy: "every run has it", On: []string{"tpot_ms.p50", "ttft_ms.p50"}, Family: 2, Alpha: 0.05,
		Sides: []compare.Side{{Name: "A", Path: "runs/base", Runs: refs("base", 5)}, {Name: "B", Path: "runs/数据", Runs: b}, {Name: "C", Path: "runs/c", Runs: refs("c", 1)}},
		Pairs: []compare.Pair{
			{A: "A", B: "B", Verdict: compare.Worse, Line: "B is worse than A – worse: tpot_ms.p50 +3.1 % (2.8 … 3.4)", Method: "5 and 5 runs a side: exact rank-sum test and Hodges–Lehmann shift over the values of the runs",
				Metrics: []compare.Metric{
					metric("tpot_ms.p50", "ms", compare.Worse, 10.013, 0.31, true, ""), metric("ttft_ms.p50", "ms", compare.Undecided, 193.25, 5.9, true, "it could be chance"),
					metric("failed_share", "share", compare.Worse, 0, 0.0156, false, ""), metric("e2e_ms.p95", "ms", compare.Same, 12345, 10, false, ""),
					metric("itl_ms.p50", "ms", compare.Worse, 0, 0.5, false, ""), metric("prefill_uncached_tokens_per_s.p999", "tokens/s", compare.Better, 91234, 5000, false, ""),
				},
				Differences: []compare.Difference{{Path: "server.remote", A: "10.0.0.1:30000", B: "10.0.0.2:30000"}, {Path: "server.url", A: "http://a:30000/v1", B: "http://b:30000/v1"},
					{Path: "spec.target.url", A: "http://a:30000", B: "http://b:30000"}, {Path: "server.version", A: "0.5.6", B: "0.5.7 | 0.5.8"}, {Path: "spec.load.rate", A: "", B: "6"}, {Path: "spec.target.headers.X|Y", A: "<b>", B: "*_`x`\x1b[31m"}},
				Unlike:   []string{"offered rate (r): none → 6/s", "cache state: share of input tokens that came from the prefix cache: 0.9 → 0.1"},
				Warnings: []string{"failed requests are in no latency: A 0 of 3200, B 10 of 3200", "the runs of the two sides did not take turns: a drift of the machine or the server between them looks like a difference (tokentape run --repeat K --against … makes them take turns)"}},
			{A: "A", B: "C", Verdict: compare.Undecided, Line: "undecided whether C differs from A – undecided: ttft_ms.p50 ~ (not observed); between-run variance unknown", Method: "one run a side with the same plan: 512 rows that ended well on both sides are paired; between-run variance unknown: the intervals hold what varied within the runs alone",
				Rows: &compare.Matched{Paired: 512, OnlyA: 3}, Metrics: []compare.Metric{blocks, absent}, Differences: []compare.Difference{}, Unlike: []string{}, Warnings: []string{"not paired: 3 rows on A alone, 0 on C alone, 0 whose dataset row differs"}},
		},
		Warnings: []string{"B: steady window: 吞吐量在窗口内下降 3.1 % over the window"},
	}
}

var compareCases = []struct {
	name string
	view func(io.Writer, *compare.Comparison) error
}{
	{"compare.txt", func(w io.Writer, c *compare.Comparison) error { return CompareConsole(w, c, Options{Width: 80}) }},
	{"compare.full.txt", func(w io.Writer, c *compare.Comparison) error {
		return CompareConsole(w, c, Options{Width: 80, Full: true})
	}},
	{"compare.md", func(w io.Writer, c *compare.Comparison) error { return CompareMarkdown(w, c, Options{}) }},
	{"compare.zh.full.txt", func(w io.Writer, c *compare.Comparison) error {
		return CompareConsole(w, c, Options{Width: 80, Full: true, Lang: zh})
	}},
	{"compare.zh.md", func(w io.Writer, c *compare.Comparison) error { return CompareMarkdown(w, c, Options{Lang: zh}) }},
	{"compare.json", CompareJSON},
}

func compareText(t *testing.T, c *compare.Comparison, view func(io.Writer, *compare.Comparison) error) string {
	t.Helper()
	var b strings.Builder
	if err := view(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCompareGolden(t *testing.T) {
	for _, v := range compareCases {
		t.Run(v.name, func(t *testing.T) {
			got := compareText(t, comparison(), v.view)
			golden(t, v.name, got)
			if strings.Contains(got, "\x1b") {
				t.Error("an escape sequence of a server reached the view")
			}
			if strings.HasSuffix(v.name, ".txt") {
				for _, l := range strings.Split(got, "\n") {
					if columns.StringWidth(l) > 80 {
						t.Errorf("wider than 80 columns: %q", l)
					}
				}
			}
		})
	}
}

// TestEveryWarningOfAComparison: what a reader must know is in every view, whatever
// its format.
func TestEveryWarningOfAComparison(t *testing.T) {
	c := comparison()
	texts := []string{c.Line, c.WindowWhy}
	texts = append(texts, c.Warnings...)
	for _, s := range c.Sides {
		for _, r := range s.Runs {
			if !r.Fit {
				texts = append(texts, r.Verdict)
			}
		}
	}
	for _, q := range c.Pairs {
		texts = append(append(append(texts, q.Warnings...), q.Unlike...), q.Line, q.Method)
		for _, d := range folded(q.Differences) {
			if d.Path != "where the server is" { // of the views alone
				texts = append(texts, d.Path)
			}
		}
		for _, m := range q.Metrics {
			if m.Decides && m.Why != "" {
				texts = append(texts, m.Why)
			}
			if m.PairedA != nil {
				texts = append(texts, fmt.Sprint(m.Pairs), fmt.Sprint(*m.PairedA), fmt.Sprint(*m.PairedB))
			}
		}
	}
	// A view may break a line anywhere and escape what its format needs.
	plain := strings.NewReplacer(" ", "", "\n", "", `\\`, "", `\`, "", "&lt;", "<", "&gt;", ">", "&amp;", "&")
	for _, v := range compareCases {
		if strings.Contains(v.name, ".zh.") {
			continue // it says them in other words: TestChineseComparisonHasNoEnglish
		}
		got := plain.Replace(compareText(t, c, v.view))
		for _, text := range texts {
			if !strings.Contains(got, plain.Replace(text)) {
				t.Errorf("%s leaves out %q", v.name, text)
			}
		}
	}
}

// TestCompareRefusesNaN: a number that is not one is never printed.
func TestCompareRefusesNaN(t *testing.T) {
	for _, v := range compareCases {
		c := comparison()
		c.Pairs[0].Metrics[0].Change = p(math.NaN())
		if err := v.view(io.Discard, c); err == nil {
			t.Errorf("%s printed NaN", v.name)
		}
	}
}

// TestCompareColour: colour is for terminals, and changes no text.
func TestCompareColour(t *testing.T) {
	var plain, colour strings.Builder
	if err := CompareConsole(&plain, comparison(), Options{Width: 80}); err != nil {
		t.Fatal(err)
	}
	if err := CompareConsole(&colour, comparison(), Options{Width: 80, Color: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(colour.String(), "\x1b[1;31m") {
		t.Error("worse is not red")
	}
	bare := colour.String()
	for {
		i := strings.IndexByte(bare, '\x1b')
		if i < 0 {
			break
		}
		bare = bare[:i] + bare[i+strings.IndexByte(bare[i:], 'm')+1:]
	}
	if bare != plain.String() {
		t.Error("colour changed the text")
	}
}

// Where the server is differs in most comparisons: one line says it, in views.
func TestFoldedDifferences(t *testing.T) {
	c := comparison()
	for view, want := range map[string]int{"compare.txt": 1, "compare.full.txt": 1, "compare.md": 1} {
		for _, x := range compareCases {
			if x.name != view {
				continue
			}
			got := compareText(t, c, x.view)
			if n := strings.Count(got, "where the server is"); n != want || strings.Contains(got, "server.remote") || !strings.Contains(got, "http://b:30000/v1") {
				t.Errorf("%s: %d times\n%s", view, n, got)
			}
		}
	}
	one := []compare.Difference{{Path: "server.url", A: "a", B: "b"}, {Path: "server.version", A: "1", B: "2"}}
	if got := folded(one); len(got) != 2 || got[0].Path != "server.url" {
		t.Errorf("%+v", got)
	}
}
