package secret

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mask stands for a secret.
const Mask = "***"

const (
	// minLen is the shortest secret that is masked, in bytes: shorter ones would make
	// texts unreadable and hide nothing.
	minLen = 4
	// tightLen is the shortest secret that is found with white space inside it too.
	tightLen = 8
	// longLen is the shortest secret of which parts are masked, each of partLen bytes
	// or more.
	longLen = 16
	partLen = 12
	// rounds is how many escapes on top of each other are taken off.
	rounds = 3
)

// Set is the secrets of a run. It is read-only and safe for concurrent use; nil is
// a set of none.
type Set struct {
	short []form                      // found whole
	parts map[[partLen]byte]bool      // every part of the long ones
	sieve [1 << sieveBits / 64]uint64 // bits for the first 8 bytes of each part: most texts need no look into parts
	heads [][]byte                    // the beginnings that are masked at the end of a cut text
}

// form is a secret as it is searched: white space taken out, and perhaps
// unescaped, since what looks like an escape in it is unescaped in the text too.
type form struct {
	text  []byte
	tight bool // only without white space between
}

// New makes a Set. Secrets of fewer than 4 bytes are left out.
func New(secrets []string) *Set {
	s := &Set{parts: map[[partLen]byte]bool{}}
	for _, text := range secrets {
		if len(text) < minLen {
			continue
		}
		l := plain(text)
		spaced := len(l.text) < len(text)
		l.layers(func(l layer) { s.add(l.text, spaced) })
		for _, coded := range codings(text) {
			s.add([]byte(coded), false)
		}
	}
	if len(s.short) == 0 && len(s.parts) == 0 {
		return nil
	}
	return s
}

func (s *Set) add(text []byte, spaced bool) {
	switch n := len(text); {
	case n < minLen:
		return
	case n < longLen:
		if slices.ContainsFunc(s.short, func(f form) bool { return bytes.Equal(f.text, text) }) {
			return
		}
		s.short = append(s.short, form{text, n < tightLen && !spaced})
		s.heads = append(s.heads, text[:n-1])
	default:
		for i := range n - partLen + 1 {
			s.parts[[partLen]byte(text[i:])] = true
			at := sieveAt(text[i:])
			s.sieve[at/64] |= 1 << (at % 64)
		}
		s.heads = append(s.heads, text[:partLen-1]) // longer ones are parts
	}
}

const sieveBits = 14

func sieveAt(b []byte) uint64 {
	return binary.LittleEndian.Uint64(b) * 0x9E3779B97F4A7C15 >> (64 - sieveBits)
}

// Mask replaces every secret in text by "***": as it stands, escaped as in JSON,
// HTML or a URL (up to three times, one on the other), with white space and control
// characters inside, and of a secret of 16 bytes or more every part of at least 12.
// A secret of 8 bytes or more is found too within a text that was coded as a whole in
// base64 or hexadecimal. Its time grows linearly with the text.
func (s *Set) Mask(text string) string { return s.mask(text, false) }

// Cut is Mask for a text that may have been cut short before: at its end also the
// first 4 or more bytes of a secret are masked.
func (s *Set) Cut(text string) string { return s.mask(text, true) }

// Line makes a text of others fit to be shown: masked as by Cut, on one line without
// control characters, and at most limit bytes long. The mask comes before the cut.
func (s *Set) Line(text string, limit int) string { return bound(OneLine(s.Cut(text)), limit) }

// span is a range of bytes of the text.
type span struct{ from, to int32 }

func (s *Set) mask(text string, cut bool) string {
	if s == nil || len(text) < minLen {
		return text
	}
	var found []span
	plain(text).layers(func(l layer) {
		found = s.search(l, found)
		if !cut {
			return
		}
		if from, ok := s.tail(l); ok {
			found = append(found, span{from, int32(len(text))})
		}
	})
	if len(found) == 0 {
		return text
	}
	slices.SortFunc(found, func(a, b span) int { return int(a.from) - int(b.from) })
	var b strings.Builder
	done := int32(0)
	for i := 0; i < len(found); {
		at := found[i]
		for i++; i < len(found) && found[i].from <= at.to; i++ {
			at.to = max(at.to, found[i].to)
		}
		b.WriteString(text[done:at.from])
		b.WriteString(Mask)
		done = at.to
	}
	b.WriteString(text[done:])
	return b.String()
}

func (s *Set) search(l layer, found []span) []span {
	if len(s.parts) > 0 {
		first := len(found)
		for i := 0; i+partLen <= len(l.text); i++ {
			at := sieveAt(l.text[i:])
			if s.sieve[at/64]>>(at%64)&1 == 0 || !s.parts[[partLen]byte(l.text[i:])] {
				continue
			}
			here := l.span(i, i+partLen)
			if n := len(found); n > first && here.from <= found[n-1].to {
				found[n-1].to = max(found[n-1].to, here.to)
			} else {
				found = append(found, here)
			}
		}
	}
	for _, f := range s.short {
		for i := 0; ; i++ {
			n := bytes.Index(l.text[i:], f.text)
			if n < 0 {
				break
			}
			i += n
			if !f.tight || l.tight(i, i+len(f.text)) {
				found = append(found, l.span(i, i+len(f.text)))
			}
		}
	}
	return found
}

// tail finds the beginning of a secret at the end of the text, also before the
// marks by which a cut is shown. from is where it begins in the source.
func (s *Set) tail(l layer) (from int32, ok bool) {
	end := bytes.TrimRight(l.text, "….\"'`)")
	least := len(end)
	for _, h := range s.heads {
		for k := min(len(h), len(end)); k >= minLen; k-- {
			if bytes.HasSuffix(end, h[:k]) {
				least = min(least, len(end)-k)
				break
			}
		}
	}
	if least == len(end) {
		return 0, false
	}
	return l.from[least], true
}

// OneLine folds white space and control characters, so that a text stays on one
// line and cannot steer a terminal; marks that turn the direction of writing go too.
func OneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.Fields(s), " ")
}

// bound cuts s to at most n bytes at a character's border, and shows that it did.
func bound(s string, n int) string {
	const more = " …"
	if len(s) <= n {
		return s
	}
	cut := max(n-len(more), 0)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + more
}
