package simserver

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"tokentape/internal/sim"
)

// Node is a server of a disaggregated pair, or what stands for both, or an exporter of
// the devices that they run on.
type Node string

// The nodes.
const (
	NodeUnified Node = "unified" // one server that does both
	NodePrefill Node = "prefill"
	NodeDecode  Node = "decode"
	NodeNPU     Node = "npu"  // NPU Exporter of MindCluster, for Ascend
	NodeDCGM    Node = "dcgm" // dcgm-exporter
)

// nodes are those that may have an address of their own.
var nodes = []Node{NodePrefill, NodeDecode, NodeNPU, NodeDCGM}

func (n Node) device() bool { return n == NodeNPU || n == NodeDCGM }

// paired reports whether prefill and decode have pages of their own, so that the entry
// has none.
func (o *Options) paired() bool {
	_, p := o.Nodes[NodePrefill]
	_, d := o.Nodes[NodeDecode]
	return p || d
}

// ServeNode answers as a node of the pair: its metrics page, health and server
// information; as an exporter of devices with its page alone.
func (s *Server) ServeNode(node Node) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.count(string(node) + r.URL.Path)
		if node.device() {
			if r.URL.Path != "/metrics" {
				http.NotFound(w, r)
				return
			}
			s.devicePage(w, r, node)
			return
		}
		w.Header().Set("Server", "uvicorn")
		switch r.URL.Path {
		case "/metrics", "/metrics/":
			s.metricsPage(w, r, node)
		case "/health":
		case "/get_server_info", "/server_info":
			s.serverInfo(w, r, node)
		default:
			writeJSON(w, http.StatusNotFound, map[string]string{"detail": "Not Found"})
		}
	})
}

// metricsPage answers in the text format of Prometheus, or as the faults of metrics
// pages say.
func (s *Server) metricsPage(w http.ResponseWriter, r *http.Request, node Node) {
	st, started := s.metrics.since(node, s.engine.Stats())
	m := metricsWriter{labels: `engine_type="` + string(node) + `",model_name="` + labelEscape.Replace(s.o.Model) + `"`}
	m.node(&st, node, s.kvTokens())
	m.head("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", "gauge")
	fmt.Fprintf(&m, "process_start_time_seconds %.3f\n", float64(started.UnixMilli())/1e3)
	s.faultyPage(w, r, node, m.Bytes())
}

// node writes what SGLang tells of a unified, prefill or decode server, by its names.
func (m *metricsWriter) node(st *sim.Stats, node Node, kv int64) {
	all := sim.NodeStats{
		Running: st.Running, Requests: st.Requests, PromptTokens: st.PromptTokens, CachedTokens: st.CachedTokens,
		GenerationTokens: st.GenerationTokens, UsedTokens: st.UsedTokens, E2E: st.E2E,
	}
	n, prefills, decodes := all, true, true
	switch node {
	case NodePrefill:
		n, decodes = st.Prefill, false
	case NodeDecode:
		n, prefills = st.Decode, false
	}
	queue := st.Queue
	if !prefills {
		queue = 0 // they wait in the queues below
	}
	m.gauge("num_running_reqs", "The number of running requests.", float64(n.Running))
	m.gauge("num_used_tokens", "The number of used tokens.", float64(n.UsedTokens))
	m.gauge("token_usage", "The token usage.", min(float64(n.UsedTokens)/float64(kv), 1))
	m.gauge("num_queue_reqs", "The number of requests in the waiting queue.", float64(queue))
	m.gauge("num_grammar_queue_reqs", "The number of requests in the grammar waiting queue.", 0)
	m.gauge("num_retracted_reqs", "The number of retracted requests.", 0)
	m.gauge("max_total_num_tokens", "Maximum total number of tokens in the KV cache pool.", float64(kv))
	switch node {
	case NodePrefill:
		m.gauge("num_prefill_prealloc_queue_reqs", "The number of requests in the prefill prealloc queue.", 0)
		m.gauge("num_prefill_inflight_queue_reqs", "The number of requests in the prefill inflight queue.", 0)
	case NodeDecode:
		m.gauge("num_decode_prealloc_queue_reqs", "The number of requests in the decode prealloc queue.", float64(st.Queue))
		m.gauge("num_decode_transfer_queue_reqs", "The number of requests in the decode transfer queue.", float64(n.Ahead))
	}
	if prefills {
		m.gauge("cache_hit_rate", "The prefix cache hit rate.", st.CacheHitRate)
		m.histogram("queue_time_seconds", "Histogram of queueing time in seconds.", st.QueueTime)
	}
	if decodes {
		m.gauge("gen_throughput", "The generation throughput (token/s).", st.GenThroughput)
		m.gauge("spec_accept_length", "The average acceptance length of speculative decoding.", st.AcceptLength)
		m.gauge("spec_accept_rate", "The average acceptance rate of speculative decoding (`accepted tokens / total draft tokens` in batch).", st.AcceptRate)
		m.histogram("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", st.ITL)
	}
	m.head("sglang:realtime_tokens_total", "Total number of tokens processed (updated on each log interval). mode: prefill_compute, prefill_cache, decode.", "counter")
	for _, c := range []struct {
		mode string
		v    int64
		here bool
	}{{"prefill_compute", st.PrefillComputed, prefills}, {"prefill_cache", st.PrefillCached, prefills}, {"decode", st.Decoded, decodes}} {
		if c.here {
			fmt.Fprintf(m, "sglang:realtime_tokens_total{%s,mode=%q} %d\n", m.labels, c.mode, c.v)
		}
	}
	m.counter("prompt_tokens_total", "Number of prefill tokens processed.", n.PromptTokens)
	m.counter("generation_tokens_total", "Number of generation tokens processed.", n.GenerationTokens)
	m.counter("cached_tokens_total", "Number of cached prompt tokens.", n.CachedTokens)
	m.counter("num_requests_total", "Number of requests processed.", n.Requests)
	m.counter("num_aborted_requests_total", "Number of requests aborted.", st.Aborted)
	m.histogram("time_to_first_token_seconds", "Histogram of time to first token in seconds.", st.TTFT)
	m.histogram("e2e_request_latency_seconds", "Histogram of End-to-end request latency in seconds", n.E2E)
}

var labelEscape = strings.NewReplacer("\\", "\\\\", "\n", `\n`, `"`, `\"`)

type metricsWriter struct {
	bytes.Buffer
	labels string
}

func (m *metricsWriter) head(name, help, kind string) {
	fmt.Fprintf(m, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (m *metricsWriter) gauge(name, help string, v float64) {
	m.head("sglang:"+name, help, "gauge")
	fmt.Fprintf(m, "sglang:%s{%s} %g\n", name, m.labels, v)
}

func (m *metricsWriter) counter(name, help string, v int64) {
	m.head("sglang:"+name, help, "counter")
	fmt.Fprintf(m, "sglang:%s{%s} %d\n", name, m.labels, v)
}

func (m *metricsWriter) histogram(name, help string, h sim.Histogram) {
	m.head("sglang:"+name, help, "histogram")
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
