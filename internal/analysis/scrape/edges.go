package scrape

import (
	"cmp"
	"maps"
	"slices"

	"tokentape/tape"
)

// Edges takes the values of all series at the ends of windows, in a second pass over
// the Scrape lines: of the thousands of series of a page nothing is kept between. The
// zero Edges is ready.
type Edges struct {
	c     Collector
	wants map[key]map[int]bool
	shots map[key]map[int]map[string]shot
}

// shot is a series at one reading.
type shot struct {
	v, grown float64
	counter  bool
	typ      string
}

// Want asks for the values at the ends of a cover. It comes before Add.
func (e *Edges) Want(c *Cover) {
	if e.wants == nil {
		e.wants, e.shots = map[key]map[int]bool{}, map[key]map[int]map[string]shot{}
		e.c.slim = true
	}
	k := key{c.src.Part, c.src.Name}
	if e.wants[k] == nil {
		e.wants[k], e.shots[k] = map[int]bool{}, map[int]map[string]shot{}
	}
	for _, p := range c.pieces {
		e.wants[k][p.a], e.wants[k][p.b] = true, true
	}
}

// Add takes the next line.
func (e *Edges) Add(s *tape.Scrape) {
	e.c.Add(s)
	k := key{s.Part.Or(0), s.Source}
	src := e.c.of[k]
	i := len(src.Times) - 1
	if !e.wants[k][i] || e.shots[k][i] != nil {
		return
	}
	shots := make(map[string]shot, len(src.series))
	for name, x := range src.series {
		if x.here {
			shots[name] = shot{x.Last, x.Increase, x.Counter, x.Type}
		}
	}
	e.shots[k][i] = shots
}

// Edge is a series at the ends of a window.
type Edge struct {
	Name, Type  string
	Counter     bool
	First, Last *float64 // at the first and the last reading; nil: it was not there
	Increase    float64  // of a counter
}

// Of are the series at the ends of a cover that Want was called with, by name.
func (e *Edges) Of(c *Cover) []Edge {
	shots := e.shots[key{c.src.Part, c.src.Name}]
	all := map[string]*Edge{}
	for n, p := range c.pieces {
		for name, b := range shots[p.b] {
			a, before := shots[p.a][name]
			x := all[name]
			if x == nil {
				x = &Edge{Name: name, Type: b.typ, Counter: b.counter}
				all[name] = x
			}
			if before && n == 0 {
				x.First = &a.v
			}
			x.Last, x.Increase = &b.v, x.Increase+b.grown-a.grown
		}
		if n == len(c.pieces)-1 {
			for name, x := range all {
				if _, ok := shots[p.b][name]; !ok {
					x.Last = nil
				}
			}
		}
	}
	out := make([]Edge, 0, len(all))
	for _, x := range slices.Collect(maps.Values(all)) {
		out = append(out, *x)
	}
	slices.SortFunc(out, func(a, b Edge) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
