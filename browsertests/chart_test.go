package browsertests

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tokentape/browsertests/fixture"
	"tokentape/internal/report/chart"
)

// savedPictures clicks every SVG button of a page and gives what it would have saved,
// in the order of the charts: id, text.
const savedPictures = `(async () => {
	const made = [], create = URL.createObjectURL, click = HTMLAnchorElement.prototype.click;
	URL.createObjectURL = (b) => { made.push(b); return "blob:none"; };
	HTMLAnchorElement.prototype.click = () => {};
	const out = [];
	for (const f of document.querySelectorAll("figure[id^=chart-]")) {
		f.querySelector('[data-t="svg"]').closest("button").click();
		out.push([f.id.slice(6), await made.pop().text()]);
	}
	URL.createObjectURL = create;
	HTMLAnchorElement.prototype.click = click;
	return out;
})()`

// The program draws the same charts as the page, to the byte, in both languages.
func TestSameCharts(t *testing.T) {
	for _, name := range append(fixture.Names(), "many") {
		t.Run(name, func(t *testing.T) {
			s := fixture.Kinds()[name]
			if name == "many" { // more dots and lines than are drawn one by one
				s = fixture.Ordinary(12_000)
				s.Rate, s.Cap, s.Tokens = 200, 300, 8
			}
			res, err := s.Results()
			if err != nil {
				t.Fatal(err)
			}
			b := blank(t)
			b.run(chromedp.Navigate("file://"+write(t, res)), chromedp.WaitReady("html[data-ready]", chromedp.ByQuery))
			for _, lang := range []string{"en", "zh"} {
				page := ask[[][2]string](b, savedPictures)
				charts, err := chart.All(res, lang)
				if err != nil {
					t.Fatal(err)
				}
				if len(page) != len(charts) {
					t.Errorf("%s: %d charts on the page, %d drawn by the program", lang, len(page), len(charts))
				}
				for i := range min(len(page), len(charts)) {
					id, want := page[i][0], page[i][1]
					if charts[i].ID != id {
						t.Fatalf("%s: chart %d is %s on the page, %s in the program", lang, i, id, charts[i].ID)
					}
					got, err := charts[i].SVG(chart.Options{})
					if err != nil {
						t.Fatal(err)
					}
					if string(got) != want {
						at := 0
						for at < min(len(got), len(want)) && got[at] == want[at] {
							at++
						}
						t.Errorf("%s: %s differs at byte %d:\npage    …%.200s\nprogram …%.200s", lang, id, at, strings.ToValidUTF8(want[max(0, at-60):], ""), strings.ToValidUTF8(string(got[max(0, at-60):]), ""))
					}
				}
				b.run(chromedp.Click("#lang", chromedp.ByQuery))
			}
		})
	}
}
