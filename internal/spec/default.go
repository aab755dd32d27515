package spec

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"
)

// CheckNames are what report.strict may hold: the checks of the verdict, which
// analysis makes. cli has a test that the two lists are one.
var CheckNames = []string{
	"attempts",
	"bursts",
	"cache_off_plan",
	"cache_state",
	"client_bound",
	"client_envelope",
	"client_limit",
	"counts_add_up",
	"duration_reached",
	"failures",
	"failures_allowed",
	"input_off_plan",
	"merged_alike",
	"model_replied",
	"not_streamed",
	"offered_rate",
	"others_on_server",
	"output_off_text",
	"output_short",
	"probe_contradicted",
	"repeats",
	"scrapes_missing",
	"send_delay",
	"server_changed",
	"slot_wait",
	"speculation",
	"tape_complete",
	"tape_consistent",
	"token_sources",
	"usage_contradicted",
	"usage_missing",
	"window_sufficiency",
	"window_trend",
}

// Default is the Spec of an empty file: one request, one at a time.
func Default() *Spec {
	return &Spec{
		Name:   "run",
		Target: Target{API: "openai-chat", HTTP: "1.1", Resolve: "per_connection", RequestIDHeader: "X-Request-Id"},
		Workload: Workload{
			Dataset:  Dataset{Format: "auto", OnBadRow: "fail", Turns: "first", TimeUnit: "auto", BlockTokens: MooncakeBlock},
			Template: "{question}",
			Stream:   true,
			Repeat:   "none",
			Order:    "file",
			Cache:    "auto",
			History:  "server",
		},
		Probe:   "off",
		Prepare: Prepare{Concurrency: 1, OutputTokens: 1},
		Load: Load{
			Requests:    1,
			Concurrency: 1,
			Arrivals:    "constant",
			Burstiness:  1,
			Replay:      Replay{Scale: 1},
			Think:       Think{Kind: "fixed"},
			Attempts:    1,
			Retry: Retry{
				On:         []string{"connect", "reset", "429", "5xx"},
				Backoff:    Backoff{Initial: Duration(time.Second), Factor: 2, Max: Duration(30 * time.Second), Jitter: 0.1},
				RetryAfter: true,
			},
			Tail: "none",
		},
		Limits: Limits{
			Connect:    Duration(10 * time.Second),
			FirstToken: Duration(600 * time.Second),
			Idle:       Duration(300 * time.Second),
			KeepAlive:  Duration(4 * time.Second),
			Drain:      Duration(30 * time.Second),
			Abort:      Abort{Min: 10},
		},
		Record:    Record{Output: "hash", Compress: true},
		Report:    Report{Windows: []string{"whole", "stable", "steady"}},
		Telemetry: Telemetry{Interval: Duration(time.Second), KernelStamps: "sample"},
		Seeds:     Seeds{Run: 1},
		Sweep:     Sweep{Until: Until{Metric: "ttft_ms.p50"}, Order: "up", Repeats: 1, Prompts: "distinct", MostPoints: 200},
		Search:    Search{Share: 0.95, Goal: "highest", Precision: 0.05, MostLooks: 16, Prompts: "distinct"},
	}
}

// resolve fills what depends on what was given. A run bound by time alone has no
// N; a rate alone has no cap; both rules need to know what was set, not only its
// value.
func (s *Spec) resolve(file string) {
	for i := range s.Workload.Mix {
		if !s.wasSet(fmt.Sprintf("workload.mix[%d].weight", i)) {
			s.Workload.Mix[i].Weight = cmp.Or(s.Workload.Mix[i].Weight, 1)
		}
	}
	s.resolveStages()
	open := s.Load.Open()
	bounded := s.Load.Duration > 0 || s.Load.Arrivals == "replay"
	if (bounded || s.Workload.Sessions) && !s.wasSet("load.requests") {
		s.Load.Requests = 0
	}
	if (open || s.Workload.Sessions) && !s.wasSet("load.concurrency") {
		s.Load.Concurrency = 0
	}
	if s.Workload.Sessions {
		if !s.wasSet("workload.dataset.turns") {
			s.Workload.Dataset.Turns = "all"
		}
		if !s.wasSet("load.sessions") && !s.wasSet("load.requests") && !bounded {
			s.Load.Sessions = 1
		}
		if !s.wasSet("load.session_concurrency") && !open && s.Load.SessionConcurrency == 0 {
			s.Load.SessionConcurrency = 1
		}
	}
	if file != "" && !s.wasSet("name") {
		base := filepath.Base(file)
		if base = strings.TrimSuffix(base, filepath.Ext(base)); nameProblem(base) == "" {
			s.Name = base
		}
	}
	if d := &s.Devices; d.Total == 0 && d.Prefill <= math.MaxInt64-d.Decode {
		d.Total = d.Prefill + d.Decode
	}
	s.resolveMetrics()
	s.moveUserinfo()
}

// moveUserinfo turns http://user:password@host into a Basic Authorization
// header, which is what it means, so that the URL can be printed anywhere.
func (s *Spec) moveUserinfo() {
	bare, auth, ok := splitUserinfo(s.Target.URL)
	if !ok || s.Target.APIKey != "" {
		return
	}
	for name := range s.Target.Headers {
		if strings.EqualFold(name, "Authorization") {
			return // Validate names the conflict
		}
	}
	headers := map[string]string{"Authorization": auth}
	for k, v := range s.Target.Headers {
		headers[k] = v
	}
	s.Target.URL, s.Target.Headers = bare, headers
}

// wasSet reports whether path, or something below it, was given by file or flag.
func (s *Spec) wasSet(path string) bool {
	if _, ok := s.from[path]; ok {
		return true
	}
	for p := range s.from {
		if strings.HasPrefix(p, path+".") {
			return true
		}
	}
	return false
}
