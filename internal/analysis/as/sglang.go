package as

import (
	"fmt"
	"math"

	"tokentape/tape"
)

// sglang is `bench_serving` of 2026-08-13 (commit 6b94d39f1), with the backend that
// the run's API stands for: sglang (native /generate), sglang-oai (completions),
// else sglang-oai-chat.
//
//	TTFT  first event with text (chat: content or reasoning) − send; 0 without one
//	ITL   gaps between events with text, one an event; native: the gap ÷ its new
//	      tokens, once for each
//	E2E   last event of any kind, [DONE] too − send
//	TPOT  (E2E − TTFT) ÷ (output tokens − 1), of answers of 2 tokens and more
//
// Output tokens are the server's count with the native API, else the max_tokens
// that were asked for, since it asks for no usage. Statistics are numpy's over
// successful requests; any 200 that can be read is success.
func sglang(r *Run) (*Table, error) {
	all, err := sglangRecords(r)
	if err != nil {
		return nil, err
	}
	sum := sumUp(all)
	t := &Table{
		Tool: "sglang", Title: "SGLang bench_serving (definitions of commit 6b94d39f1, 2026-08-13)",
		Rule: "All measured requests that were sent, as backend " + SGLangBackend(r) + "; successful is a 200 that can be read. Time runs from the first send to the last end, failures included.",
	}
	s := t.begin("Serving Benchmark Result")
	s.text("Backend:", SGLangBackend(r))
	s.text("Traffic request rate:", rateText(r.Rate))
	limit := "not set"
	if r.Cap > 0 {
		limit = fmt.Sprint(r.Cap)
		t.set("max_concurrency", float64(r.Cap))
	}
	s.text("Max request concurrency:", limit)
	s.count("Successful requests:", "completed", sum.completed)
	s.fixed("Benchmark duration (s):", "duration", sum.duration)
	s.count("Total input tokens:", "total_input_tokens", sum.input)
	s.count("Total input text tokens:", "total_input_text_tokens", sum.input)
	s.count("Total generated tokens:", "total_output_tokens", sum.output)
	if n, ok := retokenized(all); ok {
		s.count("Total generated tokens (retokenized):", "total_output_tokens_retokenized", n)
	} else {
		t.set("total_output_tokens_retokenized", math.NaN())
		s.text("Total generated tokens (retokenized):", "not observed")
	}
	s.fixed("Request throughput (req/s):", "request_throughput", sum.rate(sum.completed))
	s.fixed("Input token throughput (tok/s):", "input_throughput", sum.rate(sum.input))
	s.fixed("Output token throughput (tok/s):", "output_throughput", sum.rate(sum.output))
	s.fixed("Peak output token throughput (tok/s):", "max_output_tokens_per_s", sum.peakTokens)
	t.set("max_concurrent_requests", sum.peakFlight)
	s.text("Peak concurrent requests:", pyFixed(sum.peakFlight, 0))
	s.fixed("Total token throughput (tok/s):", "total_throughput", sum.rate(sum.input+sum.output))
	busy := 0.0
	if sum.duration > 0 {
		busy = npSum(sum.e2e) / sum.duration
	}
	s.fixed("Concurrency:", "concurrency", busy)
	s.end()
	sglangLatency(t, "End-to-End Latency", "E2E Latency", "e2e_latency", newDist(sum.e2e))
	sglangLatency(t, "Time to First Token", "TTFT", "ttft", orZero(sum.ttft))
	sglangLatency(t, "Time per Output Token (excl. 1st token)", "TPOT", "tpot", orZero(sum.tpot))
	sglangLatency(t, "Inter-Token Latency", "ITL", "itl", orZero(sum.itl))
	sglangFaults(t, r, all, sum)
	return t, nil
}

func sglangLatency(t *Table, title, name, key string, d dist) {
	s := t.begin(title)
	s.fixed("Mean "+name+" (ms):", "mean_"+key+"_ms", d.mean*1000)
	s.fixed("Median "+name+" (ms):", "median_"+key+"_ms", d.median*1000)
	t.set("std_"+key+"_ms", d.std*1000)
	for _, p := range []float64{90, 95, 99} {
		s.fixed(fmt.Sprintf("P%g %s (ms):", p, name), fmt.Sprintf("p%g_%s_ms", p, key), d.p(p)*1000)
	}
	if key == "itl" {
		s.fixed("Max ITL (ms):", "max_itl_ms", d.max()*1000)
	}
	s.end()
}

// The backends of bench_serving that a run can stand for.
const (
	sglangNative = "sglang"
	sglangText   = "sglang-oai"
	sglangChat   = "sglang-oai-chat"
)

// SGLangBackend is the backend of bench_serving that speaks the run's API; the chat
// one for APIs that it does not know.
func SGLangBackend(r *Run) string {
	switch r.API {
	case "sglang-generate":
		return sglangNative
	case "openai-completions":
		return sglangText
	}
	return sglangChat
}

func sglangRecords(r *Run) ([]recorded, error) {
	sent, _ := measured(r)
	all := make([]recorded, 0, len(sent))
	for _, q := range sent {
		all = append(all, recorded{sglangRecord(r, q), q})
	}
	return all, nil
}

func sglangRecord(r *Run, q *Request) Record {
	backend := SGLangBackend(r)
	rec := Record{Start: float64(q.Released.V) / second, Input: q.Asked.Input.Or(q.Tokens.Input.Or(0)), Success: q.answered(), ITL: []float64{}}
	if backend == sglangText && q.has("e") { // no choices to index
		rec.Success = false
	}
	if !rec.Success {
		rec.Error = cause(q)
		return rec
	}
	rec.Output = q.Asked.Output.Or(q.tokens())
	switch {
	case !q.Streamed:
		// --disable-stream, or one JSON line where a stream was expected: chat has no
		// delta to find there, the others have their text.
		rec.Latency = since(q.Released, q.End)
		if !r.Stream || backend != sglangChat {
			rec.TTFT = rec.Latency
		}
		rec.Output = q.tokens()
	case backend == sglangNative:
		rec.Output = q.tokens()
		sglangCumulative(&rec, q)
	default:
		sglangPieces(&rec, q, backend == sglangChat)
	}
	return rec
}

// sglangPieces goes through a stream whose events carry pieces of text.
func sglangPieces(rec *Record, q *Request, chat bool) {
	start, last := q.Released.V, q.Released.V
	for e := range q.Events() {
		rec.Latency = float64(e.T-start) / second
		if e.Kind != tape.KindContent && !(chat && e.Kind == tape.KindReasoning) {
			continue
		}
		if rec.TTFT == 0 {
			rec.TTFT = float64(e.T-start) / second
		} else {
			rec.ITL = append(rec.ITL, float64(e.T-last)/second)
		}
		last = e.T
	}
}

// maxFresh bounds the tokens of one event; no engine makes as many in one step.
const maxFresh = 1 << 16

// sglangCumulative goes through a stream whose events carry the whole text so far:
// once there is one, every event has text, and counts when it brings new tokens.
func sglangCumulative(rec *Record, q *Request) {
	start, last := q.Released.V, q.Released.V
	known, text := int64(0), false
	for e := range q.Events() {
		rec.Latency = float64(e.T-start) / second
		text = text || e.Kind == tape.KindContent || e.Kind == tape.KindReasoning
		if !text || !tape.IsToken(e.Kind) {
			continue
		}
		count := e.Tok
		if count < 0 {
			count = known + 1
		}
		fresh := count - known
		if rec.TTFT == 0 {
			rec.TTFT = float64(e.T-start) / second
		} else if fresh <= 0 {
			continue
		} else {
			share := float64(e.T-last) / second / float64(fresh)
			for range min(fresh, maxFresh) {
				rec.ITL = append(rec.ITL, share)
			}
		}
		last, known = e.T, count
	}
}

// retokenized is the sum of the tape's counts where all came from a tokenizer over
// the text.
func retokenized(all []recorded) (n int64, ok bool) {
	for i := range all {
		if !all[i].Success {
			continue
		}
		if all[i].q.Tokens.OutputSource != tape.SourceTokenizer {
			return 0, false
		}
		n += all[i].q.Tokens.Output.Or(0)
	}
	return n, true
}

func sglangFaults(t *Table, r *Run, all []recorded, sum totals) {
	var blind, asked, done, speculated int64
	for i := range all {
		rec := &all[i]
		if !rec.Success {
			continue
		}
		q := rec.q
		if rec.TTFT == 0 {
			blind++
		}
		if got := q.Tokens.Output; got.OK && got.V != rec.Output {
			asked++
		}
		if q.has("du") {
			done++
		}
		if q.Tokens.Verify.OK || q.Tokens.Accepted.OK {
			speculated++
		}
	}
	t.fault(asked > 0, "It asks for no usage and counts max_tokens as output, whatever came; TPOT divides by that.", many(asked, "answer", "answers")+" of another length")
	t.fault(blind > 0, "A stream without text, tool calls alone for one, has TTFT 0.00, and that enters the statistics.", many(blind, "answer", "answers"))
	t.fault(done > 0, "E2E ends with the last event of all, usage and [DONE] too, and TPOT takes that wait in.", many(done, "answer", "answers"))
	if SGLangBackend(r) != sglangNative {
		bundled := bundles(all)
		t.fault(bundled > 0, "ITL is one gap an event, whatever the number of tokens in it: it is no time between tokens then, TPOT is. Peak output tokens counts events too.", many(bundled, "answer", "answers"))
	}
	t.fault(speculated > 0, "With an accept length from /server_info it prints that, and divides each gap of ITL by the tokens of its text; neither is on the tape.", many(speculated, "answer", "answers"))
	t.fault(len(all) > 0, "Its clock stops after a GET /server_info, so that it prints a longer duration and less throughput, most of all on short runs; that time is not on the tape.", "every run")
	t.fault(len(all) > 0, "It makes a new connection for each request, within TTFT; the tape's times are those of its own connections.", "every run")
	t.fault(sum.failed > 0, "It prints no count of failed requests.", many(sum.failed, "request", "requests"))
	t.fault(sum.completed == 0, "Without a success its E2E is nan, and newer numpy stops there with an error.", "no request succeeded")
	servingFaults(t, r, all, sum)
}
