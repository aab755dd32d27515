package doctor

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tokentape/tape"
)

// host is a pretended one whose stamps are true up to so many events/s.
type host struct {
	at       int64
	capacity float64
	server   float64 // events/s that the server can write
	stumbles map[int]bool
	tries    []int64
	fails    error
}

const tryTakes = time.Second

func (h *host) now() int64 { return h.at }

func (h *host) try(_ context.Context, streams int64, rate float64) (tape.EnvelopePoint, error) {
	h.at += int64(tryTakes)
	h.tries = append(h.tries, streams)
	if h.fails != nil {
		return tape.EnvelopePoint{}, h.fails
	}
	p := tape.EnvelopePoint{Streams: streams, Rate: rate, Events: float64(streams) * rate, Error: 100_000}
	if h.server > 0 {
		p.Events = min(p.Events, h.server)
	}
	if float64(streams)*rate > h.capacity || h.stumbles[len(h.tries)] {
		p.Error = 9_000_000
	}
	return p, nil
}

func TestSearch(t *testing.T) {
	goal := Goal{Limit: time.Millisecond, Rates: []float64{50}, From: 16, Most: 4096, Budget: time.Minute, Finer: 2}
	for name, tc := range map[string]struct {
		host  host
		goal  func(*Goal)
		tries []int64
		held  int64 // most streams that held
	}{
		"finds the edge":              {host: host{capacity: 5000}, tries: []int64{16, 32, 64, 128, 128, 96, 112, 112}, held: 96},
		"a stumble is no limit":       {host: host{capacity: 5000, stumbles: map[int]bool{2: true}}, tries: []int64{16, 32, 32, 64, 128, 128, 96, 112, 112}, held: 96},
		"up to what the host can":     {host: host{capacity: 1e9}, goal: func(g *Goal) { g.Most = 100 }, tries: []int64{16, 32, 64, 100}, held: 100},
		"fewer than the first":        {host: host{capacity: 1e9}, goal: func(g *Goal) { g.Most = 5 }, tries: []int64{5}, held: 5},
		"not even the first":          {host: host{capacity: 100}, tries: []int64{16, 16, 8, 8, 4, 4}, held: 0},
		"time runs out":               {host: host{capacity: 1e9}, goal: func(g *Goal) { g.Budget = 3500 * time.Millisecond }, tries: []int64{16, 32, 64}, held: 64},
		"time runs out while finer":   {host: host{capacity: 1000}, goal: func(g *Goal) { g.Budget = 4 * time.Second }, tries: []int64{16, 32, 32, 24}, held: 16},
		"no time at all":              {host: host{capacity: 1e9}, goal: func(g *Goal) { g.Budget = 0 }},
		"a slow server is not held":   {host: host{capacity: 1e9, server: 2000}, goal: func(g *Goal) { g.Finer = 0 }, tries: []int64{16, 32, 64, 64}, held: 32},
		"several rates, shared time":  {host: host{capacity: 1e9}, goal: func(g *Goal) { g.Rates = []float64{10, 100}; g.Budget = 4 * time.Second }, tries: []int64{16, 32, 16, 32}, held: 32},
		"the first rate leaves time":  {host: host{capacity: 1e9}, goal: func(g *Goal) { g.Rates = []float64{10, 100}; g.Budget = 6 * time.Second; g.Most = 16 }, tries: []int64{16, 16}, held: 16},
		"the finer ones end in a few": {host: host{capacity: 5000}, goal: func(g *Goal) { g.Finer = 50 }, tries: []int64{16, 32, 64, 128, 128, 96, 112, 112, 104, 104}, held: 96},
	} {
		t.Run(name, func(t *testing.T) {
			g, h := goal, tc.host
			if tc.goal != nil {
				tc.goal(&g)
			}
			points, err := Search(context.Background(), g, h.now, tryTakes, h.try)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.tries, h.tries); d != "" {
				t.Errorf("loads tried (-want +got):\n%s", d)
			}
			var held int64
			for _, p := range points {
				if p.Held {
					held = max(held, p.Streams)
				}
			}
			if held != tc.held {
				t.Errorf("%d streams held, want %d: %+v", held, tc.held, points)
			}
		})
	}
}

func TestSearchKeepsWhatItFound(t *testing.T) {
	boom := errors.New("boom")
	h := host{capacity: 1e9}
	n := 0
	points, err := Search(context.Background(), Goal{Limit: time.Millisecond, Rates: []float64{50, 100}, From: 16, Most: 64, Budget: time.Minute},
		h.now, tryTakes, func(ctx context.Context, s int64, r float64) (tape.EnvelopePoint, error) {
			if n++; n == 3 {
				return tape.EnvelopePoint{}, boom
			}
			return h.try(ctx, s, r)
		})
	if !errors.Is(err, boom) || len(points) != 2 {
		t.Errorf("%v, %+v", err, points)
	}
}

// Whatever the host: no try is begun that could end after the budget, no more streams
// than allowed are opened, and what is said to hold was seen to.
func TestSearchProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := Goal{
			Limit: time.Millisecond, From: rapid.Int64Range(1, 64).Draw(t, "from"), Most: rapid.Int64Range(1, 20000).Draw(t, "most"),
			Rates:  rapid.SliceOfN(rapid.SampledFrom([]float64{10, 20, 50, 100}), 1, 3).Draw(t, "rates"),
			Budget: time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "budget")), Finer: rapid.IntRange(0, 5).Draw(t, "finer"),
		}
		h := host{capacity: rapid.Float64Range(1, 1e6).Draw(t, "capacity")}
		points, err := Search(context.Background(), g, h.now, tryTakes, h.try)
		if err != nil {
			t.Fatal(err)
		}
		if h.at > int64(g.Budget) {
			t.Fatalf("took %s of %s", time.Duration(h.at), g.Budget)
		}
		for _, n := range h.tries {
			if n < 1 || n > g.Most {
				t.Fatalf("%d streams", n)
			}
		}
		for _, p := range points {
			if p.Held != (float64(p.Streams)*p.Rate <= h.capacity) {
				t.Fatalf("%+v of a host of %g events/s", p, h.capacity)
			}
		}
	})
}
