package dataset

import (
	"bytes"
	"errors"
	"io"

	"tokentape/internal/workload/object"
)

// textLines is one prompt a line, in UTF-8, as the field "question". Space
// around a prompt stays; blank lines are no rows. Content never tells it from
// another format, so it needs its extension or its name.
var textLines = format{
	extensions: []string{".txt"},
	begin:      func() layout { return lines{} },
}

type lines struct{}

func (lines) trim(raw []byte) []byte { return bytes.TrimRight(raw, "\r\n") }

func (lines) fields(raw []byte) (object.Object, error) {
	return append(appendText([]byte(`{"question":`), string(raw)), '}'), nil
}

func (l lines) scan(r *source, add func(int64, int, []byte), bad func(error) error) error {
	for {
		line, offset, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		raw := l.trim(line)
		if err := checkUTF8(raw, 0, r.line); err == nil {
			add(offset, r.line, raw)
		} else if err := bad(err); err != nil {
			return err
		}
	}
}
