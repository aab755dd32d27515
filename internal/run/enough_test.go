package run_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/clock"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/tape"
)

// TestEnough: nothing more is issued, and what runs ends as it would, however long after
// the drain of an interrupt would have cut it.
func TestEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		enough := make(chan string, 1)
		go func() {
			time.Sleep(2500 * time.Millisecond)
			enough <- "narrow"
		}()
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: fixed(time.Second, map[int64]time.Duration{3: time.Minute}),
			load: spec.Load{Duration: spec.Duration(time.Hour), Concurrency: 2}, change: func(c *run.Config) { c.Enough = enough }}.run()
		f := sum.Footer
		// Two lanes: 0, 1, 2, 4 a second each, number 3 a minute: five were issued by then.
		if f.Reason != tape.ReasonEnough || f.Message != "narrow" || f.OK != 5 || f.Cancelled != 0 || f.NotIssued != 0 || len(requests) != 5 {
			t.Errorf("%+v, %d requests", f, len(requests))
		}
	})
}

// What comes too late changes nothing.
func TestEnoughTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		enough := make(chan string, 1)
		go func() {
			time.Sleep(1500 * time.Millisecond)
			enough <- "late"
		}()
		sum, _, _ := rig{t: t, clk: clock.New(), handler: fixed(2*time.Second, nil),
			load: spec.Load{Requests: 2, Concurrency: 2}, change: func(c *run.Config) { c.Enough = enough }}.run()
		if f := sum.Footer; f.Reason != tape.ReasonCompleted || f.OK != 2 {
			t.Errorf("%+v", f)
		}
	})
}
