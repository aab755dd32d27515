package metric

// Every definition returns ok = false when the value is absent; none returns a
// zero for it. Durations are nanoseconds.

// between is to − from, where both happened.
func between(from, to int64) (int64, bool) {
	if from == Absent || to == Absent {
		return 0, false
	}
	return to - from, true
}

// TTFT is first_token − released. Absent without a token event and where the
// answer was not streamed.
func (q *Request) TTFT() (int64, bool) { return q.firstToken(q.Released) }

// TTFTFromDue is first_token − due, in an open loop. Absent in a closed loop and
// where TTFT is.
func (q *Request) TTFTFromDue() (int64, bool) { return q.firstToken(q.Due) }

func (q *Request) firstToken(from int64) (int64, bool) {
	if !q.Streamed {
		return 0, false
	}
	return between(from, q.FirstToken)
}

// TTFO is first_visible − released: the first token that is not reasoning.
// Absent when only reasoning came.
func (q *Request) TTFO() (int64, bool) {
	if !q.Streamed {
		return 0, false
	}
	return between(q.Released, q.FirstVisible)
}

// E2E is last_token − released; where the answer was not streamed, end of body −
// released. Absent without output.
func (q *Request) E2E() (int64, bool) { return q.lastToken(q.Released) }

// E2EFromDue is E2E counted from due, in an open loop. Absent in a closed loop
// and where E2E is.
func (q *Request) E2EFromDue() (int64, bool) { return q.lastToken(q.Due) }

func (q *Request) lastToken(from int64) (int64, bool) {
	if q.Streamed {
		return between(from, q.LastToken)
	}
	if !q.OK && q.Output == Absent { // a refusal or a broken connection: nothing was generated
		return 0, false
	}
	return between(from, q.End)
}

// StreamEnd is end − released: when the stream itself ended, after usage, finish
// and [DONE].
func (q *Request) StreamEnd() (int64, bool) { return between(q.Released, q.End) }

// Last is the moment E2E runs to.
func (q *Request) Last() (int64, bool) {
	t := q.End
	if q.Streamed {
		t = q.LastToken
	}
	return t, t != Absent
}

// EachITL calls f with every ITL gap of a request whose events are stored: see
// Stream.Gaps, which is for many requests.
func (q *Request) EachITL(f func(gap int64)) {
	var s Stream
	s.Load(q)
	for _, gap := range s.Gaps() {
		f(gap)
	}
}

// ITL is the number of ITL gaps, their sum and the greatest. Absent without one.
func (q *Request) ITL() (n, sum, most int64, ok bool) {
	return q.itlN, q.itlSum, q.itlMax, q.itlN > 0
}

// MaxITL is the largest ITL gap.
func (q *Request) MaxITL() (int64, bool) { return q.itlMax, q.itlN > 0 }

// TokensPerEvent is (output tokens − tokens in the first token event) ÷ (token
// events − 1). Absent with unknown tokens, fewer than 2 token events, or output
// tokens below those of the first event.
func (q *Request) TokensPerEvent() (float64, bool) {
	if q.TokenEvents < 2 || q.Output == Absent {
		return 0, false
	}
	first, _ := q.InFirst()
	if q.Output < first {
		return 0, false
	}
	return float64(q.Output-first) / float64(q.TokenEvents-1), true
}

// InFirst is the number of tokens in the first token event: from running counts,
// else 1 is assumed (assumed = true).
func (q *Request) InFirst() (tokens int64, assumed bool) {
	if q.FirstTokens != Absent {
		return q.FirstTokens, false
	}
	return 1, true
}

// TPOT is (E2E − TTFT) ÷ (output tokens − tokens in the first token event), in
// nanoseconds a token. Absent with fewer than 2 token events, with output tokens
// not above those of the first event, and for several choices unless running
// counts are kept per choice: then it is Σ(last − first token event) ÷ Σ(tokens
// after the first event) over the choices.
func (q *Request) TPOT() (float64, bool) {
	if !q.Streamed || q.TokenEvents < 2 || q.Output == Absent {
		return 0, false
	}
	if q.Choices > 1 {
		if q.choiceSpan == Absent || q.choiceTokens <= 0 {
			return 0, false
		}
		return float64(q.choiceSpan) / float64(q.choiceTokens), q.choiceSpan >= 0
	}
	first, _ := q.InFirst()
	span, ok := between(q.FirstToken, q.LastToken)
	if !ok || span < 0 || q.Output <= first {
		return 0, false
	}
	return float64(span) / float64(q.Output-first), true
}

// perSecond is n tokens over d nanoseconds as tokens per second. Absent for no
// time at all, and where either is below 0.
func perSecond(n float64, d float64) (float64, bool) {
	if d <= 0 || n < 0 {
		return 0, false
	}
	return float64(n*1e9) / d, true
}

// OutputSpeed is output tokens ÷ E2E, in tokens per second.
func (q *Request) OutputSpeed() (float64, bool) {
	d, ok := q.E2E()
	if !ok || q.Output == Absent {
		return 0, false
	}
	return perSecond(float64(q.Output), float64(d))
}

// DecodeSpeed is 1 ÷ TPOT, in tokens per second.
func (q *Request) DecodeSpeed() (float64, bool) {
	t, ok := q.TPOT()
	if !ok {
		return 0, false
	}
	return perSecond(1, t)
}

// PrefillSpeed is input tokens ÷ TTFT, in tokens per second.
func (q *Request) PrefillSpeed() (float64, bool) {
	d, ok := q.TTFT()
	if !ok || q.Input == Absent {
		return 0, false
	}
	return perSecond(float64(q.Input), float64(d))
}

// SendLag is wrote_first − due: slot wait plus pacer lag plus the set-up of a
// new connection. Absent in a closed loop.
func (q *Request) SendLag() (int64, bool) { return between(q.Due, q.WroteFirst) }
