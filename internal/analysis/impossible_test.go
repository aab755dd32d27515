package analysis

import (
	"errors"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tokentape/internal/analysis/catalog"
	"tokentape/internal/exchange"
	dispatch "tokentape/internal/run"
	"tokentape/tape"
)

// The words that conditions may hold are those that the tape's writers use.
func TestWordsAreTheTapes(t *testing.T) {
	source, err := os.ReadFile("../../tape/model.go")
	if err != nil {
		t.Fatal(err)
	}
	var outcomes []string
	for _, m := range regexp.MustCompile(`Outcome\w+ +Outcome = "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		outcomes = append(outcomes, m[1])
	}
	if len(outcomes) < 10 {
		t.Fatalf("only %v found", outcomes)
	}
	failures := slices.DeleteFunc(slices.Clone(outcomes), func(o string) bool { return !tape.Outcome(o).Failed() })
	for name, want := range map[string][]string{
		"outcome": outcomes, "counts.by_class.*": failures,
		"counts.flags.*": {exchange.FlagNoDone, exchange.FlagNotStreamed, exchange.FlagBuffered, exchange.FlagRefusal, exchange.FlagCompressed, dispatch.FlagRetryCut},
	} {
		e, _ := catalog.Find(name)
		got := slices.Sorted(slices.Values(e.Words))
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%s can be %v, the tape has %v", name, got, want)
		}
	}
}

// A word that nothing says is no reason for a condition to hold.
func TestUnknownReason(t *testing.T) {
	s := steadyRun(4)
	s.reqs[3].Finish = "their_own"
	got := expected(t, s, `finish != "their_own"`, `finish != "their_won"`, `finish != stop`)
	for c, result := range map[string]string{`finish != "their_own"`: ResultMiss, `finish != "their_won"`: ResultMiss, "finish != stop": ResultPass} {
		if e := got[c]; e.Result != result {
			t.Errorf("%s: %+v", c, e)
		}
	}
	if why := got[`finish != "their_won"`].Why; !strings.Contains(why, "not observed") {
		t.Error(why)
	}
}

// A name of several values shows them, and a window is asked for once.
func TestExplainSeveral(t *testing.T) {
	s := tenSeconds(`{"load":{"concurrency":1},"devices":{"total":4}}`)
	s.reqs = append(s.reqs, failed(10, 10_000*msec, msec, tape.OutcomeTimeout, "m"), failed(11, 10_000*msec, msec, tape.OutcomeReset, "m"), failed(12, 10_000*msec, msec, tape.OutcomeReset, "m"))
	explain := func(name string, o Options) (*Explanation, error) {
		return ExplainRun(&records{recs: s.records()}, name, o)
	}
	for name, word := range map[string]string{"counts.by_class.*": "reset 2, timeout 1", "by_class.*": "reset 2, timeout 1", "counts.finish.*": "length 10", "counts.by_status.*": "none"} {
		if e, err := explain(name, Options{}); err != nil || e.Word != word || e.Value != nil {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	e, err := explain("whole.requests_per_s_per_{n}_devices", Options{})
	if err != nil || len(e.Definitions) == 0 || e.Value == nil || len(e.How) != 1 || !strings.HasPrefix(e.How[0], "requests_per_s_per_4_devices: ") {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := explain("whole.requests_per_s_per_{n}_decode_devices", Options{}); err != nil || e.Value != nil || e.Absent == "" {
		t.Errorf("%+v, %v", e, err)
	}
	var unknown *UnknownName
	if _, err := explain("whole.ttft_ms.p50", Options{Windows: []string{"steady"}}); !errors.As(err, &unknown) || unknown.Hint == "" {
		t.Errorf("two windows: %v", err)
	}
	if _, err := explain("whole.ttft_ms.p50", Options{Windows: []string{"whole"}}); err != nil {
		t.Error(err)
	}
}

// What a run is worth does not hang on the windows that somebody looks at.
func TestVerdictIsTheRuns(t *testing.T) {
	for _, strict := range []string{"window_sufficiency", "window_trend", ""} {
		s := rich()
		s.spec = strings.Replace(s.spec, `"report":{`, `"report":{"strict":["`+strict+`"],`, 1)
		if !strings.Contains(s.spec, "strict") {
			t.Fatal(s.spec)
		}
		want := s.analyse(t, Options{}).Verdict
		for _, windows := range [][]string{{"whole"}, {"stable"}, {"seconds:100000..200000"}, {"rows:0..1", "steady"}} {
			res := s.analyse(t, Options{Windows: windows})
			if res.Verdict.Line != want.Line || res.Verdict.Fit != want.Fit || len(res.Windows) != len(windows) {
				t.Errorf("%v: %q, want %q", windows, res.Verdict.Line, want.Line)
			}
		}
		s.spec = strings.Replace(s.spec, `"report":{`, `"report":{"windows":["seconds:100000..200000"],`, 1)
		if res := s.analyse(t, Options{}); res.Verdict.Line != want.Line || len(res.Windows) != 1 {
			t.Errorf("windows of the spec: %q, want %q", res.Verdict.Line, want.Line)
		}
	}
}

// Counts that no model can have enter no number, whatever they are, and are said.
func TestAbsurdCounts(t *testing.T) {
	for _, n := range []int64{tape.MaxTokens + 1, 1 << 52, 1<<62 + 5, math.MaxInt64} {
		s := steadyRun(20)
		for _, q := range s.reqs[:2] {
			q.Tokens.Output, q.Tokens.Input, q.Tokens.Cached = tape.Some(n), tape.Some(n), tape.Some(n)
			q.Asked = tape.Asked{Output: tape.Some(n), Input: tape.Some(n), Cached: tape.Some(n)}
		}
		lost := failed(20, 20_000*msec, msec, tape.OutcomeReset, "m")
		lost.Tokens.Output = tape.Some(n)
		more := failed(21, 20_000*msec, msec, tape.OutcomeReset, "m")
		more.Tokens.Output = tape.Some(n)
		s.reqs = append(s.reqs, lost, more)
		res := s.analyse(t, Options{As: AsTools()})
		w := windowOf(t, res, "whole")
		if v := w.System.TotalTokensPerS; v == nil || *v < 0 || *v > 1e9 || res.Counts.LostOutputTokens != 0 {
			t.Errorf("%d: %v tok/s, %d lost", n, num(v, 1), res.Counts.LostOutputTokens)
		}
		c := check(t, res, "usage_contradicted")
		if c.Result != ResultMiss || c.Severity != SeverityFail || !strings.Contains(c.Why, "a count above any context in 2 of ") {
			t.Errorf("%d: %+v", n, c)
		}
		if m := check(t, res, "usage_missing"); m.Result != ResultPass {
			t.Errorf("%d: %s", n, m.Why)
		}
	}
}

// A window that does not exist has no numbers, and what explain does not see
// results.json does not have.
func TestNoWindowNoNumbers(t *testing.T) {
	s := steadyRun(20)
	res := s.analyse(t, Options{Windows: []string{"whole", "seconds:100000..200000"}})
	w, none := res.Windows[0], res.Windows[1]
	if none.Requests != nil || none.System.ConcurrencyPeak != nil || none.Facts.CachedN != nil || none.Facts.CachedInferN != nil || none.Held() != 0 {
		t.Errorf("%+v", none)
	}
	if w.Requests == nil || w.System.ConcurrencyPeak == nil || w.Facts.CachedN == nil || *w.Facts.CachedN != 0 {
		t.Errorf("%+v", w)
	}
	got := expected(t, s, "seconds:100000..200000.concurrency_peak == 0", "whole.accept_length_n == 0", "whole.cached_n == 0", "counts.unrecorded == 0")
	for c, result := range map[string]string{
		"seconds:100000..200000.concurrency_peak == 0": ResultMiss, "whole.accept_length_n == 0": ResultMiss,
		"whole.cached_n == 0": ResultPass, "counts.unrecorded == 0": ResultPass,
	} {
		if got[c].Result != result {
			t.Errorf("%+v", got[c])
		}
	}
	if text := string(encode(t, res)); !strings.Contains(text, `"unrecorded": 0`) && !strings.Contains(text, `"unrecorded":0`) {
		t.Error("counts.unrecorded is not in results.json")
	}
}

// Power that never moves comes out as it went in.
func TestConstantPower(t *testing.T) {
	s := tenSeconds(`{"load":{"concurrency":1},"energy":{"watts":900}}`)
	for i, q := range s.reqs { // a length that has no exact inverse
		q.TEnd = tape.Some(q.TEnd.V + int64(i)*7_777_777)
	}
	for _, w := range s.analyse(t, Options{}).Windows {
		if v := w.System.Energy["power_mean_w"]; w.From != nil && (v == nil || *v != 900) {
			t.Errorf("%s: %v", w.Kind, num(v, 15))
		}
	}
	from := at.UnixNano() - 1e9
	p := &Power{}
	for at := from; at < from+20e9; at += 3_333_333_333 {
		p.at, p.watts = append(p.at, at), append(p.watts, 900)
	}
	s.spec = `{"load":{"concurrency":1}}`
	w := windowOf(t, s.analyse(t, Options{Power: p}), "whole")
	if v := w.System.Energy["power_mean_w"]; v == nil || *v != 900 {
		t.Errorf("%v %v", num(v, 15), w.Warnings)
	}
}

// The later turns of a session are of one row, and repeat nothing.
func TestTurnsAreNoRepeats(t *testing.T) {
	s := &script{spec: `{"load":{"concurrency":1}}`, reason: tape.ReasonCompleted}
	for i := range int64(6) {
		q := ok(i, i*1000*msec, 100*msec, 200*msec)
		q.Ref.Row, q.Session, q.Turn = i/3, tape.Some([]string{"a", "b"}[i/3]), int(i%3)
		s.reqs = append(s.reqs, q)
	}
	if c := check(t, s.analyse(t, Options{}), "repeats"); c.Result != ResultPass {
		t.Errorf("%+v", c)
	}
	s.reqs[5].Ref.Row = 0 // the same turn of the same row, again
	if c := check(t, s.analyse(t, Options{}), "repeats"); c.Result != ResultMiss || *c.Value != 1.0/6 {
		t.Errorf("%+v", c)
	}
}
