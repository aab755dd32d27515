package exchange

import (
	"context"
	"errors"
	"fmt"
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
// atomic store: the timer of the idle limit looks, when it fires, at when the
// last bytes came, and sleeps again for what is left.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	clock  *clock.Clock
	limits Limits
	leave  Abandon
	start  int64
	last   atomic.Int64 // stamp of the last read; 0: none yet

	mu      sync.Mutex
	first   *clock.Timer
	idle    *clock.Timer
	total   *clock.Timer
	away    *clock.Timer // of leave.After
	rest    *clock.Timer // of restTime; nil: some choice goes on
	stopped bool
}

func newWatch(ctx context.Context, clk *clock.Clock, limits Limits, leave Abandon) *watch {
	w := &watch{clock: clk, limits: limits, leave: leave, start: clk.Now()}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	if d := limits.FirstToken; d > 0 {
		w.first = clk.AfterFunc(int64(d), func() { w.fire(LimitFirstToken, d) })
	}
	if d := limits.Total; d > 0 {
		w.total = clk.AfterFunc(int64(d), func() { w.fire(LimitTotal, d) })
	}
	if d := leave.After; d > 0 {
		w.away = clk.AfterFunc(int64(d), func() {
			w.cancel(&abandonError{AbandonAfter, "load.abandon: closed " + d.String() + " after the release"})
		})
	}
	return w
}

func (w *watch) fire(name string, limit time.Duration) {
	w.cancel(&limitError{name, limit, time.Duration(w.clock.Now() - w.start)})
}

// alive notes that bytes came at t.
func (w *watch) alive(t int64) {
	begun := w.last.Swap(t) != 0
	if begun || w.limits.Idle <= 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = w.clock.AfterFunc(int64(w.limits.Idle), w.silent)
}

func (w *watch) silent() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	if left := int64(w.limits.Idle) - (w.clock.Now() - w.last.Load()); left > 0 {
		w.idle.Reset(left)
		return
	}
	w.fire(LimitIdle, w.limits.Idle)
}

// token ends the first-token limit.
func (w *watch) token() {
	if w.first != nil {
		w.first.Stop()
		w.first = nil
	}
}

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
	for _, t := range []*clock.Timer{w.first, w.idle, w.total, w.away, w.rest} {
		if t != nil {
			t.Stop()
		}
	}
	w.cancel(nil)
}
