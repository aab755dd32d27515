package window

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

const sec = int64(1e9)

// req is an ok measured request in flight from start to end, in seconds.
func req(start, end float64) metric.Request {
	s, e := int64(start*1e9), int64(end*1e9)
	return metric.Request{
		Phase: tape.PhaseMeasure, OK: true, Streamed: true, TokenEvents: 1, Due: metric.Absent, Ready: s, Released: s,
		FirstToken: e, FirstVisible: e, LastToken: e, LastEvent: e, End: e, Choices: 1,
	}
}

func reqs(starts, ends []float64) []metric.Request {
	var out []metric.Request
	for i := range starts {
		out = append(out, req(starts[i], ends[i]))
	}
	return out
}

// The cases are the ones that AISBench's rule is documented by, ties and edges
// included.
func TestStable(t *testing.T) {
	type f = []float64
	for _, c := range []struct {
		name         string
		starts, ends f
		cap          int64
		from, to     float64 // from < 0: no window
		cohort       []int
		why          string
	}{
		{name: "second rise opens", starts: f{1, 2, 4, 6}, ends: f{3.5, 5.5, 7, 9}, cap: 2, from: 4, to: 6, cohort: []int{2, 3}},
		{name: "drop inside", starts: f{1, 2, 3.5, 5, 8}, ends: f{3, 4, 6, 7, 9}, cap: 2, from: 3.5, to: 5, cohort: []int{2, 3}},
		{name: "one instant", starts: f{1, 2}, ends: f{1.5, 2.5}, cap: 1, from: 2, to: 2, cohort: []int{1}},
		{name: "cap 1", starts: f{1, 2, 3}, ends: f{1.5, 2.5, 3.5}, cap: 1, from: 2, to: 3, cohort: []int{1, 2}},
		{name: "overshoot", starts: f{1, 2, 3, 4}, ends: f{5, 6, 7, 8}, cap: 2, from: -1, why: "only once"},
		{name: "ties keep the order of the list", starts: f{0, .5, 1, 2}, ends: f{1, 2, 3, 4}, cap: 2, from: 1, to: 2, cohort: []int{2, 3}},
		{name: "ties in the reversed list", starts: f{2, 1, .5, 0}, ends: f{4, 3, 2, 1}, cap: 2, from: -1, why: "only once"},
		{name: "never full", starts: f{1, 2, 3}, ends: f{2.5, 3.5, 4.5}, cap: 10, from: -1, why: "at most 2 ok requests"},
		{name: "no cap", starts: f{1, 2}, ends: f{2, 3}, cap: 0, from: -1, why: "no cap"},
		{name: "nothing", cap: 4, from: -1, why: "at most 0 ok requests"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := Choose(KindStable, reqs(c.starts, c.ends), Load{Concurrency: c.cap})
			if c.from < 0 {
				if w.OK || !strings.Contains(w.Why, c.why) || w.Cohort != nil {
					t.Fatalf("%+v", w)
				}
				return
			}
			if !w.OK || w.From != int64(c.from*1e9) || w.To != int64(c.to*1e9) || !slices.Equal(w.Cohort, c.cohort) {
				t.Fatalf("%+v, want [%v, %v] %v", w, c.from, c.to, c.cohort)
			}
		})
	}
}

// The rule sees ok measured requests alone.
func TestStablePassesOverOthers(t *testing.T) {
	rs := reqs([]float64{1, 2, 4, 6}, []float64{3.5, 5.5, 7, 9})
	bad, warm := req(3, 8), req(0, 10)
	bad.OK, warm.Phase = false, tape.PhaseWarmup
	rs = []metric.Request{warm, rs[0], rs[1], bad, rs[2], rs[3]}
	w := Choose(KindStable, rs, Load{Concurrency: 2})
	if !w.OK || w.From != 4*sec || w.To != 6*sec || !slices.Equal(w.Cohort, []int{4, 5}) {
		t.Fatalf("%+v", w)
	}
	if w.LeftOut != "2 started before, 2 not ok or of other phases" {
		t.Error(w.LeftOut)
	}
}

// closed is a closed loop of c slots, n requests of d seconds each.
func closed(n, c int, d float64) []metric.Request {
	var out []metric.Request
	for i := range n {
		s := float64(i/c) * d
		out = append(out, req(s, s+d))
	}
	return out
}

func TestSteady(t *testing.T) {
	t.Run("closed loop: the start burst is the ramp", func(t *testing.T) {
		// 8 rounds of 4: starts at 0, 2 … 14 s. From 0 + 2, to 14, cohort in [2, 12].
		w := Choose(KindSteady, closed(32, 4, 2), Load{Concurrency: 4})
		if !w.OK || w.From != 2*sec || w.To != 14*sec || w.CohortTo != 12*sec || len(w.Cohort) != 24 {
			t.Fatalf("%+v", w)
		}
		if w.LeftOut != "4 started before, 4 started in the last p95 E2E or after" {
			t.Error(w.LeftOut)
		}
	})
	t.Run("warm-up", func(t *testing.T) {
		rs := closed(32, 4, 2)
		for i := range 8 {
			rs[i].Phase = tape.PhaseWarmup // last release at 2 s
		}
		w := Choose(KindSteady, rs, Load{Concurrency: 4})
		if !w.OK || w.From != 4*sec || w.To != 14*sec || !strings.Contains(w.Why, "last warm-up release (2 s)") {
			t.Fatalf("%+v", w)
		}
	})
	t.Run("ramp", func(t *testing.T) {
		w := Choose(KindSteady, closed(32, 4, 2), Load{Concurrency: 4, Ramp: 5 * sec})
		if !w.OK || w.From != 6*sec || !strings.Contains(w.Why, "last release of the ramp (4 s)") {
			t.Fatalf("%+v", w)
		}
	})
	t.Run("open loop: first release", func(t *testing.T) {
		var rs []metric.Request
		for i := range 20 {
			rs = append(rs, req(float64(i), float64(i)+1.5))
		}
		w := Choose(KindSteady, rs, Load{Concurrency: 4, Open: true})
		if !w.OK || w.From != 3*sec/2 || w.To != 19*sec || w.CohortTo != 35*sec/2 || len(w.Cohort) != 16 {
			t.Fatalf("%+v", w)
		}
	})
	t.Run("tail rows move nothing", func(t *testing.T) {
		rs := closed(40, 4, 2)
		for i := 32; i < 40; i++ {
			rs[i].Phase = tape.PhaseTail
		}
		w := Choose(KindSteady, rs, Load{Concurrency: 4})
		if !w.OK || w.To != 14*sec || len(w.Cohort) != 24 {
			t.Fatalf("%+v", w)
		}
	})
	for name, rs := range map[string][]metric.Request{
		"one request":  closed(1, 1, 1),
		"one round":    closed(4, 4, 1),
		"two rounds":   closed(8, 4, 1),
		"nothing":      nil,
		"p95 too long": append(closed(12, 4, 1), req(2, 4), req(2, 4)),
	} {
		t.Run(name, func(t *testing.T) {
			if w := Choose(KindSteady, rs, Load{Concurrency: 4}); w.OK || !strings.HasPrefix(w.Why, "no steady window: ") || w.Cohort != nil {
				t.Fatalf("%+v", w)
			}
		})
	}
}

// The level agrees with counting at every instant.
func TestFlightAgainstCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rs []metric.Request
		for i := range rapid.IntRange(0, 20).Draw(t, "n") {
			s := rapid.IntRange(0, 30).Draw(t, fmt.Sprint("s", i))
			rs = append(rs, req(float64(s)/1e9, float64(s+rapid.IntRange(0, 10).Draw(t, fmt.Sprint("d", i)))/1e9))
		}
		from := int64(rapid.IntRange(0, 20).Draw(t, "from"))
		to := from + int64(rapid.IntRange(1, 20).Draw(t, "length"))
		var sum, square, peak float64
		for x := from; x < to; x++ { // between x and x+1 ns
			level := 0.0
			for _, q := range rs {
				if q.Released <= x && x < q.End {
					level++
				}
			}
			sum, square = sum+level, square+level*level
			peak = max(peak, level)
		}
		n := float64(to - from)
		mean, sd, top, ok := NewFlight(rs).Over(from, to)
		if !ok || abs(mean-sum/n) > 1e-9 || abs(sd*sd-(square/n-sum/n*sum/n)) > 1e-6 {
			t.Fatalf("mean %v sd %v, want %v", mean, sd, sum/n)
		}
		if float64(top) < peak {
			t.Fatalf("peak %v, at least %v", top, peak)
		}
	})
}

func abs(x float64) float64 { return max(x, -x) }

// A slot that is handed over at one instant is not counted twice.
func TestPeakAtHandOver(t *testing.T) {
	f := NewFlight(closed(32, 4, 2))
	if _, _, peak, _ := f.Over(0, 16*sec); peak != 4 {
		t.Errorf("peak %d, want 4", peak)
	}
	if _, _, peak, ok := NewFlight([]metric.Request{req(1, 1)}).Over(sec, sec); peak != 1 || ok {
		t.Errorf("an instant request: peak %d", peak)
	}
}
