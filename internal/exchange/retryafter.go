package exchange

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"tokentape/tape"
)

// longestRetryAfter bounds what a server can ask for, so that nanoseconds hold it.
const longestRetryAfter = int64(10 * 365 * 24 * time.Hour)

// retryAfter is what Retry-After asks for (RFC 9110, section 10.2.3), in
// nanoseconds from the answer: seconds, or a date. A date is held against the
// answer's own Date, since the clocks of client and server may differ; against
// wall when there is none. A date that has passed asks for 0.
func retryAfter(h http.Header, wall time.Time) tape.Opt[int64] {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return tape.Opt[int64]{}
	}
	if strings.Trim(text, "0123456789") == "" {
		s, err := strconv.ParseInt(text, 10, 64)
		if err != nil || s > longestRetryAfter/int64(time.Second) {
			return tape.Some(longestRetryAfter)
		}
		return tape.Some(s * int64(time.Second))
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return tape.Opt[int64]{}
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		wall = date
	}
	return tape.Some(min(max(int64(at.Sub(wall)), 0), longestRetryAfter)) // Sub saturates
}
