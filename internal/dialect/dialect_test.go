package dialect

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"tokentape/internal/dialect/frame"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// collected is what a sink was given.
type collected struct{ text strings.Builder }

func (c *collected) sink(p Piece) {
	fmt.Fprintf(&c.text, "%c%d:%s ", p.Kind, p.Choice, p.Text)
}

// setup is enough for every dialect.
var setup = Setup{Model: "m", Stream: true, Custom: Custom{
	Path: "/v1/ask/{model}", Body: map[string]any{"q": "{prompt}", "n": "{max_tokens}"}, Text: "out.text",
}}

func dialectFor(t testing.TB, name string) Dialect {
	t.Helper()
	d, err := New(name, setup)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Every dialect has to pass this.
func TestConformance(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			d := dialectFor(t, name)
			if d.Name() != name || !strings.HasPrefix(d.Path(), "/") || strings.Contains(d.Path(), "{") {
				t.Fatalf("%q, %q", d.Name(), d.Path())
			}
			item := workload.Item{Prompt: "héllo <&> 你好\u2028\"\n", OutputLen: 7, Extra: map[string]json.RawMessage{"seed": []byte(" 3 ")}}
			item.Messages = []workload.Message{{Role: "system", Content: "be brief"}, {Role: "user", Content: item.Prompt}}
			opts := Options{Model: "m", Stream: true, OutputLen: 5, Sampling: map[string]any{"temperature": 0.5, "seed": 1, "ignore_eos": true}}
			body, err := d.Body(item, opts)
			if err != nil {
				t.Fatal(err)
			}
			again, _ := d.Body(item, opts)
			if !json.Valid(body) || string(again) != string(body) || strings.Contains(string(body), "\n") {
				t.Errorf("body %s", body)
			}
			if s := string(body); !strings.Contains(s, "héllo <&> 你好") || !strings.Contains(s, `"seed":3`) || d.Asked(item, opts) != 7 {
				t.Errorf("body %s, asked %d", s, d.Asked(item, opts))
			}
			if _, err := d.Body(workload.Item{Prompt: "\xff", Messages: []workload.Message{{Role: "user", Content: "\xff"}}}, opts); err == nil || !strings.Contains(err.Error(), "UTF-8") {
				t.Errorf("broken UTF-8: %v", err)
			}
			if _, err := d.Body(workload.Item{}, opts); err == nil {
				t.Error("an empty item was accepted")
			}

			dec := d.NewDecoder()
			fresh := *dec.Facts()
			for _, n := range []int64{fresh.Input, fresh.Output, fresh.Cached, fresh.Reasoning, fresh.Accepted, fresh.Rejected, fresh.Verify} {
				if n != Unknown {
					t.Errorf("a fresh decoder knows a count: %+v", fresh)
				}
			}
			marks := dec.Event("", []byte(`{"broken`), nil)
			if len(marks) != 1 || dec.Facts().Malformed != 1 || dec.Facts().Sample != `{"broken` {
				t.Errorf("%v, %+v", marks, dec.Facts())
			}
			dec.Event("", []byte(`{"error":{"message":"boom","code":500}}`), nil)
			if e := dec.Facts().Err; e == nil || e.Message != "boom" || e.Code != "500" {
				t.Errorf("%+v", dec.Facts().Err)
			}
			dec.Reset()
			if d := cmp.Diff(fresh, *dec.Facts()); d != "" {
				t.Errorf("after Reset (-fresh +got):\n%s", d)
			}
		})
	}
	if _, err := Get("openai"); err == nil || !strings.Contains(err.Error(), "openai-chat, openai-completions, openai-responses") {
		t.Errorf("unknown name: %v", err)
	}
}

func TestBody(t *testing.T) {
	chat, _ := Get("openai-chat")
	completions, _ := Get("openai-completions")
	hi := workload.Item{Messages: []workload.Message{{Role: "user", Content: "hi"}}, Prompt: "hi"}
	extra := func(k, v string) workload.Item {
		it := hi
		it.Extra = map[string]json.RawMessage{k: json.RawMessage(v)}
		return it
	}
	parts := workload.Item{Messages: []workload.Message{{Role: "system", Content: "s"}, {Role: "user", Content: "what?",
		Raw: json.RawMessage(`{"role":"user","content":[{"type":"text","text":"what?"},{"type":"image_url","image_url":{"url":"https://h/a.png"}}]}`)}}}
	ids := workload.Item{TokenIDs: []int32{1, 20, 300}}
	whole := workload.Item{Body: json.RawMessage(`{"model": "own", "stream":false, "x":[1, 2]}`), OutputLen: 3}
	over := whole
	over.Override = []string{"model", "stream"}
	get := func(name string) Dialect {
		d, err := New(name, Setup{})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	long := hi
	long.OutputLen = 7
	for _, tc := range []struct {
		name  string
		d     Dialect
		item  workload.Item
		o     Options
		want  string // a body, or a part of the error
		asked int64
	}{
		{"chat", chat, hi, Options{Model: "m", Stream: true, OutputLen: 5}, `{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true},"max_tokens":5}`, 5},
		{"not streaming", chat, hi, Options{Model: "m"}, `{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":false}`, 0},
		{"completions", completions, long, Options{Model: "m", Stream: true, OutputLen: 5}, `{"model":"m","prompt":"hi","stream":true,"stream_options":{"include_usage":true},"max_tokens":7}`, 7},
		{"prompt as message", chat, workload.Item{Prompt: "hi"}, Options{}, `{"messages":[{"role":"user","content":"hi"}],"stream":false}`, 0},
		{"sampling sorted", chat, hi, Options{Sampling: map[string]any{"top_p": 1, "a": []string{"<"}, "stop": nil}}, `{"messages":[{"role":"user","content":"hi"}],"stream":false,"a":["<"],"stop":null,"top_p":1}`, 0},
		{"row wins over sampling", chat, extra("top_p", "0.5"), Options{Sampling: map[string]any{"top_p": 1}}, `{"messages":[{"role":"user","content":"hi"}],"stream":false,"top_p":0.5}`, 0},
		{"row's model", chat, extra("model", `"lora"`), Options{Model: "m"}, `{"model":"lora","messages":[{"role":"user","content":"hi"}],"stream":false}`, 0},
		{"row's length", chat, extra("max_tokens", "9"), Options{OutputLen: 5}, `{"messages":[{"role":"user","content":"hi"}],"stream":false,"max_tokens":9}`, 9},
		{"row's newer length", chat, extra("max_completion_tokens", "9"), Options{OutputLen: 5}, `{"messages":[{"role":"user","content":"hi"}],"stream":false,"max_completion_tokens":9}`, 9},
		{"length as sampling option", chat, hi, Options{Sampling: map[string]any{"max_completion_tokens": 4}}, `{"messages":[{"role":"user","content":"hi"}],"stream":false,"max_completion_tokens":4}`, 4},
		{"stream options keep usage", chat, hi, Options{Stream: true, Sampling: map[string]any{"stream_options": map[string]any{"continuous_usage_stats": true}}}, `{"messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"continuous_usage_stats":true,"include_usage":true}}`, 0},
		{"usage not wanted", chat, hi, Options{Stream: true, Sampling: map[string]any{"stream_options": map[string]any{"include_usage": false}}}, `{"messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":false}}`, 0},
		{"two lengths", chat, hi, Options{OutputLen: 5, Sampling: map[string]any{"max_tokens": 4}}, "workload.sampling.max_tokens and an output length", 5},
		{"reserved", chat, hi, Options{Sampling: map[string]any{"stream": true}}, "workload.sampling.stream cannot be set: set workload.stream", 0},
		{"reserved in a row", chat, extra("messages", "[]"), Options{}, `the row's field "messages"`, 0},
		{"not a number", chat, hi, Options{Sampling: map[string]any{"top_p": math.NaN()}}, "workload.sampling.top_p cannot be sent", 0},
		{"not JSON", chat, extra("a", "{"), Options{}, `the row's field "a" is not JSON`, 0},
		{"options without a stream", chat, hi, Options{Sampling: map[string]any{"stream_options": map[string]any{}}}, "no effect without workload.stream", 0},
		{"options of another kind", chat, hi, Options{Stream: true, Sampling: map[string]any{"stream_options": 1}}, "is not an object", 0},
		{"no role", chat, workload.Item{Messages: []workload.Message{{Content: "x"}}}, Options{}, "messages[0].role is empty", 0},
		{"messages in parts", chat, parts, Options{Model: "m"}, `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"what?"},{"type":"image_url","image_url":{"url":"https://h/a.png"}}]}],"stream":false}`, 0},
		{"messages in parts elsewhere", get("ollama"), parts, Options{}, "messages[1] has parts, tool calls or a name in the form of openai-chat, which ollama has not", 0},
		{"messages in parts at Anthropic's", get("anthropic-messages"), parts, Options{OutputLen: 5}, "which anthropic-messages has not", 5},
		{"a system message in parts", get("anthropic-messages"), workload.Item{Messages: []workload.Message{{Role: "system", Content: "s", Raw: json.RawMessage(`{}`)}, hi.Messages[0]}}, Options{OutputLen: 5}, "which anthropic-messages has not", 5},
		{"token ids", completions, ids, Options{Model: "m", OutputLen: 2}, `{"model":"m","prompt":[1,20,300],"stream":false,"max_tokens":2}`, 2},
		{"token ids of sglang", get("sglang-generate"), ids, Options{}, `{"input_ids":[1,20,300],"stream":false}`, 0},
		{"token ids in a chat", chat, ids, Options{}, "token ids, which only", 0},
		{"token ids elsewhere", get("tgi"), ids, Options{Stream: true}, "token ids, which tgi does not take", 0},
		{"a whole body", chat, whole, Options{Model: "m", Stream: true, OutputLen: 5, Sampling: map[string]any{"top_p": 1}}, `{"model": "own", "stream":false, "x":[1, 2]}`, 3},
		{"a whole body elsewhere", get("anthropic-messages"), whole, Options{}, `{"model": "own", "stream":false, "x":[1, 2]}`, 3},
		{"a whole body, overridden", chat, over, Options{Model: "m", Stream: true}, `{"model":"m","stream":true,"x":[1, 2]}`, 3},
		{"no prompt", completions, workload.Item{Messages: hi.Messages}, Options{}, "prompt is empty", 0},
	} {
		body, err := tc.d.Body(tc.item, tc.o)
		if strings.HasPrefix(tc.want, "{") {
			if err != nil || string(body) != tc.want {
				t.Errorf("%s: %v\n got %s\nwant %s", tc.name, err, body, tc.want)
			}
		} else if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", tc.name, err, tc.want)
		}
		if n := tc.d.Asked(tc.item, tc.o); n != tc.asked {
			t.Errorf("%s: asked %d, want %d", tc.name, n, tc.asked)
		}
	}
}

// known makes facts in which every count not named is Unknown.
func known(set func(*Facts)) Facts {
	f := Facts{Input: Unknown, Output: Unknown, Cached: Unknown, Reasoning: Unknown, Accepted: Unknown, Rejected: Unknown, Verify: Unknown, Drafted: Unknown}
	set(&f)
	return f
}

// eventCase is a stream and what it says.
type eventCase struct {
	name   string
	api    string
	events []string // "name|payload" or payload
	marks  string   // kind, choice if not 0, @count
	text   string
	want   Facts
}

var eventCases = slices.Concat(openAICases, nativeCases, speculationCases, cacheCases)

var openAICases = []eventCase{
	{"completions", "openai-completions", []string{`{"choices":[{"index":0,"text":"Hi"}]}`, `{"choices":[{"index":0,"text":" ","logprobs":{"tokens":["Hi"],"token_logprobs":[-0.1],"top_logprobs":[{"Hi":-0.1}],"text_offset":[0]}}]}`,
		`{"choices":[{"index":0,"text":""}]}`, `{"choices":[{"index":0,"text":"there"}]}`, `{"choices":[{"index":0,"text":"","finish_reason":"stop"}]}`, `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":4}}`, "[DONE]"},
		"c c r c f u d", "c0:Hi c0:  c0:there ",
		known(func(f *Facts) {
			f.Finish, f.Done, f.HasOutput, f.Input, f.Output, f.CountSource, f.Choices, f.Ended = "stop", true, true, 5, 4, tape.SourceUsage, 1, 1
			f.InputSource = tape.SourceUsage
		})},
	{"several choices in one event", "openai-chat", []string{`{"choices":[{"index":0,"delta":{"content":"a"}},{"index":2,"delta":{"content":"b"}},{"index":1,"delta":{}}],"usage":{"completion_tokens":2}}`,
		`{"choices":[{"index":1,"delta":{},"finish_reason":"length"},{"index":0,"delta":{"content":"c"},"finish_reason":"stop"}]}`},
		"c@2 c2@2 c", "c0:a c2:b c0:c ",
		known(func(f *Facts) {
			f.Finish, f.HasOutput, f.Output, f.CountSource, f.Choices, f.Ended = "length", true, 2, tape.SourceUsage, 3, 2
		})},
	{"finish as an object", "openai-chat", []string{`{"choices":[{"delta":{},"finish_reason":{"type":"length","length":4}}]}`}, "f", "",
		known(func(f *Facts) { f.Finish, f.Choices, f.Ended = "length", 1, 1 })},
	{"what matters most", "openai-chat", []string{`{"choices":[{"delta":{"reasoning":"r","content":"c","refusal":"x","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]}}]}`, `{"choices":[{"delta":{"reasoning":"r","function_call":{"name":"g","arguments":"{}"}}}]}`},
		"c t", `s0:r c0:c x0:x t0:f t0:{"a":1} s0:r t0:g t0:{} `,
		known(func(f *Facts) { f.HasOutput, f.Refused, f.Choices = true, true, 1 })},
	{"content in parts", "openai-chat", []string{`{"choices":[{"delta":{"content":[{"type":"text","text":"a"},{"type":"image"},7]}}]}`}, "c", "c0:a ",
		known(func(f *Facts) { f.HasOutput, f.Choices = true, 1 })},
	{"escapes", "openai-chat", []string{`{"choices":[{"delta":{"content":"\u4f60\n\ud83d\ude00\""}}]}`}, "c", "c0:你\n😀\" ",
		known(func(f *Facts) { f.HasOutput, f.Choices = true, 1 })},
	{"odd counts", "openai-chat", []string{`{"choices":[],"usage":{"prompt_tokens":9.0,"completion_tokens":-1,"prompt_tokens_details":{"cached_tokens":1.5},"reasoning_tokens":2}}`, `{"choices":[],"usage":{"completion_tokens":1e300,"total_tokens":"x"}}`, `{"choices":[],"usage":[]}`},
		"o o o", "", known(func(f *Facts) {
			f.Input, f.Reasoning, f.InputSource = 9, 2, tape.SourceUsage
			f.Unread = []Unread{{"output", "1e300"}, {"cached", "1.5"}} // what cannot be is told apart from what was not said
		})},
	{"other vendors' counts", "openai-chat", []string{`{"usage":{"prompt_tokens":9,"completion_tokens":1,"prompt_cache_hit_tokens":4,"prompt_tokens_details":null}}`}, "u", "",
		known(func(f *Facts) {
			f.Input, f.Output, f.Cached, f.CountSource, f.InputSource = 9, 1, 4, tape.SourceUsage, tape.SourceUsage
		})},
	{"foreign events", "openai-chat", []string{"ping|{\"type\":\"ping\"}", "ping|not json", "", "{}"}, "o o o o", "", known(func(*Facts) {})},
	{"malformed", "openai-chat", []string{`{"choices":[{"delta":{"content":"a"}}],"x":NaN}`, `[]`, "message|x", "\"a\"", `{"a":01}`, "{\"a\":\"\x01\"}", `{"a":"\x"}`, "{\"a\":\"\xff\"}"}, "o o o o o o o o", "",
		known(func(f *Facts) {
			f.Malformed, f.Sample = 8, `{"choices":[{"delta":{"content":"a"}}],"x":NaN}`
		})},
	{"errors", "openai-chat", []string{`{"error":"boom"}`, `{"error":{"message":"later"}}`}, "e e", "", known(func(f *Facts) { f.Err = &ServerError{Message: "boom"} })},
	{"no errors", "openai-chat", []string{`{"error":null}`, `{"error":""}`, `{"error":false}`}, "o o o", "", known(func(*Facts) {})},
	{"an error with output", "openai-chat", []string{`{"error":{"code":"a","type":"b"},"choices":[{"delta":{"content":"x"},"finish_reason":"error"}]}`}, "e", "c0:x ",
		known(func(f *Facts) {
			f.Err, f.Finish, f.HasOutput, f.Choices, f.Ended = &ServerError{Code: "a", Type: "b", Message: `{"code":"a","type":"b"}`}, "error", true, 1, 1
		})},
	{"the older error", "openai-chat", []string{`{"object":"error","message":"m","type":"T","code":400}`}, "e", "", known(func(f *Facts) { f.Err = &ServerError{"400", "T", "m"} })},
	{"error by name", "openai-chat", []string{`error|{"message":"m"}`}, "e", "", known(func(f *Facts) { f.Err = &ServerError{Message: "m"} })},
	{"plain error by name", "openai-chat", []string{`error|out of memory`}, "e", "", known(func(f *Facts) { f.Err = &ServerError{Message: "out of memory"} })},
}

func TestEvents(t *testing.T) {
	for _, tc := range eventCases {
		dec := dialectFor(t, tc.api).NewDecoder()
		var text collected
		dec.SetSink(text.sink)
		var marks []string
		for _, ev := range tc.events {
			name, payload, ok := strings.Cut(ev, "|")
			if !ok {
				name, payload = "", ev
			}
			got := dec.Event(name, []byte(payload), nil)
			if len(got) == 0 {
				t.Errorf("%s: no mark for %s", tc.name, ev)
			}
			for _, m := range got {
				s := string(m.Kind)
				if m.Choice != 0 {
					s += fmt.Sprint(m.Choice)
				}
				if m.Tok != Unknown {
					s += fmt.Sprintf("@%d", m.Tok)
				}
				marks = append(marks, s)
			}
		}
		if got := strings.Join(marks, " "); got != tc.marks || text.text.String() != tc.text {
			t.Errorf("%s: marks %q, want %q; text %q, want %q", tc.name, got, tc.marks, text.text.String(), tc.text)
		}
		if d := cmp.Diff(tc.want, *dec.Facts()); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

func TestWhole(t *testing.T) {
	for body, want := range map[string]Facts{
		`{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1}}` + "\ndata: [DONE]\n\n": known(func(f *Facts) {
			f.Finish, f.HasOutput, f.Input, f.Output, f.CountSource, f.Choices, f.Ended = "stop", true, 5, 1, tape.SourceUsage, 1, 1
			f.InputSource = tape.SourceUsage
		}),
		`{"choices":[`:    known(func(f *Facts) { f.Malformed, f.Sample = 1, `{"choices":[` }),
		`{"a":1} garbage`: known(func(f *Facts) { f.Malformed, f.Sample = 1, `{"a":1} garbage` }),
		`{"a":1}`:         known(func(f *Facts) { f.Malformed, f.Sample = 1, `{"a":1}` }),
		`{"error":"x"}`:   known(func(f *Facts) { f.Err = &ServerError{Message: "x"} }),
	} {
		d, _ := Get("openai-chat")
		dec := d.NewDecoder()
		dec.Whole([]byte(body))
		want.Whole = true
		if d := cmp.Diff(want, *dec.Facts()); d != "" {
			t.Errorf("%s (-want +got):\n%s", body, d)
		}
	}
}

func TestBoundsOfWhatIsKept(t *testing.T) {
	d, _ := Get("openai-chat")
	dec := d.NewDecoder()
	dec.Event("", []byte(strings.Repeat("ä", 1000)), nil)
	dec.Event("", []byte(`{"error":{"message":"`+strings.Repeat("ä", 1000)+`"}}`), nil)
	f := dec.Facts()
	if len(f.Sample) > 200 || len(f.Err.Message) > 500 || !utf8.ValidString(f.Sample) || !utf8.ValidString(f.Err.Message) {
		t.Errorf("%d and %d bytes kept", len(f.Sample), len(f.Err.Message))
	}
	deep := []byte(strings.Repeat(`{"a":`, 1_000_000) + "1" + strings.Repeat("}", 1_000_000))
	if dec.Event("", deep, nil); f.Malformed != 2 {
		t.Errorf("deep nesting was taken: %+v", f)
	}
}

const chatChunk = `{"id":"chatcmpl-0123456789abcdef0123456789abcdef","object":"chat.completion.chunk","created":1700000000,"model":"deepseek-v4-flash","choices":[{"index":0,"delta":{"role":null,"content":" word","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null}],"usage":null}`

func BenchmarkEvent(b *testing.B) {
	for _, name := range Names() {
		dec := dialectFor(b, name).NewDecoder()
		dec.SetSink(func(Piece) {})
		payload := []byte(samples[name])
		var marks []Mark
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(payload)))
			b.ReportAllocs()
			for b.Loop() {
				marks = dec.Event("", payload, marks[:0])
			}
		})
	}
	b.Run("valid alone", func(b *testing.B) {
		payload := []byte(chatChunk)
		b.SetBytes(int64(len(payload)))
		for b.Loop() {
			if !valid(payload) {
				b.Fatal("not valid")
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		payload := []byte(chatChunk)
		b.SetBytes(int64(len(payload)))
		b.ReportAllocs()
		for b.Loop() {
			var v struct {
				Choices []struct {
					Index int `json:"index"`
					Delta struct {
						Content   *string `json:"content"`
						Reasoning *string `json:"reasoning_content"`
					} `json:"delta"`
					Finish *string `json:"finish_reason"`
				} `json:"choices"`
				Usage json.RawMessage `json:"usage"`
				Error json.RawMessage `json:"error"`
			}
			if err := json.Unmarshal(payload, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// The hot path keeps nothing.
func TestEventDoesNotAllocate(t *testing.T) {
	d, _ := Get("openai-chat")
	dec := d.NewDecoder()
	dec.SetSink(func(Piece) {})
	payload := []byte(chatChunk)
	marks := make([]Mark, 0, 4)
	if n := testing.AllocsPerRun(100, func() { marks = dec.Event("", payload, marks[:0]) }); n > 0 {
		t.Errorf("%v allocations an event", n)
	}
	if !slices.Equal(marks, []Mark{{tape.KindContent, 0, Unknown}}) || d.Framing() != frame.SSE {
		t.Errorf("marks %v", marks)
	}
}

// B08: the output length goes out in the field that the server takes: max_tokens,
// or another by name; the row's own field of any of these names wins, and a body
// never has two.
func TestB08LengthField(t *testing.T) {
	row := func(name string) workload.Item {
		return workload.Item{Prompt: "hi", Extra: map[string]json.RawMessage{name: json.RawMessage("9")}}
	}
	for _, tc := range []struct {
		api, field string
		item       workload.Item
		want       string // what ends the body
		asked      int64
	}{
		{"openai-chat", "", workload.Item{Prompt: "hi"}, `"max_tokens":512}`, 512},
		{"openai-chat", "max_completion_tokens", workload.Item{Prompt: "hi"}, `"max_completion_tokens":512}`, 512},
		{"openai-chat", "max_completion_tokens", workload.Item{Prompt: "hi", OutputLen: 7}, `"max_completion_tokens":7}`, 7},
		{"openai-chat", "max_completion_tokens", row("max_tokens"), `"max_tokens":9}`, 9},
		{"openai-chat", "max_new", row("max_completion_tokens"), `"max_completion_tokens":9}`, 9},
		{"openai-completions", "max_completion_tokens", workload.Item{Prompt: "hi"}, `"max_completion_tokens":512}`, 512},
		{"tgi", "max_tokens", workload.Item{Prompt: "hi"}, `"max_tokens":512}}`, 512},
	} {
		d, err := Get(tc.api)
		if err != nil {
			t.Fatal(err)
		}
		o := Options{OutputLen: 512, LengthField: tc.field}
		body, err := d.Body(tc.item, o)
		if err != nil || !strings.HasSuffix(string(body), tc.want) || strings.Count(string(body), `"max_`) != 1 {
			t.Errorf("%s, %q: %v\n got %s\nwant …%s", tc.api, tc.field, err, body, tc.want)
		}
		if n := d.Asked(tc.item, o); n != tc.asked {
			t.Errorf("%s, %q: asked %d, want %d", tc.api, tc.field, n, tc.asked)
		}
	}
	d, _ := Get("openai-chat")
	_, err := d.Body(workload.Item{Prompt: "hi"}, Options{OutputLen: 512, LengthField: "max_new", Sampling: map[string]any{"max_completion_tokens": 3}})
	if err == nil || !strings.Contains(err.Error(), "keep one") {
		t.Errorf("two lengths: %v", err)
	}
}
