//go:build linux

package analysis

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tokentape/tape"
)

const scaleTokens = 4096

// scaleTape writes a closed loop of n requests of 4,096 token events each, 10 ms
// ± 0.1 ms apart, as a run would: compressed, a frame about every second. Shapes
// of streams repeat, further apart than the compressor sees.
func scaleTape(tb testing.TB, path string, n int) {
	tb.Helper()
	slots := min(1000, n/8+1)
	r := rand.New(rand.NewPCG(17, 18))
	shapes := make([]*tape.Request, 64)
	for i := range shapes {
		ts := make([]int64, scaleTokens)
		t := 200*msec + r.Int64N(50*msec)
		for k := range ts {
			ts[k] = t
			t += 9_900_000 + r.Int64N(200_000)
		}
		shapes[i] = ok(0, 0, ts...)
	}
	w, err := tape.Create(path, true)
	if err != nil {
		tb.Fatal(err)
	}
	put := func(rec any) {
		if err := w.Write(rec); err != nil {
			tb.Fatal(err)
		}
	}
	s := &script{plan: int64(n), spec: fmt.Sprintf(`{"load":{"requests":%d,"concurrency":%d}}`, n, slots)}
	put(s.header())
	free := make([]int64, slots)
	flushed := int64(0)
	for i := range n {
		slot := i % slots
		q := *shapes[r.IntN(len(shapes))]
		q.Seq, q.Ref.Row = int64(i), int64(i)
		at := free[slot] + int64(slot)*msec/10 + r.Int64N(msec)
		for _, t := range []*tape.Opt[int64]{&q.TReady, &q.TReleased, &q.TConn, &q.TWroteFirst, &q.TWrote, &q.TFirstEvent, &q.TFirstToken, &q.TFirstVisible, &q.TLastToken, &q.TEnd} {
			t.V += at
		}
		free[slot] = q.TEnd.V
		put(&q)
		if q.TEnd.V-flushed > 1000*msec {
			flushed = q.TEnd.V
			w.Flush()
		}
	}
	put(&tape.Footer{Reason: tape.ReasonCompleted, Planned: int64(n), OK: int64(n)})
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkScale analyses tapes of three sizes, or of TOKENTAPE_SCALE requests
// (250000 is the size that docs/analysis-speed.md speaks of), made below
// TOKENTAPE_SCALE_DIR and left there, else in a directory that is removed. It
// reports time, time of processors and tape bytes per token event, and the most
// memory that the process held.
func BenchmarkScale(b *testing.B) {
	sizes := []int{500, 1000, 2000}
	if n, err := strconv.Atoi(os.Getenv("TOKENTAPE_SCALE")); err == nil {
		sizes = []int{n}
	}
	dir := os.Getenv("TOKENTAPE_SCALE_DIR")
	if dir == "" {
		dir = b.TempDir()
	}
	for _, n := range sizes {
		path := filepath.Join(dir, fmt.Sprintf("%d.tape.zst", n))
		if _, err := os.Stat(path); err != nil {
			scaleTape(b, path, n)
		}
		for _, way := range []struct {
			name string
			o    Options
		}{{"kept", Options{exact: 1}}, {"again", Options{exact: 1, kept: 1}}} {
			if int64(n)*scaleTokens*4 > keptBytes && way.name == "kept" {
				continue
			}
			b.Run(fmt.Sprintf("requests=%d/%s", n, way.name), func(b *testing.B) {
				os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // forget the peak until now
				before := cpuTime()
				for b.Loop() {
					res, err := AnalyseFile(path, way.o)
					if err != nil {
						b.Fatal(err)
					}
					if got := res.Windows[0].Metrics[itlKey].N; got != int64(n)*(scaleTokens-1) {
						b.Fatalf("%d gaps", got)
					}
				}
				events := float64(n) * scaleTokens
				b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/float64(b.N)/events, "cpu-ns/event")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
				if info, err := os.Stat(path); err == nil {
					b.ReportMetric(float64(info.Size())/events, "tape-B/event")
				}
				b.ReportMetric(peakMiB(), "peak-MiB")
			})
		}
	}
}

// cpuTime is what all threads of the process have used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMiB is the most memory that the process held.
func peakMiB() float64 {
	text, _ := os.ReadFile("/proc/self/status")
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	kib, _ := strconv.ParseFloat(strings.Fields(after + " 0")[0], 64)
	return kib / 1024
}
