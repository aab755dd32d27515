package report

import (
	"math"
	"strings"
	"testing"

	"tokentape/internal/analysis"
)

// The short view of a run with three windows is a page; one with failures,
// devices, an SLO and notes takes a few lines more.
func TestShortIsAPage(t *testing.T) {
	r := recorded(t, 300)
	if len((&console{r: r}).exist()) != 3 {
		t.Fatal("the run has not three windows")
	}
	for _, x := range []struct {
		r            *analysis.Results
		width, limit int
	}{{r, 80, 79}, {r, 100, 72}, {openLoop(), 80, 87}, {openLoop(), 100, 81}} {
		if n := strings.Count(text(t, x.r, consoleOf(Options{Width: x.width})), "\n"); n > x.limit {
			t.Errorf("%s at %d columns: %d lines, at most %d are wanted", x.r.Run, x.width, n, x.limit)
		}
	}
}

// Tail guards are the one kind of warning that the short view sums up, and what
// analysis writes is what the view takes for one.
func TestTailGuards(t *testing.T) {
	guards := 0
	for _, n := range []int64{1, 4, 40, 300} {
		r := recorded(t, n)
		short, full := text(t, r, consoleOf(Options{})), strings.Join(strings.Fields(text(t, r, consoleOf(Options{Full: true}))), " ")
		for _, w := range r.Windows {
			for name, s := range w.Metrics {
				for _, warning := range s.Warnings {
					guards++
					if !summedUp(warning) {
						t.Errorf("n = %d, %s: %q is not taken for a tail guard", n, name, warning)
					}
					if !strings.Contains(full, warning) {
						t.Errorf("n = %d: the full view lacks %q", n, warning)
					}
				}
			}
		}
		if got, want := strings.Count(short, "No interval where"), min(1, int(n-1)); got != want {
			t.Errorf("n = %d: %d lines on tail guards, want %d", n, got, want)
		}
		if n := strings.Count(short, "more request"); n > 1+strings.Count(short, "send more request") {
			t.Errorf("tail guards reached the short view:\n%s", short)
		}
	}
	if guards < 50 {
		t.Fatalf("only %d tail guards; the test sees nothing", guards)
	}
	for _, other := range []string{"token sources are mixed: usage 3, events 1", "p99 is rough", "needs about 3 more requests", "percentiles are from a histogram"} {
		if summedUp(other) {
			t.Errorf("%q is taken for a tail guard", other)
		}
	}
}

// A single request has one value a metric, printed once.
func TestOneRequestIsOneNumber(t *testing.T) {
	out := text(t, one(), consoleOf(Options{}))
	if n := strings.Count(out, "533.9"); n != 1 {
		t.Errorf("E2E is printed %d times:\n%s", n, out)
	}
	for _, noise := range []string{"p50", "p99", "mean ", "95 %", "No interval"} {
		if strings.Contains(strings.ReplaceAll(out, "in flight mean ", ""), noise) {
			t.Errorf("%q in the report of one request:\n%s", noise, out)
		}
	}
}

// TTFT from due is shown where requests waited for a slot.
func TestFromDueOnlyWithSlotWaits(t *testing.T) {
	r := openLoop()
	if !strings.Contains(text(t, r, consoleOf(Options{})), "TTFT from due") {
		t.Error("requests waited, and TTFT from due is not shown")
	}
	r.Load.SlotWaitShare = p(0.0)
	if strings.Contains(text(t, r, consoleOf(Options{})), "TTFT from due") {
		t.Error("no request waited, and TTFT from due is shown")
	}
}

// Where a table with intervals beside the values is wider than the page, they
// move below, and none is lost.
func TestIntervalsMoveBelow(t *testing.T) {
	r := openLoop()
	for _, w := range r.Windows {
		for _, s := range w.Metrics {
			for k := range s.CI {
				s.CI[k] = ci(1234567, 7654321)
			}
		}
	}
	for _, width := range []int{80, 160} {
		out := text(t, r, consoleOf(Options{Width: width}))
		if n := strings.Count(out, "(1,234,567–7,654,321)"); n != 2*(2*5-1) {
			t.Errorf("%d columns: %d intervals:\n%s", width, n, out)
		}
		if beside := strings.Contains(out, "193.2 (1,234,567"); beside != (width > 80) {
			t.Errorf("%d columns: beside the value: %v", width, beside)
		}
	}
}

func TestBrief(t *testing.T) {
	for _, x := range []struct {
		lo, hi float64
		want   string
	}{
		{11.67, 14.54, "11.7–14.5"}, {744.6, 762.3, "745–762"}, {5.334, 101.4, "5–101"}, {14055.2, 16770.9, "14,055–16,771"}, {32, 32, ""},
		{10.04, 10.06, "10.04–10.06"}, {10.0512, 10.0534, "10.051–10.053"}, {0, 2.944, "0.0–2.9"}, {1234.5, 1234.9, "1,234.50–1,234.90"}, {0, 1e-12, "0.000000000–0.000000000"},
	} {
		if got := brief(ci(x.lo, x.hi)); got != x.want {
			t.Errorf("brief(%v, %v) = %q, want %q", x.lo, x.hi, got, x.want)
		}
	}
	if brief([2]*float64{}) != "" || between([2]*float64{p(1.0), nil}) != "" || between(ci(32, 32)) != "" {
		t.Error("an interval without two ends, or of a constant, is printed")
	}
}

func TestMoment(t *testing.T) {
	for in, want := range map[float64]string{0: "0.000", 5.8e-6: "0.000", 0.0996: "0.100", 0.318: "0.318", 12.674: "12.67", -1e-7: "0.000", math.Copysign(0, -1): "0.000"} {
		if got := moment(&in); got != want {
			t.Errorf("moment(%v) = %q, want %q", in, got, want)
		}
	}
}

// Every definition of the short view fits a line of 80 columns.
func TestBriefsAreBrief(t *testing.T) {
	for name, says := range briefs {
		if title(name) == strings.ReplaceAll(name, "_", " ") {
			t.Errorf("%s is no metric", name)
		}
		if n := 2 + 13 + 2 + columns.StringWidth(says); n > 80 {
			t.Errorf("%s takes %d columns", name, n)
		}
	}
	r := recorded(t, 40)
	c := console{r: r}
	for _, name := range c.glanced() {
		if briefs[name] == "" {
			t.Errorf("%s is shown and not defined", name)
		}
	}
}
