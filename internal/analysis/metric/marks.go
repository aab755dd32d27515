package metric

import (
	"cmp"
	"fmt"
	"slices"
)

// mark is how far a stream had come at a point in time.
type mark struct{ t, events, grown int64 }

// Drop forgets the token events. What remains are scalars and marks.
func (q *Request) Drop() { q.gaps.blocks = nil }

// Keep stores the token events of s, which must be the request's own, in a.
func (q *Request) Keep(s *Stream, a *Arena) {
	if q.gaps.blocks == nil {
		q.gaps = a.keep(s)
	}
}

// Mark notes how far s, the request's own stream, had come at each of the cuts,
// which are sorted. TokensIn is quick between cuts; of a request without stored
// events it can be asked between cuts alone.
func (q *Request) Mark(s *Stream, cuts []int64) {
	q.marks = nil
	if q.TokenEvents == 0 {
		return
	}
	from, _ := slices.BinarySearch(cuts, q.t0)
	to, _ := slices.BinarySearch(cuts, q.t1)
	if from >= to {
		return
	}
	q.marks = make([]mark, 0, to-from)
	cuts = cuts[from:to]
	if !slices.IsSorted(s.T) { // no clock gives that, but a tape can hold it
		for _, t := range cuts {
			events, grown := s.before(t)
			q.marks = append(q.marks, mark{t, events, grown})
		}
		return
	}
	i, grown := 0, int64(0)
	for _, t := range cuts {
		for ; i < len(s.T) && s.T[i] <= t; i++ {
			if s.Grown != nil {
				grown += s.Grown[i]
			}
		}
		q.marks = append(q.marks, mark{t, int64(i), grown})
	}
}

// before counts the token events until t, and the growth of the running count that
// they brought.
func (q *Request) before(t int64) (events, grown int64) {
	switch {
	case t < q.t0:
		return 0, 0
	case t >= q.t1:
		return q.TokenEvents, q.grown
	}
	if i, ok := slices.BinarySearchFunc(q.marks, t, func(m mark, t int64) int { return cmp.Compare(m.t, t) }); ok {
		return q.marks[i].events, q.marks[i].grown
	}
	var s Stream
	if !s.Load(q) {
		panic(fmt.Sprintf("metric: request %d has neither its events nor a mark at %d ns", q.Seq, t))
	}
	return s.before(t)
}
