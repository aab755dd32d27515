package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"tokentape/internal/client"
	"tokentape/internal/secret"
	"tokentape/tape"
)

// span is when something began and ended; the zero span has no time.
type span struct{ from, to int64 }

// step is a step of that time.
func (s span) step(name, result string) tape.Step {
	st := tape.Step{Type: "step", Name: name, Result: result}
	if s != (span{}) {
		st.T, st.Took = tape.Some(s.from), tape.Some(s.to-s.from)
	}
	return st
}

// get is one GET with a limit of its own, and when it was.
func (l *look) get(ctx context.Context, url string, limit time.Duration) (*client.Simple, span, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var at span
	if l.Now != nil {
		at.from = l.Now()
	}
	got, err := l.Get.Get(ctx, url, l.Header, maxBody)
	if l.Now != nil {
		at.to = l.Now()
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return got, at, err
}

// reached notes the steps that making the first connection took. at is the time of
// the request that made it, which goes on where they end.
func (l *look) reached(got *client.Simple, at span) {
	if l.Now == nil {
		return
	}
	t := at.from
	took := func(st tape.Step, ns int64) {
		if ns >= 0 {
			st.T, st.Took = tape.Some(t), tape.Some(ns)
			t += ns
		}
		l.res.Steps = append(l.res.Steps, st)
	}
	resolve := tape.Step{Type: "step", Name: "resolve", Result: tape.StepOK, Seen: got.Remote}
	if got.DNS < 0 {
		resolve.Result, resolve.Seen = tape.StepNone, noLookup(l.Base.Root)
	}
	took(resolve, got.DNS)
	took(tape.Step{Type: "step", Name: "connect", Result: tape.StepOK, Seen: got.Remote}, got.Dial)
	st := tape.Step{Type: "step", Name: "tls", Result: tape.StepNone, Seen: "not encrypted: the URL says http://"}
	if got.TLS != nil {
		st.Result, st.Seen = tape.StepOK, join(", ", got.TLS.Version, got.TLS.Cipher, got.TLS.ALPN)
	}
	took(st, got.Shake)
}

// noLookup says why no name was looked up.
func noLookup(root string) string {
	u, err := url.Parse(root)
	switch {
	case err == nil && u.Scheme == "unix":
		return "a socket of this machine: there is no name to look up"
	case err == nil && net.ParseIP(u.Hostname()) != nil:
		return "an address: there is no name to look up"
	}
	return "no name was looked up for this connection"
}

// notReached notes how far the first request came, and reports whether there was
// a connection, so that more can be tried.
func (l *look) notReached(err error, at span, e *Error) bool {
	if l.Now == nil {
		return false
	}
	failed := "connect"
	var c *client.Error
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		failed = "resolve"
	case errors.Is(err, context.DeadlineExceeded):
		failed = "models"
	case errors.As(err, &c) && c.Phase == client.PhaseTLS:
		failed = "tls"
	case errors.As(err, &c) && c.Phase > client.PhaseTLS:
		failed = "models"
	}
	result, seen := tape.StepOK, ""
	for _, name := range []string{"resolve", "connect", "tls", "models"} {
		st := tape.Step{Type: "step", Name: name, Result: result, Seen: seen}
		switch {
		case name == failed:
			st = at.step(name, tape.StepFailed)
			st.URL, st.Seen, st.Do = e.URL, e.Why, e.Hint
			if c != nil && c.Hint != "" && st.Do == "" {
				st.Do = c.Hint
			}
			result, seen = tape.StepNone, "not tried: "+failed+" failed"
		case result == tape.StepOK && name == "tls" && !strings.HasPrefix(l.Base.Root, "https://"):
			st.Result, st.Seen = tape.StepNone, "not encrypted: the URL says http://"
		case result == tape.StepOK && name == "resolve":
			st.Result, st.Seen = tape.StepNone, noLookup(l.Base.Root)
		}
		l.res.Steps = append(l.res.Steps, st)
	}
	return failed == "models"
}

// shown are the fields of a response that say who answered, and what lies between.
var shown = []string{
	"Server", "Via", "X-Powered-By", "Content-Type", "Content-Encoding", "Cache-Control", "X-Accel-Buffering", "X-Cache",
	"Connection", "Location", "Retry-After", "Www-Authenticate", "X-Envoy-Upstream-Service-Time", "Cf-Ray",
	"Openai-Processing-Ms", "X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests",
}

// headers are those of shown that a response has, "Name: value", fit to be shown.
func headers(h http.Header, secrets *secret.Set) []string {
	var out []string
	for _, name := range shown {
		if v := h.Values(name); len(v) > 0 {
			out = append(out, secrets.Line(name+": "+strings.Join(v, ", "), maxQuote))
		}
	}
	return out
}

// join is strings.Join without the empty parts.
func join(sep string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), sep)
}

// count is a number with its noun.
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
