package as

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"tokentape/tape"
)

// AISBench/benchmark, performance mode, as of commit 29c363e (2026-08-20, version
// 3.1.0): its per-request table (csv) and its common table (json), each for all
// requests ("total") and for its stable stage ("stable").

// aisbench is that tool with its present stable rule.
func aisbench(r *Run) (*Table, error) { return aisbenchBy(r, "aisbench", stableNow) }

// aisbenchPre464 is the same with the stable rule that it had before 13908d2
// (#464, 2026-08-17), for holding beside older results. Rows and rounding are
// those of 29c363e.
func aisbenchPre464(r *Run) (*Table, error) {
	return aisbenchBy(r, "aisbench@pre464", stablePre464)
}

// aisRequest is what it derives of one successful request: times in seconds.
type aisRequest struct {
	t       []float64 // time points: start, then one an event; or start and end
	in, out int64     // tokens; 0 where the tape has no count
}

func (q *aisRequest) start() float64 { return q.t[0] }
func (q *aisRequest) end() float64   { return q.t[len(q.t)-1] }

// aisRun is the run as its summarizer sees it. success has an entry for every
// request, requests only the successful ones, both in list order: the order of
// its details file.
type aisRun struct {
	cap      int64
	stream   bool
	success  []bool
	requests []aisRequest
	count    aisCounts
}

// aisCounts is what decides which caveats bear on a tape.
type aisCounts struct {
	failed, uncounted, single, errors, truncated, retried int
	noToken                                               bool // events that carry no token are on the tape
}

func aisbenchBy(r *Run, name string, stable aisStable) (*Table, error) {
	a := newAISRun(r)
	if len(a.success) == 0 {
		return nil, fmt.Errorf("%s: the tape holds no measured request", name)
	}
	if len(a.requests) == 0 {
		return nil, fmt.Errorf("%s: CALC-DATA-001: all %d requests failed; AISBench prints no table then", name, len(a.success))
	}
	t := &Table{Tool: name, Title: "AISBench/benchmark 3.1.0 (29c363e), performance mode"}
	from, to := a.requests[0].start(), a.requests[0].end()
	for i := range a.requests {
		from, to = min(from, a.requests[i].start()), max(to, a.requests[i].end())
	}
	all := a.stage("total", a.requests, a.success, to-from)
	all.tables(t)

	w := stable.find(a.requests, a.cap)
	t.Rule = fmt.Sprintf("total: all successful requests. stable: %s", stable.name)
	if !w.ok {
		t.Rule += ": none, " + w.why
		t.Sections = append(t.Sections, Section{
			Title: "stable", Columns: []string{"Error"},
			Rows: [][]string{{"CALC-DATA-002: no stable stage (" + w.why + ")"}},
		})
		a.caveats(t, all, nil)
		return t, nil
	}
	t.Rule += fmt.Sprintf(", from %.6f s to %.6f s after the first start, %d requests", w.from-from, w.to-from, len(w.ids))
	members, success := make([]aisRequest, len(w.ids)), make([]bool, len(w.ids))
	for i, id := range w.ids {
		// The fault that is copied: id counts successful requests, success all of them.
		members[i], success[i] = a.requests[id], a.success[id]
	}
	inside := a.stage("stable", members, success, w.to-w.from)
	inside.tables(t)
	a.caveats(t, all, inside)
	return t, nil
}

func newAISRun(r *Run) *aisRun {
	a := &aisRun{cap: r.Cap, stream: r.Stream}
	for _, q := range aisList(r) {
		points, ok := a.points(q)
		a.success = append(a.success, ok)
		if !ok {
			a.count.failed++
			continue
		}
		if !q.Tokens.Input.OK || !q.Tokens.Output.OK {
			a.count.uncounted++
		}
		if q.Tokens.Output.V <= 1 {
			a.count.single++
		}
		a.requests = append(a.requests, aisRequest{points, q.Tokens.Input.V, q.Tokens.Output.V})
	}
	return a
}

// aisList brings the measured requests into list order: that of an imported
// details file, else the order in which they ended, as AISBench would have written
// them.
func aisList(r *Run) []*Request {
	var list []*Request
	for _, q := range r.Measured() {
		list = append(list, q)
	}
	if r.Imported == "" {
		slices.SortStableFunc(list, func(a, b *Request) int { return cmp.Compare(a.End.V, b.End.V) })
	}
	return list
}

// points are a request's time points, also of one that failed, and whether AISBench
// would count it as a success: status 200 and at least two points. An error event
// inside a 200 is a success there.
func (a *aisRun) points(q *Request) (t []float64, ok bool) {
	if q.Src != nil {
		return q.Src, q.OK() && len(q.Src) > 1
	}
	if q.Attempts > 1 {
		a.count.retried++
	}
	if !q.LastReleased.OK || !q.End.OK {
		return nil, false
	}
	seconds := func(ns int64) float64 { return float64(ns) / 1e9 }
	t = append(t, seconds(q.LastReleased.V))
	if a.stream && q.NumEvents() > 0 {
		for e := range q.Events() {
			if e.Kind != tape.KindDone {
				t = append(t, seconds(e.T))
				a.count.noToken = a.count.noToken || !tape.IsToken(e.Kind)
			}
		}
	} else {
		t = append(t, seconds(q.End.V))
	}
	switch q.Outcome {
	case tape.OutcomeOK, tape.OutcomeFiltered, tape.OutcomeAborted, tape.OutcomeEmpty:
		return t, len(t) > 1
	case tape.OutcomeServer:
		if a.stream && len(t) > 1 {
			a.count.errors++
			return t, true
		}
	case tape.OutcomeTruncated:
		a.count.truncated++
	}
	return t, false
}

// AISBenchRecord is what AISBench would have kept of one request.
type AISBenchRecord struct {
	*Request
	// Points are its time points in seconds on one clock: the start, then one for
	// each event but [DONE], or for an answer in one piece its end. Nil where it was
	// never sent.
	Points []float64
	// Success is AISBench's own notion: an error inside a stream that was answered
	// 200 is one.
	Success bool
}

// AISBenchRecords yields every measured request in the order of AISBench's details
// file, as its tables of r take them.
func AISBenchRecords(r *Run) iter.Seq[AISBenchRecord] {
	return func(yield func(AISBenchRecord) bool) {
		a := &aisRun{cap: r.Cap, stream: r.Stream}
		for _, q := range aisList(r) {
			points, ok := a.points(q)
			if !yield(AISBenchRecord{q, points, ok}) {
				return
			}
		}
	}
}

// aisStage is one stage's values.
type aisStage struct {
	name      string
	duration  float64
	rows      []aisRow
	total, ok int   // rows of success, and how many of them are
	cap       int64 // Max Concurrency
	capped    bool  // Concurrency is at most cap
	latencies float64
	in, out   int64
	zeros     int // gaps lists that hold no gap above 0, which N of TPOT and ITL leaves out
}

// aisRow is one row of the per-request table; values are seconds, tokens or
// tokens a second.
type aisRow struct {
	name, unit string
	values     []float64
	n          int
}

// stage derives the values of the given requests.
func (a *aisRun) stage(name string, requests []aisRequest, success []bool, duration float64) *aisStage {
	s := &aisStage{name: name, duration: duration, total: len(success), cap: a.cap, capped: name == "stable"}
	for _, ok := range success {
		if ok {
			s.ok++
		}
	}
	n := len(requests)
	e2e, ttft, tpot, speed, prefill := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	in, out := make([]float64, n), make([]float64, n)
	gaps := 0
	for i := range requests {
		gaps += max(0, len(requests[i].t)-2)
	}
	itl := make([]float64, 0, gaps)
	gapped := 0                  // requests with a gap that is not 0
	dropITL, first := true, true // of the pooled gaps it asks only the first request that has any
	for i := range requests {
		q := &requests[i]
		e2e[i] = q.end() - q.start()
		if a.stream {
			ttft[i] = q.t[1] - q.t[0]
			if q.out > 1 {
				tpot[i] = (e2e[i] - ttft[i]) / float64(q.out-1)
			}
		}
		any := false
		for k := 2; k < len(q.t); k++ {
			gap := q.t[k] - q.t[k-1]
			any = any || gap != 0
			itl = append(itl, gap)
		}
		if len(q.t) > 2 && first {
			first, dropITL = false, !any
		}
		if any {
			gapped++
		}
		in[i], out[i] = float64(q.in), float64(q.out)
		s.in += q.in
		s.out += q.out
		speed[i] = out[i] / e2e[i]
		if ttft[i] > 0 {
			prefill[i] = in[i] / ttft[i]
		}
	}
	s.latencies = pySum(e2e)
	s.zeros = s.ok - gapped
	add := func(name, unit string, values []float64, n int) {
		s.rows = append(s.rows, aisRow{name, unit, values, n})
	}
	timed := pySum(ttft) != 0
	add("E2EL", " ms", e2e, s.ok)
	if timed {
		add("TTFT", " ms", ttft, s.ok)
	}
	if pySum(tpot) != 0 {
		add("TPOT", " ms", tpot, gapped)
	}
	if !dropITL {
		add("ITL", " ms", itl, gapped)
	}
	add("InputTokens", "", in, s.ok)
	add("OutputTokens", "", out, s.ok)
	add("OutputTokenThroughput", " token/s", speed, s.ok)
	if timed {
		add("PrefillTokenThroughput", " token/s", prefill, s.ok)
	}
	return s
}

// The statistics of its per-request table.
var aisStats = []struct {
	name string
	of   func(sorted []float64) float64
}{
	{"Min", func(s []float64) float64 { return s[0] }},
	{"Max", func(s []float64) float64 { return s[len(s)-1] }},
	{"Median", func(s []float64) float64 { return npPercentile(s, 50) }},
	{"P75", func(s []float64) float64 { return npPercentile(s, 75) }},
	{"P90", func(s []float64) float64 { return npPercentile(s, 90) }},
	{"P99", func(s []float64) float64 { return npPercentile(s, 99) }},
}

// tables appends the stage's two tables to t, and lets go of the values.
func (s *aisStage) tables(t *Table) {
	each := Section{Title: s.name + ": per request", Columns: []string{"Performance Parameters", "Stage", "Average"}}
	for _, st := range aisStats {
		each.Columns = append(each.Columns, st.name)
	}
	each.Columns = append(each.Columns, "N")
	for _, r := range s.rows {
		scale := 1.0
		if r.unit == " ms" {
			scale = 1000
		}
		cells := []string{r.name, s.name}
		cell := func(stat string, v float64) {
			t.set(s.name+"."+r.name+"."+stat, v*scale)
			v = pyRound(v, 4)
			if scale != 1 {
				v = pyRound(v*scale, 4)
			}
			cells = append(cells, pyFloat(v)+r.unit)
		}
		cell("Average", npMean(r.values))
		slices.Sort(r.values)
		for _, st := range aisStats {
			cell(st.name, st.of(r.values))
		}
		t.set(s.name+"."+r.name+".N", float64(r.n))
		each.Rows = append(each.Rows, append(cells, strconv.Itoa(r.n)))
	}

	s.rows = nil // a gap an event is much to hold for two stages

	common := Section{Title: s.name + ": common", Columns: []string{"Common Metric", "Stage", "Value"}}
	row := func(name, cell string, v float64) {
		t.set(s.name+"."+name, v)
		common.Rows = append(common.Rows, []string{name, s.name, cell})
	}
	count := func(name string, n int64) { row(name, strconv.FormatInt(n, 10), float64(n)) }
	rate := func(name, unit string, v float64) { row(name, pyFloat(npRound(v, 4))+unit, v) }
	rate("Benchmark Duration", " ms", s.duration*1000)
	count("Total Requests", int64(s.total))
	count("Failed Requests", int64(s.total-s.ok))
	count("Success Requests", int64(s.ok))
	flight := s.latencies / s.duration
	cell := pyFloat(npRound(flight, 4))
	if s.capped && float64(s.cap) < npRound(flight, 4) {
		flight, cell = float64(s.cap), strconv.FormatInt(s.cap, 10)
	}
	row("Concurrency", cell, flight)
	count("Max Concurrency", s.cap)
	rate("Request Throughput", " req/s", float64(s.ok)/s.duration)
	count("Total Input Tokens", s.in)
	count("Total Generated Tokens", s.out)
	for _, r := range []struct {
		name   string
		tokens int64
	}{{"Input Token Throughput", s.in}, {"Output Token Throughput", s.out}, {"Total Token Throughput", s.in + s.out}} {
		if s.duration > 0 {
			rate(r.name, " token/s", float64(r.tokens)/s.duration)
		} else {
			common.Rows = append(common.Rows, []string{r.name, s.name, ""})
		}
	}
	t.Sections = append(t.Sections, each, common)
}
