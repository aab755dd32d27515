package analysis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tokentape/tape"
)

// all is everything that results say, rows included.
func all(t testing.TB, res *Results) string {
	t.Helper()
	var b bytes.Buffer
	b.Write(encode(t, res))
	for i, row := range res.Rows.All() {
		text, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "\n%d %s", i, text)
	}
	return b.String()
}

// write puts the script on a tape.
func (s *script) write(t testing.TB, path string, compress bool) {
	t.Helper()
	os.Remove(path)
	w, err := tape.Create(path, compress)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range s.records() {
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// lawful is a closed loop with streams of every form: one choice and several, with
// and without running counts, failures, all phases, lines in another order than
// the plan's.
func lawful(t *rapid.T) *script {
	slots := rapid.IntRange(1, 6).Draw(t, "slots")
	s := &script{reason: tape.ReasonCompleted, spec: fmt.Sprintf(`{"load":{"requests":100,"concurrency":%d},"report":{"slo":{"ttft_ms":30,"itl_ms":12}}}`, slots)}
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	n := rapid.IntRange(1, 150).Draw(t, "requests")
	longest := rapid.SampledFrom([]int{1, 3, 60}).Draw(t, "tokens")
	free := make([]int64, slots)
	for seq := range int64(n) {
		slot := int(seq) % slots
		ts := every(1+r.IntN(longest), int64(10+r.IntN(30))*msec, 0)
		for i := range ts[1:] {
			ts[i+1] = ts[i] + r.Int64N(12*msec)*r.Int64N(2)
		}
		q := ok(seq, free[slot], ts...)
		k := len(q.Events.DT)
		switch r.IntN(4) {
		case 0:
			q.Events.Tok = make([]int64, k)
			for i := range k {
				q.Events.Tok[i] = int64(i*2 - r.IntN(2))
			}
			q.Tokens.Output = tape.Some(int64(k * 2))
		case 1:
			q.Events.Choice = make([]int32, k)
			for i := range k {
				q.Events.Choice[i] = r.Int32N(3)
			}
		}
		end := q.TEnd.V
		switch r.IntN(12) {
		case 0:
			q, end = failed(seq, free[slot], 5*msec, tape.OutcomeReset, "reset"), free[slot]+5*msec
		case 1:
			q.Phase = tape.PhaseWarmup
		case 2:
			q.Phase = tape.PhaseTail
		}
		free[slot] = end
		s.reqs = append(s.reqs, q)
	}
	r.Shuffle(n, func(i, j int) { s.reqs[i], s.reqs[j] = s.reqs[j], s.reqs[i] })
	return s
}

// However a tape is read, the results are the same to the last byte: line by line
// or ahead by other goroutines, with all events in memory or in a second pass,
// with exact gaps or a histogram, on one core or several.
func TestEveryWayToReadIsTheSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tape.jsonl")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	rapid.Check(t, func(rt *rapid.T) {
		s := lawful(rt)
		if rapid.IntRange(0, 3).Draw(rt, "wild") == 0 {
			for range rapid.IntRange(1, 30).Draw(rt, "wild requests") {
				s.reqs = append(s.reqs, anyRequest(rt))
			}
		}
		s.write(t, path, rapid.Bool().Draw(rt, "zstd"))
		o := Options{exact: rapid.SampledFrom([]int64{0, 1, 40, 1000}).Draw(rt, "exact"), Windows: []string{"whole", "stable", "steady", "seconds:0.1..0.5"}}
		serial, err := tape.OpenFile(path)
		if err != nil {
			rt.Fatal(err)
		}
		res, err := Analyse(serial, o)
		serial.Close()
		if err != nil {
			rt.Fatal(err)
		}
		want := all(t, res)
		for _, kept := range []int64{0, 1, 300} {
			runtime.GOMAXPROCS(rapid.IntRange(1, 4).Draw(rt, "cores"))
			o.kept = kept
			res, err := AnalyseFile(path, o)
			if err != nil {
				rt.Fatal(err)
			}
			if got := all(t, res); got != want {
				rt.Fatalf("kept %d: other results\n%s", kept, firstDifference(want, got))
			}
		}
	})
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d:\n%s\n%s", i, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(x), len(y))
}

// twice counts how often a tape is read again, and can lose or change it.
type twice struct {
	records
	reads int
	again []tape.Record
}

func (s *twice) Again() (Source, func() error, error) {
	s.reads++
	return &records{recs: s.again}, func() error { return nil }, nil
}

// All that the tables ask of the events is asked for in one second pass. A new
// table that counts tokens between other points in time must name them in cuts,
// or the tape is read once more for each.
func TestOneSecondPass(t *testing.T) {
	for name, s := range map[string]*script{"rich": rich(), "late": b22()} {
		for _, exact := range []int64{1, exactGaps} {
			src := &twice{records: records{recs: s.records()}, again: s.records()}
			if _, err := Analyse(src, Options{kept: 1, exact: exact, Windows: []string{"whole", "stable", "steady", "seconds:0.2..1", "rows:10..60"}}); err != nil {
				t.Fatal(err)
			}
			if src.reads != 1 {
				t.Errorf("%s: the tape was read again %d times", name, src.reads)
			}
		}
	}
}

// A tape that is another one at the second look gives no numbers; one that has
// grown does.
func TestTapeChangesBetweenPasses(t *testing.T) {
	s := rich()
	whole := s.records()
	other := rich()
	other.reqs[3], other.reqs[4] = other.reqs[4], other.reqs[3]
	for name, c := range map[string]struct {
		again []tape.Record
		fails bool
	}{
		"the same": {whole, false}, "grown": {append(s.records(), ok(999, 0, msec)), false},
		"cut": {whole[:50], true}, "another": {other.records(), true},
	} {
		_, err := Analyse(&twice{records: records{recs: whole}, again: c.again}, Options{kept: 1})
		if (err != nil) != c.fails || err != nil && !strings.Contains(err.Error(), "changed while it was analysed") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
