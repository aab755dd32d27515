package dataset

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"tokentape/internal/spec"
)

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// field is a field's text, or its JSON when it is no string.
func field(r Row, name string) string {
	raw, _ := r.Fields.Get(name)
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}

func mustOpen(t testing.TB, path, format string) *File {
	t.Helper()
	f, err := Open(path, format)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// sample is one file of three rows: the field (text when not named) holds
// "a", "line\nbreak" and "中文", and n holds 1, 2 and 3.
type sample struct {
	data  string
	field string
	plain bool // a format without line breaks and other fields
}

// samples hold one for every format.
var samples = map[string]sample{
	"jsonl":   {data: "{\"text\":\"a\",\"n\":1}\n{\"text\":\"line\\nbreak\",\"n\":2}\n{\"text\":\"中文\",\"n\":3}\n"},
	"json":    {data: "[ {\"text\":\"a\",\"n\":1},{\"text\":\"line\\nbreak\",\"n\":2} ,\n {\n\"text\":\"中文\",\"n\":3\n}\n]\n"},
	"csv":     {data: "text,n\na,1\n\"line\nbreak\",2\n中文,3\n"},
	"tsv":     {data: "n\ttext\r\n1\ta\r\n2\t\"line\nbreak\"\r\n3\t中文"},
	"text":    {data: "a\r\n\nline break\n中文\n", field: "question", plain: true},
	"parquet": {data: parquetSample()},
}

func parquetSample() string {
	type row struct {
		Text string `parquet:"text"`
		N    int32  `parquet:"n"`
	}
	var b bytes.Buffer
	if err := parquet.Write(&b, []row{{"a", 1}, {"line\nbreak", 2}, {"中文", 3}}); err != nil {
		panic(err)
	}
	return b.String()
}

// Every format obeys what a File promises.
func TestFormatsConform(t *testing.T) {
	for name, fm := range formats {
		t.Run(name, func(t *testing.T) {
			s, ok := samples[name]
			if !ok {
				t.Fatal("the format has no sample")
			}
			text := s.data
			path := write(t, "data"+fm.extensions[0], text)
			f := mustOpen(t, path, name)
			sum := sha256.Sum256([]byte(text))
			if got, want := f.Info(), (Info{path, name, int64(len(text)), 3, hex.EncodeToString(sum[:])}); got != want || f.Len() != 3 {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if auto := mustOpen(t, path, Auto); auto.Info() != f.Info() {
				t.Errorf("auto chose %s", auto.Info().Format)
			}
			if fm.sniff != nil {
				if auto := mustOpen(t, write(t, "noextension", text), ""); auto.Info().Format != name {
					t.Errorf("content looks like %s", auto.Info().Format)
				}
			} else if _, err := Open(write(t, "noextension", text), ""); err == nil {
				t.Error("content told what it cannot")
			}
			var wg sync.WaitGroup
			for i, want := range []string{"a", "line\nbreak", "中文"} {
				wg.Go(func() {
					r, err := f.Row(int64(i))
					if err != nil {
						t.Error(err)
						return
					}
					n := fmt.Sprint(i + 1)
					if s.plain {
						n, want = "", strings.ReplaceAll(want, "\n", " ")
					}
					sum := sha256.Sum256(r.Raw)
					if got := field(r, cmp.Or(s.field, "text")); got != want || r.Index != int64(i) || r.SHA256() != hex.EncodeToString(sum[:]) || field(r, "n") != n {
						t.Errorf("row %d: %q %+v", i, got, r)
					}
					if !json.Valid(r.Fields) {
						t.Errorf("row %d: %s", i, r.Fields)
					}
					if fm.convert == nil && !bytes.HasPrefix([]byte(text)[r.Offset:], r.Raw) {
						t.Errorf("row %d does not stand at offset %d", i, r.Offset)
					}
				})
			}
			wg.Wait()
			var each []Row
			if err := f.Each(func(r Row) error {
				r.Raw, r.Fields = bytes.Clone(r.Raw), bytes.Clone(r.Fields)
				each = append(each, r)
				return nil
			}); err != nil || len(each) != 3 {
				t.Errorf("Each gave %d rows, %v", len(each), err)
			}
			for i, r := range each {
				if want, err := f.Row(int64(i)); err != nil || !reflect.DeepEqual(r, want) {
					t.Errorf("Each gave %+v, Row %+v", r, want)
				}
			}
			stop := errors.New("stop")
			if err := f.Each(func(Row) error { return stop }); err != stop {
				t.Errorf("Each returned %v", err)
			}
			for _, i := range []int64{-1, 3} {
				if _, err := f.Row(i); err == nil {
					t.Errorf("row %d was given", i)
				}
			}
			if fm.convert == nil {
				edited(t, f, path, strings.Replace(text, "a", "b", 1), text)
			}
			temp := f.temp
			f.Close()
			if _, err := f.Row(1); err == nil {
				t.Error("a closed file gave a row")
			}
			if _, err := os.Stat(temp); err == nil {
				t.Errorf("%s stayed behind", temp)
			}
			lax, err := OpenWith(path, name, Options{Lax: true})
			if fm.convert == nil {
				path = write(t, "data"+fm.extensions[0], text)
				lax, err = OpenWith(path, name, Options{Lax: true})
			}
			if err != nil {
				t.Fatal(err)
			}
			defer lax.Close()
			if n, first := lax.Bad(); lax.Len() != 3 || n != 0 || first != nil {
				t.Errorf("%d rows, %d bad: %v", lax.Len(), n, first)
			}
		})
	}
}

// edited changes the file below an open dataset.
func edited(t *testing.T, f *File, path, changed, text string) {
	t.Helper()
	at := strings.Index(text, "\na") // the first row's text in columns: the header stays
	if at >= 0 {
		changed = text[:at+1] + "b" + text[at+2:]
	}
	if strings.HasPrefix(text, "n\t") {
		changed = strings.Replace(text, "\ta", "\tb", 1)
	}
	if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Row(0); err == nil || !strings.Contains(err.Error(), "not what it was") {
		t.Errorf("an edited row: %v", err)
	}
	if err := f.Each(func(Row) error { return nil }); err == nil || !strings.Contains(err.Error(), "not what it was") {
		t.Errorf("Each over an edited row: %v", err)
	}
	os.Truncate(path, 10)
	if _, err := f.Row(2); err == nil || !strings.Contains(err.Error(), "not what it was") {
		t.Errorf("a lost row: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "real.jsonl"), []byte("{}\n"), 0o644)
	fifo := "/dev/null"
	tests := []struct {
		name, path, format string
		want               []string
	}{
		{"no path", "", Auto, []string{"workload.dataset.path", "--dataset"}},
		{"missing", filepath.Join(dir, "rael.jsonl"), Auto, []string{"rael.jsonl", "no such file", "--dataset", "real.jsonl"}},
		{"directory", dir, Auto, []string{"directory", "data.jsonl"}},
		{"device", fifo, Auto, []string{"no regular file", "save it"}},
		{"empty", write(t, "a.jsonl", ""), Auto, []string{"a.jsonl: the file is empty"}},
		{"only a mark", write(t, "a.jsonl", "\xEF\xBB\xBF"), Auto, []string{"no rows"}},
		{"blank", write(t, "a.jsonl", "\n \r\n\t\n"), Auto, []string{"no rows", "blank"}},
		{"unknown format", write(t, "a.jsonl", "{}"), "toml", []string{"workload.dataset.format", `"toml"`, "jsonl"}},
		{"unknown content", write(t, "a.dat", "hello"), Auto, []string{"workload.dataset.format", `"hello"`, "jsonl"}},
		{"gzip", write(t, "a.jsonl", "\x1f\x8b\x08"), "jsonl", []string{"gzip", "gunzip"}},
		{"zstd", write(t, "a.jsonl.zst", "\x28\xb5\x2f\xfd\x00"), Auto, []string{"zstd"}},
		{"utf-16", write(t, "a.jsonl", "\xff\xfe{\x00}\x00"), Auto, []string{"UTF-16", "iconv"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { refused(t, tt.path, tt.format, tt.want) })
	}
	if os.Getuid() != 0 {
		path := write(t, "secret.jsonl", "{}")
		os.Chmod(path, 0)
		refused(t, path, Auto, []string{"permission denied", "chmod"})
	}
}

func refused(t *testing.T, path, format string, want []string) {
	t.Helper()
	f, err := Open(path, format)
	if err == nil {
		f.Close()
		t.Fatal("opened")
	}
	var at spec.Issue
	if !errors.As(err, &at) {
		t.Errorf("%v is a %T", err, err)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

// Row i is found whatever lines are blank, and the index takes 8 bytes a row.
func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x index
		var want []span
		at, line := int64(rapid.SampledFrom([]int{0, 3, maxOffset - 1000_000}).Draw(t, "start")), 1
		for i := range rapid.IntRange(1, 200).Draw(t, "n") {
			if blank := rapid.SampledFrom([]int{0, 0, 0, 1, 5}).Draw(t, "blank"); blank > 0 || i == 0 {
				line += blank
				at += int64(blank)
			} else {
				want[i-1].end = at // up to the next row
			}
			size := rapid.IntRange(1, 50).Draw(t, "size")
			hash := rapid.Uint32Range(0, hashMask).Draw(t, "hash")
			x.add(at, size, line, hash)
			want = append(want, span{at, at + int64(size), line, hash})
			at += int64(size) + rapid.Int64Range(1, 3).Draw(t, "trailing")
			line++
		}
		for i, w := range want {
			if got := x.row(int64(i)); got != w {
				t.Fatalf("row %d: %+v, want %+v", i, got, w)
			}
		}
	})

	const rows = 1 << 20
	var x index
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range rows {
		x.add(int64(i), 1, i+1, 0)
	}
	runtime.ReadMemStats(&after)
	if got := float64(after.TotalAlloc-before.TotalAlloc) / rows; got > 8.3 {
		t.Errorf("%.1f bytes were allocated a row", got)
	}
	if got := x.row(rows - 1); got != (span{rows - 1, rows, rows, 0}) {
		t.Errorf("%+v", got)
	}
}

func BenchmarkOpen(b *testing.B) {
	row := `{"question":"` + strings.Repeat("Wie spät ist es? ", 60) + `","answer":""}` + "\n"
	path := write(b, "a.jsonl", strings.Repeat(row, 64<<20/len(row)))
	st, _ := os.Stat(path)
	b.SetBytes(st.Size())
	for b.Loop() {
		f, err := Open(path, Auto)
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

func BenchmarkRow(b *testing.B) {
	f := mustOpen(b, write(b, "a.jsonl", `{"question":"`+strings.Repeat("What time is it? ", 60)+`","answer":""}`), Auto)
	b.SetBytes(f.Info().Bytes)
	for b.Loop() {
		if _, err := f.Row(0); err != nil {
			b.Fatal(err)
		}
	}
}
