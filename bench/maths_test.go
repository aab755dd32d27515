package main

import (
	"bytes"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tokentape/internal/doctor"
	"tokentape/simserver"
)

func TestQuantile(t *testing.T) {
	v := []int64{5, 1, 4, 2, 3}
	for q, want := range map[float64]int64{0: 1, 0.5: 3, 0.99: 5, 1: 5, 0.25: 2} {
		if got := quantile(slices.Clone(v), q); got != want {
			t.Errorf("q %g: %d, want %d", q, got, want)
		}
	}
	if quantile(nil, 0.5) != 0 || newLags(nil) != nil {
		t.Error("of none")
	}
	for _, c := range []struct {
		v    []float64
		want float64
	}{{[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 2, 3}, 2.5}, {[]float64{7}, 7}} {
		if got := median(c.v); got != c.want {
			t.Errorf("%v: %g", c.v, got)
		}
	}
	if !math.IsNaN(median(nil)) {
		t.Error("median of none")
	}
}

func TestRatio(t *testing.T) {
	r := newRatio([]float64{2, 9, 4}, []float64{1, 3, 4})
	if r.OfMedians != 4.0/3 || r.Median != 2 || r.OfLeast != 2 || !slices.Equal(r.Pairs, []float64{2, 3, 1}) || !r.sound() {
		t.Errorf("%+v", r)
	}
	for _, r := range []ratio{newRatio(nil, nil), newRatio([]float64{1}, []float64{0}), newRatio([]float64{1}, nil)} {
		if r.sound() {
			t.Errorf("%+v", r)
		}
	}
}

func TestTable(t *testing.T) {
	tab := table{Name: "x", Title: "what it is", Columns: columns("name|name", "n|count", "v|v ms", "r|÷ bare"),
		Rows: []record{
			{"name": "a", "n": 12345, "v": 0.01234, "r": newRatio([]float64{3}, []float64{2})},
			{"name": "longer", "n": int64(2), "v": 1234567.8, "r": newRatio(nil, nil)},
			{"name": "b", "v": math.Inf(1)},
		}, Notes: []string{"a note"}}
	var out bytes.Buffer
	tab.print(&out)
	want := `
x · what it is
  name    count       v ms  ÷ bare
  a       12345      0.012    1.50
  longer      2  1,234,568       –
  b           –          –       –
  a note
`
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", &out, want)
	}
	text, err := json.Marshal(tab.Rows)
	if err != nil || !strings.Contains(string(text), `"pairs":[1.5]`) || strings.Count(string(text), `"r"`) != 1 || strings.Count(string(text), `"v"`) != 2 {
		t.Errorf("%s, %v", text, err)
	}
}

func TestDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "0.000", 0.1234: "0.123", 1.234: "1.23", -12.34: "-12.3", 99.96: "100.0", 123.5: "124", 1234: "1,234", -1234567: "-1,234,567", 999: "999"} {
		if got := digits(v); got != want {
			t.Errorf("%g: %q, want %q", v, got, want)
		}
	}
}

func TestGoals(t *testing.T) {
	goals := []goal{
		{Text: "a", Value: 1, Limit: 2, Unit: "ms"}, {Text: "b", Value: 3, Limit: 2}, {Text: "c", Value: 3, Limit: 2, Least: true},
		{Text: "d", Value: 1, Limit: 2, Least: true}, {Text: "e", Value: math.NaN(), Limit: 2}, {Text: "f", Value: 0, Loose: "of 3 runs"},
	}
	var out bytes.Buffer
	printGoals(&out, goals)
	want := `
goals
  met           a: 1.00 ms (at most 2.00)
  NOT MET       b: 3.00 (at most 2.00)
  met           c: 3.00 (at least 2.00)
  NOT MET       d: 1.00 (at least 2.00)
  not measured  e: – (at most 2.00)
  met           f: 0.000 (at most 0.000); of 3 runs
`
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", &out, want)
	}
	text, err := json.Marshal(goals)
	if err != nil || strings.Count(string(text), `"value":null`) != 1 || strings.Count(string(text), `"verdict":"met"`) != 3 {
		t.Errorf("%s, %v", text, err)
	}
}

func TestVerdicts(t *testing.T) {
	run := func(p99 float64, said string) result {
		return result{Sent: sent{Verdict: said}, Errors: &stampErrors{EventP99: p99}}
	}
	var v verdicts
	v.add(runs{run(6, "miss"), run(6, "pass"), run(6, "pass"), run(0.9, "pass"), run(0.9, "miss"), run(2, "miss"), run(2, "pass")},
		runs{run(6, ""), run(6, ""), run(4, ""), run(0.5, ""), run(0.5, ""), run(9, ""), run(9, "")})
	if v != (verdicts{bound: 2, missed: 1, clean: 2, wrong: 1}) {
		t.Errorf("%+v", v)
	}
	if g := v.goals(); len(g) != 2 || g[0].met() || g[1].met() || g[0].Loose != "of 2 such runs" {
		t.Errorf("%+v", g)
	}
}

// A planted difference comes out; what does not fit together is no figure.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	const ms = 1_000_000
	truth := []*simserver.Truth{
		{ID: "a", Received: 100 * ms, WriteStart: []int64{300 * ms, 310 * ms, 320 * ms}},
		{ID: "b", Received: 100 * ms, WriteStart: []int64{300 * ms, 310 * ms, 320 * ms}},
	}
	seen := []stamps{
		{ID: "b", Released: 98 * ms, Events: []int64{301 * ms, 311 * ms, 321 * ms}},
		{ID: "a", Released: 98 * ms, Events: []int64{301 * ms, 311 * ms, 328 * ms}},
	}
	truths, all := filepath.Join(dir, "t"), filepath.Join(dir, "s")
	put := func(x []stamps) {
		t.Helper()
		if err := writeGob(all, x); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeTruths(truths, truth); err != nil {
		t.Fatal(err)
	}
	put(seen)
	e, err := compare(truths, all)
	want := stampErrors{Events: 6, EventP50: 1, EventP99: 8, EventMax: 8, TTFTP50: 3, TTFTP99: 3, E2EP50: 10, E2EP99: 10}
	if err != nil || *e != want {
		t.Fatalf("%+v, %v, want %+v", e, err, want)
	}
	for name, broken := range map[string][]stamps{
		"a request less":   seen[:1],
		"an unknown one":   {seen[0], {ID: "c", Events: []int64{1, 2, 3}}},
		"an event less":    {seen[0], {ID: "a", Events: []int64{1, 2}}},
		"no event at all":  {seen[0], {ID: "a"}},
		"no stamps at all": nil,
	} {
		put(broken)
		if e, err := compare(truths, all); err == nil {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// The heap gives connections in the order of their due times, whoever leaves between.
func TestDues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d dues
		var want []*conn
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch k := rapid.IntRange(0, 3).Draw(t, "step"); {
			case k < 2 || len(want) == 0:
				c := &conn{due: rapid.Int64Range(0, 50).Draw(t, "due")}
				d.add(c)
				want = append(want, c)
			case k == 2:
				i := rapid.IntRange(0, len(want)-1).Draw(t, "who")
				d.remove(want[i])
				want = slices.Delete(want, i, i+1)
				d.remove(&conn{}) // one that is not there
			default:
				d[0].due += rapid.Int64Range(0, 50).Draw(t, "later")
				d.down(0)
			}
			if len(d) != len(want) {
				t.Fatalf("%d of %d", len(d), len(want))
			}
			if len(want) > 0 && d[0].due != slices.MinFunc(want, func(a, b *conn) int { return int(a.due - b.due) }).due {
				t.Fatalf("the first is due at %d", d[0].due)
			}
		}
	})
}

// What counts as due at speed is outside of every stretch, of the time before one in which
// the watch could not see it yet, and of the backlog after it.
func TestAtSpeed(t *testing.T) {
	const ms = int64(1e6)
	slow := []doctor.Stretch{{From: 100 * ms, To: 140 * ms}, {From: 300 * ms, To: 310 * ms}}
	for at, want := range map[int64]bool{
		0: true, 98*ms - 1: true, 98 * ms: false, 120 * ms: false, 140 * ms: false, 190*ms - 1: false, 190 * ms: true,
		297 * ms: true, 299 * ms: false, 359 * ms: false, 360 * ms: true, 1000 * ms: true,
	} {
		if got := atSpeed([]dueLag{{at, 7}}, slow); slices.Equal(got, []int64{7}) != want || len(got) > 1 {
			t.Errorf("due at %d: %v, want %t", at, got, want)
		}
	}
	all := []dueLag{{5 * ms, 1}, {110 * ms, 900}, {150 * ms, 800}, {200 * ms, 2}}
	if got := atSpeed(all, slow); !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("%v", got)
	}
	if got := atSpeed(all, nil); !slices.Equal(got, []int64{1, 900, 800, 2}) {
		t.Errorf("%v", got)
	}
}

// The share that was slow is that of the trial, not of the watch, which is longer.
func TestSlowShare(t *testing.T) {
	r := result{Served: served{First: 1000, Last: 2000}}
	if !math.IsNaN(r.slow()) || !math.IsNaN(r.p99AtSpeed()) {
		t.Error("nobody watched")
	}
	r.Speed = &doctor.Speed{Looks: 9, From: 0, To: 5000, Stretches: []doctor.Stretch{{From: 500, To: 1100}, {From: 1900, To: 4000}}}
	r.LagAtSpeed = &lags{P99: 1_500_000}
	if got := mostApart(map[string]runs{"a": {{Speed: &doctor.Speed{Apart: 3}}, {}}, "b": {{Speed: &doctor.Speed{Apart: 7}}}}); got != 7 {
		t.Errorf("apart %d", got)
	}
	if r.slow() != 0.2 || r.p99AtSpeed() != 1.5 {
		t.Errorf("%g, %g", r.slow(), r.p99AtSpeed())
	}
}
