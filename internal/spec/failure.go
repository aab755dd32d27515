package spec

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// RetryClasses are the outcome classes that load.retry.on can name: the ends in
// which another attempt can end differently.
var RetryClasses = []string{
	"http_status", "connect", "timeout", "reset", "truncated_stream", "server_error", "malformed_stream",
	"event_too_large", "not_a_stream", "empty_response", "aborted",
}

var statusPattern = regexp.MustCompile(`^([45]xx|[45][0-9][0-9])$`)

// failureEffect lists which of retry, abandon and abort change nothing.
func (s *Spec) failureEffect(idle func(when bool, path, why, mend string)) {
	l, r := s.Load, s.Load.Retry
	again := l.Attempts > 1
	idle(!again, "load.retry", fmt.Sprintf("load.attempts is %d, so that nothing is tried again", l.Attempts), "load.attempts: 2 or more, or remove it")
	idle(!again, "seeds.retry", "load.attempts is 1, so that there is no wait to draw", "load.attempts: 2 or more, or remove it")
	if again {
		const none = "load.retry.backoff.initial is 0: there is no wait"
		idle(r.Backoff.Initial == 0, "load.retry.backoff.factor", none, "give load.retry.backoff.initial, or remove it")
		idle(r.Backoff.Initial == 0, "load.retry.backoff.jitter", none, "give load.retry.backoff.initial, or remove it")
		idle(r.Backoff.Initial == 0, "seeds.retry", none, "give load.retry.backoff.initial, or remove it")
		idle(r.Backoff.Jitter == 0, "seeds.retry", "load.retry.backoff.jitter is 0", "give load.retry.backoff.jitter, or remove it")
		idle(r.Backoff.Initial == 0 && !r.RetryAfter, "load.retry.backoff.max", none, "give load.retry.backoff.initial, or remove it")
		idle(l.Attempts == 2, "load.retry.backoff.factor", "with 2 attempts there is one wait, the initial one", "load.attempts: 3 or more, or remove it")
		answered := slices.ContainsFunc(r.On, func(v string) bool { return v == "http_status" || statusPattern.MatchString(v) })
		idle(!answered, "load.retry.retry_after", "load.retry.on names no status, and only such answers carry Retry-After", `add "429" or 5xx to load.retry.on, or remove it`)
	}

	a := l.Abandon
	idle(a.Share == 0, "load.abandon.after_tokens", "load.abandon.share is 0: no stream is closed", "give load.abandon.share, such as 0.1, or remove it")
	idle(a.Share == 0, "load.abandon.after", "load.abandon.share is 0: no stream is closed", "give load.abandon.share, such as 0.1, or remove it")
	idle(a.Share == 0 || a.Share == 1, "seeds.abandon", fmt.Sprintf("load.abandon.share is %v, which leaves nothing to draw", a.Share), "give load.abandon.share, such as 0.1, or remove it")
	idle(!s.Workload.Stream, "load.abandon.after_tokens", "workload.stream is false: a whole answer has no token times", "use load.abandon.after")
	idle(s.Workload.OutputTokens > 0 && a.AfterTokens > s.Workload.OutputTokens, "load.abandon.after_tokens",
		fmt.Sprintf("no answer is longer than workload.output_tokens %d", s.Workload.OutputTokens), "make it smaller")
	idle(s.Limits.Total > 0 && a.After >= s.Limits.Total, "load.abandon.after", fmt.Sprintf("limits.total %s ends the request first", s.Limits.Total), "make it shorter")

	idle(s.Limits.Abort.FailedShare == 0, "limits.abort.min", "it is for limits.abort.failed_share, which is not given", "give limits.abort.failed_share, or remove it")
	idle(s.Limits.Abort == Abort{Min: s.Limits.Abort.Min, Window: s.Limits.Abort.Window}, "limits.abort.window", "neither limits.abort.failed_share nor limits.abort.failed is given", "give one of them, or remove it")
}

// maxAttempts keeps the log of one request's attempts small.
const maxAttempts = 1000

// retry checks the fields of load.retry, each by itself.
func (c *checker) retry() {
	r := c.s.Load.Retry
	if n := c.s.Load.Attempts; n > maxAttempts && n <= maxCount {
		c.bad("load.attempts", fmt.Sprintf("at most %d", maxAttempts), "%d is too large", n)
	}
	if len(r.On) == 0 {
		c.bad("load.retry.on", `such as [connect, reset, "429", 5xx]; to try nothing again, load.attempts: 1`, "is empty, so that nothing would be tried again")
	}
	for i, v := range r.On {
		path := fmt.Sprintf("load.retry.on[%d]", i)
		if !slices.Contains(RetryClasses, v) && !statusPattern.MatchString(v) {
			message, hint := unknownChoice(v, RetryClasses)
			c.bad(path, hint+`; or a status such as "429", 4xx, 5xx`, "%s", message)
			continue
		}
		for j, other := range r.On {
			if j < i && other == v || covers(other, v) {
				c.bad(path, "keep one", "%s holds %s already", other, v)
				break
			}
		}
	}
	b := r.Backoff
	c.duration("load.retry.backoff.initial", b.Initial)
	c.duration("load.retry.backoff.max", b.Max)
	if !(b.Factor >= 1 && b.Factor <= 1000) {
		c.bad("load.retry.backoff.factor", "from 1 (equal waits) to 1000; 2 doubles each", "%v is out of range", b.Factor)
	}
	if !(b.Jitter >= 0 && b.Jitter <= 1) {
		c.bad("load.retry.backoff.jitter", "a share: 0.1 is 10 % longer or shorter", "%v is not from 0 to 1", b.Jitter)
	}
	if b.Max < b.Initial {
		c.bad("load.retry.backoff.max", "make it as long as load.retry.backoff.initial, or longer", "%s is shorter than the first wait, %s", b.Max, b.Initial)
	}
}

// covers reports whether one entry of load.retry.on holds another, different one.
func covers(wide, narrow string) bool {
	if !statusPattern.MatchString(narrow) || wide == narrow {
		return false
	}
	return wide == "http_status" || strings.HasSuffix(wide, "xx") && wide[0] == narrow[0]
}

// abandon checks load.abandon.
func (c *checker) abandon() {
	a := c.s.Load.Abandon
	c.duration("load.abandon.after", a.After)
	switch {
	case !(a.Share >= 0 && a.Share <= 1):
		c.bad("load.abandon.share", "a share: 0.1 is every tenth request", "%v is not from 0 to 1", a.Share)
	case a.AfterTokens < 0 || a.AfterTokens > math.MaxInt32:
		c.bad("load.abandon.after_tokens", "1 or more", "%d is out of range", a.AfterTokens)
	case a.Share > 0 && a.AfterTokens == 0 && a.After == 0:
		c.bad("load.abandon", "give after_tokens: 5, or after: 2s", "does not say when the streams are closed")
	case a.Share > 0 && a.AfterTokens > 0 && a.After > 0:
		c.bad("load.abandon.after", "keep one", "load.abandon.after_tokens %d says when the streams are closed already", a.AfterTokens)
	}
}

// abort checks limits.abort.
func (c *checker) abort() {
	a := c.s.Limits.Abort
	c.duration("limits.abort.window", a.Window)
	switch {
	case !(a.FailedShare >= 0 && a.FailedShare <= 1), a.FailedShare == 0 && c.s.given("limits.abort.failed_share"):
		c.bad("limits.abort.failed_share", "a share: 0.5 stops when half of the ended requests failed", "%v is not above 0 to 1", a.FailedShare)
	case a.Failed < 0, a.Failed == 0 && c.s.given("limits.abort.failed"), a.Failed > maxCount:
		c.bad("limits.abort.failed", "1 or more", "%d is no number of failures to stop at", a.Failed)
	case a.Min < 1 || a.Min > maxCount:
		c.bad("limits.abort.min", "1 or more", "%d is no number of requests to judge by", a.Min)
	case a.Window == 0 && c.s.given("limits.abort.window"):
		c.bad("limits.abort.window", "a length such as 30s, or leave it out", "0s has no effect")
	}
	if a.FailedShare > 0 && a.FailedShare < c.s.Limits.FailedShare {
		c.note("limits.abort.failed_share", "", "%v stops a run that limits.failed_share %v would have let pass", a.FailedShare, c.s.Limits.FailedShare)
	}
}
