package analysis

import (
	"cmp"
	"math"
	"slices"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/stat"
	"tokentape/internal/analysis/window"
)

// What a window must hold for intervals, found on loads whose truth is known
// (docs/statistics.md). Each is a quantity that chance moves little.
const (
	// closedRounds is how many requests a slot of a closed loop serves at least: the cap
	// bounds how far one request reaches, to about the time that one takes.
	closedRounds = 25
	// closedGapRounds is the same for ITL, whose gaps are shared by all in flight.
	closedGapRounds = 40
	// batchRounds make a batch in a closed loop, beyond the least number of batches.
	batchRounds = 14
	// idleStarts is how many requests of an open loop find nothing else in flight: each
	// begins anew, so that what came before has no say in what follows. So many,
	// because of two loads with as many the one with fewer slots has the longer queue,
	// and because near the border runs with more of them are those of less load.
	idleStarts = 900
	// batchIdle of them make a batch, beyond the least number.
	batchIdle = 100
	// Without idle starts, requests must show that they do not move one another: TTFT
	// and TPOT correlate with the number in flight at the release by at most apart, and
	// there are openFactor · G⁴ of them, G the inefficiency of the most correlated of
	// TTFT, TPOT and E2E. (G alone would not do: a run that happened to
	// see no burst looks calm and is sure of too small a value.)
	apart      = 0.25
	openFactor = 12
	// batchApart of them make a batch, beyond the least number.
	batchApart = 60
	// closedRateRounds is closedRounds for rates.
	closedRateRounds = 33
)

// sections are those of a window.
type sections struct {
	stat.Sections
	closed bool
}

// sections says which intervals a window can have; nil: none, and why.
func (r *run) sections(w window.Interval, o Options) (s *sections, why string) {
	if o.NoCI {
		return nil, ""
	}
	if len(w.Cohort) < 2 {
		return nil, "no intervals: fewer than two requests"
	}
	if w.Kind != window.KindSteady {
		return nil, "no intervals: it mixes ramp, middle and drain"
	}
	if r.open() {
		return r.openSections(w), ""
	}
	level, _, _, ok := r.over(w.Each())
	if !ok || level <= 0 {
		return nil, ""
	}
	rounds := float64(len(w.Cohort)) / level * lengthShare(w)
	s = &sections{Sections: stat.Sections{Lives: rounds, Times: closedRounds / rounds}, closed: true}
	if rounds >= closedRounds {
		s.Batches = batches(rounds / batchRounds)
	}
	return s, ""
}

// lengthShare is the share of a window that counts for its length: 1, but a union counts
// as its shortest stretch ÷ their number. What the start of each run still does in
// its stretch is in all of them, so that it does not fade as chance does when runs
// are pooled; against the error of the pool it weighs √(stretches ÷ their length).
func lengthShare(w window.Interval) float64 {
	each := w.Each()
	shortest := each[0].Length()
	for _, s := range each {
		shortest = min(shortest, s.Length())
	}
	return float64(shortest) / float64(len(each)) / float64(w.Length())
}

// batches is a number of batches between the least and the greatest.
func batches(n float64) int {
	return int(min(max(n, stat.BatchesLeast), stat.BatchesMost))
}

// of are the sections of one metric.
func (s *sections) of(key string) *stat.Sections {
	if s == nil {
		return nil
	}
	of := s.Sections
	if key == itlKey && s.closed && s.Lives < closedGapRounds {
		of.Batches, of.Times = 0, closedGapRounds/s.Lives
	}
	return &of
}

func (r *run) openSections(w window.Interval) *sections {
	levels := r.levels()
	idle := 0.0
	for _, i := range w.Cohort {
		if levels[i] == 0 {
			idle++
		}
	}
	idle *= lengthShare(w)
	if idle >= idleStarts {
		return &sections{Sections: stat.Sections{Batches: batches(idle / batchIdle)}}
	}
	s := new(sections)
	if idle > 0 {
		s.Times = idleStarts / idle
	}
	g, touch := 1.0, 0.0
	for k, f := range []func(*metric.Request) (float64, bool){ms((*metric.Request).TTFT), (*metric.Request).TPOT, ms((*metric.Request).E2E)} {
		var xs, level []float64
		for _, i := range w.Cohort {
			if v, ok := f(&r.reqs[i]); ok {
				xs, level = append(xs, v), append(level, levels[i])
			}
		}
		g = max(g, float64(len(xs))/stat.EffectiveSize(xs))
		switch {
		case k == 2: // lengths of answers hide what others do to it
		case len(xs) < len(w.Cohort)/2:
			touch = 1
		default:
			touch = max(touch, math.Abs(stat.Correlation(xs, level)))
		}
	}
	has := float64(len(w.Cohort)) * lengthShare(w) / float64(openFactor*float64(float64(g*g)*float64(g*g)))
	switch {
	case touch > apart:
	case has >= 1:
		s.Batches = batches(min(stat.BatchesLeast*has, float64(len(w.Cohort))/batchApart))
	case s.Times == 0 || 1/has < s.Times:
		s.Times = 1 / has
	}
	return s
}

// levels are, for every request, how many were in flight when it was released.
func (r *run) levels() []float64 {
	var order []int
	var ends []int64
	for i := range r.reqs {
		if q := &r.reqs[i]; q.Released != metric.Absent {
			order, ends = append(order, i), append(ends, max(q.Released, q.End))
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(r.reqs[a].Released, r.reqs[b].Released) })
	slices.Sort(ends)
	levels := make([]float64, len(r.reqs))
	over := 0
	for before, i := range order {
		for over < len(ends) && ends[over] < r.reqs[i].Released {
			over++
		}
		levels[i] = float64(before - over)
	}
	return levels
}
