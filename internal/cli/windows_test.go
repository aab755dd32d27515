package cli

import (
	"testing"

	"tokentape/internal/analysis/window"
	"tokentape/internal/spec"
)

// A spec that passes has no window that its report then refuses.
func TestWindowsOfSpecAndAnalysisAgree(t *testing.T) {
	for text, good := range map[string]bool{
		"seconds:10..60": true, "seconds:10s..60s": true, "seconds:0.5..": true, "seconds:..7": true, "seconds:..": true, "seconds:5..5": true,
		"rows:0..9": true, "rows:100..": true, "rows:..": true,
		"phase:probe": true, "phase:prepare": true, "phase:warmup": true, "phase:measure": true, "phase:tail": true,
		"seconds:": false, "seconds:6..5": false, "seconds:9..10": true, "seconds:1.2.3..4": false, "seconds:-1..2": false, "seconds:NaN..": false,
		"seconds:1_0..2_0": false, "seconds:0x10..0x20": false, "seconds:0x1p4..": false, "seconds:1e1..2e1": false, "seconds:+1..2": false, "seconds:Inf..": false, "seconds:.5..1": false,
		"seconds:1...2": false, "seconds:1ss..2": false, "rows:1_0..2_0": false, "rows:0x1..0x2": false, "rows:1e1..2e1": false, "rows:+1..2": false,
		"rows:5..4": false, "rows:1.5..2": false, "rows:5s..6s": false, "phase:": false, "phase:ramp": false, "Seconds:1..2": false, " rows:1..2": false,
	} {
		if got := spec.OwnWindow(text); got != good {
			t.Errorf("spec: %q is %v", text, got)
		}
		if got := window.Check(text) == nil; got != good {
			t.Errorf("analysis: %q is %v", text, got)
		}
	}
}
