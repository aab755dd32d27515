package as

import (
	"fmt"
	"math"

	"tokentape/tape"
)

// evalscope is `evalscope perf` of 2026-08-22 (commit fde259d2).
//
//	TTFT     first event with choices, empty ones too − send; whole answers: E2E
//	ITL      gaps between events with choices
//	Latency  last event with choices − send
//	TPOT     (latency − TTFT) ÷ (output tokens − 1); 0 of answers of one token
//
// Averages are over successes, zeros included; the percentile p of n values is the
// one at rank n·p/100 rounded down, from 0, with no interpolation and two decimals.
// Without a success averages are −1.
func evalscope(r *Run) (*Table, error) {
	sent, _ := measured(r)
	var m evalValues
	for _, q := range sent {
		m.add(q)
	}
	t := &Table{
		Tool: "evalscope", Title: "evalscope perf (definitions of commit fde259d2, 2026-08-22)",
		Rule: "All measured requests that were sent; successful is a 200 that can be read. Time runs from the first send to the last completion of the successes.",
	}
	m.summary(t, r)
	m.percentiles(t)
	m.faults(t, r)
	return t, nil
}

// evalValues are per successful request, in seconds and tokens.
type evalValues struct {
	total, n         int64
	stream           int64 // of the successes, those that were streamed
	first, last      int64
	latency          []float64
	ttft, tpot       []float64 // of streamed answers, of all where there are none
	wholeTTFT, zeros []float64
	itl              []float64
	in, out          []float64
	cached, cacheIn  float64
	caches           int64
	perIter          []float64 // tokens a chunk, above 1

	role, short, inBand, blind, reasoning, retried, multi int64
}

func (m *evalValues) add(q *Request) {
	m.total++
	if q.Attempts > 1 {
		m.retried++
	}
	if !q.answered() {
		return
	}
	m.n++
	start := q.Released.V
	var ttft, latency float64
	var gaps []float64
	end, chunks, empty := start, 0, false
	if !q.Streamed {
		end = q.End.Or(start)
		latency = float64(end-start) / second
		ttft = latency
	} else {
		for e := range q.Events() {
			if !hasChoices(e.Kind) {
				continue
			}
			if chunks == 0 {
				ttft, empty = float64(e.T-start)/second, !tape.IsToken(e.Kind)
			} else {
				gaps = append(gaps, float64(e.T-end)/second)
			}
			end = e.T
			chunks++
		}
		latency = float64(end-start) / second
	}
	if m.n == 1 || start < m.first {
		m.first = start
	}
	if m.n == 1 || end > m.last {
		m.last = end
	}
	out := q.tokens()
	in := q.Tokens.Input.Or(q.Asked.Input.Or(0))
	tpot := 0.0
	if out > 1 {
		tpot = (latency - ttft) / float64(out-1)
	}
	m.latency = append(m.latency, latency)
	m.in, m.out = append(m.in, float64(in)), append(m.out, float64(out))
	m.itl = append(m.itl, gaps...)
	if q.Streamed {
		m.stream++
		m.ttft, m.tpot = append(m.ttft, ttft), append(m.tpot, tpot)
		if out > 1 && chunks > 1 {
			if l := float64(out-1) / float64(chunks-1); l > 1 {
				m.perIter = append(m.perIter, l)
			}
		}
	} else {
		m.wholeTTFT, m.zeros = append(m.wholeTTFT, ttft), append(m.zeros, tpot)
	}
	if q.Tokens.Cached.OK && in > 0 {
		m.caches++
		m.cached += float64(q.Tokens.Cached.V)
		m.cacheIn += float64(in)
	}
	m.count(q, out, chunks, empty)
}

// count keeps what the caveats need.
func (m *evalValues) count(q *Request, out int64, chunks int, empty bool) {
	if empty {
		m.role++
	}
	if out <= 1 {
		m.short++
	}
	if !q.OK() {
		m.inBand++
	}
	if q.Streamed && chunks == 0 {
		m.blind++
	}
	if q.Tokens.OutputSource != tape.SourceUsage && (q.Tokens.Reasoning.Or(0) > 0 || q.has("s")) {
		m.reasoning++
	}
	if q.choice {
		m.multi++
	}
}

// streaming are the values of TTFT and TPOT: those of streams, or of all answers
// where none was streamed.
func (m *evalValues) streaming() (ttft, tpot []float64) {
	if m.stream > 0 {
		return m.ttft, m.tpot
	}
	return m.wholeTTFT, m.zeros
}

func average(xs []float64) float64 {
	if len(xs) == 0 {
		return -1
	}
	return pySum(xs) / float64(len(xs))
}

func (m *evalValues) summary(t *Table, r *Run) {
	wall := 1.0
	if m.n > 0 {
		wall = max(float64(m.last-m.first)/second, 0)
	}
	per := func(n float64) float64 {
		if wall == 0 {
			return -1
		}
		return n / wall
	}
	ttfts, tpots := m.streaming()
	itl := 0.0
	if len(m.itl) > 0 {
		itl = average(m.itl)
	}
	s := Section{Title: "Benchmarking summary", Columns: []string{"Metric", "Value"}, Rows: [][]string{}}
	head := func(name string) { s.Rows = append(s.Rows, []string{"── " + name + " ──", ""}) }
	row := func(label string, v float64, digits int, always bool) {
		t.set(label, v)
		// It rounds for its files first, and prints what it rounded.
		if v = pyRound(v, digits); always || v != 0 {
			s.Rows = append(s.Rows, []string{label, pyFixed(v, 2)})
		}
	}
	rate := -1.0
	if r.Rate > 0 {
		rate = r.Rate
	}
	head("General")
	row("Test Duration (s)", wall, 4, true)
	t.set("Concurrency", float64(r.Cap))
	s.Rows = append(s.Rows, []string{"Concurrency", fmt.Sprint(r.Cap)})
	row("Request Rate (req/s)", rate, 4, true)
	t.set("Total Requests", float64(m.total))
	t.set("Success Requests", float64(m.n))
	t.set("Failed Requests", float64(m.total-m.n))
	s.Rows = append(s.Rows, []string{"Total / Success / Failed", fmt.Sprintf("%d / %d / %d", m.total, m.n, m.total-m.n)})
	row("Req Throughput (req/s)", per(float64(m.n)), 4, true)
	head("Latency")
	row("Avg Latency (s)", average(m.latency), 4, true)
	row("TTFT (ms)", average(ttfts)*1000, 2, false)
	row("TPOT (ms)", average(tpots)*1000, 2, false)
	row("ITL (ms)", itl*1000, 2, false)
	head("Tokens")
	row("Avg Input Tokens", average(m.in), 4, true)
	row("Avg Output Tokens", average(m.out), 4, false)
	row("Output Throughput (tok/s)", per(pySum(m.out)), 4, false)
	row("Total Throughput (tok/s)", per(pySum(m.in)+pySum(m.out)), 4, false)
	if m.caches > 0 {
		head("Multi-turn")
		row("KV Cache Hit Rate (%)", m.cached*100/m.cacheIn, 4, true)
	}
	if len(m.perIter) > 0 {
		l := average(m.perIter)
		head("Speculative Decoding")
		row("Decoded Tok/Iter", l, 4, true)
		row("Spec. Accept Rate", 1-1/l, 4, true)
	}
	t.Sections = append(t.Sections, s)
}

// evalPercents are the percentiles of the second table.
var evalPercents = []int{1, 5, 10, 25, 50, 75, 90, 95, 99}

func (m *evalValues) percentiles(t *Table) {
	s := Section{Title: "Percentile results", Columns: []string{"Metric"}, Rows: [][]string{}}
	for _, p := range evalPercents {
		s.Columns = append(s.Columns, fmt.Sprintf("%d%%", p))
	}
	speed := func(i int, n float64) float64 { return n / m.latency[i] }
	var outs, totals []float64
	for i := range m.latency {
		if m.latency[i] > 0 {
			outs = append(outs, speed(i, m.out[i]))
			totals = append(totals, speed(i, m.in[i]+m.out[i]))
		}
	}
	ttfts, tpots := m.streaming()
	var decode []float64
	for _, x := range tpots {
		if x > 0 {
			decode = append(decode, 1/x)
		}
	}
	for _, row := range []struct {
		label string
		xs    []float64
		scale float64
	}{
		{"Latency (s)", m.latency, 1}, {"TTFT (ms)", ttfts, 1000}, {"ITL (ms)", m.itl, 1000}, {"TPOT (ms)", tpots, 1000},
		{"Input tokens", m.in, 1}, {"Output tokens", m.out, 1}, {"Output (tok/s)", outs, 1}, {"Total (tok/s)", totals, 1},
		{"Decode (tok/s)", decode, 1},
	} {
		xs := sorted(row.xs)
		cells := []string{row.label}
		for _, p := range evalPercents {
			v := math.NaN()
			if i := len(xs) * p / 100; i < len(xs) {
				v = xs[i] * row.scale
			}
			t.set(fmt.Sprintf("%s %d%%", row.label, p), v)
			cells = append(cells, pyFixed(v, 2))
		}
		s.Rows = append(s.Rows, cells)
	}
	t.Sections = append(t.Sections, s)
}

func (m *evalValues) faults(t *Table, r *Run) {
	t.fault(m.role > 0, "TTFT is the first event with choices, with text or without: a role chunk is one, and the first token is a gap of ITL then.", many(m.role, "answer", "answers"))
	t.fault(m.short > 0, "Answers of at most one token have TPOT 0, and that enters its average and percentiles.", many(m.short, "answer", "answers"))
	t.fault(m.blind > 0, "A stream without any choices has TTFT and latency 0, and both enter the statistics.", many(m.blind, "answer", "answers"))
	t.fault(len(m.perIter) > 0, "ITL is one gap an event, whatever the number of tokens in it; it prints tokens a chunk beside.", many(int64(len(m.perIter)), "answer", "answers"))
	t.fault(m.reasoning > 0, "Without usage it counts the content alone: reasoning is no output then; the tape's own count stands here.", many(m.reasoning, "answer", "answers"))
	t.fault(m.inBand > 0, "An error inside a 200, an empty and a filtered answer count as success.", many(m.inBand, "request", "requests"))
	t.fault(m.n > 0 && m.n <= 100, "A percentile is the value at rank n·p/100 rounded down: P99 of up to 100 values is their maximum, P50 of two the larger.", fmt.Sprintf("n = %d", m.n))
	t.fault(m.n == 0, "Without a success it prints −1 for averages, −1000 ms for TTFT and TPOT, and a duration of 1 s.", "no request succeeded")
	t.fault(m.total > m.n, "Failed requests count in no time: a failure before the first or after the last success is not in the duration.", many(m.total-m.n, "request", "requests"))
	t.fault(m.multi > 0, "It looks at the first choice of an event only; events of other choices count here as events of their own.", many(m.multi, "answer", "answers"))
	commonFaults(t, r, m.retried)
}
