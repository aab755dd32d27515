package as

import (
	"fmt"
	"math"
	"slices"

	"tokentape/tape"
)

// vLLM's and SGLang's clients grew from one script: they keep the same record of a
// request, and differ in what fills it. What both share is here.

// Record is one measured request as those clients keep it. Times are seconds,
// Start since the run's epoch.
type Record struct {
	Success bool
	Start   float64
	TTFT    float64 // 0 where they saw no first token
	Latency float64
	ITL     []float64 // as they append it: a gap an event, or a share of one a token
	Input   int64
	Output  int64  // 0 where they failed
	Error   string // why it failed
}

// recorded pairs a record with what it was made of.
type recorded struct {
	Record
	q *Request
}

// Records is what tool ("vllm" or "sglang") keeps of every measured request, in
// plan order. Errors: another tool, or a run that the tool cannot make (as Make).
func Records(tool string, r *Run) ([]Record, error) {
	of := map[string]func(*Run) ([]recorded, error){"vllm": vllmRecords, "sglang": sglangRecords}[tool]
	if of == nil {
		return nil, fmt.Errorf("%s keeps no records that are known here", tool)
	}
	all, err := of(r)
	if err != nil {
		return nil, err
	}
	records := make([]Record, 0, len(all))
	for _, rec := range all {
		records = append(records, rec.Record)
	}
	return records, nil
}

const second = 1e9

// since is to − from in seconds; 0 where either is absent.
func since(from, to tape.Opt[int64]) float64 {
	if !from.OK || !to.OK {
		return 0
	}
	return float64(to.V-from.V) / second
}

// measured are the requests that another tool would have made too: those of the
// measured phase that were sent, without what the user cut short and what the load
// itself abandoned, which these tools cannot do.
func measured(r *Run) (sent []*Request, cut int64) {
	for _, q := range r.Measured() {
		switch {
		case q.Outcome == tape.OutcomeCancelled, q.Outcome == tape.OutcomeAbandoned:
			cut++
		case q.Released.OK:
			sent = append(sent, q)
		}
	}
	return sent, cut
}

// span is the time from the first release to the last end of the requests, in
// nanoseconds since the run's epoch.
func span(sent []*Request) (from, to int64) {
	from, to = math.MaxInt64, math.MinInt64
	for _, q := range sent {
		from = min(from, q.Released.V)
		to = max(to, q.End.Or(q.Released.V))
	}
	if from > to {
		return 0, 0
	}
	return from, to
}

// answered reports an answer that a client takes for success which looks at the
// status and at nothing that the stream says: an error inside a 200, a filtered or
// empty answer, and a server that gave up are all that.
func (q *Request) answered() bool {
	switch q.Outcome {
	case tape.OutcomeOK:
		return true
	case tape.OutcomeServer, tape.OutcomeFiltered, tape.OutcomeEmpty, tape.OutcomeAborted:
		return q.Status == 0 || q.Status == 200
	}
	return false
}

// hasChoices reports an event of this kind whose "choices" are not empty.
func hasChoices(kind byte) bool {
	return tape.IsToken(kind) || kind == tape.KindRole || kind == tape.KindFinish
}

// has reports whether any event is one of kinds.
func (q *Request) has(kinds string) bool {
	for e := range q.Events() {
		for i := range len(kinds) {
			if e.Kind == kinds[i] {
				return true
			}
		}
	}
	return false
}

// tokens is how many tokens the answer has, from the best source that the tape
// has; 0 without any.
func (q *Request) tokens() int64 {
	if q.Tokens.Output.OK {
		return q.Tokens.Output.V
	}
	n := int64(0)
	for e := range q.Events() {
		if tape.IsToken(e.Kind) {
			n++
		}
	}
	return n
}

// dist is what np.mean, np.median, np.std and np.percentile say of a list.
type dist struct {
	n                 int
	mean, median, std float64
	sorted            []float64
}

// orZero is the dist of xs, or of one 0 where there are none: these clients write
// np.mean(xs or 0).
func orZero(xs []float64) dist {
	if len(xs) == 0 {
		d := newDist([]float64{0})
		d.n = 0
		return d
	}
	return newDist(xs)
}

// newDist sorts xs: gaps can be many, and a copy costs as much as they do.
func newDist(xs []float64) dist {
	d := dist{n: len(xs), mean: npMean(xs), std: npStd(xs), sorted: xs}
	slices.Sort(xs)
	d.median = npMedian(xs)
	return d
}

func (d dist) p(q float64) float64 { return npPercentile(d.sorted, q) }

func (d dist) max() float64 {
	if len(d.sorted) == 0 {
		return math.NaN()
	}
	return d.sorted[len(d.sorted)-1]
}

// npMedian is numpy.median of sorted values: of an even number, the mean of the
// two in the middle.
func npMedian(sorted []float64) float64 {
	n := len(sorted)
	switch {
	case n == 0:
		return math.NaN()
	case n%2 == 1:
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// totals are the sums and lists over the successful records.
type totals struct {
	completed, failed      int64
	input, output          int64
	ttft, tpot, itl, e2e   []float64
	duration               float64
	peakTokens, peakFlight float64
}

// sumUp takes the gaps out of the records, whose number is that of all events.
func sumUp(all []recorded) totals {
	var t totals
	t.peakTokens, t.peakFlight = peaks(all)
	reqs := make([]*Request, 0, len(all))
	for i := range all {
		rec := &all[i]
		reqs = append(reqs, rec.q)
		if !rec.Success {
			t.failed++
			continue
		}
		t.completed++
		t.input += rec.Input
		t.output += rec.Output
		if rec.Output > 1 {
			t.tpot = append(t.tpot, (rec.Latency-rec.TTFT)/float64(rec.Output-1))
		}
		t.itl = append(t.itl, rec.ITL...)
		rec.ITL = nil
		t.ttft = append(t.ttft, rec.TTFT)
		t.e2e = append(t.e2e, rec.Latency)
	}
	from, to := span(reqs)
	t.duration = float64(to-from) / second
	return t
}

// rate is n a second over the duration; 0 for no time at all, where they would
// divide by nought.
func (t totals) rate(n int64) float64 {
	if t.duration <= 0 {
		return 0
	}
	return float64(n) / t.duration
}

// maxPeakSeconds bounds the table of seconds of a tape whose times are absurd.
const maxPeakSeconds = 1e7

// peaks are the most first tokens and gaps in one second since the first start,
// and the most requests that touched one second: what both clients print as peak
// output tokens and peak concurrency.
func peaks(all []recorded) (tokens, flight float64) {
	first, last := math.Inf(1), math.Inf(-1)
	for i := range all {
		if rec := &all[i]; rec.Success {
			first, last = min(first, rec.Start), max(last, rec.Start+rec.Latency)
		}
	}
	if first > last {
		return 0, 0
	}
	if last-first > maxPeakSeconds {
		return math.NaN(), math.NaN()
	}
	n := int(math.Ceil(last-first)) + 1
	chunks, touched := make([]float64, n), make([]float64, n)
	count := func(in []float64, t float64) {
		if i := int(t - first); i >= 0 && i < n {
			in[i]++
		}
	}
	for i := range all {
		rec := &all[i]
		if !rec.Success {
			continue
		}
		t := rec.Start + rec.TTFT
		count(chunks, t)
		for _, gap := range rec.ITL {
			t += gap
			count(chunks, t)
		}
		for s := int(rec.Start - first); s <= min(int(rec.Start+rec.Latency-first), n-1); s++ {
			touched[s]++
		}
	}
	for i := range n {
		tokens, flight = max(tokens, chunks[i]), max(flight, touched[i])
	}
	return tokens, flight
}

// rowsOf is a section of label and value.
type rowsOf struct {
	t *Table
	s Section
}

func (t *Table) begin(title string) *rowsOf {
	return &rowsOf{t, Section{Title: title, Columns: []string{"Metric", "Value"}, Rows: [][]string{}}}
}

// text adds a cell that is kept under no key.
func (s *rowsOf) text(label, cell string) { s.s.Rows = append(s.s.Rows, []string{label, cell}) }

// fixed adds a number with two decimals.
func (s *rowsOf) fixed(label, key string, v float64) {
	s.t.set(key, v)
	s.text(label, pyFixed(v, 2))
}

// count adds a whole number.
func (s *rowsOf) count(label, key string, n int64) {
	s.t.set(key, float64(n))
	s.text(label, fmt.Sprint(n))
}

func (s *rowsOf) end() { s.t.Sections = append(s.t.Sections, s.s) }

// rateText is Python's print of a request rate: inf without one.
func rateText(rate float64) string {
	if rate <= 0 {
		return "inf"
	}
	return pyFloat(rate)
}

// many is "N things" with the plural where N asks for one.
func many(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// servingFaults are the caveats that hold for both clients.
func servingFaults(t *Table, r *Run, all []recorded, sum totals) {
	var inBand, short, retried, truncated, choices int64
	for i := range all {
		q := all[i].q
		switch {
		case all[i].Success && q.Outcome != tape.OutcomeOK:
			inBand++
		case q.Outcome == tape.OutcomeTruncated:
			truncated++
		}
		if all[i].Success && all[i].Output <= 1 {
			short++
		}
		if q.Attempts > 1 {
			retried++
		}
		if q.choice {
			choices++
		}
	}
	t.fault(inBand > 0, "An error inside a 200, an empty and a filtered answer count as success, with the tokens and times that they have.", many(inBand, "request", "requests"))
	t.fault(truncated > 0, "A stream that breaks off counts as success when its body ends in order. The tape does not tell the two ends apart: they are failed here.", many(truncated, "request", "requests"))
	t.fault(short > 0, "Answers of at most one token have no TPOT; they stay in TTFT and E2E.", many(short, "answer", "answers"))
	t.fault(len(sum.ttft) == 0 || len(sum.itl) == 0 || len(sum.tpot) == 0, "It prints 0.00 for TTFT, TPOT and ITL that nothing was measured of.", "nothing to measure")
	t.fault(sum.failed > 0, "Failed requests enter no latency and no token count, but their time is part of the duration.", many(sum.failed, "request", "requests"))
	t.fault(sum.completed > 0, "Peak concurrent requests counts all that touch one whole second, so that it can exceed the cap.", pyFixed(sum.peakFlight, 0))
	t.fault(choices > 0, "It looks at the first choice of an event only; events of other choices count here as events of their own.", many(choices, "answer", "answers"))
	commonFaults(t, r, retried)
}

// commonFaults are the caveats of every tool that sends each request once, after
// it got a slot.
func commonFaults(t *Table, r *Run, retried int64) {
	_, cut := measured(r)
	t.fault(r.Cap > 0 && r.Rate > 0, "A request's times begin after it got a slot: what it waited for one is in no latency (coordinated omission).", "a rate and a cap")
	t.fault(retried > 0, "It sends a request once; where the tape has several attempts, times span them all.", many(retried, "request", "requests"))
	t.fault(cut > 0, "It can neither be stopped by a rule nor abandon a request: those that were are left out.", many(cut, "request", "requests"))
	t.fault(!slices.Contains([]string{"openai-chat", "openai-completions", "sglang-generate", ""}, r.API), "It may not speak the API of this run; its rules for chat are used.", r.API)
}

// bundles counts answers with fewer token events than tokens.
func bundles(all []recorded) int64 {
	count := int64(0)
	for i := range all {
		if !all[i].Success {
			continue
		}
		n := int64(0)
		for e := range all[i].q.Events() {
			if tape.IsToken(e.Kind) {
				n++
			}
		}
		if n > 0 && all[i].q.Tokens.Output.Or(0) > n {
			count++
		}
	}
	return count
}

// fault names what the tool does otherwise than one may think, or does wrong, and
// is copied: among the caveats with what it meets here, or among those that do not
// bear on this tape.
func (t *Table) fault(applies bool, what, here string) {
	if !applies {
		t.Elsewhere = append(t.Elsewhere, what)
		return
	}
	t.Caveats = append(t.Caveats, what+" Here: "+here+".")
}
