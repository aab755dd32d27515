package analysis

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"tokentape/tape"
)

const msec = int64(1e6)

// records is a tape in memory.
type records struct {
	recs []tape.Record
	at   int
}

func (s *records) Next() (tape.Record, error) {
	if s.at == len(s.recs) {
		return nil, io.EOF
	}
	s.at++
	return s.recs[s.at-1], nil
}

func (s *records) SHA256() string { return "5ba2" }

// script builds a synthetic tape with exact times.
type script struct {
	spec   string
	plan   int64
	reqs   []*tape.Request
	more   []tape.Record
	reason string // of the footer; empty: no footer
	cut    int64  // not issued
	cache  *tape.CachePlan
	tok    *tape.FileRef
	warmup tape.Opt[int64] // of the footer
	notes  []string
	wall   string // of the anchor; empty: a sane one
	urls   []string

	envelope *tape.Envelope
}

func (s *script) header() *tape.Header {
	return &tape.Header{
		Type: "header", Schema: tape.Schema, Run: "01TEST", Tool: tape.Tool{Version: "0.1.0"},
		Anchor: tape.Anchor{Wall: cmp.Or(s.wall, "2026-11-30T04:00:00Z"), Clock: "monotonic", ReadStamp: "conn"},
		Spec:   json.RawMessage(s.spec), Plan: tape.PlanRef{SHA256: "aa", Rows: s.plan, Kind: "rows"},
		Data:   tape.DataRef{Path: "data.jsonl", Rows: 1000, SHA256: "bb"},
		Host:   tape.Host{OS: "linux", Arch: "amd64", CPUs: 4},
		Server: tape.Server{URL: "http://127.0.0.1:30000/v1/chat/completions", Model: "m", URLs: s.urls},
		Cache:  s.cache, Tok: s.tok, Notes: s.notes, Envelope: s.envelope,
	}
}

func (s *script) records() []tape.Record {
	recs := []tape.Record{s.header()}
	f := &tape.Footer{Type: "footer", Reason: s.reason, Failed: map[string]int64{}, NotIssued: s.cut, Warmup: s.warmup}
	for _, q := range s.reqs {
		recs = append(recs, q)
		if q.Phase != tape.PhaseMeasure {
			f.Preparation++
			continue
		}
		f.Planned++
		switch q.Outcome {
		case tape.OutcomeOK:
			f.OK++
		case tape.OutcomeCancelled:
			f.Cancelled++
		case tape.OutcomeAbandoned:
			f.Abandoned++
		default:
			f.Failed[string(q.Outcome)]++
		}
	}
	f.Planned += s.cut
	recs = append(recs, s.more...)
	if s.reason != "" {
		recs = append(recs, f)
	}
	return recs
}

func (s *script) analyse(t testing.TB, o Options) *Results {
	t.Helper()
	res, err := Analyse(&records{recs: s.records()}, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// ok is a good request whose token events come at the given times after the
// release, followed by finish, usage and [DONE] with the last of them.
func ok(seq, released int64, tokens ...int64) *tape.Request {
	some := tape.Some[int64]
	q := &tape.Request{
		Type: "request", Seq: seq, Phase: tape.PhaseMeasure, Outcome: tape.OutcomeOK, Attempts: 1, Finish: "length",
		Ref: tape.Ref{Row: seq}, HTTP: tape.HTTP{Status: 200, Proto: "HTTP/1.1"},
		TReady: some(released), TReleased: some(released), TConn: some(released), TWroteFirst: some(released), TWrote: some(released),
		Conn: &tape.Conn{ID: 1, Reused: true},
	}
	var kinds []byte
	at := released
	add := func(t int64, kind byte) {
		q.Events.DT = append(q.Events.DT, released+t-at)
		at = released + t
		kinds = append(kinds, kind)
	}
	if len(tokens) > 0 {
		add(tokens[0], tape.KindRole)
		for _, t := range tokens {
			add(t, tape.KindContent)
		}
		q.TFirstEvent, q.TFirstToken, q.TFirstVisible, q.TLastToken = some(released+tokens[0]), some(released+tokens[0]), some(released+tokens[0]), some(at)
	}
	end := at - released
	add(end, tape.KindFinish)
	add(end, tape.KindUsage)
	add(end, tape.KindDone)
	q.TEnd = some(at)
	q.Events.Kind = tape.EncodeKinds(kinds)
	q.Tokens = tape.Tokens{Input: some(100), InputSource: tape.SourceUsage, Output: some(int64(len(tokens))), OutputSource: tape.SourceUsage}
	return q
}

// every gives n times: first, then step apart.
func every(n int, first, step int64) []int64 {
	ts := make([]int64, n)
	for i := range ts {
		ts[i] = first + int64(i)*step
	}
	return ts
}

// failed is a request that ended badly after d.
func failed(seq, released, d int64, class tape.Outcome, message string) *tape.Request {
	q := ok(seq, released)
	q.Events, q.Tokens, q.Finish = tape.Events{}, tape.Tokens{}, ""
	q.Outcome, q.Message, q.TEnd = class, message, tape.Some(released+d)
	return q
}

func windowOf(t testing.TB, res *Results, kind string) *Window {
	t.Helper()
	for i := range res.Windows {
		if res.Windows[i].Kind == kind {
			return &res.Windows[i]
		}
	}
	t.Fatalf("no window %q", kind)
	return nil
}

func check(t testing.TB, res *Results, name string) *Check {
	t.Helper()
	for i := range res.Verdict.Checks {
		if res.Verdict.Checks[i].Name == name {
			return &res.Verdict.Checks[i]
		}
	}
	t.Fatalf("no check %q", name)
	return nil
}

// num formats a value that may be absent for comparison: "null" or %.Nf.
func num(v *float64, digits int) string {
	if v == nil {
		return "null"
	}
	return fmt.Sprintf("%.*f", digits, *v)
}

func want(t testing.TB, what string, got *float64, digits int, want string) {
	t.Helper()
	if g := num(got, digits); g != want {
		t.Errorf("%s = %s, want %s", what, g, want)
	}
}
