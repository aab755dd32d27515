package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"tokentape/internal/spec"
	"tokentape/internal/workload/object"
)

// jsonArray is one JSON array of objects, on one line or many, in UTF-8. It is
// read element by element, so that the file may be larger than memory.
var jsonArray = format{
	extensions: []string{".json"},
	sniff: func(head []byte) bool {
		return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("["))
	},
	begin: func() layout { return elements{} },
}

type elements struct{}

func (elements) trim(raw []byte) []byte { return bytes.TrimRight(raw, " \t\r\n,") }

func (elements) fields(raw []byte) (object.Object, error) { return object.Object(raw), nil }

func (elements) scan(r *source, add func(int64, int, []byte), bad func(error) error) error {
	a := &array{source: r, line: 1}
	if mark, _ := r.r.Peek(len(bom)); bytes.Equal(mark, bom) {
		r.r.Discard(len(bom))
		r.offset = int64(len(bom))
	}
	const (
		before  = iota // the array
		first          // an element or the end
		value          // an element
		between        // a comma or the end
		after          // the array
	)
	for state := before; ; {
		c, err := a.next()
		switch {
		case errors.Is(err, io.EOF) && state == after:
			return nil
		case errors.Is(err, io.EOF) && state == before:
			return spec.Issue{Message: "the file has no rows, only blank lines", Hint: where}
		case errors.Is(err, io.EOF):
			return a.fail("get it again, it is cut short", "the file ends within its array")
		case err != nil:
			return err
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case state == before && c == '[':
			state = first
		case state == before:
			return a.fail("JSON lines are workload.dataset.format: jsonl", "the file is not a JSON array: it begins with %q", c)
		case state == after:
			return a.fail("keep one array in a file", "the array has ended, but %q follows", c)
		case c == ']' && state != value:
			state = after
		case c == ',' && state == between:
			state = value
		case state == between:
			return a.fail("", "a comma or ] is missing before %q", c)
		case c == ',' || c == ']':
			return a.fail("", "an element is missing before %q", c)
		default:
			line, column, offset := a.line, a.column, r.offset-1
			raw, err := a.element(c)
			if err != nil {
				return err
			}
			switch err := checkObject(raw, column-1, line); {
			case err == nil:
				add(offset, line, raw)
			case !valid(raw):
				return err // nobody knows where the next element begins
			default:
				if err := bad(err); err != nil {
					return err
				}
			}
			state = between
		}
	}
}

// array reads the bytes of a JSON array.
type array struct {
	*source
	line, column int // of the byte last read, from 1; columns count characters
	wrap         bool
	buf          []byte
}

func (a *array) fail(hint, format string, args ...any) error {
	return spec.Issue{Line: a.line, Col: max(a.column, 1), Message: fmt.Sprintf(format, args...), Hint: hint}
}

func (a *array) next() (byte, error) {
	c, err := a.r.ReadByte()
	if err != nil {
		return 0, err
	}
	a.offset++
	if a.wrap {
		a.line, a.column, a.wrap = a.line+1, 0, false
	}
	if c == '\n' {
		a.wrap = true
	}
	if c&0xC0 != 0x80 { // not the rest of a character
		a.column++
	}
	return c, nil
}

// element is the element that begins with c, by its brackets and quotes; valid
// until the next call.
func (a *array) element(c byte) ([]byte, error) {
	a.buf = append(a.buf[:0], c)
	if c != '{' && c != '[' && c != '"' {
		for { // no row, whatever it is
			next, err := a.r.Peek(1)
			if err != nil || bytes.IndexByte([]byte(" \t\r\n,]"), next[0]) >= 0 {
				return a.buf, nil
			}
			c, _ := a.next()
			a.buf = append(a.buf, c)
		}
	}
	depth, quoted, escaped := 1, c == '"', false
	if quoted {
		depth = 0
	}
	for {
		if _, err := a.r.Peek(1); errors.Is(err, io.EOF) {
			return nil, a.fail("get it again, it is cut short", "the file ends within its array")
		} else if err != nil {
			return nil, err
		}
		part, _ := a.r.Peek(a.r.Buffered())
		n, done := 0, false
		for n < len(part) && !done {
			c := part[n]
			n++
			switch {
			case escaped:
				escaped = false
			case quoted && c == '\\':
				escaped = true
			case c == '"':
				quoted = !quoted
				done = !quoted && depth == 0
			case quoted:
			case c == '{' || c == '[':
				depth++
			case c == '}' || c == ']':
				depth--
				done = depth == 0
			}
		}
		a.pass(part[:n])
		a.buf = append(a.buf, part[:n]...)
		if _, err := a.r.Discard(n); err != nil || done {
			return a.buf, err
		}
		if len(a.buf) > a.most {
			return nil, a.fail("an element is one row", "the element is longer than %d MB", a.most>>20)
		}
	}
}

// pass moves the place over bytes that were read.
func (a *array) pass(part []byte) {
	a.offset += int64(len(part))
	if a.wrap {
		a.line, a.column, a.wrap = a.line+1, 0, false
	}
	if i := bytes.LastIndexByte(part[:len(part)-1], '\n'); i >= 0 {
		a.line += bytes.Count(part[:i+1], []byte("\n"))
		a.column, part = 0, part[i+1:]
	}
	for _, c := range part {
		if c&0xC0 != 0x80 { // not the rest of a character
			a.column++
		}
	}
	a.wrap = part[len(part)-1] == '\n'
}
