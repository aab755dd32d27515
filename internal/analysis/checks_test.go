package analysis

import (
	"fmt"
	"strings"
	"testing"

	"tokentape/tape"
)

// steadyRun is an open loop of n requests at 10/s, 20 tokens of 10 ms each, that
// leaves nothing to remark but its size.
func steadyRun(n int64) *script { return openRun(n, 100*msec) }

// openRun is the same with another time between two sends.
func openRun(n, gap int64) *script {
	s := &script{reason: tape.ReasonCompleted, plan: n, spec: fmt.Sprintf(`{"load":{"requests":%d,"rate":%g}}`, n, 1e9/float64(gap))}
	for i := range n {
		due := i * gap
		q := ok(i, due, every(20, 50*msec, 10*msec)...)
		q.TDue = tape.Some(due)
		q.Asked.Output = tape.Some[int64](20)
		s.reqs = append(s.reqs, q)
	}
	return s
}

// late moves the sends of the requests in [from, to) by d: our own lag.
func (s *script) late(from, to int, d int64) {
	for _, q := range s.reqs[from:to] {
		for _, t := range []*tape.Opt[int64]{&q.TReleased, &q.TConn, &q.TWroteFirst, &q.TWrote, &q.TFirstEvent, &q.TFirstToken, &q.TFirstVisible, &q.TLastToken, &q.TEnd} {
			t.V += d
		}
	}
}

func TestNothingToRemark(t *testing.T) {
	s := steadyRun(900)
	res := s.analyse(t, Options{})
	if res.Verdict.Line != "fit for use" {
		for _, c := range res.Verdict.Checks {
			t.Logf("%s %s: %s", c.Name, c.Result, c.Why)
		}
		t.Errorf("%q", res.Verdict.Line)
	}
	seen := map[string]bool{}
	for _, c := range res.Verdict.Checks {
		if c.Why == "" || c.Severity == "" || c.Result == "" || missed[c.Name] == "" || seen[c.Name] {
			t.Errorf("%+v", c)
		}
		if c.Do != "" {
			t.Errorf("%s passed and tells what to do", c.Name)
		}
		seen[c.Name] = true
	}
}

// Every check misses for its own reason and no other.
func TestChecks(t *testing.T) {
	for _, c := range []struct {
		check, name string
		edit        func(*script)
		result      string
		why         string
	}{
		{"tape_complete", "no footer", func(s *script) { s.reason = "" }, ResultMiss, "no footer"},
		{"tape_complete", "interrupted", func(s *script) { s.reason = tape.ReasonInterrupted }, ResultMiss, "interrupted"},
		{"tape_complete", "torn", func(s *script) { s.more = append(s.more, &tape.Fault{Line: 7, Why: "torn line"}) }, ResultMiss, "torn line"},
		{"tape_complete", "ended by its duration", func(s *script) { s.reason = tape.ReasonDuration }, ResultPass, "duration"},
		{"counts_add_up", "a row twice", func(s *script) { s.reqs[5] = s.reqs[4] }, ResultMiss, "more than once"},
		{"counts_add_up", "not issued", func(s *script) { s.cut = 3 }, ResultPass, "not issued 3"},
		{"client_bound", "lag", func(s *script) { s.late(100, 120, 15*msec) }, ResultMiss, "pacer lag"},
		{"client_bound", "lag within 10 % of the gap", func(s *script) { s.late(100, 120, 9*msec) }, ResultPass, "pacer lag"},
		{"client_bound", "one late send", func(s *script) {
			s.reqs, s.plan = s.reqs[:50], 50
			s.late(20, 21, 40*msec)
		}, ResultPass, "ms (limit 10 ms, 10 % of the mean gap between sends): 1 late send of 50, not counted"},
		{"client_bound", "two late sends", func(s *script) {
			s.reqs, s.plan = s.reqs[:50], 50
			s.late(20, 22, 40*msec)
		}, ResultMiss, "pacer lag p99 40 ms (limit 10 ms, 10 % of the mean gap between sends)"},
		{"client_bound", "set-up of new connections is not ours", func(s *script) {
			s.late(100, 120, 0)
			for _, q := range s.reqs[100:120] {
				q.Conn = &tape.Conn{ID: 2}
				q.TConn.V += 40 * msec
				q.TWroteFirst.V += 40 * msec
			}
		}, ResultPass, ""},
		{"client_bound", "CPU", func(s *script) { s.more = append(s.more, &tape.ClientSample{T: 1, CPU: 3.9}) }, ResultMiss, "CPU 3.90 of 4"},
		{"client_bound", "scheduler", func(s *script) { s.more = append(s.more, &tape.ClientSample{T: 1, SchedP99: 30 * msec}) }, ResultMiss, "scheduling"},
		{"client_bound", "recorder", func(s *script) { s.reason = tape.ReasonRecorder }, ResultMiss, "recorder"},
		{"client_bound", "bursts are no evidence", burst, ResultPass, ""},
		{"bursts", "buffered", burst, ResultMiss, "arrived in bursts"},
		{"offered_rate", "falling behind", func(s *script) {
			for i := range s.reqs {
				s.late(i, i+1, int64(i)*2*msec)
			}
		}, ResultMiss, "where the load rules allowed"},
		{"offered_rate", "a full cap", func(s *script) {
			for i, q := range s.reqs {
				s.late(i, i+1, int64(i)*2*msec)
				q.TReady = q.TReleased
			}
		}, ResultPass, ""},
		{"slot_wait", "a full cap", func(s *script) {
			for i, q := range s.reqs {
				s.late(i, i+1, int64(i)*2*msec)
				q.TReady = q.TReleased
			}
		}, ResultMiss, "waited for a slot"},
		{"token_sources", "mixed", func(s *script) { s.reqs[3].Tokens.OutputSource = tape.SourceEvents }, ResultMiss, "usage 899, events 1"},
		{"usage_contradicted", "cached above input", func(s *script) { s.reqs[3].Tokens.Cached = tape.Some[int64](500) }, ResultMiss,
			"cached tokens above input tokens in 1 of 900 requests (request 3: 500, 100)"},
		{"usage_contradicted", "reasoning above output", func(s *script) { s.reqs[4].Tokens.Reasoning = tape.Some[int64](21) }, ResultMiss, "(request 4: 21, 20)"},
		{"usage_contradicted", "no output beside text", func(s *script) { s.reqs[5].Tokens.Output.V = 0 }, ResultMiss, "(request 5: 20 events)"},
		{"usage_contradicted", "output above max_tokens", func(s *script) {
			for _, q := range s.reqs[6:8] {
				q.Tokens.Output.V = 21
			}
		}, ResultMiss, "output tokens above the limit asked in 2 of 900 requests (request 6: 21, 20)"},
		{"usage_contradicted", "two choices have a limit each", func(s *script) {
			s.spec = `{"load":{"requests":900,"rate":10},"workload":{"stream":true,"sampling":{"n":2}}}`
			s.reqs[6].Tokens.Output.V = 40
		}, ResultPass, "no contradiction"},
		{"usage_contradicted", "a tokenizer's count is ours", func(s *script) {
			s.reqs[6].Tokens.Output.V, s.reqs[6].Tokens.OutputSource = 21, tape.SourceTokenizer
		}, ResultPass, "no contradiction"},
		{"usage_contradicted", "below 0", func(s *script) { s.reqs[7].Tokens.Input.V = -4 }, ResultMiss, "(request 7: -4)"},
		{"usage_contradicted", "equal counts", func(s *script) {
			s.reqs[8].Tokens.Cached, s.reqs[8].Tokens.Reasoning = tape.Some[int64](100), tape.Some[int64](20)
		}, ResultPass, "no contradiction in the counts of 900 requests"},
		{"not_streamed", "in one piece", func(s *script) {
			s.spec = `{"load":{"requests":900,"rate":10},"workload":{"stream":true}}`
			for _, q := range s.reqs[:5] {
				q.Flags = []string{"no_done", "not_streamed"}
			}
		}, ResultMiss, "5 of 900 answers were not streamed: no TTFT, TPOT, ITL"},
		{"not_streamed", "all streamed", func(s *script) { s.spec = `{"load":{"requests":900,"rate":10},"workload":{"stream":true}}` }, ResultPass, "every answer"},
		{"not_streamed", "not asked for", func(s *script) { s.reqs[0].Flags = []string{"not_streamed"} }, ResultNone, "no streaming was asked for"},
		{"usage_contradicted", "each count that is none is named", func(s *script) {
			s.reqs[7].Tokens = tape.Tokens{Unread: "input=-9 output=2.5 cached=-1"}
		}, ResultMiss, "(request 7: input=-9); a count that is no whole number from 0 on in 1 of 900 requests (request 7: output=2.5); a count that is no whole number from 0 on in 1 of 900 requests (request 7: cached=-1)"},
		{"usage_missing", "a count that came and is none", func(s *script) {
			s.reqs[7].Tokens = tape.Tokens{Unread: "output=2.5"}
		}, ResultPass, "0 of 900"},
		{"usage_missing", "some", func(s *script) { s.reqs[3].Tokens.Output = tape.Opt[int64]{} }, ResultMiss, "1 of 900"},
		{"server_changed", "restart", func(s *script) {
			s.more = append(s.more, &tape.Scrape{Source: "prefill-0", OK: true, Series: map[string]float64{"process_start_time_seconds": 5}},
				&tape.Scrape{Source: "prefill-0", OK: true, Series: map[string]float64{"process_start_time_seconds": 9}})
		}, ResultMiss, "prefill-0"},
		{"server_changed", "not known", func(*script) {}, ResultNone, ""},
		{"client_limit", "descriptors", func(s *script) {
			s.reqs[9] = failed(9, 900*msec, msec, tape.OutcomeClient, "too many open files")
		}, ResultMiss, "1 request failed on the client's machine, not the server's: "},
		{"client_limit", "none", func(s *script) {}, ResultPass, "no request"},
		{"failures", "one", func(s *script) { s.reqs[9] = failed(9, 900*msec, msec, tape.OutcomeReset, "reset") }, ResultMiss, "reset 1"},
		{"failures", "the commonest message", func(s *script) {
			for i, m := range []string{"boom", "connection\n refused\x1b[2J", "connection\n refused\x1b[2J", "reset"} {
				class := []tape.Outcome{tape.OutcomeStatus, tape.OutcomeConnect, tape.OutcomeConnect, tape.OutcomeReset}[i]
				s.reqs[9+i] = failed(int64(9+i), 900*msec, msec, class, m)
			}
		}, ResultMiss, "4 of 900 failed: connect 2 (connection refused?[2J), http_status 1, reset 1"},
		{"failures", "a long message", func(s *script) {
			s.reqs[9] = failed(9, 900*msec, msec, tape.OutcomeReset, strings.Repeat("é", 90))
		}, ResultMiss, "reset 1 (" + strings.Repeat("é", 79) + "…)"},
		{"failures", "what was answered, not by whom", func(s *script) {
			s.reqs[9] = failed(9, 900*msec, msec, tape.OutcomeStatus, "POST http://a:1/v1/chat/completions was answered 429 Too Many Requests: later")
		}, ResultMiss, "http_status 1 (was answered 429 Too Many Requests: later)"},
		{"failures", "without a message", func(s *script) { s.reqs[9] = failed(9, 900*msec, msec, tape.OutcomeReset, "") }, ResultMiss, "1 of 900 failed: reset 1"},
		{"failures", "when", func(s *script) {
			s.reqs[9] = failed(9, 900*msec, msec, tape.OutcomeReset, "")
			s.reqs[19] = failed(19, 1900*msec, 100*msec, tape.OutcomeConnect, "")
		}, ResultMiss, "2 of 900 failed: connect 1, reset 1; sent from 0.9 to 1.9 s, which with their answers is 1.23 % of the steady window"},
		{"failures_allowed", "none", func(*script) {}, ResultPass, "no request failed"},
		{"failures_allowed", "more than allowed", func(s *script) { s.outage(10, 20) }, ResultNone, "see failures"},
		{"failures_allowed", "some", func(s *script) {
			s.spec = `{"load":{"requests":900,"rate":10},"limits":{"failed_share":0.3}}`
			s.outage(70, 90)
		}, ResultMiss, "200 of 900 failed: connect 200 (connection refused); sent from 70.0 to 89.9 s, which with their answers is 22.2 % of the steady window; limits.failed_share 0.3 lets that pass"},
		{"window_trend", "too few requests", func(s *script) { s.reqs, s.plan = s.reqs[:15], 15 }, ResultNone, "too few to look for a trend (20 wanted)"},
		{"output_short", "stopped early", func(s *script) {
			for _, q := range s.reqs {
				q.Asked.Output = tape.Some[int64](512)
			}
		}, ResultMiss, "3.91 %"},
		{"input_off_plan", "D09: the server kept less", func(s *script) {
			q := s.reqs[3]
			q.Asked.Input, q.Tokens.Input, q.Tokens.InputSource = tape.Some[int64](16395), tape.Some[int64](4096), tape.SourceUsage
		}, ResultMiss, "server counted 4,096 of 16,395 input tokens; 1 of 1 requests are off, by up to -12299"},
		{"input_off_plan", "exact", func(s *script) {
			for _, q := range s.reqs {
				q.Asked.Input = q.Tokens.Input
			}
		}, ResultPass, "server counted"},
		{"input_off_plan", "no tokenizer", func(*script) {}, ResultNone, "server's alone"},
		{"window_sufficiency", "few requests", func(s *script) { s.reqs, s.plan = s.reqs[:50], 50 }, ResultMiss, "holds 44 requests (128 wanted)"},
		{"window_sufficiency", "no window", func(s *script) { s.reqs, s.plan = s.reqs[:1], 1 }, ResultMiss, "no steady window"},
		{"window_trend", "TTFT rises", func(s *script) {
			for i, q := range s.reqs {
				q.TFirstToken.V += int64(i) * 50000
			}
		}, ResultMiss, "TTFT rises"},
		{"cache_state", "reported once", func(s *script) { s.reqs[0].Tokens.Cached = tape.Some[int64](90) }, ResultPass, "observed in 1, inferred 0 in 899"},
		{"cache_state", "never reported", func(*script) {}, ResultNone, "nothing was expected of the prefix cache, and the server reports no cached tokens"},
		{"cache_state", "expected and never reported", func(s *script) { s.cached(tape.Some[int64](91), tape.Opt[int64]{}) }, ResultMiss,
			"expected 81,900 (91 %), not observable: the server reported no cached tokens in 900 requests: it served none and leaves out 0, or does not report them"},
		{"cache_state", "zero cache and never reported", func(s *script) {
			s.cached(tape.Some[int64](0), tape.Opt[int64]{})
			s.cache = &tape.CachePlan{By: tape.CacheBySpec, Zero: true}
		}, ResultMiss, "meant for zero cache, not observable"},
		{"cache_state", "expected, and no input counted", func(s *script) {
			s.cached(tape.Some[int64](91), tape.Opt[int64]{})
			for _, q := range s.reqs {
				q.Tokens.Input = tape.Opt[int64]{}
			}
		}, ResultMiss, "cached tokens expected, not observable"},
		{"cache_off_plan", "nothing expected", func(s *script) { s.cached(tape.Opt[int64]{}, tape.Some[int64](50)) }, ResultNone, "nothing was expected"},
		{"cache_off_plan", "not reported", func(s *script) { s.cached(tape.Some[int64](50), tape.Opt[int64]{}) }, ResultNone, "no cached tokens to hold against those expected of 900 requests: see cache_state"},
		{"cache_off_plan", "as built", func(s *script) { s.cached(tape.Some[int64](50), tape.Some[int64](50)) }, ResultPass, "45,000 of 90,000 input tokens came from the prefix cache (50 %), expected 45,000 (50 %); 0 of 900 rows differ"},
		{"cache_off_plan", "within a page", func(s *script) { s.cached(tape.Some[int64](50), tape.Some[int64](49)) }, ResultPass, "900 of 900 rows differ, by 900 tokens together, 1 % of the input (judged: more than 1 %); most of all request 0 (row 0 of the dataset): 49, expected 50"},
		{"cache_off_plan", "fewer", func(s *script) { s.cached(tape.Some[int64](50), tape.Some[int64](48)) }, ResultMiss, "(48 %), expected 45,000 (50 %)"},
		{"cache_off_plan", "one row makes up for no other", func(s *script) {
			s.cached(tape.Some[int64](50), tape.Some[int64](50))
			for i, q := range s.reqs[:40] {
				q.Tokens.Cached.V += int64(i%2*100 - 50)
			}
		}, ResultMiss, "45,000 of 90,000 input tokens came from the prefix cache (50 %), expected 45,000 (50 %); 40 of 900 rows differ"},
		{"cache_off_plan", "C04: zero cache, and hits", func(s *script) {
			s.cached(tape.Some[int64](0), tape.Some[int64](2))
			s.cache = &tape.CachePlan{By: tape.CacheBySpec, Zero: true}
		}, ResultMiss, "1,800 of 90,000 input tokens came from the prefix cache (2 %), meant for zero cache; 900 of 900 rows differ"},
		{"cache_off_plan", "zero cache, 1 %", func(s *script) { s.cached(tape.Some[int64](0), tape.Some[int64](1)) }, ResultPass, "(1 %)"},
		{"cache_off_plan", "reported where above 0", func(s *script) {
			s.cached(tape.Some[int64](0), tape.Opt[int64]{})
			s.reqs[9].Tokens.Cached = tape.Some[int64](96)
		}, ResultPass, "1 of 900 rows differ, by 96 tokens together, 0.107 % of the input (judged: more than 1 %); most of all request 9 (row 9 of the dataset): 96, expected 0"},
		{"counts_add_up", "warm-up in the footer", func(s *script) { s.warmup = tape.Some[int64](1) }, ResultMiss, "the footer counts 1 of warm-up and 0 of the tail, the lines 0 and 0"},
		{"repeats", "a row twice", func(s *script) { s.reqs[7].Ref = s.reqs[6].Ref }, ResultMiss, "1 of 900"},
		{"attempts", "a second attempt", func(s *script) { s.reqs[7].Attempts = 2 }, ResultMiss, "1 attempt"},
	} {
		t.Run(c.check+": "+c.name, func(t *testing.T) {
			s := steadyRun(900)
			c.edit(s)
			got := check(t, s.analyse(t, Options{}), c.check)
			if got.Result != c.result || !strings.Contains(got.Why, c.why) {
				t.Errorf("%s %q, want %s with %q", got.Result, got.Why, c.result, c.why)
			}
			if got.Result == ResultMiss && got.Do == "" {
				t.Error("a miss without advice")
			}
		})
	}
}

// cached says of every request what the prefix cache was to serve, and served.
func (s *script) cached(expected, observed tape.Opt[int64]) {
	s.cache = &tape.CachePlan{By: tape.CacheByManifest}
	for _, q := range s.reqs {
		q.Asked.Cached, q.Tokens.Cached = expected, observed
	}
}

// Calls and the phases beside the measured one are told apart; rows have the
// session, the turn and when they were allowed.
func TestBesideTheLoad(t *testing.T) {
	s := talk(false, 40)
	for i, p := range []tape.Phase{tape.PhasePrepare, tape.PhaseWarmup, tape.PhaseWarmup, tape.PhaseTail} {
		q := ok(int64(100+i), -900*msec, 10*msec)
		q.Phase = p
		s.reqs = append(s.reqs, q)
	}
	s.more = []tape.Record{&tape.Call{Type: "call", What: tape.CallFlush, Phase: tape.PhasePrepare, Method: "POST", URL: "http://h/flush", T: -1000 * msec, TEnd: -950 * msec, Status: tape.Some[int64](200), OK: true}}
	res := s.analyse(t, Options{})
	if c := res.Counts; c.Preparation != 4 || c.Warmup != 2 || c.Tail != 1 || c.Issued != 6 {
		t.Errorf("%+v", c)
	}
	if len(res.Calls) != 1 || res.Calls[0].What != "flush" || res.Calls[0].TS != -1 || res.Calls[0].MS != 50 || *res.Calls[0].Status != 200 {
		t.Errorf("%+v", res.Calls)
	}
	if r := res.Rows.At(1); r.Session != "s0" || *r.Turn != 1 || *r.ReadyS != 5.04 || *r.SlotWaitMS != 40 {
		t.Errorf("%+v", r)
	}
	if r := res.Rows.At(6); r.Session != "" || r.Turn != nil {
		t.Errorf("%+v", r)
	}
}

// burst delivers all tokens of every response at once (A27).
func burst(s *script) {
	for i := range s.reqs {
		due := s.reqs[i].TDue
		q := ok(int64(i), due.V, every(50, 40*msec, 0)...)
		q.TDue = due
		s.reqs[i] = q
	}
}

func TestStrictTurnsNotesIntoFails(t *testing.T) {
	s := steadyRun(50)
	if res := s.analyse(t, Options{}); !res.Verdict.Fit || res.Verdict.Line != "fit for use; 1 note: window too small" {
		t.Errorf("%q", res.Verdict.Line)
	}
	s.spec = `{"load":{"rate":10},"report":{"strict":["window_sufficiency"]}}`
	if res := s.analyse(t, Options{}); res.Verdict.Fit || res.Verdict.Line != "NOT fit for use: window too small" {
		t.Errorf("%q", res.Verdict.Line)
	}
}

// Small honest runs are fit for use: N = 1, and N = 4 at C = 2.
func TestSmallRunsAreFit(t *testing.T) {
	one := &script{reason: tape.ReasonCompleted, plan: 1, spec: `{"load":{"requests":1,"concurrency":1}}`}
	q := ok(0, 0, every(32, 100*msec, 10*msec)...)
	q.TWroteFirst.V, q.TWrote.V = 3*msec, 3*msec // a cold process
	one.reqs = append(one.reqs, q)
	four := &script{reason: tape.ReasonCompleted, plan: 4, spec: `{"load":{"requests":4,"concurrency":2,"rate":1}}`}
	for i := range int64(4) {
		q := ok(i, i*1000*msec, every(32, 100*msec, 10*msec)...)
		q.TDue = tape.Some(i * 1000 * msec)
		four.reqs = append(four.reqs, q)
	}
	for _, s := range []*script{one, four} {
		if res := s.analyse(t, Options{}); !res.Verdict.Fit {
			t.Errorf("%d requests: %s", s.plan, res.Verdict.Line)
		}
	}
}

// A window that misses a convention says which, with that value and limit, and is
// silent about those that it meets.
func TestShortfalls(t *testing.T) {
	o := Options{MinRequests: 128, MinSeconds: 60}
	for _, x := range []struct {
		requests      int64
		seconds       float64
		services      *float64
		value, limit  float64
		unit, allText string
	}{
		{128, 60, ref(10.0), 0, 0, "", ""},
		{128, 60, nil, 0, 0, "", ""},
		{171, 11.2, ref(14.8), 11.2, 60, "s", "11.2 s (60 wanted)"},
		{127, 60, ref(9.96), 127, 128, "requests", "127 requests (128 wanted), 10.0 median service times (10 wanted)"},
		{500, 600, ref(3.0), 3, 10, "service times", "3.0 median service times (10 wanted)"},
	} {
		missed := shortfalls(x.requests, x.seconds, x.services, o)
		if got := texts(missed); got != x.allText {
			t.Errorf("%+v: %q", x, got)
		}
		if x.unit != "" && (len(missed) == 0 || missed[0].value != x.value || missed[0].limit != x.limit || missed[0].unit != x.unit) {
			t.Errorf("%+v: first is %+v", x, missed)
		}
	}
}
