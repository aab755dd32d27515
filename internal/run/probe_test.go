package run_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/clock"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/tape"
)

// probed is a probe of n requests of 100 ms, ending with err.
func probed(clk *clock.Clock, n int64, outcome tape.Outcome, err error) run.Probe {
	return func(ctx context.Context, book func(*tape.Request), emit func(tape.Record)) error {
		for i := range n {
			t := clk.Now()
			time.Sleep(100 * time.Millisecond)
			book(&tape.Request{Type: "request", Seq: tape.ProbeSeq + i, Phase: tape.PhaseProbe, Outcome: outcome, Attempts: 1,
				TReleased: tape.Some(t), TEnd: tape.Some(clk.Now())})
		}
		emit(&tape.Capabilities{Usage: tape.UsageEnd, By: []string{"probe-0"}})
		return err
	}
}

// A probe goes before preparation and load, is counted as preparation, and the
// plan's time begins after it. Steps of the preflight have times before 0.
func TestProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := clock.New()
		time.Sleep(time.Second)
		sum, requests, all := rig{t: t, clk: clk, handler: fixed(100*time.Millisecond, nil), load: spec.Load{Requests: 2, Rate: 10},
			change: func(c *run.Config) {
				c.Before = []tape.Step{{Name: "models", T: tape.Some(clk.Now() - int64(400*time.Millisecond)), Took: tape.Some(int64(5)), Result: tape.StepOK}, {Name: "tls", Result: tape.StepNone}}
				c.Probe = probed(clk, 2, tape.OutcomeOK, nil)
				c.Prepare = run.Prepare{Source: questions{n: 1}, Rows: 1, Concurrency: 1, Output: 1}
			}}.run()
		f := sum.Footer
		if f.Reason != tape.ReasonCompleted || f.OK != 2 || f.Preparation != 3 || f.Warmup.V != 0 || f.Tail.V != 0 {
			t.Fatalf("%+v", f)
		}
		for _, q := range requests {
			want := map[tape.Phase]int64{
				tape.PhaseProbe: (q.Seq - tape.ProbeSeq) * 100_000_000, tape.PhasePrepare: 200_000_000,
				tape.PhaseMeasure: 300_000_000 + lead + q.Seq*100_000_000,
			}[q.Phase]
			if q.TReleased.V != want {
				t.Errorf("%s %d was released at %d, want %d", q.Phase, q.Seq, q.TReleased.V, want)
			}
		}
		var steps []*tape.Step
		caps := 0
		for _, r := range all {
			switch r := r.(type) {
			case *tape.Step:
				steps = append(steps, r)
			case *tape.Capabilities:
				caps++
			}
		}
		if len(steps) != 2 || steps[0].T.V != -400_000_000-lead || steps[1].T.OK || caps != 1 {
			t.Errorf("%d capabilities, steps %+v", caps, steps)
		}
	})
}

// One that fails ends the run before anything else is sent; what it found out stands
// on the tape.
func TestProbeFails(t *testing.T) {
	for _, outcome := range []tape.Outcome{tape.OutcomeServer, tape.OutcomeNotStream} {
		synctest.Test(t, func(t *testing.T) {
			clk := clock.New()
			sum, requests, all := rig{t: t, clk: clk, handler: fixed(0, nil), load: spec.Load{Requests: 3, Warmup: 1, Concurrency: 1},
				change: func(c *run.Config) {
					c.Probe = probed(clk, 1, outcome, errors.New("no good"))
					c.Prepare = run.Prepare{Source: questions{n: 1}, Rows: 1, Concurrency: 1, Output: 1}
				}}.run()
			want := tape.ReasonProbe
			if outcome == tape.OutcomeNotStream { // every further request would be answered so
				want = tape.ReasonRefused
			}
			if f := sum.Footer; f.Reason != want || f.Preparation != 1 || f.NotIssued != 3 || len(requests) != 1 || sum.FirstFailure == nil {
				t.Errorf("%+v, %d requests", f, len(requests))
			}
			found := false
			for _, r := range all {
				_, ok := r.(*tape.Capabilities)
				found = found || ok
			}
			if !found {
				t.Error("what was found out is lost")
			}
		})
	}
}

// The first interrupt ends a probe, and nothing is sent after it.
func TestProbeInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk, stop := clock.New(), make(chan struct{}, 2)
		sum, requests, _ := rig{t: t, clk: clk, handler: fixed(0, nil), load: spec.Load{Requests: 3, Concurrency: 1},
			change: func(c *run.Config) {
				c.Stop = stop
				c.Probe = func(ctx context.Context, _ func(*tape.Request), _ func(tape.Record)) error {
					stop <- struct{}{}
					<-ctx.Done()
					return context.Cause(ctx)
				}
			}}.run()
		if f := sum.Footer; f.Reason != tape.ReasonInterrupted || f.NotIssued != 3 || len(requests) != 0 {
			t.Errorf("%+v, %d requests", f, len(requests))
		}
	})
}
