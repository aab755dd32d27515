package analysis

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tokentape/tape"
)

func failedAt(seq int64, o tape.Outcome, cause string, status int) *tape.Request {
	q := okAt(seq)
	q.Outcome, q.Cause, q.HTTP.Status = o, cause, status
	q.Message = fmt.Sprintf("request %d said no", seq)
	q.TFirstToken, q.TLastToken, q.TFirstVisible, q.Finish = tape.Opt[int64]{}, tape.Opt[int64]{}, tape.Opt[int64]{}, ""
	q.Tokens, q.Events = tape.Tokens{}, tape.Events{}
	return q
}

func okAt(seq int64) *tape.Request {
	t := seq * 100_000_000
	q := &tape.Request{
		Type: "request", Seq: seq, Phase: tape.PhaseMeasure, TReleased: tape.Some(t), TReady: tape.Some(t), TWroteFirst: tape.Some(t + 1000), TWrote: tape.Some(t + 2000),
		THeaders: tape.Some(t + 3_000_000), TFirstEvent: tape.Some(t + 4_000_000), TFirstToken: tape.Some(t + 4_000_000), TFirstVisible: tape.Some(t + 4_000_000),
		TLastToken: tape.Some(t + 9_000_000), TEnd: tape.Some(t + 10_000_000), Bytes: tape.Bytes{Sent: 200 + seq%50, Body: 100, Reads: 2},
		HTTP: tape.HTTP{Status: 200, Proto: "HTTP/1.1"}, Finish: "length", Outcome: tape.OutcomeOK, Attempts: 1,
		Conn: &tape.Conn{ID: seq%4 + 1, Reused: seq >= 4, Remote: "10.0.0.1:80"},
	}
	q.Events = tape.Events{DT: []int64{3_999_000, 5_000_000}, Kind: "c2"}
	q.Tokens = tape.Tokens{Input: tape.Some(int64(20)), InputSource: "usage", Output: tape.Some(int64(2)), OutputSource: "usage"}
	return q
}

// triageOf is the triage of n requests that change changes.
func triageOf(t *testing.T, n int64, change func(seq int64) *tape.Request, more ...tape.Record) *Triage {
	t.Helper()
	recs := []tape.Record{&tape.Header{
		Type: "header", Schema: tape.Schema, Run: "r", Anchor: tape.Anchor{Wall: "2026-11-30T04:00:00Z"}, Spec: []byte("{}"),
		Plan: tape.PlanRef{Rows: n}, Host: tape.Host{CPUs: 8}, Server: tape.Server{URL: "http://s/v1"},
	}}
	f := &tape.Footer{Type: "footer", Reason: tape.ReasonCompleted, Planned: n, Failed: map[string]int64{}}
	for seq := range n {
		q := change(seq)
		if q.Outcome == tape.OutcomeOK {
			f.OK++
		} else {
			f.Failed[string(q.Outcome)]++
		}
		recs = append(recs, q)
	}
	recs = append(append(recs, more...), f)
	got, err := Why(&records{recs: recs}, Whereabouts{Run: "runs/x", Spec: "runs/x/spec.yaml"}, Options{NoCI: true})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// What failures have in common is said, and said only where it is more than chance.
func TestWhatFailuresHaveInCommon(t *testing.T) {
	reset := func(seq int64) *tape.Request { return failedAt(seq, tape.OutcomeReset, "", 0) }
	for _, tc := range []struct {
		name   string
		change func(seq int64) *tape.Request
		want   []string // of in_time, by_connection, by_remote, by_length
		not    []string
	}{
		{"all", reset, []string{"all requests, from the first to the last"}, nil},
		{"the server dies", func(seq int64) *tape.Request {
			if seq >= 120 {
				return reset(seq)
			}
			return okAt(seq)
		}, []string{"in one stretch to the end: of the 80 requests released from the first failure on none ended well, of the 120 requests before it 120 did"}, nil},
		{"a burst", func(seq int64) *tape.Request {
			if seq >= 50 && seq < 60 {
				return reset(seq)
			}
			return okAt(seq)
		}, []string{"together: 10 among 10 released in that time, none before or after (200 in all)"}, nil},
		{"here and there", func(seq int64) *tape.Request {
			if seq%19 == 7 {
				return reset(seq)
			}
			return okAt(seq)
		}, []string{"spread over the run: 11 among 191", "alike: "}, []string{"together", "all on", "longer", "shorter"}},
		{"one", func(seq int64) *tape.Request {
			if seq == 50 {
				return reset(seq)
			}
			return okAt(seq)
		}, []string{"a single one; before it 50 ended well, after it 149"}, []string{"all on"}},
		{"long prompts", func(seq int64) *tape.Request {
			q := okAt(seq)
			if seq%10 == 3 {
				q = failedAt(seq, tape.OutcomeStatus, "", 413)
				q.Bytes.Sent = 5000 + seq
			}
			return q
		}, []string{"all longer than any that ended well: 5,003 to 5,193 bytes of request", "spread"}, nil},
		{"one address of two", func(seq int64) *tape.Request {
			q := okAt(seq)
			if seq%2 == 0 {
				if seq%4 == 0 {
					q = reset(seq)
				}
				q.Conn.Remote = "10.0.0.2:80"
			}
			return q
		}, []string{"all at one address: 10.0.0.2:80 50 of 100, 10.0.0.1:80 0 of 100"}, nil},
		{"used connections", func(seq int64) *tape.Request {
			q := okAt(seq)
			if seq%8 == 0 && seq > 8 {
				q = reset(seq)
			} else {
				q.Conn.Reused = false
			}
			return q
		}, []string{"all on connections that were used before"}, nil},
		{"one connection", func(seq int64) *tape.Request {
			if seq%4 == 2 && seq > 100 && seq%12 == 2 {
				return reset(seq)
			}
			return okAt(seq)
		}, []string{"all on one connection of 4"}, nil},
		{"nothing sent", func(seq int64) *tape.Request {
			q := failedAt(seq, tape.OutcomeConnect, "", 0)
			q.Bytes, q.Conn = tape.Bytes{}, &tape.Conn{Remote: "10.0.0.1:80"}
			return q
		}, []string{"no connection was made", "nothing of these requests was sent"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := triageOf(t, 200, tc.change)
			if len(got.Failures) != 1 {
				t.Fatalf("%+v", got.Failures)
			}
			f := got.Failures[0]
			text := strings.Join([]string{f.InTime, f.ByConnection, f.ByRemote, f.ByLength}, "\n")
			for _, w := range tc.want {
				if !strings.Contains(text, w) {
					t.Errorf("no %q in\n%s", w, text)
				}
			}
			for _, w := range tc.not {
				if strings.Contains(text, w) {
					t.Errorf("%q in\n%s", w, text)
				}
			}
			if f.First == nil || f.Last == nil || f.First.TS > f.Last.TS {
				t.Errorf("first %+v, last %+v", f.First, f.Last)
			}
		})
	}
}

// Failures that fall anywhere are claimed to lie together hardly ever.
func TestChanceIsNoCluster(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	wrong := 0
	const runs = 400
	for range runs {
		hit := map[int64]bool{}
		for len(hit) < 5 {
			hit[r.Int64N(100)] = true
		}
		f := triageOf(t, 100, func(seq int64) *tape.Request {
			if hit[seq] {
				return failedAt(seq, tape.OutcomeReset, "", 0)
			}
			return okAt(seq)
		}).Failures[0]
		for _, text := range []string{f.InTime, f.ByLength, f.ByConnection} {
			if strings.HasPrefix(text, "together") || strings.HasPrefix(text, "longer") || strings.HasPrefix(text, "shorter") || strings.HasPrefix(text, "all") {
				wrong++
			}
		}
	}
	if wrong > 3*runs/100 {
		t.Errorf("%d false claims in %d runs", wrong, runs)
	}
}

// Classes, stages, sayings and the next step.
func TestTriageOfClasses(t *testing.T) {
	for _, tc := range []struct {
		outcome tape.Outcome
		cause   string
		status  int
		all     bool // every request, else every tenth
		class   string
		stage   string
		command string
	}{
		{tape.OutcomeStatus, "auth", 401, true, "http_status 401 (auth)", StageConfiguration, "tokentape plan runs/x/spec.yaml --show-request 0 --curl"},
		{tape.OutcomeStatus, "auth", 401, false, "http_status 401 (auth)", StageRequest, "tokentape plan runs/x/spec.yaml --show-request 0 --curl"},
		{tape.OutcomeStatus, "rate_limit", 429, false, "http_status 429 (rate_limit)", StageRequest, "tokentape run runs/x/spec.yaml --attempts 3"},
		{tape.OutcomeStatus, "", 503, false, "http_status 503", StageRequest, "tokentape probe runs/x/spec.yaml"},
		{tape.OutcomeConnect, "", 0, false, "connect", StageConnect, "tokentape probe runs/x/spec.yaml"},
		{tape.OutcomeTimeout, "first_token", 200, false, "timeout (first_token)", StageRequest, "tokentape explain ttft_ms.max runs/x"},
		{tape.OutcomeMalformed, "", 200, false, "malformed_stream", StageStream, "tokentape plan runs/x/spec.yaml --show-request 0 --curl"},
		{tape.OutcomeTruncated, "", 200, true, "truncated_stream", StageStream, "tokentape plan runs/x/spec.yaml --show-request 0 --curl"},
		{tape.OutcomeReset, "", 0, false, "reset", StageRequest, "tokentape probe runs/x/spec.yaml"},
		{tape.OutcomeReset, "", 200, false, "reset", StageStream, "tokentape probe runs/x/spec.yaml"},
		{tape.OutcomeClient, "", 0, false, "client_limit", StageConnect, "ulimit -n"},
		{tape.OutcomeNotStream, "", 200, true, "not_a_stream", StageConfiguration, "tokentape plan runs/x/spec.yaml --show-request 0 --curl"},
	} {
		t.Run(tc.class+" "+tc.stage, func(t *testing.T) {
			example := &tape.Example{Type: "example", Outcome: tc.outcome, Cause: tc.cause, Status: tc.status, Message: "first"}
			got := triageOf(t, 40, func(seq int64) *tape.Request {
				if tc.all || seq%10 == 0 {
					return failedAt(seq, tc.outcome, tc.cause, tc.status)
				}
				return okAt(seq)
			}, example)
			f := got.Failures[0]
			state := StateFailed
			if tc.outcome == tape.OutcomeClient { // the server is not to blame: a check of its own
				state = StateUnfit
			}
			if f.Class != tc.class || f.Stage != tc.stage || got.Stage != tc.stage || got.State != state {
				t.Errorf("class %q, stage %q; run: %s, %q", f.Class, f.Stage, got.State, got.Stage)
			}
			if f.Example != example || f.Do == "" || f.Command != tc.command || len(got.Next) == 0 || got.Next[0].Command != tc.command {
				t.Errorf("example %v, command %q, do %q, next %+v", f.Example, f.Command, f.Do, got.Next)
			}
			if len(f.Said) != 1 || f.Said[0].Count != f.Count || !strings.HasPrefix(f.Said[0].Text, "request ") {
				t.Errorf("messages that differ in numbers: %+v", f.Said)
			}
			bad := 0
			for i, s := range got.Stages {
				if s.Name != Stages()[i] {
					t.Errorf("stage %d is %s", i, s.Name)
				}
				if s.State == StageBad {
					bad++
				}
			}
			if bad != 1 {
				t.Errorf("%d stages went wrong: %+v", bad, got.Stages)
			}
		})
	}
}

// A failed attempt that was followed by another is a class too.
func TestTriageOfRetries(t *testing.T) {
	got := triageOf(t, 10, func(seq int64) *tape.Request {
		q := okAt(seq)
		if seq < 3 {
			q.Attempts = 2
			q.AttemptLog = []tape.Attempt{{TReleased: q.TReleased, TEnd: q.TReleased, Status: 429, Outcome: tape.OutcomeStatus, Cause: "rate_limit", Message: "slow down"}}
		}
		return q
	})
	if len(got.Failures) != 1 || got.Failures[0].Retried != 3 || got.Failures[0].Count != 0 || got.Failures[0].Said[0].Count != 3 || got.State == StateFailed {
		t.Errorf("%+v %s", got.Failures, got.State)
	}
}

func TestTriageOfEndings(t *testing.T) {
	whole := func(reason, why string, drop bool) *Triage {
		recs := []tape.Record{&tape.Header{Type: "header", Schema: tape.Schema, Run: "r", Spec: []byte("{}"), Plan: tape.PlanRef{Rows: 3}, Host: tape.Host{CPUs: 8}}}
		for seq := range int64(3) {
			recs = append(recs, okAt(seq))
		}
		if !drop {
			recs = append(recs, &tape.Footer{Type: "footer", Reason: reason, Message: why, Planned: 3, OK: 3, Failed: map[string]int64{}})
		}
		missing := false
		got, err := Why(&records{recs: recs}, Whereabouts{Run: "runs/x", Reports: &missing}, Options{NoCI: true})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for _, tc := range []struct {
		reason, why string
		drop        bool
		state       string
		stage, line string
	}{
		{"", "", true, StateFailed, StageRecord, "without a footer"},
		{tape.ReasonDisk, "no space left on device", false, StateFailed, StageRecord, "no space left"},
		{tape.ReasonRecorder, "too slow", false, StateFailed, StageRecord, "too slow"},
		{tape.ReasonInterrupted, "", false, StateStopped, "", "the user stopped it after 3 measured requests of 3"},
		{tape.ReasonDataset, "row 7", false, StateFailed, StageConfiguration, "row 7"},
		{tape.ReasonCompleted, "", false, StateFailed, StageAnalysis, "its reports are not there"},
	} {
		got := whole(tc.reason, tc.why, tc.drop)
		if got.State != tc.state || got.Stage != tc.stage || !strings.Contains(got.Line, tc.line) {
			t.Errorf("%s: %s, %q: %s", tc.reason, got.State, got.Stage, got.Line)
		}
		for _, s := range got.Next {
			if strings.HasPrefix(s.Command, "tokentape run") {
				t.Errorf("%s: it sends again: %+v", tc.reason, s)
			}
		}
		if len(got.Next) == 0 || got.Next[len(got.Next)-1].Command != "tokentape report runs/x" {
			t.Errorf("%s: %+v", tc.reason, got.Next)
		}
	}
}

const someLog = `2026-11-30T12:03:18.123Z             -  start      tokentape 0.1.0: tokentape run --url 127.0.0.1:1
2026-11-30T12:03:18.223Z             -  preflight  failed: GET http://127.0.0.1:1/v1/models: connection refused
2026-11-30T12:03:18.224Z             -  exit       3: GET http://127.0.0.1:1/v1/models: connection refused → start the server
`

func TestRunLog(t *testing.T) {
	l, err := ParseRunLog("junk\n" + someLog + "\x00\n2026-13-40T99:03:18.123Z  - start x\n")
	if err != nil || len(l.Lines) != 3 || *l.Code != 3 || l.Lines[0].T != nil || l.Lines[1].Kind != "preflight" {
		t.Fatalf("%+v, %v", l, err)
	}
	got := WhyNoRun(Whereabouts{Run: "runs", Log: l})
	if got.State != StateNoRun || got.Stage != StageConnect || !strings.Contains(got.Line, "connection refused") || strings.Contains(got.Line, "→") {
		t.Errorf("%+v", got)
	}
	if n := len(got.Next); n != 2 || got.Next[0].Why != "start the server" || got.Next[1].Command != "tokentape run --url 127.0.0.1:1" {
		t.Errorf("%+v", got.Next)
	}
	for code, stage := range map[string]string{"2: bad.yaml:3:1: what": StageConfiguration, "3: GET http://x: status 401: refused": StageConfiguration, "1: disk": StageRecord, "130: interrupted": ""} {
		l, err := ParseRunLog(strings.Split(someLog, "\n")[0] + "\n2026-11-30T12:03:18.224Z  -  exit  " + code)
		if err != nil || l.stage() != stage {
			t.Errorf("%s: %v, %q", code, err, l.stage())
		}
	}
	if l, _ := ParseRunLog(strings.Split(someLog, "\n")[0]); !strings.Contains(WhyNoRun(Whereabouts{Log: l}).Line, "without an exit code") {
		t.Error("a log that ends at once")
	}
	if _, err := ParseRunLog("hello\n"); err == nil {
		t.Error("a text that is no log")
	}
}

func FuzzRunLog(f *testing.F) {
	f.Add(someLog)
	f.Add("2026-11-30T12:03:18.123Z  +1.5  begin  t = 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseRunLog(text)
		if err != nil {
			return
		}
		got := WhyNoRun(Whereabouts{Run: "runs", Log: l})
		if got.Line == "" && l.Lines[len(l.Lines)-1].Text != "" && got.State == "" || len(got.Stages) != len(Stages()) || len(l.Lines) > mostLogLines {
			t.Errorf("%+v", got)
		}
	})
}
