package tape

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"runtime"
	"syscall"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
)

// maxLine bounds a line, its end not counted: a reader must be able to hold one.
const maxLine = 256 << 20

// Writer writes a tape line by line. It is not safe for concurrent use: the
// recorder owns it. What is written reaches the file at the next Flush at the
// latest. The first write error stays: every later call returns it.
type Writer struct {
	path   string // for messages; "" when unknown
	file   *os.File
	out    io.Writer
	plain  *bufio.Writer // one of these two is set
	zst    *zstd.Encoder
	dirty  bool // lines since the last Flush
	sum    hash.Hash
	line   []byte
	lines  int64
	footer bool
	closed bool
	err    error
}

// NewWriter writes to w, as zstd frames when compress is set. Close does not
// close w.
func NewWriter(w io.Writer, compress bool) *Writer {
	// One goroutine: the encoder shares its machine with the measurement.
	return newWriter(w, compress, 1)
}

// NewBulkWriter is NewWriter with compression, for tapes that are made of what is
// there already: it compresses on other cores than the caller's.
func NewBulkWriter(w io.Writer) *Writer { return newWriter(w, true, max(2, runtime.GOMAXPROCS(0))) }

func newWriter(w io.Writer, compress bool, cores int) *Writer {
	t := &Writer{out: w, sum: sha256.New()}
	if !compress {
		t.plain = bufio.NewWriterSize(w, 64<<10)
		return t
	}
	// A window that a request line of thousands of events fits into.
	enc, err := zstd.NewWriter(w,
		zstd.WithEncoderConcurrency(cores),
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(256<<10),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		t.err = fmt.Errorf("tape: zstd: %w", err)
		return t
	}
	t.zst = enc
	return t
}

// Create makes the file at path and writes to it. It never overwrites: a file
// that exists is an error that satisfies errors.Is(err, fs.ErrExist).
func Create(path string, compress bool) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		if errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("tape: %w: a tape is never overwritten; give another place with --out", err)
		}
		return nil, fmt.Errorf("tape: %w", err)
	}
	t := NewWriter(f, compress)
	t.file, t.path = f, path
	return t, nil
}

// Write appends one line: a *Header (the first line, and no other), then
// *Capabilities, *Request, *Example, *Call, *ServerFacts, *ClientSample and *Scrape in any order, and a
// *Footer, after which nothing may follow. The type field, an empty Schema and
// the footer's SHA256 are filled in on the way out; the argument is not changed.
// A line that cannot be written as JSON (NaN, infinity) is refused and leaves
// the tape as it was.
func (w *Writer) Write(line any) error {
	if w.err != nil {
		return w.err
	}
	b, err := w.encode(line)
	if err != nil {
		return fmt.Errorf("tape: line %d: %w", w.lines+1, err)
	}
	w.line = append(b, '\n')
	w.lines++
	w.dirty = true
	w.sum.Write(w.line)
	if w.zst != nil {
		_, err = w.zst.Write(w.line)
	} else {
		_, err = w.plain.Write(w.line)
	}
	return w.fail(err)
}

func (w *Writer) encode(line any) ([]byte, error) {
	_, isHeader := line.(*Header)
	switch {
	case w.closed:
		return nil, errors.New("the tape is closed")
	case w.footer:
		return nil, errors.New("nothing may follow the footer")
	case isHeader != (w.lines == 0):
		return nil, fmt.Errorf("the header is the first line and no other, this is a %T", line)
	}
	var b []byte
	var err error
	switch v := line.(type) {
	case *Request:
		b = appendRequest(w.line[:0], v)
	case *Header:
		c := *v
		c.Type = "header"
		if c.Schema == "" {
			c.Schema = Schema
		}
		b, err = json.Marshal(c)
	case *Capabilities:
		c := *v
		c.Type = "capabilities"
		b, err = json.Marshal(c)
	case *ClientSample:
		c := *v
		c.Type = "client"
		b, err = json.Marshal(c)
	case *Scrape:
		for name, x := range v.Series {
			if x-x != 0 { // NaN and the infinities
				return nil, fmt.Errorf("series %s is %v", name, x)
			}
		}
		b = appendScrape(w.line[:0], v)
	case *Call:
		c := *v
		c.Type = "call"
		b, err = json.Marshal(c)
	case *ServerFacts:
		c := *v
		c.Type = "server"
		b, err = json.Marshal(c)
	case *Example:
		c := *v
		c.Type = "example"
		b, err = json.Marshal(c)
	case *Step:
		c := *v
		c.Type = "step"
		b, err = json.Marshal(c)
	case *Footer:
		c := *v
		c.Type, c.SHA256 = "footer", hex.EncodeToString(w.sum.Sum(nil))
		if b, err = json.Marshal(c); err == nil {
			w.footer = true
		}
	default:
		err = fmt.Errorf("a %T is not a line of a tape", line)
	}
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(b) { // json.RawMessage passes bad bytes on
		b = bytes.ToValidUTF8(b, []byte("\ufffd"))
	}
	if len(b) > maxLine {
		return nil, fmt.Errorf("%d bytes are more than the %d that a line may have", len(b), maxLine)
	}
	return b, nil
}

// Flush hands everything to the operating system. A compressed tape ends its
// frame here: whatever happens later, the file is readable up to this point.
func (w *Writer) Flush() error {
	if w.err != nil || !w.dirty {
		return w.err
	}
	w.dirty = false
	if w.zst == nil {
		return w.fail(w.plain.Flush())
	}
	err := w.zst.Close()
	w.zst.Reset(w.out)
	return w.fail(err)
}

// Close flushes and closes the file that Create made. Its error is the first
// one of the tape's life; a second Close returns nil.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	err := w.Flush()
	w.closed = true
	if w.zst != nil {
		w.zst.Reset(nil)
	}
	if w.file != nil {
		if cerr := w.file.Close(); err == nil {
			err = w.fail(cerr)
		}
	}
	return err
}

func (w *Writer) fail(err error) error {
	if err == nil {
		return nil
	}
	where := ""
	if w.path != "" {
		where = " " + w.path
	}
	hint := ""
	if errors.Is(err, syscall.ENOSPC) {
		hint = "; free some space there, or give another place with --out"
	}
	// A path error names the path itself; ours is the whole one.
	var pe *os.PathError
	if w.path != "" && errors.As(err, &pe) {
		err = pe.Err
	}
	w.err = fmt.Errorf("tape: writing%s: %w%s", where, err, hint)
	return w.err
}
