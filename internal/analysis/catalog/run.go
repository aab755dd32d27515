package catalog

const measured = "requests of the measured phase"

// counts are of the measured phase: planned = ok + failed + cancelled + abandoned
// + not issued.
var counts = []Entry{
	{Name: "counts.planned", Kind: KindCount, Unit: "requests", Definition: "requests that the run set out to send"},
	{Name: "counts.issued", Kind: KindCount, Unit: "requests", Definition: "requests on the tape", Enters: measured},
	{Name: "counts.ok", Kind: KindCount, Unit: "requests", Better: Higher, Definition: "requests that ended well: a 200 status alone is not enough", Fields: []string{"outcome"}, Enters: measured},
	{Name: "counts.failed", Kind: KindCount, Unit: "requests", Better: Lower, Definition: "requests that ended badly: neither ok, nor cancelled, nor abandoned", Fields: []string{"outcome"}, Enters: measured},
	{Name: "counts.cancelled", Kind: KindCount, Unit: "requests", Better: Lower, Definition: "requests that an interrupt or the end of the run cut off", Fields: []string{"outcome"}, Enters: measured},
	{Name: "counts.abandoned", Kind: KindCount, Unit: "requests", Definition: "streams closed in the middle because load.abandon asks for it", Fields: []string{"outcome"}, Enters: measured},
	{Name: "counts.not_issued", Kind: KindCount, Unit: "requests", Better: Lower, Definition: "planned requests that were never sent"},
	{Name: "counts.unrecorded", Kind: KindCount, Unit: "requests", Better: Lower, Definition: "planned requests without a line, of a tape without a footer"},
	{Name: "counts.preparation", Kind: KindCount, Unit: "requests", Definition: "warm-up, prepare, probe and tail requests, in no other count"},
	{Name: "counts.warmup", Kind: KindCount, Unit: "requests", Definition: "of these, warm-up requests"},
	{Name: "counts.tail", Kind: KindCount, Unit: "requests", Definition: "of these, requests that only kept the load up while the measured ones drained"},
	{Name: "counts.by_class.*", Kind: KindCount, Words: failures, Unit: "requests", Better: Lower, Definition: "failed requests of one outcome class", Fields: []string{"outcome"}, Enters: measured},
	{Name: "counts.by_status.*", Kind: KindCount, Status: true, Unit: "requests", Better: Lower, Definition: "requests of class http_status with one status code", Fields: []string{"outcome", "http.status"}, Enters: measured},
	{Name: "counts.finish.*", Kind: KindCount, Words: append([]string{"none"}, finishes...), Unit: "requests", Definition: "ok requests with one finish reason; none where there was none", Fields: []string{"finish"}, Enters: "ok " + measured},
	{Name: "counts.flags.*", Kind: KindCount, Words: flags, Unit: "requests", Definition: "ok requests with one flag", Fields: []string{"flags"}, Enters: "ok " + measured},
	{Name: "counts.attempts", Kind: KindCount, Unit: "attempts", Better: Lower, Definition: "sends, those of failed attempts included", Fields: []string{"attempts"}, Enters: measured},
	{Name: "counts.retried", Kind: KindCount, Unit: "requests", Better: Lower, Definition: "requests that were sent more than once", Fields: []string{"attempts"}, Enters: measured},
	{Name: "counts.retry_wait_s", Kind: KindCount, Unit: "s", Better: Lower, Definition: "time that requests waited for further attempts, in all", Fields: []string{"attempt_log"}, Enters: measured},
	{Name: "counts.lost_output_tokens", Kind: KindCount, Unit: "tokens", Better: Lower, Definition: "output tokens that failed or cancelled requests delivered, in no token statistic", Fields: []string{"tokens.output"}, Enters: "failed and cancelled " + measured},
	{Name: "counts.abandoned_output_tokens", Kind: KindCount, Unit: "tokens", Definition: "output tokens that abandoned requests delivered", Fields: []string{"tokens.output"}, Enters: "abandoned " + measured},
}

// loadFacts say what was offered and what happened.
var loadFacts = []Entry{
	{Name: "load.loop", Kind: KindLoad, Word: true, Words: loops, Definition: "closed: the next request goes out when one ends; open: when it is due; partly open: sessions are due, their turns follow answers"},
	{Name: "load.requests", Kind: KindLoad, Unit: "requests", Definition: "N, planned requests"},
	{Name: "load.concurrency", Kind: KindLoad, Unit: "requests", Definition: "C, cap on requests in flight; 0: none"},
	{Name: "load.rate_asked_per_s", Kind: KindLoad, Unit: "/s", Definition: "r, the offered rate", Absent: "no single rate was asked for"},
	{Name: "load.rate_planned_per_s", Kind: KindLoad, Unit: "/s", Definition: "(N − 1) ÷ (last due − first due); of first turns where there are sessions", Fields: []string{"t_due"}, Enters: measured, Absent: "closed loop, or fewer than 2"},
	{Name: "load.rate_achieved_per_s", Kind: KindLoad, Unit: "/s", Definition: "the same over actual sends", Fields: []string{"t_wrote_first"}, Enters: measured, Absent: "fewer than 2"},
	{Name: "load.slot_wait_share", Kind: KindLoad, Unit: "share", Better: Lower, Definition: "share of the requests with a due time that waited for a slot", Fields: []string{"t_due", "t_ready"}, Enters: measured, Absent: "closed loop"},
	{Name: "load.slot_wait_mean_ms", Kind: KindLoad, Unit: "ms", Better: Lower, Definition: "mean slot wait of those that waited", Fields: []string{"t_due", "t_ready"}, Enters: measured, Absent: "none waited"},
	{Name: "load.slot_wait_max_ms", Kind: KindLoad, Unit: "ms", Better: Lower, Definition: "longest slot wait", Fields: []string{"t_due", "t_ready"}, Enters: measured, Absent: "none waited"},
	{Name: "load.pacer_lag_p50_ms", Kind: KindLoad, Unit: "ms", Better: Lower, Definition: "median pacer lag: first byte written − ready, less the set-up of a new connection", Fields: []string{"t_wrote_first", "t_ready", "t_conn", "t_released"}, Enters: measured},
	{Name: "load.pacer_lag_p99_ms", Kind: KindLoad, Unit: "ms", Better: Lower, Definition: "99th percentile of pacer lag: first byte written − ready, less the set-up of a new connection; of a closed loop with the start, which `client_bound` leaves out", Fields: []string{"t_wrote_first", "t_ready", "t_conn", "t_released"}, Enters: measured},
	{Name: "load.pacer_lag_max_ms", Kind: KindLoad, Unit: "ms", Better: Lower, Definition: "the largest pacer lag", Fields: []string{"t_wrote_first", "t_ready", "t_conn", "t_released"}, Enters: measured},
	{Name: "load.send_lag_p99_ms", Kind: KindLoad, Unit: "ms", Better: Lower, Definition: "99th percentile of send lag: first byte written − due = slot wait (held back by C) + set-up of a new connection + pacer lag (the rest: ours)", Fields: []string{"t_wrote_first", "t_due"}, Enters: measured, Absent: "closed loop"},
	{Name: "load.send_lag_max_ms", Kind: KindLoad, Unit: "ms", Better: Lower, Definition: "the largest send lag", Fields: []string{"t_wrote_first", "t_due"}, Enters: measured, Absent: "closed loop"},
	{Name: "load.late", Kind: KindLoad, Unit: "requests", Better: Lower, Definition: "requests sent more than 1 ms after due", Fields: []string{"t_wrote_first", "t_due"}, Enters: measured, Absent: "closed loop, or nothing was sent"},
	{Name: "load.concurrency_mean", Kind: KindLoad, Unit: "requests", Definition: "mean number of requests in flight, first release to last end of the measured phase", Fields: []string{"t_released", "t_end"}},
	{Name: "load.concurrency_peak", Kind: KindLoad, Unit: "requests", Definition: "most requests in flight", Fields: []string{"t_released", "t_end"}, Absent: "no request went out, or it was not recorded when"},
	{Name: "load.new_connections", Kind: KindLoad, Unit: "requests", Definition: "requests that went over a new connection", Fields: []string{"conn"}, Enters: measured, Absent: "the tape knows no connection: nothing was reached, or another tool did not record them"},
	{Name: "load.reused_connections", Kind: KindLoad, Unit: "requests", Definition: "requests that went over a connection used before", Fields: []string{"conn"}, Enters: measured, Absent: "as load.new_connections"},
	{Name: "load.client_cpu_mean_cores", Kind: KindLoad, Unit: "cores", Better: Lower, Definition: "CPU time of the client ÷ time, mean over its samples", Fields: []string{"client.cpu"}, Absent: "no samples"},
	{Name: "load.client_cpu_peak_cores", Kind: KindLoad, Unit: "cores", Better: Lower, Definition: "the largest of these samples", Fields: []string{"client.cpu"}, Absent: "no samples"},
	{Name: "load.client_sched_p99_ms", Kind: KindLoad, Unit: "ms", Better: Lower, Definition: "median over samples of the p99 time that ready goroutines waited for a CPU", Fields: []string{"client.sched_p99_ns"}, Absent: "no samples"},
	{Name: "load.client_gc_pause_ms", Kind: KindLoad, Unit: "ms", Better: Lower, Definition: "garbage collector pauses of the client, in all", Fields: []string{"client.gc_pause_ns"}, Absent: "no samples"},
	{Name: "load.client_wait_p50_ms", Kind: KindLoad, Unit: "ms", Better: Lower, Definition: "median client wait: how long the newest bytes of a read had lain in the client's kernel, by its stamps of the packets. What was joined to them had waited longer: a lower bound, at most a quarter too high by its bucket", Fields: []string{"client.wait"}, Absent: "no stamps: `telemetry.kernel_stamps: off`, HTTP/2, unix sockets, or a kernel without them"},
	{Name: "load.client_wait_p99_ms", Kind: KindLoad, Unit: "ms", Better: Lower, Definition: "99th percentile of client wait, over the reads that were looked at: how long the newest bytes of a read had lain in the client's kernel before the client read them. Above 2 ms, of 100 reads or more, `client_bound` misses", Fields: []string{"client.wait"}, Absent: "as load.client_wait_p50_ms"},
	{Name: "load.client_wait_max_ms", Kind: KindLoad, Unit: "ms", Better: Lower, Definition: "the longest client wait", Fields: []string{"client.wait"}, Absent: "as load.client_wait_p50_ms"},
	{Name: "load.client_wait_reads", Kind: KindLoad, Definition: "reads that were looked at: of one connection in eight, or as `telemetry.kernel_stamps` says", Fields: []string{"client.wait"}, Absent: "as load.client_wait_p50_ms"},
	{Name: "load.client_run_delay_threads", Kind: KindLoad, Better: Lower, Definition: "threads of the client that were ready and had no processor, mean over time", Fields: []string{"client.run_delay_ns"}, Absent: "no samples, or a kernel that does not count it"},
	{Name: "load.recorder_queue_peak", Kind: KindLoad, Unit: "requests", Better: Lower, Definition: "most finished requests that waited to be written", Fields: []string{"client.queue"}, Absent: "no samples"},
}

var verdicts = []Entry{
	{Name: "verdict.fit", Kind: KindVerdict, Bool: true, Definition: "no check of severity fail missed"},
}

// checks make the verdict.
var checks = named([]Entry{
	{Name: "tape_complete", Severity: "fail", Definition: "the tape has no footer, the run was stopped, or a line is torn or changed"},
	{Name: "tape_consistent", Severity: "fail", Definition: "the tape says what cannot be: a request sent before it was due, a stamp ten years away, an outcome ok without a status 2xx, a start that is no time, a plan of below 0 rows; a load, price, limit or device count below 0 in its spec, or a strict check that does not exist"},
	{Name: "counts_add_up", Severity: "fail", Definition: "planned ≠ ok + failed + cancelled + abandoned + not issued, by the footer or by the lines"},
	{Name: "client_bound", Severity: "fail", Definition: "the client itself made the numbers, by any one of these. (1) Pacer lag: p99 of it, and two sends or more, above 1 ms and above 10 % of the mean gap between sends (of an open loop between their due times, of a closed one between their releases); a single late send is named and not counted, and the start of a closed loop, its first C sends, warm-up among them, is not judged. Where in an open loop client wait p99 is at most 1 ms, of 100 reads or more, what came was read in time, and a looser limit takes the place of that one: above 5 ms and above the whole mean gap (in a closed loop a late send keeps its slot empty, and the limit stays); what lies between the two is `send_delay`. (2) Client wait: p99 above 2 ms, of 100 reads or more. (3) Scheduling latency: p99 above 10 ms, as the median over the client's samples. (4) CPU: in the mean above 90 % of the cores that tokentape may use. (5) Recorder: the tape could not be written as fast as requests ended, which stopped the run. Other work on the machine is named beside such evidence, and is none alone"},
	{Name: "client_limit", Severity: "fail", Definition: "a request failed for want of descriptors, ports or memory on the client's machine"},
	{Name: "client_envelope", Severity: "note", Definition: "more requests in flight, or more token events in a second with as many of them, than `tokentape doctor` had seen this host read with a p99 stamp error under 1 ms; not observed where it was not run. Tapes of earlier versions do not have it, nor merged ones"},
	{Name: "offered_rate", Severity: "fail", Definition: "sends took more than 1 % (and 1 ms) longer than the load rules allowed"},
	{Name: "token_sources", Severity: "fail", Definition: "counts of different sources would be mixed in one number"},
	{Name: "usage_contradicted", Severity: "fail", Definition: "the server's counts contradict each other or what was asked: cached above input, reasoning above output, output 0 beside token events or less than they must hold, 0 input tokens of a prompt, a count below 0, of a fraction or above a billion, tiers above the cached tokens, output above `max_tokens` (times the choices)"},
	{Name: "server_changed", Severity: "fail", Definition: "the server restarted or is another one since: the start time on a metrics page moved, or at least half of its counters fell at once, and two or more; its engine, version, model list or what else it says of itself is not after the run what it was before (facts that move by themselves left out, and numbers that are no settings); or the replies of one server name several models"},
	{Name: "probe_contradicted", Severity: "fail", Definition: "what a probe proved before the load (`probe: short` or `cache`) did not hold in it: an ok response without the server's counts where the probe had them, without the count of cached tokens where the probe had it also at 0, or of another model than the one that answered the probe"},
	{Name: "failures", Severity: "fail", Definition: "more failed than `limits.failed_share` (exit code 4)"},
	{Name: "failures_allowed", Severity: "note", Definition: "some failed, no more than `limits.failed_share`: how many of which class, when they were sent, and how much of the window they took"},
	{Name: "input_off_plan", Severity: "note", Definition: "the server counted another number of input tokens than the model's tokenizer over the templated prompt"},
	{Name: "not_streamed", Severity: "note", Definition: "a stream was asked for and answers came in one piece: they have no TTFT, TPOT, ITL"},
	{Name: "model_replied", Severity: "note", Definition: "replies name another model than the one that was asked for; its path or last part, `:latest` and a date behind it are the same one. Several names in one run: `server_changed`"},
	{Name: "usage_missing", Severity: "note", Definition: "an ok response carried no counts of the server"},
	{Name: "output_short", Severity: "note", Definition: "less than 99 % of the output tokens asked for came"},
	{Name: "output_off_text", Severity: "note", Definition: "the server counted more than 5 % (and 2 tokens a response) more or fewer output tokens than the model's tokenizer over the generated text; the server's count is the one that is used"},
	{Name: "slot_wait", Severity: "note", Definition: "more than 1 % of the requests waited for a slot"},
	{Name: "send_delay", Severity: "note", Definition: "from release to the first byte written the client took more than 10 % of the median TTFT (and 1 ms) at p99; or sends were so late that `client_bound` would miss for it, had client wait not shown that what came was read in time (value and limit are those of the pacer lag then)"},
	{Name: "duration_reached", Severity: "note", Definition: "the dataset ran out before `load.duration`"},
	{Name: "window_sufficiency", Severity: "note", Definition: "the steady window is too small, by convention, to confirm a steady state"},
	{Name: "window_trend", Severity: "note", Definition: "TTFT, throughput or backlog moves over the window; or output all but stops in a tenth or more of it although requests went out; or it is different, by 10 % and beyond what its tenths scatter, in a stretch of it. Fewer than 20 requests, and a stretch shorter than a median E2E, tell nothing"},
	{Name: "cache_state", Severity: "note", Definition: "something was expected of the prefix cache (a built set's manifest, or `workload.cache: zero`), and the server reports no cached tokens; or its answers say otherwise of their reporting than the probe did; where nothing was expected, their share is stated alone"},
	{Name: "cache_off_plan", Severity: "note", Definition: "the prefix cache served, in the sum over rows, more than 1 % of the input more or less than the manifest beside a built set expects of each row; or anything above 1 % where zero cache was meant: a set built so, or `workload.cache: zero`. Where it cannot be observed: `cache_state`"},
	{Name: "repeats", Severity: "note", Definition: "a dataset row was sent more than once; of a session, one turn of it"},
	{Name: "bursts", Severity: "note", Definition: "most output arrived in bursts: a buffering proxy, speculation, or a stream interval"},
	{Name: "attempts", Severity: "note", Definition: "requests were sent more than once"},
	{Name: "scrapes_missing", Severity: "note", Definition: "of a metrics page, 5 % or more of the time from its first reading until the last page was read lie in gaps longer than two intervals; or it was never read"},
	{Name: "others_on_server", Severity: "note", Definition: "a metrics page counted over 1 % more requests or generated tokens than those that this run can have caused: every request of any phase in flight while it was read, each attempt, with all its output tokens"},
	{Name: "speculation", Severity: "note", Definition: "what the server says of its drafts contradicts itself (accepted above proposed, verify steps above output …), leaves more than 2 % of the output unexplained, or its verify steps and the token events differ by more than 10 %"},
	{Name: "merged_alike", Severity: "note", Definition: "of a merged tape alone: its runs are not alike, and were merged by force"},
})

// named puts the checks where conditions find them.
func named(checks []Entry) []Entry {
	for i := range checks {
		checks[i].Kind, checks[i].Name, checks[i].Word = KindCheck, "checks."+checks[i].Name, true
	}
	return checks
}
