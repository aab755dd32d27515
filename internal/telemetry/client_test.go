package telemetry

import (
	"context"
	"math"
	"os"
	"runtime"
	"runtime/metrics"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/clock"
	"tokentape/tape"
)

func TestClientTicksAndEnds(t *testing.T) {
	for _, tt := range []struct {
		name string
		stop time.Duration
		want []int64 // ms
	}{
		{"between two ticks", 3500 * time.Millisecond, []int64{1000, 2000, 3000, 3500}},
		{"just after a tick", 2050 * time.Millisecond, []int64{1000, 2000}},
		{"before the first", 30 * time.Millisecond, []int64{30}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				clk := clock.New()
				clk.AfterFunc(int64(tt.stop), cancel)
				var got []int64
				Client(ctx, clk, time.Second, func() Gauges {
					return Gauges{InFlight: 7, Queue: 3, PacerP99: tape.Some(int64(90))}
				}, func(s *tape.ClientSample) {
					got = append(got, s.T/1e6)
					if s.InFlight != 7 || s.Queue != 3 || s.PacerP99 != tape.Some(int64(90)) {
						t.Errorf("gauges not carried: %+v", s)
					}
				})
				if len(got) != len(tt.want) {
					t.Fatalf("samples at %v ms, want %v", got, tt.want)
				}
				for i := range got {
					if got[i] != tt.want[i] {
						t.Fatalf("samples at %v ms, want %v", got, tt.want)
					}
				}
			})
		})
	}
}

// A process that burns one core must be seen to burn about one, and one that
// collects garbage must be seen to pause.
func TestClientSeesLoad(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	clk := clock.New()
	machine := func() int64 { return clk.Machine(clk.Now()) }
	end := machine() + 300e6
	clk.AfterFunc(50e6, func() { clk.Rebase(1e12) }) // a moved epoch must not bend a rate
	done := make(chan struct{})
	go func() {
		defer close(done)
		for now := machine(); now < end; now = machine() {
			if now%7 == 0 {
				runtime.GC()
			}
		}
		cancel()
	}()
	var got []*tape.ClientSample
	Client(ctx, clk, 10*time.Second, func() Gauges { return Gauges{} }, func(s *tape.ClientSample) { got = append(got, s) })
	<-done
	if len(got) != 1 {
		t.Fatalf("%d samples, want the last one alone", len(got))
	}
	s := got[0]
	if s.CPU < 0.01 || s.CPU > 2*float64(runtime.NumCPU()) {
		t.Errorf("cpu %.3f cores for a busy loop", s.CPU)
	}
	if s.GCPause <= 0 || s.RSS < 1<<20 || s.Goroutine < 2 {
		t.Errorf("gc pause %d ns, rss %d, goroutines %d", s.GCPause, s.RSS, s.Goroutine)
	}
	if s.PacerP99.OK {
		t.Error("an absent pacer lag became a number")
	}
	if _, err := os.Stat("/proc/stat"); err == nil && (!s.HostBusy.OK || s.HostBusy.V < 0.01) {
		t.Errorf("host busy %+v with one core busy", s.HostBusy)
	}
}

func TestHistogramDelta(t *testing.T) {
	inf := math.Inf(1)
	h := &metrics.Float64Histogram{
		Counts:  []uint64{10, 5 + 99, 7, 2 + 1},
		Buckets: []float64{math.Inf(-1), 1, 2, 4, inf},
	}
	before := []uint64{10, 5, 7, 2}
	for _, tt := range []struct{ q, want float64 }{{0.5, 2}, {0.99, 2}, {0.999, 4}} {
		if got := quantile(h, before, tt.q); got != tt.want {
			t.Errorf("q%v = %v, want %v", tt.q, got, tt.want)
		}
	}
	if got := sum(h, before); got != 99*1.5+4 {
		t.Errorf("sum = %v", got)
	}
	if quantile(h, h.Counts, 0.99) != 0 || sum(h, h.Counts) != 0 {
		t.Error("nothing new, yet a value")
	}
}

func TestProcFiles(t *testing.T) {
	for in, want := range map[string]int64{
		"5000 1234 500 1 0 400 0\n": 1234 * 4096, "": 0, "5000": 0, "a b c": 0, "1 -4": 0,
	} {
		if got := parseStatm([]byte(in), 4096); got != want {
			t.Errorf("statm %q: %d, want %d", in, got, want)
		}
	}
	for in, want := range map[string]tape.Opt[int64]{
		//     user nice sys idle iowait irq softirq steal guest guest_nice
		"cpu  100 10 50 9999 777 1 2 3 40 5\ncpu0 1 2 3\n": tape.Some(int64(166) * 10_000_000),
		"cpu 1 2 3 4\n":       tape.Some(int64(6) * 10_000_000),
		"":                    {},
		"cpu0 1 2 3 4 5\n":    {},
		"cpu  1 2 x 4 5 6 7 ": {},
	} {
		if got := parseStat([]byte(in)); got != want {
			t.Errorf("stat %q: %+v, want %+v", in, got, want)
		}
	}
}

func BenchmarkClientSample(b *testing.B) {
	s := newSampler(0)
	now := int64(0)
	for b.Loop() {
		now += 1e9
		s.sample(now, now, Gauges{})
	}
}
