package analysis

import (
	"fmt"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/stat"
	"tokentape/internal/analysis/window"
	"tokentape/tape"
)

// flow is what a service did over some time.
type flow struct {
	requests, output, input float64
	// noOutput and noInput are ok requests whose counts are not known.
	noOutput, noInput, n int64
}

// wholeRequests counts the requests of a set in full.
func (r *run) wholeRequests(set []int) flow {
	var f flow
	var in, out int64
	for _, i := range set {
		q := &r.reqs[i]
		f.n++
		if q.Output != metric.Absent {
			out += q.Output
		} else {
			f.noOutput++
		}
		if q.Input != metric.Absent {
			in += q.Input
		} else {
			f.noInput++
		}
	}
	f.requests, f.output, f.input = float64(len(set)), float64(out), float64(in)
	return f
}

// byEvents counts what fell in (from, to] of ok requests of every phase, since
// warm-up and tail requests share the server with the measured ones: output
// tokens by their events, input tokens by the first token, requests by the end
// of the stream.
func (r *run) byEvents(from, to int64) flow {
	var f flow
	if !r.look(nil, []int64{from, to}) {
		return f
	}
	var out stat.Acc
	for i := range r.reqs {
		q := &r.reqs[i]
		if !served(q, from, to) {
			continue
		}
		f.n++
		if n, ok := q.TokensIn(from, to); ok {
			out.Add(n)
		} else {
			f.noOutput++
		}
		first := q.FirstToken
		if !q.Streamed {
			first = q.End
		}
		if q.Input == metric.Absent {
			f.noInput++
		} else if from < first && first <= to {
			f.input += float64(q.Input)
		}
		if from < q.End && q.End <= to {
			f.requests++
		}
	}
	f.output = out.Sum()
	return f
}

// served reports whether an ok request was in flight in (from, to], of a phase
// whose tokens count.
func served(q *metric.Request, from, to int64) bool {
	return q.OK && q.Phase != tape.PhaseProbe && q.Phase != tape.PhasePrepare && q.Released != metric.Absent && q.Released < to && q.End > from
}

// servedIn is served for any stretch of a window.
func servedIn(q *metric.Request, w window.Interval) bool {
	for _, s := range w.Each() {
		if served(q, s.From, s.To) {
			return true
		}
	}
	return false
}

// system fills the rates of the whole service and the facts of the window.
func (r *run) system(w window.Interval, out *Window, o Options) {
	s := &out.System
	span := float64(w.Length()) / 1e9
	s.DurationS = &span
	mean, sd, peak, ok := r.over(w.Each())
	s.ConcurrencyPeak = &peak
	if ok {
		s.ConcurrencyMean, out.Facts.InFlightMean, out.Facts.InFlightSD = &mean, ref(mean), &sd
	}
	var f flow
	if w.ByEvents {
		f = r.flowIn(w.Each())
	} else {
		f = r.wholeRequests(w.Cohort)
	}
	if w.Kind == window.KindStable {
		s.ConcurrencyMean = r.stableConcurrency(w.Cohort, span)
	}
	r.windowFacts(w, out, span)
	rated := span // 0: no rates
	switch few := tooFew(w, out); {
	case span <= 0:
		out.Warnings = append(out.Warnings, "the window has no length: no rates")
	case few != "":
		out.Warnings = append(out.Warnings, "no rates: "+few)
		rated = 0
	}
	r.goodput(w, &out.Facts, rated)
	if rated > 0 {
		s.RequestsPerS = ref(f.requests / span)
		if f.noOutput < f.n || f.n == 0 {
			s.OutputTokensPerS = ref(f.output / span)
		}
		if f.noInput < f.n || f.n == 0 {
			s.InputTokensPerS = ref(f.input / span)
		}
		if s.OutputTokensPerS != nil && s.InputTokensPerS != nil {
			s.TotalTokensPerS = ref((f.output + f.input) / span)
		}
	}
	if f.noOutput > 0 || f.noInput > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("token rates leave out what was not counted: %d of %d requests without output count, %d without input count", f.noOutput, f.n, f.noInput))
	}
	if w.Kind == window.KindSteady && !o.NoCI {
		r.rateIntervals(w, out)
	}
	r.economy(w, out, o)
}

// stableConcurrency is AISBench's: Σ(end − start) ÷ duration, at most the cap.
func (r *run) stableConcurrency(cohort []int, span float64) *float64 {
	if span <= 0 {
		return nil
	}
	var sum int64
	for _, i := range cohort {
		start, end, _ := window.Lifetime(&r.reqs[i])
		sum += end - start
	}
	return ref(min(float64(sum)/1e9/span, float64(r.spec.Load.Concurrency)))
}

// windowFacts fills what sufficiency, cache and speculation rows say.
func (r *run) windowFacts(w window.Interval, out *Window, span float64) {
	f := &out.Facts
	if e2e := out.Metrics["e2e_ms"]; e2e != nil && e2e.P50 != nil && *e2e.P50 > 0 {
		f.ServiceTimes = ref(span * 1000 / *e2e.P50)
	}
	if w.Kind == window.KindWhole {
		f.ToLastTokenS = r.toLastToken(w)
	}
	var cached, input, observed, inferredN int64
	var drafts metric.Speculation
	for _, i := range w.Cohort {
		q := &r.reqs[i]
		drafts.Add(q)
		n, inferred, ok := q.CachedTokens(r.proved)
		if !ok || q.Input == metric.Absent {
			continue
		}
		if inferred {
			inferredN++
		} else {
			observed++
		}
		cached, input = cached+n, input+q.Input
	}
	none := int64(len(w.Cohort)) - observed - inferredN
	f.CachedN, f.CachedInferN, f.CachedNoneN = &observed, &inferredN, &none
	if input > 0 {
		f.CachedRatio = ref(float64(cached) / float64(input))
	}
	f.NominalCachedRatio = r.nominalCached(w.Cohort)
	if v, ok := drafts.Length.Value(); ok {
		f.AcceptLength, f.AcceptLenN = &v, &drafts.Length.N
	}
	if v, ok := drafts.Rate.Value(); ok {
		f.AcceptRate, f.AcceptRateN = &v, &drafts.Rate.N
	}
}

// toLastToken is the time from the start of a window, of each of its stretches, to
// the last token of the cohort there, in seconds; nil where there is none.
func (r *run) toLastToken(w window.Interval) *float64 {
	var sum int64
	found := false
	for _, s := range w.Each() {
		last := metric.Absent
		for _, i := range w.Cohort {
			q := &r.reqs[i]
			if t, ok := q.Last(); ok && s.From <= q.Released && q.Released <= s.To {
				last = max(last, t)
			}
		}
		if last != metric.Absent {
			sum, found = sum+last-s.From, true
		}
	}
	if !found {
		return nil
	}
	return ref(float64(sum) / 1e9)
}

func ref(v float64) *float64 { return &v }
