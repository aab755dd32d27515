package exchange

import (
	"fmt"
	"time"
)

// Abandon is the workload's wish that the client closes a stream in the middle,
// as users do. The connection is closed with it (over HTTP/2: the stream is
// reset), so that the server learns of it. What the rule no longer catches, since
// the answer had ended, ends as it did.
type Abandon struct {
	Tokens int           // after this many token events; what the same read brought beyond them is kept. 0: not by tokens
	After  time.Duration // this long after the start of Do; 0: not by time
}

// What abandoned a request: the cause beside tape.OutcomeAbandoned.
const (
	AbandonTokens = "after_tokens"
	AbandonAfter  = "after"
)

// abandonError is the cause with which an Abandon cancels its request.
type abandonError struct{ rule, text string }

func (e *abandonError) Error() string { return e.text }

// abandon gives the request up after n token events: a body whose context is
// done is not read to its end when it is closed, but its connection is closed.
func (w *watch) abandon(n int) *abandonError {
	why := &abandonError{AbandonTokens, fmt.Sprintf("load.abandon: closed after %d token events", n)}
	w.cancel(why)
	return why
}
