package dataset

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestCSV(t *testing.T) {
	tests := []struct {
		name, file, in string
		want           []string // fields
		lines          []int
	}{
		{"quotes, commas and line ends", "a.csv", "\xEF\xBB\xBFp,n\r\n\"say \"\"hi\"\", then\r\ngo\",5\r\n\r\n\"x\",\r\n",
			[]string{`{"p":"say \"hi\", then\r\ngo","n":5}`, `{"p":"x","n":""}`}, []int{2, 5}},
		{"values", "a.csv", "a,b,c,d,e,f\n1,-2.50,007,true,1e3,NaN\nTrue,+1,null,1.,-,\n",
			[]string{`{"a":1,"b":-2.50,"c":"007","d":true,"e":1e3,"f":"NaN"}`, `{"a":"True","b":"+1","c":"null","d":"1.","e":"-","f":""}`}, []int{2, 3}},
		{"blank lines around, no end", "a.csv", "\n\r\np\n\n\na\n\r\n\nb", []string{`{"p":"a"}`, `{"p":"b"}`}, []int{6, 9}},
		{"space is kept", "a.csv", " p ,q\n a , b\n", []string{`{"p":" a ","q":" b"}`}, []int{2}},
		{"empty and doubled quotes", "a.csv", "p,q\n\"\",\"\"\"\"\n\"\"\"a\"\"\",\n", []string{`{"p":"","q":"\""}`, `{"p":"\"a\"","q":""}`}, []int{2, 3}},
		{"tabs", "a.tsv", "p\tq\r\na,b\t\"c\td\"\r\n", []string{`{"p":"a,b","q":"c\td"}`}, []int{2}},
		{"names in any language, and with quotes", "a.csv", "\"问题\",\"a \"\"b\"\"\"\nx,<y>&\n", []string{`{"问题":"x","a \"b\"":"<y>&"}`}, []int{2}},
		{"many lines in one field", "a.csv", "p\n\"a\n\n\nb\"\nc\n", []string{`{"p":"a\n\n\nb"}`, `{"p":"c"}`}, []int{2, 6}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := mustOpen(t, write(t, tt.file, tt.in), Auto)
			if f.Len() != int64(len(tt.want)) {
				t.Fatalf("%d rows", f.Len())
			}
			for i, want := range tt.want {
				r, err := f.Row(int64(i))
				if err != nil {
					t.Fatal(err)
				}
				if string(r.Fields) != want || r.Line != tt.lines[i] || !strings.HasPrefix(tt.in[r.Offset:], string(r.Raw)) {
					t.Errorf("row %d: %s on line %d at %d", i, r.Fields, r.Line, r.Offset)
				}
			}
		})
	}
}

func TestCSVRefuses(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"bare quote", "p,n\na,1\nplain \"bare\" quote,6\n", []string{"a.csv:3:7: a quote stands within a field", "twice"}},
		{"text behind a quote", "p,n\n\"a\nb\"c,1\n", []string{"a.csv:3:3: \"c,1\" follows the quote"}},
		{"too many", "p,n\n1,2\n\na,7,extra\n", []string{"a.csv:4:1: the row has 3 fields, the header 2"}},
		{"too few", "p,n\na\n", []string{"a.csv:2:1: the row has 1 fields, the header 2"}},
		{"never closed", "p,n\n1,2\n\"a,1\nb,2\n", []string{"a.csv:3:1: a quote that opens in this row is never closed"}},
		{"not UTF-8", "p,n\n中\xC4\xE3,2\n", []string{"a.csv:2:2: byte 4 of the line (0xc4) is not UTF-8", "iconv"}},
		{"two columns of one name", "p,n,p\n1,2,3\n", []string{`a.csv:1:1: two columns are named "p"`}},
		{"a column without a name", "p,\n1,2\n", []string{"a.csv:1:1: column 2 has no name"}},
		{"a header alone", "p,n\n", []string{"a.csv: the file has no rows"}},
		{"a bad header", "p\"q\n1\n", []string{"a.csv:1:2: "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { refused(t, write(t, "a.csv", tt.in), Auto, tt.want) })
	}
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte(samples["csv"].data))
	f.Add([]byte("\xEF\xBB\xBFp,n\r\n\"say \"\"hi\"\", then\r\ngo\",5\r\n\r\n\"x\",\r\n"))
	f.Add([]byte("p,q\n\"\"\"\",\"\"x\n\"a\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, in []byte) {
		path := filepath.Join(dir, "fuzz.csv")
		if err := os.WriteFile(path, in, 0o644); err != nil {
			t.Fatal(err)
		}
		d, err := Open(path, "csv")
		if err != nil {
			if !strings.HasPrefix(err.Error(), path) {
				t.Fatalf("the error does not say where: %v", err)
			}
			return
		}
		defer d.Close()
		// What both read, both read alike; encoding/csv turns CRLF within fields to LF.
		std := csv.NewReader(strings.NewReader(strings.TrimPrefix(string(in), string(bom))))
		records, stdErr := std.ReadAll()
		if stdErr == nil && int64(len(records)) != d.Len()+1 && !strings.Contains(string(in), "\r") {
			t.Fatalf("%d rows, encoding/csv has %d", d.Len(), len(records)-1)
		}
		same(t, d, func(r Row) {
			if string(in[r.Offset:r.Offset+int64(len(r.Raw))]) != string(r.Raw) {
				t.Fatalf("row %d does not stand at %d", r.Index, r.Offset)
			}
			var fields map[string]any
			if err := json.Unmarshal(r.Fields, &fields); err != nil {
				t.Fatalf("row %d: %v", r.Index, err)
			}
			if stdErr == nil && !strings.Contains(string(in), "\r") {
				for i, name := range records[0] {
					if got := field(r, strings.TrimSpace(name)); got != records[r.Index+1][i] {
						t.Fatalf("row %d: %q, encoding/csv has %q", r.Index, got, records[r.Index+1][i])
					}
				}
			}
		})
	})
}

// same calls f with every row, after Row and Each have given it alike.
func same(t *testing.T, d *File, f func(Row)) {
	t.Helper()
	if err := d.Each(func(r Row) error {
		one, err := d.Row(r.Index)
		if err == nil && !reflect.DeepEqual(one, r) {
			t.Fatalf("Row gives %+v, Each %+v", one, r)
		}
		f(r)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkOpenCSV(b *testing.B) {
	row := `"` + strings.Repeat(`Wie "" spät, ist es? `, 60) + "\",32\n"
	path := write(b, "a.csv", "question,max_tokens\n"+strings.Repeat(row, 64<<20/len(row)))
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
