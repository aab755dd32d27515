package rows

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tokentape/internal/dialect"
	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/internal/workload/dataset"
)

// example is one of docs/datasets.md: a file, a spec, and what comes of them.
type example struct {
	line       int
	name       string // of the file
	file, spec string
	sends      []string
	exactly    bool
	notes      string
}

func examples(t *testing.T) []*example {
	t.Helper()
	text, err := os.ReadFile("../../../docs/datasets.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []*example
	var what string
	var block []string
	inside := false
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case strings.HasPrefix(line, "<!-- "):
			what = strings.TrimSuffix(strings.TrimPrefix(line, "<!-- "), " -->")
		case strings.HasPrefix(line, "```") && !inside:
			inside, block = true, nil
		case strings.HasPrefix(line, "```"):
			inside = false
			body := strings.Join(block, "\n") + "\n"
			kind, name, _ := strings.Cut(what, " ")
			if kind == "file" {
				all = append(all, &example{line: i, name: name})
			}
			if len(all) == 0 {
				t.Fatalf("line %d: a block before the first file", i+1)
			}
			e := all[len(all)-1]
			switch kind {
			case "file":
				e.file = body
			case "spec":
				e.spec = body
			case "sends":
				e.sends, e.exactly = block, name == "exactly"
			case "notes":
				e.notes = body
			default:
				t.Fatalf("line %d: an example without <!-- file, spec, sends or notes -->", i+1)
			}
			what = ""
		case inside:
			block = append(block, line)
		}
	}
	return all
}

// Every reader obeys what a Source promises, by the examples of the document: each
// value of workload.dataset.format has one.
func TestReadersConform(t *testing.T) {
	seen := map[string]bool{"auto": true, "parquet": true} // parquet: package dataset, and below
	for _, e := range examples(t) {
		t.Run(e.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, e.name)
			for name, text := range map[string]string{e.name: e.file, "spec.yaml": e.spec} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			sp, issues := spec.Read(filepath.Join(dir, "spec.yaml"), func(string) (string, bool) { return "", false },
				[]spec.Set{{Path: "workload.dataset.path", Value: path, Origin: "test"}})
			for _, i := range issues {
				t.Fatal(i)
			}
			d, err := dialect.Get(sp.Target.API)
			if err != nil {
				t.Fatal(err)
			}
			body := func(item workload.Item) ([]byte, error) {
				return d.Body(item, dialect.Options{Model: "m", Stream: true, OutputLen: sp.Workload.OutputTokens, Sampling: sp.Workload.Sampling})
			}
			s, err := Open(sp.Workload, sp.Seeds.Run, func(item workload.Item) error { _, err := body(item); return err })
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			seen[s.Info().Format], seen[s.name] = true, true
			if s.w.Dataset.Format != "auto" {
				seen[s.w.Dataset.Format] = true
			}
			if s.notes.messages > 0 {
				seen["messages"] = true
			}
			if s.notes.ids > 0 {
				seen["tokens"] = true
			}
			got := make([]string, s.Len())
			var wg sync.WaitGroup
			for i := range got {
				wg.Go(func() { // safe for concurrent use
					item, err := s.Item(int64(i))
					if err != nil {
						t.Error(err)
						return
					}
					again, _ := s.Item(int64(i))
					if !reflect.DeepEqual(item, again) {
						t.Errorf("item %d: %+v, then %+v", i, item, again)
					}
					if item.Ref.SHA256 == "" || item.Body == nil && item.TokenIDs == nil && len(item.Messages) == 0 {
						t.Errorf("item %d is incomplete: %+v", i, item)
					}
					b, err := body(item)
					if err != nil {
						t.Error(err)
					}
					if got[i] = string(b); !e.exactly {
						got[i] = strings.Replace(strings.Replace(got[i], `,"stream":true`, "", 1), `,"stream_options":{"include_usage":true}`, "", 1)
					}
				})
			}
			wg.Wait()
			if d := cmp.Diff(e.sends, got); d != "" {
				t.Errorf("docs/datasets.md:%d: sends (-document +got):\n%s\n%s", e.line, d, strings.Join(got, "\n"))
			}
			notes := strings.ReplaceAll(strings.Join(s.Notes(), "\n"), dir+"/", "")
			if e.notes != "" || strings.Contains(e.spec, "notes") {
				if d := cmp.Diff(strings.TrimSpace(e.notes), notes); d != "" {
					t.Errorf("docs/datasets.md:%d: notes (-document +got):\n%s\n%s", e.line, d, notes)
				}
			}
			for _, i := range []int64{-1, s.Len()} {
				if _, err := s.Item(i); err == nil {
					t.Errorf("there is no item %d", i)
				}
			}
			if times := s.Times(); times != nil && (int64(len(times)) != s.Len() || !slices.IsSorted(times) || times[0] != 0) {
				t.Errorf("times %v of %d items", times, s.Len())
			}
			conformsWhenBad(t, sp.Workload, sp.Seeds.Run, e)
		})
	}
	for _, name := range spec.Formats {
		if !seen[name] {
			t.Errorf("docs/datasets.md has no example of %s", name)
		}
	}
	for _, name := range append(dataset.Formats(), slices.Collect(keys(kinds))...) {
		if !slices.Contains(spec.Formats, name) {
			t.Errorf("workload.dataset.format does not know %s", name)
		}
	}
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// conformsWhenBad cuts the example's file at many places: whatever is left is read,
// or is an error that says where. It never panics.
func conformsWhenBad(t *testing.T, w spec.Workload, seed int64, e *example) {
	t.Helper()
	for cut := 0; cut < len(e.file); cut += 1 + len(e.file)/64 {
		if err := os.WriteFile(w.Dataset.Path, []byte(e.file[:cut]), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := Open(w, seed, nil)
		if err == nil {
			for i := range s.Len() {
				if _, err := s.Item(i); err != nil {
					t.Errorf("cut at %d: %v", cut, err)
				}
			}
			s.Close()
			continue
		}
		var at spec.Issue
		if !errors.As(err, &at) || at.File != w.Dataset.Path || at.Message == "" {
			t.Errorf("cut at %d: %#v", cut, err)
		}
	}
}
