package run_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/dialect"
	"tokentape/internal/exchange"
	"tokentape/internal/plan"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/simserver"
	"tokentape/tape"
)

// simEnv makes this test binary a simulated server of its own process, as every
// real server is: its garbage collector and scheduler are not the client's.
const simEnv = "TOKENTAPE_TEST_SIM"

func TestMain(m *testing.M) {
	if o := os.Getenv(simEnv); o != "" {
		serveSim(o)
		return
	}
	os.Exit(m.Run())
}

// paced is a server of independent streams: 20 ms to the first token, then one
// every 10 ms, each stream on absolute deadlines of its own. A batching engine
// writes to all streams in the same instant, and the last of 64 then waits for the
// other 63 whoever reads.
type paced struct {
	clk *clock.Clock
	mu  sync.Mutex
	all []simserver.Truth
}

const pacedOptions = "paced"

// sinkOptions is a server that reads the body, counts nothing and answers one token
// after 500 ms: what a server does with a long prompt must not be the client's.
const sinkOptions = "sink"

func sink(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	time.Sleep(500 * time.Millisecond)
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"word"},"finish_reason":"length"}]}`+"\n\ndata: [DONE]\n\n")
}

func (p *paced) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	begin := p.clk.Now()
	x := simserver.Truth{ID: r.Header.Get("X-Request-Id"), Received: p.clk.Machine(begin), WriteStart: make([]int64, 0, 128)}
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	for i := range 128 {
		end := "null"
		if i == 127 {
			end = `"length"`
		}
		event := fmt.Sprintf(`data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"word"},"finish_reason":%s}]}`+"\n\n", end)
		p.clk.SleepUntil(r.Context(), begin+20_000_000+int64(i)*10_000_000)
		x.WriteStart = append(x.WriteStart, p.clk.Machine(p.clk.Now()))
		io.WriteString(w, event)
		flush.Flush()
	}
	io.WriteString(w, "data: [DONE]\n\n")
	p.mu.Lock()
	p.all = append(p.all, x)
	p.mu.Unlock()
}

// serveSim serves with the options given as JSON until standard input ends; then
// it prints its truths.
func serveSim(options string) {
	debug.SetGCPercent(800) // what is measured is the client, not this collector
	if options == pacedOptions {
		p := &paced{clk: clock.New()}
		srv := httptest.NewServer(p)
		fmt.Println(srv.URL)
		io.Copy(io.Discard, os.Stdin)
		srv.Close()
		printTruths(p.all)
		return
	}
	if options == sinkOptions {
		srv := httptest.NewServer(http.HandlerFunc(sink))
		fmt.Println(srv.URL)
		io.Copy(io.Discard, os.Stdin)
		srv.Close()
		return
	}
	o := simserver.Defaults()
	if err := json.Unmarshal([]byte(options), &o); err != nil {
		panic(err)
	}
	srv, err := simserver.Listen("127.0.0.1:0", o)
	if err != nil {
		panic(err)
	}
	fmt.Println(srv.URL)
	io.Copy(io.Discard, os.Stdin)
	printTruths(srv.Trace())
	srv.Close()
}

func printTruths(all []simserver.Truth) {
	out := bufio.NewWriter(os.Stdout)
	enc := json.NewEncoder(out)
	for _, x := range all {
		enc.Encode(x)
	}
	out.Flush()
}

// simProcess starts a simulated server in another process. truths ends it and
// returns what it really did, by request id.
func simProcess(b *testing.B, options string) (url string, truths func() map[string]simserver.Truth) {
	b.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), simEnv+"="+options)
	cmd.Stderr = os.Stderr
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); cmd.Wait() })
	lines := bufio.NewReader(out)
	if url, err = lines.ReadString('\n'); err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(url) + "/v1/chat/completions", func() map[string]simserver.Truth {
		in.Close()
		all := map[string]simserver.Truth{}
		for dec := json.NewDecoder(lines); ; {
			var x simserver.Truth
			if dec.Decode(&x) != nil {
				return all
			}
			all[x.ID] = x
		}
	}
}

// socketRun sends a load over loopback sockets and returns the requests and the
// server's truths.
func socketRun(b *testing.B, options string, load spec.Load, output int64) (*clock.Clock, []*tape.Request, map[string]simserver.Truth) {
	b.Helper()
	return socketRunOf(b, options, load, output, questions{load.Requests, 0})
}

func socketRunOf(b *testing.B, options string, load spec.Load, output int64, source workload.Source) (*clock.Clock, []*tape.Request, map[string]simserver.Truth) {
	b.Helper()
	defer run.Tune()()
	url, truths := simProcess(b, options)
	p, err := plan.Make(load, output, load.Requests, "", "", spec.Seeds{Run: 1})
	if err != nil {
		b.Fatal(err)
	}
	d, _ := dialect.Get("openai-chat")
	clk := clock.NewPrecise()
	c := client.New(client.Config{Clock: clk, MaxIdle: 1000})
	defer c.Close()
	path := b.TempDir() + fmt.Sprintf("/tape-%d.jsonl.zst", time.Now().UnixNano())
	w, err := tape.Create(path, true)
	if err != nil {
		b.Fatal(err)
	}
	sum, err := run.Run(context.Background(), run.Config{
		Clock: clk, Plan: p, Source: source, Tape: w,
		Exchange: exchange.New(exchange.Config{
			Client: c, Dialect: d, Clock: clk, URL: url,
			Options: dialect.Options{Model: "sim-7b", Stream: true, Sampling: map[string]any{"ignore_eos": true}},
		}),
		Header:      tape.Header{Type: "header", Schema: tape.Schema, Run: "bench", Spec: []byte("{}")},
		Concurrency: load.Concurrency, Attempts: 1,
	})
	if err != nil || sum.Footer.OK != load.Requests {
		b.Fatalf("%+v, %v", sum.Footer, err)
	}
	return clk, okRequests(b, path), truths()
}

func okRequests(b *testing.B, path string) (requests []*tape.Request) {
	rd, err := tape.OpenFile(path)
	if err != nil {
		b.Fatal(err)
	}
	defer rd.Close()
	for {
		rec, err := rd.Next()
		if err == io.EOF {
			return requests
		}
		if err != nil {
			b.Fatal(err)
		}
		if q, ok := rec.(*tape.Request); ok {
			requests = append(requests, q)
		}
	}
}

// ms is a quantile of nanoseconds, in milliseconds.
func ms(ns []int64, q float64) float64 {
	slices.Sort(ns)
	return float64(ns[int(math.Round(q*float64(len(ns)-1)))]) / 1e6
}

// fidelityLoad is 64 streams at once, 100 tokens/s each, that begin one by one.
var fidelityLoad = spec.Load{Requests: 256, Concurrency: 64, Rate: 60, Arrivals: "poisson"}

// stampErrors collects a client's stamps less the truth, in nanoseconds. The truth of
// an event is the moment just before the server's write: the server's system
// call counts as the client's error. The truth of a TTFT is from the moment at
// which the server had read the request.
type stampErrors struct{ ttft, event []int64 }

func (e *stampErrors) add(b *testing.B, ttft int64, events []int64, x simserver.Truth) {
	if len(events) != len(x.WriteStart) {
		b.Fatalf("request %s: %d token events, the server wrote %d", x.ID, len(events), len(x.WriteStart))
	}
	for i, t := range events {
		e.event = append(e.event, t-x.WriteStart[i])
	}
	d := ttft - (x.WriteStart[0] - x.Received)
	e.ttft = append(e.ttft, max(d, -d))
}

func (e *stampErrors) report(b *testing.B) {
	within := 0
	for _, d := range e.event {
		if d < 1_000_000 {
			within++
		}
	}
	b.ReportMetric(ms(e.ttft, 0.5), "ttft-err-p50-ms")
	b.ReportMetric(ms(e.ttft, 0.99), "ttft-err-p99-ms")
	b.ReportMetric(ms(e.event, 0.5), "event-err-p50-ms")
	b.ReportMetric(ms(e.event, 0.99), "event-err-p99-ms")
	b.ReportMetric(100*float64(within)/float64(len(e.event)), "%-events-in-1ms")
}

// BenchmarkFidelity holds the client's stamps against the server's truth, 64
// streams that are independent of each other.
func BenchmarkFidelity(b *testing.B) { fidelity(b, pacedOptions) }

// BenchmarkFidelityLockstep is the same against the simulated engine, which
// writes a token of every stream at the same moment.
func BenchmarkFidelityLockstep(b *testing.B) {
	fidelity(b, `{"decode_per_seq_ns":0,"keep":100000}`)
}

func fidelity(b *testing.B, server string) {
	for b.Loop() {
		clk, requests, truths := socketRun(b, server, fidelityLoad, 128)
		var e stampErrors
		for _, q := range requests {
			var events []int64
			for _, ev := range q.Events.All(q.TWroteFirst.V) {
				if tape.IsToken(ev.Kind) {
					events = append(events, clk.Machine(ev.T))
				}
			}
			e.add(b, q.TFirstToken.V-q.TReleased.V, events, truths[q.ID])
		}
		e.report(b)
	}
}

// BenchmarkFidelityBare is the same load from a client of a few lines that does
// nothing but read, split and stamp: what this machine can do at all.
func BenchmarkFidelityBare(b *testing.B) {
	for b.Loop() {
		url, truths := simProcess(b, pacedOptions)
		p, err := plan.Make(fidelityLoad, 128, fidelityLoad.Requests, "", "", spec.Seeds{Run: 1})
		if err != nil {
			b.Fatal(err)
		}
		clk := clock.New()
		transport := &http.Transport{MaxIdleConnsPerHost: 1000, DisableCompression: true}
		type answer struct {
			released int64
			events   []int64
		}
		answers := make([]answer, p.Rows())
		slots := make(chan struct{}, fidelityLoad.Concurrency)
		var wg sync.WaitGroup
		for i := range p.Rows() {
			row, _ := p.At(i)
			time.Sleep(time.Duration(row.Due - clk.Now()))
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				body := fmt.Sprintf(`{"model":"sim-7b","stream":true,"ignore_eos":true,"max_tokens":128,"messages":[{"role":"user","content":"question %04d: why?"}]}`, i)
				req, _ := http.NewRequest("POST", url, strings.NewReader(body))
				req.Header.Set("X-Request-Id", fmt.Sprint(i))
				a := &answers[i]
				a.released = clk.Machine(clk.Now())
				resp, err := transport.RoundTrip(req)
				if err != nil {
					b.Error(err)
					return
				}
				defer resp.Body.Close()
				var left []byte
				buf := make([]byte, 16<<10)
				for {
					n, err := resp.Body.Read(buf)
					t := clk.Machine(clk.Now())
					left = append(left, buf[:n]...)
					for {
						event, rest, ok := bytes.Cut(left, []byte("\n\n"))
						if !ok {
							break
						}
						if bytes.Contains(event, []byte(`"content":"`)) && !bytes.Contains(event, []byte(`"content":""`)) {
							a.events = append(a.events, t)
						}
						left = rest
					}
					if err != nil {
						return
					}
				}
			})
		}
		wg.Wait()
		transport.CloseIdleConnections()
		all := truths()
		var e stampErrors
		for i, a := range answers {
			e.add(b, a.events[0]-a.released, a.events, all[fmt.Sprint(i)])
		}
		e.report(b)
	}
}

// BenchmarkFidelityPacing offers 1,000 requests/s for 5 s to a server that
// answers at once: achieved rate, and pacer lag at the first byte written.
func BenchmarkFidelityPacing(b *testing.B) {
	for b.Loop() {
		instant, _ := json.Marshal(simserver.Instant())
		_, requests, _ := socketRun(b, string(instant), spec.Load{Requests: 5000, Rate: 1000, Arrivals: "constant"}, 1)
		var lag []int64
		first, last := int64(math.MaxInt64), int64(0)
		for _, q := range requests {
			lag = append(lag, q.PacerLag().V)
			first, last = min(first, q.TWroteFirst.V), max(last, q.TWroteFirst.V)
		}
		b.ReportMetric(float64(len(requests)-1)/(float64(last-first)/1e9), "req/s")
		b.ReportMetric(ms(lag, 0.5), "lag-p50-ms")
		b.ReportMetric(ms(lag, 0.99), "lag-p99-ms")
		b.ReportMetric(ms(lag, 1), "lag-max-ms")
	}
}
