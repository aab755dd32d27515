package aisbench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"tokentape/internal/importer/aisbench/pyconf"
)

// database reads one table of an SQLite 3 file, by row id and nothing else: no
// SQL, no index, no writing. The format is that of sqlite.org/fileformat2.html,
// which its authors promise to keep. A whole SQLite in Go would add 7 MB to the
// binary and 40 s of processor time to a cold build, for the one table of two
// columns that AISBench keeps.
type database struct {
	file   io.ReaderAt
	page   int64 // bytes of a page
	usable int64 // of these, without the reserved end
	pages  int64 // in the file
	root   int64 // of the table
	last   *node // the leaf read last: rows come nearly in order
	before *rollback
}

// Close closes the file, and the journal beside it.
func (d *database) Close() error {
	err := d.file.(io.Closer).Close()
	if d.before != nil {
		err = errors.Join(err, d.before.file.Close())
	}
	return err
}

// openDatabase opens the file at path and finds the table by name. Errors say what
// is wrong with the file.
func openDatabase(path, table string) (*database, io.Closer, error) {
	f, err := pyconf.Open(path)
	if err != nil {
		return nil, nil, err
	}
	var before *rollback
	d, err := func() (*database, error) {
		if st, err := os.Stat(path + "-wal"); err == nil && st.Size() > 0 {
			return nil, fmt.Errorf("beside it lies %s, of a process that writes to it or was killed; when none does any more, let SQLite put both in order: sqlite3 %s .tables", path+"-wal", path)
		}
		if before, err = openRollback(path); err != nil {
			return nil, err
		}
		st, err := f.Stat()
		if err != nil {
			return nil, err
		}
		return newDatabase(f, st.Size(), table, before)
	}()
	if err != nil {
		f.Close()
		if before != nil {
			before.file.Close()
		}
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, d, nil
}

func newDatabase(file io.ReaderAt, size int64, table string, before *rollback) (*database, error) {
	d := &database{file: file, before: before}
	head := make([]byte, 100)
	var n int
	if before != nil && before.at[1] > 0 {
		n, _ = before.file.ReadAt(head, before.at[1])
	} else {
		n, _ = file.ReadAt(head, 0)
	}
	if n < len(head) || string(head[:16]) != "SQLite format 3\x00" {
		return nil, fmt.Errorf("not an SQLite 3 database: it begins with %.40q", head[:n])
	}
	if d.page = int64(binary.BigEndian.Uint16(head[16:])); d.page == 1 {
		d.page = 65536
	}
	if d.page < 512 || d.page&(d.page-1) != 0 {
		return nil, fmt.Errorf("a page size of %d bytes; powers of two from 512 on are possible", d.page)
	}
	if d.usable = d.page - int64(head[20]); d.usable < 480 {
		return nil, fmt.Errorf("%d of %d bytes of a page are reserved; at least 480 must be left", head[20], d.page)
	}
	if enc := binary.BigEndian.Uint32(head[56:]); enc > 1 {
		return nil, errors.New("its texts are UTF-16; AISBench writes UTF-8")
	}
	d.pages = size / d.page
	if before != nil {
		d.pages = min(d.pages, before.pages)
	}
	if said := int64(binary.BigEndian.Uint32(head[28:])); said > d.pages {
		return nil, fmt.Errorf("torn: its head tells of %d pages of %d bytes, the file holds %d", said, d.page, d.pages)
	}
	return d, d.find(table)
}

// find looks the table up in the schema, which is the table whose root is page 1.
func (d *database) find(table string) error {
	d.root = 1
	root := int64(0)
	var names []string
	err := d.each(func(_ int64, record []byte) error {
		v, err := columns(record)
		if err != nil {
			return err
		}
		if len(v) < 4 {
			return fmt.Errorf("%d columns", len(v))
		}
		if string(v[0].bytes) == "table" {
			names = append(names, string(v[1].bytes))
			if string(v[1].bytes) == table {
				root = v[3].int
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("its schema: %w", err)
	}
	if root < 1 {
		return fmt.Errorf("no table %s; it has: %s", table, strings.Join(names, ", "))
	}
	d.root, d.last = root, nil
	return nil
}

// leaves calls f with every leaf of the table, in order of row ids.
func (d *database) leaves(f func(p *node) error) error {
	visits := int64(0)
	var walk func(no int64) error
	walk = func(no int64) error {
		if visits++; visits > d.pages {
			return fmt.Errorf("%w (its tree goes in circles)", errPage)
		}
		p, err := d.node(no)
		if err != nil {
			return err
		}
		if p.leaf {
			return f(p)
		}
		for i := range p.cells {
			child, _, err := p.child(i)
			if err == nil {
				err = walk(child)
			}
			if err != nil {
				return err
			}
		}
		return walk(p.right)
	}
	return walk(d.root)
}

// each calls f with every row of the table, in order of row ids.
func (d *database) each(f func(id int64, record []byte) error) error {
	left := d.pages * d.page // no byte of the file belongs to two rows
	return d.leaves(func(p *node) error {
		for i := range p.cells {
			id, record, err := d.row(p, i)
			if left -= int64(len(record)); left < 0 {
				err = p.bad()
			}
			if err == nil {
				err = f(id, record)
			}
			if err != nil {
				return fmt.Errorf("row %d: %w", id, err)
			}
		}
		return nil
	})
}

// count is the number of rows.
func (d *database) count() (n int64, err error) {
	err = d.leaves(func(p *node) error {
		n += int64(len(p.cells))
		return nil
	})
	return n, err
}

// maxDepth bounds a tree: each level holds at least twice the rows of the one above.
const maxDepth = 40

// get is the record of row id; ok is false when there is no such row.
func (d *database) get(id int64) (record []byte, ok bool, err error) {
	if d.last != nil {
		if record, ok, err = d.search(d.last, id); ok || err != nil {
			return record, ok, err
		}
	}
	no := d.root
	for range maxDepth {
		p, err := d.node(no)
		if err != nil {
			return nil, false, err
		}
		if p.leaf {
			d.last = p
			return d.search(p, id)
		}
		no = p.right
		for i := range p.cells {
			child, most, err := p.child(i)
			if err != nil {
				return nil, false, err
			}
			if id <= most {
				no = child
				break
			}
		}
	}
	return nil, false, fmt.Errorf("%w (its tree is deeper than %d)", errPage, maxDepth)
}

func (d *database) search(p *node, id int64) (record []byte, ok bool, err error) {
	for i := range p.cells {
		if _, found, _, err := p.entry(i); err != nil {
			return nil, false, err
		} else if found != id {
			continue
		}
		_, record, err := d.row(p, i)
		return record, err == nil, err
	}
	return nil, false, nil
}

// node is one page of a table's tree.
type node struct {
	no    int64
	b     []byte
	leaf  bool
	cells []uint16 // where they begin
	right int64    // of an inner page: the last child
}

var errPage = errors.New("damaged: a page of the table makes no sense")

func (d *database) read(no int64) ([]byte, error) {
	if no < 1 || no > d.pages {
		return nil, fmt.Errorf("%w (page %d of %d)", errPage, no, d.pages)
	}
	b := make([]byte, d.page)
	from, at := d.file, (no-1)*d.page
	if d.before != nil && d.before.at[no] > 0 {
		from, at = d.before.file, d.before.at[no]
	}
	if _, err := from.ReadAt(b, at); err != nil {
		return nil, err
	}
	return b[:d.usable], nil
}

func (d *database) node(no int64) (*node, error) {
	b, err := d.read(no)
	if err != nil {
		return nil, err
	}
	p := &node{no: no, b: b}
	head := b
	if no == 1 {
		head = b[100:] // the head of the file
	}
	array := head[8:]
	switch head[0] {
	case 0x0d:
		p.leaf = true
	case 0x05:
		p.right = int64(binary.BigEndian.Uint32(head[8:]))
		array = head[12:]
	default:
		return nil, fmt.Errorf("%w (page %d is of kind %d)", errPage, no, head[0])
	}
	n := int(binary.BigEndian.Uint16(head[3:]))
	if 2*n > len(array) {
		return nil, fmt.Errorf("%w (page %d: %d cells)", errPage, no, n)
	}
	p.cells = make([]uint16, n)
	for i := range p.cells {
		p.cells[i] = binary.BigEndian.Uint16(array[2*i:])
	}
	return p, nil
}

func (p *node) bad() error { return fmt.Errorf("%w (page %d)", errPage, p.no) }

// cell is what lies from the start of a cell to the end of the page.
func (p *node) cell(i int) ([]byte, error) {
	if int(p.cells[i]) >= len(p.b) {
		return nil, p.bad()
	}
	return p.b[p.cells[i]:], nil
}

// child is a cell of an inner page: a page, and the greatest row id in it.
func (p *node) child(i int) (no, most int64, err error) {
	c, err := p.cell(i)
	if err != nil || len(c) < 4 {
		return 0, 0, p.bad()
	}
	most, n := varint(c[4:])
	if n == 0 {
		return 0, 0, p.bad()
	}
	return int64(binary.BigEndian.Uint32(c)), most, nil
}

// entry is a cell of a leaf: the size of its record, the row id, and the bytes
// from the record on.
func (p *node) entry(i int) (size, id int64, rest []byte, err error) {
	c, err := p.cell(i)
	if err != nil {
		return 0, 0, nil, err
	}
	size, n := varint(c)
	id, m := varint(c[n:])
	if n == 0 || m == 0 {
		return 0, 0, nil, p.bad()
	}
	return size, id, c[n+m:], nil
}

// row is the record of a cell of a leaf, put together from its overflow pages.
func (d *database) row(p *node, i int) (id int64, record []byte, err error) {
	size, id, rest, err := p.entry(i)
	if err != nil {
		return id, nil, err
	}
	if size < 0 || size > d.pages*d.page {
		return id, nil, p.bad()
	}
	// How much of a record stays on its page is the format's own formula.
	local := size
	if most := d.usable - 35; size > most {
		least := (d.usable-12)*32/255 - 23
		if local = least + (size-least)%(d.usable-4); local > most {
			local = least
		}
	}
	if local == size {
		if local > int64(len(rest)) {
			return id, nil, p.bad()
		}
		return id, rest[:local], nil
	}
	if local+4 > int64(len(rest)) {
		return id, nil, p.bad()
	}
	record = append(make([]byte, 0, size), rest[:local]...)
	next := int64(binary.BigEndian.Uint32(rest[local:]))
	for int64(len(record)) < size {
		b, err := d.read(next)
		if err != nil {
			return id, nil, err
		}
		record = append(record, b[4:4+min(int64(len(b)-4), size-int64(len(record)))]...)
		next = int64(binary.BigEndian.Uint32(b))
	}
	return id, record, nil
}

// varint is the format's integer: seven bits a byte, most significant first, the
// ninth byte whole. n is 0 where b ends early.
func varint(b []byte) (v int64, n int) {
	var u uint64
	for i := range min(len(b), 9) {
		if i == 8 {
			return int64(u<<8 | uint64(b[i])), 9
		}
		u = u<<7 | uint64(b[i]&0x7f)
		if b[i] < 0x80 {
			return int64(u), i + 1
		}
	}
	return 0, 0
}

// column is a value of a record: an integer, or the bytes of a text or blob.
type column struct {
	int   int64
	bytes []byte
	blob  bool
}

var errRecord = errors.New("damaged: its record makes no sense")

// columns takes a record apart. Fractions are passed over: no column that is read
// holds any.
func columns(record []byte) ([]column, error) {
	size, n := varint(record)
	if n == 0 || size < int64(n) || size > int64(len(record)) {
		return nil, errRecord
	}
	kinds, body := record[n:size], record[size:]
	var v []column
	for len(kinds) > 0 {
		kind, n := varint(kinds)
		if n == 0 || kind < 0 {
			return nil, errRecord
		}
		kinds = kinds[n:]
		var c column
		width := int64(0)
		switch {
		case kind <= 4:
			width = kind
		case kind == 5:
			width = 6
		case kind == 6, kind == 7:
			width = 8
		case kind == 9:
			c.int = 1
		case kind >= 12:
			width = (kind - 12) / 2
		}
		if width > int64(len(body)) {
			return nil, errRecord
		}
		part := body[:width]
		body = body[width:]
		switch {
		case kind >= 12:
			c.bytes, c.blob = part, kind%2 == 0
		case kind != 7 && width > 0:
			c.int = int64(int8(part[0]))
			for _, b := range part[1:] {
				c.int = c.int<<8 | int64(b)
			}
		}
		v = append(v, c)
	}
	return v, nil
}
