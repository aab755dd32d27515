package metric

import "tokentape/tape"

// Contradiction is a pair of counts of one request that cannot both be true, or
// a count above what was asked for.
type Contradiction struct {
	Kind      string // one of the constants below
	Got, Than int64  // the count, and what it is held against; tokens, for NoOutput token events
}

// The kinds of contradictions, as a reader sees them.
const (
	CachedAboveInput     = "cached tokens above input tokens"
	ReasoningAboveOutput = "reasoning tokens above output tokens"
	NoOutput             = "0 output tokens beside token events"
	OutputAboveAsked     = "output tokens above the limit asked"
	BelowZero            = "a count below 0"
	Absurd               = "a count above any context" // above tape.MaxTokens
)

// impossible takes counts that cannot be true for what they are: not known. Each
// is noted, and nothing stands in its place. A cached count goes, not the input
// that it exceeds: that one is the prompt's own length.
func (q *Request) impossible() {
	note := func(kind string, got, than int64) {
		q.Contradicts = append(q.Contradicts, Contradiction{kind, got, than})
	}
	for _, n := range []*int64{&q.Input, &q.Output, &q.Cached, &q.ReasoningTokens, &q.Verify, &q.Accepted, &q.Rejected} {
		if *n != Absent && *n < 0 {
			note(BelowZero, *n, 0)
			q.noCached = q.noCached || n == &q.Cached
			*n = Absent
		}
		if *n > tape.MaxTokens {
			note(Absurd, *n, tape.MaxTokens)
			q.noCached = q.noCached || n == &q.Cached
			*n = Absent
		}
	}
	for _, n := range []*int64{&q.Asked, &q.AskedInput, &q.Recount} { // ours: no word of the server
		if *n < 0 || *n > tape.MaxTokens {
			*n = Absent
		}
	}
	if q.Cached != Absent && q.Input != Absent && q.Cached > q.Input {
		note(CachedAboveInput, q.Cached, q.Input)
		q.Cached, q.noCached = Absent, true
	}
	if q.ReasoningTokens != Absent && q.Output != Absent && q.ReasoningTokens > q.Output {
		note(ReasoningAboveOutput, q.ReasoningTokens, q.Output)
		q.ReasoningTokens = Absent
	}
	if q.Output == 0 && q.TokenEvents > 0 {
		note(NoOutput, 0, q.TokenEvents)
		q.Output = Absent
	}
}

// AboveAsked reports a server's own output count above max_tokens, which holds
// for each of the choices. Counts of ours are not held against it: a tokenizer
// over the text need not cut it as the server did.
func (q *Request) AboveAsked(choices int64) (Contradiction, bool) {
	served := q.OutputSource == tape.SourceUsage || q.OutputSource == tape.SourceEngine
	limit := q.Asked * min(max(1, choices, int64(q.Choices)), tape.MaxTokens)
	if !served || q.Output == Absent || q.Asked == Absent || q.Asked <= 0 || q.Output <= limit {
		return Contradiction{}, false
	}
	return Contradiction{OutputAboveAsked, q.Output, limit}, true
}
