package pace

import (
	"context"

	"tokentape/internal/clock"
)

// Pacer waits for due times.
type Pacer struct{ clock *clock.Clock }

// New makes a pacer of clk's times.
func New(clk *clock.Clock) *Pacer { return &Pacer{clk} }

// Wait returns at due, in nanoseconds of the clock, or at once when due has
// passed. woke is the time of the return, never before due unless err is set:
// the cause of ctx, when it is done. woke − due is the pacer's own lateness, as
// long as nothing else kept the caller from calling in time.
func (p *Pacer) Wait(ctx context.Context, due int64) (woke int64, err error) {
	err = p.clock.SleepUntil(ctx, due)
	return p.clock.Now(), err
}
