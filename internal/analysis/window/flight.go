package window

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/stat"
)

// Flight is the number of requests in flight over time: from release to end, of
// every phase and every outcome, since all of them load the server.
type Flight struct{ steps []step }

// step changes the level by d. At one instant, requests that began earlier end
// first, then others start, then those of no length end: a slot that is handed
// over is never counted twice.
type step struct {
	t     int64
	order int8
	d     int8
}

// NewFlight follows reqs.
func NewFlight(reqs []metric.Request) *Flight {
	f := &Flight{steps: make([]step, 0, 2*len(reqs))}
	for i := range reqs {
		q := &reqs[i]
		if q.Released == metric.Absent {
			continue
		}
		end, order := ended(q), int8(0)
		if end == q.Released {
			order = 2
		}
		f.steps = append(f.steps, step{q.Released, 1, 1}, step{end, order, -1})
	}
	slices.SortFunc(f.steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.order, b.order))
	})
	return f
}

// Steps yields every change of the level and its time, in order.
func (f *Flight) Steps() iter.Seq2[int64, int] {
	return func(yield func(int64, int) bool) {
		for _, s := range f.steps {
			if !yield(s.t, int(s.d)) {
				return
			}
		}
	}
}

// Over is the time-weighted mean and standard deviation of the level in
// (from, to], and its peak in [from, to]. ok is false for an interval of no
// length; the peak is right all the same.
func (f *Flight) Over(from, to int64) (mean, sd float64, peak int64, ok bool) {
	var level int64
	var area, square stat.Acc
	at := from
	hold := func(t int64) {
		d := float64(t - at)
		area.Add(float64(float64(level) * d))
		square.Add(float64(float64(level*level) * d))
		at = t
	}
	inside := false
	for _, s := range f.steps {
		if s.t > to {
			break
		}
		if s.t > from && !inside {
			inside = true
			peak = max(peak, level)
		}
		if s.t > from {
			hold(s.t)
		}
		level += int64(s.d)
		if s.d > 0 && s.t >= from {
			peak = max(peak, level)
		}
	}
	if !inside {
		peak = max(peak, level)
	}
	if to <= from {
		return 0, 0, peak, false
	}
	hold(to)
	span := float64(to - from)
	mean = area.Sum() / span
	sd = math.Sqrt(max(0, square.Sum()/span-float64(mean*mean)))
	return mean, sd, peak, true
}
