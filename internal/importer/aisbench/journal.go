package aisbench

import (
	"encoding/binary"
	"errors"
	"io"
	"os"

	"tokentape/internal/importer/aisbench/pyconf"
)

// rollback is what the journal beside a database says of a transaction that never
// ended: the pages as they were before it, which count in place of those in the
// file. Reading them so is what SQLite does when it opens the file next, but for
// writing them back. A writer that was killed leaves such a journal nearly always.
type rollback struct {
	file  *os.File
	at    map[int64]int64 // page: where its content begins in the journal
	pages int64           // of the database before the transaction
}

const journalMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"

// openRollback reads the journal of the database at path; nil when there is none, or
// one of a transaction that ended or wrote nothing yet.
func openRollback(path string) (*rollback, error) {
	f, err := pyconf.Open(path + "-journal")
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &rollback{file: f, at: map[int64]int64{}}
	if err := r.read(); err != nil || r.pages == 0 {
		f.Close()
		return nil, err
	}
	return r, nil
}

// read finds the pages: segments, each a head, padded to a sector, and its records.
// What comes after the last sound record was never synced, and the database is as
// before there.
func (r *rollback) read() error {
	st, err := r.file.Stat()
	if err != nil {
		return err
	}
	head := make([]byte, 28)
	for at := int64(0); at+int64(len(head)) <= st.Size(); {
		if _, err := r.file.ReadAt(head, at); err != nil {
			return err
		}
		word := func(i int) int64 { return int64(binary.BigEndian.Uint32(head[i:])) }
		records, nonce, sector, page := word(8), uint32(word(12)), word(20), word(24)
		if string(head[:8]) != journalMagic || sector < 28 || sector > 1<<16 || page < 512 || page > 1<<16 {
			return nil
		}
		if at == 0 && records > 0 {
			r.pages = word(16)
		}
		if records == 0xffffffff { // not counted: all that there are
			records = (st.Size() - at - sector) / (page + 8)
		}
		at += sector
		b := make([]byte, page+8)
		for range records {
			if _, err := r.file.ReadAt(b, at); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			no, sum := int64(binary.BigEndian.Uint32(b)), nonce
			for i := page - 200; i > 0; i -= 200 {
				sum += uint32(b[4+i])
			}
			if sum != binary.BigEndian.Uint32(b[4+page:]) {
				return nil
			}
			if _, known := r.at[no]; !known { // the first is the oldest
				r.at[no] = at + 4
			}
			at += page + 8
		}
		at = (at + sector - 1) / sector * sector
	}
	return nil
}
