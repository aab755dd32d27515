package analysis

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tokentape/internal/analysis/catalog"
	"tokentape/tape"
)

// asking reads a run once, and answers as ExplainRun does.
func asking(t *testing.T, s *script, windows ...string) func(name string, windows ...string) *Explanation {
	t.Helper()
	r, res, o, err := analyse(&records{recs: s.records()}, Options{Windows: append([]string{"whole", "stable", "steady"}, windows...)})
	if err != nil {
		t.Fatal(err)
	}
	return func(name string, windows ...string) *Explanation {
		e, c, err := question(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c.Window != "" {
			windows = []string{c.Window}
		}
		r.explain(res, o, e, c, windows)
		return e
	}
}

func explain(t *testing.T, s *script, name string, windows ...string) *Explanation {
	t.Helper()
	e, err := ExplainRun(&records{recs: s.records()}, name, Options{Windows: windows})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return e
}

// The value of a quantile is the weighted sum of the requests that are named, and
// both are those of the report.
func TestExplainQuantiles(t *testing.T) {
	s := rich()
	res, ask := s.analyse(t, Options{}), asking(t, s)
	for _, kind := range []string{"whole", "stable", "steady"} {
		w := windowOf(t, res, kind)
		for name, sum := range w.Metrics {
			for stat, v := range map[string]*float64{"p50": sum.P50, "p90": sum.P90, "p95": sum.P95, "p99": sum.P99, "p999": sum.P999} {
				e := ask(kind + "." + name + "." + stat)
				if (e.Value == nil) != (v == nil) || v != nil && *e.Value != *v || e.N != sum.N || e.Window.Kind != kind {
					t.Fatalf("%s.%s.%s: %v, the report has %v", kind, name, stat, some(e.Value), some(v))
				}
				if v == nil {
					continue
				}
				var got, weights float64
				for i, r := range e.Requests {
					if i > 0 && r.Rank != e.Requests[i-1].Rank+1 {
						t.Errorf("%s.%s: ranks %d, %d", name, stat, e.Requests[i-1].Rank, r.Rank)
					}
					if r.Weight != nil {
						got, weights = got+*r.Weight**r.Value, weights+*r.Weight
					}
				}
				if math.Abs(got-*v) > 1e-9*(1+math.Abs(*v)) || math.Abs(weights-1) > 1e-12 {
					t.Errorf("%s.%s.%s: the requests give %v (weights %v), it is %v", kind, name, stat, got, weights, *v)
				}
			}
		}
	}
}

// lastNumber is what the last line of an explanation comes to.
func lastNumber(t *testing.T, e *Explanation) float64 {
	t.Helper()
	_, text, ok := strings.Cut(e.How[len(e.How)-1], " = ")
	v, err := strconv.ParseFloat(text, 64)
	if !ok || err != nil {
		t.Fatalf("%s: %q", e.Name, e.How)
	}
	return v
}

// What requests contribute adds up to the rate of the report, in every window.
func TestExplainRates(t *testing.T) {
	s := rich()
	s.spec = strings.Replace(s.spec, `"devices":{"total":16}`, `"devices":{"total":16,"prefill":8,"decode":8}`, 1)
	ask := asking(t, s, "seconds:1..4")
	for _, kind := range []string{"whole", "stable", "steady", "seconds:1..4"} {
		w := windowOf(t, s.analyse(t, Options{Windows: []string{kind}}), kind)
		for name, v := range map[string]*float64{"requests_per_s": w.System.RequestsPerS, "output_tokens_per_s": w.System.OutputTokensPerS,
			"input_tokens_per_s": w.System.InputTokensPerS, "total_tokens_per_s": w.System.TotalTokensPerS, "output_tokens_per_s_per_8_decode_devices": w.System.OutputTokensPerS} {
			e := ask(name, kind)
			if got := lastNumber(t, e); math.Abs(got-*v) > 1e-5 || len(e.Requests) == 0 {
				t.Errorf("%s in %s: the requests give %v, the report %v: %q", name, kind, got, *v, e.How)
			}
			if e.Window.Kind != kind {
				t.Errorf("asked for %s, answered for %s", kind, e.Window.Kind)
			}
		}
	}
}

// The requests of a count are as many as it says.
// A rate of requests counts them by their ends, and speaks of parts of requests only where
// a rate of tokens has some.
func TestExplainSaysHowItCounts(t *testing.T) {
	ask := asking(t, rich())
	how := func(name string) string { return strings.Join(ask(name).How, "\n") }
	if s := how("steady.requests_per_s"); !strings.Contains(s, "counted by their ends in (from, to]") || strings.Contains(s, "in part") {
		t.Error(s)
	}
	if s := how("steady.output_tokens_per_s"); !strings.Contains(s, "counted by events in (from, to]") || !strings.Contains(s, "of them in part") || strings.Contains(s, " 0 of them") {
		t.Error(s)
	}
}

func TestExplainCounts(t *testing.T) {
	s := rich()
	s.reqs[60].Attempts = 2
	s.reqs[70].Flags = []string{"no_done"}
	s.reqs[80].Phase = tape.PhaseMeasure
	s.reqs[81].Outcome = tape.OutcomeAbandoned
	s.reqs[82].Outcome = tape.OutcomeCancelled
	ask := asking(t, s)
	for _, name := range []string{"issued", "ok", "failed", "cancelled", "abandoned", "preparation", "warmup", "tail", "retried", "by_class.http_status", "by_class.reset", "by_status.500", "finish.length", "flags.no_done"} {
		e := ask("counts." + name)
		if e.Value == nil || int64(*e.Value) != e.RequestsOf || int64(len(e.Requests)) != min(e.RequestsOf, explained) {
			t.Errorf("%s is %s, with %d requests, %d of them named", name, some(e.Value), e.RequestsOf, len(e.Requests))
		}
	}
	if e := ask("counts.planned"); len(e.How) != 1 {
		t.Errorf("%q", e.How)
	}
}

// filled is a name without {n} and *.
func filled(d Definition) string {
	word := "429"
	if len(d.Words) > 0 {
		word = d.Words[0]
	}
	return strings.NewReplacer("{n}", "16", "*", word).Replace(d.Name)
}

// Every name in the catalogue can be asked about, with and without a run.
func TestExplainEverything(t *testing.T) {
	ask := asking(t, rich())
	for _, d := range Definitions() {
		name := filled(d)
		if e, err := Explain(name); err != nil || len(e.Definitions) == 0 {
			t.Errorf("%s: %v", name, err)
		}
		e := ask(name)
		if e.Run == "" || e.Value == nil && e.Word == "" && e.Absent == "" && len(e.How) == 0 {
			t.Errorf("%s: nothing is said: %+v", name, e)
		}
		for _, r := range e.Requests {
			if r.Outcome == "" {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
}

func TestExplainNames(t *testing.T) {
	for name, want := range map[string]struct {
		kinds string
		named string
	}{
		"output_tokens_per_s":      {"metric system", "output_tokens_per_s"},
		"output_tokens_per_s.p50":  {"metric", "output_tokens_per_s"},
		"steady.ttft_ms":           {"metric", "ttft_ms"},
		"failed":                   {"count", "counts.failed"},
		"client_bound":             {"check", "checks.client_bound"},
		"pacer_lag_p99_ms":         {"load", "load.pacer_lag_p99_ms"},
		"seconds:1..2.ttft_ms.p50": {"metric", "ttft_ms"},
	} {
		e, err := Explain(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var kinds []string
		for _, d := range e.Definitions {
			kinds = append(kinds, string(d.Kind))
			if d.Name != want.named {
				t.Errorf("%s is %s", name, d.Name)
			}
		}
		slices.Sort(kinds)
		if strings.Join(kinds, " ") != want.kinds {
			t.Errorf("%s: %v", name, kinds)
		}
	}
	for name, like := range map[string]string{"tttf_ms": "ttft_ms", "steady.tpto_ms": "tpot_ms", "ttft_ms.p98": "p99", "steady": ""} {
		_, err := Explain(name)
		var u *UnknownName
		if !errors.As(err, &u) || like != "" && !slices.Contains(u.Known, like) || like == "" && u.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The window is that which was asked for, and the reason is said where it does not
// exist.
func TestExplainWindow(t *testing.T) {
	s := tenSeconds(`{"load":{"requests":10,"concurrency":2}}`)
	if e := explain(t, s, "stable.ttft_ms.p50"); e.Absent == "" || e.Value != nil || e.Window.Why == "" {
		t.Errorf("%+v", e)
	}
	if e := explain(t, s, "ttft_ms.p50"); e.Window.Kind == "stable" || e.Value == nil {
		t.Errorf("%+v", e.Window)
	}
	if e := explain(t, s, "ttft_ms.p50", "rows:0..3"); e.Window.Kind != "rows:0..3" || e.N != 4 {
		t.Errorf("%+v", e.Window)
	}
	if _, err := ExplainRun(&records{recs: s.records()}, "rows:3..0.ttft_ms.p50", Options{}); err == nil {
		t.Error("a window that ends before it begins")
	}
}

// A tape with more events than are kept gives the same answers.
func TestExplainWithoutEvents(t *testing.T) {
	s := rich()
	for _, name := range []string{"itl_ms.p99", "steady.output_tokens_per_s", "itl_max_ms"} {
		want, err := ExplainRun(&twice{records: records{recs: s.records()}, again: s.records()}, name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := ExplainRun(&twice{records: records{recs: s.records()}, again: s.records()}, name, Options{kept: 1})
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got.How) != fmt.Sprint(want.How) || some(got.Value) != some(want.Value) || len(got.Requests) != len(want.Requests) {
			t.Errorf("%s: %q, with all events kept %q", name, got.How, want.How)
		}
	}
}

func FuzzAsk(f *testing.F) {
	for _, d := range catalog.All() {
		f.Add(d.Name)
	}
	f.Add("seconds:1..2.ttft_ms.p50")
	f.Fuzz(func(t *testing.T, name string) {
		e, err := Explain(name)
		var u *UnknownName
		if err != nil && !errors.As(err, &u) || err == nil && len(e.Definitions) == 0 {
			t.Fatalf("%q: %v", name, err)
		}
	})
}
