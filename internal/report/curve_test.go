package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/compare"
	"tokentape/internal/analysis/curve"
	"tokentape/internal/analysis/window"
	"tokentape/internal/sweep"
)

// rates is a sweep of an open loop: the cache serves more at every step, one rate is
// too short for tails, the last one is not kept up with, one failed and one was not run.
func rates(t testing.TB) *curve.Curves {
	t.Helper()
	m := &sweep.Manifest{Kind: "sweep", Name: "rates", Fields: []string{"load.rate"}, Prompts: "distinct"}
	var runs []curve.Result
	for i, rate := range []float64{2, 4, 8, 12, 16, 20} {
		p := sweep.Point{Name: fmt.Sprintf("r%g", rate), At: []any{rate}, Repeat: 1, State: sweep.Done, Run: fmt.Sprintf("points/r%g", rate)}
		r := curve.Result{Res: openRun(rate, min(rate, 10), 100+10*rate, float64(i)*0.1)}
		switch rate {
		case 4:
			r.Res.Windows[0].Metrics["ttft_from_due_ms"].P99 = nil
			r.Res.Windows[0].Metrics["ttft_from_due_ms"].N = 60
		case 16:
			p.State, p.Run, p.Reason, r = sweep.Failed, "", "connection refused", curve.Result{}
		case 20:
			p.State, p.Run, r = sweep.NotRun, "", curve.Result{}
		}
		m.Points, runs = append(m.Points, p), append(runs, r)
	}
	path := filepath.Join(t.TempDir(), "expected.csv")
	if err := os.WriteFile(path, []byte("load.rate,output_tokens_per_s,e2e_from_due_ms.p95\n2,20,125\n8,100,\n12,,300\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := curve.Of(m, runs, curve.Options{Expected: path})
	if err != nil {
		t.Fatal(err)
	}
	c.Expected.Path = "expected.csv"
	return c
}

func openRun(rate, x, e2e, cached float64) *analysis.Results {
	ci := func(v float64) [2]*float64 { return [2]*float64{new(v * 0.97), new(v * 1.02)} }
	sum := func(v float64) *analysis.Summary {
		return &analysis.Summary{N: 600, Mean: new(v), P50: new(v), P95: new(v * 1.2), P99: new(v * 1.5), CI: map[string][2]*float64{"mean": ci(v), "p50": ci(v), "p95": ci(v * 1.2)}, Unit: "ms"}
	}
	n := int64(580)
	r := &analysis.Results{Verdict: analysis.Verdict{Fit: true, Line: "FIT FOR USE"}, Counts: analysis.Counts{OK: 597, Failed: 3, Issued: 600, Planned: 600}, Load: analysis.Load{Loop: "open"}}
	r.About.Devices = 2
	r.Windows = []analysis.Window{{
		Kind: window.KindSteady, From: new(1.0), To: new(11.0), Requests: &n,
		Metrics: map[string]*analysis.Summary{"ttft_from_due_ms": sum(e2e / 10), "tpot_ms": sum(e2e / 20), "e2e_from_due_ms": sum(e2e), "ttft_ms": sum(e2e / 10), "e2e_ms": sum(e2e)},
		System: analysis.System{DurationS: new(10.0), RequestsPerS: new(x), OutputTokensPerS: new(10 * x), ConcurrencyMean: new(x * e2e / 1000),
			PerDevices: map[string]*float64{"output_tokens_per_s_per_2_devices": new(5 * x)},
			CI:         map[string][2]*float64{"requests_per_s": ci(x), "output_tokens_per_s": ci(10 * x), "output_tokens_per_s_per_2_devices": ci(5 * x)}},
		Facts: analysis.WindowFacts{CachedRatio: &cached, CachedN: new(int64(580))},
	}}
	rows := make([]analysis.Row, 600)
	for i := range rows {
		due := float64(i) / rate
		rows[i] = analysis.Row{Phase: "measure", Outcome: "ok", DueS: new(due), EndS: new(max(due, float64(i)/x) + e2e/1000)}
	}
	r.Rows = analysis.RowsOf(rows)
	return r
}

// nothing is a sweep in which no point was measured.
func nothing(t testing.TB) *curve.Curves {
	t.Helper()
	m := &sweep.Manifest{Kind: "sweep", Name: "noth\x1b[31ming", Fields: []string{"target.model"}, Points: []sweep.Point{
		{Name: "a", At: []any{"a|b\n*c*"}, State: sweep.Failed, Reason: "no such model"}, {Name: "b", At: []any{"=SUM(A1)"}, State: sweep.NotRun},
	}}
	c, err := curve.Of(m, make([]curve.Result, 2), curve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ofCurves(t testing.TB, c *curve.Curves, view func(io.Writer, *curve.Curves) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := view(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCurveGolden(t *testing.T) {
	for _, c := range []struct {
		name string
		c    *curve.Curves
	}{{"curve", rates(t)}, {"curve-nothing", nothing(t)}} {
		console := func(o Options) func(io.Writer, *curve.Curves) error {
			return func(w io.Writer, c *curve.Curves) error { return CurveConsole(w, c, o) }
		}
		golden(t, c.name+".txt", ofCurves(t, c.c, console(Options{Width: 80})))
		golden(t, c.name+".full.txt", ofCurves(t, c.c, console(Options{Width: 100, Full: true})))
		golden(t, c.name+".md", ofCurves(t, c.c, func(w io.Writer, c *curve.Curves) error { return CurveMarkdown(w, c, Options{Full: true}) }))
		golden(t, c.name+".csv", ofCurves(t, c.c, CurveCSV))
		golden(t, c.name+".json", ofCurves(t, c.c, CurveJSON))
		for width := 60; width <= 140; width += 20 {
			for _, line := range strings.Split(ofCurves(t, c.c, console(Options{Width: width, Full: true})), "\n") {
				if columns.StringWidth(line) > width {
					t.Errorf("%d columns: %q", width, line)
				}
				if strings.ContainsAny(line, "\x1b\r") {
					t.Errorf("a control character: %q", line)
				}
			}
		}
	}
}

// curve.json holds to its schema, which docs show, and reads back the same.
func TestCurveSchema(t *testing.T) {
	const path = "../../docs/curve.schema.json"
	want := CurveSchema()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(have, want) {
		t.Fatalf("docs/curve.schema.json is not the schema of curve.Curves (%v); go test ./internal/report -run Schema -update", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("curve.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("curve.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []*curve.Curves{rates(t), nothing(t)} {
		text := ofCurves(t, of, CurveJSON)
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Error(err)
		}
		var back curve.Curves
		if err := json.Unmarshal([]byte(text), &back); err != nil {
			t.Fatal(err)
		}
		if again := ofCurves(t, &back, CurveJSON); again != text {
			t.Error("curve.json does not read back the same")
		}
		v.(map[string]any)["points"] = "none"
		if schema.Validate(v) == nil {
			t.Error("points that are none pass")
		}
	}
}

// A line of curve.csv has a cell for every column, and no formula of anyone.
func TestCurveCSV(t *testing.T) {
	for _, c := range []*curve.Curves{rates(t), nothing(t)} {
		lines, err := csv.NewReader(strings.NewReader(ofCurves(t, c, CurveCSV))).ReadAll()
		if err != nil || len(lines) != len(c.Points)+1 {
			t.Fatalf("%d lines of %d points: %v", len(lines), len(c.Points), err)
		}
		for _, line := range lines {
			for _, cell := range line {
				if strings.HasPrefix(cell, "=") {
					t.Errorf("%q", cell)
				}
			}
		}
	}
	c := rates(t)
	v := c.Points[0].Values["requests_per_s"]
	v.Value = new(math.NaN())
	c.Points[0].Values["requests_per_s"] = v
	if CurveCSV(io.Discard, c) == nil || CurveJSON(io.Discard, c) == nil || CurveConsole(io.Discard, c, Options{}) == nil {
		t.Error("a NaN was written")
	}
}

func TestCurveCompareGolden(t *testing.T) {
	value := func(v float64) compare.Value { return compare.Value{Runs: 1, Value: &v, All: []float64{v}} }
	pair := func(label string, at, a, b float64, verdict string) curve.PointPair {
		change := (b - a) / a
		lo, hi := change-0.01, change+0.01
		return curve.PointPair{Label: label, At: []any{at}, Verdict: verdict, Of: &compare.Comparison{
			Schema: compare.Schema, Verdict: verdict, Fit: true, On: []string{"ttft_ms.p50"}, Family: 3, Warnings: []string{},
			Pairs: []compare.Pair{{A: "A", B: "B", Verdict: verdict, Unlike: []string{"plan: x → y"}, Metrics: []compare.Metric{{
				Name: "ttft_ms.p50", Unit: "ms", Good: "lower", Decides: true, Verdict: verdict, A: value(a), B: value(b), Change: &change, ChangeCI: [2]*float64{&lo, &hi}, Tolerance: 0.1,
			}}}},
		}}
	}
	crossing := 2.8
	c := &curve.Comparison{
		Schema: curve.CompareSchema, Verdict: compare.Worse, Fit: true, On: []string{"ttft_ms.p50"}, Family: 3, Fields: []string{"load.concurrency"},
		Line: "B against A at 3 points: ttft_ms.p50 better up to c=2, worse from c=4: crossing at c≈2.8", A: curve.Side{Path: "a", Line: "3 of 3 points measured"}, B: curve.Side{Path: "b", Line: "4 of 4 points measured"},
		Pairs: []curve.PointPair{pair("c=1", 1, 10, 5, compare.Better), pair("c=2", 2, 20, 15, compare.Better), pair("c=4", 4, 40, 60, compare.Worse)},
		Along: []curve.Along{{Metric: "ttft_ms.p50", Line: "better up to c=2, worse from c=4: crossing at c≈2.8", Points: []string{"c=1", "c=2", "c=4"}, Verdicts: []string{"better", "better", "worse"}, Crossing: &crossing}},
		Open:  []curve.Undecided{{Why: "it could be chance", Of: []string{"tpot_ms.p50 at c=1, c=2", "e2e_ms.p95 at every point"}, Do: "more requests a point (--each)"}, {Why: "not observed on A", Of: []string{"itl_ms.p50 at c=4"}}},
		OnlyA: []string{}, OnlyB: []string{"c=8"}, Warnings: []string{"A sent distinct prompts, B same"},
	}
	for name, view := range map[string]func(io.Writer, *curve.Comparison, Options) error{"curve-compare.txt": CurveCompareConsole, "curve-compare.md": CurveCompareMarkdown} {
		var b bytes.Buffer
		if err := view(&b, c, Options{Width: 80, Full: true}); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
	}
	var b bytes.Buffer
	if err := CurveCompareJSON(&b, c); err != nil || !json.Valid(b.Bytes()) {
		t.Error(err)
	}
}
