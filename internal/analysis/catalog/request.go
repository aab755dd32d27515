package catalog

const (
	streamedOK = "ok requests of the window's cohort that were streamed"
	okCohort   = "ok requests of the window's cohort"
)

// metrics are values per request, in the order in which they are shown.
var metrics = []Entry{
	{Name: "ttft_ms", Kind: KindMetric, Title: "TTFT", Unit: "ms", Better: Lower,
		Definition: "first token event − release of the request; absent when not streaming",
		Brief:      "first token event − release; none when not streaming",
		Fields:     []string{"t_first_token", "t_released"}, Enters: streamedOK, Absent: "no token event, or not streamed"},
	{Name: "ttft_from_due_ms", Kind: KindMetric, Title: "TTFT from due", Unit: "ms", Better: Lower,
		Definition: "first token event − planned send (open loop; a session's later turn: the end of its pause)",
		Brief:      "first token event − planned send",
		Fields:     []string{"t_first_token", "t_due"}, Enters: streamedOK, Absent: "as TTFT; in a closed loop, but for later turns of sessions"},
	{Name: "ttfo_ms", Kind: KindMetric, Title: "TTFO", Unit: "ms", Better: Lower,
		Definition: "first token event outside reasoning − release",
		Fields:     []string{"t_first_visible", "t_released"}, Enters: streamedOK + "; shown where some request reasoned", Absent: "only reasoning came"},
	{Name: "tpot_ms", Kind: KindMetric, Title: "TPOT", Unit: "ms", Better: Lower,
		Definition: "(E2E − TTFT) ÷ (output tokens − tokens in the first token event)",
		Brief:      "(E2E − TTFT) ÷ (output tokens after the first token event)",
		Fields:     []string{"t_first_token", "t_last_token", "tokens.output", "events.tok"}, Enters: streamedOK + "; 1 token is assumed in the first event when the server sends no running counts, and said",
		Absent: "fewer than 2 token events; output tokens ≤ those of the first; several choices without counts per choice"},
	{Name: "itl_ms", Kind: KindMetric, Pooled: true, Title: "ITL", Unit: "ms", Better: Lower,
		Definition: "gap between successive token events of one choice, zeros kept; inter-event, not inter-token, when events carry several tokens",
		Brief:      "gap between successive token events of a choice, zeros kept",
		Fields:     []string{"events.dt", "events.kind", "events.choice"}, Enters: "all gaps of the ok requests of the cohort, pooled: n counts gaps", Absent: "fewer than 2 token events"},
	{Name: "e2e_ms", Kind: KindMetric, Title: "E2E", Unit: "ms", Better: Lower,
		Definition: "last token event − release; not streaming: end of the body − release",
		Brief:      "last token event − release (not streaming: end of the body)",
		Fields:     []string{"t_last_token", "t_end", "t_released"}, Enters: okCohort, Absent: "no output"},
	{Name: "e2e_from_due_ms", Kind: KindMetric, Title: "E2E from due", Unit: "ms", Better: Lower,
		Definition: "the same from the planned send",
		Fields:     []string{"t_last_token", "t_end", "t_due"}, Enters: okCohort, Absent: "as E2E; in a closed loop, but for later turns of sessions"},
	{Name: "stream_end_ms", Kind: KindMetric, Title: "stream end", Unit: "ms", Better: Lower,
		Definition: "end of the response − release",
		Fields:     []string{"t_end", "t_released"}, Enters: okCohort},
	{Name: "tokens_per_event", Kind: KindMetric, Title: "tokens/event", Unit: "tokens",
		Definition: "(output tokens − tokens in the first token event) ÷ (token events − 1)",
		Fields:     []string{"tokens.output", "events.kind", "events.tok"}, Enters: streamedOK, Absent: "unknown tokens, fewer than 2 token events"},
	{Name: "request_accept_length", Kind: KindMetric, Title: "accept length", Unit: "tokens", Better: Higher,
		Definition: "output tokens ÷ verify steps of one request; accept_length pools them",
		Fields:     []string{"tokens.output", "tokens.verify"}, Enters: okCohort, Absent: "the server reports no verify steps, or the count cannot be true"},
	{Name: "request_accept_rate", Kind: KindMetric, Title: "accept rate", Unit: "share", Better: Higher,
		Definition: "accepted ÷ (accepted + rejected) drafts of one request; accept_rate pools them",
		Fields:     []string{"tokens.accepted", "tokens.rejected"}, Enters: okCohort, Absent: "the server does not report both counts, none was drafted, or the counts cannot be true"},
	{Name: "input_tokens", Kind: KindMetric, Title: "input tokens", Unit: "tokens",
		Definition: "the server's usage, else the model's tokenizer over the templated prompt",
		Fields:     []string{"tokens.input", "tokens.input_source"}, Enters: okCohort, Absent: "neither counted it, or the count cannot be true"},
	{Name: "output_tokens", Kind: KindMetric, Title: "output tokens", Unit: "tokens",
		Definition: "the server's usage, else engine counters, else the model's tokenizer, else token events; never max_tokens",
		Fields:     []string{"tokens.output", "tokens.output_source"}, Enters: okCohort, Absent: "nothing counted it, or the count cannot be true"},
	{Name: "cached_tokens", Kind: KindMetric, Title: "cached tokens", Unit: "tokens", Better: Higher,
		Definition: "input tokens that the server says came from its prefix cache",
		Fields:     []string{"tokens.cached"}, Enters: okCohort + "; a missing count is an inferred 0 once its server has proved in this run that it reports counts above 0 and leaves 0 out",
		Absent: "its server has not proved that it reports them, reports 0 too, so that a count left out is unknown, or the count cannot be true"},
	{Name: "output_tokens_per_s", Kind: KindMetric, Title: "output tok/s", Unit: "tokens/s", Better: Higher,
		Definition: "output tokens ÷ E2E of one request",
		Fields:     []string{"tokens.output", "t_last_token", "t_end", "t_released"}, Enters: okCohort, Absent: "unknown output tokens, or no E2E"},
	{Name: "decode_tokens_per_s", Kind: KindMetric, Title: "decode tok/s", Unit: "tokens/s", Better: Higher,
		Definition: "1 ÷ TPOT of one request",
		Fields:     []string{"t_first_token", "t_last_token", "tokens.output", "events.tok"}, Enters: streamedOK, Absent: "as TPOT"},
	{Name: "prefill_tokens_per_s", Kind: KindMetric, Title: "prefill tok/s", Unit: "tokens/s", Better: Higher,
		Definition: "input tokens ÷ TTFT of one request; time in a queue counts",
		Fields:     []string{"tokens.input", "t_first_token", "t_released"}, Enters: streamedOK, Absent: "unknown input tokens, or no TTFT"},
	{Name: "prefill_uncached_tokens_per_s", Kind: KindMetric, Title: "uncached tok/s", Unit: "tokens/s", Better: Higher,
		Definition: "input tokens that were not cached ÷ TTFT",
		Fields:     []string{"tokens.input", "tokens.cached", "t_first_token", "t_released"}, Enters: streamedOK, Absent: "as cached tokens, or no TTFT"},
	{Name: "slot_wait_ms", Kind: KindMetric, Title: "slot wait", Unit: "ms",
		Definition: "ready − due, held back because C requests were in flight: load and server, not us",
		Fields:     []string{"t_ready", "t_due"}, Enters: okCohort, Absent: "in a closed loop, but for later turns of sessions"},
	{Name: "pacer_lag_ms", Kind: KindMetric, Title: "pacer lag", Unit: "ms", Better: Lower,
		Definition: "first byte written − ready, less the set-up of a new connection: ours",
		Fields:     []string{"t_wrote_first", "t_ready", "t_conn", "t_released"}, Enters: okCohort, Absent: "nothing was written"},
}

const (
	everyOK     = "every ok request of the measured phase"
	everyIssued = "every issued request of the measured phase"
)

// requestFacts are what a condition can say of every request beside its metrics.
var requestFacts = []Entry{
	{Name: "tokens.input", Kind: KindRequest, Unit: "tokens", Definition: "input tokens, as input_tokens", Fields: []string{"tokens.input"}, Enters: everyOK},
	{Name: "tokens.output", Kind: KindRequest, Unit: "tokens", Definition: "output tokens, as output_tokens", Fields: []string{"tokens.output"}, Enters: everyOK},
	{Name: "tokens.cached", Kind: KindRequest, Unit: "tokens", Definition: "cached input tokens, as cached_tokens, with its inferred zeros", Fields: []string{"tokens.cached"}, Enters: everyOK},
	{Name: "tokens.reasoning", Kind: KindRequest, Unit: "tokens", Definition: "output tokens that were reasoning", Fields: []string{"tokens.reasoning"}, Enters: everyOK},
	{Name: "asked.output", Kind: KindRequest, Unit: "tokens", Definition: "output tokens asked for (max_tokens)", Fields: []string{"asked.output"}, Enters: everyOK},
	{Name: "asked.input", Kind: KindRequest, Unit: "tokens", Definition: "prompt tokens by the model's own tokenizer", Fields: []string{"asked.input"}, Enters: everyOK},
	{Name: "asked.cached", Kind: KindRequest, Unit: "tokens", Definition: "input tokens that the server's prefix cache was expected to have", Fields: []string{"asked.cached"}, Enters: everyOK, Absent: "nothing was expected of the cache"},
	{Name: "itl_mean_ms", Kind: KindRequest, Unit: "ms", Better: Lower, Definition: "mean gap of one request, as itl_ms", Fields: []string{"events.dt", "events.kind"}, Enters: everyOK, Absent: "fewer than 2 token events"},
	{Name: "itl_max_ms", Kind: KindRequest, Unit: "ms", Better: Lower, Definition: "largest gap of one request, as itl_ms", Fields: []string{"events.dt", "events.kind"}, Enters: everyOK, Absent: "fewer than 2 token events"},
	{Name: "finish", Kind: KindRequest, Word: true, Words: finishes, Definition: "why the answer ended: length, stop, tool_calls …", Fields: []string{"finish"}, Enters: everyOK, Absent: "the server gave no reason"},
	{Name: "outcome", Kind: KindRequest, Word: true, Words: outcomes, Definition: "outcome class: ok, timeout, http_status …", Fields: []string{"outcome"}, EveryOutcome: true, Enters: everyIssued},
	{Name: "http_status", Kind: KindRequest, Definition: "status of the response", Fields: []string{"http.status"}, EveryOutcome: true, Enters: everyIssued, Absent: "no response came"},
	{Name: "attempts", Kind: KindRequest, Definition: "times that the request was sent", Fields: []string{"attempts"}, EveryOutcome: true, Enters: everyIssued},
}
