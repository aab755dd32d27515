package catalog

// pointRows are the values of a point of a sweep that no run has by itself.
var pointRows = []Entry{
	{Name: "offered_per_s", Kind: KindPoint, Title: "offered", Unit: "requests/s", Definition: "requests that fell due ÷ the time from the backlog's begin to the last due time",
		Fields: []string{"t_due"}, Absent: "a closed loop offers no rate"},
	{Name: "kept_up_per_s", Kind: KindPoint, Title: "kept up", Unit: "requests/s", Better: Higher, Definition: "requests that ended well in that time ÷ its length: what the service made of what was offered",
		Fields: []string{"t_end", "outcome"}, Absent: "a closed loop"},
	{Name: "backlog_slope_per_s", Kind: KindPoint, Title: "backlog slope", Unit: "requests/s", Better: Lower, Definition: "growth of the number of requests that were due and had not ended (waiting for a slot, in the server's queue or being worked on), a second: from the longest E2E from due among the first twentieth of the requests (20 at least) after the first due time, to the last due time. Its interval: Student's t over the growth in ten parts of that time",
		Fields: []string{"t_due", "t_end"}, Absent: "a closed loop; or the load was over before the first requests had ended twice"},
	{Name: "backlog_end", Kind: KindPoint, Title: "backlog", Unit: "requests", Better: Lower, Definition: "requests that were due and had not ended when the last one fell due", Fields: []string{"t_due", "t_end"}, Absent: "a closed loop"},
	{Name: "output_tokens_per_s_per_user", Kind: KindPoint, Title: "tok/s per user", Unit: "tokens/s", Better: Higher, Definition: "1000 ÷ tpot_ms.p50: how fast the middle request's answer is written", Absent: "no TPOT"},
	{Name: "output_tokens_per_s_per_device", Kind: KindPoint, Title: "tok/s per device", Unit: "tokens/s per device", Better: Higher, Definition: "output_tokens_per_s ÷ all devices", Absent: "no devices in the spec"},
	{Name: "failed_share", Kind: KindPoint, Unit: "share", Better: Lower, Definition: "failed ÷ (ok + failed) of the run, with Wilson's interval over all runs of the point", Absent: "nothing ended"},
	{Name: "server_queue", Kind: KindPoint, Title: "server queue", Unit: "requests", Better: Lower, Definition: "mean of server.queue_depth over the window, summed over the metrics pages that have it", Absent: "no metrics page was read, or none has a queue"},
	{Name: "throughput_per_latency", Kind: KindPoint, Title: "throughput ÷ latency", Unit: "tokens/s²", Better: Higher, Definition: "output_tokens_per_s ÷ mean E2E (from due in an open loop): the power of Kleinrock (1979), greatest at the knee; requests_per_s ÷ mean E2E where no point of the sweep has output tokens", Absent: "either is; or the point is unstable"},
}
