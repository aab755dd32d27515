package analysis

import (
	"fmt"

	"tokentape/tape"
)

// tapeComplete: a footer that says the run went its whole way, and no line lost.
func (r *run) tapeComplete(*Results) Check {
	c := Check{Name: "tape_complete", Severity: SeverityFail, Result: ResultPass,
		Do: "numbers cover only what is on the tape; run again and let it end"}
	switch {
	case r.footer == nil:
		c.Result, c.Why = ResultMiss, "incomplete run: the tape has no footer"
	case len(r.faults) > 0:
		c.Result, c.Why = ResultMiss, fmt.Sprintf("%d places of the tape could not be read: %s", len(r.faults), r.faults[0])
	default:
		switch r.footer.Reason {
		case tape.ReasonCompleted, tape.ReasonDuration, tape.ReasonDataset:
			c.Why = "the run ended by itself: " + r.footer.Reason
		default:
			c.Result, c.Why = ResultMiss, "the run was stopped: "+r.footer.Reason
		}
	}
	return c
}
