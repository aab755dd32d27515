package spec

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestEffects: an option that has no effect beside the others is an error that
// names both; with the other option in place it is none.
func TestEffects(t *testing.T) {
	for _, c := range []struct {
		name, sets string // path=value, separated by spaces
		field      string // "" for no error
		want       string
	}{
		{"bodies and a model", "workload.dataset.format=bodies target.model=m", "target.model", "whole request bodies"},
		{"bodies, model overridden", "workload.dataset.format=bodies target.model=m workload.dataset.override=[model]", "", ""},
		{"a built body and a model", "workload.body={a:1} target.model=m", "target.model", "workload.body is the whole request body"},
		{"bodies, the path names the model", "workload.dataset.format=bodies target.api=triton-generate target.model=m", "", ""},
		{"bodies, not streamed", "workload.dataset.format=bodies workload.stream=false", "workload.stream", "whole request bodies"},
		{"bodies, stream overridden", "workload.dataset.format=bodies workload.stream=false workload.dataset.override=[stream]", "", ""},
		{"bodies, stream as it is", "workload.dataset.format=bodies workload.stream=true", "", ""},
		{"bodies, another path without a stream", "workload.dataset.format=bodies workload.stream=false target.api=tgi", "", ""},
		{"a template for messages", "workload.dataset.format=messages workload.template=x", "workload.template", "prompts of their own"},
		{"a template for a trace", "workload.dataset.format=azure workload.template=x", "workload.template", "prompts of their own"},
		{"a built body of a kind", "workload.dataset.format=sharegpt workload.body={a:1}", "workload.dataset.format", "whole request body"},
		{"turns of messages", "workload.dataset.format=messages workload.dataset.turns=all", "workload.dataset.turns", "no ShareGPT"},
		{"blocks of no trace", "workload.dataset.format=azure workload.dataset.block_tokens=64", "workload.dataset.block_tokens", "no Mooncake"},
		{"blocks", "workload.dataset.format=mooncake workload.dataset.block_tokens=64", "", ""},
		{"no block", "workload.dataset.block_tokens=0", "workload.dataset.block_tokens", "no number of tokens"},
		{"unit of dates", "workload.dataset.format=azure workload.dataset.time_unit=ms", "workload.dataset.time_unit", "dates"},
		{"unit of other times", "workload.dataset.format=azure workload.dataset.time_unit=ms workload.dataset.columns={timestamp:t}", "", ""},
		{"output of bodies in a mix", "workload.dataset.format=bodies workload.mix=[{dataset:a,output_tokens:4}]", "workload.mix[0].output_tokens", "whole request bodies"},
		{"arrivals", "load.arrivals=poisson", "load.arrivals", "load.rate"},
		{"arrivals constant", "load.arrivals=constant", "load.arrivals", "load.rate"},
		{"arrivals and rate", "load.arrivals=poisson load.rate=2", "", ""},
		{"burstiness", "load.burstiness=2", "load.burstiness", "load.rate"},
		{"burstiness, constant", "load.rate=1 load.burstiness=2", "load.burstiness", "load.arrivals is constant"},
		{"burstiness 1, poisson", "load.rate=1 load.burstiness=1 load.arrivals=poisson", "load.burstiness", "load.arrivals is poisson"},
		{"burstiness, gamma", "load.rate=1 load.burstiness=2 load.arrivals=gamma", "", ""},
		{"conditioned", "load.conditioned=true", "load.conditioned", "load.rate"},
		{"conditioned, gamma", "load.rate=1 load.conditioned=true load.arrivals=gamma", "load.conditioned", "poisson"},
		{"conditioned, no N", "load.rate=1 load.conditioned=true load.arrivals=poisson load.duration=9s", "load.conditioned", "load.requests"},
		{"conditioned, poisson", "load.rate=1 load.conditioned=true load.arrivals=poisson load.requests=9", "", ""},
		{"not conditioned", "load.conditioned=false", "", ""},
		{"ramp.from", "load.ramp.from=1", "load.ramp.from", "load.ramp.shape"},
		{"ramp.duration", "load.ramp.duration=1s", "load.ramp.duration", "load.ramp.shape"},
		{"ramp without length", "load.ramp.shape=linear load.concurrency=9", "load.ramp.duration", "linear"},
		{"ramp without target", "load.ramp.shape=linear load.ramp.duration=1s", "load.ramp.from", "load.concurrency"},
		{"ramp down", "load.ramp.shape=linear load.ramp.duration=1s load.ramp.from=9 load.rate=2", "load.ramp.from", "load.rate"},
		{"ramp from default", "load.ramp.shape=linear load.ramp.duration=1s load.rate=0.5", "load.ramp.from", "1 (when not given)"},
		{"ramp too long", "load.ramp.shape=linear load.ramp.duration=9s load.rate=5 load.duration=3s", "load.ramp.duration", "load.duration"},
		{"ramp of rate", "load.ramp.shape=exponential load.ramp.duration=1s load.rate=5", "", ""},
		{"ramp of concurrency", "load.ramp.shape=linear load.ramp.duration=1s load.concurrency=5", "", ""},
		{"tail of a generator", "load.tail=auto load.duration=3s", "load.tail", "load.duration"},
		{"tail", "load.tail=auto load.requests=3", "", ""},
		{"tail, open, by time", "load.tail=auto load.duration=3s load.rate=2", "", ""},
		{"no tail", "load.tail=none load.duration=3s", "", ""},
		{"insecure", "target.url=http://h target.insecure=true", "target.insecure", "https"},
		{"insecure, bare", "target.url=h:1 target.insecure=true", "target.insecure", "https"},
		{"not insecure", "target.url=http://h target.insecure=false", "", ""},
		{"insecure, https", "target.url=https://h target.insecure=true", "", ""},
		{"ca_file, http", "target.url=http://h target.ca_file=x", "target.ca_file", "https"},
		{"ca_file, insecure", "target.url=https://h target.insecure=true target.ca_file=x", "target.ca_file", "target.insecure"},
		{"system", "workload.system=x target.api=openai-completions", "workload.system", "openai-completions"},
		{"system, chat", "workload.system=x", "", ""},
		{"slo, whole", "workload.stream=false report.slo.tpot_ms=5", "report.slo.tpot_ms", "workload.stream"},
		{"slo from due, closed", "report.slo.e2e_from_due_ms=5", "report.slo.e2e_from_due_ms", "load.rate"},
		{"slo from due, open", "load.rate=2 report.slo.e2e_from_due_ms=5", "", ""},
		{"slo of the first token above the whole", "report.slo.ttft_ms=6 report.slo.e2e_ms=5", "report.slo.ttft_ms", "can never be missed alone"},
		{"slo e2e, whole", "workload.stream=false report.slo.e2e_ms=5", "", ""},
		{"stream_options, whole", "workload.stream=false workload.sampling.stream_options={a: 1}", "workload.sampling.stream_options", "workload.stream"},
		{"seeds.arrivals", "seeds.arrivals=3", "seeds.arrivals", "arrival"},
		{"seeds.arrivals, constant", "seeds.arrivals=3 load.rate=2", "seeds.arrivals", "arrival"},
		{"seeds.arrivals, gamma", "seeds.arrivals=3 load.rate=2 load.arrivals=gamma", "", ""},
		{"seeds.order", "seeds.order=3", "seeds.order", "workload.order"},
		{"seeds.order, shuffle", "seeds.order=3 workload.order=shuffle", "", ""},
		{"retry, one attempt", "load.retry.on=[reset]", "load.retry", "load.attempts is 1"},
		{"backoff, one attempt", "load.retry.backoff.max=9s", "load.retry", "load.attempts is 1"},
		{"retry", "load.attempts=3 load.retry.on=[reset] load.retry.retry_after=false load.retry.backoff.initial=2s", "", ""},
		{"attempts without end", "load.attempts=1001", "load.attempts", "at most 1000"},
		{"retry on nothing", "load.attempts=3 load.retry.on=[]", "load.retry.on", "empty"},
		{"retry on what ends well", "load.attempts=3 load.retry.on=[cancelled]", "load.retry.on[0]", "unknown"},
		{"retry on a success", `load.attempts=3 load.retry.on=["200"]`, "load.retry.on[0]", "unknown"},
		{"retry on a mistyped class", "load.attempts=3 load.retry.on=[timeuot]", "load.retry.on[0]", "did you mean timeout?"},
		{"retry twice", "load.attempts=3 load.retry.on=[reset,reset]", "load.retry.on[1]", "reset holds reset already"},
		{"retry, a status in its class", `load.attempts=3 load.retry.on=["503",5xx]`, "load.retry.on[0]", "5xx holds 503"},
		{"retry, a status in http_status", `load.attempts=3 load.retry.on=[http_status,"429"]`, "load.retry.on[1]", "http_status holds 429"},
		{"retry, two statuses", `load.attempts=3 load.retry.on=["429",5xx]`, "", ""},
		{"factor of one wait", "load.attempts=2 load.retry.backoff.factor=3", "load.retry.backoff.factor", "2 attempts"},
		{"factor without a wait", "load.attempts=3 load.retry.backoff.initial=0 load.retry.backoff.factor=3", "load.retry.backoff.factor", "initial is 0"},
		{"no waits", "load.attempts=3 load.retry.backoff.initial=0 load.retry.retry_after=false", "", ""},
		{"longest wait too short", "load.attempts=3 load.retry.backoff.max=10ms", "load.retry.backoff.max", "shorter than the first"},
		{"Retry-After without a status", "load.attempts=3 load.retry.on=[reset] load.retry.retry_after=true", "load.retry.retry_after", "names no status"},
		{"seeds.retry, one attempt", "seeds.retry=3", "seeds.retry", "load.attempts"},
		{"seeds.retry, no jitter", "seeds.retry=3 load.attempts=2 load.retry.backoff.jitter=0", "seeds.retry", "jitter is 0"},
		{"seeds.retry", "seeds.retry=3 load.attempts=2", "", ""},
		{"abandon nothing", "load.abandon.after_tokens=3", "load.abandon.after_tokens", "load.abandon.share"},
		{"abandon when", "load.abandon.share=0.5", "load.abandon", "when"},
		{"abandon twice", "load.abandon.share=0.5 load.abandon.after_tokens=3 load.abandon.after=1s", "load.abandon.after", "already"},
		{"abandon, not streamed", "workload.stream=false load.abandon.share=0.5 load.abandon.after_tokens=3", "load.abandon.after_tokens", "workload.stream"},
		{"abandon by time, not streamed", "workload.stream=false load.abandon.share=0.5 load.abandon.after=1s", "", ""},
		{"abandon behind the end", "workload.output_tokens=4 load.abandon.share=0.5 load.abandon.after_tokens=5", "load.abandon.after_tokens", "workload.output_tokens 4"},
		{"abandon behind the limit", "limits.total=2s load.abandon.share=0.5 load.abandon.after=2s", "load.abandon.after", "limits.total"},
		{"abandon", "load.abandon.share=0.5 load.abandon.after_tokens=5 seeds.abandon=4", "", ""},
		{"seeds.abandon, all", "load.abandon.share=1 load.abandon.after_tokens=5 seeds.abandon=4", "seeds.abandon", "leaves nothing to draw"},
		{"seeds.abandon", "seeds.abandon=4", "seeds.abandon", "load.abandon.share"},
		{"abort.min", "limits.abort.min=5 limits.abort.failed=2", "limits.abort.min", "limits.abort.failed_share"},
		{"abort.window", "limits.abort.window=5s", "limits.abort.window", "neither"},
		{"abort", "limits.abort.min=5 limits.abort.failed_share=0.5 limits.abort.failed=20 limits.abort.window=5s", "", ""},
		{"abort at none", "limits.abort.failed=0", "limits.abort.failed", "1 or more"},
		{"abort at no share", "limits.abort.failed_share=0", "limits.abort.failed_share", "above 0"},
		{"id header and own", "target.headers.x-trace=k target.request_id_header=X-Trace", "target.request_id_header", "target.headers.x-trace"},
		{"id header", "target.request_id_header=X-Trace", "", ""},
		{"no id header", "target.request_id_header=", "", ""},
		{"id header of the client", "target.request_id_header=Host", "target.request_id_header", "meaning of its own"},
		{"two keys", "target.api_key=k target.headers.authorization=x", "target.headers.authorization", "target.api_key"},
		{"key and userinfo", "target.api_key=k target.url=http://u:p@h", "target.url", "target.api_key"},
		{"header and userinfo", "target.headers.Authorization=k target.url=http://u:p@h", "target.url", "target.headers.Authorization"},
		{"devices that differ", "devices={prefill: 8, decode: 8, total: 15}", "devices", "prefill 8 + decode 8"},
		{"devices that agree", "devices={prefill: 8, decode: 8, total: 16}", "", ""},
		{"no devices", "devices=0", "devices", "0 devices"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sets []Set
			for kv := range strings.SplitSeq(strings.ReplaceAll(c.sets, ": ", ":~"), " ") {
				if strings.HasPrefix(kv, "decode") || strings.HasPrefix(kv, "total") {
					sets[len(sets)-1].Value += strings.ReplaceAll(" "+kv, ":~", ": ")
					continue
				}
				path, value, _ := strings.Cut(kv, "=")
				sets = append(sets, Set{Path: path, Value: strings.ReplaceAll(value, ":~", ": "), Origin: "--set " + path})
			}
			_, issues := Read("", nil, sets)
			var errs []Issue
			for _, i := range issues {
				if !i.Warning {
					errs = append(errs, i)
				}
			}
			switch {
			case c.field == "" && len(errs) > 0:
				t.Errorf("refused:\n%s", format(errs))
			case c.field != "" && (len(errs) != 1 || errs[0].Field != c.field || !strings.Contains(errs[0].Error(), c.want)):
				t.Errorf("want one error on %s with %q, got:\n%s", c.field, c.want, format(errs))
			case c.field != "" && errs[0].Origin != "--set "+c.field && !strings.HasPrefix(errs[0].Origin, "--set "):
				t.Errorf("the error does not name its flag: %+v", errs[0])
			}
		})
	}
}

// TestNotes: allowed, and said.
func TestNotes(t *testing.T) {
	for _, c := range []struct{ text, field, want string }{
		{"load: {requests: 4, duration: 3s}", "load.duration", "whichever comes first"},
		{"load: {requests: 4, concurrency: 90}", "load.concurrency", "90 is never reached: there are 4 requests"},
		{"load: {requests: 4, warmup: 86, concurrency: 90}", "", ""},
		{"limits: {total: 5s}", "", ""},
		{"limits: {total: 5s, idle: 6s}", "limits.idle", "limits.total 5s comes first"},
		{"seeds: {run: 3}", "seeds.run", "nothing is drawn"},
		{"seeds: {run: 3}\nworkload: {order: shuffle}", "", ""},
		{"seeds: {run: 3}\nload: {rate: 3, arrivals: poisson}", "", ""},
		{"seeds: {run: 3, arrivals: 1}\nload: {rate: 3, arrivals: poisson}", "seeds.run", "nothing is drawn"},
		{"target: {api_key: '***'}", "target.api_key", "a mask, not a key"},
	} {
		_, issues := read(t, c.text, nil)
		if c.field == "" && len(issues) > 0 {
			t.Errorf("%q: %s", c.text, format(issues))
		}
		if c.field != "" && (len(issues) != 1 || issues[0].Field != c.field || !strings.Contains(issues[0].Error(), c.want) || issues[0].Line == 0) {
			t.Errorf("%q: want a note on %s with %q, got:\n%s", c.text, c.field, c.want, format(issues))
		}
	}
}

// TestValidateOfCode checks Specs that no file made.
func TestValidateOfCode(t *testing.T) {
	if issues := Default().Validate(); len(issues) > 0 {
		t.Errorf("the default is refused: %v", issues)
	}
	for name, c := range map[string]struct {
		change func(*Spec)
		field  string
	}{
		"burstiness":   {func(s *Spec) { s.Load.Burstiness = 2 }, "load.burstiness"},
		"no end":       {func(s *Spec) { s.Load.Requests = 0 }, "load.requests"},
		"no bound":     {func(s *Spec) { s.Load.Concurrency = 0 }, "load.concurrency"},
		"open":         {func(s *Spec) { s.Load.Concurrency = 0; s.Load.Rate = 2 }, ""},
		"by time":      {func(s *Spec) { s.Load.Requests = 0; s.Load.Duration = Duration(time.Second) }, ""},
		"attempts":     {func(s *Spec) { s.Load.Attempts = 0 }, "load.attempts"},
		"tokens":       {func(s *Spec) { s.Workload.OutputTokens = -1 }, "workload.output_tokens"},
		"negative N":   {func(s *Spec) { s.Load.Requests = -1 }, "load.requests"},
		"too many":     {func(s *Spec) { s.Load.Warmup = maxCount + 1 }, "load.warmup"},
		"fast":         {func(s *Spec) { s.Load.Rate = maxRate * 2 }, "load.rate"},
		"NaN rate":     {func(s *Spec) { s.Load.Rate = math.NaN() }, "load.rate"},
		"burst 0":      {func(s *Spec) { s.Load.Burstiness = 0 }, "load.burstiness"},
		"negative d":   {func(s *Spec) { s.Limits.Drain = -1 }, "limits.drain"},
		"long d":       {func(s *Spec) { s.Limits.Drain = maxDuration + 1 }, "limits.drain"},
		"no name":      {func(s *Spec) { s.Name = "" }, "name"},
		"dot name":     {func(s *Spec) { s.Name = ".." }, "name"},
		"odd name":     {func(s *Spec) { s.Name = "a\x1bb" }, "name"},
		"long name":    {func(s *Spec) { s.Name = strings.Repeat("a", 101) }, "name"},
		"NaN sampling": {func(s *Spec) { s.Workload.Sampling = map[string]any{"a": []any{map[string]any{"b": math.NaN()}}} }, "workload.sampling.a"},
		"key line end": {func(s *Spec) { s.Target.APIKey = "a\n" }, "target.api_key"},
		"header value": {func(s *Spec) { s.Target.Headers = map[string]string{"A": "b\r\nC: d"} }, "target.headers.A"},
		"window":       {func(s *Spec) { s.Report.Windows = nil }, "report.windows"},
		"devices":      {func(s *Spec) { s.Devices.Total = -1 }, "devices.total"},
		"interval":     {func(s *Spec) { s.Telemetry.Interval = 0 }, "telemetry.interval"},
		"metrics":      {func(s *Spec) { s.Telemetry.Metrics = []MetricsSource{{Name: "a", URL: "::1"}} }, "telemetry.metrics[0].url"},
		"source name":  {func(s *Spec) { s.Telemetry.Metrics = []MetricsSource{{Name: "a b", URL: "h"}} }, "telemetry.metrics[0].name"},
		"same name": {func(s *Spec) {
			s.Telemetry.Metrics = []MetricsSource{{Name: "a", URL: "h:1"}, {Name: "a", URL: "h:2"}}
		}, "telemetry.metrics[1].name"},
		"source role":     {func(s *Spec) { s.Telemetry.Metrics = []MetricsSource{{URL: "h", Role: "prefil"}} }, "telemetry.metrics[0].role"},
		"source kind":     {func(s *Spec) { s.Telemetry.Metrics = []MetricsSource{{URL: "h", Kind: "nvml"}} }, "telemetry.metrics[0].kind"},
		"source interval": {func(s *Spec) { s.Telemetry.Metrics = []MetricsSource{{URL: "h", Interval: 1}} }, "telemetry.metrics[0].interval"},
		"source key":      {func(s *Spec) { s.Telemetry.Metrics = []MetricsSource{{URL: "h", APIKey: "a\n"}} }, "telemetry.metrics[0].api_key"},
		"source header": {func(s *Spec) {
			s.Telemetry.Metrics = []MetricsSource{{URL: "h", Headers: map[string]string{"Host": "x"}}}
		}, "telemetry.metrics[0].headers.Host"},
		"source auth": {func(s *Spec) {
			s.Telemetry.Metrics = []MetricsSource{{URL: "h", APIKey: "k", Headers: map[string]string{"authorization": "x"}}}
		}, "telemetry.metrics[0].api_key"},
		"source families": {func(s *Spec) { s.Telemetry.Metrics = []MetricsSource{{URL: "h", Families: []string{"a", "b{c}"}}} }, "telemetry.metrics[0].families[1]"},
		"source all": {func(s *Spec) {
			s.Telemetry.Metrics = []MetricsSource{{URL: "h", All: true, Families: []string{"a"}}}
		}, "telemetry.metrics[0].families"},
		"source whole": {func(s *Spec) {
			s.Telemetry.Metrics = []MetricsSource{{URL: "h", Role: "device", Kind: "npu", Interval: Duration(time.Second), APIKey: "k", Families: []string{"a*"}}}
		}, ""},
		"seed": {func(s *Spec) { s.Seeds.Run = -1 }, "seeds.run"},
		"stream_options": {func(s *Spec) {
			s.Workload.Stream, s.Workload.Sampling = false, map[string]any{"stream_options": nil}
		}, "workload.sampling.stream_options"},
	} {
		s := Default()
		c.change(s)
		issues := s.Validate()
		if c.field == "" && Failed(issues) || c.field != "" && (len(issues) != 1 || issues[0].Field != c.field) {
			t.Errorf("%s: want %q, got:\n%s", name, c.field, format(issues))
		}
	}
}

// A closed loop of sessions is never one session by default when time, or a number
// of requests, bounds it.
func TestSessionsByTime(t *testing.T) {
	for _, c := range []struct {
		load string
		want int64 // 0: as many as fit
	}{
		{"{duration: 3s}", 0},
		{"{stages: [{concurrency: 2, duration: 3s}]}", 0},
		{"{duration: 3s, sessions: 9}", 9},
		{"{requests: 7}", 0},
		{"{requests: 7, sessions: 9}", 9},
		{"{}", 1},
	} {
		file := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(file, []byte("workload: {sessions: true}\nload: "+c.load+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s, issues := Read(file, nil, nil)
		var fields []string
		for _, i := range issues {
			if !i.Warning {
				fields = append(fields, i.Field)
			}
		}
		if len(fields) > 0 || s.Load.Sessions != c.want || s.Load.SessionConcurrency == 0 {
			t.Errorf("%s: errors on %q, %d sessions, want %d", c.load, fields, s.Load.Sessions, c.want)
		}
	}
}
