package synth

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is read of a manifest row by row is what the whole manifest says.
func TestReadExpected(t *testing.T) {
	for _, cached := range []int{0, 64} {
		p := Defaults()
		p.Requests, p.Input, p.CachedTokens, p.Seed = 9, "200", cached, 3
		b, err := NewBuilder(p, plain)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		m, err := b.Write(context.Background(), &out, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "m.json")
		f, _ := os.Create(path)
		if err := m.Write(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
		x, err := ReadExpected(path)
		if err != nil {
			t.Fatal(err)
		}
		if x.Zero() != (cached == 0) || x.Data.SHA256 != m.Data.SHA256 || x.Params.Seed != 3 || len(x.SHA256) != 64 || len(x.Rows) != 0 {
			t.Errorf("%+v", x.Manifest)
		}
		sum := 0
		for i, r := range m.Rows {
			n, ok := x.Of(int64(i), r.SHA256)
			if !ok || n != int64(r.Expected) {
				t.Errorf("row %d: %d %v, want %d", i, n, ok, r.Expected)
			}
			if _, ok := x.Of(int64(i), m.Data.SHA256); ok {
				t.Errorf("row %d: the bytes of another row pass", i)
			}
			sum += r.Expected
		}
		if (sum > 0) != (cached > 0) {
			t.Errorf("%d tokens expected in all", sum)
		}
		for _, i := range []int64{-1, 9} {
			if _, ok := x.Of(i, ""); ok {
				t.Errorf("row %d is known", i)
			}
		}
	}
}

func TestReadExpectedRefuses(t *testing.T) {
	if _, err := ReadExpected(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	const row = `{"row":0,"templated":5,"expected_cached":5}`
	for text, want := range map[string]string{
		"":     "EOF",
		"[1]":  "is expected",
		"{}":   `schema ""`,
		`{"a"`: "EOF",
		`{"schema":"tokentape.dataset/1","data":{"rows":0},"rows":[]}`:                                             "no rows",
		`{"schema":"tokentape.dataset/9","data":{"rows":1},"rows":[` + row + `]}`:                                  "schema",
		`{"schema":"tokentape.dataset/1","data":{"rows":2},"rows":[` + row + `]}`:                                  "counts 2 rows and lists 1",
		`{"schema":"tokentape.dataset/1","data":{"rows":2},"rows":[` + row + `,` + row + `]}`:                      "row 0 where 1 comes next",
		`{"schema":"tokentape.dataset/1","data":{"rows":1},"rows":[{"row":0,"templated":5,"expected_cached":6}]}`:  "6 of its 5 tokens",
		`{"schema":"tokentape.dataset/1","data":{"rows":1},"rows":[{"row":0,"templated":5,"expected_cached":-1}]}`: "tokens",
		`{"schema":"tokentape.dataset/1","data":{"rows":1},"rows":{"row":0}}`:                                      "is expected",
		`{"schema":"tokentape.dataset/1","data":{"rows":1},"rows":[{"row":"x"}]}`:                                  "cannot unmarshal",
		`{"schema":"tokentape.dataset/1","data":{"rows":1},"rows":[` + row + `]`:                                   "EOF",
		`{"schema":"tokentape.dataset/1","data":{"rows":"x"},"rows":[` + row + `]}`:                                "cannot unmarshal",
	} {
		path := filepath.Join(t.TempDir(), "m.json")
		os.WriteFile(path, []byte(text), 0o600)
		if _, err := ReadExpected(path); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
