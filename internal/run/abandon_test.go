package run_test

import (
	"net/http"
	"slices"
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
