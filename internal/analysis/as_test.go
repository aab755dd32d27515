package analysis

import (
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"tokentape/internal/analysis/as"
)

// Other tools' tables come of the first pass alone, and asking for them takes
// nothing from a tape that is read twice.
func TestAsHearsOnePass(t *testing.T) {
	var l as.Loader
	if _, ok := listen(&file{}, &l).(Rereader); !ok {
		t.Error("a file cannot be read again any more")
	}
	if _, ok := listen(&records{}, &l).(Rereader); ok {
		t.Error("a stream can be read again all at once")
	}
	path := filepath.Join(t.TempDir(), "tape.jsonl")
	rapid.Check(t, func(rt *rapid.T) {
		s := lawful(rt)
		s.write(t, path, false)
		o := Options{Windows: []string{"whole"}, NoCI: true}
		plain, err := AnalyseFile(path, o)
		if err != nil {
			rt.Fatal(err)
		}
		o.As = AsTools()
		once, err := AnalyseFile(path, o)
		if err != nil {
			rt.Fatal(err)
		}
		o.kept = 1
		twice, err := AnalyseFile(path, o)
		if err != nil {
			rt.Fatal(err)
		}
		want := all(t, once)
		if got := all(t, twice); got != want {
			rt.Fatalf("two passes: other results\n%s", firstDifference(want, got))
		}
		if len(once.As) != len(o.As) {
			rt.Fatalf("%d tables of %d", len(once.As), len(o.As))
		}
		once.As = nil
		if got, want := all(t, once), all(t, plain); got != want {
			rt.Fatalf("--as changes our own results\n%s", firstDifference(want, got))
		}
	})
	for _, tools := range [][]string{{"wrk"}, {"vllm", "vllm"}} {
		if _, err := AnalyseFile(path, Options{As: tools}); err == nil {
			t.Errorf("%v: no error", tools)
		}
	}
}
