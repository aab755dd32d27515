package clock

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Clock counts nanoseconds since its epoch, which is the moment New was called
// unless Rebase moved it.
// It is safe for concurrent use.
type Clock struct {
	made    time.Time
	machine int64        // CLOCK_MONOTONIC when made
	shift   atomic.Int64 // epoch − made
	precise bool
	waiting atomic.Int64 // processor time, ns
}

// New starts a clock whose SleepUntil uses ordinary timers: about half a
// millisecond late on Linux, exact inside a testing/synctest bubble.
func New() *Clock { return newClock(false) }

// NewPrecise starts a clock whose SleepUntil ends with a nanosleep and a short
// spin: lateness of about a microsecond; with GOMAXPROCS=1 as New's. It must not be used
// inside a testing/synctest bubble, where nanosleep never returns.
func NewPrecise() *Clock { return newClock(true) }

func newClock(precise bool) *Clock {
	// Both clocks are to be read at one moment. The thread may lose its core in
	// between, so the closest of a few pairs is kept.
	c := &Clock{precise: precise}
	for i, closest := 0, int64(0); i < 8; i++ {
		before := machineNow()
		made := time.Now()
		if apart := machineNow() - before; i == 0 || apart < closest {
			c.made, c.machine, closest = made, before+apart/2, apart
		}
	}
	return c
}

func machineNow() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}

// Rebase moves the epoch to time t of this clock, so that t becomes 0. Stamps
// taken before do not fit those taken after: a run calls it once, before its
// first request.
func (c *Clock) Rebase(t int64) { c.shift.Add(t) }

// Now is the time since the epoch in nanoseconds, monotonic.
func (c *Clock) Now() int64 { return int64(time.Since(c.made)) - c.shift.Load() }

// Epoch is the wall time of the epoch (UTC) and the machine's CLOCK_MONOTONIC
// reading there, in nanoseconds. The second lets stamps of two processes on one
// machine be compared.
func (c *Clock) Epoch() (wall time.Time, machine int64) {
	shift := c.shift.Load()
	return c.made.Add(time.Duration(shift)).Round(0).UTC(), c.machine + shift
}

// Machine converts a time of this clock to the machine's CLOCK_MONOTONIC, both
// in nanoseconds.
func (c *Clock) Machine(t int64) int64 { return c.machine + c.shift.Load() + t }

// Wall is the present wall time in UTC: for names of folders and files, dates in
// chat templates, and dates that a server sends. No measured time may come from it.
func (c *Clock) Wall() time.Time { return time.Now().UTC() }

// Since is how long before now, in nanoseconds, a moment was that the kernel stamped
// by CLOCK_REALTIME, as it stamps packets. It is wrong by what the wall clock was set
// meanwhile, and below 0 where that was forward of now.
func (c *Clock) Since(realtime int64) int64 { return time.Now().UnixNano() - realtime }

// Timer is a running AfterFunc.
type Timer struct{ t *time.Timer }

// Stop ends the timer; it reports whether the function had not started yet.
func (t *Timer) Stop() bool { return t.t.Stop() }

// Reset lets the function run again d nanoseconds from now.
func (t *Timer) Reset(d int64) { t.t.Reset(time.Duration(d)) }

// AfterFunc runs f in its own goroutine d nanoseconds from now.
func (c *Clock) AfterFunc(d int64, f func()) *Timer {
	return &Timer{time.AfterFunc(time.Duration(d), f)}
}

// Margins of the precise sleep, from measurement on Linux: a runtime timer is
// late by up to about 1.7 ms. A nanosleep is late by 55 µs at the median with
// the kernel's default timer slack of 50 µs, by 7 µs (p90 under 30 µs on a busy
// machine) with a slack of 1 ns. The spin is a share of the wait, so that short
// waits one after the other do not burn a core: at most an eighth of it.
const (
	timerMargin = 2_500_000
	maxSpin     = 80_000
	minSpin     = 10_000
	spinShare   = 8
)

// SleepUntil returns at time t (nanoseconds since the epoch), at once when t
// has passed, or earlier with the context's cause when ctx is cancelled. In
// precise mode the last 2.5 ms cannot be cancelled.
func (c *Clock) SleepUntil(ctx context.Context, t int64) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	wait := t - c.Now()
	if wait <= 0 {
		return nil
	}
	// A nanosleep keeps its processor from the others: where there is one, from all.
	if !c.precise || runtime.GOMAXPROCS(0) == 1 {
		return sleepTimer(ctx, wait)
	}
	spin := min(max(wait/spinShare, minSpin), maxSpin)
	if wait > timerMargin {
		if err := sleepTimer(ctx, wait-timerMargin); err != nil {
			return err
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begun := ThreadCPU()
	sharp()
	for {
		wait = t - c.Now()
		switch {
		case wait <= 0:
			c.waiting.Add(ThreadCPU() - begun)
			return nil
		case wait > spin:
			ts := unix.NsecToTimespec(wait - spin)
			_ = unix.Nanosleep(&ts, nil) // a signal may cut it short: the loop goes on
		}
	}
}

// WaitCPU is the processor time that precise waits have taken so far, in nanoseconds:
// of their last 2.5 ms each, which is where they sleep by the kernel and spin.
func (c *Clock) WaitCPU() int64 { return c.waiting.Load() }

// ThreadCPU is the processor time that the calling thread has taken so far, user and
// system, in nanoseconds. Two readings belong together only on one thread: lock it in
// between. Time in which a virtual machine was given less than it thinks counts as taken.
func ThreadCPU() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return ts.Nano()
}

// sharp asks the kernel to wake this thread without slack. A thread that once slept so
// keeps it, which makes nothing worse.
func sharp() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// Lock binds the calling goroutine to its thread when the clock is precise, so that
// after a sleep it need not wait for one; the returned function undoes it. Call it
// on the same goroutine. What such a goroutine starts waits until another thread
// takes it up, so it is for those that do their work themselves: the simulated engine.
func (c *Clock) Lock() (unlock func()) {
	if !c.precise {
		return func() {}
	}
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

func sleepTimer(ctx context.Context, d int64) error {
	tm := time.NewTimer(time.Duration(d))
	defer tm.Stop()
	select {
	case <-tm.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Tick calls f every period nanoseconds, on absolute deadlines, until ctx is
// done. Ticks missed because f took too long are skipped, not made up; the later
// ones stay on the grid.
func (c *Clock) Tick(ctx context.Context, period int64, f func(now int64)) {
	next := c.Now() + period
	for {
		wait := next - c.Now()
		if wait > 0 && sleepTimer(ctx, wait) != nil || ctx.Err() != nil {
			return
		}
		f(c.Now())
		next += period
		if late := c.Now() - next; late >= 0 {
			next += (late/period + 1) * period
		}
	}
}
