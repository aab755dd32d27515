package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Token types of GGUF.
const (
	typeNormal  = 1
	typeControl = 3
	typeUser    = 4
	typeUnused  = 5
)

// endOfTurn ends a generation.
const endOfTurn = "<|im_end|>"

// tokenizer is a byte-level BPE, cut to its first entries.
type tokenizer struct {
	vocab  map[string]int
	added  []added
	merges []string // "left right"

	texts []string // by id
	types []int32
	eos   uint32
}

type added struct {
	ID      int    `json:"id"`
	Content string `json:"content"`
	Special bool   `json:"special"`
}

// readTokenizer reads a tokenizer.json and keeps the vocabulary entries below
// limit (0: all). Byte-level BPE vocabularies are in the order of their merges,
// so the cut one still encodes every text.
func readTokenizer(raw []byte, limit int) (*tokenizer, error) {
	var file struct {
		Added []added `json:"added_tokens"`
		Model struct {
			Vocab  map[string]int    `json:"vocab"`
			Merges []json.RawMessage `json:"merges"`
		} `json:"model"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, err
	}
	if len(file.Model.Vocab) == 0 {
		return nil, fmt.Errorf("no model.vocab; a byte-level BPE tokenizer is needed")
	}
	t := &tokenizer{vocab: file.Model.Vocab, added: file.Added}
	if limit > 0 {
		for text, id := range t.vocab {
			if id >= limit {
				delete(t.vocab, text)
			}
		}
		for i := range t.added {
			t.added[i].ID = limit + i
		}
	}
	for _, m := range file.Model.Merges {
		left, right, err := parseMerge(m)
		if err != nil {
			return nil, err
		}
		if t.has(left) && t.has(right) && t.has(left+right) {
			t.merges = append(t.merges, left+" "+right)
		}
	}
	return t, t.number()
}

func (t *tokenizer) has(text string) bool { _, ok := t.vocab[text]; return ok }

// parseMerge reads either form in use: "left right" or ["left","right"].
func parseMerge(raw json.RawMessage) (left, right string, err error) {
	var pair []string
	if json.Unmarshal(raw, &pair) == nil && len(pair) == 2 {
		return pair[0], pair[1], nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		if left, right, ok := strings.Cut(s, " "); ok {
			return left, right, nil
		}
	}
	return "", "", fmt.Errorf("merge %.80s is neither \"a b\" nor [\"a\",\"b\"]", raw)
}

// number lays the tokens out by id.
func (t *tokenizer) number() error {
	n := 0
	for _, id := range t.vocab {
		n = max(n, id+1)
	}
	for _, a := range t.added {
		n = max(n, a.ID+1)
	}
	t.texts, t.types = make([]string, n), make([]int32, n)
	for i := range t.texts {
		t.texts[i], t.types[i] = fmt.Sprintf("[PAD%d]", i), typeUnused
	}
	for text, id := range t.vocab {
		t.texts[id], t.types[id] = text, typeNormal
	}
	found := false
	for _, a := range t.added {
		t.texts[a.ID], t.types[a.ID] = a.Content, typeUser
		if a.Special {
			t.types[a.ID] = typeControl
		}
		if a.Content == endOfTurn {
			t.eos, found = uint32(a.ID), true
		}
	}
	if !found {
		return fmt.Errorf("no added token %s", endOfTurn)
	}
	return nil
}

// rewrite is the original file with the vocabulary, merges and ids of t.
func (t *tokenizer) rewrite(raw []byte) ([]byte, error) {
	var file map[string]any
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, err
	}
	model, ok := file["model"].(map[string]any)
	list, ok2 := file["added_tokens"].([]any)
	if !ok || !ok2 || len(list) != len(t.added) {
		return nil, fmt.Errorf("no model or added_tokens")
	}
	model["vocab"], model["merges"] = t.vocab, t.merges
	for i, a := range list {
		a.(map[string]any)["id"] = t.added[i].ID
	}
	return json.Marshal(file)
}
