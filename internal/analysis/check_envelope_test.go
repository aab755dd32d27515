package analysis

import (
	"strings"
	"testing"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

// stamped makes a tape of a version that asks the kernel for stamps.
func stamped(s *script) {
	s.spec = strings.TrimSuffix(strings.TrimSpace(s.spec), "}") + `,"telemetry":{"interval":"1s","kernel_stamps":"sample"}}`
}

func waited(ns ...int64) *tape.ClientSample {
	w := &tape.ClientWait{}
	for _, v := range ns {
		w.Reads = append(w.Reads, [2]int64{int64(tape.WaitBucket(v)), 1})
		w.Max = max(w.Max, v)
	}
	return &tape.ClientSample{T: 1e9, Wait: w}
}

func many(n int, ns int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = ns
	}
	return out
}

func TestClientWaitIsEvidence(t *testing.T) {
	for name, tc := range map[string]struct {
		samples []tape.Record
		result  string
		why     string
	}{
		"short waits":         {[]tape.Record{waited(many(200, 100_000)...)}, ResultPass, "client wait p99 0.1 ms (limit 2 ms)"},
		"long ones":           {[]tape.Record{waited(append(many(200, 100_000), many(10, 8*msec)...)...)}, ResultMiss, "client wait p99 8 ms (limit 2 ms)"},
		"one long one of 200": {[]tape.Record{waited(append(many(200, 100_000), 90*msec)...)}, ResultPass, "client wait p99 0.115 ms"},
		"too few reads":       {[]tape.Record{waited(many(99, 8*msec)...)}, ResultPass, ""},
		"over two samples":    {[]tape.Record{waited(many(60, 8*msec)...), waited(many(60, 8*msec)...)}, ResultMiss, "client wait"},
		"nonsense is left out": {[]tape.Record{&tape.ClientSample{T: 1, Wait: &tape.ClientWait{Max: -1,
			Reads: [][2]int64{{-1, 500}, {tape.WaitBuckets, 500}, {50, -7}}}}}, ResultPass, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := rich()
			s.more = tc.samples
			res := s.analyse(t, Options{})
			c := check(t, res, "client_bound")
			if c.Result != tc.result || !strings.Contains(c.Why, tc.why) || tc.why == "" && strings.Contains(c.Why, "client wait") {
				t.Errorf("%+v", c)
			}
		})
	}
	s := rich()
	s.more = []tape.Record{waited(many(200, 8*msec)...)}
	s.more[0].(*tape.ClientSample).RunDelay = tape.Some(int64(15e8))
	res := s.analyse(t, Options{})
	l := res.Load
	if l.ClientWaitReads == nil || *l.ClientWaitReads != 200 || *l.ClientWaitMaxMS != 8 || *l.ClientWaitP99MS != 8 || *l.ClientWaitP50MS != 8 || *l.RunDelay != 1.5 {
		t.Errorf("%+v", l)
	}
	if c := check(t, res, "client_bound"); !strings.Contains(c.Why, "1.5 of its threads, in the mean, were ready and had no processor") {
		t.Error(c.Why)
	}
}

func TestClientEnvelope(t *testing.T) {
	env := func(p ...tape.EnvelopePoint) *tape.Envelope {
		return &tape.Envelope{Measured: "2026-11-29T10:00:00Z", Limit: msec, Points: p}
	}
	for name, tc := range map[string]struct {
		envelope *tape.Envelope
		result   string
		why      string
	}{
		"not known":        {nil, ResultNone, "tokentape doctor measures it"},
		"within":           {env(tape.EnvelopePoint{Streams: 4096, Events: 80_000, Held: true}), ResultPass, "doctor saw this host carry 80,000/s with as many, on 2026-11-29"},
		"too many streams": {env(tape.EnvelopePoint{Streams: 1, Events: 80_000, Held: true}), ResultMiss, "doctor saw this host carry 1 stream, on"},
		"too many events":  {env(tape.EnvelopePoint{Streams: 4096, Events: 1, Held: true}), ResultMiss, "carry 1/s with as many"},
		"nothing held":     {env(tape.EnvelopePoint{Streams: 4096, Events: 80_000}), ResultMiss, "hold no load at all"},
	} {
		t.Run(name, func(t *testing.T) {
			s := rich()
			stamped(s)
			s.envelope = tc.envelope
			res := s.analyse(t, Options{})
			c := check(t, res, "client_envelope")
			if c.Result != tc.result || !strings.Contains(c.Why, tc.why) {
				t.Errorf("%+v", c)
			}
			if c.Severity != SeverityNote {
				t.Error("an envelope alone decides no verdict")
			}
		})
	}
	for _, c := range rich().analyse(t, Options{}).Verdict.Checks {
		if c.Name == "client_envelope" {
			t.Error("an older tape has a check that its version did not know")
		}
	}
}

// Two streams of 10 events: one within a second, one over four.
func TestFastest(t *testing.T) {
	s := &run{}
	if s.fastest() != 0 {
		t.Error("nothing was streamed")
	}
	s.reqs = append(s.reqs, req(100*msec, 900*msec, 10), req(500*msec, 4500*msec, 40), req(-5, 10, 9), req(1, 1<<62, 9))
	if got := s.fastest(); got != 15 {
		t.Errorf("%g, want 10 + 5", got)
	}
	s.reqs = s.reqs[1:2]
	if got := s.fastest(); got != 10 {
		t.Errorf("%g, want the 10 of each whole second", got)
	}
}

func req(first, last, events int64) metric.Request {
	return metric.Request{Streamed: true, FirstToken: first, LastToken: last, TokenEvents: events}
}
