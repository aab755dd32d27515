package as

import (
	"fmt"
	"math"
	"slices"

	"tokentape/tape"
)

// inferencePerf is kubernetes-sigs/inference-perf of 2026-08-19 (commit 7de5ef2),
// its summary report, with the tape's token counts in place of its tokenizer's.
//
//	time_to_first_token    first event with content − start, of answers of 2 tokens
//	                       and more
//	time_per_output_token  (last such event − first) ÷ (output tokens − 1)
//	inter_token_latency    gaps between tokens, those of one event at one moment: k
//	                       tokens are k − 1 zeros and a gap
//	normalized_time_per_output_token  request_latency ÷ output tokens; 0 of none
//	request_latency        end − start
//
// Reasoning is not seen. Statistics are numpy's over successes; time runs from the
// first start to the last end of all.
func inferencePerf(r *Run) (*Table, error) {
	sent, _ := measured(r)
	var m perfValues
	for _, q := range sent {
		m.add(q)
	}
	t := &Table{
		Tool: "inference-perf", Title: "inference-perf (definitions of commit 7de5ef2, 2026-08-19)",
		Rule: "All measured requests that were sent; successful ended well. Time runs from the first start to the last end, failures included. Seconds, as in its summary report.",
	}
	from, to := span(sent)
	m.tables(t, float64(to-from)/second)
	m.faults(t, r)
	return t, nil
}

// perfPercents are the percentiles of its report.
var perfPercents = []float64{0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9}

type perfValues struct {
	n, failed               int64
	delay                   []float64
	latency, ntpot          []float64
	ttft, tpot              []float64
	gaps                    []float64
	zeros                   int64 // gaps of tokens of one event
	in, out                 []float64
	failedLatency, failedIn []float64

	reasoning, short, bundled, unseen, retried, client int64
}

func (m *perfValues) add(q *Request) {
	if q.Attempts > 1 {
		m.retried++
	}
	start := q.Released.V
	if q.Due.OK {
		m.delay = append(m.delay, float64(start-q.Due.V)/second)
	}
	latency := float64(q.End.Or(start)-start) / second
	in := float64(q.Tokens.Input.Or(q.Asked.Input.Or(0)))
	if !q.OK() {
		m.failed++
		m.failedLatency, m.failedIn = append(m.failedLatency, latency), append(m.failedIn, in)
		return
	}
	m.n++
	var first, last, events int64
	var gaps []float64
	for e := range q.Events() {
		if e.Kind != tape.KindContent {
			continue
		}
		if events == 0 {
			first = e.T
		} else {
			gaps = append(gaps, float64(e.T-last)/second)
		}
		last = e.T
		events++
	}
	out := max(q.tokens()-q.Tokens.Reasoning.Or(0), 0)
	if q.Streamed && events == 0 {
		out = 0 // nothing that it sees
	}
	m.latency, m.in, m.out = append(m.latency, latency), append(m.in, in), append(m.out, float64(out))
	ntpot := 0.0
	if out > 0 {
		ntpot = latency / float64(out)
	}
	m.ntpot = append(m.ntpot, ntpot)
	m.tally(q, out, events)
	if tokens := max(out, events); !q.Streamed || events == 0 || tokens < 2 {
		return
	}
	m.ttft = append(m.ttft, float64(first-start)/second)
	if out > 1 {
		m.tpot = append(m.tpot, float64(last-first)/second/float64(out-1))
	}
	m.gaps = append(m.gaps, gaps...)
	m.zeros += max(out-events, 0)
}

// tally keeps what the caveats need.
func (m *perfValues) tally(q *Request, out, events int64) {
	if q.has("s") {
		m.reasoning++
	}
	if out == 1 {
		m.short++
	}
	if out > events && events > 0 {
		m.bundled++
	}
	if q.Streamed && events == 0 {
		m.unseen++
	}
	if q.Tokens.OutputSource != tape.SourceTokenizer {
		m.client++
	}
}

func (m *perfValues) tables(t *Table, seconds float64) {
	s := Section{Title: "summary_lifecycle_metrics", Columns: []string{"Field", "Value"}, Rows: [][]string{}}
	value := func(key string, v float64, cell string) {
		t.set(key, v)
		s.Rows = append(s.Rows, []string{key, cell})
	}
	value("benchmark_time_seconds", seconds, pyFloat(seconds))
	value("load_summary.count", float64(m.n+m.failed), fmt.Sprint(m.n+m.failed))
	value("successes.count", float64(m.n), fmt.Sprint(m.n))
	rate := func(n float64) float64 {
		if seconds <= 0 {
			return 0
		}
		return n / seconds
	}
	in, out := pySum(m.in), pySum(m.out)
	for _, x := range []struct {
		key string
		v   float64
	}{
		{"input_tokens_per_sec", rate(in)}, {"output_tokens_per_sec", rate(out)}, {"total_tokens_per_sec", rate(in + out)},
		{"requests_per_sec", rate(float64(m.n))},
	} {
		value("successes.throughput."+x.key, x.v, pyFloat(x.v))
	}
	value("failures.count", float64(m.failed), fmt.Sprint(m.failed))
	t.Sections = append(t.Sections, s)

	s = Section{Title: "summaries", Columns: []string{"Field", "mean", "min", "max"}, Rows: [][]string{}}
	for _, p := range perfPercents {
		s.Columns = append(s.Columns, perfName(p))
	}
	for _, x := range []struct {
		key   string
		xs    []float64
		zeros int64
	}{
		{"load_summary.schedule_delay", m.delay, 0},
		{"successes.latency.request_latency", m.latency, 0},
		{"successes.latency.normalized_time_per_output_token", m.ntpot, 0},
		{"successes.latency.time_per_output_token", m.tpot, 0},
		{"successes.latency.time_to_first_token", m.ttft, 0},
		{"successes.latency.inter_token_latency", m.gaps, m.zeros},
		{"successes.prompt_tokens", m.in, 0},
		{"successes.output_tokens", m.out, 0},
		{"failures.request_latency", m.failedLatency, 0},
		{"failures.prompt_tokens", m.failedIn, 0},
	} {
		s.Rows = append(s.Rows, perfRow(t, x.key, x.xs, x.zeros))
	}
	t.Sections = append(t.Sections, s)
}

func perfName(p float64) string {
	if p == 50 {
		return "median"
	}
	return fmt.Sprintf("p%g", p)
}

// perfRow is the summary of values and of as many zeros; null where there are none.
func perfRow(t *Table, key string, xs []float64, zeros int64) []string {
	d := padded{sorted(xs), zeros}
	cells := []string{key}
	cell := func(stat string, v float64) {
		t.set(key+"."+stat, v)
		if math.IsNaN(v) {
			cells = append(cells, "null")
			return
		}
		cells = append(cells, pyFloat(v))
	}
	cell("mean", d.mean())
	cell("min", d.at(0))
	cell("max", d.at(d.n()-1))
	for _, p := range perfPercents {
		cell(perfName(p), d.percentile(p))
	}
	return cells
}

// padded are sorted values with so many zeros among them that they are not kept.
type padded struct {
	xs    []float64
	zeros int64
}

func (d padded) n() int64 { return int64(len(d.xs)) + d.zeros }

// at is the value at rank i, from 0; NaN of none.
func (d padded) at(i int64) float64 {
	if d.n() == 0 {
		return math.NaN()
	}
	below, _ := slices.BinarySearch(d.xs, 0)
	switch {
	case i < int64(below):
		return d.xs[i]
	case i < int64(below)+d.zeros:
		return 0
	}
	return d.xs[i-d.zeros]
}

func (d padded) mean() float64 {
	if d.n() == 0 {
		return math.NaN()
	}
	return npSum(d.xs) / float64(d.n())
}

// percentile is numpy.percentile, as npPercentile is of a list.
func (d padded) percentile(q float64) float64 {
	n := d.n()
	if n == 0 {
		return math.NaN()
	}
	rank := float64(float64(n-1) * (q / 100))
	i := min(max(int64(rank), 0), n-1)
	return npPercentile([]float64{d.at(i), d.at(min(i+1, n-1))}, (rank-float64(i))*100)
}

func (m *perfValues) faults(t *Table, r *Run) {
	t.fault(m.bundled > 0, "ITL gives all tokens of an event one moment: k tokens are k − 1 zeros and one gap, so that its median can be 0.", many(m.bundled, "answer", "answers"))
	t.fault(m.short > 0, "Answers of one token have neither TTFT nor TPOT; they stay in request_latency.", many(m.short, "answer", "answers"))
	t.fault(m.reasoning > 0, "It does not see reasoning: TTFT is the first content, and reasoning tokens are no output.", many(m.reasoning, "answer", "answers"))
	t.fault(m.unseen > 0, "An answer without content, tool calls or reasoning alone, counts 0 output tokens, and its normalized time is 0 in the statistics.", many(m.unseen, "answer", "answers"))
	t.fault(m.client > 0, "It counts output with its own tokenizer, an event at a time for ITL; the tape's counts stand here, each event with one token and the rest as if beside them.", many(m.client, "answer", "answers"))
	t.fault(m.n > 0, "Its end of a request is after it has counted the tokens of the answer, so that latency, duration and throughput hold that work; the tape's end is that of the stream.", "every run")
	t.fault(m.failed > 0, "Failed requests enter no latency and no throughput, but their time is part of the duration.", many(m.failed, "request", "requests"))
	t.fault(m.n+m.failed == 0, "It writes no report without requests.", "no request was sent")
	commonFaults(t, r, m.retried)
}
