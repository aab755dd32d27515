package aisbench

import (
	"os"
	"testing"
)

// Databases opens the writer of a database for tests of other packages' readers.
func Databases(t testing.TB, path string) (insert func([]float64) int64, done func()) {
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	tab := newTable(f)
	var blob []byte
	return func(points []float64) int64 {
			blob = appendNPY(blob[:0], points)
			id, err := tab.insert(blob)
			if err != nil {
				t.Fatal(err)
			}
			return id
		}, func() {
			if err := tab.close(); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
}
