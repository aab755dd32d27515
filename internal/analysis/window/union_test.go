package window

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

func TestUnion(t *testing.T) {
	w := Interval{Spans: []Span{{10, 20, 15}, {100, 130, 120}}}
	if w.Length() != 40 {
		t.Error(w.Length())
	}
	for at, want := range map[int64][3]int64{ // holds, starts, place
		9: {0, 0, 0}, 10: {0, 1, 0}, 11: {1, 1, 1}, 16: {1, 0, 6}, 20: {1, 0, 10}, 21: {0, 0, 10}, 99: {0, 0, 10}, 100: {0, 1, 10}, 101: {1, 1, 11}, 130: {1, 0, 40}, 200: {0, 0, 40},
	} {
		if got := [3]int64{truth(w.Holds(at)), truth(w.Starts(at)), w.Place(at)}; got != want {
			t.Errorf("%d: %v, want %v", at, got, want)
		}
	}
	var all []Span
	for i := range 4 {
		all = append(all, w.Slice(i, 4)...)
	}
	if want := []Span{{10, 20, 0}, {100, 110, 0}, {110, 120, 0}, {120, 130, 0}}; !slices.Equal(all, want) {
		t.Errorf("%v", all)
	}
	if over := w.Slice(0, 2); !slices.Equal(over, []Span{{10, 20, 0}, {100, 110, 0}}) {
		t.Errorf("over a border: %v", over)
	}
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Slices are the window and nothing twice, whatever its stretches; Place counts what
// lies before.
func TestSlicesAddUp(tt *testing.T) {
	rapid.Check(tt, func(t *rapid.T) {
		var w Interval
		at := int64(0)
		for range rapid.IntRange(1, 6).Draw(t, "spans") {
			from := at + rapid.Int64Range(0, 50).Draw(t, "gap")
			at = from + rapid.Int64Range(1, 1000).Draw(t, "length")
			w.Spans = append(w.Spans, Span{From: from, To: at, CohortTo: at})
		}
		n := rapid.IntRange(1, 40).Draw(t, "n")
		sum, before := int64(0), int64(0)
		for i := range n {
			for _, s := range w.Slice(i, n) {
				if s.Length() < 0 || w.Place(s.To)-w.Place(s.From) != s.Length() || w.Place(s.From) < before {
					t.Fatalf("slice %d of %d: %v in %v", i, n, s, w.Spans)
				}
				before = w.Place(s.To)
				sum += s.Length()
			}
		}
		if sum != w.Length() {
			t.Fatalf("%d of %d", sum, w.Length())
		}
	})
}

// run is n requests of one part, one a second from `from` on, each 1.5 s long.
func run(part int32, n int, from float64) []metric.Request {
	var rs []metric.Request
	for i := range n {
		r := req(from+float64(i), from+float64(i)+1.5)
		r.Part, r.Seq = part, int64(part)*100+int64(i)
		rs = append(rs, r)
	}
	return rs
}

// One run after the other: each is chosen by itself; one without such a window is left
// out and named.
func TestChooseOver(t *testing.T) {
	reqs := slices.Concat(run(0, 10, 0), run(1, 1, 50), run(2, 10, 100))
	l := Load{Concurrency: 2}
	groups := []Group{{0, 10, l}, {10, 11, l}, {11, 21, l}}
	w := ChooseOver(KindStable, reqs, groups)
	if !w.OK || len(w.Spans) != 2 || w.Spans[1].From < 100e9 || slices.Contains(w.Cohort, 10) || w.Cohort[len(w.Cohort)-1] < 11 {
		t.Fatalf("%+v", w)
	}
	if !strings.Contains(w.LeftOut, "1 of runs without such a window") || !strings.Contains(w.Why, "none in: [2] no stable window: the cap of 2 was never full") {
		t.Errorf("%s; %s", w.Why, w.LeftOut)
	}
	if w := ChooseOver(KindStable, reqs[10:11], []Group{{0, 1, l}, {1, 1, l}}); w.OK || w.Spans != nil || w.Why == "" {
		t.Errorf("none anywhere: %+v", w)
	}
	if w := ChooseOver("rows:201..202", reqs, groups); !w.OK || !slices.Equal(w.Cohort, []int{12, 13}) || len(w.Spans) != 1 {
		t.Errorf("%+v", w)
	}
}

// At the same time: full only while all of them send, up to the sum of their caps.
func TestSteadyOfStripes(t *testing.T) {
	reqs := slices.Concat(run(0, 30, 0), run(1, 20, 5.25))
	slices.SortFunc(reqs, func(a, b metric.Request) int { return int(a.Released - b.Released) })
	l := Load{Concurrency: 4, Parts: map[int32]Load{0: {Concurrency: 2}, 1: {Concurrency: 2}}}
	w := ChooseOver(KindSteady, reqs, []Group{{0, 50, l}})
	// The second of part 1 at 6.25 s fills its cap, its last starts at 24.25 s.
	if !w.OK || w.From != 6.25e9+1.5e9 || w.To != 24.25e9 {
		t.Errorf("%+v", w)
	}
	apart := slices.Concat(run(0, 5, 0), run(1, 5, 4.5))
	if w := ChooseOver(KindSteady, apart, []Group{{0, 10, l}}); w.OK || !strings.Contains(w.Why, "is empty") {
		t.Errorf("never both: %+v", w)
	}
	warm := slices.Clone(reqs)
	warm[0].Phase = tape.PhaseWarmup
	if w := ChooseOver(KindSteady, warm, []Group{{0, 50, l}}); !w.OK || w.From != 6.25e9+1.5e9 {
		t.Errorf("%+v", w)
	}
}
