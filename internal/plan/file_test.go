package plan

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tokentape/internal/spec"
	"tokentape/tape"
)

var update = flag.Bool("update", false, "rewrite golden files")

// The golden plans fix what a seed means: if one of them changes, saved runs can
// no longer be repeated from their spec, so the schema needs a new number.
func TestGolden(t *testing.T) {
	ramp := func(shape string) spec.Ramp {
		return spec.Ramp{Shape: shape, From: 0.5, Duration: dur(4 * time.Second)}
	}
	tests := map[string]spec.Load{
		"closed":              {Requests: 6, Concurrency: 2, Warmup: 2},
		"closed_duration":     {Duration: dur(30 * time.Second), Concurrency: 4, Warmup: 1, Ramp: spec.Ramp{Shape: "linear", Duration: dur(3 * time.Second)}},
		"constant":            {Requests: 6, Rate: 0.3, Concurrency: 2, Warmup: 1},
		"poisson":             {Requests: 8, Rate: 6, Arrivals: "poisson"},
		"poisson_conditioned": {Requests: 8, Rate: 6, Arrivals: "poisson", Conditioned: true, Warmup: 2},
		"poisson_duration":    {Duration: dur(2 * time.Second), Rate: 4, Arrivals: "poisson"},
		"gamma_bursty":        {Requests: 8, Rate: 6, Arrivals: "gamma", Burstiness: 0.25},
		"gamma_smooth":        {Requests: 8, Rate: 6, Arrivals: "gamma", Burstiness: 9},
		"ramp_linear":         {Requests: 8, Rate: 5, Arrivals: "constant", Ramp: ramp("linear")},
		"ramp_exponential":    {Requests: 8, Rate: 5, Arrivals: "poisson", Ramp: ramp("exponential")},
		"stages_rate":         {Arrivals: "constant", Stages: []spec.Stage{{Rate: 2, Duration: dur(2 * time.Second)}, {Rate: 0.5, Duration: dur(4 * time.Second)}, {Rate: 4, Duration: dur(time.Second)}}},
		"stages_poisson":      {Arrivals: "poisson", Warmup: 1, Stages: []spec.Stage{{Rate: 2, Duration: dur(2 * time.Second)}, {Rate: 0.5, Duration: dur(4 * time.Second)}}},
		"stages_concurrency":  {Stages: []spec.Stage{{Concurrency: 2, Duration: dur(time.Second)}, {Concurrency: 5, Duration: dur(time.Second)}}},
		"stagger":             {Requests: 4, Concurrency: 3, Stagger: dur(100 * time.Millisecond)},
		"mix":                 {Requests: 8, Concurrency: 2, Warmup: 1},
		"replay":              {Arrivals: "replay", Warmup: 1},
		"replay_window":       {Arrivals: "replay", Replay: spec.Replay{Scale: 0.5, From: dur(2 * time.Second), To: dur(9 * time.Second)}},
		"sessions":            {Sessions: 3, SessionConcurrency: 2, Warmup: 1, Think: spec.Think{Kind: "exponential", Mean: dur(2 * time.Second)}},
		"sessions_open":       {Sessions: 3, Rate: 0.5, Arrivals: "poisson", Think: spec.Think{Kind: "uniform", Mean: dur(2 * time.Second)}},
	}
	for name, load := range tests {
		data, order := Data{Rows: 12}, OrderShuffle
		if strings.HasPrefix(name, "sessions") {
			data.Turns = []int32{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}
		}
		if name == "mix" {
			data.Parts = []Part{{Rows: 8, Weight: 3}, {Rows: 4, Weight: 1}}
		}
		if load.Arrivals == replay {
			order = OrderFile
			for i := range int64(12) {
				data.Times = append(data.Times, i*i*sec/10)
			}
		}
		p, err := MakeOf(load, 32, data, RepeatNone, order, spec.Seeds{Run: 1})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p.DatasetSHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
		var got bytes.Buffer
		if err := p.Write(&got); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name+".plan.jsonl")
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: the plan changed:\n%s\nwant\n%s", name, got.Bytes(), want)
		}
		if back, err := ReadFile(path); err != nil || back.SHA256() != p.SHA256() {
			t.Errorf("%s: read back: %v", name, err)
		}
	}
	files, _ := filepath.Glob("testdata/*.plan.jsonl")
	for _, f := range files {
		if _, ok := tests[strings.TrimSuffix(filepath.Base(f), ".plan.jsonl")]; !ok {
			t.Errorf("%s belongs to no test", f)
		}
	}
}

func TestRowLineIsJSON(t *testing.T) {
	for _, r := range []Row{
		{Seq: 0, Due: NoDue, Item: 3, Phase: tape.PhaseMeasure},
		{Seq: 17, Due: 2833333333, Item: 17, Output: 32, Phase: tape.PhaseWarmup, Stripe: 2},
	} {
		want, _ := json.Marshal(r)
		if got := string(r.append(nil)); got != string(want)+"\n" {
			t.Errorf("got %swant %s", got, want)
		}
	}
}

func saved(t testing.TB, l spec.Load) []string {
	var b bytes.Buffer
	if err := make1(t, l).Write(&b); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

func TestReadRefuses(t *testing.T) {
	open := saved(t, spec.Load{Requests: 3, Rate: 1, Warmup: 1})
	closed := saved(t, spec.Load{Requests: 3, Concurrency: 1})
	swap := func(lines []string, n int, old, new string) string {
		if !strings.Contains(lines[n-1], old) {
			t.Fatalf("line %d has no %q: %s", n, old, lines[n-1])
		}
		out := append([]string(nil), lines...)
		out[n-1] = strings.Replace(out[n-1], old, new, 1)
		return strings.Join(out, "\n") + "\n"
	}
	tests := []struct{ name, in, want string }{
		{"empty", "", "plan: the file is empty"},
		{"not a plan", "hello\n", "plan:1: not a saved plan"},
		{"a dataset", `{"question":"x"}` + "\n", "plan:1: not a saved plan"},
		{"newer", swap(open, 1, "plan/1", "plan/2"), "plan:1: the plan has schema tokentape.plan/2"},
		{"kind", swap(open, 1, `"rows",`, `"columns",`), `plan:1: kind "columns"`},
		{"kind of other load", swap(open, 1, `"rows",`, `"generator",`), `plan:1: kind "generator" does not fit`},
		{"unknown load field", swap(open, 1, `"rate"`, `"rte"`), `plan:1: the line cannot be read: unknown field "rte"`},
		{"bad load", swap(open, 1, `"constant"`, `"pareto"`), "plan:1: load.arrivals"},
		{"absurd rows", swap(open, 1, `"rows":4`, `"rows":4000000000`), "plan:1: 4000000000 rows"},
		{"fewer rows", strings.Join(open[:4], "\n"), "plan:4: the header says 4 rows, but the file ends after 3"},
		{"more rows", strings.Join(append(append([]string(nil), open...), open[4]), "\n"), "plan:6: the header says 4 rows"},
		{"cut line", strings.Join(open, "\n")[:len(strings.Join(open, "\n"))-5], "plan:5: the line cannot be read"},
		{"seq", swap(open, 3, `"seq":1`, `"seq":2`), "plan:3: seq is 2 where 1"},
		{"due falls", swap(open, 5, `"due":3000000000`, `"due":1`), "plan:5: due 1 is before"},
		{"due negative", swap(open, 4, `"due":2000000000`, `"due":-2`), "plan:4: due is -2"},
		{"due missing", swap(open, 4, `"due":2000000000,`, ``), `plan:4: the field "due" is missing`},
		{"due null", swap(open, 4, `"due":2000000000,`, `"due":null,`), `plan:4: the field "due" is missing`},
		{"no due in an open loop", swap(open, 4, `"due":2000000000`, `"due":-1`), "plan:4: due is -1"},
		{"due in a closed loop", swap(closed, 3, `"due":-1`, `"due":5`), "plan:3: due is 5"},
		{"first due", swap(open, 2, `"due":0`, `"due":1`), "plan:2: due is 1, but the first"},
		{"item", swap(open, 3, `"item":0`, `"item":1000`), "plan:3: item 1000 is not among the 1000"},
		{"phase", swap(open, 3, `"measure"`, `"tail"`), `plan:3: phase "tail"`},
		{"warm-up late", swap(open, 4, `"measure"`, `"warmup"`), "plan:4: a warm-up row stands after"},
		{"misspelt", swap(open, 3, `"item"`, `"itm"`), `plan:3: the line cannot be read: unknown field "itm"`},
		{"fraction", swap(open, 3, `"item":0`, `"item":0.5`), "plan:3: the line cannot be read"},
		{"garbage after", swap(open, 3, `}`, `} x`), "plan:3: something follows"},
		{"blank line", open[0] + "\n\n", "plan:2: the line is empty"},
		{"array", open[0] + "\n[1]\n", "plan:2: the line cannot be read"},
		{"null", open[0] + "\nnull\n", `plan:2: the field "seq" is missing`},
		{"huge line", open[0] + "\n" + strings.Repeat(" ", 70_000), "plan:2: the line is longer"},
		{"only warm-up", swap(saved(t, spec.Load{Requests: 1, Concurrency: 1}), 2, "measure", "warmup"), "plan:2: the plan has no measured row"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Read(strings.NewReader(tt.in))
			if err == nil {
				t.Fatalf("read: %s", p)
			}
			if !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s…", err, tt.want)
			}
		})
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none.jsonl")); err == nil || !strings.Contains(err.Error(), "none.jsonl") {
		t.Errorf("missing file: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(strings.Join(saved(f, spec.Load{Requests: 3, Rate: 1, Warmup: 1, Arrivals: "poisson"}), "\n")))
	f.Add([]byte(strings.Join(saved(f, spec.Load{Duration: dur(time.Second), Concurrency: 2}), "\n")))
	f.Add([]byte(`{"schema":"tokentape.plan/1","kind":"rows","rows":0,"load":{}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		if h, err := readHeader(bytes.SplitN(in, []byte("\n"), 2)[0]); err == nil && h.Load.DataRows > 1e6 {
			t.Skip() // legal, but slow
		}
		p, err := Read(bytes.NewReader(in))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		again, err := Read(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatalf("cannot read what was written: %v\n%s", err, b.Bytes())
		}
		if again.SHA256() != p.SHA256() || again.String() != p.String() {
			t.Fatalf("%s\n%s", p, again)
		}
	})
}
