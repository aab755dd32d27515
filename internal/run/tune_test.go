package run

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"

	"tokentape/tape"
)

func TestInForce(t *testing.T) {
	for _, c := range []struct {
		gc    int
		limit int64
		want  tape.Runtime
	}{
		{400, math.MaxInt64, tape.Runtime{GC: 400}},
		{-1, 5 << 30, tape.Runtime{GC: -1, MemLimit: 5 << 30}},
	} {
		gc, limit := debug.SetGCPercent(c.gc), debug.SetMemoryLimit(c.limit)
		got := *inForce()
		debug.SetGCPercent(gc)
		debug.SetMemoryLimit(limit)
		if c.want.MaxProcs = int64(runtime.GOMAXPROCS(0)); got != c.want {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
}

// What the tape says of the runtime is what Tune set, unless the user did.
func TestTuneIsInForce(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMAXPROCS", "")
	before := *inForce()
	undo := Tune()
	got := *inForce()
	undo()
	if want := (tape.Runtime{MaxProcs: int64(runtime.NumCPU() + extraProcs), GC: gcPercent, MemLimit: before.MemLimit}); got != want {
		t.Errorf("tuned: %+v, want %+v", got, want)
	}
	if after := *inForce(); after != before {
		t.Errorf("undone: %+v, before %+v", after, before)
	}
}
