package aisbench

import (
	"fmt"
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

// config writes configs/TIME_MODEL_DATASET.py: enough for AISBench's own perf_viz,
// which takes names and batch_size from a config. What the tape does not know is
// left out. The key is read from the environment and never written.
func (l *Layout) config(r *as.Run) error {
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
	if r.Cap > 0 {
		field("batch_size", strconv.FormatInt(r.Cap, 10))
	}
	field("generation_kwargs", "dict()")
	fmt.Fprintf(&b, `    )
]

datasets = [
    dict(
        abbr=%s,
        type="ais_bench.benchmark.datasets.custom.CustomDataset",
        infer_cfg=dict(inferencer=dict(type="ais_bench.benchmark.openicl.icl_inferencer.GenInferencer")),
    )
]
`, pyString(l.Dataset))
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
