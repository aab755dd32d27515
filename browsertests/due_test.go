package browsertests

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// On the first screen of 1280×900 stand the verdict, the key numbers, the load, and the
// beginning of what differs between the windows.
func TestFirstScreen(t *testing.T) {
	for _, name := range []string{"ordinary", "failed", "closed"} {
		b := open(t, name)
		if top := ask[float64](b, `document.querySelector("#h-windows").getBoundingClientRect().bottom`); top > 900 {
			t.Errorf("%s: what differs begins %.0f pixels down", name, top)
		}
		if wide := ask[float64](b, `Math.max(0, ...[...document.querySelectorAll(".missed > li")].map(l => l.getBoundingClientRect().height))`); wide > 30 {
			t.Errorf("%s: advice of %.0f pixels", name, wide)
		}
	}
}

// Nothing but what scrolls by itself is wider than the screen, and a failure is the colour
// of one.
func TestNarrow(t *testing.T) {
	for _, name := range []string{"ordinary", "one", "failed", "hostile", "before"} {
		b := open(t, name)
		for _, width := range []int64{1280, 390} {
			b.run(chromedp.EmulateViewport(width, 844))
			if wide := ask[int](b, `document.documentElement.scrollWidth`); wide > int(width) {
				t.Errorf("%s: %d pixels wide on %d", name, wide, width)
			}
			for _, out := range ask[[]string](b, `(() => { const box = document.querySelector(".verdict").getBoundingClientRect(); return [...document.querySelectorAll(".missed summary")].filter(s => s.getBoundingClientRect().right > box.right + 1).map(s => s.textContent); })()`) {
				t.Errorf("%s: on %d pixels this leaves its box: %s", name, width, out)
			}
		}
	}
	b := open(t, "failed")
	if got, want := ask[string](b, `getComputedStyle(document.querySelector(".missed .fail .tag")).color`), ask[string](b, `getComputedStyle(document.querySelector(".verdict h1")).color`); got != want {
		t.Errorf("a failure is %s, the verdict %s", got, want)
	}
}

// A percentile counted from due leads to the rows sorted by that, which the table shows,
// and what they waited for.
func TestFromDue(t *testing.T) {
	b := open(t, "ordinary")
	b.run(chromedp.Click(`#windows button[data-go*="|ttft_from_due_ms|p99|"]`, chromedp.ByQuery))
	b.until(`document.querySelector("#row-table tr.marked")`)
	if got := ask[string](b, `document.querySelector('#row-table th[aria-sort="ascending"]')?.textContent || ""`); !strings.HasPrefix(got, "TTFT from due") {
		t.Errorf("sorted by %q", got)
	}
	info := ask[string](b, `document.querySelector("#row-info").textContent`)
	for _, want := range []string{"due ", "slot wait ", "pacer lag ", "TTFT from due "} {
		if !strings.Contains(info, want) {
			t.Errorf("the request's line lacks %q: %s", want, info)
		}
	}
	// A metric whose column the table leaves out comes in when it is sorted by.
	b.run(chromedp.Click(`#numbers [data-win="steady"] button[data-go*="|e2e_from_due_ms|p99|"]`, chromedp.ByQuery))
	b.until(`document.querySelector('#row-table th[aria-sort="ascending"]')?.textContent.startsWith("E2E from due")`)
}

// Lines grow taller until a few are in sight, and no further.
func TestTaller(t *testing.T) {
	b := open(t, "ordinary")
	ask[bool](b, `(() => { for (let i = 0; i < 40; i++) document.querySelector('#chart-waterfall [data-t="taller"]').click(); return true; })()`)
	svg := b.saved("#chart-waterfall [data-t=svg]")
	at := regexp.MustCompile(`<text x="52" [^>]*text-anchor="end"[^>]*>([\d,]+)</text>`).FindAllStringSubmatch(svg, -1)
	if len(at) != 2 {
		t.Fatalf("%d ends of the rows", len(at))
	}
	n := func(i int) int { v, _ := strconv.Atoi(strings.ReplaceAll(at[i][1], ",", "")); return v }
	if shown := n(1) - n(0) + 1; shown < 8 || shown > 10 {
		t.Errorf("%d lines are left in sight", shown)
	}
}

// On paper: the window that was chosen, its advice unfolded, keys of lines, no box that
// waits for a click; the screen is as it was afterwards.
func TestPrintChosen(t *testing.T) {
	b := open(t, "ordinary")
	shown := `[...document.querySelectorAll(".first .win")].filter(w => !w.hidden).map(w => w.dataset.win).join()`
	b.run(chromedp.Click(`#pick [data-window="whole"]`, chromedp.ByQuery), chromedp.Evaluate(`dispatchEvent(new Event("beforeprint"))`, nil))
	if got := ask[string](b, shown); got != "whole" {
		t.Errorf("printed windows %q", got)
	}
	if n := ask[int](b, `document.querySelectorAll(".missed details:not([open])").length`); n > 0 {
		t.Errorf("%d pieces of advice stay folded", n)
	}
	b.run(chromedp.Evaluate(`dispatchEvent(new Event("afterprint"))`, nil))
	if n := ask[int](b, `document.querySelectorAll(".missed details[open]").length`); n > 0 {
		t.Errorf("%d pieces of advice stay open", n)
	}
}
