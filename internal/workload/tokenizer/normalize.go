package tokenizer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// unicodeForm is NFC, NFD, NFKC or NFKD.
func unicodeForm(f norm.Form) rewriter {
	compat := f == norm.NFKC || f == norm.NFKD
	return func(t text, track bool) text {
		if f.IsNormalString(t.s) {
			return t
		}
		w := newWriter(t, track)
		for i := 0; i < len(t.s); {
			// What does not change up to here is copied, then one segment (a
			// starter and what may combine with it) is normalized by itself.
			if n := f.QuickSpanString(t.s[i:]); n > 0 {
				w.keep(i, i+n)
				i += n
				continue
			}
			n, marks := segment(f, t.s[i:])
			seg := t.s[i : i+n]
			r, _ := utf8.DecodeRuneInString(seg)
			switch {
			case compat && among(r, notCompat):
				w.keep(i, i+n)
			case marks > 20:
				// The library inserts U+034F into long runs of marks
				// (Stream-Safe Text, UAX #15 §13); the reference does not.
				w.put(longForm(f, seg), i, i+n)
			default:
				w.put(f.String(seg), i, i+n)
			}
			i += n
		}
		return w.text()
	}
}

// segment is the length of the first segment of s, and its number of characters
// after the first.
func segment(f norm.Form, s string) (n, marks int) {
	_, n = utf8.DecodeRuneInString(s)
	for n < len(s) {
		p := f.PropertiesString(s[n:])
		if p.BoundaryBefore() || p.Size() == 0 {
			break
		}
		n += p.Size()
		marks++
	}
	return n, marks
}

// longForm normalizes one segment of any length: decomposition, canonical order,
// composition (Unicode 15 §3.11).
func longForm(f norm.Form, seg string) string {
	decompose, composed := norm.NFD, f == norm.NFC || f == norm.NFKC
	if f == norm.NFKC || f == norm.NFKD {
		decompose = norm.NFKD
	}
	var rs []rune
	for _, r := range seg {
		rs = append(rs, []rune(decompose.String(string(r)))...)
	}
	ccc := func(r rune) uint8 { return norm.NFD.PropertiesString(string(r)).CCC() }
	for i := 0; i < len(rs); {
		j := i
		for j < len(rs) && ccc(rs[j]) != 0 {
			j++
		}
		slices.SortStableFunc(rs[i:j], func(a, b rune) int { return int(ccc(a)) - int(ccc(b)) })
		i = max(j, i+1)
	}
	if !composed {
		return string(rs)
	}
	starter, last := -1, uint8(0) // last: class of the character before, since the starter
	out := rs[:0]
	for _, r := range rs {
		c := ccc(r)
		if starter >= 0 && (last == 0 && starter == len(out)-1 || last != 0 && last < c) {
			if both := []rune(norm.NFC.String(string([]rune{out[starter], r}))); len(both) == 1 {
				out[starter] = both[0]
				continue
			}
		}
		if c == 0 {
			starter = len(out)
		}
		last = c
		out = append(out, r)
	}
	return string(out)
}

// eachRune rewrites character by character; f returns false to keep one.
func eachRune(f func(r rune) (string, bool)) rewriter {
	return func(t text, track bool) text {
		w := newWriter(t, track)
		changed := false
		for i, r := range t.s {
			n := utf8.RuneLen(r)
			if s, ok := f(r); ok {
				w.put(s, i, i+n)
				changed = true
			} else {
				w.keep(i, i+n)
			}
		}
		if !changed {
			return t
		}
		return w.text()
	}
}

var lowercase = eachRune(func(r rune) (string, bool) {
	l := lower(r)
	return l, l != string(r)
})

var stripAccents = eachRune(func(r rune) (string, bool) {
	return "", unicode.Is(unicode.M, r) && !among(r, notStripped) || r >= 0x80 && among(r, onlyStripped)
})

// nmt is the normalizer of that name.
var nmt = eachRune(func(r rune) (string, bool) {
	switch {
	case r == 9, r == 10, r == 12, r == 13, r == 0x1680, r >= 0x200B && r <= 0x200F, r == 0x2028, r == 0x2029,
		r == 0x2581, r == 0xFEFF, r == 0xFFFD:
		return " ", true
	case r >= 1 && r <= 31, r == 0x7F, r == 0x8F, r == 0x9F:
		return "", true
	}
	return "", false
})

func strip(left, right bool) rewriter {
	return func(t text, _ bool) text {
		a, b := 0, len(t.s)
		if left {
			a = b - len(strings.TrimLeftFunc(t.s, unicode.IsSpace))
		}
		if right {
			b = a + len(strings.TrimRightFunc(t.s[a:], unicode.IsSpace))
		}
		return t.slice(a, b)
	}
}

func prepend(p string) rewriter {
	return func(t text, track bool) text {
		if t.s == "" {
			return t
		}
		w := newWriter(t, track)
		w.put(p, 0, 0)
		w.keep(0, len(t.s))
		return w.text()
	}
}

// replace puts content in place of every match; content is literal.
func replace(find matcher, content string) rewriter {
	return func(t text, track bool) text {
		ms := find(t.s, nil)
		if len(ms) == 0 {
			return t
		}
		w := newWriter(t, track)
		last := 0
		for _, m := range ms {
			w.keep(last, m.a)
			w.put(content, m.a, m.b)
			last = m.b
		}
		w.keep(last, len(t.s))
		return w.text()
	}
}

// bert is the BertNormalizer: its four steps in its order.
func bert(clean, chinese, accents, lowers bool) rewriter {
	var rs []rewriter
	if clean {
		rs = append(rs, eachRune(func(r rune) (string, bool) {
			switch {
			case r == 0, r == utf8.RuneError:
				return "", true
			case r == ' ':
				return "", false
			case r == '\t', r == '\n', r == '\r':
				return " ", true
			case unicode.IsControl(r), unicode.Is(unicode.Co, r), unicode.Is(unicode.Cf, r) && !newFormat(r):
				return "", true
			case unicode.IsSpace(r):
				return " ", true
			}
			return "", false
		}))
	}
	if chinese {
		rs = append(rs, eachRune(func(r rune) (string, bool) {
			return " " + string(r) + " ", isCJK(r)
		}))
	}
	if accents {
		rs = append(rs, unicodeForm(norm.NFD), eachRune(func(r rune) (string, bool) {
			return "", unicode.Is(unicode.Mn, r) && !among(r, notBertMark) || r == 0x1734
		}))
	}
	if lowers {
		rs = append(rs, lowercase)
	}
	return chain(rs)
}

// newFormat are format characters (Cf) that the BERT normalizer leaves.
func newFormat(r rune) bool {
	return r == 0x890 || r == 0x891 || r == 0x8E2 || r == 0x110CD || r >= 0x13430 && r <= 0x1343F
}
