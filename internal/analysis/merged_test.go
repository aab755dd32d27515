package analysis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tokentape/tape"
)

// piece is a run as a tape on disk, begun some seconds after the epoch of all.
func piece(t testing.TB, s *script, run string, after float64, edit ...func(*tape.Header)) string {
	t.Helper()
	recs := s.records()
	h := *recs[0].(*tape.Header)
	at, _ := time.Parse(time.RFC3339, h.Anchor.Wall)
	h.Run, h.Anchor.Wall = run, at.Add(time.Duration(after*1e9)).Format(time.RFC3339Nano)
	for _, f := range edit {
		f(&h)
	}
	path := filepath.Join(t.TempDir(), run+".jsonl")
	w, err := tape.Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	recs[0] = &h
	for _, rec := range recs {
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// together merges tapes into a file.
func together(t testing.TB, force bool, paths ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "merged.jsonl.zst")
	w, err := tape.Create(out, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tape.Merge(w, paths, tape.MergeOptions{Force: force}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t testing.TB, path string, o Options) *Results {
	t.Helper()
	res, err := AnalyseFile(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// stripes deals the requests of a run to n runs that went on at the same time; the
// cap is dealt as well.
func stripes(s *script, n int, caps ...int) (out []*script) {
	for k := range n {
		spec := s.spec
		if len(caps) > 0 {
			spec = strings.Replace(spec, `"concurrency":16`, fmt.Sprintf(`"concurrency":%d`, caps[k]), 1)
		}
		out = append(out, &script{spec: spec, reason: s.reason})
	}
	for i, q := range s.reqs {
		own := *q
		own.Seq = int64(i / n)
		out[i%n].reqs = append(out[i%n].reqs, &own)
	}
	return out
}

func modelOf(t testing.TB, name string) *model {
	for _, m := range models {
		if m.name == name {
			return m
		}
	}
	t.Fatal("no model " + name)
	return nil
}

// A load that three clients sent has the numbers of the same load from one.
func TestStripesAreOneLoad(t *testing.T) {
	for _, c := range []struct {
		model string
		caps  []int
	}{{"closed", []int{3, 8, 5}}, {"light", nil}} {
		s := modelOf(t, c.model).run(300, 7)
		one := read(t, piece(t, s, "one", 0), Options{NoCI: true})
		var paths []string
		for k, p := range stripes(s, 3, c.caps...) {
			// Every client has its own t = 0.
			after := float64(k) * 0.25
			for _, q := range p.reqs {
				for _, at := range []*tape.Opt[int64]{&q.TDue, &q.TReady, &q.TReleased, &q.TConn, &q.TWroteFirst, &q.TWrote, &q.TFirstEvent, &q.TFirstToken, &q.TFirstVisible, &q.TLastToken, &q.TEnd} {
					if at.OK {
						at.V -= int64(after * 1e9)
					}
				}
			}
			paths = append(paths, piece(t, p, fmt.Sprint("s", k), after))
		}
		res := read(t, together(t, false, paths...), Options{NoCI: true})
		for _, kind := range []string{"whole", "stable"} {
			a, b := windowOf(t, one, kind), windowOf(t, res, kind)
			a.LeftOut, b.LeftOut = "", ""
			if d := cmp.Diff(a, b); d != "" {
				t.Errorf("%s, %s: -one +three\n%s", c.model, kind, d)
			}
		}
		a, b := windowOf(t, one, "steady"), windowOf(t, res, "steady")
		if *a.From < *b.From-1e-9 && c.caps == nil || *b.To > *a.To || *a.System.DurationS-*b.System.DurationS > 2 || b.Spans != nil {
			t.Errorf("%s: steady %s against %s", c.model, b.Why, a.Why)
		}
		if !strings.Contains(b.Why, "of the run that ended first") {
			t.Error(b.Why)
		}
		if res.Load.Concurrency != one.Load.Concurrency || num(res.Load.RateAchieved, 6) != num(one.Load.RateAchieved, 6) || res.Load.Requests != 300 || len(res.Parts) != 3 || res.Parts[2].Group != 0 {
			t.Errorf("%s: %+v", c.model, res.Load)
		}
		if k := check(t, res, "counts_add_up"); k.Result != ResultPass {
			t.Error(k.Why)
		}
	}
}

// Repeats are pooled, and the time between them is in nothing.
func TestGapsDiluteNothing(t *testing.T) {
	m := modelOf(t, "closed")
	runs := []*script{m.run(250, 1), m.run(300, 2), m.run(280, 3)}
	for _, s := range runs {
		s.spec = strings.Replace(s.spec, `{"load"`, `{"target":{"api":"openai-chat"},"workload":{"stream":true},"load"`, 1)
	}
	var single []*Results
	var values []float64
	for k, s := range runs {
		res := read(t, piece(t, s, fmt.Sprint("r", k), 0), Options{})
		single = append(single, res)
		for _, row := range res.Rows.All() {
			if row.TTFTMS != nil {
				values = append(values, *row.TTFTMS)
			}
		}
	}
	slices.Sort(values)
	var before *Results
	for _, gaps := range [][2]float64{{100, 300}, {5000, 5100}} {
		path := together(t, false, piece(t, runs[0], "r0", 0), piece(t, runs[2], "r2", gaps[1]), piece(t, runs[1], "r1", gaps[0]))
		res := read(t, path, Options{As: []string{"vllm", "aisbench", "aiperf", "guidellm"}})
		for i := range res.Windows {
			w := &res.Windows[i]
			var seconds, requests, tokens float64
			for _, r := range single {
				own := windowOf(t, r, w.Kind)
				seconds += *own.System.DurationS
				requests += float64(own.Held())
				tokens += *own.System.OutputTokensPerS * *own.System.DurationS
			}
			near(t, w.Kind+" seconds", *w.System.DurationS, seconds)
			near(t, w.Kind+" requests", float64(w.Held()), requests)
			near(t, w.Kind+" tokens/s", *w.System.OutputTokensPerS, tokens/seconds)
			if len(w.Spans) != 3 || w.Spans[1].From < gaps[0] || *w.System.ConcurrencyMean < 14 {
				t.Errorf("%s: spans %v, in flight %v", w.Kind, w.Spans, *w.System.ConcurrencyMean)
			}
			w.From, w.To, w.FromWall, w.ToWall, w.Why, w.Spans = nil, nil, "", "", "", nil
		}
		for _, row := range res.Rows.All() { // as its own tape has it
			own := single[*row.Part].Rows.At(int(*row.PartSeq))
			if own.Seq != *row.PartSeq || num(own.TTFTMS, 6) != num(row.TTFTMS, 6) || *row.Output != *own.Output {
				t.Fatalf("row %d is row %d of part %d, which has %+v", row.Seq, *row.PartSeq, *row.Part, own)
			}
		}
		w := windowOf(t, res, "whole")
		at := 0.99 * float64(len(values)-1)
		p99 := values[int(at)] + (at-math.Floor(at))*(values[int(at)+1]-values[int(at)])
		near(t, "p99 of the pooled samples", *w.Metrics["ttft_ms"].P99, p99)
		if res.Wave == nil || res.Wave.Requests != 48 {
			t.Errorf("wave %+v: three starts of 16", res.Wave)
		}
		for i := range res.As {
			if res.As[i].Error != "" {
				t.Error(res.As[i].Error)
				continue
			}
			last := &res.As[i].Caveats[len(res.As[i].Caveats)-1]
			if !strings.Contains(*last, "merged from 3 runs") {
				t.Errorf("%s: %q", res.As[i].Tool, *last)
			}
			*last = ""
			res.As[i].Rule = ""
		}
		if before != nil {
			for _, d := range []string{cmp.Diff(before.Windows, res.Windows), cmp.Diff(before.As, res.As), cmp.Diff(before.Load, res.Load)} {
				if d != "" {
					t.Errorf("other gaps, other numbers: %s", d)
				}
			}
		}
		before = res
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// A merge of one tape has that tape's numbers.
func TestMergeOfOne(t *testing.T) {
	for name, s := range map[string]*script{"rich": rich(), "mix": modelOf(t, "mix").run(200, 3)} {
		path := piece(t, s, "r", 0)
		a, b := read(t, path, Options{}), read(t, together(t, false, path), Options{})
		if len(b.Parts) != 1 || b.Parts[0].TapeSHA256 != a.TapeSHA256 {
			t.Errorf("%+v", b.Parts)
		}
		b.Parts, b.TapeSHA256, b.About.Tool = a.Parts, a.TapeSHA256, a.About.Tool
		b.Verdict.Checks = slices.DeleteFunc(b.Verdict.Checks, func(c Check) bool { return c.Name == "merged_alike" })
		if x, y := encode(t, a), encode(t, b); !bytes.Equal(x, y) {
			t.Errorf("%s: %s", name, cmp.Diff(string(x), string(y)))
		}
	}
}

// pooled is the steady window of repeats, each with a base cost of a step of its own.
func pooled(t *testing.T, n int, base ...int64) (w *Window, tpot []float64) {
	t.Helper()
	var paths []string
	for k, more := range base {
		m := *modelOf(t, "closed")
		m.decodeBase += more
		path := piece(t, m.run(n, uint64(k)), fmt.Sprint("r", k), float64(k)*1000)
		paths = append(paths, path)
		tpot = append(tpot, *windowOf(t, read(t, path, Options{NoCI: true}), "steady").Metrics["tpot_ms"].Mean)
	}
	return windowOf(t, read(t, together(t, false, paths...), Options{}), "steady"), tpot
}

// Intervals of a pool are of long runs: what the start of each does to its steady
// window is in all of them, and does not fade as chance does. Runs that differ from
// each other widen them, or leave none: batches of one are not batches of all.
func TestIntervalsOfPools(t *testing.T) {
	if w, _ := pooled(t, 1280, 0, 0); w.Metrics["e2e_ms"].CI["mean"][0] == nil || w.System.CI["requests_per_s"][0] == nil {
		t.Error("two long runs alike have no interval")
	}
	if w, _ := pooled(t, 160, 0, 0, 0, 0, 0, 0, 0, 0); len(w.System.CI) > 0 || len(w.Metrics["e2e_ms"].CI) > 0 {
		t.Error("eight short runs have intervals")
	}
	w, means := pooled(t, 1280, 0, 8e6)
	for name, ci := range w.Metrics["tpot_ms"].CI {
		if name != "mean" && name != "p50" {
			continue
		}
		if width, spread := *ci[1]-*ci[0], slices.Max(means)-slices.Min(means); width < spread/2 {
			t.Errorf("%s: %v wide, the runs' means are %v", name, width, means)
		}
	}
}

// Damage of a part is damage of the whole, and what was never recorded is known.
func TestMergedTapeTellsOfItsParts(t *testing.T) {
	whole, torn, stopped := modelOf(t, "closed").run(60, 1), modelOf(t, "closed").run(60, 2), modelOf(t, "closed").run(60, 3)
	torn.reason, torn.reqs = "", torn.reqs[:40]
	stopped.reason = tape.ReasonInterrupted
	res := read(t, together(t, false, piece(t, whole, "a", 0), piece(t, torn, "b", 100)), Options{})
	k := check(t, res, "tape_complete")
	if k.Result != ResultMiss || !strings.Contains(k.Why, "part 1 (b) has no footer") || res.Verdict.Fit {
		t.Errorf("%+v", k)
	}
	if n := res.Counts; n.Planned != 120 || n.OK != 100 || n.Unrecorded != 20 || check(t, res, "counts_add_up").Result != ResultPass {
		t.Errorf("%+v %+v", n, check(t, res, "counts_add_up"))
	}
	if res.Parts[1].Stop != "incomplete" || res.Parts[1].Requests != 40 {
		t.Errorf("%+v", res.Parts[1])
	}
	res = read(t, together(t, false, piece(t, whole, "a", 0), piece(t, stopped, "b", 100)), Options{})
	if k := check(t, res, "tape_complete"); k.Result != ResultMiss || !strings.Contains(k.Why, "part 1 (b) was stopped: interrupted") {
		t.Errorf("%+v", k)
	}
	path := piece(t, whole, "a", 0)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte(`"finish":"stop"`), []byte(`"finish":"x"`), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	res = read(t, together(t, false, path, piece(t, modelOf(t, "closed").run(60, 2), "b", 100)), Options{})
	if k := check(t, res, "tape_complete"); k.Result != ResultMiss || !strings.Contains(k.Why, "part 0 (a): 1 fault there, first: ") || !strings.Contains(k.Why, "edited") {
		t.Errorf("%+v", k)
	}
}

func TestMergedByForce(t *testing.T) {
	a, b := modelOf(t, "closed").run(60, 1), modelOf(t, "closed").run(60, 2)
	path := together(t, true, piece(t, a, "a", 0), piece(t, b, "b", 100, func(h *tape.Header) { h.Server.Version = "9" }))
	res := read(t, path, Options{})
	k := check(t, res, "merged_alike")
	if k.Result != ResultMiss || k.Severity != SeverityNote || !strings.Contains(k.Why, "server.version: (none) → 9") || !strings.Contains(res.Verdict.Line, "note") {
		t.Errorf("%+v, %s", k, res.Verdict.Line)
	}
	if !slices.ContainsFunc(res.Notes, func(n string) bool { return strings.Contains(n, "merged by force") }) {
		t.Errorf("notes %q", res.Notes)
	}
}

// Every name is explained of a merged tape, and what requests bring to a rate adds
// up to it.
func TestExplainMerged(t *testing.T) {
	path := together(t, false, piece(t, modelOf(t, "closed").run(200, 1), "a", 0), piece(t, modelOf(t, "closed").run(200, 2), "b", 100))
	for _, d := range Definitions() {
		name := filled(d)
		if e, err := ExplainFile(path, name, Options{}); err != nil || e.Value == nil && e.Word == "" && e.Absent == "" && len(e.How) == 0 {
			t.Errorf("%s: %v %+v", name, err, e)
		}
	}
	for _, kind := range []string{"whole", "stable", "steady", "seconds:1..101", "rows:150..250"} {
		for _, name := range []string{"output_tokens_per_s", "requests_per_s", "input_tokens_per_s", "concurrency_mean"} {
			e, err := ExplainFile(path, name, Options{Windows: []string{kind}})
			if err != nil || e.Value == nil {
				t.Errorf("%s %s: %v %+v", kind, name, err, e)
				continue
			}
			if kind == "stable" && name == "concurrency_mean" {
				continue
			}
			got := strings.TrimSuffix(strings.Join(e.How, "\n"), " s")
			v, err := strconv.ParseFloat(got[strings.LastIndex(got, " ")+1:], 64)
			if err != nil || math.Abs(v-*e.Value) > 1e-5**e.Value {
				t.Errorf("%s %s is %v: %s", kind, name, *e.Value, got)
			}
		}
	}
}

// A window over a gap begins where the next run does.
func TestSecondsOverAGap(t *testing.T) {
	ten := func() *script {
		x := &script{reason: tape.ReasonCompleted, spec: `{"load":{"concurrency":1}}`}
		for i := range 10 {
			x.reqs = append(x.reqs, ok(int64(i), int64(i)*1e9, every(10, 100*msec, 80*msec)...))
		}
		return x
	}
	path := together(t, false, piece(t, ten(), "a", 0), piece(t, ten(), "b", 100))
	w := windowOf(t, read(t, path, Options{Windows: []string{"seconds:5..103"}}), "seconds:5..103")
	var spans [][2]string
	for _, s := range w.Spans {
		spans = append(spans, [2]string{fmt.Sprintf("%.3f", s.From), fmt.Sprintf("%.3f", s.To)})
	}
	if !reflect.DeepEqual(spans, [][2]string{{"5.000", "9.820"}, {"100.000", "103.000"}}) || w.Held() != 4+4 {
		t.Errorf("%v, %d requests", spans, w.Held())
	}
	none := windowOf(t, read(t, path, Options{Windows: []string{"seconds:20..90"}}), "seconds:20..90")
	if none.From != nil || none.Held() != 0 || none.Why == "" {
		t.Errorf("%+v", none)
	}
}

// Energy is that of the stretches.
func TestEnergyOfAUnion(t *testing.T) {
	s := modelOf(t, "closed").run(200, 1)
	s.spec = strings.Replace(s.spec, `{"load"`, `{"energy":{"watts":100},"load"`, 1)
	b := modelOf(t, "closed").run(200, 2)
	b.spec = s.spec
	res := read(t, together(t, false, piece(t, s, "a", 0), piece(t, b, "b", 1000)), Options{})
	for _, w := range res.Windows {
		near(t, w.Kind, *w.System.Energy["energy_j"], 100**w.System.DurationS)
	}
	if _, err := json.Marshal(res); err != nil {
		t.Error(err)
	}
}
