package scrape

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"tokentape/tape"
)

// What a counter grew between two readings of Counts is what a window between them says,
// resets and all.
func TestCounts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var c Collector
		n := rapid.IntRange(1, 40).Draw(rt, "readings")
		total, from := 0.0, rapid.IntRange(0, 3).Draw(rt, "first")
		for i := range n {
			if rapid.IntRange(0, 9).Draw(rt, fmt.Sprint("reset", i)) == 0 {
				total = 0
			}
			total += float64(rapid.IntRange(0, 1000).Draw(rt, fmt.Sprint("more", i)))
			series := map[string]float64{"sglang:num_queue_reqs": 1}
			if i >= from {
				series["sglang:prompt_tokens_total"] = total
				series["sglang:time_to_first_token_seconds_count"] = total
				series["sglang:time_to_first_token_seconds_sum"] = total / 4
			}
			c.Add(&tape.Scrape{Type: "scrape", T: int64(i) * 1e9, Source: "a", Kind: "sglang", OK: true, Series: series})
		}
		for _, s := range c.Sources() {
			a := rapid.IntRange(0, n-1).Draw(rt, "a")
			b := rapid.IntRange(a, n-1).Draw(rt, "b")
			cover := s.Cover([]Span{{From: int64(a) * 1e9, To: int64(b) * 1e9}}, math.MaxInt64)
			for _, v := range cover.Values() {
				want := v.Increase
				if v.Histogram != nil {
					want = &v.Histogram.N
				}
				if want == nil {
					continue
				}
				found := false
				for _, x := range s.Counts(0) {
					if x.Row != v.Row {
						continue
					}
					found = true
					at := func(i int) float64 {
						for k, t := range x.T {
							if t == int64(i)*1e9 {
								return x.N[k]
							}
						}
						return 0 // it was not there yet
					}
					if got := at(b) - at(a); math.Abs(got-*want) > 1e-9*math.Abs(*want) {
						rt.Errorf("%s from %d to %d: %v, the window says %v", v.Row.Name, a, b, got, *want)
					}
				}
				if !found {
					rt.Errorf("no counts of %s", v.Row.Name)
				}
			}
			few := s.Counts(rapid.IntRange(2, 50).Draw(rt, "most"))
			for _, x := range few {
				if x.T[len(x.T)-1] != int64(n-1)*1e9 || len(x.T) > 50 || len(x.N) != len(x.T) {
					rt.Errorf("%d of %d readings, the last at %d", len(x.T), n, x.T[len(x.T)-1])
				}
			}
		}
	})
}
