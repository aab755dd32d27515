package run_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/clock"
	"tokentape/internal/exchange"
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
			http.Error(w, body, http.StatusTooManyRequests)
		case first && id == "test-8":
			w.Header().Set("Retry-After", time.Now().UTC().Add(3*time.Second).Format(http.TimeFormat))
			http.Error(w, body, http.StatusTooManyRequests)
		case first && id == "test-9":
			http.Error(w, "upstream connect error", http.StatusServiceUnavailable)
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
			if (at.Status == http.StatusTooManyRequests) != at.RetryAfter.OK || (at.Cause == exchange.CauseRateLimit) != (at.Status == 429) || q.RetryAfter.OK {
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
					http.Error(w, "busy", http.StatusServiceUnavailable)
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
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "busy", http.StatusServiceUnavailable) })
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
			http.Error(w, "busy", http.StatusServiceUnavailable)
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
				http.Error(w, "busy", http.StatusServiceUnavailable)
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
