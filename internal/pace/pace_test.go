package pace_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/clock"
	"tokentape/internal/pace"
)

// Due times are hit to the nanosecond, and a late row does not delay the next.
func TestWaitExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(clock.New())
		for i := range int64(10_000) {
			due := i * 1_234_567
			if i%100 == 99 {
				time.Sleep(2_000_000) // the caller is held up: this row is late, the next is not
				if woke, _ := p.Wait(t.Context(), due); woke != due-1_234_567+2_000_000 {
					t.Fatalf("row %d, late: woke %d", i, woke)
				}
				continue
			}
			if woke, err := p.Wait(t.Context(), due); woke != due || err != nil {
				t.Fatalf("row %d: woke %d, due %d, %v", i, woke, due, err)
			}
		}
	})
}

func TestWaitCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(clock.New())
		why := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		if woke, err := p.Wait(ctx, time.Hour.Nanoseconds()); err != why || woke != time.Second.Nanoseconds() {
			t.Errorf("woke %d, %v", woke, err)
		}
	})
}

// BenchmarkLateness waits for 1,000 due times a second on a precise clock.
func BenchmarkLateness(b *testing.B) {
	clk := clock.NewPrecise()
	p := pace.New(clk)
	var late []int64
	due := clk.Now()
	for b.Loop() {
		due += 1_000_000
		woke, err := p.Wait(b.Context(), due)
		if err != nil || woke < due {
			b.Fatalf("woke %d, due %d, %v", woke, due, err)
		}
		late = append(late, woke-due)
	}
	slices.Sort(late)
	for name, q := range map[string]int{"p50-ns": 500, "p99-ns": 990, "p99.9-ns": 999} {
		b.ReportMetric(float64(late[len(late)*q/1000]), name)
	}
}
