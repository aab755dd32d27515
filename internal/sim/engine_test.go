package sim

import (
	"context"
	"errors"
	"io"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"tokentape/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	us = int64(time.Microsecond)
	ms = int64(time.Millisecond)
)

func base() Config {
	return Config{
		Slots: 8, PrefillFixed: 5 * ms, PrefillPerToken: 100 * us, DecodeBase: 10 * ms, DecodePerSeq: 1 * ms,
		Cache: true, PageSize: 16, CachePages: 1000, OutputMean: 20, TokensPerEvent: 1, AcceptRate: 1,
	}
}

// ids is a prompt of n tokens; equal salts share all they have in common.
func ids(cfg Config, n int, salt uint64) Prompt {
	c := NewCounter(cfg.PageSize)
	for i := range n {
		c.Token(salt<<32 | uint64(i))
	}
	return c.Prompt()
}

// gen is one request of a test: when it arrives and what came of it.
type gen struct {
	at     int64
	req    Request
	cancel int64 // after its arrival; 0: never

	s     *Stream
	times []int64 // event times from the arrival
	n     []int32
	facts Facts
	err   error
}

func exact(p Prompt, out int64) Request { return Request{Prompt: p, MaxTokens: out, IgnoreEOS: true} }

// play runs requests through an engine in virtual time. The readers check that
// an event is never seen before its time, and in virtual time never after.
func play(t testing.TB, cfg Config, gens []*gen) Stats {
	clk := clock.New()
	e, err := New(cfg, clk)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	for _, g := range gens {
		go func() {
			defer func() { done <- struct{}{} }()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			_ = clk.SleepUntil(ctx, g.at)
			g.s = e.Submit(g.req)
			if g.cancel > 0 {
				tm := clk.AfterFunc(g.cancel, func() { g.s.Cancel(); cancel() })
				defer tm.Stop()
			}
			var evs []Event
			for g.err == nil {
				evs, g.err = g.s.Next(ctx, evs[:0])
				for _, ev := range evs {
					if now := clk.Now(); now != ev.T {
						t.Errorf("event of %d seen at %d", ev.T, now)
					}
					g.times = append(g.times, ev.T-g.s.Arrival)
					g.n = append(g.n, ev.N)
				}
			}
			g.facts = g.s.Facts()
		}()
	}
	for range gens {
		<-done
	}
	_ = clk.SleepUntil(context.Background(), clk.Now()+int64(time.Hour)) // cancelled requests leave the engine
	st := e.Stats()
	e.Close()
	return st
}

func every(first, gap int64, n int) []int64 {
	t := make([]int64, n)
	for i := range t {
		t[i] = first + int64(i)*gap
	}
	return t
}

func TestExactTimes(t *testing.T) {
	cfg := base()
	slow := cfg
	slow.Slots = 1
	chunked := cfg
	chunked.ChunkTokens = 50
	apart := cfg
	apart.Disaggregated = true
	apartOne := slow
	apartOne.Disaggregated = true
	p100, q100 := ids(cfg, 100, 1), ids(cfg, 100, 2)
	// 100 tokens: 5 ms + 100 · 0.1 ms.
	for _, c := range []struct {
		name string
		cfg  Config
		gens []*gen
		want [][]int64
	}{
		{"alone", cfg, []*gen{{at: 7, req: exact(p100, 4)}}, [][]int64{every(15*ms, 11*ms, 4)}},
		{"one token is only prefill", cfg, []*gen{{req: exact(p100, 1)}}, [][]int64{{15 * ms}}},
		{"a second prompt stalls the first's decode", cfg, []*gen{
			{req: exact(p100, 4)},
			{at: 20 * ms, req: exact(q100, 3)}, // in the decode step 15..26; prefill 26..41; then two decode together
		}, [][]int64{{15 * ms, 26 * ms, 53 * ms, 65 * ms}, {21 * ms, 33 * ms, 45 * ms}}},
		{"one slot: the second waits for the first to end", slow, []*gen{
			{req: exact(p100, 2)},
			{at: 1, req: exact(q100, 2)},
		}, [][]int64{{15 * ms, 26 * ms}, {41*ms - 1, 52*ms - 1}}},
		{"an arrival at an idle engine starts at once, not on a grid", cfg, []*gen{
			{req: exact(p100, 1)},
			{at: 15*ms + 1, req: exact(q100, 2)},
		}, [][]int64{{15 * ms}, {15 * ms, 26 * ms}}},
		{"chunks ride along with decode", chunked, []*gen{
			{req: exact(ids(cfg, 10, 3), 5)}, // prefill 0..6
			{at: 7 * ms, req: exact(q100, 2)},
			// decode 6..17; 17..38: decode 11 + chunk 5+5; 38..59 the same, then both
		}, [][]int64{{6 * ms, 17 * ms, 38 * ms, 59 * ms, 71 * ms}, {52 * ms, 64 * ms}}},
		{"disaggregated: prefill leaves decode alone", apart, []*gen{
			{req: exact(p100, 5)},
			{at: 20 * ms, req: exact(q100, 2)}, // prefill 20..35, joins the step at 37
		}, [][]int64{{15 * ms, 26 * ms, 37 * ms, 49 * ms, 60 * ms}, {15 * ms, 29 * ms}}},
		{"disaggregated with one slot waits for decode", apartOne, []*gen{
			{req: exact(p100, 2)},
			{at: 3, req: exact(q100, 2)},
		}, [][]int64{{15 * ms, 26 * ms}, {41*ms - 3, 52*ms - 3}}},
		{"cached pages cost nothing", cfg, []*gen{
			{req: exact(p100, 1)},
			{at: 50 * ms, req: exact(p100, 1)}, // 96 of 100 cached: 5.4 ms
		}, [][]int64{{15 * ms}, {5*ms + 400*us}}},
		{"cancel frees the slot at the next step", slow, []*gen{
			{req: exact(p100, 1000), cancel: 20 * ms},
			{at: 1, req: exact(q100, 1)}, // step ends at 26
		}, [][]int64{{15 * ms}, {41*ms - 1}}},
		{"cancel while waiting", slow, []*gen{
			{req: exact(p100, 2)},
			{at: 1, req: exact(p100, 9), cancel: 2},
			{at: 5, req: exact(q100, 1)},
		}, [][]int64{{15 * ms, 26 * ms}, nil, {41*ms - 5}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := play(t, c.cfg, c.gens)
				for i, g := range c.gens {
					if !reflect.DeepEqual(g.times, c.want[i]) {
						t.Errorf("request %d: events at %v, want %v", i, g.times, c.want[i])
					}
					if g.cancel == 0 && !errors.Is(g.err, io.EOF) {
						t.Errorf("request %d: %v", i, g.err)
					}
				}
				if st.Running+st.Queue != 0 {
					t.Errorf("left in the engine: %d running, %d queued", st.Running, st.Queue)
				}
			})
		})
	}
}

func TestInstantTakesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := base()
		cfg.PrefillFixed, cfg.PrefillPerToken, cfg.DecodeBase, cfg.DecodePerSeq = 0, 0, 0, 0
		g := &gen{at: 12345, req: exact(ids(cfg, 100, 1), 500)}
		play(t, cfg, []*gen{g})
		if !reflect.DeepEqual(g.times, make([]int64, 500)) {
			t.Errorf("events at %v", g.times)
		}
	})
}

func TestMovedEpochWhileIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := clock.New()
		cfg := base()
		e, err := New(cfg, clk)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		for range 2 {
			s := e.Submit(exact(ids(cfg, 100, 1), 2))
			var evs []Event
			for err = nil; err == nil; {
				evs, err = s.Next(context.Background(), evs)
			}
			if d := evs[1].T - evs[0].T; d != 11*ms || evs[0].T-s.Arrival > 15*ms {
				t.Errorf("events %v after an arrival at %d", evs, s.Arrival)
			}
			clk.Rebase(clk.Now())
		}
	})
}

// TestAnyLoad checks what holds for every load: all tokens come, in time order;
// the queue is first come first served; never more than Slots at once; and, with
// no prefill in between, the decode interval is that of a batch of at most Slots.
func TestAnyLoad(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := base()
		cfg.Slots = rapid.IntRange(1, 4).Draw(rt, "slots")
		cfg.ChunkTokens = rapid.SampledFrom([]int{0, 0, 7, 64}).Draw(rt, "chunk")
		cfg.Disaggregated = rapid.Bool().Draw(rt, "disaggregated")
		cfg.TokensPerEvent = rapid.IntRange(1, 3).Draw(rt, "tokens per event")
		cfg.AcceptRate = 0.5
		if rapid.Bool().Draw(rt, "instant") {
			cfg.PrefillFixed, cfg.PrefillPerToken, cfg.DecodeBase, cfg.DecodePerSeq = 0, 0, 0, 0
		}
		var gens []*gen
		at := int64(0)
		for range rapid.IntRange(1, 12).Draw(rt, "n") {
			at += rapid.Int64Range(1, 40*ms).Draw(rt, "gap")
			gens = append(gens, &gen{at: at, req: exact(
				ids(cfg, rapid.IntRange(1, 200).Draw(rt, "prompt"), rapid.Uint64Range(0, 2).Draw(rt, "salt")),
				rapid.Int64Range(1, 12).Draw(rt, "out"))})
		}
		var failed string
		synctest.Test(t, func(t *testing.T) {
			st := play(t, cfg, gens)
			if int(st.Requests) != len(gens) {
				failed = "requests finished"
			}
		})
		var lastAdmitted int64
		for i, g := range gens {
			sum, last := int64(0), int64(-1)
			for j, x := range g.times {
				if x < last {
					failed = "time goes back"
				}
				sum, last = sum+int64(g.n[j]), x
				if int(g.n[j]) > cfg.TokensPerEvent || g.n[j] < 1 || j == 0 && g.n[j] != 1 {
					failed = "tokens of an event"
				}
			}
			f := g.facts
			switch {
			case sum != g.req.MaxTokens || !errors.Is(g.err, io.EOF):
				failed = "tokens in all"
			case f.Admitted < g.s.Arrival || f.Admitted < lastAdmitted:
				failed = "order of admission"
			case f.PrefillDone != g.s.Arrival+g.times[0]:
				failed = "first token at the end of prefill"
			case f.PrefillDone-f.Admitted < cfg.PrefillPerToken*(g.req.Prompt.Tokens-f.Cached):
				failed = "prefill cost"
			case f.Cached%int64(cfg.PageSize) != 0 || f.Cached >= g.req.Prompt.Tokens:
				failed = "cached pages"
			}
			lastAdmitted = f.Admitted
			in := 0 // in the engine at this request's admission
			for _, o := range gens[:i] {
				if end := o.s.Arrival + o.times[len(o.times)-1]; o.facts.Admitted <= f.Admitted && end > f.Admitted {
					in++
				}
			}
			if in >= cfg.Slots {
				failed = "slots"
			}
		}
		if failed != "" {
			rt.Fatal(failed)
		}
	})
}

func TestCloseEndsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := base()
		cfg.Slots = 1
		e, err := New(cfg, clock.New())
		if err != nil {
			t.Fatal(err)
		}
		running, queued := e.Submit(exact(ids(cfg, 9, 1), 1000)), e.Submit(exact(ids(cfg, 9, 1), 1000))
		time.Sleep(100 * time.Millisecond)
		e.Close()
		for _, s := range []*Stream{running, queued, e.Submit(exact(ids(cfg, 9, 1), 1))} {
			var err error
			for err == nil {
				_, err = s.Next(context.Background(), nil)
			}
			if !errors.Is(err, ErrClosed) {
				t.Errorf("got %v", err)
			}
		}
	})
}

func TestFlushOnlyWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := base()
		e, err := New(cfg, clock.New())
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		e.Submit(exact(ids(cfg, 64, 1), 3))
		if e.Flush() {
			t.Error("flushed under load")
		}
		time.Sleep(time.Second)
		if n := e.Stats().CachePages; n != 4 {
			t.Errorf("%d pages cached, want 4", n)
		}
		if !e.Flush() || e.Stats().CachePages != 0 {
			t.Error("not flushed when idle")
		}
	})
}

func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := base()
		p := ids(cfg, 100, 1)
		st := play(t, cfg, []*gen{{req: exact(p, 50)}, {at: int64(time.Second), req: exact(p, 1)}})
		if st.Requests != 2 || st.PromptTokens != 200 || st.GenerationTokens != 51 || st.CachedTokens != 96 {
			t.Errorf("counters: %+v", st)
		}
		if st.CacheHitRate != 0.96 || st.GenThroughput != 0 || st.AcceptLength != 0 {
			t.Errorf("gauges: %+v", st)
		}
		if n := st.TTFT.Counts[0]; n != 2 {
			t.Errorf("TTFT up to 0.1 s: %d", n)
		}
		if n := st.ITL.Counts[5]; n != 49 { // 11 ms: above 0.010, up to 0.015
			t.Errorf("ITL up to 0.015 s: %v", st.ITL.Counts)
		}
	})
}

func TestConfigValidate(t *testing.T) {
	good := base()
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"Slots": func(c *Config) { c.Slots = 0 }, "PageSize": func(c *Config) { c.PageSize = 0 },
		"DecodeBase": func(c *Config) { c.DecodeBase = -1 }, "AcceptRate": func(c *Config) { c.AcceptRate = 1.1 },
		"TokensPerEvent": func(c *Config) { c.TokensPerEvent = 0 }, "OutputMean": func(c *Config) { c.OutputMean = 0 },
	} {
		c := base()
		change(&c)
		if c.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// BenchmarkStep is one decode step of 256 running requests, without readers.
func BenchmarkStep(b *testing.B) {
	cfg := base()
	cfg.Slots = 256
	cfg.PrefillFixed, cfg.PrefillPerToken, cfg.DecodeBase, cfg.DecodePerSeq = 0, 0, 0, 0
	e := &Engine{cfg: cfg, clk: clock.New(), cache: newCache(cfg.CachePages, 0, 0), stats: newTally()}
	e.lanes = []*lane{{prefill: true, decode: true, wake: make(chan struct{}, 1)}}
	for i := range 256 {
		e.Submit(exact(ids(cfg, 100, uint64(i)), 1<<40))
	}
	l := e.lanes[0]
	now := e.clk.Now()
	e.begin(l, now)
	e.finish(l)
	b.ReportAllocs()
	for b.Loop() {
		if !e.begin(l, now) {
			b.Fatal("nothing to do")
		}
		e.finish(l)
		for _, s := range e.running {
			s.pending = s.pending[:0] // a reader that keeps up
		}
	}
}
