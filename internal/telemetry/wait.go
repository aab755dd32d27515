package telemetry

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"tokentape/tape"
)

// Waits gathers how long bytes lay in the kernel before they were read. Its zero value
// is ready; it is safe for concurrent use.
type Waits struct {
	counts [tape.WaitBuckets]atomic.Int64
	max    atomic.Int64
}

// waitSample is one connection in so many whose waits are looked at, unless all are.
const waitSample = 8

// Asked is what client.Config has as Waited and WaitedOf, so that w gathers the waits of
// a run whose telemetry.kernel_stamps are stamps: "sample" is one connection in eight,
// "all" each of them, and anything else none.
func (w *Waits) Asked(stamps string) (waited func(ns int64), of int64) {
	switch stamps {
	case "sample":
		return w.Add, waitSample
	case "all":
		return w.Add, 1
	}
	return nil, 0
}

// Add counts one read whose newest bytes lay there for ns nanoseconds. It costs two
// atomic operations.
func (w *Waits) Add(ns int64) {
	w.counts[tape.WaitBucket(ns)].Add(1)
	for most := w.max.Load(); ns > most && !w.max.CompareAndSwap(most, ns); most = w.max.Load() {
	}
}

// Take is what came since the last Take; nil when nothing did.
func (w *Waits) Take() *tape.ClientWait {
	var out *tape.ClientWait
	for b := range w.counts {
		if n := w.counts[b].Swap(0); n > 0 {
			if out == nil {
				out = &tape.ClientWait{}
			}
			out.Reads = append(out.Reads, [2]int64{int64(b), n})
		}
	}
	if out != nil {
		// A read that is being counted now may raise the one and not yet the other.
		out.Max = min(w.max.Swap(0), tape.WaitEdge(tape.WaitBuckets-1))
	}
	return out
}

// runDelay is how long the threads of this process, together, were ready to run and
// had no processor, in ns since each began; absent where the kernel does not say.
func runDelay(root string) tape.Opt[int64] {
	tasks, _ := filepath.Glob(filepath.Join(root, "proc/self/task/[0-9]*/schedstat"))
	var sum int64
	found := false
	for _, path := range tasks {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		f := strings.Fields(string(b))
		if len(f) < 2 {
			continue
		}
		if n, err := strconv.ParseInt(f[1], 10, 64); err == nil && n >= 0 {
			sum, found = sum+n, true
		}
	}
	if !found {
		return tape.Opt[int64]{}
	}
	return tape.Some(sum)
}
