package html

import (
	"bytes"
	"encoding/json"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/curve"
	"tokentape/internal/analysis/window"
	"tokentape/internal/report"
	dict "tokentape/internal/report/words"
	"tokentape/internal/sweep"
)

// swept is a sweep over names that would be markup, with a point that failed.
func swept(t *testing.T) *curve.Curves {
	t.Helper()
	n := int64(500)
	run := func(x float64) *analysis.Results {
		sum := func(v float64) *analysis.Summary { return &analysis.Summary{N: n, Mean: &v, P50: &v, P95: &v, P99: &v} }
		r := &analysis.Results{Verdict: analysis.Verdict{Fit: true}, Counts: analysis.Counts{OK: n}, Load: analysis.Load{Loop: "closed"}}
		r.Windows = []analysis.Window{{
			Kind: window.KindSteady, From: new(1.0), To: new(9.0), Requests: &n, System: analysis.System{RequestsPerS: &x, OutputTokensPerS: &x},
			Metrics: map[string]*analysis.Summary{"ttft_ms": sum(x), "tpot_ms": sum(x), "e2e_ms": sum(x)},
		}}
		return r
	}
	m := &sweep.Manifest{Kind: "sweep", Name: "</script><script>alert(1)</script>", Fields: []string{"target.model"}, Prompts: "same", Points: []sweep.Point{
		{Name: "a", At: []any{"<img src=x onerror=alert(1)>"}, State: sweep.Done, Run: "points/a b"},
		{Name: "b", At: []any{"javascript:alert(1)"}, State: sweep.Done, Run: "javascript:alert(1)"},
		{Name: "c", At: []any{"c"}, State: sweep.Failed, Reason: "</script><b>"},
	}}
	c, err := curve.Of(m, []curve.Result{{Res: run(10)}, {Res: run(20)}, {}}, curve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The page of a search says what was decided, before its points.
func TestCurveSearch(t *testing.T) {
	c := swept(t)
	c.Search = []string{"8 holds", "look 1 at <b>: holds"}
	var b bytes.Buffer
	if err := WriteCurves(&b, c, Options{}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if at := strings.Index(page, "look 1 at &lt;b&gt;: holds"); at < 0 || at > strings.Index(page, `id="points"`) {
		t.Error("no look stands before the points")
	}
}

func TestCurvePage(t *testing.T) {
	for _, lang := range Languages() {
		var b bytes.Buffer
		if err := WriteCurves(&b, swept(t), Options{Lang: lang}); err != nil {
			t.Fatal(err)
		}
		page := b.String()
		if n := strings.Count(page, "<script"); n != 2 {
			t.Errorf("%d scripts, want the data and the code", n)
		}
		for _, bad := range []string{"<img", "<b>", `href="javascript:`, "http://", "https://", "<link rel=\"stylesheet\""} {
			head, _, _ := strings.Cut(page, "<script")
			if strings.Contains(head, bad) {
				t.Errorf("%s: %q is on the page", lang, bad)
			}
		}
		if !strings.Contains(page, `href="points/a%20b/report.html#window=steady"`) || !strings.Contains(page, `<html lang="`+lang+`">`) {
			t.Errorf("%s: no link to a run, or another language", lang)
		}
		data := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindStringSubmatch(page)
		var doc struct {
			Curves curve.Curves         `json:"curves"`
			Words  map[string][2]string `json:"words"`
		}
		if data == nil || json.Unmarshal([]byte(data[1]), &doc) != nil || len(doc.Curves.Points) != 3 {
			t.Fatalf("%s: the data cannot be read", lang)
		}
	}
	if WriteCurves(&bytes.Buffer{}, swept(t), Options{Lang: "fr"}) == nil {
		t.Error("a language that there is not was taken")
	}
}

// What the page says in sentences is Chinese where that is asked for, but for what came
// from outside; the English of each lies beside it, for the switch of the page.
func TestCurveChinese(t *testing.T) {
	c := swept(t)
	var b bytes.Buffer
	if err := WriteCurves(&b, c, Options{Lang: "zh"}); err != nil {
		t.Fatal(err)
	}
	page, _, _ := strings.Cut(b.String(), "<script")
	said := 0
	for _, m := range regexp.MustCompile(`<bdi lang="zh" data-en="([^"]*)" data-zh="([^"]*)">([^<]*)</bdi>`).FindAllStringSubmatch(page, -1) {
		said++
		if m[2] != m[3] || m[1] == m[2] {
			t.Errorf("%q is shown, of %q and %q", m[3], m[1], m[2])
		}
		if left := dict.English(html.UnescapeString(m[2]), c.Throughput, "Kleinrock", "Student", "Wilson", "power"); len(left) > 0 {
			t.Errorf("%q is English in %q", left, m[2])
		}
	}
	if least := 1 + len(c.Notes) + 2*len(c.Rules) + len(c.Points); said < least {
		t.Errorf("%d sentences are Chinese, want %d or more", said, least)
	}
	for _, m := range regexp.MustCompile(`<bdi lang="en">([^<]*)</bdi>`).FindAllStringSubmatch(page, -1) {
		if html.UnescapeString(m[1]) != c.Points[2].Reason {
			t.Errorf("only English: %s", m[1])
		}
	}
	for _, d := range analysis.Definitions() {
		if d.Kind == "point" && report.Chinese(d.Definition) == d.Definition {
			t.Errorf("%s: no Chinese for its definition", d.Name)
		}
	}
}

// Every word that the page and its script ask for exists, in both languages, and none
// lies about.
func TestCurveWords(t *testing.T) {
	script, err := files.ReadFile("js/curve.js")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("curve.go")
	if err != nil {
		t.Fatal(err)
	}
	text := curvePage + curveComparePage + string(script) + string(source)
	asked := map[string]bool{}
	for _, m := range regexp.MustCompile(`["'](c\.[a-z.]+)["']`).FindAllStringSubmatch(text, -1) {
		asked[m[1]] = true
	}
	for _, made := range []string{"c.sweep", "c.search", "c.distinct", "c.same", "c.stable", "c.unstable", "c.undecided", "c.t.cached", "c.t.queue", "c.t.slope"} {
		asked[made] = true
	}
	words := curveWords()
	for key := range asked {
		if w, ok := words[key]; !strings.HasSuffix(key, ".") && (!ok || w[0] == "" || w[1] == "") {
			t.Errorf("%s: no word", key)
		}
	}
	for key := range words {
		if strings.HasPrefix(key, "c.") && !asked[key] {
			t.Errorf("%s: nobody says it", key)
		}
	}
}
