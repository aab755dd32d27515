package telemetry

import (
	"testing"

	"tokentape/tape"
)

// counting counts bytes.
type counting struct{ n int64 }

func (c *counting) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}

// BenchmarkTape is five minutes of three pages of 5,000 series each, once a second, of
// which one series in five moves: what they add to a tape, scaled to an hour, as the
// recorder writes it (a flush a second).
func BenchmarkTape(b *testing.B) {
	const pages, series, seconds = 3, 5000, 300
	text := make([][]byte, 61) // a minute of them, over and over
	for i := range text {
		text[i] = bigPage(series, i)
	}
	known := []string{"sglang:num_queue_reqs_*", "sglang:time_to_first_token_seconds_*"} // two names in five of the page
	for _, c := range []struct {
		name     string
		src      Source
		compress bool
		whole    bool
	}{
		{"known/zstd", Source{Families: known}, true, false},
		{"known/plain", Source{Families: known}, false, false},
		{"all/zstd", Source{All: true}, true, false},
		{"all/plain", Source{All: true}, false, false},
		{"all/whole/zstd", Source{All: true}, true, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			cpu := processCPU()
			for b.Loop() {
				out := new(counting)
				w := tape.NewWriter(out, c.compress)
				if err := w.Write(new(tape.Header)); err != nil {
					b.Fatal(err)
				}
				var follow [pages]*page
				for i := range follow {
					follow[i] = newPage(c.src, nil)
				}
				for t := range seconds {
					for i, p := range follow {
						if err := p.read(text[(t+7*i)%len(text)], false); err != nil {
							b.Fatal(err)
						}
						line := &tape.Scrape{T: int64(t) * 1e9, Source: "prefill-0", OK: true}
						if c.whole {
							p.since = wholeEvery
						}
						p.write(line, "prefill")
						if err := w.Write(line); err != nil {
							b.Fatal(err)
						}
					}
					if err := w.Flush(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(out.n)*3600/seconds/1e6, "MB/hour")
			}
			b.ReportMetric(float64(processCPU()-cpu)/1e9/float64(b.N)/seconds*100, "%core")
		})
	}
}
