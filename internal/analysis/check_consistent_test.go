package analysis

import (
	"strings"
	"testing"

	"tokentape/tape"
)

// A tape can be sealed again after it was edited: what cannot be true is found out
// all the same.
func TestTapeConsistent(t *testing.T) {
	const year = int64(365 * 24 * 3600 * 1e9)
	spec := func(part string) func(*script) {
		return func(s *script) { s.spec = `{"load":{"requests":20,"concurrency":1},` + part + `}` }
	}
	first := func(edit func(q *tape.Request)) func(*script) { return func(s *script) { edit(s.reqs[0]) } }
	for name, c := range map[string]struct {
		edit func(*script)
		why  string // "": nothing is wrong
	}{
		"as written":       {func(*script) {}, ""},
		"due in time":      {first(func(q *tape.Request) { q.TDue = q.TReleased }), ""},
		"due after":        {first(func(q *tape.Request) { q.TDue = tape.Some(q.TReleased.V + 1) }), "sent before it was due (request 0: t_due"},
		"far away":         {first(func(q *tape.Request) { q.TEnd = tape.Some(20 * year) }), "a stamp more than ten years from the run's t = 0 (request 0: t_end"},
		"before":           {first(func(q *tape.Request) { q.TReady = tape.Some(-20 * year) }), "t_ready is -"},
		"nine years":       {first(func(q *tape.Request) { q.TEnd = tape.Some(9 * year) }), ""},
		"refused":          {first(func(q *tape.Request) { q.HTTP.Status = 503 }), "an outcome ok without a status 2xx (request 0: HTTP status 503)"},
		"all refused":      {func(s *script) { s.reqs[0].HTTP.Status, s.reqs[1].HTTP.Status = 404, 404 }, "HTTP status 404) and 1 more request"},
		"no status":        {first(func(q *tape.Request) { q.HTTP.Status = 0 }), "without a status 2xx"},
		"half a status":    {first(func(q *tape.Request) { q.HTTP.Status = 20 }), "without a status 2xx"},
		"odd status":       {first(func(q *tape.Request) { q.Outcome, q.HTTP.Status = tape.OutcomeStatus, 4040 }), "a status that HTTP does not have (request 0: 4040)"},
		"no such part":     {first(func(q *tape.Request) { q.Part = tape.Some[int64](99) }), "a part that the header does not name (request 0"},
		"attempts":         {first(func(q *tape.Request) { q.Attempts = 1 << 62 }), "an absurd number of attempts"},
		"rows":             {func(s *script) { s.plan = -3 }, "plan.rows is -3"},
		"many rows":        {func(s *script) { s.plan = 1 << 62 }, "plan.rows is 4611686018427387904"},
		"cost":             {spec(`"cost":{"per_hour":-2}`), "cost.per_hour of the spec is -2"},
		"rate":             {func(s *script) { s.spec = `{"load":{"requests":20,"rate":-1}}` }, "load.rate of the spec is -1"},
		"cap":              {func(s *script) { s.spec = `{"load":{"requests":20,"concurrency":-4}}` }, "load.concurrency of the spec is -4"},
		"SLO":              {spec(`"report":{"slo":{"ttft_ms":-5}}`), "report.slo.ttft_ms of the spec is -5"},
		"share":            {spec(`"limits":{"failed_share":2}`), "limits.failed_share of the spec is 2"},
		"unknown strict":   {spec(`"report":{"strict":["repaets"]}`), `names "repaets"`},
		"known strict":     {spec(`"report":{"strict":["attempts"]}`), ""},
		"not issued":       {func(s *script) { s.cut = -2 }, "-2 not issued"},
		"no time":          {func(s *script) { s.wall = "yesterday" }, `anchor.wall "yesterday" is no time`},
		"two things wrong": {func(s *script) { s.plan, s.wall = -1, "x" }, "is no time (RFC 3339); plan.rows is -1"},
	} {
		s := steadyRun(20)
		s.spec = `{"load":{"requests":20,"concurrency":1}}`
		c.edit(s)
		res := s.analyse(t, Options{})
		got := check(t, res, "tape_consistent")
		if c.why == "" && got.Result != ResultPass || c.why != "" && (got.Result != ResultMiss || res.Verdict.Fit || !strings.Contains(got.Why, c.why)) {
			t.Errorf("%s: %s %q", name, got.Result, got.Why)
		}
	}
}

// Imported results need not say when they were made, nor with which status.
func TestImportedIsConsistent(t *testing.T) {
	s := steadyRun(20)
	for _, q := range s.reqs {
		q.HTTP = tape.HTTP{}
	}
	s.reason = tape.ReasonImported
	recs := s.records()
	h := recs[0].(*tape.Header)
	h.Import, h.Anchor.Wall = &tape.Import{Tool: "vllm"}, ""
	res, err := Analyse(&records{recs: recs}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c := check(t, res, "tape_consistent"); c.Result != ResultPass {
		t.Error(c.Why)
	}
}
