package analysis

import (
	"slices"
	"strings"
	"testing"

	"tokentape/tape"
)

// B17: requests and failures by address; a dead one shows as such.
func TestRemotes(t *testing.T) {
	s := &script{spec: `{}`, plan: 6, reason: tape.ReasonCompleted}
	for i := range int64(6) {
		q := failed(i, i*100*msec, msec, tape.OutcomeConnect, "connection refused")
		q.Conn, q.TConn = &tape.Conn{Remote: "127.0.0.3:80"}, tape.Opt[int64]{}
		if i%3 > 0 {
			q.Outcome, q.TConn = tape.OutcomeOK, tape.Some(i*100*msec)
			q.Conn = &tape.Conn{ID: i%3 + 1, Reused: i > 3, Remote: []string{"", "127.0.0.1:80", "127.0.0.2:80"}[i%3]}
		}
		s.reqs = append(s.reqs, q)
	}
	res := s.analyse(t, Options{})
	want := []Remote{
		{Address: "127.0.0.1:80", Requests: 2, OK: 2, Connections: 1},
		{Address: "127.0.0.2:80", Requests: 2, OK: 2, Connections: 1},
		{Address: "127.0.0.3:80", Requests: 2, Failed: 2},
	}
	if !slices.Equal(res.Remotes, want) {
		t.Errorf("%+v", res.Remotes)
	}
	if *res.Load.NewConnections != 2 || *res.Load.ReusedConnections != 2 {
		t.Errorf("an address that was tried counts as a connection: %+v", res.Load)
	}
}

// Failures on the client's own machine are no failures of the server's.
func TestClientLimitIsNotAFailure(t *testing.T) {
	s := &script{spec: `{}`, plan: 2, reason: tape.ReasonCompleted, reqs: []*tape.Request{
		failed(0, 0, msec, tape.OutcomeClient, "too many open files"), failed(1, 0, msec, tape.OutcomeClient, "too many open files")}}
	res := s.analyse(t, Options{})
	if f := check(t, res, CheckFailures); f.Result == ResultMiss {
		t.Errorf("%+v", f)
	}
	if res.Verdict.Fit || !strings.Contains(res.Verdict.Line, "the client's machine failed, not the server") {
		t.Error(res.Verdict.Line)
	}
}
