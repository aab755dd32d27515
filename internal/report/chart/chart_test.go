package chart

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tokentape/internal/analysis"
	"tokentape/internal/report/html"
)

func load(t testing.TB) *analysis.Results {
	t.Helper()
	r, err := analysis.AnalyseFile(filepath.Join("..", "..", "docstest", "testdata", "load.jsonl.zst"), analysis.Options{Charts: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// elements are those that a picture may hold, and their attributes.
var elements = map[string]string{
	"svg": "xmlns width height viewBox font-family font-size role", "title": "", "desc": "", "g": "transform clip-path", "clipPath": "id",
	"path": "d fill fill-opacity stroke stroke-opacity stroke-width stroke-dasharray opacity",
	"rect": "x y width height fill fill-opacity opacity", "text": "x y dy text-anchor fill fill-opacity font-weight opacity",
}

var (
	notNumber = regexp.MustCompile(`NaN|Inf|undefined`)
	numeric   = regexp.MustCompile(`^(x|y|width|height|opacity|fill-opacity|stroke-width)$`)
)

// sound fails unless a picture is XML of nothing but shapes and text, with numbers for
// numbers. It gives the text of each element.
func sound(t testing.TB, svg []byte) (texts []string) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	d.Strict = true
	first := true
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return texts
		}
		if err != nil {
			t.Fatalf("%v in %.300s", err, svg)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			allowed, ok := elements[tok.Name.Local]
			if !ok || first != (tok.Name.Local == "svg") {
				t.Fatalf("element %s", tok.Name.Local)
			}
			first = false
			for _, a := range tok.Attr {
				if !strings.Contains(" "+allowed+" ", " "+a.Name.Local+" ") {
					t.Fatalf("attribute %s of %s", a.Name.Local, tok.Name.Local)
				}
				if notNumber.MatchString(a.Value) {
					t.Fatalf("%s=%q", a.Name.Local, a.Value)
				}
				if f, err := strconv.ParseFloat(strings.TrimSuffix(a.Value, "%"), 64); numeric.MatchString(a.Name.Local) && (err != nil || (a.Name.Local == "width" || a.Name.Local == "height") && f < 0) {
					t.Fatalf("%s=%q", a.Name.Local, a.Value)
				}
			}
		case xml.CharData:
			texts = append(texts, string(tok))
		}
	}
}

// Every chart of a run is a sound picture, small, named once, described, and the same
// bytes again; in both languages, light and dark, of any size.
func TestPictures(t *testing.T) {
	r := load(t)
	for _, lang := range html.Languages() {
		all, err := All(r, lang)
		if err != nil {
			t.Fatal(err)
		}
		again, err := All(r, lang)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) < 15 {
			t.Errorf("%d charts", len(all))
		}
		seen := map[string]bool{}
		for i, c := range all {
			if seen[c.ID] || c.ID == "" || c.ID == "list" {
				t.Errorf("chart %q, twice or without a name", c.ID)
			}
			seen[c.ID] = true
			for _, o := range []Options{{}, {Dark: true}, {Width: LeastWidth, Height: LeastHeight}, {Width: MostWidth, Height: MostHeight}} {
				svg, err := c.SVG(o)
				if err != nil {
					t.Fatal(err)
				}
				same, _ := again[i].SVG(o)
				if !bytes.Equal(svg, same) {
					t.Errorf("%s: not the same bytes again", c.ID)
				}
				texts := sound(t, svg)
				if len(texts) < 3 || texts[0] != c.Title || texts[1] == "" {
					t.Errorf("%s: title and description %q", c.ID, texts[:2])
				}
				if strings.Contains(string(svg), "#ffffff") == o.Dark {
					t.Errorf("%s: dark %v, and the ground is not", c.ID, o.Dark)
				}
				if o == (Options{}) && len(svg) > 120_000 {
					t.Errorf("%s: %d bytes", c.ID, len(svg))
				}
			}
		}
	}
}

// Whatever a run says of itself becomes text, and valid XML.
func TestAnyText(t *testing.T) {
	r := load(t)
	r.Rows = analysis.Rows{}
	for _, s := range []string{"</title><script>alert(1)</script>", "\x00\x1b[31m\ufffe\uffff\xff", "]]>&amp;\"'", "\u202eabc 你好 🤖", strings.Repeat("长", 50_000)} {
		for i := range r.Windows {
			r.Windows[i].Kind = s
		}
		r.Server = &analysis.Server{Lines: []analysis.ServerLine{{Source: s, Name: "running", Unit: s, T: []float64{1, 2}, Value: []float64{3, 4}}}}
		all, err := All(r, "en")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			svg, err := c.SVG(Options{})
			if err != nil {
				t.Fatal(err)
			}
			sound(t, svg)
		}
	}
}

// esc makes XML of any bytes, and changes nothing else.
func TestEsc(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		var back struct {
			Text string `xml:",chardata"`
		}
		if err := xml.Unmarshal([]byte("<t>"+esc(s)+"</t>"), &back); err != nil {
			t.Fatal(err)
		}
		// A reader of XML makes \n of \r.
		want := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.Map(func(r rune) rune {
			if r < 0x20 && !strings.ContainsRune("\t\n\r", r) || r == 0xfffe || r == 0xffff {
				return 0xfffd
			}
			return r
		}, strings.ToValidUTF8(s, "\ufffd")))
		if back.Text != want {
			t.Fatalf("%q, want %q", back.Text, want)
		}
	})
}

// A run of which nothing is known has no charts, and one with a NaN is refused.
func TestNothing(t *testing.T) {
	all, err := All(&analysis.Results{}, "en")
	if err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	r := load(t)
	nan := math.NaN()
	r.Windows[0].System.RequestsPerS = &nan
	if _, err := All(r, "en"); err == nil {
		t.Error("no error for a NaN")
	}
	for _, o := range []Options{{Width: LeastWidth - 1}, {Width: MostWidth + 1}, {Height: -1}, {Height: MostHeight + 1}} {
		if _, err := (&Chart{}).SVG(o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

// Numbers are written as JavaScript writes them.
func TestFormat(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		// (0.125).toFixed(2) and its like lie exactly in the middle.
		{n(0.125), "0.13"}, {n(0.375), "0.38"}, {n(-0.125), "-0.13"}, {n(1.005), "1"}, {n(-0.001), "0"}, {n(2.5), "2.5"}, {n(1e9 + 0.625), "1000000000.63"},
		{text(toPrecision(112.25, 4)), "112.3"}, {text(toPrecision(0.00015, 2)), "0.00015"}, {text(toPrecision(999.96, 4)), "1000"}, {text(toPrecision(0, 4)), "0"},
		{text(1e21), "1e+21"}, {text(1e-7), "1e-7"}, {text(1.5e-10), "1.5e-10"}, {text(123456), "123456"}, {text(math.Copysign(0, -1)), "0"},
		{tick(1234), "1,234"}, {tick(12_000), "12k"}, {tick(35e6), "35M"}, {tick(2e9), "2G"}, {tick(0.25), "0.25"}, {tick(0), "0"},
		{num(math.NaN()), "–"}, {num(1234.5), "1,234"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	if got := ticks(0, 1, 5); len(got) != 6 || got[3] != 0.6 {
		t.Errorf("ticks %v", got)
	}
	if got := logTicks(1, 1000, 5); len(got) != 10 || got[0] != 1 || got[9] != 1000 {
		t.Errorf("logTicks %v", got)
	}
}

// What is drawn of buckets are steps over their own extent: the first from where it
// begins, the last to where it ends, and no line between two of them but upright.
func TestSteps(t *testing.T) {
	c := newPen(600, 200)
	g := &grid{From: 0, Step: 1, N: 3, Start: -0.25, To: 3.5}
	s := series{color: "blue", kind: "step", grid: g, values: []float64{1, 4, 2}}
	drawTime(c, 600, 200, []series{s}, nil, [2]float64{-1, 4}, nil, light)
	f := newFrame(newPen(600, 200), 600, 200, axes{x: [2]float64{-1, 4}, y: [2]float64{0, 4.32}}, light)
	m := regexp.MustCompile(`d="(M[^"]*)" fill="none" stroke="` + light["blue"]).FindStringSubmatch(string(c.svg("", "", "#fff")))
	if m == nil {
		t.Fatal("no line")
	}
	var xs, ys []float64
	for _, p := range regexp.MustCompile(`[ML]([-\d.]+) ([-\d.]+)`).FindAllStringSubmatch(m[1], -1) {
		x, _ := strconv.ParseFloat(p[1], 64)
		y, _ := strconv.ParseFloat(p[2], 64)
		xs, ys = append(xs, x), append(ys, y)
	}
	want := []float64{-0.25, 1, 1, 2, 2, 3.5}
	for i := range want {
		if len(xs) != len(want) || math.Abs(xs[i]-f.x.at(want[i])) > 0.01 {
			t.Fatalf("steps at %v, want %v", xs, want)
		}
		if i > 0 && math.Abs(xs[i]-xs[i-1]) > 0.01 && ys[i] != ys[i-1] {
			t.Errorf("a slope from %v to %v", xs[i-1], xs[i])
		}
	}
	if a, b := visible(g, [2]float64{3.2, 3.4}); a != 2 || b != 3 {
		t.Errorf("in the longer last bucket [%d, %d) are visible", a, b)
	}
}

// A request's line begins when it is due: first what it waited for a slot, then what it
// waited for the client.
func TestFallFromDue(t *testing.T) {
	sec := func(v float64) *float64 { return &v }
	r := &analysis.Results{Rows: analysis.RowsOf([]analysis.Row{{
		Phase: "measure", Outcome: "ok", DueS: sec(1), ReadyS: sec(3), ReleasedS: sec(4), SlotWaitMS: sec(2000), PacerLagMS: sec(1000), TTFTMS: sec(1000), E2EMS: sec(2000), StreamEndMS: sec(2000),
	}})}
	d, err := read(r, "en")
	if err != nil {
		t.Fatal(err)
	}
	f := newFall(d)
	if !f.has("wait") || !f.has("lag") || f.begin[0] != 1 {
		t.Fatalf("begins at %v", f.begin)
	}
	c := newPen(1000, 100)
	f.draw(c, 1000, 100, [2]float64{0, 8}, nil, light)
	at := newFrame(newPen(1000, 100), 1000, 100, axes{x: [2]float64{0, 8}, y: [2]float64{1, 0}, noY: true}, light).x.at
	for kind, span := range map[string][2]float64{"wait": {1, 3}, "lag": {3, 4}, "prefill": {4, 5}, "decode": {5, 6}} {
		m := regexp.MustCompile(`<rect x="([\d.]+)"[^>]* width="([\d.]+)"[^>]*fill="` + light[fallColors[kind]] + `"`).FindStringSubmatch(string(c.svg("", "", "#fff")))
		if m == nil {
			t.Errorf("no bar %s", kind)
			continue
		}
		x, _ := strconv.ParseFloat(m[1], 64)
		w, _ := strconv.ParseFloat(m[2], 64)
		if math.Abs(x-at(span[0])) > 0.02 || math.Abs(x+w-at(span[1])) > 0.03 {
			t.Errorf("%s is drawn from %v to %v, want %v", kind, x, x+w, span)
		}
	}
}

// TestUnit: a unit is on every axis that has one, and no number runs into it.
func TestUnit(t *testing.T) {
	number := regexp.MustCompile(`<text x="([\d.]+)" y="([\d.]+)"[^>]*text-anchor="middle"[^>]*>([^<]*)<`)
	for _, unit := range []string{"s", "ms", "tokens", "load.concurrency"} {
		for w := 240.0; w < 1000; w += 37 {
			for _, x := range [][2]float64{{0, 16}, {0.0001, 0.13}, {126.5, 126.50001}, {1, 200000}} {
				c := newPen(w, 190)
				newFrame(c, w, 190, axes{x: around(x[0], x[1]), y: [2]float64{0, 1}, xUnit: unit}, light)
				out := c.out.String()
				at := regexp.MustCompile(`y="([\d.]+)"[^>]*>` + unit + `<`).FindStringSubmatch(out)
				if at == nil {
					t.Fatalf("%v px, %v: no %s", w, x, unit)
				}
				last := ""
				for _, m := range number.FindAllStringSubmatch(out, -1) {
					if m[3] == last {
						t.Errorf("%v px, %v: %s twice", w, x, last)
					}
					last = m[3]
					mid, _ := strconv.ParseFloat(m[1], 64)
					if m[2] == at[1] && mid+wide(m[3])/2 > w-2-wide(unit) {
						t.Errorf("%v px, %v: %s is on %s", w, x, m[3], unit)
					}
				}
			}
		}
	}
}

// TestCloudFromZero: tokens have no axis below 0.
func TestCloudFromZero(t *testing.T) {
	c := newPen(400, 220)
	drawCloud(c, 400, 220, &points{[]float64{0, 0}, []float64{3, 4}}, "tokens", "green", light)
	if out := c.out.String(); strings.Contains(out, ">-") {
		t.Errorf("numbers below 0 in %s", out)
	}
}
