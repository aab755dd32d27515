package doctor

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tokentape/internal/clock"
)

// looks are looks of the given costs, every 2 ms, each of 5 µs.
func looks(costs ...float64) (all []Look) {
	for i, c := range costs {
		from := int64(i) * 2e6
		all = append(all, Look{from, from + 5000, c})
	}
	return all
}

func TestNewSpeed(t *testing.T) {
	even := slices.Repeat([]float64{100}, 20)
	with := func(at int, costs ...float64) []float64 {
		c := slices.Clone(even)
		copy(c[at:], costs)
		return c
	}
	for name, tc := range map[string]struct {
		costs []float64
		want  []Stretch
	}{
		"none":                              {nil, nil},
		"even":                              {even, []Stretch{}},
		"half the speed is no stretch":      {with(4, 200, 200, 200, 200), []Stretch{}},
		"one interrupt":                     {with(4, 900), []Stretch{}},
		"two":                               {with(4, 900, 900), []Stretch{}},
		"two twice":                         {with(4, 900, 900, 100, 900, 900), []Stretch{}},
		"three":                             {with(4, 250, 1000, 250), []Stretch{{8e6, 12e6 + 5000, 0.1}}},
		"at the beginning":                  {with(0, 250, 500, 250), []Stretch{{0, 4e6 + 5000, 0.2}}},
		"at the end":                        {with(17, 250, 500, 250), []Stretch{{34e6, 38e6 + 5000, 0.2}}},
		"apart by one look":                 {with(4, 400, 400, 400, 100, 1000, 500, 500), []Stretch{{8e6, 20e6 + 5000, 0.1}}},
		"apart by two":                      {with(4, 400, 400, 400, 100, 100, 1000, 500, 500), []Stretch{{8e6, 12e6 + 5000, 0.25}, {18e6, 22e6 + 5000, 0.1}}},
		"cost nothing: the clock is coarse": {with(0, slices.Repeat([]float64{0}, 12)...), nil},
	} {
		s := NewSpeed(looks(tc.costs...))
		if (s.Looks == 0) != (tc.want == nil) || s.Looks > 0 && (s.Looks != len(tc.costs) || s.From != 0 || s.To != 38e6+5000 || s.Apart != 2e6-5000) {
			t.Errorf("%s: %+v", name, s)
		}
		if !slices.Equal(s.Stretches, tc.want) {
			t.Errorf("%s: %+v, want %+v", name, s.Stretches, tc.want)
		}
	}
	late := append(looks(even...), Look{100e6, 101e6, 100})
	if s := NewSpeed(late); s.Apart != 62e6-5000 {
		t.Errorf("apart %d", s.Apart)
	}
}

// Whatever a machine's speed and its noise are, stretches are where it was slow and nowhere
// else, as long as that is less than half of the time.
func TestNewSpeedFindsWhatWasSlow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		usual := rapid.Float64Range(1, 1e6).Draw(t, "usual")
		noise := func(of float64) float64 { return of * rapid.Float64Range(0.85, 1.15).Draw(t, "noise") }
		var costs []float64
		even := func(least, most int) {
			for range rapid.IntRange(least, most).Draw(t, "even") {
				costs = append(costs, noise(usual))
			}
		}
		even(40, 60) // more than all that is slow
		var want [][2]int
		for range rapid.IntRange(0, 3).Draw(t, "stretches") {
			n := rapid.IntRange(1, 12).Draw(t, "slow")
			if n >= fewestSlow {
				want = append(want, [2]int{len(costs), len(costs) + n - 1})
			}
			for range n {
				costs = append(costs, noise(usual*rapid.Float64Range(3, 30).Draw(t, "times")))
			}
			even(4, 8)
		}
		all := looks(costs...)
		s := NewSpeed(all)
		var slow int64
		var got [][2]int
		for _, x := range s.Stretches {
			got = append(got, [2]int{int(x.From / 2e6), int(x.To / 2e6)})
			slow += x.To - x.From
			if !(x.Slowest > 0 && x.Slowest < slowShare) {
				t.Fatalf("slowest %g", x.Slowest)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
		if share := s.Slow(s.From, s.To); math.Abs(share-float64(slow)/float64(s.To)) > 1e-12 {
			t.Fatalf("share %g", share)
		}
	})
}

func TestSlow(t *testing.T) {
	s := Speed{Looks: 1, From: 0, To: 1000, Stretches: []Stretch{{100, 200, 0.1}, {500, 800, 0.1}}}
	for _, tc := range []struct {
		from, to int64
		want     float64
	}{{0, 1000, 0.4}, {150, 550, 0.25}, {200, 500, 0}, {100, 200, 1}, {600, 601, 1}, {-1000, 0, 0}, {900, 2000, 0}} {
		if got := s.Slow(tc.from, tc.to); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%d to %d: %g, want %g", tc.from, tc.to, got, tc.want)
		}
	}
	if !math.IsNaN(s.Slow(5, 5)) || !math.IsNaN(Speed{}.Slow(0, 9)) {
		t.Error("a share of nothing")
	}
}

func TestSpeedString(t *testing.T) {
	for want, s := range map[string]Speed{
		"ran at its speed for all of 3 s": {Looks: 1, To: 3_000_900_000},
		"ran at its speed for 99.9 % of 100 s; 1 stretch under half of it, 10 ms long, down to 50 %":              {Looks: 1, To: 1e11, Stretches: []Stretch{{0, 1e7, 0.499}}},
		"ran at its speed for 92.3 % of 3 s; 2 stretches under half of it, the longest 200 ms, the slowest 7.1 %": {Looks: 1, To: 3e9, Stretches: []Stretch{{0, 2e8, 0.3}, {1e9, 1_030_900_000, 0.071}}},
		"speed not observed: the kernel's count of a thread's processor time is too coarse":                       {},
	} {
		if got := s.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A watch looks on the machine's clock until it is told to end.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := clock.New()
		begin := clk.Machine(clk.Now())
		ctx, cancel := context.WithCancel(t.Context())
		clk.AfterFunc(int64(time.Second)+1, cancel)
		s := Watch(ctx, clk)
		if s.Looks != 501 || s.From != begin || s.To != begin+1e9 || s.Apart != 2e6 {
			t.Errorf("%+v; begun at %d", s, begin)
		}
	})
}

// A full look works until it has been as long as asked, and ends early when it must.
func TestFull(t *testing.T) {
	clk := clock.New()
	begin := clk.Now()
	s, err := Full(t.Context(), clk, 20*time.Millisecond)
	if took := clk.Now() - begin; err != nil || s.Looks < 1 || s.Looks > 20 || took < 20e6 || s.To-s.From > took {
		t.Errorf("%+v, %v", s, err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := Full(ctx, clk, time.Hour); err != why {
		t.Errorf("%v", err)
	}
}
