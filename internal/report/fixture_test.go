package report

import "tokentape/internal/analysis"

func p[T any](v T) *T { return &v }

func ci(lo, hi float64) [2]*float64 { return [2]*float64{&lo, &hi} }

func about() analysis.About {
	return analysis.About{
		Started: "2026-11-30T04:00:00.123456789Z", URL: "http://127.0.0.1:30000/v1/chat/completions", API: "openai-chat",
		Model: "deepseek-v4-flash", Engine: "sglang", Version: "0.5.6", Dataset: "数据/data.jsonl",
		DataSHA256: "0123456789abcdef0123456789abcdef", DataRows: 640, PlanSHA256: "fedcba9876543210fedcba9876543210",
		Tool: "tokentape 0.1.0", Host: "linux/amd64, 2 CPUs", Stop: "completed",
	}
}

// summary is a distribution around mid; the numbers only need to be plausible.
func summary(n int64, unit, source string, mid float64) *analysis.Summary {
	return &analysis.Summary{
		N: n, NEff: p(float64(n) / 3), Unit: unit, Source: source,
		Mean: p(mid * 1.03), SD: p(mid * 0.3), Min: p(mid * 0.4), Max: p(mid * 3.1),
		P50: p(mid), P75: p(mid * 1.2), P90: p(mid * 1.5), P95: p(mid * 1.8), P99: p(mid * 2.4),
		CI: map[string][2]*float64{"mean": ci(mid, mid*1.06), "p50": ci(mid*0.97, mid*1.03), "p99": ci(mid*2.2, mid*2.6)},
	}
}

// openLoop is a run as one hopes to see it, with two notes.
func openLoop() *analysis.Results {
	metrics := func(n int64) map[string]*analysis.Summary {
		ttft := summary(n, "ms", "stamps", 193.25)
		ttft.Warnings = []string{"p999 needs about 4,300 more requests"}
		tpot := summary(n, "ms", "stamps, usage; the first token event is taken as 1 token", 10.013)
		tpot.P99, tpot.Warnings = nil, []string{"p99 needs about 310 more requests"}
		return map[string]*analysis.Summary{
			"ttft_ms": ttft, "ttft_from_due_ms": summary(n, "ms", "stamps", 812.5), "tpot_ms": tpot,
			"itl_ms": summary(n*1023, "ms", "stamps", 9.874), "e2e_ms": summary(n, "ms", "stamps", 12345.678),
			"output_tokens": summary(n, "tokens", "usage", 1024), "cached_tokens": {Unit: "tokens", Warnings: []string{"the server reported no cached tokens"}},
			"a_later_metric_ms": summary(n, "ms", "stamps", 0.0123),
		}
	}
	order := []string{"ttft_ms", "ttft_from_due_ms", "tpot_ms", "itl_ms", "e2e_ms", "output_tokens", "cached_tokens"}
	system := func(d, r float64) analysis.System {
		return analysis.System{
			DurationS: &d, RequestsPerS: &r, OutputTokensPerS: p(r * 1024), InputTokensPerS: p(r * 16388), TotalTokensPerS: p(r * 17412),
			ConcurrencyMean: p(89.2), ConcurrencyPeak: new(int64(90)), PerDevices: map[string]*float64{"output_tokens_per_s_per_16_devices": p(r * 64)},
			OutputTokensSource: "usage",
		}
	}
	steady := system(105.5, 6.001)
	steady.CI = map[string][2]*float64{"output_tokens_per_s": ci(6101.5, 6189.25)}
	return &analysis.Results{
		Schema: analysis.Schema, Run: "01JDX8Z6K1", Name: "n640", TapeSHA256: "aa11bb22cc33dd44ee55",
		Verdict: analysis.Verdict{Fit: true, Line: "fit for use; 2 notes: window too small, output in bursts", Checks: []analysis.Check{
			{Name: "client_bound", Severity: "fail", Result: "pass", Value: p(0.09), Limit: p(1.0), Unit: "ms", Why: "pacer lag p99"},
			{Name: "counts", Severity: "fail", Result: "pass", Why: "planned = ok + failed + cancelled + not issued"},
			{Name: "slot_wait", Severity: "note", Result: "miss", Value: p(0.871), Limit: p(0.01), Unit: "share", Why: "requests waited for one of the 90 slots, so the server saw less than the offered rate", Do: "raise load.concurrency, or read this run as a closed loop"},
			{Name: "window_size", Severity: "note", Result: "miss", Why: "稳态窗口太短，无法确认系统已经进入稳定状态，请增加请求数量后重新运行一次再比较结果", Do: "send more requests: --requests 1280"},
			{Name: "cache_state", Severity: "note", Result: "not_observed", Why: "the server reports no cached tokens"},
		}},
		Counts: analysis.Counts{Planned: 640, Issued: 640, OK: 636, Failed: 4, Preparation: 11, Warmup: 4, Tail: 5, Attempts: 641, Retried: 1, RetryWaitS: 1, LostOutputTokens: 1311,
			ByClass: map[string]int64{"http_status": 3, "reset": 1}, ByStatus: map[string]int64{"429": 2, "503": 1}, Finish: map[string]int64{"length": 600, "stop": 38},
			Flags:          map[string]int64{"not_streamed": 5, "no_done": 2},
			StatusExamples: map[string]string{"429": "429 Too Many Requests: slow down", "503": "503 Service Unavailable: {\"error\":\"overloaded\"}\x1b[31m"},
			Examples:       map[string]string{"http_status": "503 Service Unavailable: {\"error\":\"overloaded\"}\x1b[31m", "reset": "连接被对端重置：read tcp 127.0.0.1:40000->127.0.0.1:30000: connection reset by peer"}},
		Calls: []analysis.Call{{What: "flush", URL: "http://127.0.0.1:30000/flush_cache", TS: -0.5, MS: 12.25, Status: p[int64](200), OK: true},
			{What: "flush", URL: "http://127.0.0.1:30001/flush_cache?api_key=***", TS: -0.4, MS: 3, Message: "connection refused"}},
		Load: analysis.Load{Loop: "open", Requests: 640, Concurrency: 90, RateAsked: p(60.0), RatePlanned: p(60.0), RateAchieved: p(6.0123),
			SlotWaitShare: p(0.871), SlotWaitMeanMS: p(4210.5), SlotWaitMaxMS: p(9120.1), PacerLagP50MS: p(0.011), PacerLagP99MS: p(0.09), PacerLagMaxMS: p(0.31),
			SendLagP99MS: p(9100.2), SendLagMaxMS: p(9120.4), Late: p[int64](557), ConcurrencyMean: p(84.4), ConcurrencyPeak: p[int64](90), NewConnections: p[int64](90), ReusedConnections: p[int64](550),
			CPUMean: p(0.31), CPUPeak: p(0.44), SchedP99MS: p(0.048), GCPauseMS: p(1.25), QueuePeak: p[int64](3)},
		Windows: []analysis.Window{
			{Kind: "whole", From: p(0.0001), To: p(140.25), Requests: new(int64(638)), Why: "first release to last stream end of all measured requests", Metrics: metrics(638), MetricOrder: order,
				System: system(140.25, 4.56), Facts: analysis.WindowFacts{ServiceTimes: p(11.4), InFlightMean: p(84.4), InFlightSD: p(14.1), ToLastTokenS: p(140.2), CachedRatio: p(0.9012), CachedN: new(int64(600)), CachedInferN: new(int64(38)), GoodShare: p(0.97), GoodPerS: p(4.4)}},
			{Kind: "stable", Requests: new(int64(0)), Why: "in-flight never reached 90; the maximum was 89", System: analysis.System{}},
			{Kind: "steady", From: p(1.2), To: p(106.7), Requests: new(int64(549)), Why: "from the last ramp or warm-up release + median E2E to the last measured release", LeftOut: "52 requests before, 37 after (within p95 E2E of the end)",
				Warnings: []string{"throughput falls by 3.1 % over the window", "p99 needs about 310 more requests"}, Metrics: metrics(549), MetricOrder: order,
				System: steady, Facts: analysis.WindowFacts{ServiceTimes: p(8.5), InFlightMean: p(89.2), InFlightSD: p(0.9), CachedRatio: p(0.9101), CachedN: new(int64(520)), CachedInferN: new(int64(29))}},
		},
		Notes: []string{"4 rows of the dataset were sent more than once; repeats can hit the prefix cache"},
		About: func() analysis.About { a := about(); a.Devices = 16; return a }(),
		Rows: analysis.RowsOf([]analysis.Row{
			{Seq: 0, Phase: "measure", Outcome: "ok", Finish: "length", Session: "01JDX8Z6K1-s1", Turn: p[int64](0), DueS: p(0.0), ReadyS: p(0.0), ReleasedS: p(0.000012345), EndS: p(12.5), SlotWaitMS: p(0.0), PacerLagMS: p(0.012345),
				TTFTMS: p(193.250001), TTFOMS: p(193.250001), TPOTMS: p(10.0), E2EMS: p(12345.678), StreamEndMS: p(12346.0), TTFTDueMS: p(193.3), E2EDueMS: p(12345.7), ITLMeanMS: p(9.9), ITLMaxMS: p(31.5),
				Input: p[int64](16388), Output: p[int64](1024), ExpectedCached: p[int64](16), RowCache: analysis.RowCache{Cached: p[int64](0), CachedSource: analysis.CachedInferred, CachedRatio: p(0.0), Group: "manifest:3", Touch: analysis.TouchFirst}, Asked: p[int64](1024), InputSource: "usage", OutputSource: "usage",
				Events: p[int64](1027), TokenEvents: p[int64](1024), Status: 200, Attempts: 1, ConnReused: p(false), Windows: []string{"whole", "steady"}},
			{Seq: 1, Phase: "measure", Outcome: "http_status", Status: 503, Message: "=HYPERLINK(\"http://x\")", Attempts: 2, DatasetRow: 1, ConnReused: p(true), Flags: []string{"no_done", "buffered"}},
			{Seq: 2, Phase: "measure", Outcome: "connect", Message: "拒绝连接, \"quoted\"\nsecond line", DatasetRow: 2, Attempts: 1},
		}),
	}
}

// zero is a run in which nothing succeeded: no number may appear.
func zero() *analysis.Results {
	empty := map[string]*analysis.Summary{"ttft_ms": {Unit: "ms"}, "e2e_ms": {Unit: "ms"}}
	return &analysis.Results{
		Schema: analysis.Schema, Run: "01JDX8Z6K2", About: about(),
		Verdict: analysis.Verdict{Line: "NOT fit for use: no request succeeded", Checks: []analysis.Check{
			{Name: "measured", Severity: "fail", Result: "miss", Value: p(0.0), Limit: p(1.0), Unit: "ok requests", Why: "all 4 requests failed: http_status", Do: "look at the messages below, then try one request: --requests 1"}}},
		Counts: analysis.Counts{Planned: 4, Issued: 4, Failed: 4, Attempts: 4, ByClass: map[string]int64{"http_status": 4}, Examples: map[string]string{"http_status": "404 Not Found: <html>"}},
		Load:   analysis.Load{Loop: "closed", Requests: 4, Concurrency: 2, ConcurrencyPeak: p[int64](2), NewConnections: p[int64](2), ReusedConnections: p[int64](2)},
		Windows: []analysis.Window{
			{Kind: "whole", Why: "no request succeeded", Metrics: empty},
			{Kind: "steady", Why: "no request succeeded", Metrics: empty},
		},
	}
}

// one is the smallest run that can succeed.
func one() *analysis.Results {
	s := func(v float64, unit string) *analysis.Summary {
		return &analysis.Summary{N: 1, Unit: unit, Source: "stamps", Mean: &v, Min: &v, Max: &v, P50: &v, P75: &v, P90: &v, P95: &v, P99: &v, Warnings: []string{"1 sample: every quantile is that sample"}}
	}
	a := about()
	a.Engine, a.Version = "", ""
	return &analysis.Results{
		Schema: analysis.Schema, Run: "01JDX8Z6K3", About: a,
		Verdict: analysis.Verdict{Fit: true, Line: "fit for use"},
		Counts:  analysis.Counts{Planned: 1, Issued: 1, OK: 1, Attempts: 1, Finish: map[string]int64{"": 1}},
		Load:    analysis.Load{Loop: "closed", Requests: 1, Concurrency: 1, ConcurrencyMean: p(1.0), ConcurrencyPeak: p[int64](1), NewConnections: p[int64](1), ReusedConnections: p[int64](0)},
		Windows: []analysis.Window{{Kind: "whole", From: p(0.0), To: p(0.534), Requests: new(int64(1)), Why: "first release to last stream end",
			Metrics: map[string]*analysis.Summary{"ttft_ms": s(22.5, "ms"), "e2e_ms": s(533.9, "ms"), "tpot_ms": s(16.4968, "ms")},
			System:  analysis.System{DurationS: p(0.534), RequestsPerS: p(1.8727), OutputTokensPerS: p(59.925), ConcurrencyMean: p(1.0), ConcurrencyPeak: new(int64(1))}}},
	}
}

// interrupted is a run that the user ended, on a tape that was torn as well.
func interrupted() *analysis.Results {
	r := one()
	r.Verdict = analysis.Verdict{Line: "NOT fit for use: tape incomplete; 1 note: window too small", Checks: []analysis.Check{
		{Name: "tape_incomplete", Severity: "fail", Result: "miss", Why: "the last line of the tape is torn", Do: "run again; what finished is below"},
		{Name: "interrupted", Severity: "note", Result: "miss", Why: "3 of 8 requests were not issued", Do: "let the run end by itself"}}}
	r.Counts = analysis.Counts{Planned: 8, Issued: 5, OK: 1, Cancelled: 3, Abandoned: 1, AbandonedOutputTokens: 9, NotIssued: 3, Attempts: 7, Retried: 2, RetryWaitS: 3.5, ByClass: map[string]int64{}, LostOutputTokens: 17, Finish: map[string]int64{"stop": 1}}
	r.About.Stop, r.About.StopWhy = "interrupted", "SIGINT; drained for 30s, then cancelled"
	r.About.Faults = []string{"line 7 at byte 4711: unexpected end of JSON, 112 bytes skipped"}
	return r
}
