package analysis

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
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
	ends := func(g Grid, i int) (from, to float64) {
		from, to = g.From+float64(i)*g.Step, g.From+float64(i+1)*g.Step
		if i == 0 {
			from = g.Start
		}
		if i == g.N-1 {
			to = g.To
		}
		return from, to
	}
	sum := func(vs []float64, g Grid) (s float64) {
		for i, v := range vs {
			from, to := ends(g, i)
			s += v * (to - from)
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
	close("offered", sum(ts.Offered, ts.Rates), n)
	close("sent", sum(ts.Sent, ts.Rates), n)
	close("ended", sum(ts.Ended, ts.Rates), n)
	close("output tokens", sum(ts.OutputTokens, ts.Tokens), tokens)
	close("input tokens", sum(ts.InputTokens, ts.Rates), input)
	if ts.Failed != nil || ts.Abandoned != nil {
		t.Error("failures where none is")
	}
	mean, _, peak, _ := r.flight.Over(ns(ts.Start), ns(ts.To))
	close("in flight", sum(ts.InFlight, ts.Grid)/(ts.To-ts.Start), mean)
	close("peak", slices.Max(ts.InFlightPeak), float64(peak))
	for i := range ts.N { // any bucket is what windows would say of it
		a, b := ends(ts.Grid, i)
		mean, _, _, _ := r.flight.Over(ns(a), ns(b))
		close(fmt.Sprint("in flight of bucket ", i), ts.InFlight[i], mean)
	}
	for i := range ts.Tokens.N {
		a, b := ends(ts.Tokens, i)
		last := int64(1)
		if i == ts.Tokens.N-1 {
			last = 0
		}
		// Windows are open at their beginning and closed at their end.
		close(fmt.Sprint("tokens of bucket ", i), ts.OutputTokens[i]*(b-a), r.byEvents(ns(a)-1, ns(b)-last).output)
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

func ns(s float64) int64 { return int64(math.Round(s * 1e9)) }

// What is due on a whole second is offered in the second that begins there, and the
// last bucket of a run counts over its own length.
func TestBucketsAreHalfOpen(t *testing.T) {
	s := &script{spec: `{"load":{"requests":100,"rate":10}}`, reason: tape.ReasonCompleted}
	for i := range int64(100) {
		q := ok(i, i*100*msec, 5*msec, 10*msec)
		q.TDue, q.TReady = tape.Some(i*100*msec), tape.Some(i*100*msec)
		s.reqs = append(s.reqs, q)
	}
	ts := s.analyse(t, Options{Charts: true}).Charts.Time
	if ts.Rates.From != 0 || ts.Rates.Step != 1 || ts.Rates.N != 10 || ts.Rates.To >= 10 {
		t.Fatalf("grid %+v", ts.Rates)
	}
	for i, v := range ts.Offered {
		want := 10.
		if i == 9 {
			want = 10 / (ts.Rates.To - 9)
		}
		if math.Abs(v-want) > 1e-9 {
			t.Errorf("offered in second %d: %v, want %v", i, v, want)
		}
	}
}

// A grid covers what it is made for, by buckets of a length to count in.
func TestGrid(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		from := rapid.Int64Range(-1e12, 1e12).Draw(rt, "from")
		to := from + rapid.OneOf(rapid.Int64Range(0, 1e7), rapid.Int64Range(0, 1e13)).Draw(rt, "span")
		g := newGrid(from, to, rapid.IntRange(1, mostBuckets).Draw(rt, "most"))
		if g.n < 1 || g.n > mostBuckets+2 || g.start > from || g.to < to {
			rt.Fatalf("%+v of [%d, %d]", g, from, to)
		}
		at, most := g.start, 1.51
		if g.n == 1 {
			most = 2.01
		}
		for i := range g.n {
			a, b := g.ends(i)
			if a != at || b <= a || g.long(i) < 0.49*float64(g.step) || g.long(i) > most*float64(g.step) {
				rt.Fatalf("bucket %d of %+v is [%d, %d)", i, g, a, b)
			}
			for _, x := range []int64{a, b - 1} {
				if k, ok := g.at(x); !ok || k != i {
					rt.Fatalf("%d is in bucket %d of %+v, want %d", x, k, g, i)
				}
			}
			at = b
		}
		if k, ok := g.at(g.to); !ok || k != g.n-1 {
			rt.Fatalf("the end is in bucket %d of %+v", k, g)
		}
	})
}

// What waits for a slot, and what for the client, are told apart: without a cap nobody
// waits for a slot, however late the client is.
func TestSlotsAndLag(t *testing.T) {
	for _, c := range []struct {
		name, load     string
		ready          int64
		waits, capless bool
	}{
		{"no cap", `"rate":10`, 0, false, true},
		{"a cap, free slots", `"rate":10,"concurrency":5`, 0, false, false},
		{"a cap, no slot", `"rate":10,"concurrency":5`, 40 * msec, true, false},
	} {
		s := &script{spec: `{"load":{"requests":50,` + c.load + `}}`, reason: tape.ReasonCompleted}
		for i := range int64(50) {
			due := i * 100 * msec
			q := ok(i, due+c.ready+20*msec, 50*msec, 60*msec)
			q.TDue, q.TReady = tape.Some(due), tape.Some(due+c.ready)
			s.reqs = append(s.reqs, q)
		}
		ts := s.analyse(t, Options{Charts: true}).Charts.Time
		if (ts.Waiting == nil) != c.capless {
			t.Fatalf("%s: waiting %v", c.name, ts.Waiting)
		}
		all := func(vs []float64) (s float64) {
			for i, v := range vs {
				a, b := newGridOf(ts.Grid).ends(i)
				s += v * float64(b-a) / 1e6
			}
			return s
		}
		want := 0.
		if c.waits {
			want = 50 * 40
		}
		if got := all(ts.Waiting); math.Abs(got-want) > 1 {
			t.Errorf("%s: waited for slots %v ms, want %v", c.name, got, want)
		}
		if got := all(ts.ClientLag); got < 50*20-1 || got > 50*30 {
			t.Errorf("%s: waited for the client %v ms, want 1000", c.name, got)
		}
	}
}

func newGridOf(g Grid) gridNS { return gridNS{ns(g.From), ns(g.Step), g.N, ns(g.Start), ns(g.To)} }

// Tokens of a short run are counted in buckets that hold many; an answer in one piece
// says so.
func TestTokenBuckets(t *testing.T) {
	for _, streamed := range []bool{true, false} {
		s := &script{spec: `{"load":{"requests":40,"concurrency":4}}`, reason: tape.ReasonCompleted}
		for i := range int64(40) {
			at := i / 4 * 1000 * msec
			ts := []int64{}
			for k := range int64(30) {
				ts = append(ts, 50*msec+k*30*msec)
			}
			q := ok(i, at, ts...)
			if !streamed {
				q.Flags = append(q.Flags, "not_streamed")
			}
			s.reqs = append(s.reqs, q)
		}
		ts := s.analyse(t, Options{Charts: true}).Charts.Time
		if ts.Tokens.Step < 0.6 || ts.Tokens.N < 3 {
			t.Errorf("streamed %v: %+v", streamed, ts.Tokens)
		}
		if (ts.WholeAnswers == 40) == streamed {
			t.Errorf("streamed %v: %d whole answers", streamed, ts.WholeAnswers)
		}
	}
}

// Why a metric is absent is true of an import, too: answers may have been streamed whose
// events nobody wrote down.
func TestUnstreamedImport(t *testing.T) {
	for flags, want := range map[string]string{"": "aisbench did not record what an event carried", "not_streamed": "no answer was streamed"} {
		s := &script{spec: `{"load":{"requests":10,"concurrency":1}}`, reason: tape.ReasonImported}
		for i := range int64(10) {
			q := ok(i, i*100*msec)
			q.Events, q.TFirstEvent = tape.Events{}, tape.Some(i*100*msec+5*msec)
			if flags != "" {
				q.Flags = []string{flags}
			}
			s.reqs = append(s.reqs, q)
		}
		recs := s.records()
		recs[0].(*tape.Header).Import = &tape.Import{Tool: "aisbench", Path: "out"}
		res, err := Analyse(&records{recs: recs}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := res.Windows[0].Metrics["ttft_ms"]
		if w == nil || w.N != 0 || len(w.Warnings) == 0 || !strings.Contains(w.Warnings[0], want) {
			t.Errorf("flags %q: %+v", flags, w)
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
