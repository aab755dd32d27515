package dialect

import (
	"encoding/binary"
	"unicode/utf8"

	"tokentape/tape"
)

// maxDepth bounds the nesting of a payload, and so the stack that it takes.
const maxDepth = 200

// valid reports whether b is one JSON value by RFC 8259 in valid UTF-8, nested
// at most maxDepth deep. Quick readers of JSON take NaN, leading zeros, raw
// control characters, bad escapes and broken UTF-8, and encoding/json is slow.
func valid(b []byte) bool {
	i := skipSpace(b, 0)
	i = validValue(b, i, maxDepth)
	return i >= 0 && skipSpace(b, i) == len(b)
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// validValue is the index behind the value that begins at b[i], −1 when there
// is none.
func validValue(b []byte, i, depth int) int {
	if i >= len(b) || depth == 0 {
		return -1
	}
	switch b[i] {
	case '{':
		return validObject(b, i+1, depth-1)
	case '[':
		return validArray(b, i+1, depth-1)
	case '"':
		return validString(b, i+1)
	case 't':
		return validWord(b, i, "true")
	case 'f':
		return validWord(b, i, "false")
	case 'n':
		return validWord(b, i, "null")
	}
	return validNumber(b, i)
}

func validWord(b []byte, i int, word string) int {
	if end := i + len(word); end <= len(b) && string(b[i:end]) == word {
		return end
	}
	return -1
}

func validObject(b []byte, i, depth int) int {
	if i = skipSpace(b, i); i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		if i = skipSpace(b, i); i >= len(b) || b[i] != '"' {
			return -1
		}
		if i = validString(b, i+1); i < 0 {
			return -1
		}
		if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
			return -1
		}
		if i = validValue(b, skipSpace(b, i+1), depth); i < 0 {
			return -1
		}
		if i = skipSpace(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case '}':
			return i + 1
		case ',':
			i++
		default:
			return -1
		}
	}
}

func validArray(b []byte, i, depth int) int {
	if i = skipSpace(b, i); i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		if i = validValue(b, skipSpace(b, i), depth); i < 0 {
			return -1
		}
		if i = skipSpace(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case ']':
			return i + 1
		case ',':
			i++
		default:
			return -1
		}
	}
}

// validString begins behind the opening quote.
func validString(b []byte, i int) int {
	for i < len(b) {
		if i+8 <= len(b) {
			n := tape.Plain8(binary.LittleEndian.Uint64(b[i:]))
			if i += n; n == 8 {
				continue
			}
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			if i = validEscape(b, i+1); i < 0 {
				return -1
			}
		case c < ' ':
			return -1
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n == 1 {
				return -1
			}
			i += n
		}
	}
	return -1
}

// validEscape begins behind the backslash.
func validEscape(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		if i+5 > len(b) {
			return -1
		}
		for _, c := range b[i+1 : i+5] {
			if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
				return -1
			}
		}
		return i + 5
	}
	return -1
}

func validNumber(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	start := i
	if i = digits(b, i); i == start || b[start] == '0' && i > start+1 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		start = i + 1
		if i = digits(b, start); i == start {
			return -1
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		start = i
		if i = digits(b, start); i == start {
			return -1
		}
	}
	return i
}

func digits(b []byte, i int) int {
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i
}
