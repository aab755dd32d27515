package dataset

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

type turn struct {
	From  string `parquet:"from"`
	Value string `parquet:"value"`
}

type everything struct {
	Text   string             `parquet:"text,dict"`
	Maybe  *string            `parquet:"maybe,optional"`
	Turns  []turn             `parquet:"turns,list"`
	Plain  []int64            `parquet:"plain"`
	Deep   [][]int32          `parquet:"deep,list"`
	Inner  struct{ A, B int } `parquet:"inner"`
	Map    map[string]float64 `parquet:"map"`
	Big    uint64             `parquet:"big"`
	When   time.Time          `parquet:"when,timestamp(millisecond)"`
	Day    int32              `parquet:"day,date"`
	Price  int64              `parquet:"price,decimal(2:18)"`
	Bytes  []byte             `parquet:"bytes"`
	NaN    float64            `parquet:"nan"`
	Single float32            `parquet:"single"`
	Raw    string             `parquet:"raw,json"`
	Yes    bool               `parquet:"yes"`
}

func TestParquet(t *testing.T) {
	maybe := "there"
	rows := []everything{
		{Text: "a \"b\" <c>\n中", Maybe: &maybe, Turns: []turn{{"human", "q"}, {"gpt", "a"}}, Plain: []int64{1, 2}, Deep: [][]int32{{1}, {2, 3}},
			Map: map[string]float64{"k": 0.5}, Big: math.MaxUint64, When: time.UnixMilli(1700000000123), Day: 19675, Price: -5, Bytes: []byte{0xff, 0},
			NaN: math.NaN(), Single: 0.1, Raw: "{ \"x\": [1] }", Yes: true},
		{Text: "", When: time.UnixMilli(0), Raw: "not json", Price: 12345},
	}
	want := []string{
		`{"text":"a \"b\" <c>\n中","maybe":"there","turns":[{"from":"human","value":"q"},{"from":"gpt","value":"a"}],"plain":[1,2],"deep":[[1],[2,3]],` +
			`"inner":{"A":0,"B":0},"map":{"k":0.5},"big":18446744073709551615,"when":"2023-11-14T22:13:20.123Z","day":"2023-11-14","price":-0.05,"bytes":"/wA=",` +
			`"nan":null,"single":0.1,"raw":{"x":[1]},"yes":true}`,
		`{"text":"","maybe":null,"turns":[],"plain":[],"deep":[],"inner":{"A":0,"B":0},"map":{},"big":0,"when":"1970-01-01T00:00:00Z","day":"1970-01-01",` +
			`"price":123.45,"bytes":"","nan":0,"single":0,"raw":"not json","yes":false}`,
	}
	for _, codec := range []string{"plain", "zstd", "groups"} {
		var b bytes.Buffer
		options := []parquet.WriterOption{}
		switch codec {
		case "zstd":
			options = append(options, parquet.Compression(&parquet.Zstd))
		case "groups":
			options = append(options, parquet.MaxRowsPerRowGroup(1))
		}
		if err := parquet.Write(&b, rows, options...); err != nil {
			t.Fatal(err)
		}
		f := mustOpen(t, write(t, "a.parquet", b.String()), Auto)
		if f.Len() != 2 || f.Info().Bytes != int64(b.Len()) {
			t.Fatalf("%+v", f.Info())
		}
		for i, want := range want {
			r, err := f.Row(int64(i))
			if err != nil {
				t.Fatal(err)
			}
			if string(r.Fields) != want || r.Line != i+1 {
				t.Errorf("%s: row %d on line %d:\n got %s\nwant %s", codec, i, r.Line, r.Fields, want)
			}
		}
	}
}

func TestParquetRefuses(t *testing.T) {
	whole := samples["parquet"].data
	for name, text := range map[string]string{
		"cut":    whole[:len(whole)-20],
		"magic":  "PAR1",
		"middle": whole[:30] + strings.Repeat("\xff", 40) + whole[70:],
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, write(t, "a.parquet", text), Auto, []string{"a.parquet: the parquet file cannot be read"})
		})
	}
	var b bytes.Buffer
	if err := parquet.Write(&b, []turn{}); err != nil {
		t.Fatal(err)
	}
	refused(t, write(t, "a.parquet", b.String()), Auto, []string{"no rows"})
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "tokentape-rows-*")); len(left) > 0 {
		t.Logf("temporary files: %v", left)
	}
}

// A damaged file is an error, never a panic.
func FuzzParquet(f *testing.F) {
	f.Add([]byte(samples["parquet"].data))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 4096 {
			return
		}
		path := filepath.Join(dir, "fuzz.parquet")
		if err := os.WriteFile(path, in, 0o644); err != nil {
			t.Fatal(err)
		}
		d, err := Open(path, "parquet")
		if err != nil {
			return
		}
		defer d.Close()
		same(t, d, func(r Row) {
			if !valid(r.Fields) {
				t.Fatalf("row %d: %s", r.Index, r.Fields)
			}
		})
	})
}
