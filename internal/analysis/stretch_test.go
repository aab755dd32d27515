package analysis

import (
	"strings"
	"testing"

	"tokentape/internal/analysis/window"
	"tokentape/tape"
)

// outage makes the requests released in [from, to) seconds fail at once.
func (s *script) outage(from, to float64) {
	for i, q := range s.reqs {
		if t := float64(q.TReleased.V) / 1e9; from <= t && t < to {
			due := q.TDue
			s.reqs[i] = failed(q.Seq, q.TReleased.V, msec, tape.OutcomeConnect, "connection refused")
			s.reqs[i].TDue = due
		}
	}
}

// A server that dies, comes late, or is away for a while leaves no trend: its window
// is not steady all the same.
func TestStretchWithoutOutput(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int64
		edit func(*script)
		why  string // "": steady
	}{
		{"nothing", 900, func(*script) {}, ""},
		{"dead at the end", 200, func(s *script) { s.outage(15.3, 20) }, "output all but stops from 16.0 to 19.9 s, although requests went out"},
		{"dead at the end of a long run", 900, func(s *script) { s.outage(70, 90) }, "output all but stops from 72.0 to 89.9 s, although requests went out: 0 tok/s, against 200 tok/s in the median tenth"},
		{"away in the middle", 900, func(s *script) { s.outage(30, 40) }, "output throughput falls by"},
		{"not there at first", 900, func(s *script) { s.outage(0, 20) }, "output all but stops from 0.2 to 18.2 s"},
		{"short answers in the second half", 900, func(s *script) {
			for i, q := range s.reqs {
				if i >= 450 {
					s.reqs[i] = ok(q.Seq, q.TReleased.V, every(10, 50*msec, 10*msec)...)
					s.reqs[i].TDue = q.TDue
				}
			}
		}, "output throughput falls by"},
		{"a few failures", 900, func(s *script) { s.outage(30, 32) }, ""},
		{"no tokens counted", 900, func(s *script) {
			s.outage(70, 90)
			for _, q := range s.reqs {
				q.Tokens.Output = tape.Opt[int64]{}
			}
		}, "0 requests/s, against 9.93 requests/s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := steadyRun(c.n)
			s.spec = strings.Replace(s.spec, `{"load"`, `{"limits":{"failed_share":0.5},"load"`, 1)
			c.edit(s)
			got := check(t, s.analyse(t, Options{}), "window_trend")
			if (got.Result == ResultMiss) != (c.why != "") || !strings.Contains(got.Why, c.why) {
				t.Errorf("%s %q, want %q", got.Result, got.Why, c.why)
			}
		})
	}
}

// Runs of one level seldom look like anything else: of a Poisson load without a
// queue, a light one, and two closed loops at most 2 in 100 are said to have a
// stretch that stands out. (Near capacity a queue makes real ones.)
func TestStretchesOfSteadyRuns(t *testing.T) {
	for _, m := range models {
		if m.name == "queue" {
			continue
		}
		for _, n := range []int{60, 200} {
			const runs = 40
			found := 0
			for seed := range uint64(runs) {
				r, err := collect(&records{recs: m.run(n, seed).records()}, Options{})
				if err != nil {
					t.Fatal(err)
				}
				w := window.ChooseOver(window.KindSteady, r.reqs, r.groups)
				if !w.OK {
					continue
				}
				output, level, unit := r.tenths(w)
				if text := r.stretch(w, output, level, unit); text != "" {
					found++
					t.Logf("%s, n %d, seed %d: %s", m.name, n, seed, text)
				}
			}
			if found > runs*2/100+1 {
				t.Errorf("%s, n %d: %d of %d", m.name, n, found, runs)
			}
		}
	}
}
