package analysis

import (
	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/window"
	"tokentape/tape"
)

// goodput is the share of the window's issued requests that met every SLO limit.
// A request that did not end well is not good; one that was abandoned as the load
// asked is not judged. TTFT and E2E count from released;
// the ITL limit holds for the request's largest gap; an absent value breaks no
// limit.
func (r *run) goodput(w window.Interval, f *WindowFacts, span float64) {
	limits := r.spec.Report.SLO
	if limits == (slo{}) {
		return
	}
	var issued, good, ended int64
	for i := range r.reqs {
		q := &r.reqs[i]
		if q.Phase != tape.PhaseMeasure || q.Released == metric.Absent || r.facts[i].outcome == tape.OutcomeAbandoned {
			continue
		}
		ok := q.OK && limits.met(q)
		if w.From <= q.Released && q.Released <= w.CohortTo {
			issued++
			if ok {
				good++
			}
		}
		if ok && w.From < q.End && q.End <= w.To {
			ended++
		}
	}
	if !w.ByEvents {
		ended = good
	}
	if issued > 0 {
		f.GoodShare = ref(float64(good) / float64(issued))
	}
	if span > 0 {
		f.GoodPerS = ref(float64(ended) / span)
	}
}

func (l slo) met(q *metric.Request) bool {
	under := func(limit float64, f func(*metric.Request) (float64, bool)) bool {
		if limit <= 0 {
			return true
		}
		v, ok := f(q)
		return !ok || v <= limit
	}
	return under(l.TTFT, ms((*metric.Request).TTFT)) && under(l.E2E, ms((*metric.Request).E2E)) && under(l.ITL, ms((*metric.Request).MaxITL)) &&
		under(l.TPOT, func(q *metric.Request) (float64, bool) { v, ok := q.TPOT(); return v / 1e6, ok })
}
