package simserver

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/clock"
)

// page reads a node's metrics page into values by series, labels left out but for le
// and mode.
func page(t *testing.T, s *Server, node Node) map[string]float64 {
	t.Helper()
	w := do(s.ServeNode(node), "GET", "/metrics", "")
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return values(t, w.Body.String())
}

func values(t *testing.T, text string) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, labels, _ := strings.Cut(name, "{")
		for _, l := range []string{"le=", "mode="} {
			if i := strings.Index(labels, l); i >= 0 {
				name += "/" + strings.Split(labels[i:], `"`)[1]
			}
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out[strings.TrimPrefix(name, "sglang:")] = v
	}
	return out
}

func chat(s http.Handler, i, tokens int) *httptest.ResponseRecorder {
	return do(s, "POST", "/v1/chat/completions", fmt.Sprintf(`{"messages":[{"role":"user","content":"question %d"}],"max_tokens":%d,"ignore_eos":true}`, i, tokens))
}

// What the pages of a pair say is what its engine did: while requests run, and after.
func TestMetricsOfAPair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, quick(func(o *Options) {
			o.Disaggregated, o.Nodes = true, map[Node]string{NodePrefill: "", NodeDecode: ""}
			o.Slots, o.PrefillFixed, o.DecodeBase = 3, 100*time.Millisecond, 10*time.Millisecond
			o.TokensPerEvent, o.AcceptRate = 2, 0.5
		}))
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond) // in order
				chat(s, i, 50)
			})
		}
		check := func(when string, node Node, want map[string]float64) map[string]float64 {
			t.Helper()
			got := page(t, s, node)
			for name, v := range want {
				if g, ok := got[name]; !ok || g != v {
					t.Errorf("%s, %s: %s is %v, want %v", when, node, name, g, v)
				}
			}
			return got
		}
		type values = map[string]float64
		time.Sleep(50 * time.Millisecond) // the first is in the first step
		check("in prefill", NodePrefill, values{"num_running_reqs": 1, "num_queue_reqs": 4})
		check("in prefill", NodeDecode, values{"num_running_reqs": 0, "num_queue_reqs": 0, "num_decode_prealloc_queue_reqs": 4, "num_decode_transfer_queue_reqs": 1})
		time.Sleep(100 * time.Millisecond) // it decodes, two more are in prefill: there are three slots
		check("in decode", NodePrefill, values{"num_running_reqs": 2, "num_queue_reqs": 2, "num_requests_total": 1, "generation_tokens_total": 1, "token_usage": 0})
		d := check("in decode", NodeDecode, values{"num_running_reqs": 1, "num_requests_total": 0, "num_decode_prealloc_queue_reqs": 2, "num_decode_transfer_queue_reqs": 2})
		if d["token_usage"] <= 0 || d["realtime_tokens_total/decode"] < 4 {
			t.Errorf("usage %v, %v tokens", d["token_usage"], d["realtime_tokens_total/decode"])
		}
		all.Wait()
		prompt, out, cached := 0.0, 0.0, 0.0
		for _, tr := range s.Trace() {
			prompt += float64(tr.PromptTokens)
			cached += float64(tr.CachedTokens)
			for _, n := range tr.Tokens {
				out += float64(n)
			}
		}
		d = check("at the end", NodeDecode, values{
			"prompt_tokens_total": prompt, "cached_tokens_total": cached, "generation_tokens_total": out, "num_requests_total": 5,
			"time_to_first_token_seconds_count": 5, "e2e_request_latency_seconds_count": 5, "inter_token_latency_seconds_count": out - 5,
			"realtime_tokens_total/decode": out - 5, "num_running_reqs": 0,
		})
		p := page(t, s, NodePrefill)
		check("at the end", NodePrefill, values{
			"prompt_tokens_total": prompt, "generation_tokens_total": 5, "num_requests_total": 5, "time_to_first_token_seconds_count": 5,
			"e2e_request_latency_seconds_sum": p["time_to_first_token_seconds_sum"], "queue_time_seconds_count": 5, "queue_time_seconds_bucket/0": 1,
			"realtime_tokens_total/prefill_compute": prompt - cached, "realtime_tokens_total/prefill_cache": cached,
		})
		if r := d["spec_accept_rate"]; r <= 0.2 || r >= 0.8 || d["spec_accept_length"] <= 1 {
			t.Errorf("acceptance: %v, %v", r, d["spec_accept_length"])
		}
		if _, has := p["inter_token_latency_seconds_count"]; has {
			t.Error("a prefill server has no inter-token latency")
		}
		if w := do(s, "GET", "/metrics", ""); w.Code != 404 {
			t.Errorf("the entry of a pair answers with status %d", w.Code)
		}
		if w := do(s.ServeNode(NodeDecode), "GET", "/get_server_info", ""); !strings.Contains(w.Body.String(), `"disaggregation_mode":"decode"`) {
			t.Error(w.Body)
		}
	})
}

// A restart moves the start of the process and takes all counters back to 0, and only
// those; a reset leaves the start.
func TestMetricsRestart(t *testing.T) {
	for _, f := range []MetricsFault{
		{Kind: MetricsReset, Requests: 3}, {Kind: MetricsRestart, Requests: 3, For: time.Second},
		{Kind: MetricsReset, At: 10 * time.Second}, {Kind: MetricsRestart, At: 10 * time.Second},
	} {
		t.Run(fmt.Sprint(f), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, quick(func(o *Options) { o.MetricsFaults = []MetricsFault{f} }))
				chat(s, 0, 4)
				time.Sleep(4 * time.Second)
				chat(s, 1, 4)
				before := page(t, s, NodeUnified)
				if before["num_requests_total"] != 2 || before["generation_tokens_total"] != 8 || before["e2e_request_latency_seconds_bucket/+Inf"] != 2 {
					t.Fatal(before)
				}
				if f.At > 0 {
					time.Sleep(7 * time.Second)
				}
				chat(s, 2, 4)
				if f.For > 0 {
					if w := do(s, "GET", "/metrics", ""); w.Code != 503 {
						t.Errorf("status %d while it is down", w.Code)
					}
					time.Sleep(f.For)
				}
				after := page(t, s, NodeUnified)
				if after["num_requests_total"] != 1 || after["generation_tokens_total"] != 4 || after["e2e_request_latency_seconds_bucket/+Inf"] != 1 || after["realtime_tokens_total/decode"] != 3 {
					t.Error(after)
				}
				if moved := after["process_start_time_seconds"] - before["process_start_time_seconds"]; (moved > 0) != (f.Kind == MetricsRestart) {
					t.Errorf("the start moved by %v s", moved)
				}
			})
		})
	}
}

// One worker of a pair restarts, and its peer does not.
func TestMetricsRestartOfANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := ParseMetricsFault("restart,node=decode,at=10s,for=1s")
		if err != nil {
			t.Fatal(err)
		}
		s := newServer(t, quick(func(o *Options) {
			o.Disaggregated, o.Nodes, o.MetricsFaults = true, map[Node]string{NodePrefill: "", NodeDecode: ""}, []MetricsFault{f}
		}))
		chat(s, 0, 4)
		before := page(t, s, NodeDecode)
		time.Sleep(10*time.Second + time.Millisecond)
		if w := do(s.ServeNode(NodeDecode), "GET", "/metrics", ""); w.Code != 503 {
			t.Errorf("status %d while it is down", w.Code)
		}
		p := page(t, s, NodePrefill)
		time.Sleep(time.Second)
		d := page(t, s, NodeDecode)
		if p["num_requests_total"] != 1 || d["num_requests_total"] != 0 || p["process_start_time_seconds"] != before["process_start_time_seconds"] || d["process_start_time_seconds"] <= before["process_start_time_seconds"] {
			t.Errorf("prefill %v, decode %v", p, d)
		}
	})
}

// A clock whose epoch lies ahead is no server that is down.
func TestMetricsBeforeTheEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := clock.New()
		clk.Rebase(int64(time.Minute))
		s := NewWithClock(quick(func(*Options) {}), clk)
		defer s.Close()
		if w := do(s, "GET", "/metrics", ""); clk.Now() >= 0 || w.Code != 200 {
			t.Errorf("at %d status %d", clk.Now(), w.Code)
		}
	})
}

// Devices are as busy as the engine, and say it as their exporters do.
func TestDevicePages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, quick(func(o *Options) {
			o.Slots, o.DecodeBase, o.Nodes = 4, 10*time.Millisecond, map[Node]string{NodeNPU: "", NodeDCGM: ""}
		}))
		look := func(want float64) {
			t.Helper()
			for node, name := range map[Node]string{NodeNPU: "npu_chip_info_utilization", NodeDCGM: "DCGM_FI_DEV_GPU_UTIL"} {
				w := do(s.ServeNode(node), "GET", "/metrics", "")
				lines := 0
				for line := range strings.Lines(w.Body.String()) {
					if rest, ok := strings.CutPrefix(line, name+"{"); ok {
						lines++
						if _, v, _ := strings.Cut(rest, "} "); strings.Fields(v)[0] != fmt.Sprint(want) || (len(strings.Fields(v)) == 2) != (node == NodeNPU) {
							t.Errorf("%q, want %g", line, want)
						}
					}
				}
				if w.Code != 200 || lines != devices {
					t.Errorf("status %d, %s", w.Code, w.Body)
				}
			}
		}
		look(0)
		done := make(chan bool)
		go func() { chat(s, 0, 100); close(done) }()
		time.Sleep(500 * time.Millisecond)
		look(25)
		if w := do(s, "GET", "/metrics", ""); w.Code != 200 {
			t.Errorf("the server itself: %d", w.Code)
		}
		<-done
		look(0)
	})
}

func TestMetricsFaults(t *testing.T) {
	get := func(t *testing.T, f string, header ...string) *httptest.ResponseRecorder {
		t.Helper()
		fault, err := ParseMetricsFault(f)
		if err != nil {
			t.Fatal(err)
		}
		return do(newServer(t, quick(func(o *Options) { o.MetricsFaults = []MetricsFault{fault} })), "GET", "/metrics", "", header...)
	}
	for _, c := range []struct {
		fault  string
		header []string
		status int
		say    string
	}{
		{"slow,for=1ms", nil, 200, "sglang:num_running_reqs"},
		{"many,size=200", nil, 200, `sglang:kv_transfer_sim_0{layer="7"`},
		{"huge,size=100000", nil, 200, "sim_huge_total"},
		{"broken", nil, 200, "\nsglang:num_queue_reqs{model_na\n"},
		{"html", nil, 200, "<!DOCTYPE"},
		{"auth", nil, 401, "Unauthorized"},
		{"auth,body=k", []string{"Authorization", "Bearer k"}, 200, "sglang:num_running_reqs"},
		{"status,code=500", nil, 500, "Internal"},
		{"openmetrics", nil, 200, "# TYPE sglang:prompt_tokens counter\nsglang:prompt_tokens_total{"},
		{"status,at=1h", nil, 200, "sglang:num_running_reqs"},
		{"status,requests=1", nil, 200, "sglang:num_running_reqs"},
		{"status,node=decode", nil, 200, "sglang:num_running_reqs"},
	} {
		w := get(t, c.fault, c.header...)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.say) {
			t.Errorf("%s: status %d, %.200s", c.fault, w.Code, w.Body)
		}
	}
	if w := get(t, "huge"); w.Body.Len() < 20_000_000 {
		t.Errorf("huge: %d bytes", w.Body.Len())
	}
	if w := get(t, "openmetrics"); !strings.HasSuffix(w.Body.String(), "# EOF\n") || !strings.HasPrefix(w.Header().Get("Content-Type"), "application/openmetrics-text") {
		t.Error("openmetrics: no end")
	}
	w := get(t, "gzip")
	z, err := gzip.NewReader(bytes.NewReader(w.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); err != nil || !bytes.Contains(text, []byte("sglang:")) {
		t.Errorf("gzip: %v", err)
	}
	func() {
		defer func() {
			if r := recover(); r != http.ErrAbortHandler {
				t.Errorf("cut: %v", r)
			}
		}()
		get(t, "cut")
	}()
	for _, bad := range []string{"", "slo", "slow,for=x", "reset", "status,code=9", "slow,node=front", "restart,node=npu,at=1s", "reset,at=1s,requests=2", "many,size=-1", "slow,share=1"} {
		if _, err := ParseMetricsFault(bad); err == nil {
			t.Errorf("%q: accepted", bad)
		}
	}
}

// A page that never comes ends when its client goes, and when the server does.
func TestMetricsHang(t *testing.T) {
	o := quick(func(o *Options) {
		o.Disaggregated, o.Nodes = true, map[Node]string{NodeDecode: "127.0.0.1:0", NodePrefill: "127.0.0.1:0"}
		o.MetricsFaults = []MetricsFault{{Kind: MetricsHang, Node: NodeDecode}}
	})
	r, err := Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(r.Nodes[NodePrefill] + "/metrics")
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	failed := make(chan error)
	go func() {
		resp, err := http.Get(r.Nodes[NodeDecode] + "/metrics")
		if err == nil {
			resp.Body.Close()
		}
		failed <- err
	}()
	for r.Seen()["decode/metrics"] == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; err == nil {
		t.Error("it came")
	}
	http.DefaultClient.CloseIdleConnections()
}

// docs/sim.md has every kind of fault of a metrics page; -update rewrites its table.
func TestMetricsKindsAreDocumented(t *testing.T) {
	const path, begin, end = "../docs/sim.md", "<!-- metrics faults -->\n", "<!-- /metrics faults -->\n"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), begin)
	have, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no table between %s and %s", path, begin, end)
	}
	want := "| kind | what happens |\n|---|---|\n"
	for _, k := range MetricsKinds {
		want += fmt.Sprintf("| `%s` | %s |\n", k.Kind, k.About)
	}
	if *update {
		if err := os.WriteFile(path, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if have != want {
		t.Errorf("%s: the table is not that of MetricsKinds; go test ./simserver -run Documented -update writes it", path)
	}
}
