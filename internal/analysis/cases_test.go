package analysis

import (
	"strings"
	"testing"

	"tokentape/tape"
)

func whole(t *testing.T, s *script) (*Results, *Window) {
	t.Helper()
	res := s.analyse(t, Options{Windows: []string{"whole"}})
	return res, windowOf(t, res, "whole")
}

// B01: a response of one token has TTFT and E2E and no TPOT; one of none has
// nothing.
func TestOneTokenHasNoTPOT(t *testing.T) {
	s := &script{reason: tape.ReasonCompleted, spec: `{}`}
	s.reqs = append(s.reqs,
		ok(0, 0, every(1, 100*msec, 20*msec)...),
		ok(1, 0, every(2, 100*msec, 20*msec)...),
		ok(2, 0, every(11, 100*msec, 20*msec)...),
		ok(3, 0))
	res, w := whole(t, s)
	for _, c := range []struct {
		key       string
		n         int64
		min, max  string
		rowOfOne  *float64
		rowString string
	}{
		{"tpot_ms", 2, "20", "20", res.Rows.At(0).TPOTMS, "null"},
		{"itl_ms", 11, "20", "20", res.Rows.At(0).ITLMeanMS, "null"},
		{"ttft_ms", 3, "100", "100", res.Rows.At(0).TTFTMS, "100"},
		{"e2e_ms", 3, "100", "300", res.Rows.At(0).E2EMS, "100"},
	} {
		m := w.Metrics[c.key]
		if m.N != c.n {
			t.Errorf("%s: n = %d, want %d", c.key, m.N, c.n)
		}
		want(t, c.key+" min", m.Min, 0, c.min)
		want(t, c.key+" max", m.Max, 0, c.max)
		want(t, c.key+" of one token", c.rowOfOne, 0, c.rowString)
	}
	none := res.Rows.At(3)
	if none.TTFTMS != nil || none.TPOTMS != nil || none.E2EMS != nil || none.ITLMaxMS != nil {
		t.Errorf("a response without tokens has values: %+v", none)
	}
}

// b03 is the stream of B03: role @0, tokens @100 @140 @200 @210, finish @215,
// usage and [DONE] @330.
func b03() *tape.Request {
	q := ok(0, 0, 100*msec, 140*msec, 200*msec, 210*msec)
	q.Events.DT = []int64{0, 100 * msec, 40 * msec, 60 * msec, 10 * msec, 5 * msec, 115 * msec, 0}
	q.Events.Kind = "r c4 f u d"
	q.TFirstEvent, q.TEnd = tape.Some[int64](0), tape.Some(330*msec)
	q.Tokens.Input = tape.Some[int64](8)
	return q
}

// B03: the stamps of one request, and every number of it by hand: TTFT 100, ITL 40,
// 60, 10 and never TTFT among them, E2E 210 to the last token and not to the usage
// chunk at 330, TPOT 110 ÷ 3.
func TestPerRequestArithmetic(t *testing.T) {
	_, w := whole(t, &script{reason: tape.ReasonCompleted, spec: `{}`, reqs: []*tape.Request{b03()}})
	for _, c := range []struct{ key, want string }{
		{"ttft_ms", "100.000000"}, {"ttfo_ms", ""}, {"e2e_ms", "210.000000"}, {"stream_end_ms", "330.000000"},
		{"tpot_ms", "36.666667"}, {"itl_ms", "36.666667"}, {"output_tokens", "4.000000"}, {"tokens_per_event", "1.000000"},
		{"decode_tokens_per_s", "27.272727"}, {"output_tokens_per_s", "19.047619"}, {"prefill_tokens_per_s", "80.000000"},
		{"ttft_from_due_ms", ""}, {"slot_wait_ms", ""}, {"pacer_lag_ms", "0.000000"},
	} {
		m := w.Metrics[c.key]
		if c.want == "" {
			if m != nil {
				t.Errorf("%s is in the table", c.key)
			}
			continue
		}
		want(t, c.key, m.Mean, 6, c.want)
	}
	itl := w.Metrics["itl_ms"]
	if itl.N != 3 || *itl.Min != 10 || *itl.P50 != 40 || *itl.Max != 60 {
		t.Errorf("ITL = %+v, want 40, 60, 10", itl)
	}
}

// b04 is one slot, 10 requests a second, 100 requests of 10 ms; request 10 takes
// 2 s. With cap false there is no cap.
func b04(capped bool) *script {
	s := &script{reason: tape.ReasonCompleted, plan: 100, spec: `{"load":{"requests":100,"concurrency":1,"rate":10}}`}
	if !capped {
		s.spec = `{"load":{"requests":100,"rate":10}}`
	}
	free := int64(0)
	for i := range int64(100) {
		due := i * 100 * msec
		d := 10 * msec
		if i == 10 {
			d = 2000 * msec
		}
		at := due
		if capped {
			at = max(due, free)
		}
		q := ok(i, at, d)
		q.TDue = tape.Some(due)
		s.reqs = append(s.reqs, q)
		free = at + d
	}
	return s
}

func TestCoordinatedOmission(t *testing.T) {
	res, w := whole(t, b04(true))
	due, sent := w.Metrics["e2e_from_due_ms"], w.Metrics["e2e_ms"]
	want(t, "from due: mean", due.Mean, 1, "240.0") // 0.240 s
	want(t, "from due: p50", due.P50, 6, "10.000000")
	want(t, "from due: p90", due.P90, 6, "1109.000000")
	want(t, "from due: p99", due.P99, 6, "1910.900000")
	want(t, "from release: mean", sent.Mean, 1, "29.9")
	want(t, "from release: p90", sent.P90, 6, "10.000000")
	if *res.Load.Late != 22 {
		t.Errorf("late = %d, want 22", *res.Load.Late)
	}
	want(t, "max send lag", res.Load.SendLagMaxMS, 6, "1900.000000")
	want(t, "max slot wait", res.Load.SlotWaitMaxMS, 6, "1900.000000")
	want(t, "max pacer lag", res.Load.PacerLagMaxMS, 6, "0.000000")
	want(t, "planned rate", res.Load.RatePlanned, 6, "10.000000")
	for name, result := range map[string]string{"client_bound": ResultPass, "offered_rate": ResultPass, "slot_wait": ResultMiss} {
		if c := check(t, res, name); c.Result != result {
			t.Errorf("%s: %s (%s), want %s", name, c.Result, c.Why, result)
		}
	}
	if !res.Verdict.Fit {
		t.Errorf("not fit: %s", res.Verdict.Line)
	}

	res, _ = whole(t, b04(false))
	if *res.Load.Late != 0 || *res.Load.SlotWaitShare != 0 {
		t.Errorf("without a cap: late %d, slot wait share %v", *res.Load.Late, *res.Load.SlotWaitShare)
	}
}

// B06: 7 good requests of 10 tokens, 3 answer 500 after 5 ms.
func TestFailuresStayOutOfLatency(t *testing.T) {
	s := &script{reason: tape.ReasonCompleted, spec: `{"load":{"concurrency":1}}`}
	for i := range int64(10) {
		if i%3 == 1 {
			s.reqs = append(s.reqs, failed(i, i*1000*msec, 5*msec, tape.OutcomeStatus, "500: boom"))
			continue
		}
		s.reqs = append(s.reqs, ok(i, i*1000*msec, every(10, 100*msec, 10*msec)...))
	}
	res, w := whole(t, s)
	c := res.Counts
	if c.OK != 7 || c.Failed != 3 || c.ByClass["http_status"] != 3 || c.Examples["http_status"] != "500: boom" {
		t.Errorf("counts = %+v", c)
	}
	if c.Planned != c.OK+c.Failed+c.Cancelled+c.Abandoned+c.NotIssued {
		t.Errorf("counts do not add up: %+v", c)
	}
	if n := w.Metrics["e2e_ms"].N; n != 7 || w.Held() != 7 {
		t.Errorf("latency n = %d, want 7", n)
	}
	want(t, "tokens", ref(*w.System.OutputTokensPerS**w.System.DurationS), 6, "70.000000")
	f := check(t, res, "failures")
	want(t, "failed share", f.Value, 2, "0.30")
	if f.Result != ResultMiss || res.Verdict.Fit || !strings.HasPrefix(res.Verdict.Line, "NOT fit for use: too many failures") {
		t.Errorf("%+v %s", f, res.Verdict.Line)
	}
	if !strings.Contains(w.LeftOut, "3 not ok") {
		t.Errorf("left out = %q", w.LeftOut)
	}
	s.spec = `{"load":{"concurrency":1},"limits":{"failed_share":0.3}}`
	if res := s.analyse(t, Options{}); !res.Verdict.Fit {
		t.Errorf("failures within the limit: %s", res.Verdict.Line)
	}
}

// b10: 8 at a time, 16 requests at 100 tokens/s: the first has 2,000 tokens, the
// others 100.
func b10() *script {
	s := &script{reason: tape.ReasonCompleted, spec: `{"load":{"requests":16,"concurrency":8}}`}
	for i := range int64(16) {
		at, n := int64(0), 100
		switch {
		case i == 0:
			n = 2000
		case i == 15:
			at = 2000 * msec
		case i >= 8:
			at = 1000 * msec
		}
		s.reqs = append(s.reqs, ok(i, at, every(n, 10*msec, 10*msec)...))
	}
	return s
}

// B10: concurrency 8, 15 requests of 100 tokens and one of 2,000: 175 tokens/s over the
// whole run, 800 over the two seconds at full load.
func TestRampAndDrain(t *testing.T) {
	res, w := whole(t, b10())
	want(t, "duration", w.System.DurationS, 6, "20.000000")
	want(t, "whole tokens/s", w.System.OutputTokensPerS, 6, "175.000000")
	if *w.System.ConcurrencyPeak != 8 || *res.Load.ConcurrencyPeak != 8 {
		t.Errorf("peak = %d, %d, want 8", *w.System.ConcurrencyPeak, *res.Load.ConcurrencyPeak)
	}
	r, err := collect(&records{recs: b10().records()}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f := r.byEvents(0, 2000*msec); f.output != 1600 || f.requests != 14 {
		t.Errorf("(0, 2 s]: %v tokens, %v requests; want 1600, 14", f.output, f.requests)
	}
	if m, sd, _, _ := r.flight.Over(0, 2000*msec); m != 8 || sd != 0 {
		t.Errorf("in flight = %v ± %v, want 8", m, sd)
	}
}

// Streams that the load closes in the middle are counted apart: neither ok nor
// failed, their tokens in a total of their own, not judged by an SLO.
func TestAbandonedStayOut(t *testing.T) {
	s := &script{reason: tape.ReasonCompleted, spec: `{"load":{"concurrency":1},"report":{"slo":{"e2e_ms":500}}}`}
	for i := range int64(10) {
		q := ok(i, i*1000*msec, every(10, 100*msec, 10*msec)...)
		if i%5 == 1 {
			q = ok(i, i*1000*msec, every(3, 900*msec, 10*msec)...)
			q.Outcome, q.Cause, q.Finish = tape.OutcomeAbandoned, "after_tokens", ""
			q.Message = "load.abandon: closed after 3 token events"
		}
		s.reqs = append(s.reqs, q)
	}
	s.reqs[0].Attempts, s.reqs[0].AttemptLog = 3, []tape.Attempt{{Wait: 1000 * msec}, {Wait: 500 * msec}}
	res, w := whole(t, s)
	c := res.Counts
	if c.OK != 8 || c.Abandoned != 2 || c.Failed != 0 || c.Cancelled != 0 || c.AbandonedOutputTokens != 6 || c.LostOutputTokens != 0 || len(c.Examples) != 0 {
		t.Errorf("counts = %+v", c)
	}
	if n := w.Metrics["ttft_ms"]; n.N != 8 || *n.Max != 100 {
		t.Errorf("TTFT of %d, at most %v", n.N, *n.Max)
	}
	want(t, "tokens", ref(*w.System.OutputTokensPerS**w.System.DurationS), 6, "80.000000")
	want(t, "good share", w.Facts.GoodShare, 3, "1.000")
	for name, result := range map[string]string{"failures": ResultPass, "counts_add_up": ResultPass, "attempts": ResultMiss} {
		if k := check(t, res, name); k.Result != result {
			t.Errorf("%s: %+v", name, k)
		}
	}
	if c.Retried != 1 || c.RetryWaitS != 1.5 || *res.Rows.At(0).RetryWaitMS != 1500 || res.Rows.At(1).RetryWaitMS != nil {
		t.Errorf("%d retried, waited %v", c.Retried, c.RetryWaitS)
	}
}

// B22: 10 requests planned at 0..9 s, the first sent at 3 s, 0.5 s and 10 tokens
// each; the last stream goes on for 0.4 s after its last token; request 5 is
// cancelled before its first token.
func b22() *script {
	s := &script{reason: tape.ReasonCompleted, plan: 10, spec: `{"load":{"requests":10,"rate":1}}`}
	for i := range int64(10) {
		at := max(3000, i*1000) * msec
		q := ok(i, at, every(10, 50*msec, 50*msec)...)
		if i == 5 {
			q = failed(i, at, 10*msec, tape.OutcomeCancelled, "cancelled by the user")
		}
		if i == 9 {
			q.Events.DT[len(q.Events.DT)-2] += 400 * msec
			q.TEnd = tape.Some(q.TEnd.V + 400*msec)
		}
		q.TDue, q.TReady = tape.Some(i*1000*msec), tape.Some(i*1000*msec)
		s.reqs = append(s.reqs, q)
	}
	return s
}

// B22: the window goes from the first send to the last end of a stream, 6.9 s of 90 tokens;
// to the last token it is 6.5 s. What came before it is in neither, and 3 s of lag are flagged.
func TestWholeWindow(t *testing.T) {
	res, w := whole(t, b22())
	want(t, "from", w.From, 6, "3.000000")
	want(t, "to", w.To, 6, "9.900000")
	want(t, "duration", w.System.DurationS, 6, "6.900000")
	want(t, "to the last token", w.Facts.ToLastTokenS, 6, "6.500000")
	want(t, "tokens", ref(*w.System.OutputTokensPerS**w.System.DurationS), 6, "90.000000")
	if c := res.Counts; c.OK != 9 || c.Cancelled != 1 || c.Failed != 0 || c.Planned != 10 {
		t.Errorf("counts = %+v", c)
	}
	want(t, "last end from the plan", ref(*res.Rows.At(9).EndS-*res.Rows.At(0).DueS), 6, "9.900000")
	c := check(t, res, "client_bound")
	if c.Result != ResultMiss || *c.Limit != 100 || res.Verdict.Fit {
		t.Errorf("a lag of 3 s is not flagged: %+v", c)
	}
	want(t, "max send lag", res.Load.SendLagMaxMS, 6, "3000.000000")
}

func TestWindowWithoutLength(t *testing.T) {
	_, w := whole(t, &script{reason: tape.ReasonCompleted, spec: `{}`, reqs: []*tape.Request{ok(0, 5*msec, 0)}})
	if s := w.System; s.RequestsPerS != nil || s.OutputTokensPerS != nil || s.TotalTokensPerS != nil || s.ConcurrencyMean != nil || *s.DurationS != 0 {
		t.Errorf("an instant run has rates: %+v", s)
	}
	if *w.System.ConcurrencyPeak != 1 {
		t.Errorf("peak = %d", *w.System.ConcurrencyPeak)
	}
	if m := w.Metrics["output_tokens_per_s"]; m.N != 0 || m.Mean != nil {
		t.Errorf("an instant request has a speed: %+v", m)
	}
}

// B11: durations come from monotonic stamps; the wall clock is only repeated.
func TestWallClockDoesNotMatter(t *testing.T) {
	s := b04(true)
	a := s.records()
	b := s.records()
	b[0].(*tape.Header).Anchor.Wall = "2026-11-30T03:59:55Z"
	x, err := Analyse(&records{recs: a}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	y, err := Analyse(&records{recs: b}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	y.About.Started = x.About.Started
	for i := range y.Windows {
		y.Windows[i].FromWall, y.Windows[i].ToWall = x.Windows[i].FromWall, x.Windows[i].ToWall
	}
	if string(encode(t, x)) != string(encode(t, y)) {
		t.Error("the wall clock changed the numbers")
	}
}

// D04: no success at all: rates are 0, statistics absent, and the document is strict JSON.
func TestNoSuccess(t *testing.T) {
	s := &script{reason: tape.ReasonCompleted, spec: `{"load":{"concurrency":2},"devices":{"total":16},"report":{"slo":{"ttft_ms":1}}}`}
	for i := range int64(5) {
		s.reqs = append(s.reqs, failed(i, i*msec, msec, tape.OutcomeConnect, "connection refused"))
	}
	res := s.analyse(t, Options{})
	encode(t, res)
	w := windowOf(t, res, "whole")
	want(t, "requests/s", w.System.RequestsPerS, 1, "0.0")
	want(t, "tokens/s", w.System.OutputTokensPerS, 1, "0.0")
	for key, m := range w.Metrics {
		if m.N != 0 || m.Mean != nil || m.P50 != nil || m.Min != nil || m.SD != nil || m.P999 != nil || m.NEff != nil {
			t.Errorf("%s has values without samples: %+v", key, m)
		}
	}
	for _, kind := range []string{"stable", "steady"} {
		if w := windowOf(t, res, kind); w.From != nil || w.Why == "" || len(w.Metrics) != 0 {
			t.Errorf("%s: %+v", kind, w)
		}
	}
	if res.Counts.OK != 0 || res.Counts.Failed != 5 {
		t.Errorf("counts: %+v", res.Counts)
	}
}

// D09: the server silently keeps fewer tokens than were sent. The request is ok, a
// note has both numbers and is a failure when strict, and prefill speed is of what
// the server read.
func TestD09FewerTokensThanSent(t *testing.T) {
	for _, strict := range []string{"", `,"report":{"strict":["input_off_plan"]}`} {
		s := steadyRun(900)
		s.spec = strings.TrimSuffix(s.spec, "}") + strict + "}"
		for _, q := range s.reqs {
			q.Asked.Input, q.Tokens.Input, q.Tokens.InputSource = tape.Some[int64](16395), tape.Some[int64](4096), tape.SourceUsage
		}
		res, w := whole(t, s)
		if row := res.Rows.At(0); row.Outcome != "ok" || *row.Input != 4096 || *row.AskedInput != 16395 {
			t.Errorf("%+v", row)
		}
		m := w.Metrics["prefill_tokens_per_s"]
		want(t, "prefill", m.Min, 0, "81920") // 4096 in 50 ms
		if m.Source != "stamps, "+tape.SourceUsage {
			t.Errorf("prefill is counted by %q", m.Source)
		}
		if res.Verdict.Fit != (strict == "") {
			t.Errorf("strict %q: %s", strict, res.Verdict.Line)
		}
		for _, c := range res.Verdict.Checks {
			if c.Name == "input_off_plan" && (c.Result != ResultMiss || !strings.HasPrefix(c.Why, "server counted 3,686,400 of 14,755,500 input tokens")) {
				t.Errorf("%+v", c)
			}
		}
	}
}

// B12: the client is the bottleneck, by its own evidence: CPU of the cores that it
// may use, scheduling latency, pacer lag. The verdict's first line says so, each
// with its limit, and the load has CPU, scheduling latency, send lag p99 and GC
// pauses. The same load on an idle client is fit, whatever its streams look like.
func TestB12ClientBound(t *testing.T) {
	for _, c := range []struct {
		name     string
		cpu      float64
		sched    int64
		lag      int64
		evidence []string
	}{
		{"all", 0.97, 25 * msec, 15 * msec, []string{"pacer lag p99 15 ms (limit 10 ms, 10 % of the mean gap between sends)", "client CPU 0.97 of 1 cores (limit 0.90)", "scheduling latency p99 25 ms (limit 10 ms)"}},
		{"one core full", 0.97, msec, 0, []string{"client CPU 0.97 of 1 cores (limit 0.90)"}},
		{"threads wait", 0.5, 25 * msec, 0, []string{"scheduling latency p99 25 ms (limit 10 ms)"}},
		{"idle", 0.5, msec, 0, nil},
	} {
		s := steadyRun(900)
		s.late(100, 140, c.lag)
		for i := range int64(90) {
			s.more = append(s.more, &tape.ClientSample{Type: "client", T: i * 1000 * msec, CPU: c.cpu, SchedP99: c.sched, GCPause: msec / 2})
		}
		recs := s.records()
		recs[0].(*tape.Header).Host.CPUs = 1 // GOMAXPROCS=1
		res, err := Analyse(&records{recs: recs}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		k, l := check(t, res, "client_bound"), res.Load
		if want(t, c.name+": CPU", l.CPUMean, 2, num(&c.cpu, 2)); l.SchedP99MS == nil || l.SendLagP99MS == nil || l.GCPauseMS == nil || *l.GCPauseMS != 45 {
			t.Errorf("%s: %+v", c.name, l)
		}
		if c.evidence == nil {
			if k.Result != ResultPass || !res.Verdict.Fit {
				t.Errorf("%s: %+v\n%s", c.name, k, res.Verdict.Line)
			}
			continue
		}
		if k.Result != ResultMiss || k.Why != strings.Join(c.evidence, "; ") || k.Do == "" || !strings.HasPrefix(res.Verdict.Line, "NOT fit for use: client-bound") {
			t.Errorf("%s: %+v\n%s", c.name, k, res.Verdict.Line)
		}
	}
}
