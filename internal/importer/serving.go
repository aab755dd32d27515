package importer

import (
	"fmt"

	"tokentape/tape"
)

// Arrays are the lists of one value a request that vLLM's and SGLang's clients both
// write, in the order of the prompts: seconds and tokens. Starts is nil where the
// client did not write it.
type Arrays struct {
	Inputs  []int64     `json:"input_lens"`
	Outputs []int64     `json:"output_lens"`
	TTFTs   []float64   `json:"ttfts"`
	ITLs    [][]float64 `json:"itls"`
	Starts  []float64   `json:"start_times"`
	Errors  []string    `json:"errors"`
}

// What neither client records.
const (
	NoteEvents = "what an event carried was not recorded: each is taken for text, and the first may have held a role alone"
	NoteEnd    = "the end of the answers was not recorded: E2E and all that runs to an end stop at the last event with a token"
	NoteWrites = "neither due times, connections, writes, attempts, statuses nor reasons of finishing were recorded: none of that was observed"
	NoteStarts = "when requests were sent was not recorded: there are no rates, no requests in flight and no windows"
)

// Check proves that all lists are of the same length, and there. The error says
// which flag of the client writes them.
func (a *Arrays) Check(flag string) error {
	n := len(a.Inputs)
	if n == 0 {
		return fmt.Errorf("no input_lens: it holds no values of single requests; the client writes them with %s", flag)
	}
	for _, l := range []struct {
		name string
		n    int
	}{{"output_lens", len(a.Outputs)}, {"ttfts", len(a.TTFTs)}, {"itls", len(a.ITLs)}, {"errors", len(a.Errors)}} {
		if l.n != n {
			return fmt.Errorf("%d of %s for %d of input_lens: cut short, or put together from two files", l.n, l.name, n)
		}
	}
	if a.Starts != nil && len(a.Starts) != n {
		return fmt.Errorf("%d of start_times for %d of input_lens", len(a.Starts), n)
	}
	return nil
}

// Requests makes them. The first start is t = 0. Errors name the request by its
// index.
func (a *Arrays) Requests() ([]*tape.Request, error) {
	zero := 0.0
	for i, t := range a.Starts {
		if i == 0 || t < zero {
			zero = t
		}
	}
	requests := make([]*tape.Request, 0, len(a.Inputs))
	for i := range a.Inputs {
		q := &tape.Request{Phase: tape.PhaseMeasure, Ref: tape.Ref{Row: int64(i)}, Outcome: tape.OutcomeOK}
		start := int64(0)
		if a.Starts != nil {
			var err error
			if start, err = nanoseconds(a.Starts[i]-zero, 1e9); err != nil {
				return nil, fmt.Errorf("request %d: start_times: %w", i, err)
			}
		}
		q.TReleased = tape.Some(start)
		if a.Inputs[i] > 0 {
			q.Tokens.Input, q.Tokens.InputSource = tape.Some(a.Inputs[i]), tape.SourceTool
		}
		if a.Errors[i] != "" {
			q.Outcome, q.Message = tape.OutcomeUnknown, Message(a.Errors[i])
			requests = append(requests, q)
			continue
		}
		if a.TTFTs[i] != 0 || len(a.ITLs[i]) > 0 { // 0: nothing came that the client took for text
			if err := Stream(q, start, a.TTFTs[i], a.ITLs[i], 1e9); err != nil {
				return nil, fmt.Errorf("request %d: %w", i, err)
			}
		}
		if a.Outputs[i] < 0 {
			return nil, fmt.Errorf("request %d: %d output tokens", i, a.Outputs[i])
		}
		q.Tokens.Output, q.Tokens.OutputSource = tape.Some(a.Outputs[i]), tape.SourceTool
		requests = append(requests, q)
	}
	return requests, nil
}

// Pick is the value of several that a file holds: the only one, or number of them,
// counted from 1. Error: there are several and none was named, or fewer.
func Pick[T any](values []T, number int, path string) (v T, err error) {
	switch {
	case number == 0 && len(values) == 1:
		return values[0], nil
	case number == 0:
		return v, fmt.Errorf("%s holds %d runs, one after the other; say which: --run 1 … --run %d", path, len(values), len(values))
	case number < 0 || number > len(values):
		return v, fmt.Errorf("--run %d: %s holds %d", number, path, len(values))
	}
	return values[number-1], nil
}

// Rate reads request_rate as both clients write it: a number, or "inf" or null
// where there was none, which is 0.
func Rate(v any) float64 {
	if f, ok := v.(float64); ok && f > 0 {
		return f
	}
	return 0
}
