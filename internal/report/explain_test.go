package report

import (
	"io"
	"math"
	"strings"
	"testing"

	"tokentape/internal/analysis"
)

// explanation is one with everything that can stand in it.
func explanation() *analysis.Explanation {
	limits := ci(480, 520.5)
	e, err := analysis.Explain("ttft_ms.p99")
	if err != nil {
		panic(err)
	}
	e.Run = "01TEST"
	e.Window = &analysis.ExplainedWindow{Kind: "steady", From: p(1.2), To: p(106.7), FromWall: "2026-11-30T04:00:01.200Z", ToWall: "2026-11-30T04:01:46.700Z", Requests: new(int64(549)), Why: "from the last warm-up release", LeftOut: "52 requests before"}
	e.Value, e.Unit, e.N, e.NEff, e.CI, e.Source = p(503.25), "ms", 549, p(212.4), &limits, "stamps"
	e.How = []string{"549 requests of the 552 in the window's cohort have it", "between the 543rd and the 544th request: 500 + 0.52 × (506.25 − 500) = 503.25"}
	e.Warnings = []string{"p999 needs about 4,300 more requests"}
	e.RequestsAre, e.RequestsOf = "requests around it, in order of size", 549
	e.Requests = []analysis.ExplainedRequest{
		{Seq: 17, DatasetRow: 3, Phase: "measure", Outcome: "ok", Value: p(500.0), Rank: 543, Weight: p(0.48), Session: "会话\x1b[31m-7", Turn: 2, Connection: 12, ReleasedS: p(20.25), EndS: p(24.5)},
		{Seq: 1018, DatasetRow: 378, Phase: "tail", Outcome: "reset", Value: p(506.25), Rank: 544, Weight: p(0.52), Connection: 9, ReleasedS: p(30.0), Message: "read: connection\nreset by peer"},
	}
	return e
}

func TestExplainText(t *testing.T) {
	of := func(width int) string {
		var b strings.Builder
		if err := ExplainText(&b, explanation(), Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	golden(t, "explain.txt", of(100))
	for _, width := range []int{80, 100} {
		if strings.Contains(of(width), "\x1b") {
			t.Error("an escape sequence got through")
		}
		for _, l := range strings.Split(of(width), "\n") {
			if w := columns.StringWidth(l); w > 100 {
				t.Errorf("width %d: a line of %d columns: %q", width, w, l)
			}
		}
	}
	bad := explanation()
	bad.Requests[0].Value = p(math.NaN())
	if ExplainText(io.Discard, bad, Options{}) == nil || ExplainJSON(io.Discard, bad) == nil {
		t.Error("a value that is no number is printed")
	}
}

// Every definition is in the list of names, at 80 columns.
func TestDefinitionsText(t *testing.T) {
	var b strings.Builder
	if err := DefinitionsText(&b, analysis.Definitions(), Options{Width: 80}); err != nil {
		t.Fatal(err)
	}
	for _, d := range analysis.Definitions() {
		if !strings.Contains(b.String(), "\n  "+d.Name+" ") {
			t.Errorf("%s is not in the list", d.Name)
		}
	}
	for _, l := range strings.Split(b.String(), "\n") {
		if w := columns.StringWidth(l); w > 80 && !strings.Contains(l, "_per_{n}_") {
			t.Errorf("a line of %d columns: %q", w, l)
		}
	}
}
