package run_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/clock"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/tape"
)

type lengths struct{}

func (lengths) CountTokens(text string) (int64, error) { return int64(len(text)), nil }

// The server counts nothing: the tokenizer's counts stand in, and say so. A slow
// count holds up no send.
func TestTokenizerCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: fixed(10*time.Millisecond, nil),
			load: spec.Load{Requests: 20, Rate: 100},
			change: func(c *run.Config) {
				c.Counter = lengths{}
				c.Inputs = func(item workload.Item) (int64, bool) {
					time.Sleep(time.Second) // a prompt of a million tokens
					return int64(len(item.Prompt)), item.Ref.Row != 3
				}
			}}.run()
		if sum.Footer.OK != 20 {
			t.Fatalf("%+v", sum.Footer)
		}
		for _, q := range requests {
			if q.TWroteFirst != q.TDue {
				t.Errorf("request %d: due %d, sent %d", q.Seq, q.TDue.V, q.TWroteFirst.V)
			}
			want := tape.Some(int64(len("question 0000: why?")))
			source := tape.SourceTokenizer
			if q.Seq == 3 {
				want, source = tape.Opt[int64]{}, ""
			}
			if q.Asked.Input != want || q.Tokens.Input != want || q.Tokens.InputSource != source {
				t.Errorf("request %d: asked %v, tokens %+v", q.Seq, q.Asked.Input, q.Tokens)
			}
		}
	})
}

// Prompts that the tokenizer cannot keep up with stay uncounted, and rows that
// were never sent are not counted in the end.
func TestUncountedPrompts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counted := 0
		_, requests, _ := rig{t: t, clk: clock.New(), handler: fixed(10*time.Millisecond, nil),
			load: spec.Load{Requests: 1000, Rate: 1000},
			change: func(c *run.Config) {
				c.Inputs = func(workload.Item) (int64, bool) { counted++; time.Sleep(time.Second); return 7, true }
			}}.run()
		have := 0
		for _, q := range requests {
			if q.Asked.Input.OK {
				have++
			}
		}
		if len(requests) != 1000 || have < 256 || have > 300 || have != counted {
			t.Errorf("%d requests, %d with a count, %d counted", len(requests), have, counted)
		}
	})
}
