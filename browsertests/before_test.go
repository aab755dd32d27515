package browsertests

import (
	"math"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tokentape/browsertests/fixture"
)

// Requests before t = 0, as tapes of other tools have them whose first row is the origin,
// are drawn and counted where they were: none is lost at the edge, none moved to 0.
func TestBefore(t *testing.T) {
	res, err := fixture.Kinds()["before"].Results()
	if err != nil {
		t.Fatal(err)
	}
	early, first, last := 0, math.Inf(1), math.Inf(-1)
	for _, row := range res.Rows.All() {
		if *row.ReleasedS < 0 {
			early++
		}
		first, last = min(first, *row.ReleasedS), max(last, *row.ReleasedS+*row.StreamEndMS/1000)
	}
	if early < 20 || first > -3.9 {
		t.Fatalf("%d requests before 0, the first at %v", early, first)
	}
	c := res.Charts.Time
	sent := 0.
	for i, v := range c.Sent {
		from, to := c.Rates.From+float64(i)*c.Rates.Step, c.Rates.From+float64(i+1)*c.Rates.Step
		if i == 0 {
			from = c.Rates.Start
		}
		if i == len(c.Sent)-1 {
			to = c.Rates.To
		}
		sent += v * (to - from)
	}
	if math.Abs(sent-300) > 1e-6 {
		t.Errorf("%v requests were sent, by the chart", sent)
	}
	b := open(t, "before")
	if a, z := viewOf(t, b); math.Abs(a-first) > 0.01 || math.Abs(z-last) > 0.01 {
		t.Errorf("the charts show %v to %v, the run is %v to %v", a, z, first, last)
	}
	b.show("#row-table")
	b.until(`document.querySelectorAll("#row-table tbody tr").length === 25`)
	at := ask[string](b, `(() => {
		const sort = [...document.querySelectorAll("#row-table th button")].find(x => x.textContent.startsWith("released"));
		sort.click();
		const head = [...document.querySelectorAll("#row-table th")], k = head.findIndex(h => h.getAttribute("aria-sort") === "ascending");
		const cell = document.querySelector("#row-table tbody tr").children[k].textContent;
		document.querySelector("#row-table tbody tr button").click();
		return cell;
	})()`)
	if !strings.HasPrefix(strings.ReplaceAll(at, "−", "-"), "-3.99") && !strings.HasPrefix(strings.ReplaceAll(at, "−", "-"), "-4") {
		t.Errorf("the first row was released at %q", at)
	}
	b.until(`document.querySelector("#row-info b")`)
	if info := ask[string](b, `document.querySelector("#row-info").textContent`); !strings.Contains(info, at+" s") {
		t.Errorf("the waterfall says %q of a request at %s", info, at)
	}
	if a, z := viewOf(t, b); a > first+0.01 || z < first {
		t.Errorf("the waterfall shows %v to %v, where the request is at %v", a, z, first)
	}
	// The rows of a bucket before 0 are found.
	b.run(chromedp.Evaluate(`document.querySelector('#chart-in-flight button[aria-expanded]').click()`, nil))
	if n := ask[string](b, `(() => { document.querySelector("#chart-in-flight .behind button.go").click(); return document.querySelector("#row-page").textContent; })()`); n == "0" || n == "" {
		t.Errorf("rows of the first bucket: %q", n)
	}
}
