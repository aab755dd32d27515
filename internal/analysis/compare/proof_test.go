package compare_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/compare"
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
type questions int64

func (q questions) Len() int64 { return int64(q) }

func (q questions) Item(i int64) (workload.Item, error) {
	text := fmt.Sprintf("question %04d: why?", i)
	return workload.Item{
		Ref:      workload.Ref{Row: i, Offset: i * 20},
		Messages: []workload.Message{{Role: "user", Content: text}}, Prompt: text,
	}, nil
}

// noise is what differs from one run to the next on a server that nobody changed:
// relative sd of its decode and prefill speed, and a jitter before each request of
// the given mean.
type noise struct {
	decode, prefill float64
	jitter          time.Duration
}

// usual is somewhat more than what a real server shows between runs in a row.
var usual = noise{decode: 0.005, prefill: 0.02, jitter: time.Millisecond}

// server is a simulated one whose decode steps take slower times as long.
func server(clk *clock.Clock, r *rand.Rand, n noise, slower float64) (http.Handler, func()) {
	o := simserver.Defaults()
	o.Cache = false
	scale := func(d time.Duration, sd float64) time.Duration {
		return time.Duration(float64(d) * math.Exp(sd*r.NormFloat64()))
	}
	decode := n.decode * r.NormFloat64()
	o.DecodeBase = time.Duration(float64(10*time.Millisecond) * slower * math.Exp(decode))
	o.DecodePerSeq = time.Duration(float64(50*time.Microsecond) * slower * math.Exp(decode))
	o.PrefillFixed = scale(8*time.Millisecond, n.prefill)
	sim := simserver.NewWithClock(o, clk)
	jitter := rand.New(rand.NewPCG(r.Uint64(), 1)) // in the order of arrival, which virtual time fixes
	waits := make(chan time.Duration, 4096)
	for range cap(waits) {
		waits <- time.Duration(jitter.ExpFloat64() * float64(n.jitter))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		time.Sleep(<-waits)
		sim.ServeHTTP(w, q)
	}), func() { sim.Close() }
}

// send makes one run, all of it real but the network and the time, and returns its
// tape.
func send(t *testing.T, dir, name string, clk *clock.Clock, h http.Handler, load spec.Load, seed int64) string {
	t.Helper()
	l := memnet.Listen()
	srv := &http.Server{Handler: h}
	go srv.Serve(l)
	defer func() {
		srv.Close()
		synctest.Wait()
	}()
	p, err := plan.MakeOf(load, 32, plan.Data{Rows: 2000}, "", "", spec.Seeds{Run: seed})
	if err != nil {
		t.Fatal(err)
	}
	d, err := dialect.Get("openai-chat")
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(client.Config{Clock: clk, Dial: l.Dial, MaxIdle: 1000})
	defer c.Close()
	path := filepath.Join(dir, name+".jsonl")
	w, err := tape.Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	header := tape.Header{
		Type: "header", Schema: tape.Schema, Run: name, Plan: tape.PlanRef{SHA256: p.SHA256(), Rows: p.Rows(), Kind: p.Kind},
		Spec: fmt.Appendf(nil, `{"name":%q,"target":{"api_key":"***"},"load":{"requests":%d,"concurrency":%d}}`, name[:1], load.Requests, load.Concurrency),
	}
	_, err = run.Run(context.Background(), run.Config{
		Clock: clk, Plan: p, Source: questions(2000), Tape: w,
		Exchange: exchange.New(exchange.Config{
			Client: c, Dialect: d, Clock: clk, URL: "http://sim/v1/chat/completions",
			Options: dialect.Options{Model: "sim-7b", Stream: true, Sampling: map[string]any{"ignore_eos": true}},
		}),
		Header: header, Concurrency: p.Params.Concurrency, Attempts: 1, Drain: 30 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// sides runs two servers in turns, k runs each, and compares them.
func sides(t *testing.T, seed uint64, k int, n noise, slower float64, load spec.Load) *compare.Comparison {
	t.Helper()
	in := record(t, seed, k, n, slower, load)
	c, err := compare.Compare(in, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func record(t *testing.T, seed uint64, k int, n noise, slower float64, load spec.Load) []compare.Input {
	t.Helper()
	dir := t.TempDir()
	in := []compare.Input{{Path: "a"}, {Path: "b"}}
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(seed, 7))
		clk := clock.New()
		for i := range k {
			order := []int{0, 1}
			if i%2 == 1 {
				order = []int{1, 0}
			}
			for _, s := range order {
				h, end := server(clk, r, n, []float64{1, slower}[s])
				in[s].Tapes = append(in[s].Tapes, send(t, dir, fmt.Sprintf("%c%d", 'a'+s, i), clk, h, load, 1))
				end()
				time.Sleep(time.Second)
			}
		}
	})
	return in
}

// TestThreePercent is the promise of this package: a decode speed that differs by
// 3 % is called, the right way, and equal servers are not called different.
func TestThreePercent(t *testing.T) {
	load := spec.Load{Requests: 64, Concurrency: 8}
	rounds := 5
	if os.Getenv("TOKENTAPE_COMPARE") != "" {
		rounds = 100
	}
	for _, c := range []struct {
		slower float64
		want   string
	}{{1.03, compare.Worse}, {1 / 1.03, compare.Better}, {1, ""}} {
		right, verdicts := 0, map[string]int{}
		n := rounds
		if c.slower < 1 {
			n = max(rounds/5, 1) // the mirror image
		}
		for i := range n {
			v := sides(t, uint64(i)+uint64(c.slower*1000)<<8, 5, usual, c.slower, load)
			verdicts[v.Verdict]++
			if v.Verdict == c.want || c.want == "" && (v.Verdict == compare.Same || v.Verdict == compare.Undecided) {
				right++
			} else {
				t.Logf("×%.3f, %d: %s", c.slower, i, v.Line)
			}
		}
		t.Logf("decode steps ×%.3f: right in %d of %d: %v", c.slower, right, n, verdicts)
		if float64(right) < 0.9*float64(n) {
			t.Errorf("decode steps ×%.3f: right in %d of %d only", c.slower, right, n)
		}
	}
}

// TestOneRunASide: the same plan on two servers is paired row by row, and what that
// leaves unknown is said.
func TestOneRunASide(t *testing.T) {
	in := record(t, 42, 1, noise{jitter: time.Millisecond}, 1.05, spec.Load{Requests: 160, Concurrency: 8})
	on := []string{"tpot_ms.mean", "tpot_ms.p50", "e2e_ms.p50"}
	// Runs of one server differ too: 5 % of one run a side is not called unless asked.
	if c, err := compare.Compare(in, compare.Options{On: on}); err != nil || c.Verdict == compare.Worse || c.Pairs[0].Metrics[0].Tolerance != compare.LoneTolerance {
		t.Errorf("5 %% of one run a side: %v, %v", err, c.Line)
	}
	tolerance := compare.DefaultTolerance
	c, err := compare.Compare(in, compare.Options{On: on, Tolerance: &tolerance})
	if err != nil {
		t.Fatal(err)
	}
	p := c.Pairs[0]
	if c.Verdict != compare.Worse || p.Rows == nil || p.Rows.Paired < 100 || !strings.Contains(c.Line, "between-run variance unknown") {
		t.Errorf("%s, paired %+v: %s", c.Verdict, p.Rows, c.Line)
	}
	for _, m := range p.Metrics {
		if m.Name != "tpot_ms.mean" && m.Name != "tpot_ms.p50" {
			continue
		}
		if m.Method != compare.ByRows || m.Verdict != compare.Worse || math.Abs(*m.Change-0.05) > 0.01 || *m.PairedB-*m.PairedA != *m.Shift {
			t.Errorf("%s by %s: %s, change %v of %v → %v", m.Name, m.Method, m.Verdict, *m.Change, *m.A.Value, *m.B.Value)
		}
	}
	if len(p.Differences) != 1 || p.Differences[0] != (compare.Difference{Path: "spec.name", A: "a", B: "b"}) {
		t.Errorf("differences %v", p.Differences)
	}
	// The other way round everything has the other sign.
	in[0], in[1] = in[1], in[0]
	back, err := compare.Compare(in, compare.Options{On: c.On, Tolerance: &tolerance})
	if err != nil || back.Verdict != compare.Better {
		t.Errorf("the other way round: %v, %s", err, back.Line)
	}
	if _, err := compare.Compare([]compare.Input{in[0], in[0]}, compare.Options{}); err == nil || !strings.Contains(err.Error(), "same tape") {
		t.Errorf("a run against itself: %v", err)
	}
}

// TestPairedValuesStandApart: A and B are those of the run's own report, and what the
// paired rows alone have is beside them.
func TestPairedValuesStandApart(t *testing.T) {
	in := record(t, 43, 1, usual, 1.05, spec.Load{Requests: 160, Concurrency: 8})
	c, err := compare.Compare(in, compare.Options{Window: "seconds:0.5..5"})
	if err != nil {
		t.Fatal(err)
	}
	var reports [2]*analysis.Results
	for i := range reports {
		r, err := tape.OpenFile(in[i].Tapes[0])
		if err != nil {
			t.Fatal(err)
		}
		reports[i], err = analysis.Analyse(r, analysis.Options{Windows: []string{"seconds:0.5..5"}})
		r.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	paired, apart := 0, 0
	for _, m := range c.Pairs[0].Metrics {
		key, of, _ := strings.Cut(m.Name, ".")
		for i, v := range []compare.Value{m.A, m.B} {
			if s := reports[i].Windows[0].Metrics[key]; s != nil && (of == "mean" && *v.Value != *s.Mean || of == "p50" && *v.Value != *s.P50) {
				t.Errorf("%s of side %d: %v, its report says otherwise", m.Name, i, *v.Value)
			}
		}
		if m.PairedA == nil {
			continue
		}
		paired++
		if *m.A.Value != *m.PairedA || *m.B.Value != *m.PairedB {
			apart++
		}
		if m.Pairs == 0 || math.Abs(*m.PairedB-*m.PairedA-*m.Shift) > 1e-9 || math.Abs(*m.Change - *m.Shift / *m.PairedA) > 1e-12 {
			t.Errorf("%s: %d pairs, %v → %v, shift %v, change %v", m.Name, m.Pairs, *m.PairedA, *m.PairedB, *m.Shift, *m.Change)
		}
	}
	if paired == 0 || apart == 0 {
		t.Errorf("%d paired, %d of them other than in the report: the test shows nothing", paired, apart)
	}
}

// TestShortRunsOfOneASide: in one short run a side a server that is twice as slow is
// called, by blocks of rows, and servers that differ by what runs differ by are not.
func TestShortRunsOfOneASide(t *testing.T) {
	rounds := 4
	if os.Getenv("TOKENTAPE_COMPARE") != "" {
		rounds = 200
	}
	for _, load := range []spec.Load{{Requests: 64, Concurrency: 8}, {Requests: 64, Concurrency: 4}} {
		for _, slower := range []float64{2, 1} {
			verdicts, methods, by := map[string]int{}, map[string]int{}, map[string]int{}
			for i := range rounds {
				v := sides(t, uint64(i)+uint64(slower*1000)<<8+uint64(load.Concurrency)<<32, 1, usual, slower, load)
				verdicts[v.Verdict]++
				for _, m := range v.Pairs[0].Metrics {
					if m.Decides {
						methods[m.Method]++
						if m.Verdict == compare.Worse || m.Verdict == compare.Better {
							by[m.Name+" by "+m.Method]++
						}
					}
				}
			}
			t.Logf("%d requests, %d in flight, decode steps ×%g: %v; decided by %v; called different %v", load.Requests, load.Concurrency, slower, verdicts, methods, by)
			if slower == 2 && verdicts[compare.Worse] < rounds*9/10 {
				t.Errorf("twice as slow is called worse in %d of %d", verdicts[compare.Worse], rounds)
			}
			if n := verdicts[compare.Worse] + verdicts[compare.Better]; slower == 1 && float64(n) > 0.05*float64(rounds) {
				t.Errorf("equal servers are called different in %d of %d", n, rounds)
			}
			for what, n := range by {
				if slower == 1 && strings.HasSuffix(what, " by "+compare.ByBlocks) && float64(n) > 0.01*float64(rounds)+1 {
					t.Errorf("equal servers, %s: called different in %d of %d", what, n, rounds)
				}
			}
		}
	}
}
