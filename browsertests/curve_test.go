package browsertests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/curve"
	"tokentape/internal/report/html"
	"tokentape/internal/sweep"
)

// ladder is the page of a sweep of made runs: a server of eight slots, a point that
// failed, and a name that would be markup.
func ladder(t *testing.T) string {
	t.Helper()
	m := &sweep.Manifest{Kind: "sweep", Name: "<i>ladder</i>", Fields: []string{"load.concurrency"}, Prompts: "distinct"}
	var runs []curve.Result
	for _, c := range []float64{1, 2, 4, 8, 16, 32, 64} {
		p := sweep.Point{Name: fmt.Sprintf("c%g", c), At: []any{c}, State: sweep.Done, Run: fmt.Sprintf("points/c%g", c)}
		var r curve.Result
		if c == 64 {
			p.State, p.Run, p.Reason = sweep.Failed, "", "connection refused"
		} else {
			x, e, n := min(c, 8)*5, 200*max(1, c/8), int64(500)
			ci := func(v float64) [2]*float64 { return [2]*float64{new(v * 0.98), new(v * 1.03)} }
			sum := func(v float64) *analysis.Summary {
				return &analysis.Summary{N: n, Mean: &v, P50: &v, P95: new(v * 1.2), P99: new(v * 1.4), CI: map[string][2]*float64{"mean": ci(v), "p50": ci(v), "p95": ci(v * 1.2)}}
			}
			r.Res = &analysis.Results{Verdict: analysis.Verdict{Fit: c != 2, Line: "NOT fit for use: client-bound"}, Counts: analysis.Counts{OK: n}, Load: analysis.Load{Loop: "closed"}}
			r.Res.Windows = []analysis.Window{{
				Kind: "steady", From: new(1.0), To: new(9.0), Requests: &n, Metrics: map[string]*analysis.Summary{"ttft_ms": sum(e / 10), "tpot_ms": sum(e / 20), "e2e_ms": sum(e)},
				System: analysis.System{RequestsPerS: &x, OutputTokensPerS: new(10 * x), CI: map[string][2]*float64{"requests_per_s": ci(x), "output_tokens_per_s": ci(10 * x)}},
				Facts:  analysis.WindowFacts{CachedRatio: new(c / 100)},
			}}
		}
		m.Points, runs = append(m.Points, p), append(runs, r)
	}
	dir, err := os.MkdirTemp("", "tokentape-page-")
	if err != nil {
		t.Fatal(err)
	}
	tmp = append(tmp, dir)
	expected := filepath.Join(dir, "expected.csv")
	if err := os.WriteFile(expected, []byte("load.concurrency,output_tokens_per_s\n1,50\n8,500\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := curve.Of(m, runs, curve.Options{Expected: expected})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "report.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := html.WriteCurves(f, c, html.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// The page of a sweep as its reader goes through it: charts with tables behind,
// another percentile, another scale, the dark, another language, and links to the runs.
func TestCurvePage(t *testing.T) {
	b := openFile(t, ladder(t))
	charts := []string{"throughput", "per-user", "ttft-by-throughput", "ttft-by-load", "tpot-by-throughput", "tpot-by-load", "e2e-by-throughput", "e2e-by-load", "cached", "expected"}
	drawn := func(id string) {
		t.Helper()
		b.until(`(() => {
			const c = document.querySelector("#chart-` + id + ` canvas");
			c.scrollIntoView({ block: "center" });
			return c.width && c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some((v) => v > 0);
		})()`)
	}
	for _, id := range charts {
		drawn(id)
		if label := ask[string](b, `document.querySelector("#chart-`+id+` canvas").getAttribute("aria-label")`); !strings.Contains(label, "c=8") {
			t.Errorf("%s: those who cannot see it hear %q", id, label)
		}
	}
	for _, id := range []string{"queue", "slope"} {
		if !ask[bool](b, `document.querySelector("#chart-`+id+`").hidden`) {
			t.Errorf("%s: a chart of nothing is shown", id)
		}
	}
	rows := func(id string) string {
		return ask[string](b, `(() => {
			const f = document.querySelector("#chart-`+id+`"), t = f.querySelector("button[aria-expanded]");
			if (t.getAttribute("aria-expanded") === "false") t.click();
			return [...f.querySelectorAll("tbody tr")].map((r) => [...r.cells].map((c) => c.textContent).join(" ")).join("; ");
		})()`)
	}
	if got := rows("e2e-by-throughput"); !strings.HasPrefix(got, "c=1 50 240 ") || strings.Count(got, ";") != 5 {
		t.Errorf("the table behind E2E: %q", got)
	}
	b.run(chromedp.Click(`[data-quantile="p50"]`, chromedp.ByQuery))
	b.until(`document.querySelector("#chart-e2e-by-throughput .title").textContent.includes("p50")`)
	if got := rows("e2e-by-throughput"); !strings.HasPrefix(got, "c=1 50 200 ") {
		t.Errorf("the table behind E2E p50: %q", got)
	}
	// Titles name the unit of the height.
	for id, want := range map[string]string{"ttft-by-load": "TTFT p50 by load, ms", "expected": "Measured ÷ expected"} {
		if got := ask[string](b, `document.querySelector("#chart-`+id+` .title").textContent`); got != want {
			t.Errorf("%s: the title is %q", id, got)
		}
	}
	if !ask[bool](b, `document.querySelector("#log-load").checked`) {
		t.Error("a ladder of factors is not drawn by factors")
	}
	b.run(chromedp.Click("#log-load", chromedp.ByQuery), chromedp.Click("#theme", chromedp.ByQuery))
	drawn("throughput")
	if hrefs := ask[string](b, `[...document.querySelectorAll("#points tbody a")].map((a) => a.getAttribute("href")).slice(0, 2).join()`); hrefs != "points/c1/report.html#window=steady,points/c2/report.html#window=steady" {
		t.Errorf("links to runs: %s", hrefs)
	}
	for _, want := range []string{"knee at c=8", "connection refused", "Kleinrock", "client-bound"} {
		if !strings.Contains(ask[string](b, `document.querySelector("main").textContent`), want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	b.run(chromedp.Click("#lang", chromedp.ByQuery))
	b.until(`document.querySelector("#h-points").textContent === "各点" && document.querySelector("#chart-e2e-by-load .title").textContent.includes("随负载")`)
	text := ask[string](b, `document.querySelector("main").textContent`)
	for _, bad := range []string{"NaN", "undefined", "null", "[object", "c.t."} {
		if strings.Contains(text, bad) {
			t.Errorf("the page says %q", bad)
		}
	}
	if name := ask[string](b, `document.querySelector(".bar .name").textContent`); name != "<i>ladder</i>" {
		t.Errorf("the name is %q", name)
	}
	// On paper everything stands in light colours, and nothing is cut off at the side.
	b.run(chromedp.EmulateViewport(700, 900))
	if w := ask[float64](b, `document.documentElement.scrollWidth - innerWidth`); w > 0 {
		t.Errorf("the page is %g px wider than a narrow window", w)
	}
	ask[bool](b, `dispatchEvent(new Event("beforeprint")) && dispatchEvent(new Event("afterprint"))`)
}
