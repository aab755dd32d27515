package rows

import (
	"fmt"

	"tokentape/internal/workload"
)

// Part is some of the items of a Source, one after the other; it reads them through it,
// and the Source is closed by who opened it.
type Part struct {
	*Source
	first, n int64
}

// Part is items first to first+n−1 of s. What Notes, MeanBytes and Longest say is of
// all of s.
func (s *Source) Part(first, n int64) (*Part, error) {
	if first < 0 || n < 1 || first > s.Len()-n {
		return nil, fmt.Errorf("%s: there are no items %d to %d among %d", s.w.Dataset.Path, first, first+n-1, s.Len())
	}
	return &Part{s, first, n}, nil
}

// Place is how many rows that pass workload.dataset.filter stand in the file before the
// i-th that was picked there: the workload.dataset.skip that begins with it.
func (s *Source) Place(i int64) int64 { return s.places.row(i) }

// Len is the number of items.
func (p *Part) Len() int64 { return p.n }

// Item is item i (0 ≤ i < Len).
func (p *Part) Item(i int64) (workload.Item, error) {
	if i < 0 || i >= p.n {
		return workload.Item{}, fmt.Errorf("%s: there is no item %d among %d (0 is the first)", p.w.Dataset.Path, i, p.n)
	}
	return p.Source.Item(p.first + i)
}

// Times are when the items were sent; see workload.Timed.
func (p *Part) Times() []int64 {
	if all := p.Source.Times(); all != nil {
		return all[p.first : p.first+p.n]
	}
	return nil
}

// Where is Source.Where of item i.
func (p *Part) Where(i int64) string { return p.Source.Where(p.first + i) }

// Close does nothing: the Source has the file.
func (p *Part) Close() error { return nil }
