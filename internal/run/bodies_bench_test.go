package run_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"tokentape/internal/clock"
	"tokentape/internal/dialect"
	"tokentape/internal/exchange"
	"tokentape/internal/spec"
	"tokentape/internal/workload/rows"
)

// prompts is a file of n rows of about that many tokens each, a token being five
// letters with a blank, opened as a run opens it.
func prompts(b *testing.B, n, tokens int) *rows.Source {
	b.Helper()
	path := fmt.Sprintf("%s/rows-%d.jsonl", b.TempDir(), tokens)
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(f)
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		w.WriteString(`{"question": "`)
		for range tokens {
			var word [5]byte
			for k := range word {
				word[k] = byte('a' + r.IntN(26))
			}
			w.Write(append(word[:], ' '))
		}
		w.WriteString("\"}\n")
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	f.Close()
	s := spec.Default().Workload
	s.Dataset.Path = path
	src, err := rows.Open(s, 1, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { src.Close() })
	return src
}

// BenchmarkFidelityBodies sends prompts of 128 and of 131,072 tokens (0.8 MB), read
// from a file, in an open loop of 20/s and in a closed loop of 16: pacer lag, from when
// the load rules allowed the send to its first byte on the wire.
func BenchmarkFidelityBodies(b *testing.B) {
	for _, loop := range []struct {
		name string
		load spec.Load
	}{
		{"open", spec.Load{Requests: 200, Rate: 20, Arrivals: "constant"}},
		{"closed", spec.Load{Requests: 200, Concurrency: 16}},
	} {
		for _, tokens := range []int{128, 131072} {
			b.Run(fmt.Sprintf("%s/%d", loop.name, tokens), func(b *testing.B) {
				src := prompts(b, int(loop.load.Requests), tokens)
				for b.Loop() {
					_, requests, _ := socketRunOf(b, sinkOptions, loop.load, 1, src)
					var lag []int64
					for _, q := range requests {
						lag = append(lag, q.PacerLag().V)
					}
					b.ReportMetric(ms(lag, 0.5), "lag-p50-ms")
					b.ReportMetric(ms(lag, 0.99), "lag-p99-ms")
					b.ReportMetric(ms(lag, 1), "lag-max-ms")
				}
			})
		}
	}
}

// BenchmarkPrepareBody reads a row of a file and encodes its body: what is done ahead
// of each send.
func BenchmarkPrepareBody(b *testing.B) {
	for _, tokens := range []int{128, 131072} {
		b.Run(fmt.Sprint(tokens), func(b *testing.B) {
			src := prompts(b, 4, tokens)
			d, _ := dialect.Get("openai-chat")
			x := exchange.New(exchange.Config{Dialect: d, Clock: clock.New(), URL: "http://sim/v1/chat/completions", Options: dialect.Options{Model: "sim-7b", Stream: true}})
			n := 0
			for i := int64(0); b.Loop(); i++ {
				item, err := src.Item(i % 4)
				if err != nil {
					b.Fatal(err)
				}
				ready, err := x.Prepare(item)
				if err != nil {
					b.Fatal(err)
				}
				n = len(ready.Body)
			}
			b.SetBytes(int64(n))
		})
	}
}
