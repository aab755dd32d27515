package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"tokentape/internal/spec"
)

// maxRow bounds a row, and with it the memory of a scan: a file without line
// ends must not be read whole.
const maxRow = 256 << 20

// source reads a file by lines, once, of any length up to maxRow.
type source struct {
	r      *bufio.Reader
	long   []byte // the line, when it does not fit r's buffer
	offset int64  // of the next line
	line   int    // number of the line last returned, from 1
	most   int    // bytes of a line
}

func newSource(r io.Reader) *source { return &source{r: bufio.NewReaderSize(r, 1<<18), most: maxRow} }

// next is the next line without its line feed, and its offset; valid until the
// next call. The first line comes without a byte order mark. io.EOF ends.
func (s *source) next() (line []byte, offset int64, err error) {
	s.long = s.long[:0]
	for {
		var part []byte
		part, err = s.r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if s.long = append(s.long, part...); len(s.long) > s.most {
				return nil, 0, spec.Issue{Line: s.line + 1, Col: 1, Message: fmt.Sprintf("the line is longer than %d MB", s.most>>20),
					Hint: "put one row on a line"}
			}
			continue
		}
		line = part
		if len(s.long) > 0 {
			s.long = append(s.long, part...)
			line = s.long
		}
		break
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
		return nil, 0, err
	}
	s.line++
	offset = s.offset
	s.offset += int64(len(line))
	line = bytes.TrimSuffix(line, []byte("\n"))
	if s.line == 1 && bytes.HasPrefix(line, bom) {
		line, offset = line[len(bom):], offset+int64(len(bom))
	}
	return line, offset, nil
}
