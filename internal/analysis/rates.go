package analysis

import (
	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/stat"
	"tokentape/internal/analysis/window"
)

// medianE2Es is the length of a window in median E2E of its cohort; 0 when it
// has none. A union counts as its shortest stretch ÷ their number: what the start
// of each run still does in its stretch is in all of them, so that it does not fade
// as chance does when runs are pooled. Against the error of the pool it weighs
// √(stretches ÷ their length).
func (r *run) medianE2Es(w window.Interval) float64 {
	var xs []float64
	for _, i := range w.Cohort {
		if v, ok := r.reqs[i].E2E(); ok {
			xs = append(xs, float64(v))
		}
	}
	median := stat.At(xs, 500)
	if median <= 0 {
		return 0
	}
	each := w.Each()
	shortest := each[0].Length()
	for _, s := range each {
		shortest = min(shortest, s.Length())
	}
	return float64(shortest) / float64(len(each)) / median
}

// rateBins is the number of stretches that rates are followed over: many more
// than batches, so that the correlation between them shows.
const rateBins = 400

// flowBins are the counts of one rate in each bin: where they fall, and spread over
// the time of their requests, which is for closed loops alone.
type flowBins struct{ at, even [rateBins]float64 }

// interval is that of the rate whose value is v.
func (b *flowBins) interval(v *float64, s *sections) (ci [2]*float64, ok bool) {
	if v == nil {
		return ci, false
	}
	var even []float64
	if s.closed {
		even = b.even[:]
	}
	x, ok := stat.RateInterval(*v, b.at[:], even, s.Sections)
	return [2]*float64{ref(max(0, x[0])), &x[1]}, ok
}

// add counts v at t, for a request that took from from to to.
func (b *flowBins) add(w window.Interval, t, from, to int64, v float64) {
	put(b.at[:], w, t, v)
	spread(b.even[:], w, from, to, v)
}

// rateIntervals are 95 % intervals of rates that are counted over time, by
// sectioning: what happened in rateBins stretches of equal length, cut into
// batches like any other series.
func (r *run) rateIntervals(w window.Interval, out *Window) {
	s, _ := r.sections(w, Options{})
	if s == nil || s.Batches < stat.BatchesLeast || len(w.Cohort) < stat.LeastUnits || s.closed && s.Lives < closedRateRounds {
		return
	}
	var output, input, requests, total flowBins
	r.eachFlow(w, func(q *metric.Request, first int64) {
		if q.Output != metric.Absent {
			// The interval's width needs no more than an even stream, since a batch lasts
			// several service times; the rate itself counts event by event.
			from, last := first, q.End
			if t, ok := q.Last(); ok && first != metric.Absent {
				last = t
			} else {
				from = last
			}
			spread(output.at[:], w, from, last, float64(q.Output))
		}
		if q.Input != metric.Absent {
			input.add(w, first, q.Released, q.End, float64(q.Input))
		}
		requests.add(w, q.End, q.Released, q.End, 1)
	})
	output.even = output.at
	for i := range rateBins {
		total.at[i], total.even[i] = output.at[i]+input.at[i], output.even[i]+input.even[i]
	}
	sys := &out.System
	put := func(name string, v *float64, bins *flowBins) {
		ci, ok := bins.interval(v, s)
		if !ok {
			return
		}
		if sys.CI == nil {
			sys.CI = map[string][2]*float64{}
		}
		sys.CI[name] = ci
	}
	put("output_tokens_per_s", sys.OutputTokensPerS, &output)
	put("requests_per_s", sys.RequestsPerS, &requests)
	put("input_tokens_per_s", sys.InputTokensPerS, &input)
	put("total_tokens_per_s", sys.TotalTokensPerS, &total)
	r.goodIntervals(w, out.Facts.Goodput, s)
}

// eachFlow calls f for the requests that byEvents counts, with the time of the
// first token, that of the end for an answer in one piece.
func (r *run) eachFlow(w window.Interval, f func(q *metric.Request, first int64)) {
	for i := range r.reqs {
		q := &r.reqs[i]
		if !servedIn(q, w) {
			continue
		}
		first := q.FirstToken
		if !q.Streamed {
			first = q.End
		}
		f(q, first)
	}
}

// put adds v to the bin that holds t.
func put(bins []float64, w window.Interval, t int64, v float64) {
	if w.Holds(t) {
		bins[int(float64(w.Place(t)-1)/float64(w.Length())*float64(len(bins)))] += v
	}
}

// spread adds v evenly over the time between two instants.
func spread(bins []float64, w window.Interval, start, end int64, v float64) {
	if end <= start {
		put(bins, w, end, v)
		return
	}
	n := float64(len(bins))
	length := float64(w.Length())
	width, before := length/n, int64(0)
	for _, s := range w.Each() { // a request is in one, as a rule
		from, to := float64(start-s.From+before)/width, float64(end-s.From+before)/width
		low, high := float64(before)/length*n, float64(before+s.Length())/length*n
		each := v / (to - from)
		from, to = max(from, low), min(to, high)
		for i := int(from); i < len(bins) && float64(i) < to; i++ {
			bins[i] += float64(each * max(0, min(to, float64(i+1))-max(from, float64(i))))
		}
		before += s.Length()
	}
}
