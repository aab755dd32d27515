package html

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tokentape/internal/analysis"
)

func render(t testing.TB, r *analysis.Results, lang string) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, r, Options{Lang: lang}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// filled are Results whose every text is s and every number 1, one deep of each list.
func filled(s string) *analysis.Results {
	r := new(analysis.Results)
	fill(reflect.ValueOf(r).Elem(), s, 0)
	r.Rows = analysis.RowsOf([]analysis.Row{{Seq: 1, Phase: "measure", Outcome: s, Message: s, Finish: s, Cause: s, Session: s, Flags: []string{s}, Windows: []string{s}}})
	if r.Server != nil {
		r.Server.Points = analysis.ServerPoints{}
	}
	return r
}

func fill(v reflect.Value, s string, depth int) {
	if depth > 9 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), s, depth+1)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			text, _ := json.Marshal(map[string]string{"s": s})
			v.SetBytes(text)
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), s, depth+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		k, x := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(k, s, depth+1)
		fill(x, s, depth+1)
		v.SetMapIndex(k, x)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), s, depth+1)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), s, depth+1)
		}
	}
}

// tags are all elements of a page with their attributes' names, in order: what text from
// outside must not change.
var (
	element = regexp.MustCompile(`<[!/?a-zA-Z][^>]*>`)
	quoted  = regexp.MustCompile(`"[^"]*"`)
)

func tags(page string) string {
	var out []string
	for _, tag := range element.FindAllString(page, -1) {
		out = append(out, quoted.ReplaceAllString(tag, `""`))
	}
	return strings.Join(out, "\n")
}

// body is a page without its data and code.
func body(page string) string {
	head, _, _ := strings.Cut(page, `<script type="application/octet-stream" id="data">`)
	_, head, _ = strings.Cut(head, "</style>")
	return head
}

// Text from outside is text wherever it stands: the elements of the page are those of the
// same page with harmless text.
func TestEscaping(t *testing.T) {
	want := tags(body(render(t, filled("harmless"), "en")))
	for _, s := range hostile {
		for _, lang := range Languages() {
			got := tags(body(render(t, filled(s), lang)))
			if want := strings.ReplaceAll(want, `lang="en"`, `lang="`+lang+`"`); got != want {
				t.Errorf("%q changes the page: %s", s, firstDifference(got, want))
			}
		}
	}
}

var hostile = []string{
	`</script><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, "`${alert(1)}`", `{{.}}`, `<!--`, `-->`, `]]>`, `</style>`, `</bdi></main>`,
	"\u202e\u2066 שלום 你好 👩‍👩‍👧", "\x00\x1b[31m\xff\xfe", `javascript:alert(1)`, `&lt;b&gt;`, strings.Repeat("<b>", 200),
}

// A megabyte of text is cut where a row has no room for it, and harms nothing.
func TestLongText(t *testing.T) {
	r := filled("x")
	long := strings.Repeat("<b>長", 200_000)
	r.Name, r.About.Model = long, long
	r.Rows = analysis.RowsOf([]analysis.Row{{Outcome: "reset", Message: long}})
	page := render(t, r, "en")
	if got := tags(body(page)); got != tags(body(render(t, filled("x"), "en"))) {
		t.Error("it changes the page")
	}
	if n := len(page); n > 20_000_000 {
		t.Errorf("page of %d bytes", n)
	}
	if got := clip(long); len([]rune(got)) > messageChars+1 {
		t.Errorf("a message of %d characters", len([]rune(got)))
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("element %d is %.200s, want %.200s", i, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d elements, want %d", len(x), len(y))
}

func FuzzPage(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	of := func(t testing.TB, s string) string {
		var b strings.Builder
		if err := front(&b, filled(s), "en", nil); err != nil {
			t.Fatal(err)
		}
		return tags(body(b.String()))
	}
	want := of(f, "harmless")
	f.Fuzz(func(t *testing.T, s string) {
		if s == "" || len(s) > 1000 || emptied(s) {
			t.Skip() // an empty text leaves its element out
		}
		if got := of(t, s); got != want {
			t.Errorf("%q changes the page: %s", s, firstDifference(got, want))
		}
	})
}

// emptied are texts of which the view leaves something out: what the heading says, names
// that it knows.
func emptied(s string) bool {
	low := strings.ToLower(s)
	if strings.TrimSpace(low) == "nothing" || strings.HasPrefix(low, "fit for use") || strings.HasPrefix(low, "not fit for use") || strings.HasPrefix(s, ".") || strings.Trim(s, "Z") == "" {
		return true
	}
	for _, word := range []string{"pass", "miss", "fail", "steady", "stable", "whole", "not_observed"} {
		if s == word {
			return true
		}
	}
	return regexp.MustCompile(`^(ttft|tpot|itl|e2e|ttfo|stream_end|slot_wait|pacer_lag|input_tokens|output_tokens|cached_tokens)`).MatchString(s)
}

// unpack reads a document as data.js does.
func unpack(t *testing.T, doc []byte) (head, map[string][]*float64) {
	t.Helper()
	raw, err := io.ReadAll(flate.NewReader(bytes.NewReader(doc)))
	if err != nil {
		t.Fatal(err)
	}
	if string(raw[:4]) != "TTPG" {
		t.Fatalf("%q", raw[:4])
	}
	n := binary.LittleEndian.Uint32(raw[4:])
	var h head
	if err := json.Unmarshal(raw[8:8+n], &h); err != nil {
		t.Fatal(err)
	}
	raw = raw[8+n:]
	cols, ints := map[string][]*float64{}, map[string][]int64{}
	for _, c := range h.Columns {
		out, held := make([]*float64, c.Rows), make([]int64, c.Rows)
		last := int64(0)
		for i := range c.Rows {
			u := uint64(0)
			for k := range c.Planes {
				u |= uint64(raw[k*c.Rows+i]) << (8 * k)
			}
			if u == 0 {
				held[i] = absentValue
				continue
			}
			u--
			v := int64(u>>1) ^ -int64(u&1)
			switch {
			case c.Delta:
				v += last
				last = v
			case c.Base != "" && ints[c.Base][i] != absentValue:
				v += ints[c.Base][i]
			}
			held[i] = v
			x := float64(v) / float64(c.Per)
			out[i] = &x
		}
		raw = raw[c.Planes*c.Rows:]
		cols[c.Name], ints[c.Name] = out, held
	}
	if len(raw) != 0 {
		t.Errorf("%d bytes of no column", len(raw))
	}
	return h, cols
}

// Rows come back from the document as they went in, to a microsecond.
func TestDocument(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		opt := func(name string) *float64 {
			if rapid.Bool().Draw(rt, name+"?") {
				return nil
			}
			v := rapid.Float64Range(-10, 1e7).Draw(rt, name)
			return &v
		}
		count := func(name string) *int64 {
			if rapid.Bool().Draw(rt, name+"?") {
				return nil
			}
			v := rapid.Int64Range(0, 1e9).Draw(rt, name)
			return &v
		}
		var rows []analysis.Row
		for range rapid.IntRange(0, 20).Draw(rt, "rows") {
			rows = append(rows, analysis.Row{
				Seq: rapid.Int64Range(0, 1<<41).Draw(rt, "seq"), Phase: "measure", Outcome: rapid.SampledFrom([]string{"ok", "reset", "timeout"}).Draw(rt, "outcome"),
				ReleasedS: opt("released"), TTFTMS: opt("ttft"), TTFTDueMS: opt("ttft due"), E2EMS: opt("e2e"), E2EDueMS: opt("e2e due"), StreamEndMS: opt("end"), TPOTMS: opt("tpot"),
				Input: count("input"), Output: count("output"),
			})
		}
		var b bytes.Buffer
		if err := Document(&b, &analysis.Results{Rows: analysis.RowsOf(rows)}, "en"); err != nil {
			rt.Fatal(err)
		}
		h, cols := unpack(t, b.Bytes())
		if h.Rows != len(rows) {
			rt.Fatalf("%d rows", h.Rows)
		}
		for i := range rows {
			r := &rows[i]
			check := func(name string, want *float64, within float64) {
				var got *float64
				if c := cols[name]; c != nil {
					got = c[i]
				}
				if (got == nil) != (want == nil) || want != nil && math.Abs(*got-*want) > within {
					rt.Fatalf("row %d: %s is %v, want %v", i, name, got, want)
				}
			}
			whole := func(v *int64) *float64 {
				if v == nil {
					return nil
				}
				f := float64(*v)
				return &f
			}
			check("seq", whole(&r.Seq), 0)
			check("released", r.ReleasedS, 5.1e-7)
			for name, v := range map[string]*float64{"ttft_ms": r.TTFTMS, "ttft_from_due_ms": r.TTFTDueMS, "e2e_ms": r.E2EMS, "e2e_from_due_ms": r.E2EDueMS, "stream_end_ms": r.StreamEndMS, "tpot_ms": r.TPOTMS} {
				check(name, v, 5.1e-4)
			}
			check("input", whole(r.Input), 0)
			check("output", whole(r.Output), 0)
		}
	})
}

// What is no number goes into no page.
func TestNotFinite(t *testing.T) {
	r := filled("x")
	r.Load.CPUMean = new(math.NaN())
	if err := Write(io.Discard, r, Options{}); err == nil {
		t.Error("a NaN passed")
	}
	if err := Write(io.Discard, filled("x"), Options{Lang: "fr"}); err == nil {
		t.Error("a language that is none passed")
	}
}

// The policy of the page allows its own code and style, and nothing of the network; no
// source names an address but that of SVG.
func TestNoNetwork(t *testing.T) {
	page := render(t, filled("x"), "en")
	m := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("no policy")
	}
	policy := strings.NewReplacer("&#39;", "'", "&#43;", "+").Replace(m[1])
	script, err := code()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"default-src 'none'", "script-src " + source(script), "form-action 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %s lacks %s", policy, want)
		}
	}
	if strings.Contains(policy, "http") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy allows too much: %s", policy)
	}
	if bytes.Contains(bytes.ToLower(script), []byte("</script")) || bytes.Contains(script, []byte("<!--")) {
		t.Error("the code would end its element")
	}
	for _, name := range append([]string{"page.html", "page.css"}, prefixed("js/", scripts)...) {
		text, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, url := range regexp.MustCompile(`(?i)(https?:)?//[a-z0-9-]+\.[a-z]+[^\s"']*|@import`).FindAllString(string(text), -1) {
			if url != "http://www.w3.org/2000/svg" {
				t.Errorf("%s names %s", name, url)
			}
		}
		if strings.HasPrefix(name, "js/") {
			if bad := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\bfetch\(|XMLHttpRequest|WebSocket|localStorage|sessionStorage|indexedDB`).FindString(string(text)); bad != "" {
				t.Errorf("%s uses %s", name, bad)
			}
		}
	}
}

func prefixed(p string, names []string) []string {
	var out []string
	for _, n := range names {
		out = append(out, p+n)
	}
	return out
}

// Every word that the page asks for is there in both languages, and none is there for
// nothing.
func TestWords(t *testing.T) {
	var all strings.Builder
	asked := map[string]bool{}
	for _, name := range append([]string{"page.html"}, prefixed("js/", scripts)...) {
		text, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
		for _, re := range []string{`\{\{t "([^"]+)"\}\}`, `\{\{word "([^"]+)"\}\}`, `\bsay\("([^"]+)"`, `\bword\("([^"]+)"\)`} {
			for _, m := range regexp.MustCompile(re).FindAllStringSubmatch(string(text), -1) {
				asked[m[1]] = true
			}
		}
	}
	d := dictionary()
	for key := range asked {
		if strings.HasSuffix(key, ".") { // the first half of one
			continue
		}
		if _, ok := d[key]; !ok {
			t.Errorf("no word for %q", key)
		}
	}
	for key, w := range d {
		if w[1] == "" || w[0] == "" && !strings.HasPrefix(key, "d.") {
			t.Errorf("%q: %q", key, w)
		}
	}
	for _, m := range analysis.MetricDefinitions() {
		if _, ok := d["d."+m.Name]; !ok {
			t.Errorf("no Chinese definition of %s", m.Name)
		}
	}
}

// Text keeps a contrast of 4.5 to what it stands on, lines of charts one of 3, light and
// dark (WCAG 2 AA).
func TestContrast(t *testing.T) {
	css, _ := files.ReadFile("page.css")
	for name, re := range map[string]string{"light": `(?s):root \{(.*?)\n\}`, "dark": `(?s):root\[data-theme="dark"\] \{(.*?)\n\}`} {
		m := regexp.MustCompile(re).FindSubmatch(css)
		colors := map[string]string{}
		for _, c := range regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]+)`).FindAllStringSubmatch(string(m[1]), -1) {
			colors[c[1]] = c[2]
		}
		for _, pair := range [][2]string{{"text", "paper"}, {"faint", "paper"}, {"faint", "raised"}, {"link", "paper"}, {"good", "paper"}, {"bad", "paper"}, {"warn", "paper"}, {"good", "good-soft"}, {"bad", "bad-soft"}, {"warn", "bad-soft"}, {"warn", "good-soft"}, {"text", "bad-soft"}, {"faint", "bad-soft"}, {"faint", "good-soft"}, {"text", "mark"}, {"bad", "mark"}, {"paper", "text"}} {
			if c := contrast(t, colors[pair[0]], colors[pair[1]]); c < 4.5 {
				t.Errorf("%s: %s on %s has a contrast of %.2f", name, pair[0], pair[1], c)
			}
		}
		js := regexp.MustCompile(`(?s)  ` + name + `: \{(.*?)\n  \},`).FindSubmatch(Drawing())
		inks := map[string]string{}
		for _, c := range regexp.MustCompile(`([a-z]+): "(#[0-9a-f]+)"`).FindAllStringSubmatch(string(js[1]), -1) {
			inks[c[1]] = c[2]
		}
		for _, ink := range []string{"blue", "orange", "green", "purple", "sky", "yellow", "grey", "red", "brown", "black"} {
			if c := contrast(t, inks[ink], inks["paper"]); c < 3 {
				t.Errorf("%s: %s of charts has a contrast of %.2f", name, ink, c)
			}
		}
		if inks["paper"] != colors["paper"] && inks["paper"] != "#ffffff" {
			t.Errorf("%s: charts are drawn for %s, the page is %s", name, inks["paper"], colors["paper"])
		}
		for _, ink := range []string{"text", "faint"} {
			if c := contrast(t, inks[ink], inks["paper"]); c < 4.5 {
				t.Errorf("%s: %s of charts has a contrast of %.2f", name, ink, c)
			}
		}
	}
}

// contrast is the ratio of WCAG 2.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	lum := func(hex string) float64 {
		hex = strings.TrimPrefix(hex, "#")
		if len(hex) == 3 {
			hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
		}
		v, err := strconv.ParseUint(hex, 16, 32)
		if err != nil || len(hex) != 6 {
			t.Fatalf("colour %q", hex)
		}
		part := func(shift int) float64 {
			c := float64(v>>shift&255) / 255
			if c <= 0.03928 {
				return c / 12.92
			}
			return math.Pow((c+0.055)/1.055, 2.4)
		}
		return 0.2126*part(16) + 0.7152*part(8) + 0.0722*part(0)
	}
	x, y := lum(a), lum(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// data is the document in a page.
func data(t *testing.T, page string) []byte {
	t.Helper()
	_, rest, ok := strings.Cut(page, `<script type="application/octet-stream" id="data">`)
	text, _, ok2 := strings.Cut(rest, "</script>")
	if !ok || !ok2 {
		t.Fatal("no data")
	}
	doc, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// The data of a page is base64 and nothing else.
func TestDataElement(t *testing.T) {
	h, _ := unpack(t, data(t, render(t, filled(`</script>`), "zh")))
	if h.Schema != DocumentSchema || h.Lang != "zh" {
		t.Errorf("%s %s", h.Schema, h.Lang)
	}
}

// What a run does not have is said not to be observed, and why; no unit and no row of
// dashes stands for it.
func TestAbsentCards(t *testing.T) {
	from, to, n := 0., 10., int64(5)
	r := &analysis.Results{Windows: []analysis.Window{{Kind: "whole", From: &from, To: &to, Requests: &n, Metrics: map[string]*analysis.Summary{
		"ttft_ms": {Unit: "ms", Warnings: []string{"no request of the window has one (aisbench did not record what an event carried)"}},
	}}}}
	r.Load.Loop = "open"
	for lang, want := range map[string]string{"en": "not observed", "zh": "未观测到"} {
		page := body(render(t, r, lang))
		card := regexp.MustCompile(`(?s)<div class="card">\s*<h3><button[^>]*data-def="ttft_ms".*?</div>`).FindString(page)
		if !strings.Contains(card, want) || !strings.Contains(card, "did not record") || strings.Contains(card, "<dl>") || strings.Contains(card, "–") {
			t.Errorf("%s: the card is %s", lang, card)
		}
		if strings.Contains(page, "– + –") || !strings.Contains(page, `data-t="loop.open"`) {
			t.Errorf("%s: connections or the loop have no word", lang)
		}
	}
}

// Advice is folded to a line each, and leads to the failures where it speaks of them;
// statistics and titles of the Chinese page are Chinese.
func TestFirstScreen(t *testing.T) {
	from, to, n, p := 0., 10., int64(5), 3.
	s := &analysis.Summary{N: 5, Unit: "ms", Mean: &p, P50: &p, P99: &p}
	r := &analysis.Results{Windows: []analysis.Window{{Kind: "whole", From: &from, To: &to, Requests: &n, Metrics: map[string]*analysis.Summary{"ttft_ms": s, "ttft_from_due_ms": s}}}}
	r.Verdict.Checks = []analysis.Check{
		{Name: "failures", Severity: "fail", Result: "miss", Why: "3 failed", Do: "see the message of each class; limits.failed_share sets what is accepted"},
		{Name: "other", Severity: "note", Result: "miss", Why: "why", Do: "do this"},
	}
	page := body(render(t, r, "zh"))
	if got := regexp.MustCompile(`<details><summary><span class="tag">`).FindAllString(page, -1); len(got) != 2 {
		t.Errorf("%d folded", len(got))
	}
	if got := regexp.MustCompile(`<p class="do">→ <a href="#failures">`).FindAllString(page, -1); len(got) != 1 {
		t.Errorf("%d lead to the failures", len(got))
	}
	if !regexp.MustCompile(`(?s)<nav class="jump".*?href="#failures".*?</nav>`).MatchString(page) {
		t.Error("no jump to the failures")
	}
	side := regexp.MustCompile(`(?s)<table class="side">.*?</table>`).FindString(page)
	if !strings.Contains(side, `>均值<`) || !strings.Contains(side, `自计划时刻的 TTFT`) || strings.Contains(side, `>mean<`) {
		t.Errorf("%s", side)
	}
}

// The page can say where the time before a send went, request by request.
func TestRowsFromDue(t *testing.T) {
	at := func(v float64) *float64 { return &v }
	var b bytes.Buffer
	if err := Document(&b, &analysis.Results{Rows: analysis.RowsOf([]analysis.Row{{DueS: at(1), ReadyS: at(2.5), ReleasedS: at(2.501), SlotWaitMS: at(1500), PacerLagMS: at(1.2), TTFTDueMS: at(1700)}})}, "en"); err != nil {
		t.Fatal(err)
	}
	_, cols := unpack(t, b.Bytes())
	for name, want := range map[string]float64{"due": 1, "ready": 2.5, "released": 2.501, "slot_wait": 1500, "pacer_lag": 1.2, "ttft_from_due_ms": 1700} {
		if c := cols[name]; c == nil || c[0] == nil || math.Abs(*c[0]-want) > 1e-6 {
			t.Errorf("%s: %v", name, c)
		}
	}
	text, err := files.ReadFile("js/rows.js")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`const rowFields = \[(.*?)\]`).FindSubmatch(text)
	for _, f := range []string{"due", "slot_wait", "pacer_lag", "ttft_from_due_ms"} {
		if !bytes.Contains(shown[1], []byte(`"`+f+`"`)) {
			t.Errorf("the table of rows lacks %s", f)
		}
	}
}

// TestUnseen: what was not observed says why, and an imported run that it is one.
func TestUnseen(t *testing.T) {
	r := filled("x")
	r.Imported, r.Load.Loop = "aisbench", ""
	w := &r.Windows[0]
	w.System = analysis.System{}
	w.Warnings = []string{"no rates: 3 service times, 10 wanted"}
	w.Metrics["ttft_ms"] = &analysis.Summary{}
	text := body(render(t, r, "en"))
	for _, want := range []string{`imported from</span> <bdi>aisbench</bdi>`, `<p class="ci" lang="en">3 service times, 10 wanted</p>`, `<p class="ci" lang="en">` + noneOK, `loop</span></dt><dd><span data-t="not_observed">`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
}
