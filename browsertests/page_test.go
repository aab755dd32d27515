package browsertests

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tokentape/browsertests/fixture"
	"tokentape/internal/analysis"
	"tokentape/internal/report"
	"tokentape/internal/report/html"
)

// Every shape of run opens without a complaint and without a request, shows no NaN in
// text or table, gives every chart a text alternative, and every button a name.
func TestShapes(t *testing.T) {
	for _, name := range fixture.Names() {
		t.Run(name, func(t *testing.T) {
			b := open(t, name)
			for _, lang := range []string{"en", "zh"} {
				text := ask[string](b, `(() => {
					for (const x of document.querySelectorAll('figure button[aria-expanded="false"]')) x.click();
					for (const d of document.querySelectorAll('details')) d.open = true;
					return document.title + document.querySelector("header").textContent + document.querySelector("main").textContent;
				})()`)
				for _, bad := range []string{"NaN", "undefined", "Infinity", "[object", "null"} {
					if i := strings.Index(text, bad); i >= 0 {
						t.Errorf("%s: the page says %q: …%s…", lang, bad, text[max(0, i-80):min(len(text), i+80)])
					}
				}
				for _, what := range ask[[]string](b, `[...document.querySelectorAll("canvas")].filter(c => c.clientWidth && !(c.getAttribute("aria-label") || "").trim()).map(c => "canvas without a text: " + c.parentNode.id)
					.concat([...document.querySelectorAll("button")].filter(b => !(b.textContent + (b.getAttribute("aria-label") || "")).trim()).map(b => "button without a name: " + b.outerHTML))
					.concat([...document.querySelectorAll("[data-t]")].filter(e => e.textContent === e.dataset.t && /[._]/.test(e.dataset.t)).map(e => "no word for " + e.dataset.t))`) {
					t.Errorf("%s: %s", lang, what)
				}
				b.run(chromedp.Click("#lang", chromedp.ByQuery))
			}
		})
	}
}

// viewOf reads the time that the charts show off the page.
func viewOf(t *testing.T, b *tab) (from, to float64) {
	t.Helper()
	// Drawing follows in the next frame.
	ask[bool](b, `(async () => {
		document.querySelector("#chart-in-flight canvas").dispatchEvent(new PointerEvent("pointerleave"));
		for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
		return true;
	})()`)
	b.until(`/ – /.test(document.querySelector("#cursor").textContent)`)
	text := strings.NewReplacer(",", "", " s", "").Replace(ask[string](b, `document.querySelector("#cursor").textContent`))
	a, z, _ := strings.Cut(text, " – ")
	from, err1 := strconv.ParseFloat(a, 64)
	to, err2 := strconv.ParseFloat(z, 64)
	if err1 != nil || err2 != nil {
		t.Fatalf("view %q", text)
	}
	return from, to
}

// Dragging over a chart shows that time in all of them, keys zoom and pan, a double
// click shows everything again.
func TestZoom(t *testing.T) {
	b := open(t, "ordinary")
	from, to := viewOf(t, b)
	if from != 0 || to < 80 {
		t.Fatalf("at first %v to %v", from, to)
	}
	b.show("#chart-in-flight canvas")
	b.run(chromedp.Evaluate(`(() => {
		const c = document.querySelector("#chart-in-flight canvas"), r = c.getBoundingClientRect();
		const at = (type, share) => c.dispatchEvent(new PointerEvent(type, { bubbles: true, pointerId: 1, button: 0, clientX: r.left + 58 + (r.width - 72) * share, clientY: r.top + 50 }));
		c.setPointerCapture = () => {};
		at("pointerdown", 0.25); at("pointermove", 0.4); at("pointermove", 0.5); at("pointerup", 0.5);
	})()`, nil))
	a, z := viewOf(t, b)
	if math.Abs(a-to/4) > to/50 || math.Abs(z-to/2) > to/50 {
		t.Errorf("after a drag from a quarter to half of %v s: %v to %v", to, a, z)
	}
	b.run(chromedp.Focus("#chart-rates canvas", chromedp.ByQuery), chromedp.KeyEvent("-"))
	if a2, z2 := viewOf(t, b); z2-a2 < 1.5*(z-a) {
		t.Errorf("after − from %v–%v: %v–%v", a, z, a2, z2)
	}
	b.run(chromedp.KeyEvent("0"))
	if a, z := viewOf(t, b); a != from || z != to {
		t.Errorf("after 0: %v to %v", a, z)
	}
	b.run(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
	b.until(`/^[0-9.]+ s$/.test(document.querySelector("#cursor").textContent)`)
	b.until(`document.querySelector("#chart-in-flight .legend b").textContent !== ""`) // the cursor is shared
	b.run(chromedp.Click(`[data-zoom="window"]`, chromedp.ByQuery))
	if a, z := viewOf(t, b); a > 0.767 || a < -3 || z < 83 {
		t.Errorf("to the window: %v to %v", a, z)
	}
}

// The window that is chosen changes key numbers, charts and tables; so does the language
// their words, and the page remembers neither anywhere.
func TestSwitches(t *testing.T) {
	b := open(t, "ordinary")
	shown := `[...document.querySelectorAll(".first [data-win]")].filter(e => e.offsetParent).map(e => e.dataset.win).join()`
	if got := ask[string](b, shown); got != "steady" {
		t.Errorf("at first %q", got)
	}
	before := ask[string](b, `document.querySelector("#chart-ttft-histogram .legend").textContent`)
	b.run(chromedp.Click(`#pick [data-window="whole"]`, chromedp.ByQuery))
	if got := ask[string](b, shown); got != "whole" {
		t.Errorf("then %q", got)
	}
	if after := ask[string](b, `document.querySelector("#chart-ttft-histogram .legend").textContent`); after == before || !strings.Contains(after, "whole") {
		t.Errorf("histogram of %q, then %q", before, after)
	}
	b.run(chromedp.KeyEvent(kb.ArrowRight)) // the focus is on the chosen one
	if got := ask[string](b, shown); got != "steady" {
		t.Errorf("after → %q", got)
	}
	b.run(chromedp.Click("#lang", chromedp.ByQuery))
	if got := ask[string](b, `document.documentElement.lang + document.querySelector("#h-time").textContent + document.querySelector("#chart-rates .title").textContent`); got != "zh随时间变化每秒请求数" {
		t.Errorf("Chinese: %q", got)
	}
	// Definitions come on focus, in the language.
	b.run(chromedp.Focus(`[data-win="steady"] .card .def[data-def="ttft_ms"]`, chromedp.ByQuery))
	if got := ask[string](b, `document.querySelector("#tip").hidden ? "" : document.querySelector("#tip").textContent`); !strings.Contains(got, "首个 token") {
		t.Errorf("definition: %q", got)
	}
	b.run(chromedp.Click("#lang", chromedp.ByQuery), chromedp.Focus(`[data-win="steady"] .card .def[data-def="ttft_ms"]`, chromedp.ByQuery))
	if got := ask[string](b, `document.querySelector("#tip").textContent`); !strings.Contains(got, "first token event − release") {
		t.Errorf("definition: %q", got)
	}
	b.run(chromedp.Click("#theme", chromedp.ByQuery))
	if got := ask[string](b, `getComputedStyle(document.body).backgroundColor`); got != "rgb(20, 24, 29)" {
		t.Errorf("dark: %s", got)
	}
	if n := ask[int](b, `(() => { try { return localStorage.length + document.cookie.length } catch { return 0 } })()`); n != 0 {
		t.Errorf("the page kept %d things", n)
	}
}

// A percentile leads to its rows: the table is sorted by the metric, the row at it is
// marked and selected in the waterfall, and its value is the one that was clicked.
func TestPercentile(t *testing.T) {
	b := open(t, "ordinary")
	sel := `#windows button[data-go^="steady|ttft_ms|p99|"]`
	want := ask[float64](b, `+document.querySelector('`+sel+`').dataset.go.split("|").pop()`)
	b.run(chromedp.Click(sel, chromedp.ByQuery))
	b.until(`document.querySelector("#row-table tr.marked")`)
	at := ask[[]string](b, `(() => {
		const head = [...document.querySelectorAll("#row-table th")], k = head.findIndex(h => h.getAttribute("aria-sort") === "ascending");
		const rows = [...document.querySelectorAll("#row-table tbody tr")], m = rows.findIndex(r => r.classList.contains("marked"));
		return [head[k].textContent, ...[m - 1, m].map(i => rows[i] ? rows[i].children[k].textContent : "")];
	})()`)
	if !strings.HasPrefix(at[0], "TTFT") {
		t.Fatalf("sorted by %q", at[0])
	}
	value := func(s string) float64 {
		v, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
		if err != nil {
			return math.Inf(-1) // the row before is on the page before
		}
		return v
	}
	if before, marked := value(at[1]), value(at[2]); before > want+0.1 || marked < want-0.1 {
		t.Errorf("p99 is %v; rows around: %v, %v", want, before, marked)
	} else if says := ask[string](b, `document.querySelector("#row-where").textContent`); marked > want+0.1 && !strings.Contains(says, " lies between #") {
		t.Errorf("p99 is %v, row %v is marked, and the table says %q", want, marked, says)
	}
	seq := ask[string](b, `document.querySelector("#row-table tr.marked button").textContent`)
	if info := ask[string](b, `document.querySelector("#row-info").textContent`); !strings.Contains(info, "#"+strings.ReplaceAll(seq, ",", "")) {
		t.Errorf("row %s is marked, the waterfall has %q", seq, info)
	}
	if got := ask[string](b, `document.querySelector("#rows-window").value`); got != "steady" {
		t.Errorf("rows of window %q", got)
	}
	// A failure leads to the requests of its class, an example to its own.
	b.run(chromedp.Click(`#failures th button[data-go*='"reset"']`, chromedp.ByQuery))
	if got := ask[string](b, `[...new Set([...document.querySelectorAll("#row-table tbody tr")].map(r => r.children[2].textContent))].join()`); got != "reset" {
		t.Errorf("rows of outcome %q", got)
	}
	seq = ask[string](b, `document.querySelector("#failures button[data-seq]").dataset.seq`)
	b.run(chromedp.Click(`#failures button[data-seq]`, chromedp.ByQuery))
	b.until(`document.querySelector("#row-table tr.marked button")?.textContent.replace(",", "") === "` + seq + `"`)
}

// Every number of results.json is on the page as it was; a CSV of a chart and of the rows
// holds what the chart shows.
func TestSave(t *testing.T) {
	s := fixture.Kinds()["ordinary"]
	res, err := s.Results()
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, "ordinary")
	b.run(chromedp.Evaluate(`document.querySelector("#save").scrollIntoView()`, nil))
	var got, want any
	if err := json.Unmarshal([]byte(b.saved("#save button")), &got); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(res)
	json.Unmarshal(text, &want)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Error("results.json of the page differs")
	}
	read := func(sel string) [][]string {
		rows, err := csv.NewReader(strings.NewReader(b.saved(sel))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	flight := read("#chart-in-flight .chart-tools button:nth-of-type(2)")
	if len(flight) != 1+res.Charts.Time.N || flight[0][1] != "in_flight" {
		t.Errorf("%d lines, head %v", len(flight), flight[0])
	}
	for i, v := range res.Charts.Time.InFlight {
		if x, _ := strconv.ParseFloat(flight[i+1][1], 64); math.Abs(x-v) > 1e-4*max(1, v) {
			t.Fatalf("bucket %d: %s, want %v", i, flight[i+1][1], v)
		}
	}
	rows := read("#row-tools button:last-of-type")
	col := map[string]int{}
	for i, h := range rows[0] {
		col[h] = i
	}
	if len(rows) != 1+res.Rows.Len() {
		t.Fatalf("%d rows", len(rows)-1)
	}
	for i, row := range res.Rows.All() {
		checkRow(t, rows[i+1], col, &row)
	}
	if svg := b.saved("#chart-in-flight .chart-tools button:nth-of-type(3)"); !strings.HasPrefix(svg, "<svg ") || !strings.Contains(svg, "C = 24") || strings.Contains(svg, "NaN") {
		t.Errorf("SVG: %.200s", svg)
	}
}

func checkRow(t *testing.T, rec []string, col map[string]int, row *analysis.Row) {
	t.Helper()
	num := func(name string, want *float64, within float64) {
		got := rec[col[name]]
		if want == nil {
			if got != "" {
				t.Errorf("row %d: %s is %q where there is none", row.Seq, name, got)
			}
			return
		}
		if v, err := strconv.ParseFloat(got, 64); err != nil || math.Abs(v-*want) > within {
			t.Errorf("row %d: %s is %q, want %v", row.Seq, name, got, *want)
		}
	}
	whole := func(name string, want *int64) {
		got := ""
		if want != nil {
			got = strconv.FormatInt(*want, 10)
		}
		if rec[col[name]] != got {
			t.Errorf("row %d: %s is %q, want %q", row.Seq, name, rec[col[name]], got)
		}
	}
	num("released_s", row.ReleasedS, 6e-7)
	for name, v := range map[string]*float64{"ttft_ms": row.TTFTMS, "ttft_from_due_ms": row.TTFTDueMS, "tpot_ms": row.TPOTMS, "e2e_ms": row.E2EMS, "e2e_from_due_ms": row.E2EDueMS, "stream_end_ms": row.StreamEndMS, "slot_wait_ms": row.SlotWaitMS, "itl_max_ms": row.ITLMaxMS} {
		num(name, v, 6e-4)
	}
	whole("seq", &row.Seq)
	whole("input_tokens", row.Input)
	whole("output_tokens", row.Output)
	whole("cached_tokens", row.Cached)
	for name, v := range map[string]string{"outcome": row.Outcome, "finish": row.Finish, "cause": row.Cause, "message": row.Message} {
		if rec[col[name]] != v {
			t.Errorf("row %d: %s is %q, want %q", row.Seq, name, rec[col[name]], v)
		}
	}
}

// Names and messages that are markup, script, formulas or turn the writing round are text
// and nothing else.
func TestHostile(t *testing.T) {
	b := open(t, "hostile")
	if got := ask[string](b, `String(window.pwned)`); got != "undefined" {
		t.Fatalf("script from outside ran: %s", got)
	}
	if got := ask[string](b, `document.querySelector(".bar .name").textContent`); got != fixture.Hostile().Name {
		t.Errorf("name %q", got)
	}
	if n := ask[int](b, `document.querySelectorAll("img, iframe, object, embed, link[rel=stylesheet], script[src]").length`); n != 0 {
		t.Errorf("%d elements that could load something", n)
	}
	if n := ask[int](b, `document.querySelectorAll("script").length`); n != 1 { // the data has been taken out
		t.Errorf("%d scripts", n)
	}
	if got := ask[string](b, `document.querySelector("#failures .text").textContent`); !strings.Contains(got, "<script>window.pwned=3</script>") {
		t.Errorf("message %q", got)
	}
	rows := b.saved("#row-tools button:last-of-type")
	if strings.Contains(rows, ",=HYPERLINK") || strings.Contains(rows, "\n=") {
		t.Error("a formula in the CSV")
	}
}

// On paper all windows are shown, on white, without what only a screen can do.
func TestPrint(t *testing.T) {
	b := open(t, "ordinary")
	b.run(emulation.SetEmulatedMedia().WithMedia("print"))
	if got := ask[string](b, `getComputedStyle(document.querySelector(".tools")).display`); got != "none" {
		t.Errorf("tools are printed: %s", got)
	}
	var pdf []byte
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		var err error
		pdf, _, err = page.PrintToPDF().WithPrintBackground(true).Do(ctx)
		return err
	}))
	if len(pdf) < 50_000 || string(pdf[:5]) != "%PDF-" {
		t.Errorf("PDF of %d bytes", len(pdf))
	}
}

// Without script the tables are there all the same.
func TestWithoutScript(t *testing.T) {
	path := pageOf(t, "ordinary")
	b := blank(t)
	b.run(emulation.SetScriptExecutionDisabled(true), chromedp.Navigate("file://"+path), emulation.SetScriptExecutionDisabled(false))
	var text string
	b.run(chromedp.Text("main", &text, chromedp.ByQuery))
	for _, want := range []string{"Not fit for use", "Window whole", "Window steady", "116.3"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q without script", want)
		}
	}
}

// The page rounds numbers as the text views do.
func TestNumbers(t *testing.T) {
	values := []float64{0, 1, -1, 0.5, 2.5, 1000.5, 1001.5, 999.949, 999.95, 99.994, 99.995, 9.9994, 9.9995, 0.1, 0.09999, 0.001, 0.00099, 1e-9, 123456789, 1e15, 12345.678, 12.345, -12.345, 0.0125, 0.99999, 3e-5, 1234567.5, 1e14 + 0.5}
	b := blank(t)
	list, _ := json.Marshal(values)
	got := ask[[]string](b, "(() => {"+string(html.Drawing())+"\nreturn "+string(list)+".map(num); })()")
	for i, v := range values {
		if want := report.Number(v); got[i] != want {
			t.Errorf("%v is %q, in text %q", v, got[i], want)
		}
	}
}

// Pages are as small as they promise.
func TestSize(t *testing.T) {
	st, err := os.Stat(pageOf(t, "ordinary"))
	if err != nil {
		t.Fatal(err)
	}
	if st.Size() > 600_000 {
		t.Errorf("1,000 requests: %d bytes", st.Size())
	}
}
