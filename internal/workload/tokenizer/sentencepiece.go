package tokenizer

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Types of SentencePiece pieces.
const (
	spNormal = 1 + iota
	spUnknown
	spControl
	spUserDefined
	spUnused
	spByte
)

// spModel is a sentencepiece_model.proto ModelProto, as far as it is needed.
type spModel struct {
	pieces []spPiece
	kind   uint64 // 1 unigram, 2 BPE, 3 word, 4 character

	byteFallback, suffix               bool
	charsmap                           []byte
	dummyPrefix, removeExtra, escapeWS bool
	denormalizes                       bool
	unkSurface                         string
	unk                                int32
}

type spPiece struct {
	text  string
	score float32
	kind  uint64
}

const meta = "▁"

// fields visits the fields of a message; f gets the number, the varint or fixed32
// value and the bytes of whichever type it is.
func fields(b []byte, f func(num protowire.Number, v uint64, bytes []byte) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errors.New("not a SentencePiece model: broken protobuf")
		}
		b = b[n:]
		var v uint64
		var raw []byte
		switch typ {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var x uint32
			x, n = protowire.ConsumeFixed32(b)
			v = uint64(x)
		case protowire.BytesType:
			raw, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return errors.New("not a SentencePiece model: broken protobuf")
		}
		b = b[n:]
		if err := f(num, v, raw); err != nil {
			return err
		}
	}
	return nil
}

func parseSP(data []byte) (*spModel, error) {
	m := &spModel{kind: 1, dummyPrefix: true, removeExtra: true, escapeWS: true, unkSurface: " \u2047 ", unk: -1}
	err := fields(data, func(num protowire.Number, _ uint64, b []byte) error {
		switch num {
		case 1:
			p := spPiece{kind: spNormal}
			if err := fields(b, func(num protowire.Number, v uint64, b []byte) error {
				switch num {
				case 1:
					p.text = string(b)
				case 2:
					p.score = math.Float32frombits(uint32(v))
				case 3:
					p.kind = v
				}
				return nil
			}); err != nil {
				return err
			}
			if p.text == "" || !utf8.ValidString(p.text) {
				return fmt.Errorf("piece %d is %q: empty or not UTF-8", len(m.pieces), p.text)
			}
			m.pieces = append(m.pieces, p)
		case 2:
			return fields(b, func(num protowire.Number, v uint64, b []byte) error {
				switch num {
				case 3:
					m.kind = v
				case 24:
					m.suffix = v != 0
				case 35:
					m.byteFallback = v != 0
				case 44:
					m.unkSurface = string(b)
				}
				return nil
			})
		case 3:
			return fields(b, func(num protowire.Number, v uint64, b []byte) error {
				switch num {
				case 2:
					m.charsmap = b
				case 3:
					m.dummyPrefix = v != 0
				case 4:
					m.removeExtra = v != 0
				case 5:
					m.escapeWS = v != 0
				}
				return nil
			})
		case 5:
			m.denormalizes = len(b) > 0
		}
		return nil
	})
	return m, err
}

// parseSentencePiece reads a tokenizer.model. Begin and end tokens are put around
// a text as tokenizer_config.json says; without it none are.
func parseSentencePiece(data []byte, cfg *config) (*Tokenizer, error) {
	sp, err := parseSP(data)
	if err != nil {
		return nil, err
	}
	if len(sp.pieces) == 0 {
		return nil, fmt.Errorf("not a SentencePiece model (it starts with %q)", head(data))
	}
	if sp.denormalizes {
		if err := fieldsEmpty(data); err != nil {
			return nil, err
		}
	}
	v := newVocab(len(sp.pieces))
	user := newTrie()
	hasUser := false
	for i, p := range sp.pieces {
		if _, twice := v.ids[p.text]; twice {
			return nil, fmt.Errorf("piece %d (%q) stands there twice", i, p.text)
		}
		v.add(p.text, int32(i))
		switch p.kind {
		case spUnknown:
			if sp.unk >= 0 {
				return nil, fmt.Errorf("pieces %d and %d are both the unknown piece", sp.unk, i)
			}
			sp.unk = int32(i)
		case spUserDefined:
			user.add(p.text, int32(i))
			hasUser = true
		}
	}
	if sp.unk < 0 {
		return nil, errors.New("no piece is the unknown piece")
	}
	fallback := noBytes()
	if sp.byteFallback {
		if fallback = v.byteTokens(); slices.Contains(fallback[:], -1) {
			return nil, errors.New("trainer_spec.byte_fallback is set, but not all of <0x00> … <0xFF> are pieces")
		}
	}
	if !hasUser {
		user = nil
	}
	t := &Tokenizer{sanitize: ungarbled}
	if t.normalize, err = sp.normalizer(user); err != nil {
		return nil, err
	}
	switch sp.kind {
	case 1:
		t.model = sp.unigram(v, fallback)
	case 2:
		if t.model, err = sp.bpe(v, user, fallback); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("trainer_spec.model_type %d is not supported (1 unigram and 2 BPE are)", sp.kind)
	}
	// Tokens that are found in text before the model sees it: text cannot become
	// a control piece.
	added := slices.Clone(cfg.added)
	for i := range added {
		added[i].normalized = false
	}
	t.useAdded(added)
	t.decode = t.spDecoder(sp)
	around := func(flag *bool, tok string) []int32 {
		if flag == nil || !*flag {
			return nil
		}
		if id, ok := t.ID(tok); ok {
			return []int32{id}
		}
		err = fmt.Errorf("tokenizer_config.json wants the token %q around a text, which the model does not have", tok)
		return nil
	}
	t.before, t.after = around(cfg.addBOS, cfg.bos), around(cfg.addEOS, cfg.eos)
	if cfg.addBOS == nil && cfg.addEOS == nil {
		t.notes = append(t.notes, "tokenizer.model does not say whether a text gets begin and end tokens, and there is no add_bos_token in a tokenizer_config.json: none are counted.")
	}
	return t, err
}

// fieldsEmpty refuses a denormalizer with rules of its own.
func fieldsEmpty(data []byte) error {
	return fields(data, func(num protowire.Number, _ uint64, b []byte) error {
		if num != 5 {
			return nil
		}
		return fields(b, func(num protowire.Number, _ uint64, b []byte) error {
			if num == 2 && len(b) > 0 {
				return errors.New("denormalizer_spec.precompiled_charsmap is not supported")
			}
			return nil
		})
	})
}

// ungarbled makes every byte that is not UTF-8 a U+FFFD.
func ungarbled(t text, track bool) text {
	if utf8.ValidString(t.s) {
		return t
	}
	w := newWriter(t, track)
	for i := 0; i < len(t.s); {
		r, n := utf8.DecodeRuneInString(t.s[i:])
		if r == utf8.RuneError && n == 1 {
			w.put(replacement, i, i+1)
		} else {
			w.keep(i, i+n)
		}
		i += n
	}
	return w.text()
}

// normalizer is SentencePiece's: the charsmap's longest matches, user-defined
// pieces untouched, blanks collapsed, made visible and put before the text.
func (sp *spModel) normalizer(user *trie) (rewriter, error) {
	var cm *charsmap
	if len(sp.charsmap) > 0 {
		var err error
		if cm, err = newCharsmap(sp.charsmap); err != nil {
			return nil, fmt.Errorf("normalizer_spec.precompiled_charsmap: %w", err)
		}
	}
	blank := " "
	if sp.escapeWS {
		blank = meta
	}
	// next is what the text at i becomes, and how many bytes that replaces.
	next := func(s string) (string, int) {
		if user != nil {
			if n, _ := user.longest(s); n > 0 {
				return s[:n], n
			}
		}
		if cm != nil {
			if repl, n := cm.find(s, true); n > 0 {
				return repl, n
			}
		}
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 { // a rule ended inside a character
			return replacement, 1
		}
		return s[:n], n
	}
	return func(t text, track bool) text {
		s, i := t.s, 0
		if sp.removeExtra {
			for i < len(s) {
				repl, n := next(s[i:])
				if repl != " " {
					break
				}
				i += n
			}
		}
		w := newWriter(t, track)
		if i == len(s) {
			return w.text()
		}
		if sp.dummyPrefix && !sp.suffix {
			w.put(blank, i, i)
		}
		wasBlank := sp.removeExtra
		for i < len(s) {
			repl, n := next(s[i:])
			if wasBlank {
				repl = strings.TrimLeft(repl, " ")
			}
			if repl != "" {
				if sp.escapeWS {
					w.put(strings.ReplaceAll(repl, " ", meta), i, i+n)
				} else {
					w.put(repl, i, i+n)
				}
				wasBlank = sp.removeExtra && strings.HasSuffix(repl, " ")
			}
			i += n
		}
		if sp.removeExtra {
			for strings.HasSuffix(string(w.out[max(0, len(w.out)-len(blank)):]), blank) && len(w.out) > 0 {
				w.out = w.out[:len(w.out)-len(blank)]
				if track {
					w.at = w.at[:len(w.out)]
				}
			}
		}
		if sp.dummyPrefix && sp.suffix {
			w.put(blank, len(s), len(s))
		}
		return w.text()
	}, nil
}

func (sp *spModel) unigram(v *vocab, fallback [256]int32) *unigram {
	m := &unigram{vocab: v, trie: newTrie(), score: make([]float64, len(sp.pieces)), unk: sp.unk, fallback: fallback, single: true}
	// The reference starts from FLT_MAX and FLT_MIN, which is above zero.
	low, high := float32(math.MaxFloat32), float32(1.17549435e-38)
	for _, p := range sp.pieces {
		if p.kind == spNormal {
			low, high = min(low, p.score), max(high, p.score)
		}
	}
	m.unkScore = float64(low - 10)
	for i, p := range sp.pieces {
		m.score[i] = float64(p.score)
		switch p.kind {
		case spUserDefined: // always taken
			m.score[i] = float64(float32(len(p.text))*high) - 0.1
		case spNormal:
		default:
			continue
		}
		m.trie.add(p.text, int32(i))
	}
	return m
}

func (sp *spModel) bpe(v *vocab, user *trie, fallback [256]int32) (*bpe, error) {
	m := &bpe{vocab: v, pieces: map[string]int32{}, unk: sp.unk, fuseUnk: true, fallback: fallback,
		frozen: user, extra: map[string]int32{}, extraMin: int32(len(sp.pieces))}
	var entries []ranked
	for i, p := range sp.pieces {
		switch p.kind {
		case spUnused:
			return nil, fmt.Errorf("piece %d (%q) is UNUSED, which is not supported in a BPE model", i, p.text)
		case spNormal:
			m.pieces[p.text] = int32(i)
			entries = append(entries, ranked{piece: p.text, id: int32(i)})
		}
	}
	for _, e := range entries {
		for _, r := range e.piece {
			c := string(r)
			if _, ok := m.pieces[c]; !ok && m.extra[c] == 0 {
				m.extra[c] = m.extraMin + 1 + int32(len(m.extra))
			}
		}
	}
	// The higher the score the earlier; equal scores leave the order to the place.
	slices.SortStableFunc(entries, func(a, b ranked) int {
		x, y := sp.pieces[a.id].score, sp.pieces[b.id].score
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	for i := range entries {
		if i > 0 {
			entries[i].rank = entries[i-1].rank
			if sp.pieces[entries[i].id].score != sp.pieces[entries[i-1].id].score {
				entries[i].rank++
			}
		}
	}
	m.allMerges(entries)
	return m, nil
}

// spDecoder is SentencePiece's Decode: blanks visible again, the one before the
// text dropped, byte pieces joined.
func (t *Tokenizer) spDecoder(sp *spModel) func(ids []int32, skip bool) string {
	return func(ids []int32, skip bool) string {
		var out, run []byte
		flush := func() {
			for i := 0; i < len(run); {
				r, n := utf8.DecodeRune(run[i:])
				if r == utf8.RuneError && n == 1 {
					out = append(out, replacement...)
				} else {
					out = append(out, run[i:i+n]...)
				}
				i += n
			}
			run = run[:0]
		}
		start, ate := true, false
		for _, id := range ids {
			if a, ok := t.added[id]; ok {
				flush()
				if !skip || !a.special {
					out = append(out, a.content...)
				}
				continue
			}
			if id < 0 || int(id) >= len(sp.pieces) {
				continue
			}
			p := sp.pieces[id]
			if p.kind == spByte {
				var b byte
				if _, err := fmt.Sscanf(p.text, "<0x%02X>", &b); err == nil {
					run = append(run, b)
				}
				continue
			}
			flush()
			if ate || len(out) > 0 {
				start = false
			}
			s := p.text
			ate = false
			switch p.kind {
			case spControl:
				s = ""
			case spUnknown:
				s = sp.unkSurface
			default:
				if start && (sp.dummyPrefix || sp.removeExtra) {
					s, ate = strings.CutPrefix(s, meta)
					ate = ate && !sp.removeExtra
				}
				s = strings.ReplaceAll(s, meta, " ")
			}
			out = append(out, s...)
		}
		flush()
		return string(out)
	}
}
