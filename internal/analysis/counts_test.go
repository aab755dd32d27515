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

// Answers with an error status are told apart by the code, with a message each.
func TestStatusCodesAreCounted(t *testing.T) {
	s := steadyRun(6)
	for i, code := range []int{429, 503, 429} {
		s.reqs[i] = failed(int64(i), int64(i)*100*msec, msec, tape.OutcomeStatus, []string{"", "503: busy", "429: later"}[i])
		s.reqs[i].HTTP.Status = code
	}
	s.reqs[3] = failed(3, 300*msec, msec, tape.OutcomeServer, "an error inside a 200")
	c := s.analyse(t, Options{}).Counts
	if want := map[string]int64{"429": 2, "503": 1}; !maps.Equal(c.ByStatus, want) {
		t.Errorf("by status %v, want %v", c.ByStatus, want)
	}
	if want := map[string]string{"429": "429: later", "503": "503: busy"}; !maps.Equal(c.StatusExamples, want) {
		t.Errorf("examples %v, want %v", c.StatusExamples, want)
	}
	if c.ByClass["http_status"] != 3 || c.Examples["http_status"] != "503: busy" {
		t.Errorf("by class %v, examples %v", c.ByClass, c.Examples)
	}
}
