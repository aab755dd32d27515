package spec

// Spec is what the user asked for. Read-only after Read. Every field has a
// default (Default), and the resolved Spec, secrets masked, stands in the tape's
// header.
type Spec struct {
	// Names the run's folder, runs/NAME/; the spec file's own name when left out.
	Name     string   `json:"name"`
	Target   Target   `json:"target"`
	Workload Workload `json:"workload"`
	Load     Load     `json:"load"`
	// What is asked of the server before the load to find out what it reports, beside GETs: short, one answer in one piece and one stream; cache, those and a long prompt twice, which touches its prefix cache. They are recorded and counted apart; one that fails ends the run.
	Probe   string  `json:"probe"`
	Prepare Prepare `json:"prepare"`
	Limits  Limits  `json:"limits"`
	Record  Record  `json:"record"`
	Report  Report  `json:"report"`
	// Conditions that the results must meet: [steady.ttft_ms.p95 < 2000, counts.failed == 0], or every request: [finish == length]. One that misses ends the run with exit code 7.
	Expect    []string  `json:"expect"`
	Devices   Devices   `json:"devices"`
	Cost      Cost      `json:"cost"`
	Energy    Energy    `json:"energy"`
	Telemetry Telemetry `json:"telemetry"`
	// What else is to be known of the run, by names that the user makes up: {server_commit: 1a2b3c, cards: 8, scenario: chat}. A value under a credential's name is masked.
	Notes      map[string]string `json:"notes"`
	Provenance Provenance        `json:"provenance"`
	Seeds      Seeds             `json:"seeds"`
	Sweep      Sweep             `json:"sweep,omitzero"`
	Search     Search            `json:"search,omitzero"`

	from map[string]place // where each given value came from, by field path
}

// Target is the server.
type Target struct {
	// HOST:PORT, http(s)://HOST[:PORT][/PREFIX], that with /v1, or the full endpoint; unix:///SOCKET[:/PREFIX].
	URL string `json:"url"`
	// Several of them, instead of url: requests take them in turn.
	URLs []string `json:"urls"`
	// What the server speaks: openai-chat, openai-completions, openai-responses, anthropic-messages, sglang-generate, tgi, ollama, llamacpp, triton-generate; or custom.
	API    string `json:"api"`
	Custom Custom `json:"custom"`
	// Model id of every request; empty: the only id of /v1/models.
	Model string `json:"model"`
	// Sent as "Authorization: Bearer …" and never written anywhere: where a server repeats it, also in a recorded answer, it is masked as ***. Best as ${API_KEY}.
	APIKey string `json:"api_key"`
	// Headers of every request. Only values of harmless ones, such as Accept, are written down; of others a mask is.
	Headers map[string]string `json:"headers"`
	// Folder or file of the model's own tokenizer; empty: counts come from the server alone.
	Tokenizer string `json:"tokenizer"`
	// Do not verify TLS certificates.
	Insecure bool `json:"insecure"`
	// PEM file with the certificate authorities to trust.
	CAFile string `json:"ca_file"`
	// PEM file with the client's own certificate, for a server that asks for one.
	CertFile string `json:"cert_file"`
	// PEM file with the key of that certificate.
	KeyFile string `json:"key_file"`
	// Name that the server's certificate must carry, when it is not the URL's host.
	ServerName string `json:"server_name"`
	// Version of HTTP, spoken or refused: over TLS 2 is agreed on by ALPN, else it is spoken with prior knowledge.
	HTTP string `json:"http"`
	// http://HOST:PORT that requests go through, or environment for HTTP_PROXY and its kin; left out: none.
	Proxy string `json:"proxy"`
	// When names are looked up: once before the run, or for each connection.
	Resolve string `json:"resolve"`
	// Give connections all addresses of the name in turn, instead of the first that answers.
	Spread bool `json:"spread"`
	// Close a connection after so many requests; 0: never.
	RenewAfter int64 `json:"renew_after"`
	// Header that carries the id of each request, as on the tape; "": none is sent.
	RequestIDHeader string `json:"request_id_header"`
	// Header that carries the id of the session, the same for all its turns, such as X-Session-Id; left out: none is sent.
	SessionHeader string `json:"session_header"`
	// Field of the body that carries the output length, such as max_completion_tokens; left out: the API's own, max_tokens for openai-chat.
	MaxTokensField string `json:"max_tokens_field"`
}

// Custom says what the server speaks when target.api is custom. Fields of its
// answers are named by paths such as choices[0].text; left out: it does not say.
type Custom struct {
	// Of the endpoint; {model} in it stands for the model's id.
	Path string `json:"path"`
	// How a stream is cut into payloads; json: never a stream, which needs workload.stream: false. sse when left out.
	Framing string `json:"framing"`
	// Request body. In its texts {prompt}, {system}, {model}, {max_tokens} and {stream} are filled in; a text that is {messages}, {max_tokens} or {stream} alone becomes the list, number or boolean.
	Body map[string]any `json:"body"`
	// The generated text.
	Text string `json:"text"`
	// Each text holds all that came before.
	Cumulative bool `json:"cumulative"`
	// Text of reasoning.
	Reasoning string `json:"reasoning"`
	// Text of tool calls.
	ToolCall string `json:"tool_call"`
	// Why the answer ended.
	Finish string `json:"finish"`
	// An error in the answer; error when left out.
	Error string `json:"error"`
	// A payload that ends the stream, such as [DONE].
	Done string `json:"done"`
	// A field that is true in the last payload. Without done, done_path and finish a clean end of the body is the end.
	DonePath string      `json:"done_path"`
	Usage    CustomUsage `json:"usage"`
}

// CustomUsage holds the paths of token counts.
type CustomUsage struct {
	// Prompt tokens.
	Input string `json:"input"`
	// Output tokens; in a stream the count so far.
	Output string `json:"output"`
	// Prompt tokens that came from the prefix cache.
	Cached string `json:"cached"`
	// Output tokens that were reasoning.
	Reasoning string `json:"reasoning"`
	// Drafted tokens that were accepted.
	Accepted string `json:"accepted"`
	// Drafted tokens that were not.
	Rejected string `json:"rejected"`
	// Verify steps of speculation.
	Verify string `json:"verify"`
}

// Workload is what is asked.
type Workload struct {
	Dataset Dataset `json:"dataset"`
	// Several datasets in one load, in place of dataset.path: [{dataset: chat.jsonl, weight: 3}, {dataset: code.jsonl, weight: 1}].
	Mix []Part `json:"mix"`
	// The prompt, with fields of the row in braces: "{question}".
	Template string `json:"template"`
	// The whole request body in place of a prompt, fields of the row in braces: {inputs: "{question}"}.
	Body map[string]any `json:"body"`
	// System message; chat APIs only.
	System string `json:"system"`
	// Most output tokens of a request (max_tokens); 0: the row's own, or the server's limit.
	OutputTokens int64 `json:"output_tokens"`
	// Merged into the request body: temperature, top_p, ignore_eos and so on.
	Sampling map[string]any `json:"sampling"`
	// Stream the answer; without it there are no token times.
	Stream bool `json:"stream"`
	// What happens when rows run out: none is an error, cycle begins again (and hits the prefix cache).
	Repeat string `json:"repeat"`
	// Order in which rows are sent: as in the file, or shuffled by a seed.
	Order string `json:"order"`
	// What the server's prefix cache is expected to serve, checked against what it reports: auto, what the manifest beside a built set says of each row; zero, nothing.
	Cache string `json:"cache"`
	// Each row is a conversation (messages or ShareGPT): a session, whose next turn is sent after the answer to the one before.
	Sessions bool `json:"sessions"`
	// What stands in later turns for the earlier answers: the server's own, or those recorded in the row.
	History string `json:"history"`
}

// Part is one dataset of workload.mix, read as the other settings of
// workload.dataset say.
type Part struct {
	// The file; relative to the spec's folder.
	Dataset string `json:"dataset"`
	// Its share of the requests is weight ÷ sum of all weights; 1 when left out.
	Weight float64 `json:"weight"`
	// Its prompts; workload.template when left out.
	Template string `json:"template"`
	// Most output tokens where a row says nothing; workload.output_tokens when left out.
	OutputTokens int64 `json:"output_tokens"`
}

// Dataset names the rows, and says how they are read.
type Dataset struct {
	// The file; relative to the spec's folder.
	Path string `json:"path"`
	// auto goes by the file's name and the fields of its first row.
	Format string `json:"format"`
	// What the fields of a row are called: {question: prompt_text, max_tokens: n}.
	Columns map[string]string `json:"columns"`
	// Fields of the row that are sent as body fields of the same name, beside those of its own "extra".
	Extra []string `json:"extra"`
	// Use only rows whose fields have these values: {split: test}.
	Filter map[string]any `json:"filter"`
	// Rows to leave out at the start, after the filter.
	Skip int64 `json:"skip"`
	// Most rows to use; 0: all.
	Limit int64 `json:"limit"`
	// A row that cannot be read or asked ends it before anything is sent (fail), or is left out and counted (skip).
	OnBadRow string `json:"on_bad_row"`
	// Of a ShareGPT conversation: its first human turn, or everything up to its last human turn (all).
	Turns string `json:"turns"`
	// Unit of a trace's timestamps; auto goes by the trace's own rule and by their size.
	TimeUnit string `json:"time_unit"`
	// Tokens that one hash id of a Mooncake trace stands for.
	BlockTokens int64 `json:"block_tokens"`
	// Fields of a raw request body that target.model and workload.stream replace: [model, stream].
	Override []string `json:"override"`
}

// Prepare brings the server's prefix cache into a known state before the warm-up:
// what it sends is recorded and counted apart, and has ended before the load begins.
type Prepare struct {
	// URL that is sent a POST first, to empty the cache; a path such as /flush_cache is that of each server. Left out: none.
	Flush string `json:"flush"`
	// File of prompts to send, read as workload.dataset is; left out: workload.dataset itself.
	Dataset string `json:"dataset"`
	// How many rows of it, from the first; left out beside dataset: all.
	Rows int64 `json:"rows"`
	// Most of these requests in flight.
	Concurrency int64 `json:"concurrency"`
	// Output tokens of each (max_tokens), whatever the row says.
	OutputTokens int64 `json:"output_tokens"`
}

// Load is when and how much. Requests (N), Concurrency (C) and Rate (r) are
// three separate constraints.
type Load struct {
	// N, measured requests; of sessions at most so many turns in all, whatever load.sessions says. Left out beside duration: as many as fit; else 1.
	Requests int64 `json:"requests"`
	// C, most requests in flight. Left out beside rate: no cap; else 1.
	Concurrency int64 `json:"concurrency"`
	// r, requests per second (open loop). Left out: a closed loop, where each request waits for a free slot.
	Rate float64 `json:"rate"`
	// How requests at a rate are spaced; replay sends each row when its timestamp says.
	Arrivals string `json:"arrivals"`
	Replay   Replay `json:"replay"`
	// Shape of gamma arrivals: 1 is Poisson, smaller is burstier.
	Burstiness float64 `json:"burstiness"`
	// Rescale poisson arrivals so that N of them take exactly (N−1)/r seconds.
	Conditioned bool `json:"conditioned"`
	// Stop issuing after this time, ramp and warm-up included; left out: after N.
	Duration Duration `json:"duration"`
	Ramp     Ramp     `json:"ramp"`
	// Steps one after the other, in place of rate, concurrency and duration: [{rate: 5, duration: 30s}, {rate: 10, duration: 30s}].
	Stages []Stage `json:"stages"`
	// Between the opening of one slot of a closed loop and the next, at the start.
	Stagger Duration `json:"stagger"`
	// Measured sessions (workload.sessions); rate is then that of sessions. Left out beside duration or requests: as many as fit; else 1.
	Sessions int64 `json:"sessions"`
	// Most sessions open at once. Left out beside a rate: no cap; else 1.
	SessionConcurrency int64 `json:"session_concurrency"`
	Think              Think `json:"think"`
	// Unmeasured requests (or sessions) before the measured ones.
	Warmup int64 `json:"warmup"`
	// Tries per request; 1 sends once.
	Attempts int64   `json:"attempts"`
	Retry    Retry   `json:"retry"`
	Abandon  Abandon `json:"abandon"`
	// auto goes on with unmeasured requests until the measured ones have ended, so that the last do not run in an emptying batch.
	Tail string `json:"tail"`
}

// Retry says which failures are tried again (load.attempts above 1), and how
// long after. The wait holds the request's slot, and is part of its latency.
type Retry struct {
	// Outcome classes such as connect, reset, timeout, server_error; statuses such as "429"; "4xx" and "5xx".
	On      []string `json:"on"`
	Backoff Backoff  `json:"backoff"`
	// Wait at least as long as the answer's Retry-After says. Longer than backoff.max: the request is not tried again.
	RetryAfter bool `json:"retry_after"`
}

// Backoff is the wait before a further attempt: initial × factor^(n−1) before
// attempt n+1, at most max.
type Backoff struct {
	// Before the second attempt; 0: none.
	Initial Duration `json:"initial"`
	// From one wait to the next; 1 or more.
	Factor float64 `json:"factor"`
	// Longest wait.
	Max Duration `json:"max"`
	// Share of each wait, 0 to 1, by which it is drawn longer or shorter (seeds.retry).
	Jitter float64 `json:"jitter"`
}

// Abandon closes streams in the middle, as users do: requests of their own
// outcome, abandoned, which is neither success nor failure.
type Abandon struct {
	// Share of requests, 0 to 1, drawn by seeds.abandon.
	Share float64 `json:"share"`
	// Close after this many token events.
	AfterTokens int64 `json:"after_tokens"`
	// Or: close this long after the release of an attempt.
	After Duration `json:"after"`
}

// Ramp raises the rate (or, in a closed loop, the concurrency) at the start.
type Ramp struct {
	// Left out: no ramp.
	Shape string `json:"shape"`
	// Starting rate in requests/s, or starting concurrency; 1 when left out.
	From float64 `json:"from"`
	// Length of the ramp.
	Duration Duration `json:"duration"`
}

// Replay says which part of a trace is sent, and how fast (load.arrivals: replay).
type Replay struct {
	// Stretches the trace's time: 0.5 sends it twice as fast.
	Scale float64 `json:"scale"`
	// Send rows from this time of the trace on.
	From Duration `json:"from"`
	// Send rows before this time of the trace; left out: to its end.
	To Duration `json:"to"`
}

// Stage is a step of load.stages: a rate, or a concurrency, and for how long.
type Stage struct {
	// Requests (or sessions) per second in this stage.
	Rate float64 `json:"rate"`
	// Or: slots of a closed loop in this stage. Requests that run when slots close end as they would.
	Concurrency int64 `json:"concurrency"`
	// Length of the stage.
	Duration Duration `json:"duration"`
}

// Think is the user's pause between an answer and the next turn.
type Think struct {
	// fixed: always mean; uniform: from 0 to twice the mean; exponential.
	Kind string `json:"kind"`
	// Mean of the pause; 0: none.
	Mean Duration `json:"mean"`
}

// Limits end what takes too long. A zero duration is no limit.
type Limits struct {
	// To open a connection.
	Connect Duration `json:"connect"`
	// From the send to the first token.
	FirstToken Duration `json:"first_token"`
	// Silence between two reads of a stream.
	Idle Duration `json:"idle"`
	// From the send to the end of the answer.
	Total Duration `json:"total"`
	// How long an unused connection may be kept.
	KeepAlive Duration `json:"keep_alive"`
	// How long running requests may take after an interrupt, or when limits.abort stops the run.
	Drain Duration `json:"drain"`
	// Share of failed requests, 0 to 1, that is still a success.
	FailedShare float64 `json:"failed_share"`
	Abort       Abort   `json:"abort"`
}

// Abort stops the run when too many requests failed, of any phase; running ones
// may end within limits.drain.
type Abort struct {
	// Share of the ended requests, above 0 to 1; left out: no such rule.
	FailedShare float64 `json:"failed_share"`
	// Number of failed requests; left out: no such rule.
	Failed int64 `json:"failed"`
	// Ended requests below which the share is not judged.
	Min int64 `json:"min"`
	// Look only at requests that ended within this time; left out: at all of the run.
	Window Duration `json:"window"`
}

// Record says what is kept.
type Record struct {
	// Of each answer's text: a hash, all of it, or nothing.
	Output string `json:"output"`
	// Write the tape through zstd.
	Compress bool `json:"compress"`
}

// Report says which tables are made.
type Report struct {
	// Windows that get a table of their own: rules by name, or seconds:10..60,
	// rows:100..299, phase:warmup.
	Windows []string `json:"windows"`
	SLO     SLO      `json:"slo"`
	// Names of notes that are to count as failures.
	Strict []string `json:"strict"`
}

// SLO holds upper limits per request, in milliseconds; left out: no limit.
type SLO struct {
	// Time to first token.
	TTFT float64 `json:"ttft_ms"`
	// The same from due: waits for a slot count.
	TTFTFromDue float64 `json:"ttft_from_due_ms"`
	// Time per output token.
	TPOT float64 `json:"tpot_ms"`
	// Every gap between token events: the largest of a request.
	ITL float64 `json:"itl_ms"`
	// Whole request, to its last token.
	E2E float64 `json:"e2e_ms"`
	// The same from due.
	E2EFromDue float64 `json:"e2e_from_due_ms"`
}

// Devices divides system rates: a plain number, or {prefill, decode}.
type Devices struct {
	// Prefill + decode; cannot differ from their sum.
	Total int64 `json:"total"`
	// Devices that prefill.
	Prefill int64 `json:"prefill"`
	// Devices that decode.
	Decode int64 `json:"decode"`
}

// Cost is what the devices cost, for cost per token and per request.
type Cost struct {
	// Price of one device for an hour; of devices.total of them.
	PerDeviceHour float64 `json:"per_device_hour"`
	// Or: price of the whole for an hour.
	PerHour float64 `json:"per_hour"`
	// Shown beside the prices, such as USD.
	Currency string `json:"currency"`
}

// Energy is what the devices draw, for energy per token and per request.
type Energy struct {
	// Power of all devices together, taken as constant.
	Watts float64 `json:"watts"`
	// Or: a CSV file of time,watts that something else writes during the run; times with a zone or in Unix seconds. It is read when the run has ended, and kept beside the tape.
	PowerFile string `json:"power_file"`
}

// Telemetry says what is sampled beside the requests.
type Telemetry struct {
	// Between two samples of the client, and two scrapes.
	Interval Duration `json:"interval"`
	// Metrics pages to scrape: [{name: prefill-0, url: "10.0.0.1:30000", role: prefill}]. No other is.
	Metrics []MetricsSource `json:"metrics"`
	// Stamps of the kernel, which tell how long bytes lay there before the client read them (client wait): of a sample, one connection in eight; of all; or off. HTTP/1 over TCP alone.
	KernelStamps string `json:"kernel_stamps"`
}

// Provenance says what is written down of where a run comes from, beside what is found
// out anyway.
type Provenance struct {
	// Folder of source code, such as the server's or the model's, whose git state is recorded: commit, branch, changes.
	Source string `json:"source"`
}

// MetricsSource is one page in the text format of Prometheus or of OpenMetrics.
type MetricsSource struct {
	// Tells sources apart; the host when left out.
	Name string `json:"name"`
	// HOST:PORT means http://HOST:PORT/metrics.
	URL string `json:"url"`
	// What it tells of: prefill or decode workers, the entry of the service, a node, devices. Left out: not said.
	Role string `json:"role"`
	// What publishes it, which says which families are known; auto, or left out: known ones of every kind.
	Kind string `json:"kind"`
	// Between two scrapes of this page; telemetry.interval when left out.
	Interval Duration `json:"interval"`
	// Sent to it as "Authorization: Bearer …" and never written anywhere. Best as ${METRICS_KEY}. Left out: the target's own, on the target's own hosts.
	APIKey string `json:"api_key"`
	// Headers of each scrape. Only values of harmless ones are written down.
	Headers map[string]string `json:"headers"`
	// Keep every series of the page; without it those of known families.
	All bool `json:"all"`
	// Families to keep beside the known ones, * for any text: ["my_queue_*"].
	Families []string `json:"families"`
}

// Seeds make a run repeatable. Unset ones derive from Run.
type Seeds struct {
	// Seed of everything that is drawn at random.
	Run int64 `json:"run"`
	// Of arrival times alone.
	Arrivals *int64 `json:"arrivals,omitempty"`
	// Of the shuffled order of rows alone.
	Order *int64 `json:"order,omitempty"`
	// Of the jitter of waits before further attempts alone.
	Retry *int64 `json:"retry,omitempty"`
	// Of the choice of requests to abandon alone.
	Abandon *int64 `json:"abandon,omitempty"`
	// Of the choice among the datasets of workload.mix alone.
	Mix *int64 `json:"mix,omitempty"`
	// Of think times alone.
	Think *int64 `json:"think,omitempty"`
}

// Sweep is a run at each of several points (tokentape sweep): the fields that over
// names take their values in turn, and the rest of the spec holds at every point.
type Sweep struct {
	// What varies: [{field: load.concurrency, values: [1, 2, 4, 8]}]. Several make a grid, of which the first is slowest.
	Over []Axis `json:"over"`
	// N of each point, in place of load.requests: a number, or a multiple of the point's own concurrency, such as 10C. Left out: load says it.
	Requests string `json:"requests"`
	Until    Until  `json:"until"`
	// up, numbers ascending; down, the other way; shuffled, by seeds.run; interleaved, every point once in each of repeats rounds, shuffled.
	Order string `json:"order"`
	// Runs of each point.
	Repeats int64 `json:"repeats"`
	// Between the end of a point and the beginning of the next.
	Pause   Duration `json:"pause"`
	Between Between  `json:"between"`
	// distinct: no two points send the same rows of the dataset; same: all send the same ones, which the server's prefix cache may then hold.
	Prompts string `json:"prompts"`
	// More points than this are refused.
	MostPoints int64 `json:"most_points"`
	// CSV, JSON or YAML file of the values that are expected of points, shown beside the measured ones; relative to the spec's folder.
	Expected string `json:"expected"`
}

// Axis is one thing that varies in a sweep: a field, or several that go together.
type Axis struct {
	// Path of a field of the spec, such as load.concurrency.
	Field string `json:"field"`
	// Or: several, which take their values side by side.
	Fields []string `json:"fields"`
	// Its values: [1, 2, 4]; of several fields lists of as many: [[128, 8], [1024, 1]].
	Values []any `json:"values"`
	// Or a range of numbers: the first,
	From *float64 `json:"from,omitempty"`
	// the last,
	To *float64 `json:"to,omitempty"`
	// and how many, both included. Whole numbers are rounded to, where the field takes no others.
	Steps int64 `json:"steps"`
	// How they lie: equal steps, or equal ratios (log). linear when left out.
	Scale string `json:"scale"`
}

// Until ends a point as soon as its measurements are as exact as asked for.
type Until struct {
	// Half the width of the 95 % interval of the metric over its value, above 0 to 1; left out: no such rule.
	RelativeWidth float64 `json:"relative_width"`
	// What is judged: ttft_ms, tpot_ms or e2e_ms, and of it mean, p50, p90, p95 or p99.
	Metric string `json:"metric"`
	// A point ends after this time at the latest.
	AtMost Duration `json:"at_most"`
}

// Between is what is asked of the server between two points.
type Between struct {
	// URL that is sent a POST, such as one that empties the prefix cache; a path such as /flush_cache is that of each server. One that fails is said in the table. Left out: nothing is sent.
	Post string `json:"post"`
}

// Search looks for the highest load that keeps limits (tokentape search): load.rate or
// load.concurrency takes value after value, and the rest of the spec holds at all of
// them. One look is load.requests or load.duration long.
type Search struct {
	// What is sought: rate (load.rate, an open loop) or concurrency (load.concurrency, a closed one).
	For string `json:"for"`
	// The least load, where the search begins.
	From float64 `json:"from"`
	// The most load.
	To float64 `json:"to"`
	// Limits. Of each request: [ttft_ms < 500, tpot_ms < 30]; they go into report.slo, and share of the requests must keep all of them. Of the results of a look: [steady.ttft_ms.p95 < 2000]. Left out: report.slo alone.
	SLO []string `json:"slo"`
	// Share of requests, above 0 and below 1, that must keep report.slo.
	Share float64 `json:"share"`
	// highest: the highest load that holds; goodput: the load with the most requests per second that keep report.slo.
	Goal string `json:"goal"`
	// Two loads are told apart when the higher is at least 1 + precision times the lower.
	Precision float64 `json:"precision"`
	// Runs at most, those that measure the winner again among them. The more, the wider every bound: all decisions together are right with 95 %.
	MostLooks int64 `json:"most_looks"`
	// Time of all looks together; left out: no bound.
	AtMost Duration `json:"at_most"`
	// Length of a first run whose load climbs from from to to until the limits break, to know where to begin. Left out: none.
	Ramp Duration `json:"ramp"`
	// distinct: no two looks send the same rows of the dataset; same: all send the same ones, which the server's prefix cache may then hold.
	Prompts string `json:"prompts"`
}
