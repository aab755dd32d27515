package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"tokentape/internal/spec"
	"tokentape/internal/workload/object"
)

// jsonl is one JSON object a line, in UTF-8. A byte order mark, CRLF, blank lines
// and a missing last line feed are all accepted; half of a surrogate pair written
// as an escape reads as U+FFFD.
var jsonl = format{
	extensions: []string{".jsonl", ".ndjson", ".json"},
	sniff: func(head []byte) bool {
		return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{"))
	},
	begin: func() layout { return jsonLines{} },
}

type jsonLines struct{}

func (jsonLines) scan(r *source, add func(int64, int, []byte), bad func(error) error) error {
	for {
		line, offset, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		raw := bytes.TrimLeft(line, " \t\r")
		lead := len(line) - len(raw)
		raw = bytes.TrimRight(raw, " \t\r")
		if len(raw) == 0 {
			continue
		}
		if err := checkObject(raw, lead, r.line); err == nil {
			add(offset+int64(lead), r.line, raw)
		} else if err := bad(err); err != nil {
			return err
		}
	}
}

func (jsonLines) trim(raw []byte) []byte { return bytes.TrimRight(raw, " \t\r\n") }

func (jsonLines) fields(raw []byte) (object.Object, error) { return object.Object(raw), nil }

const arrayHint = "a file that is one JSON array is workload.dataset.format: json; it becomes JSON lines with: jq -c '.[]'"

// checkObject finds what is wrong with a row that begins lead bytes into a line.
func checkObject(raw []byte, lead, line int) error {
	fail := func(at int, hint, format string, args ...any) error {
		return issueIn(raw, at, lead, line, hint, format, args...)
	}
	if err := checkUTF8(raw, lead, line); err != nil {
		return err
	}
	if json.Valid(raw) {
		if raw[0] == '{' {
			return nil
		}
		if raw[0] == '[' {
			return fail(0, arrayHint, "the row is a JSON array, not an object")
		}
		return fail(0, `a row looks like {"question": "…"}`, "the row is not a JSON object: %s", excerpt(raw))
	}
	var syntax *json.SyntaxError
	var v json.RawMessage
	if err := json.Unmarshal(raw, &v); !errors.As(err, &syntax) {
		return fail(0, "", "the row is not JSON: %v", err)
	}
	at, hint := min(max(int(syntax.Offset)-1, 0), len(raw)), ""
	message := strings.TrimPrefix(syntax.Error(), "json: ")
	switch {
	case strings.Contains(message, "unexpected end"):
		at, hint = len(raw), "a row must stand on one line; write it so with: jq -c ."
		if raw[0] == '[' {
			hint = arrayHint
		}
	case strings.Contains(message, "after top-level value"):
		hint = "put one object on a line"
	}
	from := max(at-20, 0)
	for from > 0 && !utf8.RuneStart(raw[from]) {
		from--
	}
	return fail(at, hint, "the row is not JSON: %s, near %s", message, excerpt(raw[from:]))
}

// issueIn is an issue about byte at of a row that begins lead bytes into a line.
func issueIn(raw []byte, at, lead, line int, hint, format string, args ...any) error {
	begin := bytes.LastIndexByte(raw[:at], '\n') + 1
	if begin > 0 {
		lead = 0
	}
	return spec.Issue{Line: line + bytes.Count(raw[:begin], []byte("\n")), Col: lead + utf8.RuneCount(raw[begin:at]) + 1,
		Message: fmt.Sprintf(format, args...), Hint: hint}
}

// checkUTF8 finds the first byte of a row that is not UTF-8.
func checkUTF8(raw []byte, lead, line int) error {
	if utf8.Valid(raw) {
		return nil
	}
	at := 0
	for {
		r, n := utf8.DecodeRune(raw[at:])
		if r == utf8.RuneError && n < 2 {
			break
		}
		at += n
	}
	begin := bytes.LastIndexByte(raw[:at], '\n') + 1
	of := at - begin + 1
	if begin == 0 {
		of += lead
	}
	return issueIn(raw, at, lead, line, "convert the file, for example: iconv -f GB18030 -t UTF-8", "byte %d of the line (0x%02x) is not UTF-8", of, raw[at])
}

func valid(raw []byte) bool { return utf8.Valid(raw) && json.Valid(raw) }
