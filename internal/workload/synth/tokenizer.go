package synth

import (
	"fmt"
	"strings"

	"tokentape/internal/workload"
	"tokentape/internal/workload/tokenizer"
)

// Tokenizer is what a model makes of text. It is safe for concurrent use.
type Tokenizer interface {
	// Name is for people: the folder's name, or "sim".
	Name() string
	// SHA256 tells two tokenizers apart, not their templates; hex.
	SHA256() string
	// Content appends the ids of a text alone.
	Content(dst []uint64, text string) []uint64
	// Prompt appends the ids of the prompt that a server makes of messages: with
	// the chat template where there is one, else with the tokens that the
	// tokenizer itself puts around a text.
	Prompt(dst []uint64, messages []workload.Message) ([]uint64, error)
	// Template says in a few words where the tokens around a message come from;
	// "" when there is no chat template.
	Template() string
	// Words are lower-case words, the most common first, many of which are one
	// token. It may be empty.
	Words() []string
}

// Render writes messages as a chat prompt, the answer's opening included.
type Render func([]workload.Message) (string, error)

// Model is the Tokenizer of a real model.
type Model struct {
	name, template, sum string
	tok                 *tokenizer.Tokenizer
	render              Render // nil: no chat template
}

// NewModel is a Tokenizer of a loaded tokenizer. template describes render; both
// may be empty, and then prompts are counted with the tokenizer's own special
// tokens around them, as a completions API does.
func NewModel(name string, tok *tokenizer.Tokenizer, template string, render Render) *Model {
	return &Model{name: name, template: template, sum: tok.SHA256(), tok: tok, render: render}
}

// Name is the name that NewModel was given.
func (m *Model) Name() string { return m.name }

// SHA256 is the hash of the tokenizer's file.
func (m *Model) SHA256() string { return m.sum }

// Template is the description that NewModel was given.
func (m *Model) Template() string { return m.template }

// Content appends the ids of a text without special tokens around it.
func (m *Model) Content(dst []uint64, text string) []uint64 {
	return widen(dst, m.tok.Encode(text, false))
}

// Prompt appends the ids of the rendered messages. A template writes the special
// tokens out itself.
func (m *Model) Prompt(dst []uint64, messages []workload.Message) ([]uint64, error) {
	if m.render == nil {
		return widen(dst, m.tok.Encode(joined(messages), true)), nil
	}
	text, err := m.render(messages)
	if err != nil {
		return dst, err
	}
	return widen(dst, m.tok.Encode(text, false)), nil
}

// maxWords bounds the search for words in a vocabulary.
const maxWords = 1 << 14

// Words are the vocabulary's entries that are lower-case ASCII words, in the
// order of their ids, which for most models is that of their frequency.
func (m *Model) Words() []string {
	var out []string
	seen := map[string]bool{}
	for id := range m.tok.VocabSize() {
		s, ok := m.tok.Token(int32(id))
		if !ok || m.tok.Special(int32(id)) {
			continue
		}
		for _, blank := range []string{"Ġ", "▁", " "} {
			s = strings.TrimPrefix(s, blank)
		}
		if !isWord(s) || seen[s] {
			continue
		}
		seen[s] = true
		if out = append(out, s); len(out) == maxWords {
			break
		}
	}
	return out
}

func isWord(s string) bool {
	if len(s) < 3 || len(s) > 9 {
		return false
	}
	for i := range len(s) {
		if s[i] < 'a' || s[i] > 'z' {
			return false
		}
	}
	return true
}

// Frame is the Render of a text with {content} in it, for models whose files
// carry no chat template. It renders one user message.
func Frame(text string) (Render, error) {
	before, after, ok := strings.Cut(text, "{content}")
	if !ok || strings.Contains(after, "{content}") {
		return nil, fmt.Errorf("%q must hold {content} once: where the message stands", text)
	}
	return func(messages []workload.Message) (string, error) {
		if len(messages) != 1 || messages[0].Role != "user" {
			return "", fmt.Errorf("a template given as text renders one user message, not %d messages", len(messages))
		}
		return before + messages[0].Content + after, nil
	}, nil
}

func user(content string) []workload.Message {
	return []workload.Message{{Role: "user", Content: content}}
}

func joined(messages []workload.Message) string {
	if len(messages) == 1 {
		return messages[0].Content
	}
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(m.Content)
	}
	return b.String()
}

func widen(dst []uint64, ids []int32) []uint64 {
	if n := len(dst) + len(ids); cap(dst) < n {
		dst = append(make([]uint64, 0, n), dst...)
	}
	for _, id := range ids {
		dst = append(dst, uint64(uint32(id)))
	}
	return dst
}

// common is the number of leading ids that a and b share.
func common(a, b []uint64) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
