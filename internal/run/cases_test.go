package run_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/analysis"
	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/dialect"
	"tokentape/internal/exchange"
	"tokentape/internal/report"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/tape"
)

// B02: no successful request at all: 5 requests to a server that no longer
// listens. The report is written: completed 0, failed 5, all latencies absent,
// nothing divided by zero, the reason in one line.
func TestB02NoSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "tape.jsonl.zst")
		clk := clock.New()
		sum, _, _ := rig{t: t, clk: clk, handler: http.NotFoundHandler(), load: spec.Load{Requests: 5, Concurrency: 5}, change: func(c *run.Config) {
			d, err := dialect.Get("openai-chat")
			if err != nil {
				t.Fatal(err)
			}
			refused := client.New(client.Config{Clock: clk, Dial: func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
			}})
			c.Exchange = exchange.New(exchange.Config{Client: refused, Dialect: d, Clock: clk, URL: "http://gone.test/v1/chat/completions", Options: dialect.Options{Model: "m", Stream: true}})
			if c.Tape, err = tape.Create(path, true); err != nil {
				t.Fatal(err)
			}
		}}.run()
		f := sum.Footer
		if f.Planned != 5 || f.OK != 0 || f.Failed["connect"] != 5 || f.Cancelled != 0 || f.NotIssued != 0 {
			t.Errorf("%+v", f)
		}
		if q := sum.FirstFailure; q == nil || !strings.Contains(q.Message, "connection refused") || strings.Contains(q.Message, "\n") {
			t.Errorf("first failure: %+v", q)
		}
		r, err := analysis.AnalyseFile(path, analysis.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict.Fit {
			t.Error("the verdict calls it fit")
		}
		var js, text, stats, rows bytes.Buffer
		for name, err := range map[string]error{
			"json": report.JSON(&js, r), "console": report.Console(&text, r, report.Options{Width: 100}), "stats": report.StatsCSV(&stats, r), "rows": report.RequestsCSV(&rows, r),
		} {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !json.Valid(js.Bytes()) { // the standard has no NaN and no Inf
			t.Errorf("results: %s", &js)
		}
		for _, out := range []string{js.String(), text.String(), stats.String(), rows.String()} {
			for _, bad := range []string{"NaN", "Inf", "∞"} {
				if strings.Contains(out, bad) {
					t.Errorf("%q in\n%s", bad, out)
				}
			}
		}
		if !strings.Contains(text.String(), "connection refused") {
			t.Errorf("the report does not say why:\n%s", &text)
		}
	})
}

// B09: warm-up pollutes nothing: 2 + 10 requests have 12 distinct prompts, so
// each of the 10 measured ones meets a cold cache (TTFT 200 ms, 10 ms for a
// prompt seen before), and the first of them goes out when a warm-up's slot is
// free: handed over, not drained. A run whose warm-ups all fail stops.
func TestB09Warmup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		known := map[[32]byte]int{}
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			key := sha256.Sum256(body)
			known[key]++
			wait := 200 * time.Millisecond
			if known[key] > 1 {
				wait = 10 * time.Millisecond
			}
			mu.Unlock()
			time.Sleep(wait)
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
		})
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: h, load: spec.Load{Requests: 10, Concurrency: 2, Warmup: 2}}.run()
		if sum.Footer.OK != 10 || sum.Footer.Planned != 10 || sum.Footer.Preparation != 2 || len(requests) != 12 || len(known) != 12 {
			t.Errorf("%d prompts for %d requests: %+v", len(known), len(requests), sum.Footer)
		}
		var lastWarm, firstMeasured int64 = -1, 1 << 62
		for _, q := range requests {
			if q.Phase == tape.PhaseWarmup {
				lastWarm = max(lastWarm, q.TReleased.V)
				continue
			}
			firstMeasured = min(firstMeasured, q.TReleased.V)
			if ttft := q.TFirstToken.V - q.TReleased.V; ttft != int64(200*time.Millisecond) {
				t.Errorf("request %d: TTFT %s", q.Seq, time.Duration(ttft))
			}
		}
		if firstMeasured <= lastWarm || firstMeasured != int64(200*time.Millisecond) {
			t.Errorf("last warm-up release %d, first measured one %d", lastWarm, firstMeasured)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(10 * time.Millisecond)
			http.Error(w, "no memory", http.StatusServiceUnavailable)
		})
		sum, _, _ := rig{t: t, clk: clock.New(), handler: h, load: spec.Load{Requests: 10, Concurrency: 1, Warmup: 2}}.run()
		f := sum.Footer
		if f.Reason != tape.ReasonWarmup || f.OK != 0 || f.NotIssued+f.Cancelled+f.Failed["http_status"] != 10 || f.NotIssued < 8 || !strings.Contains(f.Message, "no memory") {
			t.Errorf("%+v", f)
		}
	})
}
