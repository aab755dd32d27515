package exchange

import (
	"errors"
	"testing"
	"time"
)

// A timer may look when several limits are over: the one that was due first holds.
func TestDueIsTheFirst(t *testing.T) {
	const ms = int64(time.Millisecond)
	limits := Limits{FirstToken: 30 * time.Millisecond, Total: 50 * time.Millisecond, Idle: 10 * time.Millisecond}
	leave := Abandon{After: 40 * time.Millisecond}
	for _, c := range []struct {
		name  string
		now   int64
		last  int64 // silent: no bytes came
		spoke bool
		want  string
		wait  int64
	}{
		{"silent from the start: looks again in time for bytes that come at once", 5 * ms, silent, false, "", 10 * ms},
		{"bytes came", 25 * ms, 20 * ms, false, "", 5 * ms},
		{"no token yet", 30 * ms, 25 * ms, false, LimitFirstToken, 0},
		{"a token came", 32 * ms, 31 * ms, true, "", 8 * ms},
		{"silence", 35 * ms, 25 * ms, true, LimitIdle, 0},
		{"silence before the end", 60 * ms, 25 * ms, true, LimitIdle, -25 * ms},
		{"abandoned before the end", 60 * ms, 55 * ms, true, AbandonAfter, -20 * ms},
		{"a token too late for all others", 60 * ms, 55 * ms, false, LimitFirstToken, -30 * ms},
	} {
		w := &watch{limits: limits, leave: leave}
		w.last.Store(c.last)
		w.spoke.Store(c.spoke)
		wait, why := w.due(c.now)
		var limit *limitError
		var abandon *abandonError
		name := ""
		switch {
		case errors.As(why, &limit):
			name = limit.name
		case errors.As(why, &abandon):
			name = abandon.rule
		}
		if name != c.want || wait != c.wait {
			t.Errorf("%s: %q after %d, want %q after %d", c.name, name, wait, c.want, c.wait)
		}
	}
	if wait, why := (&watch{}).due(ms); wait != never || why != nil {
		t.Errorf("no limits: %d, %v", wait, why)
	}
}
