package exchange

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/tape"
)

// A stream that is closed in the middle: its own outcome, all that came is kept,
// the connection is not used again, and the one after it is served.
func TestAbandon(t *testing.T) {
	var tokens []step
	for i := range 10 {
		tokens = append(tokens, at(50*int64(i), e(c("x"))))
	}
	tokens = append(tokens, at(500, e(fin("length")), done), end(500))
	burst := []step{at(0, e(role)), at(10, e(c("a")), e(c("b")), e(c("c"))), at(600, e(fin("stop")), done), end(600)}
	for _, tc := range []struct {
		name    string
		leave   Abandon
		steps   []step
		outcome tape.Outcome
		cause   string
		end     float64 // ms
		kinds   string
		output  int64 // −1: absent
		reused  bool  // the next request finds the connection
	}{
		{"after tokens", Abandon{Tokens: 3}, tokens, tape.OutcomeAbandoned, AbandonTokens, 100, "c3", 3, false},
		{"the same read brought more", Abandon{Tokens: 2}, burst, tape.OutcomeAbandoned, AbandonTokens, 10, "r c3", 3, false},
		{"after a time", Abandon{After: 220 * time.Millisecond}, tokens, tape.OutcomeAbandoned, AbandonAfter, 220, "c5", 5, false},
		{"before the header", Abandon{After: 20 * time.Millisecond}, nil, tape.OutcomeAbandoned, AbandonAfter, 20, "", -1, false},
		{"ended first", Abandon{Tokens: 11}, tokens, tape.OutcomeOK, "", 500, "c10 f d", 10, true},
		{"ended with the very read", Abandon{Tokens: 1}, []step{at(5, e(c("a")), e(fin("stop")), done), end(5)}, tape.OutcomeOK, "", 5, "c f d", 1, true},
		{"not asked for", Abandon{}, tokens, tape.OutcomeOK, "", 500, "c10 f d", 10, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first := script{steps: tc.steps}
				if tc.steps == nil {
					first = script{head: "\x00", steps: []step{at(3_600_000, "x")}}
				}
				b := newBench(t, []script{first, {steps: []step{at(5, e(c("a")), e(fin("stop")), done), end(5)}}})
				defer b.close()
				p := &Prepared{Body: []byte("{}"), Abandon: tc.leave}
				req := &tape.Request{TReleased: tape.Some(b.clk.Now())}
				b.Do(context.Background(), p, req)
				if req.Outcome != tc.outcome || req.Cause != tc.cause || since(req, req.TEnd) != tc.end || req.Events.Kind != tc.kinds {
					t.Errorf("%s (%s) at %v ms: %q: %s", req.Outcome, req.Cause, since(req, req.TEnd), req.Events.Kind, req.Message)
				}
				if got := req.Tokens.Output; got.OK != (tc.output >= 0) || got.OK && got.V != tc.output {
					t.Errorf("output %+v", got)
				}
				if (req.Message != "") != (tc.outcome == tape.OutcomeAbandoned) || tc.cause != "" && !strings.Contains(req.Message, "load.abandon") {
					t.Errorf("message %q", req.Message)
				}
				next := &tape.Request{TReleased: tape.Some(b.clk.Now())}
				b.Do(context.Background(), &Prepared{Body: []byte("{}")}, next)
				if next.Outcome != tape.OutcomeOK || next.Conn.Reused != tc.reused {
					t.Errorf("the next: %s, connection %+v", next.Outcome, next.Conn)
				}
			})
		})
	}
}

// Retry-After in both forms; a date counts from the answer's own Date.
func TestRetryAfter(t *testing.T) {
	wall := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name, after, date string
		want              int64 // s; −1: absent
	}{
		{"none", "", "", -1},
		{"seconds", "2", "", 2},
		{"zero", " 0 ", "", 0},
		{"date", "Fri, 01 May 2026 12:00:07 GMT", "", 7},
		{"date beside the server's clock", "Fri, 01 May 2026 15:00:07 GMT", "Fri, 01 May 2026 15:00:00 GMT", 7},
		{"RFC 850 date", "Friday, 01-May-26 12:00:09 GMT", "", 9},
		{"past", "Fri, 01 May 2026 11:00:00 GMT", "", 0},
		{"no number", "soon", "", -1},
		{"negative", "-3", "", -1},
		{"fraction", "1.5", "", -1},
		{"far too long", "99999999999999999999", "", longestRetryAfter / int64(time.Second)},
		{"a date far too far", "Fri, 31 Dec 9999 23:59:59 GMT", "", longestRetryAfter / int64(time.Second)},
	} {
		h := http.Header{}
		if tc.after != "" {
			h.Set("Retry-After", tc.after)
		}
		if tc.date != "" {
			h.Set("Date", tc.date)
		}
		got := retryAfter(h, wall)
		if got.OK != (tc.want >= 0) || got.OK && got.V != tc.want*int64(time.Second) {
			t.Errorf("%s: %+v, want %d s", tc.name, got, tc.want)
		}
	}
	req := play(t, script{head: "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 2\r\n" + chunked + "\r\n\r\n", steps: []step{at(3, `{"error":{"message":"slow down"}}`), end(4)}})
	if req.RetryAfter != tape.Some(2*int64(time.Second)) || !strings.Contains(req.Message, "Retry-After: 2") {
		t.Errorf("%+v, %s", req.RetryAfter, req.Message)
	}
}

// The request's id goes out under the name that is set, unless it is off or the
// user sends a header of that name.
func TestIDHeader(t *testing.T) {
	for _, tc := range []struct {
		name     string
		set      setup
		want, is string // header and its value
	}{
		{"default", func(*Config) {}, "X-Request-Id", "r-7"},
		{"another name", func(c *Config) { c.IDHeader = "X-Trace" }, "X-Trace", "r-7"},
		{"another name, not the default one", func(c *Config) { c.IDHeader = "X-Trace" }, "X-Request-Id", ""},
		{"off", func(c *Config) { c.NoID = true }, "X-Request-Id", ""},
		{"the user's own", func(c *Config) { c.Header = http.Header{"x-request-id": {"mine"}} }, "x-request-id", "mine"},
	} {
		cfg := Config{Header: http.Header{}}
		b := newBench(t, nil, tc.set, func(c *Config) { cfg = *c })
		b.close()
		_, _, h, _ := New(cfg).Show(&Prepared{}, "r-7", "")
		if got := strings.Join(h[tc.want], ","); got != tc.is {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.is)
		}
	}
}
