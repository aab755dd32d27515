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
	Part  int32 // tape.Request.Part, 0 on a tape that is not merged
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
	// Recount is the tokenizer's count of the generated text, beside Output.
	Recount int64
	// Verify is the number of verify steps of speculation; Accepted and Rejected
	// are its draft tokens; Drafted is told by servers that count what was proposed.
	Verify, Accepted, Rejected, Drafted int64
	Drafts                              *Drafts // nil: nothing more is known of its drafts
	InputSource, OutputSource           string
	// Contradicts are the counts of the tape that cannot be true. The fields above
	// hold them as Absent.
	Contradicts []Contradiction
	badCached   bool // a cached count came and cannot be true
	noCached    bool // a missing cached count may not be inferred
	// Tiers split Cached by where it lay.
	Tiers Tiers
	// Server is a number for the server that it went to, whoever gives it; 0 where
	// nobody does.
	Server int32

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

	// Of the token events: number, sum and greatest of the ITL gaps, earliest and
	// latest time, growth of the running count in all.
	itlN, itlSum, itlMax int64
	t0, t1               int64
	grown                int64

	gaps  span // in the Arena
	marks []mark
}

// stamp unwraps a time or count of the tape.
func stamp(o tape.Opt[int64]) int64 { return o.Or(Absent) }

// Reduce takes what analysis needs of a request and stores its token events in
// a, unless that is off. It keeps nothing of r but strings.
func Reduce(r *tape.Request, a *Arena) Request {
	q := Request{
		Seq: r.Seq, Part: int32(r.Part.Or(0)), Phase: r.Phase, OK: r.Outcome == tape.OutcomeOK,
		Session: r.Session.OK, Later: r.Session.OK && r.Turn > 0,
		Due: stamp(r.TDue), Ready: stamp(r.TReady), Released: stamp(r.TReleased), WroteFirst: stamp(r.TWroteFirst),
		FirstToken: stamp(r.TFirstToken), FirstVisible: stamp(r.TFirstVisible), LastToken: stamp(r.TLastToken), End: stamp(r.TEnd),
		LastEvent: Absent, SlotWait: stamp(r.SlotWait()), PacerLag: stamp(r.PacerLag()),
		Input: stamp(r.Tokens.Input), Output: stamp(r.Tokens.Output),
		ReasoningTokens: stamp(r.Tokens.Reasoning), Asked: stamp(r.Asked.Output), AskedInput: stamp(r.Asked.Input),
		Recount: stamp(r.Tokens.Recount),
		Verify:  stamp(r.Tokens.Verify), Accepted: stamp(r.Tokens.Accepted), Rejected: stamp(r.Tokens.Rejected), Drafted: stamp(r.Tokens.Drafted),
		InputSource: r.Tokens.InputSource, OutputSource: r.Tokens.OutputSource,
		Events: int64(len(r.Events.DT)), FirstTokens: Absent,
		choiceSpan: Absent, choiceTokens: Absent, Choices: 1,
	}
	q.Streamed = !r.Events.IsZero() && !slices.Contains(r.Flags, "not_streamed")
	q.cached(&r.Tokens)
	q.Reasoning = q.ReasoningTokens > 0
	q.events(r, a)
	q.drafts(r)
	q.impossible()
	q.unread(r.Tokens.Unread)
	q.tooFewTokens(r)
	return q
}

// events walks the stream.
func (q *Request) events(r *tape.Request, a *Arena) {
	start := stamp(r.EventsFrom())
	if r.Events.IsZero() || start == Absent {
		return
	}
	q.Choices = choices(r)
	q.FirstTokens = q.scan(r, start)
	s := &a.stream
	s.Read(r)
	q.TokenEvents = int64(len(s.T))
	q.gaps = span{choice: s.Choice != nil, counts: s.Grown != nil}
	if len(s.T) == 0 {
		return
	}
	q.t0, q.t1 = slices.Min(s.T), slices.Max(s.T)
	for _, n := range s.Grown {
		q.grown += n
	}
	gaps := s.Gaps()
	q.itlN, q.itlMax = int64(len(gaps)), math.MinInt64
	short := 0
	for _, gap := range gaps {
		q.itlSum += gap
		q.itlMax = max(q.itlMax, gap)
		if gap < burstGap {
			short++
		}
	}
	if q.Choices > 1 { // a burst is one of the stream, whatever the choice
		short = 0
		for i := 1; i < len(s.T); i++ {
			if s.T[i]-s.T[i-1] < burstGap {
				short++
			}
		}
		q.perChoice(r, start)
	}
	q.Bursty = float64(short) > burstShare*float64(len(s.T)-1)
	if !a.Off {
		q.gaps = a.keep(s)
	}
}

// scan looks at the events of every kind. It gives the running count of the first
// token event, Absent where there is none or it cannot be told from other
// choices.
func (q *Request) scan(r *tape.Request, start int64) (firstTokens int64) {
	firstTokens = Absent
	t, i, found := start, 0, false
	for kind, n := range r.Events.Runs() {
		for _, dt := range r.Events.DT[i : i+n] {
			t += dt
		}
		if kind != tape.KindDone && n > 0 {
			q.LastEvent = t
		}
		q.Reasoning = q.Reasoning || kind == tape.KindReasoning && n > 0
		if n > 0 && !found && tape.IsToken(kind) {
			found = true
			if q.Choices == 1 && i < len(r.Events.Tok) && r.Events.Tok[i] >= 0 && r.Events.Tok[i] <= tape.MaxTokens {
				firstTokens = r.Events.Tok[i]
			}
		}
		i += n
	}
	return firstTokens
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
func (q *Request) perChoice(r *tape.Request, start int64) {
	last := make([]running, q.Choices)
	for _, e := range r.Events.All(start) {
		if tape.IsToken(e.Kind) {
			last[min(max(e.Choice, 0), q.Choices-1)].add(e)
		}
	}
	var span, tokens, all int64
	for _, c := range last {
		if c.n == 0 {
			continue
		}
		if c.firstTok < 0 || c.lastTok < 0 || c.lastTok > tape.MaxTokens {
			return
		}
		span += c.last - c.first
		tokens += c.lastTok - c.firstTok
		all += c.lastTok
	}
	if all == q.Output {
		q.choiceSpan, q.choiceTokens = span, tokens
	}
}

// Bursts: a response is bursty when more than burstShare of its token events
// came less than burstGap after the one before.
const (
	burstGap   = int64(1e6)
	burstShare = 0.8
)
