package synth

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLengths(t *testing.T) {
	tests := []struct {
		text       string
		lo, hi     int
		mean, near float64
	}{
		{"16384", 16384, 16384, 16384, 0},
		{"uniform:10-20", 10, 20, 15, 0.1},
		{"normal:1000,100", 400, 1600, 1000, 3},
		{"normal:100,50,80-120", 80, 120, 100, 1},
		{"lognormal:1000,500", 50, 20000, 1000, 15},
		{"lognormal:1000,0", 1000, 1000, 1000, 0},
		{"zipf:1,100", 1, 100, 100 / 5.18737751763962, 0.5},
		{"zipf:0,9", 1, 9, 5, 0.05},
		{"zipf:0,5-9", 5, 9, 7, 0.05},
		{"zipf:1,10-100", 10, 100, 91 / (5.18737751763962 - 2.82896825396825), 0.5}, // n ÷ (H(100) − H(9))
		{"zipf:20,1000-1048576", 1000, 3000, 1055.5, 2},
	}
	for _, tt := range tests {
		l, err := ParseLengths(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 1))
		sum, n := 0.0, 100000
		for i := range n {
			x := l.draw(r, int64(i))
			if x < tt.lo || x > tt.hi {
				t.Fatalf("%s drew %d", tt.text, x)
			}
			sum += float64(x)
		}
		if mean := sum / float64(n); math.Abs(mean-tt.mean) > tt.near {
			t.Errorf("%s: mean %g, want %g", tt.text, mean, tt.mean)
		}
	}
}

func TestLengthFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	l, err := ParseLengths("file:" + write("lengths", "\xEF\xBB\xBF5\r\n\n 7 \n9"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{5, 7, 9, 5, 7} {
		if got := l.draw(nil, int64(i)); got != want {
			t.Errorf("length %d is %d, want %d", i, got, want)
		}
	}
	j, err := ParseLengths("pairs:" + write("pairs", "100,5\n200, 6\n"))
	if err != nil || !j.Joint() || j.pairs[1] != (pair{200, 6}) {
		t.Errorf("%v, %v", j.pairs, err)
	}
	for text, want := range map[string]string{
		"file:" + write("a", "5\nx\n"):    "a:2: \"x\" is not a whole number",
		"file:" + write("b", "5,6\n"):     "b:1: \"5,6\" is not one length",
		"pairs:" + write("c", "5,6\n5\n"): "c:2: \"5\" is not input,output",
		"pairs:" + write("d", "5,0\n"):    "d:1: 0 is not between 1",
		"file:" + write("e", "\n"):        "holds no length",
		"file:" + dir:                     "no regular file",
		"file:" + dir + "/none":           "no such file",
	} {
		if _, err := ParseLengths(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestLengthsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "not a whole number",
		"0":                      "between 1",
		"-5":                     "between 1",
		"1e3":                    "not a whole number",
		"99999999999":            "between 1",
		"gauss:1,2":              `"gauss" is no distribution`,
		"uniform:5":              "not A-B",
		"uniform:9-5":            "9 is above 5",
		"uniform:a-5":            `"a"`,
		"normal:5":               "not MEAN,SD",
		"normal:5,NaN":           "not a number",
		"normal:5,1,2,3":         "not MEAN,SD",
		"normal:1000,1,1-5":      "under 1 %",
		"lognormal:0,1":          "not a number from 1",
		"lognormal:Inf,1":        "not a number",
		"zipf:1":                 "not S,MAX",
		"zipf:-1,5":              "not a number from 0",
		"zipf:1,2000000":         "above",
		"zipf:1,9-3":             "9 is above 3",
		"zipf:1,0-3":             "between 1",
		"zipf:1,99999999999":     "between 1",
		"normal:5,1,9-3":         "9 is above 3",
		"uniform:1-999999999999": "between 1",
	} {
		if _, err := ParseLengths(text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "lognormal:MEAN,SD") {
			t.Errorf("%s: %v, want %q and the forms", text, err, want)
		}
	}
}

func FuzzParseLengths(f *testing.F) {
	for _, s := range []string{"5", "uniform:1-9", "normal:5,2", "lognormal:100,30,10-200", "zipf:1.1,50", "file:x", "pairs:x", "uniform:-", "normal:,,", "zipf:,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.HasPrefix(text, "file:") || strings.HasPrefix(text, "pairs:") {
			return // what stands behind is a path of this machine
		}
		l, err := ParseLengths(text)
		if err != nil {
			return
		}
		r := rand.New(rand.NewPCG(1, 1))
		for i := range 20 {
			if n := l.draw(r, int64(i)); n < 1 || n > maxLength {
				t.Fatalf("%q drew %d", text, n)
			}
		}
	})
}
