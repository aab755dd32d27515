package aisbench

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// table writes an SQLite 3 file with the one table that AISBench keeps its time
// points in, rows in order of their ids. It is the counterpart of the reader in
// package importer/aisbench, by the same account of the format
// (sqlite.org/fileformat2.html): pages go out in the order in which they become
// full, and the first one, which says where the others are, last. Memory: 12 bytes
// a leaf page.
type table struct {
	out   *bufio.Writer
	file  io.WriterAt
	pages uint32 // handed out so far
	ids   int64  // the last row
	leaf  page
	full  []child // the finished leaves
	err   error
}

// The pages that are known beforehand: the schema, and the table in which SQLite
// keeps the last id of tables with AUTOINCREMENT.
const (
	pageSize     = 4096
	sequencePage = 2
	firstPage    = 3
	leafKind     = 0x0d
	innerKind    = 0x05
	// lockPage holds the byte at 1 GiB, which SQLite locks and never stores at.
	lockPage = 1<<30/pageSize + 1
)

// child is a page of a tree with the greatest row id in it.
type child struct {
	page uint32
	most int64
}

// page is one page of a tree in the making: cells grow from its end towards the
// array of their offsets.
type page struct {
	b     [pageSize]byte
	head  int // where its head begins: 100 on the first page
	cells int
	end   int // where the cells begin
}

func (p *page) reset(head int, kind byte) {
	*p = page{head: head, end: pageSize}
	p.b[head] = kind
	binary.BigEndian.PutUint16(p.b[head+5:], pageSize)
}

// array is where the offsets of cells begin.
func (p *page) array() int {
	if p.b[p.head] == innerKind {
		return p.head + 12
	}
	return p.head + 8
}

// add puts a cell on the page; false when there is no room.
func (p *page) add(cell []byte) bool {
	at := p.array() + 2*p.cells
	if p.end-len(cell) < at+2 {
		return false
	}
	p.end -= len(cell)
	copy(p.b[p.end:], cell)
	binary.BigEndian.PutUint16(p.b[at:], uint16(p.end))
	p.cells++
	binary.BigEndian.PutUint16(p.b[p.head+3:], uint16(p.cells))
	binary.BigEndian.PutUint16(p.b[p.head+5:], uint16(p.end))
	return true
}

// newTable begins the file, which must be empty.
func newTable(f interface {
	io.Writer
	io.WriterAt
}) *table {
	t := &table{out: bufio.NewWriterSize(f, 1<<20), file: f, pages: firstPage - 1}
	t.leaf.reset(0, leafKind)
	t.put(make([]byte, (firstPage-1)*pageSize))
	return t
}

func (t *table) put(b []byte) {
	if t.err == nil {
		_, t.err = t.out.Write(b)
	}
}

// next hands out the number of the page that is put next.
func (t *table) next() uint32 {
	t.pages++
	if t.pages == lockPage {
		t.put(make([]byte, pageSize))
		t.pages++
	}
	return t.pages
}

// insert appends a row with the blob and returns its id. Errors: those of writing.
func (t *table) insert(blob []byte) (id int64, err error) {
	t.ids++
	// The record: its head (size, NULL for the id, which is the row's own, blob),
	// then the blob. Kinds of blobs are 12 + twice their length.
	kind := appendVarint(nil, uint64(12+2*len(blob)))
	record := append([]byte{byte(2 + len(kind)), 0}, kind...)
	size := len(record) + len(blob)
	cell := appendVarint(nil, uint64(size))
	cell = appendVarint(cell, uint64(t.ids))
	cell = append(cell, record...)
	// What stays on the page is the format's own formula.
	const most = pageSize - 35
	local := size
	if size > most {
		const least = (pageSize-12)*32/255 - 23
		if local = least + (size-least)%(pageSize-4); local > most {
			local = least
		}
	}
	stay := local - len(record)
	cell = append(cell, blob[:stay]...)
	if local < size {
		cell = binary.BigEndian.AppendUint32(cell, t.overflow(blob[stay:]))
	}
	if !t.leaf.add(cell) {
		t.flush()
		if !t.leaf.add(cell) {
			return 0, errors.New("a cell that fits no page") // the formula leaves room for four
		}
	}
	return t.ids, t.err
}

// overflow puts what does not stay with the row on pages of its own, each with the
// number of the next, and returns the first one's.
func (t *table) overflow(rest []byte) uint32 {
	var first uint32
	no := t.next()
	for {
		if first == 0 {
			first = no
		}
		var b [pageSize]byte
		n := copy(b[4:], rest)
		rest = rest[n:]
		if len(rest) == 0 {
			t.put(b[:])
			return first
		}
		following := no + 1
		if following == lockPage {
			following++
		}
		binary.BigEndian.PutUint32(b[:], following)
		t.put(b[:])
		no = t.next()
	}
}

// flush puts the leaf and begins another. Its last row is the one before the row
// that found no room.
func (t *table) flush() {
	t.full = append(t.full, child{t.next(), t.ids - 1})
	t.put(t.leaf.b[:])
	t.leaf.reset(0, leafKind)
}

// close puts what is left: the last leaf, the tree above the leaves, and the head.
func (t *table) close() error {
	t.ids++
	t.flush()
	t.ids--
	level := t.full
	for len(level) > 1 {
		level = t.above(level)
	}
	if t.err == nil {
		t.err = t.out.Flush()
	}
	if t.err != nil {
		return t.err
	}
	return t.head(level[0].page)
}

// fanOut is how many children an inner page gets: their cells, of at most fifteen
// bytes with their offsets, always fit.
const fanOut = 256

// above puts the inner pages over a level, filled alike so that none has fewer than
// two children, and returns them.
func (t *table) above(level []child) (up []child) {
	n := (len(level) + fanOut - 1) / fanOut
	for i := range n {
		part := level[i*len(level)/n : (i+1)*len(level)/n]
		var p page
		p.reset(0, innerKind)
		for _, c := range part[:len(part)-1] {
			p.add(appendVarint(binary.BigEndian.AppendUint32(nil, c.page), uint64(c.most)))
		}
		last := part[len(part)-1]
		binary.BigEndian.PutUint32(p.b[8:], last.page)
		up = append(up, child{t.next(), last.most})
		t.put(p.b[:])
	}
	return up
}

// head writes the first two pages.
func (t *table) head(root uint32) error {
	var p page
	p.reset(0, leafKind)
	if t.ids > 0 {
		p.add(rowCell(1, "numpy_store", t.ids))
	}
	if _, err := t.file.WriteAt(p.b[:], pageSize*(sequencePage-1)); err != nil {
		return err
	}
	p.reset(100, leafKind)
	for i, s := range []struct {
		name, sql string
		root      uint32
	}{
		{"numpy_store", "CREATE TABLE numpy_store (id INTEGER PRIMARY KEY AUTOINCREMENT, arr_blob BLOB NOT NULL)", root},
		{"sqlite_sequence", "CREATE TABLE sqlite_sequence(name,seq)", sequencePage},
	} {
		p.add(rowCell(int64(i+1), "table", s.name, s.name, int64(s.root), s.sql))
	}
	h := p.b[:]
	copy(h, "SQLite format 3\x00")
	binary.BigEndian.PutUint16(h[16:], pageSize)
	h[18], h[19] = 1, 1                   // rollback journal
	h[21], h[22], h[23] = 64, 32, 32      // payload fractions: fixed by the format
	binary.BigEndian.PutUint32(h[24:], 1) // change counter
	binary.BigEndian.PutUint32(h[28:], t.pages)
	binary.BigEndian.PutUint32(h[40:], 1) // schema cookie
	binary.BigEndian.PutUint32(h[44:], 4) // schema format
	binary.BigEndian.PutUint32(h[56:], 1) // UTF-8
	binary.BigEndian.PutUint32(h[92:], 1) // the change for which the version below is valid
	binary.BigEndian.PutUint32(h[96:], 3040000)
	_, err := t.file.WriteAt(h, 0)
	return err
}

// rowCell is a cell of a leaf whose record holds texts and integers.
func rowCell(id int64, values ...any) []byte {
	var kinds, body []byte
	for _, v := range values {
		switch v := v.(type) {
		case string:
			kinds = appendVarint(kinds, uint64(13+2*len(v)))
			body = append(body, v...)
		case int64:
			kinds = append(kinds, 6) // eight bytes
			body = binary.BigEndian.AppendUint64(body, uint64(v))
		default:
			panic(fmt.Sprintf("a column of %T", v))
		}
	}
	record := append([]byte{byte(len(kinds) + 1)}, kinds...) // the heads written here are short
	record = append(record, body...)
	cell := appendVarint(nil, uint64(len(record)))
	return append(appendVarint(cell, uint64(id)), record...)
}

// appendVarint appends the format's integer: seven bits a byte, most significant
// first. Nine bytes are never needed here.
func appendVarint(b []byte, v uint64) []byte {
	n := 1
	for x := v >> 7; x > 0; x >>= 7 {
		n++
	}
	for i := n - 1; i >= 0; i-- {
		c := byte(v>>(7*i)) & 0x7f
		if i > 0 {
			c |= 0x80
		}
		b = append(b, c)
	}
	return b
}
