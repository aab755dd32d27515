package object

import (
	"bytes"
	"encoding/json"
	"sort"
)

// Object is a JSON object, valid, in UTF-8, without space around it. The zero Object
// has no fields.
type Object []byte

// Get is the value of a field: part of o, not a copy. Of a name that stands twice
// the last value counts, as in encoding/json.
func (o Object) Get(name string) (value json.RawMessage, ok bool) {
	o.each(func(key, v []byte) {
		if is(key, name) {
			value, ok = v, true
		}
	})
	return value, ok
}

// Names are the names of all fields, sorted, each once.
func (o Object) Names() []string {
	var names []string
	seen := map[string]bool{}
	o.each(func(key, _ []byte) {
		if n := text(key); !seen[n] {
			seen[n] = true
			names = append(names, n)
		}
	})
	sort.Strings(names)
	return names
}

// Of is the object that raw is, ok false when it is another value.
func Of(raw json.RawMessage) (o Object, ok bool) {
	if len(raw) > 0 && raw[0] == '{' {
		return Object(raw), true
	}
	return nil, false
}

// is reports whether the quoted key spells name.
func is(key []byte, name string) bool {
	if bytes.IndexByte(key, '\\') < 0 {
		return string(key[1:len(key)-1]) == name
	}
	return text(key) == name
}

// text decodes a quoted string; halves of surrogate pairs become U+FFFD.
func text(quoted []byte) string {
	var s string
	_ = json.Unmarshal(quoted, &s) // valid by contract
	return s
}

// each calls f for every field with its quoted key and its value.
func (o Object) each(f func(key, value []byte)) {
	for i := next(o, 1); i < len(o) && o[i] == '"'; {
		keyEnd := skip(o, i)
		from := next(o, next(o, keyEnd)+1) // over the colon
		to := skip(o, from)
		if to > len(o) || from >= to {
			return
		}
		f(o[i:keyEnd], o[from:to])
		i = next(o, next(o, to)+1) // over the comma, or the closing brace
	}
}

// next is the first place from i that holds no space.
func next(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skip is the place after the value that begins at i.
func skip(b []byte, i int) int {
	if i >= len(b) {
		return len(b)
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		depth := 0
		for i < len(b) {
			switch b[i] {
			case '"':
				i = skipString(b, i)
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
		return len(b)
	}
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return i
		}
		i++
	}
	return i
}

func skipString(b []byte, i int) int {
	for i++; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		end := i + n
		slashes := 0
		for end-slashes > i && b[end-slashes-1] == '\\' {
			slashes++
		}
		i = end + 1
		if slashes%2 == 0 {
			return i
		}
	}
	return len(b)
}
