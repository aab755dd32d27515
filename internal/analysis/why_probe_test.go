package analysis

import (
	"fmt"
	"strings"
	"testing"

	"tokentape/tape"
)

// probeOf is the triage of a probe by itself with these lines.
func probeOf(t *testing.T, reason string, recs ...tape.Record) *Triage {
	t.Helper()
	all := []tape.Record{&tape.Header{
		Type: "header", Schema: tape.Schema, Run: "r", Anchor: tape.Anchor{Wall: "2026-11-30T04:00:00Z"}, Spec: []byte("{}"),
		Plan: tape.PlanRef{Kind: "none"}, Host: tape.Host{CPUs: 8}, Server: tape.Server{URL: "http://s/v1"},
	}}
	f := &tape.Footer{Type: "footer", Reason: reason, Message: "the probe's own word", Failed: map[string]int64{}}
	for _, rec := range recs {
		if _, ok := rec.(*tape.Request); ok {
			f.Preparation++
		}
	}
	there := true
	got, err := Why(&records{recs: append(append(all, recs...), f)}, Whereabouts{Run: "runs/p", Spec: "runs/p/spec.yaml", Reports: &there}, Options{NoCI: true})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func stepOf(name, result, seen string) *tape.Step {
	return &tape.Step{Type: "step", Name: name, Result: result, Seen: seen}
}

// probeAsked is a request of the probe and its step.
func probeAsked(n int64, name string, status int, result string) []tape.Record {
	q := okAt(n)
	if status != 200 {
		q = failedAt(n, tape.OutcomeStatus, "", status)
	}
	q.Seq, q.Phase, q.Conn.ID = tape.ProbeSeq+n, tape.PhaseProbe, 1
	st := stepOf(name, result, fmt.Sprintf("answer %d", n))
	st.Status, st.Request = tape.Some(int64(status)), tape.Some(q.Seq)
	if result == tape.StepFailed {
		st.Do = "mend it"
	}
	return []tape.Record{q, st}
}

// A probe that failed is told apart by its steps, at every stage; one that went well
// is not said to have seen nothing.
func TestTriageOfProbes(t *testing.T) {
	connected := stepOf("connect", tape.StepOK, "10.0.0.1:80")
	refused := func(name string, status int64) *tape.Step {
		s := stepOf(name, tape.StepFailed, "no: {\"bytes\":1}")
		s.URL, s.Do = "http://s/v1/models", "mend the GET"
		if status != 0 {
			s.Status = tape.Some(status)
		}
		return s
	}
	join := func(lists ...[]tape.Record) (out []tape.Record) {
		for _, l := range lists {
			out = append(out, l...)
		}
		return out
	}
	for _, tc := range []struct {
		name, reason, stage, state string
		recs                       []tape.Record
		says                       []string // of line, stages, next
	}{
		{"nobody listens", tape.ReasonProbe, StageConnect, StateFailed, []tape.Record{refused("connect", 0), stepOf("models", tape.StepNone, "not tried")},
			[]string{`step "connect" failed: no: {"bytes":1}`, "request not_observed it did not come to this", "mend the GET", "tokentape probe runs/p/spec.yaml"}},
		{"the name is unknown", tape.ReasonProbe, StageConnect, StateFailed, []tape.Record{refused("resolve", 0)}, []string{`"resolve"`}},
		{"no answer", tape.ReasonProbe, StageRequest, StateFailed, []tape.Record{connected, refused("models", 0)}, []string{"connect ok connected to 10.0.0.1:80"}},
		{"the key is refused", tape.ReasonProbe, StageConfiguration, StateFailed, join([]tape.Record{connected, refused("models", 401)}, probeAsked(0, "whole", 401, tape.StepFailed)),
			[]string{`step "models" failed`, "and 1 step after it", "configuration wrong models: no: {\"bytes\":1}, 1 http_status 401", "stream not_observed 1 answer, none with output"}},
		{"every request is refused", tape.ReasonProbe, StageConfiguration, StateFailed, join([]tape.Record{connected}, probeAsked(0, "whole", 404, tape.StepFailed), probeAsked(1, "stream", 404, tape.StepFailed)),
			[]string{"2 of 2 requests ended http_status 404", "configuration wrong 2 http_status 404", "request ok 2 requests of the probe went out", "mend it"}},
		{"busy", tape.ReasonProbe, StageRequest, StateFailed, join([]tape.Record{connected}, probeAsked(0, "whole", 200, tape.StepOK), probeAsked(1, "stream", 503, tape.StepFailed)),
			[]string{"1 of 2 requests ended http_status 503", "stream ok 1 of 2 answers ended well"}},
		{"good", tape.ReasonCompleted, "", StateFine, join([]tape.Record{connected}, probeAsked(0, "whole", 200, tape.StepOK), probeAsked(1, "min_tokens", 400, tape.StepOK)),
			[]string{"connect ok connected to 10.0.0.1:80", "request ok 2 requests of the probe went out", "stream ok 1 of 2 answers ended well"}},
		{"stopped", tape.ReasonInterrupted, "", StateStopped, join([]tape.Record{connected}, probeAsked(0, "whole", 200, tape.StepOK)), []string{"the user stopped it after 1 request of the probe"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := probeOf(t, tc.reason, tc.recs...)
			text := []string{got.Line}
			for _, s := range got.Stages {
				text = append(text, s.Name+" "+s.State+" "+s.Text)
			}
			for _, s := range got.Next {
				text = append(text, s.Command+s.Why)
			}
			all := strings.Join(text, "\n")
			if got.Stage != tc.stage || got.State != tc.state || len(got.Stages) != len(Stages()) {
				t.Errorf("%s in %q\n%s", got.State, got.Stage, all)
			}
			for _, want := range tc.says {
				if !strings.Contains(all, want) {
					t.Errorf("no %q in\n%s", want, all)
				}
			}
			if n := len(got.Failures); tc.state == StateFine && n != 0 {
				t.Errorf("a refusal that answers a question is called a failure: %+v", got.Failures)
			}
			for _, s := range got.Steps {
				if s.URL == "" || s.Seen == "" {
					t.Errorf("no bytes: %+v", s)
				}
			}
		})
	}
}

// A run whose whole tape says that it was refused is not called incomplete by the way.
func TestTriageOfARefusedRun(t *testing.T) {
	recs := []tape.Record{&tape.Header{Type: "header", Schema: tape.Schema, Run: "r", Spec: []byte("{}"), Plan: tape.PlanRef{Rows: 3}, Host: tape.Host{CPUs: 8}},
		failedAt(0, tape.OutcomeStatus, "", 404),
		&tape.Footer{Type: "footer", Reason: tape.ReasonRefused, Planned: 3, Failed: map[string]int64{"http_status": 1}, NotIssued: 2}}
	got, err := Why(&records{recs: recs}, Whereabouts{Run: "runs/x"}, Options{NoCI: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range got.Missed {
		if c.Name == "tape_complete" {
			t.Errorf("%+v", c)
		}
	}
	for _, s := range got.Stages {
		if s.Name == StageStream && !strings.Contains(s.Text, "1 answer came") {
			t.Errorf("%+v", s)
		}
	}
	// The same of a probe before a load.
	recs[2] = &tape.Footer{Type: "footer", Reason: tape.ReasonProbe, Planned: 3, Failed: map[string]int64{}, NotIssued: 3, Preparation: 1}
	q := failedAt(0, tape.OutcomeStatus, "", 404)
	q.Seq, q.Phase = tape.ProbeSeq, tape.PhaseProbe
	recs[1] = q
	got, err = Why(&records{recs: recs}, Whereabouts{Run: "runs/x"}, Options{NoCI: true})
	if err != nil || got.Stage != StageConfiguration || !strings.Contains(got.Line, "that stopped the run: probe") {
		t.Errorf("%q %q %v", got.Stage, got.Line, err)
	}
}
