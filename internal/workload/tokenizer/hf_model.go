package tokenizer

import (
	"strings"

	"github.com/valyala/fastjson"
)

// readModel reads the model of a tokenizer.json. bytes: the pre-tokenizer's last
// step maps bytes to characters, which a BPE model can take over.
func readModel(t *Tokenizer, n node, bytes func() bool) {
	kind := n.get("type").textOr("")
	if kind == "" { // old files
		switch {
		case n.get("merges").has():
			kind = "BPE"
		case n.get("unk_id").has():
			kind = "Unigram"
		case n.get("max_input_chars_per_word").has():
			kind = "WordPiece"
		default:
			kind = "WordLevel"
		}
	}
	switch kind {
	case "BPE":
		t.model = readBPE(t, n, bytes)
	case "Unigram":
		t.model = readUnigram(n)
	case "WordPiece":
		v := readVocab(n.get("vocab"))
		m := &wordPiece{vocab: v, unk: unknownID(n, v), prefix: n.get("continuing_subword_prefix").textOr("##"), maxRunes: 100}
		if x := n.get("max_input_chars_per_word"); x.has() {
			m.maxRunes = int(x.number(1 << 30))
		}
		t.model = m
	case "WordLevel":
		v := readVocab(n.get("vocab"))
		t.model = &wordLevel{vocab: v, unk: unknownID(n, v)}
	default:
		n.get("type").errorf("model %q is not supported (BPE, Unigram, WordPiece and WordLevel are)", kind)
	}
}

// unknownID is the id of a model's unk_token, without which it could not encode
// every text.
func unknownID(n node, v *vocab) int32 {
	tok := n.get("unk_token").text()
	id, ok := v.id(tok)
	if !ok {
		n.get("unk_token").errorf("%q is not in the vocabulary", tok)
	}
	return id
}

func readVocab(n node) *vocab {
	if n.v == nil || n.v.Type() != fastjson.TypeObject {
		n.wrong("an object from token to id")
		return newVocab(0)
	}
	v := newVocab(n.v.GetObject().Len())
	n.v.GetObject().Visit(func(k []byte, x *fastjson.Value) {
		id, err := x.Int64()
		if err != nil || id < 0 || id > maxID {
			node{v: x, path: n.path + "[" + short(string(k)) + "]", fail: n.fail}.wrong("a token id")
			return
		}
		v.add(string(k), int32(id))
	})
	return v
}

func readBPE(t *Tokenizer, n node, bytes func() bool) *bpe {
	if d := n.get("dropout"); d.has() && d.float() != 0 {
		d.errorf("dropout makes token counts random; set it to null")
	}
	m := &bpe{
		vocab:   readVocab(n.get("vocab")),
		unk:     -1,
		fuseUnk: n.get("fuse_unk").boolOr(false),
		prefix:  n.get("continuing_subword_prefix").textOr(""),
		suffix:  n.get("end_of_word_suffix").textOr(""),
	}
	m.pieces = m.ids
	m.fallback = noBytes()
	if n.get("byte_fallback").boolOr(false) {
		m.fallback = m.byteTokens()
	}
	if n.get("unk_token").has() {
		m.unk = unknownID(n, m.vocab)
	}
	m.readMerges(n.get("merges"))
	if *n.fail != nil {
		return m
	}
	m.raw = m.prefix == "" && m.suffix == "" && m.hasAllBytes() && bytes()
	if n.get("ignore_merges").boolOr(false) {
		m.whole = m.ids
		if m.raw {
			m.whole = make(map[string]int32, len(m.ids))
			for tok, id := range m.ids {
				if b, ok := unmapBytes(tok); ok {
					m.whole[b] = id
				}
			}
		}
	}
	return m
}

// hasAllBytes fills in byteID; false: a byte has no entry.
func (m *bpe) hasAllBytes() bool {
	for b, r := range byteRunes {
		id, ok := m.ids[string(r)]
		if !ok {
			return false
		}
		m.byteID[b] = id
	}
	return true
}

// readMerges reads "left right" or ["left", "right"].
func (m *bpe) readMerges(n node) {
	list := n.list()
	m.merges = newTable(len(list))
	for rank, item := range list {
		var l, r string
		switch item.v.Type() {
		case fastjson.TypeString:
			var ok bool
			l, r, ok = strings.Cut(item.text(), " ")
			if !ok || strings.Contains(r, " ") {
				item.errorf("must be two tokens with a blank between them, not %q", item.text())
				return
			}
		case fastjson.TypeArray:
			two := item.list()
			if len(two) != 2 {
				item.errorf("must be two tokens")
				return
			}
			l, r = two[0].text(), two[1].text()
		default:
			item.wrong("two tokens")
			return
		}
		left, ok1 := m.ids[l]
		right, ok2 := m.ids[r]
		both, ok3 := m.ids[l+strings.TrimPrefix(r, m.prefix)]
		if !ok1 || !ok2 || !ok3 {
			item.errorf("%q + %q: one of the two or both together is not in the vocabulary", l, r)
			return
		}
		m.merges.set(uint64(uint32(left))<<32|uint64(uint32(right)), uint64(rank)<<32|uint64(uint32(both)))
	}
}

func readUnigram(n node) *unigram {
	list := n.get("vocab").list()
	m := &unigram{vocab: newVocab(len(list)), trie: newTrie(), score: make([]float64, len(list)), unkEntry: true}
	low := 0.0
	for i, item := range list {
		two := item.list()
		if len(two) != 2 {
			item.errorf("must be a token and its score")
			return m
		}
		tok := two[0].text()
		m.score[i] = two[1].float()
		if *n.fail != nil {
			return m
		}
		if i == 0 || m.score[i] < low {
			low = m.score[i]
		}
		m.add(tok, int32(i))
		if tok != "" {
			m.trie.add(tok, int32(i))
		}
	}
	m.unkScore = low - 10
	m.fallback = noBytes()
	if n.get("byte_fallback").boolOr(false) {
		m.fallback = m.byteTokens()
	}
	unk := n.get("unk_id")
	if !unk.has() {
		unk.errorf("is missing; text with a character that is not in the vocabulary could not be encoded")
		return m
	}
	m.unk = int32(unk.number(int64(len(list) - 1)))
	return m
}
