package spec

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestSecretsAreNowhere(t *testing.T) {
	text := `
target:
  url: http://user:hunter2@h:1/v1
  headers: {X-Api-Key: "key-one", Cookie: sid=two, X-Trace-Id: shown}
telemetry: {metrics: [{url: "http://m:three@e:9/metrics"}]}
`
	s, _ := read(t, text, nil)
	hidden := []string{"hunter2", "dXNlcjpodW50ZXIy", "key-one", "sid=two", "three"}
	for name, got := range map[string]string{"YAML": string(s.YAML()), "JSON": string(s.JSON())} {
		for _, h := range hidden {
			if strings.Contains(got, h) {
				t.Errorf("%s shows %q:\n%s", name, h, got)
			}
		}
		if strings.Count(got, "***") != 4 || !strings.Contains(got, "shown") {
			t.Errorf("%s:\n%s", name, got)
		}
	}
	if direct, _ := json.Marshal(s); string(direct) != string(s.JSON()) {
		t.Errorf("json.Marshal is not masked: %s", direct)
	}
	for _, h := range hidden {
		if !slices.Contains(s.Secrets(), h) {
			t.Errorf("Secrets lacks %q: %q", h, s.Secrets())
		}
	}
	if s.Target.URL != "http://h:1/v1" || s.Target.Headers["Authorization"] != "Basic dXNlcjpodW50ZXIy" {
		t.Errorf("userinfo is not moved: %+v", s.Target)
	}
	if s.Target.Headers["X-Api-Key"] != "key-one" || s.Telemetry.Metrics[0].URL != "http://m:three@e:9/metrics" {
		t.Error("Masked changed the Spec itself")
	}
	s, _ = read(t, "target: {api_key: sk-four, headers: {X-Auth: Bearer five}}", nil)
	if got := s.Secrets(); !slices.Contains(got, "sk-four") || !slices.Contains(got, "five") || !slices.Contains(got, "Bearer five") {
		t.Errorf("Secrets: %q", got)
	}
}

func TestMaskLine(t *testing.T) {
	for in, want := range map[string]string{
		"  api_key: sk-1":                          "  api_key: ***",
		"  api_key: ${API_KEY}":                    "  api_key: ${API_KEY}",
		"  api_key: 'a b'  # c":                    "  api_key: ***",
		"headers: {Authorization: Bearer x, B: y}": "headers: {Authorization: ***",
		"headers: {\"X-Token\": \"x, y\", B: y}":   "headers: {\"X-Token\": ***",
		"url: http://u:p@h/v1":                     "url: http://***@h/v1",
		"  api_key: \"sk-1":                        "  api_key: ***",
		"  api_key: a,b}c":                         "  api_key: ***",
		"  api_key: ${KEY:-sk-1}":                  "  api_key: ***",
		"url: 'u:p/q@h/v1'":                        "url: '***@h/v1'",
		"output_tokens: 32":                        "output_tokens: 32",
		"limits: {first_token: 3s}":                "limits: {first_token: 3s}",
		"tokenizer: ./m":                           "tokenizer: ./m",
		"":                                         "",
	} {
		if got := maskLine(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestYAMLGolden(t *testing.T) {
	golden(t, "testdata/default.golden", string(Default().YAML()))
	s, _ := read(t, `
target: {url: "127.0.0.1:30000", model: deepseek-v4-flash, api_key: sk-1}
workload:
  dataset: {path: /data/rows.jsonl}
  output_tokens: 32
  sampling: {temperature: 0, top_p: 1.0, stop: ["\n", 'no'], nested: {on: true, $x: "${X:-}"}}
load: {requests: 640, concurrency: 90, rate: 6.5, arrivals: gamma, burstiness: 0.5, warmup: 8, ramp: {shape: linear, from: 0.5, duration: 90s}}
limits: {idle: 0s, failed_share: 0.01}
record: {compress: false}
report: {slo: {ttft_ms: 500}, strict: [output_short]}
devices: {prefill: 8, decode: 8}
telemetry: {metrics: ["url": h:9]}
seeds: {run: 7, arrivals: 0}
`, nil)
	golden(t, "testdata/full.golden", string(s.YAML()))
}

// drawSpec is any Spec that Validate accepts, made through Read's own door.
func drawSpec(t *rapid.T) *Spec {
	s := Default()
	str := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "yes", "1", "null", "${X}", "$${X}", "$$$", "a: b", "# c", "- x", "*", "&a", "'", "\"", "é\u2028\u0085\t\n\r\x00\x7f", "{a}", "0x10", ".inf", "~", "<<", "🙂", " x "}))
	key := str.Filter(func(k string) bool { return ownBody[k] == "" && k != "stream_options" && !strings.Contains(k, "${") })
	var free func(depth int) *rapid.Generator[any]
	free = func(depth int) *rapid.Generator[any] {
		gens := []*rapid.Generator[any]{
			rapid.Map(str, func(v string) any { return v }),
			rapid.Map(rapid.Int64(), func(v int64) any { return v }),
			rapid.Map(rapid.Float64(), func(v float64) any { return v }),
			rapid.Map(rapid.Bool(), func(v bool) any { return v }),
			rapid.Just(any(nil)),
		}
		if depth > 0 {
			gens = append(gens,
				rapid.Map(rapid.SliceOfN(free(depth-1), 0, 3), func(v []any) any { return v }),
				rapid.Map(rapid.MapOfN(key, free(depth-1), 0, 3), func(v map[string]any) any { return v }))
		}
		return rapid.OneOf(gens...)
	}
	dur := rapid.Map(rapid.Int64Range(1, int64(100*time.Hour)), func(v int64) Duration { return Duration(v) })
	pick := func(label, path string) string { return rapid.SampledFrom(choices()[path]).Draw(t, label) }
	s.Name = rapid.StringMatching(`[a-z0-9_-]{1,12}`).Draw(t, "name")
	s.Target.URL = rapid.SampledFrom([]string{"", "h:1", "https://h/v1", "http://[::1]:8000"}).Draw(t, "url")
	s.Target.Model = str.Draw(t, "model")
	s.Target.Headers = map[string]string{"User-Agent": rapid.StringMatching(`[ -~]{0,9}`).Draw(t, "header")}
	if s.Target.URL == "" && rapid.Bool().Draw(t, "several") {
		s.Target.URLs = []string{"https://a", "b:1", "unix:///run/x.sock:/v1"}
	}
	s.Target.Insecure = rapid.Bool().Draw(t, "insecure")
	s.Target.HTTP = pick("http", "target.http")
	s.Target.Resolve = pick("resolve", "target.resolve")
	s.Target.Spread = rapid.Bool().Draw(t, "spread")
	s.Target.RenewAfter = rapid.Int64Range(0, 9).Draw(t, "renew")
	if s.Target.HTTP == "1.1" {
		s.Target.Proxy = rapid.SampledFrom([]string{"", "environment", "http://p:3128", "p:3128"}).Draw(t, "proxy")
	}
	if rapid.Bool().Draw(t, "certificate") {
		s.Target.CertFile, s.Target.KeyFile, s.Target.ServerName = "/c.pem", "/k.pem", "model.example"
	}
	s.Workload.Template = "x" + str.Draw(t, "template")
	s.Workload.System = str.Draw(t, "system")
	s.Workload.OutputTokens = rapid.Int64Range(0, 9999).Draw(t, "tokens")
	s.Workload.Sampling = rapid.MapOfN(key, free(2), 0, 3).Draw(t, "sampling")
	s.Workload.Stream = rapid.Bool().Draw(t, "stream")
	s.Workload.Order = pick("order", "workload.order")
	s.Workload.Repeat = pick("repeat", "workload.repeat")
	s.Load.Requests = rapid.Int64Range(1, 9999).Draw(t, "n")
	s.Load.Concurrency = rapid.Int64Range(2, 9999).Draw(t, "c")
	s.Load.Arrivals = pick("arrivals", "load.arrivals")
	s.Load.Burstiness = rapid.Float64Range(0.01, 100).Draw(t, "burstiness")
	s.Load.Conditioned = rapid.Bool().Draw(t, "conditioned")
	if rapid.Bool().Draw(t, "open") {
		s.Load.Rate = rapid.Float64Range(1.5, 1e6).Draw(t, "rate")
		if rapid.Bool().Draw(t, "uncapped") {
			s.Load.Concurrency = 0
		}
	}
	if s.Load.Arrivals == "replay" {
		s.Load.Rate, s.Load.Replay = 0, Replay{Scale: rapid.Float64Range(0.01, 9).Draw(t, "scale"), From: 1, To: 7}
	}
	if rapid.Bool().Draw(t, "timed") {
		s.Load.Duration = dur.Draw(t, "duration")
		if rapid.Bool().Draw(t, "unbounded") {
			s.Load.Requests = 0
		}
	} else if rapid.Bool().Draw(t, "ramped") && s.Load.Arrivals != "replay" {
		s.Load.Ramp = Ramp{Shape: pick("shape", "load.ramp.shape"), Duration: dur.Draw(t, "ramp")}
	}
	s.Load.Tail = pick("tail", "load.tail")
	s.Load.Stagger = rapid.OneOf(dur, rapid.Just(Duration(0))).Draw(t, "stagger")
	s.Load.Think = Think{pick("think", "load.think.kind"), rapid.OneOf(dur, rapid.Just(Duration(0))).Draw(t, "mean")}
	s.Target.SessionHeader = rapid.SampledFrom([]string{"", "X-Session-Id"}).Draw(t, "sessionHeader")
	s.Target.MaxTokensField = rapid.SampledFrom([]string{"", "max_completion_tokens"}).Draw(t, "maxTokensField")
	stages := rapid.IntRange(0, 3).Draw(t, "stages")
	if s.Load.Arrivals == "replay" || s.Load.Ramp.Shape != "" {
		stages = 0
	}
	if s.Workload.Sessions = rapid.Bool().Draw(t, "sessions"); s.Workload.Sessions {
		s.Workload.Dataset.Turns = "all"
		s.Workload.History = pick("history", "workload.history")
		s.Load.Requests, s.Load.Sessions, s.Load.SessionConcurrency = rapid.SampledFrom([]int64{0, 30}).Draw(t, "turns at most"), 4, 9
	}
	if s.Load.Arrivals != "replay" && rapid.Bool().Draw(t, "mixed") {
		s.Workload.Mix = []Part{{"/a.jsonl", rapid.Float64Range(0.1, 9).Draw(t, "weight"), rapid.SampledFrom([]string{"", "{q}", "a: b, c", "# c"}).Draw(t, "part"), 0}, {"/b.jsonl", 1, "", 7}}
	}
	if rapid.Bool().Draw(t, "prepared") {
		s.Prepare = Prepare{rapid.SampledFrom([]string{"", "/flush", "http://h:1/x"}).Draw(t, "flush"), rapid.SampledFrom([]string{"", "/p.jsonl"}).Draw(t, "seeding"), rapid.Int64Range(0, 9).Draw(t, "rows"), 2, 3}
		if !s.Prepare.Sends() {
			s.Prepare.Concurrency, s.Prepare.OutputTokens = 1, 1
		}
	}
	switch stages {
	case 1:
		s.Load.Rate, s.Load.Stages = 0, []Stage{{Rate: 5, Duration: 9}, {Rate: 1.5, Duration: 1}}
		s.Load.Duration = 10
	case 2:
		s.Load.Rate, s.Load.Stages = 0, []Stage{{Concurrency: 5, Duration: 9}, {Concurrency: 3, Duration: 1}}
		s.Load.Duration = 10
		if s.Workload.Sessions {
			s.Load.SessionConcurrency = 5
		} else {
			s.Load.Concurrency = 5
		}
	}
	if rapid.Bool().Draw(t, "again") {
		s.Load.Attempts = rapid.Int64Range(2, 9).Draw(t, "attempts")
		s.Load.Retry = Retry{
			On:         rapid.SampledFrom([][]string{{"reset"}, {"429", "5xx", "timeout"}, {"http_status"}}).Draw(t, "on"),
			Backoff:    Backoff{rapid.SampledFrom([]Duration{0, 5, 1e9}).Draw(t, "initial"), rapid.Float64Range(1, 9).Draw(t, "factor"), 2e9, rapid.Float64Range(0, 1).Draw(t, "jitter")},
			RetryAfter: rapid.Bool().Draw(t, "retryAfter"),
		}
	}
	switch {
	case rapid.Bool().Draw(t, "abandoned") && s.Workload.Stream && s.Workload.OutputTokens == 0:
		s.Load.Abandon = Abandon{Share: rapid.Float64Range(0.001, 1).Draw(t, "abandon"), AfterTokens: 3}
	case rapid.Bool().Draw(t, "impatient"):
		s.Load.Abandon = Abandon{Share: 0.5, After: 1}
	}
	if rapid.Bool().Draw(t, "abort") {
		s.Limits.Abort = Abort{FailedShare: rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "abortShare"), Failed: 3, Min: 7, Window: Duration(rapid.SampledFrom([]int{0, 9}).Draw(t, "abortWindow"))}
	}
	s.Target.RequestIDHeader = rapid.SampledFrom([]string{"", "X-Request-Id", "X-Trace"}).Draw(t, "idHeader")
	s.Limits.Idle = rapid.OneOf(dur, rapid.Just(Duration(0))).Draw(t, "idle")
	s.Limits.Total = rapid.OneOf(dur, rapid.Just(Duration(0))).Draw(t, "total")
	s.Limits.FailedShare = rapid.Float64Range(0, 1).Draw(t, "share")
	s.Record.Compress = rapid.Bool().Draw(t, "compress")
	s.Record.Output = pick("output", "record.output")
	s.Report.SLO.E2E = rapid.Float64Range(0.001, 1e9).Draw(t, "slo")
	if d := rapid.Int64Range(0, 9).Draw(t, "devices"); rapid.Bool().Draw(t, "split") && d > 0 {
		s.Devices = Devices{Total: d + 1, Prefill: d, Decode: 1}
	} else {
		s.Devices = Devices{Total: d}
	}
	if rapid.Bool().Draw(t, "expects") {
		s.Expect = []string{"steady.ttft_ms.p95 < 2000", `load.loop != "partly open"`, "tokens.output == asked.output"}
	}
	if price := rapid.Float64Range(0.01, 1e6).Draw(t, "price"); s.Devices.Total > 0 && rapid.Bool().Draw(t, "each") {
		s.Cost = Cost{PerDeviceHour: price, Currency: "元"}
	} else {
		s.Cost.PerHour = price
	}
	s.Energy.Watts = rapid.Float64Range(0.01, 1e6).Draw(t, "watts")
	if seed := rapid.Int64Range(-1, 99).Draw(t, "seed"); seed >= 0 {
		s.Seeds.Order = &seed
	}
	s.Seeds.Run = rapid.Int64Range(0, 1<<62).Draw(t, "run")
	for i := range rapid.IntRange(0, 2).Draw(t, "pages") {
		m := MetricsSource{Name: fmt.Sprint("n", i), URL: fmt.Sprintf("http://h:%d/metrics", 9000+i), All: rapid.Bool().Draw(t, "all")}
		m.Role = rapid.SampledFrom(append(choices()["telemetry.metrics.role"], "")).Draw(t, "role")
		m.Kind = rapid.SampledFrom(append(choices()["telemetry.metrics.kind"], "")).Draw(t, "kind")
		m.Interval = rapid.SampledFrom([]Duration{0, minInterval, Duration(time.Minute)}).Draw(t, "interval")
		if rapid.Bool().Draw(t, "headed") {
			m.Headers = map[string]string{"User-Agent": rapid.StringMatching(`[ -~]{0,9}`).Draw(t, "agent")}
		}
		if !m.All {
			m.Families = rapid.SampledFrom([][]string{nil, {"a"}, {"x:*", "y_*_z"}}).Draw(t, "families")
		}
		s.Telemetry.Metrics = append(s.Telemetry.Metrics, m)
	}
	// What has no effect is not kept by YAML, so it is not part of the property.
	d := Default()
	// Taking one field away can take the effect of another.
	for range 3 {
		for _, e := range s.withoutEffect() {
			switch e.path {
			case "load.abandon.after":
				s.Load.Abandon = Abandon{}
			case "load.requests", "load.duration", "load.concurrency", "load.session_concurrency": // follow from others
				if s.Workload.Sessions || e.path != "load.session_concurrency" {
					continue
				}
				s.Load.SessionConcurrency = 0
			default:
				if section, _, _ := strings.Cut(e.path, "."); strings.HasPrefix(e.path, "limits.abort") || section == "target" || section == "load" ||
					section == "seeds" || e.path == "workload.order" || e.path == "workload.repeat" || e.path == "workload.history" {
					v, _ := reach(reflect.ValueOf(s).Elem(), e.path)
					def, _ := reach(reflect.ValueOf(d).Elem(), e.path)
					v.Set(def)
				}
			}
		}
	}
	return s
}

func TestYAMLRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spec.yaml")
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		if issues := s.Validate(); Failed(issues) {
			t.Fatalf("the generator is wrong:\n%s", format(issues))
		}
		text := s.YAML()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		back, issues := Read(path, nil, nil)
		if Failed(issues) {
			t.Fatalf("refused:\n%s\n%s", format(issues), text)
		}
		if diff := cmp.Diff(s, back, cmpopts.IgnoreUnexported(Spec{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("changed (-was +is):\n%s\n%s", diff, text)
		}
		if again := back.YAML(); string(again) != string(text) {
			t.Fatalf("not stable:\n%s\n%s", text, again)
		}
		if !json.Valid(s.JSON()) {
			t.Fatal("JSON")
		}
	})
}
