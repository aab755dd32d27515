package evidence_test

import (
	"math"
	"strings"
	"testing"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/catalog"
	"tokentape/internal/search"
	"tokentape/internal/search/evidence"
	"tokentape/tape"
)

func ref(v float64) *float64 { return &v }

// results are of n requests, one due every 0.1 s, each taking ms; change may alter them.
func results(n int, ms float64, change func(i int, r *analysis.Row)) *analysis.Results {
	var rows []analysis.Row
	for i := range n {
		due := float64(i) / 10
		r := analysis.Row{
			Seq: int64(i), Phase: string(tape.PhaseMeasure), Outcome: string(tape.OutcomeOK),
			DueS: ref(due), ReleasedS: ref(due), EndS: ref(due + ms/1e3), TTFTMS: ref(ms / 2), E2EMS: ref(ms), Windows: []string{"whole", "steady"},
		}
		if change != nil {
			change(i, &r)
		}
		rows = append(rows, r)
	}
	return &analysis.Results{
		Rows:    analysis.RowsOf(rows),
		Counts:  analysis.Counts{Issued: int64(n)},
		Windows: []analysis.Window{{Kind: "steady", From: ref(0), To: ref(float64(n-1) / 10)}},
	}
}

func fact(t *testing.T, facts []search.Fact, name string) search.Fact {
	t.Helper()
	for _, f := range facts {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no fact %q in %+v", name, facts)
	return search.Fact{}
}

func ask() evidence.Ask {
	return evidence.Ask{For: search.Rate, Limits: map[string]float64{"ttft_ms": 100, "e2e_ms": 500}, Share: 0.95}
}

// TestShare: a request is good when it ended well within every limit; warm-ups, abandoned
// ones, and those after the cohort are not judged.
func TestShare(t *testing.T) {
	res := results(300, 150, func(i int, r *analysis.Row) {
		switch {
		case i == 10:
			r.TTFTMS = ref(101)
		case i == 20:
			r.E2EMS = ref(501)
		case i == 30:
			r.Outcome, r.Windows = "timeout", nil
		case i == 40:
			r.TTFTMS = nil // breaks no limit
		case i == 50:
			r.Phase = string(tape.PhaseWarmup)
		case i == 60:
			r.Outcome, r.Windows = string(tape.OutcomeAbandoned), nil
		case i >= 290:
			r.Windows, r.E2EMS = []string{"whole"}, ref(9e9)
		}
	})
	facts, client, unfit := evidence.Of(res, ask(), 10)
	f := fact(t, facts, evidence.WithinSLO)
	if f.N != 288 || f.Good != 285 || client != "" || unfit != "" {
		t.Errorf("%+v %q %q", f, client, unfit)
	}
}

// TestPercentile: p95 below a limit is a share of 95 % of the requests below it.
func TestPercentile(t *testing.T) {
	c, err := catalog.Parse("steady.ttft_ms.p95 < 75")
	if err != nil {
		t.Fatal(err)
	}
	a := evidence.Ask{For: search.Rate, Conditions: []catalog.Condition{c}}
	facts, _, _ := evidence.Of(results(200, 150, func(i int, r *analysis.Row) {
		if i%2 == 0 {
			r.TTFTMS = ref(74)
		}
	}), a, 10)
	if f := fact(t, facts, c.Text); f.Kind != search.KindShare || f.Limit != 0.95 || f.N != 200 || f.Good != 100 {
		t.Errorf("%+v: what is at the limit is not below it", f)
	}
	c, _ = catalog.Parse("steady.output_tokens_per_s > 100")
	a.Conditions = []catalog.Condition{c}
	res := results(200, 150, nil)
	res.Expect = []analysis.Expectation{{Condition: c.Text, Value: ref(120), CI: &[2]*float64{ref(110), ref(130)}}}
	facts, _, _ = evidence.Of(res, a, 10)
	if f := fact(t, facts, c.Text); f.Kind != search.KindValue || *f.Value != 120 || math.Abs(f.SE-4.42) > 0.01 {
		t.Errorf("%+v", f)
	}
}

// TestBacklog: what grows is told from what does not, and a rate that does not end from
// one that does.
func TestBacklog(t *testing.T) {
	p := search.Params{For: search.Rate, Goal: search.Highest, From: 1, To: 20, Share: 0.95, Precision: 0.05, MostLooks: 16, Requests: 400}
	for _, c := range []struct {
		name string
		ms   func(i int) float64
		want string
	}{
		{"steady", func(int) float64 { return 150 }, search.Holds},
		{"grows", func(i int) float64 { return 100 + 20*float64(i) }, search.Fails}, // 0.12 s between ends
	} {
		res := results(400, 50, func(i int, r *analysis.Row) { r.EndS = ref(*r.DueS + c.ms(i)/1e3) })
		facts, client, unfit := evidence.Of(res, ask(), 10)
		l := search.Look{Step: search.Step{Kind: search.KindBisect, At: 10, Times: 1}, Requests: 400, Facts: facts, Client: client, Unfit: unfit}
		p.Judge(&l, nil)
		if l.Decision != c.want {
			t.Errorf("%s: %s: %s", c.name, l.Decision, l.Why)
		}
		for _, f := range l.Facts {
			if (f.Name == evidence.Backlog || f.Name == evidence.Achieved) && f.Result != c.want {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
	}
}

// TestUsable: what the client did is told from what makes a run unfit otherwise, and
// failures are neither.
func TestUsable(t *testing.T) {
	res := results(100, 50, nil)
	res.Verdict.Checks = []analysis.Check{
		{Name: "client_bound", Severity: analysis.SeverityFail, Result: analysis.ResultMiss, Why: "late"},
		{Name: "server_changed", Severity: analysis.SeverityFail, Result: analysis.ResultMiss, Why: "restarted"},
		{Name: analysis.CheckFailures, Severity: analysis.SeverityFail, Result: analysis.ResultMiss, Why: "3"},
		{Name: "slot_wait", Severity: analysis.SeverityNote, Result: analysis.ResultMiss, Why: "waited"},
	}
	if client, unfit := ask().Usable(res); client != "client_bound: late" || unfit != "server_changed: restarted" {
		t.Errorf("%q %q", client, unfit)
	}
}

// TestGone: a server that goes away in a look says nothing of the load; one that fails
// otherwise does.
func TestGone(t *testing.T) {
	for _, c := range []struct {
		name  string
		after []tape.Outcome // of the last requests
		cause string
		gone  string
	}{
		{"killed", []tape.Outcome{"reset", "truncated_stream", "connect", "connect", "connect"}, "", "the server was gone: 3 of 100 requests found nobody to connect to, and 2 lost their connection"},
		{"within the share", []tape.Outcome{"connect"}, "", ""},
		{"connections ended under load", []tape.Outcome{"reset", "reset", "reset", "reset"}, "", ""},
		{"errors before it went", []tape.Outcome{"http_status", "timeout", "connect", "connect"}, "", ""},
		{"a certificate", []tape.Outcome{"connect", "connect", "connect"}, "tls", ""},
		{"cut by the user", []tape.Outcome{"cancelled", "cancelled", "cancelled"}, "", ""},
	} {
		a := ask()
		a.FailedShare = 0.01
		res := results(100, 50, func(i int, r *analysis.Row) {
			if n := i - 100 + len(c.after); n >= 0 {
				r.Outcome, r.Cause = string(c.after[n]), c.cause
			}
		})
		if _, client, unfit := evidence.Of(res, a, 10); client != "" || unfit != c.gone {
			t.Errorf("%s: %q %q, want %q", c.name, client, unfit, c.gone)
		}
	}
}

// TestTooShort: a run without a steady window proves nothing good, and may show what
// fails.
func TestTooShort(t *testing.T) {
	p := search.Params{For: search.Concurrency, Goal: search.Highest, From: 1, To: 20, Share: 0.95, Precision: 0.05, MostLooks: 16, Requests: 200}
	for _, c := range []struct {
		ms   float64
		want string
	}{{50, search.Undecided}, {900, search.Fails}} {
		res := results(200, c.ms, nil)
		res.Windows = []analysis.Window{{Kind: "steady", Why: "no steady window: too short"}}
		a := ask()
		a.For = search.Concurrency
		l := search.Look{Step: search.Step{Kind: search.KindBisect, At: 10, Times: 1}, Requests: 200}
		l.Facts, _, _ = evidence.Of(res, a, 10)
		p.Judge(&l, nil)
		if l.Decision != c.want || c.want == search.Undecided && !strings.Contains(l.Why, "the look is too short") && !strings.Contains(l.Why, "too short") && !strings.Contains(l.Why, "not observed") {
			t.Errorf("%v ms: %s: %s", c.ms, l.Decision, l.Why)
		}
	}
}

// TestStages: the requests of a ramp by the stage in which they were due.
func TestStages(t *testing.T) {
	res := results(300, 50, func(i int, r *analysis.Row) {
		if i >= 250 {
			r.E2EMS = ref(501)
		}
	})
	got := evidence.Stages(res, ask(), []float64{1, 2, 4}, 10)
	want := []search.Stage{{At: 1, Good: 100, N: 100}, {At: 2, Good: 100, N: 100}, {At: 4, Good: 50, N: 100}}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// TestGoodput counts good requests at their ends.
func TestGoodput(t *testing.T) {
	a := ask()
	a.Goodput = true
	facts, _, _ := evidence.Of(results(401, 50, func(i int, r *analysis.Row) {
		if i%7 == 0 {
			r.TTFTMS = ref(101)
		}
	}), a, 10)
	if f := fact(t, facts, evidence.Good); f.Value == nil || math.Abs(*f.Value-60.0/7) > 0.05 || f.SE <= 0 {
		t.Errorf("%+v", f)
	}
}

// TestBelow: a limit that must not be reached is not kept by what is at it.
func TestBelow(t *testing.T) {
	a := ask()
	a.Limits = map[string]float64{"ttft_ms": 75}
	for below, good := range map[bool]int64{false: 200, true: 100} {
		a.Below = map[string]bool{"ttft_ms": below}
		facts, _, _ := evidence.Of(results(200, 150, func(i int, r *analysis.Row) {
			if i%2 == 0 {
				r.TTFTMS = ref(74)
			}
		}), a, 10)
		if f := fact(t, facts, evidence.WithinSLO); f.Good != good || f.N != 200 {
			t.Errorf("below %v: %+v", below, f)
		}
	}
}

// TestOtherWork tells what other programs did to the client from what it did itself.
func TestOtherWork(t *testing.T) {
	for _, c := range []struct {
		result, why string
		want        bool
	}{
		{analysis.ResultMiss, "pacer lag p99 5 ms (limit 1 ms); " + analysis.OtherWork + ": 1.99 cores, beside tokentape's 0.01 (it may use 2)", true},
		{analysis.ResultMiss, "pacer lag p99 5 ms (limit 1 ms)", false},
		{analysis.ResultPass, analysis.OtherWork, false},
	} {
		res := results(20, 50, nil)
		res.Verdict.Checks = []analysis.Check{{Name: "client_bound", Severity: analysis.SeverityFail, Result: c.result, Why: c.why}}
		if got := evidence.OtherWork(res); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
