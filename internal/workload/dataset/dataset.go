package dataset

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"tokentape/internal/spec"
	"tokentape/internal/workload/object"
)

// Auto lets Open choose the format by the file's extension, then its content.
const Auto = "auto"

// format is one way to lay out rows in a file.
type format struct {
	extensions []string
	// sniff reports whether a file that begins with head, its first bytes
	// without a byte order mark, can be of this format; nil: content never tells.
	sniff func(head []byte) bool
	// begin makes the layout of one file.
	begin func() layout
	// convert, when not nil, writes the rows as JSON lines into a temporary file
	// that is read in place of f. watch is told which share is done.
	convert func(f *os.File, size int64, to io.Writer, watch func(share float64)) error
}

// layout is a format opened on one file. After scan it is read-only.
type layout interface {
	// scan reads the whole file once, checks every row, and hands each to add in
	// file order with the line on which it begins; raw is valid during the call.
	// Between two rows on consecutive lines stand only bytes that trim takes away.
	// Its errors are spec.Issues without File. One that is about a single row goes
	// to bad, and when bad returns nil the row is left out.
	scan(r *source, add func(offset int64, line int, raw []byte), bad func(error) error) error
	// trim is raw without what may follow a row before the next one.
	trim(raw []byte) []byte
	// fields are those of the raw bytes of one row that scan has checked.
	fields(raw []byte) (object.Object, error)
}

// formats by their name in workload.dataset.format.
var formats = map[string]format{
	"jsonl":   jsonl,
	"json":    jsonArray,
	"csv":     csvFormat(','),
	"tsv":     csvFormat('\t'),
	"text":    textLines,
	"parquet": parquetFormat,
}

// Row is one row of a dataset.
type Row struct {
	Path   string // of the file
	Index  int64  // 0-based
	Line   int    // 1-based line of the file on which it begins; of a parquet file the number of the row
	Offset int64  // bytes from the start of the file; of a parquet file from the start of its rows as JSON lines
	Raw    []byte // as it stands in the file, without the line end; of a parquet file one line of JSON
	Fields object.Object
}

// SHA256 is the hash of Raw, hex.
func (r Row) SHA256() string {
	sum := sha256.Sum256(r.Raw)
	return hex.EncodeToString(sum[:])
}

// Issue is an error about this row.
func (r Row) Issue(hint, format string, args ...any) error {
	return spec.Issue{File: r.Path, Line: r.Line, Col: 1, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// Info describes a dataset by content.
type Info struct {
	Path   string
	Format string
	Bytes  int64
	Rows   int64
	SHA256 string // of the whole file, hex
}

// File is an open dataset. It is safe for concurrent use.
type File struct {
	info   Info
	f      *os.File // what rows are read from
	temp   string   // its path when it is a converted copy
	layout layout
	seed   maphash.Seed
	index  index
	o      Options
	size   int64 // of what rows are read from, bytes
	bad    int64
	first  error
}

// Options say how a file is opened. The zero value is Open's.
type Options struct {
	Lax bool // leave rows out that cannot be read; Bad counts them
	// Watch, when not nil, is told how many bytes of how many are done, about once
	// a megabyte and at the end: what is "reading" (Open) or "checking" (Each).
	Watch func(what string, done, total int64)
}

// What Options.Watch is told of.
const (
	Reading  = "reading"
	Checking = "checking"
)

// watchEvery is how often Options.Watch is told, in bytes.
const watchEvery = 1 << 20

// Open reads the file once, checks every row and indexes it. format is Auto, ""
// (auto too) or a name of Formats. Its error is a spec.Issue that says where and
// what mends it.
func Open(path, format string) (*File, error) { return OpenWith(path, format, Options{}) }

// OpenWith is Open with options.
func OpenWith(path, format string, o Options) (*File, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	d := &File{info: Info{Path: path}, f: f, seed: maphash.MakeSeed(), o: o}
	if err := d.scan(format); err != nil {
		d.Close()
		return nil, d.inFile(err)
	}
	return d, nil
}

// inFile says of an error which file it is about.
func (d *File) inFile(err error) error {
	var at spec.Issue
	if errors.As(err, &at) {
		at.File = d.info.Path
		return at
	}
	return spec.Issue{File: d.info.Path, Message: err.Error()}
}

const where = "name another file with --dataset or workload.dataset.path"

func open(path string) (*os.File, error) {
	fail := func(hint, message string) (*os.File, error) {
		return nil, spec.Issue{File: path, Field: "workload.dataset.path", Message: message, Hint: hint}
	}
	if path == "" {
		return fail("give one with --dataset or workload.dataset.path", "no dataset is named")
	}
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail(where+nearby(path), "there is no such file")
	case errors.Is(err, fs.ErrPermission):
		return fail("chmod +r it, or "+where, "permission denied")
	case err != nil:
		return fail(where, err.Error())
	case st.IsDir():
		return fail("name a file in it, for example "+filepath.Join(path, "data.jsonl"), "this is a directory")
	case !st.Mode().IsRegular():
		return fail("save it to a file first", "this is no regular file, and rows are read again while the run goes on")
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return fail("chmod +r it, or "+where, "permission denied")
	}
	if err != nil {
		return fail(where, err.Error())
	}
	return f, nil
}

// nearby names datasets in the folder of a path that does not exist.
func nearby(path string) string {
	var found []string
	for name := range formats {
		for _, ext := range formats[name].extensions {
			m, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"+ext))
			for _, path := range m {
				if !strings.HasSuffix(path, ".manifest.json") && !slices.Contains(found, path) { // an extension may be that of two formats
					found = append(found, path)
				}
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	sort.Strings(found)
	if len(found) > 5 {
		found = append(found[:5], "…")
	}
	return "; there are " + strings.Join(found, ", ")
}

// Formats are the names of all formats, sorted.
func Formats() []string {
	names := make([]string, 0, len(formats))
	for n := range formats {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

var bom = []byte("\xEF\xBB\xBF")

func (d *File) scan(name string) error {
	head := make([]byte, 512)
	n, err := d.f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if n == 0 {
		return spec.Issue{Message: "the file is empty", Hint: where}
	}
	st, err := d.f.Stat()
	if err != nil || st.Size() > maxOffset {
		return spec.Issue{Message: "the file is larger than 1 TB", Hint: where}
	}
	d.size = st.Size()
	if d.info.Format, err = choose(name, d.info.Path, head[:n]); err != nil {
		return err
	}
	format := formats[d.info.Format]
	if format.convert != nil {
		if err := d.convert(format); err != nil {
			return err
		}
	}
	d.layout = format.begin()

	h := sha256.New()
	var seen io.Writer = h
	if d.o.Watch != nil && d.temp == "" {
		seen = io.MultiWriter(h, &watched{d: d})
	}
	src := newSource(io.TeeReader(io.NewSectionReader(d.f, 0, 1<<62), seen))
	err = d.layout.scan(src, func(offset int64, line int, raw []byte) {
		d.index.add(offset, len(raw), line, d.hash(raw))
	}, func(err error) error {
		if !d.o.Lax {
			return err
		}
		if d.bad++; d.first == nil {
			d.first = d.inFile(err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.info.Rows = d.index.rows
	if d.temp == "" {
		d.info.Bytes, d.info.SHA256 = src.offset, hex.EncodeToString(h.Sum(nil))
	}
	if d.info.Rows == 0 {
		if d.bad > 0 {
			return spec.Issue{Message: fmt.Sprintf("none of its %d rows can be read; the first: %v", d.bad, d.first), Hint: where}
		}
		if format.convert != nil {
			return spec.Issue{Message: "the table has no rows", Hint: where}
		}
		return spec.Issue{Message: "the file has no rows, only blank lines", Hint: where}
	}
	return nil
}

// watched tells Options.Watch how much of the file was read.
type watched struct {
	d          *File
	done, told int64
}

func (w *watched) Write(b []byte) (int, error) {
	if w.done += int64(len(b)); w.done >= w.told || w.done == w.d.size {
		w.d.o.Watch(Reading, w.done, w.d.size)
		w.told = w.done + watchEvery
	}
	return len(b), nil
}

// convert puts a temporary file of JSON lines in the place of d.f.
func (d *File) convert(format format) error {
	original := d.f
	defer original.Close()
	h := sha256.New()
	size, err := io.Copy(h, original)
	if err != nil {
		return err
	}
	d.info.Bytes, d.info.SHA256 = size, hex.EncodeToString(h.Sum(nil))
	temp, err := os.CreateTemp("", "tokentape-rows-*.jsonl")
	if err != nil {
		return spec.Issue{Message: fmt.Sprintf("its rows need a temporary file: %v", err), Hint: "set TMPDIR to a folder with room"}
	}
	d.f, d.temp = temp, temp.Name()
	w := bufio.NewWriterSize(temp, 1<<18)
	watch := d.o.Watch
	if watch == nil {
		watch = func(string, int64, int64) {}
	}
	if err := format.convert(original, size, w, func(share float64) { watch(Reading, int64(share*float64(size)), size) }); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return spec.Issue{Message: fmt.Sprintf("its rows need room in a temporary file: %v", err), Hint: "set TMPDIR to a folder with room"}
	}
	if d.size, err = temp.Seek(0, io.SeekCurrent); err != nil {
		return spec.Issue{Message: err.Error()}
	}
	return nil
}

// choose is the name of the format, after turning away what is no text at all.
func choose(name, path string, head []byte) (string, error) {
	for magic, what := range map[string][2]string{
		"\x1f\x8b":         {"gzip-compressed", "unpack it with: gunzip -k " + path},
		"\x28\xb5\x2f\xfd": {"zstd-compressed", "unpack it with: zstd -dk " + path},
		"PK\x03\x04":       {"a zip archive", "unpack it with: unzip " + path},
		"\xff\xfe":         {"UTF-16 text", "convert it with: iconv -f UTF-16 -t UTF-8"},
		"\xfe\xff":         {"UTF-16 text", "convert it with: iconv -f UTF-16 -t UTF-8"},
	} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return "", spec.Issue{Message: "this is " + what[0] + ", which cannot be read", Hint: what[1]}
		}
	}
	if name != "" && name != Auto {
		if _, ok := formats[name]; !ok {
			return "", spec.Issue{Field: "workload.dataset.format", Message: fmt.Sprintf("%q is not a known format", name),
				Hint: "there are " + Auto + ", " + strings.Join(Formats(), ", ")}
		}
		return name, nil
	}
	// An extension decides, unless two formats have it; then content does, and
	// without either content alone.
	ext := strings.ToLower(filepath.Ext(path))
	head = bytes.TrimPrefix(head, bom)
	var named, look []string
	for _, n := range Formats() {
		if slices.Contains(formats[n].extensions, ext) {
			named = append(named, n)
		}
		if formats[n].sniff != nil && formats[n].sniff(head) {
			look = append(look, n)
		}
	}
	if len(named) == 1 {
		return named[0], nil
	}
	for _, n := range look {
		if len(named) == 0 || slices.Contains(named, n) {
			return n, nil
		}
	}
	return "", spec.Issue{Field: "workload.dataset.format",
		Message: fmt.Sprintf("neither the extension nor the content (%s) tells the format", excerpt(head)),
		Hint:    "name it: workload.dataset.format: " + strings.Join(Formats(), ", ")}
}

// Len is the number of rows.
func (d *File) Len() int64 { return d.info.Rows }

// Info describes the file as it was when it was opened.
func (d *File) Info() Info { return d.info }

// Bad is how many rows Options.Lax left out, and what was wrong with the first.
func (d *File) Bad() (n int64, first error) { return d.bad, d.first }

// Close closes the file.
func (d *File) Close() error {
	err := d.f.Close()
	if d.temp != "" {
		err = errors.Join(err, os.Remove(d.temp))
		d.temp = ""
	}
	return err
}

// Row reads row i (0 ≤ i < Len) from the file. A row whose bytes are no longer
// those that Open saw is an error: the run would send something other than what
// its dataset hash says.
func (d *File) Row(i int64) (Row, error) {
	if i < 0 || i >= d.info.Rows {
		return Row{}, fmt.Errorf("%s: there is no row %d among %d (0 is the first)", d.info.Path, i, d.info.Rows)
	}
	at := d.index.row(i)
	b := make([]byte, at.end-at.offset)
	n, err := d.f.ReadAt(b, at.offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return Row{}, d.row(i, at, nil).Issue("", "the row cannot be read: %v", err)
	}
	return d.checked(i, at, b[:n])
}

// Each calls f with every row in order, until it returns an error. The row's
// bytes are valid during the call only.
func (d *File) Each(f func(Row) error) error {
	window := make([]byte, 0, 1<<18)
	var from int64 // offset of the window
	var told int64
	for i := range d.info.Rows {
		at := d.index.row(i)
		if d.o.Watch != nil && at.offset >= told {
			d.o.Watch(Checking, at.offset, d.size)
			told = at.offset + watchEvery
		}
		if at.end > from+int64(len(window)) {
			size := int(max(at.end-at.offset, 1<<18))
			if cap(window) < size {
				window = make([]byte, size)
			}
			n, err := d.f.ReadAt(window[:size], at.offset)
			if err != nil && !errors.Is(err, io.EOF) {
				return d.row(i, at, nil).Issue("", "the row cannot be read: %v", err)
			}
			window, from = window[:n], at.offset
		}
		b := window[min(at.offset-from, int64(len(window))):min(at.end-from, int64(len(window)))]
		r, err := d.checked(i, at, b)
		if err != nil {
			return err
		}
		if err := f(r); err != nil {
			return err
		}
	}
	if d.o.Watch != nil {
		d.o.Watch(Checking, d.size, d.size)
	}
	return nil
}

func (d *File) row(i int64, at span, raw []byte) Row {
	return Row{Path: d.info.Path, Index: i, Line: at.line, Offset: at.offset, Raw: raw}
}

// checked makes a row of the bytes from its offset on, if they are the same.
func (d *File) checked(i int64, at span, b []byte) (Row, error) {
	r := d.row(i, at, d.layout.trim(b))
	if d.hash(r.Raw) != at.hash {
		return Row{}, r.Issue("leave the file alone while a run goes on; start the run again", "the row is not what it was when the file was opened")
	}
	var err error
	if r.Fields, err = d.layout.fields(r.Raw); err != nil {
		return Row{}, r.Issue("", "%v", err)
	}
	return r, nil
}

// hash tells an edited row from the one that Open saw. Its seed is of this
// process alone.
func (d *File) hash(raw []byte) uint32 { return uint32(maphash.Bytes(d.seed, raw)) & hashMask }

// excerpt is the beginning of b, quoted.
func excerpt(b []byte) string {
	const most = 40
	if n := most; len(b) > n {
		for n > most-4 && !utf8.RuneStart(b[n]) {
			n--
		}
		return fmt.Sprintf("%q…", b[:n])
	}
	return fmt.Sprintf("%q", b)
}
