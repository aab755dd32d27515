package tokenizer

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// class is what the split patterns want to know of a character.
type class = uint8

const (
	cOther   class = iota // controls, unassigned, private use
	cUpper                // Lu, Lt
	cLower                // Ll
	cLetter               // Lm, Lo
	cMark                 // M
	cNumber               // N
	cPunct                // P
	cSymbol               // S
	cSpace                // White_Space without the next two
	cNewline              // \r \n
)

// mask is a set of classes.
type mask uint16

const (
	mLetter mask = 1<<cUpper | 1<<cLower | 1<<cLetter
	mMark   mask = 1 << cMark
	mNumber mask = 1 << cNumber
	mPunct  mask = 1<<cPunct | 1<<cSymbol
	mSpace  mask = 1<<cSpace | 1<<cNewline
)

func (m mask) has(c class) bool { return m>>c&1 != 0 }

// classes has the class of every character: one byte each, so that a look-up is
// one load. Made when the first scanner is.
var classes = sync.OnceValue(func() []class {
	t := make([]class, utf8.MaxRune+1)
	for _, x := range []struct {
		c   class
		tab *unicode.RangeTable
		new [][2]rune
	}{
		{cUpper, unicode.Lu, newUpper}, {cUpper, unicode.Lt, nil}, {cLower, unicode.Ll, newLower},
		{cLetter, unicode.Lm, newModifier}, {cLetter, unicode.Lo, newLetter}, {cMark, unicode.M, newMark},
		{cNumber, unicode.N, newDigit}, {cPunct, unicode.P, newPunct}, {cSymbol, unicode.S, newSymbol},
		{cSpace, unicode.White_Space, nil},
	} {
		for _, r := range x.tab.R16 {
			for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
				t[c] = x.c
			}
		}
		for _, r := range x.tab.R32 {
			for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
				t[c] = x.c
			}
		}
		for _, r := range x.new {
			for c := r[0]; c <= r[1]; c++ {
				t[c] = x.c
			}
		}
	}
	t['\r'], t['\n'] = cNewline, cNewline
	return t
})

func among(r rune, ranges [][2]rune) bool {
	for _, x := range ranges {
		if r >= x[0] && r <= x[1] {
			return true
		}
	}
	return false
}

// isNumeric is char::is_numeric of the reference.
func isNumeric(r rune) bool {
	return unicode.IsNumber(r) || r > 0x10000 && (among(r, newDigit) || among(r, newNumeric))
}

// isBertPunct is punctuation to the Punctuation and BertPreTokenizer steps.
func isBertPunct(r rune) bool {
	if r < utf8.RuneSelf {
		return unicode.IsPunct(r) || unicode.IsSymbol(r)
	}
	return unicode.IsPunct(r) && !among(r, notBertPunct) || among(r, onlyBertPunct)
}

// isWord is \w of the reference's regular expressions.
func isWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control) ||
		r > 0x80 && (among(r, newUpper) || among(r, newLower) || among(r, newModifier) || among(r, newLetter) ||
			among(r, newMark) || among(r, newDigit))
}

// isCJK is a Chinese character to the BERT normalizer.
func isCJK(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF || r >= 0x20000 && r <= 0x2A6DF ||
		r >= 0x2A700 && r <= 0x2B81F || r >= 0x2B920 && r <= 0x2CEAF || r >= 0xF900 && r <= 0xFAFF ||
		r >= 0x2F800 && r <= 0x2FA1F
}

// lower is the lower case of one character: char::to_lowercase of the reference,
// which knows no final sigma.
func lower(r rune) string {
	if r == 0x130 { // the only lower case of two characters
		return "i\u0307"
	}
	for _, x := range newCase {
		if r >= x.lo && r <= x.hi {
			return string(r + x.by)
		}
	}
	return string(unicode.ToLower(r))
}
