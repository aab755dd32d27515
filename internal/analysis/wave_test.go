package analysis

import "testing"

// A wave is worth a note when it has the slowest first tokens and is plainly slower.
func TestWaveWorth(t *testing.T) {
	for name, tc := range map[string]struct {
		ttft, rest, tail float64
		want             bool
	}{
		"plainly slower": {305, 104, 0.6, true},
		"a sixth slower": {117, 100, 0.6, true},
		"1 ms slower":    {105, 104, 0.6, false}, // found among any eight requests
		"not the tail":   {305, 104, 0.1, false},
		"faster":         {90, 104, 0.6, false},
	} {
		if w := (&Wave{TTFTMean: ref(tc.ttft), RestMean: ref(tc.rest), Share: 0.1, TailShare: tc.tail}); w.worth() != tc.want {
			t.Errorf("%s: %v", name, !tc.want)
		}
	}
	if (*Wave)(nil).worth() {
		t.Error("no wave has a note")
	}
}
