package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// wordPiece takes the longest entry again and again; a piece that does not come
// out whole is unknown.
type wordPiece struct {
	*vocab
	unk      int32
	prefix   string // of entries that do not start a word
	maxRunes int    // longer pieces are unknown
}

func (m *wordPiece) encode(r *encoding, s string) {
	first, firstSpan := len(r.ids), len(r.spans)
	if utf8.RuneCountInString(s) > m.maxRunes {
		r.emit(m.unk, 0, len(s))
		return
	}
	var b strings.Builder
	for start := 0; start < len(s); {
		end := len(s)
		for end > start {
			tok := s[start:end]
			if start > 0 {
				b.Reset()
				b.WriteString(m.prefix)
				b.WriteString(tok)
				tok = b.String()
			}
			if id, ok := m.ids[tok]; ok {
				r.emit(id, start, end)
				break
			}
			_, n := utf8.DecodeLastRuneInString(s[start:end])
			end -= n
		}
		if end == start {
			r.ids, r.spans = r.ids[:first], r.spans[:firstSpan]
			r.emit(m.unk, 0, len(s))
			return
		}
		start = end
	}
}

// wordLevel looks whole pieces up.
type wordLevel struct {
	*vocab
	unk int32
}

func (m *wordLevel) encode(r *encoding, s string) {
	id, ok := m.ids[s]
	if !ok {
		id = m.unk
	}
	r.emit(id, 0, len(s))
}
