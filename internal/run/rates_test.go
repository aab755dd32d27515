package run_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/clock"
	"tokentape/internal/spec"
)

// Stages of rates: every row of the plan goes out when it is due, and ends well, the
// last of the last stage too.
func TestRateStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ms := func(n int) spec.Duration { return spec.Duration(time.Duration(n) * time.Millisecond) }
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: fixed(time.Millisecond, nil),
			load: spec.Load{Stages: []spec.Stage{{Rate: 10, Duration: ms(500)}, {Rate: 50, Duration: ms(200)}}}}.run()
		if f := sum.Footer; f.Planned != 15 || f.OK != 15 || f.NotIssued != 0 {
			t.Errorf("%+v", f)
		}
		for i, q := range requests {
			due := int64(i) * 100e6
			if i >= 5 {
				due = 500e6 + int64(i-5)*20e6
			}
			if q.TDue.V != due || q.TReleased.V != due {
				t.Errorf("request %d: due %d, released %d, want %d", i, q.TDue.V, q.TReleased.V, due)
			}
		}
	})
}
