package run_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/analysis"
	"tokentape/internal/clock"
	"tokentape/internal/report"
	"tokentape/internal/spec"
)

// B05: 2,000 requests at 200/s, Poisson, against an instant server: the schedule stands
// in absolute times, so that the achieved rate is the schedule's own and nothing drifts.
func TestB05RateDoesNotDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res, requests := rig{t: t, clk: clock.New(), handler: fixed(0, nil),
			load: spec.Load{Requests: 2000, Rate: 200, Arrivals: "poisson"}}.analysed()
		l := res.Load
		if l.RateAsked == nil && res.Load.RatePlanned == nil || l.RateAchieved == nil {
			t.Fatalf("no achieved rate beside the planned one: %+v", l)
		}
		if drift := *l.RateAchieved / *l.RatePlanned; math.Abs(drift-1) > 1e-6 {
			t.Errorf("achieved %v of %v planned per second", *l.RateAchieved, *l.RatePlanned)
		}
		if math.Abs(*l.RatePlanned/200-1) > 0.1 {
			t.Errorf("planned %v/s, asked 200", *l.RatePlanned)
		}
		if *l.SendLagP99MS != 0 {
			t.Errorf("send lag p99 of %v ms in virtual time", *l.SendLagP99MS)
		}
		for i, q := range requests {
			if q.TWroteFirst.V != q.TDue.V {
				t.Fatalf("request %d was due at %d and written at %d", i, q.TDue.V, q.TWroteFirst.V)
			}
		}
	})
}

// D03: one TTFT of 100.001 ms through every form: the unit stands in the name or beside
// the number, is the same in the whole file, and microseconds survive.
func TestD03OneUnitEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := []said{{100*time.Millisecond + time.Microsecond, content("x")}, {120 * time.Millisecond, content("y") + finish("stop") + usage(5, 2) + done}}
		res, requests := rig{t: t, clk: clock.New(), handler: plays(stream...), load: spec.Load{Requests: 1, Concurrency: 1}}.analysed()
		if got := requests[0].TFirstToken.V - requests[0].TReleased.V; got != 100_001_000 {
			t.Fatalf("on the tape %d ns", got)
		}
		print := func(view func(io.Writer, *analysis.Results) error) string {
			var b bytes.Buffer
			if err := view(&b, res); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		var back analysis.Results
		if err := json.Unmarshal([]byte(print(report.JSON)), &back); err != nil {
			t.Fatal(err)
		}
		if m := back.Windows[0].Metrics["ttft_ms"]; m.Unit != "ms" || *m.Mean != 100.001 {
			t.Errorf("results.json: %v %s", *m.Mean, m.Unit)
		}
		cells := func(text string) [][]string {
			lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			return lines
		}
		rows := cells(print(report.RequestsCSV))
		if i := slices.Index(rows[0], "ttft_ms"); i < 0 || rows[1][i] != "100.001000" {
			t.Errorf("requests.csv: %v", rows)
		}
		if i := slices.Index(rows[0], "released_s"); i < 0 {
			t.Errorf("requests.csv: moments without a unit: %v", rows[0])
		}
		stats := cells(print(report.StatsCSV))
		unit, mean, found := slices.Index(stats[0], "unit"), slices.Index(stats[0], "mean"), false
		for _, line := range stats[1:] {
			if slices.Contains(line, "ttft_ms") && line[mean] != "" {
				found = true
				if line[unit] != "ms" || !strings.HasPrefix(line[mean], "100.001") {
					t.Errorf("stats.csv: %v", line)
				}
			}
		}
		if !found {
			t.Errorf("stats.csv has no TTFT: %v", stats)
		}
	})
}
