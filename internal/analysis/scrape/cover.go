package scrape

import (
	"math"
	"slices"
	"sort"
)

// Span is a stretch of time in ns, both ends in it.
type Span struct{ From, To int64 }

// Cover is what the readings of a source cover of some stretches: from the first
// reading at or after the begin of each to the last at or before its end. What lies
// beside that is in no value.
type Cover struct {
	Length   float64 // of the stretches, s
	Covered  int64   // of them, ns
	Readings int
	Gaps     int
	Resets   int

	pieces  []stretch
	src     *Source
	longest int64
}

// stretch are the first and the last reading of a stretch.
type stretch struct{ a, b int }

// Gap is a time without a reading.
type Gap struct {
	From, To int64
	Why      string // cause of the first reading that failed in it; "" where none was tried or all are missing
}

// Pace is the longest time between two readings that is no gap, in ns: twice the
// interval that was asked for, or twice the median time between readings of this
// source where that is longer, as where a page takes longer than the interval.
func (s *Source) Pace(interval int64) int64 {
	var between []int64
	for i := 1; i < len(s.Times); i++ {
		between = append(between, s.Times[i]-s.Times[i-1])
	}
	if len(between) > 0 {
		slices.Sort(between)
		interval = max(interval, between[len(between)/2])
	}
	if interval <= 0 {
		return math.MaxInt64
	}
	if interval > math.MaxInt64/2 {
		return math.MaxInt64
	}
	return 2 * interval
}

// Gaps are the times longer than pace without a reading, from the first line of
// the source to end.
func (s *Source) Gaps(pace, end int64) []Gap {
	var out []Gap
	at := s.Begin
	next := 0 // failure
	add := func(to int64) {
		g := Gap{From: at, To: to}
		for next < len(s.failures) && s.failures[next].t < at {
			next++
		}
		if next < len(s.failures) && s.failures[next].t <= to {
			g.Why = s.failures[next].cause
		}
		if to-at > pace {
			out = append(out, g)
		}
		at = to
	}
	for _, t := range s.Times {
		add(t)
	}
	add(max(end, s.End))
	return out
}

// Cover finds the readings of some stretches, which are disjoint and in order of
// time.
func (s *Source) Cover(spans []Span, pace int64) Cover {
	c := Cover{src: s, longest: pace}
	for _, p := range spans {
		c.Length += (float64(p.To) - float64(p.From)) / 1e9
		a := sort.Search(len(s.Times), func(i int) bool { return s.Times[i] >= p.From })
		b := sort.Search(len(s.Times), func(i int) bool { return s.Times[i] > p.To }) - 1
		if b < a {
			continue
		}
		c.pieces = append(c.pieces, stretch{a, b})
		c.Readings += b - a + 1
		c.Covered += s.Times[b] - s.Times[a]
		for i := a + 1; i <= b; i++ {
			if s.Times[i]-s.Times[i-1] > pace {
				c.Gaps++
			}
		}
		for _, r := range s.Resets {
			if s.Times[a] < r.T && r.T <= s.Times[b] {
				c.Resets++
			}
		}
	}
	return c
}

// Holds reports whether something at t lies in the time covered.
func (c *Cover) Holds(t int64) bool {
	for _, p := range c.pieces {
		if c.src.Times[p.a] < t && t <= c.src.Times[p.b] {
			return true
		}
	}
	return false
}

// Spans are the stretches covered.
func (c *Cover) Spans() []Span {
	var out []Span
	for _, p := range c.pieces {
		out = append(out, Span{c.src.Times[p.a], c.src.Times[p.b]})
	}
	return out
}

// grown is how much g grew in the time covered; false where it was not there.
func (c *Cover) grown(g *growth) (float64, bool) {
	var v float64
	seen := false
	if g == nil {
		return 0, false
	}
	for _, p := range c.pieces {
		if p.b > p.a && p.b >= g.start {
			v += g.at(p.b) - g.at(p.a)
			seen = true
		}
	}
	return v, seen
}

// resets counts the readings in the time covered in which a series of any of ts began
// anew: one moment is one, however many series fell in it.
func (c *Cover) resets(ts ...*track) int64 {
	moments := map[int]bool{}
	for _, t := range ts {
		for _, i := range t.resets {
			for _, p := range c.pieces {
				if p.a < i && i <= p.b {
					moments[i] = true
				}
			}
		}
	}
	return int64(len(moments))
}

// Grown is how much a counter grew in the time covered; false where the page has
// none of that name.
func (c *Cover) Grown(row string) (float64, bool) {
	t := c.track(row)
	if t == nil {
		return 0, false
	}
	return c.grown(t.total)
}
