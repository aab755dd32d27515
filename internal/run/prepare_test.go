package run_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/clock"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// Five prompts two at a time, 100 ms each: the plan's time begins 2 ms after the
// last has ended, with every due time as far from it as planned.
func TestPreparation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var flushed atomic.Int64
		clk := clock.New()
		sum, requests, all := rig{t: t, clk: clk, handler: fixed(100*time.Millisecond, nil),
			load: spec.Load{Requests: 4, Warmup: 1, Rate: 10, Duration: spec.Duration(450 * time.Millisecond)},
			change: func(c *run.Config) {
				c.Prepare = run.Prepare{Source: questions{n: 9}, Rows: 5, Concurrency: 2, Output: 1,
					Flush: []run.Flush{{URL: "http://sim/flush", Do: func(context.Context) (int, error) {
						time.Sleep(50 * time.Millisecond)
						flushed.Store(clk.Now())
						return 204, nil
					}}}}
			}}.run()
		f := sum.Footer
		if f.OK != 4 || f.Planned != 4 || f.Preparation != 6 || f.Warmup != tape.Some(int64(1)) || f.Tail != tape.Some(int64(0)) || f.NotIssued != 0 || f.Reason != tape.ReasonCompleted {
			t.Fatalf("%+v", f)
		}
		begin := flushed.Load()
		want := tape.Call{Type: "call", What: tape.CallFlush, Phase: tape.PhasePrepare, Method: "POST", URL: "http://sim/flush", T: 0, TEnd: begin, Status: tape.Some(int64(204)), OK: true}
		if got := calls(all); len(got) != 1 || got[0] != want {
			t.Errorf("calls %+v, want %+v", got, want)
		}
		base := begin + 300_000_000 + lead
		for _, q := range requests {
			if i := q.Seq - tape.PrepareSeq; i >= 0 {
				at := begin + i/2*100_000_000
				if q.Phase != tape.PhasePrepare || q.TReleased.V != at || q.TDue.OK || q.Asked.Output != tape.Some(int64(1)) || q.Ref.Row != i {
					t.Errorf("preparation %d: %+v", i, q)
				}
				continue
			}
			if want := base + q.Seq*100_000_000; q.TDue.V != want || q.TReleased.V != want || q.TReady.V != want {
				t.Errorf("request %d: due %d, ready %d, released %d, want %d", q.Seq, q.TDue.V, q.TReady.V, q.TReleased.V, want)
			}
		}
	})
}

// calls are the calls beside the load.
func calls(all []tape.Record) (out []tape.Call) {
	for _, r := range all {
		if c, ok := r.(*tape.Call); ok {
			out = append(out, *c)
		}
	}
	return out
}

// What the cache is expected to serve is on each line of the plan's rows, and on
// none of the preparation or of later turns.
func TestExpectedCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := talks{2, 2, 1}
		_, requests, _ := rig{t: t, clk: clock.New(), handler: &sayer{d: time.Second}, source: s, data: s.data(),
			load: spec.Load{Sessions: 2, Warmup: 1, SessionConcurrency: 1},
			change: func(c *run.Config) {
				c.Cached = func(r workload.Ref) (int64, bool) { return 100 + r.Row, r.Row != 1 }
				c.Prepare = run.Prepare{Source: questions{n: 1}, Rows: 1, Concurrency: 1, Output: 1}
			}}.run()
		for _, q := range requests {
			want := tape.Opt[int64]{}
			if q.Phase != tape.PhasePrepare && q.Turn == 0 && q.Ref.Row != 1 {
				want = tape.Some(100 + q.Ref.Row)
			}
			if q.Asked.Cached != want {
				t.Errorf("request %d, row %d turn %d: %v, want %v", q.Seq, q.Ref.Row, q.Turn, q.Asked.Cached, want)
			}
		}
		if len(requests) != 6 {
			t.Errorf("%d requests", len(requests))
		}
	})
}

// A closed loop with a ramp begins after the preparation, too.
func TestPreparationBeforeARamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, requests, _ := rig{t: t, clk: clock.New(), handler: fixed(time.Second, nil),
			load: spec.Load{Requests: 3, Concurrency: 3, Stagger: spec.Duration(100 * time.Millisecond)},
			change: func(c *run.Config) {
				c.Prepare = run.Prepare{Source: questions{n: 1}, Rows: 1, Concurrency: 1, Output: 1}
			}}.run()
		for _, q := range requests {
			want := 1_000_000_000 + lead + q.Seq*100_000_000
			if q.Phase == tape.PhasePrepare {
				want = 0
			}
			if q.TReady.V != want || q.TReleased.V != want {
				t.Errorf("request %d: ready %d, released %d, want %d", q.Seq, q.TReady.V, q.TReleased.V, want)
			}
		}
	})
}

// What fails before the load ends the run: nothing of the plan is sent.
func TestPreparationFails(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare  run.Prepare
		sent     int
		fail     map[int]bool
		messages string
	}{
		"flush":  {run.Prepare{Flush: []run.Flush{{Do: func(context.Context) (int, error) { return 200, nil }}, {Do: func(context.Context) (int, error) { return 404, errors.New("no such path") }}}, Source: questions{n: 3}, Rows: 3, Concurrency: 1, Output: 1}, 0, nil, "prepare.flush: no such path"},
		"prompt": {run.Prepare{Source: questions{n: 3}, Rows: 3, Concurrency: 1, Output: 1}, 2, map[int]bool{1: true}, "row 1 of the preparation: http_status"},
	} {
		synctest.Test(t, func(t *testing.T) {
			sum, requests, all := rig{t: t, clk: clock.New(), handler: &sayer{d: time.Second, fail: tt.fail}, load: spec.Load{Requests: 4, Concurrency: 1},
				change: func(c *run.Config) { c.Prepare = tt.prepare }}.run()
			f := sum.Footer
			if f.Reason != tape.ReasonPrepare || f.NotIssued != 4 || len(requests) != tt.sent || int(f.Preparation) != tt.sent || !strings.Contains(f.Message, tt.messages) {
				t.Errorf("%s: %+v, %d requests", name, f, len(requests))
			}
			if got := calls(all); name == "flush" && (len(got) != 2 || !got[0].OK || got[1].OK || got[1].Message != "no such path" || got[1].Status != tape.Some(int64(404))) {
				t.Errorf("calls %+v", got)
			}
		})
	}
}

// An interrupt ends a preparation, and nothing else is sent.
func TestInterruptInPreparation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		go func() { time.Sleep(1500 * time.Millisecond); stop <- struct{}{} }()
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: &sayer{d: time.Second}, load: spec.Load{Requests: 4, Concurrency: 1},
			change: func(c *run.Config) {
				c.Stop, c.Prepare = stop, run.Prepare{Source: questions{n: 30}, Rows: 30, Concurrency: 1, Output: 1}
			}}.run()
		if f := sum.Footer; f.Reason != tape.ReasonInterrupted || f.NotIssued != 4 || len(requests) != 2 {
			t.Errorf("%+v, %d requests", f, len(requests))
		}
	})
}
