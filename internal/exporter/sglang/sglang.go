package sglang

import (
	"encoding/json"
	"fmt"
	"io"

	"tokentape/internal/analysis/as"
	"tokentape/internal/exporter"
)

// Write writes the line of r to w. With detailed it holds the lists of one value a
// request too, as --output-details. Errors: those of w.
func Write(w io.Writer, r *as.Run, detailed bool) error {
	t, err := as.Make("sglang", r)
	if err != nil {
		return err
	}
	var o exporter.Object
	o.Add("tag", r.Name)
	o.Add("backend", as.SGLangBackend(r))
	o.Add("dataset_name", nil)
	o.Add("request_rate", exporter.Rate(r))
	o.Add("max_concurrency", exporter.Cap(r))
	for _, name := range []string{"sharegpt_output_len", "random_input_len", "random_output_len", "random_range_ratio", "server_info"} {
		o.Add(name, nil)
	}
	o.Add("tokentape_run", r.ID)
	o.Copy(t.Values, "duration", "completed", "total_input_tokens", "total_input_text_tokens")
	o.Add("total_input_vision_tokens", nil)
	o.Copy(t.Values, "total_output_tokens", "total_output_tokens_retokenized",
		"request_throughput", "input_throughput", "output_throughput", "total_throughput")
	for _, m := range []string{"e2e_latency", "ttft", "tpot", "itl"} {
		o.Copy(t.Values, "mean_"+m+"_ms", "median_"+m+"_ms", "std_"+m+"_ms", "p90_"+m+"_ms", "p95_"+m+"_ms", "p99_"+m+"_ms")
	}
	o.Copy(t.Values, "concurrency")
	o.Add("accept_length", nil)
	o.Copy(t.Values, "max_output_tokens_per_s", "max_concurrent_requests")
	if detailed {
		records, err := as.Records("sglang", r)
		if err != nil {
			return err
		}
		a := exporter.NewArrays(records)
		o.Add("input_lens", a.Inputs)
		o.Add("output_lens", a.Outputs)
		o.Add("ttfts", a.TTFTs)
		o.Add("itls", a.ITLs)
		o.Add("errors", a.Errors)
	}
	b, err := json.Marshal(&o)
	if err != nil {
		return fmt.Errorf("the export cannot be written: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
