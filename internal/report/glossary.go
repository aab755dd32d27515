package report

import (
	"slices"
	"strings"

	"tokentape/internal/analysis"
)

// term defines a word of the report in one line, true to docs/metrics.md.
type term struct {
	name  string // in results.json
	title string
	text  string
}

// terms are the metrics in the order in which they are shown.
var terms = []term{
	{"ttft_ms", "TTFT", "first token event − release of the request; absent when not streaming"},
	{"ttft_from_due_ms", "TTFT from due", "first token event − planned send (open loop; a session's later turn: the end of its pause)"},
	{"ttfo_ms", "TTFO", "first token event outside reasoning − release"},
	{"tpot_ms", "TPOT", "(E2E − TTFT) ÷ (output tokens − tokens in the first token event)"},
	{"itl_ms", "ITL", "gap between successive token events of one choice, zeros kept; inter-event, not inter-token, when events carry several tokens"},
	{"e2e_ms", "E2E", "last token event − release; not streaming: end of the body − release"},
	{"e2e_from_due_ms", "E2E from due", "the same from the planned send"},
	{"stream_end_ms", "stream end", "end of the response − release"},
	{"tokens_per_event", "tokens/event", "(output tokens − tokens in the first token event) ÷ (token events − 1)"},
	{"input_tokens", "input tokens", "the server's usage, else the model's tokenizer over the templated prompt"},
	{"output_tokens", "output tokens", "the server's usage, else engine counters, else the model's tokenizer, else token events; never max_tokens"},
	{"cached_tokens", "cached tokens", "input tokens that the server says came from its prefix cache"},
	{"output_tokens_per_s", "output tok/s", "output tokens ÷ E2E of one request"},
	{"decode_tokens_per_s", "decode tok/s", "1 ÷ TPOT of one request"},
	{"prefill_tokens_per_s", "prefill tok/s", "input tokens ÷ TTFT of one request; time in a queue counts"},
	{"prefill_uncached_tokens_per_s", "uncached tok/s", "input tokens that were not cached ÷ TTFT"},
	{"slot_wait_ms", "slot wait", "ready − due, held back because C requests were in flight: load and server, not us"},
	{"pacer_lag_ms", "pacer lag", "first byte written − ready, less the set-up of a new connection: ours"},
}

// speculation defines its two rows, shown where a server reports their counts.
var speculation = []struct {
	of func(*analysis.Window) (*float64, int64)
	term
}{
	{acceptLength, term{"accept_length", "verify step", "Σ output tokens ÷ Σ verify steps over the n requests that have both"}},
	{acceptRate, term{"accept_rate", "drafts", "Σ accepted ÷ Σ (accepted + rejected) draft tokens, likewise"}},
}

// speculated are the definitions of the rows that some window has.
func speculated(ws []analysis.Window) []term {
	var ts []term
	for _, s := range speculation {
		if slices.ContainsFunc(ws, func(w analysis.Window) bool { v, _ := s.of(&w); return v != nil }) {
			ts = append(ts, s.term)
		}
	}
	return ts
}

// footings hold for every table.
var footings = []term{
	{"", "n, n_eff", "samples, and how many independent ones they are worth (neighbours share a queue)"},
	{"", "p50 … p99", "linear interpolation at rank (n − 1)q; only ok requests enter"},
	{"", "a … b", "95 % interval by sectioning in order of due time"},
}

// metricLabel is a metric's title with its unit where the title has none.
func metricLabel(name, unit string) string {
	title := ""
	for _, t := range terms {
		if t.name == name {
			title = t.title
		}
	}
	if title == "" {
		return strings.ReplaceAll(name, "_", " ")
	}
	if unit == "ms" || unit == "s" {
		return title + " " + unit
	}
	return title
}

// briefs are terms' texts cut to one line of the short view.
var briefs = map[string]string{
	"ttft_ms":          "first token event − release; none when not streaming",
	"ttft_from_due_ms": "first token event − planned send",
	"tpot_ms":          "(E2E − TTFT) ÷ (output tokens after the first token event)",
	"itl_ms":           "gap between successive token events of a choice, zeros kept",
	"e2e_ms":           "last token event − release (not streaming: end of the body)",
}
