package exchange

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"tokentape/internal/clock"
)

// Names of the limits, the cause of a timeout.
const (
	LimitConnect    = "connect"
	LimitFirstToken = "first_token"
	LimitIdle       = "idle"
	LimitTotal      = "total"
)

// limitError is the cause with which a limit cancels its request.
type limitError struct {
	name  string
	limit time.Duration
	after time.Duration // since the start of the attempt
}

func (e *limitError) Error() string {
	var what string
	switch e.name {
	case LimitFirstToken:
		what = "no token came within %s"
	case LimitIdle:
		what = "the stream was silent for %s"
	default:
		what = "the answer was not complete after %s"
	}
	s := fmt.Sprintf("limits.%s: "+what, e.name, e.limit)
	if e.after != e.limit {
		s += fmt.Sprintf(" (%s after the release)", e.after.Round(time.Millisecond))
	}
	return s
}

// restTime is how long the rest of a stream (usage, [DONE], its end) is waited
// for once every choice has given its finish reason, in ns. Comments do not
// extend it.
const restTime = 10_000_000_000

var errRest = errors.New("the stream did not end in time behind its last finish reason")

// watch cancels an attempt when one of its limits is reached. An event costs one
// atomic store, and an ordinary attempt one timer: when it fires it looks which limit
// is due, at when the last bytes came, and sleeps again for what is left.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	clock  *clock.Clock
	limits Limits
	leave  Abandon
	start  int64
	last   atomic.Int64 // stamp of the last read; silent: none yet
	spoke  atomic.Bool  // the first token came

	mu      sync.Mutex
	timer   *clock.Timer // nil: no limits
	rest    *clock.Timer // of restTime; nil: some choice goes on
	stopped bool
}

func newWatch(ctx context.Context, clk *clock.Clock, limits Limits, leave Abandon) *watch {
	w := &watch{clock: clk, limits: limits, leave: leave, start: clk.Now()}
	w.last.Store(silent)
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	if limits.FirstToken > 0 || limits.Total > 0 || leave.After > 0 {
		w.arm(w.start)
	}
	return w
}

func (w *watch) arm(now int64) {
	w.mu.Lock() // it may fire before it is known
	defer w.mu.Unlock()
	wait, _ := w.due(now)
	w.timer = w.clock.AfterFunc(wait, w.look)
}

const (
	never  = math.MaxInt64
	silent = math.MinInt64
)

// due is how long no limit will be reached from now on, never where none can be, or the
// limit that is reached.
func (w *watch) due(now int64) (wait int64, why error) {
	begun := w.last.Load()
	if begun == silent { // silence begins with the first bytes, which may come at once
		begun = now
	}
	bounds := [...]struct {
		name string
		of   time.Duration
		from int64
	}{
		{LimitFirstToken, w.limits.FirstToken, w.start},
		{LimitTotal, w.limits.Total, w.start},
		{LimitIdle, w.limits.Idle, begun},
		{AbandonAfter, w.leave.After, w.start},
	}
	wait = never
	for _, b := range bounds {
		left := b.from + int64(b.of) - now
		if b.of <= 0 || left >= wait || b.name == LimitFirstToken && w.spoke.Load() {
			continue
		}
		switch wait, why = left, nil; { // the first one to be due
		case left > 0:
		case b.name == AbandonAfter:
			why = &abandonError{AbandonAfter, "load.abandon: closed " + b.of.String() + " after the release"}
		default:
			why = &limitError{b.name, b.of, time.Duration(now - w.start)}
		}
	}
	return wait, why
}

// look is what the timer does.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	if wait, why := w.due(w.clock.Now()); why != nil {
		w.cancel(why)
	} else if wait < never { // else the only limit was met
		w.timer.Reset(wait)
	}
}

// alive notes that bytes came at t.
func (w *watch) alive(t int64) {
	if w.last.Swap(t) == silent && w.timer == nil && w.limits.Idle > 0 { // the only limit, which waits for the first bytes
		w.arm(t)
	}
}

// token ends the first-token limit.
func (w *watch) token() { w.spoke.Store(true) }

// over says after each read whether every choice has ended by now.
func (w *watch) over(now bool) {
	switch {
	case now && w.rest == nil:
		w.rest = w.clock.AfterFunc(restTime, func() { w.cancel(errRest) })
	case !now && w.rest != nil: // another choice began
		w.rest.Stop()
		w.rest = nil
	}
}

// stop ends all limits; it must be called when the attempt is over.
func (w *watch) stop() {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	for _, t := range []*clock.Timer{w.timer, w.rest} {
		if t != nil {
			t.Stop()
		}
	}
	w.cancel(nil)
}
