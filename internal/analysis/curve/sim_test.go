package curve_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/analysis/compare"
	"tokentape/internal/analysis/curve"
	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/dialect"
	"tokentape/internal/exchange"
	"tokentape/internal/memnet"
	"tokentape/internal/plan"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/internal/sweep"
	"tokentape/internal/workload"
	"tokentape/simserver"
	"tokentape/tape"
)

// prompts are n distinct ones from first on.
type prompts struct{ first, n int64 }

func (p prompts) Len() int64 { return p.n }

func (p prompts) Item(i int64) (workload.Item, error) {
	text := fmt.Sprintf("question %09d: %s?", p.first+i, strings.Repeat("why and how ", 40))
	return workload.Item{Ref: workload.Ref{Row: p.first + i}, Messages: []workload.Message{{Role: "user", Content: text}}, Prompt: text}, nil
}

const (
	slots  = 8
	output = 8
)

// engine has slots, and decodes for eight nearly as fast as for one: what more than
// eight in flight bring is waiting.
func engine() simserver.Options {
	o := simserver.Defaults()
	o.Slots, o.Cache, o.OutputCV = slots, false, 0
	o.PrefillFixed, o.PrefillPerToken = time.Millisecond, time.Microsecond
	o.DecodeBase, o.DecodePerSeq = 20*time.Millisecond, time.Millisecond
	return o
}

// capacity of engine with all slots taken, requests a second: a prefill step makes the
// first token, a decode step each of the others, and the prefills of the other slots
// come between.
const capacity = slots / ((output-1)*(0.020+slots*0.001) + slots*0.0012)

// ladder runs one point a value against a server of its own, in virtual time, and
// writes the folder of a sweep.
func ladder(t *testing.T, o simserver.Options, field string, values []float64, requests int64, same bool, repeats int) string {
	t.Helper()
	dir := t.TempDir()
	m := &sweep.Manifest{Kind: "sweep", Name: "ladder", Fields: []string{field}, Prompts: "distinct", Seed: 1}
	if same {
		m.Prompts = "same"
	}
	if err := os.Mkdir(filepath.Join(dir, "points"), 0o755); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		clk := clock.New()
		sv := simserver.NewWithClock(o, clk)
		l := memnet.Listen()
		srv := &http.Server{Handler: sv}
		go srv.Serve(l)
		defer func() {
			srv.Close()
			synctest.Wait()
			sv.Close()
		}()
		var used int64
		for repeat := 1; repeat <= repeats; repeat++ {
			for _, v := range values {
				p := sweep.Point{Name: fmt.Sprintf("p%g.%d", v, repeat), At: []any{v}, Repeat: repeat, State: sweep.Done}
				p.Run = "points/" + p.Name
				s := spec.Default()
				s.Load.Requests = max(requests, int64(v)*10)
				if field == "load.rate" {
					s.Load.Rate, s.Load.Arrivals = v, "poisson"
					s.Load.Concurrency = 0
				} else {
					s.Load.Concurrency, s.Load.Requests = int64(v), max(requests, int64(v)*10)
				}
				s.Seeds.Run = int64(repeat)
				s.Report.SLO = spec.SLO{TTFT: 200}
				first := used
				if same {
					first = 0
				}
				send(t, clk, l, s, first, filepath.Join(dir, p.Run))
				used += s.Load.Requests
				m.Points = append(m.Points, p)
			}
		}
	})
	if err := m.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// send makes one run, all of it real but the network and the time.
func send(t *testing.T, clk *clock.Clock, l *memnet.Listener, s *spec.Spec, first int64, dir string) {
	t.Helper()
	n := s.Load.Requests
	p, err := plan.MakeOf(s.Load, output, plan.Data{Rows: n}, "none", "", s.Seeds)
	if err != nil {
		t.Fatal(err)
	}
	d, err := dialect.Get("openai-chat")
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(client.Config{Clock: clk, Dial: l.Dial, MaxIdle: 4000})
	defer c.Close()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := tape.Create(filepath.Join(dir, "tape.jsonl"), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = run.Run(context.Background(), run.Config{
		Clock: clk, Plan: p, Source: prompts{first, n}, Tape: w,
		Exchange: exchange.New(exchange.Config{
			Client: c, Dialect: d, Clock: clk, URL: "http://sim/v1/chat/completions",
			Options: dialect.Options{Model: "sim-7b", Stream: true, OutputLen: output, Sampling: map[string]any{"ignore_eos": true}},
		}),
		Header:      tape.Header{Type: "header", Schema: tape.Schema, Run: filepath.Base(dir), Spec: s.JSON(), Plan: tape.PlanRef{Rows: n}},
		Concurrency: p.Params.Concurrency, Attempts: 1, Drain: time.Minute,
	}); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir string) *curve.Curves {
	t.Helper()
	c, err := curve.Read(dir, curve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestKneeOfKnownSlots: on a server of eight slots the knee is within one step of
// eight, and that is where throughput levels off.
func TestKneeOfKnownSlots(t *testing.T) {
	dir := ladder(t, engine(), "load.concurrency", []float64{1, 2, 4, 8, 16, 32}, 200, false, 1)
	c := read(t, dir)
	g := c.Curves[0]
	if g.Knee.Point == nil || !slices.Contains([]int{2, 3, 4}, g.Points[*g.Knee.Point]) {
		t.Errorf("%d slots, %s", slots, g.Knee.Line)
	}
	if g.Saturation.Point == nil || c.Points[*g.Saturation.Point].At[0] != 8.0 {
		t.Errorf("%d slots, %s", slots, g.Saturation.Line)
	}
	for _, p := range c.Points {
		x := *p.Values["requests_per_s"].Value
		if c := p.At[0].(float64); c >= slots && (x < 0.9*capacity || x > 1.1*capacity) {
			t.Errorf("%s: %.1f requests/s, capacity %.1f", p.Label, x, capacity)
		}
	}
	for _, f := range g.Fronts {
		if slices.Contains(f.Points, 5) && f.Latency != "tpot_ms.p95" {
			t.Errorf("%s: c=32 with four times the wait of c=8 is on the front", f.Latency)
		}
		if !slices.Contains(f.Points, 3) {
			t.Errorf("%s: c=8, the full server without waiting, is not on the front", f.Latency)
		}
	}
	// Cut short, the ladder has no knee, and says so.
	m, err := sweep.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Points = m.Points[:3]
	if err := m.Write(dir); err != nil {
		t.Fatal(err)
	}
	c = read(t, dir)
	if k := c.Curves[0].Knee; k.Point != nil || !strings.Contains(k.Line, "no knee within the ladder") {
		t.Errorf("1, 2, 4 of 8 slots: %s", k.Line)
	}
	if s := c.Curves[0].Saturation; s.Point != nil || !strings.Contains(s.Line, "does not level off") {
		t.Errorf("1, 2, 4 of 8 slots: %s", s.Line)
	}
}

// TestSaturation: rates below the capacity are never unstable, those above it are, and
// have no percentiles.
func TestSaturation(t *testing.T) {
	var rates []float64
	for _, share := range []float64{0.3, 0.6, 1.25, 1.6} {
		rates = append(rates, capacity*share)
	}
	c := read(t, ladder(t, engine(), "load.rate", rates, 300, false, 1))
	for i, p := range c.Points {
		want := i >= 2
		if got := p.Backlog.State == curve.Unstable; got != want {
			t.Errorf("%.2f of the capacity: %s: %s", rates[i]/capacity, p.Backlog.State, p.Backlog.Why)
		}
		v := p.Values["e2e_from_due_ms.p95"]
		if want != (v.Value == nil && v.Why == "unstable at this rate") {
			t.Errorf("%s: p95 of E2E %+v", p.Label, v)
		}
		if x := p.Values["output_tokens_per_s"].Value; x == nil {
			t.Errorf("%s: no throughput", p.Label)
		}
	}
	g := c.Curves[0]
	if s := g.Saturation; s.Unstable == nil || *s.Unstable != 2 {
		t.Error(s.Line)
	}
	if g.Knee.Point == nil || *g.Knee.Point > 1 {
		t.Error(g.Knee.Line)
	}
	if x := *c.Points[3].Values["kept_up_per_s"].Value; x < 0.93*capacity || x > 1.05*capacity {
		t.Errorf("kept up with %.1f/s, capacity %.1f", x, capacity)
	}
}

// TestPromptsAgain: a ladder of the same prompts is told apart from the server's doing
// by the cached share, alone and against one of distinct prompts.
func TestPromptsAgain(t *testing.T) {
	o := engine()
	o.Cache, o.CacheReport, o.PrefillPerToken = true, "on", 100*time.Microsecond
	values := []float64{1, 4, 8}
	distinct, same := ladder(t, o, "load.concurrency", values, 220, false, 1), ladder(t, o, "load.concurrency", values, 220, true, 1)
	notes := strings.Join(read(t, same).Notes, "\n")
	if !strings.Contains(notes, "points are unlike: cached share 0.0") || !strings.Contains(notes, "same prompts") {
		t.Error(notes)
	}
	c := read(t, distinct)
	if notes := strings.Join(c.Notes, "\n"); strings.Contains(notes, "cached share") {
		t.Error(notes)
	}
	both, err := curve.Compare(distinct, same, curve.Options{}, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if w := strings.Join(both.Warnings, "\n"); !strings.Contains(w, "cached share differs at 2 of 3") || !strings.Contains(w, "A sent distinct prompts, B same") {
		t.Error(w)
	}
	if both.Verdict != compare.Better || len(both.Pairs) != 3 || both.Family < 2 {
		t.Errorf("%s at %d points, %d tests: %s", both.Verdict, len(both.Pairs), both.Family, both.Line)
	}
}
