package metric

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tokentape/tape"
)

func some(n int64) tape.Opt[int64] { return tape.Some(n) }

// streamed is an ok request released at 0 with the given events.
func streamed(dt []int64, kind string, output int64) *tape.Request {
	q := &tape.Request{
		Phase: tape.PhaseMeasure, Outcome: tape.OutcomeOK, TReleased: some(0), TReady: some(0), TWroteFirst: some(0),
		Events: tape.Events{DT: dt, Kind: kind},
		Tokens: tape.Tokens{Output: some(output), OutputSource: tape.SourceUsage, Input: some(50), InputSource: tape.SourceUsage},
	}
	end := int64(0)
	for _, e := range q.Events.All(0) {
		end = e.T
		if !tape.IsToken(e.Kind) {
			continue
		}
		if !q.TFirstToken.OK {
			q.TFirstToken = some(e.T)
		}
		if e.Kind != tape.KindReasoning && !q.TFirstVisible.OK {
			q.TFirstVisible = some(e.T)
		}
		q.TLastToken = some(e.T)
	}
	q.TEnd = some(end)
	return q
}

func reduce(q *tape.Request) *Request {
	r := Reduce(q, new(Arena))
	return &r
}

func got(v int64, ok bool) string {
	if !ok {
		return "absent"
	}
	return fmt.Sprint(v)
}

func gotF(v float64, ok bool) string {
	if !ok {
		return "absent"
	}
	return fmt.Sprintf("%.6g", v)
}

func TestTPOT(t *testing.T) {
	base := func() *tape.Request { return streamed([]int64{0, 100, 20, 20, 20, 0, 0}, "r c4 f u", 4) }
	for _, c := range []struct {
		name string
		edit func(*tape.Request)
		want string
	}{
		{"one token an event", func(*tape.Request) {}, "20"},
		{"several tokens an event, first taken as 1", func(q *tape.Request) { q.Tokens.Output = some(13) }, "5"},
		{"several tokens an event, first counted", func(q *tape.Request) {
			q.Tokens.Output = some(12)
			q.Events.Tok = []int64{-1, 3, 6, 9, 12, -1, 12}
		}, "6.66667"},
		{"output not above the first event's", func(q *tape.Request) {
			q.Tokens.Output = some(3)
			q.Events.Tok = []int64{-1, 3, 3, 3, 3, -1, 3}
		}, "absent"},
		{"output 1 in four events", func(q *tape.Request) { q.Tokens.Output = some(1) }, "absent"},
		{"unknown output", func(q *tape.Request) { q.Tokens.Output = tape.Opt[int64]{} }, "absent"},
		{"two choices without counts", func(q *tape.Request) { q.Events.Choice = []int32{0, 0, 1, 0, 1, 0, 0} }, "absent"},
		{"two choices, counts per choice", func(q *tape.Request) {
			// Choice 0 at 100 and 140 (1, 4 tokens), choice 1 at 120 and 160 (1, 3).
			q.Events.Choice = []int32{0, 0, 1, 0, 1, 0, 0}
			q.Events.Tok = []int64{-1, 1, 1, 4, 3, -1, -1}
			q.Tokens.Output = some(7)
		}, "16"},
		{"two choices, one running count for both", func(q *tape.Request) {
			q.Events.Choice = []int32{0, 0, 1, 0, 1, 0, 0}
			q.Events.Tok = []int64{-1, 1, 2, 3, 4, -1, -1}
		}, "absent"},
		{"not streamed", func(q *tape.Request) { q.Flags = []string{"not_streamed"} }, "absent"},
	} {
		q := base()
		c.edit(q)
		if g := gotF(reduce(q).TPOT()); g != c.want {
			t.Errorf("%s: %s, want %s", c.name, g, c.want)
		}
	}
}

func TestLatencies(t *testing.T) {
	q := streamed([]int64{0, 100, 50, 30, 5, 40, 1}, "r s2 c f u d", 3)
	q.TReleased, q.TDue = some(-10), some(-40)
	r := reduce(q)
	for _, c := range []struct{ name, got, want string }{
		{"TTFT", got(r.TTFT()), "110"}, {"TTFT from due", got(r.TTFTFromDue()), "140"}, {"TTFO", got(r.TTFO()), "190"},
		{"E2E", got(r.E2E()), "190"}, {"E2E from due", got(r.E2EFromDue()), "220"}, {"stream end", got(r.StreamEnd()), "236"},
		{"send lag", got(r.SendLag()), "40"}, {"last event", fmt.Sprint(r.LastEvent), "225"}, {"max ITL", got(r.MaxITL()), "50"},
	} {
		if c.got != c.want {
			t.Errorf("%s = %s, want %s", c.name, c.got, c.want)
		}
	}
	if !r.Reasoning {
		t.Error("reasoning not seen")
	}
	only := reduce(streamed([]int64{0, 100, 50}, "r s2", 2))
	if g := got(only.TTFO()); g != "absent" {
		t.Errorf("TTFO of reasoning alone = %s", g)
	}
	body := streamed(nil, "", 5)
	body.TEnd, body.TFirstToken, body.TLastToken = some(700), some(600), some(600)
	r = reduce(body)
	if got(r.TTFT()) != "absent" || got(r.E2E()) != "700" || gotF(r.TPOT()) != "absent" || gotF(r.OutputSpeed()) != "7.14286e+06" {
		t.Errorf("answer in one piece: TTFT %s, E2E %s", got(r.TTFT()), got(r.E2E()))
	}
	refused := reduce(&tape.Request{Outcome: tape.OutcomeStatus, TReleased: some(10), TEnd: some(20)})
	if got(refused.E2E()) != "absent" || got(refused.StreamEnd()) != "10" {
		t.Errorf("an answer without output: E2E %s, end %s", got(refused.E2E()), got(refused.StreamEnd()))
	}
}

// Absent stamps never become values.
func TestAbsent(t *testing.T) {
	r := reduce(&tape.Request{Phase: tape.PhaseMeasure, Outcome: tape.OutcomeConnect})
	for name, g := range map[string]string{
		"TTFT": got(r.TTFT()), "due": got(r.TTFTFromDue()), "TTFO": got(r.TTFO()), "E2E": got(r.E2E()), "E2E due": got(r.E2EFromDue()),
		"end": got(r.StreamEnd()), "lag": got(r.SendLag()), "TPOT": gotF(r.TPOT()), "tokens": gotF(r.TokensPerEvent()),
		"speed": gotF(r.OutputSpeed()), "decode": gotF(r.DecodeSpeed()), "prefill": gotF(r.PrefillSpeed()), "max": got(r.MaxITL()),
		"in": gotF(r.TokensIn(0, 100)), "uncached": gotF(r.UncachedPrefillSpeed(true)),
	} {
		if g != "absent" {
			t.Errorf("%s = %s", name, g)
		}
	}
}

func TestCachedTokens(t *testing.T) {
	for _, c := range []struct {
		name   string
		cached tape.Opt[int64]
		source string
		proved bool
		want   string
	}{
		{"reported", some(40), tape.SourceUsage, false, "40 observed"},
		{"reported 0", some(0), tape.SourceUsage, true, "0 observed"},
		{"missing, not proved", tape.Opt[int64]{}, tape.SourceUsage, false, "absent"},
		{"missing, proved", tape.Opt[int64]{}, tape.SourceUsage, true, "0 inferred"},
		{"no usage at all", tape.Opt[int64]{}, tape.SourceTokenizer, true, "absent"},
	} {
		q := streamed([]int64{0, 100}, "r c", 1)
		q.Tokens.Cached, q.Tokens.InputSource = c.cached, c.source
		n, inferred, ok := reduce(q).CachedTokens(c.proved)
		g := fmt.Sprint(n, map[bool]string{true: " inferred", false: " observed"}[inferred])
		if !ok {
			g = "absent"
		}
		if g != c.want {
			t.Errorf("%s: %s, want %s", c.name, g, c.want)
		}
	}
}

// token is one token event, all its columns.
type token struct {
	t      int64
	choice int32
	grown  int64
}

func tokens(q *Request) (all []token) {
	var s Stream
	if !s.Load(q) {
		return nil
	}
	for i, t := range s.T {
		e := token{t: t}
		if s.Choice != nil {
			e.choice = s.Choice[i]
		}
		if s.Grown != nil {
			e.grown = s.Grown[i]
		}
		all = append(all, e)
	}
	return all
}

// The arena gives back every token event, whatever its blocks and stamps.
func TestArenaKeepsEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a Arena
		type stored struct {
			q    Request
			want []token
		}
		var all []stored
		for range rapid.IntRange(1, 5).Draw(t, "requests") {
			n := rapid.IntRange(0, 40).Draw(t, "events")
			choices := rapid.Bool().Draw(t, "choices")
			counts := rapid.Bool().Draw(t, "counts")
			q := &tape.Request{TWroteFirst: some(rapid.Int64Range(0, 1<<40).Draw(t, "from"))}
			var kinds []byte
			last := int64(0)
			for range n {
				q.Events.DT = append(q.Events.DT, rapid.Int64Range(0, 1<<33).Draw(t, "dt"))
				kinds = append(kinds, rapid.SampledFrom([]byte("rcstfh")).Draw(t, "kind"))
				if choices {
					q.Events.Choice = append(q.Events.Choice, rapid.Int32Range(0, 2).Draw(t, "choice"))
				}
				if counts {
					tok := int64(-1)
					if rapid.Bool().Draw(t, "known") {
						last += rapid.Int64Range(0, 5).Draw(t, "tok")
						tok = last
					}
					q.Events.Tok = append(q.Events.Tok, tok)
				}
			}
			q.Events.Kind = tape.EncodeKinds(kinds)
			s := stored{q: Reduce(q, &a)}
			grown := int64(0)
			for _, e := range q.Events.All(q.TWroteFirst.V) {
				if !tape.IsToken(e.Kind) {
					continue
				}
				w := token{t: e.T}
				if s.q.Choices > 1 {
					w.choice = e.Choice
				} else if e.Tok >= 0 {
					w.grown, grown = e.Tok-grown, e.Tok
				}
				s.want = append(s.want, w)
			}
			all = append(all, s)
		}
		for _, s := range all {
			if g := tokens(&s.q); !slices.Equal(g, s.want) {
				t.Fatalf("%v, want %v", g, s.want)
			}
		}
	})
}

// A stream that crosses blocks comes back whole.
func TestArenaAcrossBlocks(t *testing.T) {
	var a Arena
	var qs []Request
	const n = 300_000
	for range 3 {
		q := streamed(slices.Repeat([]int64{10_000_000}, n), fmt.Sprint("c", n), n)
		qs = append(qs, Reduce(q, &a))
	}
	for _, q := range qs {
		var at, count int64
		for _, e := range tokens(&q) {
			count++
			if e.t != at+10_000_000 {
				t.Fatalf("event %d at %d", count, e.t)
			}
			at = e.t
		}
		if count != n {
			t.Fatalf("%d events", count)
		}
	}
	if per := float64(a.Bytes()) / (3 * n); per > 5 {
		t.Errorf("%.1f bytes an event", per)
	}
}

// Tokens of adjacent intervals add up to the output.
func TestTokensInAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		dt := rapid.SliceOfN(rapid.Int64Range(0, 50), n, n).Draw(t, "dt")
		dt[0]++ // an interval opens after its start
		q := streamed(dt, fmt.Sprint("c", n), rapid.Int64Range(1, 90).Draw(t, "output"))
		if rapid.Bool().Draw(t, "counts") {
			last := int64(0)
			for range n {
				last += rapid.Int64Range(0, 3).Draw(t, "grow")
				q.Events.Tok = append(q.Events.Tok, last)
			}
			q.Tokens.Output = some(last + rapid.Int64Range(1, 2).Draw(t, "rest"))
		}
		q.Tokens.OutputSource = tape.SourceTokenizer // a server's would contradict the events where it is below them
		r := reduce(q)
		sum, from := 0.0, int64(0)
		for from < r.End {
			to := from + rapid.Int64Range(1, 300).Draw(t, "step")
			v, ok := r.TokensIn(from, to)
			if !ok {
				t.Fatal("absent")
			}
			sum, from = sum+v, to
		}
		if math.Abs(sum-float64(r.Output)) > 1e-9 {
			t.Fatalf("parts add up to %v, output %d", sum, r.Output)
		}
	})
}

func TestBursts(t *testing.T) {
	const ms = int64(1e6)
	for _, c := range []struct {
		name string
		dt   []int64
		want bool
	}{
		{"steady", []int64{ms * 100, ms * 20, ms * 20, ms * 20, ms * 20, ms * 20}, false},
		{"all at once", []int64{ms * 1000, 0, 0, 0, 0, 0}, true},
		{"pairs", []int64{ms * 100, 0, ms * 20, 0, ms * 20, 0}, false},
		{"one event", []int64{ms * 100}, false},
	} {
		if got := reduce(streamed(c.dt, fmt.Sprint("c", len(c.dt)), 6)).Bursty; got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
