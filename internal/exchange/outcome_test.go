package exchange

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/client"
	"tokentape/internal/dialect"
	"tokentape/internal/secret"
	"tokentape/tape"
)

func TestLimits(t *testing.T) {
	var tokens []step
	for i := range 10 {
		tokens = append(tokens, at(50*int64(i), e(c("x"))))
	}
	hang := at(3_600_000, e(fin("stop")))
	for _, tc := range []struct {
		name   string
		limits Limits
		steps  []step
		head   string
		want   want
	}{
		{"B21a total", Limits{Total: 190 * time.Millisecond}, append(tokens, at(500, done)), "",
			want{cause: LimitTotal, kinds: "c4", ttft: 0, ttfo: 0, e2e: 150, end: 190, itl: []float64{50, 50, 50}, text: "xxxx", input: -1, output: 4, message: []string{"limits.total", "190ms"}}},
		{"B21b headers then nothing", Limits{FirstToken: 2 * time.Second, Idle: time.Second}, []step{hang}, "",
			none(want{cause: LimitFirstToken, end: 2000, input: -1, output: -1, message: []string{"limits.first_token", "2s"}})},
		{"B21c no answer", Limits{FirstToken: 2 * time.Second, Idle: time.Second}, []step{hang}, " ",
			none(want{cause: LimitFirstToken, end: 2000, input: -1, output: -1})},
		{"B21d silence", Limits{FirstToken: 2 * time.Second, Idle: time.Second}, append(tokens[:5:5], hang), "",
			want{cause: LimitIdle, kinds: "c5", ttft: 0, ttfo: 0, e2e: 200, end: 1200, itl: []float64{50, 50, 50, 50}, text: "xxxxx", input: -1, output: 5, message: []string{"limits.idle", "silent for 1s", "1.2s after"}}},
		{"comments keep the idle limit off", Limits{Idle: time.Second}, []step{at(0, ":\n\n"), at(900, ":\n\n"), at(1800, ":\n\n"), at(2700, e(c("a")), e(fin("stop")), done)}, "",
			want{outcome: tape.OutcomeOK, kinds: "c f d", ttft: 2700, ttfo: 2700, e2e: 2700, end: 2700, text: "a", input: -1, output: 1, finish: "stop"}},
		{"comments and roles do not stop the first-token limit", Limits{FirstToken: 2 * time.Second, Idle: time.Second}, []step{at(0, e(role)), at(900, ":\n\n"), at(1800, ":\n\n"), at(2700, e(c("a")), done)}, "",
			none(want{cause: LimitFirstToken, kinds: "r", end: 2000, input: -1, output: -1})},
		{"no limit fires after its time", Limits{FirstToken: 100 * time.Millisecond, Idle: 100 * time.Millisecond, Total: time.Second}, append(tokens, at(500, e(fin("length")), done)), "",
			want{outcome: tape.OutcomeOK, kinds: "c10 f d", ttft: 0, ttfo: 0, e2e: 450, end: 500, itl: []float64{50, 50, 50, 50, 50, 50, 50, 50, 50}, text: "xxxxxxxxxx", input: -1, output: 10, finish: "length"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.want.outcome == "" {
				tc.want.outcome = tape.OutcomeTimeout
			}
			if tc.head == " " { // not even a header
				tc.steps, tc.head = []step{at(3_600_000, "x")}, "\x00"
			}
			check(t, play(t, script{tc.head, tc.steps}, func(c *Config) { c.Limits = tc.limits }), tc.want)
		})
	}
}

func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, []script{{steps: []step{at(100, e(c("a"))), at(300, e(c("b")))}}})
		defer b.close()
		ctx, cancel := context.WithCancelCause(context.Background())
		timer := time.AfterFunc(200*time.Millisecond, func() { cancel(errors.New("stopped by the user")) })
		defer timer.Stop()
		req, _ := b.do(t, ctx)
		check(t, req, want{outcome: tape.OutcomeCancelled, kinds: "c", ttft: 100, ttfo: 100, e2e: 100, end: 200, text: "a", input: -1, output: 1, message: []string{"stopped by the user"}})
	})
}

// A11: what follows [DONE] costs neither time nor another request's truth.
func TestAfterDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := script{steps: []step{at(100, e(c("Hi"))), at(150, e(fin("stop"))), at(150, done), at(30_150, e(c("ghost"))), end(30_150)}}
		clean := script{steps: []step{at(10, e(c("a")), e(fin("stop")), done), end(12)}}
		b := newBench(t, []script{hang, clean, clean})
		defer b.close()
		first, _ := b.do(t, context.Background())
		if took := b.clk.Now() - first.TReleased.V; took > 250*ms {
			t.Errorf("Do took %d ms", took/ms)
		}
		check(t, first, want{kinds: "c f d", ttft: 100, ttfo: 100, e2e: 100, end: 150, text: "Hi", input: -1, output: 1, finish: "stop"})
		second, _ := b.do(t, context.Background())
		check(t, second, want{kinds: "c f d", ttft: 10, ttfo: 10, e2e: 10, end: 10, text: "a", input: -1, output: 1, finish: "stop"})
		if second.Conn.Reused || second.Conn.ID == first.Conn.ID {
			t.Errorf("a connection with unread bytes was used again: %+v, %+v", first.Conn, second.Conn)
		}
	})
}

func TestConnectionIsReused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, []script{{steps: []step{at(10, e(c("a")), e(fin("stop")), done), end(10)}}})
		defer b.close()
		for i := range 3 {
			req, _ := b.do(t, context.Background())
			if req.Outcome != tape.OutcomeOK || req.Conn == nil || req.Conn.ID != 1 || req.Conn.Reused != (i > 0) {
				t.Errorf("request %d: %s, %+v", i, req.Outcome, req.Conn)
			}
			if !req.TConn.OK || !req.TWroteFirst.OK || !req.TWrote.OK || !req.THeaders.OK || req.HTTP.Status != 200 || req.HTTP.Proto != "HTTP/1.1" ||
				req.Bytes.Sent != int64(len(b.seen[i])) || req.Bytes.Body == 0 || req.Bytes.Reads == 0 || req.Asked.Output.Or(0) != 16 {
				t.Errorf("request %d: %+v", i, req)
			}
		}
	})
}

func TestStatus(t *testing.T) {
	const key = "sk-verysecretkey"
	plain := func(status, header string, body ...step) script {
		return script{"HTTP/1.1 " + status + "\r\n" + header + chunked + "\r\n\r\n", append(body, end(20))}
	}
	for _, tc := range []struct {
		name   string
		script script
		want   want
		not    string
	}{
		{"A25 429", plain("429 Too Many Requests", "Retry-After: 2\r\n", at(10, `{"error":{"message":"slow down"}}`)),
			want{outcome: tape.OutcomeStatus, cause: CauseRateLimit, end: 20, message: []string{"429 Too Many Requests", "Retry-After: 2", "slow down", "http://server.test/"}}, ""},
		{"A25 503", plain("503 Service Unavailable", "", at(10, "upstream connect error")),
			want{outcome: tape.OutcomeStatus, end: 20, message: []string{"503", "upstream connect error"}}, ""},
		{"A26 401", plain("401 Unauthorized", "", at(10, `{"message":"invalid token `+key+`"}`)),
			want{outcome: tape.OutcomeStatus, cause: CauseAuth, end: 20, message: []string{"401", "invalid token ***"}}, key},
		{"A26 401 empty", plain("401 Unauthorized", ""),
			want{outcome: tape.OutcomeStatus, cause: CauseAuth, end: 20, message: []string{"401", "empty body"}}, ""},
		{"A26 404 html", plain("404 Not Found", "", at(10, "<html>\n<head><title>404 Not Found</title></head>"+strings.Repeat("x", 5000)+"the end")),
			want{outcome: tape.OutcomeStatus, end: 10, message: []string{"404", "<title>"}}, "the end"},
		{"context length", plain("400 Bad Request", "", at(10, `{"message":"This model's maximum context length is 4096"}`)),
			want{outcome: tape.OutcomeStatus, cause: CauseContextLength, end: 20}, ""},
		{"a body that never ends", script{"HTTP/1.1 500 Internal Server Error\r\n" + chunked + "\r\n\r\n", []step{at(10, "boom"), end(60_000)}},
			want{outcome: tape.OutcomeStatus, end: 1000, message: []string{"boom"}}, ""},
		{"A24 redirect", plain("307 Temporary Redirect", "Location: /other\r\n"),
			want{outcome: tape.OutcomeRedirect, end: 20, message: []string{"http://server.test/v1/chat/completions", "http://server.test/other", "307"}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.want = none(tc.want)
			tc.want.input, tc.want.output = -1, -1
			req := play(t, tc.script, func(c *Config) { c.Secrets = []string{key} })
			check(t, req, tc.want)
			if tc.not != "" && strings.Contains(req.Message, tc.not) || len(req.Message) > maxMessage {
				t.Errorf("message %q", req.Message)
			}
		})
	}
}

func TestConnect(t *testing.T) {
	for _, tc := range []struct {
		name string
		dial func(context.Context, string, string) (net.Conn, error)
		want want
	}{
		{"refused", func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		}, want{outcome: tape.OutcomeConnect, message: []string{"connection refused", "server.test:80"}}},
		{"descriptors", func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.EMFILE}
		}, want{outcome: tape.OutcomeClient, message: []string{"ulimit"}}},
		{"limit", func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}, want{outcome: tape.OutcomeTimeout, cause: LimitConnect, end: 3000, message: []string{"limits.connect", "3s"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, []script{{}}, func(c *Config) {
					c.Client = client.New(client.Config{Clock: c.Clock, Dial: tc.dial, Connect: 3 * time.Second})
					c.Connect = 3 * time.Second
				})
				defer b.close()
				defer b.cfg.Client.Close()
				req, _ := b.do(t, context.Background())
				tc.want.input, tc.want.output = -1, -1
				check(t, req, none(tc.want))
			})
		})
	}
}

func TestServerClosesWithoutAnAnswer(t *testing.T) {
	req := play(t, script{head: "\x00", steps: nil})
	if req.Outcome != tape.OutcomeReset || !strings.Contains(req.Message, "without a response") {
		t.Errorf("%s: %s", req.Outcome, req.Message)
	}
}

// A09: the limit on one event fails that request alone, and says which limit.
func TestEventTooLarge(t *testing.T) {
	long := e(c(strings.Repeat("x", 70_000)))
	small := func(c *Config) { c.MaxEvent = 60_000 }
	req := play(t, script{steps: []step{at(100, long), at(150, e(c("end")), e(fin("stop")), done), end(150)}}, small)
	if req.Outcome != tape.OutcomeTooLarge || !strings.Contains(req.Message, "60000") {
		t.Errorf("%s: %s", req.Outcome, req.Message)
	}
	for _, n := range []int{70_000, 1_100_000} {
		req = play(t, script{steps: []step{at(100, e(c(strings.Repeat("x", n)))), at(150, e(c("end")), e(fin("stop")), done), end(150)}})
		if req.Outcome != tape.OutcomeOK || tokenEvents(req) != 2 || since(req, req.TFirstToken) != 100 || len(req.Output.Text) != n+3 {
			t.Errorf("%d bytes: %s %s, %d token events", n, req.Outcome, req.Message, tokenEvents(req))
		}
	}
}

func TestNotStreaming(t *testing.T) {
	oneShot := func(c *Config) { c.Options.Stream = false }
	body := `{"choices":[{"index":0,"message":{"role":"assistant","reasoning_content":"R","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1}}`
	check(t, play(t, script{steps: []step{at(200, body[:50]), at(300, body[50:]), end(310)}}, oneShot),
		none(want{end: 310, text: "Hi", reasoning: "R", input: 5, output: 1, finish: "stop"}))
	check(t, play(t, script{steps: []step{at(200, e(c("Hi"))), end(310)}}, oneShot),
		none(want{outcome: tape.OutcomeMalformed, end: 310, input: -1, output: -1, message: []string{"workload.stream is false"}}))
	check(t, play(t, script{steps: []step{at(5000, body), end(5000)}}, oneShot, func(c *Config) { c.Limits.FirstToken = time.Second }),
		none(want{outcome: tape.OutcomeTimeout, cause: LimitFirstToken, end: 1000, input: -1, output: -1}))
	check(t, play(t, script{steps: []step{at(200, body[:50]), cut(210)}}, oneShot),
		none(want{outcome: tape.OutcomeTruncated, end: 210, input: -1, output: -1}))
}

func TestOutput(t *testing.T) {
	steps := []step{at(10, e(d(`{"reasoning_content":"R"}`)), e(c("H")), e(c("i")), e(fin("stop")), done), end(10)}
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte("RHi")))
	for mode, want := range map[string]*tape.Output{
		OutputNone: nil, "": {SHA256: sum}, OutputHash: {SHA256: sum}, OutputFull: {SHA256: sum, Text: "Hi", Reasoning: "R"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, []script{{steps: steps}}, func(c *Config) { c.Output, c.KeepText = mode, mode != OutputHash })
			defer b.close()
			for range 2 { // the second uses the first one's buffers
				req, text := b.do(t, context.Background())
				if (want == nil) != (req.Output == nil) || want != nil && *want != *req.Output {
					t.Errorf("%q: output %+v, want %+v", mode, req.Output, want)
				}
				if mode == OutputHash {
					if text != "" || req.Tokens.OutputSource != tape.SourceEvents || req.Tokens.Output.Or(-1) != 3 {
						t.Errorf("text %q, tokens %+v", text, req.Tokens)
					}
				} else if text != "RHi" || req.Tokens.Output.OK || req.Tokens.OutputSource != "" {
					t.Errorf("text %q, tokens %+v: the count is the tokenizer's", text, req.Tokens)
				}
			}
		})
	}
}

func TestObserver(t *testing.T) {
	var seen []string
	play(t, script{steps: []step{at(10, e(role)), at(20, e(c("a")), e(c("b"))), at(30, e(c("c")), e(fin("stop")), done), end(30)}},
		func(c *Config) {
			c.OnTokens = func(n int, at int64) { seen = append(seen, fmt.Sprintf("%d@%d", n, at/ms)) }
		})
	if got := strings.Join(seen, " "); got != "2@20 1@30" {
		t.Errorf("observed %s", got)
	}
}

func TestShow(t *testing.T) {
	chat, _ := dialect.Get("openai-chat")
	e := New(Config{Dialect: chat, URL: "http://h/v1/chat/completions", Secrets: []string{"sk-secret"},
		Header: http.Header{"Authorization": {"Bearer sk-secret"}, "X-Team": {"a"}, "Accept-Language": {"de"}}})
	method, url, header, body := e.Show(&Prepared{Body: []byte(`{"a":"b","x":{"auth":["row-key",1]}, "prompt":"p"}`)}, "run-0", "")
	if method != "POST" || url != "http://h/v1/chat/completions" || string(body) != `{"a":"b","x":{"auth":["***",1]}, "prompt":"p"}` ||
		header.Get("Authorization") != "Bearer ***" || header.Get("X-Team") != secret.Mark("X-Team", "a") || header.Get("Accept-Language") != "de" || header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s %v %s", method, url, header, body)
	}
	if e.header.Get("Authorization") != "Bearer sk-secret" {
		t.Error("showing the header changed what is sent")
	}
}

func TestMask(t *testing.T) {
	e := New(Config{Dialect: mustChat(t), Secrets: []string{"sk-verysecretkey", "x"}})
	for in, want := range map[string]string{
		"key sk-verysecretkey!":         "key ***!",
		"cut in the middle sk-verysecr": "cut in the middle ***",
		"nothing x here":                "nothing x here",
		"a\x1b[31m\r\n\tb\xff":          "a [31m b\uFFFD",
	} {
		if got := e.message(in); got != want {
			t.Errorf("message(%q) = %q, want %q", in, got, want)
		}
	}
	if got := e.message(strings.Repeat("ä", 400)); len(got) > maxMessage || !strings.HasSuffix(got, "ä …") {
		t.Errorf("bounded to %d bytes: %q", len(got), got)
	}
}

func mustChat(t testing.TB) dialect.Dialect {
	t.Helper()
	chat, err := dialect.Get("openai-chat")
	if err != nil {
		t.Fatal(err)
	}
	return chat
}

// An answer cannot make the client keep more than so many events.
func TestTooManyEvents(t *testing.T) {
	endless := func(ev string) script {
		steps := make([]step, 100)
		for i := range steps {
			steps[i] = at(int64(10*(i+1)), strings.Repeat(ev, 100))
		}
		return script{steps: append(steps, at(2000, e(fin("stop")), done), end(2000))}
	}
	for _, tc := range []struct {
		name, event string
		bounds      bounds
		outcome     tape.Outcome
		end         float64
		logged      int
		message     string
	}{
		{"tokens", e(c("x")), bounds{250, 1000}, tape.OutcomeTooLarge, 30, 251, "more than 250 events"},
		{"foreign", "event: ping\ndata: \n\n", bounds{1000, 120}, tape.OutcomeTooLarge, 20, 121, "more than 120 events that say nothing"},
		{"malformed", e("{"), bounds{maxEvents, maxForeign}, tape.OutcomeMalformed, 100, 1000, "1000 of 1000 events could not be read"},
		{"comments are none", ": ping\n\n", bounds{10, 10}, tape.OutcomeEmpty, 2000, 2, "no output"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, []script{endless(tc.event), {steps: []step{at(10, e(c("a")), e(fin("stop")), done), end(10)}}})
				defer b.close()
				b.bounds = tc.bounds
				req, _ := b.do(t, context.Background())
				if req.Outcome != tc.outcome || since(req, req.TEnd) != tc.end || len(req.Events.DT) != tc.logged || !strings.Contains(req.Message, tc.message) {
					t.Errorf("%s: %s; end %v, %d events", req.Outcome, req.Message, since(req, req.TEnd), len(req.Events.DT))
				}
				gone := tc.outcome == tape.OutcomeTooLarge || tc.outcome == tape.OutcomeMalformed
				if gone != strings.Contains(req.Message, "the answer was given up") {
					t.Error(req.Message)
				}
				if next, _ := b.do(t, context.Background()); next.Outcome != tape.OutcomeOK || next.Conn.Reused == gone {
					t.Errorf("the next one: %s %s, %+v", next.Outcome, next.Message, next.Conn)
				}
			})
		})
	}
}
