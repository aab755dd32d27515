package analysis

import (
	"cmp"
	"slices"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/stat"
	"tokentape/tape"
)

// TimeSeries are the load and the rates of the whole service over time: requests
// of warm-up, measured phase and tail, since all of them load the server. Rates
// are per second. A series that this run cannot have is nil. Requests are counted in
// longer buckets than what is there all the time: a rate of one request is noise.
type TimeSeries struct {
	First, Last float64 // first release, or due time, and last end, seconds from t = 0
	Grid
	Rates        Grid
	InFlight     []float64 // mean over the bucket, from release to end
	InFlightPeak []float64
	// Waiting is the mean number of requests that are due and have no slot yet: from
	// t_due to t_ready. Nil where nothing limits how many are in flight.
	Waiting []float64
	// ClientLag is the mean number of requests that may be sent and that the client has
	// not written yet: from t_ready to the first byte, less the set-up of a connection.
	ClientLag []float64
	// By Tokens:
	Tokens       Grid
	OutputTokens []float64 // of ok requests, by their token events
	// WholeAnswers is how many of these requests were not streamed: their tokens stand
	// at the end of the answer.
	WholeAnswers int64
	// By Rates:
	Offered     []float64 // due in the bucket
	Sent        []float64 // first byte written
	Ended       []float64 // ok, by the end of the stream
	Failed      []float64
	Abandoned   []float64
	InputTokens []float64 // of ok requests, by their first token
}

// rateSamples is how many requests a bucket of rates holds on average, at least.
const rateSamples = 8

// LatencySeries are percentiles of one metric by the time of release of the
// measured ok requests.
type LatencySeries struct {
	Metric string // "ttft_ms", "tpot_ms", "e2e_ms"
	Unit   string
	Grid
	Count         []int64
	P50, P90, P99 []*float64 // nil where too few requests carry one
}

// edge changes a level by d at t.
type edge struct {
	t int64
	d int64
}

// level is mean and peak per bucket of what sorted edges make.
func (g gridNS) level(edges []edge) (mean, peak []float64) {
	mean, peak = make([]float64, g.n), make([]float64, g.n)
	var level int64
	at, bucket := g.start, 0
	hold := func(to int64) {
		for bucket < g.n && at < to {
			_, end := g.ends(bucket)
			until := min(to, end)
			mean[bucket] += float64(level) * float64(until-at) / g.long(bucket)
			peak[bucket] = max(peak[bucket], float64(level))
			at = until
			if until == end {
				bucket++
			}
		}
	}
	for i := 0; i < len(edges); {
		t := edges[i].t
		if t > at {
			hold(t)
		}
		for ; i < len(edges) && edges[i].t == t; i++ {
			level += edges[i].d
			if b, ok := g.at(t); ok && edges[i].d > 0 {
				peak[b] = max(peak[b], float64(level))
			}
		}
	}
	hold(g.to)
	return mean, peak
}

// perSecond turns counts by bucket into rates.
func (g gridNS) perSecond(counts []float64) []float64 {
	out := make([]float64, len(counts))
	for i, n := range counts {
		out[i] = n / (g.long(i) / 1e9)
	}
	return out
}

// rate is how often a time falls in each bucket, per second; nil where no request
// has it.
func (r *run) rate(g gridNS, of func(i int, q *metric.Request) (t int64, n float64, ok bool)) []float64 {
	counts := make([]float64, g.n)
	found := false
	for i := range r.reqs {
		q := &r.reqs[i]
		if !loads(q) {
			continue
		}
		t, n, ok := of(i, q)
		if !ok || !charted(t) {
			continue
		}
		if b, ok := g.at(t); ok {
			found = true
			counts[b] += n
		}
	}
	if !found {
		return nil
	}
	return g.perSecond(counts)
}

// held are the requests that wait for a slot, and those that wait for the client.
func (r *run) held(g gridNS) (slot, client []float64) {
	var waits, lags []edge
	due, capped := false, r.spec.Load.Concurrency > 0
	between := func(to []edge, a, b int64) []edge {
		if charted(a) && charted(b) && a < b {
			return append(to, edge{a, 1}, edge{b, -1})
		}
		return to
	}
	for i := range r.reqs {
		q := &r.reqs[i]
		if !loads(q) || !charted(q.Ready) {
			continue
		}
		due = due || charted(q.Due)
		waits = between(waits, q.Due, q.Ready)
		lags = between(lags, q.Ready, q.Released)
		if q.PacerLag != metric.Absent { // the rest of it, from the connection on
			lags = between(lags, q.WroteFirst-(q.PacerLag-(q.Released-q.Ready)), q.WroteFirst)
		}
	}
	order := func(a, b edge) int { return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.d, b.d)) }
	if due && (capped || len(waits) > 0) {
		slices.SortFunc(waits, order)
		slot, _ = g.level(waits)
	}
	if len(lags) > 0 {
		slices.SortFunc(lags, order)
		client, _ = g.level(lags)
	}
	return slot, client
}

func (r *run) timeSeries(c *charter) *TimeSeries {
	g := newGrid(c.from, c.to, mostBuckets)
	sent := 0
	for i := range r.reqs {
		if loads(&r.reqs[i]) {
			sent++
		}
	}
	rates := newGrid(c.from, c.to, min(max(sent/rateSamples, 1), mostBuckets))
	t := &TimeSeries{First: float64(c.from) / 1e9, Last: float64(c.to) / 1e9, Grid: g.seconds(), Rates: rates.seconds(), Tokens: c.grid.seconds()}
	var flight []edge
	for at, d := range r.flight.Steps() {
		if charted(at) {
			flight = append(flight, edge{at, int64(d)})
		}
	}
	t.InFlight, t.InFlightPeak = g.level(flight)
	t.Waiting, t.ClientLag = r.held(g)
	one := func(f func(q *metric.Request) int64) []float64 {
		return r.rate(rates, func(_ int, q *metric.Request) (int64, float64, bool) { v := f(q); return v, 1, v != metric.Absent })
	}
	t.Offered = one(func(q *metric.Request) int64 { return q.Due })
	t.Sent = one(func(q *metric.Request) int64 { return q.WroteFirst })
	ended := func(is func(o tape.Outcome) bool) []float64 {
		return r.rate(rates, func(i int, q *metric.Request) (int64, float64, bool) {
			return q.End, 1, q.End != metric.Absent && is(r.facts[i].outcome)
		})
	}
	t.Ended = ended(func(o tape.Outcome) bool { return o == tape.OutcomeOK })
	t.Failed = ended(tape.Outcome.Failed)
	t.Abandoned = ended(func(o tape.Outcome) bool { return o == tape.OutcomeAbandoned })
	known := false
	for i := range r.reqs {
		q := &r.reqs[i]
		if q.OK && loads(q) && q.Output != metric.Absent {
			known = true
			if !q.Streamed {
				t.WholeAnswers++
			}
		}
	}
	if known {
		t.OutputTokens = c.grid.perSecond(c.tokens)
	}
	t.InputTokens = r.rate(rates, func(_ int, q *metric.Request) (int64, float64, bool) {
		first := q.FirstToken
		if !q.Streamed {
			first = q.End
		}
		return first, float64(q.Input), q.OK && q.Input != metric.Absent && first != metric.Absent
	})
	return t
}

// What a bucket of percentiles holds on average, and how many there are at most.
const (
	bucketSamples = 20
	mostPoints    = 200
)

// latencySeries are those of the metrics that charts follow over time.
func (r *run) latencySeries() []LatencySeries {
	var out []LatencySeries
	for _, m := range []struct {
		key string
		of  func(*metric.Request) (float64, bool)
	}{
		{"ttft_ms", ms((*metric.Request).TTFT)},
		{"tpot_ms", tpotMS},
		{"e2e_ms", ms((*metric.Request).E2E)},
	} {
		var ts []int64
		var vs []float64
		r.eachMeasured(func(_ int, q *metric.Request) {
			if !q.OK || !charted(q.Released) {
				return
			}
			if v, ok := m.of(q); ok {
				ts, vs = append(ts, q.Released), append(vs, v)
			}
		})
		if len(vs) == 0 {
			continue
		}
		g := newGrid(slices.Min(ts), slices.Max(ts), min(max(len(vs)/bucketSamples, 1), mostPoints))
		by := make([][]float64, g.n)
		for k, t := range ts {
			if b, ok := g.at(t); ok {
				by[b] = append(by[b], vs[k])
			}
		}
		s := LatencySeries{Metric: m.key, Unit: "ms", Grid: g.seconds(), Count: make([]int64, g.n),
			P50: make([]*float64, g.n), P90: make([]*float64, g.n), P99: make([]*float64, g.n)}
		for b, xs := range by {
			slices.Sort(xs)
			s.Count[b] = int64(len(xs))
			for _, p := range []struct {
				q  int
				to []*float64
			}{{500, s.P50}, {900, s.P90}, {990, s.P99}} {
				if v, ok := stat.Quantile(xs, float64(p.q)/1000); ok && stat.Given(int64(len(xs)), p.q) {
					p.to[b] = &v
				}
			}
		}
		out = append(out, s)
	}
	return out
}

func tpotMS(q *metric.Request) (float64, bool) {
	v, ok := q.TPOT()
	return v / 1e6, ok
}

// ClientPoint is the client's own health over the interval that ends at T.
type ClientPoint struct {
	T          float64 // seconds from t = 0
	CPU        float64 // cores
	SchedP99MS float64
	GCPauseMS  float64
	RSS        int64 // bytes
	InFlight   int64
	Queue      int64    // records waiting for the tape
	PacerP99MS *float64 // of the interval
	HostCPU    *float64 // cores busy on the whole host
}

// mostClientPoints bounds the track; of neighbours the worst value of each kind
// stays.
const mostClientPoints = 1200

func (r *run) clientPoints() []ClientPoint {
	group := (len(r.samples) + mostClientPoints - 1) / mostClientPoints
	var out []ClientPoint
	for i, s := range r.samples {
		if !charted(s.T) {
			continue
		}
		p := ClientPoint{T: float64(s.T) / 1e9, CPU: s.CPU, SchedP99MS: float64(s.SchedP99) / 1e6, GCPauseMS: float64(s.GCPause) / 1e6,
			RSS: s.RSS, InFlight: s.InFlight, Queue: s.Queue}
		if s.PacerP99.OK {
			p.PacerP99MS = ref(float64(s.PacerP99.V) / 1e6)
		}
		if s.HostBusy.OK {
			p.HostCPU = ref(s.HostBusy.V)
		}
		if i%group == 0 || len(out) == 0 {
			out = append(out, p)
			continue
		}
		w := &out[len(out)-1]
		w.T, w.CPU, w.SchedP99MS, w.GCPauseMS = p.T, max(w.CPU, p.CPU), max(w.SchedP99MS, p.SchedP99MS), w.GCPauseMS+p.GCPauseMS
		w.RSS, w.InFlight, w.Queue = max(w.RSS, p.RSS), max(w.InFlight, p.InFlight), max(w.Queue, p.Queue)
		w.PacerP99MS, w.HostCPU = worse(w.PacerP99MS, p.PacerP99MS), worse(w.HostCPU, p.HostCPU)
	}
	return out
}

func worse(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}
