package as

import "fmt"

// caveats names what AISBench does otherwise than one may think, and its faults
// that are copied, as far as they bear on this tape. stable is nil without such a
// stage.
func (a *aisRun) caveats(t *Table, total, stable *aisStage) {
	c := &a.count
	t.caveat(a.stream, "TTFT is the time to the first event and ITL the gap between events, whatever they carry: "+
		"chunks with a role, a finish reason, usage or an error count like tokens; E2EL ends at the last of them")
	t.caveat(true, "latencies are rounded to four decimals of a second before they are printed in ms: steps of 0.1 ms")
	t.caveat(a.stream && c.single > 0, fmt.Sprintf("TPOT of a request with at most one output token is 0 and enters the statistics: %d here", c.single))
	t.caveat(a.stream && total.zeros > 0, "N of TPOT and ITL counts requests with a gap above 0, not the values behind the row: TPOT has one a request, ITL one a gap")
	t.caveat(!a.stream, "not streaming: no TTFT, TPOT, ITL and PrefillTokenThroughput; E2EL ends when the whole body was read")
	t.caveat(true, "OutputTokenThroughput is the mean over requests of tokens ÷ E2EL; the system's rate is Output Token Throughput")
	t.caveat(c.failed > 0, "Benchmark Duration runs from the first start to the last end of successful requests: failed ones lengthen it by nothing")
	t.caveat(stable != nil, "stable: requests that start inside count whole, also what they do after its end; those in flight when it opens count for nothing")
	t.caveat(stable != nil && c.failed > 0, fmt.Sprintf("stable: a known fault is copied. The list of successes holds the %d failed requests, the other columns do not, and one index is used for both: "+
		"Failed Requests, Success Requests, Request Throughput and N are those of other requests than the window's", c.failed))
	t.caveat(stable != nil && stable.duration == 0, "stable: the window is one instant, so that rates are inf or empty")
	t.caveat(c.errors > 0, fmt.Sprintf("an error inside a stream that was answered 200 counts as success: %d here", c.errors))
	t.caveat(c.truncated > 0, fmt.Sprintf("%d truncated streams are counted as failed; AISBench calls those a success whose body ended in good order", c.truncated))
	t.caveat(c.retried > 0, fmt.Sprintf("of a request that was sent more than once only the last attempt is timed: %d here", c.retried))
	t.caveat(c.uncounted > 0, fmt.Sprintf("%d requests have no token count on the tape and count as 0 tokens; AISBench would have counted with its own tokenizer", c.uncounted))
	t.caveat(a.cap <= 0, "the tape knows no cap on requests in flight, which AISBench takes from its model's batch_size")
}
