package report

import (
	"strings"
	"testing"

	"tokentape/internal/analysis"
	"tokentape/tape"
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
		if out := words(full, nil, nil); strings.Contains(out, "acceptance length") || strings.Contains(out, "acceptance rate") {
			t.Errorf("full %v: speculation that nobody observed", full)
		}
		out := words(full, p(2.75), nil)
		if !strings.Contains(out, "acceptance length 2.750") || !strings.Contains(out, "Σ output tokens ÷ Σ verify steps") || strings.Contains(out, "acceptance rate") {
			t.Errorf("full %v: no acceptance length, or a rate made of it", full)
		}
		if out := words(full, nil, p(0.625)); !strings.Contains(out, "acceptance rate, % 62.50") || strings.Contains(out, "acceptance length") {
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

// The section names each ratio with its two counts, what the engine says beside,
// and what is missing with what would make it observable.
func TestSpeculationSection(t *testing.T) {
	show := func(r *analysis.Results, o Options) string {
		return strings.Join(strings.Fields(text(t, r, consoleOf(o))), " ")
	}
	full := Options{Full: true, Width: 200}
	all := recorded(t, 50, speculating)
	out := show(all, full)
	for _, want := range []string{
		"acceptance length 2.500", "1,500 ÷ 600", "acceptance rate, % 47.22", "850 ÷ 1,800",
		"tokens per event (wire) 14.50", "1,450 ÷ 100", "verify steps 600", "engine: spec_accept_length 2.500 n 50",
		"1: 75 · 2: 50 · 3: 16.67 (600 steps, n 50)", "accept rate",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, text(t, all, consoleOf(full)))
		}
	}
	if s := out[strings.Index(out, "Speculation"):]; strings.Contains(s[:min(len(s), 3000)], "acceptance length: not observed") {
		t.Error("all was told, and something is missing")
	}

	half := recorded(t, 50, func(q *tape.Request) { q.Tokens.Verify = tape.Some[int64](12) })
	const missing = "acceptance rate: not observed: it needs accepted and rejected drafts; the server told neither, and verify steps are no denominator for it → set workload.sampling.return_spec_tokens_details=true"
	for _, o := range []Options{full, {Width: 200}} {
		if out := show(half, o); !strings.Contains(out, missing) || !strings.Contains(out, "2.500") || strings.Contains(out, "acceptance rate, %") {
			t.Errorf("full %v: half of it\n%s", o.Full, out)
		}
	}
	none := recorded(t, 50)
	if out := show(none, full); !strings.Contains(out, "Speculation not observed: the server told no drafts and no verify steps → set workload.sampling") {
		t.Error("nothing was told, and the report does not say so:\n" + out)
	}
	const untold = " tokens per event: ITL is of events, TPOT of tokens; acceptance not observed → set workload.sampling.return_spec_tokens_details=true"
	for _, o := range []Options{full, {Width: 200}} {
		if out := show(none, o); !strings.Contains(out, untold) {
			t.Errorf("full %v: several tokens an event, and nothing is said of it", o.Full)
		}
	}
	none.Speculation.Untold = nil
	if out := show(none, Options{Width: 200}); strings.Contains(out, "acceptance") {
		t.Error("nothing was told, and the page speaks of it")
	}
	csv := text(t, all, StatsCSV)
	for _, want := range []string{"speculation,whole,,,accept_length,tokens,50,,2.5,", "1500 / 600", "accepted_at_position_3,share,50,,0.16666666666666666", "engine_says_spec_accept_rate"} {
		if !strings.Contains(csv, want) {
			t.Errorf("stats.csv has no %q", want)
		}
	}
	if rows := text(t, all, RequestsCSV); !strings.Contains(rows, ",17,19,36,12,0.472222,2.500000,14.500000,3 3 4 2,") {
		t.Error("requests.csv:\n" + rows[:1500])
	}
}
