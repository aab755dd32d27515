package run_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/clock"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// slow is a source whose items take d to be read and encoded, as prompts of 128K
// tokens do; it knows when each was ready.
type slow struct {
	workload.Source
	clk *clock.Clock
	d   time.Duration

	mu    sync.Mutex
	ready map[int64]int64 // by row, on the run's clock once it has begun
	begun time.Time
}

func (s *slow) Item(i int64) (workload.Item, error) {
	time.Sleep(s.d)
	item, err := s.Source.Item(i)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready[i] = int64(time.Since(s.begun))
	return item, err
}

// However long bodies take, they are ready before they are due: those that go out
// together at the start before t = 0, later ones while others are in flight. No
// send is late by the time it took to prepare it.
func TestBodiesAreReadyBeforeDue(t *testing.T) {
	for name, tt := range map[string]struct {
		load  spec.Load
		serve time.Duration
		sit   int64 // rows that are ready before t = 0
	}{
		"open loop":                 {spec.Load{Requests: 60, Rate: 4}, time.Second, 32},
		"open loop of 200/s":        {spec.Load{Requests: 150, Rate: 200}, time.Second, 150},
		"closed loop":               {spec.Load{Requests: 200, Concurrency: 90}, 20 * time.Second, 90},
		"closed loop, next rows":    {spec.Load{Requests: 90, Concurrency: 2}, time.Second, 32},
		"closed loop by time":       {spec.Load{Concurrency: 40, Duration: spec.Duration(30 * time.Second)}, 9 * time.Second, 40},
		"stages":                    {spec.Load{Stages: []spec.Stage{{Concurrency: 2, Duration: spec.Duration(20 * time.Second)}, {Concurrency: 70, Duration: spec.Duration(20 * time.Second)}}}, 15 * time.Second, 70},
		"after a preparation":       {spec.Load{Requests: 50, Concurrency: 50}, 10 * time.Second, 50},
		"fewer rows than are ready": {spec.Load{Requests: 3, Concurrency: 3}, time.Second, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			clk := clock.New()
			s := &slow{Source: questions{n: 2000}, clk: clk, d: 200 * time.Millisecond, ready: map[int64]int64{}, begun: time.Now()}
			_, requests, all := rig{t: t, clk: clk, handler: fixed(tt.serve, nil), load: tt.load, change: func(c *run.Config) {
				c.Source = s
				if strings.HasPrefix(name, "after") {
					c.Prepare = run.Prepare{Source: questions{n: 1}, Rows: 1, Concurrency: 1, Output: 1}
				}
			}}.run()
			wall, err := time.Parse(time.RFC3339Nano, all[0].(*tape.Header).Anchor.Wall)
			if err != nil {
				t.Fatal(err)
			}
			epoch := int64(wall.Sub(s.begun))
			var early int64
			for _, at := range s.ready {
				if at <= epoch {
					early++
				}
			}
			if early < tt.sit || early > tt.sit+1 {
				t.Errorf("%s: %d bodies were ready before t = 0, want %d", name, early, tt.sit)
			}
			if len(requests) < 3 {
				t.Errorf("%s: %d requests", name, len(requests))
			}
			for _, q := range requests {
				if q.Phase != tape.PhaseMeasure {
					continue
				}
				if at := s.ready[q.Ref.Row] - epoch; at > q.TReady.V || q.PacerLag() != tape.Some(int64(0)) {
					t.Errorf("%s: request %d was allowed at %d, its body ready at %d, and written %v later", name, q.Seq, q.TReady.V, at, q.PacerLag())
				}
			}
		})
	}
}

// The first turns of sessions are staged like other rows; a later turn is prepared
// while the answer before streams, or in the pause.
func TestTurnsAreReadyBeforeDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := talks{3, 3, 3, 3}
		clk := clock.New()
		s := &slow{Source: turns, clk: clk, d: 200 * time.Millisecond, ready: map[int64]int64{}, begun: time.Now()}
		_, requests, _ := rig{t: t, clk: clk, handler: &sayer{d: time.Second}, source: s, data: turns.data(),
			load: spec.Load{Sessions: 4, SessionConcurrency: 4, Think: spec.Think{Mean: spec.Duration(time.Second)}}}.run()
		for _, q := range requests {
			if q.PacerLag() != tape.Some(int64(0)) {
				t.Errorf("%s turn %d is %v late", q.Session.V, q.Turn, q.PacerLag())
			}
		}
		if len(requests) != 12 {
			t.Errorf("%d requests", len(requests))
		}
	})
}

// huge is a source of prompts of a megabyte that counts how many were made.
type huge struct {
	workload.Source
	mu   sync.Mutex
	made int
}

func (s *huge) Item(i int64) (workload.Item, error) {
	s.mu.Lock()
	s.made++
	s.mu.Unlock()
	item, err := s.Source.Item(i)
	item.Messages[0].Content = strings.Repeat("sixteen letters ", 1<<16) // a new one each time
	return item, err
}

// What waits is bounded by bytes too, and the bound ends no run.
func TestStagedBytesAreBounded(t *testing.T) {
	defer run.SetAheadBytes(16 << 20)()
	synctest.Test(t, func(t *testing.T) {
		s := &huge{Source: questions{n: 2000}}
		made := 0
		_, requests, _ := rig{t: t, clk: clock.New(), handler: fixed(time.Second, nil), load: spec.Load{Requests: 50, Concurrency: 40},
			change: func(c *run.Config) {
				c.Source = s
				c.Samplers = []run.Sampler{func(context.Context, func() run.Gauges, func(any)) { // begins when staging is full
					s.mu.Lock()
					made = s.made
					s.mu.Unlock()
				}}
			}}.run()
		if made < 16 || made > 18 || len(requests) != 50 {
			t.Errorf("%d bodies of 1 MiB before the first is due, %d requests", made, len(requests))
		}
	})
}

// An interrupt while bodies are made ready ends the run before it sends anything.
func TestInterruptWhileStaging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{}, 1)
		clk := clock.New()
		s := &slow{Source: questions{n: 2000}, clk: clk, d: time.Second, ready: map[int64]int64{}, begun: time.Now()}
		go func() { time.Sleep(2500 * time.Millisecond); stop <- struct{}{} }()
		sum, requests, _ := rig{t: t, clk: clk, handler: fixed(time.Second, nil), load: spec.Load{Requests: 90, Concurrency: 90},
			change: func(c *run.Config) { c.Source, c.Stop = s, stop }}.run()
		if f := sum.Footer; f.Reason != tape.ReasonInterrupted || f.NotIssued != 90 || len(requests) != 0 || len(s.ready) > 3 {
			t.Errorf("%+v, %d requests, %d bodies", f, len(requests), len(s.ready))
		}
	})
}
