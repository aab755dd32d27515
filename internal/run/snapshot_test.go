package run_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/clock"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/tape"
)

// Snapshots know when the plan's time begins, what went out before it and what of the
// warm-up has ended; and of each request of the plan and the preparation a copy can be
// made, with all its counts, once its slot is free.
func TestSnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shots []run.Snapshot
		var written, free atomic.Int64
		clk := clock.New()
		sum, requests, _ := rig{t: t, clk: clk, handler: fixed(150*time.Millisecond, nil),
			load: spec.Load{Requests: 3, Warmup: 2, Rate: 5, Concurrency: 1},
			change: func(c *run.Config) {
				c.Prepare = run.Prepare{Source: questions{n: 9}, Rows: 2, Concurrency: 1, Output: 1}
				c.Publish = func(s run.Snapshot) { shots = append(shots, s) }
				c.Ended = func(run.Ended) { free.Add(1) }
				c.Written = func(q *tape.Request) {
					if written.Add(1); !q.TEnd.OK || !q.Tokens.Output.OK || free.Load() < written.Load() {
						t.Errorf("told too early of request %d: %+v", q.Seq, q)
					}
				}
			}}.run()
		if n := int64(len(requests)); sum.Footer.OK != 3 || n != 7 || written.Load() != n {
			t.Fatalf("%+v: %d requests, told of %d", sum.Footer, len(requests), written.Load())
		}
		begun := tape.Some(300_000_000 + lead) // two of 150 ms
		for _, s := range shots {
			switch {
			case s.T < 300_000_000 && (s.Begun.OK || s.Before != 0 || s.Measured != 0):
				t.Errorf("before the plan's time: %+v", s)
			case s.T > begun.V && (s.Begun != begun || s.Before != 2):
				t.Errorf("in the plan's time: %+v", s)
			case s.T > begun.V+160_000_000 && s.T < begun.V+200_000_000 && (s.Warmed != 1 || s.Prepared != 3 || s.Issued != 3):
				t.Errorf("after the first warm-up: %+v", s)
			}
		}
		if last := shots[len(shots)-1]; !last.Final || last.Warmed != 2 || last.Issued != 7 || last.OK != 3 || last.InFlight != 0 {
			t.Errorf("%+v", last)
		}
	})
}
