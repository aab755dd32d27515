package run_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/dialect"
	"tokentape/internal/exchange"
	"tokentape/internal/memnet"
	"tokentape/internal/plan"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/simserver"
	"tokentape/tape"
)

// questions is a source of n distinct prompts.
type questions struct {
	n      int64
	output int64
}

func (q questions) Len() int64 { return q.n }

func (q questions) Item(i int64) (workload.Item, error) {
	text := fmt.Sprintf("question %04d: why?", i)
	return workload.Item{
		Ref:      workload.Ref{Row: i, Offset: i * 20},
		Messages: []workload.Message{{Role: "user", Content: text}}, Prompt: text,
		OutputLen: q.output,
	}, nil
}

// rig is a run against a handler over an in-memory network, all in virtual time.
type rig struct {
	t       *testing.T
	clk     *clock.Clock
	load    spec.Load
	output  int64
	repeat  string
	rows    int64
	handler http.Handler
	limits  exchange.Limits
	change  func(*run.Config)
	source  workload.Source // nil: questions
	data    plan.Data       // of that source
	reply   bool            // sessions go on with the server's replies
	ctx     context.Context // nil: never cancelled
	http2   bool            // with prior knowledge
	text    bool            // generated texts are kept, for a TokenCounter
	urls    []string        // nil: one
}

// run sends the load and reads the tape back.
func (r rig) run() (*run.Summary, []*tape.Request, []tape.Record) {
	r.t.Helper()
	l := memnet.Listen()
	srv := &http.Server{Handler: r.handler, Protocols: new(http.Protocols)}
	srv.Protocols.SetHTTP1(!r.http2)
	srv.Protocols.SetUnencryptedHTTP2(r.http2)
	go srv.Serve(l)
	defer func() {
		srv.Close()
		synctest.Wait() // for handlers of requests that were cut off: their truths are told at their end
	}()

	if r.rows == 0 {
		r.rows = 2000
	}
	if r.source == nil {
		r.source, r.data = questions{r.rows, 0}, plan.Data{Rows: r.rows}
	}
	p, err := plan.MakeOf(r.load, r.output, r.data, r.repeat, "", spec.Seeds{Run: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	d, err := dialect.Get("openai-chat")
	if err != nil {
		r.t.Fatal(err)
	}
	c := client.New(client.Config{Clock: r.clk, Dial: l.Dial, MaxIdle: 1000, HTTP2: r.http2})
	defer c.Close()
	path := filepath.Join(r.t.TempDir(), "tape.jsonl.zst")
	w, err := tape.Create(path, true)
	if err != nil {
		r.t.Fatal(err)
	}
	cfg := run.Config{
		Clock: r.clk, Plan: p, Source: r.source, Tape: w,
		Exchange: exchange.New(exchange.Config{
			Client: c, Dialect: d, Clock: r.clk, URL: "http://sim/v1/chat/completions", URLs: r.urls,
			Options: dialect.Options{Model: "sim-7b", Stream: true, Sampling: map[string]any{"ignore_eos": true}},
			Limits:  r.limits, KeepReply: r.reply, KeepText: r.text, SessionHeader: "X-Session",
		}),
		Header:      tape.Header{Type: "header", Schema: tape.Schema, Run: "test", Spec: []byte("{}")},
		Concurrency: p.Params.Concurrency, Sessions: p.Params.SessionConcurrency, Recorded: !r.reply, Duration: time.Duration(p.Params.Duration), Attempts: int(max(r.load.Attempts, 1)),
		Drain: 30 * time.Second, Tail: r.load.Tail == "auto",
		Retry: run.Retry{On: []string{"connect", "reset", "429", "5xx"}},
	}
	if r.change != nil {
		r.change(&cfg)
	}
	if r.ctx == nil {
		r.ctx = context.Background()
	}
	sum, err := run.Run(r.ctx, cfg)
	if err != nil {
		r.t.Logf("run: %v", err)
	}
	if cfg.Tape != w { // the test wrote elsewhere
		w.Close()
		return sum, nil, nil
	}
	requests, all := readTape(r.t, path)
	return sum, requests, all
}

func readTape(t *testing.T, path string) (requests []*tape.Request, all []tape.Record) {
	t.Helper()
	rd, err := tape.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	for {
		rec, err := rd.Next()
		if err == io.EOF {
			return requests, all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rec)
		switch x := rec.(type) {
		case *tape.Request:
			if err := x.Check(); err != nil {
				t.Errorf("request %d: %v", x.Seq, err)
			}
			requests = append(requests, x)
		case *tape.Fault:
			t.Errorf("fault on the tape: %+v", x)
		}
	}
}

// lead is how long before its first due time a run begins: times of a test that
// count from the call are this much later on the tape's clock.
const lead = int64(2 * time.Millisecond)

// TestExactTimes holds the client's stamps against the simulated server's truth,
// in virtual time: 200 streams, every event of every one exact to the nanosecond.
func TestExactTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := clock.New()
		truth := map[string]simserver.Truth{}
		o := simserver.Defaults()
		o.Slots = 48 // fewer than in flight: some queue at the server
		o.OnTruth = nil
		o.Keep = 1000
		sim := simserver.NewWithClock(o, clk)
		defer sim.Close()
		sum, requests, _ := rig{t: t, clk: clk, handler: sim, output: 32,
			load: spec.Load{Requests: 200, Concurrency: 64, Rate: 40, Arrivals: "poisson"}}.run()
		if sum.Footer.OK != 200 || len(requests) != 200 {
			t.Fatalf("footer %+v, %d requests", sum.Footer, len(requests))
		}
		for _, x := range sim.Trace() {
			truth[x.ID] = x
		}
		for _, q := range requests {
			x, ok := truth[q.ID]
			if !ok {
				t.Fatalf("request %d: no truth for id %q", q.Seq, q.ID)
			}
			var token []int64 // client stamps of token events, machine time
			at := q.TWroteFirst.V
			for i, kind := range q.Events.Kinds() {
				at += q.Events.DT[i]
				if tape.IsToken(kind) {
					token = append(token, clk.Machine(at))
				}
			}
			if len(token) != len(x.WriteStart) {
				t.Fatalf("request %d: %d token events, the server wrote %d", q.Seq, len(token), len(x.WriteStart))
			}
			for i := range token {
				if token[i] != x.WriteStart[i] {
					t.Fatalf("request %d token %d: client %d, server %d", q.Seq, i, token[i], x.WriteStart[i])
				}
			}
			if got, want := clk.Machine(q.TReleased.V), x.Received; got != want {
				t.Errorf("request %d released at %d, received at %d", q.Seq, got, want)
			}
			if got := q.TFirstToken.V - q.TReleased.V; got != x.WriteStart[0]-x.Received {
				t.Errorf("request %d: TTFT %d, truth %d", q.Seq, got, x.WriteStart[0]-x.Received)
			}
			if last := len(x.WriteStart) - 1; q.TLastToken.V-q.TReleased.V != x.WriteStart[last]-x.Received {
				t.Errorf("request %d: E2E differs from the truth", q.Seq)
			}
			if q.Tokens.Output != tape.Some(x.OutputTokens) || q.Tokens.Input != tape.Some(x.PromptTokens) {
				t.Errorf("request %d: tokens %+v, truth %d in, %d out", q.Seq, q.Tokens, x.PromptTokens, x.OutputTokens)
			}
		}
	})
}

// pause reads the request, as net/http needs it to notice that a client went
// away, and waits; it is false when the client did.
func pause(r *http.Request, d time.Duration) bool {
	io.Copy(io.Discard, r.Body)
	select {
	case <-time.After(d):
		return true
	case <-r.Context().Done():
		return false
	}
}

// fixed answers every request with one token after d, the k-th of them after
// slow[k] instead.
func fixed(d time.Duration, slow map[int64]time.Duration) http.Handler {
	var n atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wait := d
		if s, ok := slow[n.Add(1)-1]; ok {
			wait = s
		}
		if !pause(r, wait) {
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	})
}

// TestB04CoordinatedOmission: one slot, 10/s, request 10 takes 2 s. The wait is
// slot wait, none of it is the client's.
func TestB04CoordinatedOmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, requests, _ := rig{t: t, clk: clock.New(), handler: fixed(10*time.Millisecond, map[int64]time.Duration{10: 2 * time.Second}),
			load: spec.Load{Requests: 100, Concurrency: 1, Rate: 10, Arrivals: "constant"}}.run()
		late := 0
		var most int64
		for _, q := range requests {
			if q.TDue.V != q.Seq*100_000_000 {
				t.Fatalf("request %d due at %d", q.Seq, q.TDue.V)
			}
			lag := q.TWroteFirst.V - q.TDue.V
			if lag > 0 {
				late++
			}
			most = max(most, lag)
			if got := q.PacerLag(); got != tape.Some(int64(0)) {
				t.Errorf("request %d: pacer lag %v", q.Seq, got)
			}
			if q.SlotWait().V != lag {
				t.Errorf("request %d: slot wait %v, lag %d", q.Seq, q.SlotWait(), lag)
			}
		}
		if late != 22 || most != 1_900_000_000 {
			t.Errorf("%d late, most %d; want 22 and 1.9 s", late, most)
		}
	})
}

// Without a cap the others go out on time.
func TestOpenLoopWithoutCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: fixed(2*time.Second, nil),
			load: spec.Load{Requests: 100, Rate: 10, Arrivals: "constant"}}.run()
		if sum.Footer.OK != 100 || sum.Footer.Reason != tape.ReasonCompleted {
			t.Fatalf("%+v", sum.Footer)
		}
		for _, q := range requests {
			if q.TWroteFirst.V != q.TDue.V {
				t.Errorf("request %d: %d after due", q.Seq, q.TWroteFirst.V-q.TDue.V)
			}
		}
	})
}

// Failures are counted apart: 7 good ones, 3 with 500.
func TestB06CountsAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := fixed(10*time.Millisecond, nil)
		n := 0
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n++; n%3 == 0 {
				time.Sleep(5 * time.Millisecond)
				http.Error(w, "boom", 500)
				return
			}
			good.ServeHTTP(w, r)
		})
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: h, load: spec.Load{Requests: 10, Concurrency: 1}}.run()
		f := sum.Footer
		if f.Planned != 10 || f.OK != 7 || f.Failed["http_status"] != 3 || f.Cancelled != 0 || f.NotIssued != 0 {
			t.Errorf("%+v", f)
		}
		if len(requests) != 10 {
			t.Errorf("%d requests on the tape", len(requests))
		}
	})
}

// Warm-up rows are handed over without draining.
func TestWarmupHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: fixed(time.Second, map[int64]time.Duration{1: 3 * time.Second}),
			load: spec.Load{Requests: 10, Concurrency: 2, Warmup: 2}}.run()
		if sum.Footer.OK != 10 || sum.Footer.Preparation != 2 {
			t.Fatalf("%+v", sum.Footer)
		}
		var lastWarmEnd, firstMeasured int64 = 0, 1 << 62
		seen := map[int64]bool{}
		for _, q := range requests {
			if seen[q.Ref.Row] {
				t.Errorf("row %d sent twice", q.Ref.Row)
			}
			seen[q.Ref.Row] = true
			if q.Phase == tape.PhaseWarmup {
				lastWarmEnd = max(lastWarmEnd, q.TEnd.V)
			} else {
				firstMeasured = min(firstMeasured, q.TReleased.V)
			}
		}
		if firstMeasured != int64(time.Second) || lastWarmEnd != 3*int64(time.Second) {
			t.Errorf("first measured release %d, last warm-up end %d", firstMeasured, lastWarmEnd)
		}
	})
}

// When every warm-up fails, the run stops with the cause.
func TestWarmupsAllFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if pause(r, 10*time.Millisecond) {
				http.Error(w, "no memory", http.StatusServiceUnavailable)
			}
		})
		sum, _, _ := rig{t: t, clk: clock.New(), handler: h, load: spec.Load{Requests: 100, Concurrency: 2, Warmup: 3}}.run()
		f := sum.Footer
		if f.Reason != tape.ReasonWarmup || f.NotIssued < 90 || f.OK != 0 {
			t.Errorf("%+v", f)
		}
	})
}

// A first answer of 404 ends the run; the rest is not sent.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sum, _, _ := rig{t: t, clk: clock.New(), handler: http.NotFoundHandler(), load: spec.Load{Requests: 100, Concurrency: 1}}.run()
		f := sum.Footer
		if f.Reason != tape.ReasonRefused || f.Failed["http_status"] != 1 || f.NotIssued != 99 {
			t.Errorf("%+v", f)
		}
	})
}

// A closed loop bound by time issues until then and lets running requests end.
func TestDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: fixed(300*time.Millisecond, nil),
			load: spec.Load{Duration: spec.Duration(time.Second), Concurrency: 2}}.run()
		f := sum.Footer
		if f.Reason != tape.ReasonDuration || f.OK != 8 || f.Planned != 8 || len(requests) != 8 {
			t.Errorf("%+v, %d requests", f, len(requests))
		}
	})
}

// Interrupts: the first drains for a bounded time, then cancels.
func TestInterruptDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		go func() {
			time.Sleep(2500 * time.Millisecond)
			stop <- struct{}{}
		}()
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: fixed(time.Second, map[int64]time.Duration{3: time.Hour}),
			load: spec.Load{Requests: 100, Concurrency: 2}, change: func(c *run.Config) { c.Stop = stop }}.run()
		f := sum.Footer
		// Two lanes: 0,2,4,… a second each; number 3 hangs and is cancelled after 30 s.
		if f.Reason != tape.ReasonInterrupted || f.OK+f.Cancelled+f.NotIssued != 100 || f.Cancelled != 1 {
			t.Errorf("%+v", f)
		}
		for _, q := range requests {
			if q.Outcome == tape.OutcomeCancelled && q.TEnd.V != int64(32500*time.Millisecond)-lead {
				t.Errorf("cancelled at %d", q.TEnd.V)
			}
		}
	})
}

func TestSecondInterruptCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		go func() {
			time.Sleep(1500 * time.Millisecond)
			stop <- struct{}{}
			time.Sleep(100 * time.Millisecond)
			stop <- struct{}{}
		}()
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: fixed(time.Hour, nil),
			load: spec.Load{Requests: 100, Concurrency: 4}, change: func(c *run.Config) { c.Stop = stop }}.run()
		if f := sum.Footer; f.Cancelled != 4 || f.NotIssued != 96 || len(requests) != 4 {
			t.Errorf("%+v", f)
		}
		for _, q := range requests {
			if q.TEnd.V != int64(1600*time.Millisecond)-lead {
				t.Errorf("cancelled at %d", q.TEnd.V)
			}
		}
	})
}

// Every attempt is on the tape; the latency spans them all.
func TestAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := fixed(10*time.Millisecond, nil)
		n := 0
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n++; n <= 2 {
				time.Sleep(time.Second)
				http.Error(w, "busy", http.StatusServiceUnavailable)
				return
			}
			good.ServeHTTP(w, r)
		})
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: h, load: spec.Load{Requests: 2, Concurrency: 1, Attempts: 3}}.run()
		if sum.Footer.OK != 2 {
			t.Fatalf("%+v", sum.Footer)
		}
		q := requests[0]
		if q.Attempts != 3 || len(q.AttemptLog) != 2 || q.AttemptLog[1].Status != 503 || q.AttemptLog[1].TReleased != tape.Some(int64(time.Second)) {
			t.Errorf("%+v", q)
		}
		if q.TReleased.V != 0 || q.TFirstToken.V != int64(2010*time.Millisecond) {
			t.Errorf("released %d, first token %d", q.TReleased.V, q.TFirstToken.V)
		}
	})
}

// Tail rows keep the load up until the last measured request has ended.
func TestTail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sum, requests, _ := rig{t: t, clk: clock.New(), handler: fixed(time.Second, map[int64]time.Duration{9: 5 * time.Second}),
			repeat: "cycle", rows: 20, load: spec.Load{Requests: 10, Concurrency: 2, Tail: "auto"}}.run()
		if f := sum.Footer; f.OK != 10 || f.Planned != 10 || f.Preparation < 4 || f.NotIssued != 0 {
			t.Errorf("%+v", f)
		}
		for _, q := range requests {
			if (q.Phase == tape.PhaseTail) != (q.Seq >= 10) {
				t.Errorf("request %d is %s", q.Seq, q.Phase)
			}
		}
	})
}

// A run of N sends N: nothing else reaches the server.
func TestSendsNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := clock.New()
		sim := simserver.NewWithClock(simserver.Defaults(), clk)
		defer sim.Close()
		sum, _, _ := rig{t: t, clk: clk, handler: sim, output: 4, load: spec.Load{Requests: 17, Concurrency: 5}}.run()
		if sum.Footer.OK != 17 {
			t.Fatalf("%+v", sum.Footer)
		}
		for path, n := range sim.Seen() {
			if path != "/v1/chat/completions" || n != 17 {
				t.Errorf("%s: %d", path, n)
			}
		}
	})
}

// A tape that cannot be written stops the run by that reason.
func TestDiskFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("SKIPPED LOUDLY: no /dev/full on this system: " + err.Error())
	}
	defer full.Close()
	synctest.Test(t, func(t *testing.T) {
		r := rig{t: t, clk: clock.New(), handler: fixed(200*time.Millisecond, nil), load: spec.Load{Requests: 1000, Concurrency: 1}}
		r.change = func(c *run.Config) { c.Tape = tape.NewWriter(full, false) }
		sum, _, _ := r.run()
		if f := sum.Footer; f.Reason != tape.ReasonDisk || f.OK > 900 {
			t.Errorf("%+v", f)
		}
	})
}
