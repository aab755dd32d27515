package tokenizer

import "unicode/utf8"

// bpe merges neighbours, the pair of lowest rank first and of those the leftmost.
type bpe struct {
	*vocab
	// pieces are the entries that text can become.
	pieces map[string]int32
	// merges maps left id<<32 | right id to rank<<32 | id of both.
	merges *table
	// raw: pieces are bytes and byteID their ids; otherwise pieces are
	// characters.
	raw    bool
	byteID [256]int32
	// whole has the ids of pieces that are not merged but looked up; nil: none.
	whole map[string]int32
	// fallback are the ids of byte tokens for characters without an entry.
	fallback [256]int32
	// unk is the id of characters that nothing else covers; -1: they vanish.
	unk     int32
	fuseUnk bool
	// prefix is set before all but the first character, suffix behind the last.
	prefix, suffix string
	// frozen are strings that are one symbol and never merged; nil: none.
	frozen *trie
	// extra are ids of characters that are no entries but parts of merges. They
	// lie behind the vocabulary and become unk in the end.
	extra    map[string]int32
	extraMin int32
}

type symbol struct {
	id, prev, next int32
	a, b           int32 // bytes of the piece
}

// best is the merge of a symbol with its right neighbour: rank<<32 | new id.
type best = uint64

const noMerge = ^best(0)

// merge is an entry of the heap: rank<<32 | index of the left symbol, and the id
// that the two become.
type merge struct {
	key uint64
	id  int32
}

func (m *bpe) pair(l, r int32) best {
	if l < 0 || r < 0 {
		return noMerge
	}
	if v, ok := m.merges.get(uint64(uint32(l))<<32 | uint64(uint32(r))); ok {
		return v
	}
	return noMerge
}

func (m *bpe) encode(r *encoding, s string) {
	if m.whole != nil {
		if id, ok := m.whole[s]; ok {
			r.emit(id, 0, len(s))
			return
		}
	}
	syms := r.syms[:0]
	if m.raw {
		for i := range len(s) {
			syms = append(syms, symbol{id: m.byteID[s[i]], a: int32(i), b: int32(i + 1)})
		}
	} else {
		syms = m.characters(syms, s)
	}
	for i := range syms {
		syms[i].prev, syms[i].next = int32(i-1), int32(i+1)
	}
	if len(syms) > 0 {
		syms[len(syms)-1].next = -1
		if len(syms) <= 32 {
			m.mergeFew(r, syms)
		} else {
			m.mergeMany(r, syms)
		}
		for i := int32(0); i >= 0; i = syms[i].next {
			m.result(r, s, syms[i])
		}
	}
	r.syms = syms
}

// result emits a merged symbol.
func (m *bpe) result(r *encoding, s string, y symbol) {
	switch {
	case y.id < -1: // frozen
		r.emit(-2-y.id, int(y.a), int(y.b))
	case y.id < 0: // a byte without a token
	case m.extra != nil && y.id >= m.extraMin:
		m.unknown(r, s, int(y.a), int(y.b))
	default:
		r.emit(y.id, int(y.a), int(y.b))
	}
}

// unknown emits s[a:b], of which the vocabulary knows nothing.
func (m *bpe) unknown(r *encoding, s string, a, b int) {
	if m.fallback[0] >= 0 {
		for ; a < b; a++ {
			r.emit(m.fallback[s[a]], a, a+1)
		}
		return
	}
	if n := len(r.ids); m.fuseUnk && a > 0 && n > 0 && r.ids[n-1] == m.unk {
		if r.track {
			r.spans[n-1].b = b
		}
		return
	}
	r.emit(m.unk, a, b)
}

// characters makes the symbols of s, one for each character that has an entry.
func (m *bpe) characters(syms []symbol, s string) []symbol {
	unk := symbol{id: -1} // an unknown character, held back to be fused
	for i := 0; i < len(s); {
		n := 0
		if m.frozen != nil {
			var id int32
			if n, id = m.frozen.longest(s[i:]); n > 0 {
				// Its id is made negative, so that no merge finds it.
				syms = append(syms, symbol{id: -2 - id, a: int32(i), b: int32(i + n)})
				i += n
				continue
			}
		}
		_, n = utf8.DecodeRuneInString(s[i:])
		c := s[i : i+n]
		if m.prefix != "" && i > 0 {
			c = m.prefix + c
		}
		if m.suffix != "" && i+n == len(s) {
			c += m.suffix
		}
		a, b := int32(i), int32(i+n)
		i += n
		id, ok := m.pieces[c]
		if m.extra != nil {
			if !ok {
				id = m.extra[c] // 0 cannot be: extraMin is above it
				if id == 0 {
					id = m.extraMin
				}
			}
			syms = append(syms, symbol{id: id, a: a, b: b})
			continue
		}
		if ok {
			if unk.id >= 0 {
				syms = append(syms, unk)
				unk.id = -1
			}
			syms = append(syms, symbol{id: id, a: a, b: b})
			continue
		}
		if m.covered(c) {
			for k := range len(c) {
				// The added prefix and suffix have bytes too, but no place in s.
				p := min(a+int32(k), b-1)
				syms = append(syms, symbol{id: m.fallback[c[k]], a: p, b: min(p+1, b)})
			}
			continue
		}
		switch {
		case m.unk < 0:
		case unk.id >= 0 && m.fuseUnk:
			unk.b = b
		default:
			if unk.id >= 0 {
				syms = append(syms, unk)
			}
			unk = symbol{id: m.unk, a: a, b: b}
		}
	}
	if unk.id >= 0 {
		syms = append(syms, unk)
	}
	return syms
}

// covered: every byte of c has a byte token.
func (m *bpe) covered(c string) bool {
	for i := range len(c) {
		if m.fallback[c[i]] < 0 {
			return false
		}
	}
	return true
}

// mergeFew looks for the best pair again and again: the fastest for words.
func (m *bpe) mergeFew(r *encoding, syms []symbol) {
	bests := r.best[:0]
	for i := range syms {
		b := noMerge
		if i+1 < len(syms) {
			b = m.pair(syms[i].id, syms[i+1].id)
		}
		bests = append(bests, b)
	}
	r.best = bests
	for {
		low, at := noMerge, int32(-1)
		for i := int32(0); i >= 0; i = syms[i].next {
			if bests[i]>>32 < low>>32 {
				low, at = bests[i], i
			}
		}
		if at < 0 {
			return
		}
		m.join(syms, at, int32(uint32(low)))
		bests[at] = noMerge
		if next := syms[at].next; next >= 0 {
			bests[at] = m.pair(syms[at].id, syms[next].id)
		}
		if prev := syms[at].prev; prev >= 0 {
			bests[prev] = m.pair(syms[prev].id, syms[at].id)
		}
	}
}

// join makes symbol i and the next one into id.
func (m *bpe) join(syms []symbol, i, id int32) {
	j := syms[i].next
	syms[i].id, syms[i].b, syms[i].next = id, syms[j].b, syms[j].next
	syms[j].id = -1
	if n := syms[j].next; n >= 0 {
		syms[n].prev = i
	}
}

// mergeMany keeps the pairs in a heap: n·log n for a piece of any length.
func (m *bpe) mergeMany(r *encoding, syms []symbol) {
	h := r.heap[:0]
	push := func(i int32) {
		j := syms[i].next
		if j < 0 {
			return
		}
		if b := m.pair(syms[i].id, syms[j].id); b != noMerge {
			h = append(h, merge{b>>32<<32 | uint64(uint32(i)), int32(uint32(b))})
			up(h)
		}
	}
	for i := range syms {
		push(int32(i))
	}
	for len(h) > 0 {
		top := h[0]
		h[0] = h[len(h)-1]
		h = h[:len(h)-1]
		down(h)
		i := int32(uint32(top.key))
		if syms[i].id == -1 || syms[i].next < 0 {
			continue
		}
		// The pair may have changed since.
		if b := m.pair(syms[i].id, syms[syms[i].next].id); b == noMerge || int32(uint32(b)) != top.id {
			continue
		}
		m.join(syms, i, top.id)
		push(i)
		if p := syms[i].prev; p >= 0 {
			push(p)
		}
	}
	r.heap = h[:0]
}

func up(h []merge) {
	for i := len(h) - 1; i > 0; {
		p := (i - 1) / 2
		if h[p].key <= h[i].key {
			return
		}
		h[p], h[i] = h[i], h[p]
		i = p
	}
}

func down(h []merge) {
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && h[c+1].key < h[c].key {
			c++
		}
		if h[i].key <= h[c].key {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

// allMerges are the merges of a vocabulary without a list of them (tiktoken,
// SentencePiece): any two entries whose concatenation is an entry, ranked by it.
func (m *bpe) allMerges(entries []ranked) {
	n := 0
	for _, e := range entries {
		n += len(e.piece)
	}
	m.merges = newTable(n / 2)
	look := func(s string) (int32, bool) {
		if id, ok := m.pieces[s]; ok {
			return id, true
		}
		id, ok := m.extra[s]
		return id, ok
	}
	for _, e := range entries {
		for i := 1; i < len(e.piece); i++ {
			if l, ok := look(e.piece[:i]); ok {
				if r, ok := look(e.piece[i:]); ok {
					m.merges.set(uint64(uint32(l))<<32|uint64(uint32(r)), uint64(e.rank)<<32|uint64(uint32(e.id)))
				}
			}
		}
	}
}

// ranked is an entry that merges can lead to.
type ranked struct {
	piece string
	id    int32
	rank  uint32
}
