package analysis

import (
	"math"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/window"
	"tokentape/tape"
)

// Charts are what a drawing of a run needs beside its tables: series over time,
// distributions, groups. Like Rows they are never in results.json.
type Charts struct {
	Time      *TimeSeries // nil where the tape does not say when requests were sent
	Latency   []LatencySeries
	Dists     []Distribution
	ByInput   []LengthGroup
	ByCached  []LengthGroup // nil where the server reports no cached tokens
	Failures  []FailureGroup
	Client    []ClientPoint
	Counts    []ServerCount // of metrics pages; their gauges are in Server.Lines
	Stalls    []Stall
	StallRule string // what a stall is
	// StallsLeftOut are those beyond the longest that are kept.
	StallsLeftOut int64
}

// Grid cuts time into buckets, half-open as time is counted: bucket i is
// [From + i·Step, From + (i+1)·Step) seconds from the run's t = 0, but that the first
// begins at Start and the last ends at To, which it holds. These two are between half
// a Step and one and a half long, a lone one up to two, so that no rate is that of a
// sliver.
type Grid struct {
	From, Step float64
	N          int
	Start, To  float64
}

// gridNS is a Grid in nanoseconds.
type gridNS struct {
	from, step int64
	n          int
	start, to  int64
}

// mostBuckets is as many as a screen has room for.
const mostBuckets = 600

// newGrid covers [from, to] by at most most buckets of a round length, 1 ms at
// least.
func newGrid(from, to int64, most int) gridNS {
	span := float64(to) - float64(from)
	step := roundStep(max(1e6, span/float64(most)))
	nearest := func(t int64) int64 { return int64(math.Floor(float64(t)/float64(step) + 0.5)) }
	g := gridNS{step: step, from: nearest(from) * step}
	g.start = min(from, g.from)
	g.to = max(to, g.start+step/2) // one instant is no time to count in
	g.n = int(max(1, nearest(g.to)-nearest(from)))
	return g
}

// ends are those of bucket i.
func (g gridNS) ends(i int) (from, to int64) {
	from, to = g.from+int64(i)*g.step, g.from+int64(i+1)*g.step
	if i == 0 {
		from = g.start
	}
	if i == g.n-1 {
		to = g.to
	}
	return from, to
}

// long is the length of bucket i in nanoseconds.
func (g gridNS) long(i int) float64 {
	from, to := g.ends(i)
	return float64(to - from)
}

// roundStep is the next of 1, 2 or 5 times a power of ten that is no less than ns.
func roundStep(ns float64) int64 {
	unit := math.Pow(10, math.Floor(math.Log10(ns)))
	for _, k := range []float64{1, 2, 5, 10} {
		if k*unit >= ns {
			return int64(k * unit)
		}
	}
	return int64(20 * unit)
}

// at is the bucket of a time; ok is false outside the grid.
func (g gridNS) at(t int64) (i int, ok bool) {
	if t < g.start || t > g.to {
		return 0, false
	}
	f := math.Floor((float64(t) - float64(g.from)) / float64(g.step))
	return int(min(max(f, 0), float64(g.n-1))), true
}

func (g gridNS) seconds() Grid {
	return Grid{float64(g.from) / 1e9, float64(g.step) / 1e9, g.n, float64(g.start) / 1e9, float64(g.to) / 1e9}
}

// chartTime bounds the times that charts show: beyond a year lies no run, only a
// damaged tape.
const chartTime = int64(366*24*3600) * 1e9

func charted(t int64) bool { return t != metric.Absent && t > -chartTime && t < chartTime }

// loads reports whether a request is part of the load that charts show: neither
// probe nor preparation, which lie before it.
func loads(q *metric.Request) bool {
	return q.Phase != tape.PhaseProbe && q.Phase != tape.PhasePrepare && charted(q.Released)
}

// chartSpan is from the first release to the last end of the load.
func (r *run) chartSpan() (from, to int64, ok bool) {
	from, to = math.MaxInt64, math.MinInt64
	for i := range r.reqs {
		if q := &r.reqs[i]; loads(q) {
			from, to = min(from, q.Released), max(to, q.Released)
			for _, t := range []int64{q.End, q.LastToken} {
				if charted(t) {
					to = max(to, t)
				}
			}
			if charted(q.Due) {
				from = min(from, q.Due)
			}
		}
	}
	return from, to, from <= to
}

// charter gathers what charts need of the token events, in the pass that windows
// make over them anyway.
type charter struct {
	run      *run
	grid     gridNS // of tokens
	from, to int64
	timed    bool
	tokens   []float64 // output tokens by bucket
	stalls   stalls
	fed      bool
}

func (r *run) newCharter() *charter {
	c := &charter{run: r}
	if from, to, ok := r.chartSpan(); ok && !r.untimed() {
		c.timed, c.from, c.to, c.grid = true, from, to, newGrid(from, to, r.tokenBuckets(to-from))
		c.tokens = make([]float64, c.grid.n)
	}
	return c
}

// stream takes the events of request i.
func (c *charter) stream(i int, s *metric.Stream) {
	q := &c.run.reqs[i]
	if !c.timed {
		return
	}
	c.stalls.add(i, q, s)
	if !q.OK || !loads(q) || q.Output == metric.Absent {
		return
	}
	put := func(t int64, tokens float64) {
		if b, ok := c.grid.at(t); ok {
			c.tokens[b] += tokens
		}
	}
	last, ok := q.Last()
	if !ok {
		last = q.End
	}
	// As metric.Request.TokensIn counts them.
	switch {
	case len(s.T) == 0 || !q.Streamed:
		put(last, float64(q.Output))
	case s.Grown == nil || !anyGrowth(s.Grown):
		each := float64(q.Output) / float64(len(s.T))
		for _, t := range s.T {
			put(t, each)
		}
	default:
		left := q.Output
		for k, t := range s.T {
			n := min(s.Grown[k], left)
			left -= n
			put(t, float64(n))
		}
		put(last, float64(left))
	}
}

// What a bucket of output tokens holds on average, at least: so many token events, and
// so many of them of any one stream. In less it is seen when tokens happened to come,
// not how many do.
const (
	tokenSamples = 100
	streamEvents = 20
)

// tokenBuckets is the number of buckets in which output tokens are counted, over a run
// of span nanoseconds. An answer in one piece brings all its tokens at once: of these
// a bucket holds as many as one of requests.
func (r *run) tokenBuckets(span int64) int {
	var worth, gaps, flow float64
	for i := range r.reqs {
		q := &r.reqs[i]
		if !q.OK || !loads(q) {
			continue
		}
		if !q.Streamed || q.TokenEvents < 2 {
			worth += 1. / rateSamples
			continue
		}
		worth += float64(q.TokenEvents) / tokenSamples
		if charted(q.FirstToken) && charted(q.LastToken) {
			gaps, flow = gaps+float64(q.TokenEvents-1), flow+float64(q.LastToken-q.FirstToken)
		}
	}
	most := min(worth, mostBuckets)
	if flow > 0 {
		most = min(most, float64(span)/(streamEvents*flow/gaps))
	}
	return max(1, int(most))
}

func anyGrowth(grown []int64) bool {
	for _, n := range grown {
		if n > 0 {
			return true
		}
	}
	return false
}

// charts makes them all. windows are those that the report shows.
func (r *run) charts(c *charter, windows []window.Interval) (*Charts, error) {
	if !c.fed {
		if err := r.eachStream(c.stream); err != nil {
			return nil, err
		}
	}
	out := &Charts{Failures: r.failureGroups(), Client: r.clientPoints(), StallRule: stallRule, Counts: r.serverCounts()}
	if c.timed {
		out.Time = r.timeSeries(c)
		out.Latency = r.latencySeries()
		out.Stalls, out.StallsLeftOut = c.stalls.longest()
	}
	out.Dists = r.distributions(windows)
	out.ByInput, out.ByCached = r.lengthGroups()
	return out, nil
}
