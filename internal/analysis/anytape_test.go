package analysis

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"tokentape/tape"
)

// anyTime is a stamp that may be absent, sane or absurd.
func anyTime(t *rapid.T, name string) tape.Opt[int64] {
	switch rapid.IntRange(0, 5).Draw(t, name) {
	case 0:
		return tape.Opt[int64]{}
	case 1:
		return tape.Some(rapid.Int64().Draw(t, name+" wild"))
	}
	return tape.Some(rapid.Int64Range(0, 5e9).Draw(t, name+" ns"))
}

func anyRequest(t *rapid.T) *tape.Request {
	q := &tape.Request{
		Seq: rapid.Int64Range(-2, 20).Draw(t, "seq"), Attempts: rapid.IntRange(0, 3).Draw(t, "attempts"),
		Phase:   rapid.SampledFrom([]tape.Phase{tape.PhaseMeasure, tape.PhaseMeasure, tape.PhaseWarmup, tape.PhaseTail, tape.PhaseProbe, ""}).Draw(t, "phase"),
		Outcome: rapid.SampledFrom([]tape.Outcome{tape.OutcomeOK, tape.OutcomeOK, tape.OutcomeReset, tape.OutcomeCancelled, tape.OutcomeAbandoned, "new_class"}).Draw(t, "outcome"),
		TDue:    anyTime(t, "due"), TReady: anyTime(t, "ready"), TReleased: anyTime(t, "released"), TWroteFirst: anyTime(t, "wrote"),
		TFirstToken: anyTime(t, "first"), TFirstVisible: anyTime(t, "visible"), TLastToken: anyTime(t, "last"), TEnd: anyTime(t, "end"),
		Asked: tape.Asked{Output: anyTime(t, "asked")},
		Tokens: tape.Tokens{Input: anyTime(t, "input"), Output: anyTime(t, "output"), Cached: anyTime(t, "cached"),
			OutputSource: rapid.SampledFrom([]string{"", "usage", "events"}).Draw(t, "source")},
		Message: "m",
	}
	for range rapid.IntRange(0, 6).Draw(t, "events") {
		q.Events.DT = append(q.Events.DT, rapid.Int64Range(-10, 1e9).Draw(t, "dt"))
		q.Events.Tok = append(q.Events.Tok, rapid.Int64Range(-1, 9).Draw(t, "tok"))
		q.Events.Choice = append(q.Events.Choice, rapid.Int32().Draw(t, "choice"))
	}
	if rapid.Bool().Draw(t, "one choice") {
		q.Events.Choice = nil
	}
	q.Events.Kind = rapid.SampledFrom([]string{"", "c6", "r c4 f", "s3 c3", "zzz", "c99999999999999999999", "7"}).Draw(t, "kind")
	return q
}

func anyScrape(t *rapid.T) *tape.Scrape {
	s := &tape.Scrape{T: anyTime(t, "t").V, Source: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "page"), OK: rapid.IntRange(0, 4).Draw(t, "ok") > 0,
		Same: anyTime(t, "same"), Nr: rapid.Int64Range(-1, 5).Draw(t, "nr"), Missed: rapid.Int64Range(-5, 5).Draw(t, "missed"), Took: anyTime(t, "took"),
		Series: map[string]float64{}, Types: map[string]string{"c": "counter"}, Gone: []string{"c", "?"}}
	for _, name := range []string{"c", "sglang:num_queue_reqs", "sglang:token_usage", "sglang:num_requests_total", "sglang:generation_tokens_total", "process_start_time_seconds",
		`sglang:time_to_first_token_seconds_bucket{le="0.1"}`, `sglang:time_to_first_token_seconds_bucket{le="+Inf"}`, `sglang:time_to_first_token_seconds_bucket{le="NaN"}`, "sglang:time_to_first_token_seconds_sum", "sglang:time_to_first_token_seconds_count", "{", `x{le="`} {
		if rapid.Bool().Draw(t, name) {
			s.Series[name] = rapid.OneOf(rapid.Float64Range(-5, 100), rapid.SampledFrom([]float64{math.MaxFloat64, -math.MaxFloat64, 0, 1e308})).Draw(t, "value")
		}
	}
	if rapid.Bool().Draw(t, "whole") {
		s.Same = tape.Opt[int64]{}
	}
	return s
}

// Whatever a tape says, analysis neither panics nor writes what a strict parser
// refuses, and counts stay whole.
func TestAnyTape(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := &script{
			spec: fmt.Sprintf(`{"load":{"requests":5,"concurrency":%d,"rate":%g,"ramp":{"shape":"linear","duration":%d}},"devices":{"total":2},"report":{"slo":{"itl_ms":5}}}`,
				rapid.Int64Range(-1, 3).Draw(rt, "C"), rapid.Float64Range(0, 9).Draw(rt, "rate"), rapid.SampledFrom([]int64{0, 5, math.MaxInt64}).Draw(rt, "ramp")),
			reason: rapid.SampledFrom([]string{"", tape.ReasonCompleted, "?"}).Draw(rt, "reason"),
		}
		for range rapid.IntRange(0, 60).Draw(rt, "requests") {
			s.reqs = append(s.reqs, anyRequest(rt))
		}
		for range rapid.IntRange(0, 12).Draw(rt, "scrapes") {
			s.more = append(s.more, anyScrape(rt))
		}
		res := s.analyse(t, Options{})
		encode(t, res)
		if c := res.Counts; c.Issued != c.OK+c.Failed+c.Cancelled+c.Abandoned || res.Rows.Len() != len(s.reqs) {
			rt.Fatalf("%+v", c)
		}
	})
}
