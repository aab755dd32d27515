package run

import (
	"sync/atomic"

	"tokentape/tape"
)

// outputs counts generated texts by the model's tokenizer after their requests
// have ended, one at a time: counting must leave the other cores to the streams.
type outputs struct {
	of      TokenCounter
	turn    chan struct{} // held while counting
	waiting atomic.Int64  // second figures
}

func countOutputs(of TokenCounter) *outputs {
	return &outputs{of: of, turn: make(chan struct{}, 1)}
}

// count puts the count of a request's text where it belongs: for the output when
// the server did not count it, else beside the server's own, which it never
// replaces. That second figure is left out when too many wait for theirs.
func (o *outputs) count(req *tape.Request, text string) {
	if o == nil || text == "" {
		return
	}
	second := req.Tokens.Output.OK
	if second {
		if req.Outcome != tape.OutcomeOK { // enters no statistic
			return
		}
		defer o.waiting.Add(-1)
		if o.waiting.Add(1) > maxUncounted {
			return
		}
	}
	o.turn <- struct{}{}
	n, err := o.of.CountTokens(text)
	<-o.turn
	switch {
	case err != nil:
	case second:
		req.Tokens.Recount = tape.Some(n)
	default:
		req.Tokens.Output, req.Tokens.OutputSource = tape.Some(n), tape.SourceTokenizer
	}
}
