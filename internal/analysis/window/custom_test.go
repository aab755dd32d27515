package window

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

// ten are requests 0 to 9, one a second, 1.5 s long; 0 is a warm-up, 5 failed and
// 9 was never sent.
func ten() []metric.Request {
	var rs []metric.Request
	for i := range 10 {
		r := req(float64(i), float64(i)+1.5)
		r.Seq = int64(i)
		rs = append(rs, r)
	}
	rs[0].Phase = tape.PhaseWarmup
	rs[5].OK = false
	rs[9].Released = metric.Absent
	return rs
}

func TestCustom(t *testing.T) {
	for _, c := range []struct {
		kind     string
		from, to float64 // from < 0: no window
		cohort   []int
		leftOut  string
		why      string
		byEvents bool
		told     string // beginning of Why
	}{
		{kind: "seconds:2..6", from: 2, to: 6, cohort: []int{3, 4, 6}, leftOut: "4 released outside, 1 not ok, 1 of other phases", byEvents: true},
		{kind: "seconds:2s..6s", from: 2, to: 6, cohort: []int{3, 4, 6}, leftOut: "4 released outside, 1 not ok, 1 of other phases", byEvents: true},
		{kind: "seconds:0.5..", from: .5, to: 9.5, cohort: []int{1, 2, 3, 4, 6, 7, 8}, leftOut: "1 not ok, 1 of other phases", byEvents: true},
		{kind: "seconds:4..60", from: 4, to: 9.5, cohort: []int{6, 7, 8}, leftOut: "4 released outside, 1 not ok, 1 of other phases", byEvents: true, told: "clipped to 4–9.5 s, where the run ended: as asked"},
		{kind: "seconds:4..9.5", from: 4, to: 9.5, cohort: []int{6, 7, 8}, leftOut: "4 released outside, 1 not ok, 1 of other phases", byEvents: true, told: "as asked"},
		{kind: "rows:7..99", from: 7, to: 9.5, cohort: []int{7, 8}, leftOut: "6 of other rows, 1 of other phases", byEvents: true, told: "2 of 93 asked rows exist as measured requests: as asked"},
		{kind: "seconds:..1000", from: 0, to: 9.5, told: "clipped to 0–9.5 s", cohort: []int{1, 2, 3, 4, 6, 7, 8}, leftOut: "1 not ok, 1 of other phases", byEvents: true},
		{kind: "seconds:9.2..9.4", from: 9.2, to: 9.4, leftOut: "8 released outside, 1 of other phases", byEvents: true},
		{kind: "seconds:9.5..20", from: -1, why: "the run ended before 9.500 s"},
		{kind: "rows:2..6", from: 2, to: 7.5, cohort: []int{2, 3, 4, 6}, leftOut: "3 of other rows, 1 not ok, 1 of other phases", byEvents: true},
		{kind: "rows:7..", from: 7, to: 9.5, cohort: []int{7, 8}, leftOut: "6 of other rows, 1 of other phases", byEvents: true, told: "as asked"},
		{kind: "rows:9..99", from: -1, why: "no measured request of these rows"},
		{kind: "phase:warmup", from: 0, to: 1.5, cohort: []int{0}, leftOut: "8 of other phases"},
		{kind: "phase:measure", from: 1, to: 9.5, cohort: []int{1, 2, 3, 4, 6, 7, 8}, leftOut: "1 of other phases, 1 not ok"},
		{kind: "phase:tail", from: -1, why: "no request of phase tail"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			if err := Check(c.kind); err != nil {
				t.Fatal(err)
			}
			w := Choose(c.kind, ten(), Load{})
			if c.from < 0 {
				if w.OK || !strings.Contains(w.Why, c.why) || w.Cohort != nil {
					t.Fatalf("%+v", w)
				}
				return
			}
			if !w.OK || w.Kind != c.kind || w.From != int64(math.Round(c.from*1e9)) || w.To != int64(math.Round(c.to*1e9)) || !slices.Equal(w.Cohort, c.cohort) ||
				w.CohortTo != w.To || w.ByEvents != c.byEvents || !strings.HasPrefix(w.LeftOut, c.leftOut) || !strings.HasPrefix(w.Why, c.told) {
				t.Errorf("%+v", w)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	for kind, want := range map[string]string{
		"":                             "unknown window",
		"Whole":                        "known: whole, stable, steady, seconds:10..60",
		"seconds:":                     `no ".."`,
		"seconds:5":                    `no ".."`,
		"seconds:5..4":                 "ends (4) before it begins (5)",
		"seconds:-1..4":                `"-1" is no number of seconds`,
		"seconds:NaN..4":               `"NaN" is no number`,
		"seconds:1..1e12":              `"1e12" is no number`,
		"rows:1.5..4":                  `"1.5" is no row`,
		"rows:1..99999999999999999999": "is no row",
		"phase:":                       "no such phase; known: [probe prepare warmup measure tail]",
		"phase:ramp":                   "no such phase",
	} {
		if err := Check(kind); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", kind, err, want)
		}
	}
	for _, kind := range Kinds() {
		if err := Check(kind); err != nil {
			t.Error(err)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{"whole", "seconds:1..2", "rows:..", "phase:tail", "seconds:1e9..", "rows:..-1"} {
		f.Add(s)
	}
	rs := ten()
	f.Fuzz(func(t *testing.T, kind string) {
		w := Choose(kind, rs, Load{Concurrency: 2})
		if (Check(kind) != nil) && w.OK {
			t.Errorf("%q is refused and has a window", kind)
		}
		if w.OK && (w.To < w.From || w.Why == "") {
			t.Errorf("%q: %+v", kind, w)
		}
	})
}
