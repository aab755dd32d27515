package run_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"bufio"
	"encoding/json"

	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/dialect"
	"tokentape/internal/exchange"
	"tokentape/internal/plan"
	"tokentape/internal/run"
	"tokentape/internal/spec"
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

// serveSim serves with the options given as JSON until standard input ends; then
// it prints its truths.
func serveSim(options string) {
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
	out := bufio.NewWriter(os.Stdout)
	enc := json.NewEncoder(out)
	for _, x := range srv.Trace() {
		enc.Encode(x)
	}
	out.Flush()
	srv.Close()
}

// socketRun sends a load over loopback sockets to a simulated server in another
// process and returns the requests and the server's truths by request id.
func socketRun(b *testing.B, options string, load spec.Load, output int64) (*clock.Clock, []*tape.Request, map[string]simserver.Truth) {
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
	defer cmd.Wait()
	defer in.Close()
	lines := bufio.NewReader(out)
	url, err := lines.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}

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
		Clock: clk, Plan: p, Source: questions{load.Requests, 0}, Tape: w,
		Exchange: exchange.New(exchange.Config{
			Client: c, Dialect: d, Clock: clk, URL: strings.TrimSpace(url) + "/v1/chat/completions",
			Options: dialect.Options{Model: "sim-7b", Stream: true, Sampling: map[string]any{"ignore_eos": true}},
		}),
		Header:      tape.Header{Type: "header", Schema: tape.Schema, Run: "bench", Spec: []byte("{}")},
		Concurrency: load.Concurrency, Attempts: 1,
	})
	if err != nil || sum.Footer.OK != load.Requests {
		b.Fatalf("%+v, %v", sum.Footer, err)
	}
	requests := okRequests(b, path)

	in.Close()
	truths := map[string]simserver.Truth{}
	for dec := json.NewDecoder(lines); ; {
		var x simserver.Truth
		if dec.Decode(&x) != nil {
			break
		}
		truths[x.ID] = x
	}
	return clk, requests, truths
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

// BenchmarkFidelity holds the client's stamps against the server's truth over
// sockets: 64 streams, 100 tokens/s each. An event's error is its stamp less the
// moment just before the server's write: it contains the server's system call.
func BenchmarkFidelity(b *testing.B) {
	for b.Loop() {
		clk, requests, truths := socketRun(b, `{"decode_per_seq_ns":0,"keep":100000}`,
			spec.Load{Requests: 256, Concurrency: 64, Rate: 60, Arrivals: "poisson"}, 128)
		var ttft, event []int64
		for _, q := range requests {
			x := truths[q.ID]
			at, k := q.TWroteFirst.V, 0
			for i, kind := range q.Events.Kinds() {
				at += q.Events.DT[i]
				if !tape.IsToken(kind) {
					continue
				}
				diff := clk.Machine(at) - x.WriteStart[k]
				event = append(event, diff)
				if k == 0 {
					// TTFT by the server's own clock: from the whole request read.
					client := q.TFirstToken.V - q.TReleased.V
					ttft = append(ttft, max(client-(x.WriteStart[0]-x.Received), -(client-(x.WriteStart[0]-x.Received))))
				}
				k++
			}
			if k != len(x.WriteStart) {
				b.Fatalf("request %s: %d token events, the server wrote %d", q.ID, k, len(x.WriteStart))
			}
		}
		within := 0
		for _, d := range event {
			if d < 1_000_000 {
				within++
			}
		}
		b.ReportMetric(ms(ttft, 0.5), "ttft-err-p50-ms")
		b.ReportMetric(ms(ttft, 0.99), "ttft-err-p99-ms")
		b.ReportMetric(ms(event, 0.5), "event-err-p50-ms")
		b.ReportMetric(ms(event, 0.99), "event-err-p99-ms")
		b.ReportMetric(100*float64(within)/float64(len(event)), "%-events-in-1ms")
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
