package browsertests

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Every number of rows leads to that many rows, in every table; what else leads somewhere
// leads to some.
func TestLinks(t *testing.T) {
	for _, name := range []string{"ordinary", "failed", "untimed", "one", "empty"} {
		t.Run(name, func(t *testing.T) {
			b := open(t, name)
			if name == "empty" {
				if n := ask[int](b, `document.querySelectorAll("button.go").length`); n > 0 {
					t.Errorf("%d links without a row", n)
				}
				return
			}
			// Tables behind charts have theirs too.
			got := ask[[]string](b, `(async () => {
				const out = [];
				for (const x of document.querySelectorAll('figure button[aria-expanded="false"]')) x.click();
				document.querySelector("#row-table").scrollIntoView();
				// Of the table of each chart one, of all others every one.
				const ways = [...document.querySelectorAll("figure")].flatMap(f => { const all = [...f.querySelectorAll("button.go[data-go]")], k = all.length; return all.filter((_, i) => i % k === 0); })
					.concat([...document.querySelectorAll("button.go[data-go]")].filter(b => !b.closest("figure")));
				const all = [...new Map(ways.map(b => [b.dataset.go, b]))];
				let n = 0;
				for (const [go, b] of all) {
					n++;
					b.click();
					const link = go[0] === "{" ? JSON.parse(go) : null;
					if (link && link.readings) {
						if (!document.querySelectorAll("#readings tbody tr").length) out.push("no readings: " + go);
						continue;
					}
					const shown = document.querySelector("#row-page").textContent, total = shown === "0" ? 0 : +shown.split(" / ")[1].replaceAll(",", "");
					if (link && link.rows.n !== undefined ? link.rows.n !== total : !total && !(link && link.rows.flight)) out.push(total + " rows: " + go + " in " + (b.closest("section, figure") || b).id);
				}
				out.push("tried " + n);
				return out;
			})()`)
			for _, line := range got {
				if !strings.HasPrefix(line, "tried ") {
					t.Error(line)
				}
			}
			t.Log(got[len(got)-1])
		})
	}
}

// A number of the servers' metrics leads to the readings that it is made of, in its window.
func TestReadings(t *testing.T) {
	b := open(t, "ordinary")
	b.run(chromedp.Click(`#server [data-win="steady"] button.go`, chromedp.ByQuery))
	got := ask[[]string](b, `[...document.querySelectorAll("#readings h3, #readings tbody tr:first-child, #readings tbody tr:last-child")].map(e => e.textContent)`)
	if len(got) < 3 || !strings.HasPrefix(got[0], "Readings: ") || !strings.HasSuffix(got[0], "window steady") {
		t.Fatalf("readings %q", got)
	}
	if f := ask[string](b, `document.activeElement.textContent`); f != got[0] {
		t.Errorf("the focus is on %q", f)
	}
	// The last reading less the first of the window is the increase in the table.
	text := ask[string](b, `JSON.stringify([...document.querySelectorAll("#server [data-win=steady] tr")].map(r => [...r.children].map(c => [c.textContent, c.querySelector("[data-go]")?.dataset.go || ""])))`)
	var rows [][][2]string
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		t.Fatal(err)
	}
	column := -1
	tried := 0
	for _, r := range rows {
		for i, c := range r {
			if c[0] == "increase" {
				column = i
			}
		}
		if column < 0 || len(r) <= column || r[column][1] == "" || r[column][0] == "" {
			continue
		}
		tried++
		grown := ask[string](b, fmt.Sprintf(`(() => {
			[...document.querySelectorAll("#server [data-win=steady] button.go")].find(b => b.dataset.go === %q).click();
			const v = [...document.querySelectorAll("#readings tbody tr")].map(r => +r.children[1].textContent.replaceAll(",", ""));
			return String(v.at(-1) - v[0]);
		})()`, r[column][1]))
		if want := strings.ReplaceAll(r[column][0], ",", ""); grown != want {
			t.Errorf("%s: the readings grow by %s, the table says %s", r[0][0], grown, want)
		}
	}
	if tried == 0 {
		t.Error("no counter was tried")
	}
}

// nowhere are the cells with numbers that lead nowhere, as the page's help lists them:
// section, head of the row, head of the column, text.
var nowhere = regexp.MustCompile(`^(first \|  \| (duration|cap|C, cap in flight|r, rate asked|rate planned|rate achieved|rate of sends|In flight|client CPU, cores) \| ` +
	`|first \|  \| not issued ` +
	`|windows \| duration, s ` +
	`|server \| [^|]* \| readings ` +
	`|numbers \| [^|]* \| (n_eff|source and warnings) ` +
	`|checks \|` +
	`|run \|` +
	`|.* \| 0( tok/s| /s| %)?$)`)

// A number that leads nowhere is one of those that the page's help lists.
func TestNowhere(t *testing.T) {
	for _, name := range []string{"ordinary", "failed", "plain", "closed"} {
		b := open(t, name)
		for _, cell := range ask[[]string](b, `[...new Set([...document.querySelectorAll("td, dd, .big")].filter(c => !c.closest("figure, #row-table, .defs") && /\d/.test(c.textContent) && !c.querySelector("button.go")).map(c => {
			const tr = c.closest("tr");
			return [c.closest("section").id || "first", tr ? tr.children[0].textContent : "", tr ? c.closest("table").querySelectorAll("thead th")[[...tr.children].indexOf(c)].textContent : c.parentNode.querySelector("dt, h3").textContent, c.textContent.trim()].join(" | ");
		}))]`) {
			if !nowhere.MatchString(cell) {
				t.Errorf("%s: leads nowhere: %s", name, cell)
			}
		}
	}
}
