package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/stat"
	"tokentape/tape"
)

// LengthGroup is TTFT over measured ok requests whose input, or cached, tokens lie
// in [From, To].
type LengthGroup struct {
	From       int64    `json:"from"`
	To         int64    `json:"to"`
	N          int64    `json:"n"`
	InputMean  float64  `json:"input_mean"`
	CachedMean *float64 `json:"cached_mean"`
	P50        *float64 `json:"p50"`
	P90        *float64 `json:"p90"`
	P99        *float64 `json:"p99"`
}

// lengthClasses is how many groups there are at most, of about equal size.
const lengthClasses = 8

// lengthGroups sorts by input and by cached tokens.
func (r *run) lengthGroups() (byInput, byCached []LengthGroup) {
	type sample struct {
		input, cached int64
		ttft          float64
	}
	var all []sample
	r.eachMeasured(func(_ int, q *metric.Request) {
		t, ok := q.TTFT()
		if !q.OK || !ok || q.Input == metric.Absent {
			return
		}
		s := sample{q.Input, metric.Absent, float64(t) / 1e6}
		if n, _, ok := q.CachedTokens(r.proved); ok {
			s.cached = n
		}
		all = append(all, s)
	})
	group := func(ss []sample, of func(sample) int64) []LengthGroup {
		slices.SortStableFunc(ss, func(a, b sample) int { return cmp.Compare(of(a), of(b)) })
		var out []LengthGroup
		for from := 0; from < len(ss); {
			to := min(len(ss), from+(len(ss)+lengthClasses-1)/lengthClasses)
			for to < len(ss) && of(ss[to]) == of(ss[to-1]) { // equal lengths stay together
				to++
			}
			g := LengthGroup{From: of(ss[from]), To: of(ss[to-1]), N: int64(to - from)}
			var xs []float64
			var input, cached stat.Acc
			known := 0
			for _, s := range ss[from:to] {
				xs = append(xs, s.ttft)
				input.Add(float64(s.input))
				if s.cached != metric.Absent {
					known++
					cached.Add(float64(s.cached))
				}
			}
			g.InputMean = input.Sum() / float64(len(xs))
			if known > 0 {
				g.CachedMean = ref(cached.Sum() / float64(known))
			}
			slices.Sort(xs)
			for _, p := range []struct {
				q  int
				to **float64
			}{{500, &g.P50}, {900, &g.P90}, {990, &g.P99}} {
				if v, ok := stat.Quantile(xs, float64(p.q)/1000); ok && stat.Given(g.N, p.q) {
					*p.to = &v
				}
			}
			out = append(out, g)
			from = to
		}
		return out
	}
	byInput = group(slices.Clone(all), func(s sample) int64 { return s.input })
	all = slices.DeleteFunc(all, func(s sample) bool { return s.cached == metric.Absent })
	return byInput, group(all, func(s sample) int64 { return s.cached })
}

// FailureGroup are measured requests that did not end well, alike in class, status
// and cause.
type FailureGroup struct {
	Class    string           `json:"class"`
	Status   int              `json:"http_status,omitempty"`
	Cause    string           `json:"cause,omitempty"`
	N        int64            `json:"n"`
	FirstS   *float64         `json:"first_s"` // end of the first and of the last of them
	LastS    *float64         `json:"last_s"`
	Distinct int64            `json:"distinct_messages"`
	Examples []FailureExample `json:"examples"` // the most frequent messages
}

// FailureExample is one message of a group.
type FailureExample struct {
	Message string `json:"message"`
	N       int64  `json:"n"`
	Seq     int64  `json:"seq"` // the first request that has it
}

// Bounds of what is shown of messages; 10,000 distinct ones are one group.
const (
	failureExamples = 5
	failureMessage  = 1000 // characters
)

func (r *run) failureGroups() []FailureGroup {
	type key struct {
		class  tape.Outcome
		status int
		cause  string
	}
	type group struct {
		FailureGroup
		messages map[string]*FailureExample
	}
	groups := map[key]*group{}
	r.eachMeasured(func(i int, q *metric.Request) {
		f := &r.facts[i]
		if f.outcome == tape.OutcomeOK {
			return
		}
		k := key{f.outcome, f.status, f.cause}
		g := groups[k]
		if g == nil {
			g = &group{FailureGroup: FailureGroup{Class: string(f.outcome), Status: f.status, Cause: f.cause}, messages: map[string]*FailureExample{}}
			groups[k] = g
		}
		g.N++
		if charted(q.End) && !r.untimed() {
			t := float64(q.End) / 1e9
			if g.FirstS == nil || t < *g.FirstS {
				g.FirstS = ref(t)
			}
			if g.LastS == nil || t > *g.LastS {
				g.LastS = ref(t)
			}
		}
		if f.message == "" {
			return
		}
		m := g.messages[f.message]
		if m == nil {
			m = &FailureExample{Message: f.message, Seq: q.Seq}
			g.messages[f.message] = m
		}
		m.N++
	})
	out := []FailureGroup{}
	for _, g := range groups {
		g.Distinct = int64(len(g.messages))
		all := make([]FailureExample, 0, len(g.messages))
		for _, m := range g.messages {
			all = append(all, *m)
		}
		slices.SortFunc(all, func(a, b FailureExample) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Seq, b.Seq)) })
		g.Examples = all[:min(len(all), failureExamples)]
		for k := range g.Examples {
			g.Examples[k].Message = shorten(g.Examples[k].Message, failureMessage)
		}
		out = append(out, g.FailureGroup)
	}
	slices.SortFunc(out, func(a, b FailureGroup) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Status, b.Status), cmp.Compare(a.Cause, b.Cause))
	})
	return out
}

// shorten cuts a text to n characters and says how many it had.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	rs := []rune(s)
	if len(rs) <= n {
		return s
	}
	return string(rs[:n]) + fmt.Sprintf("… (%s characters)", thousands(int64(len(rs))))
}

// Stall is a pause in the stream of one request.
type Stall struct {
	Row int     // index into Rows
	T   float64 // its begin, seconds from t = 0
	MS  float64
}

// A stall is long both for a reader and for its own stream.
const (
	stallLeast  = int64(100e6)
	stallTimes  = 10
	stallsEach  = 3      // of one request, the longest
	stallsAtAll = 20_000 // of the run
	stallRule   = "a gap between token events of at least 100 ms that is at least 10 times the mean of the other gaps of its request; of each request the 3 longest"
)

// stalls gathers them in no order.
type stalls struct {
	found []Stall
	n     int64
}

func (a *stalls) add(i int, q *metric.Request, s *metric.Stream) {
	n, sum, most, ok := q.ITL()
	if !ok || n < 2 || most < stallLeast || q.Choices > 1 || !charted(q.Released) {
		return
	}
	var top []Stall
	for k := 1; k < len(s.T); k++ {
		gap := s.T[k] - s.T[k-1]
		if gap < stallLeast || float64(gap) < stallTimes*float64(sum-gap)/float64(n-1) || !charted(s.T[k-1]) {
			continue
		}
		top = append(top, Stall{i, float64(s.T[k-1]) / 1e9, float64(gap) / 1e6})
	}
	slices.SortStableFunc(top, func(a, b Stall) int { return cmp.Compare(b.MS, a.MS) })
	top = top[:min(len(top), stallsEach)]
	a.n += int64(len(top))
	a.found = append(a.found, top...)
	if len(a.found) > 4*stallsAtAll {
		a.trim()
	}
}

func (a *stalls) trim() {
	slices.SortFunc(a.found, func(x, y Stall) int {
		return cmp.Or(cmp.Compare(y.MS, x.MS), cmp.Compare(x.Row, y.Row), cmp.Compare(x.T, y.T))
	})
	a.found = a.found[:min(len(a.found), stallsAtAll)]
}

// longest are the stalls in order of rows, and how many more there were.
func (a *stalls) longest() ([]Stall, int64) {
	a.trim()
	slices.SortFunc(a.found, func(x, y Stall) int { return cmp.Or(cmp.Compare(x.Row, y.Row), cmp.Compare(x.T, y.T)) })
	for i := range a.found {
		a.found[i].MS = min(a.found[i].MS, math.MaxFloat32)
	}
	return a.found, a.n - int64(len(a.found))
}
