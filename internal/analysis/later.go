package analysis

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/stat"
	"tokentape/internal/analysis/window"
	"tokentape/tape"
)

// keptBytes is how much the token events of a run may take in memory, at some
// four bytes each. Of a run with more, each request keeps its scalars alone, and
// what windows need of the events is taken in a second pass over the tape. The
// numbers are the same either way.
const keptBytes = 256 << 20

// Rereader is a Source that can be read once more from its first record, without
// faults and hash. done frees what the second reading holds. Of a Source that
// cannot, all events stay in memory.
type Rereader interface {
	Source
	Again() (again Source, done func() error, err error)
}

// later is what windows need of the token events, found so far.
type later struct {
	src   Rereader // of the second pass; nil: the requests hold their events
	place []int32  // for it: index into run.reqs of each request, in the order of the tape
	arena metric.Arena
	cuts  []int64 // points in time that requests have marks at, sorted
	pools []*pool
	err   error // the first
}

// pool are the gaps of one cohort: a histogram, or nil where there are so few that
// its requests hold their events.
type pool struct {
	cohort []int
	gaps   *stat.Histogram
}

// pool is that of a cohort, nil when nobody has looked for it.
func (l *later) pool(cohort []int) *pool {
	for _, p := range l.pools {
		if slices.Equal(p.cohort, cohort) {
			return p
		}
	}
	return nil
}

// cuts are the points in time between which tables count tokens.
func cuts(ivs []window.Interval) []int64 {
	var ts []int64
	for _, w := range ivs {
		if !w.OK {
			continue
		}
		for _, s := range w.Each() {
			ts = append(ts, s.From, s.To)
		}
		for i := range stat.TrendPoints {
			for _, s := range w.Slice(i, stat.TrendPoints) {
				ts = append(ts, s.From, s.To)
			}
		}
	}
	return ts
}

// look makes sure that the gaps of the cohorts are known, and the tokens between
// any two of the cuts. It goes over all events once for all that is missing, in
// memory or on the tape, so callers ask for much at a time. After an error, which
// stays in r.later, it reports false, and nothing may be asked of the events.
func (r *run) look(cohorts [][]int, cuts []int64) (ok bool) {
	l := r.later
	if l.err != nil {
		return false
	}
	var fresh []*pool
	for _, c := range cohorts {
		known := l.pool(c) != nil || slices.ContainsFunc(fresh, func(p *pool) bool { return slices.Equal(p.cohort, c) })
		if !known {
			fresh = append(fresh, &pool{cohort: c})
		}
	}
	all := slices.Concat(l.cuts, cuts)
	slices.Sort(all)
	all = slices.Compact(all)
	if len(fresh) == 0 && len(all) == len(l.cuts) {
		return true
	}
	l.cuts, l.pools = all, append(l.pools, fresh...)
	l.err = r.fill(fresh)
	return l.err == nil
}

// fill takes the gaps of the pools, and marks at all cuts, from the events. A gap
// is counted once, however many cohorts hold its request: requests that are in the
// same cohorts share a histogram, and each cohort adds up its own.
func (r *run) fill(pools []*pool) error {
	part := make([]int32, len(r.reqs)) // 0: in no cohort with a histogram
	parts := []*stat.Histogram{nil}
	keep := make([]bool, len(r.reqs))
	in := make([][]int, len(pools)) // parts of each pool
	for n, p := range pools {
		if r.gaps(p.cohort) <= r.exact {
			for _, i := range p.cohort {
				keep[i] = true
			}
			continue
		}
		p.gaps = new(stat.Histogram)
		split := map[int32]int32{}
		for _, i := range p.cohort {
			to, ok := split[part[i]]
			if !ok {
				to = int32(len(parts))
				split[part[i]] = to
				parts = append(parts, new(stat.Histogram))
				for k := range n { // what belongs to a pool still does in parts
					if slices.Contains(in[k], int(part[i])) {
						in[k] = append(in[k], int(to))
					}
				}
				in[n] = append(in[n], int(to))
			}
			part[i] = to
		}
	}
	charts := r.charter
	if charts != nil && charts.fed {
		charts = nil
	}
	err := r.eachStream(func(i int, s *metric.Stream) {
		q := &r.reqs[i]
		if charts != nil {
			charts.stream(i, s)
		}
		q.Mark(s, r.later.cuts)
		if keep[i] {
			q.Keep(s, &r.later.arena)
		}
		if h := parts[part[i]]; h != nil {
			h.AddAll(s.Gaps())
		}
	})
	if charts != nil {
		charts.fed = err == nil
	}
	for k, p := range pools {
		for _, n := range in[k] {
			p.gaps.Merge(parts[n])
		}
	}
	return err
}

// eachStream calls f with the events of every request and its index, in any order.
func (r *run) eachStream(f func(i int, s *metric.Stream)) error {
	l := r.later
	var s metric.Stream
	if l.src == nil {
		for i := range r.reqs {
			s.Load(&r.reqs[i])
			f(i, &s)
		}
		return nil
	}
	src, done, err := l.src.Again()
	if err != nil {
		return fmt.Errorf("the tape has too many events to keep, and cannot be read a second time: %w", err)
	}
	defer done()
	changed := errors.New("the tape changed while it was analysed: analyse it again when nothing writes to it")
	for n := 0; n < len(l.place); { // what a run that is still going on has added since is not looked at
		rec, err := src.Next()
		if err == io.EOF {
			return changed
		}
		if err != nil {
			return err
		}
		req, ok := rec.(*tape.Request)
		if !ok {
			continue
		}
		i := int(l.place[n])
		if q := &r.reqs[i]; req.Seq != q.Seq || int64(len(req.Events.DT)) != q.Events {
			return changed
		}
		s.Read(req)
		f(i, &s)
		n++
	}
	return nil
}
