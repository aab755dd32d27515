package metric

import (
	"strconv"
	"strings"

	"tokentape/tape"
)

// Contradiction is a pair of counts of one request that cannot both be true, or
// a count above what was asked for.
type Contradiction struct {
	Kind      string // one of the constants below
	Got, Than int64  // the count, and what it is held against; tokens, for NoOutput and FewerThanEvents token events
	Said      string // of NoCount, and of an Absurd one that the tape holds as text: as it came, "cached=-3"
}

// The kinds of contradictions, as a reader sees them.
const (
	CachedAboveInput     = "cached tokens above input tokens"
	ReasoningAboveOutput = "reasoning tokens above output tokens"
	NoOutput             = "0 output tokens beside token events"
	NoInput              = "0 input tokens of a prompt"
	OutputAboveAsked     = "output tokens above the limit asked"
	BelowZero            = "a count below 0"
	Absurd               = "a count above any context" // above tape.MaxTokens
	NoCount              = "a count that is no whole number from 0 on"
	FewerThanEvents      = "fewer output tokens than token events"
	TiersAboveCached     = "cached tokens of the tiers above the cached tokens"
)

// impossible takes counts that cannot be true for what they are: not known. Each
// is noted, and nothing stands in its place. A cached count goes, not the input
// that it exceeds: that one is the prompt's own length.
func (q *Request) impossible() {
	note := func(kind string, got, than int64) {
		q.Contradicts = append(q.Contradicts, Contradiction{Kind: kind, Got: got, Than: than})
	}
	for _, n := range []*int64{
		&q.Input, &q.Output, &q.Cached, &q.ReasoningTokens, &q.Verify, &q.Accepted, &q.Rejected, &q.Drafted, &q.Tiers.Device, &q.Tiers.Host, &q.Tiers.Storage,
	} {
		if *n != Absent && *n < 0 {
			note(BelowZero, *n, 0)
			q.badCached = q.badCached || n == &q.Cached
			*n = Absent
		}
		if *n > tape.MaxTokens {
			note(Absurd, *n, tape.MaxTokens)
			q.badCached = q.badCached || n == &q.Cached
			*n = Absent
		}
	}
	for _, n := range []*int64{&q.Asked, &q.AskedInput, &q.Recount} { // ours: no word of the server
		if *n < 0 || *n > tape.MaxTokens {
			*n = Absent
		}
	}
	if q.Input == 0 && q.InputSource != tape.SourceTokenizer && q.InputSource != tape.SourceTool { // no request is sent without a prompt
		note(NoInput, 0, 0)
		q.Input = Absent
	}
	if n, ok := q.Tiers.Sum(); ok {
		switch {
		case q.badCached:
			q.Tiers = noTiers
		case q.Cached == Absent: // a server that splits the count has given it
			q.Cached = n
		case n > q.Cached:
			note(TiersAboveCached, n, q.Cached)
			q.Tiers = noTiers
		}
	}
	if q.Cached != Absent && q.Input != Absent && q.Cached > q.Input {
		note(CachedAboveInput, q.Cached, q.Input)
		q.Cached, q.badCached, q.Tiers = Absent, true, noTiers
	}
	if q.ReasoningTokens != Absent && q.Output != Absent && q.ReasoningTokens > q.Output {
		note(ReasoningAboveOutput, q.ReasoningTokens, q.Output)
		q.ReasoningTokens = Absent
	}
	if q.Output == 0 && q.TokenEvents > 0 {
		note(NoOutput, 0, q.TokenEvents)
		q.Output = Absent
	}
	q.impossibleDrafts()
}

// AboveAsked reports a server's own output count above max_tokens, which holds
// for each of the choices. Counts of ours are not held against it: a tokenizer
// over the text need not cut it as the server did.
func (q *Request) AboveAsked(choices int64) (Contradiction, bool) {
	limit := q.Asked * min(max(1, choices, int64(q.Choices)), tape.MaxTokens)
	if !q.servedOutput() || q.Output == Absent || q.Asked == Absent || q.Asked <= 0 || q.Output <= limit {
		return Contradiction{}, false
	}
	return Contradiction{Kind: OutputAboveAsked, Got: q.Output, Than: limit}, true
}

// unread notes counts that came and are none (tape.Tokens.Unread). Of a cached one
// nothing may be inferred either.
func (q *Request) unread(list string) {
	for _, said := range strings.Fields(list) {
		name, value, _ := strings.Cut(said, "=")
		if q.taken(name) {
			continue // another word of the answer was a count
		}
		kind := NoCount
		if n, err := strconv.ParseFloat(value, 64); err == nil && n > tape.MaxTokens {
			kind = Absurd
		}
		q.Contradicts = append(q.Contradicts, Contradiction{Kind: kind, Said: said})
		q.badCached = q.badCached || name == "cached"
	}
}

// taken reports whether the count of a name of tape.Tokens is known.
func (q *Request) taken(name string) bool {
	n, ok := map[string]int64{
		"input": q.Input, "output": q.Output, "cached": q.Cached, "reasoning": q.ReasoningTokens, "verify": q.Verify, "accepted": q.Accepted, "rejected": q.Rejected, "drafted": q.Drafted,
		"cached_device": q.Tiers.Device, "cached_host": q.Tiers.Host, "cached_storage": q.Tiers.Storage,
	}[name]
	return ok && n != Absent && !(name == "output" && !q.servedOutput()) && !(name == "input" && q.InputSource == tape.SourceTokenizer)
}

// servedOutput reports that the output count is the server's own word.
func (q *Request) servedOutput() bool {
	return q.OutputSource == tape.SourceUsage || q.OutputSource == tape.SourceEngine
}

// tooFewTokens takes an output count of the server's below what the events of the
// stream must hold for not known. A token can be cut in two where reasoning ends
// and content begins, a parser of tool calls makes events of its own, and the
// last event of a choice may flush what was held back: these are not counted.
func (q *Request) tooFewTokens(r *tape.Request) {
	if q.Output == Absent || !q.servedOutput() || q.Output >= q.TokenEvents {
		return
	}
	var must int64
	var last byte
	for kind, n := range r.Events.Runs() {
		if !tape.IsToken(kind) || kind == tape.KindTool || n == 0 {
			continue
		}
		must += int64(n)
		if last != 0 && last != kind {
			must--
		}
		last = kind
	}
	if must -= int64(q.Choices); q.Output < must {
		q.Contradicts = append(q.Contradicts, Contradiction{Kind: FewerThanEvents, Got: q.Output, Than: q.TokenEvents})
		q.Output = Absent
	}
}
