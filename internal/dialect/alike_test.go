package dialect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// heard is all that a decoder makes of the payloads of a stream.
type heard struct {
	Marks  [][]Mark
	Pieces []string
	Facts  Facts
}

func hear(api string, quick bool, names, payloads []string) (h heard) {
	d, _ := Get(api)
	dec := d.NewDecoder()
	dec.Reset()
	dec.SetSink(func(p Piece) {
		h.Pieces = append(h.Pieces, fmt.Sprintf("%c %d %d %q", p.Kind, p.Choice, p.Call, p.Text))
	})
	for i, payload := range payloads {
		if !quick {
			dec.(*openAIDecoder).last.forget()
		}
		buf := []byte(payload)
		h.Marks = append(h.Marks, dec.Event(names[i%len(names)], buf, nil))
		clear(buf) // nothing may be kept of it
	}
	h.Facts = *dec.Facts()
	return h
}

// alikes are payloads in which ~ stands for a string's inside, or for a value.
var alikes = map[string][]string{
	"openai-chat": {
		`{"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"~"},"logprobs":null,"finish_reason":null}]}`,
		`{"model":"~","choices":[{"delta":{"reasoning_content":"~","content":""}}],"usage":null}`,
		`{"choices":[{"index":3,"delta":{"reasoning_content":null,"reasoning":"~"}}]}`,
		`{"choices":[{"delta":{"reasoning_content":"~","reasoning":"~"}}]}`,
		`{"choices":[{"delta":{"content":"a","content":"~"}}]}`,
		`{"choices":[{"delta":{"content":"~"}},{"index":1,"delta":{"content":"b"}}]}`,
		`{"choices":[{"delta":{"content":"~"}},{"index":1,"finish_reason":"stop"}]}`,
		`{"choices":[{"delta":{"content":"~"},"finish_reason":"length"}],"usage":{"completion_tokens":4}}`,
		`{"choices":[{"delta":{"refusal":"~"}}]}`,
		`{"choices":[{"delta":{"reasoning_content":"~","content":"b"}}]}`,
		`{"choices":[{"delta":{"content":"~","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}}]}`,
		`{"choices":[{"delta":{"content":"~"},"usage":{"prompt_tokens":3,"completion_tokens":4}}]}`,
		`{"choices":[{"delta":{"content":"~"},"meta_info":{"spec_verify_ct":2}}]}`,
		`{"choices":[{"delta":{"content":"~"}}],"error":{}}`,
		`{"choices":[{"delta":{"content":"~"}}],"error":"~"}`,
		`{"choices":[{"delta":{"content":[{"text":"~"}]}}]}`,
		`{"choices":[{"delta":{"content":"~"}}],"timings":{"predicted_n":3}}`,
		`{"model":"z","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":9}}`,
		`{"object":"error","message":"~","choices":[{"delta":{"content":"x"}}]}`,
	},
	"openai-completions": {
		`{"id":"1","choices":[{"index":0,"text":"~","finish_reason":null}]}`,
		`{"choices":[{"index":0,"text":"~","usage":{"completion_tokens":2}}]}`,
		`{"choices":[7,{"index":0,"text":"~"}]}`,
	},
}

// What is read quickly, because it is like the event before, is read as it would be
// for itself.
func TestAlike(t *testing.T) {
	texts := []string{"a", "b", `\n`, "", `\u00e4x`, "\u4e16", `"`, "\xff", "\x01", `\x`, `","index":1,"x":"`, "a", "a"}
	for api, payloads := range alikes {
		for _, one := range payloads {
			for _, other := range payloads {
				var all []string
				for _, text := range texts {
					all = append(all, strings.ReplaceAll(one, "~", text), strings.ReplaceAll(one, "~", text+text), " "+strings.ReplaceAll(one, "~", "c"), strings.ReplaceAll(other, "~", text))
				}
				for _, names := range [][]string{{""}, {"", "", "error"}} {
					if d := cmp.Diff(hear(api, false, names, all), hear(api, true, names, all)); d != "" {
						t.Errorf("%s and %s (-for itself +quickly):\n%s", one, other, d)
					}
				}
			}
		}
	}
}

// The quick way is taken, with escapes too, and keeps no allocation.
func TestAlikeIsTaken(t *testing.T) {
	dec := dialectFor(t, "openai-chat").NewDecoder().(*openAIDecoder)
	dec.Reset()
	event := func(text string) []byte { return []byte(strings.ReplaceAll(alikes["openai-chat"][0], "~", text)) }
	dec.Event("", event("a"), nil)
	dst, next := make([]Mark, 0, 1), event(`b\n`)
	if dec.last.text(next) == nil {
		t.Fatal("an event that differs by its text is not taken as alike")
	}
	if n := testing.AllocsPerRun(100, func() { dec.Event("", next, dst) }); n > 0 {
		t.Errorf("%v allocations an event", n)
	}
}

func FuzzAlike(f *testing.F) {
	for api, payloads := range alikes {
		for _, p := range payloads {
			f.Add(api == "openai-chat", p, "a\nb\n\\n\n\"")
		}
	}
	f.Fuzz(func(t *testing.T, chat bool, payload, texts string) {
		api := "openai-completions"
		if chat {
			api = "openai-chat"
		}
		var all []string
		for _, text := range strings.Split(texts, "\n") {
			all = append(all, strings.ReplaceAll(payload, "~", text))
		}
		if d := cmp.Diff(hear(api, false, []string{""}, all), hear(api, true, []string{""}, all)); d != "" {
			t.Errorf("(-for itself +quickly):\n%s", d)
		}
	})
}
