package telemetry

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tokentape/tape"
)

func TestWaits(t *testing.T) {
	var w Waits
	if got := w.Take(); got != nil {
		t.Errorf("nothing was read: %+v", got)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, ns := range []int64{3, 1000, 1000, 5_000_000} {
				w.Add(ns)
			}
		})
	}
	wg.Wait()
	want := &tape.ClientWait{Max: 5_000_000, Reads: [][2]int64{{3, 4}, {int64(tape.WaitBucket(1000)), 8}, {int64(tape.WaitBucket(5_000_000)), 4}}}
	if d := cmp.Diff(want, w.Take()); d != "" {
		t.Error(d)
	}
	if got := w.Take(); got != nil {
		t.Errorf("taken twice: %+v", got)
	}
}

func TestWaitsAsked(t *testing.T) {
	for stamps, want := range map[string]int64{"sample": 8, "all": 1, "off": 0, "": 0} {
		var w Waits
		waited, of := w.Asked(stamps)
		if of != want || (waited == nil) != (want == 0) {
			t.Errorf("%q: one connection in %d", stamps, of)
			continue
		}
		if waited != nil {
			waited(5)
			if got := w.Take(); got == nil || got.Max != 5 {
				t.Errorf("%q: gathered %+v", stamps, got)
			}
		}
	}
}

func TestRunDelay(t *testing.T) {
	root := t.TempDir()
	put := func(task, text string) {
		dir := filepath.Join(root, "proc/self/task", task)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "schedstat"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := runDelay(root); got.OK {
		t.Errorf("no files, yet %+v", got)
	}
	put("9", "broken")
	if got := runDelay(root); got.OK {
		t.Errorf("a broken file, yet %+v", got)
	}
	put("7", "100 20 3\n")
	put("8", "100 5 3\n")
	if got := runDelay(root); got != tape.Some(int64(25)) {
		t.Errorf("%+v", got)
	}
}

func BenchmarkWaits(b *testing.B) {
	var w Waits
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		w.Add(i & 0xfffff)
	}
}
