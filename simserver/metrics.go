package simserver

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"tokentape/internal/sim"
)

// metrics answers in the Prometheus text format, under SGLang's names.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	st := s.engine.Stats()
	m := metricsWriter{labels: `model_name="` + labelEscape.Replace(s.o.Model) + `"`}
	m.gauge("num_running_reqs", "The number of running requests.", float64(st.Running))
	m.gauge("num_used_tokens", "The number of used tokens.", float64(st.UsedTokens))
	m.gauge("token_usage", "The token usage.", min(float64(st.UsedTokens)/float64(s.kvTokens()), 1))
	m.gauge("gen_throughput", "The generation throughput (token/s).", st.GenThroughput)
	m.gauge("num_queue_reqs", "The number of requests in the waiting queue.", float64(st.Queue))
	m.gauge("cache_hit_rate", "The prefix cache hit rate.", st.CacheHitRate)
	m.gauge("max_total_num_tokens", "Maximum total number of tokens in the KV cache pool.", float64(s.kvTokens()))
	m.gauge("spec_accept_length", "The average acceptance length of speculative decoding.", st.AcceptLength)
	m.counter("prompt_tokens_total", "Number of prefill tokens processed.", st.PromptTokens)
	m.counter("generation_tokens_total", "Number of generation tokens processed.", st.GenerationTokens)
	m.counter("cached_tokens_total", "Number of cached prompt tokens.", st.CachedTokens)
	m.counter("num_requests_total", "Number of requests processed.", st.Requests)
	m.counter("num_aborted_requests_total", "Number of requests aborted.", st.Aborted)
	m.histogram("time_to_first_token_seconds", "Histogram of time to first token in seconds.", st.TTFT)
	m.histogram("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", st.ITL)
	m.histogram("e2e_request_latency_seconds", "Histogram of End-to-end request latency in seconds", st.E2E)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(m.Bytes())
}

var labelEscape = strings.NewReplacer("\\", "\\\\", "\n", `\n`, `"`, `\"`)

type metricsWriter struct {
	bytes.Buffer
	labels string
}

func (m *metricsWriter) head(name, help, kind string) {
	fmt.Fprintf(m, "# HELP sglang:%s %s\n# TYPE sglang:%s %s\n", name, help, name, kind)
}

func (m *metricsWriter) gauge(name, help string, v float64) {
	m.head(name, help, "gauge")
	fmt.Fprintf(m, "sglang:%s{%s} %g\n", name, m.labels, v)
}

func (m *metricsWriter) counter(name, help string, v int64) {
	m.head(name, help, "counter")
	fmt.Fprintf(m, "sglang:%s{%s} %d\n", name, m.labels, v)
}

func (m *metricsWriter) histogram(name, help string, h sim.Histogram) {
	m.head(name, help, "histogram")
	n := int64(0)
	for i, c := range h.Counts {
		n += c
		le := "+Inf"
		if i < len(h.Bounds) {
			le = strconv.FormatFloat(h.Bounds[i], 'g', -1, 64)
		}
		fmt.Fprintf(m, "sglang:%s_bucket{le=%q,%s} %d\n", name, le, m.labels, n)
	}
	fmt.Fprintf(m, "sglang:%s_sum{%s} %g\nsglang:%s_count{%s} %d\n", name, m.labels, h.Sum, name, m.labels, n)
}
