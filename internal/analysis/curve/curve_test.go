package curve

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/compare"
	"tokentape/internal/analysis/window"
	"tokentape/internal/sweep"
)

// made are Results of a run with a throughput, a mean E2E and an interval of ± share.
func made(x, e2e, share float64, change ...func(*analysis.Results)) *analysis.Results {
	ci := func(v float64) [2]*float64 { return [2]*float64{ref(v * (1 - share)), ref(v * (1 + share))} }
	if share == 0 {
		ci = func(float64) [2]*float64 { return [2]*float64{} }
	}
	sum := func(v float64) *analysis.Summary {
		return &analysis.Summary{N: 500, Mean: ref(v), P50: ref(v), P95: ref(v), P99: ref(v), CI: map[string][2]*float64{"mean": ci(v), "p50": ci(v), "p95": ci(v), "p99": ci(v)}, Unit: "ms"}
	}
	n := int64(500)
	r := &analysis.Results{Verdict: analysis.Verdict{Fit: true, Line: "FIT FOR USE"}, Counts: analysis.Counts{OK: 500, Issued: 500, Planned: 500}, Load: analysis.Load{Loop: "closed"}}
	r.Windows = []analysis.Window{{
		Kind: window.KindSteady, From: ref(1), To: ref(11), Requests: &n,
		Metrics: map[string]*analysis.Summary{"ttft_ms": sum(e2e / 10), "tpot_ms": sum(e2e / 20), "e2e_ms": sum(e2e)},
		System:  analysis.System{DurationS: ref(10), RequestsPerS: ref(x), OutputTokensPerS: ref(10 * x), CI: map[string][2]*float64{"requests_per_s": ci(x), "output_tokens_per_s": ci(10 * x)}},
	}}
	for _, f := range change {
		f(r)
	}
	return r
}

// tester is a testing.TB or a rapid.T.
type tester interface {
	Helper()
	Fatal(...any)
}

// swept reads made runs as a sweep of one field, or of several where at holds lists.
func swept(t tester, fields []string, at []any, runs []*analysis.Results) *Curves {
	t.Helper()
	m := &sweep.Manifest{Kind: "sweep", Name: "made", Fields: fields, Prompts: "distinct"}
	rs := make([]Result, len(at))
	for i, v := range at {
		place, ok := v.([]any)
		if !ok {
			place = []any{v}
		}
		m.Points = append(m.Points, sweep.Point{Name: fmt.Sprintf("p%d", i), At: place, Repeat: 1, State: sweep.Done, Run: fmt.Sprintf("points/p%d", i)})
		rs[i].Res = runs[i]
		if runs[i] == nil {
			m.Points[i].State, m.Points[i].Reason = sweep.Failed, "connection refused"
		}
	}
	c, err := Of(m, rs, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var concurrency = []string{"load.concurrency"}

// roof is a server of s slots whose requests take e ms.
func roof(c, s, e float64) (x, e2e float64) {
	return min(c, s) / e * 1000, e * max(1, c/s)
}

// The knee and the level of a roof are its slots, wherever the ladder ends and however
// wide intervals are, as long as they tell steps apart.
func TestRoof(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := float64(int(1) << rapid.IntRange(1, 5).Draw(t, "slots"))
		last := rapid.IntRange(int(math.Log2(slots))+1, 8).Draw(t, "last")
		share := rapid.SampledFrom([]float64{0, 0.01, 0.05}).Draw(t, "share")
		var at []any
		var runs []*analysis.Results
		for k := range last + 1 {
			c := float64(int(1) << k)
			x, e := roof(c, slots, 200)
			at, runs = append(at, c), append(runs, made(x, e, share))
		}
		order := rapid.Permutation(at).Draw(t, "order")
		shuffled := make([]*analysis.Results, len(at))
		for i, v := range order {
			shuffled[i] = runs[slices.Index(at, v)]
		}
		c := swept(t, concurrency, order, shuffled)
		g := c.Curves[0]
		if len(at) < leastKnee {
			return
		}
		if g.Knee.Point == nil || c.Points[*g.Knee.Point].At[0] != slots {
			t.Fatalf("%g slots, %d points: %s", slots, len(at), g.Knee.Line)
		}
		if g.Saturation.Point == nil || c.Points[*g.Saturation.Point].At[0] != slots {
			t.Fatalf("%g slots: %s", slots, g.Saturation.Line)
		}
	})
}

// What is dominated is clearly so: an interval that reaches over keeps a point on the
// front, and the quickest and the strongest are never off it for nothing.
func TestFront(t *testing.T) {
	for _, c := range []struct {
		name  string
		x, e  []float64
		share float64
		want  []int
	}{
		{"each step buys something", []float64{10, 20, 30}, []float64{100, 150, 220}, 0.02, []int{0, 1, 2}},
		{"the last buys nothing", []float64{10, 20, 20.2}, []float64{100, 150, 300}, 0.02, []int{0, 1}},
		{"the last loses", []float64{10, 20, 15}, []float64{100, 150, 300}, 0.02, []int{0, 1}},
		{"intervals reach over", []float64{10, 20, 18}, []float64{100, 150, 170}, 0.2, []int{0, 1, 2}},
		{"no intervals, near", []float64{10, 20, 19}, []float64{100, 150, 160}, 0, []int{0, 1, 2}},
		{"no intervals, far", []float64{10, 20, 15}, []float64{100, 150, 300}, 0, []int{0, 1}},
		{"twice for the same time", []float64{10, 20, 30}, []float64{100, 101, 220}, 0.02, []int{1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var runs []*analysis.Results
			for i := range c.x {
				runs = append(runs, made(c.x[i], c.e[i], c.share))
			}
			got := swept(t, concurrency, []any{1.0, 2.0, 4.0}, runs)
			for _, f := range got.Curves[0].Fronts {
				if !slices.Equal(f.Points, c.want) {
					t.Errorf("%s: %v, want %v", f.Latency, f.Points, c.want)
				}
			}
		})
	}
}

// Repeats are a mean with what runs differ by; none is chosen.
func TestPool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(t, "n")
		vs := make([]Value, n)
		xs := make([]float64, n)
		for i := range vs {
			xs[i] = rapid.Float64Range(1, 1000).Draw(t, "x")
			vs[i] = Value{Value: ref(xs[i]), CI: [2]*float64{ref(xs[i] - 1), ref(xs[i] + 1)}, By: ByRun, N: 10}
		}
		p := pool(vs)
		mean := 0.0
		for _, x := range xs {
			mean += x / float64(n)
		}
		if math.Abs(*p.Value-mean) > 1e-9*mean || p.N != int64(10*n) || !slices.Equal(p.Runs, xs) {
			t.Fatalf("%+v of %v", p, xs)
		}
		want := ByT
		if n == 2 {
			want = ByHull
			if *p.CI[0] > slices.Min(xs)-1 || *p.CI[1] < slices.Max(xs)+1 {
				t.Fatalf("%v … %v of %v", *p.CI[0], *p.CI[1], xs)
			}
		}
		if p.By != want || *p.CI[0] > *p.Value || *p.CI[1] < *p.Value || *p.CI[0] < 0 {
			t.Fatalf("%+v", p)
		}
		vs[0] = Value{Why: "n too small", N: 3}
		if p := pool(vs); p.Value != nil || p.Why != "n too small" {
			t.Fatalf("one run lacks it: %+v", p)
		}
	})
	if p := pool([]Value{{Value: ref(1)}, {Value: ref(2)}, {Value: ref(3)}}); math.Abs(*p.CI[1]-2-4.3027/math.Sqrt(3)) > 1e-3 {
		t.Errorf("t over 1, 2, 3: %v", *p.CI[1])
	}
}

// rows are requests that fall due every gap and end as end says.
func rows(n int, gap float64, end func(i int) float64) *analysis.Results {
	rs := make([]analysis.Row, n)
	for i := range rs {
		due := float64(i) * gap
		rs[i] = analysis.Row{Phase: "measure", Outcome: "ok", DueS: ref(due), EndS: ref(end(i))}
	}
	return &analysis.Results{Load: analysis.Load{Loop: "open"}, Rows: analysis.RowsOf(rs)}
}

func TestBacklog(t *testing.T) {
	for _, c := range []struct {
		name  string
		res   *analysis.Results
		slope float64 // −1: none
		state string
	}{
		{"kept up", rows(400, 0.1, func(i int) float64 { return float64(i)*0.1 + 0.95 }), 0, Stable},
		{"twice what it can", rows(400, 0.1, func(i int) float64 { return float64(i)*0.2 + 1 }), 5, Unstable},
		{"too few", rows(30, 0.1, func(i int) float64 { return float64(i) * 0.1 }), -1, Open},
		{"over before it began", rows(100, 0.01, func(i int) float64 { return 30 }), -1, Open},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := grown(c.res)
			if (g.slope == nil) != (c.slope < 0) || g.slope == nil && g.why == "" {
				t.Fatalf("%+v", g)
			}
			if g.slope != nil && math.Abs(*g.slope-c.slope) > 0.1 {
				t.Errorf("slope %v, want %v", *g.slope, c.slope)
			}
			v := func(p *float64, ci [2]*float64) Value { return Value{Value: p, CI: ci} }
			b := judge(v(g.offered, [2]*float64{}), v(g.kept, [2]*float64{}), v(g.slope, g.ci), g.why)
			if b.State != c.state || b.Why == "" {
				t.Errorf("%s: %s", b.State, b.Why)
			}
		})
	}
	if g := grown(&analysis.Results{Load: analysis.Load{Loop: "closed"}}); g != nil {
		t.Error("a closed loop has no backlog")
	}
}

// Grids are one curve a value of the slower field; names have no knee; fields that move
// together are no axis; a load is the axis wherever it stands.
func TestAxes(t *testing.T) {
	run := func(c float64) *analysis.Results { x, e := roof(c, 4, 100); return made(x, e, 0.01) }
	var at []any
	var runs []*analysis.Results
	for _, c := range []float64{1, 2, 4, 8} {
		for _, out := range []float64{128, 1024} {
			at, runs = append(at, []any{c, out}), append(runs, run(c))
		}
	}
	c := swept(t, []string{"load.concurrency", "workload.output_tokens"}, at, runs)
	if len(c.Curves) != 2 || c.Curves[0].Axis != "load.concurrency" || c.Curves[0].At != "out=128" || len(c.Curves[1].Points) != 4 || c.Curves[1].Knee.Point == nil {
		t.Errorf("a grid: %+v", c.Curves)
	}
	c = swept(t, []string{"target.model"}, []any{"a", "b", "c"}, []*analysis.Results{run(1), run(2), run(4)})
	if g := c.Curves[0]; g.Numeric || g.Knee != nil || g.Saturation != nil || len(g.Fronts) != 3 {
		t.Errorf("names: %+v", g)
	}
	c = swept(t, []string{"workload.output_tokens", "load.rate"}, []any{[]any{128.0, 8.0}, []any{1024.0, 1.0}}, []*analysis.Results{run(1), run(2)})
	if len(c.Curves) != 1 || c.Curves[0].Axis != "" || c.Curves[0].Numeric {
		t.Errorf("fields that move together: %+v", c.Curves)
	}
}

// What was not measured stays, with its reason.
func TestLost(t *testing.T) {
	x, e := roof(1, 4, 100)
	ok := made(x, e, 0.01)
	dead := made(x, e, 0.01, func(r *analysis.Results) { r.Counts = analysis.Counts{Issued: 9, Failed: 9} })
	c := swept(t, concurrency, []any{1.0, 2.0, 4.0}, []*analysis.Results{ok, nil, dead})
	if c.Measured != 1 || c.Failed != 2 || c.Points[1].Reason != "connection refused" || !strings.Contains(c.Points[2].Reason, "9 of 9 failed") {
		t.Errorf("%+v", c.Points)
	}
	if k := c.Curves[0].Knee; k.Point != nil || !strings.Contains(k.Line, "no knee") {
		t.Error(k.Line)
	}
	c = swept(t, concurrency, []any{1.0}, []*analysis.Results{nil})
	if c.Measured != 0 || c.Line != "0 of 1 points measured; 1 failed" {
		t.Error(c.Line)
	}
	unfit := made(x, e, 0.01, func(r *analysis.Results) {
		r.Verdict = analysis.Verdict{Line: "NOT fit for use: client-bound; 1 note: x"}
	})
	c = swept(t, concurrency, []any{1.0, 2.0}, []*analysis.Results{unfit, unfit})
	if c.Fit || !strings.HasSuffix(c.Line, "NOT to be relied on: 2 of 2 measured points client-bound") {
		t.Error(c.Line)
	}
	m := &sweep.Manifest{Fields: concurrency, Points: []sweep.Point{{Name: "a", At: []any{1.0}}}}
	c, err := Of(m, []Result{{Res: unfit}}, Options{FitOnly: true})
	if err != nil || c.Measured != 0 || !strings.HasPrefix(c.Points[0].Reason, "left out: NOT fit") {
		t.Errorf("fit only: %v %+v", err, c.Points)
	}
}

// A window that a run lacks is named, and one kind is taken for all runs of a place.
func TestWindows(t *testing.T) {
	short := func(r *analysis.Results) {
		whole := r.Windows[0]
		whole.Kind = window.KindWhole
		r.Windows = []analysis.Window{{Kind: window.KindSteady, Why: "too few requests"}, whole}
	}
	both := func(r *analysis.Results) {
		whole := r.Windows[0]
		whole.Kind = window.KindWhole
		r.Windows = append(r.Windows, whole)
	}
	c := swept(t, concurrency, []any{1.0, 2.0, 2.0}, []*analysis.Results{made(10, 100, 0.01, both), made(20, 100, 0.01, both), made(20, 100, 0.01, short)})
	if c.Points[0].Window != window.KindSteady || c.Points[1].Window != window.KindWhole || c.Points[1].WindowWhy != "too few requests" || c.Points[1].Pooled != 2 {
		t.Errorf("%+v", c.Points)
	}
	if !strings.Contains(strings.Join(c.Notes, "\n"), "different windows: c=2") {
		t.Error(c.Notes)
	}
}

// A thousand points are read together in a moment, and every one is there.
func TestThousand(t *testing.T) {
	var at []any
	var runs []*analysis.Results
	for i := range 1000 {
		x, e := roof(float64(i+1), 64, 100)
		at, runs = append(at, float64(i+1)), append(runs, made(x, e, 0.01))
	}
	if c := swept(t, concurrency, at, runs); c.Measured != 1000 || len(c.Curves[0].Points) != 1000 || c.Curves[0].Knee.Point == nil {
		t.Error(c.Line)
	}
}

func TestExpected(t *testing.T) {
	x, e := roof(1, 4, 100)
	x4, e4 := roof(4, 4, 100)
	for _, c := range []struct{ name, file, text, want string }{
		{"csv", "e.csv", "load.concurrency,output_tokens_per_s,e2e_ms.p95\n1,100.5,\n# later\n4,500,100\n", ""},
		{"yaml", "e.yaml", "- load.concurrency: 1\n  output_tokens_per_s: 100.5\n- load.concurrency: 4\n  output_tokens_per_s: 500\n  e2e_ms.p95: 1e2\n", ""},
		{"json", "e.json", `[{"point":"p0","output_tokens_per_s":100.5},` + "\n" + `{"point":"c=4","output_tokens_per_s":500,"e2e_ms.p95":100}]`, ""},
		{"no such point", "e.csv", "load.concurrency,requests_per_s\n1,10\n3,10\n", "e.csv:3: the sweep has no such point"},
		{"no such value", "e.csv", "load.concurrency,request_per_s\n1,10\n", `e.csv:2: "request_per_s" is neither`},
		{"no number", "e.yaml", "- load.concurrency: 1\n  requests_per_s: many\n", `e.yaml:2: requests_per_s: "many" is no number`},
		{"no finite number", "e.csv", "load.concurrency,requests_per_s\n1,Inf\n", "is no number"},
		{"twice", "e.csv", "load.concurrency,requests_per_s\n1,10\n1,11\n", "e.csv:3: requests_per_s of c=1 is expected in line 2 already"},
		{"column twice", "e.csv", "load.concurrency,requests_per_s,requests_per_s\n1,10,11\n", "stands twice"},
		{"no point given", "e.csv", "requests_per_s\n10\n", "e.csv:2: it does not say which point"},
		{"nothing expected", "e.csv", "load.concurrency\n1\n", "no value is expected of c=1"},
		{"empty", "e.csv", "", "no expected values"},
		{"ragged", "e.csv", "load.concurrency,requests_per_s\n1,2,3\n", "e.csv:2: "},
		{"not a list", "e.yaml", "load.concurrency: 1\n", "e.yaml:1: a list of objects"},
		{"broken", "e.json", "[{\"a\": \n", "e.json"},
		{"list inside", "e.yaml", "- load.concurrency: [1]\n", "e.yaml:1: load.concurrency: one value"},
		{"format", "e.txt", "x", "which format"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			got := swept(t, concurrency, []any{1.0, 4.0}, []*analysis.Results{made(x, e, 0.01), made(x4, e4, 0.01)})
			exp, err := got.expect(path)
			if c.want != "" {
				var bad *ExpectedError
				if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("%v, want %q", err, c.want)
				}
				return
			}
			if err != nil || len(exp.Rows) != 3 {
				t.Fatalf("%v %+v", err, exp)
			}
			if r := exp.Rows[0]; *r.Measured != 100 || !*r.Inside || math.Abs(*r.Ratio-100/100.5) > 1e-9 || r.Unit != "tokens/s" {
				t.Errorf("%+v", r)
			}
			if r := exp.Rows[1]; *r.Inside || *r.Ratio != 0.8 {
				t.Errorf("%+v", r)
			}
			if exp.Line != "3 expected values: 2 lie in the interval of what was measured, 1 outside" {
				t.Error(exp.Line)
			}
		})
	}
}

// No file of expected values, however broken, does more than say so.
func FuzzExpected(f *testing.F) {
	f.Add("load.concurrency,requests_per_s\n1,2\n", true)
	f.Add("- load.concurrency: 1\n  requests_per_s: 2\n", false)
	f.Add("[{\"point\": \"p0\", \"e2e_ms.p95\": null}]", false)
	f.Add("- &a\n  x: *a\n", false)
	x, e := roof(1, 4, 100)
	c := swept(f, concurrency, []any{1.0}, []*analysis.Results{made(x, e, 0.01)})
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string, csv bool) {
		path := filepath.Join(dir, "e.yaml")
		if csv {
			path = filepath.Join(dir, "e.csv")
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		exp, err := c.expect(path)
		var bad *ExpectedError
		if err != nil && !errors.As(err, &bad) {
			t.Fatalf("%T: %v", err, err)
		}
		if err == nil && len(exp.Rows) == 0 {
			t.Fatal("nothing was expected, and nothing said")
		}
	})
}

func TestCourse(t *testing.T) {
	const b, w, s, u = compare.Better, compare.Worse, compare.Same, compare.Undecided
	for _, c := range []struct {
		verdicts []string
		changes  []float64
		want     string
		crossing float64
	}{
		{[]string{b, b, b}, []float64{-.1, -.2, -.3}, "better at every point (3)", 0},
		{[]string{s, s, s}, []float64{0, 0, 0}, "same at every point (3)", 0},
		{[]string{u, u, u}, []float64{0, 0, 0}, "undecided at every point", 0},
		{[]string{b, u, u}, []float64{-.1, 0, 0}, "better at c=1, undecided at c=2, c=4", 0},
		{[]string{b, b, w}, []float64{-.2, -.1, .1}, "better up to c=2, worse from c=4: crossing at c≈2.8", math.Sqrt(8)},
		{[]string{b, u, w}, []float64{-.2, -.1, .1}, "better up to c=1, worse from c=4: crossing at c≈2.8 (1 of 3 points do not differ, or are open)", math.Sqrt(8)},
		{[]string{b, w, b}, []float64{-.2, .1, -.1}, "better at c=1, c=4, worse at c=2: the sides change more than once", 0},
		{[]string{b, "", b}, []float64{-.2, .1, -.1}, "better at c=1, c=4, not judged at c=2", 0},
	} {
		var steps []step
		for i, v := range c.verdicts {
			x := float64(int(1) << i)
			steps = append(steps, step{label: fmt.Sprintf("c=%g", x), x: x, verdict: v, change: ref(c.changes[i])})
		}
		line, at := course(steps, true, "c")
		if line != c.want {
			t.Errorf("%q, want %q", line, c.want)
		}
		if (at == nil) != (c.crossing == 0) || at != nil && math.Abs(*at-c.crossing) > 1e-9 {
			t.Errorf("%v: crossing %v, want %v", c.verdicts, at, c.crossing)
		}
	}
}

// The queue is that of the window and of all pages that have one; without one there is
// none, which is not 0.
func TestServerQueue(t *testing.T) {
	x, e := roof(8, 4, 100)
	queued := made(x, e, 0.01, func(r *analysis.Results) {
		row := func(v float64) []analysis.ServerRow {
			return []analysis.ServerRow{{Name: "queue_depth", Mean: &v}, {Name: "running_requests", Mean: ref(99)}}
		}
		r.Server = &analysis.Server{Windows: []analysis.ServerWindow{
			{Window: window.KindSteady, Source: "a", Rows: row(3)}, {Window: window.KindSteady, Source: "b", Rows: row(1.5)}, {Window: window.KindWhole, Source: "a", Rows: row(50)},
		}}
	})
	c := swept(t, concurrency, []any{4.0, 8.0}, []*analysis.Results{made(x, e, 0.01), queued})
	if v := c.Points[1].Values["server_queue"].Value; v == nil || *v != 4.5 {
		t.Errorf("queue %v, want 4.5", v)
	}
	if v := c.Points[0].Values["server_queue"]; v.Value != nil || v.Why != "not observed" {
		t.Errorf("no page, queue %+v", v)
	}
}
