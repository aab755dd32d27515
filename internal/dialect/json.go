package dialect

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// value is the text of one JSON value inside a payload that valid has accepted;
// nil when there is none. What reads it relies on that, and makes no tree: a
// decoder looks at a few fields of many events, once each.
type value []byte

func (v value) is(first byte) bool { return len(v) > 0 && v[0] == first }

// null reports whether v says nothing: it is absent, null, false or "".
func (v value) null() bool {
	return len(v) == 0 || v[0] == 'n' || v[0] == 'f' || string(v) == `""`
}

// members walks through an object; through nothing when it is none. Of a key
// given twice both are seen, and the last one's value is what callers keep.
type members struct {
	b   []byte
	i   int
	end int // behind the object, once next has returned false
	key []byte
	val value
}

func (v value) members() members {
	if !v.is('{') {
		return members{}
	}
	return members{b: v, i: 1}
}

func (m *members) next() bool {
	b := m.b
	i := skipSpace(b, m.i)
	if i >= len(b) || b[i] == '}' {
		m.end = i + 1
		return false
	}
	if b[i] == ',' {
		i = skipSpace(b, i+1)
	}
	end, escaped := stringEnd(b, i+1)
	if m.key = b[i+1 : end-1]; escaped {
		m.key = unescape(nil, m.key)
	}
	i = skipSpace(b, skipSpace(b, end)+1) // past the colon
	m.i = valueEnd(b, i)
	m.val = b[i:m.i]
	return true
}

// elements walks through an array; through nothing when it is none. An element
// that is an object can be walked through in passing, without val.
type elements struct {
	b     []byte
	i     int // where to go on: behind the element, once it is known where it ends
	start int
	began bool
}

func (v value) elements() elements {
	if !v.is('[') {
		return elements{}
	}
	return elements{b: v, i: 1}
}

func (e *elements) next() bool {
	if e.began && e.i == e.start { // nobody looked at the last one
		e.i = valueEnd(e.b, e.start)
	}
	i := skipSpace(e.b, e.i)
	if i >= len(e.b) || e.b[i] == ']' {
		return false
	}
	if e.b[i] == ',' {
		i = skipSpace(e.b, i+1)
	}
	e.i, e.start, e.began = i, i, true
	return true
}

func (e *elements) val() value {
	e.i = valueEnd(e.b, e.start)
	return e.b[e.start:e.i]
}

// members is val().members(), without looking for the end of the element first.
// When all members were walked through, past tells where it is.
func (e *elements) members() members {
	if e.b[e.start] != '{' {
		return members{}
	}
	return members{b: e.b, i: e.start + 1}
}

func (e *elements) past(m *members) { e.i = m.end }

// member is a key and its value.
type member struct {
	key []byte
	val value
}

// maxMembers bounds what is kept of one payload's outermost object.
const maxMembers = 1 << 14

// object is the members of a payload, appended to dst; false unless it is one
// JSON object, as valid has it. Finding the members costs next to nothing beside
// looking at every byte, which has to be done anyway.
func object(dst []member, b []byte) ([]member, bool) {
	if len(b) == 0 || b[0] != '{' {
		return dst, false
	}
	i := skipSpace(b, 1)
	if i < len(b) && b[i] == '}' {
		return dst, i+1 == len(b)
	}
	for len(dst) < maxMembers {
		if i >= len(b) || b[i] != '"' {
			return dst, false
		}
		end := validString(b, i+1)
		if end < 0 {
			return dst, false
		}
		key := b[i+1 : end-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			key = unescape(nil, key)
		}
		if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
			return dst, false
		}
		i = skipSpace(b, i+1)
		if end = validValue(b, i, maxDepth-1); end < 0 {
			return dst, false
		}
		dst = append(dst, member{key, b[i:end]})
		if i = skipSpace(b, end); i >= len(b) {
			return dst, false
		}
		if b[i] == '}' {
			return dst, i+1 == len(b)
		}
		if b[i] != ',' {
			return dst, false
		}
		i = skipSpace(b, i+1)
	}
	return dst, false
}

// get is the value at a path of keys, nil when there is none.
func (v value) get(path ...string) value {
	for _, key := range path {
		m := v.members()
		v = nil
		for m.next() {
			if string(m.key) == key {
				v = m.val
			}
		}
	}
	return v
}

// at is element i of an array, nil when there is none.
func (v value) at(i int) value {
	e := v.elements()
	for ; e.next(); i-- {
		if i == 0 {
			return e.val()
		}
	}
	return nil
}

// size is the number of elements of an array.
func (v value) size() (n int64) {
	for e := v.elements(); e.next(); n++ {
	}
	return n
}

// maxCount is the largest count that is kept: a whole number beyond it is no count
// of anything, and stands on the tape as this, so that whoever reads it sees that the
// server said something impossible.
const maxCount = 1 << 53

// count is a token count, Unknown unless the value is a whole number from 0 on, at
// most maxCount; 5.0 is one.
func (v value) count() int64 {
	if len(v) == 0 || v[0] < '0' || v[0] > '9' {
		return Unknown
	}
	if len(v) <= 15 {
		n := int64(0)
		for _, c := range v {
			if c < '0' || c > '9' {
				n = Unknown
				break
			}
			n = 10*n + int64(c-'0')
		}
		if n != Unknown {
			return n
		}
	}
	f := v.number()
	if math.IsNaN(f) || !v.whole() {
		return Unknown
	}
	return int64(min(f, maxCount))
}

// whole reports whether a number's digits say a whole one; a float64 would round
// 4503599627370497.5 to one.
func (v value) whole() bool {
	mantissa, shift := string(v), 0
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		var err error
		if shift, err = strconv.Atoi(mantissa[i+1:]); err != nil {
			return false
		}
		mantissa = mantissa[:i]
	}
	digits, fraction, _ := strings.Cut(mantissa, ".")
	digits += fraction
	behind := min(max(len(fraction)-shift, 0), len(digits)) // the point
	return strings.Trim(digits[len(digits)-behind:], "0") == ""
}

// nothing reports whether v, the value of a field named error, says that there
// is none: as null does, and {}, [] and 0.
func (v value) nothing() bool {
	if v.null() || string(v) == "0" {
		return true
	}
	return (v.is('{') || v.is('[')) && len(bytes.Trim(v[1:len(v)-1], space)) == 0
}

// number is a number's value, NaN when it is none or beyond a float64.
func (v value) number() float64 {
	if len(v) == 0 || v[0] != '-' && (v[0] < '0' || v[0] > '9') {
		return math.NaN()
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil {
		return math.NaN()
	}
	return f
}

// text is a string's text, nil for any other value. Escapes are undone in *buf,
// which grows; other texts lie in the payload itself.
func (v value) text(buf *[]byte) []byte {
	if !v.is('"') {
		return nil
	}
	s := []byte(v[1 : len(v)-1])
	if bytes.IndexByte(s, '\\') < 0 {
		return s
	}
	from := len(*buf)
	*buf = unescape(*buf, s)
	return (*buf)[from:]
}

// word is a string's text, and any other value's JSON; null and nil are empty.
func (v value) word() []byte {
	switch {
	case len(v) == 0, v[0] == 'n':
		return nil
	case v[0] == '"':
		var buf []byte
		return v.text(&buf)
	}
	return v
}

// Each byte of a word, for looking at eight bytes at once.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// quote8 is how many of the eight bytes of x, from the lowest on, neither end a
// string nor begin an escape.
func quote8(x uint64) int {
	q, e := x^'"'*ones, x^'\\'*ones
	return bits.TrailingZeros64(((q-ones)&^q|(e-ones)&^e)&highs) / 8
}

// stringEnd begins behind an opening quote; it is the index behind the closing
// one.
func stringEnd(b []byte, i int) (end int, escaped bool) {
	for {
		if i+8 <= len(b) {
			n := quote8(binary.LittleEndian.Uint64(b[i:]))
			if i += n; n == 8 {
				continue
			}
		}
		switch b[i] {
		case '"':
			return i + 1, escaped
		case '\\':
			escaped = true
			i++
		}
		i++
	}
}

// valueEnd is the index behind the value that begins at b[i].
func valueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		i, _ = stringEnd(b, i+1)
		return i
	case '{', '[':
	case 'f':
		return i + len("false")
	case 'n', 't':
		return i + len("null")
	default:
		for i < len(b) && b[i] > ' ' && b[i] != ',' && b[i] != '}' && b[i] != ']' {
			i++
		}
		return i
	}
	for depth := 0; ; {
		switch b[i] {
		case '"':
			i, _ = stringEnd(b, i+1)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
}

// unescape appends the text of a string's inside to dst. Half a surrogate pair
// becomes U+FFFD, as with encoding/json.
func unescape(dst, s []byte) []byte {
	for {
		n := bytes.IndexByte(s, '\\')
		if n < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:n]...)
		c := s[n+1]
		s = s[n+2:]
		if at := strings.IndexByte("bfnrt", c); at >= 0 {
			dst = append(dst, "\b\f\n\r\t"[at])
			continue
		}
		if c != 'u' {
			dst = append(dst, c)
			continue
		}
		r := hex4(s)
		s = s[4:]
		if utf16.IsSurrogate(r) {
			low := rune(-1)
			if len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
				low = hex4(s[2:])
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				s = s[6:]
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
}

func hex4(s []byte) (r rune) {
	for _, c := range s[:4] {
		r <<= 4
		switch {
		case c <= '9':
			r |= rune(c - '0')
		default:
			r |= rune(c|0x20-'a') + 10
		}
	}
	return r
}

// clip is at most n bytes of b as valid UTF-8, cut at a character's border.
func clip(b []byte, n int) string {
	s := strings.ToValidUTF8(string(b[:min(len(b), n+utf8.UTFMax)]), "\uFFFD")
	if len(s) <= n {
		return s
	}
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
