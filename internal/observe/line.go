package observe

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tokentape/tape"
)

// Line is the text of a moment in one line.
func Line(m Moment) string {
	s := &m.State
	var b strings.Builder
	fmt.Fprintf(&b, "%6.1fs %-8s", max(float64(s.T), 0)/1e9, phase(*s, m.Setup.Warmup))
	if s.Planned >= 0 {
		fmt.Fprintf(&b, " sent %d/%d", s.Measured, s.Planned)
	} else {
		fmt.Fprintf(&b, " sent %d", s.Measured)
	}
	fmt.Fprintf(&b, " · done %d", s.OK)
	if n := failed(*s); n > 0 {
		fmt.Fprintf(&b, " · FAILED %d (%s)", n, classes(s.Failed))
	}
	if s.Cancelled > 0 {
		fmt.Fprintf(&b, " · cancelled %d", s.Cancelled)
	}
	if s.Abandoned > 0 {
		fmt.Fprintf(&b, " · abandoned %d", s.Abandoned)
	}
	if s.Stopped == tape.ReasonAbort {
		fmt.Fprintf(&b, " · ABORT %s", clean(s.Why))
		return b.String()
	}
	if s.Final {
		return b.String()
	}
	// The widest and least missed last: a narrow terminal cuts there.
	if m.Left.OK {
		fmt.Fprintf(&b, " · %.0fs left", float64(m.Left.V)/1e9)
	}
	fmt.Fprintf(&b, " · %d in flight", s.InFlight)
	if m.Sent.OK {
		fmt.Fprintf(&b, " · %.1f req/s", m.Sent.V)
	}
	if m.Tokens.OK {
		fmt.Fprintf(&b, " · %.0f tok/s", m.Tokens.V)
	}
	return b.String()
}

func classes(m map[string]int64) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(parts, ", ")
}
