package as

import (
	"testing"

	"tokentape/tape"
)

// Each tool's table of 2,000 requests of 256 events; ns/event is the figure that
// other sizes are reckoned from.
func BenchmarkTools(b *testing.B) {
	const requests, events = 2000, 256
	kinds := make([]byte, events)
	gaps := make([]int64, events)
	for i := range kinds {
		kinds[i], gaps[i] = 'c', int64(9e6+1e5*(i%17))
	}
	kinds[0], kinds[events-2], kinds[events-1] = 'r', 'u', 'd'
	recs := records{&tape.Header{Type: "header", Schema: tape.Schema, Spec: []byte(chatSpec)}}
	for i := range int64(requests) {
		q := request(i*3, i*3+2600, "", usage(100, events-3, events-3))
		q.Seq, q.Events = i, tape.Events{DT: gaps, Kind: tape.EncodeKinds(kinds)}
		q.TFirstEvent, q.TFirstToken, q.TLastToken = ns(i*3+9), ns(i*3+18), ns(i*3+2500)
		recs = append(recs, q)
	}
	r, err := Load(&recs)
	if err != nil {
		b.Fatal(err)
	}
	for _, tool := range Tools() {
		b.Run(tool, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Make(tool, r); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(requests*events), "ns/event")
		})
	}
}
