package tokenizer

import (
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// charsmap is a precompiled_charsmap: a double-array trie (darts-clone) from
// strings to offsets into a list of NUL-ended replacements.
type charsmap struct {
	units []uint32
	text  string
}

func newCharsmap(b []byte) (*charsmap, error) {
	if len(b) < 4 {
		return nil, errors.New("shorter than its 4-byte header")
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if n%4 != 0 || n == 0 || n > int64(len(b)-4) {
		return nil, errors.New("the trie does not fit into it")
	}
	m := &charsmap{units: make([]uint32, n/4), text: string(b[4+n:])}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(b[4+4*i:])
	}
	if !utf8.ValidString(m.text) {
		return nil, errors.New("its replacements are not UTF-8")
	}
	return m, nil
}

// find is the shortest or longest key that s starts with.
func (m *charsmap) find(s string, longest bool) (repl string, n int) {
	offset := func(u uint32) uint32 { return u >> 10 << (u & (1 << 9) >> 6) }
	pos := offset(m.units[0])
	value := uint32(0)
	for i := range len(s) {
		if s[i] == 0 {
			break
		}
		if pos ^= uint32(s[i]); int64(pos) >= int64(len(m.units)) {
			break
		}
		u := m.units[pos]
		if u&(1<<31|0xFF) != uint32(s[i]) {
			break
		}
		if pos ^= offset(u); int64(pos) >= int64(len(m.units)) {
			break
		}
		if u>>8&1 != 0 {
			value, n = m.units[pos]&(1<<31-1), i+1
			if !longest {
				break
			}
		}
	}
	if n == 0 || int64(value) > int64(len(m.text)) {
		return "", 0
	}
	repl = m.text[value:]
	if end := strings.IndexByte(repl, 0); end >= 0 {
		repl = repl[:end]
	}
	return repl, n
}

// precompiled is the normalizer of that name. Unlike SentencePiece it works on
// whole grapheme clusters of fewer than 6 bytes, and replaces all of one by what
// its shortest prefix maps to; the reference does so.
func (m *charsmap) precompiled(t text, track bool) text {
	w := newWriter(t, track)
	for it := graphemes.FromString(t.s); it.Next(); {
		a, b := it.Start(), it.End()
		if b-a < 6 {
			if repl, n := m.find(t.s[a:b], false); n > 0 {
				w.put(repl, a, b)
				continue
			}
		}
		for a < b {
			_, size := utf8.DecodeRuneInString(t.s[a:])
			if repl, n := m.find(t.s[a:a+size], false); n > 0 {
				w.put(repl, a, a+size)
			} else {
				w.keep(a, a+size)
			}
			a += size
		}
	}
	return w.text()
}
