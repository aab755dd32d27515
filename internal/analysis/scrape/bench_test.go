package scrape

import (
	"fmt"
	"runtime"
	"testing"

	"tokentape/tape"
)

// An hour of readings, one a second, of three pages with 5,000 series each: 200 of
// named rows, and one in five of all moves from one reading to the next.
func BenchmarkHour(b *testing.B) {
	const sources, series, seconds = 3, 5000, 3600
	all := make([]string, series)
	types := map[string]string{"other_total": "counter"}
	for i := range all {
		all[i] = fmt.Sprintf(`other_total{nr="%d"}`, i)
		switch {
		case i < 100:
			all[i] = fmt.Sprintf(`sglang:inter_token_latency_seconds_bucket{dp_rank="%d",le="%g"}`, i%4, float64(i/4)/100)
		case i < 200:
			all[i] = fmt.Sprintf(`sglang:num_queue_reqs{dp_rank="%d"}`, i)
		}
	}
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var c Collector
		for t := range seconds {
			for k := range sources {
				s := &tape.Scrape{T: int64(t) * sec, Source: fmt.Sprint("page-", k), OK: true, Nr: int64(t) + 1, Series: make(map[string]float64, series/5)}
				step := 5
				if t == 0 {
					step, s.Types = 1, types
				} else {
					s.Same = tape.Some[int64](series - series/5)
				}
				for i := t % step; i < series; i += step {
					s.Series[all[i]] = float64(t)
				}
				c.Add(s)
			}
		}
		for _, s := range c.Sources() {
			s.all(600, 3000).Values()
			s.Lines(600)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MB-kept")
		runtime.KeepAlive(&c)
	}
}
