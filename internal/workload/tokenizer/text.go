package tokenizer

// span is a range of bytes, end excluded.
type span struct{ a, b int }

// text is a piece on its way from the input to the model, with the input bytes
// that each of its bytes came from.
type text struct {
	s string
	// base is the input offset of s[0]; it holds while at is nil.
	base int
	// at, when not nil, has one span for every byte of s. It is nil as long as s
	// is a piece of the input itself, and always when offsets are not tracked.
	at []span
}

func (t text) slice(a, b int) text {
	out := text{s: t.s[a:b], base: t.base + a}
	if t.at != nil {
		out.at = t.at[a:b]
	}
	return out
}

// origin is the smallest range of the input that s[a:b] came from.
func (t text) origin(a, b int) span {
	if t.at == nil {
		return span{t.base + a, t.base + b}
	}
	if a == b {
		switch {
		case a < len(t.at):
			return span{t.at[a].a, t.at[a].a}
		case a > 0:
			return span{t.at[a-1].b, t.at[a-1].b}
		}
		return span{t.base, t.base}
	}
	o := t.at[a]
	for _, p := range t.at[a+1 : b] {
		o.a, o.b = min(o.a, p.a), max(o.b, p.b)
	}
	return o
}

// writer builds the successor of a text and carries the origins along when track
// is set.
type writer struct {
	in    text
	track bool
	out   []byte
	at    []span
}

func newWriter(t text, track bool) *writer {
	w := &writer{in: t, track: track, out: make([]byte, 0, len(t.s)+16)}
	if track {
		w.at = make([]span, 0, len(t.s)+16)
	}
	return w
}

// keep copies s[a:b].
func (w *writer) keep(a, b int) {
	w.out = append(w.out, w.in.s[a:b]...)
	if w.track {
		for i := a; i < b; i++ {
			w.at = append(w.at, w.in.origin(i, i+1))
		}
	}
}

// put writes s in place of s[a:b]; a == b inserts it.
func (w *writer) put(s string, a, b int) {
	w.out = append(w.out, s...)
	if w.track {
		o := w.in.origin(a, b)
		for range len(s) {
			w.at = append(w.at, o)
		}
	}
}

func (w *writer) text() text {
	return text{s: string(w.out), base: w.in.base, at: w.at}
}

// rewriter makes the next text of a text. With track it fills in at, unless it
// returns its argument.
type rewriter func(t text, track bool) text

func chain(rs []rewriter) rewriter {
	switch len(rs) {
	case 0:
		return nil
	case 1:
		return rs[0]
	}
	return func(t text, track bool) text {
		for _, r := range rs {
			t = r(t, track)
		}
		return t
	}
}
