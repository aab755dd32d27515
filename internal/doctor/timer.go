package doctor

import (
	"context"
	"slices"
	"time"

	"tokentape/internal/clock"
)

// Lateness are quantiles of how much later than asked a wait ended.
type Lateness struct {
	P50, P99, Max time.Duration
	N             int
}

// Late waits n times until gap later and tells how late each wait ended. With a precise
// clock it holds its thread, as the pacer does.
func Late(ctx context.Context, clk *clock.Clock, n int, gap time.Duration) (Lateness, error) {
	defer clk.Lock()()
	late := make([]int64, 0, n)
	for range n {
		due := clk.Now() + int64(gap)
		if err := clk.SleepUntil(ctx, due); err != nil {
			return Lateness{}, err
		}
		late = append(late, max(clk.Now()-due, 0))
	}
	return lateness(late), nil
}

func lateness(ns []int64) Lateness {
	if len(ns) == 0 {
		return Lateness{}
	}
	slices.Sort(ns)
	at := func(q int) time.Duration { return time.Duration(ns[(len(ns)-1)*q/100]) }
	return Lateness{at(50), at(99), at(100), len(ns)}
}

// ClockCost is how long one reading of the clock takes, the least of a few looks.
func ClockCost(clk *clock.Clock) time.Duration {
	const readings = 20_000
	best := time.Hour
	for range 5 {
		begin := clk.Now()
		for range readings {
			clk.Now()
		}
		best = min(best, time.Duration((clk.Now()-begin)/readings))
	}
	return best
}
