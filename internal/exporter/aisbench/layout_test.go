package aisbench_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tokentape/internal/analysis/as"
	exporter "tokentape/internal/exporter/aisbench"
	importer "tokentape/internal/importer/aisbench"
	"tokentape/tape"
)

var update = flag.Bool("update", false, "write the golden files anew")

const vectors = "../../importer/aisbench/testdata/vectors"

// file is a tape that can be read again and again.
type file []byte

func (b file) source() *tape.Reader { return tape.NewReader(bytes.NewReader(b)) }

func (b file) load(t rapid.TB) *as.Run {
	r, err := as.Load(b.source())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func written(t rapid.TB, fill func(*tape.Writer) error) file {
	var b bytes.Buffer
	w := tape.NewWriter(&b, false)
	if err := errors.Join(fill(w), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func imported(t rapid.TB, path string, o importer.Options) file {
	return written(t, func(w *tape.Writer) error {
		_, err := importer.Write(w, path, o)
		return err
	})
}

// export writes b as a layout; table is what the tape itself shows.
func export(t rapid.TB, dir string, b file) *exporter.Layout {
	l := &exporter.Layout{Dir: filepath.Join(dir, "20261101_120000"), Model: "vllm-api-stream-chat", Dataset: "demo"}
	var none *exporter.NoTable
	if err := l.Write(b.load(t), b.source()); err != nil && !errors.As(err, &none) {
		t.Fatal(err)
	}
	return l
}

func content(t rapid.TB, path string) []byte {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func same(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// What AISBench printed of its own runs is what the layout says of them, to the last
// digit; details and time points are the values that were read.
func TestVectors(t *testing.T) {
	cases, err := filepath.Glob(vectors + "/*/case.json")
	if err != nil || len(cases) != 6 {
		t.Fatal(cases, err)
	}
	for _, c := range cases {
		from := filepath.Dir(c)
		t.Run(filepath.Base(from), func(t *testing.T) {
			b := imported(t, from, importer.Options{})
			l := export(t, t.TempDir(), b)
			folder := filepath.Join(l.Dir, "performances", l.Model)
			for _, stage := range []string{exporter.Total, exporter.Stable} {
				table, err := as.Make("aisbench", b.load(t))
				if err != nil {
					t.Fatal(err)
				}
				want := filepath.Join(from, "expected_"+stage)
				paths, err := l.Tables(table, stage, "_"+stage)
				if _, none := os.Stat(want); none != nil {
					if err == nil || !strings.Contains(err.Error(), "CALC-DATA-002") {
						t.Errorf("%s: %v", stage, err)
					}
					continue
				}
				if err != nil || len(paths) != 2 {
					t.Fatal(paths, err)
				}
				if got, want := content(t, paths[0]), content(t, want+"/demo.csv"); !bytes.Equal(got, want) {
					t.Errorf("%s: %s\nwant %s", paths[0], got, want)
				}
				if got, want := content(t, paths[1]), content(t, want+"/demo.json"); !same(got, want) {
					t.Errorf("%s: %s\nwant %s", paths[1], got, want)
				}
			}
			if !bytes.Equal(content(t, folder+"/demo.csv"), content(t, folder+"/demo_total.csv")) {
				t.Error("demo.csv is not the table of all requests")
			}
			old, err := filepath.Glob(from + "/2*/performances/*/demo_details.jsonl")
			if err != nil {
				t.Fatal(err)
			}
			was, is := bytes.Split(content(t, old[0]), []byte("\n")), bytes.Split(content(t, folder+"/demo_details.jsonl"), []byte("\n"))
			if len(was) != len(is) {
				t.Fatalf("%d lines, there were %d", len(is), len(was))
			}
			keep := []string{"data_abbr", "id", "success", "error_info", "input_tokens", "output_tokens", "uuid", "turn_id"}
			for i := range was[:len(was)-1] {
				var a, b map[string]any
				if err := errors.Join(json.Unmarshal(was[i], &a), json.Unmarshal(is[i], &b)); err != nil {
					t.Fatal(err)
				}
				for _, k := range keep {
					if a[k] != b[k] {
						t.Errorf("line %d: %s is %v, was %v", i+1, k, b[k], a[k])
					}
				}
				if len(a) != len(b) {
					t.Errorf("line %d: fields %v, were %v", i+1, b, a)
				}
			}
			first := b.load(t)
			again := imported(t, l.Dir, importer.Options{Stream: tape.Some(first.Stream)}).load(t)
			if len(again.Requests) != len(first.Requests) {
				t.Fatalf("%d requests, were %d", len(again.Requests), len(first.Requests))
			}
			for i, q := range again.Requests {
				if want := first.Requests[i].Src; !reflect.DeepEqual(q.Src, want) {
					t.Fatalf("time points of request %d are %v, were %v", i, q.Src, want)
				}
			}
			if _, err := os.Stat(folder + "/demo_failed.jsonl"); (err == nil) != (from == vectors+"/failures") {
				t.Errorf("demo_failed.jsonl: %v", err)
			}
		})
	}
}

var kinds = []string{"rcccfud", "cccc", "cd", "c", "", "e", "rce", "ssccfud", "rfud", "ccccccccccud"}

// genTape makes a run of our own: streams of every kind and whole answers, in flight
// together, some at the same instant, failed in every way.
func genTape(t *rapid.T) file {
	stream := rapid.Bool().Draw(t, "stream")
	n := rapid.IntRange(1, 25).Draw(t, "requests")
	most := rapid.Int64Range(0, 4).Draw(t, "cap")
	at := rapid.Int64Range(0, 40)
	reqs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *tape.Request {
		q := &tape.Request{
			Type: "request", Phase: rapid.SampledFrom([]tape.Phase{tape.PhaseMeasure, tape.PhaseMeasure, tape.PhaseWarmup}).Draw(t, "phase"),
			ID: rapid.String().Draw(t, "id"), Attempts: 1, Ref: tape.Ref{Row: at.Draw(t, "row")}, Message: rapid.String().Draw(t, "message"),
			Outcome: rapid.SampledFrom([]tape.Outcome{tape.OutcomeOK, tape.OutcomeOK, tape.OutcomeOK, tape.OutcomeStatus, tape.OutcomeServer,
				tape.OutcomeTruncated, tape.OutcomeCancelled, tape.OutcomeConnect, tape.OutcomeEmpty}).Draw(t, "outcome"),
			Output: &tape.Output{Text: rapid.String().Draw(t, "text"), Reasoning: rapid.StringN(0, 3, -1).Draw(t, "reasoning")},
		}
		ms := func(n int64) tape.Opt[int64] { return tape.Some(n*1e6 + 333) }
		start := at.Draw(t, "start")
		if q.Outcome == tape.OutcomeConnect && rapid.Bool().Draw(t, "never sent") {
			return q
		}
		q.TReleased, q.TWroteFirst = ms(start), ms(start)
		end := start
		if stream {
			k := rapid.SampledFrom(kinds).Draw(t, "kinds")
			q.Events.Kind = tape.EncodeKinds([]byte(k))
			for i := range k {
				gap := rapid.Int64Range(0, 9).Draw(t, "gap")
				end += gap
				q.Events.DT = append(q.Events.DT, gap*1e6)
				if i == 0 {
					q.TFirstEvent = ms(end)
				}
				if tape.IsToken(k[i]) {
					if !q.TFirstToken.OK {
						q.TFirstToken = ms(end)
					}
					q.TLastToken = ms(end)
				}
			}
			if k == "" {
				q.Events = tape.Events{}
			}
		}
		q.TEnd = ms(end + at.Draw(t, "rest"))
		count := rapid.Int64Range(0, 9)
		if rapid.Bool().Draw(t, "counted") {
			q.Tokens.Input, q.Tokens.InputSource = tape.Some(count.Draw(t, "in")), tape.SourceUsage
			q.Tokens.Output, q.Tokens.OutputSource = tape.Some(count.Draw(t, "out")), tape.SourceUsage
		}
		return q
	}), n, n).Draw(t, "tape")
	return written(t, func(w *tape.Writer) error {
		spec := fmt.Sprintf(`{"target":{"api":"openai-chat"},"workload":{"stream":%t},"load":{"concurrency":%d}}`, stream, most)
		err := w.Write(&tape.Header{Run: "01RUN", Name: "own", Spec: json.RawMessage(spec)})
		for i, q := range reqs {
			q.Seq = int64(i)
		}
		order := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "order"))).Perm(n)
		for _, i := range order {
			err = errors.Join(err, w.Write(reqs[i]))
		}
		return errors.Join(err, w.Write(&tape.Footer{Reason: tape.ReasonCompleted}))
	})
}

// A layout that is read back shows the tables of the tape that it was made of.
func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		b := genTape(t)
		runs++
		l := export(t, filepath.Join(dir, fmt.Sprint(runs)), b)
		defer os.RemoveAll(l.Dir)
		r := b.load(t)
		measured := 0
		for range r.Measured() {
			measured++
		}
		if measured == 0 {
			return
		}
		again := imported(t, l.Dir, importer.Options{Cap: r.Cap, Stream: tape.Some(r.Stream)}).load(t)
		for _, tool := range []string{"aisbench", "aisbench@pre464"} {
			want, errWant := as.Make(tool, r)
			got, errGot := as.Make(tool, again)
			if fmt.Sprint(errWant) != fmt.Sprint(errGot) {
				t.Fatalf("%v, and read back %v", errWant, errGot)
			}
			if errWant == nil && (!reflect.DeepEqual(want.Sections, got.Sections) || !reflect.DeepEqual(want.Values, got.Values)) {
				t.Fatalf("%s: %v\nread back: %v", tool, want.Sections, got.Sections)
			}
		}
	})
}

// Nothing is written over, a table that differs stands beside the earlier one, and
// the plot and the config are whole.
func TestKept(t *testing.T) {
	b := imported(t, vectors+"/failures", importer.Options{})
	l := export(t, t.TempDir(), b)
	if err := l.Write(b.load(t), b.source()); err == nil || !strings.Contains(err.Error(), "nothing is overwritten") {
		t.Errorf("written twice: %v", err)
	}
	r := b.load(t)
	for i, want := range []string{"demo.csv", "demo.csv", "demo_2.csv", "demo_2.csv"} {
		if i == 2 {
			r.Cap = 3
			r.Requests = r.Requests[:40]
		}
		table, err := as.Make("aisbench", r)
		if err != nil {
			t.Fatal(err)
		}
		paths, err := l.Tables(table, exporter.Total)
		if err != nil || filepath.Base(paths[0]) != want {
			t.Errorf("%d: %v, %v; want %s", i, paths, err, want)
		}
	}
	page := string(content(t, filepath.Join(l.Dir, "performances", l.Model, "demo_plot.html")))
	if strings.Count(page, "</html>") != 1 || strings.Contains(page, "http") || !strings.Contains(page, "vllm-api-stream-chat/demo") {
		t.Error("the plot is not whole, or asks the network")
	}
	config, err := filepath.Glob(l.Dir + "/configs/*.py")
	if err != nil || len(config) != 1 {
		t.Fatal(config, err)
	}
	if s := string(content(t, config[0])); !strings.Contains(s, "batch_size=8,") || !strings.Contains(s, `api_key=os.environ.get("API_KEY", ""),`) {
		t.Errorf("config: %s", s)
	}
}

// The columns stand where AISBench prints them.
func TestConsole(t *testing.T) {
	b := imported(t, vectors+"/failures", importer.Options{})
	table, err := as.Make("aisbench", b.load(t))
	if err != nil {
		t.Fatal(err)
	}
	l := &exporter.Layout{Model: "vllm-api-stream-chat", Dataset: "demo"}
	got, err := l.Console(table, exporter.Total)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/console.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := string(content(t, "testdata/console.txt"))
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
