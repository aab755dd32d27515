package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"tokentape/tape"
)

const tapeTokens = 128 // of each request on a made tape

// makeTape writes a closed loop of n requests of 128 token events each, about 10 ms
// apart, 64 in flight: what a run of that size would have recorded.
func makeTape(path string, n int64) error {
	const ms, slots = int64(1_000_000), 64
	w, err := tape.Create(path, true)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 2))
	spec := fmt.Sprintf(`{"load":{"requests":%d,"concurrency":%d}}`, n, slots)
	put := func(line any) {
		if err == nil {
			err = w.Write(line)
		}
	}
	put(&tape.Header{
		Type: "header", Schema: tape.Schema, Run: "bench", Name: "made", Spec: json.RawMessage(spec),
		Anchor: tape.Anchor{Wall: "2026-01-01T00:00:00Z", Clock: "monotonic", ReadStamp: "conn"},
		Plan:   tape.PlanRef{SHA256: "00", Rows: n, Kind: "rows"}, Data: tape.DataRef{Path: "made", Rows: n, SHA256: "00"},
		Host:   tape.Host{OS: "linux", Arch: "amd64", CPUs: 2},
		Server: tape.Server{URL: "http://127.0.0.1:1/v1/chat/completions", Model: "bench"},
	})
	kinds := []byte{tape.KindRole}
	for range tapeTokens {
		kinds = append(kinds, tape.KindContent)
	}
	code := tape.EncodeKinds(append(kinds, tape.KindFinish, tape.KindUsage, tape.KindDone))
	var free [slots]int64
	for i := range n {
		at := free[i%slots] + r.Int64N(ms)
		first := 200*ms + r.Int64N(50*ms)
		dt := []int64{first, 0}
		last := at + first
		for range tapeTokens - 1 {
			gap := 9*ms + r.Int64N(2*ms)
			dt, last = append(dt, gap), last+gap
		}
		some := tape.Some[int64]
		put(&tape.Request{
			Type: "request", Seq: i, ID: fmt.Sprintf("bench-%d", i), Phase: tape.PhaseMeasure, Outcome: tape.OutcomeOK, Attempts: 1, Finish: "length",
			Ref: tape.Ref{Row: i}, HTTP: tape.HTTP{Status: 200, Proto: "HTTP/1.1"}, Conn: &tape.Conn{ID: i%slots + 1, Reused: i >= slots},
			TReady: some(at), TReleased: some(at), TConn: some(at), TWroteFirst: some(at), TWrote: some(at), THeaders: some(at + first),
			TFirstEvent: some(at + first), TFirstToken: some(at + first), TFirstVisible: some(at + first), TLastToken: some(last), TEnd: some(last),
			Events: tape.Events{DT: append(dt, 0, 0, 0), Kind: code},
			Tokens: tape.Tokens{Input: some(100), InputSource: tape.SourceUsage, Output: some(tapeTokens), OutputSource: tape.SourceUsage},
		})
		free[i%slots] = last
		if i%2000 == 1999 && err == nil {
			err = w.Flush() // a run ends a frame about every second
		}
	}
	put(&tape.Footer{Type: "footer", Reason: tape.ReasonCompleted, Planned: n, OK: n, Failed: map[string]int64{}})
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	return err
}
