package tokenizer

import "fmt"

// model turns one piece into ids.
type model interface {
	// encode appends the ids of s, which is not empty, to r.ids, and when r.track
	// is set the bytes of s behind each to r.spans.
	encode(r *encoding, s string)
	// token is the vocabulary entry of an id.
	token(id int32) (string, bool)
	// id is the inverse.
	id(tok string) (int32, bool)
	// size is the number of entries.
	size() int
}

// encoding is the working memory of one encoding.
type encoding struct {
	track bool
	ids   []int32
	spans []span // with track: of ids, in the piece, then in the input

	cuts []span
	syms []symbol
	heap []merge
	best []best
	path []pathNode
	back []int32
	revs []span
}

// kept is the most that a buffer may hold to be used again, in entries: one huge
// text must not keep its memory for good.
const kept = 1 << 20

func (r *encoding) reset(track bool) {
	if cap(r.ids) > kept || cap(r.cuts) > kept || cap(r.syms) > kept || cap(r.path) > kept {
		*r = encoding{}
	}
	r.track, r.ids, r.spans, r.cuts = track, r.ids[:0], r.spans[:0], r.cuts[:0]
}

func (r *encoding) emit(id int32, a, b int) {
	r.ids = append(r.ids, id)
	if r.track {
		r.spans = append(r.spans, span{a, b})
	}
}

// vocab is a vocabulary in both directions.
type vocab struct {
	ids  map[string]int32
	toks map[int32]string
	list []string // toks of small ids; "" may be a hole
}

func newVocab(n int) *vocab {
	return &vocab{ids: make(map[string]int32, n), toks: map[int32]string{}, list: make([]string, 0, n)}
}

// add maps tok and id to each other; of two entries the later one stays.
func (v *vocab) add(tok string, id int32) {
	v.ids[tok] = id
	switch {
	case int(id) < len(v.list):
		v.list[id] = tok
	case int(id) < cap(v.list):
		v.list = v.list[:id+1]
		v.list[id] = tok
	default: // sparse ids
		v.toks[id] = tok
	}
}

func (v *vocab) token(id int32) (string, bool) {
	if id >= 0 && int(id) < len(v.list) {
		if t := v.list[id]; t != "" {
			return t, true
		}
		// A hole, unless "" itself is an entry.
		got, ok := v.ids[""]
		return "", ok && got == id
	}
	t, ok := v.toks[id]
	return t, ok
}

func (v *vocab) id(tok string) (int32, bool) {
	id, ok := v.ids[tok]
	return id, ok
}

func (v *vocab) size() int { return len(v.ids) }

// noBytes are the ids of a vocabulary without byte tokens.
func noBytes() (ids [256]int32) {
	for b := range ids {
		ids[b] = -1
	}
	return ids
}

// byteTokens are the ids of <0x00> … <0xFF>; -1 where there is none.
func (v *vocab) byteTokens() [256]int32 {
	ids := noBytes()
	for b := range ids {
		if id, ok := v.ids[fmt.Sprintf("<0x%02X>", b)]; ok {
			ids[b] = id
		}
	}
	return ids
}
