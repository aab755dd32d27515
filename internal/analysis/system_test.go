package analysis

import (
	"testing"

	"tokentape/tape"
)

// Steady rates count token events in (from, to] of ok requests of every phase;
// the divisor of per-device rates is in their names.
func TestSteadyRates(t *testing.T) {
	// 8 rounds of 4 requests of 2 s with 10 tokens, every 0.2 s; the first round is
	// warm-up, whose last release is 0. Window (2, 14]: 20 tokens/s, 2 requests/s.
	s := &script{reason: tape.ReasonCompleted, plan: 32, spec: `{"load":{"requests":28,"concurrency":4,"warmup":4},"devices":{"total":16}}`}
	for i := range int64(32) {
		q := ok(i, i/4*2000*msec, every(10, 200*msec, 200*msec)...)
		if i < 4 {
			q.Phase = tape.PhaseWarmup
		}
		s.reqs = append(s.reqs, q)
	}
	w := windowOf(t, s.analyse(t, Options{}), "steady")
	want(t, "from", w.From, 6, "2.000000")
	want(t, "to", w.To, 6, "14.000000")
	if w.Held() != 24 {
		t.Errorf("%d requests in the cohort, want those of [2, 12]: 24", w.Held())
	}
	want(t, "output tokens/s", w.System.OutputTokensPerS, 6, "20.000000")
	want(t, "requests/s", w.System.RequestsPerS, 6, "2.000000")
	want(t, "input tokens/s", w.System.InputTokensPerS, 6, "200.000000")
	want(t, "total tokens/s", w.System.TotalTokensPerS, 6, "220.000000")
	want(t, "in flight", w.System.ConcurrencyMean, 6, "4.000000")
	want(t, "in flight sd", w.Facts.InFlightSD, 6, "0.000000")
	want(t, "service times", w.Facts.ServiceTimes, 6, "6.000000")
	want(t, "output tokens/s a device", w.System.PerDevices["output_tokens_per_s_per_16_devices"], 6, "1.250000")
	want(t, "requests/s a device", w.System.PerDevices["requests_per_s_per_16_devices"], 6, "0.125000")
	want(t, "total tokens/s a device", w.System.PerDevices["total_tokens_per_s_per_16_devices"], 6, "13.750000")
}

// Goodput: a failure is never good, an absent value breaks no limit.
func TestGoodput(t *testing.T) {
	s := &script{reason: tape.ReasonCompleted, spec: `{"report":{"slo":{"ttft_ms":100,"itl_ms":20}}}`, reqs: []*tape.Request{
		ok(0, 0, every(5, 100*msec, 20*msec)...),                                    // good, on both limits
		ok(1, 1000*msec, every(5, 101*msec, 20*msec)...),                            // TTFT
		ok(2, 2000*msec, 50*msec, 70*msec, 91*msec),                                 // one gap of 21 ms
		ok(3, 3000*msec, 50*msec),                                                   // one token: no ITL
		failed(4, 3900*msec, 100*msec, tape.OutcomeServer, "an error inside a 200"), // ends at 4 s
	}}
	_, w := whole(t, s)
	want(t, "share", w.Facts.GoodShare, 6, "0.400000")
	want(t, "per second", w.Facts.GoodPerS, 6, "0.500000")
	want(t, "tokens", w.Facts.GoodTokensPerS, 6, "1.500000") // 5 and 1 in 4 s
	g := w.Facts.Goodput
	if g.Judged != 5 || g.Good != 2 || len(g.Limits) != 2 || g.Limits[0] != (GoodLimit{"ttft_ms", 100, 3, g.Limits[0].Share, 0}) || g.Limits[1] != (GoodLimit{"itl_ms", 20, 3, g.Limits[1].Share, 1}) {
		t.Errorf("%+v", g)
	}
	want(t, "within the TTFT", g.Limits[0].Share, 3, "0.600")
}

// Cached ratio: Σ cached ÷ Σ input where both are known, with both n.
func TestCachedRatio(t *testing.T) {
	s := &script{reason: tape.ReasonCompleted, spec: `{}`}
	for i := range int64(4) {
		s.reqs = append(s.reqs, ok(i, i*1000*msec, 100*msec))
	}
	_, w := whole(t, s)
	if w.Facts.CachedRatio != nil || w.Metrics["cached_tokens"] != nil {
		t.Errorf("never reported, yet %v", w.Facts.CachedRatio)
	}
	s.reqs[0].Tokens.Cached = tape.Some[int64](60)
	s.reqs[3].Tokens.Input = tape.Opt[int64]{}
	_, w = whole(t, s)
	want(t, "ratio", w.Facts.CachedRatio, 6, "0.200000")
	if *w.Facts.CachedN != 1 || *w.Facts.CachedInferN != 2 || w.Metrics["cached_tokens"].N != 3 {
		t.Errorf("observed %d, inferred %d", *w.Facts.CachedN, *w.Facts.CachedInferN)
	}
	// A probe that asked proves it as well.
	s.reqs[0].Tokens.Cached = tape.Opt[int64]{}
	s.more = []tape.Record{&tape.Capabilities{CachedTokens: "above_zero"}}
	_, w = whole(t, s)
	want(t, "ratio", w.Facts.CachedRatio, 6, "0.000000")
}

// An answer in one piece shows its first token at its end; from due counts the
// wait for a slot; what was never issued is not judged.
func TestGoodputOfPiecesAndWaits(t *testing.T) {
	s := &script{reason: tape.ReasonCompleted, cut: 3, spec: `{"load":{"rate":1},"report":{"slo":{"ttft_ms":100,"e2e_from_due_ms":500}}}`}
	piece := ok(0, 0, 80*msec, 120*msec)
	piece.Flags = []string{"not_streamed"}
	piece.TDue = tape.Some[int64](0)
	late := ok(1, 1400*msec, 50*msec, 120*msec) // 520 ms after due
	late.TDue = tape.Some(1000 * msec)
	good := ok(2, 2000*msec, 50*msec, 120*msec)
	good.TDue = tape.Some(2000 * msec)
	s.reqs = []*tape.Request{piece, late, good}
	_, w := whole(t, s)
	g := w.Facts.Goodput
	if g.Judged != 3 || g.Good != 1 || g.Limits[0].Met != 2 || g.Limits[1].Met != 2 {
		t.Errorf("%+v", g)
	}
}
