package dialect

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tokentape/internal/workload"
	"tokentape/tape"
)

func newOf(t testing.TB, c Custom) Dialect {
	t.Helper()
	d, err := New("custom", Setup{Model: "m", Stream: true, Custom: c})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestCustomBody(t *testing.T) {
	item := workload.Item{Prompt: "say {model}", Messages: []workload.Message{{Role: "system", Content: "be brief"}, {Role: "user", Content: "say {model}"}}}
	for _, tc := range []struct {
		body  string
		item  workload.Item
		o     Options
		want  string // a body, or a part of the error
		asked int64
	}{
		{`{"q":"{prompt}","n":"{max_tokens}","s":"{stream}"}`, item, Options{Stream: true, OutputLen: 5}, `{"n":5,"q":"say {model}","s":true}`, 5},
		{`{"q":"<{system}> {prompt} ({model}, {max_tokens})"}`, item, Options{Model: "m", OutputLen: 5}, `{"q":"<be brief> say {model} (m, 5)"}`, 5},
		{`{"a":{"b":["{messages}",{"n":"{max_tokens}"}]},"k":[1,null,true]}`, item, Options{}, `{"a":{"b":[[{"role":"system","content":"be brief"},{"role":"user","content":"say {model}"}],{}]},"k":[1,null,true]}`, 0},
		{`{"q":"{prompt}"}`, item, Options{OutputLen: 5}, `{"q":"say {model}"}`, 0},
		{`{"q":"{prompt}"}`, item, Options{Sampling: map[string]any{"t": 0}}, `{"q":"say {model}","t":0}`, 0},
		{`{"q":"{prompt}"}`, item, Options{Sampling: map[string]any{"q": 0}}, "workload.sampling.q cannot be set: it is set by target.custom.body", 0},
		{`{"q":"{prompt}"}`, workload.Item{Messages: item.Messages}, Options{}, "the prompt is empty", 0},
		{`{"q":"{messages}"}`, workload.Item{Messages: []workload.Message{{Content: "x"}}}, Options{}, "messages[0].role is empty", 0},
	} {
		var body map[string]any
		if err := json.Unmarshal([]byte(tc.body), &body); err != nil {
			t.Fatal(err)
		}
		d := newOf(t, Custom{Path: "/x", Body: body, Text: "a"})
		got, err := d.Body(tc.item, tc.o)
		if strings.HasPrefix(tc.want, "{") && (err != nil || string(got) != tc.want) {
			t.Errorf("%s: %v\n got %s\nwant %s", tc.body, err, got, tc.want)
		} else if !strings.HasPrefix(tc.want, "{") && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", tc.body, err, tc.want)
		}
		if n := d.Asked(tc.item, tc.o); n != tc.asked {
			t.Errorf("%s: asked %d, want %d", tc.body, n, tc.asked)
		}
	}
}

func TestCustomEvents(t *testing.T) {
	body := map[string]any{"q": "{prompt}"}
	for _, tc := range []struct {
		name    string
		c       Custom
		events  []string
		letters string
		text    string
		want    Facts
	}{
		{"cumulative, with counts", Custom{Text: "o[0].t", Cumulative: true, Finish: "why", Done: "END", Usage: CustomUsage{Input: "u.i", Output: "u.o", Cached: "u.c", Reasoning: "u.r", Accepted: "u.a", Rejected: "u.x", Verify: "u.v"}},
			[]string{`{"o":[{"t":""}]}`, `{"o":[{"t":"a"}],"u":{"o":1}}`, `{"o":[{"t":"ab"}],"u":{"o":3}}`, `{"o":[{"t":"ab"}],"u":{"o":4}}`, `{"o":[{"t":"ab"}],"why":"stop","u":{"i":9,"o":4,"c":0,"r":1,"a":2,"x":3,"v":4}}`, "END"},
			"r c c h f d", "c0:a c0:b ", counted(tape.SourceUsage, 9, 4, "stop", func(f *Facts) {
				f.Done, f.Cached, f.Reasoning, f.Accepted, f.Rejected, f.Verify = true, 0, 1, 2, 3, 4
			})},
		{"reasoning, calls, a done field", Custom{Text: "t", Reasoning: "r", ToolCall: "c", Finish: "f", DonePath: "d"},
			[]string{`{"r":"Hm","d":false}`, `{"t":"Hi","d":0}`, `{"c":{"a":1}}`, `{"f":{"type":"length"},"d":1}`}, "s c t f", `s0:Hm c0:Hi t0:{"a":1} `,
			counted("", Unknown, Unknown, "length", func(f *Facts) { f.Done = true })},
		{"the end of the body", Custom{Text: "t"}, []string{`{"t":"a"}`, `{"t":"a"}`, `{"x":1}`, "[DONE]"}, "c c o d", "c0:a c0:a ",
			known(func(f *Facts) { f.HasOutput, f.Choices, f.EndIsDone, f.Done = true, 1, true, true })},
		{"errors elsewhere", Custom{Text: "t", Error: "st.err"}, []string{`{"t":"a","error":"not this one"}`, `{"st":{"err":{"message":"boom"}}}`}, "c e", "c0:a ",
			known(func(f *Facts) {
				f.HasOutput, f.Choices, f.EndIsDone, f.Err = true, 1, true, &ServerError{Message: "boom"}
			})},
		{"counts alone", Custom{Text: "t", Usage: CustomUsage{Output: "n"}, Done: "x"}, []string{`{"n":3}`, `{"n":"4"}`}, "u o", "", known(func(f *Facts) { f.Output, f.CountSource, f.Unread = 3, tape.SourceUsage, []Unread{{"output", `"4"`}} })},
	} {
		tc.c.Path, tc.c.Body = "/x", body
		dec := newOf(t, tc.c).NewDecoder()
		var text collected
		dec.SetSink(text.sink)
		var letters []string
		for _, ev := range tc.events {
			for _, m := range dec.Event("", []byte(ev), nil) {
				letters = append(letters, string(m.Kind))
			}
		}
		if got := strings.Join(letters, " "); got != tc.letters || text.text.String() != tc.text {
			t.Errorf("%s: %q, want %q; text %q, want %q", tc.name, got, tc.letters, text.text.String(), tc.text)
		}
		if d := cmp.Diff(tc.want, *dec.Facts()); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	body := map[string]any{"q": "{prompt}"}
	for want, s := range map[string]Setup{
		"target.custom.path":          {Custom: Custom{Body: body, Text: "a"}},
		"target.model is needed":      {Custom: Custom{Path: "/{model}", Body: body, Text: "a"}},
		"target.custom.framing":       {Custom: Custom{Path: "/x", Framing: "xml", Body: body, Text: "a"}},
		"target.custom.body":          {Custom: Custom{Path: "/x", Text: "a"}},
		"target.custom.text: a path":  {Custom: Custom{Path: "/x", Body: body}},
		"target.custom.usage.cached:": {Custom: Custom{Path: "/x", Body: body, Text: "a", Usage: CustomUsage{Cached: "a["}}},
	} {
		if _, err := New("custom", s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := Get("triton-generate"); err == nil || !strings.Contains(err.Error(), "target.model") {
		t.Errorf("no model: %v", err)
	}
}

// Where options go in the bodies that nest them.
func TestNestedBodies(t *testing.T) {
	system := workload.Item{Prompt: "hi", Messages: []workload.Message{{Role: "system", Content: "a"}, {Role: "user", Content: "hi"}, {Role: "system", Content: "b"}}}
	plain := workload.Item{Prompt: "hi", OutputLen: 3}
	row := plain
	row.Extra = map[string]json.RawMessage{"max_new_tokens": []byte("9"), "rid": []byte(`"x"`)}
	ids := workload.Item{Extra: map[string]json.RawMessage{"input_ids": []byte("[1, 2]")}}
	some := func(kv ...any) Options {
		o := Options{Stream: true, Model: "m", Sampling: map[string]any{}}
		for i := 0; i < len(kv); i += 2 {
			o.Sampling[kv[i].(string)] = kv[i+1]
		}
		return o
	}
	for _, tc := range []struct {
		api  string
		item workload.Item
		o    Options
		want string // a body, or a part of the error
	}{
		{"anthropic-messages", system, some("max_tokens", 4), `{"model":"m","system":"a\n\nb","messages":[{"role":"user","content":"hi"}],"stream":true,"max_tokens":4}`},
		{"anthropic-messages", system, some(), "max_tokens is missing"},
		{"anthropic-messages", plain, some("system", "x"), "set workload.system"},
		{"anthropic-messages", workload.Item{OutputLen: 1, Messages: system.Messages[:1]}, some(), "no message to send beside the system message"},
		{"openai-responses", system, some("instructions", "x"), "set workload.system"},
		{"openai-responses", plain, some("stream_options", map[string]any{"x": 1}), `{"model":"m","input":[{"role":"user","content":"hi"}],"stream":true,"max_output_tokens":3,"stream_options":{"x":1}}`},
		{"sglang-generate", plain, some("temperature", 0, "return_logprob", true), `{"text":"hi","stream":true,"return_logprob":true,"sampling_params":{"max_new_tokens":3,"temperature":0}}`},
		{"sglang-generate", row, some(), `{"text":"hi","stream":true,"rid":"x","sampling_params":{"max_new_tokens":9}}`},
		{"sglang-generate", ids, some(), `{"stream":true,"input_ids":[1,2]}`},
		{"sglang-generate", plain, some("sampling_params", map[string]any{"top_k": 1}), `{"text":"hi","stream":true,"sampling_params":{"max_new_tokens":3,"top_k":1}}`},
		{"sglang-generate", plain, some("sampling_params", 7), "workload.sampling.sampling_params is not an object"},
		{"sglang-generate", plain, some("max_new_tokens", 7), "are both given: keep one"},
		{"sglang-generate", plain, some("text", "x"), "made from the dataset"},
		{"sglang-generate", workload.Item{Messages: system.Messages}, some(), "the prompt is empty: sglang-generate"},
		{"tgi", plain, some("details", false), `{"inputs":"hi","parameters":{"details":false,"max_new_tokens":3}}`},
		{"ollama", plain, some("think", true, "top_k", 1), `{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"think":true,"options":{"num_predict":3,"top_k":1}}`},
		{"triton-generate", plain, some("stop_words", []any{"x"}), `{"text_input":"hi","stop_words":["x"],"parameters":{"stream":true,"exclude_input_in_output":true,"max_tokens":3}}`},
		{"triton-generate", plain, some("parameters", map[string]any{"stream": false}), "parameters.stream cannot be set: set workload.stream"},
	} {
		got, err := dialectFor(t, tc.api).Body(tc.item, tc.o)
		if strings.HasPrefix(tc.want, "{") && (err != nil || string(got) != tc.want) {
			t.Errorf("%s: %v\n got %s\nwant %s", tc.api, err, got, tc.want)
		} else if !strings.HasPrefix(tc.want, "{") && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", tc.api, err, tc.want)
		}
	}
}
