package browsertests

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tokentape/browsertests/fixture"
	"tokentape/internal/analysis"
	"tokentape/internal/report"
	"tokentape/internal/view"
	"tokentape/tape"
)

// folder writes runs of some shapes as tokentape does, one of them without its reports,
// and a tape that is broken.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	slow := fixture.Ordinary(300)
	slow.Name, slow.Rate, slow.Tokens = "slower", 8, 96
	bare := fixture.Ordinary(120)
	bare.Name = "killed"
	for rel, s := range map[string]fixture.Shape{"ordinary/1": fixture.Ordinary(400), "slower/1": slow, "killed/1": bare, "hostile/1": fixture.Hostile()} {
		at := filepath.Join(dir, rel)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(at, tape.NameCompressed)
		w, err := tape.Create(path, true)
		if err != nil {
			t.Fatal(err)
		}
		for src := s.Source(); ; {
			rec, err := src.Next()
			if err != nil {
				break
			}
			if err := w.Write(rec); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if s.Name == "killed" {
			continue
		}
		res, err := analysis.AnalyseFile(path, analysis.Options{NoCI: true})
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(filepath.Join(at, "results.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := report.JSON(f, res); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "cut"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cut", tape.NamePlain), []byte(`{"type":"head`), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// arrive is until over a change of pages: one that goes takes the question with it.
func (t *tab) arrive(js string) {
	t.tb.Helper()
	for {
		var yes bool
		err := chromedp.Run(t.ctx, chromedp.Evaluate("!!("+js+")", &yes))
		switch {
		case yes:
			return
		case t.ctx.Err() != nil:
			t.tb.Fatalf("%s: %v (last: %v)", js, t.ctx.Err(), err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// The folder of runs as its user goes through it: list, sort, filter, open, compare, and
// in another language. Every request goes to the page's own server.
func TestView(t *testing.T) {
	s, err := view.New(view.Options{Dir: folder(t)})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	b := blank(t)
	b.allow = srv.URL + "/"
	t.Cleanup(func() { srv.Close(); s.Close() })
	b.run(chromedp.Navigate(srv.URL), chromedp.WaitReady("html[data-ready]", chromedp.ByQuery))
	b.until(`document.querySelectorAll("#runs tbody tr").length === 5`)
	names := `[...document.querySelectorAll("#runs tbody tr")].map(r => r.querySelector("a.name, span.name").textContent).join()`
	shown := func(want string) {
		t.Helper()
		b.until(names + ` === ` + "`" + strings.ReplaceAll(want, "`", "") + "`")
	}
	row := func(name string) string {
		return "[...document.querySelectorAll('#runs tbody tr')].find(r => r.querySelector('a.name')?.textContent === '" + name + "')"
	}
	text := ask[string](b, `document.querySelector("main").textContent`)
	for _, bad := range []string{"NaN", "undefined", "null", "[object"} {
		if strings.Contains(text, bad) {
			t.Errorf("the list says %q: %s", bad, text)
		}
	}
	if got := ask[string](b, `String(window.pwned)`); got != "undefined" {
		t.Fatalf("script from outside ran: %s", got)
	}
	b.until(`document.querySelector('tr[data-state="broken"]').textContent.includes("torn") || document.querySelector('tr[data-state="broken"] small[title]').title !== ""`)
	// Filters, and what they say when nothing matches.
	b.run(chromedp.SendKeys("#text", "slower", chromedp.ByQuery))
	shown("slower")
	b.run(chromedp.SendKeys("#text", " zzz", chromedp.ByQuery))
	b.until(`!document.querySelector("#nothing").hidden`)
	b.run(chromedp.SendKeys("#text", strings.Repeat(kb.Backspace, len("slower zzz")), chromedp.ByQuery))
	b.until(`document.querySelectorAll("#runs tbody tr").length === 5`)
	b.run(chromedp.Click(`#state [data-value="unread"]`, chromedp.ByQuery))
	shown("killed")
	b.run(chromedp.Click(`#state [data-value=""]`, chromedp.ByQuery), chromedp.Click(`[data-sort="run"]`, chromedp.ByQuery))
	b.until(`document.querySelector('th[aria-sort="ascending"] [data-sort="run"]')`)
	if order := ask[string](b, names); !strings.HasSuffix(order, "cut,killed,ordinary,slower") {
		t.Errorf("by name: %q", order)
	}
	b.run(chromedp.Click(`[data-sort="run"]`, chromedp.ByQuery))
	b.until(`document.querySelector('th[aria-sort="descending"] [data-sort="run"]')`)
	// One run, whose page is made while the browser waits.
	ask[bool](b, row("killed")+`.querySelector("a").click() || true`)
	b.arrive(`document.querySelector(".bar .name")?.textContent === "killed" && "ready" in document.documentElement.dataset && document.querySelector("#chart-in-flight")`)
	b.run(chromedp.Evaluate(`history.back()`, nil))
	b.arrive(`document.body.dataset.page === "list" && document.querySelectorAll("#runs tbody tr").length === 5 && document.querySelector('th[aria-sort="descending"] [data-sort="run"]')`) // as it was left
	// Two runs over each other.
	for _, name := range []string{"ordinary", "slower"} {
		ask[bool](b, row(name)+`.querySelector("input").click() || true`)
	}
	ask[bool](b, `document.querySelector("#compare").click() || true`)
	b.arrive(`document.body.dataset.page === "compare" && "ready" in document.documentElement.dataset`)
	for _, id := range []string{"in-flight", "sent", "output-tokens", "ttft-p50", "tpot-p50", "ttft-cdf", "e2e-cdf"} {
		b.until(`document.querySelector("#chart-` + id + `")`)
		b.until(`(() => {
			const c = document.querySelector("#chart-` + id + ` canvas");
			c.scrollIntoView({ block: "center" });
			return c.width && c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some((v) => v > 0);
		})()`) // it is drawn
		got := ask[[]string](b, `(() => {
			const f = document.querySelector("#chart-`+id+`");
			f.scrollIntoView();
			f.querySelector('button[aria-expanded]').click();
			return [...f.querySelectorAll(".legend .key span")].map(s => s.textContent.slice(0, 2).trim()).concat([...new Set([...f.querySelectorAll("tbody th, tbody td:first-child")].map(c => c.textContent))]);
		})()`)
		if !strings.HasPrefix(strings.Join(got, ""), "AB") || len(got) < 3 {
			t.Errorf("%s: %v", id, got)
		}
	}
	// Each run by its own colour and its own line.
	lines := ask[[]string](b, `[...document.querySelectorAll("#chart-in-flight .legend i")].map(i => [...i.children].map(s => s.style.width + s.style.background).join())`)
	if len(lines) != 2 || lines[0] == lines[1] || strings.Count(lines[0], "px") != 1 || strings.Count(lines[1], "px") < 2 {
		t.Errorf("lines %q", lines)
	}
	svg := b.saved("#chart-in-flight .chart-tools button:nth-of-type(3)")
	if strings.Count(svg, "stroke-dasharray=") == 0 || !strings.Contains(svg, "<path") || strings.Contains(svg, "NaN") {
		t.Errorf("SVG: %.300s", svg)
	}
	if got := ask[string](b, `document.querySelector("#verdict .line").textContent`); got == "" {
		t.Error("nothing decided")
	}
	if got := ask[string](b, `document.querySelector("#verdict h1").textContent + [...document.querySelectorAll("#verdict li")].map(l => l.textContent).join("; ") + document.querySelector("#verdict .verdict").className`); !strings.HasPrefix(got, "Unlike loads") || !strings.Contains(got, "number of requests (N): 400 → 300") || !strings.Contains(got, "offered rate") || strings.HasSuffix(got, " fit") {
		t.Errorf("of unlike loads it says %q", got)
	}
	if got := regexp.MustCompile(`--[a-z][a-z-]*`).FindString(ask[string](b, `document.querySelector("main").textContent`)); got != "" {
		t.Errorf("the page names the flag %s", got)
	}
	if got := ask[[]string](b, `[...document.querySelectorAll("#key-table tr")].filter((r, i) => i === 0 || r.textContent.startsWith("TTFT mean")).map(r => r.lastChild.textContent)`); len(got) != 2 || got[0] != "change A → B, %" || !regexp.MustCompile(`^[+-][\d.]+$`).MatchString(got[1]) {
		t.Errorf("change %q", got)
	}
	if got := ask[[]string](b, `[...document.querySelectorAll("#key-table tbody th")].slice(0, 2).map(h => h.textContent)`); len(got) != 2 || got[0] != "failed" || !strings.HasPrefix(got[1], "failed ÷ (ok + failed)") || !strings.HasSuffix(got[1], " *") {
		t.Errorf("the first numbers are %q", got)
	}
	if a, z := ask[string](b, `document.querySelector("#keys .chosen").textContent`), ask[string](b, `document.querySelector("#verdict .why bdi").textContent`); a != z {
		t.Errorf("numbers of window %q beside a verdict of %q", a, z)
	}
	if n := ask[int](b, `document.querySelectorAll("#comparison .decided tbody tr").length`); n < 8 {
		t.Errorf("%d metrics are compared", n)
	}
	b.run(chromedp.Click(`#pick [data-value="whole"]`, chromedp.ByQuery))
	b.until(`document.querySelector("#dist .chosen").textContent === "whole"`)
	b.run(chromedp.Click("#lang", chromedp.ByQuery))
	if got := ask[string](b, `document.querySelector("#chart-in-flight .title").textContent + document.querySelector("h2").textContent`); got != "在途请求数值并列 whole" {
		t.Errorf("Chinese: %q", got)
	}
	for _, what := range ask[[]string](b, `[...document.querySelectorAll("canvas:not(.mark)")].filter(c => c.clientWidth && !(c.getAttribute("aria-label") || "").trim()).map(c => "canvas without a text: " + c.parentNode.id)
		.concat([...document.querySelectorAll("button")].filter(b => !(b.textContent + (b.getAttribute("aria-label") || "")).trim()).map(b => "button without a name: " + b.outerHTML))
		.concat(/NaN|undefined|\[object/.test(document.querySelector("main").textContent) ? ["NaN or undefined on the page"] : [])`) {
		t.Error(what)
	}
	b.run(chromedp.Click(".back", chromedp.ByQuery))
	b.arrive(`document.body.dataset.page === "list" && document.documentElement.lang === "zh"`)
}
