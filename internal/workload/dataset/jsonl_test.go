package dataset

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestJSONL(t *testing.T) {
	huge := strings.Repeat("x", 20<<20)
	tests := []struct {
		name, in string
		want     []string // field "p"
		lines    []int
	}{
		{"mark, CRLF, blank lines, no end", "\xEF\xBB\xBF{\"p\":\"a\"}\r\n\r\n{\"p\":\"b\"}\n   \n{\"p\":\"c\"}", []string{"a", "b", "c"}, []int{1, 3, 5}},
		{"space around", " \t{\"p\":\"a\"} \r\n", []string{"a"}, []int{1}},
		{"blank lines first", "\n\n{\"p\":\"a\"}\n", []string{"a"}, []int{3}},
		{"mark before a blank line", "\xEF\xBB\xBF\n{\"p\":\"a\"}", []string{"a"}, []int{2}},
		{"the last of two counts", `{"p":"a","p":"b"}`, []string{"b"}, []int{1}},
		{"half a surrogate pair", `{"p":"x\ud83dy"}` + "\n" + `{"p":"\ude00"}`, []string{"x\uFFFDy", "\uFFFD"}, []int{1, 2}},
		{"a whole pair", `{"p":"\ud83d\ude00"}`, []string{"😀"}, []int{1}},
		{"line separators of Unicode", "{\"p\":\"a\u2028b\u0085c\"}\n", []string{"a\u2028b\u0085c"}, []int{1}},
		{"huge", `{"p":"` + huge + "\"}\n{\"p\":\"b\"}", []string{huge, "b"}, []int{1, 2}},
		{"empty object", "{}", []string{""}, []int{1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := mustOpen(t, write(t, "a.jsonl", tt.in), Auto)
			if f.Len() != int64(len(tt.want)) {
				t.Fatalf("%d rows", f.Len())
			}
			for i, want := range tt.want {
				r, err := f.Row(int64(i))
				if err != nil {
					t.Fatal(err)
				}
				got := field(r, "p")
				if got != want || r.Line != tt.lines[i] || !strings.HasPrefix(tt.in[r.Offset:], string(r.Raw)) {
					t.Errorf("row %d: %.80q on line %d at %d", i, got, r.Line, r.Offset)
				}
			}
		})
	}
}

func TestJSONLRefuses(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"bad row", "\xEF\xBB\xBF{\"p\":\"a\"}\r\n\r\n{\"p\":\"b\"}\n{\"p\": }\n   \n{\"p\":\"c\"}", []string{"a.jsonl:4:7: the row is not JSON: invalid character '}' looking for beginning of value"}},
		{"column counts characters", `{"问题":"中文" x}`, []string{"a.jsonl:1:12: ", "invalid character 'x'"}},
		{"column counts leading space", `   {"a" 1}`, []string{"a.jsonl:1:9: "}},
		{"not UTF-8", "{\"p\":\"a\"}\n{\"p\":\"\xC4\xE3\"}", []string{"a.jsonl:2:7: byte 7 of the line (0xc4) is not UTF-8", "iconv"}},
		{"UTF-8 cut short", "{\"p\":\"é\xC3\"}", []string{"a.jsonl:1:8: byte 9 of the line (0xc3)"}},
		{"number", "{}\n17\n", []string{"a.jsonl:2:1: the row is not a JSON object: \"17\""}},
		{"string", `"what?"`, []string{"a.jsonl:1:1: the row is not a JSON object"}},
		{"array of rows", `[{"p":"a"},{"p":"b"}]`, []string{"a.jsonl:1:1: ", "array", "jq -c '.[]'"}},
		{"array over lines", "[\n{\"p\":\"a\"}\n]", []string{"a.jsonl:1:2: ", "jq -c '.[]'"}},
		{"object over lines", "{\n\"p\":\"a\"\n}", []string{"a.jsonl:1:2: ", "unexpected end", "jq -c ."}},
		{"two objects", `{"p":"a"}{"p":"b"}`, []string{"a.jsonl:1:10: ", "after top-level value", "one object on a line"}},
		{"garbage after", `{"p":"a"} #`, []string{"a.jsonl:1:11: "}},
		{"NaN", `{"p":NaN}`, []string{"a.jsonl:1:6: "}},
		{"leading zero", `{"p":01}`, []string{"a.jsonl:1:7: "}},
		{"control character", "{\"p\":\"a\tb\"}", []string{"a.jsonl:1:8: "}},
		{"mark in the middle", "{\"p\":1}\n\xEF\xBB\xBF{\"p\":2}", []string{"a.jsonl:2:1: "}},
		{"last row bad", strings.Repeat("{}\n", 1000) + "{", []string{"a.jsonl:1001:2: "}},
		{"too deep", strings.Repeat(`{"a":`, 10001) + "1" + strings.Repeat("}", 10001), []string{"a.jsonl:1:", "depth"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { refused(t, write(t, "a.jsonl", tt.in), "jsonl", tt.want) })
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// A file without line ends must not be read whole.
func TestJSONLLongLine(t *testing.T) {
	src := newSource(endless{})
	src.most = 4 << 20
	err := jsonLines{}.scan(src, func(int64, int, []byte) { t.Error("a row") }, func(err error) error { return nil })
	if want := "the line is longer than 4 MB; put one row on a line"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func FuzzJSONL(f *testing.F) {
	f.Add([]byte("\xEF\xBB\xBF{\"p\":\"a\"}\r\n\r\n{\"p\":\"b\"}\n   \n{\"p\":\"c\"}"))
	f.Add([]byte(samples["jsonl"].data))
	f.Add([]byte(`{"a":"\ud800"}{`))
	f.Add([]byte("{\"a\":\"\xff\"}"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, in []byte) {
		path := filepath.Join(dir, "fuzz.jsonl")
		if err := os.WriteFile(path, in, 0o644); err != nil {
			t.Fatal(err)
		}
		d, err := Open(path, "jsonl")
		if err != nil {
			if !strings.HasPrefix(err.Error(), path) {
				t.Fatalf("the error does not say where: %v", err)
			}
			return
		}
		defer d.Close()
		if d.Info().Bytes != int64(len(in)) {
			t.Fatalf("%d of %d bytes", d.Info().Bytes, len(in))
		}
		lines := strings.Split(string(in), "\n")
		full := 0
		for i, line := range lines {
			if i == 0 {
				line = strings.TrimPrefix(line, string(bom))
			}
			if strings.Trim(line, " \t\r") != "" {
				full++
			}
		}
		if d.Len() != int64(full) {
			t.Fatalf("%d rows from %d lines that are not blank", d.Len(), full)
		}
		if err := d.Each(func(r Row) error {
			one, err := d.Row(r.Index)
			if err == nil && !reflect.DeepEqual(one, r) {
				t.Fatalf("Row gives %+v, Each %+v", one, r)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for i := range d.Len() {
			r, err := d.Row(i)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(lines[r.Line-1], string(r.Raw)) || string(in[r.Offset:r.Offset+int64(len(r.Raw))]) != string(r.Raw) {
				t.Fatalf("row %d is not on line %d at %d", i, r.Line, r.Offset)
			}
		}
	})
}
