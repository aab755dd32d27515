package telemetry

import (
	"bytes"
	"context"
	"math"
	"os"
	"runtime/metrics"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"tokentape/internal/clock"
	"tokentape/tape"
)

// Gauges are the facts about the run that only the run knows.
type Gauges struct {
	InFlight int64           // requests in flight now
	Queue    int64           // finished records waiting for the tape now
	PacerP99 tape.Opt[int64] // pacer lag p99 over the interval, ns; absent: nothing was sent in it
}

// minSpan is the shortest time, in ns, that a rate is taken over: the kernel
// counts processor time in steps of up to 10 ms.
const minSpan = 100_000_000

// Client emits one sample an interval about this process and its host, on
// absolute deadlines, and a last one when ctx is done, unless the one before is
// less than 0.1 s old; then it returns. Interval should be 0.1 s or more. Rates
// and percentiles of a sample are over the time since the sample before it, the
// first since the call. emit is called from this goroutine alone.
func Client(ctx context.Context, clk *clock.Clock, interval time.Duration, gauges func() Gauges, emit func(*tape.ClientSample)) {
	s := newSampler(clk.Machine(clk.Now()))
	sampled := false
	clk.Tick(ctx, int64(interval), func(now int64) {
		sampled = true
		emit(s.sample(now, clk.Machine(now), gauges()))
	})
	if now := clk.Now(); !sampled || clk.Machine(now)-s.at >= minSpan {
		emit(s.sample(now, clk.Machine(now), gauges()))
	}
}

const (
	metricSched = "/sched/latencies:seconds"
	metricPause = "/sched/pauses/total/gc:seconds"
	metricGo    = "/sched/goroutines:goroutines"
	metricTotal = "/memory/classes/total:bytes"
	metricFreed = "/memory/classes/heap/released:bytes"
)

// sampler holds the readings of the sample before.
type sampler struct {
	runtime []metrics.Sample
	sched   []uint64
	pause   []uint64
	at      int64 // machine time: the run may move its epoch between two samples
	cpu     int64 // ns of processor time of this process
	busy    tape.Opt[int64]
	delay   tape.Opt[int64]
}

func newSampler(machine int64) *sampler {
	s := &sampler{at: machine}
	for _, name := range []string{metricSched, metricPause, metricGo, metricTotal, metricFreed} {
		s.runtime = append(s.runtime, metrics.Sample{Name: name})
	}
	metrics.Read(s.runtime)
	s.sched = append(s.sched, counts(s.runtime[0])...)
	s.pause = append(s.pause, counts(s.runtime[1])...)
	s.cpu, s.busy, s.delay = processCPU(), hostBusy(), runDelay("/")
	return s
}

func (s *sampler) sample(now, machine int64, g Gauges) *tape.ClientSample {
	metrics.Read(s.runtime)
	out := &tape.ClientSample{
		T: now, InFlight: g.InFlight, Queue: g.Queue, PacerP99: g.PacerP99,
		RSS:       rss(),
		Goroutine: int64(number(s.runtime[2])),
	}
	if out.RSS == 0 { // no /proc: what the Go runtime holds
		out.RSS = int64(number(s.runtime[3]) - number(s.runtime[4]))
	}
	if h := histogram(s.runtime[0]); h != nil {
		out.SchedP99 = nanos(quantile(h, s.sched, 0.99))
		s.sched = append(s.sched[:0], h.Counts...)
	}
	if h := histogram(s.runtime[1]); h != nil {
		out.GCPause = nanos(sum(h, s.pause))
		s.pause = append(s.pause[:0], h.Counts...)
	}
	cpu, busy := processCPU(), hostBusy()
	if d := machine - s.at; d > 0 {
		out.CPU = float64(cpu-s.cpu) / float64(d)
		if d >= minSpan && busy.OK && s.busy.OK && busy.V >= s.busy.V { // the kernel may step back for a tick
			out.HostBusy = tape.Some(float64(busy.V-s.busy.V) / float64(d))
		}
	}
	delay := runDelay("/")
	if delay.OK && s.delay.OK && delay.V >= s.delay.V { // less: a thread has ended, and took its time with it
		out.RunDelay = tape.Some(delay.V - s.delay.V)
	}
	s.at, s.cpu, s.busy, s.delay = machine, cpu, busy, delay
	return out
}

func histogram(m metrics.Sample) *metrics.Float64Histogram {
	if m.Value.Kind() != metrics.KindFloat64Histogram {
		return nil
	}
	return m.Value.Float64Histogram()
}

func counts(m metrics.Sample) []uint64 {
	if h := histogram(m); h != nil {
		return h.Counts
	}
	return nil
}

func number(m metrics.Sample) uint64 {
	if m.Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return m.Value.Uint64()
}

func nanos(seconds float64) int64 { return int64(math.Round(seconds * 1e9)) }

// quantile is the upper edge of the bucket that the q-quantile of what was
// added since before falls into, so it never flatters; 0 when nothing was.
func quantile(h *metrics.Float64Histogram, before []uint64, q float64) float64 {
	var total uint64
	for i, c := range h.Counts {
		total += c - at(before, i)
	}
	if total == 0 {
		return 0
	}
	rank := uint64(math.Ceil(q * float64(total)))
	for i, c := range h.Counts {
		n := c - at(before, i)
		if n >= rank {
			return edge(h.Buckets[i+1], h.Buckets[i])
		}
		rank -= n
	}
	return 0
}

// sum is the estimate, from the middles of the buckets, of the sum of what was
// added since before.
func sum(h *metrics.Float64Histogram, before []uint64) float64 {
	total := 0.0
	for i, c := range h.Counts {
		if n := c - at(before, i); n > 0 {
			lo, hi := edge(h.Buckets[i], h.Buckets[i+1]), edge(h.Buckets[i+1], h.Buckets[i])
			total += float64(n) * (lo + hi) / 2
		}
	}
	return total
}

// edge is a bucket's edge, or the other one where this one is infinite.
func edge(v, other float64) float64 {
	if math.IsInf(v, 0) {
		return other
	}
	return v
}

func at(v []uint64, i int) uint64 {
	if i < len(v) {
		return v[i]
	}
	return 0
}

// processCPU is the processor time of this process, user and system, in ns.
func processCPU() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// rss is the resident memory of this process in bytes, 0 when unknown.
func rss() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	return parseStatm(b, int64(os.Getpagesize()))
}

func parseStatm(b []byte, page int64) int64 {
	f := bytes.Fields(b)
	if len(f) < 2 {
		return 0
	}
	n, err := strconv.ParseInt(string(f[1]), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n * page
}

// hostBusy is the processor time that the whole host spent working since it
// started, in ns; absent where the system does not say.
func hostBusy() tape.Opt[int64] {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return tape.Opt[int64]{}
	}
	return parseStat(b)
}

// parseStat sums user, nice, system, irq, softirq and steal of the first line:
// all but idle and iowait; guest time is inside user already. The unit of
// /proc/stat is 1/100 s on every Linux that Go runs on.
func parseStat(b []byte) tape.Opt[int64] {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	f := bytes.Fields(line)
	if len(f) < 5 || string(f[0]) != "cpu" {
		return tape.Opt[int64]{}
	}
	const idle, iowait, guest = 4, 5, 9
	ticks := int64(0)
	for i := 1; i < len(f) && i < guest; i++ {
		if i == idle || i == iowait {
			continue
		}
		n, err := strconv.ParseInt(string(f[i]), 10, 64)
		if err != nil {
			return tape.Opt[int64]{}
		}
		ticks += n
	}
	return tape.Some(ticks * 10_000_000)
}
