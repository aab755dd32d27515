package observe

import (
	"fmt"
	"sync"

	"tokentape/tape"
)

// AbortRule says when a run is not worth going on with. Zero values are no rule.
type AbortRule struct {
	FailedShare float64 // stop when this share of the ended requests failed, or more
	Min         int64   // but not before this many have ended
	Failed      int64   // stop at this many failures
	Window      int64   // look only at the last nanoseconds; 0: at all of the run
}

// Abort watches the ends of requests and calls stop once, with why, when a rule is
// broken. Ends of all phases count; what was cancelled or abandoned does not. It
// is safe for concurrent use.
type Abort struct {
	rule AbortRule
	stop func(why string)

	mu     sync.Mutex
	ended  []end // within the window, by arrival; kept only when there is one
	all    int64
	failed map[string]int64 // by class
	sum    int64            // of failed
	last   string           // failure
	done   bool
}

type end struct {
	t       int64
	outcome tape.Outcome
}

// NewAbort makes an Abort; nil when the rule rules nothing out.
func NewAbort(rule AbortRule, stop func(why string)) *Abort {
	if rule.FailedShare <= 0 && rule.Failed <= 0 {
		return nil
	}
	return &Abort{rule: rule, stop: stop, failed: map[string]int64{}}
}

// Ended takes the end of a request at t, in nanoseconds since the run's epoch.
func (a *Abort) Ended(t int64, outcome tape.Outcome, message string) {
	if outcome != tape.OutcomeOK && !outcome.Failed() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return
	}
	a.count(end{t, outcome}, 1)
	if a.rule.Window > 0 {
		a.ended = append(a.ended, end{t, outcome})
		for a.ended[0].t <= t-a.rule.Window {
			a.count(a.ended[0], -1)
			a.ended = a.ended[1:]
		}
	}
	if outcome.Failed() {
		a.last = string(outcome)
		if message != "" {
			a.last += ": " + message
		}
	}
	why := a.broken()
	if why == "" {
		return
	}
	a.done = true
	if a.rule.Window > 0 {
		why += fmt.Sprintf(" within %g s", float64(a.rule.Window)/1e9)
	}
	a.stop(why + " (" + classes(a.failed) + "); the last: " + a.last)
}

func (a *Abort) count(e end, n int64) {
	a.all += n
	if e.outcome.Failed() {
		a.sum += n
		class := string(e.outcome)
		if a.failed[class] += n; a.failed[class] == 0 {
			delete(a.failed, class)
		}
	}
}

// broken names the rule that is broken, or "".
func (a *Abort) broken() string {
	r := a.rule
	if r.Failed > 0 && a.sum >= r.Failed {
		return fmt.Sprintf("limits.abort.failed: %d requests failed", a.sum)
	}
	if r.FailedShare > 0 && a.sum > 0 && a.all >= r.Min && float64(a.sum) >= r.FailedShare*float64(a.all) {
		return fmt.Sprintf("limits.abort.failed_share %g: %d of %d ended requests failed", r.FailedShare, a.sum, a.all)
	}
	return ""
}
