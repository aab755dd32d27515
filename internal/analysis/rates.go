package analysis

import (
	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/stat"
	"tokentape/internal/analysis/window"
)

// batchServiceTimes is how many median service times (E2E) a batch of an interval
// must last: what one request does to others is mostly over then.
const batchServiceTimes = 3

// openEffective is how many effective samples an interval takes in an open loop.
// Its queues hang together over stretches that a short run does not show: a run
// that happened to see no burst looks calm and is sure of too small a value. In a
// closed loop the cap bounds the queue.
const openEffective = 300

// sections says which intervals a window can have; nil: none, and why.
func (r *run) sections(w window.Interval, o Options) (s *stat.Sections, why string) {
	if o.NoCI {
		return nil, ""
	}
	if w.Kind != window.KindSteady {
		return nil, "no intervals: parts unlike"
	}
	s = &stat.Sections{Long: r.medianE2Es(w) / batchServiceTimes}
	if r.open() {
		s.Open, s.Least = true, openEffective
		s.Worst = max(r.inefficiency(w, (*metric.Request).TTFT), r.inefficiency(w, (*metric.Request).E2E))
	}
	return s, ""
}

func (r *run) inefficiency(w window.Interval, f func(*metric.Request) (int64, bool)) float64 {
	var xs []float64
	for _, i := range w.Cohort {
		if v, ok := f(&r.reqs[i]); ok {
			xs = append(xs, float64(v))
		}
	}
	return stat.Inefficiency(xs)
}

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

// rateIntervals are 95 % intervals of rates that are counted over time, by
// sectioning: what happened in rateBins stretches of equal length, cut into
// batches like any other series.
func (r *run) rateIntervals(w window.Interval, out *Window) {
	s, _ := r.sections(w, Options{})
	// Bins are no requests: what requests carry is judged in requests.
	if s == nil || s.Worst > 0 && float64(len(w.Cohort)) < float64(s.Least*s.Worst)*s.Worst {
		return
	}
	var output, input, requests, total [rateBins]float64
	r.eachFlow(w, func(q *metric.Request, first int64) {
		if q.Output != metric.Absent {
			spread(output[:], w, first, q)
		}
		if q.Input != metric.Absent {
			put(input[:], w, first, float64(q.Input))
		}
		put(requests[:], w, q.End, 1)
	})
	for i := range total {
		total[i] = output[i] + input[i]
	}
	sys := &out.System
	of := func(v *float64, bins []float64) (ci [2]*float64, ok bool) {
		if v == nil {
			return ci, false
		}
		b, ok := stat.RateInterval(*v, bins, stat.Sections{Long: s.Long})
		return [2]*float64{ref(max(0, b[0])), &b[1]}, ok
	}
	put := func(name string, v *float64, bins []float64) {
		ci, ok := of(v, bins)
		if !ok {
			return
		}
		if sys.CI == nil {
			sys.CI = map[string][2]*float64{}
		}
		sys.CI[name] = ci
	}
	put("output_tokens_per_s", sys.OutputTokensPerS, output[:])
	put("requests_per_s", sys.RequestsPerS, requests[:])
	put("input_tokens_per_s", sys.InputTokensPerS, input[:])
	put("total_tokens_per_s", sys.TotalTokensPerS, total[:])
	r.goodIntervals(w, out.Facts.Goodput, *s, of)
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

// spread adds a request's output evenly over the time from its first to its last
// token. The interval's width needs no more, since a batch lasts several service
// times; the rate itself counts event by event.
func spread(bins []float64, w window.Interval, first int64, q *metric.Request) {
	last, ok := q.Last()
	if !ok || first == metric.Absent || last <= first {
		put(bins, w, max(first, q.End), float64(q.Output))
		return
	}
	n := float64(len(bins))
	length := float64(w.Length())
	width, before := length/n, int64(0)
	for _, s := range w.Each() { // a request is in one, as a rule
		from, to := float64(first-s.From+before)/width, float64(last-s.From+before)/width
		low, high := float64(before)/length*n, float64(before+s.Length())/length*n
		each := float64(q.Output) / (to - from)
		from, to = max(from, low), min(to, high)
		for i := int(from); i < len(bins) && float64(i) < to; i++ {
			bins[i] += float64(each * max(0, min(to, float64(i+1))-max(from, float64(i))))
		}
		before += s.Length()
	}
}
