package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is a token that is found in the text before the model sees it.
type addedToken struct {
	id         int32
	content    string
	singleWord bool // not next to a word character
	lstrip     bool // takes the blanks before it
	rstrip     bool // and after it
	normalized bool // is looked for in normalized text
	special    bool
}

// addedSet finds the added tokens of one kind.
type addedSet struct {
	toks  []addedToken
	trie  *trie
	first [256]bool // bytes that one starts with
}

// newAddedSet takes the tokens and what to look for in place of their contents.
func newAddedSet(toks []addedToken, look []string) *addedSet {
	if len(toks) == 0 {
		return nil
	}
	s := &addedSet{toks: toks, trie: newTrie()}
	for i := len(look) - 1; i >= 0; i-- { // of equal ones the first stays
		if look[i] != "" {
			s.trie.add(look[i], int32(i))
			s.first[look[i][0]] = true
		}
	}
	return s
}

// found is a part of a text: an added token (at ≥ 0) or text between them.
type found struct {
	span
	id int32 // -1: text
}

// split finds the tokens in s: leftmost, of those the longest.
func (a *addedSet) split(s string, out []found) []found {
	if a == nil {
		return append(out, found{span{0, len(s)}, -1})
	}
	start := 0
	for i := 0; i < len(s); {
		if !a.first[s[i]] {
			i++
			continue
		}
		n, which := a.trie.longest(s[i:])
		if n == 0 {
			i++
			continue
		}
		t := &a.toks[which]
		from, to := i, i+n
		i = to
		if t.singleWord && !alone(s, from, to) {
			continue
		}
		if t.lstrip {
			from = max(start, len(strings.TrimRightFunc(s[:from], unicode.IsSpace)))
		}
		if t.rstrip {
			to = len(s) - len(strings.TrimLeftFunc(s[to:], unicode.IsSpace))
		}
		if start < from {
			out = append(out, found{span{start, from}, -1})
		}
		// The blanks that a token before has taken count again for a token made of
		// blanks, unless that one takes the blanks before it too; the reference
		// does so.
		if from < to {
			out = append(out, found{span{from, to}, t.id})
		}
		start = to
	}
	if start < len(s) {
		out = append(out, found{span{start, len(s)}, -1})
	}
	return out
}

// alone: no word character touches s[from:to].
func alone(s string, from, to int) bool {
	if before, n := utf8.DecodeLastRuneInString(s[:from]); n > 0 && isWord(before) {
		return false
	}
	after, n := utf8.DecodeRuneInString(s[to:])
	return n == 0 || !isWord(after)
}
