package analysis

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"tokentape/internal/clock"
	"tokentape/internal/sim"
)

// The arithmetic of the model is the engine's: the same arrivals give the same
// token times, to the nanosecond.
func TestModelIsTheEngine(t *testing.T) {
	m := *models[2]
	m.jitter = 0
	r := rand.New(rand.NewPCG(1, 2))
	jobs := make([]job, 80)
	at := int64(0)
	for i := range jobs {
		jobs[i] = job{at: at, prompt: 100 + r.Int64N(300), out: 1 + r.IntN(30)}
		at += 1 + r.Int64N(40e6)
	}
	got := make([][]int64, len(jobs))
	synctest.Test(t, func(t *testing.T) {
		clk := clock.New()
		e, err := sim.New(sim.Config{Slots: m.slots, PrefillFixed: m.prefillFixed, PrefillPerToken: m.prefillToken, DecodeBase: m.decodeBase,
			DecodePerSeq: m.decodeSeq, PageSize: 16, CachePages: 1, OutputMean: 1, TokensPerEvent: 1, AcceptRate: 1}, clk)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		done := make(chan bool)
		for i := range jobs {
			go func() {
				defer func() { done <- true }()
				_ = clk.SleepUntil(context.Background(), jobs[i].at)
				s := e.Submit(sim.Request{Prompt: sim.Prompt{Tokens: jobs[i].prompt, Hash: uint64(i)}, MaxTokens: int64(jobs[i].out), IgnoreEOS: true})
				var err error
				var events []sim.Event
				for err == nil {
					events, err = s.Next(context.Background(), events[:0])
					for _, ev := range events {
						got[i] = append(got[i], ev.T)
					}
				}
			}()
		}
		for range jobs {
			<-done
		}
	})
	m.serve(jobs, r)
	for i := range jobs {
		if !slices.Equal(jobs[i].times, got[i]) {
			t.Fatalf("request %d: the model says %v, the engine %v", i, jobs[i].times, got[i])
		}
	}
}
