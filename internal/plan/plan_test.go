package plan

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tokentape/internal/spec"
	"tokentape/tape"
)

const sec = int64(time.Second)

func dur(d time.Duration) spec.Duration { return spec.Duration(d) }

// make1 plans with seed 1 over enough rows.
func make1(t testing.TB, l spec.Load) *Plan {
	t.Helper()
	p, err := Make(l, 0, 1000, RepeatCycle, OrderFile, spec.Seeds{Run: 1})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func rowsOf(p *Plan, most int64) []Row {
	var out []Row
	for i := int64(0); i < most; i++ {
		r, ok := p.At(i)
		if !ok {
			break
		}
		out = append(out, r)
	}
	return out
}

func TestDatasetRows(t *testing.T) {
	const none, cycle = RepeatNone, RepeatCycle
	tests := []struct {
		name     string
		load     spec.Load
		data     int64
		repeat   string
		want     []int64 // items in issue order
		planned  int64
		warmup   int64
		repeats  int64
		tail     []int64 // items of the first tail rows
		tailRows int64
	}{
		{"one request by default", spec.Load{Concurrency: 1}, 3, none, []int64{0}, 1, 0, 0, []int64{1, 2}, 2},
		{"warm-up takes the rows after N", spec.Load{Requests: 3, Concurrency: 1, Warmup: 2}, 6, none, []int64{3, 4, 0, 1, 2}, 3, 2, 0, []int64{5}, 1},
		{"exactly enough", spec.Load{Requests: 3, Concurrency: 1, Warmup: 2}, 5, none, []int64{3, 4, 0, 1, 2}, 3, 2, 0, nil, 0},
		{"cycle", spec.Load{Requests: 5, Concurrency: 1}, 2, cycle, []int64{0, 1, 0, 1, 0}, 5, 0, 3, []int64{1, 0, 1}, -1},
		{"cycle with warm-up", spec.Load{Requests: 3, Concurrency: 1, Warmup: 2}, 4, cycle, []int64{3, 0, 0, 1, 2}, 3, 2, 1, []int64{1, 2}, -1},
		{"generator keeps the last W rows for warm-up", spec.Load{Duration: dur(time.Minute), Concurrency: 1, Warmup: 2}, 5, none, []int64{3, 4, 0, 1, 2}, -1, 2, 0, nil, 0},
		{"generator cycles over the rest", spec.Load{Duration: dur(time.Minute), Concurrency: 1, Warmup: 1}, 3, cycle, []int64{2, 0, 1, 0, 1, 0}, -1, 1, -1, nil, 0},
		{"generator with more warm-ups than rows", spec.Load{Duration: dur(time.Minute), Concurrency: 1, Warmup: 3}, 2, cycle, []int64{1, 0, 1, 0, 1, 0}, -1, 3, -1, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Make(tt.load, 7, tt.data, tt.repeat, OrderFile, spec.Seeds{})
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			for i, r := range rowsOf(p, 6) {
				got = append(got, r.Item)
				phase := tape.PhaseMeasure
				if int64(i) < tt.warmup {
					phase = tape.PhaseWarmup
				}
				if r.Seq != int64(i) || r.Due != NoDue || r.Output != 7 || r.Phase != phase {
					t.Errorf("row %d: %+v", i, r)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("items %v, want %v", got, tt.want)
			}
			if p.Planned() != tt.planned || p.Warmup() != tt.warmup || p.Repeats() != tt.repeats || p.TailRows() != tt.tailRows {
				t.Errorf("planned %d, warm-up %d, repeats %d, tail rows %d", p.Planned(), p.Warmup(), p.Repeats(), p.TailRows())
			}
			var tail []int64
			for i := range 3 {
				r, ok := p.Tail(int64(i))
				if !ok {
					break
				}
				if r.Seq != p.Rows()+int64(i) || r.Phase != tape.PhaseTail || r.Due != NoDue {
					t.Errorf("tail row %d: %+v", i, r)
				}
				tail = append(tail, r.Item)
			}
			if len(tail) > len(tt.tail) && tt.tailRows < 0 {
				tail = tail[:len(tt.tail)]
			}
			if !slices.Equal(tail, tt.tail) {
				t.Errorf("tail items %v, want %v", tail, tt.tail)
			}
		})
	}
}

// 21 rows, 90 requests: each row 4 or 5 times.
func TestCycleIsEven(t *testing.T) {
	for _, order := range []string{OrderFile, OrderShuffle} {
		p, err := Make(spec.Load{Requests: 90, Concurrency: 1}, 0, 21, RepeatCycle, order, spec.Seeds{Run: 5})
		if err != nil {
			t.Fatal(err)
		}
		uses := map[int64]int{}
		for _, r := range rowsOf(p, 90) {
			uses[r.Item]++
		}
		if len(uses) != 21 || p.Repeats() != 69 {
			t.Errorf("%s: %d rows used, %d repeats", order, len(uses), p.Repeats())
		}
		for item, n := range uses {
			if n != 4 && n != 5 {
				t.Errorf("%s: row %d is sent %d times", order, item, n)
			}
		}
	}
}

func TestShuffle(t *testing.T) {
	seeds := func(run int64, order *int64) spec.Seeds { return spec.Seeds{Run: run, Order: order} }
	items := func(s spec.Seeds) []int64 {
		p, err := Make(spec.Load{Requests: 100, Concurrency: 1}, 0, 100, RepeatNone, OrderShuffle, s)
		if err != nil {
			t.Fatal(err)
		}
		var out []int64
		for _, r := range rowsOf(p, 100) {
			out = append(out, r.Item)
		}
		return out
	}
	a := items(seeds(1, nil))
	sorted := slices.Sorted(slices.Values(a))
	for i, v := range sorted {
		if v != int64(i) {
			t.Fatalf("not a permutation: %v", sorted)
		}
	}
	if slices.IsSorted(a) {
		t.Error("the rows are not shuffled")
	}
	one := int64(1)
	if !slices.Equal(a, items(seeds(99, &one))) {
		t.Error("seeds.order 1 differs from seeds.run 1")
	}
	if slices.Equal(a, items(seeds(2, nil))) {
		t.Error("seeds 1 and 2 shuffle alike")
	}
	// Every order is as likely: 6 orders of 3 rows, 6000 seeds, σ is 29.
	orders := map[[3]uint32]int{}
	for s := range int64(6000) {
		orders[[3]uint32(newOrder(Params{Order: OrderShuffle, OrderSeed: s, DataRows: 3}))]++
	}
	for o, n := range orders {
		if len(orders) != 6 || n < 900 || n > 1100 {
			t.Errorf("order %v came %d times of 6000", o, n)
		}
	}
}

func TestSeedsAreSeparate(t *testing.T) {
	l := spec.Load{Requests: 50, Rate: 1, Arrivals: "poisson"}
	one, two := int64(1), int64(2)
	get := func(s spec.Seeds) (dues, items []int64) {
		p, err := Make(l, 0, 50, RepeatNone, OrderShuffle, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rowsOf(p, 50) {
			dues, items = append(dues, r.Due), append(items, r.Item)
		}
		return dues, items
	}
	d1, i1 := get(spec.Seeds{Run: 1})
	d2, i2 := get(spec.Seeds{Run: 1, Arrivals: &two})
	if slices.Equal(d1, d2) || !slices.Equal(i1, i2) {
		t.Error("seeds.arrivals must change due times and nothing else")
	}
	d3, i3 := get(spec.Seeds{Run: 2, Arrivals: &one})
	if !slices.Equal(d1, d3) || slices.Equal(i1, i3) {
		t.Error("seeds.run must leave alone what seeds.arrivals fixes, and change the rest")
	}
}

func TestString(t *testing.T) {
	tests := []struct {
		load spec.Load
		data int64
		want string
	}{
		{spec.Load{Requests: 640, Rate: 6, Concurrency: 90}, 640, "640 requests at 6/s (constant), at most 90 in flight, over 106.5 s, after 0 warm-ups"},
		{spec.Load{Requests: 640, Rate: 6, Concurrency: 90, Arrivals: "poisson", Conditioned: true}, 640, "640 requests at 6/s (poisson, conditioned, seed 1), at most 90 in flight, over 106.5 s, after 0 warm-ups"},
		{spec.Load{Requests: 1, Concurrency: 1}, 1, "1 request, closed loop with 1 in flight, after 0 warm-ups"},
		{spec.Load{Requests: 4, Concurrency: 2, Warmup: 1}, 2, "4 requests, closed loop with 2 in flight, after 1 warm-up; 3 of 5 repeat a dataset row"},
		{spec.Load{Duration: dur(time.Minute), Concurrency: 8, Ramp: spec.Ramp{Shape: "linear", Duration: dur(10 * time.Second)}}, 2, "requests for 60 s, closed loop with 8 in flight (linear ramp from 1 over 10 s), after 0 warm-ups"},
		{spec.Load{Requests: 11, Rate: 0.5, Arrivals: "gamma", Burstiness: 1e6}, 20, "11 requests at 0.5/s (gamma, burstiness 1e+06, seed 1), no cap on requests in flight, over 20.005 s, after 0 warm-ups"},
	}
	for _, tt := range tests {
		p, err := Make(tt.load, 0, tt.data, RepeatCycle, "", spec.Seeds{Run: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.String(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestMakeRefuses(t *testing.T) {
	ok := spec.Load{Requests: 4, Concurrency: 1}
	with := func(f func(*spec.Load)) spec.Load { l := ok; f(&l); return l }
	tests := []struct {
		name string
		load spec.Load
		data int64
		want []string
	}{
		{"too few rows", with(func(l *spec.Load) { l.Warmup = 2 }), 5, []string{"load.requests", "4 measured and 2 warm-up", "need 6", "has 5", "workload.repeat: cycle"}},
		{"too few rows for a duration", spec.Load{Rate: 10, Duration: dur(time.Second)}, 9, []string{"load.duration", "10 measured", "has 9", "workload.repeat: cycle"}},
		{"too few rows for a generator", spec.Load{Duration: dur(time.Second), Concurrency: 1, Warmup: 3}, 3, []string{"load.warmup", "3", "workload.repeat: cycle"}},
		{"no rows", ok, 0, []string{"workload.dataset", "no rows"}},
		{"no cap, no rate", with(func(l *spec.Load) { l.Concurrency = 0 }), 9, []string{"load.concurrency", "load.rate"}},
		{"negative", with(func(l *spec.Load) { l.Requests = -1 }), 9, []string{"load.requests", "-1"}},
		{"rate NaN", with(func(l *spec.Load) { l.Rate = math.NaN() }), 9, []string{"load.rate"}},
		{"rate infinite", with(func(l *spec.Load) { l.Rate = math.Inf(1) }), 9, []string{"load.rate"}},
		{"unknown process", with(func(l *spec.Load) { l.Rate = 1; l.Arrivals = "pareto" }), 9, []string{"load.arrivals", "pareto", "constant, gamma, poisson"}},
		{"burstiness 0", with(func(l *spec.Load) { l.Rate = 1; l.Arrivals = "gamma" }), 9, []string{"load.burstiness"}},
		{"conditioned constant", with(func(l *spec.Load) { l.Rate = 1; l.Conditioned = true }), 9, []string{"load.conditioned", "no effect"}},
		{"conditioned without N", spec.Load{Rate: 1, Arrivals: "poisson", Conditioned: true, Duration: dur(time.Second)}, 9, []string{"load.conditioned", "load.requests"}},
		{"all warm-up", spec.Load{Rate: 1, Duration: dur(2 * time.Second), Warmup: 2}, 9, []string{"load.warmup", "all 2 requests", "2 s"}},
		{"falling ramp", with(func(l *spec.Load) {
			l.Rate = 0.5
			l.Ramp = spec.Ramp{Shape: "linear", Duration: dur(time.Second)}
		}), 9, []string{"load.ramp.from", "1 is not below load.rate 0.5"}},
		{"ramp without length", with(func(l *spec.Load) { l.Rate = 5; l.Ramp.Shape = "linear" }), 9, []string{"load.ramp.duration"}},
		{"ramp of unknown shape", with(func(l *spec.Load) {
			l.Rate = 5
			l.Ramp = spec.Ramp{Shape: "sine", Duration: dur(time.Second)}
		}), 9, []string{"load.ramp.shape", "sine"}},
		{"too slow", spec.Load{Requests: 1000, Rate: 1e-9}, 9, []string{"load.rate", "100 years"}},
		{"N too large", spec.Load{Requests: MaxRows + 1, Concurrency: 1}, 9, []string{"load.requests", "50000000"}},
		{"rate times duration too large", spec.Load{Rate: 1e12, Duration: dur(time.Hour)}, 9, []string{"load.duration", "50000000"}},
		{"ramp that makes too many", spec.Load{Rate: 1e300, Duration: dur(time.Hour), Ramp: spec.Ramp{Shape: "exponential", Duration: dur(time.Hour)}}, 9, []string{"load.duration"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			repeat := RepeatNone
			p, err := Make(tt.load, 0, tt.data, repeat, OrderFile, spec.Seeds{})
			if err == nil {
				t.Fatalf("planned: %s", p)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
	if _, err := Make(ok, 0, MaxRows+1, "", OrderShuffle, spec.Seeds{}); err == nil || !strings.Contains(err.Error(), "workload.order") {
		t.Errorf("shuffle: %v", err)
	}
	if _, err := Make(ok, 0, 9, "again", "", spec.Seeds{}); err == nil || !strings.Contains(err.Error(), "workload.repeat") {
		t.Errorf("repeat: %v", err)
	}
	if _, err := Make(ok, 0, 9, "", "random", spec.Seeds{}); err == nil || !strings.Contains(err.Error(), "workload.order") {
		t.Errorf("order: %v", err)
	}
	if _, err := Make(ok, -1, 9, "", "", spec.Seeds{}); err == nil || !strings.Contains(err.Error(), "workload.output_tokens") {
		t.Errorf("output: %v", err)
	}
}

// genLoad draws loads that Make accepts with cycling rows.
func genLoad(t *rapid.T) spec.Load {
	l := spec.Load{Warmup: rapid.Int64Range(0, 5).Draw(t, "warmup")}
	l.Concurrency = rapid.Int64Range(2, 50).Draw(t, "concurrency")
	byTime := rapid.Bool().Draw(t, "bytime")
	if byTime {
		l.Duration = dur(time.Duration(rapid.Int64Range(1, 60).Draw(t, "seconds")) * time.Second)
	}
	if !byTime || rapid.Bool().Draw(t, "both") {
		l.Requests = rapid.Int64Range(1, 200).Draw(t, "requests")
	}
	if rapid.Bool().Draw(t, "open") {
		l.Rate = rapid.Float64Range(1.01, 100).Draw(t, "rate")
		l.Arrivals = rapid.SampledFrom(arrivalNames()).Draw(t, "arrivals")
		l.Burstiness = rapid.Float64Range(0.01, 20).Draw(t, "burstiness")
		l.Conditioned = l.Arrivals == "poisson" && l.Requests > 0 && rapid.Bool().Draw(t, "conditioned")
	}
	if rapid.Bool().Draw(t, "ramp") {
		l.Ramp.Shape = rapid.SampledFrom([]string{"linear", "exponential"}).Draw(t, "shape")
		l.Ramp.From = rapid.Float64Range(0.1, 1).Draw(t, "from")
		l.Ramp.Duration = dur(time.Duration(rapid.Int64Range(1, 30e9).Draw(t, "ramp ns")))
	}
	return l
}

// Whatever the load of sessions: turns of one session stand together and in
// order, only the first has a due time, and the plan reads back as it was.
func TestSessionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		turns := rapid.SliceOfN(rapid.Int32Range(1, 6), 1, 30).Draw(t, "turns")
		l := spec.Load{
			Sessions: rapid.Int64Range(1, 40).Draw(t, "n"), Warmup: rapid.Int64Range(0, 5).Draw(t, "w"),
			SessionConcurrency: rapid.Int64Range(1, 9).Draw(t, "c"),
			Think: spec.Think{Kind: rapid.SampledFrom([]string{"fixed", "uniform", "exponential"}).Draw(t, "kind"),
				Mean: dur(time.Duration(rapid.Int64Range(0, 9e9).Draw(t, "mean")))},
		}
		if rapid.Bool().Draw(t, "open") {
			l.Rate, l.Arrivals = 3, rapid.SampledFrom([]string{"constant", "poisson"}).Draw(t, "arrivals")
		}
		p, err := MakeOf(l, 8, Data{Rows: int64(len(turns)), Turns: turns}, RepeatCycle, OrderShuffle, spec.Seeds{Run: rapid.Int64().Draw(t, "seed")})
		if err != nil {
			t.Fatal(err)
		}
		var last Row
		var warm, due int64
		for i, r := range rowsOf(p, p.Rows()) {
			switch {
			case r.Turn == 0 && (r.Session != last.Session+1 || i > 0 && last.Turn+1 != int(turns[last.Item])):
				t.Fatalf("row %d: %+v after %+v", i, r, last)
			case r.Turn > 0 && (r.Session != last.Session || r.Turn != last.Turn+1 || r.Item != last.Item || r.Phase != last.Phase || r.Due != NoDue):
				t.Fatalf("row %d: %+v after %+v", i, r, last)
			case r.Turn == 0 && (r.Think != 0 || (r.Due == NoDue) != (l.Rate == 0) || r.Due != NoDue && r.Due < due):
				t.Fatalf("row %d: %+v", i, r)
			case l.Think.Kind == "fixed" && r.Turn > 0 && r.Think != int64(l.Think.Mean), l.Think.Kind == "uniform" && r.Think > 2*int64(l.Think.Mean):
				t.Fatalf("row %d: %+v", i, r)
			}
			if r.Turn == 0 && r.Due != NoDue {
				due = r.Due
			}
			if r.Phase == tape.PhaseWarmup {
				warm++
				if r.Session > l.Warmup {
					t.Fatalf("row %d: session %d is no warm-up", i, r.Session)
				}
			}
			last = r
		}
		if p.Sessions() != l.Sessions+l.Warmup || p.Warmup() != warm || p.Planned() != p.Rows()-warm || p.TailRows() != 0 {
			t.Fatalf("%d sessions, %d warm-up rows of %d, %d planned", p.Sessions(), p.Warmup(), warm, p.Planned())
		}
		var saved bytes.Buffer
		if err := p.Write(&saved); err != nil {
			t.Fatal(err)
		}
		got, err := Read(bytes.NewReader(saved.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if got.SHA256() != p.SHA256() || got.String() != p.String() || got.Warmup() != warm || got.Sessions() != p.Sessions() {
			t.Fatalf("read back differently:\n%s\n%s", p, got)
		}
	})
}

// Think times have the mean that was asked, and a seed of their own.
func TestThinkTimes(t *testing.T) {
	one, two := int64(1), int64(2)
	make := func(kind string, think *int64) []Row {
		p, err := MakeOf(spec.Load{Sessions: 1000, SessionConcurrency: 1, Think: spec.Think{Kind: kind, Mean: dur(time.Second)}}, 0,
			Data{Rows: 1, Turns: []int32{21}}, RepeatCycle, OrderFile, spec.Seeds{Run: 1, Think: think})
		if err != nil {
			t.Fatal(err)
		}
		return rowsOf(p, p.Rows())
	}
	for kind, sd := range map[string]float64{"fixed": 0, "uniform": 1 / math.Sqrt(3), "exponential": 1} {
		rows := make(kind, nil)
		var sum, sq float64
		for _, r := range rows {
			if r.Turn > 0 {
				v := float64(r.Think) / 1e9
				sum, sq = sum+v, sq+v*v
			}
		}
		n := 20000.0
		mean := sum / n
		if got := math.Sqrt(max(0, sq/n-mean*mean)); math.Abs(mean-1) > 4*sd/math.Sqrt(n)+1e-9 || math.Abs(got-sd) > 0.03 {
			t.Errorf("%s: mean %v, sd %v", kind, mean, got)
		}
	}
	if !reflect.DeepEqual(make("exponential", &one), make("exponential", nil)) || reflect.DeepEqual(make("exponential", &one), make("exponential", &two)) {
		t.Error("seeds.think does not decide")
	}
}

// Stages hold their rates, and the arrival process runs through their borders.
func TestStages(t *testing.T) {
	p := make1(t, spec.Load{Stages: []spec.Stage{{Rate: 10, Duration: dur(3 * time.Second)}, {Rate: 2, Duration: dur(5 * time.Second)}, {Rate: 100, Duration: dur(time.Second)}}})
	if p.Planned() != 30+10+100 {
		t.Fatalf("%d rows", p.Planned())
	}
	for i, r := range rowsOf(p, 140) {
		want := int64(i) * sec / 10
		if i >= 30 {
			want = 3*sec + int64(i-30)*sec/2
		}
		if i >= 40 {
			want = 8*sec + int64(i-40)*sec/100
		}
		if r.Due != want {
			t.Errorf("row %d is due at %d, want %d", i, r.Due, want)
		}
	}
	if r, ok := p.Tail(0); !ok || r.Due != 9*sec {
		t.Errorf("the tail goes on at %+v", r)
	}
	q := make1(t, spec.Load{Arrivals: "poisson", Stages: []spec.Stage{{Rate: 1000, Duration: dur(10 * time.Second)}, {Rate: 100, Duration: dur(10 * time.Second)}}})
	var fast int
	for _, r := range rowsOf(q, q.Rows()) {
		if r.Due < 10*sec {
			fast++
		}
	}
	if slow := int(q.Rows()) - fast; math.Abs(float64(fast-10000)) > 400 || math.Abs(float64(slow-1000)) > 130 {
		t.Errorf("%d and %d arrivals, want about 10000 and 1000", fast, slow)
	}
	steps := make1(t, spec.Load{Stages: []spec.Stage{{Concurrency: 2, Duration: 5}, {Concurrency: 9, Duration: 1}}})
	if got := steps.SlotSteps(); steps.Kind != KindGenerator || steps.Params.Concurrency != 9 || !slices.Equal(got, []SlotStep{{0, 2}, {5, 9}}) {
		t.Errorf("%s: %v", steps.Kind, got)
	}
}

// A mix draws datasets by weight and takes each one's rows in turn, whatever the
// load; a generator draws the same as rows that are made before.
func TestMix(t *testing.T) {
	parts := []Part{{Rows: 10, Weight: 3}, {Rows: 5, Weight: 1}}
	data := Data{Rows: 15, Parts: parts}
	p, err := MakeOf(spec.Load{Requests: 4000, Concurrency: 1}, 0, data, RepeatCycle, OrderFile, spec.Seeds{Run: 1})
	if err != nil {
		t.Fatal(err)
	}
	var n [2]int64
	for i, r := range rowsOf(p, 4000) {
		k := 0
		if r.Item >= 10 {
			k = 1
		}
		want := n[k] % parts[k].Rows
		if k == 1 {
			want += 10
		}
		if r.Item != want {
			t.Fatalf("row %d takes %d, want %d", i, r.Item, want)
		}
		n[k]++
	}
	if share := float64(n[0]) / 4000; math.Abs(share-0.75) > 4*math.Sqrt(0.75*0.25/4000) {
		t.Errorf("%.3f of the rows are of the first dataset, want 0.75", share)
	}
	g, err := MakeOf(spec.Load{Duration: dur(time.Second), Concurrency: 1}, 0, data, RepeatCycle, OrderFile, spec.Seeds{Run: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(100) {
		a, _ := p.At(99 - i)
		if b, ok := g.At(99 - i); !ok || a.Item != b.Item {
			t.Fatalf("row %d: %d, the generator takes %d", 99-i, a.Item, b.Item)
		}
	}
	two := int64(2)
	q, err := MakeOf(spec.Load{Requests: 4000, Concurrency: 1}, 0, data, RepeatCycle, OrderFile, spec.Seeds{Run: 1, Mix: &two})
	if err != nil || reflect.DeepEqual(rowsOf(p, 100), rowsOf(q, 100)) {
		t.Errorf("seeds.mix does not decide (%v)", err)
	}
	if _, err := MakeOf(spec.Load{Requests: 15, Concurrency: 1}, 0, data, RepeatNone, OrderFile, spec.Seeds{Run: 1}); err == nil || !strings.Contains(err.Error(), "of the mix (from 0) has") {
		t.Errorf("a dataset that runs out: %v", err)
	}
	var saved bytes.Buffer
	if err := p.Write(&saved); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(&saved); err != nil || got.SHA256() != p.SHA256() {
		t.Errorf("read back: %v", err)
	}
}

func TestReplay(t *testing.T) {
	times := []int64{0, 0, 5, 7, 100, 101}
	make := func(l spec.Load) (*Plan, error) {
		l.Arrivals = "replay"
		return MakeOf(l, 0, Data{Rows: 6, Times: times}, "", "", spec.Seeds{})
	}
	for _, tt := range []struct {
		load  spec.Load
		items []int64
		dues  []int64
	}{
		{spec.Load{}, []int64{0, 1, 2, 3, 4, 5}, []int64{0, 0, 5, 7, 100, 101}},
		{spec.Load{Requests: 2, Warmup: 1}, []int64{0, 1, 2}, []int64{0, 0, 5}},
		{spec.Load{Replay: spec.Replay{Scale: 0.5, From: 5, To: 101}}, []int64{2, 3, 4}, []int64{0, 1, 48}},
		{spec.Load{Replay: spec.Replay{Scale: 2, From: 6}}, []int64{3, 4, 5}, []int64{0, 186, 188}},
		{spec.Load{Duration: 7}, []int64{0, 1, 2}, []int64{0, 0, 5}},
	} {
		p, err := make(tt.load)
		if err != nil {
			t.Fatal(err)
		}
		var items, dues []int64
		for _, r := range rowsOf(p, 9) {
			items, dues = append(items, r.Item), append(dues, r.Due)
		}
		if !slices.Equal(items, tt.items) || !slices.Equal(dues, tt.dues) {
			t.Errorf("%+v: items %v due at %v", tt.load, items, dues)
		}
	}
	for want, l := range map[string]spec.Load{
		"no row of the trace":     {Replay: spec.Replay{Scale: 1, From: 102}},
		"more than the 6 rows":    {Requests: 7},
		"none would be measured":  {Warmup: 6},
		"beside replay has no ef": {Rate: 4},
	} {
		if _, err := make(l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", l, err, want)
		}
	}
	if _, err := Make(spec.Load{Arrivals: "replay"}, 0, 3, "", "", spec.Seeds{}); err == nil || !strings.Contains(err.Error(), "have none") {
		t.Errorf("rows without times: %v", err)
	}
}

func TestPlanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := genLoad(t)
		data := rapid.Int64Range(1, 300).Draw(t, "data")
		order := rapid.SampledFrom([]string{OrderFile, OrderShuffle}).Draw(t, "order")
		seeds := spec.Seeds{Run: rapid.Int64().Draw(t, "seed")}
		p, err := Make(l, 16, data, RepeatCycle, order, seeds)
		if err != nil {
			if strings.Contains(err.Error(), "none would be measured") {
				t.Skip()
			}
			t.Fatal(err)
		}
		rows := rowsOf(p, 500)
		if p.Kind == KindRows {
			if l.Duration == 0 || l.Rate == 0 {
				if p.Planned() != l.Requests {
					t.Fatalf("planned %d", p.Planned())
				}
			} else if l.Requests > 0 && p.Planned() > l.Requests {
				t.Fatalf("planned %d of at most %d", p.Planned(), l.Requests)
			}
		}
		last := int64(0)
		for i, r := range rows {
			if r.Item < 0 || r.Item >= data || r.Seq != int64(i) || (r.Phase == tape.PhaseWarmup) != (int64(i) < l.Warmup) {
				t.Fatalf("row %d: %+v", i, r)
			}
			if l.Rate == 0 {
				if r.Due != NoDue {
					t.Fatalf("row %d of a closed loop is due at %d", i, r.Due)
				}
				continue
			}
			if i == 0 && r.Due != 0 || r.Due < last || l.Duration > 0 && r.Due >= int64(l.Duration) {
				t.Fatalf("row %d is due at %d, after %d", i, r.Due, last)
			}
			last = r.Due
		}
		opens := p.SlotOpens()
		if (opens != nil) != (l.Rate == 0 && l.Ramp.Shape != "") {
			t.Fatalf("slots open at %v", opens)
		}
		if opens != nil && (!slices.IsSorted(opens) || opens[0] != 0 || opens[len(opens)-1] != int64(l.Ramp.Duration) || int64(len(opens)) != l.Concurrency) {
			t.Fatalf("slots open at %v", opens)
		}

		var saved bytes.Buffer
		p.DatasetSHA256 = "abc"
		if err := p.Write(&saved); err != nil {
			t.Fatal(err)
		}
		got, err := Read(bytes.NewReader(saved.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if got.Kind != p.Kind || !reflect.DeepEqual(got.Params, p.Params) || got.DatasetSHA256 != "abc" || got.Warmup() != p.Warmup() ||
			got.String() != p.String() || got.SHA256() != p.SHA256() || !reflect.DeepEqual(rowsOf(got, 500), rows) {
			t.Fatalf("read back differently:\n%s\n%s", p, got)
		}
		for i := range int64(5) {
			a, okA := p.Tail(i)
			b, okB := got.Tail(i)
			if a != b || okA != okB || okA && l.Rate > 0 && a.Due < last {
				t.Fatalf("tail row %d: %+v and %+v", i, a, b)
			}
		}
	})
}

// The tail is what the plan would have gone on with.
func TestTailContinues(t *testing.T) {
	for _, arrivals := range arrivalNames() {
		l := spec.Load{Requests: 30, Rate: 3, Arrivals: arrivals, Burstiness: 0.5, Warmup: 4,
			Ramp: spec.Ramp{Shape: "linear", Duration: dur(20 * time.Second)}}
		short, long := make1(t, l), make1(t, func() spec.Load { l.Requests = 60; return l }())
		for i := range int64(30) {
			got, _ := short.Tail(i)
			want, _ := long.At(34 + i)
			if got.Due != want.Due || got.Seq != want.Seq {
				t.Fatalf("%s: tail row %d is %+v, the longer plan has %+v", arrivals, i, got, want)
			}
		}
	}
}

func BenchmarkMake(b *testing.B) {
	for _, arrivals := range arrivalNames() {
		b.Run(arrivals, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Make(spec.Load{Requests: 1_000_000, Rate: 100, Arrivals: arrivals, Burstiness: 0.5}, 0, 1000, RepeatCycle, OrderFile, spec.Seeds{Run: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
