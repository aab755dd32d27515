package as

import (
	"fmt"
	"slices"

	"tokentape/tape"
)

// guidellm is GuideLLM 0.7 of 2026-08-07 (commit ee7a7745).
//
//	TTFT             first event with content, reasoning or tool text − start; 0 without
//	ITL              (last such event − first) ÷ (output tokens − 1), weight n − 1
//	TPOT             (last such event − START) ÷ output tokens, weight n: it includes TTFT
//	Request Latency  end of the stream − start
//
// Output tokens are usage, else the number of such events. A percentile is the
// first value whose cumulative weight reaches p. Rates are means over the time of
// their own events: tokens of input from the first to the last first token, tokens
// of output from the first to the last token; requests and concurrency from the
// first start to the last end.
func guidellm(r *Run) (*Table, error) {
	var m guideValues
	for _, q := range r.Measured() {
		if q.Released.OK {
			m.add(q)
		}
	}
	t := &Table{
		Tool: "guidellm", Title: "GuideLLM (definitions of 0.7, commit ee7a7745, 2026-08-07)",
		Rule: "Measured requests that were sent, as without warm-up and cool-down. Latencies and token counts are of completed ones (a 200 that can be read); throughput is of all, cancelled and errored too.",
	}
	m.tables(t, r)
	m.faults(t, r)
	return t, nil
}

// The states of a request there.
const (
	guideDone = iota
	guideIncomplete
	guideErrored
)

// weighted is a value and its weight.
type weighted struct{ v, w float64 }

type guideValues struct {
	count [3]int64
	in    [3]float64
	out   [3]float64

	ins, outs, alls, iters, perIter []weighted // per completed request; perIter per event
	latency, ttft, itl, tpot        []weighted

	spans              []flight // of all states
	prompts, generated series

	single, zero, chunked, bundled, inBand, retried, cancelled int64
}

type flight struct{ from, to int64 }

func (m *guideValues) add(q *Request) {
	state := guideErrored
	switch {
	case q.answered():
		state = guideDone
	case q.Outcome == tape.OutcomeCancelled, q.Outcome == tape.OutcomeAbandoned:
		state = guideIncomplete
	}
	start := q.Released.V
	end := q.End.Or(start)
	var first, last, iters, events int64
	for e := range q.Events() {
		events++
		if e.Kind == tape.KindContent || e.Kind == tape.KindReasoning || e.Kind == tape.KindTool {
			if iters == 0 {
				first = e.T
			}
			last = e.T
			iters++
		}
	}
	out := q.Tokens.Output.Or(iters)
	if src := q.Tokens.OutputSource; q.Tokens.Output.OK && src != tape.SourceUsage && src != tape.SourceEngine {
		out = iters // it knows no tokenizer there
	}
	if !q.Streamed {
		iters, out = 0, q.Tokens.Output.Or(0)
	}
	in := q.Tokens.Input.Or(q.Asked.Input.Or(0))
	m.count[state]++
	m.in[state] += float64(in)
	m.out[state] += float64(out)
	m.spans = append(m.spans, flight{start, end})
	at := end
	if iters > 0 {
		at = first
	}
	m.prompts.add(at, float64(in))
	m.generate(first, last, end, iters, out)
	m.tally(q, state, iters, out)
	if state != guideDone {
		return
	}
	one := func(v float64) weighted { return weighted{v, 1} }
	m.ins, m.outs = append(m.ins, one(float64(in))), append(m.outs, one(float64(out)))
	m.alls, m.iters = append(m.alls, one(float64(in+out))), append(m.iters, one(float64(events)))
	m.latency = append(m.latency, one(float64(end-start)/second))
	ttft, tpot, itl := 0.0, 0.0, 0.0
	if iters > 0 {
		ttft = float64(first-start) / 1e6
	} else {
		last = end
	}
	if out > 0 {
		tpot = float64(last-start) / 1e6 / float64(out)
	}
	if iters > 0 && out > 1 {
		itl = float64(last-first) / 1e6 / float64(out-1)
	}
	m.ttft = append(m.ttft, one(ttft))
	m.tpot = append(m.tpot, weighted{tpot, float64(out)})
	m.itl = append(m.itl, weighted{itl, float64(max(out, 1) - 1)})
	m.pieces(iters, out)
}

// generate spreads the output: 1 token at the first event, the rest evenly over as
// many evenly spaced moments as there were events after it; at the end where there
// was one event or none.
func (m *guideValues) generate(first, last, end, iters, out int64) {
	if iters <= 1 {
		at := end
		if iters == 1 {
			at = last
		}
		m.generated.add(at, float64(out))
		return
	}
	m.generated.add(first, float64(min(out, 1)))
	if out <= 1 {
		return
	}
	m.generated.spread(first, last, iters-1, float64(out-1))
}

// pieces are the tokens of each event, as it spreads them.
func (m *guideValues) pieces(iters, out int64) {
	switch {
	case iters <= 1:
		m.perIter = append(m.perIter, weighted{float64(out), 1})
	default:
		m.perIter = append(m.perIter, weighted{float64(min(out, 1)), 1})
		if out > 1 {
			m.perIter = append(m.perIter, weighted{float64(out-1) / float64(iters-1), float64(iters - 1)})
		}
	}
}

// tally keeps what the caveats need.
func (m *guideValues) tally(q *Request, state int, iters, out int64) {
	if q.Attempts > 1 {
		m.retried++
	}
	if q.Outcome == tape.OutcomeCancelled || q.Outcome == tape.OutcomeAbandoned {
		m.cancelled++
	}
	if state != guideDone {
		return
	}
	if !q.OK() {
		m.inBand++
	}
	if iters == 0 {
		m.zero++
	}
	if iters > 0 && q.Tokens.OutputSource != tape.SourceUsage && q.Tokens.OutputSource != tape.SourceEngine {
		m.chunked++
	}
	if iters > 1 && out > iters {
		m.bundled++
	}
	if iters > 0 && out <= 1 {
		m.single++
	}
}

// guideDist is its summary of weighted values: zeros where there is no weight.
type guideDist struct{ mean, median, p95 float64 }

func newGuideDist(xs []weighted) guideDist {
	xs = slices.Clone(xs)
	slices.SortStableFunc(xs, func(a, b weighted) int {
		switch {
		case a.v < b.v:
			return -1
		case a.v > b.v:
			return 1
		}
		return 0
	})
	var vs, ws []float64
	for _, x := range xs {
		if n := len(vs); n > 0 && vs[n-1] == x.v {
			ws[n-1] += x.w
			continue
		}
		vs, ws = append(vs, x.v), append(ws, x.w)
	}
	n := 0
	for i := range vs {
		if ws[i] > 0 {
			vs[n], ws[n] = vs[i], ws[i]
			n++
		}
	}
	vs, ws = vs[:n], ws[:n]
	if n == 0 {
		return guideDist{}
	}
	total := npSum(ws)
	products := make([]float64, n)
	for i := range ws {
		ws[i] /= total
		products[i] = float64(vs[i] * ws[i])
	}
	at := func(p float64) float64 {
		sum := 0.0
		for i, w := range ws {
			if sum += w; sum >= p {
				return vs[i]
			}
		}
		return vs[n-1]
	}
	return guideDist{npSum(products), at(0.5), at(0.95)}
}

// mergeNS is the time within which it takes events for one.
const mergeNS = 100_000

// series are weights at moments, of which only their sum and the time from the
// first to the last are wanted. Moments within mergeNS of a first one are moved
// to it; what that does to the last one is found from the end of the series.
type series struct {
	n           int64
	sum         float64
	first, last int64
	tail        []int64 // moments not long before the last
}

// tailNS is how far back the end of a series is kept.
const tailNS = 1000 * mergeNS

func (s *series) moment(t int64) {
	if s.n == 0 || t < s.first {
		s.first = t
	}
	if s.n == 0 || t > s.last {
		s.last = t
	}
	s.n++
	if t < s.last-tailNS {
		return
	}
	s.tail = append(s.tail, t)
	if len(s.tail) == cap(s.tail) { // before it grows: forget what is no longer near the end
		s.tail = slices.DeleteFunc(s.tail, func(t int64) bool { return t < s.last-tailNS })
	}
}

func (s *series) add(t int64, w float64) {
	s.moment(t)
	s.sum += w
}

// spread adds w in n equal parts from first, where there is none, to last.
func (s *series) spread(first, last, n int64, w float64) {
	s.sum += w
	step := float64(last-first) / float64(n)
	// Only the parts near the end matter beyond their sum, and the first is not
	// before first.
	from := int64(1)
	if step > 0 {
		if ahead := float64(max(s.last, last)-tailNS-first) / step; ahead > float64(n) {
			from = n
		} else {
			from = max(1, int64(ahead))
		}
	}
	for i := from; i < n; i++ {
		s.moment(first + int64(step*float64(i)))
	}
	s.moment(last)
}

// rate is the sum a second; 0 where all is one moment.
func (s *series) rate() float64 {
	if s.n == 0 {
		return 0
	}
	last := s.mergedLast()
	if last <= s.first {
		return 0
	}
	return s.sum / (float64(last-s.first) / second)
}

// mergedLast is the moment that the last one is moved to.
func (s *series) mergedLast() int64 {
	tail := slices.DeleteFunc(slices.Clone(s.tail), func(t int64) bool { return t < s.last-tailNS })
	slices.Sort(tail)
	if len(tail) == 0 {
		return s.last
	}
	at := tail[0]
	for _, t := range tail {
		if t > at+mergeNS {
			at = t
		}
	}
	return at
}

// concurrency is the distribution of requests in flight over time, from the first
// start to the last end.
func concurrency(spans []flight) guideDist {
	type change struct {
		t int64
		d float64
	}
	var all []change
	for _, s := range spans {
		all = append(all, change{s.from, 1}, change{s.to, -1})
	}
	slices.SortFunc(all, func(a, b change) int {
		switch {
		case a.t < b.t:
			return -1
		case a.t > b.t:
			return 1
		}
		return 0
	})
	var merged []change
	for _, c := range all {
		if n := len(merged); n > 0 && c.t <= merged[n-1].t+mergeNS {
			merged[n-1].d += c.d
			continue
		}
		merged = append(merged, c)
	}
	if len(merged) == 0 {
		return guideDist{}
	}
	end := all[len(all)-1].t
	merged = append(merged, change{t: end})
	var levels []weighted
	level := 0.0
	for i, c := range merged[:len(merged)-1] {
		level += c.d
		levels = append(levels, weighted{max(level, 0), float64(merged[i+1].t-c.t) / second})
	}
	return newGuideDist(levels)
}

func (m *guideValues) tables(t *Table, r *Run) {
	strategy := guideStrategy(r)
	requests := series{}
	seconds := 0.0
	if len(m.spans) > 0 {
		from, to := m.spans[0].from, m.spans[0].to
		for _, s := range m.spans {
			from, to = min(from, s.from), max(to, s.to)
			requests.add(s.to, 1)
		}
		requests.add(from, 0)
		requests.add(to, 0)
		seconds = float64(to-from) / second
	}
	table := func(title string) *wide {
		w := &wide{t: t, s: Section{Title: title, Columns: []string{"Strategy"}, Rows: [][]string{{strategy}}}}
		return w
	}
	w := table("Run Summary Info")
	w.one("Dur Sec", "duration", seconds)
	for _, side := range []struct {
		name, key string
		v         [3]float64
	}{{"Input Tokens", "prompt_tokens", m.in}, {"Output Tokens", "output_tokens", m.out}} {
		for i, state := range []string{"Comp", "Inc", "Err"} {
			w.one(side.name+" "+state+" Tot", side.key+"_"+[]string{"successful", "incomplete", "errored"}[i], side.v[i])
		}
	}
	w.end()
	w = table("Request Token Statistics (Completed Requests)")
	w.both("Input Tok Per Req", "prompt_token_count", m.ins)
	w.both("Output Tok Per Req", "output_token_count", m.outs)
	w.both("Total Tok Per Req", "total_token_count", m.alls)
	w.both("Stream Iter Per Req", "request_streaming_iterations_count", m.iters)
	w.both("Output Tok Per Stream Iter", "output_tokens_per_iteration", m.perIter)
	w.end()
	w = table("Request Latency Statistics (Completed Requests)")
	w.both("Request Latency Sec", "request_latency", m.latency)
	w.both("TTFT ms", "time_to_first_token_ms", m.ttft)
	w.both("ITL ms", "inter_token_latency_ms", m.itl)
	w.both("TPOT ms", "time_per_output_token_ms", m.tpot)
	w.end()
	w = table("Server Throughput Statistics (All Requests)")
	flying := concurrency(m.spans)
	w.one("Requests Concurrency Mdn", "request_concurrency_median", flying.median)
	w.one("Requests Concurrency Mean", "request_concurrency_mean", flying.mean)
	w.one("Requests Per Sec Mean", "requests_per_second_mean", requests.rate())
	w.one("Input Tokens Per Sec Mean", "prompt_tokens_per_second_mean", m.prompts.rate())
	w.one("Output Tokens Per Sec Mean", "output_tokens_per_second_mean", m.generated.rate())
	w.one("Total Tokens Per Sec Mean", "tokens_per_second_mean", m.both().rate())
	w.end()
	for i, key := range []string{"requests_successful", "requests_incomplete", "requests_errored"} {
		t.set(key, float64(m.count[i]))
	}
}

// both is the series of input and output tokens together.
func (m *guideValues) both() *series {
	if m.prompts.n == 0 {
		return &series{}
	}
	a, b := m.prompts, m.generated
	return &series{
		n: a.n + b.n, sum: a.sum + b.sum, first: min(a.first, b.first), last: max(a.last, b.last),
		tail: append(slices.Clone(a.tail), b.tail...),
	}
}

// wide is a table of one row with many columns.
type wide struct {
	t *Table
	s Section
}

func (w *wide) one(label, key string, v float64) {
	w.t.set(key, v)
	w.s.Columns = append(w.s.Columns, label)
	w.s.Rows[0] = append(w.s.Rows[0], pyFixed(v, 1))
}

func (w *wide) both(label, key string, xs []weighted) {
	d := newGuideDist(xs)
	w.one(label+" Mdn", key+"_median", d.median)
	w.one(label+" p95", key+"_p95", d.p95)
	w.t.set(key+"_mean", d.mean)
}

func (w *wide) end() { w.t.Sections = append(w.t.Sections, w.s) }

// guideStrategy is the name that it gives to such a load.
func guideStrategy(r *Run) string {
	switch {
	case r.Rate > 0 && (r.Arrivals == "constant" || r.Arrivals == "poisson"):
		return r.Arrivals
	case r.Rate > 0:
		return "rate"
	case r.Cap == 1:
		return "synchronous"
	case r.Cap > 1:
		return "concurrent"
	}
	return "throughput"
}

func (m *guideValues) faults(t *Table, r *Run) {
	done := m.count[guideDone]
	t.fault(done > 0, "TPOT is time from the start of the request to its last token, per token: it includes TTFT. What others call TPOT is its ITL.", many(done, "answer", "answers"))
	t.fault(done > m.zero, "ITL is one mean a request, weighted by its tokens: a stall within an answer is not to be seen.", many(done-m.zero, "answer", "answers"))
	t.fault(m.bundled > 0, "ITL takes one token for the first event, however many it brings: with several tokens an event it is too low.", many(m.bundled, "answer", "answers"))
	t.fault(m.zero > 0, "An answer without such an event has TTFT 0, and that enters the statistics.", many(m.zero, "answer", "answers"))
	t.fault(m.chunked > 0, "Without usage it counts events as tokens.", many(m.chunked, "answer", "answers"))
	t.fault(m.single > 0, "Answers of at most one token have no weight in ITL, and TPOT equal to their TTFT.", many(m.single, "answer", "answers"))
	t.fault(done > 0, "Input tokens a second are taken from the first to the last first token, output tokens from the first to the last token: not the time of the requests.", "every run")
	t.fault(done > 0, "Percentiles are values that were met, with no interpolation; its clock is the wall clock, whose steps it takes in.", "every run")
	t.fault(m.inBand > 0, "An error inside a 200, an empty and a filtered answer count as completed.", many(m.inBand, "request", "requests"))
	t.fault(done == 0, "It prints 0.0 for what nothing was measured of.", "no request completed")
	t.fault(m.cancelled > 0, "Requests that were cut short are incomplete: their tokens count in throughput.", many(m.cancelled, "request", "requests"))
	t.fault(r.Cap > 0 && r.Rate > 0, "A request's times begin when it is sent: what it waited for a slot is in no latency.", "a rate and a cap")
	t.fault(m.retried > 0, "It sends a request once; where the tape has several attempts, times span them all.", many(m.retried, "request", "requests"))
	t.fault(len(m.spans) > 0, "Columns that need the text (words, characters) or the wall time (Start, End) are left out, and so are Warm and Cool, which no run of ours has.", fmt.Sprintf("all %d tables", len(t.Sections)))
}
