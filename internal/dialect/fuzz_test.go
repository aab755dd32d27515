package dialect

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"tokentape/internal/workload"
	"tokentape/tape"
)

// One target a decoder, so that each is led by the payloads of its own API.

func FuzzOpenAIChat(f *testing.F)        { fuzzDecoder(f, "openai-chat") }
func FuzzOpenAICompletions(f *testing.F) { fuzzDecoder(f, "openai-completions") }
func FuzzOpenAIResponses(f *testing.F)   { fuzzDecoder(f, "openai-responses") }
func FuzzAnthropic(f *testing.F)         { fuzzDecoder(f, "anthropic-messages") }
func FuzzSGLang(f *testing.F)            { fuzzDecoder(f, "sglang-generate") }
func FuzzTGI(f *testing.F)               { fuzzDecoder(f, "tgi") }
func FuzzOllama(f *testing.F)            { fuzzDecoder(f, "ollama") }
func FuzzLlamaCpp(f *testing.F)          { fuzzDecoder(f, "llamacpp") }
func FuzzTriton(f *testing.F)            { fuzzDecoder(f, "triton-generate") }
func FuzzCustom(f *testing.F)            { fuzzDecoder(f, "custom") }

// fuzzDecoder gives payloads, a line each, to one decoder.
func fuzzDecoder(f *testing.F, api string) {
	for _, s := range []string{
		samples[api], "[DONE]", `{"error":{"message":1}}`, `{"error":"x","error_type":7}`, `{"type":"error"}`,
		`{"choices":[{"index":1e9,"delta":{"content":[{"text":"a"}]}}],"usage":{"completion_tokens":5.0}}`,
		`{"choices":[{"index":-1,"text":"\ud800","finish_reason":{"type":7}},null,3]}`, `{"choices":{},"usage":3,"error":[]}`,
	} {
		f.Add("", s)
		f.Add("error", s)
	}
	for _, tc := range eventCases {
		if tc.api == api {
			f.Add("", strings.Join(tc.events, "\n"))
		}
	}
	dec := dialectFor(f, api).NewDecoder()
	f.Fuzz(func(t *testing.T, name, payloads string) {
		dec.Reset()
		var text strings.Builder
		dec.SetSink(func(p Piece) {
			if !tape.IsToken(p.Kind) || len(p.Text) == 0 || p.Choice < 0 || p.Call < 0 {
				t.Fatalf("sink was given %q of kind %c, choice %d, call %d", p.Text, p.Kind, p.Choice, p.Call)
			}
			text.Write(p.Text)
		})
		for _, payload := range strings.Split(payloads, "\n") {
			b := []byte(payload)
			malformed := dec.Facts().Malformed
			marks := dec.Event(name, b, nil)
			f := dec.Facts()
			if len(marks) == 0 || string(b) != payload || len(f.Sample) > maxSample || f.Ended > f.Choices || !f.HasOutput && text.Len() > 0 {
				t.Fatalf("%d marks, payload %q, facts %+v", len(marks), b, f)
			}
			if f.Err != nil && len(f.Err.Message) > maxMessage {
				t.Fatalf("error %+v", f.Err)
			}
			for _, n := range []int64{f.Input, f.Output, f.Cached, f.Reasoning, f.Accepted, f.Rejected, f.Verify} {
				if n < Unknown {
					t.Fatalf("facts %+v", f)
				}
			}
			if (f.Output != Unknown) != (f.CountSource != "") || (f.Input != Unknown) != (f.InputSource != "") {
				t.Fatalf("a count without a source, or the other way: %+v", f)
			}
			for _, m := range marks {
				if m.Choice < 0 || m.Tok < Unknown || strings.IndexByte("rcstxhfueod", m.Kind) < 0 {
					t.Fatalf("mark %+v", m)
				}
			}
			object := strings.HasPrefix(strings.Trim(payload, space), "{") && utf8.ValidString(payload) && depth(b) < maxDepth && json.Valid(b)
			if f.Malformed > malformed && object {
				t.Fatalf("valid payload %q is called malformed", payload)
			}
		}
		b := []byte(payloads)
		dec.Reset()
		if dec.Whole(b); string(b) != payloads || !dec.Facts().Whole {
			t.Fatalf("payload %q, facts %+v", b, dec.Facts())
		}
	})
}

// FuzzText holds the short way to write a string against encoding/json's.
func FuzzText(f *testing.F) {
	f.Add("plain", "a \"quoted\" \\ \b\f\n\r\t\x00\x1f\x7f <&> é \u2028\u2029 \U0001F600")
	f.Fuzz(func(t *testing.T, role, content string) {
		got, err := encodeMessages([]workload.Message{{Role: role, Content: content}}, "")
		if valid := utf8.ValidString(role) && utf8.ValidString(content) && role != ""; valid != (err == nil) {
			t.Fatalf("%q, %q: %v", role, content, err)
		}
		if err != nil {
			return
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode([]struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		}{{role, content}}); err != nil {
			t.Fatal(err)
		}
		if want := strings.TrimSuffix(b.String(), "\n"); string(got) != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}
