package analysis

import (
	"strings"
	"testing"

	"tokentape/tape"
)

// What a probe saw is held against every ok request of the load; what it did not see
// is held against none.
func TestProbeContradicted(t *testing.T) {
	some := tape.Some[int64]
	strip := func(q *tape.Request) { q.Tokens = tape.Tokens{Output: some(2), OutputSource: tape.SourceEvents} }
	answered := func(model string) func(q *tape.Request) {
		return func(q *tape.Request) { q.Model = tape.Some(model) }
	}
	by := []string{"probe-0"}
	for _, c := range []struct {
		name   string
		caps   *tape.Capabilities
		change func(q *tape.Request)
		stream string
		result string
		why    string
	}{
		{"no probe", nil, nil, "true", ResultNone, "no probe"},
		{"facts of nobody's asking", &tape.Capabilities{Usage: "end"}, strip, "true", ResultNone, "no probe"},
		{"as seen", &tape.Capabilities{By: by, Usage: "end", Model: "m", CachedTokens: "above_zero"}, nil, "true", ResultPass, "3 requests"},
		{"usage gone", &tape.Capabilities{By: by, Usage: "end"}, strip, "true", ResultMiss, "token counts"},
		{"usage never", &tape.Capabilities{By: by, Usage: "never"}, strip, "true", ResultNone, "says anything"},
		{"usage of streams says nothing of whole answers", &tape.Capabilities{By: by, Usage: "end"}, strip, "false", ResultNone, "says anything"},
		{"usage of whole answers gone", &tape.Capabilities{By: by, UsageWhole: tape.Some(true)}, strip, "false", ResultMiss, "token counts"},
		{"zeros left out", &tape.Capabilities{By: by, CachedTokens: "always"}, nil, "true", ResultMiss, "cached tokens reported also when 0"},
		{"zeros there", &tape.Capabilities{By: by, CachedTokens: "always"}, func(q *tape.Request) { q.Tokens.Cached = some(0) }, "true", ResultPass, ""},
		{"another model", &tape.Capabilities{By: by, Model: "m"}, answered("n\x1b[2J"), "true", ResultMiss, `"n?[2J", not "m"`},
		{"the model that was asked for", &tape.Capabilities{By: by, Model: "m"}, answered(""), "true", ResultPass, ""},
		{"of another server", &tape.Capabilities{By: by, Usage: "end", URL: some(1)}, strip, "true", ResultNone, "says anything"},
		{"of another part", &tape.Capabilities{By: by, Usage: "end", Part: some(1)}, strip, "true", ResultNone, "says anything"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &script{reason: tape.ReasonCompleted, spec: `{"workload":{"stream":` + c.stream + `}}`}
			for i := range int64(3) {
				s.reqs = append(s.reqs, ok(i, i*1000*msec, 100*msec, 120*msec))
				if c.change != nil && (i > 0 || c.result != ResultMiss) {
					c.change(s.reqs[i])
				}
			}
			bad := ok(9, 9000*msec, 100*msec) // no answer that ended well
			strip(bad)
			bad.Outcome = tape.OutcomeTruncated
			s.reqs = append(s.reqs, bad)
			if c.caps != nil {
				s.more = []tape.Record{c.caps}
			}
			res := s.analyse(t, Options{})
			k := check(t, res, "probe_contradicted")
			if k.Result != c.result || !strings.Contains(k.Why, c.why) || strings.ContainsAny(k.Why, "\x1b\n") {
				t.Errorf("%+v", k)
			}
			if k.Result == ResultMiss && c.change != nil && (*k.Value != 2 || res.Verdict.Fit) {
				t.Errorf("value %v, fit %t", *k.Value, res.Verdict.Fit)
			}
		})
	}
}

// A tape of a probe alone is judged by its steps, and shows what they proved.
func TestProbeAlone(t *testing.T) {
	header := func() *tape.Header {
		h := (&script{spec: `{}`}).header()
		h.Plan = tape.PlanRef{Kind: "none"}
		return h
	}
	probe := ok(tape.ProbeSeq, 0, 100*msec)
	probe.Phase = tape.PhaseProbe
	steps := func(result string) []tape.Record {
		return []tape.Record{
			&tape.Step{Name: "models", T: tape.Some[int64](5), Took: tape.Some(2 * msec), Result: tape.StepOK, Seen: "m", Status: tape.Some[int64](200)},
			&tape.Step{Name: "whole", T: tape.Some[int64](9), Result: result, Request: tape.Some(tape.ProbeSeq)},
		}
	}
	caps := &tape.Capabilities{
		Usage: "end", Honoured: map[string]bool{"ignore_eos": false}, Inferred: []string{"chat_overhead"}, ChatOverhead: tape.Some[int64](7),
		How: map[string]string{"ignore_eos": "3 of 32 came", "chat_overhead": "three prompts", "speculation": "no counter", "max_tokens": "it ended by itself"}, By: []string{"probe-0"},
	}
	more := &tape.Capabilities{Usage: "every", Speculation: []string{"a.spec_x"}, By: []string{"probe-1"}} // a later line adds
	for _, c := range []struct {
		name, result, reason string
		fit                  bool
		line                 string
	}{
		{"well", tape.StepOK, tape.ReasonCompleted, true, "2 steps, none failed"},
		{"not tried", tape.StepNone, tape.ReasonCompleted, true, "2 steps, none failed"},
		{"failed", tape.StepFailed, tape.ReasonProbe, false, "1 of 2 steps failed: \"whole\""},
		{"cut", tape.StepOK, "", false, "tape incomplete"},
		{"interrupted", tape.StepOK, tape.ReasonInterrupted, false, "tape incomplete"},
	} {
		recs := append([]tape.Record{header(), probe, caps, more}, steps(c.result)...)
		if c.reason != "" {
			recs = append(recs, &tape.Footer{Reason: c.reason, Failed: map[string]int64{}, Preparation: 1})
		}
		res, err := Analyse(&records{recs: recs}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		p := res.Probe
		if res.Verdict.Fit != c.fit || !strings.Contains(res.Verdict.Line, c.line) {
			t.Errorf("%s: %q, fit %t", c.name, res.Verdict.Line, res.Verdict.Fit)
		}
		if !p.Only || p.Requests != 1 || len(p.Steps) != 2 || *p.Steps[0].MS != 2 || p.Steps[1].Request != "probe-0" || p.Steps[1].MS != nil {
			t.Errorf("%s: %+v", c.name, p)
		}
		for name, want := range map[string]Capability{
			"usage":         {"usage", StateObserved, "every", "", ""},
			"ignore_eos":    {"ignore_eos", StateObserved, "not honoured", "3 of 32 came", ""},
			"max_tokens":    {"max_tokens", StateNone, "", "it ended by itself", ""},
			"chat_overhead": {"chat_overhead", StateInferred, "7", "three prompts", ""},
			"speculation":   {"speculation", StateObserved, "a.spec_x", "", ""},
			"role_first":    {"role_first", StateNone, "", "", ""},
		} {
			found := false
			for _, k := range p.Capabilities {
				if k.Name == name {
					if found = true; k != want {
						t.Errorf("%s: %+v, want %+v", c.name, k, want)
					}
				}
			}
			if !found {
				t.Errorf("%s: no %s", c.name, name)
			}
		}
	}
}

// A run of before there were steps has no such section.
func TestNoProbe(t *testing.T) {
	s := &script{reason: tape.ReasonCompleted, spec: `{}`, reqs: []*tape.Request{ok(0, 0, 100*msec)}}
	if res := s.analyse(t, Options{}); res.Probe != nil {
		t.Errorf("%+v", res.Probe)
	}
}
