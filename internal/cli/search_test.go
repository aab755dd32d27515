package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tokentape/internal/spec"
)

// Limits are echoed as they were given, and judged so.
func TestLimitsAsGiven(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.yaml")
	text := `target: {url: "127.0.0.1:1"}
workload: {dataset: {path: data.jsonl}}
load: {requests: 500}
report: {slo: {e2e_ms: 900}}
search: {for: concurrency, from: 1, to: 64, slo: [ttft_ms < 60, tpot_ms <= 30, steady.e2e_ms.p99 < 9000]}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, issues := spec.Read(path, nil, nil)
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	want := []string{"e2e_ms <= 900 of a request", "tpot_ms <= 30 of a request", "ttft_ms < 60 of a request", "steady.e2e_ms.p99 < 9000"}
	if got := limitsOf(s); !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
	q := &quest{series: &series{base: s}}
	if below := q.ask().Below; !reflect.DeepEqual(below, map[string]bool{"ttft_ms": true}) {
		t.Errorf("%v", below)
	}
}

// The folder above those of searches means the newest of them, whatever else is there.
func TestNewestSearch(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "load [a]") // which is no pattern
	for _, name := range []string{
		"2026-11-30T040000Z-search/search.json", "2026-11-30T050000Z-search/search.json", "2026-11-30T050000Z-search-2/search.json",
		"2026-11-30T050000Z-search-10/search.json", "2026-11-30T060000Z-search/log", "2026-11-30T070000Z-sweep/sweep.yaml", "2026-11-30T080000Z/tape.jsonl",
		"one/2026-11-30T040000Z-search/search.json", "whole-search/sweep.yaml", "none/2026-11-30T040000Z/tape.jsonl",
	} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ arg, want, says string }{
		{"", "2026-11-30T050000Z-search-10", "the newest of 4 searches in " + dir},
		{"one", "one/2026-11-30T040000Z-search", "the only search in"},
		{"whole-search", "whole-search", ""},
		{"2026-11-30T040000Z-search", "2026-11-30T040000Z-search", ""},
		{"none", "none", ""},
	} {
		var said bytes.Buffer
		a := &app{stderr: &said}
		if got := a.findSearch(filepath.Join(dir, c.arg)); got != filepath.Join(dir, c.want) || !strings.Contains(said.String(), c.says) || c.says == "" && said.Len() > 0 {
			t.Errorf("%q: %s, said %q", c.arg, got, said.String())
		}
	}
}
