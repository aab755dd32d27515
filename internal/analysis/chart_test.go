package analysis

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tokentape/internal/analysis/stat"
	"tokentape/tape"
)

// charted is a run of an ordinary model, with charts.
func chartedRun(t testing.TB, o Options) (*run, *Results) {
	t.Helper()
	m := model{name: "charts", seed: 5, slots: 16, prefillFixed: 5 * msec, prefillToken: 10_000, decodeBase: 8 * msec, decodeSeq: 100_000, rate: 8, outMean: 40, outCV: 0.5, prompt: 900, slo: "{}"}
	s := m.run(400, 1)
	o.Charts = true
	r, res, _, err := analyse(&records{recs: s.records()}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r, res
}

// Series hold no more and no less than the run: rates add up to requests and tokens, the
// mean in flight is that of the flight, and so are the peaks.
func TestChartsAddUp(t *testing.T) {
	r, res := chartedRun(t, Options{})
	ts := res.Charts.Time
	sum := func(vs []float64, step float64) (s float64) {
		for _, v := range vs {
			s += v * step
		}
		return s
	}
	close := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	n, tokens, input := 0.0, 0.0, 0.0
	for _, row := range res.Rows.All() {
		n++
		tokens += float64(*row.Output)
		if row.Input != nil {
			input += float64(*row.Input)
		}
	}
	close("offered", sum(ts.Offered, ts.Rates.Step), n)
	close("sent", sum(ts.Sent, ts.Rates.Step), n)
	close("ended", sum(ts.Ended, ts.Rates.Step), n)
	close("output tokens", sum(ts.OutputTokens, ts.Step), tokens)
	close("input tokens", sum(ts.InputTokens, ts.Rates.Step), input)
	if ts.Failed != nil || ts.Abandoned != nil {
		t.Error("failures where none is")
	}
	from, to := int64(ts.From*1e9), int64((ts.From+float64(ts.N)*ts.Step)*1e9)
	mean, _, peak, _ := r.flight.Over(from, to)
	close("in flight", sum(ts.InFlight, 1)/float64(ts.N), mean)
	close("peak", slices.Max(ts.InFlightPeak), float64(peak))
	for i := range ts.N { // any bucket is what windows would say of it
		a, b := int64(math.Round((ts.From+float64(i)*ts.Step)*1e9)), int64(math.Round((ts.From+float64(i+1)*ts.Step)*1e9))
		close(fmt.Sprint("tokens of bucket ", i), ts.OutputTokens[i]*ts.Step, r.byEvents(a, b).output)
		mean, _, _, _ := r.flight.Over(a, b)
		close(fmt.Sprint("in flight of bucket ", i), ts.InFlight[i], mean)
	}
	for _, l := range res.Charts.Latency {
		var total int64
		for _, c := range l.Count {
			total += c
		}
		if total != res.Windows[0].Metrics[l.Metric].N {
			t.Errorf("%s: %d samples", l.Metric, total)
		}
	}
}

// Distributions hold every value once, and their quantiles are those of the tables.
func TestDistributionsAreTheTables(t *testing.T) {
	_, res := chartedRun(t, Options{})
	if len(res.Charts.Dists) == 0 {
		t.Fatal("none")
	}
	for _, d := range res.Charts.Dists {
		var s *Summary
		for i := range res.Windows {
			if res.Windows[i].Kind == d.Window {
				s = res.Windows[i].Metrics[d.Metric]
			}
		}
		name := d.Window + " " + d.Metric
		if d.N != s.N {
			t.Errorf("%s: n %d, want %d", name, d.N, s.N)
		}
		for _, b := range []*Bins{&d.Linear, d.Log} {
			n := b.Under + b.Over
			for _, c := range b.Counts {
				n += c
			}
			if n != d.N {
				t.Errorf("%s: bins hold %d of %d", name, n, d.N)
			}
		}
		within := 1e-9
		if d.Metric == itlKey {
			within = 0.001 // histogram
		}
		for _, p := range d.CDF {
			for q, want := range map[float64]*float64{0: s.Min, 0.5: s.P50, 0.75: s.P75, 0.9: s.P90, 0.95: s.P95, 0.99: s.P99, 1: s.Max} {
				if p.Q == q && want != nil && math.Abs(p.V-*want) > within**want+1e-12 {
					t.Errorf("%s: quantile %v is %v, the table says %v", name, q, p.V, *want)
				}
			}
		}
		if !slices.IsSortedFunc(d.CDF, func(a, b CDFEnd) int {
			if a.V < b.V || a.V == b.V && a.Q < b.Q {
				return -1
			}
			return 1
		}) {
			t.Errorf("%s: the CDF does not rise", name)
		}
	}
}

// Charts are the same whether the events were kept or read a second time.
func TestChartsOfASecondPass(t *testing.T) {
	m := model{name: "charts", seed: 5, slots: 16, prefillFixed: 5 * msec, prefillToken: 10_000, decodeBase: 8 * msec, decodeSeq: 100_000, concurrency: 8, outMean: 40, outCV: 0.5, prompt: 900, slo: "{}"}
	recs := m.run(200, 2).records()
	texts := map[string]bool{}
	for _, o := range []Options{{Charts: true}, {Charts: true, kept: 1, exact: 1}} {
		res, err := Analyse(&rereader{records{recs: recs}}, o)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(res.Charts)
		if err != nil {
			t.Fatal(err)
		}
		texts[string(b)] = true
	}
	if len(texts) != 1 {
		t.Error("they differ")
	}
}

type rereader struct{ records }

func (r *rereader) Again() (Source, func() error, error) {
	return &records{recs: r.recs}, func() error { return nil }, nil
}

// A stall is long, and long for its own stream; the three longest stand.
func TestStalls(t *testing.T) {
	gaps := func(gs ...int64) *tape.Request {
		var ts []int64
		at := 100 * msec
		ts = append(ts, at)
		for _, g := range gs {
			at += g * msec
			ts = append(ts, at)
		}
		return ok(0, 0, ts...)
	}
	for _, c := range []struct {
		name string
		q    *tape.Request
		want []float64
	}{
		{"even", gaps(10, 10, 10, 10), nil},
		{"one", gaps(10, 10, 500, 10), []float64{500}},
		{"long but as ever", gaps(400, 500, 400), nil},
		{"short for a reader", gaps(1, 1, 90, 1), nil},
		{"the three longest", gaps(1, 1, 150, 1, 1, 160, 1, 1, 170, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 180, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), []float64{160, 170, 180}},
		{"no other", gaps(5000), nil},
	} {
		s := &script{spec: `{"load":{"requests":1,"concurrency":1}}`, reqs: []*tape.Request{c.q}, reason: tape.ReasonCompleted}
		res := s.analyse(t, Options{Charts: true})
		var got []float64
		for _, x := range res.Charts.Stalls {
			got = append(got, x.MS)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Ten thousand messages are a handful of examples and a number.
func TestFailureGroups(t *testing.T) {
	s := &script{spec: `{"load":{"requests":3000,"concurrency":1}}`, reason: tape.ReasonCompleted}
	for i := range int64(3000) {
		q := ok(i, i*msec)
		q.Outcome, q.Finish, q.HTTP.Status, q.Message = tape.OutcomeStatus, "", 503, fmt.Sprint("row ", i)
		switch {
		case i%3 == 0:
			q.Message = "overloaded"
		case i == 1:
			q.Message = string(slices.Repeat([]rune("长"), 5000))
		}
		s.reqs = append(s.reqs, q)
	}
	g := s.analyse(t, Options{Charts: true}).Charts.Failures
	if len(g) != 1 || g[0].N != 3000 || g[0].Distinct != 2001 || len(g[0].Examples) != failureExamples {
		t.Fatalf("%+v", g)
	}
	if e := g[0].Examples[0]; e.Message != "overloaded" || e.N != 1000 || e.Seq != 0 {
		t.Errorf("%+v", e)
	}
	if m := []rune(g[0].Examples[1].Message); len(m) > failureMessage+30 {
		t.Errorf("a message of %d characters", len(m))
	}
}

// Whatever a tape says, charts neither panic nor hold what is no number.
func TestChartsOfAnyTape(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := &script{spec: `{"load":{"requests":5,"concurrency":2}}`, reason: tape.ReasonCompleted}
		for range rapid.IntRange(0, 40).Draw(rt, "requests") {
			s.reqs = append(s.reqs, anyRequest(rt))
		}
		res := s.analyse(t, Options{Charts: true})
		if _, err := json.Marshal(res.Charts); err != nil {
			rt.Fatal(err)
		}
		if ts := res.Charts.Time; ts != nil && (ts.N < 1 || ts.N > mostBuckets+2 || ts.Rates.N > mostBuckets+2 || !(ts.Step > 0)) {
			rt.Fatalf("grid %+v", ts.Grid)
		}
	})
}

// A distribution of any values holds each of them in its bins, once.
func TestDistributionOfAnything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		xs := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(0, 1e-6), rapid.Float64Range(0, 1), rapid.Float64Range(-5, 1e12), rapid.Just(0.0), rapid.Just(7.25)), 1, 300).Draw(rt, "values")
		slices.Sort(xs)
		var vs []stat.Weighted
		for _, x := range xs {
			vs = append(vs, stat.Weighted{V: x, N: rapid.Int64Range(1, 3).Draw(rt, "n")})
		}
		d := distribution("whole", "ttft_ms", "ms", vs)
		for _, b := range []*Bins{&d.Linear, d.Log} {
			if b == nil {
				continue
			}
			n := b.Under + b.Over
			for _, c := range b.Counts {
				n += c
			}
			if n != d.N || len(b.Counts) > 200 {
				rt.Fatalf("%d bins hold %d of %d: %+v", len(b.Counts), n, d.N, b)
			}
		}
		if first, last := d.CDF[0], d.CDF[len(d.CDF)-1]; first.V != xs[0] || last.V != xs[len(xs)-1] {
			rt.Fatalf("%v … %v of %v", first, last, xs)
		}
	})
}
