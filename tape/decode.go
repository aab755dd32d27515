package tape

import (
	"bytes"
	"encoding/json"
)

// decodeRequest reads a request line. The events, nearly all of a line's bytes,
// are parsed by hand and cut out, encoding/json reads the rest. Whatever the
// quick way does not understand goes to encoding/json whole, so that it alone
// decides what is wrong with a line. scratch is returned for reuse.
func decodeRequest(line []byte, cut eventsAt, scratch []byte) (*Request, []byte, error) {
	r := new(Request)
	if cut.end > 0 {
		if ev, ok := parseEvents(line[cut.start:cut.end]); ok {
			scratch = append(scratch[:0], line[:cut.start]...)
			scratch = append(scratch, "null"...)
			scratch = append(scratch, line[cut.end:]...)
			if err := json.Unmarshal(scratch, r); err == nil {
				r.Events = ev
				return r, scratch, nil
			}
			*r = Request{}
		}
	}
	err := json.Unmarshal(line, r)
	return r, scratch, err
}

// eventsAt is where the value of a line's events field stands; end 0: nowhere.
type eventsAt struct{ start, end int }

// walk finds, in an object's top level, the value of "type" and the place of
// "events". It is loose about everything that encoding/json will look at again;
// ok is false when the line is not plainly an object, or names a field of
// interest twice or in another spelling.
func walk(line []byte) (typ string, cut eventsAt, ok bool) {
	i := skipSpace(line, 0)
	if i == len(line) || line[i] != '{' {
		return "", cut, false
	}
	for i = skipSpace(line, i+1); i < len(line) && line[i] == '"'; i = skipSpace(line, i+1) {
		end := skipString(line, i)
		if end < 0 {
			return "", cut, false
		}
		key := line[i+1 : end-1]
		if i = skipSpace(line, end); i == len(line) || line[i] != ':' {
			return "", cut, false
		}
		i = skipSpace(line, i+1)
		if end = skipValue(line, i); end < 0 {
			return "", cut, false
		}
		switch {
		case string(key) == "type" && typ == "" && end-i > 2 && line[i] == '"':
			if typ = string(line[i+1 : end-1]); bytes.IndexByte(line[i:end], '\\') >= 0 {
				return "", cut, false
			}
		case string(key) == "events" && cut.end == 0:
			cut = eventsAt{i, end}
		case bytes.IndexByte(key, '\\') >= 0, bytes.EqualFold(key, []byte("type")), bytes.EqualFold(key, []byte("events")):
			return "", cut, false
		}
		if i = skipSpace(line, end); i == len(line) || line[i] != ',' {
			break
		}
	}
	return typ, cut, typ != ""
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// skipString returns the place after the string that begins at i, or −1.
func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// skipValue returns the place after the value that begins at i, or −1.
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return -1
			}
			if depth == 0 {
				return i
			}
			continue
		case '[':
			depth++
			if end := bytes.IndexAny(b[i+1:], `]["{}`); end > 0 { // numbers: nearly always the end
				i += end
			}
		case '{':
			depth++
		case ']', '}':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return -1
}

// parseEvents parses the events object; ok is false when it is anything but
// plain, and encoding/json must look.
func parseEvents(b []byte) (e Events, ok bool) {
	if string(b) == "null" {
		return e, true
	}
	if len(b) < 2 || b[0] != '{' {
		return e, false
	}
	seen := 0
	i := skipSpace(b, 1)
	if i < len(b) && b[i] == '}' {
		return e, i+1 == len(b)
	}
	for i < len(b) && b[i] == '"' {
		end := skipString(b, i)
		if end < 0 {
			return e, false
		}
		key := string(b[i+1 : end-1])
		if i = skipSpace(b, end); i == len(b) || b[i] != ':' {
			return e, false
		}
		i = skipSpace(b, i+1)
		bit := 0
		switch key {
		case "dt":
			bit = 1
			e.DT, i = parseInts[int64](b, i)
		case "kind":
			bit = 2
			e.Kind, i = parsePlain(b, i)
		case "tok":
			bit = 4
			e.Tok, i = parseInts[int64](b, i)
		case "choice":
			bit = 8
			e.Choice, i = parseInts[int32](b, i)
		}
		if bit == 0 || seen&bit != 0 || i < 0 {
			return e, false
		}
		seen |= bit
		i = skipSpace(b, i)
		if i == len(b) {
			return e, false
		}
		if b[i] == '}' {
			return e, i+1 == len(b)
		}
		if b[i] != ',' {
			return e, false
		}
		i = skipSpace(b, i+1)
	}
	return e, false
}

// parsePlain reads a string of printable ASCII without escapes, or null.
func parsePlain(b []byte, i int) (string, int) {
	if bytes.HasPrefix(b[i:], []byte("null")) {
		return "", i + 4
	}
	if i >= len(b) || b[i] != '"' {
		return "", -1
	}
	for j := i + 1; j < len(b); j++ {
		switch c := b[j]; {
		case c == '"':
			return string(b[i+1 : j]), j + 1
		case c < ' ' || c >= 0x7f || c == '\\':
			return "", -1
		}
	}
	return "", -1
}

// parseInts reads an array of integers that surely fit T, or null; anything
// else gives place −1.
func parseInts[T int32 | int64](b []byte, i int) ([]T, int) {
	if bytes.HasPrefix(b[i:], []byte("null")) {
		return nil, i + 4
	}
	if i >= len(b) || b[i] != '[' {
		return nil, -1
	}
	end := bytes.IndexByte(b[i:], ']')
	if end < 0 {
		return nil, -1
	}
	end += i
	if i = skipSpace(b, i+1); i == end {
		return nil, end + 1
	}
	maxDigits := 18
	if _, small := any(T(0)).(int32); small {
		maxDigits = 9
	}
	v := make([]T, 0, bytes.Count(b[i:end], []byte(","))+1)
	for {
		neg := b[i] == '-'
		if neg {
			i++
		}
		var n T
		from := i
		for ; isDigit(b[i]); i++ { // ends at ']' at the latest
			n = n*10 + T(b[i]-'0')
		}
		if d := i - from; d == 0 || d > maxDigits || d > 1 && b[from] == '0' {
			return nil, -1
		}
		if neg {
			n = -n
		}
		v = append(v, n)
		if b[i] != ',' {
			i = skipSpace(b, i)
			if i == end {
				return v, end + 1
			}
			if b[i] != ',' {
				return nil, -1
			}
		}
		if i = skipSpace(b, i+1); i >= end {
			return nil, -1
		}
	}
}
