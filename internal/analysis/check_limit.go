package analysis

import (
	"fmt"

	"tokentape/tape"
)

// clientLimit: no request failed because this machine had no descriptor, port or
// memory left for it. Such failures say nothing about the server.
func (r *run) clientLimit(res *Results) Check {
	n := res.Counts.ByClass[string(tape.OutcomeClient)]
	v := float64(n)
	c := Check{Name: "client_limit", Severity: SeverityFail, Result: ResultPass, Value: &v, Limit: ref(0), Unit: "requests",
		Why: "no request met a limit of the client's machine",
		Do:  "raise what the message names (ulimit -n, net.ipv4.ip_local_port_range, memory), or lower load.concurrency, and run again"}
	if n > 0 {
		c.Result = ResultMiss
		c.Why = fmt.Sprintf("%s failed on the client's machine, not the server's: %s", plural(n, "request"), res.Counts.Examples[string(tape.OutcomeClient)])
	}
	return c
}
