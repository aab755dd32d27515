package report

import (
	"strings"
	"testing"
)

// Rows of speculation are in every view where they were observed, each with its
// n, and nowhere else.
func TestSpeculation(t *testing.T) {
	words := func(full bool, length, rate *float64) string {
		r := recorded(t, 50)
		w := &r.Windows[0]
		w.Facts.AcceptLength, w.Facts.AcceptLenN = length, new(int64(41))
		w.Facts.AcceptRate, w.Facts.AcceptRateN = rate, new(int64(39))
		return strings.Join(strings.Fields(text(t, r, consoleOf(Options{Full: full, Width: 100}))), " ")
	}
	for _, full := range []bool{false, true} {
		if out := words(full, nil, nil); strings.Contains(out, "verify step") || strings.Contains(out, "drafts") {
			t.Errorf("full %v: speculation that nobody observed", full)
		}
		out := words(full, p(2.75), nil)
		if !strings.Contains(out, "tokens per verify step 2.750") || !strings.Contains(out, "Σ output tokens ÷ Σ verify steps") || strings.Contains(out, "drafts accepted") {
			t.Errorf("full %v: no acceptance length, or a rate made of it", full)
		}
		if out := words(full, nil, p(0.625)); !strings.Contains(out, "drafts accepted, % 62.50") || strings.Contains(out, "tokens per verify") {
			t.Errorf("full %v: no acceptance rate, or a length made of it", full)
		}
	}
	if out := words(false, p(2.75), p(0.625)); !strings.Contains(out, "2.750 n 41") || !strings.Contains(out, "62.50 n 39") {
		t.Error("no n beside the values:\n" + out)
	}
	r := recorded(t, 50)
	r.Windows[0].Facts.AcceptLength, r.Windows[0].Facts.AcceptLenN = p(2.75), new(int64(41))
	if out := text(t, r, StatsCSV); !strings.Contains(out, ",accept_length,,41,,2.75,") {
		t.Error("stats.csv has no accept_length with its n")
	}
}
