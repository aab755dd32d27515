package analysis

import (
	"fmt"
	"testing"

	"tokentape/tape"
)

// talk is a tape of three sessions of two turns, begun at 1/s when open; the second
// turns are due at 5 s and wait w ms for a slot.
func talk(open bool, w int64) *script {
	s := &script{reason: tape.ReasonCompleted, plan: 6, spec: `{"load":{"sessions":3,"session_concurrency":3}}`}
	if open {
		s.spec = `{"load":{"sessions":3,"rate":1}}`
	}
	for i := range int64(6) {
		at := i / 2 * 1000 * msec
		if i%2 == 1 {
			at = (5000 + w) * msec
		}
		q := ok(i, at, every(8, 100*msec, 10*msec)...)
		q.Session, q.Turn = tape.Some(fmt.Sprint("s", i/2)), int(i%2)
		q.TReady = tape.Some(at)
		if q.Turn == 1 {
			q.TDue = tape.Some(5000 * msec)
		} else if open {
			q.TDue = tape.Some(at)
		}
		s.reqs = append(s.reqs, q)
	}
	return s
}

// Later turns of sessions have due times and slot waits in every loop, but no
// rate: that of sessions is neither lowered nor made up by them.
func TestLaterTurns(t *testing.T) {
	l := talk(true, 40).analyse(t, Options{}).Load
	if l.Loop != "partly open" {
		t.Errorf("loop %s", l.Loop)
	}
	want(t, "planned rate", l.RatePlanned, 6, "1.000000")
	want(t, "achieved rate", l.RateAchieved, 6, "1.000000")
	want(t, "share that waited", l.SlotWaitShare, 6, "0.500000")
	want(t, "mean wait", l.SlotWaitMeanMS, 6, "40.000000")

	res := talk(false, 40).analyse(t, Options{})
	if l = res.Load; l.Loop != "closed" || l.RatePlanned != nil {
		t.Errorf("loop %s, planned rate %v", l.Loop, l.RatePlanned)
	}
	if c := check(t, res, "offered_rate"); c.Result != ResultNone {
		t.Errorf("offered_rate in a closed loop: %s %s", c.Result, c.Why)
	}
	want(t, "share of later turns that waited", l.SlotWaitShare, 6, "1.000000")
}
