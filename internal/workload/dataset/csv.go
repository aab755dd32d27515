package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"tokentape/internal/spec"
	"tokentape/internal/workload/object"
)

// csvFormat is text in columns as RFC 4180 has it, in UTF-8: the first line
// names the columns; a field in double quotes may hold the comma, line ends
// (kept as they are) and doubled quotes. A byte order mark, LF for CRLF, blank
// lines and a missing last line end are accepted.
func csvFormat(comma byte) format {
	ext := ".csv"
	if comma == '\t' {
		ext = ".tsv"
	}
	return format{extensions: []string{ext}, begin: func() layout { return &columns{comma: comma} }}
}

// columns is an open file of columns.
type columns struct {
	comma byte
	names []json.RawMessage // as JSON
}

func (c *columns) trim(raw []byte) []byte { return bytes.TrimRight(raw, "\r\n") }

// fields are the row's cells by column. A cell that is a JSON number, true or
// false is that value; any other is a text, also an empty one.
func (c *columns) fields(raw []byte) (object.Object, error) {
	cells, _, err := split(raw, c.comma)
	if err != nil {
		return nil, err
	}
	if len(cells) != len(c.names) {
		return nil, fmt.Errorf("the row has %d fields, the header %d", len(cells), len(c.names))
	}
	b := make([]byte, 0, len(raw)+len(raw)/8+32*len(cells))
	for i, cell := range cells {
		b = append(b, ',')
		b = append(b, c.names[i]...)
		b = append(b, ':')
		b = appendCell(b, cell)
	}
	if len(b) == 0 {
		return object.Object("{}"), nil
	}
	b[0] = '{'
	return object.Object(append(b, '}')), nil
}

// appendCell appends the value of a cell.
func appendCell(b, cell []byte) []byte {
	if s := string(cell); s == "true" || s == "false" {
		return append(b, cell...)
	}
	if len(cell) > 0 && len(cell) < 40 && bytes.Trim(cell, "+-.0123456789eE") == nil && json.Valid(cell) {
		return append(b, cell...)
	}
	return appendText(b, string(cell))
}

func (c *columns) scan(r *source, add func(int64, int, []byte), bad func(error) error) error {
	var record []byte // when it takes more than one line
	for {
		line, offset, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		begin := r.line
		if len(c.trim(line)) == 0 {
			continue
		}
		raw := line
		for open := unclosed(raw, c.comma, false); open; {
			if len(record) == 0 {
				record = append(record, raw...)
			}
			next, _, err := r.next()
			if errors.Is(err, io.EOF) {
				return spec.Issue{Line: begin, Col: 1, Message: "a quote that opens in this row is never closed",
					Hint: `write a quote within a field twice, and the field in quotes: "say ""hi"""`}
			}
			if err != nil {
				return err
			}
			record = append(append(record, '\n'), next...)
			if len(record) > r.most {
				return spec.Issue{Line: begin, Col: 1, Message: fmt.Sprintf("the row is longer than %d MB", r.most>>20), Hint: "is a quote left open?"}
			}
			open = unclosed(next, c.comma, true)
			raw = record
		}
		raw = c.trim(raw)
		err = c.check(raw, begin)
		switch {
		case c.names == nil && err != nil:
			return err
		case c.names == nil:
			if err := c.header(raw, begin); err != nil {
				return err
			}
		case err == nil:
			add(offset, begin, raw)
		default:
			if err := bad(err); err != nil {
				return err
			}
		}
		record = record[:0]
	}
}

// unclosed reports whether a quoted field is still open at the end of a line;
// inside: one is open where it begins.
func unclosed(line []byte, comma byte, inside bool) bool {
	for i := 0; i < len(line); {
		if inside {
			n := bytes.IndexByte(line[i:], '"')
			if n < 0 {
				return true
			}
			if i += n + 1; i < len(line) && line[i] == '"' {
				i++
				continue
			}
			inside = false
			continue
		}
		if line[i] == '"' && (i == 0 || line[i-1] == comma) {
			inside = true
			i++
			continue
		}
		n := bytes.IndexByte(line[i:], comma)
		if n < 0 {
			return false
		}
		i += n + 1
	}
	return inside
}

// check finds what is wrong with a row.
func (c *columns) check(raw []byte, line int) error {
	if err := checkUTF8(raw, 0, line); err != nil {
		return err
	}
	cells, at, err := split(raw, c.comma)
	if err != nil {
		return issueIn(raw, at, 0, line, `put the whole field in quotes, and a quote within it twice: "say ""hi"""`, "%v", err)
	}
	if c.names != nil && len(cells) != len(c.names) {
		return spec.Issue{Line: line, Col: 1, Message: fmt.Sprintf("the row has %d fields, the header %d", len(cells), len(c.names)),
			Hint: "put a field that holds a separator in quotes"}
	}
	return nil
}

// header takes the names of the columns.
func (c *columns) header(raw []byte, line int) error {
	cells, _, _ := split(raw, c.comma)
	seen := map[string]bool{}
	for i, cell := range cells {
		name := strings.TrimSpace(string(cell))
		if name == "" {
			return spec.Issue{Line: line, Col: 1, Message: fmt.Sprintf("column %d has no name", i+1), Hint: "the first line names the columns"}
		}
		if seen[name] {
			return spec.Issue{Line: line, Col: 1, Message: fmt.Sprintf("two columns are named %q", name), Hint: "rename one"}
		}
		seen[name] = true
		quoted, _ := json.Marshal(name)
		c.names = append(c.names, quoted)
	}
	return nil
}

// split are the cells of a row; an error is about byte at. A cell may be part of
// raw.
func split(raw []byte, comma byte) (cells [][]byte, at int, err error) {
	for i := 0; ; {
		if i < len(raw) && raw[i] == '"' {
			cell, end := []byte(nil), i+1
			for {
				n := bytes.IndexByte(raw[end:], '"')
				if n < 0 {
					return nil, i, errors.New("this quote is never closed")
				}
				part := raw[end : end+n]
				end += n + 1
				if end == len(raw) || raw[end] != '"' {
					if cell == nil {
						cell = part
					} else {
						cell = append(cell, part...)
					}
					break
				}
				if cell == nil {
					cell = make([]byte, 0, len(part)+64)
				}
				cell = append(append(cell, part...), '"')
				end++
			}
			cells = append(cells, cell)
			if end == len(raw) {
				return cells, 0, nil
			}
			if raw[end] != comma {
				return nil, end, fmt.Errorf("%s follows the quote that closes a field", excerpt(raw[end:]))
			}
			i = end + 1
			continue
		}
		cell := raw[i:]
		n := bytes.IndexByte(cell, comma)
		if n >= 0 {
			cell = cell[:n]
		}
		if q := bytes.IndexByte(cell, '"'); q >= 0 {
			return nil, i + q, errors.New("a quote stands within a field that is not in quotes")
		}
		cells = append(cells, cell)
		if n < 0 {
			return cells, 0, nil
		}
		i += n + 1
	}
}
