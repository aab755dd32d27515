package aisbench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// SQLite itself finds nothing wrong with the file and the blobs in it. The file is
// read back by package importer/aisbench in the tests of the layout.
func TestSQLiteOpensIt(t *testing.T) {
	sqlite, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("no sqlite3 here")
	}
	for _, c := range []struct{ rows, size int }{
		{0, 0}, {1, 0}, {1, 4000}, {3, 4061}, {3, 4062}, {40, 8128}, {9, 70000}, {70000, 20}, {3000, 3000},
	} {
		path := filepath.Join(t.TempDir(), "x.db")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		tab := newTable(f)
		for i := range c.rows {
			id, err := tab.insert(bytes.Repeat([]byte{byte(i)}, c.size))
			if err != nil || id != int64(i+1) {
				t.Fatal(id, err)
			}
		}
		if err := tab.close(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(sqlite, path, `pragma integrity_check; select count(*), coalesce(max(id),0), coalesce(sum(length(arr_blob)),0),
			coalesce(sum(hex(arr_blob) = replace(hex(zeroblob(length(arr_blob))), '00', printf('%02X', (id - 1) % 256))), 0) from numpy_store;
			insert into numpy_store (arr_blob) values (x'01'); select max(id) from numpy_store; pragma integrity_check;`).CombinedOutput()
		want := fmt.Sprintf("ok\n%d|%d|%d|%d\n%d\nok\n", c.rows, c.rows, c.rows*c.size, c.rows, c.rows+1)
		if err != nil || string(out) != want {
			t.Errorf("%d rows of %d bytes: %v, %s; want %s", c.rows, c.size, err, out, want)
		}
	}
}
