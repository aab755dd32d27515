package exchange

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"tokentape/internal/dialect"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// speaking makes the Exchanger speak another API.
func speaking(t testing.TB, name string, stream bool) setup {
	d, err := dialect.New(name, dialect.Setup{Model: "m", Stream: stream})
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) { c.Dialect, c.Options.Stream = d, stream }
}

// sent does one request with a prompt as well as messages.
func sent(t *testing.T, s script, set ...setup) *tape.Request {
	req := &tape.Request{}
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, []script{s}, set...)
		defer b.close()
		p, err := b.Prepare(workload.Item{Prompt: "hi", Messages: []workload.Message{{Role: "user", Content: "hi"}}})
		if err != nil {
			t.Fatal(err)
		}
		req.TReleased = tape.Some(b.clk.Now())
		b.Do(context.Background(), p, req)
	})
	return req
}

func TestEndOfBodyAsEndMark(t *testing.T) {
	whole, torn := e(`{"text_output":" a"}`), `data: {"text_output":`
	for name, tc := range map[string]struct {
		steps   []step
		outcome tape.Outcome
	}{
		"a clean end":            {[]step{at(100, whole), end(150)}, tape.OutcomeOK},
		"inside an event":        {[]step{at(100, whole), at(120, torn), end(150)}, tape.OutcomeTruncated},
		"cut":                    {[]step{at(100, whole), cut(150)}, tape.OutcomeTruncated},
		"nothing":                {[]step{at(100, e(`{"text_output":""}`)), end(150)}, tape.OutcomeEmpty},
		"the prompt and no more": {[]step{at(100, e(`{"text_output":"hi"}`)), end(150)}, tape.OutcomeEmpty},
		"error":                  {[]step{at(100, e(`{"error":"bad input"}`)), end(150)}, tape.OutcomeServer},
	} {
		if req := sent(t, script{steps: tc.steps}, speaking(t, "triton-generate", true)); req.Outcome != tc.outcome || len(req.Flags) > 0 {
			t.Errorf("%s: %s %v %s", name, req.Outcome, req.Flags, req.Message)
		}
	}
}

func TestEngineFigures(t *testing.T) {
	lines := `{"message":{"content":"Hi"},"done":false}` + "\n" + `{"message":{"content":""},"done":true,"done_reason":"stop","total_duration":5,"eval_count":1}` + "\n"
	req := sent(t, script{steps: []step{at(100, lines), end(150)}}, speaking(t, "ollama", true))
	want := tape.Tokens{Output: tape.Some(int64(1)), OutputSource: tape.SourceEngine}
	if d := cmp.Diff(map[string]float64{"total_duration_ns": 5}, req.Engine) + cmp.Diff(want, req.Tokens); d != "" || req.Outcome != tape.OutcomeOK {
		t.Errorf("%s: %s", req.Outcome, d)
	}
}

func TestToolCallsSideBySide(t *testing.T) {
	delta := func(calls string) string { return e(d(`{"tool_calls":[` + calls + `]}`)) }
	steps := []step{at(100, delta(`{"index":1,"function":{"name":"g","arguments":"{"}}`), delta(`{"index":0,"function":{"name":"f","arguments":"{\"a\":"}}`),
		delta(`{"index":1,"function":{"arguments":"}"}}`), delta(`{"index":0,"function":{"arguments":"1}"}}`), e(fin("tool_calls")), done), end(100)}
	if req := sent(t, script{steps: steps}); req.Outcome != tape.OutcomeOK || req.Output.Tools != "f{\"a\":1}\ng{}" {
		t.Errorf("%s %q", req.Outcome, req.Output.Tools)
	}
}

// An API's own header fields go out unless the user gives them.
func TestHeader(t *testing.T) {
	d, err := dialect.Get("anthropic-messages")
	if err != nil {
		t.Fatal(err)
	}
	given := http.Header{"Anthropic-Version": {"2099-01-01"}, "X-Api-Key": {"k"}}
	if h := Header(given, d); !cmp.Equal(h, given) {
		t.Errorf("the user's fields: %v", h)
	}
	h := Header(nil, d)
	if !cmp.Equal(h, http.Header{"anthropic-version": {"2023-06-01"}}) {
		t.Errorf("the API's fields: %v", h)
	}
	name := "anthropic-version" // spelt as the API's pages spell it
	if x := New(Config{Dialect: d}); !cmp.Equal(x.header[name], []string{"2023-06-01"}) {
		t.Errorf("sent: %v", x.header)
	}
}

func TestWholeAnswersOfOtherAPIs(t *testing.T) {
	json := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + chunked + "\r\n\r\n"
	for name, tc := range map[string]struct{ api, body, text string }{
		"tgi":    {"tgi", `{"generated_text":"Hi","details":null}`, "Hi"},
		"ollama": {"ollama", `{"message":{"content":"Hi"},"done":true}`, "Hi"},
		"sglang": {"sglang-generate", `{"text":"Hi","meta_info":{"completion_tokens":1,"finish_reason":{"type":"stop"}}}`, "Hi"},
	} {
		req := sent(t, script{json, []step{at(50, tc.body[:9]), at(100, tc.body[9:]), end(100)}}, speaking(t, tc.api, false))
		if req.Outcome != tape.OutcomeOK || req.Output == nil || req.Output.Text != tc.text || req.TFirstToken.OK || len(req.Flags) > 0 {
			t.Errorf("%s: %s %s %+v %v", name, req.Outcome, req.Message, req.Output, req.Flags)
		}
	}
	req := sent(t, script{json, []step{at(50, `{"done":`), end(60)}}, speaking(t, "ollama", false))
	if req.Outcome != tape.OutcomeMalformed || !strings.Contains(req.Message, `{"done":`) {
		t.Errorf("%s %s", req.Outcome, req.Message)
	}
}
