package report

import (
	"encoding/json"
	"io"
	"testing"

	"tokentape/internal/analysis"
	"tokentape/internal/spec"
	"tokentape/tape"
)

// records is a tape in memory.
type records []tape.Record

func (s *records) Next() (tape.Record, error) {
	if len(*s) == 0 {
		return nil, io.EOF
	}
	r := (*s)[0]
	*s = (*s)[1:]
	return r, nil
}

func (s *records) SHA256() string { return "5ba2" }

// recorded is an open-loop run in which every metric can be observed: reasoning,
// cached tokens, slot waits.
func recorded(t *testing.T, n int64, more ...func(*tape.Request)) *analysis.Results {
	t.Helper()
	s := spec.Default()
	s.Load.Requests, s.Load.Concurrency, s.Load.Rate = n, 8, 10
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	some := tape.Some[int64]
	const ms = int64(1e6)
	recs := records{&tape.Header{Type: "header", Schema: tape.Schema, Run: "01TEST", Name: "recorded", Tool: tape.Tool{Version: "0.1.0"}, Spec: raw,
		Anchor: tape.Anchor{Wall: "2026-11-30T04:00:00Z", Clock: "monotonic", ReadStamp: "conn"}, Plan: tape.PlanRef{SHA256: "aa", Rows: n, Kind: "rows"},
		Data: tape.DataRef{Path: "data.jsonl", Rows: n, SHA256: "bb"}, Host: tape.Host{OS: "linux", Arch: "amd64", CPUs: 2},
		Server: tape.Server{URL: "http://127.0.0.1:30000/v1/chat/completions", Engine: "sglang", Model: "m"}}}
	for i := range n {
		due := i * 100 * ms
		ready := due + i%3*ms
		wrote := ready + 50_000
		first, last := wrote+(100+i%40)*ms, wrote+(800+i%40)*ms
		q := &tape.Request{Type: "request", Seq: i, Phase: tape.PhaseMeasure, Ref: tape.Ref{Row: i}, Attempts: 1, Outcome: tape.OutcomeOK, Finish: "length",
			TDue: some(due), TReady: some(ready), TReleased: some(ready), TConn: some(ready), TWroteFirst: some(wrote), TWrote: some(wrote), THeaders: some(first),
			TFirstEvent: some(first), TFirstToken: some(first), TFirstVisible: some(first + 350*ms), TLastToken: some(last), TEnd: some(last + ms),
			Events: tape.Events{DT: []int64{first - wrote, 350 * ms, 350 * ms, ms}, Kind: tape.EncodeKinds([]byte("sccd"))},
			Tokens: tape.Tokens{Input: some(1000), InputSource: tape.SourceUsage, Output: some(30), OutputSource: tape.SourceUsage, Cached: some(900), Reasoning: some(10)},
			HTTP:   tape.HTTP{Status: 200, Proto: "HTTP/1.1"}, Conn: &tape.Conn{ID: i % 8, Reused: i >= 8}}
		for _, f := range more {
			f(q)
		}
		recs = append(recs, q)
	}
	recs = append(recs, &tape.Footer{Type: "footer", Reason: tape.ReasonCompleted, Planned: n, OK: n, Failed: map[string]int64{}})
	r, err := analysis.Analyse(&recs, analysis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// speculating makes a request one of a server that tells all of its drafts.
func speculating(q *tape.Request) {
	some := tape.Some[int64]
	q.Tokens.Verify, q.Tokens.Drafted, q.Tokens.Accepted, q.Tokens.Rejected = some(12), some(36), some(17), some(19)
	q.StepsAccepting = []int64{3, 3, 4, 2}
	q.Engine = map[string]float64{"spec_accept_length": 2.5, "spec_accept_rate": 17. / 36}
}

// Every metric that analysis makes has a definition in the glossary, and every
// definition a metric.
func TestEveryMetricIsDefined(t *testing.T) {
	r := recorded(t, 300, speculating)
	made := map[string]bool{}
	for _, w := range r.Windows {
		for name := range w.Metrics {
			made[name] = true
		}
	}
	for _, x := range terms {
		if !made[x.name] {
			t.Errorf("the glossary defines %s, which analysis did not make", x.name)
		}
		delete(made, x.name)
	}
	for name := range made {
		t.Errorf("the glossary does not define %s", name)
	}
	for name, view := range map[string]func(io.Writer, *analysis.Results) error{"console": consoleOf(Options{}), "json": JSON, "stats": StatsCSV, "requests": RequestsCSV} {
		if text(t, r, view) == "" {
			t.Errorf("%s is empty", name)
		}
	}
}
