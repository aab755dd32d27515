package catalog

const (
	byEvents   = "whole, stable, phase:…: the window's ok requests in full; others: what fell in (from, to], of ok requests of every phase but probes and preparation"
	tokensLeft = "no request of the window has that count; requests without one are left out, and said; no rates at all as for requests_per_s"
)

// systemRows are one value per window, of the whole service.
var systemRows = []Entry{
	{Name: "duration_s", Kind: KindSystem, Unit: "s", Definition: "to − from of the window", Fields: []string{"t_released", "t_end"}, Absent: "the window does not exist"},
	{Name: "requests_per_s", Kind: KindSystem, Unit: "requests/s", Better: Higher, Definition: "requests ÷ duration",
		Windows: byEvents + ": ends in it", Fields: []string{"t_end", "outcome"}, Enters: "ok requests", Absent: "the window has no length; or it is not the whole run or a phase, and holds fewer than 8 requests or less than one median E2E"},
	{Name: "output_tokens_per_s", Kind: KindSystem, Unit: "tokens/s", Better: Higher, Definition: "output tokens ÷ duration",
		Windows: byEvents + ": tokens of token events in it, a request's tokens spread over its events where events carry no counts",
		Fields:  []string{"tokens.output", "events.dt", "events.kind", "events.tok", "t_wrote_first"}, Enters: "ok requests with an output count", Absent: tokensLeft},
	{Name: "input_tokens_per_s", Kind: KindSystem, Unit: "tokens/s", Better: Higher, Definition: "input tokens ÷ duration",
		Windows: byEvents + ": inputs whose first token is in it", Fields: []string{"tokens.input", "t_first_token"}, Enters: "ok requests with an input count", Absent: tokensLeft},
	{Name: "total_tokens_per_s", Kind: KindSystem, Unit: "tokens/s", Better: Higher, Definition: "(input + output tokens) ÷ duration",
		Windows: byEvents, Fields: []string{"tokens.input", "tokens.output"}, Enters: "as its two parts", Absent: "either part is"},
	{Name: "concurrency_mean", Kind: KindSystem, Unit: "requests", Definition: "time integral of requests in flight ÷ duration",
		Windows: "stable: Σ(end − start) ÷ duration of its requests, at most C; others: over (from, to], of every request that was released", Fields: []string{"t_released", "t_end"}, Enters: "every request that was released, of any outcome and phase"},
	{Name: "concurrency_peak", Kind: KindSystem, Unit: "requests", Definition: "most requests in flight at once", Fields: []string{"t_released", "t_end"}, Enters: "every request that was released", Absent: "the window does not exist"},
}

const (
	ofDevices = "devices.total of the spec divides; it is in the name"
	needPrice = "cost of the spec gives no price, or the rate is absent or 0"
	needPower = "the spec gives no watts, and there is no power series that covers the window"
)

// deviceRows are system rates per device, their cost and their energy.
var deviceRows = []Entry{
	{Name: "requests_per_s_per_{n}_devices", Kind: KindSystem, Unit: "requests/s per device", Better: Higher, Definition: "request rate: requests_per_s ÷ all devices", Absent: "no devices in the spec", Enters: ofDevices},
	{Name: "output_tokens_per_s_per_{n}_devices", Kind: KindSystem, Unit: "tokens/s per device", Better: Higher, Definition: "output rate: output_tokens_per_s ÷ all devices", Absent: "no devices in the spec", Enters: ofDevices},
	{Name: "input_tokens_per_s_per_{n}_devices", Kind: KindSystem, Unit: "tokens/s per device", Better: Higher, Definition: "input_tokens_per_s ÷ all devices", Absent: "no devices in the spec", Enters: ofDevices},
	{Name: "total_tokens_per_s_per_{n}_devices", Kind: KindSystem, Unit: "tokens/s per device", Better: Higher, Definition: "input + output rate: total_tokens_per_s ÷ all devices", Absent: "no devices in the spec", Enters: ofDevices},
	{Name: "nominal_cached_input_tokens_per_s_per_{n}_devices", Kind: KindSystem, Unit: "tokens/s per device", Better: Higher, Definition: "nominal cached input rate: input_tokens_per_s × nominal_cached_ratio ÷ all devices; what the load was made to find in the cache, not what was found", Absent: "no devices in the spec, or no nominal_cached_ratio", Enters: ofDevices},
	{Name: "observed_cached_input_tokens_per_s_per_{n}_devices", Kind: KindSystem, Unit: "tokens/s per device", Better: Higher, Definition: "input_tokens_per_s × cached_ratio of the window ÷ all devices", Absent: "no devices in the spec, or cached tokens are not observed", Enters: ofDevices},
	{Name: "requests_per_s_per_{n}_prefill_devices", Kind: KindSystem, Unit: "requests/s per device", Better: Higher, Definition: "requests_per_s ÷ devices.prefill", Absent: "prefill and decode devices are not told apart", Enters: "devices.prefill of the spec divides"},
	{Name: "input_tokens_per_s_per_{n}_prefill_devices", Kind: KindSystem, Unit: "tokens/s per device", Better: Higher, Definition: "input_tokens_per_s ÷ devices.prefill", Absent: "prefill and decode devices are not told apart", Enters: "devices.prefill of the spec divides"},
	{Name: "nominal_cached_input_tokens_per_s_per_{n}_prefill_devices", Kind: KindSystem, Unit: "tokens/s per device", Better: Higher, Definition: "input_tokens_per_s × nominal_cached_ratio ÷ devices.prefill", Absent: "prefill and decode devices are not told apart, or no nominal_cached_ratio", Enters: "devices.prefill of the spec divides"},
	{Name: "observed_cached_input_tokens_per_s_per_{n}_prefill_devices", Kind: KindSystem, Unit: "tokens/s per device", Better: Higher, Definition: "input_tokens_per_s × cached_ratio of the window ÷ devices.prefill", Absent: "prefill and decode devices are not told apart, or cached tokens are not observed", Enters: "devices.prefill of the spec divides"},
	{Name: "requests_per_s_per_{n}_decode_devices", Kind: KindSystem, Unit: "requests/s per device", Better: Higher, Definition: "requests_per_s ÷ devices.decode", Absent: "prefill and decode devices are not told apart", Enters: "devices.decode of the spec divides"},
	{Name: "output_tokens_per_s_per_{n}_decode_devices", Kind: KindSystem, Unit: "tokens/s per device", Better: Higher, Definition: "output_tokens_per_s ÷ devices.decode", Absent: "prefill and decode devices are not told apart", Enters: "devices.decode of the spec divides"},

	{Name: "cost_per_hour", Kind: KindSystem, Better: Lower, Definition: "cost.per_hour, or cost.per_device_hour × all devices", Absent: "cost of the spec gives no price"},
	{Name: "cost_per_million_output_tokens", Kind: KindSystem, Better: Lower, Definition: "cost_per_hour ÷ (output_tokens_per_s × 3600) × 10⁶: the whole cost on output tokens alone", Absent: needPrice},
	{Name: "cost_per_million_input_tokens", Kind: KindSystem, Better: Lower, Definition: "cost_per_hour ÷ (input_tokens_per_s × 3600) × 10⁶: the whole cost on input tokens alone", Absent: needPrice},
	{Name: "cost_per_million_tokens", Kind: KindSystem, Better: Lower, Definition: "cost_per_hour ÷ (total_tokens_per_s × 3600) × 10⁶", Absent: needPrice},
	{Name: "cost_per_request", Kind: KindSystem, Better: Lower, Definition: "cost_per_hour ÷ (requests_per_s × 3600)", Absent: needPrice},

	{Name: "power_mean_w", Kind: KindSystem, Unit: "W", Better: Lower, Definition: "energy.watts, or the energy of the window by the power series ÷ duration", Absent: needPower},
	{Name: "energy_j", Kind: KindSystem, Unit: "J", Better: Lower, Definition: "energy.watts × duration, or watts integrated over the window (straight lines between samples, wall-clock times by the tape's anchor)", Absent: needPower},
	{Name: "joules_per_output_token", Kind: KindSystem, Unit: "J", Better: Lower, Definition: "power_mean_w ÷ output_tokens_per_s: the whole energy on output tokens alone", Absent: needPower + ", or the rate is absent or 0"},
	{Name: "joules_per_token", Kind: KindSystem, Unit: "J", Better: Lower, Definition: "power_mean_w ÷ total_tokens_per_s", Absent: needPower + ", or the rate is absent or 0"},
	{Name: "joules_per_request", Kind: KindSystem, Unit: "J", Better: Lower, Definition: "power_mean_w ÷ requests_per_s", Absent: needPower + ", or the rate is absent or 0"},
}

// windowFacts say how to read a window.
var windowFacts = []Entry{
	{Name: "from_s", Kind: KindFact, Unit: "s", Definition: "beginning of the window, from t = 0", Absent: "the window does not exist"},
	{Name: "to_s", Kind: KindFact, Unit: "s", Definition: "end of the window, from t = 0", Absent: "the window does not exist"},
	{Name: "requests", Kind: KindFact, Unit: "requests", Definition: "ok requests in the latency cohort", Absent: "the window does not exist"},
	{Name: "median_service_times", Kind: KindFact, Definition: "duration ÷ median E2E: how many generations of requests the window holds", Better: Higher, Absent: "no E2E"},
	{Name: "inflight_mean", Kind: KindFact, Unit: "requests", Definition: "mean number of requests in flight over the window"},
	{Name: "inflight_sd", Kind: KindFact, Unit: "requests", Definition: "its standard deviation over time", Better: Lower},
	{Name: "to_last_token_s", Kind: KindFact, Unit: "s", Definition: "first release to the last token (whole window alone)"},
	{Name: "cached_ratio", Kind: KindFact, Unit: "share", Definition: "Σ cached ÷ Σ input tokens over requests where both are known", Better: Higher,
		Fields: []string{"tokens.cached", "tokens.input"}, Enters: okCohort, Absent: "the server has not proved that it reports cached tokens"},
	{Name: "nominal_cached_ratio", Kind: KindFact, Unit: "share", Definition: "Σ tokens that the prefix cache was expected to serve ÷ Σ input tokens over requests where both are known: a plan, not an observation",
		Fields: []string{"asked.cached", "tokens.input"}, Enters: okCohort, Absent: "nothing was expected of the cache: neither the spec nor a built set's manifest says"},
	{Name: "cached_n", Kind: KindFact, Unit: "requests", Definition: "requests of cached_ratio whose count was observed"},
	{Name: "cached_inferred_n", Kind: KindFact, Unit: "requests", Definition: "requests of cached_ratio whose count is an inferred 0"},
	{Name: "cached_not_observed_n", Kind: KindFact, Unit: "requests", Definition: "ok requests of the cohort that are in neither: cached or input tokens not observed"},
	{Name: "accept_length", Kind: KindFact, Title: "verify step", Unit: "tokens", Better: Higher, Definition: "Σ output tokens ÷ Σ verify steps over the n requests that have both",
		Fields: []string{"tokens.output", "tokens.verify"}, Enters: okCohort, Absent: "the server reports no verify steps"},
	{Name: "accept_length_n", Kind: KindFact, Unit: "requests", Definition: "requests of accept_length", Absent: "the server reports no verify steps"},
	{Name: "accept_rate", Kind: KindFact, Title: "drafts", Unit: "share", Better: Higher, Definition: "Σ accepted ÷ Σ (accepted + rejected) draft tokens, likewise",
		Fields: []string{"tokens.accepted", "tokens.rejected"}, Enters: okCohort, Absent: "the server does not report both counts"},
	{Name: "accept_rate_n", Kind: KindFact, Unit: "requests", Definition: "requests of accept_rate", Absent: "the server does not report both counts"},
	{Name: "slo_good_share", Kind: KindFact, Unit: "share", Better: Higher, Definition: "requests that ended well within every limit of report.slo ÷ issued requests of the window; an absent value breaks no limit",
		Enters: "issued requests of the measured phase, failures included; not those abandoned on purpose", Absent: "no report.slo"},
	{Name: "slo_good_requests_per_s", Kind: KindFact, Unit: "requests/s", Better: Higher, Definition: "good requests that ended in the window ÷ duration", Absent: "no report.slo"},
	{Name: "slo_good_output_tokens_per_s", Kind: KindFact, Unit: "tokens/s", Better: Higher, Definition: "output tokens of good requests that ended in the window ÷ duration", Absent: "no report.slo, or a good request's tokens are not known"},
	{Name: "goodput.judged", Kind: KindFact, Unit: "requests", Definition: "issued requests that start in the window, failed and cancelled ones among them, those abandoned on purpose not", Absent: "no report.slo"},
	{Name: "goodput.good", Kind: KindFact, Unit: "requests", Better: Higher, Definition: "those of them that ended well within every limit of report.slo", Absent: "no report.slo"},
	{Name: "goodput.share", Kind: KindFact, Unit: "share", Better: Higher, Definition: "slo_good_share, with its interval and each limit beside it", Absent: "no report.slo"},
	{Name: "goodput.requests_per_s", Kind: KindFact, Unit: "requests/s", Better: Higher, Definition: "slo_good_requests_per_s, the same", Absent: "no report.slo"},
	{Name: "goodput.output_tokens_per_s", Kind: KindFact, Unit: "tokens/s", Better: Higher, Definition: "slo_good_output_tokens_per_s, the same", Absent: "no report.slo, or a good request's tokens are not known"},
}
