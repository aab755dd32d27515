package secret

import (
	"bytes"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// layer is a text without its white space and control characters, perhaps with
// escapes taken off, and where each byte of it stands in the source.
type layer struct {
	text     []byte
	from, to []int32
}

// plain is the text as it stands.
func plain(text string) layer {
	l := layer{make([]byte, 0, len(text)), make([]int32, 0, len(text)), make([]int32, 0, len(text))}
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !ignored(r) {
			l.add(text[i:i+n], span{int32(i), int32(i + n)})
		}
		i += n
	}
	return l
}

// kinds are the ways of escaping by their first characters: of JSON, HTML and URLs.
const kinds = `\&%`

// layers calls see with the layer, and with what is below its escapes, of one kind
// and then another, and of all together: at most 37 layers, mostly one or two.
func (l layer) layers(see func(layer)) { l.below(0, see) }

func (l layer) below(round int, see func(layer)) {
	see(l)
	if round == rounds {
		return
	}
	below, took := l.unescape(kinds)
	for i := range kinds {
		if round < 2 && took != 0 && took != 1<<i { // else it is the same as below
			if one, took := l.unescape(kinds[i : i+1]); took != 0 {
				one.below(round+1, see)
			}
		}
	}
	if took != 0 {
		below.below(round+1, see)
	}
}

// unescape is the layer with one level of escapes of these kinds taken off, and a
// bit for each kind that it has.
func (l layer) unescape(of string) (layer, int) {
	if !bytes.ContainsAny(l.text, of) {
		return l, 0
	}
	out := layer{make([]byte, 0, len(l.text)), make([]int32, 0, len(l.text)), make([]int32, 0, len(l.text))}
	took := 0
	for i := 0; i < len(l.text); {
		if c := l.text[i]; strings.IndexByte(of, c) >= 0 {
			if means, n := escape(l.text[i:]); n > 0 {
				took |= 1 << strings.IndexByte(kinds, c)
				if r, _ := utf8.DecodeRuneInString(means); !ignored(r) {
					out.add(means, l.span(i, i+n))
				}
				i += n
				continue
			}
		}
		r, n := utf8.DecodeRune(l.text[i:])
		if !ignored(r) {
			out.add(string(l.text[i:i+n]), l.span(i, i+n))
		}
		i += n
	}
	return out, took
}

func (l *layer) add(s string, at span) {
	l.text = append(l.text, s...)
	for range len(s) {
		l.from, l.to = append(l.from, at.from), append(l.to, at.to)
	}
}

// span is where the bytes i to j (exclusive) stand in the source.
func (l layer) span(i, j int) span { return span{l.from[i], l.to[j-1]} }

// tight reports whether nothing was left out between the bytes i to j.
func (l layer) tight(i, j int) bool {
	for i++; i < j; i++ {
		if l.from[i] > l.to[i-1] {
			return false
		}
	}
	return true
}

// ignored are the characters that do not count when a secret is sought.
func ignored(r rune) bool {
	if r < utf8.RuneSelf {
		return r <= ' ' || r == 0x7f
	}
	return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

// escape reads the escape that s begins with: what it means, and its length, 0 if
// there is none. One that the end of s cuts off means nothing, up to the end.
func escape(s []byte) (means string, n int) {
	if len(s) == 1 {
		return "", 1
	}
	switch s[0] {
	case '%':
		return octet(s, 1)
	case '\\':
		switch s[1] {
		case 'u':
			return unicodeEscape(s)
		case 'x':
			return octet(s, 2)
		case 'b', 'f', 'n', 'r', 't':
			return "", 2
		case '/', '"', '\'', '\\':
			return string(s[1]), 2
		}
	case '&':
		return entity(s)
	}
	return "", 0
}

// octet reads two hexadecimal digits behind a prefix: %2B, \x2b.
func octet(s []byte, prefix int) (string, int) {
	v, n := hex(s[prefix:], 2)
	switch {
	case n == 2:
		return string([]byte{byte(v)}), prefix + 2
	case prefix+n == len(s):
		return "", len(s)
	}
	return "", 0
}

func unicodeEscape(s []byte) (string, int) {
	v, n := hex(s[2:], 4)
	switch {
	case n < 4 && 2+n == len(s):
		return "", len(s)
	case n < 4:
		return "", 0
	case 0xD800 <= v && v < 0xDC00 && len(s) >= 8 && s[6] == '\\' && s[7] == 'u':
		if low, n := hex(s[8:], 4); n == 4 && 0xDC00 <= low && low < 0xE000 {
			return string(0x10000 + (v-0xD800)<<10 + (low - 0xDC00)), 12
		}
	}
	return string(v), 6
}

// entity reads an HTML entity, also without its semicolon where readers allow that.
func entity(s []byte) (string, int) {
	const longest = 34 // of the names, and numbers with zeros before them
	n := 1
	if s[1] == '#' {
		n = 2
	}
	for n < len(s) && n < longest && (isHex(s[n]) || 'a' <= s[n]|0x20 && s[n]|0x20 <= 'z') {
		if s[1] == '#' && !isHex(s[n]) && (n > 2 || s[n]|0x20 != 'x') {
			break
		}
		n++
	}
	if n == len(s) {
		return "", n
	}
	if s[1] == '#' {
		digits, base, begin := s[2:n], 10, 2
		if len(digits) > 0 && digits[0]|0x20 == 'x' {
			digits, base, begin = digits[1:], 16, 3
		}
		if base == 10 {
			for i, c := range digits {
				if c > '9' {
					digits = digits[:i]
					break
				}
			}
		}
		v, err := strconv.ParseUint(string(digits), base, 21)
		if err != nil {
			return "", 0
		}
		if n = begin + len(digits); s[n] == ';' {
			n++
		} else if escaped(s[n:]) {
			return "", 0
		}
		return string(rune(v)), n
	}
	if s[n] == ';' {
		n++
		name := string(s[:n])
		if means := html.UnescapeString(name); means != name {
			return means, n
		}
		return "", 0
	}
	for _, e := range [...]struct{ name, means string }{{"&amp", "&"}, {"&lt", "<"}, {"&gt", ">"}, {"&quot", `"`}} {
		if len(s) > len(e.name) && string(s[:len(e.name)]) == e.name && !escaped(s[len(e.name):]) {
			return e.means, len(e.name)
		}
	}
	return "", 0
}

// escaped reports whether an entity's semicolon may follow, escaped once more: the
// entity is then read when that is taken off.
func escaped(s []byte) bool {
	if s[0] != '\\' && s[0] != '%' {
		return false
	}
	_, n := escape(s)
	return n > 0
}

// hex reads up to most hexadecimal digits.
func hex(s []byte, most int) (v rune, n int) {
	for n < most && n < len(s) && isHex(s[n]) {
		c := rune(s[n])
		if c > '9' {
			c = c&0xF + 9
		}
		v = v<<4 | c&0xF
		n++
	}
	return v, n
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}
