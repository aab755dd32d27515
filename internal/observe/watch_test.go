package observe

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tokentape/internal/report"
	"tokentape/tape"
)

// Percentiles of the last seconds are within 1/64 of the exact nearest-rank ones, of
// exactly those values that fell into the last Span, to the width of a part.
func TestSliding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h sliding
		type value struct{ t, v int64 }
		var all []value
		now := rapid.Int64Range(-5e9, 5e9).Draw(t, "from")
		for range rapid.IntRange(1, 200).Draw(t, "n") {
			now += rapid.Int64Range(0, 4e8).Draw(t, "gap")
			v := value{now, int64(math.Exp(rapid.Float64Range(math.Log(1e4), math.Log(3e12)).Draw(t, "v")))}
			all = append(all, v)
			h.add(v.t, v.v)
		}
		now += rapid.Int64Range(0, 3e10).Draw(t, "later")
		s := h.spread(now)
		first := floorPart(now) - parts + 1
		var in []int64
		for _, v := range all {
			if floorPart(v.t) >= first {
				in = append(in, v.v)
			}
		}
		if s.N != int64(len(in)) || s.All != int64(len(all)) {
			t.Fatalf("%d of %d values, not %d of %d", s.N, s.All, len(in), len(all))
		}
		slices.Sort(in)
		for _, c := range []struct {
			q   float64
			got int64
		}{{0.5, s.P50}, {0.9, s.P90}, {0.99, s.P99}} {
			if len(in) == 0 {
				if c.got != 0 {
					t.Fatalf("%d of nothing", c.got)
				}
				continue
			}
			want := in[rank(c.q, s.N)-1]
			if d := math.Abs(float64(c.got - want)); d > float64(want)/64+1 {
				t.Fatalf("p%g is %d, not %d", 100*c.q, c.got, want)
			}
		}
	})
}

// Durations that no histogram has room for are in its first and last bucket.
func TestSlidingEdges(t *testing.T) {
	for _, v := range []int64{math.MinInt64, -1, 0, 1, 1023, 1024, 1<<43 - 1, 1 << 43, math.MaxInt64} {
		i := bucketOf(v)
		if i < 0 || i >= buckets {
			t.Errorf("%d in bucket %d", v, i)
		}
	}
	var h sliding
	h.add(math.MaxInt64/2, 5e6)
	h.add(0, 5e6) // a straggler
	if s := h.spread(math.MaxInt64 / 2); s.N != 2 {
		t.Errorf("%+v", s)
	}
}

func ok(t, ttft, tpot, output, events int64) End {
	return End{T: t, Phase: tape.PhaseMeasure, Outcome: tape.OutcomeOK, TTFT: tape.Some(ttft), TPOT: tape.Some(tpot), Output: tape.Some(output), Events: events}
}

// Rates are over the last ten seconds; output tokens are token events times the tokens
// of an event.
func TestWatchRates(t *testing.T) {
	w := NewWatch(Setup{LastDue: 60e9})
	w.Ended(ok(0, 5e6, 1e6, 64, 32)) // two tokens an event
	var m Moment
	for i := range int64(301) { // 30 s, then
		m = w.Look(State{T: i * 1e8, Begun: tape.Some[int64](0), Planned: 600, Issued: i, Measured: i, OK: i / 2, Due: tape.Some(2 * i), Events: 10 * i})
		if i == 3 && (m.Sent.OK || m.Tokens.OK) {
			t.Errorf("a rate over 0.3 s: %+v", m)
		}
	}
	if m.Span != Span || m.Sent.V != 10 || m.Offered.V != 20 || m.Ended.V != 5 || m.Tokens.V != 200 || m.PerEvent.V != 2 {
		t.Errorf("%+v", m)
	}
	if m.TTFT.N != 0 || m.TTFT.All != 1 || m.TTFT.Sum != 5e6 {
		t.Errorf("an end of half a minute ago: %+v", m.TTFT)
	}
	// 150 of 600 ended, 5 a second since the first: 90 s, which is more than the plan's 30.
	if d := m.Left.V - 90e9; d < -1e9 || d > 1e9 {
		t.Errorf("%d ns left", m.Left.V)
	}
}

// What is left: of a schedule what is not due yet, of a duration its rest, of a drain
// what it may take; nothing is said once it cannot be known.
func TestWatchLeft(t *testing.T) {
	begun := tape.Some[int64](2e9)
	for name, c := range map[string]struct {
		setup Setup
		state State
		want  tape.Opt[int64]
	}{
		"before":      {Setup{Duration: 60e9}, State{T: 1e9, Planned: -1}, tape.Opt[int64]{}},
		"duration":    {Setup{Duration: 60e9}, State{T: 12e9, Begun: begun, Planned: -1}, tape.Some[int64](50e9)},
		"over":        {Setup{Duration: 60e9}, State{T: 70e9, Begun: begun, Planned: -1}, tape.Some[int64](0)},
		"schedule":    {Setup{LastDue: 30e9}, State{T: 12e9, Begun: begun, Planned: 9}, tape.Some[int64](20e9)},
		"closed loop": {Setup{}, State{T: 12e9, Begun: begun, Planned: 9, OK: 1}, tape.Opt[int64]{}},
		"draining":    {Setup{Duration: 60e9, Drain: 30e9}, State{T: 12e9, Begun: begun, Draining: true, Stopped: tape.ReasonInterrupted}, tape.Some[int64](30e9)},
		"duration up": {Setup{Duration: 60e9}, State{T: 62e9, Begun: begun, Planned: -1, Stopped: tape.ReasonDuration}, tape.Opt[int64]{}},
		"final":       {Setup{Duration: 60e9}, State{T: 62e9, Begun: begun, Final: true}, tape.Opt[int64]{}},
	} {
		if got := NewWatch(c.setup).Look(c.state).Left; got != c.want {
			t.Errorf("%s: %+v, not %+v", name, got, c.want)
		}
	}
}

// Failures are counted by class, with the last message; of what is not the load's
// nothing is.
func TestWatchFailures(t *testing.T) {
	w := NewWatch(Setup{})
	fail := func(phase tape.Phase, class, message string) {
		w.Ended(End{Phase: phase, Outcome: tape.OutcomeReset, Class: class, Message: message})
	}
	fail(tape.PhaseMeasure, "a", "first")
	fail(tape.PhaseMeasure, "b", "only")
	fail(tape.PhaseMeasure, "a", "last")
	fail(tape.PhaseWarmup, "a", "cold")
	fail(tape.PhasePrepare, "a", "not ours")
	fail(tape.PhaseProbe, "a", "not ours")
	w.Ended(End{Phase: tape.PhaseMeasure, Outcome: tape.OutcomeAbandoned, TTFT: tape.Some[int64](5)})
	m := w.Look(State{})
	want := []Failure{{"a", 2, "last"}, {"b", 1, "only"}, {"warmup: a", 1, "cold"}}
	if !slices.Equal(m.Failures, want) || m.TTFT.All != 0 {
		t.Errorf("%+v", m)
	}
	for i := range 10_000 {
		fail(tape.PhaseMeasure, string(rune('A'+i%1000)), "many")
	}
	m = w.Look(State{})
	var n int64
	for _, f := range m.Failures {
		n += f.N
	}
	if len(m.Failures) != maxClasses+1 || n != 10_004 {
		t.Errorf("%d classes, %d failures", len(m.Failures), n)
	}
}

// The words for where a run is.
func TestPhase(t *testing.T) {
	begun := tape.Some[int64](2e9)
	for want, s := range map[string]State{
		"preparing": {T: 1e9, Planned: 9},
		"starting":  {T: 1e9, Planned: 9, Begun: begun},
		"warm-up":   {T: 3e9, Planned: 9, Begun: begun, Issued: 2},
		"measure":   {T: 3e9, Planned: 9, Begun: begun, Issued: 9, Measured: 1},
		"ending":    {T: 3e9, Planned: 9, Begun: begun, Measured: 9},
		"draining":  {T: 3e9, Planned: 9, Begun: begun, Measured: 3, Draining: true, Stopped: tape.ReasonInterrupted},
		"aborting":  {T: 3e9, Planned: 9, Begun: begun, Measured: 3, Draining: true, Stopped: tape.ReasonAbort},
		"stopping":  {T: 3e9, Planned: 9, Begun: begun, Measured: 3, Stopped: tape.ReasonDisk},
		"done":      {T: 3e9, Planned: 9, Begun: begun, Measured: 9, Final: true},
	} {
		if got := phase(s, 2); got != want {
			t.Errorf("%s, not %s", got, want)
		}
		if !slices.Contains(phases, want) {
			t.Errorf("the metrics page does not know %q", want)
		}
	}
}

// BenchmarkMoment is what a run pays ten times a second: a moment made, and drawn on a
// terminal.
func BenchmarkMoment(b *testing.B) {
	for _, lang := range []string{"en", "zh"} {
		b.Run(lang, func(b *testing.B) { benchmarkMoment(b, report.LiveSayer(lang)) })
	}
}

func benchmarkMoment(b *testing.B, say func(string) string) {
	w := NewWatch(Setup{Concurrency: 90, Rate: 500, Say: say})
	var p Painter
	m := middle()
	t := int64(0)
	for b.Loop() {
		t += 1e8
		for i := range int64(50) { // 500 a second
			w.Ended(ok(t, 5e8+i*1e6, 3e7+i*1e5, 64, 64))
		}
		s := m.State
		s.T, s.OK, s.Issued = t, t/2e6, t/2e6
		now := w.Look(s)
		now.Failures, now.Client = m.Failures, m.Client
		if p.Paint(Frame(now, Screen{120, 40, true}), Screen{120, 40, true}) == "" {
			b.Fatal("nothing to draw")
		}
	}
}

// BenchmarkEnded is what each request pays, beside the reduction of its events.
func BenchmarkEnded(b *testing.B) {
	w := NewWatch(Setup{})
	t := int64(0)
	for b.Loop() {
		t += 1e5
		w.Ended(ok(t, 5e8, 3e7, 64, 64))
	}
}

// BenchmarkPage is what a reading of the metrics page costs.
func BenchmarkPage(b *testing.B) {
	m := middle()
	for b.Loop() {
		Page(&m)
	}
}
