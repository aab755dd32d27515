package analysis

import (
	"maps"
	"testing"

	"tokentape/tape"
)

// Flags are counted over ok requests of the measured phase alone.
func TestFlagsAreCounted(t *testing.T) {
	s := steadyRun(5)
	if res := s.analyse(t, Options{}); res.Counts.Flags != nil {
		t.Errorf("flags %v of requests without any", res.Counts.Flags)
	}
	s.reqs[0].Flags, s.reqs[1].Flags = []string{"no_done", "compressed"}, []string{"no_done"}
	s.reqs[2].Phase, s.reqs[2].Flags = tape.PhaseWarmup, []string{"refusal"}
	s.reqs[3] = failed(3, 300*msec, msec, tape.OutcomeReset, "reset")
	s.reqs[3].Flags = []string{"buffered"}
	want := map[string]int64{"no_done": 2, "compressed": 1}
	if got := s.analyse(t, Options{}).Counts.Flags; !maps.Equal(got, want) {
		t.Errorf("flags %v, want %v", got, want)
	}
}
