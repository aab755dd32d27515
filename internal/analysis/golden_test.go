package analysis

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"tokentape/tape"
)

var update = flag.Bool("update", false, "write testdata/*.golden.json anew")

// rich is a closed loop with everything in it: warm-up and tail rows, reasoning,
// cached tokens that the server leaves out at 0, failures, devices, an SLO,
// client samples.
func rich() *script { return richOf(200) }

// richOf is rich with n measured requests.
func richOf(n int64) *script {
	s := &script{reason: tape.ReasonCompleted, plan: n + 8, spec: fmt.Sprintf(`{"name":"rich","target":{"api":"openai-chat"},
		"load":{"requests":%d,"concurrency":8,"warmup":8,"tail":"auto"},"limits":{"failed_share":0.05},
		"devices":{"total":16},"report":{"slo":{"ttft_ms":60,"tpot_ms":12}}}`, n)}
	r := rand.New(rand.NewPCG(11, 12))
	free := make([]int64, 8)
	for seq := range n + 16 {
		slot := 0
		for k := range free {
			if free[k] < free[slot] {
				slot = k
			}
		}
		at, tokens := free[slot], make([]int64, 20+r.IntN(40))
		t := int64(40+r.IntN(30)) * msec
		for i := range tokens {
			tokens[i] = t
			t += int64(9_000_000 + r.IntN(2_000_000))
		}
		q := ok(seq, at, tokens...)
		q.Asked.Output = tape.Some[int64](64)
		q.TWroteFirst.V += 20_000
		q.TWrote.V += 30_000
		q.Events.DT[0] -= 20_000
		switch {
		case seq < 8:
			q.Phase = tape.PhaseWarmup
		case seq >= n+8:
			q.Phase = tape.PhaseTail
		}
		if seq%3 == 0 {
			q.Tokens.Cached = tape.Some[int64](64)
		}
		if seq%2 == 0 {
			q.Events.Kind = kinds(len(tokens))
			q.TFirstVisible.V = at + tokens[5]
			q.Tokens.Reasoning = tape.Some[int64](5)
		}
		end := q.TEnd.V
		if seq == 50 {
			q, end = failed(seq, at, 5*msec, tape.OutcomeStatus, "500: boom"), at+5*msec
			q.HTTP.Status = 500
		}
		free[slot] = end + 100_000
		s.reqs = append(s.reqs, q)
	}
	for i := range int64(6) {
		s.more = append(s.more, &tape.ClientSample{Type: "client", T: i * 1000 * msec, CPU: 0.1 + 0.05*float64(i), GCPause: 20_000, SchedP99: 48_000, Queue: i})
	}
	return s
}

// kinds is a stream of n tokens of which the first five are reasoning.
func kinds(n int) string {
	k := []byte{'r'}
	for i := range n {
		if i < 5 {
			k = append(k, 's')
		} else {
			k = append(k, 'c')
		}
	}
	return tape.EncodeKinds(append(k, 'f', 'u', 'd'))
}

func TestGolden(t *testing.T) {
	for name, s := range map[string]*script{"one_slot": b04(true), "late_start": b22(), "closed_rich": rich()} {
		t.Run(name, func(t *testing.T) {
			got := append(encode(t, s.analyse(t, Options{})), '\n')
			path := filepath.Join("testdata", name+".golden.json")
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("results differ from %s; look at `git diff` after go test -update", path)
			}
		})
	}
}

// The order of lines in the tape does not matter, only what they say.
func TestLineOrderDoesNotMatter(t *testing.T) {
	s := rich()
	want := encode(t, s.analyse(t, Options{}))
	rows := len(s.reqs)
	r := rand.New(rand.NewPCG(13, 14))
	for range 5 {
		recs := s.records()
		r.Shuffle(len(recs)-2, func(i, j int) { recs[i+1], recs[j+1] = recs[j+1], recs[i+1] })
		res, err := Analyse(&records{recs: recs}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(encode(t, res), want) {
			t.Fatal("results depend on the order of lines")
		}
		for i, row := range res.Rows.All() {
			if row.Seq != int64(i) {
				t.Fatalf("row %d has seq %d", i, row.Seq)
			}
		}
		if res.Rows.Len() != rows {
			t.Fatalf("%d rows of %d", res.Rows.Len(), rows)
		}
	}
}

// Beyond the limit of exact gaps the histogram says so and stays within 0.1 %.
func TestITLHistogram(t *testing.T) {
	r, err := collect(&records{recs: rich().records()}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var cohort []int
	for i := range r.reqs {
		if r.reqs[i].OK {
			cohort = append(cohort, i)
		}
	}
	exact := r.itl(cohort, nil)
	r.exact, r.later.pools = 10, nil
	hist := r.itl(cohort, nil)
	if exact.N != hist.N || len(hist.CI) != 0 || len(hist.Warnings) == 0 {
		t.Fatalf("%+v", hist)
	}
	for _, p := range [][2]*float64{{exact.Mean, hist.Mean}, {exact.SD, hist.SD}, {exact.P50, hist.P50}, {exact.P99, hist.P99}, {exact.P999, hist.P999}, {exact.Max, hist.Max}} {
		if d := *p[0] - *p[1]; d > 0.001**p[0] || d < -0.001**p[0] {
			t.Errorf("exact %v, histogram %v", *p[0], *p[1])
		}
	}
}

// An incomplete tape is results with a verdict, not an error.
func TestIncompleteTape(t *testing.T) {
	s := steadyRun(100)
	s.reqs, s.reason = s.reqs[:60], ""
	res := s.analyse(t, Options{})
	if res.About.Stop != "incomplete" || res.Verdict.Fit || res.Verdict.Line[:31] != "NOT fit for use: tape incomplete"[:31] {
		t.Errorf("%q %q", res.About.Stop, res.Verdict.Line)
	}
	if c := res.Counts; c.Planned != 100 || c.OK != 60 || c.NotIssued != 0 || c.Unrecorded != 40 {
		t.Errorf("%+v", c)
	}
	if _, err := Analyse(&records{}, Options{}); err == nil {
		t.Error("an empty tape is no tape")
	}
	if _, err := Analyse(&records{recs: s.records()}, Options{Windows: []string{"stabel"}}); err == nil {
		t.Error("an unknown window passes")
	}
}

func BenchmarkAnalyse(b *testing.B) {
	s := &script{reason: tape.ReasonCompleted, plan: 2000, spec: `{"load":{"requests":2000,"concurrency":64}}`}
	r := rand.New(rand.NewPCG(15, 16))
	for i := range int64(2000) {
		tokens := make([]int64, 256)
		t := 50 * msec
		for k := range tokens {
			tokens[k] = t
			t += 9_000_000 + r.Int64N(2_000_000)
		}
		s.reqs = append(s.reqs, ok(i, i/64*2700*msec, tokens...))
	}
	recs := s.records()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Analyse(&records{recs: recs}, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
