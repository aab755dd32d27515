package as

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tokentape/tape"
)

// The hand-made streams below carry times in milliseconds since the run's epoch;
// every expected number is arithmetic on those and on the definitions, written out.

// records is a tape in memory.
type records []tape.Record

func (r *records) Next() (tape.Record, error) {
	if len(*r) == 0 {
		return nil, io.EOF
	}
	rec := (*r)[0]
	*r = (*r)[1:]
	return rec, nil
}

const ms = int64(1e6)

func ns(milli int64) tape.Opt[int64] { return tape.Some(milli * ms) }

// request is sent at and ended at milliseconds, its events as "r@50 c@200:3":
// kind, time, running count.
func request(at, end int64, events string, edit ...func(*tape.Request)) *tape.Request {
	q := &tape.Request{
		Type: "request", Phase: tape.PhaseMeasure, Outcome: tape.OutcomeOK, Attempts: 1,
		TReady: ns(at), TReleased: ns(at), TConn: ns(at), TWroteFirst: ns(at), TWrote: ns(at), TEnd: ns(end),
		HTTP: tape.HTTP{Status: 200},
	}
	var kinds []byte
	prev := at
	counted := strings.Contains(events, ":")
	for _, f := range strings.Fields(events) {
		var t, tok int64 = 0, -1
		if n, err := fmt.Sscanf(f[1:], "@%d:%d", &t, &tok); n < 1 {
			panic(fmt.Sprint(f, ": ", err))
		}
		kinds = append(kinds, f[0])
		q.Events.DT = append(q.Events.DT, (t-prev)*ms)
		if counted {
			q.Events.Tok = append(q.Events.Tok, tok)
		}
		prev = t
		if !q.TFirstEvent.OK {
			q.TFirstEvent = ns(t)
		}
		if tape.IsToken(f[0]) {
			if !q.TFirstToken.OK {
				q.TFirstToken = ns(t)
			}
			q.TLastToken = ns(t)
		}
	}
	q.Events.Kind = tape.EncodeKinds(kinds)
	for _, e := range edit {
		e(q)
	}
	return q
}

// usage gives the counts that the server reported, and what was asked.
func usage(in, out, asked int64) func(*tape.Request) {
	return func(q *tape.Request) {
		q.Tokens = tape.Tokens{Input: tape.Some(in), InputSource: tape.SourceUsage, Output: tape.Some(out), OutputSource: tape.SourceUsage}
		q.Asked = tape.Asked{Output: tape.Some(asked)}
	}
}

func outcome(o tape.Outcome, status int) func(*tape.Request) {
	return func(q *tape.Request) { q.Outcome, q.HTTP.Status, q.Message = o, status, "boom" }
}

// load is the Run of these requests under the spec's fields.
func load(t testing.TB, spec string, reqs ...*tape.Request) *Run {
	t.Helper()
	recs := records{&tape.Header{
		Type: "header", Schema: tape.Schema, Run: "01TEST", Name: "hand", Spec: json.RawMessage(spec),
		Anchor: tape.Anchor{Wall: "2026-11-30T04:00:00Z"}, Server: tape.Server{Model: "m"},
	}}
	for i, q := range reqs {
		q.Seq = int64(i)
		recs = append(recs, q)
	}
	r, err := Load(&recs)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const chatSpec = `{"target":{"api":"openai-chat"},"workload":{"stream":true},"load":{"concurrency":4}}`

// five are: an answer in three tokens with everything around it, one of eight
// tokens in two events, one of one token, a refusal, and an error inside a 200.
func five() []*tape.Request {
	return []*tape.Request{
		request(1000, 1402, "r@1050 c@1200 c@1300 c@1340 f@1340 u@1400 d@1401", usage(10, 3, 4)),
		request(1500, 1900, "r@1510 c@1700 c@1900 f@1900 u@1900 d@1900", usage(20, 8, 8)),
		request(2000, 2100, "c@2100 f@2100 u@2100 d@2100", usage(30, 1, 1)),
		request(900, 950, "", outcome(tape.OutcomeStatus, 500), func(q *tape.Request) { q.Asked.Output = tape.Some[int64](9) }),
		request(2000, 2070, "r@2020 c@2050 e@2060 d@2060", outcome(tape.OutcomeServer, 200), func(q *tape.Request) { q.Asked.Output = tape.Some[int64](16) }),
	}
}

// popSD is the deviation of the population, as numpy's default.
func popSD(xs ...float64) float64 {
	m, s := 0.0, 0.0
	for _, x := range xs {
		m += x / float64(len(xs))
	}
	for _, x := range xs {
		s += (x - m) * (x - m)
	}
	return math.Sqrt(s / float64(len(xs)))
}

type want map[string]float64

func check(t *testing.T, tool string, r *Run, values want, cells map[string]string) *Table {
	t.Helper()
	tab, err := Make(tool, r)
	if err != nil {
		t.Fatal(err)
	}
	for key, w := range values {
		got, ok := tab.Values[key]
		if !ok {
			t.Errorf("no value %q", key)
			continue
		}
		if math.IsNaN(w) {
			if got != nil {
				t.Errorf("%s = %v, want none", key, *got)
			}
		} else if got == nil || math.Abs(*got-w) > 1e-9*max(1, math.Abs(w)) {
			t.Errorf("%s = %v, want %v", key, show(got), w)
		}
	}
	printed := map[string]string{}
	for _, s := range tab.Sections {
		for _, row := range s.Rows {
			printed[row[0]] = strings.Join(row[1:], " ")
		}
	}
	for label, w := range cells {
		if printed[label] != w {
			t.Errorf("%s prints %q, want %q", label, printed[label], w)
		}
	}
	return tab
}

func show(v *float64) string {
	if v == nil {
		return "none"
	}
	return fmt.Sprint(*v)
}

func TestVLLMChat(t *testing.T) {
	tpotB := 0.390 / 7
	tab := check(t, "vllm", load(t, chatSpec, five()...), want{
		"completed": 4, "failed": 1, // the error inside a 200 is a success there
		"duration":           1.2, // 900 (the refusal) to 2100
		"total_input_tokens": 60, "total_output_tokens": 3 + 8 + 1 + 1,
		"request_throughput": 4 / 1.2, "output_throughput": 13 / 1.2, "total_token_throughput": 73 / 1.2,
		// TTFT 50, 10, 100, 20 ms: role chunks where there are such.
		"mean_ttft_ms": 45, "median_ttft_ms": 35, "std_ttft_ms": popSD(50, 10, 100, 20), "p99_ttft_ms": 50 + 0.97*50,
		// E2E to the usage chunk and to the error event: 400, 400, 100, 60 ms.
		"mean_e2el_ms": 240, "median_e2el_ms": 250,
		"mean_tpot_ms": 1000 * (0.350/2 + tpotB) / 2, "median_tpot_ms": 1000 * (0.350/2 + tpotB) / 2,
		// gaps 150 100 40 0 | 190 200 0 | 0 | 30
		"mean_itl_ms": 710.0 / 9, "median_itl_ms": 40, "p99_itl_ms": 190 + 0.92*10,
		// From 1000: events with choices at 50 200 300 340 340, 510 700 900 900 | 1100 1100 1020 1050
		"max_output_tokens_per_s": 9, "max_concurrent_requests": 2,
	}, map[string]string{
		"Successful requests:": "4", "Benchmark duration (s):": "1.20", "Mean TPOT (ms):": "115.36", "P99 TTFT (ms):": "98.50",
		"Maximum request concurrency:": "4", "Peak concurrent requests:": "2.00",
	})
	for _, part := range []string{"role chunk", "usage chunk", "one gap an event", "error inside a 200", "at most one token"} {
		if !strings.Contains(strings.Join(tab.Caveats, "\n"), part) {
			t.Errorf("no caveat about %q in\n%s", part, strings.Join(tab.Caveats, "\n"))
		}
	}
	if !strings.Contains(strings.Join(tab.Elsewhere, "\n"), "several attempts") {
		t.Errorf("retries are no matter here: %q", tab.Elsewhere)
	}
}

// The completions client ends a request at the last event with choices.
func TestVLLMCompletions(t *testing.T) {
	spec := `{"target":{"api":"openai-completions"},"workload":{"stream":true},"load":{"rate":2.5}}`
	check(t, "vllm", load(t, spec, five()[0]), want{
		"mean_ttft_ms": 50, "mean_e2el_ms": 340, "mean_tpot_ms": 290.0 / 2, "mean_itl_ms": 290.0 / 4, "request_rate": 2.5,
	}, map[string]string{"Request rate configured (RPS):": "2.50"})
}

func TestVLLMWholeAnswers(t *testing.T) {
	_, err := Make("vllm", load(t, `{"workload":{"stream":false}}`, five()[3]))
	if err == nil || !strings.Contains(err.Error(), "workload.stream") {
		t.Errorf("whole answers: %v", err)
	}
}

func TestSGLangChat(t *testing.T) {
	spec := `{"target":{"api":"openai-chat"},"workload":{"stream":true},"load":{}}`
	tab := check(t, "sglang", load(t, spec, five()...), want{
		"completed": 4, "total_output_tokens": 4 + 8 + 1 + 16, // max_tokens, whatever came
		"mean_ttft_ms": (200 + 200 + 100 + 50) / 4.0, "median_ttft_ms": 150,
		// To [DONE]: 401, 400, 100, 60 ms.
		"mean_e2e_latency_ms": 961.0 / 4, "concurrency": 0.961 / 1.2,
		"mean_tpot_ms": (201.0/3 + 200.0/7 + 10.0/15) / 3,
		"mean_itl_ms":  (100 + 40 + 200) / 3.0, "max_itl_ms": 200, "p90_itl_ms": 100 + 0.8*100,
		"total_output_tokens_retokenized": math.NaN(),
	}, map[string]string{
		"Backend:": "sglang-oai-chat", "Traffic request rate:": "inf", "Max request concurrency:": "not set",
		"Total generated tokens (retokenized):": "not observed", "Peak concurrent requests:": "2", "P90 ITL (ms):": "180.00",
	})
	if !strings.Contains(strings.Join(tab.Caveats, "\n"), "max_tokens") {
		t.Errorf("no caveat about max_tokens: %q", tab.Caveats)
	}
}

func TestSGLangBackends(t *testing.T) {
	native := `{"target":{"api":"sglang-generate"},"workload":{"stream":true},"load":{"rate":2}}`
	// 1 token, then 4 in 100 ms, then 2 hidden in 100 ms; the last event is cumulative
	// too, but brings nothing.
	q := request(0, 400, "c@100:1 c@200:5 h@300:7 f@390 d@400", usage(5, 7, 20))
	check(t, "sglang", load(t, native, q), want{
		"mean_ttft_ms": 100, "mean_e2e_latency_ms": 400, "mean_tpot_ms": 300.0 / 6, "total_output_tokens": 7,
		"mean_itl_ms": 200.0 / 6, "median_itl_ms": 25, "max_itl_ms": 50,
	}, map[string]string{"Backend:": "sglang", "Traffic request rate:": "2.0"})

	// Tool calls are no text in chat: TTFT 0 enters.
	tools := request(0, 200, "r@10 t@100 t@150 f@150 d@200", usage(5, 9, 9))
	check(t, "sglang", load(t, chatSpec, tools), want{"mean_ttft_ms": 0, "mean_itl_ms": 0, "mean_tpot_ms": 200.0 / 8}, nil)

	// Reasoning is text in chat.
	reasoning := request(0, 400, "r@10 s@100 s@150 c@300 f@300 d@310", usage(5, 3, 3))
	check(t, "sglang", load(t, chatSpec, reasoning), want{"mean_ttft_ms": 100, "mean_itl_ms": 100, "mean_tpot_ms": 210.0 / 2}, nil)

	// Completions index the choices of an error event, and fail.
	text := `{"target":{"api":"openai-completions"},"workload":{"stream":true},"load":{}}`
	check(t, "sglang", load(t, text, five()[4]), want{"completed": 0, "mean_e2e_latency_ms": math.NaN(), "mean_ttft_ms": 0},
		map[string]string{"Mean E2E Latency (ms):": "nan", "Mean TTFT (ms):": "0.00"})

	// Whole answers: TTFT is the latency.
	whole := request(0, 500, "", usage(5, 9, 20))
	check(t, "sglang", load(t, `{"target":{"api":"openai-chat"},"workload":{"stream":false},"load":{}}`, whole), want{
		"mean_ttft_ms": 500, "mean_e2e_latency_ms": 500, "mean_tpot_ms": 0, "total_output_tokens": 9,
	}, nil)
}

func TestAIPerf(t *testing.T) {
	check(t, "aiperf", load(t, chatSpec, five()...), want{
		"request_count": 3, // the error inside a 200 is an error
		// TTFT 200, 200, 100
		"time_to_first_token_avg": 500.0 / 3, "time_to_first_token_p50": 200, "time_to_first_token_min": 100,
		"time_to_first_token_std":  popSD(200, 200, 100),
		"time_to_second_token_avg": (100 + 200) / 2.0, "time_to_second_token_p90": 190,
		"request_latency_avg":     (340 + 400 + 100) / 3.0,
		"inter_token_latency_avg": (140.0/2 + 200.0/7) / 2, "inter_token_latency_max": 70,
		"output_token_throughput_per_user_avg": (2/0.140 + 7/0.200) / 2,
		"output_sequence_length_avg":           4, "input_sequence_length_avg": 20,
		// 1000 to 2100
		"benchmark_duration": 1.1, "output_token_throughput": 12 / 1.1, "request_throughput": 3 / 1.1,
	}, map[string]string{
		"Request Count (requests)":        "3.00 N/A N/A N/A N/A N/A N/A",
		"Output Sequence Length (tokens)": "4.00 1.00 8.00 7.90 7.00 3.00 2.94",
	})
	reasoning := request(0, 1700, "r@10 s@100 s@200 c@1600 f@1600 u@1600 d@1600", usage(5, 3, 3))
	check(t, "aiperf", load(t, chatSpec, reasoning), want{
		"time_to_first_token_avg": 100, "time_to_second_token_avg": 100, "time_to_first_output_token_avg": 1600, "inter_token_latency_avg": 750,
	}, map[string]string{"Request Latency (ms)": "1,600.00 1,600.00 1,600.00 1,600.00 1,600.00 1,600.00 0.00"})
}

func TestGuideLLM(t *testing.T) {
	check(t, "guidellm", load(t, chatSpec, five()...), want{
		"requests_successful": 4, "requests_errored": 1, "requests_incomplete": 0,
		"duration": 1.2, "prompt_tokens_successful": 60, "output_tokens_successful": 13,
		"request_latency_mean": (0.402 + 0.400 + 0.100 + 0.070) / 4, "request_latency_median": 0.100, "request_latency_p95": 0.402,
		"time_to_first_token_ms_mean": (200 + 200 + 100 + 50) / 4.0, "time_to_first_token_ms_median": 100,
		// TPOT 340/3 ×3, 400/8 ×8, 100 ×1, 50 ×1 (one event, no usage); the median is
		// the first value with half of the 13: 50 has 9 of them.
		"time_per_output_token_ms_mean": (340 + 400 + 100 + 50) / 13.0, "time_per_output_token_ms_median": 50, "time_per_output_token_ms_p95": 340.0 / 3,
		// ITL 70 ×2, 200/7 ×7
		"inter_token_latency_ms_mean": (140 + 200) / 9.0, "inter_token_latency_ms_median": 200.0 / 7, "inter_token_latency_ms_p95": 70,
		// In flight: 0.9–0.95 1, –1.0 0, –1.402 1, –1.5 0, –1.9 1, –2.0 0, –2.07 2, –2.1 1.
		"request_concurrency_mean": (0.05 + 0.402 + 0.4 + 0.14 + 0.03) / 1.2, "request_concurrency_median": 1,
		"requests_per_second_mean": 5 / 1.2,
		// First tokens 1200 1700 2100 2050, and the refusal at its end, 950: no input known.
		"prompt_tokens_per_second_mean": 60 / 1.150,
		"output_tokens_per_second_mean": 13 / 1.150, // the refusal's nothing at 950 is its first event
		"tokens_per_second_mean":        73 / 1.150,
	}, nil)
	// Alone, the output's time is from its first token to its last.
	check(t, "guidellm", load(t, chatSpec, five()[0]), want{"output_tokens_per_second_mean": 3 / 0.140, "prompt_tokens_per_second_mean": 0, "requests_per_second_mean": 1 / 0.402, "tokens_per_second_mean": 13 / 0.140}, nil)
	tab, _ := Make("guidellm", load(t, chatSpec, five()...))
	last := tab.Sections[len(tab.Sections)-1]
	if got := fmt.Sprint(last.Columns[1], " ", last.Rows[0]); got != "Requests Concurrency Mdn [concurrent 1.0 0.9 4.2 52.2 11.3 63.5]" {
		t.Errorf("throughput: %s", got)
	}
}

// Events within 0.1 ms of a first one are one event, at that one's time; the span
// of a rate ends there.
func TestGuideLLMMerges(t *testing.T) {
	var s series
	s.add(0, 5)
	s.spread(0, 1_000_000_000, 4, 8)
	for _, late := range []int64{1_000_050_000, 1_000_090_000, 1_000_150_000} {
		s.add(late, 1)
	}
	// Groups end: 1.0 s takes 50 and 90 µs after it; 150 µs after begins another.
	if got, w := s.rate(), 16/1.000150; math.Abs(got-w) > 1e-9 {
		t.Errorf("rate %v, want %v", got, w)
	}
	s.add(1_000_240_000, 1)
	if got, w := s.rate(), 17/1.000150; math.Abs(got-w) > 1e-9 {
		t.Errorf("rate %v, want %v", got, w)
	}
	rapid.Check(t, func(t *rapid.T) { // against the plain way: all moments, merged from the first
		var s series
		var all []int64
		for range rapid.IntRange(1, 8).Draw(t, "requests") {
			first := rapid.Int64Range(0, 2_000_000_000).Draw(t, "first")
			n := rapid.Int64Range(1, 50).Draw(t, "n")
			last := first + n*rapid.Int64Range(0, 40_000_000).Draw(t, "step")
			s.add(first, 0)
			s.spread(first, last, n, float64(n))
			all = append(all, first, last)
			for i := int64(1); i < n; i++ {
				all = append(all, first+int64(float64(last-first)/float64(n)*float64(i)))
			}
		}
		all = sortedInts(all)
		at := all[0]
		for _, x := range all {
			if x > at+mergeNS {
				at = x
			}
		}
		// Within the kept tail the groups may begin elsewhere than from the first moment.
		if got := s.mergedLast(); max(got-at, at-got) > mergeNS {
			t.Fatalf("last %d, want %d", got, at)
		}
	})
}

func sortedInts(xs []int64) []int64 {
	f := make([]float64, len(xs))
	for i, x := range xs {
		f[i] = float64(x)
	}
	out := make([]int64, len(xs))
	for i, x := range sorted(f) {
		out[i] = int64(x)
	}
	return out
}

func TestEvalScope(t *testing.T) {
	check(t, "evalscope", load(t, chatSpec, five()...), want{
		"Total Requests": 5, "Success Requests": 4, "Failed Requests": 1,
		"Test Duration (s)": 1.1, // of the successes: 1000 to 2100
		// To the last event with choices: 340, 400, 100, 50
		"Avg Latency (s)": 0.2225, "TTFT (ms)": 45, "ITL (ms)": 710.0 / 9,
		"TPOT (ms)":        1000 * (0.290/2 + 0.390/7 + 0 + 0) / 4, // zeros of single tokens enter
		"Avg Input Tokens": 15, "Avg Output Tokens": 13.0 / 4,
		"Output Throughput (tok/s)": 13 / 1.1, "Total Throughput (tok/s)": 73 / 1.1, "Req Throughput (req/s)": 4 / 1.1,
		"Decoded Tok/Iter": 7.0 / 3, "Spec. Accept Rate": 1 - 3.0/7,
		// Rank 4·50/100 = 2 of 0 0 55.7 145; rank 3 the maximum from 75 % on.
		"TPOT (ms) 50%": 390.0 / 7, "TPOT (ms) 75%": 145, "TPOT (ms) 99%": 145, "TPOT (ms) 1%": 0,
		"Decode (tok/s) 50%": 7 / 0.390, "Latency (s) 25%": 0.100,
	}, map[string]string{
		"Total / Success / Failed": "5 / 4 / 1", "Request Rate (req/s)": "-1.00", "Concurrency": "4", "Avg Latency (s)": "0.22",
		"TTFT (ms)": "10.00 10.00 10.00 20.00 50.00 100.00 100.00 100.00 100.00",
	})
	whole := request(0, 500, "", usage(5, 9, 20))
	check(t, "evalscope", load(t, `{"workload":{"stream":false},"load":{"rate":3}}`, whole), want{"TTFT (ms)": 500, "TPOT (ms)": 0, "ITL (ms)": 0, "Request Rate (req/s)": 3}, nil)
	check(t, "evalscope", load(t, chatSpec, five()[3]), want{"Avg Latency (s)": -1, "TTFT (ms)": -1000, "Test Duration (s)": 1, "TPOT (ms) 50%": math.NaN()},
		map[string]string{"Avg Latency (s)": "-1.00", "Output Throughput (tok/s)": ""})
}

func TestInferencePerf(t *testing.T) {
	reqs := five()
	reqs[0].TDue = ns(990)
	tab := check(t, "inference-perf", load(t, chatSpec, reqs...), want{
		"successes.count": 3, "failures.count": 2, "benchmark_time_seconds": 1.2,
		"load_summary.schedule_delay.mean":       0.010,
		"successes.latency.request_latency.mean": (0.402 + 0.4 + 0.1) / 3, "successes.latency.request_latency.max": 0.402,
		"successes.latency.normalized_time_per_output_token.mean": (0.402/3 + 0.4/8 + 0.1) / 3,
		// One token has neither.
		"successes.latency.time_to_first_token.mean":   0.2,
		"successes.latency.time_per_output_token.mean": (0.070 + 0.2/7) / 2,
		// 100 40 | 200 and, of eight tokens in two events, six zeros
		"successes.latency.inter_token_latency.mean":   0.340 / 9,
		"successes.latency.inter_token_latency.median": 0,
		"successes.latency.inter_token_latency.p75":    0.040,
		"successes.latency.inter_token_latency.p90":    0.1 + 0.2*0.1,
		"successes.throughput.output_tokens_per_sec":   12 / 1.2,
		"successes.throughput.total_tokens_per_sec":    72 / 1.2,
		"failures.request_latency.mean":                0.060,
	}, map[string]string{
		"successes.count": "3", "successes.latency.time_to_first_token": strings.TrimSpace(strings.Repeat("0.2 ", 14)),
	})
	if !strings.Contains(strings.Join(tab.Caveats, "\n"), "median can be 0") {
		t.Errorf("caveats: %q", tab.Caveats)
	}
	// Reasoning is not seen: the first content is the first token.
	reasoning := request(0, 400, "r@10 s@100 s@200 c@300 c@380 f@380 u@380 d@380", usage(5, 4, 4), func(q *tape.Request) { q.Tokens.Reasoning = tape.Some[int64](2) })
	check(t, "inference-perf", load(t, chatSpec, reasoning), want{
		"successes.latency.time_to_first_token.mean": 0.3, "successes.latency.time_per_output_token.mean": 0.080, "successes.throughput.output_tokens_per_sec": 2 / 0.4,
	}, nil)
	check(t, "inference-perf", load(t, chatSpec), want{"successes.count": 0, "successes.latency.request_latency.mean": math.NaN()},
		map[string]string{"successes.latency.request_latency": strings.TrimSpace(strings.Repeat("null ", 14))})
}

// Python's format of thousands.
func TestThousands(t *testing.T) {
	for x, w := range map[float64]string{0: "0.00", 999.994: "999.99", 999.996: "1,000.00", 1234567.891: "1,234,567.89", -1234.5: "-1,234.50"} {
		if got := thousands(x); got != w {
			t.Errorf("%v: %s, want %s", x, got, w)
		}
	}
}

// Whatever stands on a tape: no panic, no cell without text, every value finite or
// none, every caveat said once.
func TestPeersHoldForAnyTape(t *testing.T) {
	apis := []string{"", "openai-chat", "openai-completions", "sglang-generate", "anthropic-messages"}
	outcomes := []tape.Outcome{
		tape.OutcomeOK, tape.OutcomeOK, tape.OutcomeOK, tape.OutcomeStatus, tape.OutcomeServer, tape.OutcomeTruncated, tape.OutcomeEmpty,
		tape.OutcomeCancelled, tape.OutcomeAbandoned, tape.OutcomeAborted, tape.OutcomeConnect,
	}
	rapid.Check(t, func(rt *rapid.T) {
		var reqs []*tape.Request
		for range rapid.IntRange(0, 6).Draw(rt, "requests") {
			at := rapid.Int64Range(0, 5000).Draw(rt, "at")
			var events strings.Builder
			now := at
			for range rapid.IntRange(0, 8).Draw(rt, "events") {
				now += rapid.Int64Range(0, 300).Draw(rt, "gap")
				fmt.Fprintf(&events, "%c@%d:%d ", rapid.SampledFrom([]byte("rccchstxfuedo")).Draw(rt, "kind"), now, rapid.Int64Range(-1, 9).Draw(rt, "tok"))
			}
			q := request(at, now, events.String(), outcome(rapid.SampledFrom(outcomes).Draw(rt, "outcome"), rapid.SampledFrom([]int{0, 200, 500}).Draw(rt, "status")))
			opt := func(name string) tape.Opt[int64] {
				switch n := rapid.Int64Range(-2, 1<<40).Draw(rt, name); {
				case n >= 1<<39:
					return tape.Some(rapid.SampledFrom([]int64{n, math.MaxInt64, 1<<62 + 5, 1 << 53, math.MinInt64, -1, 999_999_999}).Draw(rt, name+" wild"))
				case n >= 0:
					return tape.Some(n)
				}
				return tape.Opt[int64]{}
			}
			q.Tokens = tape.Tokens{Input: opt("in"), Output: opt("out"), Cached: opt("cached"), Reasoning: opt("reasoning"), OutputSource: rapid.SampledFrom([]string{"usage", "tokenizer", "events", ""}).Draw(rt, "source")}
			q.Asked = tape.Asked{Output: opt("asked"), Input: opt("prompt")}
			if rapid.IntRange(0, 4).Draw(rt, "wild times") == 0 {
				for _, at := range []*tape.Opt[int64]{&q.TDue, &q.TReady, &q.TReleased, &q.TWroteFirst, &q.TFirstEvent, &q.TFirstToken, &q.TLastToken, &q.TEnd} {
					if rapid.Bool().Draw(rt, "wild") {
						*at = tape.Some(rapid.Int64().Draw(rt, "stamp"))
					}
				}
				for i := range q.Events.Tok {
					q.Events.Tok[i] = rapid.SampledFrom([]int64{-1, 3, 1 << 53, math.MaxInt64}).Draw(rt, "running")
				}
			}
			if rapid.Bool().Draw(rt, "odd") {
				q.TReleased, q.TEnd = tape.Opt[int64]{}, tape.Opt[int64]{}
			}
			reqs = append(reqs, q)
		}
		spec := fmt.Sprintf(`{"target":{"api":%q},"workload":{"stream":%v},"load":{"concurrency":%d,"rate":%d}}`,
			rapid.SampledFrom(apis).Draw(rt, "api"), rapid.Bool().Draw(rt, "stream"), rapid.IntRange(0, 3).Draw(rt, "cap"), rapid.IntRange(0, 3).Draw(rt, "rate"))
		r := load(t, spec, reqs...)
		for _, tool := range Tools() {
			tab, err := Make(tool, r)
			if err != nil {
				if err.Error() == "" {
					rt.Fatalf("%s: an error without words", tool)
				}
				continue
			}
			for key, v := range tab.Values {
				if v != nil && (math.IsNaN(*v) || math.IsInf(*v, 0)) {
					rt.Fatalf("%s: %s = %v", tool, key, *v)
				}
			}
			for _, s := range tab.Sections {
				for _, row := range s.Rows {
					if len(s.Columns) > 0 && len(row) != len(s.Columns) {
						rt.Fatalf("%s: %q has %d cells of %d", tool, row, len(row), len(s.Columns))
					}
				}
			}
			said := map[string]bool{}
			for _, c := range append(tab.Caveats, tab.Elsewhere...) {
				if said[c] {
					rt.Fatalf("%s: twice: %s", tool, c)
				}
				said[c] = true
			}
		}
	})
}

// Runs with nothing in them.
func TestPeersOnEmptyRuns(t *testing.T) {
	for name, reqs := range map[string][]*tape.Request{
		"none":      nil,
		"failed":    {five()[3]},
		"cancelled": {request(0, 10, "c@5", outcome(tape.OutcomeCancelled, 200))},
		"unsent":    {request(0, 10, "", outcome(tape.OutcomeConnect, 0), func(q *tape.Request) { q.TReleased = tape.Opt[int64]{} })},
		"warm-up":   {request(0, 10, "c@5", func(q *tape.Request) { q.Phase = tape.PhaseWarmup })},
	} {
		for _, tool := range []string{"vllm", "sglang", "aiperf", "guidellm", "evalscope", "inference-perf"} {
			tab, err := Make(tool, load(t, chatSpec, reqs...))
			if err != nil {
				t.Errorf("%s of %s: %v", tool, name, err)
				continue
			}
			for _, key := range []string{"completed", "request_count", "requests_successful", "Success Requests", "successes.count"} {
				if v := tab.Values[key]; v != nil && *v != 0 {
					t.Errorf("%s of %s: %s = %v", tool, name, key, *v)
				}
			}
		}
	}
}
