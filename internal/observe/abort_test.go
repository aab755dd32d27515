package observe

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tokentape/tape"
)

// Each letter is the end of a request, a second after the one before: o ok,
// f a failure, r a reset, c cancelled, a abandoned.
var letters = map[rune]tape.Outcome{
	'o': tape.OutcomeOK, 'f': tape.OutcomeStatus, 'r': tape.OutcomeReset, 'c': tape.OutcomeCancelled, 'a': tape.OutcomeAbandoned,
}

func TestAbort(t *testing.T) {
	for _, c := range []struct {
		name string
		rule AbortRule
		ends string
		at   int // index of the end that stops the run; −1: none does
		why  []string
	}{
		{"a count", AbortRule{Failed: 3}, "ofofof", 5, []string{"limits.abort.failed: 3 requests failed (http_status 3); the last: http_status: boom"}},
		{"classes", AbortRule{Failed: 3}, "rrf", 2, []string{"(http_status 1, reset 2)"}},
		{"not yet", AbortRule{Failed: 4}, "ofofof", -1, nil},
		{"a share", AbortRule{FailedShare: 0.5, Min: 4}, "ooff", 3, []string{"limits.abort.failed_share 0.5: 2 of 4 ended requests failed"}},
		{"below min", AbortRule{FailedShare: 0.5, Min: 10}, "fffffffff", -1, nil},
		{"min reached by an ok one", AbortRule{FailedShare: 0.5, Min: 4}, "ffoo", 3, []string{"2 of 4"}},
		{"all", AbortRule{FailedShare: 1, Min: 2}, "off", -1, nil},
		{"neither cancelled nor abandoned count", AbortRule{FailedShare: 0.5, Min: 4, Failed: 3}, "ccaaffao", -1, nil},
		{"whichever comes first", AbortRule{FailedShare: 0.9, Min: 4, Failed: 2}, "oooof" + "f", 5, []string{"limits.abort.failed:"}},
		{"a window", AbortRule{Failed: 3, Window: 3e9}, "foooff" + "oof" + "ff", 10, []string{"within 3 s"}},
		{"a share of a window", AbortRule{FailedShare: 1, Min: 3, Window: 3e9}, "ooooooffoff" + "f", 11, []string{"3 of 3", "within 3 s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var why []string
			at := -1
			i := 0
			a := NewAbort(c.rule, func(w string) { why, at = append(why, w), i })
			for _, l := range c.ends {
				a.Ended(int64(i)*1e9, letters[l], map[bool]string{true: "boom"}[letters[l].Failed()])
				i++
			}
			a.Ended(int64(i)*1e9, tape.OutcomeCancelled, "")
			if at != c.at || len(why) > 1 {
				t.Errorf("stopped at %d, want %d: %q", at, c.at, why)
			}
			for _, w := range c.why {
				if !strings.Contains(strings.Join(why, ""), w) {
					t.Errorf("%q does not say %q", why, w)
				}
			}
		})
	}
	if NewAbort(AbortRule{Min: 10, Window: 1}, nil) != nil {
		t.Error("no rule is a rule")
	}
}

// It stops at the first end at which counting the ends anew breaks a rule.
func TestAbortCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := AbortRule{
			FailedShare: rapid.SampledFrom([]float64{0, 0.25, 0.5, 1}).Draw(t, "share"), Min: rapid.Int64Range(1, 5).Draw(t, "min"),
			Failed: rapid.Int64Range(1, 5).Draw(t, "failed"), Window: rapid.Int64Range(0, 6).Draw(t, "window"),
		}
		ends := rapid.SliceOfN(rapid.SampledFrom([]rune("ofrca")), 0, 30).Draw(t, "ends")
		steps := rapid.SliceOfN(rapid.Int64Range(0, 3), len(ends), len(ends)).Draw(t, "steps")
		stopped := false
		a := NewAbort(rule, func(string) { stopped = true })
		var times []int64
		now := int64(0)
		for i, l := range ends {
			now += steps[i]
			times = append(times, now)
			a.Ended(now, letters[l], "")
			var all, failed int64
			for j, l := range ends[:i+1] {
				if rule.Window > 0 && times[j] <= now-rule.Window || slices.Contains([]rune("ca"), l) {
					continue
				}
				all++
				if l != 'o' {
					failed++
				}
			}
			counts := !slices.Contains([]rune("ca"), l) // only such an end is judged
			want := counts && (failed >= rule.Failed || rule.FailedShare > 0 && failed > 0 && all >= rule.Min && float64(failed) >= rule.FailedShare*float64(all))
			if stopped != want {
				t.Fatalf("after %d ends: stopped %v, want %v (%d of %d)", i+1, stopped, want, failed, all)
			}
			if stopped {
				return
			}
		}
	})
}

// The live line says that a rule was broken, and why, and counts what was
// abandoned apart.
func TestLiveAbort(t *testing.T) {
	s := State{
		T: 12_300_000_000, Planned: 100, Measured: 40, InFlight: 3, OK: 20, Failed: map[string]int64{"reset": 10}, Abandoned: 7,
		Draining: true, Stopped: tape.ReasonAbort, Why: "limits.abort.failed: 10 requests failed",
	}
	want := "  12.3s aborting sent 40/100 · done 20 · FAILED 10 (reset 10) · abandoned 7 · ABORT limits.abort.failed: 10 requests failed"
	if got := Line(Moment{State: s}); got != want {
		t.Errorf("%q", got)
	}
}
