package aisbench

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tokentape/internal/analysis/as"
)

// types are AISBench's model classes by our names of APIs.
var types = map[string]string{
	"openai-chat": "VLLMCustomAPIChat", "openai-completions": "VLLMCustomAPI", "tgi": "TGICustomAPI", "triton-generate": "TritonCustomAPI",
}

// config writes configs/TIME_MODEL_DATASET.py: what was asked, for AISBench's own
// perf_viz, which takes names and batch_size from a config, and for tokentape import
// aisbench. What the tape does not know is left out. Secrets are read from the
// environment and never written.
func (l *Layout) config(r *as.Run, q asked) error {
	dir := filepath.Join(l.Dir, "configs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Run %s, sent by tokentape, as far as its tape tells.\nimport os\n\nmodels = [\n    dict(\n", pyComment(r.ID))
	field := func(name, value string) { fmt.Fprintf(&b, "        %s=%s,\n", name, value) }
	field("attr", `"service"`)
	field("abbr", pyString(l.Model))
	if t := types[r.API]; t != "" {
		field("type", pyString("ais_bench.benchmark.models."+t))
	}
	field("path", pyString(l.Path))
	field("model", pyString(r.Model))
	field("stream", pyBool(r.Stream))
	field("request_rate", strconv.FormatFloat(r.Rate, 'g', -1, 64))
	field("api_key", `os.environ.get("API_KEY", "")`)
	field("url", pyString(r.URL))
	if r.Rate > 0 {
		if b, ok := map[string]float64{"constant": 0, "poisson": 1, "gamma": q.Load.Burstiness}[r.Arrivals]; ok {
			field("traffic_cfg", fmt.Sprintf("dict(burstiness=%v)", b))
		}
	}
	if n := max(r.Cap, q.Load.Sessions); n > 0 {
		field("batch_size", strconv.FormatInt(n, 10))
	}
	if n := q.Load.Attempts; n > 0 {
		field("retry", strconv.FormatInt(n, 10))
	}
	if n, err := q.Workload.Output.Int64(); err == nil && n > 0 {
		field("max_out_len", strconv.FormatInt(n, 10))
	}
	kwargs := q.Workload.Sampling
	if body := q.Workload.Body; body != nil && kwargs == nil { // of few shots, beside what other fields say
		kwargs = maps.Clone(body)
		for _, name := range []string{"model", "messages", "stream", "stream_options", "max_tokens"} {
			delete(kwargs, name)
		}
		if n, ok := body["max_tokens"].(json.Number); ok && q.Workload.Output == "" {
			field("max_out_len", n.String())
		}
	}
	field("generation_kwargs", pyValue("", kwargs))
	b.WriteString("    )\n]\n\ndatasets = [\n    dict(\n")
	field("abbr", pyString(l.Dataset))
	q.dataset(field, r.Dataset)
	b.WriteString("    )\n]\n")
	name := fmt.Sprintf("%s_%s_%s.py", filepath.Base(l.Dir), l.Model, l.Dataset)
	return create(filepath.Join(dir, name), func(f *os.File) error {
		_, err := f.WriteString(b.String())
		return err
	})
}

// pyString is a Python text literal: JSON's is one.
func pyString(s string) string { return string(pyJSON(s)) }

func pyBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// pyComment keeps a text on one line.
func pyComment(s string) string { return strings.Join(strings.Fields(s), " ") }
