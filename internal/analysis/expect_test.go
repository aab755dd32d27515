package analysis

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tokentape/internal/analysis/catalog"
	"tokentape/tape"
)

// expected are the conditions of a run judged, by their text.
func expected(t *testing.T, s *script, conditions ...string) map[string]Expectation {
	t.Helper()
	res := s.analyse(t, Options{Windows: []string{"whole"}, Expect: conditions})
	out := map[string]Expectation{}
	for _, e := range res.Expect {
		out[e.Condition] = e
	}
	return out
}

func TestExpect(t *testing.T) {
	s := &script{reason: tape.ReasonCompleted, plan: 4, spec: `{"load":{"requests":4,"concurrency":1},"expect":["counts.ok == 3"]}`}
	for i := range int64(3) {
		q := ok(i, i*1000*msec, every(5, 100*msec+i*msec, 10*msec)...)
		q.Asked.Output = tape.Some[int64](5)
		q.Tokens.Cached = tape.Some[int64](64)
		s.reqs = append(s.reqs, q)
	}
	s.reqs[1].Finish = "stop"
	s.reqs[2].Asked.Output = tape.Some[int64](8)
	s.reqs = append(s.reqs, failed(3, 3000*msec, 5*msec, tape.OutcomeTimeout, "no token within 5 ms"))

	for _, c := range []struct {
		condition, result, value, why string
		rows                          []int64
	}{
		{"counts.ok == 3", "pass", "3", "", nil}, // of the spec on the tape
		{"whole.ttft_ms.p50 == 101", "pass", "101", "", nil},
		{"whole.ttft_ms.max < 102", "miss", "102", "", nil},
		{"whole.ttft_ms.n == 3", "pass", "3", "", nil},
		{"whole.requests == 3", "pass", "3", "", nil},
		{"counts.failed == 0", "miss", "1", "", nil},
		{"counts.by_class.timeout == 1", "pass", "1", "", nil},
		{"counts.by_class.reset == 0", "pass", "0", "", nil},
		{"counts.finish.length != 2", "miss", "2", "", nil},
		{"load.loop == closed", "pass", "closed", "", nil},
		{"load.slot_wait_share < 1", "miss", "null", "not observed: closed loop", nil},
		{"verdict.fit == false", "pass", "false", "", nil},
		{"checks.failures == pass", "miss", "miss", "", nil},
		{"checks.failures.value <= 0.5", "pass", "0.25", "", nil},
		{"seconds:90...requests_per_s > 0", "miss", "null", "not observed: this run has no window seconds:90..: the run ended before", nil},
		{"whole.ttft_from_due_ms.p50 > 0", "miss", "null", "not observed: as TTFT; in a closed loop", nil},
		{"whole.slo_good_share > 0", "miss", "null", "not observed: no report.slo", nil},
		{"whole.output_tokens_per_s_per_16_devices > 0", "miss", "null", "not observed: no devices in the spec", nil},
		{"rows:0..1.requests == 2", "pass", "2", "", nil}, // a window that the report does not show
		{"rows:9..1.requests == 2", "miss", "null", "not observed: window \"rows:9..1\"", nil},
		{"tokens.cached == 64", "pass", "null", "all 3 ok requests", nil},
		{"finish == length", "miss", "null", "1 of 3 ok requests miss it", []int64{1}},
		{"tokens.output == asked.output", "miss", "null", "1 of 3 ok requests miss it", []int64{2}},
		{"tokens.reasoning == 0", "miss", "null", "3 of 3 ok requests miss it, 3 without a value (the tape does not say)", []int64{0, 1, 2}},
		{"outcome == ok", "miss", "null", "1 of 4 requests miss it", []int64{3}},
		{"ttft_ms <= 101", "miss", "null", "1 of 3 ok requests miss it", []int64{2}},
		{"itl_max_ms <= 10", "pass", "null", "all 3 ok requests", nil},
		{"steady.tttf_ms.p95 < 1", "miss", "null", "cannot be read: character 8", nil},
	} {
		e := expected(t, s, c.condition)[c.condition]
		value := num(e.Value, 0)
		if e.Value != nil {
			value = fmt.Sprint(*e.Value)
		} else if e.Word != "" {
			value = e.Word
		}
		var rows []int64
		for _, r := range e.Rows {
			rows = append(rows, r.Seq)
		}
		if e.Result != c.result || value != c.value || !strings.HasPrefix(e.Why, c.why) || !slices.Equal(rows, c.rows) {
			t.Errorf("%s: %s, value %s, rows %v, why %q", c.condition, e.Result, value, rows, e.Why)
		}
	}
}

// A run without a single ok request meets no condition on every request.
func TestExpectNothing(t *testing.T) {
	s := &script{reason: tape.ReasonCompleted, plan: 1, spec: `{}`, reqs: []*tape.Request{failed(0, 0, msec, tape.OutcomeReset, "reset")}}
	for c, why := range map[string]string{"finish == length": "no ok requests", "whole.ttft_ms.p50 < 1": "not observed", "tokens.output > 0": "no ok requests"} {
		if e := expected(t, s, c)[c]; e.Result != ResultMiss || !strings.Contains(e.Why, why) {
			t.Errorf("%s: %+v", c, e)
		}
	}
}

// The interval of a value that holds the limit is said beside it.
func TestExpectInterval(t *testing.T) {
	s := richOf(400)
	at := *windowOf(t, s.analyse(t, Options{}), "steady").System.OutputTokensPerS
	c := fmt.Sprintf("steady.output_tokens_per_s <= %v", at)
	if e := expected(t, s, c)[c]; e.Result != ResultPass || e.CI == nil || !strings.Contains(e.Why, "interval holds the limit") {
		t.Errorf("%+v", e)
	}
}

// Every number of results.json has a definition, and every definition a number.
func TestCatalogIsComplete(t *testing.T) {
	known := map[string]bool{}
	var section func(prefix string, v any, kinds ...catalog.Kind)
	section = func(prefix string, v any, kinds ...catalog.Kind) {
		for i := range reflect.TypeOf(v).NumField() {
			f := reflect.TypeOf(v).Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct {
				section(prefix+name+".", reflect.Zero(f.Type.Elem()).Interface(), kinds...)
				continue
			}
			if f.Type.Kind() == reflect.Slice {
				continue // lists have no name of their own
			}
			switch f.Type.String() {
			case "string", "[]string", "map[string]string", "map[string]*float64", "map[string][2]*float64", "map[string]*analysis.Summary", "analysis.System", "analysis.WindowFacts", "*analysis.Goodput":
				if prefix+name != "load.loop" {
					continue // words, and containers of what is looked at below
				}
			case "map[string]int64":
				name += ".*"
			}
			if _, ok := catalog.Find(prefix+name, kinds...); !ok {
				t.Errorf("%s of results.json has no entry in analysis/catalog", prefix+name)
			}
			known[prefix+name] = true
		}
	}
	section("counts.", Counts{}, catalog.KindCount)
	section("load.", Load{}, catalog.KindLoad)
	section("", System{}, catalog.KindSystem)
	section("", WindowFacts{}, catalog.KindFact)
	section("", Window{}, catalog.KindFact)
	for _, e := range catalog.Of(catalog.KindCount, catalog.KindLoad, catalog.KindSystem, catalog.KindFact) {
		name := e.Name
		inMap := strings.Contains(name, "{n}") || strings.HasPrefix(name, "cost_") || strings.HasPrefix(name, "joules_") || name == "energy_j" || name == "power_mean_w"
		if !known[name] && !inMap {
			t.Errorf("%s is defined, and no field of results.json", e.Name)
		}
	}
	var code []string
	for _, d := range (&run{}).definitions() {
		code = append(code, d.key)
	}
	slices.Sort(code)
	defined := catalog.Names(catalog.KindMetric)
	slices.Sort(defined)
	if !slices.Equal(code, defined) {
		t.Errorf("metrics in code %v, defined %v", code, defined)
	}
	checks := catalog.Names(catalog.KindCheck)
	for i := range checks {
		checks[i] = strings.TrimPrefix(checks[i], "checks.")
	}
	slices.Sort(checks)
	if !slices.Equal(checks, CheckNames()) {
		t.Errorf("checks %v, defined %v", CheckNames(), checks)
	}
	s := rich()
	for _, k := range s.analyse(t, Options{}).Verdict.Checks {
		if e, ok := catalog.Find("checks."+k.Name, catalog.KindCheck); !ok || e.Severity != k.Severity {
			t.Errorf("%s: severity %s, defined as %s", k.Name, k.Severity, e.Severity)
		}
	}
	for _, name := range catalog.Names(catalog.KindRequest) {
		r, err := collect(&records{recs: s.records()}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		seen := false
		for i := range r.reqs {
			seen = seen || r.requestValue(name)(i).ok
		}
		if !seen && name != "asked.input" && name != "asked.cached" {
			t.Errorf("%s: no request of a rich run has it", name)
		}
	}
}
