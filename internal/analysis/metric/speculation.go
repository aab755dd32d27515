package metric

import (
	"tokentape/tape"
)

// Drafts are what a server told of one request's speculation beyond its counts.
type Drafts struct {
	// Accepting counts verify steps by the drafts that they accepted: entry j those
	// that accepted exactly j.
	Accepting []int64
	// Said are ratios that the engine made itself, by its own names.
	Said map[string]float64
	// Contradicts are counts of speculation that cannot be true beside each other;
	// those of the request that they name are Absent.
	Contradicts []Contradiction
}

// Ready-made ratios that engines send: SGLang's, then vLLM's.
var ready = [...]string{"spec_accept_length", "spec_accept_rate", "mean_acceptance_length", "draft_acceptance_rate"}

// The kinds of contradictions of speculation, as a reader sees them.
const (
	AcceptedAboveDrafted = "accepted drafts above drafts proposed"
	AcceptedAboveOutput  = "accepted drafts above output tokens by more than a step"
	DraftedNotSplit      = "accepted and rejected drafts that do not add up to those proposed"
	VerifyAboveOutput    = "verify steps above output tokens"
	DraftsUnverified     = "drafts without a verify step"
	StepsNotVerify       = "verify steps by accepted drafts that do not add up to the verify steps"
	StepsNotAccepted     = "verify steps by accepted drafts that do not make the accepted drafts"
	AboveOutput          = "accepted drafts and verify steps above output tokens by more than a step"
)

// drafts takes what the tape says of speculation, beside the counts.
func (q *Request) drafts(r *tape.Request) {
	d := Drafts{Accepting: r.StepsAccepting}
	for _, name := range ready {
		if v, ok := r.Engine[name]; ok {
			if d.Said == nil {
				d.Said = map[string]float64{}
			}
			d.Said[name] = v
		}
	}
	if len(d.Accepting) > 0 || d.Said != nil {
		q.Drafts = &d
	}
}

// impossibleDrafts takes counts of speculation that cannot be true for not known.
// Nothing stands in their place: one count is never made of others.
func (q *Request) impossibleDrafts() {
	note := func(kind string, got, than int64) {
		if q.Drafts == nil {
			q.Drafts = &Drafts{}
		}
		q.Drafts.Contradicts = append(q.Drafts.Contradicts, Contradiction{Kind: kind, Got: got, Than: than})
	}
	if q.Accepted != Absent && q.Drafted != Absent {
		switch {
		case q.Accepted > q.Drafted:
			note(AcceptedAboveDrafted, q.Accepted, q.Drafted)
			q.Accepted, q.Rejected, q.Drafted = Absent, Absent, Absent
		case q.Rejected != Absent && q.Accepted+q.Rejected != q.Drafted:
			note(DraftedNotSplit, q.Accepted+q.Rejected, q.Drafted)
			q.Accepted, q.Rejected, q.Drafted = Absent, Absent, Absent
		}
	}
	if q.Verify != Absent {
		switch made := max(q.Accepted, q.Rejected, q.Drafted); {
		case q.Output != Absent && q.Verify > q.Output:
			note(VerifyAboveOutput, q.Verify, q.Output)
			q.Verify = Absent
		case q.Verify == 0 && made > 0:
			note(DraftsUnverified, made, 0)
			q.Verify = Absent
		}
	}
	if q.Accepted != Absent && q.Output != Absent && q.Accepted-q.Output > q.step()*int64(max(1, q.Choices)) {
		note(AcceptedAboveOutput, q.Accepted, q.Output)
		q.Accepted, q.Rejected, q.Drafted = Absent, Absent, Absent
	}
	if q.Drafts != nil && q.Drafts.Accepting != nil {
		steps, accepted, ok := tally(q.Drafts.Accepting)
		switch {
		case !ok:
			note(Absurd, steps, tape.MaxTokens)
		case q.Verify != Absent && steps != q.Verify:
			note(StepsNotVerify, steps, q.Verify)
			ok = false
		case q.Accepted != Absent && accepted != q.Accepted:
			note(StepsNotAccepted, accepted, q.Accepted)
			ok = false
		}
		if !ok {
			q.Drafts.Accepting = nil
		}
	}
	// Drafts of the last step can be accepted beyond the end of the output: at most as
	// many as a step proposes, of each choice.
	if q.Output != Absent && q.Verify > 0 && q.Accepted != Absent && q.Drafted != Absent {
		if over := q.Accepted + q.Verify - q.Output; over > (q.step()+1)*int64(max(1, q.Choices)) {
			note(AboveOutput, q.Accepted+q.Verify, q.Output)
		}
	}
}

// widest is how many drafts a step proposes at most, where the server does not say how
// many steps there were.
const widest = 16

// step is how many drafts a verify step proposed: as many can be accepted beyond the
// end of the output.
func (q *Request) step() int64 {
	made := max(q.Drafted, q.Accepted+max(q.Rejected, 0))
	if q.Verify <= 0 {
		return min(made, widest)
	}
	n := (made + q.Verify - 1) / q.Verify
	if q.Drafts != nil {
		n = max(n, int64(len(q.Drafts.Accepting))-1)
	}
	return n
}

// tally adds up steps by accepted drafts; ok is false where it cannot be that of one
// request.
func tally(accepting []int64) (steps, accepted int64, ok bool) {
	for j, n := range accepting {
		if n < 0 || n > tape.MaxTokens || int64(j) > tape.MaxTokens/max(n, 1) {
			return n, 0, false
		}
		steps, accepted = steps+n, accepted+int64(j)*n
		if steps > tape.MaxTokens || accepted > tape.MaxTokens {
			return steps, accepted, false
		}
	}
	return steps, accepted, true
}

// AcceptLength is output tokens ÷ verify steps of the request, in tokens. Absent
// without both counts, and without a step.
func (q *Request) AcceptLength() (float64, bool) {
	if q.Output == Absent || q.Verify <= 0 {
		return 0, false
	}
	return float64(q.Output) / float64(q.Verify), true
}

// AcceptRate is accepted ÷ (accepted + rejected) drafts of the request, a share.
// Absent without both counts, and without a draft.
func (q *Request) AcceptRate() (float64, bool) {
	if q.Accepted == Absent || q.Rejected == Absent || q.Accepted+q.Rejected <= 0 {
		return 0, false
	}
	return float64(q.Accepted) / float64(q.Accepted+q.Rejected), true
}

// Sum is a count of several requests, and how many of them have it.
type Sum struct{ Total, N int64 }

func (s *Sum) add(n int64) {
	if n != Absent {
		s.Total, s.N = s.Total+n, s.N+1
	}
}

// Ratio is one sum over another, over the N requests that have both counts.
type Ratio struct{ Over, Under, N int64 }

// Value is Over ÷ Under. Absent where Under is 0.
func (r *Ratio) Value() (float64, bool) {
	if r.Under <= 0 {
		return 0, false
	}
	return float64(r.Over) / float64(r.Under), true
}

func (r *Ratio) add(over, under int64) { r.Over, r.Under, r.N = r.Over+over, r.Under+under, r.N+1 }

// Speculation sums up what the server says of its drafts over requests. One
// ratio is never made of the other: their counts differ from engine to engine.
type Speculation struct {
	Verify, Accepted, Rejected, Drafted Sum
	Length                              Ratio // Σ output tokens ÷ Σ verify steps
	Rate                                Ratio // Σ accepted ÷ Σ (accepted + rejected) drafts
	// PerEvent is Σ (output tokens − those of the first token event) ÷ Σ (token events
	// − 1): of the wire, whatever the server says of its steps.
	PerEvent Ratio
	// EventsPerStep is Σ (token events − 1) ÷ Σ verify steps.
	EventsPerStep Ratio
	// Uncounted is Σ output tokens that are neither an accepted draft nor one that a
	// verify step or the prefill made, ÷ Σ output tokens: steps that no count holds.
	Uncounted Ratio
	Accepting []int64 // Σ of the requests' lists
	Listed    int64   // requests that have one
}

// Add takes the counts of one request, where both of a pair are known.
func (s *Speculation) Add(q *Request) {
	s.Verify.add(q.Verify)
	s.Accepted.add(q.Accepted)
	s.Rejected.add(q.Rejected)
	s.Drafted.add(q.Drafted)
	if q.Output != Absent && q.Verify != Absent {
		s.Length.add(q.Output, q.Verify)
	}
	if q.Accepted != Absent && q.Rejected != Absent {
		s.Rate.add(q.Accepted, q.Accepted+q.Rejected)
	}
	if _, ok := q.TokensPerEvent(); ok && q.Streamed {
		first, _ := q.InFirst()
		s.PerEvent.add(q.Output-first, q.TokenEvents-1)
		if q.Verify != Absent && q.Choices == 1 {
			s.EventsPerStep.add(q.TokenEvents-1, q.Verify)
		}
	}
	if q.Output > 0 && q.Verify != Absent && q.Accepted != Absent {
		s.Uncounted.add(max(0, q.Output-q.Accepted-q.Verify-int64(max(1, q.Choices))), q.Output)
	}
	if d := q.Drafts; d != nil && len(d.Accepting) > 0 {
		for len(s.Accepting) < len(d.Accepting) {
			s.Accepting = append(s.Accepting, 0)
		}
		for j, n := range d.Accepting {
			s.Accepting[j] += n
		}
		s.Listed++
	}
}

// Position is the i-th draft of a step, counted from 1: how many of the Steps
// accepted at least that many drafts.
type Position struct{ Accepted, Steps int64 }

// Positions are those of the steps by accepted drafts, up to the longest list. A
// list says nothing of how many drafts a step proposed, so the steps are all steps.
func (s *Speculation) Positions() []Position {
	var steps int64
	for _, n := range s.Accepting {
		steps += n
	}
	if steps == 0 {
		return nil
	}
	left := steps
	ps := make([]Position, 0, len(s.Accepting))
	for _, n := range s.Accepting[:len(s.Accepting)-1] {
		left -= n
		ps = append(ps, Position{left, steps})
	}
	return ps
}
