package aisbenchconfig

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"tokentape/internal/importer/aisbench/pyconf"
)

// packagePrefix begins the names of AISBench's own configs.
const packagePrefix = "ais_bench.benchmark.configs."

// packaged gives the text of a config of AISBench's own: from ConfigDir, else one of
// those that every user includes and nobody edits.
func (o Options) packaged(module string) (string, []byte, bool) {
	name, ok := strings.CutPrefix(module, packagePrefix)
	if !ok {
		return "", nil, false
	}
	if o.ConfigDir != "" {
		path := filepath.Join(o.ConfigDir, filepath.FromSlash(strings.ReplaceAll(name, ".", "/"))+".py")
		if f, err := pyconf.Open(path); err == nil {
			defer f.Close()
			if b, err := io.ReadAll(io.LimitReader(f, 10<<20)); err == nil { // pyconf says when it is too large
				return path, b, true
			}
		}
	}
	path := "AISBench's " + name[strings.LastIndexByte(name, '.')+1:] + ".py"
	switch name {
	case "summarizers.perf.default_perf":
		return path, summarizerOf("Default"), true
	case "summarizers.perf.stable_stage":
		return path, summarizerOf("Stable"), true
	}
	for _, m := range []struct {
		name, class string
		stream      bool
	}{
		{"vllm_api.vllm_api_stream_chat", "VLLMCustomAPIChat", true}, {"vllm_api.vllm_api_general_chat", "VLLMCustomAPIChat", false},
		{"vllm_api.vllm_api_stream", "VLLMCustomAPI", true}, {"vllm_api.vllm_api_general_stream", "VLLMCustomAPI", true}, {"vllm_api.vllm_api_general", "VLLMCustomAPI", false},
		{"tgi_api.tgi_stream_api_general", "TGICustomAPI", true}, {"tgi_api.tgi_api_general", "TGICustomAPI", false},
		{"mindie_api.mindie_stream_api_general", "MindieStreamApi", true},
	} {
		if name == "models."+m.name {
			return path, modelOf(m.class, strings.ReplaceAll(name[strings.LastIndexByte(name, '.')+1:], "_", "-"), m.stream), true
		}
	}
	return "", nil, false
}

func summarizerOf(kind string) []byte {
	return fmt.Appendf(nil, `summarizer = dict(attr="performance", type="DefaultPerfSummarizer", calculator=dict(
    type="%sPerfMetricCalculator", stats_list=["Average", "Min", "Max", "Median", "P75", "P90", "P99"]))
`, kind)
}

// modelOf is a model with the values that AISBench's files of it have.
func modelOf(class, abbr string, stream bool) []byte {
	py := "False"
	if stream {
		py = "True"
	}
	return fmt.Appendf(nil, `models = [dict(attr="service", type="%s", abbr="%s", path="", model="", stream=%s, request_rate=0, use_timestamp=False,
    retry=2, api_key="", host_ip="localhost", host_port=8080, url="", max_out_len=512, batch_size=1, trust_remote_code=False,
    generation_kwargs=dict(temperature=0.01, ignore_eos=False))]
`, class, abbr, py)
}
