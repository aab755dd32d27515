package run

import (
	"os"
	"runtime"
	"runtime/debug"
)

// What Tune sets. On 2 cores that the server shared, at 1,000 requests/s, pacer
// lag p99 over five runs each was 2.5 to 21 ms with the defaults and 1.9 to
// 3.5 ms with these (BenchmarkFidelityPacing with GOGC and GOMAXPROCS set).
const (
	gcPercent  = 400 // heaps here are small: collect a quarter as often
	extraProcs = 2   // the pacer's thread and the recorder leave a processor for every core
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
