package run

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"tokentape/tape"
)

// What Tune sets. On 2 cores that the server shared, at 1,000 requests/s, pacer
// lag p99 over five runs each was 2.5 to 21 ms with the defaults and 1.9 to
// 3.5 ms with these (BenchmarkFidelityPacing with GOGC and GOMAXPROCS set).
const (
	gcPercent  = 400 // heaps here are small: collect a quarter as often
	extraProcs = 2   // whoever waits for a due time and the recorder leave a processor for every core
)

// Tune sets the runtime for a run and returns the function that undoes it; what
// the user set by GOGC or GOMAXPROCS stays. Only who owns the process may call it.
func Tune() (undo func()) {
	undo = func() {}
	if os.Getenv("GOGC") == "" {
		was := debug.SetGCPercent(gcPercent)
		undo = func() { debug.SetGCPercent(was) }
	}
	if os.Getenv("GOMAXPROCS") == "" {
		gc, was := undo, runtime.GOMAXPROCS(runtime.NumCPU()+extraProcs)
		undo = func() { gc(); runtime.GOMAXPROCS(was) }
	}
	return undo
}

// inForce are the runtime's settings now, whoever made them.
func inForce() *tape.Runtime {
	now := []metrics.Sample{{Name: "/sched/gomaxprocs:threads"}, {Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(now)
	// Off and no limit are the largest numbers of their kinds.
	r := &tape.Runtime{MaxProcs: int64(now[0].Value.Uint64()), GC: -1}
	if gc := now[1].Value.Uint64(); gc <= math.MaxInt32 {
		r.GC = int64(gc)
	}
	if limit := now[2].Value.Uint64(); limit < math.MaxInt64 {
		r.MemLimit = int64(limit)
	}
	return r
}
