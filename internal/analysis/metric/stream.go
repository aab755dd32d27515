package metric

import (
	"iter"
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

// Token is one token event.
type Token struct {
	T      int64
	Choice int32
	Tokens int64 // growth of the running count; 0 where the stream has none
}

// Read takes the token events of r. A stream without t_wrote_first has no times,
// and so no events.
func (s *Stream) Read(r *tape.Request) {
	s.T, s.Choice, s.Grown = s.T[:0], nil, nil
	t, ok := r.TWroteFirst.V, r.TWroteFirst.OK
	if !ok {
		return
	}
	choices := choices(r)
	if choices > 1 { // never nil
		s.Choice = slices.Grow(s.choices[:0], len(r.Events.DT))
	} else if len(r.Events.Tok) > 0 {
		s.Grown = slices.Grow(s.grown[:0], len(r.Events.DT))
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
				if k < len(r.Events.Tok) && r.Events.Tok[k] >= 0 {
					grown, known = max(0, r.Events.Tok[k]-known), max(known, r.Events.Tok[k])
				}
				s.Grown = append(s.Grown, grown)
			}
		}
		i += n
	}
	if s.Choice != nil {
		s.choices = s.Choice
	}
	if s.Grown != nil {
		s.grown = s.Grown
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

// tokens yields the events one by one.
func (s *Stream) tokens(yield func(Token) bool) {
	for i, t := range s.T {
		e := Token{T: t}
		if s.Choice != nil {
			e.Choice = s.Choice[i]
		}
		if s.Grown != nil {
			e.Tokens = s.Grown[i]
		}
		if !yield(e) {
			return
		}
	}
}

// Gaps are the ITL of the request, good until the next call: see EachITL.
func (s *Stream) Gaps() []int64 {
	s.gaps = s.gaps[:0]
	if s.Choice != nil {
		gapsOfChoices(s.tokens, func(gap int64) { s.gaps = append(s.gaps, gap) })
		return s.gaps
	}
	for i := 1; i < len(s.T); i++ {
		s.gaps = append(s.gaps, s.T[i]-s.T[i-1])
	}
	return s.gaps
}

// gapsOfChoices calls f with the gaps between successive events of one choice.
func gapsOfChoices(tokens iter.Seq[Token], f func(gap int64)) {
	last := map[int32]int64{}
	for e := range tokens {
		if t, ok := last[e.Choice]; ok {
			f(e.T - t)
		}
		last[e.Choice] = e.T
	}
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
