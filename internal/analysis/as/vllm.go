package as

import (
	"errors"

	"tokentape/tape"
)

// vllm is `vllm bench serve` of 2026-08-19 (commit eac636a7fa): its chat client
// for chat APIs, its completions client for openai-completions. Errors: the run did
// not ask for streams, which that client always does.
//
//	TTFT  first event with choices, the role chunk too − send
//	ITL   gaps between events with choices, one an event
//	E2E   chat: last event before [DONE], the usage chunk too; completions: last
//	      event with choices; − send
//	TPOT  (E2E − TTFT) ÷ (output tokens − 1), of answers of 2 tokens and more
//
// Output tokens are usage.completion_tokens, else its tokenizer over the text.
// Statistics are numpy's over successful requests, with 0 where there are none; a
// status 200 with one event with choices is success.
func vllm(r *Run) (*Table, error) {
	all, err := vllmRecords(r)
	if err != nil {
		return nil, err
	}
	sum := sumUp(all)
	t := &Table{
		Tool: "vllm", Title: "vLLM bench serve (definitions of commit eac636a7fa, 2026-08-19)",
		Rule: "All measured requests that were sent; successful is a 200 with at least one event with choices. Time runs from the first send to the last end, failures included. Printed as with --percentile-metrics ttft,tpot,itl,e2el.",
	}
	s := t.begin("Serving Benchmark Result")
	s.count("Successful requests:", "completed", sum.completed)
	s.count("Failed requests:", "failed", sum.failed)
	if r.Cap > 0 {
		s.count("Maximum request concurrency:", "max_concurrency", r.Cap)
	}
	if r.Rate > 0 {
		s.fixed("Request rate configured (RPS):", "request_rate", r.Rate)
	}
	s.fixed("Benchmark duration (s):", "duration", sum.duration)
	s.count("Total input tokens:", "total_input_tokens", sum.input)
	s.count("Total generated tokens:", "total_output_tokens", sum.output)
	s.fixed("Request throughput (req/s):", "request_throughput", sum.rate(sum.completed))
	s.fixed("Output token throughput (tok/s):", "output_throughput", sum.rate(sum.output))
	s.fixed("Peak output token throughput (tok/s):", "max_output_tokens_per_s", sum.peakTokens)
	s.fixed("Peak concurrent requests:", "max_concurrent_requests", sum.peakFlight)
	s.fixed("Total token throughput (tok/s):", "total_token_throughput", sum.rate(sum.input+sum.output))
	s.end()
	for _, m := range []struct {
		title, name, key string
		xs               []float64
	}{
		{"Time to First Token", "TTFT", "ttft", sum.ttft},
		{"Time per Output Token (excl. 1st token)", "TPOT", "tpot", sum.tpot},
		{"Inter-token Latency", "ITL", "itl", sum.itl},
		{"End-to-end Latency", "E2EL", "e2el", sum.e2e},
	} {
		d := orZero(m.xs)
		s := t.begin(m.title)
		s.fixed("Mean "+m.name+" (ms):", "mean_"+m.key+"_ms", d.mean*1000)
		s.fixed("Median "+m.name+" (ms):", "median_"+m.key+"_ms", d.median*1000)
		t.set("std_"+m.key+"_ms", d.std*1000)
		s.fixed("P99 "+m.name+" (ms):", "p99_"+m.key+"_ms", d.p(99)*1000)
		s.end()
	}
	vllmFaults(t, r, all, sum)
	return t, nil
}

func vllmRecords(r *Run) ([]recorded, error) {
	if !r.Stream {
		return nil, errors.New("vllm bench serve always streams; this run asked for whole answers (workload.stream: false)")
	}
	sent, _ := measured(r)
	all := make([]recorded, 0, len(sent))
	for _, q := range sent {
		all = append(all, recorded{vllmRecord(r, q), q})
	}
	return all, nil
}

func vllmRecord(r *Run, q *Request) Record {
	rec := Record{Start: float64(q.Released.V) / second, Input: q.Tokens.Input.Or(q.Asked.Input.Or(0))}
	if q.Streamed {
		rec.TTFT, rec.Latency, rec.ITL, rec.Success = vllmStream(r, q)
	}
	rec.Success = rec.Success && q.answered()
	if !rec.Success {
		rec.Error = cause(q)
		return rec
	}
	rec.Output = q.tokens()
	return rec
}

// vllmStream goes through the events as the client does. The chat client moves its
// last stamp at every event, the completions client only at those with choices.
func vllmStream(r *Run, q *Request) (ttft, latency float64, itl []float64, any bool) {
	chat := r.API != "openai-completions"
	start, last := q.Released.V, q.Released.V
	itl = make([]float64, 0, q.NumEvents())
	for e := range q.Events() {
		choices := hasChoices(e.Kind)
		switch {
		case e.Kind == tape.KindDone:
			continue
		case !choices:
		case !any:
			any, ttft = true, float64(e.T-start)/second
		default:
			itl = append(itl, float64(e.T-last)/second)
		}
		if choices || chat {
			last = e.T
		}
	}
	return ttft, float64(last-start) / second, itl, any
}

// cause is what these clients would keep as the error.
func cause(q *Request) string {
	switch {
	case q.answered():
		return "Never received a valid chunk to calculate TTFT. This response will be marked as failed!"
	case q.Message != "":
		return q.Message
	}
	return string(q.Outcome)
}

func vllmFaults(t *Table, r *Run, all []recorded, sum totals) {
	var role, usage, unread, uncounted, finish int64
	for i := range all {
		rec := &all[i]
		if !rec.Success {
			continue
		}
		first, sawUsage := byte(0), false
		for e := range rec.q.Events() {
			if first == 0 && hasChoices(e.Kind) {
				first = e.Kind
			}
			sawUsage = sawUsage || e.Kind == tape.KindUsage
			if e.Kind == tape.KindFinish {
				finish++
			}
		}
		if !tape.IsToken(first) {
			role++
		}
		switch src := rec.q.Tokens.OutputSource; {
		case sawUsage:
			usage++
		case src == tape.SourceUsage:
			unread++
		case src != tape.SourceTokenizer:
			uncounted++
		}
	}
	chat := r.API != "openai-completions"
	t.fault(role > 0, "TTFT is the first event with choices, with text or without: a role chunk is one, and the first token is a gap of ITL then.", many(role, "answer", "answers"))
	t.fault(finish > 0, "An event with a finish reason and no text is one more gap of ITL.", many(finish, "event", "events"))
	t.fault(chat && usage > 0, "E2E of chat ends with the usage chunk, not with the last token, and TPOT takes that wait in.", many(usage, "answer", "answers"))
	bundled := bundles(all)
	t.fault(bundled > 0, "ITL is one gap an event, whatever the number of tokens in it: it is no time between tokens then, TPOT is. Peak output tokens counts events too.", many(bundled, "answer", "answers"))
	t.fault(unread > 0, "It reads usage only from an event without choices, else it counts the text with its own tokenizer; the server's count stands here.", many(unread, "answer", "answers"))
	t.fault(uncounted > 0, "Without usage it counts the text with its own tokenizer; the tape's own count stands here.", many(uncounted, "answer", "answers"))
	servingFaults(t, r, all, sum)
}
