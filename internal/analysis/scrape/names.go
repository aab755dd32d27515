package scrape

// Type says what a row is made of.
type Type string

// The types of rows.
const (
	Gauge     Type = "gauge"     // a value that goes up and down
	Counter   Type = "counter"   // a value that only grows, until its process restarts
	Histogram Type = "histogram" // observations counted by upper bounds
	Ratio     Type = "ratio"     // of the increases of two counters
)

// Row is a value that has one name, whatever the engine calls its series. Its
// meaning stands in the catalogue, as server.NAME.
type Row struct {
	Name string
	Type Type
	// Mean: of several series (ranks, devices) the mean is the row; else their sum.
	Mean bool
}

// Rows are all named rows in the order in which they are shown.
var Rows = []Row{
	{"queue_depth", Gauge, false},
	{"running_requests", Gauge, false},
	{"prefill_queue", Gauge, false},
	{"prefill_transfer_queue", Gauge, false},
	{"decode_prealloc_queue", Gauge, false},
	{"decode_transfer_queue", Gauge, false},
	{"kv_usage", Gauge, true},
	{"kv_tokens", Gauge, false},
	{"cache_hit_rate", Gauge, true},
	{"cached_share", Ratio, true},
	{"generation_throughput", Gauge, false},
	{"accept_length", Gauge, true},
	{"accept_rate", Gauge, true},
	{"requests", Counter, false},
	{"aborted_requests", Counter, false},
	{"preemptions", Counter, false},
	{"prompt_tokens", Counter, false},
	{"cached_tokens", Counter, false},
	{"cached_tokens_device", Counter, false},
	{"cached_tokens_host", Counter, false},
	{"cached_tokens_storage", Counter, false},
	{"generation_tokens", Counter, false},
	{"cache_queries", Counter, false},
	{"cache_hits", Counter, false},
	{"verify_steps", Counter, false},
	{"drafted_tokens", Counter, false},
	{"accepted_tokens", Counter, false},
	{"ttft_ms", Histogram, false},
	{"itl_ms", Histogram, false},
	{"tpot_ms", Histogram, false},
	{"e2e_ms", Histogram, false},
	{"queue_time_ms", Histogram, false},
	{"device_utilisation", Gauge, true},
	{"device_memory_used", Gauge, false},
	{"device_power", Gauge, false},
	{"cpu_busy", Counter, false},
	{"memory_available", Gauge, false},
}

// alias is a series that one of the rows is called by, without its labels and,
// of a histogram, without _bucket, _sum and _count.
type alias struct {
	row, series string
	scale       float64 // to the row's unit; 0: 1
	// Of series with label, those alone whose value begins with one of in, or with
	// none of out.
	label   string
	in, out []string
	counts  string // what one observation is, and how it differs from the client's
	// token: an observation is one token, so that events of several tokens have no
	// neighbour in it.
	token bool
	// Of a gauge that stands at 0 where there is nothing to gauge: below least it says
	// nothing, nor does it at 0 while the row it goes with says nothing.
	least float64
	with  string
}

const (
	percent = 0.01
	mib     = 1 << 20
	toMS    = 1000
)

// What observations of histograms are.
const (
	ofArrival = "from the arrival at the server to the first token; the client's adds the connection, the network both ways and what the server does before it stamps the arrival"
	ofFinish  = "from the arrival at the server to the last token; the client's adds the network both ways"
	itlTokens = "once a token: the time since the tokens before ÷ the tokens that came"
	itlSteps  = "once a step that gave a request tokens; the client's is once an event that reached it"
)

// names are the series of each row. Of several that a page has for one row, the
// first in this order is the row. A series counts under its name with and without
// _total, and with sglang_ and vllm_ as with sglang: and vllm:.
var names = []alias{
	{row: "queue_depth", series: "sglang:num_queue_reqs"},
	{row: "running_requests", series: "sglang:num_running_reqs"},
	{row: "prefill_queue", series: "sglang:num_prefill_prealloc_queue_reqs"},
	{row: "prefill_transfer_queue", series: "sglang:num_prefill_inflight_queue_reqs"},
	{row: "decode_prealloc_queue", series: "sglang:num_decode_prealloc_queue_reqs"},
	{row: "decode_transfer_queue", series: "sglang:num_decode_transfer_queue_reqs"},
	{row: "kv_usage", series: "sglang:token_usage"},
	{row: "kv_tokens", series: "sglang:num_used_tokens"},
	{row: "cache_hit_rate", series: "sglang:cache_hit_rate"},
	{row: "generation_throughput", series: "sglang:gen_throughput"},
	{row: "accept_length", series: "sglang:spec_accept_length", least: 1},
	{row: "accept_rate", series: "sglang:spec_accept_rate", with: "accept_length"},
	{row: "requests", series: "sglang:num_requests_total"},
	{row: "aborted_requests", series: "sglang:num_aborted_requests_total"},
	{row: "preemptions", series: "sglang:num_retracted_requests_total"},
	{row: "prompt_tokens", series: "sglang:prompt_tokens_total"},
	{row: "cached_tokens", series: "sglang:cached_tokens_total"},
	{row: "cached_tokens_device", series: "sglang:cached_tokens_total", label: "cache_source", in: []string{"device"}},
	{row: "cached_tokens_host", series: "sglang:cached_tokens_total", label: "cache_source", in: []string{"host"}},
	{row: "cached_tokens_storage", series: "sglang:cached_tokens_total", label: "cache_source", in: []string{"storage"}},
	{row: "generation_tokens", series: "sglang:generation_tokens_total"},
	{row: "verify_steps", series: "sglang:spec_verify_calls_total"},
	{row: "ttft_ms", series: "sglang:time_to_first_token_seconds", scale: toMS, counts: ofArrival},
	{row: "itl_ms", series: "sglang:inter_token_latency_seconds", scale: toMS, counts: itlTokens, token: true},
	{row: "itl_ms", series: "sglang:time_per_output_token_seconds", scale: toMS, counts: itlTokens, token: true},
	{row: "e2e_ms", series: "sglang:e2e_request_latency_seconds", scale: toMS, counts: ofFinish},
	{row: "queue_time_ms", series: "sglang:queue_time_seconds", scale: toMS},

	{row: "queue_depth", series: "vllm:num_requests_waiting"},
	{row: "running_requests", series: "vllm:num_requests_running"},
	{row: "kv_usage", series: "vllm:kv_cache_usage_perc"},
	{row: "kv_usage", series: "vllm:gpu_cache_usage_perc"},
	{row: "cache_queries", series: "vllm:prefix_cache_queries_total"},
	{row: "cache_queries", series: "vllm:gpu_prefix_cache_queries_total"},
	{row: "cache_hits", series: "vllm:prefix_cache_hits_total"},
	{row: "cache_hits", series: "vllm:gpu_prefix_cache_hits_total"},
	{row: "requests", series: "vllm:request_success_total"},
	{row: "preemptions", series: "vllm:num_preemptions_total"},
	{row: "prompt_tokens", series: "vllm:prompt_tokens_total"},
	{row: "cached_tokens", series: "vllm:prompt_tokens_cached_total"},
	{row: "generation_tokens", series: "vllm:generation_tokens_total"},
	{row: "verify_steps", series: "vllm:spec_decode_num_drafts_total"},
	{row: "drafted_tokens", series: "vllm:spec_decode_num_draft_tokens_total"},
	{row: "accepted_tokens", series: "vllm:spec_decode_num_accepted_tokens_total"},
	{row: "ttft_ms", series: "vllm:time_to_first_token_seconds", scale: toMS, counts: ofArrival},
	{row: "itl_ms", series: "vllm:inter_token_latency_seconds", scale: toMS, counts: itlSteps},
	{row: "itl_ms", series: "vllm:time_per_output_token_seconds", scale: toMS, counts: itlSteps},
	{row: "tpot_ms", series: "vllm:request_time_per_output_token_seconds", scale: toMS, counts: "once a request, at its end"},
	{row: "e2e_ms", series: "vllm:e2e_request_latency_seconds", scale: toMS, counts: ofFinish},
	{row: "queue_time_ms", series: "vllm:request_queue_time_seconds", scale: toMS},

	{row: "queue_depth", series: "tgi_queue_size"},
	{row: "running_requests", series: "tgi_batch_current_size"},
	{row: "requests", series: "tgi_request_success"},
	{row: "prompt_tokens", series: "tgi_request_input_length_sum"},
	{row: "generation_tokens", series: "tgi_request_generated_tokens_sum"},
	{row: "tpot_ms", series: "tgi_request_mean_time_per_token_duration", scale: toMS, counts: "once a request, at its end: inference time ÷ tokens, prefill included; the client's leaves prefill out"},
	{row: "e2e_ms", series: "tgi_request_duration", scale: toMS, counts: ofFinish},
	{row: "queue_time_ms", series: "tgi_request_queue_duration", scale: toMS},

	{row: "queue_depth", series: "dynamo_frontend_queued_requests"},
	{row: "running_requests", series: "dynamo_frontend_inflight_requests"},
	{row: "kv_usage", series: "dynamo_component_gpu_cache_usage_percent"},
	{row: "kv_usage", series: "dynamo_component_kvstats_gpu_cache_usage_percent"},
	{row: "requests", series: "dynamo_frontend_requests_total"},
	{row: "prompt_tokens", series: "dynamo_frontend_input_sequence_tokens_sum"},
	{row: "cached_tokens", series: "dynamo_frontend_cached_tokens_sum"},
	{row: "generation_tokens", series: "dynamo_frontend_output_tokens_total"},
	{row: "generation_tokens", series: "dynamo_frontend_output_sequence_tokens_sum"},
	{row: "ttft_ms", series: "dynamo_frontend_time_to_first_token_seconds", scale: toMS, counts: ofArrival},
	{row: "itl_ms", series: "dynamo_frontend_inter_token_latency_seconds", scale: toMS, counts: itlSteps},
	{row: "e2e_ms", series: "dynamo_frontend_request_duration_seconds", scale: toMS, counts: ofFinish},

	{row: "queue_depth", series: "llamacpp:requests_deferred"},
	{row: "running_requests", series: "llamacpp:requests_processing"},
	{row: "kv_usage", series: "llamacpp:kv_cache_usage_ratio"},
	{row: "kv_tokens", series: "llamacpp:kv_cache_tokens"},
	{row: "prompt_tokens", series: "llamacpp:prompt_tokens_total"},
	{row: "generation_tokens", series: "llamacpp:tokens_predicted_total"},

	{row: "device_utilisation", series: "DCGM_FI_DEV_GPU_UTIL", scale: percent},
	{row: "device_memory_used", series: "DCGM_FI_DEV_FB_USED", scale: mib},
	{row: "device_power", series: "DCGM_FI_DEV_POWER_USAGE"},
	{row: "device_utilisation", series: "npu_chip_info_utilization", scale: percent},
	{row: "device_memory_used", series: "npu_chip_info_hbm_used_memory", scale: mib},
	{row: "device_memory_used", series: "npu_chip_info_used_memory", scale: mib},
	{row: "device_power", series: "npu_chip_info_power"},
	{row: "cpu_busy", series: "node_cpu_seconds_total", label: "mode", out: []string{"idle", "iowait", "guest"}},
	{row: "memory_available", series: "node_memory_MemAvailable_bytes"},
}

// ranks are labels of processes that do one piece of work together and each report
// all of it: one of them counts.
var ranks = []string{"tp_rank", "pp_rank", "moe_ep_rank"}

// startTime is the series that tells when the process behind a page began.
const startTime = "process_start_time_seconds"
