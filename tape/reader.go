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
	"strconv"
	"strings"
)

// Record is what a Reader yields: *Header, *Capabilities, *Request,
// *ClientSample, *Scrape, *Call, *Step, *Footer or *Fault.
type Record interface{ record() }

func (*Header) record()       {}
func (*Capabilities) record() {}
func (*Request) record()      {}
func (*ClientSample) record() {}
func (*Scrape) record()       {}
func (*Call) record()         {}
func (*Step) record()         {}
func (*ServerFacts) record()  {}
func (*Footer) record()       {}
func (*Fault) record()        {}

// Fault is a place where the tape is not as it was written or breaks a rule. It
// stands for the line, or follows the record that it is about; reading goes on.
type Fault struct {
	Line   int64  // 1-based
	Offset int64  // bytes from the start of the lines (decompressed) to the line
	Bytes  int    // decompressed bytes that gave no record
	Lost   bool   // a record, or an unknown number of them, is missing here
	Why    string // for people
}

// String is the fault as a sentence with its place.
func (f *Fault) String() string {
	return fmt.Sprintf("line %d (byte %d): %s", f.Line, f.Offset, f.Why)
}

// ErrNotTape says that a file is another than a tape; the message of the error that
// wraps it shows how it begins.
var ErrNotTape = errors.New("not a tape")

// Reader reads a tape as a stream; its memory is bounded by the longest line.
// It is not safe for concurrent use.
type Reader struct {
	path   string
	file   *os.File
	size   int64 // of the tape in it; 0: not known
	raw    *rawFile
	frames *frames // nil: not compressed
	lines  *bufio.Reader
	buf    []byte // a line longer than the buffer of lines

	line    int64 // number of the line read last
	at      int64 // where it begins, in bytes of the lines
	next    int64 // where the one after it begins
	limit   int   // maxLine, less in tests
	sum     hash.Hash
	header  bool
	footer  bool
	after   bool // something stood after the footer
	trust   bool
	ahead   *ahead // nil: lines are read when they are asked for
	own     line   // the line read last, without ahead
	pending []Record
	err     error
}

// line is what one step reads: the bytes of a line without its end, its size with
// it, the error that reading it gave, and what parsing it gave.
type line struct {
	b    []byte
	size int
	err  error

	parsed bool
	typ    string   // "" with bad: not JSON, without: no type
	req    *Request // of a request line
	bad    error    // it cannot be read
	rule   error    // it breaks a rule of the format
}

// NewReader reads the lines of r, compressed or not: the content says which.
func NewReader(r io.Reader) *Reader {
	return &Reader{raw: &rawFile{r: bufio.NewReaderSize(r, 64<<10)}, sum: sha256.New(), limit: maxLine}
}

// OpenFile opens the tape at path, compressed or not, or the one in the pack at
// path: the content says which.
func OpenFile(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("tape: %w", err)
	}
	return FromFile(f, path)
}

// FromFile is OpenFile of a file that is open already, at its beginning; path is what
// messages call it. The Reader closes it, and so does an error.
func FromFile(f *os.File, path string) (*Reader, error) {
	var in io.Reader = f
	var err error
	if beginsPacked(f) {
		if in, err = inPack(f); err != nil {
			f.Close()
			return nil, fmt.Errorf("tape: %s: %w", path, err)
		}
	}
	r := NewReader(in)
	r.file, r.path = f, path
	if s, ok := in.(*io.SectionReader); ok {
		r.size = s.Size()
	} else if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
		r.size = st.Size()
	}
	return r, nil
}

// Watch has f told how many bytes of the file were read, of how many, each time some
// are; total is 0 where that is not known. f may be called from another goroutine. Call
// Watch before the first Next.
func (r *Reader) Watch(f func(done, total int64)) {
	r.raw.watch = func(done int64) { f(done, r.size) }
}

// Trust leaves out what only proves a tape, its hash and the rules that every
// request must keep: for a second look at one that was read before. Call it
// before the first Next.
func (r *Reader) Trust() { r.trust = true }

// Close ends what Ahead began, frees the decoder and closes the file that
// OpenFile opened.
func (r *Reader) Close() error {
	if r.ahead != nil {
		r.ahead.close()
	}
	if r.frames != nil {
		r.frames.dec.Close()
		r.frames = nil
	}
	if r.err == nil {
		r.err = errors.New("tape: the reader is closed")
	}
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}

// SHA256 is the hex hash of all lines read so far, as the footer counts them:
// each without its line end and followed by one "\n". A torn last line is not
// part of it.
func (r *Reader) SHA256() string { return hex.EncodeToString(r.sum.Sum(nil)) }

// Next yields the next record, io.EOF at the end. The first is the *Header.
// Torn and unreadable lines are *Fault records; lines of an unknown type are
// passed over. Any other error is final: the file could not be read, is not a
// tape, or is of a newer major schema.
func (r *Reader) Next() (Record, error) {
	for {
		if len(r.pending) > 0 {
			rec := r.pending[0]
			r.pending = r.pending[1:]
			return rec, nil
		}
		if r.err != nil {
			return nil, r.err
		}
		if err := r.step(); err != nil {
			r.err = err
		}
	}
}

// step reads one line and queues what it gives.
func (r *Reader) step() error {
	if r.lines == nil {
		if err := r.open(); err != nil {
			return err
		}
	}
	l := r.nextLine()
	line, size, err := l.b, l.size, l.err
	r.at = r.next
	r.next += int64(size)
	r.line++

	var broken *damage
	if err != nil && err != io.EOF && err != errLong && !errors.As(err, &broken) {
		return r.errorf("%w", err)
	}
	switch whole := err == nil || size > 0 && err != errLong && json.Valid(line); {
	case whole:
		l.parse(r.trust)
		if err := r.take(l); err != nil {
			return err
		}
	case size > 0 && !r.header:
		return r.notATape(line)
	case err == errLong:
		r.fault(size, true, fmt.Sprintf("longer than the %d bytes that a line may have", r.limit))
		return nil
	case broken != nil:
		r.fault(size, true, broken.why)
		return nil
	case size > 0:
		r.fault(size, true, "torn at the end of the file: "+begins(line))
	}
	if broken != nil {
		r.fault(0, true, broken.why)
		return nil
	}
	if err == io.EOF && !r.header {
		return r.errorf("nothing in it: the run ended before its header was written, or this is not a tape")
	}
	return err
}

func (r *Reader) open() error {
	head, err := r.raw.r.Peek(4)
	if err != nil && err != io.EOF {
		return r.errorf("%w", err)
	}
	var in io.Reader = r.raw
	if isZstd(head) {
		if r.frames, err = newFrames(r.raw); err != nil {
			return r.errorf("zstd: %w", err)
		}
		in = r.frames
	}
	r.lines = bufio.NewReaderSize(in, 64<<10)
	return nil
}

var errLong = errors.New("line too long")

// passing tells the errors of one place from those that end the tape.
func passing(err error) bool {
	var broken *damage
	return err == errLong || errors.As(err, &broken)
}

// readLine returns the next line without its end ("\n" or "\r\n"), good until
// the next call, and its size with it. With an error the line is what came
// before the error, or, with errLong, its beginning.
func (r *Reader) readLine() (line []byte, size int, err error) {
	line, err = r.lines.ReadSlice('\n')
	size = len(line)
	if err == bufio.ErrBufferFull {
		r.buf = r.buf[:0]
		for err == bufio.ErrBufferFull {
			if size <= r.limit {
				r.buf = append(r.buf, line...)
			}
			line, err = r.lines.ReadSlice('\n')
			size += len(line)
		}
		if size > r.limit {
			if err == nil {
				err = errLong
			}
			return r.buf[:min(len(r.buf), 80)], size, err
		}
		r.buf = append(r.buf, line...)
		line = r.buf
	}
	if err == nil {
		line = bytes.TrimSuffix(line[:len(line)-1], []byte("\r"))
	}
	return line, size, err
}

// nextLine is the next line, good until the next call.
func (r *Reader) nextLine() *line {
	if r.ahead != nil {
		return r.ahead.next(r)
	}
	r.own = line{}
	r.own.b, r.own.size, r.own.err = r.readLine()
	return &r.own
}

// parse finds out what the line is, and reads it if it is a request, unless that
// was done before: it needs no other line.
func (l *line) parse(trust bool) {
	if l.parsed {
		return
	}
	l.parsed = true
	if l.typ = lineType(l.b); l.typ == "" {
		var probe struct {
			Type string `json:"type"`
		}
		l.bad = json.Unmarshal(l.b, &probe)
		l.typ = probe.Type
	}
	if l.typ != "request" || l.bad != nil {
		return
	}
	if l.req, l.bad = decodeRequest(l.b); l.bad == nil && !trust {
		l.rule = l.req.Check()
	}
}

// take understands one whole line.
func (r *Reader) take(l *line) error {
	line, size, typ, bad := l.b, l.size, l.typ, l.bad
	sumBefore := ""
	if typ == "footer" {
		sumBefore = r.SHA256()
	}
	if !r.trust {
		r.sum.Write(line)
		r.sum.Write([]byte{'\n'})
	}

	if !r.header {
		return r.takeHeader(typ, line)
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	if r.footer {
		if !r.after {
			r.fault(size, true, "after the footer: this line and those that follow are not part of the run: "+begins(line))
		}
		r.after = true
		return nil
	}
	if bad != nil {
		r.unreadable(line, size, bad)
		return nil
	}
	switch typ {
	case "request":
		r.pending = append(r.pending, l.req)
		if l.rule != nil {
			r.fault(0, false, fmt.Sprintf("request %d breaks a rule of the format: %v", l.req.Seq, l.rule))
		}
	case "client":
		bad = decodeInto(r, line, new(ClientSample))
	case "scrape":
		bad = decodeInto(r, line, new(Scrape))
	case "call":
		bad = decodeInto(r, line, new(Call))
	case "server":
		bad = decodeInto(r, line, new(ServerFacts))
	case "step":
		bad = decodeInto(r, line, new(Step))
	case "example":
		bad = decodeInto(r, line, new(Example))
	case "capabilities":
		bad = decodeInto(r, line, new(Capabilities))
	case "footer":
		f := new(Footer)
		if bad = decodeInto(r, line, f); bad == nil {
			r.footer = true
			if !r.trust {
				r.checkSum(f, sumBefore)
			}
		}
	case "header":
		r.fault(size, true, "a second header")
	case "":
		r.fault(size, true, "no type: "+begins(line))
	default: // of a later minor version
		if !json.Valid(line) {
			bad = errors.New("not JSON")
		}
	}
	if bad != nil {
		r.unreadable(line, size, bad)
	}
	return nil
}

func decodeInto[R Record](r *Reader, line []byte, rec R) error {
	err := json.Unmarshal(line, rec)
	if err == nil {
		r.pending = append(r.pending, rec)
	}
	return err
}

func (r *Reader) takeHeader(typ string, line []byte) error {
	var v struct {
		Schema string `json:"schema"`
	}
	const name = "tokentape.tape/"
	if err := json.Unmarshal(line, &v); err != nil || typ != "header" || !strings.HasPrefix(v.Schema, name) {
		return r.notATape(line)
	}
	version, _, _ := strings.Cut(v.Schema[len(name):], ".")
	switch major, err := strconv.Atoi(version); {
	case err != nil || major < 1:
		return r.errorf("schema %q has no version that can be read", v.Schema)
	case major > 1:
		return r.errorf("schema %q is newer than %q, which this version of tokentape reads: update tokentape", v.Schema, Schema)
	}
	if err := decodeInto(r, line, new(Header)); err != nil {
		return r.errorf("header: %w", err)
	}
	r.header = true
	return nil
}

func (r *Reader) checkSum(f *Footer, have string) {
	switch {
	case f.SHA256 == "":
		r.fault(0, false, "the footer has no sha256: nothing proves that the lines are as they were written")
	case !strings.EqualFold(f.SHA256, have):
		r.fault(0, false, fmt.Sprintf("edited: the footer says sha256 %.12s… of the lines before it, they have %.12s…", f.SHA256, have))
	}
}

func (r *Reader) fault(bytes int, lost bool, why string) {
	r.pending = append(r.pending, &Fault{Line: r.line, Offset: r.at, Bytes: bytes, Lost: lost, Why: why})
}

func (r *Reader) unreadable(line []byte, size int, err error) {
	r.fault(size, true, fmt.Sprintf("cannot be read: %v: %s", err, begins(line)))
}

func (r *Reader) notATape(line []byte) error {
	return r.errorf("%w: its first line is no %s header: %s", ErrNotTape, Schema, begins(line))
}

func (r *Reader) errorf(format string, args ...any) error {
	if r.path != "" {
		format, args = "%s: "+format, append([]any{r.path}, args...)
	}
	return fmt.Errorf("tape: "+format, args...)
}

// begins quotes the first 80 bytes of a line.
func begins(line []byte) string {
	if len(line) > 80 {
		return strconv.Quote(string(line[:80])) + "…"
	}
	return strconv.Quote(string(line))
}
