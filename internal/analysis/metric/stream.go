package metric

import (
	"slices"

	"tokentape/tape"
)

// Stream are the token events of one request by column, in order of arrival. One
// Stream serves request after request; the zero Stream is ready.
type Stream struct {
	T      []int64 // nanoseconds since the run's epoch
	Choice []int32 // nil where all are of one choice
	Grown  []int64 // growth of the running count; nil where the stream has none

	gaps    []int64
	choices []int32 // buffers of the columns that not every stream has
	grown   []int64
}

// Read takes the token events of r. A stream whose start is not known has no
// times, and so no events.
func (s *Stream) Read(r *tape.Request) {
	several := choices(r) > 1
	s.reset(len(r.Events.DT), several, len(r.Events.Tok) > 0 && !several)
	t := stamp(r.EventsFrom())
	if t == Absent {
		return
	}
	i, known := 0, int64(0)
	for kind, n := range r.Events.Runs() {
		run := r.Events.DT[i : i+n]
		if !tape.IsToken(kind) {
			for _, dt := range run {
				t += dt
			}
			i += n
			continue
		}
		for _, dt := range run {
			t += dt
			s.T = append(s.T, t)
		}
		if s.Choice != nil {
			for k := i; k < i+n; k++ {
				c := int32(0)
				if k < len(r.Events.Choice) {
					c = r.Events.Choice[k]
				}
				s.Choice = append(s.Choice, c)
			}
		}
		if s.Grown != nil {
			for k := i; k < i+n; k++ {
				grown := int64(0)
				if k < len(r.Events.Tok) && r.Events.Tok[k] >= 0 && r.Events.Tok[k] <= tape.MaxTokens {
					grown, known = max(0, r.Events.Tok[k]-known), max(known, r.Events.Tok[k])
				}
				s.Grown = append(s.Grown, grown)
			}
		}
		i += n
	}
}

// reset makes room for n events with the columns that they have.
func (s *Stream) reset(n int, choice, grown bool) {
	s.T = slices.Grow(s.T[:0], n)
	s.Choice, s.Grown = nil, nil
	if choice {
		s.choices = slices.Grow(s.choices[:0], max(n, 1)) // never nil
		s.Choice = s.choices[:0]
	}
	if grown {
		s.grown = slices.Grow(s.grown[:0], max(n, 1))
		s.Grown = s.grown[:0]
	}
}

// choices is how many choices the events name, 1 at least. An index cannot be
// above the number of events.
func choices(r *tape.Request) int32 {
	n := int32(1)
	for _, c := range r.Events.Choice {
		n = max(n, min(c, int32(len(r.Events.DT)))+1)
	}
	return n
}

// Gaps are the ITL of the request, good until the next call: the gaps between
// successive token events of one choice, zeros kept. That is inter-event latency,
// which is inter-token latency only where each event carries one token.
func (s *Stream) Gaps() []int64 {
	s.gaps = s.gaps[:0]
	if s.Choice != nil {
		last := map[int32]int64{}
		for i, t := range s.T {
			if before, ok := last[s.Choice[i]]; ok {
				s.gaps = append(s.gaps, t-before)
			}
			last[s.Choice[i]] = t
		}
		return s.gaps
	}
	if len(s.T) == 0 {
		return nil
	}
	s.gaps = slices.Grow(s.gaps, len(s.T))[:len(s.T)-1]
	prev := s.T[0]
	for i, t := range s.T[1:] {
		s.gaps[i] = t - prev
		prev = t
	}
	return s.gaps
}

// before counts the events until t, and the growth that they brought.
func (s *Stream) before(t int64) (events, grown int64) {
	for i, at := range s.T {
		if at <= t {
			events++
			if s.Grown != nil {
				grown += s.Grown[i]
			}
		}
	}
	return events, grown
}
