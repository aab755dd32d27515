package as

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tokentape/tape"
)

// aiperf is NVIDIA AIPerf of 2026, with --use-server-token-count.
//
//	Time to First Token   first message with content, reasoning or tool text − start
//	Time to Second Token  second such message − first
//	Time to First Output Token  first such message that is no reasoning − start
//	Request Latency       last such message − start (an answer in one piece: its end)
//	Inter Token Latency   (latency − TTFT) ÷ (OSL − 1), one value a request; OSL ≥ 2
//
// OSL is output and reasoning tokens. Statistics are numpy's over successful
// requests, the deviation that of the population; a request without content is an
// error. What no request has is no row.
func aiperf(r *Run) (*Table, error) {
	sent, _ := measured(r)
	var m aiperfValues
	for _, q := range sent {
		m.add(q)
	}
	t := &Table{
		Tool: "aiperf", Title: "NVIDIA AIPerf (definitions of its 2026 documents and sources)",
		Rule: "Measured requests that were sent; those that ended well and brought content are counted, others are errors. Time runs from the first start to the last content of those. Token counts as with --use-server-token-count.",
	}
	s := Section{Title: "LLM Metrics", Columns: []string{"Metric", "avg", "min", "max", "p99", "p90", "p50", "std"}, Rows: [][]string{}}
	for _, row := range []struct {
		label, key string
		xs         []float64
	}{
		{"Time to First Token (ms)", "time_to_first_token", m.ttft},
		{"Time to Second Token (ms)", "time_to_second_token", m.ttst},
		{"Time to First Output Token (ms)", "time_to_first_output_token", m.ttfo},
		{"Request Latency (ms)", "request_latency", m.latency},
		{"Inter Token Latency (ms)", "inter_token_latency", m.itl},
		{"Output Token Throughput Per User (tokens/sec/user)", "output_token_throughput_per_user", m.perUser},
		{"Output Sequence Length (tokens)", "output_sequence_length", m.osl},
		{"Input Sequence Length (tokens)", "input_sequence_length", m.isl},
	} {
		if len(row.xs) == 0 {
			continue
		}
		d := newDist(slices.Clone(row.xs))
		cells := []string{row.label}
		for _, c := range []struct {
			stat string
			v    float64
		}{
			{"avg", d.mean}, {"min", d.sorted[0]}, {"max", d.max()}, {"p99", d.p(99)}, {"p90", d.p(90)}, {"p50", d.p(50)}, {"std", d.std},
		} {
			t.set(row.key+"_"+c.stat, c.v)
			cells = append(cells, thousands(c.v))
		}
		s.Rows = append(s.Rows, cells)
	}
	seconds := float64(m.last-m.first) / second
	if m.n > 0 && seconds > 0 {
		if len(m.osl) > 0 {
			s.Rows = append(s.Rows, m.alone(t, "Output Token Throughput (tokens/sec)", "output_token_throughput", npSum(m.osl)/seconds))
		}
		s.Rows = append(s.Rows, m.alone(t, "Request Throughput (requests/sec)", "request_throughput", float64(m.n)/seconds))
	}
	if m.n > 0 {
		s.Rows = append(s.Rows, m.alone(t, "Request Count (requests)", "request_count", float64(m.n)))
		t.set("benchmark_duration", seconds)
	}
	t.Sections = append(t.Sections, s)
	m.faults(t, r)
	return t, nil
}

// aiperfValues are the values of each metric, in milliseconds and tokens.
type aiperfValues struct {
	n                              int64
	first, last                    int64
	ttft, ttst, ttfo, latency, itl []float64
	perUser, osl, isl              []float64

	errors, oneToken, bundled, client, mixed, retried int64
}

func (m *aiperfValues) add(q *Request) {
	if q.Attempts > 1 {
		m.retried++
	}
	var seen [3]int64 // first and second content, first that is no reasoning
	n, end := 0, int64(0)
	var text, tools bool
	for e := range q.Events() {
		if e.Kind != tape.KindContent && e.Kind != tape.KindReasoning && e.Kind != tape.KindTool {
			continue
		}
		if n < 2 {
			seen[n] = e.T
		}
		n++
		if e.Kind != tape.KindReasoning && seen[2] == 0 {
			seen[2] = e.T
		}
		text = text || e.Kind == tape.KindContent
		tools = tools || e.Kind == tape.KindTool
		end = e.T
	}
	if !q.Streamed {
		end = q.End.V
	}
	if !q.OK() || (q.Streamed && n == 0) || (!q.Streamed && !q.End.OK) {
		m.errors++
		return
	}
	start := q.Released.V
	if m.n == 0 || start < m.first {
		m.first = start
	}
	if m.n == 0 || end > m.last {
		m.last = end
	}
	m.n++
	ms := func(from, to int64) float64 { return float64(to-from) / 1e6 }
	m.latency = append(m.latency, ms(start, end))
	if in := q.Tokens.Input; in.OK {
		m.isl = append(m.isl, float64(in.V))
	}
	out := q.Tokens.Output
	if out.OK {
		m.osl = append(m.osl, float64(out.V))
	}
	if src := q.Tokens.OutputSource; src != tape.SourceUsage && src != tape.SourceEngine {
		m.client++
	}
	if !q.Streamed {
		return
	}
	m.ttft = append(m.ttft, ms(start, seen[0]))
	if n > 1 {
		m.ttst = append(m.ttst, ms(seen[0], seen[1]))
	}
	if seen[2] != 0 {
		m.ttfo = append(m.ttfo, ms(start, seen[2]))
	}
	if text && tools {
		m.mixed++
	}
	switch {
	case !out.OK:
	case out.V < 2:
		m.oneToken++
	default:
		itl := ms(seen[0], end) / float64(out.V-1)
		m.itl = append(m.itl, itl)
		if itl > 0 {
			m.perUser = append(m.perUser, 1000/itl)
		}
		if out.V > int64(n) {
			m.bundled++
		}
	}
}

// alone is the row of a metric that has one value for the run.
func (m *aiperfValues) alone(t *Table, label, key string, v float64) []string {
	t.set(key, v)
	return []string{label, thousands(v), "N/A", "N/A", "N/A", "N/A", "N/A", "N/A"}
}

func (m *aiperfValues) faults(t *Table, r *Run) {
	t.fault(len(m.itl) > 0, "Inter Token Latency is what others call TPOT: one value a request, so that a stall within an answer is not to be seen.", "every stream")
	t.fault(m.bundled > 0, "Inter Token Latency takes one token for the first message, however many it brings (unless --per-chunk-usage): with several tokens an event it is too low.", many(m.bundled, "answer", "answers"))
	t.fault(m.client > 0, "Without the server's count it uses its own tokenizer; the tape's own count stands here.", many(m.client, "answer", "answers"))
	t.fault(m.n > 0, "By default it counts tokens with its own tokenizer, without chat template, so that both lengths are others and with them ITL.", "every run without --use-server-token-count")
	t.fault(m.oneToken > 0, "Answers of one token have no Inter Token Latency; they stay in the other rows.", many(m.oneToken, "answer", "answers"))
	t.fault(m.mixed > 0, "A message with prose and a tool call counts the call alone.", many(m.mixed, "answer", "answers")+" with both")
	t.fault(m.errors > 0, "Errors enter no row; whether an early one stretches the duration differs by version, and does not here.", many(m.errors, "request", "requests"))
	t.fault(m.n == 0, "Without a success it prints no table.", "no request succeeded")
	commonFaults(t, r, m.retried)
}

// thousands is Python's format(x, ",.2f").
func thousands(x float64) string {
	s := pyFixed(x, 2)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return s
	}
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, frac, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return fmt.Sprintf("%s%s.%s", sign, whole, frac)
}
