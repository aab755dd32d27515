package exchange

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tokentape/tape"
)

// want is what a case says about one request; times in ms after the release, −1
// for absent ones.
type want struct {
	outcome              tape.Outcome // "" is ok
	cause                string
	kinds                string
	ttft, ttfo, e2e, end float64
	itl                  []float64
	text, reasoning      string
	tools                string
	input, output        int64 // −1: absent
	finish               string
	flags                []string
	message              []string // parts of the message
}

// none are the times of a request without tokens.
func none(w want) want {
	w.ttft, w.ttfo, w.e2e = -1, -1, -1
	return w
}

func check(t *testing.T, req *tape.Request, w want) {
	t.Helper()
	if w.outcome == "" {
		w.outcome = tape.OutcomeOK
	}
	got := want{
		outcome: req.Outcome, cause: req.Cause, kinds: req.Events.Kind,
		ttft: since(req, req.TFirstToken), ttfo: since(req, req.TFirstVisible), e2e: since(req, req.TLastToken), end: since(req, req.TEnd),
		itl: gaps(req, 0), input: req.Tokens.Input.Or(-1), output: req.Tokens.Output.Or(-1), finish: req.Finish, flags: req.Flags,
	}
	if req.Output != nil {
		got.text, got.reasoning, got.tools = req.Output.Text, req.Output.Reasoning, req.Output.Tools
	}
	for _, part := range w.message {
		if !strings.Contains(req.Message, part) {
			t.Errorf("message %q lacks %q", req.Message, part)
		}
	}
	if (req.Message == "") != (req.Outcome == tape.OutcomeOK) {
		t.Errorf("outcome %s has the message %q", req.Outcome, req.Message)
	}
	w.message = nil
	if d := cmp.Diff(w, got, cmp.AllowUnexported(want{})); d != "" {
		t.Errorf("(-want +got), message %q:\n%s", req.Message, d)
	}
	if e := req.Events; len(e.Tok) > 0 && len(e.Tok) != len(e.DT) || len(e.Choice) > 0 && len(e.Choice) != len(e.DT) {
		t.Errorf("%d gaps, %d counts, %d choices", len(e.DT), len(e.Tok), len(e.Choice))
	}
}

// The cases are named after their numbers in the project's list of real-world cases.
func TestWire(t *testing.T) {
	good := []step{at(0, e(role)), at(100, e(c("Hi"))), at(150, e(c("!"))), at(200, e(fin("stop")), e(u(5, 2)), done), end(200)}
	recoded := func(lineEnd string) []step {
		out := slices.Clone(good)
		for i := range out[:len(out)-1] {
			out[i].data = strings.ReplaceAll(out[i].data, "\n", lineEnd)
		}
		return out
	}
	goodWant := want{kinds: "r c2 f u d", ttft: 100, ttfo: 100, e2e: 150, end: 200, itl: []float64{50}, text: "Hi!", input: 5, output: 2, finish: "stop"}
	oneShot := `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}`
	burst := e(role) + e(c("a")) + e(c("b")) + e(c("c")) + e(fin("stop")) + e(u(4, 3)) + done
	var drip []step
	for i := range burst {
		drip = append(drip, at(int64(i+1), burst[i:i+1]))
	}
	nihao := e(c("你好"))
	inside := strings.Index(nihao, "你") + 2
	dripAt := func(event string) float64 { return float64(strings.Index(burst, event) + len(event) + 2) }
	usageLast := func(last string) []step {
		return []step{at(100, e(c("a"))), at(200, e(c("b")), e(fin("stop"))), at(300, e(last), done), end(300)}
	}
	usageWant := want{kinds: "c2 f u d", ttft: 100, ttfo: 100, e2e: 200, end: 300, itl: []float64{100}, text: "ab", input: 7, output: 2, finish: "stop"}

	for _, tc := range []struct {
		name  string
		head  string
		steps []step
		want  want
	}{
		{"A01 no space", "", []step{at(0, "data:"+role+"\n\n"), at(100, "data:"+c("Hi")+"\n\n"), at(150, "data:  "+c(" there")+"\n\n"),
			at(200, "data:"+fin("stop")+"\n\n"), at(200, "data:"+u(5, 2)+"\n\n"), at(200, "data:[DONE]\n\n"), end(200)},
			want{kinds: "r c2 f u d", ttft: 100, ttfo: 100, e2e: 150, end: 200, itl: []float64{50}, text: "Hi there", input: 5, output: 2, finish: "stop"}},
		{"A02 lf", "", good, goodWant},
		{"A02 crlf", "", recoded("\r\n"), goodWant},
		{"A02 cr", "", recoded("\r"), goodWant},
		{"A03 several data lines", "", []step{at(100, "data: {\"id\":\"c1\",\ndata: \"choices\":[{\"index\":0,\ndata:   \"delta\":{\"content\":\"Hi\"},\"finish_reason\":null}]}\n\n"), at(150, e(fin("stop")), done), end(150)},
			want{kinds: "c f d", ttft: 100, ttfo: 100, e2e: 100, end: 150, text: "Hi", input: -1, output: 1, finish: "stop"}},
		{"A04 comments", "", []step{at(0, ":\n\n"), at(1000, ": keep-alive\n\n"), at(2000, ":ping 2026\n"), at(2500, e(c("Hi"))), at(2550, e(fin("stop")), done), end(2550)},
			want{kinds: "c f d", ttft: 2500, ttfo: 2500, e2e: 2500, end: 2550, text: "Hi", input: -1, output: 1, finish: "stop"}},
		{"A05 other fields and events", "", []step{at(100, "event: message\nid: 7\nretry: 3000\nx-trace: abc\nnocolon\ndata: "+c("Hi")+"\n\n"), at(120, "event: ping\ndata: {\"type\":\"ping\"}\n\nevent: time\ndata: now\n\n"), at(150, e(fin("stop")), done), end(150)},
			want{kinds: "c o2 f d", ttft: 100, ttfo: 100, e2e: 100, end: 150, text: "Hi", input: -1, output: 1, finish: "stop"}},
		{"A06 mark", "", []step{at(50, "\xEF"), at(60, "\xBB\xBFdata: "+c("A")+"\n\n"), at(100, e(c("B")), e(fin("stop")), done), end(100)},
			want{kinds: "c2 f d", ttft: 60, ttfo: 60, e2e: 100, end: 100, itl: []float64{40}, text: "AB", input: -1, output: 2, finish: "stop"}},
		{"A07 split character", "", []step{at(100, nihao[:inside]), at(110, nihao[inside:]), at(150, e(fin("stop")), done), end(150)},
			want{kinds: "c f d", ttft: 110, ttfo: 110, e2e: 110, end: 150, text: "你好", input: -1, output: 1, finish: "stop"}},
		{"A08a one segment", "", []step{at(300, burst), end(300)},
			want{kinds: "r c3 f u d", ttft: 300, ttfo: 300, e2e: 300, end: 300, itl: []float64{0, 0}, text: "abc", input: 4, output: 3, finish: "stop"}},
		{"A08b byte by byte", "", append(drip, end(2000)),
			want{kinds: "r c3 f u d", ttft: dripAt(c("a")), ttfo: dripAt(c("a")), e2e: dripAt(c("c")), end: float64(len(burst)),
				itl: []float64{dripAt(c("b")) - dripAt(c("a")), dripAt(c("c")) - dripAt(c("b"))}, text: "abc", input: 4, output: 3, finish: "stop"}},
		{"A10a no done", "", []step{at(100, e(c("Hi"))), at(150, e(fin("stop"))), end(150)},
			want{kinds: "c f", ttft: 100, ttfo: 100, e2e: 100, end: 150, text: "Hi", input: -1, output: 1, finish: "stop", flags: []string{FlagNoDone}}},
		{"A10b truncated", "", []step{at(100, e(c("Hi"))), at(150, e(c(" the"))), end(150)},
			want{outcome: tape.OutcomeTruncated, kinds: "c2", ttft: 100, ttfo: 100, e2e: 150, end: 150, itl: []float64{50}, text: "Hi the", input: -1, output: 2, message: []string{"without a finish reason or [DONE]"}}},
		{"A11a after done", "", []step{at(100, e(c("Hi"))), at(150, e(fin("stop"))), at(150, done), at(160, e(c("ghost"))), at(170, e(u(5, 9))), end(170)},
			want{kinds: "c f d", ttft: 100, ttfo: 100, e2e: 100, end: 150, text: "Hi", input: -1, output: 1, finish: "stop"}},
		{"A12a usage with empty choices", "", usageLast(u(7, 2)), usageWant},
		{"A12b null choices", "", usageLast(`{"choices":null,` + usage(7, 2) + `}`), usageWant},
		{"A12c no choices", "", usageLast(`{` + usage(7, 2) + `}`), usageWant},
		{"A12d dummy choice", "", usageLast(`{"choices":[{"index":0,"delta":{"content":null}}],` + usage(7, 2) + `}`), usageWant},
		{"A13 usage in every chunk", "", []step{at(100, e(with(c("a"), usage(5, 1)))), at(150, e(with(c("b"), usage(5, 2)))), at(200, e(with(c("c"), usage(5, 3)))), at(250, e(with(fin("length"), usage(5, 3))), e(u(5, 3)), done), end(250)},
			want{kinds: "c3 f u d", ttft: 100, ttfo: 100, e2e: 200, end: 250, itl: []float64{50, 50}, text: "abc", input: 5, output: 3, finish: "length"}},
		{"A15 empty deltas", "", []step{at(0, e(role)), at(20, e(c(""))), at(30, e(d(`{"content":null}`))), at(500, e(c("Hi"))), at(540, e(c("!")), e(fin("stop")), done), end(540)},
			want{kinds: "r3 c2 f d", ttft: 500, ttfo: 500, e2e: 540, end: 540, itl: []float64{40}, text: "Hi!", input: -1, output: 2, finish: "stop"}},
		{"A16a reasoning", "", []step{at(0, e(role)), at(100, e(d(`{"reasoning_content":"A"}`))), at(150, e(d(`{"reasoning":"B"}`))), at(400, e(c("C")), e(fin("stop")),
			e(`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":3,"completion_tokens_details":{"reasoning_tokens":2}}}`), done), end(400)},
			want{kinds: "r s2 c f u d", ttft: 100, ttfo: 400, e2e: 400, end: 400, itl: []float64{50, 250}, text: "C", reasoning: "AB", input: 5, output: 3, finish: "stop"}},
		{"A16b reasoning only", "", []step{at(100, e(d(`{"reasoning_content":"A"}`))), at(150, e(d(`{"reasoning":"B"}`)), e(fin("length")), e(u(5, 2)), done), end(150)},
			want{kinds: "s2 f u d", ttft: 100, ttfo: -1, e2e: 150, end: 150, itl: []float64{50}, reasoning: "AB", input: 5, output: 2, finish: "length"}},
		{"A16c both fields", "", []step{at(100, e(d(`{"reasoning_content":"A","reasoning":"A"}`)), e(fin("stop")), done), end(100)},
			want{kinds: "s f d", ttft: 100, ttfo: -1, e2e: 100, end: 100, reasoning: "A", input: -1, output: 1, finish: "stop"}},
		{"A17 tool calls", "", []step{at(0, e(role)), at(200, e(d(`{"tool_calls":[{"index":0,"id":"k","type":"function","function":{"name":"f","arguments":""}}]}`))),
			at(240, e(d(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]}`))), at(280, e(d(`{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`))), at(300, e(fin("tool_calls")), e(u(20, 12)), done), end(300)},
			want{kinds: "r t3 f u d", ttft: 200, ttfo: 200, e2e: 280, end: 300, itl: []float64{40, 40}, tools: `f{"a":1}`, input: 20, output: 12, finish: "tool_calls"}},
		{"A18a refusal", "", []step{at(100, e(d(`{"content":null,"refusal":"I "}`))), at(120, e(d(`{"refusal":"cannot"}`)), e(fin("stop")), done), end(120)},
			want{kinds: "x2 f d", ttft: 100, ttfo: 100, e2e: 120, end: 120, itl: []float64{20}, text: "I cannot", input: -1, output: 2, finish: "stop", flags: []string{FlagRefusal}}},
		{"A18b empty finish reasons", "", []step{at(100, e(chunk(`{"index":0,"delta":{"content":"a"},"finish_reason":""}`))), at(120, e(chunk(`{"index":0,"delta":{"content":"b"},"finish_reason":""}`))), at(120, e(fin("stop")), done), end(120)},
			want{kinds: "c2 f d", ttft: 100, ttfo: 100, e2e: 120, end: 120, itl: []float64{20}, text: "ab", input: -1, output: 2, finish: "stop"}},
		{"A18c content and finish in one", "", []step{at(100, e(c("a"))), at(140, e(chunk(`{"index":0,"delta":{"content":"b"},"finish_reason":"length"}`)), done), end(140)},
			want{kinds: "c2 d", ttft: 100, ttfo: 100, e2e: 140, end: 140, itl: []float64{40}, text: "ab", input: -1, output: 2, finish: "length"}},
		{"A18d abort", "", []step{at(100, e(c("a"))), at(140, e(fin("abort")), done), end(140)},
			want{outcome: tape.OutcomeAborted, kinds: "c f d", ttft: 100, ttfo: 100, e2e: 100, end: 140, text: "a", input: -1, output: 1, finish: "abort"}},
		{"A18e filtered", "", []step{at(140, e(fin("content_filter")), done), end(140)},
			none(want{outcome: tape.OutcomeFiltered, kinds: "f d", end: 140, input: -1, output: -1, finish: "content_filter"})},
		{"A18f unknown reason", "", []step{at(100, e(c("a"))), at(140, e(fin("eos_token")), done), end(140)},
			want{kinds: "c f d", ttft: 100, ttfo: 100, e2e: 100, end: 140, text: "a", input: -1, output: 1, finish: "eos_token"}},
		{"A19 error alone", "", []step{at(50, e(`{"error":{"object":"error","message":"input too long","type":"BadRequestError","code":400}}`)), at(50, done), end(50)},
			none(want{outcome: tape.OutcomeServer, cause: CauseContextLength, kinds: "e d", end: 50, input: -1, output: -1, message: []string{"input too long", "400", "BadRequestError"}})},
		{"A19 null error", "", []step{at(50, e(with(c("a"), `"error":null`)), e(with(fin("stop"), `"error":null`)), done), end(50)},
			want{kinds: "c f d", ttft: 50, ttfo: 50, e2e: 50, end: 50, text: "a", input: -1, output: 1, finish: "stop"}},
		{"A20 error after output", "", []step{at(100, e(c("a"))), at(150, e(c("b"))), at(200, e(`{"error":{"message":"engine failure","type":"InternalServerError","param":null,"code":500}}`)), at(200, done), end(200)},
			want{outcome: tape.OutcomeServer, kinds: "c2 e d", ttft: 100, ttfo: 100, e2e: 150, end: 200, itl: []float64{50}, text: "ab", input: -1, output: 2, message: []string{"engine failure"}}},
		{"error by name", "", []step{at(100, "event: error\ndata: out of memory\n\n"), end(100)},
			none(want{outcome: tape.OutcomeServer, kinds: "e", end: 100, input: -1, output: -1, message: []string{"out of memory"}})},
		{"A21a reset", "", []step{at(100, e(c("a"))), rst(150)},
			want{outcome: tape.OutcomeReset, kinds: "c", ttft: 100, ttfo: 100, e2e: 100, end: 150, text: "a", input: -1, output: 1}},
		{"A21b cut", "", []step{at(100, e(c("a"))), cut(150)},
			want{outcome: tape.OutcomeTruncated, kinds: "c", ttft: 100, ttfo: 100, e2e: 100, end: 150, text: "a", input: -1, output: 1}},
		{"A21c short body", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 1000\r\n\r\n", []step{at(100, (e(c("a")) + e(c("b")))[:200]), cut(150)},
			want{outcome: tape.OutcomeTruncated, kinds: "c", ttft: 100, ttfo: 100, e2e: 100, end: 150, text: "a", input: -1, output: 1}},
		{"A21d trailer", strings.Replace(head, "\r\n\r\n", "\r\nTrailer: X-Status\r\n\r\n", 1), append(slices.Clone(good[:4]), raw(200, "0\r\nX-Status: ok\r\n\r\n")), goodWant},
		{"A21e http/1.0", "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", append(slices.Clone(good[:4]), cut(200)), goodWant},
		{"A21f http/1.0 cut inside an event", "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", []step{at(100, e(c("a"))), at(150, e(c("b"))[:50]), cut(160)},
			want{outcome: tape.OutcomeTruncated, kinds: "c", ttft: 100, ttfo: 100, e2e: 100, end: 160, text: "a", input: -1, output: 1, message: []string{"50 bytes left over"}}},
		{"A26 html", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + chunked + "\r\n\r\n", []step{at(10, "\n<html><title>Login</title></html>"), end(10)},
			none(want{outcome: tape.OutcomeNotStream, end: 10, input: -1, output: -1, message: []string{"http://server.test/v1/chat/completions", "text/html", "<title>Login"}})},
		{"plain text", "", []step{at(10, "no healthy upstream"), end(10)},
			none(want{outcome: tape.OutcomeNotStream, end: 10, input: -1, output: -1, message: []string{"no healthy upstream"}})},
		{"A22c gzip", strings.Replace(head, "\r\n\r\n", "\r\nContent-Encoding: gzip\r\n\r\n", 1), []step{at(10, "\x1f\x8b\x08\x00\x00"), end(10)},
			none(want{outcome: tape.OutcomeTruncated, end: 10, input: -1, output: -1, flags: []string{FlagCompressed}, message: []string{"decode the gzip body"}})},
		{"an unknown coding", strings.Replace(head, "\r\n\r\n", "\r\nContent-Encoding: br\r\n\r\n", 1), []step{at(10, "\x0b\x02\x80hello\x03"), end(10)},
			none(want{outcome: tape.OutcomeNotStream, end: 10, input: -1, output: -1, message: []string{"Content-Encoding br although identity"}})},
		{"an encoding that is none", strings.Replace(head, "\r\n\r\n", "\r\nContent-Encoding: utf-8\r\n\r\n", 1), good, goodWant},
		{"empty body", "", []step{end(10)},
			none(want{outcome: tape.OutcomeTruncated, end: 10, input: -1, output: -1, message: []string{"the body is empty"}})},
		{"no output", "", []step{at(10, e(role), e(fin("stop")), e(u(5, 0)), done), end(10)},
			none(want{outcome: tape.OutcomeEmpty, kinds: "r f u d", end: 10, input: 5, output: 0, finish: "stop"})},
		{"A28b one shot", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + chunked + "\r\n\r\n", []step{at(80, oneShot[:40]), at(100, oneShot[40:]), end(100)},
			none(want{end: 100, text: "Hi", input: 5, output: 1, finish: "stop", flags: []string{FlagNotStreamed}})},
		{"A28c one shot and done", "", []step{at(100, oneShot, done), end(100)},
			none(want{end: 100, text: "Hi", input: 5, output: 1, finish: "stop", flags: []string{FlagNotStreamed}})},
		{"A28 one shot error", "", []step{at(100, `{"object":"error","message":"boom","code":500}`), end(100)},
			none(want{outcome: tape.OutcomeServer, end: 100, input: -1, output: -1, message: []string{"boom"}})},
		{"A29 choices", "", []step{at(100, e(c("a"))), at(120, e(dIdx(1, `{"content":"x"}`))), at(160, e(c("b"))), at(180, e(dIdx(1, `{"content":"y"}`))), at(200, e(fin("stop"))), at(220, e(chunk(`{"index":1,"delta":{},"finish_reason":"stop"}`))), at(230, e(u(5, 4)), done), end(230)},
			want{kinds: "c4 f2 u d", ttft: 100, ttfo: 100, e2e: 180, end: 230, itl: []float64{60}, text: "ab\x1exy", input: 5, output: 4, finish: "stop"}},
		{"A29 one choice unfinished", "", []step{at(100, e(c("a"))), at(120, e(dIdx(1, `{"content":"x"}`))), at(200, e(fin("stop"))), end(230)},
			want{outcome: tape.OutcomeTruncated, kinds: "c2 f", ttft: 100, ttfo: 100, e2e: 120, end: 230, text: "a\x1ex", input: -1, output: 2, finish: "stop", message: []string{"1 of 2 choices"}}},
		{"A36 malformed", "", []step{at(100, e(c("a"))), at(120, e(`{"choices":[{"index":0,"delta":{"content":"b"},"logprobs":{"v":NaN}}]}`)), at(140, e(`{"choices":[{"ind`)), at(160, e(c("c")), e(fin("stop")), e(u(5, 4)), done), end(160)},
			want{outcome: tape.OutcomeMalformed, kinds: "c o2 c f u d", ttft: 100, ttfo: 100, e2e: 160, end: 160, itl: []float64{60}, text: "ac", input: 5, output: 4, finish: "stop", message: []string{"2 of 7 events", "NaN"}}},
		{"hidden tokens", "", []step{at(100, e(with(role, usage(5, 1)))), at(150, e(with(c(""), usage(5, 2)))), at(200, e(with(c(""), usage(5, 2)))), at(250, e(with(c("a"), usage(5, 3)))), at(250, e(with(fin("stop"), usage(5, 4))), done), end(250)},
			want{kinds: "r h r c f d", ttft: 150, ttfo: 250, e2e: 250, end: 250, itl: []float64{100}, text: "a", input: 5, output: 4, finish: "stop"}},
		{"B03 arithmetic", "", []step{at(0, e(role)), at(100, e(c("a"))), at(140, e(c("b"))), at(200, e(c("c"))), at(210, e(c("d"))), at(215, e(fin("stop"))), at(330, e(u(8, 4))), at(330, done), end(330)},
			want{kinds: "r c4 f u d", ttft: 100, ttfo: 100, e2e: 210, end: 330, itl: []float64{40, 60, 10}, text: "abcd", input: 8, output: 4, finish: "stop"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			check(t, play(t, script{tc.head, tc.steps}), tc.want)
		})
	}
	for _, kind := range []string{"text/plain", "application/octet-stream", "application/json", "", "text/event-stream;charset=utf-8"} {
		t.Run("A28a "+kind, func(t *testing.T) {
			line := ""
			if kind != "" {
				line = "Content-Type: " + kind + "\r\n"
			}
			check(t, play(t, script{"HTTP/1.1 200 OK\r\n" + line + chunked + "\r\n\r\n", good}), goodWant)
		})
	}
	for _, n := range []int{1, 2, 11} {
		t.Run(fmt.Sprintf("B01 %d tokens", n), func(t *testing.T) {
			var steps []step
			var itl []float64
			for i := range n {
				steps = append(steps, at(100+20*int64(i), e(c("x"))))
				if i > 0 {
					itl = append(itl, 20)
				}
			}
			last := 100 + 20*float64(n-1)
			kinds := tape.EncodeKinds(append(slices.Repeat([]byte{'c'}, n), 'f', 'd'))
			check(t, play(t, script{steps: append(steps, at(int64(last), e(fin("length")), done), end(int64(last)))}),
				want{kinds: kinds, ttft: 100, ttfo: 100, e2e: last, end: last, itl: itl, text: strings.Repeat("x", n), input: -1, output: int64(n), finish: "length"})
		})
	}
}

func TestBuffered(t *testing.T) {
	words := strings.Repeat(e(c("x")), 50) + e(fin("length")) + done
	for name, steps := range map[string][]step{
		"all at the end":  {at(1000, words), end(1000)},
		"role, then rest": {at(0, e(role)), at(1000, words), end(1000)},
	} {
		if req := play(t, script{steps: steps}); !slices.Contains(req.Flags, FlagBuffered) || since(req, req.TFirstToken) != 1000 || since(req, req.TLastToken) != 1000 {
			t.Errorf("%s: flags %v, TTFT %v", name, req.Flags, since(req, req.TFirstToken))
		}
	}
	var steady []step
	for i := range 50 {
		steady = append(steady, at(int64(20*i), e(c("x"))))
	}
	if req := play(t, script{steps: append(steady, at(1000, e(fin("length")), done), end(1000))}); slices.Contains(req.Flags, FlagBuffered) {
		t.Errorf("an even stream is called buffered")
	}
}

func TestCachedTokens(t *testing.T) {
	last := func(usage string) *tape.Request {
		return play(t, script{steps: []step{at(10, e(with(c("a"), `"usage":null`)), e(fin("stop")), e(`{"choices":[],"usage":`+usage+`}`), done), end(10)}})
	}
	for usage, want := range map[string]int64{
		`{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":null,"completion_tokens_details":null}`: -1,
		`{"prompt_tokens":9,"completion_tokens":2.0}`:                                                             -1,
		`{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}`:                   0,
		`{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":7}}`:                   7,
	} {
		if req := last(usage); req.Outcome != tape.OutcomeOK || req.Tokens.Output.Or(-1) != 2 || req.Tokens.Cached.Or(-1) != want || req.Tokens.OutputSource != tape.SourceUsage {
			t.Errorf("%s: %s, %+v", usage, req.Outcome, req.Tokens)
		}
	}
}
