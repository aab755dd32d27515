package as_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tokentape/internal/analysis/as"
	"tokentape/internal/importer/aisbench"
	"tokentape/tape"
)

const vectors = "../../importer/aisbench/testdata/vectors"

// imported is a vector as a run, by way of a tape.
func imported(t *testing.T, name string) *as.Run {
	t.Helper()
	var b bytes.Buffer
	w := tape.NewWriter(&b, true)
	if _, err := aisbench.Write(w, filepath.Join(vectors, name), aisbench.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return load(t, &b)
}

func load(t *testing.T, b *bytes.Buffer) *as.Run {
	t.Helper()
	r, err := as.Load(tape.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func section(t *testing.T, table *as.Table, title string) as.Section {
	t.Helper()
	for _, s := range table.Sections {
		if s.Title == title {
			return s
		}
	}
	t.Fatalf("no section %q", title)
	return as.Section{}
}

// Every cell that AISBench's own calculators (29c363e) printed for these runs comes
// out to its last digit: 772 of six runs.
func TestAISBenchVectors(t *testing.T) {
	dirs, err := os.ReadDir(vectors)
	if err != nil {
		t.Fatal(err)
	}
	cells := 0
	for _, d := range dirs {
		t.Run(d.Name(), func(t *testing.T) {
			table, err := as.Make("aisbench", imported(t, d.Name()))
			if err != nil {
				t.Fatal(err)
			}
			for _, stage := range []string{"total", "stable"} {
				dir := filepath.Join(vectors, d.Name(), "expected_"+stage)
				f, err := os.Open(filepath.Join(dir, "demo.csv"))
				if os.IsNotExist(err) {
					s := section(t, table, stage)
					if len(s.Rows) != 1 || !strings.HasPrefix(s.Rows[0][0], "CALC-DATA-002: no stable stage") {
						t.Errorf("AISBench ended with CALC-DATA-002, here: %q", s.Rows)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				want, err := csv.NewReader(f).ReadAll()
				if err != nil {
					t.Fatal(err)
				}
				s := section(t, table, stage+": per request")
				cells += same(t, want, append([][]string{s.Columns}, s.Rows...))
				cells += same(t, common(t, filepath.Join(dir, "demo.json"), stage), section(t, table, stage+": common").Rows)
			}
		})
	}
	if cells != 772 {
		t.Errorf("%d cells were held side by side, want 772", cells)
	}
}

// same compares cell by cell and counts the cells that hold a number: a table's
// head and its columns of names do not count.
func same(t *testing.T, want, got [][]string) (cells int) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d: %q", len(got), len(want), got)
	}
	for i, row := range want {
		if len(got[i]) != len(row) {
			t.Fatalf("row %d: %q, want %q", i, got[i], row)
		}
		for k, cell := range row {
			if got[i][k] != cell {
				t.Errorf("%s, column %d: %q, want %q", row[0], k, got[i][k], cell)
			}
			if row[0] != "Performance Parameters" && k >= 2 {
				cells++
			}
		}
	}
	return cells
}

// common is AISBench's json as rows, its values as they stand there.
func common(t *testing.T, path, stage string) (rows [][]string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	token := func() any {
		v, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	token()
	for d.More() {
		name := token().(string)
		token()
		if got := token(); got != stage {
			t.Fatalf("%s: stage %v", name, got)
		}
		var value string
		switch v := token().(type) {
		case string:
			value = v
		case json.Number:
			value = v.String()
		}
		token()
		rows = append(rows, []string{name, stage, value})
	}
	return rows
}
