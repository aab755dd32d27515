package tokenizer

import (
	"slices"
	"sync"
)

// Tokenizer is a loaded tokenizer. It never changes after Load and is safe for
// concurrent use.
type Tokenizer struct {
	// path of an encoding: sanitize, added tokens, normalizer, added tokens of
	// normalized text, pre-tokenizer steps, model, post-processor
	sanitize  rewriter
	addedRaw  *addedSet
	normalize rewriter
	addedNorm *addedSet
	steps     []step
	model     model
	before    []int32 // special tokens that go before and after a text
	after     []int32

	// align: origins are tracked even when nobody asks, because a step depends
	// on them.
	align  bool
	decode func(ids []int32, skipSpecial bool) string

	added   map[int32]addedToken
	special map[int32]bool
	size    int
	sha256  string
	notes   []string

	cache *cache
	pool  sync.Pool // *encoding
}

// step is a pre-tokenizer step: a rewriter, then a splitter; either may be nil.
type step struct {
	rewrite rewriter
	split   splitter
}

// Span is a range of bytes of the encoded text, End excluded.
type Span struct{ Start, End int }

// Encode is the token ids of text. With special the ids that the tokenizer's own
// files put around a text (begin and end of sequence) are included. Special
// tokens that are written out in text become their ids either way, as in the
// reference.
func (t *Tokenizer) Encode(text string, special bool) []int32 {
	r := t.run(text, t.align)
	defer t.pool.Put(r)
	if !special {
		return slices.Clone(r.ids)
	}
	return slices.Concat(t.before, r.ids, t.after)
}

// EncodeOffsets is Encode with the bytes of text that each token stands for. A
// token's range includes its blanks; a token of a part of a character has the
// bytes of that part; a token that only normalization brought in has an empty
// range; tokens around the text have {0, 0}. Ranges are in order and inside text.
func (t *Tokenizer) EncodeOffsets(text string, special bool) ([]int32, []Span) {
	r := t.run(text, true)
	defer t.pool.Put(r)
	spans := make([]Span, 0, len(r.spans)+len(t.before)+len(t.after))
	for range t.before {
		if special {
			spans = append(spans, Span{})
		}
	}
	for _, s := range r.spans {
		spans = append(spans, Span{s.a, s.b})
	}
	if !special {
		return slices.Clone(r.ids), spans
	}
	for range t.after {
		spans = append(spans, Span{})
	}
	return slices.Concat(t.before, r.ids, t.after), spans
}

// Count is the number of tokens of text without special tokens around it:
// len(Encode(text, false)).
func (t *Tokenizer) Count(text string) int {
	r := t.run(text, t.align)
	defer t.pool.Put(r)
	return len(r.ids)
}

// CountTokens is Count, as a counter of output text; the error is always nil.
func (t *Tokenizer) CountTokens(text string) (int64, error) {
	return int64(t.Count(text)), nil
}

// Decode is the text of ids. With skipSpecial special tokens are left out. Ids
// without an entry are left out too, as in the reference; see Token. Bytes that
// are not UTF-8 together become U+FFFD.
func (t *Tokenizer) Decode(ids []int32, skipSpecial bool) string {
	return t.decode(ids, skipSpecial)
}

// Token is the entry of an id as the tokenizer's file spells it.
func (t *Tokenizer) Token(id int32) (string, bool) {
	if a, ok := t.added[id]; ok {
		return a.content, true
	}
	return t.model.token(id)
}

// ID is the id of an entry as the tokenizer's file spells it.
func (t *Tokenizer) ID(token string) (int32, bool) {
	for id, a := range t.added {
		if a.content == token {
			return id, true
		}
	}
	return t.model.id(token)
}

// Special tells whether id is a special token, which Decode can leave out.
func (t *Tokenizer) Special(id int32) bool { return t.special[id] }

// VocabSize is the number of entries, added tokens included.
func (t *Tokenizer) VocabSize() int { return t.size }

// Around is the number of special tokens that Encode with special puts around a
// text.
func (t *Tokenizer) Around() int { return len(t.before) + len(t.after) }

// SHA256 of the file that was loaded, in hex.
func (t *Tokenizer) SHA256() string { return t.sha256 }

// Notes say, in sentences for a report, where a server may count differently with
// the same files.
func (t *Tokenizer) Notes() []string { return slices.Clone(t.notes) }

// run encodes text without the tokens around it. The caller puts the result back.
func (t *Tokenizer) run(s string, track bool) *encoding {
	r, _ := t.pool.Get().(*encoding)
	if r == nil {
		r = &encoding{}
	}
	r.reset(track)
	in := text{s: s}
	if t.sanitize != nil {
		in = t.sanitize(in, track)
	}
	for _, f := range t.addedRaw.split(in.s, nil) {
		part := in.slice(f.a, f.b)
		if f.id >= 0 {
			t.token(r, f.id, part)
			continue
		}
		if t.normalize != nil {
			part = t.normalize(part, track)
		}
		if t.addedNorm == nil {
			t.pieces(r, part, t.steps)
			continue
		}
		for _, f := range t.addedNorm.split(part.s, nil) {
			if p := part.slice(f.a, f.b); f.id >= 0 {
				t.token(r, f.id, p)
			} else {
				t.pieces(r, p, t.steps)
			}
		}
	}
	return r
}

// token emits an added token.
func (t *Tokenizer) token(r *encoding, id int32, p text) {
	r.ids = append(r.ids, id)
	if r.track {
		r.spans = append(r.spans, p.origin(0, len(p.s)))
	}
}

// pieces takes p through the steps and into the model.
func (t *Tokenizer) pieces(r *encoding, p text, steps []step) {
	if p.s == "" {
		return
	}
	if len(steps) == 0 {
		t.piece(r, p)
		return
	}
	st := steps[0]
	if st.rewrite != nil {
		p = st.rewrite(p, r.track)
	}
	if st.split == nil {
		t.pieces(r, p, steps[1:])
		return
	}
	from := len(r.cuts)
	r.cuts = st.split(p.s, r.cuts)
	for i := from; i < len(r.cuts); i++ { // deeper steps append behind to
		c := r.cuts[i]
		if len(steps) == 1 {
			t.piece(r, p.slice(c.a, c.b))
		} else {
			to := len(r.cuts)
			t.pieces(r, p.slice(c.a, c.b), steps[1:])
			r.cuts = r.cuts[:to]
		}
	}
	r.cuts = r.cuts[:from]
}

// piece encodes one piece, from the cache if it is short.
func (t *Tokenizer) piece(r *encoding, p text) {
	first := len(r.ids)
	if r.track {
		t.model.encode(r, p.s)
		for i := first; i < len(r.spans); i++ {
			r.spans[i] = p.origin(r.spans[i].a, r.spans[i].b)
		}
		return
	}
	if len(p.s) > cacheKey {
		t.model.encode(r, p.s)
		return
	}
	slot := t.cache.slot(p.s)
	if e := slot.Load(); e != nil && e.key == p.s {
		r.ids = append(r.ids, e.ids...)
		return
	}
	t.model.encode(r, p.s)
	slot.Store(newEntry(p.s, r.ids[first:]))
}
