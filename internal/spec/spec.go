package spec

// Spec is what the user asked for. Read-only after Read. Every field has a
// default (Default), and the resolved Spec, secrets masked, stands in the tape's
// header.
type Spec struct {
	Name      string    `json:"name"`
	Target    Target    `json:"target"`
	Workload  Workload  `json:"workload"`
	Load      Load      `json:"load"`
	Limits    Limits    `json:"limits"`
	Record    Record    `json:"record"`
	Report    Report    `json:"report"`
	Devices   Devices   `json:"devices"`
	Telemetry Telemetry `json:"telemetry"`
	Seeds     Seeds     `json:"seeds"`

	from map[string]place // where each given value came from, by field path
}

// Target is the server.
type Target struct {
	URL       string            `json:"url"`   // any of the forms that ResolveURL takes
	API       string            `json:"api"`   // dialect name; "openai-chat"
	Model     string            `json:"model"` // empty: the only id of /v1/models
	APIKey    string            `json:"api_key"`
	Headers   map[string]string `json:"headers"`
	Tokenizer string            `json:"tokenizer"` // folder or file of the model's own tokenizer; empty: counts come from the server alone
	Insecure  bool              `json:"insecure"`  // do not verify TLS certificates
	CAFile    string            `json:"ca_file"`
}

// Workload is what is asked.
type Workload struct {
	Dataset      Dataset        `json:"dataset"`
	Template     string         `json:"template"`      // "{question}": fields of the row in braces
	System       string         `json:"system"`        // system message, chat APIs only
	OutputTokens int64          `json:"output_tokens"` // max_tokens of every request; 0: the server's own limit, or the row's max_tokens
	Sampling     map[string]any `json:"sampling"`      // merged into the body: temperature, ignore_eos …
	Stream       bool           `json:"stream"`
	Repeat       string         `json:"repeat"` // "none" or "cycle": what happens when rows run out
	Order        string         `json:"order"`  // "file" or "shuffle"
}

// Dataset names the rows.
type Dataset struct {
	Path   string `json:"path"`
	Format string `json:"format"` // "auto", "jsonl", …
}

// Load is when and how much. Requests (N), Concurrency (C) and Rate (r) are
// three separate constraints. (The function that loads a spec is Read.)
type Load struct {
	Requests    int64    `json:"requests"`    // N; with Duration unset the default is 1
	Concurrency int64    `json:"concurrency"` // C, cap on requests in flight; 0: no cap (needs a rate)
	Rate        float64  `json:"rate"`        // r, requests per second; 0: closed loop
	Arrivals    string   `json:"arrivals"`    // "constant", "poisson", "gamma"
	Burstiness  float64  `json:"burstiness"`  // gamma only: shape; 1 is Poisson, smaller is burstier
	Conditioned bool     `json:"conditioned"` // poisson only: rescaled so that N arrivals take (N−1)/r exactly
	Duration    Duration `json:"duration"`    // issue until then; 0: until N
	Ramp        Ramp     `json:"ramp"`
	Warmup      int64    `json:"warmup"`   // unmeasured requests before the measured ones
	Attempts    int64    `json:"attempts"` // tries per request; 1 sends once
	Tail        string   `json:"tail"`     // "none" or "auto"
}

// Ramp raises the rate (or, in a closed loop, the concurrency) at the start.
type Ramp struct {
	Shape    string   `json:"shape"`    // "" (none), "linear", "exponential"
	From     float64  `json:"from"`     // starting rate in requests/s, or starting concurrency; 0: 1
	Duration Duration `json:"duration"` // length of the ramp
}

// Limits end what takes too long. A zero duration is no limit.
type Limits struct {
	Connect     Duration `json:"connect"`
	FirstToken  Duration `json:"first_token"`
	Idle        Duration `json:"idle"` // silence between two reads of a stream
	Total       Duration `json:"total"`
	KeepAlive   Duration `json:"keep_alive"`   // how long an unused connection may be kept
	Drain       Duration `json:"drain"`        // how long running requests may take after an interrupt
	FailedShare float64  `json:"failed_share"` // share of failures that is still exit code 0
}

// Record says what is kept.
type Record struct {
	Output   string `json:"output"`   // "hash", "full", "none"
	Compress bool   `json:"compress"` // zstd
}

// Report says which tables are made.
type Report struct {
	Windows []string `json:"windows"` // "whole", "stable", "steady"
	SLO     SLO      `json:"slo"`
	Strict  []string `json:"strict"` // names of notes that are to count as failures
}

// SLO holds upper limits per request, in milliseconds; 0: no limit.
type SLO struct {
	TTFT float64 `json:"ttft_ms"`
	TPOT float64 `json:"tpot_ms"`
	ITL  float64 `json:"itl_ms"`
	E2E  float64 `json:"e2e_ms"`
}

// Devices divides system rates. In YAML a plain number or {prefill, decode}.
type Devices struct {
	Total   int64 `json:"total"`
	Prefill int64 `json:"prefill"`
	Decode  int64 `json:"decode"`
}

// Telemetry says what is sampled beside the requests.
type Telemetry struct {
	Interval Duration        `json:"interval"` // of client samples and scrapes
	Metrics  []MetricsSource `json:"metrics"`  // Prometheus endpoints to scrape
}

// MetricsSource is one Prometheus endpoint.
type MetricsSource struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// Seeds make a run repeatable. Unset ones derive from Run.
type Seeds struct {
	Run      int64  `json:"run"`
	Arrivals *int64 `json:"arrivals,omitempty"`
	Order    *int64 `json:"order,omitempty"`
}
