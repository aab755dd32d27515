package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
)

// bodyRows is how many long prompts there are; requests take them in turn.
const bodyRows = 20

// promptOf is prompt i, a token being five letters and a blank. Of shared prompts the
// first nine tenths are the same.
func promptOf(l load, i int64) []byte {
	if l.Prompt == 0 {
		return fmt.Appendf(nil, "question %d: why is that so?", i)
	}
	own := 0 // where what is this prompt's own begins
	if l.Shared {
		own = l.Prompt / 10 * 9
	}
	b := make([]byte, 0, l.Prompt)
	r := rand.New(rand.NewPCG(1, 0))
	for len(b) < l.Prompt {
		if len(b) >= own && own >= 0 {
			r, own = rand.New(rand.NewPCG(2, uint64(i))), -1
		}
		bits := r.Uint64()
		for range 5 {
			b = append(b, 'a'+byte(bits%26))
			bits /= 26
		}
		b = append(b, ' ')
	}
	return b
}

// bodies is what sending prompts of 131,072 tokens costs (0.8 MB each), with 8 in flight
// and answers of one token at once. The reference sends bodies that it made before the
// clock started; ours are read from the dataset and encoded while they are sent.
func (b *bench) bodies() error {
	tokens := pick(b, 131_072, 131_072, 1000)
	requests := pick[int64](b, 400, 160, 10)
	t := table{Name: "bodies", Title: fmt.Sprintf("prompts of %s tokens (%.1f MB), 8 in flight, answers of one token at once", thousands(int64(tokens)), float64(tokens)*6/1e6),
		Columns: columns("prompts|prompts", "client|client", "rate|requests/s", "mb_per_s|MB/s", "cpu_ms|CPU ms/request", "cpu_ratio|÷ bare", "lag_p50|lag p50 ms", "lag_p99|lag p99 ms", "rss_mib|RSS MiB"),
		Notes:   []string{fmt.Sprintf("%d different prompts in turn; shared: their first nine tenths are the same; the reference's bodies are made before the load", bodyRows)}}
	defer b.keepTable(&t)
	for _, shared := range []bool{false, true} {
		name := map[bool]string{false: "different", true: "shared"}[shared]
		all, err := b.take("bodies "+name, min(b.pairs, 3), trial{
			serve: serving{Events: 1, Whole: true},
			load:  load{Requests: requests, Concurrency: 8, Events: 1, Prompt: tokens * 6, Shared: shared, Lags: true},
		}, false)
		if err != nil {
			return err
		}
		cost := func(r result) float64 { return float64(r.Sent.CPU) / 1e6 / float64(r.Sent.OK) }
		for _, client := range []string{nameOurs, nameBare} { // another client has prompts of its own
			mine := all[client]
			rate := mine.median(func(r result) float64 { return r.eventsPerSecond(1) })
			row := record{"prompts": name, "client": client, "rate": rate, "mb_per_s": rate * float64(tokens) * 6 / 1e6, "cpu_ms": mine.median(cost),
				"rss_mib": mine.median(func(r result) float64 { return float64(r.Sent.RSS) / (1 << 20) })}
			if client == nameOurs {
				row["cpu_ratio"] = newRatio(mine.figures(cost), all[nameBare].figures(cost))
				row["lag_p50"] = mine.median(func(r result) float64 { return float64(r.Sent.Lag.P50) / 1e6 })
				row["lag_p99"] = mine.median(func(r result) float64 { return float64(r.Sent.Lag.P99) / 1e6 })
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return nil
}

// writeRows writes the first n prompts of a load as a dataset.
func writeRows(path string, l load, n int64) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for i := range n {
		if err := enc.Encode(map[string]string{"question": string(promptOf(l, i))}); err != nil {
			return err
		}
	}
	return os.WriteFile(path, b.Bytes(), 0o600)
}
