package metric

// TokensIn is the number of output tokens that came in (from, to]: the growth of
// running counts where events carry them, else the output tokens spread evenly
// over the token events. Tokens that no event accounts for (counts that end
// early, an answer in one piece) came with the last one. ok is false where the
// output tokens are not known.
func (q *Request) TokensIn(from, to int64) (tokens float64, ok bool) {
	if q.Output == Absent {
		return 0, false
	}
	last, ok := q.Last()
	if !ok {
		last = q.End
	}
	all := float64(q.Output)
	if q.TokenEvents == 0 || !q.Streamed {
		if from < last && last <= to {
			return all, true
		}
		return 0, true
	}
	if last <= from || q.FirstToken != Absent && q.FirstToken > to {
		return 0, true
	}
	if q.FirstToken != Absent && q.FirstToken > from && last <= to {
		return all, true
	}
	e0, g0 := q.before(from)
	e1, g1 := q.before(to)
	events, grownIn := max(0, e1-e0), max(0, g1-g0)
	if !q.Counted() || q.grown == 0 {
		return float64(all*float64(events)) / float64(q.TokenEvents), true
	}
	if from < last && last <= to {
		grownIn += max(0, q.Output-q.grown)
	}
	return float64(min(grownIn, q.Output)), true
}
