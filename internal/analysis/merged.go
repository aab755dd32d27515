package analysis

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/window"
	"tokentape/tape"
)

// Part is one tape of a merged one.
type Part struct {
	Part       int64  `json:"part"` // its index, as in requests.csv
	Run        string `json:"run"`
	Name       string `json:"name,omitempty"`
	TapeSHA256 string `json:"tape_sha256"`
	Started    string `json:"started"`
	Host       string `json:"host"`
	// Group: parts that ran at the same time are of one group; their caps and rates
	// add up.
	Group    int64    `json:"group"`
	ShiftS   float64  `json:"shift_s"` // from its own t = 0 to that of the merged tape, negative never
	FromS    *float64 `json:"from_s"`  // first release
	ToS      *float64 `json:"to_s"`    // last end
	Requests int64    `json:"requests"`
	OK       int64    `json:"ok"`
	Stop     string   `json:"stop"`
}

// parts are those of a merged tape, nil of any other.
func (r *run) parts() []tape.Part {
	if r.header == nil || r.header.Merged == nil {
		return nil
	}
	return r.header.Merged.Parts
}

// partResults say what was merged; nil of a tape that is not.
func (r *run) partResults() []Part {
	var out []Part
	for i, p := range r.parts() {
		x := Part{Part: int64(i), Run: p.Header.Run, Name: p.Header.Name, TapeSHA256: p.SHA256, Started: p.Header.Anchor.Wall, Host: p.Header.Host.Name,
			Group: p.Group, ShiftS: float64(p.Shift) / 1e9, FromS: scaled(p.From.Or(metric.Absent), 1e9), ToS: scaled(p.To.Or(metric.Absent), 1e9), Stop: "incomplete"}
		if p.Footer != nil {
			x.Stop = p.Footer.Reason
		}
		out = append(out, x)
	}
	if out != nil {
		r.eachMeasured(func(_ int, q *metric.Request) {
			x := &out[q.Part]
			x.Requests++
			if q.OK {
				x.OK++
			}
		})
	}
	return out
}

// join makes one run of the requests of several: by groups, those of a group in
// which runs overlapped by time of release, so that what happened together stands
// together. Requests are in plan order before.
func (r *run) join() {
	parts := r.parts()
	if len(parts) == 0 {
		r.groups = []window.Group{{To: len(r.reqs), Load: r.windowLoad()}}
		return
	}
	for i := range r.reqs {
		if q := &r.reqs[i]; int(q.Part) < 0 || int(q.Part) >= len(parts) {
			r.faults = append(r.faults, fmt.Sprintf("request %d is of part %d, and the header names %d", q.Seq, q.Part, len(parts)))
			q.Part = 0
		}
	}
	in := map[int64]int{} // parts of a group
	for i, p := range parts {
		in[p.Group]++
		if p.Faults > 0 {
			r.faults = append(r.faults, fmt.Sprintf("part %d (%s): %s there, first: %s", i, p.Header.Run, plural(p.Faults, "fault"), p.Fault))
		}
	}
	r.order(func(x, y *metric.Request) int {
		a, b := parts[x.Part].Group, parts[y.Part].Group
		if c := cmp.Compare(a, b); c != 0 || in[a] == 1 {
			return c
		}
		return cmp.Compare(x.Released, y.Released)
	})
	all := r.windowLoad() // ramp and kind of loop are those of all parts
	from := 0
	for to := 1; to <= len(r.reqs); to++ {
		if to == len(r.reqs) || parts[r.reqs[to].Part].Group != parts[r.reqs[from].Part].Group {
			r.groups = append(r.groups, window.Group{From: from, To: to, Load: groupLoad(all, parts, parts[r.reqs[from].Part].Group)})
			from = to
		}
	}
	if r.groups == nil {
		r.groups = []window.Group{{Load: all}}
	}
}

// groupLoad is what the parts of a group were together.
func groupLoad(all window.Load, parts []tape.Part, group int64) window.Load {
	l := all
	l.Concurrency, l.Parts = 0, map[int32]window.Load{}
	capped := true
	for i, p := range parts {
		if p.Group != group {
			continue
		}
		var s spec
		_ = json.Unmarshal(p.Header.Spec, &s) // what cannot be read sets no cap
		own := all
		own.Concurrency = s.Load.Concurrency
		l.Parts[int32(i)] = own
		l.Concurrency += own.Concurrency
		capped = capped && own.Concurrency > 0
	}
	if !capped {
		l.Concurrency = 0
	}
	return l
}

// order sorts requests and what stands beside them, stably.
func (r *run) order(by func(x, y *metric.Request) int) {
	order := make([]int, len(r.reqs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return by(&r.reqs[a], &r.reqs[b]) })
	to := make([]int32, len(order))
	reqs, facts := make([]metric.Request, len(order)), make([]fact, len(order))
	for k, from := range order {
		reqs[k], facts[k], to[from] = r.reqs[from], r.facts[from], int32(k)
	}
	r.reqs, r.facts = reqs, facts
	for i, k := range r.later.place {
		r.later.place[i] = to[k]
	}
}

// group is the index in r.groups of the group that request i is of.
func (r *run) group(i int) int {
	return max(0, slices.IndexFunc(r.groups, func(g window.Group) bool { return i < g.To }))
}

// unfinished are the parts of a merged tape that did not go their whole way, in
// words.
func (r *run) unfinished() []string {
	var out []string
	for i, p := range r.parts() {
		switch {
		case p.Footer == nil:
			out = append(out, fmt.Sprintf("part %d (%s) has no footer: an incomplete run", i, p.Header.Run))
		case !ended(p.Footer.Reason):
			out = append(out, fmt.Sprintf("part %d (%s) was stopped: %s", i, p.Header.Run, p.Footer.Reason))
		}
	}
	return out
}

// ended reports whether a run that stopped for this reason went its whole way.
func ended(reason string) bool {
	switch reason {
	case tape.ReasonCompleted, tape.ReasonImported, tape.ReasonDuration, tape.ReasonRows, tape.ReasonEnough:
		return true
	}
	return false
}

// unrecorded are the planned requests of parts without a footer that no line of
// the tape tells of.
func (r *run) unrecorded() int64 {
	var sum int64
	var issued map[int32]int64
	for i, p := range r.parts() {
		if p.Footer != nil {
			continue
		}
		if issued == nil {
			issued = map[int32]int64{}
			r.eachMeasured(func(_ int, q *metric.Request) { issued[q.Part]++ })
		}
		sum += max(0, p.Header.Plan.Rows-p.Header.Plan.Warmup-issued[int32(i)])
	}
	return sum
}

// notMerged says why the one check is absent that not every tape has.
const notMerged = "the tape is not a merged one"

// mergedAlike: the runs that were merged answer one question. Of a tape that is not
// merged there is no such check.
func (r *run) mergedAlike() Check {
	c := Check{Name: "merged_alike", Severity: SeverityNote, Result: ResultPass, Unit: "differences", Limit: ref(0),
		Do: "merge runs of one kind, and hold others beside each other with tokentape compare"}
	m := r.header.Merged
	c.Value = ref(float64(len(m.Forced)))
	c.Why = fmt.Sprintf("%s were merged, alike in all that decides what a request meets", plural(int64(len(m.Parts)), "tape"))
	if len(m.Forced) > 0 {
		c.Result, c.Why = ResultMiss, "runs that are not alike were merged by force: "+join(m.Forced, "; ")
	}
	return c
}

// spans are points in time by group, so that what lies between groups counts for
// nothing.
type spans []span

func (r *run) spans() spans { return make(spans, len(r.groups)) }

// rate is Σ(n − 1) ÷ Σ(last − first) per second; absent without two moments.
func (s spans) rate() *float64 {
	n, d := s.sums()
	if n < 1 || d <= 0 {
		return nil
	}
	return ref(float64(n) / (float64(d) / 1e9))
}

// gap is the mean time between points in milliseconds.
func (s spans) gap() (float64, bool) {
	n, d := s.sums()
	if n < 1 {
		return 0, false
	}
	return float64(d) / float64(n) / 1e6, true
}

func (s spans) sums() (gaps, length int64) {
	for _, x := range s {
		if x.n > 1 {
			gaps, length = gaps+x.n-1, length+x.last-x.first
		}
	}
	return gaps, length
}

// over is Flight.Over for a union of stretches.
func (r *run) over(each []window.Span) (mean, sd float64, peak int64, ok bool) {
	if len(each) == 1 {
		return r.flight.Over(each[0].From, each[0].To)
	}
	var area, square, length float64
	for _, s := range each {
		m, d, p, fine := r.flight.Over(s.From, s.To)
		peak = max(peak, p)
		if !fine {
			continue
		}
		n := float64(s.Length())
		area, square, length = area+float64(m*n), square+float64((float64(m*m)+float64(d*d))*n), length+n
	}
	if length == 0 {
		return 0, 0, peak, false
	}
	mean = area / length
	return mean, math.Sqrt(max(0, square/length-float64(mean*mean))), peak, true
}

// flowIn is byEvents for a union of stretches.
func (r *run) flowIn(each []window.Span) flow {
	var sum flow
	var all []int64
	for _, s := range each {
		all = append(all, s.From, s.To)
	}
	if !r.look(nil, all) {
		return sum
	}
	for _, s := range each {
		f := r.byEvents(s.From, s.To)
		sum.requests, sum.output, sum.input = sum.requests+f.requests, sum.output+f.output, sum.input+f.input
		sum.noOutput, sum.noInput, sum.n = sum.noOutput+f.noOutput, sum.noInput+f.noInput, sum.n+f.n
	}
	return sum
}
