package analysis

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"tokentape/tape"
)

// writeTape writes the script through the real codec.
func writeTape(t *testing.T, s *script, name string, compress bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	w, err := tape.Create(path, compress)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range s.records() {
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// D01: a tape on disk, compressed or not, gives the numbers of its records, and half of
// one gives an incomplete run.
func TestAnalyseFile(t *testing.T) {
	want := rich().analyse(t, Options{})
	for name, compress := range map[string]bool{"tape.jsonl": false, "tape.jsonl.zst": true} {
		path := writeTape(t, rich(), name, compress)
		got, err := AnalyseFile(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.TapeSHA256) != 64 {
			t.Errorf("%s: hash %q", name, got.TapeSHA256)
		}
		got.TapeSHA256 = want.TapeSHA256
		if a, b := encode(t, got), encode(t, want); !bytes.Equal(a, b) {
			t.Errorf("%s: %d bytes of results differ from those of the records", name, len(a))
		}
	}
	path := writeTape(t, rich(), "torn.jsonl", false)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b[:len(b)*2/3], 0o644); err != nil {
		t.Fatal(err)
	}
	res, err := AnalyseFile(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if res.About.Stop != "incomplete" || len(res.About.Faults) != 1 || res.Verdict.Fit || res.Counts.OK == 0 {
		t.Errorf("torn: %q, faults %v, %s", res.About.Stop, res.About.Faults, res.Verdict.Line)
	}
	if _, err := AnalyseFile(filepath.Join(t.TempDir(), "nowhere"), Options{}); err == nil {
		t.Error("a file that is not there")
	}
}
