// Package clock is the only room that reads the clock.
//
// In: nothing but the machine's monotonic clock. Out: integer nanoseconds since
// a run's epoch, sleeps until an absolute time, and timers. It must never be
// asked for a relative sleep on a schedule (lateness would add up), and no other
// room may call time.Now, time.Sleep or a timer of package time: archtest
// proves that.
package clock
