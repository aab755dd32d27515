package evidence_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/analysis"
	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/dialect"
	"tokentape/internal/exchange"
	"tokentape/internal/memnet"
	"tokentape/internal/plan"
	"tokentape/internal/run"
	"tokentape/internal/search"
	"tokentape/internal/search/evidence"
	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/simserver"
	"tokentape/tape"
)

// prompts are distinct ones, those of a look apart from those of all others.
type prompts struct{ first, n, output int64 }

func (p prompts) Len() int64 { return p.n }

func (p prompts) Item(i int64) (workload.Item, error) {
	text := fmt.Sprintf("question %09d: why?", p.first+i)
	return workload.Item{Ref: workload.Ref{Row: i}, Messages: []workload.Message{{Role: "user", Content: text}}, Prompt: text, OutputLen: p.output}, nil
}

// rig is a search of a simulated server in virtual time: real plans, runs, tapes and
// analyses over connections in memory.
type rig struct {
	server simserver.Options
	p      search.Params
	slo    spec.SLO
	output int64
	dir    string
	used   int64
	t      testing.TB
}

// look runs one, in a bubble of its own.
func (r *rig) look(t *testing.T, step search.Step, seed int64) search.Look {
	t.Helper()
	n := int64(float64(r.p.Requests) * step.Times)
	path := filepath.Join(r.dir, fmt.Sprintf("%d.jsonl", seed))
	s := spec.Default()
	s.Load.Requests, s.Load.Concurrency, s.Load.Arrivals = n, 0, "poisson"
	if r.p.For == search.Rate {
		s.Load.Rate = step.At
	} else {
		s.Load.Concurrency = int64(step.At)
	}
	s.Seeds.Run, s.Report.SLO = seed, r.slo
	first := r.used
	r.used += n
	var took float64
	synctest.Test(t, func(t *testing.T) {
		clk := clock.New()
		o := r.server
		o.Seed = uint64(seed)
		sv := simserver.NewWithClock(o, clk)
		l := memnet.Listen()
		srv := &http.Server{Handler: sv}
		go srv.Serve(l)
		defer func() {
			srv.Close()
			synctest.Wait()
			sv.Close()
		}()
		p, err := plan.MakeOf(s.Load, r.output, plan.Data{Rows: n}, "none", "", s.Seeds)
		if err != nil {
			t.Fatal(err)
		}
		d, err := dialect.Get("openai-chat")
		if err != nil {
			t.Fatal(err)
		}
		c := client.New(client.Config{Clock: clk, Dial: l.Dial, MaxIdle: 4000})
		defer c.Close()
		w, err := tape.Create(path, false)
		if err != nil {
			t.Fatal(err)
		}
		began := clk.Now()
		if _, err = run.Run(context.Background(), run.Config{
			Clock: clk, Plan: p, Source: prompts{first, n, r.output}, Tape: w,
			Exchange: exchange.New(exchange.Config{
				Client: c, Dialect: d, Clock: clk, URL: "http://sim/v1/chat/completions",
				Options: dialect.Options{Model: "sim-7b", Stream: true, OutputLen: r.output, Sampling: map[string]any{"ignore_eos": true}},
			}),
			Header:      tape.Header{Type: "header", Schema: tape.Schema, Run: "test", Spec: s.JSON(), Plan: tape.PlanRef{Rows: n}},
			Concurrency: p.Params.Concurrency, Attempts: 1, Drain: time.Minute,
		}); err != nil {
			t.Fatal(err)
		}
		took = float64(clk.Now()-began) / 1e9
	})
	res, err := analysis.AnalyseFile(path, analysis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(path)
	out := search.Look{Step: step, Seed: seed, Requests: n, TookS: took, Run: path}
	out.Facts, out.Client, out.Unfit = evidence.Of(res, r.ask(), step.At)
	return out
}

func (r *rig) ask() evidence.Ask {
	a := evidence.Ask{Limits: map[string]float64{}, Share: r.p.Share, For: r.p.For, Goodput: r.p.Goal == search.Goodput}
	b, _ := json.Marshal(r.slo)
	_ = json.Unmarshal(b, &a.Limits)
	for name, v := range a.Limits {
		if v == 0 {
			delete(a.Limits, name)
		}
	}
	return a
}

// search runs one to its end.
func (r *rig) search(t *testing.T) ([]search.Look, search.Verdict) {
	var looks []search.Look
	for {
		step, ok, why := r.p.Next(looks)
		if !ok {
			return looks, r.p.Conclude(looks, why)
		}
		n := len(looks) + 1
		l := r.look(t, step, r.p.SeedOf(n))
		l.N = n
		r.p.Judge(&l, looks)
		looks = append(looks, l)
	}
}

func logOf(looks []search.Look, v search.Verdict) string {
	var b strings.Builder
	for _, l := range looks {
		fmt.Fprintf(&b, "%2d %-8s %8.4g ×%-5.4g %7.1f s  %-9s %s%s%s\n", l.N, l.Kind, l.At, l.Times, l.TookS, l.Decision, l.Why, l.Client, l.Unfit)
	}
	fmt.Fprintf(&b, "%s (%s): %s %v", v.Result, v.End, v.Line, v.Notes)
	return b.String()
}

// md1 is the share of requests that wait at most t services, a whole number, in M/D/1
// at load rho: Franx (Oper. Res. Lett. 29 (2001) 221) on the distribution of the number
// in the system, by sums of positive terms alone. (Erlang's formula of 1909 alternates,
// and has no digit left from t = 20 on.)
func md1(rho float64, t int) float64 {
	arrive := make([]float64, t+3) // Poisson, of one service
	more := make([]float64, t+3)   // than so many arrivals
	arrive[0] = math.Exp(-rho)
	for i := 1; i < len(arrive); i++ {
		arrive[i] = arrive[i-1] * rho / float64(i)
	}
	for i := range more {
		for l, x := i+1, arrive[i]; l < i+200; l++ {
			x *= rho / float64(l)
			more[i] += x
		}
	}
	p := []float64{1 - rho} // of so many in the system: what goes up over a level comes down
	for j := 1; j <= t+1; j++ {
		up := p[0] * more[j-1]
		for i := 1; i < j; i++ {
			up += p[i] * more[j-i]
		}
		p = append(p, up/arrive[0])
	}
	share, queue := 0.0, p[0]
	for n := range t + 1 {
		queue += p[n+1] // at most n wait
		share += queue * arrive[t-n]
	}
	return share
}

// crossing is where a falling share reaches 0.95.
func crossing(lo, hi float64, share func(float64) float64) float64 {
	for range 60 {
		if mid := (lo + hi) / 2; share(mid) >= 0.95 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// singleFile is a server that takes one request after the other, each for 50 ms: M/D/1
// under Poisson arrivals, whose truth is known in closed form.
func singleFile(t *testing.T, n int64) (r *rig, truth float64) {
	o := simserver.Defaults()
	o.Slots, o.PrefillFixed, o.PrefillPerToken, o.DecodeBase, o.DecodePerSeq, o.Cache = 1, 50*time.Millisecond, 0, 0, 0, false
	r = &rig{server: o, slo: spec.SLO{TTFT: 1550.5}, output: 1, dir: t.TempDir(), t: t}
	r.p = search.Params{For: search.Rate, Goal: search.Highest, From: 4, To: 64, Share: 0.95, Precision: 0.03, MostLooks: 16, Requests: n}
	return r, crossing(0.1, 0.999, func(rho float64) float64 { return md1(rho, 30) }) / 0.05
}

// TestFindsTheTruth: in virtual time, against a queue whose highest rate is known in
// closed form. TOKENTAPE_SLOW=1 makes ten searches.
func TestFindsTheTruth(t *testing.T) {
	rounds, n := 1, int64(1000)
	if os.Getenv("TOKENTAPE_SLOW") != "" {
		rounds, n = 10, 8000
	}
	near, over := 0, 0
	for i := range rounds {
		r, truth := singleFile(t, n)
		r.p.Seed = int64(i+1) * 1000
		began := time.Now()
		looks, v := r.search(t)
		t.Logf("truth %.4g, search %d of %d in %.1f s\n%s", truth, i+1, rounds, time.Since(began).Seconds(), logOf(looks, v))
		if v.At == nil {
			continue
		}
		switch off := *v.At/truth - 1; {
		case off > 0.05:
			over++
		case off > -0.05:
			near++
		}
	}
	if near < rounds*9/10 || over > 0 {
		t.Errorf("within 5 %% of the truth: %d of %d, above it by more than 5 %%: %d", near, rounds, over)
	}
}
