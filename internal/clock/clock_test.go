package clock

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

const ms = int64(time.Millisecond)

func TestSleepUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		for _, at := range []int64{5, 1_000_001, 999, 3_600_000_000_007} {
			want := max(at, c.Now())
			if err := c.SleepUntil(t.Context(), at); err != nil || c.Now() != want {
				t.Errorf("until %d: now %d, %v", at, c.Now(), err)
			}
		}
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		from := c.Now()
		c.AfterFunc(7*ms, func() { cancel(why) })
		if err := c.SleepUntil(ctx, from+time.Hour.Nanoseconds()); err != why || c.Now() != from+7*ms {
			t.Errorf("cancelled: %v after %d", err, c.Now()-from)
		}
		if err := c.SleepUntil(ctx, 0); err != why {
			t.Errorf("done context, time passed: %v", err)
		}
	})
}

func TestTickStaysOnTheGrid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		ctx, cancel := context.WithCancel(t.Context())
		var got []int64
		c.Tick(ctx, 10*ms, func(now int64) {
			got = append(got, now/ms)
			switch len(got) {
			case 2:
				time.Sleep(25 * time.Millisecond) // until 45
			case 3:
				time.Sleep(10 * time.Millisecond) // just reaches 60, which is missed
			case 5:
				cancel()
			}
		})
		if want := []int64{10, 20, 50, 70, 80}; !slices.Equal(got, want) {
			t.Errorf("ticks at %v, want %v", got, want)
		}
	})
}

// Never early, on real time, in both modes; and soon.
func TestNeverEarly(t *testing.T) {
	for name, c := range map[string]*Clock{"timer": New(), "precise": NewPrecise()} {
		t.Run(name, func(t *testing.T) {
			defer c.Lock()()
			for _, wait := range []int64{1, 10_000, 79_000, 200_000, 2 * ms, 4 * ms} {
				due := c.Now() + wait
				if err := c.SleepUntil(t.Context(), due); err != nil || c.Now() < due {
					t.Errorf("%d ns: early by %d, %v", wait, due-c.Now(), err)
				}
			}
			if took := c.WaitCPU(); (took > 0) != (name == "precise") || took > c.Now() {
				t.Errorf("the waits took %d ns of processor time in %d", took, c.Now())
			}
		})
	}
}

// Two clocks of one process agree on the machine's clock.
func TestMachine(t *testing.T) {
	a, b := New(), NewPrecise()
	before := machineNow()
	ta, tb := a.Machine(a.Now()), b.Machine(b.Now())
	after := machineNow()
	const slack = 20_000 // ns: how far apart the two readings at the epoch may be
	for _, at := range []int64{ta, tb} {
		if at < before-slack || at > after+slack {
			t.Errorf("%d is not within %d and %d", at, before, after)
		}
	}
	if wall, machine := a.Epoch(); wall.Location() != time.UTC || machine != a.Machine(0) {
		t.Errorf("epoch %v, %d", wall, machine)
	}
}

func TestRebase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		wall, machine := c.Epoch()
		time.Sleep(time.Second)
		c.Rebase(3 * ms)
		if c.Now() != 997*ms {
			t.Errorf("now %d", c.Now())
		}
		if w, m := c.Epoch(); w.Sub(wall) != 3*time.Millisecond || m-machine != 3*ms || c.Machine(0) != m {
			t.Errorf("epoch moved by %v, %d", w.Sub(wall), m-machine)
		}
		if err := c.SleepUntil(t.Context(), 2000*ms); err != nil || c.Now() != 2000*ms {
			t.Errorf("now %d, %v", c.Now(), err)
		}
	})
}
