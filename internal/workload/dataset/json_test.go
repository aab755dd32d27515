package dataset

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestJSONArray(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string // field "p"
		lines    []int
	}{
		{"one line", `[{"p":"a"},{"p":"b"} , {"p":"c"}]`, []string{"a", "b", "c"}, []int{1, 1, 1}},
		{"jq's form", "[\n  {\n    \"p\": \"a\"\n  },\n  {\n    \"p\": \"b\"\n  }\n]\n", []string{"a", "b"}, []int{2, 5}},
		{"mark, CRLF, brackets in texts", "\xEF\xBB\xBF\r\n[{\"p\":\"]},[\\\"\\\\\"}\r\n,{\"p\":\"{\"}\r\n]", []string{`]},["\`, "{"}, []int{2, 3}},
		{"a row a line", "[{\"p\":\"a\"},\n{\"p\":\"b\"},\n{\"p\":\"c\"}]", []string{"a", "b", "c"}, []int{1, 2, 3}},
		{"nested", `[{"x":[[{}],"}"],"p":"a"}]`, []string{"a"}, []int{1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := mustOpen(t, write(t, "a.json", tt.in), Auto)
			if f.Len() != int64(len(tt.want)) || f.Info().Bytes != int64(len(tt.in)) {
				t.Fatalf("%+v", f.Info())
			}
			for i, want := range tt.want {
				r, err := f.Row(int64(i))
				if err != nil {
					t.Fatal(err)
				}
				if got := field(r, "p"); got != want || r.Line != tt.lines[i] || !strings.HasPrefix(tt.in[r.Offset:], string(r.Raw)) {
					t.Errorf("row %d: %.80q on line %d at %d: %s", i, got, r.Line, r.Offset, r.Raw)
				}
			}
		})
	}
	if f := mustOpen(t, write(t, "a.json", "{\"p\":1}\n{\"p\":2}\n"), Auto); f.Info().Format != "jsonl" || f.Len() != 2 {
		t.Errorf("JSON lines in a .json file: %+v", f.Info())
	}
}

func TestJSONArrayRefuses(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"cut within an element", "[{\"p\":1},\n{\"p\":2", []string{"a.json:2:6: the file ends within its array", "cut short"}},
		{"cut within a text", `[{"p":"a]`, []string{"a.json:1:9: the file ends"}},
		{"cut between", `[{"p":1},`, []string{"a.json:1:9: the file ends within its array"}},
		{"bad element", "[{\"p\":1},\n {\"p\": }]", []string{"a.json:2:8: the row is not JSON: invalid character '}'"}},
		{"bad element over lines", "[{\"p\":1,\n  \"q\" 2}]", []string{"a.json:2:7: the row is not JSON"}},
		{"no object", `[{"p":1},17]`, []string{"a.json:1:10: the row is not a JSON object: \"17\""}},
		{"lists", `[[1]]`, []string{"a.json:1:2: the row is a JSON array"}},
		{"comma missing", `[{"p":1} {"p":2}]`, []string{`a.json:1:10: a comma or ] is missing before '{'`}},
		{"comma at the end", `[{"p":1},]`, []string{`an element is missing before ']'`}},
		{"comma first", `[,{"p":1}]`, []string{"an element is missing before ','"}},
		{"more behind", "[{\"p\":1}]\n{\"p\":2}", []string{`a.json:2:1: the array has ended, but '{' follows`}},
		{"empty", "[]", []string{"no rows"}},
		{"blank", "  \n", []string{"no rows"}},
		{"lines", `{"p":1}`, []string{"not a JSON array", "jsonl"}},
		{"not UTF-8", "[{\"p\":\"\xC4\"}]", []string{"a.json:1:8: ", "not UTF-8"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { refused(t, write(t, "a.json", tt.in), "json", tt.want) })
	}
	f, err := OpenWith(write(t, "a.json", `[{"p":1},17,"x",{"p":2}]`), Auto, Options{Lax: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, first := f.Bad(); f.Len() != 2 || n != 2 || !strings.Contains(first.Error(), "a.json:1:10: ") {
		t.Errorf("%d rows, %d bad: %v", f.Len(), n, first)
	}
}

func FuzzJSONArray(f *testing.F) {
	f.Add([]byte(samples["json"].data))
	f.Add([]byte("\xEF\xBB\xBF[ {\"p\":\"]},[\\\"\"}\r\n,{}]"))
	f.Add([]byte(`[{"a":1}}]`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, in []byte) {
		path := filepath.Join(dir, "fuzz.json")
		if err := os.WriteFile(path, in, 0o644); err != nil {
			t.Fatal(err)
		}
		var list []map[string]json.RawMessage
		var texts []json.RawMessage
		text := strings.TrimPrefix(string(in), string(bom))
		good := json.Unmarshal([]byte(text), &list) == nil && json.Unmarshal([]byte(text), &texts) == nil && len(list) > 0 && valid([]byte(text))
		for _, row := range texts {
			good = good && row[0] == '{'
		}
		d, err := Open(path, "json")
		if err != nil {
			if good {
				t.Fatalf("refused: %v", err)
			}
			if !strings.HasPrefix(err.Error(), path) {
				t.Fatalf("the error does not say where: %v", err)
			}
			return
		}
		defer d.Close()
		if !good || d.Len() != int64(len(list)) {
			t.Fatalf("%d rows, encoding/json has %d", d.Len(), len(list))
		}
		same(t, d, func(r Row) {
			if string(r.Raw) != string(texts[r.Index]) || string(in[r.Offset:r.Offset+int64(len(r.Raw))]) != string(r.Raw) {
				t.Fatalf("row %d: %s", r.Index, r.Raw)
			}
		})
	})
}
