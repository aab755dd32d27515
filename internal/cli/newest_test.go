package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The folder of a repeat points to its runs, whatever is left of its time.
func TestFolderOfRepeatPointsToItsRuns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "2026-11-30T040000Z")
	for _, run := range []string{"a/1", "a/2", "b/1", "b/2"} {
		at := filepath.Join(dir, run)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, tapeName(true)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(dir string) {
		t.Helper()
		_, err := findTape(dir)
		var said string
		if e, ok := err.(*exitError); ok {
			said = e.msg + " " + strings.Join(e.hints, " ")
		}
		if !strings.Contains(said, "holds 4 runs") || !strings.Contains(said, filepath.Join(dir, "a", "1")) || !strings.Contains(said, "tokentape compare "+dir) {
			t.Errorf("%q", said)
		}
	}
	check(dir)
	moved := filepath.Join(filepath.Dir(dir), "kept")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	check(moved)
}
