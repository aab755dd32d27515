package tokenizer

import (
	"strings"
	"unicode/utf8"
)

const replacement = "\uFFFD"

// badLen is the length of the ill-formed sequence at the start of s: the maximal
// subpart of Unicode 15 §3.9, as Rust's from_utf8_lossy and Python's "replace"
// take it.
func badLen(s string) int {
	lo, hi, n := byte(0x80), byte(0xBF), 0
	switch c := s[0]; {
	case c >= 0xC2 && c <= 0xDF:
		n = 1
	case c >= 0xE0 && c <= 0xEF:
		n = 2
		switch c {
		case 0xE0:
			lo = 0xA0
		case 0xED:
			hi = 0x9F
		}
	case c >= 0xF0 && c <= 0xF4:
		n = 3
		switch c {
		case 0xF0:
			lo = 0x90
		case 0xF4:
			hi = 0x8F
		}
	}
	i := 1
	for ; i <= n && i < len(s) && s[i] >= lo && s[i] <= hi; i++ {
		lo, hi = 0x80, 0xBF
	}
	return i
}

// wellFormed is the rewriter that every input goes through first.
func wellFormed(t text, track bool) text {
	if utf8.ValidString(t.s) {
		return t
	}
	w := newWriter(t, track)
	for i := 0; i < len(t.s); {
		r, n := utf8.DecodeRuneInString(t.s[i:])
		if r == utf8.RuneError && n == 1 {
			n = badLen(t.s[i:])
			w.put(replacement, i, i+n)
		} else {
			w.keep(i, i+n)
		}
		i += n
	}
	return w.text()
}

// lossy is s with every ill-formed sequence replaced by U+FFFD.
func lossy(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return wellFormed(text{s: s}, false).s
}

// byteRunes is the alphabet of byte-level vocabularies: one printable character
// for every byte.
var byteRunes [256]rune

// runeBytes is its inverse, -1 outside of it.
var runeBytes [0x144]int16

func init() {
	for i := range runeBytes {
		runeBytes[i] = -1
	}
	next := rune(256)
	for b := range byteRunes {
		r := rune(b)
		if !(b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE) {
			r = next
			next++
		}
		byteRunes[b] = r
		runeBytes[r] = int16(b)
	}
}

// unmapBytes turns a byte-level token into its bytes; ok is false when a
// character is outside the alphabet.
func unmapBytes(tok string) (raw string, ok bool) {
	var b strings.Builder
	b.Grow(len(tok))
	for _, r := range tok {
		if int(r) >= len(runeBytes) || runeBytes[r] < 0 {
			return "", false
		}
		b.WriteByte(byte(runeBytes[r]))
	}
	return b.String(), true
}

// mapBytes is the rewriter from bytes to the byte-level alphabet.
func mapBytes(t text, track bool) text {
	w := newWriter(t, track)
	for i := range len(t.s) {
		w.put(string(byteRunes[t.s[i]]), i, i+1)
	}
	return w.text()
}
