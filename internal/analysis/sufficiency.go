package analysis

import (
	"fmt"

	"tokentape/internal/analysis/window"
)

// sufficiency warns of windows too small to confirm a steady state.
func (r *run) sufficiency(w window.Interval, out *Window, o Options) {
	span := float64(w.To-w.From) / 1e9
	if out.Requests < o.MinRequests || span < o.MinSeconds {
		out.Warnings = append(out.Warnings, fmt.Sprintf("too small to confirm a steady state: %d requests of %d, %.1f s of %.0f s (a convention; both limits are settings)",
			out.Requests, o.MinRequests, span, o.MinSeconds))
	}
	if n := out.Facts.ServiceTimes; n != nil && *n < minServiceTimes {
		out.Warnings = append(out.Warnings, fmt.Sprintf("the window is %.1f median service times long; %d or more are wanted", *n, minServiceTimes))
	}
}
