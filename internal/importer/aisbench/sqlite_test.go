package aisbench

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// testdata/deep.db was written by SQLite 3.40: pages of 512 bytes, so that the
// table has three levels and its rows overflow; row i of 1 to 300 holds
// (37·i mod 101) values 1000 + i + k/1024, and rows 50 to 59 were deleted.
func deep(t testing.TB) (*database, []byte) {
	b, err := os.ReadFile("testdata/deep.db")
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDatabase(bytes.NewReader(b), int64(len(b)), "numpy_store", nil)
	if err != nil {
		t.Fatal(err)
	}
	return d, b
}

func TestDeepDatabase(t *testing.T) {
	d, _ := deep(t)
	if n, err := d.count(); n != 290 || err != nil {
		t.Errorf("%d rows, %v; want 290", n, err)
	}
	ids := []int64{0, 1, 300, 301, 2, 49, 50, 59, 60, 150, 149, 1 << 40, -1}
	for id := int64(1); id <= 300; id++ {
		ids = append(ids, id)
	}
	for _, id := range ids {
		got, err := timePoints(d, id)
		if err != nil {
			t.Fatalf("row %d: %v", id, err)
		}
		if id < 1 || id > 300 || id >= 50 && id < 60 {
			if got != nil {
				t.Errorf("row %d does not exist, and is %v", id, got)
			}
			continue
		}
		want := make([]float64, id*37%101)
		for k := range want {
			want[k] = 1000 + float64(id) + float64(k)/1024
		}
		if !slices.Equal(got, want) {
			t.Errorf("row %d: %v, want %v", id, got, want)
		}
	}
	var last, n int64
	err := d.each(func(id int64, record []byte) error {
		if id <= last {
			t.Errorf("row %d after %d", id, last)
		}
		last = id
		n++
		return nil
	})
	if err != nil || n != 290 {
		t.Errorf("%d rows in order, %v", n, err)
	}
}

func TestBadDatabase(t *testing.T) {
	_, whole := deep(t)
	broken := func(f func(b []byte) []byte) []byte { return f(slices.Clone(whole)) }
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"empty":       {nil, "not an SQLite 3 database"},
		"other":       {bytes.Repeat([]byte("PK\x03\x04"), 50), "not an SQLite 3 database: it begins with \"PK"},
		"torn":        {whole[:len(whole)-1], "torn: its head tells of"},
		"page size":   {broken(func(b []byte) []byte { b[16], b[17] = 3, 1; return b }), "a page size of 769"},
		"reserved":    {broken(func(b []byte) []byte { b[20] = 200; return b }), "200 of 512 bytes"},
		"UTF-16":      {broken(func(b []byte) []byte { binary.BigEndian.PutUint32(b[56:], 2); return b }), "UTF-16"},
		"other page":  {broken(func(b []byte) []byte { b[100] = 10; return b }), "page 1 is of kind 10"},
		"wrong table": {whole, "no table nothing; it has: other, numpy_store"},
	} {
		table := "numpy_store"
		if name == "wrong table" {
			table = "nothing"
		}
		_, err := newDatabase(bytes.NewReader(c.b), int64(len(c.b)), table, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A tree that goes in circles ends.
func TestCircularDatabase(t *testing.T) {
	d, b := deep(t)
	b = slices.Clone(b)
	root := b[(d.root-1)*512:]
	if root[0] != 0x05 {
		t.Fatal("the root is a leaf")
	}
	binary.BigEndian.PutUint32(root[8:], uint32(d.root))
	d, err := newDatabase(bytes.NewReader(b), int64(len(b)), "numpy_store", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.count(); err == nil {
		t.Error("counted")
	}
	if _, err := timePoints(d, 1<<40); err == nil {
		t.Error("found the end")
	}
}

func FuzzDatabase(f *testing.F) {
	_, b := deep(f)
	f.Add(b[:512], b[512*4:512*12], int64(3)) // a fuzzer does better with little to change
	f.Add(b, []byte{}, int64(7))
	f.Fuzz(func(t *testing.T, head, rest []byte, id int64) {
		b := append(slices.Clone(head), rest...)
		d, err := newDatabase(bytes.NewReader(b), int64(len(b)), "numpy_store", nil)
		if err != nil {
			return
		}
		n, err := d.count()
		if err == nil && n > int64(len(b)) {
			t.Fatalf("%d rows in %d bytes", n, len(b))
		}
		timePoints(d, id)
		d.each(func(id int64, record []byte) error {
			_, err := columns(record)
			return err
		})
	})
}

// A writer that was killed left a journal: what it had not committed is not there,
// and what it changed is as before.
func TestJournal(t *testing.T) {
	d, file, err := openDatabase("testdata/hot.db", "numpy_store")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if d.before == nil || len(d.before.at) < 10 {
		t.Fatalf("the journal gives %+v", d.before)
	}
	n := 0
	err = d.each(func(id int64, record []byte) error {
		n++
		v, err := columns(record)
		if err != nil {
			return err
		}
		if id != int64(n) || !bytes.Equal(v[1].bytes, make([]byte, 300)) {
			t.Errorf("row %d: %.20x", id, v[1].bytes)
		}
		return nil
	})
	if err != nil || n != 20 {
		t.Errorf("%d rows, %v; 20 were committed", n, err)
	}
	// Without the journal the file shows what was never committed.
	b, err := os.ReadFile("testdata/hot.db")
	if err != nil {
		t.Fatal(err)
	}
	bare := filepath.Join(t.TempDir(), "x.db")
	for _, side := range [][]byte{nil, []byte("x"), make([]byte, 600)} { // none, torn, ended
		if side != nil {
			if err := os.WriteFile(bare+"-journal", side, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(bare, b, 0o644); err != nil {
			t.Fatal(err)
		}
		d, file, err := openDatabase(bare, "numpy_store")
		if err != nil {
			continue // torn, which is as good
		}
		if d.before != nil {
			t.Errorf("a journal of %d bytes counts", len(side))
		}
		file.Close()
	}
}

// FuzzJournal: whatever lies beside a database, it is opened, or refused with a
// message, and read without a panic or an end.
func FuzzJournal(f *testing.F) {
	journal, err := os.ReadFile("testdata/hot.db-journal")
	if err != nil {
		f.Fatal(err)
	}
	db, err := os.ReadFile("testdata/hot.db")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(journal)
	f.Add(journal[:600])
	f.Add([]byte(journalMagic))
	f.Fuzz(func(t *testing.T, journal []byte) {
		path := filepath.Join(t.TempDir(), "x.db")
		if err := os.WriteFile(path, db, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+"-journal", journal, 0o644); err != nil {
			t.Fatal(err)
		}
		d, file, err := openDatabase(path, "numpy_store")
		if err != nil {
			return
		}
		defer file.Close()
		_ = d.each(func(int64, []byte) error { return nil })
		_, _, _ = d.get(7)
	})
}
