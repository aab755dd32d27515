package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// matcher appends the matches in s, in order and apart from each other.
type matcher func(s string, out []span) []span

// splitter appends the pieces of s that go on to the next step: never empty,
// in order.
type splitter func(s string, out []span) []span

// behavior says what becomes of a match.
type behavior int

const (
	removed behavior = iota
	isolated
	mergedWithPrevious
	mergedWithNext
	contiguous
)

var behaviors = map[string]behavior{
	"Removed": removed, "Isolated": isolated, "MergedWithPrevious": mergedWithPrevious,
	"MergedWithNext": mergedWithNext, "Contiguous": contiguous,
}

// split makes a splitter of a matcher. With invert what lies between the matches
// takes their part.
func split(find matcher, how behavior, invert bool) splitter {
	return func(s string, out []span) []span {
		var ms []span
		ms = find(s, ms)
		base := len(out)
		before := false // was the range before a match
		last := 0
		emit := func(p span, match bool) {
			match = match != invert
			join := false
			switch how {
			case removed:
				if match {
					return
				}
			case mergedWithPrevious:
				join = match && !before && len(out) > base
			case mergedWithNext:
				// The range before was a match and waits for this one.
				join = !match && before && len(out) > base
			case contiguous:
				join = match == before && len(out) > base
			}
			before = match
			if join {
				out[len(out)-1].b = p.b
			} else {
				out = append(out, p)
			}
		}
		for _, m := range ms {
			if m.a > last {
				emit(span{last, m.a}, false)
			}
			emit(m, true)
			last = m.b
		}
		if last < len(s) {
			emit(span{last, len(s)}, false)
		}
		kept := out[:base]
		for _, p := range out[base:] {
			if p.b > p.a {
				kept = append(kept, p)
			}
		}
		return kept
	}
}

// both runs one splitter over the pieces of another.
func both(first, second splitter) splitter {
	return func(s string, out []span) []span {
		for _, p := range first(s, nil) {
			n := len(out)
			out = second(s[p.a:p.b], out)
			for i := n; i < len(out); i++ {
				out[i].a += p.a
				out[i].b += p.a
			}
		}
		return out
	}
}

// runes matches every single character of a kind.
func runes(is func(rune) bool) matcher {
	return func(s string, out []span) []span {
		for i, r := range s {
			if is(r) {
				out = append(out, span{i, i + utf8.RuneLen(r)})
			}
		}
		return out
	}
}

func literal(sep string) matcher {
	return func(s string, out []span) []span {
		for at := 0; sep != ""; {
			i := strings.Index(s[at:], sep)
			if i < 0 {
				break
			}
			out = append(out, span{at + i, at + i + len(sep)})
			at += i + len(sep)
		}
		return out
	}
}

// words is the Whitespace pre-tokenizer: \w+|[^\w\s]+.
func words(s string, out []span) []span {
	const none, word, other = 0, 1, 2
	start, in := 0, none
	for i, r := range s {
		kind := other
		if isWhite(r) {
			kind = none
		} else if isWord(r) {
			kind = word
		}
		if kind != in {
			if in != none {
				out = append(out, span{start, i})
			}
			start, in = i, kind
		}
	}
	if in != none {
		out = append(out, span{start, len(s)})
	}
	return out
}

// fixedLength cuts every n characters.
func fixedLength(n int) splitter {
	return func(s string, out []span) []span {
		start, k := 0, 0
		for i := range s {
			if k == n {
				out = append(out, span{start, i})
				start, k = i, 0
			}
			k++
		}
		if start < len(s) {
			out = append(out, span{start, len(s)})
		}
		return out
	}
}

// splitPattern is the splitter of a Split step with a regular expression: written
// by hand for the patterns of current models, else run by a regular-expression
// engine.
func splitPattern(pattern string, how behavior, invert bool) (splitter, error) {
	// Every scanner but deepseek's matches all of its text, so that keeping the
	// matches and isolating them are the same.
	if s := scanners[pattern]; s != nil && (how == isolated || how == removed && invert && s.covers) {
		return s.splitter(), nil
	}
	find, err := regex(pattern)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", pattern, err)
	}
	return split(find, how, invert), nil
}
