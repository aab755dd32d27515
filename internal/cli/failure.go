package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"tokentape/internal/exchange"
	"tokentape/internal/observe"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/tape"
)

// seedOf is a seed of its own, or the run's when there is none.
func seedOf(own *int64, s *spec.Spec) int64 { return *cmp.Or(own, &s.Seeds.Run) }

func retryOf(s *spec.Spec) run.Retry {
	r := s.Load.Retry
	return run.Retry{
		On: r.On, Initial: r.Backoff.Initial.D(), Max: r.Backoff.Max.D(), Factor: r.Backoff.Factor, Jitter: r.Backoff.Jitter,
		RetryAfter: r.RetryAfter, Seed: seedOf(s.Seeds.Retry, s),
	}
}

func abandonOf(s *spec.Spec) run.Abandon {
	a := s.Load.Abandon
	return run.Abandon{
		Share: a.Share, When: exchange.Abandon{Tokens: int(a.AfterTokens), After: a.After.D()}, Seed: seedOf(s.Seeds.Abandon, s),
	}
}

// obeyAbort gives cfg a copy of each end to judge by, and returns the context that
// a broken rule cancels.
func obeyAbort(ctx context.Context, s *spec.Spec, cfg *run.Config) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	a := s.Limits.Abort
	rule := observe.AbortRule{FailedShare: a.FailedShare, Min: a.Min, Failed: a.Failed, Window: int64(a.Window)}
	if abort := observe.NewAbort(rule, func(why string) {
		cancel(&run.StopError{Reason: tape.ReasonAbort, Message: why})
	}); abort != nil {
		cfg.Ended = func(e run.Ended) { abort.Ended(e.T, e.Outcome, e.Message) }
	}
	return ctx, func() { cancel(nil) }
}

// failureNotes say, before the first request, what is done about failures and on
// purpose; nothing when there is nothing.
func failureNotes(s *spec.Spec) (lines [][2]string) {
	if l := s.Load; l.Attempts > 1 {
		b := l.Retry.Backoff
		text := fmt.Sprintf("%d attempts on %s · wait %s, ×%g, at most %s", l.Attempts, strings.Join(l.Retry.On, ", "), b.Initial, b.Factor, b.Max)
		if b.Initial == 0 {
			text = fmt.Sprintf("%d attempts on %s · without a wait", l.Attempts, strings.Join(l.Retry.On, ", "))
		}
		if l.Retry.RetryAfter {
			text += " · Retry-After obeyed"
		}
		lines = append(lines, [2]string{"retry", text})
	}
	if a := s.Load.Abandon; a.Share > 0 {
		when := fmt.Sprintf("%d token events", a.AfterTokens)
		if a.After > 0 {
			when = a.After.String()
		}
		lines = append(lines, [2]string{"abandon", fmt.Sprintf("a share of %g, after %s", a.Share, when)})
	}
	var rules []string
	if a := s.Limits.Abort; a.Failed > 0 {
		rules = append(rules, fmt.Sprintf("%d failed", a.Failed))
	}
	if a := s.Limits.Abort; a.FailedShare > 0 {
		rules = append(rules, fmt.Sprintf("a share of %g failed, of at least %d", a.FailedShare, a.Min))
	}
	if len(rules) > 0 {
		text := "when " + strings.Join(rules, ", or ")
		if w := s.Limits.Abort.Window; w > 0 {
			text += ", within " + w.String()
		}
		lines = append(lines, [2]string{"abort", text})
	}
	return lines
}
