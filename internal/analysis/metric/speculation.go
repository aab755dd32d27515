package metric

// Speculation sums up what the server says of its drafts over requests. One
// ratio is never made of the other: their counts differ from engine to engine.
type Speculation struct {
	output, verify     int64
	accepted, proposed int64
	// LengthN is the number of requests with known output tokens and verify steps,
	// RateN of those with known accepted and rejected drafts.
	LengthN, RateN int64
}

// Add takes the counts of one request, where both of a pair are known.
func (s *Speculation) Add(q *Request) {
	if q.Output != Absent && q.Verify != Absent {
		s.output, s.verify = s.output+q.Output, s.verify+q.Verify
		s.LengthN++
	}
	if q.Accepted != Absent && q.Rejected != Absent {
		s.accepted, s.proposed = s.accepted+q.Accepted, s.proposed+q.Accepted+q.Rejected
		s.RateN++
	}
}

// Length is Σ output tokens ÷ Σ verify steps, in tokens. Absent without a step.
func (s *Speculation) Length() (float64, bool) {
	if s.verify <= 0 {
		return 0, false
	}
	return float64(s.output) / float64(s.verify), true
}

// Rate is Σ accepted ÷ Σ (accepted + rejected) draft tokens, a share. Absent
// without a draft.
func (s *Speculation) Rate() (float64, bool) {
	if s.proposed <= 0 {
		return 0, false
	}
	return float64(s.accepted) / float64(s.proposed), true
}
