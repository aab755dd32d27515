package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"tokentape/internal/client"
	"tokentape/internal/dialect"
	"tokentape/internal/dialect/frame"
	"tokentape/tape"
)

// verdict is how an attempt ended.
//
// Where several classes fit, the first of these holds: cancelled, timeout or abandoned ·
// client_limit · connect · reset or truncated_stream (the connection) ·
// http_status, redirect · event_too_large · not_a_stream · malformed_stream ·
// server_error · aborted · filtered · truncated_stream (no end mark) ·
// empty_response · ok.
type verdict struct {
	outcome tape.Outcome
	cause   string
	message string
	flags   []string
	end     int64 // −1: now
}

// Flags beside an outcome.
const (
	FlagNoDone      = "no_done"      // ended by a finish reason, without [DONE]
	FlagNotStreamed = "not_streamed" // a one-shot answer although a stream was asked for
	FlagBuffered    = "buffered"     // the token events came in bursts
	FlagRefusal     = "refusal"      // the model refused
	FlagCompressed  = "compressed"   // a content coding was taken off although none was asked for
)

// A response is called buffered when it has at least this many gaps between
// token events and more than 80 % of them are shorter than closeBy.
const bufferedGaps = 4

// Causes beside http_status and server_error.
const (
	CauseContextLength = "context_length"
	CauseRateLimit     = "rate_limit"
	CauseAuth          = "auth"
	CauseField         = "field" // a field of the body is refused; the message names it
)

// broken is a failure of the connection. tr is nil once the header was there.
func (e *Exchanger) broken(err error, tr *client.Trace) verdict {
	v := verdict{message: err.Error(), end: -1}
	var failed *client.Error
	body := errors.As(err, &failed) && failed.Phase == client.PhaseBody
	switch client.Classify(err) {
	case client.ClassCancelled:
		v.outcome = tape.OutcomeCancelled
		var limit *limitError
		if errors.As(err, &limit) {
			v.outcome, v.cause, v.message = tape.OutcomeTimeout, limit.name, limit.Error()
		}
		var abandon *abandonError
		if errors.As(err, &abandon) {
			v.outcome, v.cause, v.message = tape.OutcomeAbandoned, abandon.rule, abandon.Error()
		}
	case client.ClassConnectTimeout:
		v.outcome, v.cause = tape.OutcomeTimeout, LimitConnect
		v.message = "limits.connect: " + v.message
		if e.cfg.Connect > 0 {
			v.message += fmt.Sprintf(" (%s)", e.cfg.Connect)
		}
	case client.ClassLimit:
		v.outcome = tape.OutcomeClient
	case client.ClassConnect:
		v.outcome = tape.OutcomeConnect
	case client.ClassTLS:
		v.outcome, v.cause = tape.OutcomeConnect, "tls"
	case client.ClassReset:
		v.outcome = tape.OutcomeReset
	case client.ClassEOF:
		v.outcome = tape.OutcomeReset
		if body {
			v.outcome = tape.OutcomeTruncated
		}
	default: // what net/http could not read
		switch {
		case body:
			v.outcome = tape.OutcomeMalformed
		case tr != nil && tr.Headers >= 0:
			v.outcome = tape.OutcomeNotStream
		case tr != nil && tr.GotConn >= 0:
			v.outcome = tape.OutcomeReset
		default:
			v.outcome = tape.OutcomeConnect
		}
	}
	return v
}

// errorBodyTime is how long the body of an error answer is waited for, in ns.
const errorBodyTime = 1_000_000_000

var errBodyTime = errors.New("the body of the error answer did not come in time")

// refused is an answer whose status is not 2xx.
func (e *Exchanger) refused(resp *client.Response, w *watch, x *flight) verdict {
	timer := w.clock.AfterFunc(errorBodyTime, func() { w.cancel(errBodyTime) })
	defer timer.Stop()
	body := x.open(resp)
	for len(x.head) < headBytes {
		n, err := body.Read(x.buf[:headBytes-len(x.head)])
		x.head = append(x.head, x.buf[:n]...)
		x.bytes += int64(n)
		x.reads += int64(len(body.Marks()))
		if err != nil {
			break
		}
	}
	if x.e.cfg.KeepWire > 0 {
		x.wire = bytes.Clone(x.head)
	}
	v := verdict{outcome: tape.OutcomeStatus, end: resp.Body.Last()}
	status := strings.TrimSpace(fmt.Sprintf("%d %s", resp.Status, http.StatusText(resp.Status)))
	if to := resp.Header.Get("Location"); resp.Status/100 == 3 && to != "" {
		v.outcome = tape.OutcomeRedirect
		v.message = fmt.Sprintf("POST %s was answered %s to %s: redirects are not followed, give that address as target.url", x.where(resp), status, x.absolute(to))
		return v
	}
	v.message = "POST " + x.where(resp) + " was answered " + status
	v.cause = cause(resp.Status, "", string(x.head))
	if field := refusedField(resp.Status, x.head); field != "" && v.cause == "" {
		v.cause = CauseField
		v.message += ", which refuses the field " + e.mask(field) + e.givenBy(field)
	}
	if after := resp.Header.Get("Retry-After"); after != "" {
		v.message += " (Retry-After: " + after + ")"
	}
	if len(bytes.TrimSpace(x.head)) == 0 {
		v.message += ", with an empty body"
	} else {
		v.message += ": " + x.quote()
	}
	return v
}

// where is the request's URL, for messages, with the proxy that it went through.
func (x *flight) where(resp *client.Response) string {
	if resp.Proxy == "" {
		return x.url
	}
	return x.url + " through the proxy " + resp.Proxy
}

func (x *flight) absolute(location string) string {
	base, err := url.Parse(x.url)
	if err != nil {
		return location
	}
	to, err := base.Parse(location)
	if err != nil {
		return location
	}
	return to.String()
}

// cause names why a server refused, where status, code or text say so.
func cause(status int, code, text string) string {
	text = strings.ToLower(text)
	switch {
	case status == http.StatusTooManyRequests, code == "429", strings.Contains(text, "rate limit"), strings.Contains(text, "rate_limit"):
		return CauseRateLimit
	case status == http.StatusUnauthorized, status == http.StatusForbidden, code == "401", code == "403":
		return CauseAuth
	}
	for _, s := range []string{"context length", "context_length", "maximum context", "context window", "input too long", "prompt is too long", "longer than the model"} {
		if strings.Contains(text, s) {
			return CauseContextLength
		}
	}
	return ""
}

// over reports whether every choice has given its finish reason.
func (x *flight) over() bool {
	f := x.dec.Facts()
	return f.Finish != "" && f.Ended >= max(f.Choices, x.asked)
}

// judge decides about an answer whose body was read to its end, be it the end
// mark or the end of the body.
func (x *flight) judge(resp *client.Response) verdict {
	e, f := x.e, x.dec.Facts()
	stream := e.cfg.Options.Stream
	nothing := x.first < 0 && (!f.Whole || f.Malformed > 0) && !x.barelyBegun()
	encoding := resp.Header.Get("Content-Encoding")
	switch {
	case x.form == formHTML, x.form == formStream && nothing && !looksLikeSSE(x.head),
		nothing && x.bytes > 0 && encoding != "" && encoding != "identity":
		return x.notStream(resp)
	case f.Malformed > 0:
		v := verdict{outcome: tape.OutcomeMalformed}
		v.message = fmt.Sprintf("%d of %d events could not be read; the first: %s", f.Malformed, x.log.n, e.mask(f.Sample))
		if f.Whole {
			v.message = "the answer is not the JSON that " + e.cfg.Dialect.Name() + " knows: " + e.mask(f.Sample)
		}
		if !stream && looksLikeSSE(x.head) {
			v.message = "a stream came although workload.stream is false: " + x.quote()
		}
		return v
	case f.Err != nil:
		return e.serverError(f.Err)
	case f.Finish == "abort", f.Finish == "aborted", f.Finish == "error", f.Finish == "cancelled":
		return verdict{outcome: tape.OutcomeAborted, message: fmt.Sprintf("the server gave up: finish reason %q after %d token events", f.Finish, x.tokens)}
	}
	output := f.HasOutput || x.tokens > 0
	if f.Finish == "content_filter" && !output {
		return verdict{outcome: tape.OutcomeFiltered, message: "a content filter held back the whole answer"}
	}
	open := !x.over()
	if f.EndIsDone { // the end of the body is enough, unless it cuts an event
		open = x.event.Partial() > 0
	}
	if open && !f.Whole && !f.Done {
		v := verdict{outcome: tape.OutcomeTruncated}
		switch {
		case x.bytes == 0:
			v.message = "the body is empty"
		case f.Finish == "":
			v.message = fmt.Sprintf("the body ended after %d events without a finish reason or [DONE]", x.log.n)
		default:
			v.message = fmt.Sprintf("the body ended without [DONE] when only %d of %d choices ended with a finish reason", f.Ended, max(f.Choices, x.asked))
		}
		if n := x.event.Partial(); n > 0 {
			v.message += fmt.Sprintf(", inside an event (%d bytes left over)", n)
		}
		return v
	}
	if f.Choices > 0 && f.Choices < x.asked {
		return verdict{
			outcome: tape.OutcomeTruncated,
			message: fmt.Sprintf("%d of %d choices ended, of the others nothing came: the answer broke off, or the server does not know n", f.Ended, x.asked),
		}
	}
	if !output {
		return verdict{outcome: tape.OutcomeEmpty, message: fmt.Sprintf("no output came (finish reason %q)", f.Finish)}
	}
	v := verdict{outcome: tape.OutcomeOK}
	if f.Whole && stream {
		v.flags = append(v.flags, FlagNotStreamed)
	}
	if !f.Whole && !f.Done && !f.EndIsDone {
		v.flags = append(v.flags, FlagNoDone)
	}
	if gaps := x.tokens - 1; gaps >= bufferedGaps && len(x.log.choice) == 0 && x.close*5 > gaps*4 {
		v.flags = append(v.flags, FlagBuffered)
	}
	if f.Refused {
		v.flags = append(v.flags, FlagRefusal)
	}
	return v
}

func (x *flight) notStream(resp *client.Response) verdict {
	kind := resp.Header.Get("Content-Type")
	if kind == "" {
		kind = "no content type"
	}
	if enc := resp.Header.Get("Content-Encoding"); enc != "" {
		kind += ", Content-Encoding " + enc + " although identity was asked for"
	}
	what := "no answer of " + x.e.cfg.Dialect.Name()
	return verdict{
		outcome: tape.OutcomeNotStream,
		message: fmt.Sprintf("POST %s was answered %d with %s (%s): %s", x.where(resp), resp.Status, what, kind, x.quote()),
	}
}

func (e *Exchanger) serverError(err *dialect.ServerError) verdict {
	v := verdict{outcome: tape.OutcomeServer, cause: cause(0, err.Code, err.Code+" "+err.Type+" "+err.Message)}
	v.message = e.mask(err.Message)
	var about []string
	if err.Type != "" {
		about = append(about, err.Type)
	}
	if err.Code != "" {
		about = append(about, "code "+err.Code)
	}
	if len(about) > 0 {
		v.message += " (" + strings.Join(about, ", ") + ")"
	}
	return v
}

// barelyBegun reports whether all that came is the beginning of the first field
// name of a stream of server-sent events: too little to say what it is.
func (x *flight) barelyBegun() bool {
	head := bytes.TrimLeft(x.head, "\xEF\xBB\xBF \t\r\n")
	if x.form != formStream || x.e.cfg.Dialect.Framing() != frame.SSE || len(head) == 0 {
		return false
	}
	for _, field := range sseFields {
		if bytes.HasPrefix([]byte(field), head) {
			return true
		}
	}
	return false
}

var sseFields = []string{"data", "event", "id", "retry"}

// looksLikeSSE reports whether a body begins like a stream of server-sent events.
func looksLikeSSE(head []byte) bool {
	head = bytes.TrimLeft(head, "\xEF\xBB\xBF \t\r\n")
	for _, field := range sseFields {
		if bytes.HasPrefix(head, []byte(field+":")) {
			return true
		}
	}
	return bytes.HasPrefix(head, []byte(":"))
}
