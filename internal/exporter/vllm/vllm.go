package vllm

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"tokentape/internal/analysis/as"
	"tokentape/internal/exporter"
)

// Write writes the result file of r to w, one line. With detailed it holds the
// lists of one value a request too, as --save-detailed. Errors: r cannot be told by
// vLLM's definitions (it always streams), or w's.
func Write(w io.Writer, r *as.Run, detailed bool) error {
	t, err := as.Make("vllm", r)
	if err != nil {
		return err
	}
	var o exporter.Object
	o.Add("date", date(r.Wall))
	o.Add("endpoint_type", backend(r))
	o.Add("backend", backend(r))
	o.Add("label", text(r.Name))
	o.Add("model_id", text(r.Model))
	o.Add("tokenizer_id", nil)
	o.Add("num_prompts", r.N)
	o.Add("tokentape_run", r.ID) // where they write --metadata
	o.Add("request_rate", exporter.Rate(r))
	o.Add("burstiness", burstiness(r))
	o.Add("max_concurrency", exporter.Cap(r))
	o.Copy(t.Values, "duration", "completed", "failed", "total_input_tokens", "total_output_tokens", "request_throughput")
	o.Add("request_goodput", nil)
	o.Copy(t.Values, "output_throughput", "total_token_throughput")
	if detailed {
		if err := details(&o, r); err != nil {
			return err
		}
	}
	o.Copy(t.Values, "max_output_tokens_per_s", "max_concurrent_requests")
	o.Add("rtfx", 0.0)
	for _, m := range []string{"ttft", "tpot", "itl", "e2el"} {
		o.Copy(t.Values, "mean_"+m+"_ms", "median_"+m+"_ms", "std_"+m+"_ms", "p99_"+m+"_ms")
	}
	b, err := json.Marshal(&o)
	if err != nil {
		return fmt.Errorf("the export cannot be written: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

func details(o *exporter.Object, r *as.Run) error {
	records, err := as.Records("vllm", r)
	if err != nil {
		return err
	}
	a := exporter.NewArrays(records)
	o.Add("input_lens", a.Inputs)
	o.Add("output_lens", a.Outputs)
	o.Add("ttfts", a.TTFTs)
	o.Add("itls", a.ITLs)
	o.Add("start_times", a.Starts)
	o.Add("errors", a.Errors)
	return nil
}

// backend is the name of the client that vLLM would have used.
func backend(r *as.Run) string {
	if r.API == "openai-completions" {
		return "openai"
	}
	return "openai-chat"
}

// burstiness is 1 of Poisson arrivals, and where it plays no part; null of other
// arrivals.
func burstiness(r *as.Run) any {
	if r.Rate <= 0 || r.Arrivals == "poisson" {
		return 1.0
	}
	return nil
}

// date is the time of the epoch as vLLM writes it, in UTC; null where it is not
// known.
func date(wall string) any {
	t, err := time.Parse(time.RFC3339Nano, wall)
	if err != nil {
		return nil
	}
	return t.UTC().Format("20060102-150405")
}

// text is null when empty.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}
