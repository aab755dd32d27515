package spec

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func searchSpec(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const goodSearch = `target: {url: "127.0.0.1:1"}
workload: {dataset: {path: data.jsonl, skip: 5}}
load: {requests: 500, arrivals: poisson}
search: {for: rate, from: 1, to: 64, slo: [ttft_ms < 500, steady.e2e_ms.p99 < 9000]}
`

func TestSearchBadValues(t *testing.T) {
	for _, c := range []struct{ set, says string }{
		{"search.for=throughput", "search.for"},
		{"search.from=70", "not above search.from"},
		{"search.to=0", "search.to"},
		{"search.share=1", "no share"},
		{"search.precision=0", "search.precision"},
		{"search.most_looks=1", "search.most_looks"},
		{"search.goal=best", "search.goal"},
		{"search.goal=goodput", "no part of goodput"},
		{"search.slo=[]", "every load would hold"},
		{"search.slo=[ttft_ms > 500]", "no limit that report.slo knows"},
		{"search.slo=[steady.ttft_ms.p95 <]", "search.slo[0]"},
		{"search.slo=[steady.ttft_ms.p95 < 1, steady.ttft_ms.p95 < 1]", "given twice"},
		{"search.slo=[ttft_ms < 500, tpot_ms < 9, ttft_ms < 900]", "ttft_ms < 900 limits what ttft_ms < 500 limits"},
		{"search.slo=[checks.failures == pass]", "no limit on a number"},
		{"report.slo.ttft_ms=5", "report.slo.ttft_ms is given, too"},
		{"load.rate=5", "the search gives it"},
		{"load.requests=none", "how long is one look"},
		{"load.arrivals=replay", "times of a trace"},
		{"load.stages=[{rate: 5, duration: 1s}]", "a search gives load.rate"},
		{"workload.sessions=true", "sessions cannot be searched"},
		{"sweep.over=[{field: load.concurrency, values: [1]}]", "sweep.over is given, too"},
		{"sweep.repeats=3", "a search has looks"},
		{"sweep.until.relative_width=0.1", "a search has looks"},
		{"sweep.order=down", "a search has looks"},
	} {
		path, value, _ := strings.Cut(c.set, "=")
		_, issues := Read(searchSpec(t, goodSearch), nil, []Set{{Path: path, Value: value}})
		var all []string
		for _, i := range issues {
			all = append(all, i.Format())
		}
		if got := strings.Join(all, "\n"); !strings.Contains(got, c.says) {
			t.Errorf("%s: %q does not say %q", c.set, got, c.says)
		}
	}
	_, issues := Read(searchSpec(t, strings.Replace(goodSearch, "for: rate, ", "", 1)), nil, nil)
	if len(issues) == 0 || !strings.Contains(issues[0].Error(), "has no effect") {
		t.Errorf("a section without for: %v", issues)
	}
}

// TestLookSets: a look is an ordinary spec, of its own load, seed and limits.
func TestLookSets(t *testing.T) {
	path := searchSpec(t, goodSearch)
	base, issues := Read(path, nil, nil)
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	s, issues := ReadPoint(path, nil, nil, base.LookSets(LookAt{At: 11.31, Times: 2, Seed: 9}))
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	if s.Load.Rate != 11.31 || s.Load.Requests != 1000 || s.Seeds.Run != 9 || !s.Search.IsZero() {
		t.Errorf("%+v", s.Load)
	}
	if s.Report.SLO.TTFT != 500 || !reflect.DeepEqual(s.Expect, []string{"steady.e2e_ms.p99 < 9000"}) {
		t.Errorf("%+v %v", s.Report.SLO, s.Expect)
	}
	again, issues := Read(searchSpec(t, string(s.YAML())), nil, nil)
	if len(issues) > 0 || again.Load.Rate != 11.31 {
		t.Errorf("the look's own spec reads back as %v %v", again.Load, issues)
	}
	base.Search.Ramp = Duration(3e9)
	s, issues = ReadPoint(path, nil, nil, base.LookSets(LookAt{Seed: 9, Ramp: []float64{1, 2, 4}}))
	if len(issues) > 0 || len(s.Load.Stages) != 3 || s.Load.Stages[1].Rate != 2 || s.Load.Stages[1].Duration != Duration(1e9) {
		t.Errorf("ramp: %+v %v", s.Load.Stages, issues)
	}
}

// TestSearchYAML: the spec of a search reads back as it was.
func TestSearchYAML(t *testing.T) {
	s, _ := Read(searchSpec(t, goodSearch), nil, []Set{{Path: "search.at_most", Value: "20m"}})
	again, issues := Read(searchSpec(t, string(s.YAML())), nil, nil)
	if len(issues) > 0 || !reflect.DeepEqual(s.Search, again.Search) {
		t.Errorf("%+v\n%+v\n%v\n%s", s.Search, again.Search, issues, s.YAML())
	}
}

// TestLookSeed: the seed that a search gives its looks is no mistake of whoever asked for
// the search, also where nothing is drawn from it.
func TestLookSeed(t *testing.T) {
	path := searchSpec(t, strings.NewReplacer(", arrivals: poisson", "", "for: rate", "for: concurrency").Replace(goodSearch))
	base, issues := Read(path, nil, nil)
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	sets := base.LookSets(LookAt{At: 4, Times: 2, Seed: 9})
	if s, issues := ReadPoint(path, nil, nil, sets); len(issues) > 0 || s.Seeds.Run != 9 {
		t.Errorf("%v", issues)
	}
}
