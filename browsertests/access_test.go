package browsertests

import (
	"bytes"
	"image/png"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// faintTexts are texts that are shown with a contrast below WCAG 2 AA, 4.5 and for large
// ones 3, as the browser lays them out: colours, grounds and opacities of all ancestors.
const faintTexts = `(() => {
	const parse = (s) => { const m = s.match(/[\d.]+/g).map(Number); return [m[0], m[1], m[2], m.length > 3 ? m[3] : 1]; };
	const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
	const lum = (c) => { const [r, g, b] = c.slice(0, 3).map(v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const ratio = (a, b) => { const x = lum(a), y = lum(b); return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
	for (const d of document.querySelectorAll("details")) d.open = true;
	const out = new Map(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	let n = 0;
	for (let t = walk.nextNode(); t; t = walk.nextNode()) {
		const e = t.parentElement;
		if (!t.data.trim() || !e.offsetParent || e.closest("script, style, .skip, .again")) continue;
		n++;
		let ground = [255, 255, 255, 1], opacity = 1;
		const up = [];
		for (let a = e; a; a = a.parentElement) up.push(a);
		for (const a of up.reverse()) { const s = getComputedStyle(a); ground = over(parse(s.backgroundColor), ground); opacity *= +s.opacity; }
		const s = getComputedStyle(e), ink = parse(s.color), shown = over([...ink.slice(0, 3), ink[3] * opacity], ground);
		const size = parseFloat(s.fontSize), large = size >= 24 || (size >= 18.66 && +s.fontWeight >= 700), c = ratio(shown, ground);
		if (c < (large ? 3 : 4.5)) out.set(s.color + e.className, c.toFixed(2) + " " + s.color + " on " + ground.slice(0, 3).map(Math.round) + ": " + t.data.trim().slice(0, 40) + " <" + e.tagName + "." + e.className + ">");
	}
	return [String(n), ...out.values()];
})()`

// Text can be read, light and dark, in both languages.
func TestReadable(t *testing.T) {
	for _, name := range []string{"ordinary", "failed", "empty"} {
		b := open(t, name)
		for _, scheme := range []string{"light", "dark"} {
			b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
			for range 2 {
				if name != "empty" {
					b.show("#row-table")
					b.until(`document.querySelector("#row-table tbody tr")`)
				}
				got := ask[[]string](b, faintTexts)
				lang := ask[string](b, `document.documentElement.lang`)
				if len(got[0]) < 2 {
					t.Errorf("%s, %s, %s: only %s texts", name, scheme, lang, got[0])
				}
				for _, text := range got[1:] {
					t.Errorf("%s, %s, %s: %s", name, scheme, lang, text)
				}
				b.run(chromedp.Click("#lang", chromedp.ByQuery))
			}
		}
	}
}

// With keys alone: everything that can be clicked can be reached, shows that it is, and
// lets go again; windows, language, a percentile, its row and the waterfall obey.
func TestKeyboard(t *testing.T) {
	b := open(t, "one")
	want := ask[int](b, `[...document.querySelectorAll("a[href], button, select, input, summary, canvas, [tabindex]")].filter(e => e.tabIndex >= 0 && e.offsetParent && getComputedStyle(e).visibility !== "hidden").length`)
	ask[bool](b, `(() => {
		window.seen = new Set();
		window.dull = [];
		document.addEventListener("focusin", (e) => {
			window.seen.add(e.target);
			const s = getComputedStyle(e.target);
			if (s.outlineStyle === "none" || parseFloat(s.outlineWidth) < 1) window.dull.push(e.target.outerHTML.slice(0, 80));
		});
		return true;
	})()`)
	tab := strings.Repeat(kb.Tab, 20)
	for range (want + 120) / 20 {
		b.run(chromedp.KeyEvent(tab))
	}
	if got := ask[int](b, `window.seen.size`); got < want {
		t.Errorf("%d of %d things can be reached: not %v", got, want, ask[[]string](b, `[...document.querySelectorAll("a[href], button, select, input, summary, canvas, [tabindex]")].filter(e => e.tabIndex >= 0 && e.offsetParent && !window.seen.has(e)).map(e => e.outerHTML.slice(0, 100))`))
	}
	for _, e := range ask[[]string](b, `window.dull.slice(0, 5)`) {
		t.Errorf("no outline on %s", e)
	}

	b = open(t, "ordinary")
	b.run(chromedp.Focus(`#pick [aria-checked="true"]`, chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowLeft))
	if got := ask[string](b, `document.documentElement.dataset.chosen`); got != "whole" {
		t.Errorf("after ←: window %s", got)
	}
	b.run(chromedp.Focus("#lang", chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
	if got := ask[string](b, `document.documentElement.lang`); got != "zh" {
		t.Errorf("after Enter on the language: %s", got)
	}
	b.run(chromedp.Focus(`#windows button[data-go^="whole|ttft_ms|p90|"]`, chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
	b.until(`document.activeElement.closest("#row-table tr.marked")`)
	row := ask[string](b, `document.querySelector("#row-info").textContent`)
	b.run(chromedp.Focus("#chart-waterfall canvas", chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowDown))
	b.until(`document.querySelector("#row-info").textContent !== ` + strconv.Quote(row))
	b.run(chromedp.Focus("#row-where button", chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
	if got := ask[string](b, `document.activeElement.id + document.querySelector("#row-where").textContent`); got != "rows-window" {
		t.Errorf("after all rows were asked for the focus is on %q", got)
	}
}

// Every chart says in words what it shows, with numbers where it has any.
func TestAlternatives(t *testing.T) {
	for _, name := range []string{"ordinary", "failed", "plain"} {
		b := open(t, name)
		for range 2 {
			for _, chart := range ask[[]string](b, `[...document.querySelectorAll("figure canvas")].filter(c => c.getAttribute("role") !== "img" || !/\d/.test(c.getAttribute("aria-label")) && c.closest("figure").id !== "chart-windows").map(c => c.closest("figure").id + ": " + c.getAttribute("aria-label"))`) {
				if !strings.Contains(chart, "not observed") && !strings.Contains(chart, "未观测到") {
					t.Errorf("%s: %s", name, chart)
				}
			}
			b.run(chromedp.Click("#lang", chromedp.ByQuery))
		}
	}
}

// The PNG of a chart is a picture of the size that the SVG has, twice as fine.
func TestPNG(t *testing.T) {
	b := open(t, "ordinary")
	b.show("#chart-ttft-time")
	svg := b.saved("#chart-ttft-time [data-t=svg]")
	img, err := png.Decode(bytes.NewReader([]byte(b.saved("#chart-ttft-time [data-t=png]"))))
	if err != nil {
		t.Fatal(err)
	}
	size := img.Bounds().Size()
	if size.X != 1920 || !strings.Contains(svg, `viewBox="0 0 960 `+strconv.Itoa(size.Y/2)+`"`) {
		t.Errorf("%v pixels of %.120s", size, svg)
	}
	colours := map[[3]uint32]bool{}
	for y := 0; y < size.Y; y += 3 {
		for x := 0; x < size.X; x += 3 {
			r, g, l, _ := img.At(x, y).RGBA()
			colours[[3]uint32{r, g, l}] = true
		}
	}
	if len(colours) < 20 {
		t.Errorf("%d colours", len(colours))
	}
}
