package analysis

import (
	"slices"
	"testing"

	"tokentape/tape"
)

// Counts that cannot be true enter no number: no ratio above 1, no speed below 0,
// and no count of events in the place of an output of 0.
func TestImpossibleCountsEnterNoNumber(t *testing.T) {
	s := steadyRun(4)
	for _, q := range s.reqs[1:] {
		q.Tokens.Cached = tape.Some[int64](50)
	}
	s.reqs[0].Tokens.Cached = tape.Some[int64](100_000)
	s.reqs[1].Tokens.Output = tape.Some[int64](0)
	s.reqs[2].Tokens.Reasoning = tape.Some[int64](999)
	res := s.analyse(t, Options{})
	w := windowOf(t, res, "whole")
	want(t, "cached ratio", w.Facts.CachedRatio, 3, "0.500")
	if *w.Facts.CachedN != 3 || *w.Facts.CachedInferN != 0 {
		t.Errorf("cached ratio of %d observed + %d inferred, want 3 + 0", *w.Facts.CachedN, *w.Facts.CachedInferN)
	}
	for name, n := range map[string]int64{"cached_tokens": 3, "prefill_uncached_tokens_per_s": 3, "output_tokens": 3, "tpot_ms": 3, "decode_tokens_per_s": 3, "input_tokens": 4, "ttft_ms": 4} {
		if got := w.Metrics[name]; got.N != n || *got.Min < 0 {
			t.Errorf("%s: n %d, min %v; want n %d and nothing below 0", name, got.N, *got.Min, n)
		}
	}
	for i, row := range res.Rows.All() {
		if flagged := slices.Contains(row.Flags, "usage_contradicted"); flagged != (i < 3) {
			t.Errorf("row %d flagged %v: %v", i, flagged, row.Flags)
		}
	}
	if a, b, c := res.Rows.At(0), res.Rows.At(1), res.Rows.At(2); a.Cached != nil || b.Output != nil || c.Reasoning != nil || *a.Input != 100 {
		t.Errorf("cached %v, output %v, reasoning %v: want none of them", a.Cached, b.Output, c.Reasoning)
	}
	if res.Verdict.Fit {
		t.Error("fit for use")
	}
	// The tape stays as it was.
	if s.reqs[0].Tokens.Cached.V != 100_000 || len(s.reqs[0].Flags) != 0 {
		t.Error("the tape's record was changed")
	}
	if c := check(t, res, "cache_state"); c.Result != ResultPass {
		t.Errorf("cache_state %s: %s", c.Result, c.Why)
	}
}

// A server all of whose cached counts are impossible has proved nothing.
func TestOnlyImpossibleCachedCounts(t *testing.T) {
	s := steadyRun(3)
	s.reqs[0].Tokens.Cached = tape.Some[int64](101)
	res := s.analyse(t, Options{})
	want(t, "cached ratio", windowOf(t, res, "whole").Facts.CachedRatio, 3, "null")
	if c := check(t, res, "cache_state"); c.Result != ResultNone || c.Why != "every cached count that the server reported is impossible: see usage_contradicted" {
		t.Errorf("%s: %s", c.Result, c.Why)
	}
}

// A running count above the final output cannot make a ratio below 0.
func TestFirstEventAboveOutput(t *testing.T) {
	s := steadyRun(1)
	q := s.reqs[0]
	q.Tokens.Output = tape.Some[int64](3)
	q.Events.Tok = make([]int64, len(q.Events.DT))
	for i := range q.Events.Tok {
		q.Events.Tok[i] = 9
	}
	w := windowOf(t, s.analyse(t, Options{}), "whole")
	for _, name := range []string{"tokens_per_event", "tpot_ms", "decode_tokens_per_s"} {
		if w.Metrics[name].N != 0 {
			t.Errorf("%s is %v", name, *w.Metrics[name].Mean)
		}
	}
}

// Acceptance length and rate are sums over sums, each over the requests that have
// both of its counts; neither is made of the other.
func TestSpeculation(t *testing.T) {
	some := tape.Some[int64]
	s := steadyRun(4) // 20 output tokens each
	facts := func() WindowFacts { return windowOf(t, s.analyse(t, Options{}), "whole").Facts }
	if f := facts(); f.AcceptLength != nil || f.AcceptRate != nil || f.AcceptLenN != nil || f.AcceptRateN != nil {
		t.Errorf("%+v where the server says nothing of drafts", f)
	}
	s.reqs[0].Tokens.Verify = some(5)
	s.reqs[1].Tokens.Verify = some(20)
	s.reqs[2].Tokens.Verify, s.reqs[2].Tokens.Output = some(1), tape.Opt[int64]{}
	f := facts()
	want(t, "acceptance length", f.AcceptLength, 3, "1.600") // 40 ÷ 25; the mean of ratios would be 2.5
	if *f.AcceptLenN != 2 || f.AcceptRate != nil {
		t.Errorf("length over %d requests, rate %v; want 2 and none", *f.AcceptLenN, f.AcceptRate)
	}
	s.reqs[0].Tokens.Accepted, s.reqs[0].Tokens.Rejected = some(15), some(5)
	s.reqs[1].Tokens.Accepted, s.reqs[1].Tokens.Rejected = some(0), some(80)
	s.reqs[3].Tokens.Accepted = some(1000)
	f = facts()
	want(t, "acceptance rate", f.AcceptRate, 3, "0.150")
	if *f.AcceptRateN != 2 {
		t.Errorf("rate over %d requests, want 2", *f.AcceptRateN)
	}
	// No step, no draft: nothing to divide by. A count below 0 is not known.
	for _, q := range s.reqs {
		q.Tokens.Verify, q.Tokens.Accepted, q.Tokens.Rejected = some(0), some(0), some(0)
	}
	s.reqs[3].Tokens.Accepted, s.reqs[3].Tokens.Rejected = some(7), some(-1)
	if f := facts(); f.AcceptLength != nil || f.AcceptRate != nil {
		t.Errorf("length %v, rate %v of nothing", f.AcceptLength, f.AcceptRate)
	}
}
