package analysis

import (
	"math"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/stat"
	"tokentape/internal/analysis/window"
	"tokentape/tape"
)

// Goodput is what of a window met every limit of report.slo.
type Goodput struct {
	// Judged are the issued requests that start in the window, failed and cancelled
	// ones among them, abandoned ones not; Good are those that ended well within
	// every limit.
	Judged int64 `json:"judged"`
	Good   int64 `json:"good"`
	// Share is Good ÷ Judged.
	Share *float64 `json:"share"`
	// RequestsPerS and OutputTokensPerS count good requests, and all output tokens of
	// good requests, at their ends: an answer is good or not when it is complete.
	RequestsPerS     *float64 `json:"requests_per_s"`
	OutputTokensPerS *float64 `json:"output_tokens_per_s"` // absent where a good request's tokens are not known
	// CI are 95 % intervals of "share", "requests_per_s" and "output_tokens_per_s".
	CI     map[string][2]*float64 `json:"ci,omitempty"`
	Limits []GoodLimit            `json:"limits"`
}

// GoodLimit is one limit by itself. Judged = Met + missed; a failure misses every
// limit.
type GoodLimit struct {
	Name    string   `json:"name"` // as in report.slo
	LimitMS float64  `json:"limit_ms"`
	Met     int64    `json:"met"`
	Share   *float64 `json:"share"` // Met ÷ Goodput.Judged
	// Absent are ok requests without the value (one token has no gap): they break
	// no limit, and count as Met.
	Absent int64 `json:"absent,omitempty"`
}

// objective is one limit of report.slo.
type objective struct {
	name  string
	limit float64 // ms
	value func(*metric.Request) (float64, bool)
}

// objectives are the limits that are set. Per request: TTFT and E2E from the
// release or from due; TPOT; the largest gap for itl_ms. An answer in one piece
// shows its first token at its end, so that TTFT is judged by that.
func (l slo) objectives() []objective {
	first := func(from func(*metric.Request) int64) func(*metric.Request) (float64, bool) {
		return ms(func(q *metric.Request) (int64, bool) {
			t := q.FirstToken
			if !q.Streamed {
				t = q.End
			}
			if at := from(q); at != metric.Absent && t != metric.Absent {
				return t - at, true
			}
			return 0, false
		})
	}
	released := func(q *metric.Request) int64 { return q.Released }
	due := func(q *metric.Request) int64 { return q.Due }
	all := []objective{
		{"ttft_ms", l.TTFT, first(released)},
		{"ttft_from_due_ms", l.TTFTFromDue, first(due)},
		{"tpot_ms", l.TPOT, func(q *metric.Request) (float64, bool) { v, ok := q.TPOT(); return v / 1e6, ok }},
		{"itl_ms", l.ITL, ms((*metric.Request).MaxITL)},
		{"e2e_ms", l.E2E, ms((*metric.Request).E2E)},
		{"e2e_from_due_ms", l.E2EFromDue, ms((*metric.Request).E2EFromDue)},
	}
	set := all[:0]
	for _, o := range all {
		if o.limit > 0 {
			set = append(set, o)
		}
	}
	return set
}

// met reports whether q, which ended well, kept every limit.
func (l slo) met(q *metric.Request) bool {
	for _, o := range l.objectives() {
		if v, ok := o.value(q); ok && v > o.limit {
			return false
		}
	}
	return true
}

// judged reports whether the SLO judges a request: issued in the measured phase
// and not given up by the load itself. What was never issued the server was never
// asked (AIPerf, too, divides by ok + failed); tape_complete and counts say so.
func (r *run) judged(i int) bool {
	q := &r.reqs[i]
	return q.Phase == tape.PhaseMeasure && q.Released != metric.Absent && r.facts[i].outcome != tape.OutcomeAbandoned
}

// goodput fills what the SLO says of a window. In windows by events the rates
// count ends in (from, to], in others the requests of the window.
func (r *run) goodput(w window.Interval, f *WindowFacts, span float64) {
	limits := r.spec.Report.SLO.objectives()
	if len(limits) == 0 {
		return
	}
	g := &Goodput{Limits: make([]GoodLimit, len(limits))}
	for k, o := range limits {
		g.Limits[k] = GoodLimit{Name: o.name, LimitMS: o.limit}
	}
	var requests, tokens int64
	unknown := false
	for i := range r.reqs {
		if !r.judged(i) {
			continue
		}
		q := &r.reqs[i]
		starts := w.Starts(q.Released)
		counts := starts
		if w.ByEvents {
			counts = w.Holds(q.End)
		}
		if !starts && !counts {
			continue
		}
		good := q.OK
		for k, o := range limits {
			v, ok := o.value(q)
			kept := q.OK && (!ok || v <= o.limit)
			good = good && kept
			if starts && kept {
				g.Limits[k].Met++
				if !ok {
					g.Limits[k].Absent++
				}
			}
		}
		if starts {
			g.Judged++
		}
		if good && starts {
			g.Good++
		}
		if good && counts {
			requests++
			tokens += max(0, q.Output)
			unknown = unknown || q.Output == metric.Absent
		}
	}
	if g.Judged > 0 {
		g.Share = ref(float64(g.Good) / float64(g.Judged))
		for k := range g.Limits {
			g.Limits[k].Share = ref(float64(g.Limits[k].Met) / float64(g.Judged))
		}
	}
	if span > 0 {
		g.RequestsPerS = ref(float64(requests) / span)
		if !unknown {
			g.OutputTokensPerS = ref(float64(tokens) / span)
		}
	}
	f.Goodput, f.GoodShare, f.GoodPerS, f.GoodTokensPerS = g, g.Share, g.RequestsPerS, g.OutputTokensPerS
}

// rareSide is how many good requests, and how many others, the interval of a share
// or rate of good ones takes at least.
const rareSide = 10

// goodIntervals are the intervals of goodput in the steady window: the share from
// the requests in plan order, the rates like other rates.
func (r *run) goodIntervals(w window.Interval, g *Goodput, s *sections) {
	if g == nil || g.Share == nil || min(g.Good, g.Judged-g.Good) < rareSide {
		return
	}
	limits := r.spec.Report.SLO
	var each []float64
	var requests, tokens flowBins
	for i := range r.reqs {
		if !r.judged(i) {
			continue
		}
		q := &r.reqs[i]
		good := 0.0
		if q.OK && limits.met(q) {
			good = 1
		}
		if w.Starts(q.Released) {
			each = append(each, good)
		}
		if good > 0 {
			requests.add(w, q.End, q.Released, q.End, 1)
			tokens.add(w, q.End, q.Released, q.End, float64(max(0, q.Output)))
		}
	}
	g.CI = map[string][2]*float64{}
	if ci, ok := stat.RateInterval(*g.Share, each, nil, s.Sections); ok {
		g.CI["share"] = [2]*float64{ref(math.Max(0, ci[0])), ref(math.Min(1, ci[1]))}
	}
	if ci, ok := requests.interval(g.RequestsPerS, s); ok {
		g.CI["requests_per_s"] = ci
	}
	if ci, ok := tokens.interval(g.OutputTokensPerS, s); ok {
		g.CI["output_tokens_per_s"] = ci
	}
}
