package sweep

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tokentape/internal/spec"
)

// read reads a spec with a sweep section.
func read(t *testing.T, section string) *spec.Spec {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(path, []byte(section), 0o600); err != nil {
		t.Fatal(err)
	}
	s, issues := spec.Read(path, nil, nil)
	if spec.Failed(issues) {
		t.Fatal(issues)
	}
	return s
}

func names(places []Place) string {
	var out []string
	for _, p := range places {
		out = append(out, p.Name)
	}
	return strings.Join(out, " ")
}

func TestExpand(t *testing.T) {
	for section, want := range map[string]string{
		"sweep: {over: [{field: load.concurrency, values: [4, 1, 2]}]}":                                                                 "c1 c2 c4",
		"sweep: {over: [{field: load.concurrency, values: [4, 1, 2]}], order: down}":                                                    "c4 c2 c1",
		"sweep: {over: [{field: load.concurrency, values: [1, 2]}], repeats: 2}":                                                        "c1 c1.2 c2 c2.2",
		"sweep: {over: [{field: load.concurrency, values: [1, 2]}, {field: workload.output_tokens, values: [8, 9]}]}":                   "c1-out8 c1-out9 c2-out8 c2-out9",
		"sweep: {over: [{fields: [workload.output_tokens, load.rate], values: [[1024, 1], [128, 8.5]]}]}":                               "out128-r8.5 out1024-r1",
		"sweep: {over: [{field: load.rate, from: 1, to: 16, steps: 5, scale: log}]}":                                                    "r1 r2 r4 r8 r16",
		"sweep: {over: [{field: load.rate, from: 1, to: 2, steps: 3}]}":                                                                 "r1 r1.5 r2",
		"sweep: {over: [{field: load.concurrency, from: 1, to: 3, steps: 9}]}":                                                          "c1 c2 c3",
		"sweep: {over: [{field: target.model, values: [org/b, org_b, a]}]}":                                                             "org_b org_b_2 a",
		"sweep: {over: [{field: workload.dataset.path, values: [x/hot.jsonl, cold.jsonl]}]}":                                            "hot cold",
		"sweep: {over: [{field: target.url, values: [\"http://h:1/v1\", \"h:2\"]}]}":                                                    "h_1_v1 h_2",
		"sweep: {over: [{field: workload.stream, values: [true, false]}]}":                                                              "stream_true stream_false",
		"load: {rate: 1}\nsweep: {over: [{field: load.duration, values: [10s, 1m]}]}":                                                   "10s 1m",
		"sweep: {over: [{field: workload.sampling.temperature, values: [0, 0.7]}, {field: load.concurrency, values: [1]}], repeats: 1}": "temperature_0-c1 temperature_0.7-c1",
	} {
		places, err := Expand(read(t, section))
		if got := names(places); err != nil || got != want {
			t.Errorf("%s:\n got %s, want %s (%v)", section, got, want, err)
		}
	}
}

func TestOrdersHoldThePoints(t *testing.T) {
	base := "sweep: {over: [{field: load.concurrency, values: [1, 2, 3, 4, 5, 6]}], repeats: 3, order: %s}"
	up, _ := Expand(read(t, fmt.Sprintf(base, "up")))
	for _, order := range []string{"down", "shuffled", "interleaved"} {
		got, err := Expand(read(t, fmt.Sprintf(base, order)))
		if err != nil || names(got) == names(up) {
			t.Fatalf("%s is up: %v", order, err)
		}
		again, _ := Expand(read(t, fmt.Sprintf(base, order)))
		if names(got) != names(again) {
			t.Errorf("%s: another order each time", order)
		}
		for _, p := range up {
			if !slices.ContainsFunc(got, func(q Place) bool { return Same(p.Point, q.Point) && p.Name == q.Name }) {
				t.Errorf("%s lacks %s", order, p.Name)
			}
		}
		if order == "interleaved" {
			for round := range 3 {
				for _, p := range got[round*6 : round*6+6] {
					if p.Repeat != round+1 {
						t.Errorf("round %d has repeat %d", round, p.Repeat)
					}
				}
			}
		}
	}
}

func TestTooMany(t *testing.T) {
	s := read(t, "load: {rate: 1}\nsweep: {over: [{field: load.rate, from: 1, to: 9, steps: 5000}, {field: workload.output_tokens, from: 1, to: 5000, steps: 5000}, {field: load.warmup, from: 0, to: 9000, steps: 9000}], repeats: 1000}")
	_, err := Expand(s)
	var many *TooMany
	if !errors.As(err, &many) || many.Points < 1<<37 {
		t.Fatalf("%v", err)
	}
	sample := Sample(s, 50)
	if len(sample) != 50 || sample[0].Name == sample[49].Name {
		t.Errorf("%d points, %s", len(sample), names(sample))
	}
}

// TestPointsAreSpecs reads what each point asks for.
func TestPointsAreSpecs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.yaml")
	text := "workload: {dataset: {path: d.jsonl}}\nload: {arrivals: poisson, warmup: 3}\nsweep: {over: [{field: load.rate, values: [2, 4]}], requests: 9}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, issues := spec.Read(path, nil, nil)
	if spec.Failed(issues) {
		t.Fatal(issues) // arrivals have an effect at every point
	}
	places, err := Expand(s)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range places {
		one, issues := spec.ReadPoint(path, nil, nil, p.Sets)
		if spec.Failed(issues) {
			t.Fatal(issues)
		}
		if one.Load.Rate != float64(2+2*i) || one.Load.Requests != 9 || one.Load.Concurrency != 0 || one.Load.Warmup != 3 || !one.Sweep.IsZero() {
			t.Errorf("%+v", one.Load)
		}
		if strings.Contains(string(one.YAML()), "sweep") || strings.Contains(string(one.JSON()), `"sweep"`) {
			t.Errorf("a point is no sweep:\n%s", one.YAML())
		}
	}
	// What is written down reads back as the same points.
	back := filepath.Join(t.TempDir(), "back.yaml")
	if err := os.WriteFile(back, s.YAML(), 0o600); err != nil {
		t.Fatal(err)
	}
	again, issues := spec.Read(back, nil, nil)
	if spec.Failed(issues) {
		t.Fatalf("%v\n%s", issues, s.YAML())
	}
	others, err := Expand(again)
	if err != nil || names(others) != names(places) {
		t.Errorf("%s, %v", names(others), err)
	}
	one, issues := spec.ReadPoint(back, nil, nil, others[0].Sets)
	if spec.Failed(issues) || one.Load.Concurrency != 0 || one.Load.Arrivals != "poisson" {
		t.Errorf("%v %+v", issues, one.Load)
	}
}

func TestDealGivesNoRowTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		needs := rapid.SliceOfN(rapid.Int64Range(-1, 50), 1, 20).Draw(t, "needs")
		used := rapid.Int64Range(0, 100).Draw(t, "used")
		have := rapid.Int64Range(0, 800).Draw(t, "have")
		shares, err := Deal(have, used, needs)
		var sum int64
		for _, n := range needs {
			sum += max(n, 1)
			if n == 0 {
				sum--
			}
		}
		if err != nil {
			var short *Short
			if !errors.As(err, &short) || short.Needed <= have || used+sum <= have {
				t.Fatalf("refused: %v", err)
			}
			return
		}
		at := used
		for i, s := range shares {
			if s.First != at || needs[i] >= 0 && s.Rows != needs[i] || needs[i] < 0 && s.Rows < 1 {
				t.Fatalf("%d: %+v at %d", i, s, at)
			}
			at += s.Rows
		}
		if at > have {
			t.Fatalf("%d of %d", at, have)
		}
	})
}

func TestManifest(t *testing.T) {
	dir := t.TempDir()
	if Holds(dir) {
		t.Error("an empty folder is no sweep")
	}
	exit, first := 5, int64(7)
	m := &Manifest{Kind: "sweep", Name: "n", Fields: []string{"load.rate"}, Prompts: "distinct", Points: []Point{
		{Name: "r1", At: []any{1.0}, Repeat: 1, State: Done, Exit: &exit, FirstRow: &first, Rows: &first, Run: "points/r1"},
	}}
	m.Add(Point{Name: "r1", At: []any{2.0}, Repeat: 1, State: NotRun})
	for range 2 { // over what is there
		if err := m.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	back, err := Read(dir)
	if err != nil || len(back.Points) != 2 || *back.Points[0].Exit != 5 || back.Points[1].Name != "r1_2" || !Holds(dir) {
		t.Fatalf("%+v, %v", back, err)
	}
	if left := back.Left(); !slices.Equal(left, []int{1}) {
		t.Errorf("left: %v", left)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files", len(files))
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"schema":"tokentape.sweep/9"}`: "its schema is",
		`[]`:                             "sweep.json",
		`{"schema":"tokentape.sweep/1","kind":"walk"}`:                                                                                                           "neither sweep nor search",
		`{"schema":"tokentape.sweep/1","kind":"sweep"}`:                                                                                                          "no field",
		`{"schema":"tokentape.sweep/1","kind":"sweep","fields":["a"],"points":[]}`:                                                                               "no points",
		`{"schema":"tokentape.sweep/1","kind":"sweep","fields":["a"],"points":[{"name":"../x","at":[1],"state":"done"}]}`:                                        "no name of its own",
		`{"schema":"tokentape.sweep/1","kind":"sweep","fields":["a"],"points":[{"name":"x","at":[1,2],"state":"done"}]}`:                                         "2 values for 1 fields",
		`{"schema":"tokentape.sweep/1","kind":"sweep","fields":["a"],"points":[{"name":"x","at":[1],"state":"done","run":"/etc"}]}`:                              "outside the folder",
		`{"schema":"tokentape.sweep/1","kind":"sweep","fields":["a"],"points":[{"name":"x","at":[1],"state":"odd"}]}`:                                            "is unknown",
		`{"schema":"tokentape.sweep/1","kind":"sweep","fields":["a"],"points":[{"name":"x","at":[1],"state":"done"},{"name":"x","at":[2],"state":"done"}]}`:      "no name of its own",
		`{"schema":"tokentape.sweep/1","kind":"sweep","fields":["a"],"points":[{"name":"x","at":[{"a":1}],"state":"done"}]}`:                                     "neither a number nor a text",
		`{"schema":"tokentape.sweep/1","kind":"sweep","fields":["a"],"points":[{"name":"x","at":[1],"state":"done","first_row":-1,"rows":9223372036854775807}]}`: "rows",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, File), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzManifest(f *testing.F) {
	f.Add(`{"schema":"tokentape.sweep/1","kind":"sweep","fields":["load.rate"],"points":[{"name":"r1","at":[1],"repeat":1,"state":"done","run":"points/r1"}]}`)
	f.Add(`{"schema":"tokentape.sweep/1","kind":"sweep","fields":["a"],"points":[{"name":"x","at":["b"],"state":"failed","exit":3,"first_row":3,"rows":4}]}`)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(filepath.Join(dir, File), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := Read(dir)
		if err != nil {
			return
		}
		for _, p := range m.Points {
			_ = Label(m.Fields, p)
			for _, v := range p.At {
				_ = Text(v)
			}
		}
		if err := m.Write(dir); err != nil {
			t.Fatal(err)
		}
		back, err := Read(dir)
		if err != nil || len(back.Points) != len(m.Points) {
			t.Fatalf("does not read back: %v", err)
		}
	})
}
