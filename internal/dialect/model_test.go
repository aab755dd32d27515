package dialect

import (
	"strings"
	"testing"
)

// The model that a reply names, wherever its API puts it; the last word wins.
func TestNamedModel(t *testing.T) {
	long := strings.Repeat("m", 500)
	for _, c := range []struct {
		api, name string
		payloads  []string
		want      string
	}{
		{"openai-chat", "", []string{`{"model":"a","choices":[{"delta":{"content":"x"}}]}`, `{"choices":[],"usage":{}}`}, "a"},
		{"openai-chat", "", []string{`{"model":"a","choices":[{"delta":{"content":"x"}}]}`, `{"model":"b","choices":[{"delta":{"content":"x"}}]}`}, "b"},
		{"openai-chat", "", []string{`{"choices":[{"delta":{"content":"x"}}],"model":"A"}`, `[DONE]`}, "A"},
		{"openai-chat", "", []string{`{"model":null,"choices":[]}`, `{"model":7}`, `{"model":""}`, `{"model":{"id":"x"}}`}, ""},
		{"openai-chat", "", []string{`{"model":"` + long + `","choices":[]}`}, long[:200]},
		{"openai-completions", "", []string{`{"model":"c","choices":[{"text":"x"}]}`}, "c"},
		{"anthropic-messages", "message_start", []string{`{"type":"message_start","message":{"model":"d","usage":{"input_tokens":1}}}`}, "d"},
		{"openai-responses", "response.created", []string{`{"type":"response.created","response":{"model":"e","status":"in_progress"}}`}, "e"},
		{"openai-responses", "response.completed", []string{`{"type":"response.completed","response":{"status":"completed","model":"f"}}`}, "f"},
		{"ollama", "", []string{`{"model":"g","message":{"content":"x"},"done":false}`}, "g"},
		{"llamacpp", "", []string{`{"content":"x","model":"h","stop":true}`}, "h"},
		{"triton-generate", "", []string{`{"model_name":"i","model_version":"1","text_output":"x"}`}, "i"},
		{"sglang-generate", "", []string{`{"text":"x","meta_info":{"id":"1"}}`}, ""},
	} {
		d := newDecoder(t, c.api)
		for _, p := range c.payloads {
			d.Event(c.name, []byte(p), nil)
		}
		if got := d.Facts().Model; got != c.want {
			t.Errorf("%s %q: model %q, want %q", c.api, c.payloads, got, c.want)
		}
		if d.Reset(); d.Facts().Model != "" {
			t.Errorf("%s: the model outlives Reset", c.api)
		}
	}
	for _, c := range []struct{ api, body, want string }{
		{"openai-chat", `{"model":"a","choices":[{"message":{"content":"x"}}]}`, "a"},
		{"anthropic-messages", `{"model":"b","content":[{"type":"text","text":"x"}]}`, "b"},
		{"openai-responses", `{"model":"c","status":"completed","output":[]}`, "c"},
		{"triton-generate", `{"model_name":"d","text_output":"x"}`, "d"},
	} {
		d := newDecoder(t, c.api)
		if d.Whole([]byte(c.body)); d.Facts().Model != c.want {
			t.Errorf("%s in one piece: model %q, want %q", c.api, d.Facts().Model, c.want)
		}
	}
}

func newDecoder(t *testing.T, api string) Decoder {
	t.Helper()
	d, err := New(api, Setup{Model: "m", Stream: true})
	if err != nil {
		t.Fatal(err)
	}
	return d.NewDecoder()
}

func TestModelOf(t *testing.T) {
	for body, want := range map[string]string{
		`{"model":"m","messages":[]}`: "m", ` {"prompt":"{\"model\":\"x\"}", "model" : "own" } `: "own",
		`{"prompt":"x"}`: "", `{}`: "", `[]`: "", ``: "", `{"model":"a\"b"}`: `a"b`,
	} {
		if got := ModelOf([]byte(body)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
