package run_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/clock"
	"tokentape/internal/observe"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/tape"
)

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
