package catalog

import "strings"

// terms are words of the report that are no value. Stamps and token events are
// told in full in docs/metrics.md.
var terms = []Entry{
	{Name: "due", Kind: KindTerm, Definition: "the time at which the plan sends a request; of a session's later turn the end of its pause; a closed loop has none"},
	{Name: "ready", Kind: KindTerm, Definition: "the time at which the load rules first allowed the send: due, or the moment a slot became free, whichever is later"},
	{Name: "release", Kind: KindTerm, Definition: "the time at which the pacer let a request go; what one waited for a slot lies before it, and is in no latency but those from due"},
	{Name: "slot", Kind: KindTerm, Definition: "one of the C places for requests in flight (load.concurrency); a request that finds none free waits: slot wait"},
	{Name: "open loop", Kind: KindTerm, Definition: "requests go out when they are due, whether or not others have ended: a rate or a schedule is offered"},
	{Name: "closed loop", Kind: KindTerm, Definition: "the next request goes out when one ends, so that C are in flight: the server sets the rate"},
	{Name: "partly open loop", Kind: KindTerm, Definition: "sessions are due like requests of an open loop; the turns within one follow its answers"},
	{Name: "start", Kind: KindTerm, Definition: "the first C sends of a closed loop, warm-up among them: all are due at once, and only their order is the client's. Pacer lag with the start counts them, pacer lag after the start does not; client_bound judges the latter"},
	{Name: "client wait", Kind: KindTerm, Definition: "how long what came had lain in the client's kernel before tokentape read it, by the kernel's stamps of the packets: so much too late are the stamps of token events, at least (load.client_wait_p99_ms; judged by client_bound)"},
	{Name: "buffered", Kind: KindTerm, Definition: "a flag of an answer whose token events came in bunches: of 4 gaps between them or more, over 80 % are below 1 ms. Its numbers stay as measured. A proxy or the server held them back, or a client that read late (client_bound); counts.flags.buffered is how many"},
	{Name: "token event", Kind: KindTerm, Definition: "an event of a stream that carries generated output: text, reasoning, a tool call, or a grown running count; role-only chunks, usage, finish and [DONE] are none"},
	{Name: "running counts", Kind: KindTerm, Definition: "token counts so far that a server sends in every event; they tell how many tokens the first event carried, which is else taken for 1, and let tokens be spread over events exactly"},
	{Name: "cohort", Kind: KindTerm, Definition: "the ok requests whose latencies a window's table is made of; by rule those that start in it, and not all that touched it"},
	{Name: "service time", Kind: KindTerm, Definition: "how long one request lasts: median E2E; a window's length in service times says how many generations of requests it has seen (10 wanted)"},
	{Name: "convention", Kind: KindTerm, Definition: "a limit set by agreement and not by proof: below 128 requests, 60 s or 10 service times a window is called too small to confirm a steady state; all three are printed, and a larger window is no proof either"},
	{Name: "inferred zero", Kind: KindTerm, Definition: "a cached count that the server left out, taken for 0 since it has proved in this run that it reports counts above 0 and leaves 0 out; counted apart from those observed"},
	{Name: "prefix group", Kind: KindTerm, Definition: "prompts that begin alike: of one group of a built set's manifest, with one system message, or turns of one session"},
	{Name: "first touch", Kind: KindTerm, Definition: "a request before which none with the same prompt, or of the same group of a manifest or session, went out to that server in this run, in whatever phase: what it finds in the cache was there before"},
	{Name: "zero cache", Kind: KindTerm, Definition: "nothing of a prompt is to come from the prefix cache: workload.cache: zero, or a set built so; confirmed or refuted by the counts of the answers within 1 % of the input, else not observable"},
	{Name: "cache tier", Kind: KindTerm, Definition: "where cached tokens lay: in the accelerator's memory (device), the host's, or storage, as the server says; docs/howto/cache.md"},
	{Name: "not observed", Kind: KindTerm, Definition: "the server or the tape did not say: absent is not zero, and enters no mean; of a check: there was nothing to judge by"},
	{Name: "no intervals", Kind: KindTerm, Definition: "why a window has none: it mixes ramp, middle and drain, which are not samples of one thing, so that a mean over them has no interval; only the steady window is taken for that"},
	{Name: "n_eff", Kind: KindTerm, Definition: "how many independent samples the n of a row are worth: neighbours share a queue and a batch, so that n ÷ g of them count, g from their autocorrelation; docs/statistics.md"},
}

// called are other names of entries: what tables and the first screen say, in the
// plural too.
var called = map[string]string{
	"n": "load.requests", "c": "load.concurrency", "r": "load.rate_asked_per_s",
	"requests/s": "requests_per_s", "output tok/s": "output_tokens_per_s", "input tok/s": "input_tokens_per_s", "total tok/s": "total_tokens_per_s",
	"concurrency": "concurrency_mean", "peak": "concurrency_peak", "duration": "duration_s", "cached ÷ input": "cached_ratio",
	"acceptance length": "accept_length", "acceptance rate": "accept_rate", "in flight": "load.concurrency_mean",
	"inferred zeros": "inferred zero", "running count": "running counts", "released": "release", "service times": "service time",
	"parts unlike": "no intervals", "token events": "token event", "from due": "due",
	"client_wait": "load.client_wait_p99_ms", "the start": "start", "with the start": "start", "after the start": "start",
	"pacer_lag": "pacer_lag_ms", "pacer lag with the start": "start", "pacer lag after the start": "start",
}

// said is the name of the entry that tables call so, in any case of letters; the
// word itself where none is.
func said(word string) string {
	low := strings.ToLower(strings.TrimSpace(word))
	if name, ok := called[low]; ok {
		return name
	}
	for i := range all {
		if e := &all[i]; strings.EqualFold(e.Title, low) && e.Title != "" || e.Kind == KindTerm && strings.EqualFold(e.Name, low) {
			return e.Name
		}
	}
	return word
}
