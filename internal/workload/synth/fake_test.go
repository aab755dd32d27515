package synth

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/internal/workload/rows"
	"tokentape/internal/workload/tokenizer"
)

// fake is a tokenizer of words: split by single blanks.
type fake struct {
	name          string
	before, after int
	// cost is the number of tokens of a word; prev is the one before it, "" at the
	// start.
	cost func(word, prev string) int
}

func (f fake) Name() string     { return f.name }
func (f fake) SHA256() string   { return strings.Repeat("ab", 32) }
func (f fake) Template() string { return "fake" }

func (f fake) Content(dst []uint64, text string) []uint64 {
	prev := ""
	for _, w := range strings.Fields(text) {
		for k := range f.cost(w, prev) {
			id := uint64(1000 + k)
			for i := range len(w) {
				id = id*131 + uint64(w[i])
			}
			dst = append(dst, id)
		}
		prev = w
	}
	return dst
}

func (f fake) Prompt(dst []uint64, messages []workload.Message) ([]uint64, error) {
	for i := range f.before {
		dst = append(dst, uint64(i))
	}
	for _, m := range messages {
		dst = f.Content(dst, m.Content)
	}
	for i := range f.after {
		dst = append(dst, uint64(100+i))
	}
	return dst, nil
}

func (f fake) Words() []string {
	var out []string
	for a := 'a'; a <= 'z'; a++ {
		for b := 'a'; b <= 'z'; b++ {
			out = append(out, "w"+string(a)+string(b))
		}
	}
	return out
}

func one(string, string) int { return 1 }

// plain has one token a word and a template of 2 + 2 tokens.
var plain = fake{name: "plain", before: 2, after: 2, cost: one}

// merging makes one token of two words where the second is the first in the
// alphabet's order, so that counts do not quite add up.
var merging = fake{name: "merging", before: 1, after: 3, cost: func(w, prev string) int {
	if len(prev) == 3 && w == prev {
		return 0
	}
	return 1
}}

// pairs has two tokens a word: odd lengths cannot be had.
var pairs = fake{name: "pairs", before: 1, after: 1, cost: func(string, string) int { return 2 }}

// small is a byte-level BPE with a handful of merges, read by package tokenizer.
func small(t testing.TB) *Model {
	t.Helper()
	vocab := map[string]int{}
	add := func(s string) { vocab[s] = len(vocab) }
	for b := range 256 { // the printable stand-ins of bytes
		add(string(byteRune(byte(b))))
	}
	var merges []string
	for _, m := range []string{"t h", "th e", "Ġ the", "o n", "Ġ on", "a t", "c at", "Ġ cat", "s at", "Ġ sat"} {
		merges = append(merges, m)
		add(strings.ReplaceAll(m, " ", ""))
	}
	b, err := json.Marshal(map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": []any{}, "normalizer": nil,
		"pre_tokenizer":  map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
		"post_processor": nil, "decoder": map[string]any{"type": "ByteLevel"},
		"model": map[string]any{"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil, "end_of_word_suffix": nil,
			"fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": vocab, "merges": merges},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	frame, err := Frame("<user>{content}</user>")
	if err != nil {
		t.Fatal(err)
	}
	return NewModel("small", tok, "<user>{content}</user>", frame)
}

// byteRune is the character that stands for a byte in byte-level vocabularies.
func byteRune(b byte) rune {
	printable := func(c int) bool { return c >= '!' && c <= '~' || c >= 0xA1 && c <= 0xAC || c >= 0xAE && c <= 0xFF }
	if printable(int(b)) {
		return rune(b)
	}
	n := rune(0)
	for c := range int(b) {
		if !printable(c) {
			n++
		}
	}
	return 0x100 + n
}

// built is a set with everything that is needed to look at it.
type built struct {
	*Manifest
	data, prepare []byte
}

func build(t testing.TB, p Params, tok Tokenizer) (built, error) {
	t.Helper()
	b, err := NewBuilder(p, tok)
	if err != nil {
		return built{}, err
	}
	var data, prepare bytes.Buffer
	m, err := b.Write(context.Background(), &data, &prepare, nil)
	if err != nil {
		return built{}, err
	}
	m.Name("set.jsonl", "set.prepare.jsonl")
	return built{m, data.Bytes(), prepare.Bytes()}, nil
}

func mustBuild(t testing.TB, p Params, tok Tokenizer) built {
	t.Helper()
	b, err := build(t, p, tok)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// questions are the prompts of a set.
func questions(t testing.TB, data []byte) (out []string) {
	t.Helper()
	for line := range bytes.Lines(data) {
		var r struct{ Question string }
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%v: %.80s", err, line)
		}
		out = append(out, r.Question)
	}
	return out
}

// source is a set as a run reads it.
func source(t testing.TB, data []byte) (workload.Source, Data) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "set.jsonl")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	w := spec.Default().Workload
	w.Dataset.Path = path
	s, err := rows.Open(w, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	i := s.Info()
	return s, Data{Bytes: i.Bytes, Rows: int(i.Rows), SHA256: i.SHA256}
}
