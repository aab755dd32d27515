package telemetry

import (
	"strings"
)

// Kinds of pages, as tape.Scrape names them, in the order in which they are sought:
// a page of Dynamo shows the metrics of the engine behind it, too.
const (
	KindDynamo   = "dynamo"
	KindSGLang   = "sglang"
	KindVLLM     = "vllm"
	KindTGI      = "tgi"
	KindLlamaCPP = "llamacpp"
	KindDCGM     = "dcgm"
	KindNPU      = "npu"
	KindNode     = "node"
	KindOther    = "other"
)

var kinds = []struct {
	kind     string
	prefixes []string // of names that only this kind has
	families []string // globs of what is kept
}{
	{KindDynamo, []string{"dynamo_"}, dynamoFamilies},
	{KindSGLang, []string{"sglang:"}, sglangFamilies},
	{KindVLLM, []string{"vllm:"}, vllmFamilies},
	{KindTGI, []string{"tgi_"}, tgiFamilies},
	{KindLlamaCPP, []string{"llamacpp:"}, llamacppFamilies},
	{KindDCGM, []string{"DCGM_FI_"}, dcgmFamilies},
	{KindNPU, []string{"npu_chip_", "npu_exporter_", "machine_npu_"}, npuFamilies},
	{KindNode, []string{"node_"}, nodeFamilies},
}

// anyFamilies are kept of every page: whether a server restarted, and what its
// process needs.
var anyFamilies = []string{"process_start_time_seconds", "process_cpu_seconds_total", "process_resident_memory_bytes"}

// The names are those that the servers' own sources and manuals give. Names that
// were given up stand beside those in their place, since both are in use.
// Counters of SGLang and vLLM end in _total on the page, also where the source
// names them without.

// python/sglang/srt/metrics/collector.py of SGLang.
var sglangFamilies = []string{
	"sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:num_grammar_queue_reqs", "sglang:num_paused_reqs",
	"sglang:num_retracted_reqs", "sglang:num_retracted_requests_total",
	"sglang:num_prefill_prealloc_queue_reqs", "sglang:num_prefill_inflight_queue_reqs",
	"sglang:num_decode_prealloc_queue_reqs", "sglang:num_decode_transfer_queue_reqs",
	"sglang:num_bootstrap_failed_reqs_total", "sglang:num_transfer_failed_reqs_total",
	"sglang:kv_transfer_*",
	"sglang:num_used_tokens", "sglang:max_total_num_tokens", "sglang:token_usage", "sglang:swa_token_usage", "sglang:pending_prealloc_token_usage",
	"sglang:cache_hit_rate", "sglang:cached_tokens_total", "sglang:evicted_tokens_total", "sglang:load_back_tokens_total",
	"sglang:prefetched_tokens_total", "sglang:backuped_tokens_total",
	"sglang:gen_throughput", "sglang:utilization", "sglang:gpu_execution_seconds_total", "sglang:realtime_tokens_total",
	"sglang:prompt_tokens_total", "sglang:generation_tokens_total",
	"sglang:num_requests_total", "sglang:num_aborted_requests_total",
	"sglang:spec_accept_length", "sglang:spec_accept_rate", "sglang:spec_verify_calls_total",
	"sglang:time_to_first_token_seconds", "sglang:inter_token_latency_seconds", "sglang:time_per_output_token_seconds",
	"sglang:e2e_request_latency_seconds", "sglang:queue_time_seconds", "sglang:per_stage_req_latency_seconds",
}

// vllm/v1/metrics/loggers.py and vllm/v1/spec_decode/metrics.py of vLLM, and what
// earlier versions said in their place.
var vllmFamilies = []string{
	"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:num_requests_waiting_by_reason", "vllm:num_requests_swapped",
	"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "vllm:cpu_cache_usage_perc", "vllm:cache_config_info",
	"vllm:prefix_cache_queries", "vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_queries", "vllm:gpu_prefix_cache_hits", "vllm:gpu_prefix_cache_hit_rate",
	"vllm:external_prefix_cache_queries", "vllm:external_prefix_cache_hits",
	"vllm:num_preemptions", "vllm:prompt_tokens", "vllm:prompt_tokens_cached", "vllm:generation_tokens", "vllm:request_success",
	"vllm:avg_prompt_throughput_toks_per_s", "vllm:avg_generation_throughput_toks_per_s",
	"vllm:time_to_first_token_seconds", "vllm:time_per_output_token_seconds", "vllm:inter_token_latency_seconds", "vllm:request_time_per_output_token_seconds",
	"vllm:e2e_request_latency_seconds", "vllm:request_queue_time_seconds", "vllm:request_prefill_time_seconds",
	"vllm:request_decode_time_seconds", "vllm:request_inference_time_seconds",
	"vllm:spec_decode_*", "vllm:nixl_xfer_time_seconds", "vllm:nixl_bytes_transferred", "vllm:nixl_num_failed_transfers",
}

// docs/source/reference/metrics.md of text-generation-inference.
var tgiFamilies = []string{
	"tgi_queue_size", "tgi_batch_current_size", "tgi_batch_current_max_tokens", "tgi_batch_next_size",
	"tgi_batch_forward_duration", "tgi_batch_inference_duration",
	"tgi_request_count", "tgi_request_success", "tgi_request_failure",
	"tgi_request_duration", "tgi_request_queue_duration", "tgi_request_inference_duration", "tgi_request_mean_time_per_token_duration",
	"tgi_request_generated_tokens", "tgi_request_input_length", "tgi_request_skipped_tokens",
}

// docs/observability/metrics.md of Dynamo.
var dynamoFamilies = []string{
	"dynamo_frontend_inflight_requests", "dynamo_frontend_active_requests", "dynamo_frontend_queued_requests", "dynamo_frontend_disconnected_clients", "dynamo_frontend_requests",
	"dynamo_frontend_time_to_first_token_seconds", "dynamo_frontend_inter_token_latency_seconds", "dynamo_frontend_request_duration_seconds",
	"dynamo_frontend_input_sequence_tokens", "dynamo_frontend_output_sequence_tokens", "dynamo_frontend_output_tokens", "dynamo_frontend_cached_tokens",
	"dynamo_frontend_model_migration",
	"dynamo_component_inflight_requests", "dynamo_component_requests", "dynamo_component_errors", "dynamo_component_request_duration_seconds",
	"dynamo_component_kvstats_*", "dynamo_component_kv_cache_hit_rate", "dynamo_component_gpu_cache_usage_percent", "dynamo_component_total_blocks",
}

// tools/server/README.md of llama.cpp. There is little of it: all is kept.
var llamacppFamilies = []string{"llamacpp:*"}

// node_exporter: processors, memory, network.
var nodeFamilies = []string{
	"node_boot_time_seconds", "node_load1", "node_cpu_seconds_total", "node_context_switches_total", "node_procs_running", "node_procs_blocked",
	"node_memory_MemTotal_bytes", "node_memory_MemAvailable_bytes", "node_memory_MemFree_bytes", "node_memory_Cached_bytes", "node_memory_SwapFree_bytes",
	"node_network_receive_bytes_total", "node_network_transmit_bytes_total", "node_network_receive_drop_total", "node_network_transmit_drop_total",
	"node_network_receive_errs_total", "node_network_transmit_errs_total", "node_netstat_Tcp_RetransSegs",
	"node_infiniband_port_data_received_bytes_total", "node_infiniband_port_data_transmitted_bytes_total",
}

// etc/default-counters.csv of dcgm-exporter.
var dcgmFamilies = []string{
	"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_MEM_COPY_UTIL", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE",
	"DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_MEMORY_TEMP",
	"DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_MEM_CLOCK", "DCGM_FI_DEV_XID_ERRORS",
	"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
	"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_SM_OCCUPANCY", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_DRAM_ACTIVE",
	"DCGM_FI_PROF_PCIE_*_BYTES", "DCGM_FI_PROF_NVLINK_*_BYTES", "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
}

// The Prometheus metrics of MindCluster's NPU Exporter for Ascend.
var npuFamilies = []string{
	"machine_npu_nums", "npu_chip_info_utilization", "npu_chip_info_overall_utilization", "npu_chip_info_vector_utilization", "npu_chip_info_hbm_utilization",
	"npu_chip_info_hbm_used_memory", "npu_chip_info_hbm_total_memory", "npu_chip_info_used_memory", "npu_chip_info_total_memory",
	"npu_chip_info_power", "npu_chip_info_temperature", "npu_chip_info_voltage", "npu_chip_info_aicore_current_freq",
	"npu_chip_info_health_status", "npu_chip_info_error_code", "npu_chip_info_network_status", "npu_chip_info_link_status",
	"npu_chip_info_bandwidth_rx", "npu_chip_info_bandwidth_tx",
}

// kindOf is the kind whose names begin like name, or "".
func kindOf(name string) string {
	for _, k := range kinds {
		for _, p := range k.prefixes {
			if strings.HasPrefix(name, p) {
				return k.kind
			}
		}
	}
	return ""
}

// rank is a kind's place in kinds; more than any for another word.
func rank(kind string) int {
	for i, k := range kinds {
		if k.kind == kind {
			return i
		}
	}
	return len(kinds)
}

// chooser decides which names are kept. The zero value keeps those of any page alone.
type chooser struct {
	all   bool
	globs []string
}

// choose is the chooser of a source: all, or the known families of its kind ("" or
// "auto": of every kind) and those that were named.
func choose(kind string, all bool, families []string) chooser {
	c := chooser{all: all, globs: append([]string{}, anyFamilies...)}
	for _, k := range kinds {
		if kind == "" || kind == "auto" || kind == k.kind {
			c.globs = append(c.globs, k.families...)
		}
	}
	c.globs = append(c.globs, families...)
	return c
}

// parts are the ends that the series of a family may have.
var parts = []string{"_bucket", "_sum", "_count", "_total", "_gsum", "_gcount"}

// keeps reports whether series of this name are kept: when a glob fits it, or the
// family that it is a part of.
func (c *chooser) keeps(name string) bool {
	if c.all {
		return true
	}
	family := name
	for _, end := range parts {
		if base, ok := strings.CutSuffix(name, end); ok {
			family = base
			break
		}
	}
	created := strings.HasSuffix(name, "_created") // when a counter began: kept where it is asked for by name
	for _, g := range c.globs {
		if created && strings.Contains(g, "*") {
			continue
		}
		if fits(g, name) || family != name && fits(g, family) {
			return true
		}
	}
	return false
}

// fits reports whether a name is as a glob says, * for any text.
func fits(glob, name string) bool {
	if !strings.Contains(glob, "*") {
		return glob == name
	}
	first, rest, _ := strings.Cut(glob, "*")
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	for {
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], after
	}
}
