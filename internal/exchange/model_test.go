package exchange

import (
	"encoding/json"
	"strings"
	"testing"

	"tokentape/internal/dialect"
	"tokentape/internal/secret"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// What a tape says of the model that a reply names: nothing, "as asked", or its name.
func TestReplied(t *testing.T) {
	long := strings.Repeat("m", 300)
	e := &Exchanger{secrets: secret.New([]string{"sk-planted-0123456789"})}
	for _, c := range []struct {
		named, asked string
		want         tape.Opt[string]
	}{
		{"", "m", tape.Opt[string]{}},
		{"m", "m", tape.Some("")},
		{"M", "m", tape.Some("M")},
		{"m", "", tape.Some("m")},
		{long[:200], long, tape.Some("")},
		{"mm", "mmm", tape.Some("mm")},
		{"a\n\x1b[2Jb", "m", tape.Some("a [2Jb")},
		{"x sk-planted-0123456789", "m", tape.Some("x ***")},
	} {
		if got := e.replied(c.named, c.asked); got != c.want {
			t.Errorf("named %q, asked %q: %v, want %v", c.named, c.asked, got, c.want)
		}
	}
}

func TestModelAskedFor(t *testing.T) {
	d, err := dialect.New("openai-chat", dialect.Setup{Model: "m", Stream: true})
	if err != nil {
		t.Fatal(err)
	}
	e := New(Config{Dialect: d, Options: dialect.Options{Model: "m", Stream: true}})
	for _, c := range []struct {
		item workload.Item
		want string
	}{
		{workload.Item{Prompt: "hi"}, "m"},
		{workload.Item{Prompt: "hi", Extra: map[string]json.RawMessage{"model": json.RawMessage(`"lora"`)}}, "lora"},
		{workload.Item{Body: json.RawMessage(`{"messages":[],"model":"own"}`)}, "own"},
		{workload.Item{Body: json.RawMessage(`{"messages":[]}`)}, ""},
	} {
		p, err := e.Prepare(c.item)
		if err != nil {
			t.Fatal(err)
		}
		if p.model != c.want {
			t.Errorf("%s asks for %q, want %q", p.Body, p.model, c.want)
		}
	}
}
