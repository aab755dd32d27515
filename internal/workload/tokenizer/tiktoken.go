package tokenizer

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// known is what a .tiktoken file leaves to the program that reads it.
type known struct {
	pattern string
	special map[string]int32
}

var (
	gpt2Known = known{patternGPT2, map[string]int32{"<|endoftext|>": 50256}}
	cl100k    = known{patternCL100, map[string]int32{"<|endoftext|>": 100257, "<|fim_prefix|>": 100258,
		"<|fim_middle|>": 100259, "<|fim_suffix|>": 100260, "<|endofprompt|>": 100276}}
	o200kBase = known{patternO200K, map[string]int32{"<|endoftext|>": 199999, "<|endofprompt|>": 200018}}

	// encodings by the name of their file and by its SHA-256.
	encodings = map[string]known{
		"r50k_base.tiktoken": gpt2Known, "p50k_base.tiktoken": gpt2Known,
		"cl100k_base.tiktoken": cl100k, "o200k_base.tiktoken": o200kBase,
		"306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": gpt2Known,
		"94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": gpt2Known,
		"223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": cl100k,
		"446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": o200kBase,
	}
)

// isTiktoken: the first line is base64, a blank and a number.
func isTiktoken(data []byte) bool {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	_, _, err := tiktokenLine(strings.TrimRight(string(line[:min(len(line), 1<<12)]), "\r"))
	return err == nil
}

func tiktokenLine(line string) (tok []byte, rank int64, err error) {
	b64, num, ok := strings.Cut(line, " ")
	if !ok || b64 == "" {
		return nil, 0, errors.New("want a token in base64, a blank and its rank")
	}
	if tok, err = base64.StdEncoding.DecodeString(b64); err != nil {
		return nil, 0, fmt.Errorf("the token is not base64: %w", err)
	}
	if rank, err = strconv.ParseInt(num, 10, 32); err != nil || rank < 0 || rank > maxID {
		return nil, 0, fmt.Errorf("%q is no rank", short(num))
	}
	return tok, rank, nil
}

// parseTiktoken reads a .tiktoken file: bytes of each token and its rank, which is
// its id. The split pattern and the special tokens come from
// tokenizer_config.json, or are those of a known file.
func parseTiktoken(name string, data []byte, cfg *config) (*Tokenizer, error) {
	sum := sha256.Sum256(data)
	kn, ok := encodings[name]
	if !ok {
		kn, ok = encodings[hex.EncodeToString(sum[:])]
	}
	if cfg.pattern != "" {
		kn.pattern, ok = cfg.pattern, true
	}
	if !ok {
		return nil, errors.New("a .tiktoken file does not say how to split text, and this is none of cl100k_base, o200k_base, p50k_base, r50k_base; " +
			`write the model's pattern as "pat_str" into a tokenizer_config.json beside it, or use a tokenizer.json`)
	}
	n := bytes.Count(data, []byte("\n")) + 1
	m := &bpe{vocab: newVocab(n), unk: -1, raw: true, fallback: noBytes()}
	m.pieces = m.ids
	var entries []ranked
	no := 0
	for line := range strings.Lines(string(data)) {
		no++
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		tok, rank, err := tiktokenLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", no, err)
		}
		if _, twice := m.ids[string(tok)]; twice || len(tok) == 0 {
			return nil, fmt.Errorf("line %d: the token %q stands there twice or is empty", no, short(string(tok)))
		}
		m.add(string(tok), int32(rank))
		if len(tok) > 1 {
			entries = append(entries, ranked{string(tok), int32(rank), uint32(rank)})
		}
	}
	for b := range m.byteID {
		id, ok := m.ids[string([]byte{byte(b)})]
		if !ok {
			return nil, fmt.Errorf("byte 0x%02X has no token", b)
		}
		m.byteID[b] = id
	}
	slices.SortFunc(entries, func(a, b ranked) int { return int(a.id) - int(b.id) })
	m.allMerges(entries)
	m.whole = m.ids
	sp, err := splitPattern(kn.pattern, removed, true)
	if err != nil {
		return nil, fmt.Errorf("the split pattern: %w", err)
	}
	t := &Tokenizer{sanitize: wellFormed, model: m, steps: []step{{split: sp}}}
	var added []addedToken
	for tok, id := range kn.special {
		added = append(added, addedToken{id: id, content: tok, special: true})
	}
	slices.SortFunc(added, func(a, b addedToken) int { return int(a.id) - int(b.id) })
	if cfg.added != nil {
		added = cfg.added
	}
	t.useAdded(added)
	t.decode = func(ids []int32, skip bool) string { return lossy(strings.Join(t.tokens(ids, skip), "")) }
	return t, nil
}

// useAdded takes tokens with ids that need no check.
func (t *Tokenizer) useAdded(toks []addedToken) {
	t.added = map[int32]addedToken{}
	var keep []addedToken
	for _, a := range toks {
		if a.content != "" && utf8.ValidString(a.content) {
			t.added[a.id] = a
			keep = append(keep, a)
		}
	}
	t.setAdded(keep)
}
