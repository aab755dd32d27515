package metric

import (
	"math"
	"slices"

	"tokentape/tape"
)

// Absent marks a stamp that never happened or a count that was not reported.
// Definitions never return it: they say ok = false instead.
const Absent int64 = math.MinInt64

// Request is one request of a tape reduced to what windows and statistics need.
// Times are nanoseconds since the run's epoch; durations are nanoseconds;
// counts are tokens. A field that is not known is Absent.
type Request struct {
	Seq   int64
	Phase tape.Phase
	OK    bool // outcome ok
	// Streamed is false for an answer that came in one piece: it has no TTFT,
	// and its E2E runs to the end of the body.
	Streamed  bool
	Reasoning bool // at least one reasoning event or reasoning token
	Bursty    bool // most token events came less than a millisecond after the one before; see Bursts
	Session   bool // part of a session of several turns
	Later     bool // a turn of a session after its first: due when the session allowed it, by no rate

	Due, Ready, Released, WroteFirst         int64
	FirstToken, FirstVisible, LastToken, End int64
	// LastEvent is the last event before [DONE] of any kind: token, finish or
	// usage.
	LastEvent int64
	// SlotWait and PacerLag are those of tape.Request.
	SlotWait, PacerLag int64

	Input, Output, Cached, ReasoningTokens, Asked, AskedInput int64
	// AskedCached is what the server's prefix cache was expected to have of the input.
	AskedCached int64
	// Verify is the number of verify steps of speculation; Accepted and Rejected
	// are its draft tokens.
	Verify, Accepted, Rejected int64
	InputSource, OutputSource  string
	// Contradicts are the counts of the tape that cannot be true. The fields above
	// hold them as Absent.
	Contradicts []Contradiction
	noCached    bool // the cached count was impossible: nothing may be inferred either

	// Events counts all events, TokenEvents those with generated output.
	Events, TokenEvents int64
	// FirstTokens is the number of tokens in the first token event, from running
	// counts; Absent when there are none.
	FirstTokens int64
	// choiceSpan and choiceTokens serve TPOT of several choices: Σ(last − first
	// token event) and Σ(tokens after the first event), Absent without counts per
	// choice.
	choiceSpan, choiceTokens int64
	Choices                  int32

	gaps span // in the Arena
}

// stamp unwraps a time or count of the tape.
func stamp(o tape.Opt[int64]) int64 { return o.Or(Absent) }

// Reduce takes what analysis needs of a request and stores its token events in
// a. It keeps nothing of r but strings.
func Reduce(r *tape.Request, a *Arena) Request {
	q := Request{
		Seq: r.Seq, Phase: r.Phase, OK: r.Outcome == tape.OutcomeOK,
		Session: r.Session.OK, Later: r.Session.OK && r.Turn > 0,
		Due: stamp(r.TDue), Ready: stamp(r.TReady), Released: stamp(r.TReleased), WroteFirst: stamp(r.TWroteFirst),
		FirstToken: stamp(r.TFirstToken), FirstVisible: stamp(r.TFirstVisible), LastToken: stamp(r.TLastToken), End: stamp(r.TEnd),
		LastEvent: Absent, SlotWait: stamp(r.SlotWait()), PacerLag: stamp(r.PacerLag()),
		Input: stamp(r.Tokens.Input), Output: stamp(r.Tokens.Output), Cached: stamp(r.Tokens.Cached),
		ReasoningTokens: stamp(r.Tokens.Reasoning), Asked: stamp(r.Asked.Output), AskedInput: stamp(r.Asked.Input), AskedCached: stamp(r.Asked.Cached),
		Verify: stamp(r.Tokens.Verify), Accepted: stamp(r.Tokens.Accepted), Rejected: stamp(r.Tokens.Rejected),
		InputSource: r.Tokens.InputSource, OutputSource: r.Tokens.OutputSource,
		Events: int64(len(r.Events.DT)), FirstTokens: Absent,
		choiceSpan: Absent, choiceTokens: Absent, Choices: 1,
	}
	q.Streamed = !r.Events.IsZero() && !slices.Contains(r.Flags, "not_streamed")
	q.Reasoning = q.ReasoningTokens > 0
	q.events(r, a)
	q.impossible()
	return q
}

// events walks the stream once.
func (q *Request) events(r *tape.Request, a *Arena) {
	if r.Events.IsZero() || q.WroteFirst == Absent {
		return
	}
	for _, c := range r.Events.Choice {
		q.Choices = max(q.Choices, min(c, int32(len(r.Events.DT)))+1)
	}
	counts := len(r.Events.Tok) > 0
	w := a.begin(q.Choices > 1, counts && q.Choices == 1)
	var last []running // per choice
	if q.Choices > 1 {
		last = make([]running, q.Choices)
	}
	var known, short, gaps int64
	prev := Absent
	for _, e := range r.Events.All(q.WroteFirst) {
		if e.Kind != tape.KindDone {
			q.LastEvent = e.T
		}
		if e.Kind == tape.KindReasoning {
			q.Reasoning = true
		}
		if !tape.IsToken(e.Kind) {
			// A count on a later event without text (usage, finish) says nothing about
			// when its tokens came; Arena.end gives them to the last token event.
			continue
		}
		delta := int64(0)
		if e.Tok >= 0 {
			delta, known = max(0, e.Tok-known), max(known, e.Tok)
		}
		if prev == Absent {
			if counts && q.Choices == 1 && e.Tok >= 0 {
				q.FirstTokens = e.Tok
			}
		} else {
			gaps++
			if e.T-prev < burstGap {
				short++
			}
		}
		if last != nil {
			last[min(max(e.Choice, 0), q.Choices-1)].add(e)
		}
		w.add(e.T, e.Choice, delta)
		prev = e.T
		q.TokenEvents++
	}
	q.gaps = w.end()
	q.Bursty = gaps > 0 && float64(short) > burstShare*float64(gaps)
	q.perChoice(last)
}

// running follows one choice of several.
type running struct {
	first, last       int64
	firstTok, lastTok int64
	n                 int64
}

func (c *running) add(e tape.Event) {
	if c.n == 0 {
		c.first, c.firstTok = e.T, e.Tok
	}
	c.last, c.lastTok = e.T, e.Tok
	c.n++
}

// perChoice keeps the sums that TPOT over several choices needs, if the running
// counts are per choice: then, and only then, they add up to the output.
func (q *Request) perChoice(last []running) {
	var span, tokens, all int64
	for _, c := range last {
		if c.n == 0 {
			continue
		}
		if c.firstTok < 0 || c.lastTok < 0 {
			return
		}
		span += c.last - c.first
		tokens += c.lastTok - c.firstTok
		all += c.lastTok
	}
	if len(last) > 0 && all == q.Output {
		q.choiceSpan, q.choiceTokens = span, tokens
	}
}

// Bursts: a response is bursty when more than burstShare of its token events
// came less than burstGap after the one before.
const (
	burstGap   = int64(1e6)
	burstShare = 0.8
)
