package run_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/clock"
	"tokentape/internal/exchange"
	"tokentape/internal/observe"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/simserver"
	"tokentape/tape"
)

// overload is case A25: ten requests, of which the eighth and ninth are answered
// 429 with Retry-After (seconds, a date) and the tenth 503, each once; every
// other answer takes 10 ms. seen counts what came.
func overload(seen *int) http.Handler {
	good := fixed(10*time.Millisecond, nil)
	refused := map[string]bool{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*seen++
		id := r.Header.Get("X-Request-Id")
		first := !refused[id]
		refused[id] = true
		body := `{"error":{"message":"slow down"}}`
		switch {
		case first && id == "test-7":
			w.Header().Set("Retry-After", "2")
			http.Error(w, body, 429)
		case first && id == "test-8":
			w.Header().Set("Retry-After", time.Now().UTC().Add(3*time.Second).Format(http.TimeFormat))
			http.Error(w, body, 429)
		case first && id == "test-9":
			http.Error(w, "upstream connect error", 503)
		default:
			good.ServeHTTP(w, r)
		}
	})
}

// bySeq sorts requests as the plan has them; a tape holds them as they were
// written.
func bySeq(all []*tape.Request) []*tape.Request {
	slices.SortFunc(all, func(a, b *tape.Request) int { return int(a.Seq - b.Seq) })
	return all
}

// Nothing is tried again unless it is asked for.
func TestA25NoRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := 0
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: overload(&seen), load: spec.Load{Requests: 10, Concurrency: 1}}.run()
		if f := sum.Footer; seen != 10 || f.OK != 7 || f.Failed["http_status"] != 3 {
			t.Errorf("the server saw %d; %+v", seen, f)
		}
		bySeq(requests)
		var status []int
		for _, q := range requests[7:] {
			status = append(status, q.HTTP.Status)
			if q.Attempts != 1 || q.AttemptLog != nil {
				t.Errorf("request %d: %d attempts", q.Seq, q.Attempts)
			}
		}
		if !slices.Equal(status, []int{429, 429, 503}) {
			t.Errorf("%v", status)
		}
		for i, want := range []tape.Opt[int64]{tape.Some(int64(2e9)), tape.Some(int64(3e9)), {}} {
			if got := requests[7+i].RetryAfter; got != want {
				t.Errorf("request %d: Retry-After %v, want %v", 7+i, got, want)
			}
		}
	})
}

// Tried again: Retry-After is honoured in both forms, the back-off where there is
// none; every attempt is on the tape, and the latency spans them all.
func TestA25Retry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := 0
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: overload(&seen), load: spec.Load{Requests: 10, Concurrency: 1, Attempts: 3},
			change: func(c *run.Config) {
				c.Retry = run.Retry{On: []string{"429", "5xx"}, Initial: time.Second, Factor: 2, Max: 30 * time.Second, RetryAfter: true}
			}}.run()
		if f := sum.Footer; seen != 13 || f.OK != 10 || len(f.Failed) != 0 {
			t.Fatalf("the server saw %d; %+v", seen, f)
		}
		bySeq(requests)
		for i, q := range requests[7:] {
			wait := []int64{2e9, 3e9, 1e9}[i]
			if q.Attempts != 2 || len(q.AttemptLog) != 1 {
				t.Fatalf("request %d: %d attempts, log %+v", q.Seq, q.Attempts, q.AttemptLog)
			}
			at := q.AttemptLog[0]
			if at.Wait != wait || at.TReleased != q.TReleased || at.TEnd != q.TReleased || at.Outcome != tape.OutcomeStatus || at.Message == "" {
				t.Errorf("request %d: %+v", q.Seq, at)
			}
			if (at.Status == 429) != at.RetryAfter.OK || (at.Cause == exchange.CauseRateLimit) != (at.Status == 429) || q.RetryAfter.OK {
				t.Errorf("request %d: status %d, %q, Retry-After %v; last attempt %v", q.Seq, at.Status, at.Cause, at.RetryAfter, q.RetryAfter)
			}
			if got := q.TFirstToken.V - q.TReleased.V; got != wait+10_000_000 {
				t.Errorf("request %d: TTFT %d, want %d", q.Seq, got, wait+10_000_000)
			}
			if q.TWroteFirst.V-q.TReleased.V != wait {
				t.Errorf("request %d: sent %d after its release", q.Seq, q.TWroteFirst.V-q.TReleased.V)
			}
		}
		// One slot: each waited for the one before, back-off and all.
		if requests[8].TReleased != requests[7].TEnd || requests[9].TReleased != requests[8].TEnd {
			t.Error("a waiting request gave its slot away")
		}
	})
}

// The waits of a request that never gets through.
func TestBackoff(t *testing.T) {
	for _, c := range []struct {
		name   string
		retry  run.Retry
		header string // Retry-After
		tries  int
		waits  []float64 // s
		says   string
	}{
		{"doubles", run.Retry{Initial: time.Second, Factor: 2, Max: time.Minute}, "", 5, []float64{1, 2, 4, 8}, ""},
		{"is bounded", run.Retry{Initial: time.Second, Factor: 10, Max: 20 * time.Second}, "", 4, []float64{1, 10, 20}, ""},
		{"none", run.Retry{}, "", 3, []float64{0, 0}, ""},
		{"no wait, times infinity", run.Retry{Factor: 1e200, Max: time.Minute}, "", 4, []float64{0, 0, 0}, ""},
		{"beyond all numbers", run.Retry{Initial: time.Second, Factor: 1e200, Max: 20 * time.Second}, "", 4, []float64{1, 20, 20}, ""},
		{"longer than Retry-After", run.Retry{Initial: 5 * time.Second, Factor: 1, Max: time.Minute, RetryAfter: true}, "2", 3, []float64{5, 5}, ""},
		{"shorter than Retry-After", run.Retry{Initial: time.Second, Factor: 4, Max: time.Minute, RetryAfter: true}, "2", 3, []float64{2, 4}, ""},
		{"Retry-After not obeyed", run.Retry{Initial: time.Second, Factor: 1, Max: time.Minute}, "2", 3, []float64{1, 1}, ""},
		{"Retry-After too long", run.Retry{Initial: time.Second, Factor: 1, Max: time.Minute, RetryAfter: true}, "61", 3, nil, "Retry-After 1m1s is longer than load.retry.backoff.max 1m0s"},
		{"another class", run.Retry{On: []string{"reset", "429"}, Initial: time.Second, Factor: 1, Max: time.Minute}, "", 3, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if c.header != "" {
						w.Header().Set("Retry-After", c.header)
					}
					http.Error(w, "busy", 503)
				})
				_, requests, _ := rig{t: t, clk: clock.New(), handler: h, load: spec.Load{Requests: 1, Concurrency: 1, Attempts: int64(c.tries)},
					change: func(cfg *run.Config) {
						if cfg.Retry = c.retry; c.retry.On == nil {
							cfg.Retry.On = []string{"503"}
						}
					}}.run()
				q := requests[0]
				var waits []float64
				for _, at := range q.AttemptLog {
					waits = append(waits, float64(at.Wait)/1e9)
				}
				if !slices.Equal(waits, c.waits) || q.Attempts != len(c.waits)+1 || q.Outcome != tape.OutcomeStatus || !strings.Contains(q.Message, c.says) {
					t.Errorf("waits %v after %d attempts: %s: %s", waits, q.Attempts, q.Outcome, q.Message)
				}
			})
		})
	}
}

// Jitter is drawn by the seed and the request alone, and stays within its share.
func TestBackoffJitter(t *testing.T) {
	waits := func(seed int64) (all []int64) {
		synctest.Test(t, func(t *testing.T) {
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "busy", 503) })
			_, requests, _ := rig{t: t, clk: clock.New(), handler: h, load: spec.Load{Requests: 40, Concurrency: 7, Attempts: 2},
				change: func(c *run.Config) {
					c.Retry = run.Retry{On: []string{"5xx"}, Initial: 10 * time.Second, Factor: 1, Max: time.Minute, Jitter: 0.1, Seed: seed}
				}}.run()
			for _, q := range bySeq(requests) {
				all = append(all, q.AttemptLog[0].Wait)
			}
		})
		return all
	}
	a := waits(1)
	if !slices.Equal(a, waits(1)) || slices.Equal(a, waits(2)) {
		t.Error("the seed does not decide")
	}
	if lo, hi := slices.Min(a), slices.Max(a); lo < 9e9 || hi > 11e9 || hi-lo < 1e9 {
		t.Errorf("waits from %d to %d", lo, hi)
	}
}

// An interrupt ends a back-off at once: the request is what its last attempt was.
func TestInterruptEndsBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		go func() {
			time.Sleep(5 * time.Second)
			stop <- struct{}{}
		}()
		seen := 0
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen++
			http.Error(w, "busy", 503)
		})
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: h, load: spec.Load{Requests: 9, Concurrency: 1, Attempts: 3}, change: func(c *run.Config) {
			c.Stop = stop
			c.Retry = run.Retry{On: []string{"503"}, Initial: time.Hour, Factor: 1, Max: time.Hour}
		}}.run()
		f := sum.Footer
		if seen != 1 || f.Reason != tape.ReasonInterrupted || f.Failed["http_status"] != 1 || f.NotIssued != 8 || f.TEnd != int64(5*time.Second)-lead {
			t.Errorf("the server saw %d; %+v", seen, f)
		}
		if q := requests[0]; !slices.Contains(q.Flags, run.FlagRetryCut) || q.Attempts != 1 || q.TEnd.V != 0 {
			t.Errorf("%+v", q)
		}
	})
}

// The end of load.duration stops the issuing, not the attempts of what runs.
func TestDurationKeepsBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, n := fixed(10*time.Millisecond, nil), 0
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n++; n == 1 {
				http.Error(w, "busy", 503)
				return
			}
			good.ServeHTTP(w, r)
		})
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: h, load: spec.Load{Duration: spec.Duration(time.Second), Concurrency: 1, Attempts: 2}, change: func(c *run.Config) {
			c.Retry = run.Retry{On: []string{"503"}, Initial: time.Minute, Factor: 1, Max: time.Minute}
		}}.run()
		if f := sum.Footer; f.OK != 1 || f.Reason != tape.ReasonDuration || requests[0].Attempts != 2 {
			t.Errorf("%+v", f)
		}
	})
}

// abandonRig is a load on the simulated server of which a share is abandoned.
func abandonRig(t *testing.T, clk *clock.Clock, sim http.Handler, a run.Abandon) rig {
	return rig{t: t, clk: clk, handler: sim, output: 64, load: spec.Load{Requests: 60, Concurrency: 8, Warmup: 4},
		change: func(c *run.Config) { c.Abandon = a }}
}

// Streams closed in the middle: counted apart, chosen by the seed, seen by the
// server, which serves the others to their end and all that come after.
func TestAbandon(t *testing.T) {
	chosen := func(seed int64, when exchange.Abandon) (seqs []int64) {
		synctest.Test(t, func(t *testing.T) {
			clk := clock.New()
			o := simserver.Defaults()
			o.Keep, o.Slots = 1000, 4 // fewer than in flight: a slot that is not freed stops the rest
			sim := simserver.NewWithClock(o, clk)
			defer sim.Close()
			sum, requests, _ := abandonRig(t, clk, sim, run.Abandon{Share: 0.3, When: when, Seed: seed}).run()
			f := sum.Footer
			if f.Reason != tape.ReasonCompleted || f.Abandoned == 0 || f.OK+f.Abandoned != 60 || len(f.Failed) != 0 || f.Cancelled != 0 || f.Preparation != 4 {
				t.Errorf("%+v", f)
			}
			truth := map[string]simserver.Truth{}
			for _, x := range sim.Trace() {
				truth[x.ID] = x
			}
			conns := map[int64]bool{} // whose stream was closed
			slices.SortFunc(requests, func(a, b *tape.Request) int { return int(a.TReleased.V - b.TReleased.V) })
			for _, q := range requests {
				x := truth[q.ID]
				if x.Aborted != (q.Outcome == tape.OutcomeAbandoned) {
					t.Errorf("request %d is %s, but the server saw the client leave: %v", q.Seq, q.Outcome, x.Aborted)
				}
				if q.Conn != nil && conns[q.Conn.ID] {
					t.Errorf("request %d came over a connection that was closed", q.Seq)
				}
				if q.Outcome != tape.OutcomeAbandoned {
					continue
				}
				seqs = append(seqs, q.Seq)
				if q.Conn != nil {
					conns[q.Conn.ID] = true
				}
				if when.Tokens > 0 && (q.Tokens.Output != tape.Some(int64(when.Tokens)) || q.Cause != exchange.AbandonTokens) {
					t.Errorf("request %d: %+v, %s", q.Seq, q.Tokens.Output, q.Cause)
				}
				if when.After > 0 && q.TEnd.V-q.TReleased.V != int64(when.After) {
					t.Errorf("request %d: closed after %d", q.Seq, q.TEnd.V-q.TReleased.V)
				}
			}
			// All four slots at once, after the last that was abandoned.
			after, _, _ := rig{t: t, clk: clock.New(), handler: sim, output: 64, load: spec.Load{Requests: 4, Concurrency: 4}}.run()
			if after.Footer.OK != 4 {
				t.Errorf("afterwards: %+v", after.Footer)
			}
		})
		slices.Sort(seqs)
		return seqs
	}
	a := chosen(1, exchange.Abandon{Tokens: 5})
	if !slices.Equal(a, chosen(1, exchange.Abandon{After: 300 * time.Millisecond})) {
		t.Error("the choice depends on more than the seed and the row")
	}
	if slices.Equal(a, chosen(2, exchange.Abandon{Tokens: 5})) {
		t.Error("the seed does not decide")
	}
}

// Over HTTP/2 the stream is reset: the server sees it, and the other streams of the
// connection go on.
func TestAbandonHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := clock.New()
		o := simserver.Defaults()
		o.Keep, o.Slots = 1000, 4
		sim := simserver.NewWithClock(o, clk)
		defer sim.Close()
		r := abandonRig(t, clk, sim, run.Abandon{Share: 0.3, When: exchange.Abandon{Tokens: 5}, Seed: 1})
		r.http2 = true
		sum, requests, _ := r.run()
		if f := sum.Footer; f.Abandoned == 0 || f.OK+f.Abandoned != 60 {
			t.Errorf("%+v", f)
		}
		left := 0
		for _, x := range sim.Trace() {
			if x.Aborted {
				left++
			}
		}
		want := 0
		for _, q := range requests {
			if q.Outcome == tape.OutcomeAbandoned {
				want++
			}
			if q.HTTP.Proto != "HTTP/2.0" || q.Conn.ID != 1 {
				t.Errorf("request %d: %s, connection %d", q.Seq, q.HTTP.Proto, q.Conn.ID)
			}
		}
		if left != want {
			t.Errorf("%d abandoned, the server saw %d leave", want, left)
		}
	})
}

// abort gives a run the rule, as the command line does.
func abort(ctx context.Context, rule observe.AbortRule) (context.Context, func(run.Ended)) {
	ctx, cancel := context.WithCancelCause(ctx)
	a := observe.NewAbort(rule, func(why string) { cancel(&run.StopError{Reason: tape.ReasonAbort, Message: why}) })
	return ctx, func(e run.Ended) { a.Ended(e.T, e.Outcome, e.Message) }
}

// failing answers 500 to all but the first n requests, each after d.
func failing(n int, d time.Duration) http.Handler {
	good := fixed(d, nil)
	var mu sync.Mutex
	seen := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen++
		fine := seen <= n
		mu.Unlock()
		if fine {
			good.ServeHTTP(w, r)
			return
		}
		pause(r, d)
		http.Error(w, "boom", 500)
	})
}

// A broken rule stops the issuing; what runs may end.
func TestAbort(t *testing.T) {
	for _, c := range []struct {
		name    string
		rule    observe.AbortRule
		good    int
		warmup  int64
		ok      int64
		failed  int64 // of the measured phase
		message string
	}{
		// One at a time: the rule holds before the next slot is free.
		{"a count", observe.AbortRule{Failed: 3}, 5, 0, 5, 3, "limits.abort.failed: 3 requests failed (http_status 3); the last: http_status: POST http://sim/"},
		{"a share", observe.AbortRule{FailedShare: 0.5, Min: 4}, 5, 0, 5, 5, "5 of 10 ended requests failed"},
		{"in warm-up", observe.AbortRule{Failed: 2}, 1, 6, 0, 0, "2 requests failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rig{t: t, clk: clock.New(), handler: failing(c.good, time.Second), load: spec.Load{Requests: 100, Concurrency: 1, Warmup: c.warmup}}
				ctx, ended := abort(context.Background(), c.rule)
				r.ctx, r.change = ctx, func(cfg *run.Config) { cfg.Ended = ended }
				sum, _, _ := r.run()
				f := sum.Footer
				if f.Reason != tape.ReasonAbort || f.OK != c.ok || f.Failed["http_status"] != c.failed || f.NotIssued != 100-c.ok-c.failed || f.Cancelled != 0 {
					t.Errorf("%+v", f)
				}
				if !strings.Contains(f.Message, c.message) {
					t.Errorf("message %q", f.Message)
				}
			})
		})
	}
}

// Requests that run when a rule is broken have limits.drain to end.
func TestAbortDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n int
		var mu sync.Mutex
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			k := n
			n++
			mu.Unlock()
			switch k {
			case 0, 1: // outlive the drain, end within it
				fixed([]time.Duration{time.Hour, 9 * time.Second}[k], nil).ServeHTTP(w, r)
			default:
				pause(r, time.Second)
				http.Error(w, "boom", 500)
			}
		})
		ctx, ended := abort(context.Background(), observe.AbortRule{Failed: 2})
		snap := make(chan run.Snapshot, 1000)
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: h, load: spec.Load{Requests: 50, Concurrency: 3}, ctx: ctx, change: func(c *run.Config) {
			c.Ended, c.Drain = ended, 10*time.Second
			c.Publish = func(s run.Snapshot) {
				select {
				case snap <- s:
				default:
				}
			}
		}}.run()
		f := sum.Footer
		if f.Reason != tape.ReasonAbort || f.OK != 1 || f.Cancelled != 1 || f.Failed["http_status"] != 2 || f.NotIssued != 46 || f.TEnd != int64(12*time.Second) {
			t.Errorf("%+v", f)
		}
		for _, q := range requests {
			if q.Outcome == tape.OutcomeCancelled && q.TEnd.V != int64(12*time.Second) {
				t.Errorf("cancelled at %d", q.TEnd.V)
			}
		}
		close(snap)
		said := false
		for s := range snap {
			said = said || s.Draining && s.Stopped == tape.ReasonAbort && strings.Contains(s.Why, "2 requests failed")
		}
		if !said {
			t.Error("no snapshot tells of the abort")
		}
	})
}

// A context that is cancelled for any other reason is an interrupt with that
// reason.
func TestContextCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(2500*time.Millisecond, func() { cancel(fmt.Errorf("the lease ran out")) })
		sum, _, _ := rig{t: t, clk: clock.New(), handler: fixed(time.Second, nil), load: spec.Load{Requests: 50, Concurrency: 1}, ctx: ctx}.run()
		if f := sum.Footer; f.Reason != tape.ReasonInterrupted || f.Message != "the lease ran out" || f.OK != 3 || f.NotIssued != 47 {
			t.Errorf("%+v", f)
		}
	})
}

// All faults at once, tried again, abandoned by a share, stopped in the middle or
// not: the books close, and what the server saw are the attempts, each of them.
func TestFailuresAddUp(t *testing.T) {
	for _, stopAfter := range []time.Duration{0, 4 * time.Second} {
		t.Run(stopAfter.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clk := clock.New()
				o := simserver.Defaults()
				o.Keep, o.Seed, o.FaultAt = 10_000, 5, map[int]simserver.Fault{}
				for _, k := range simserver.Kinds {
					o.Faults = append(o.Faults, simserver.Fault{Kind: k.Kind, Share: 0.8 / float64(len(simserver.Kinds)), After: 2, For: 50 * time.Millisecond})
				}
				for i := range 20 { // a run whose first answer is a refusal is stopped, and rightly
					o.FaultAt[i] = simserver.Fault{Kind: simserver.FaultNone}
				}
				sim := simserver.NewWithClock(o, clk)
				defer sim.Close()
				stop := make(chan struct{})
				r := rig{t: t, clk: clk, handler: sim, output: 12, load: spec.Load{Requests: 400, Concurrency: 20, Warmup: 20, Attempts: 3},
					limits: exchange.Limits{FirstToken: 3 * time.Second, Idle: 3 * time.Second}}
				r.change = func(c *run.Config) {
					c.Stop, c.Drain = stop, time.Second
					c.Abandon = run.Abandon{Share: 0.1, When: exchange.Abandon{Tokens: 5}, Seed: 3}
					c.Retry = run.Retry{On: spec.RetryClasses, Initial: time.Second, Factor: 2, Max: 4 * time.Second, Jitter: 0.5, RetryAfter: true, Seed: 3}
				}
				if stopAfter > 0 {
					go func() {
						time.Sleep(stopAfter)
						stop <- struct{}{}
					}()
				}
				sum, requests, _ := r.run()
				f := sum.Footer
				count := map[string]int64{}
				sent := map[string]int{}
				for _, q := range requests {
					sent[q.ID] = q.Attempts
					if len(q.AttemptLog) != q.Attempts-1 {
						t.Errorf("request %d: %d attempts, %d logged", q.Seq, q.Attempts, len(q.AttemptLog))
					}
					for _, at := range q.AttemptLog {
						if !at.Outcome.Failed() || at.TEnd.V < at.TReleased.V || at.Wait < 5e8 || at.Wait > 4e9 {
							t.Errorf("request %d: %+v", q.Seq, at)
						}
					}
					if q.Phase == tape.PhaseMeasure {
						count[string(q.Outcome)]++
					}
				}
				if f.OK != count["ok"] || f.Abandoned != count["abandoned"] || f.Cancelled != count["cancelled"] {
					t.Errorf("%+v, on the tape %v", f, count)
				}
				failed := int64(0)
				for class, n := range f.Failed {
					failed += n
					if count[class] != n {
						t.Errorf("%s: %d, on the tape %d", class, n, count[class])
					}
				}
				if f.Planned != 400 || f.Planned != f.OK+failed+f.Cancelled+f.Abandoned+f.NotIssued || f.Abandoned == 0 || (f.NotIssued > 0) != (stopAfter > 0) {
					t.Errorf("%+v", f)
				}
				saw := map[string]int{}
				for _, x := range sim.Trace() {
					saw[x.ID]++
				}
				for id, n := range sent {
					if saw[id] != n {
						t.Errorf("request %s: %d attempts, the server saw %d", id, n, saw[id])
					}
				}
				if len(saw) != len(sent) {
					t.Errorf("the server saw %d requests, on the tape are %d", len(saw), len(sent))
				}
			})
		})
	}
}
