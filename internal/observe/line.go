package observe

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tokentape/tape"
)

// Line is the text of a moment in one line. The widest and least missed come last: a
// narrow terminal cuts there.
func Line(m Moment) string {
	s := &m.State
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, m.Setup.say(fmt.Sprintf(format, args...))) }
	if s.Planned >= 0 {
		add("sent %d/%d", s.Measured, s.Planned)
	} else {
		add("sent %d", s.Measured)
	}
	add("done %d", s.OK)
	if n := failed(*s); n > 0 {
		add("FAILED %d (%s)", n, classes(s.Failed))
	}
	if s.Cancelled > 0 {
		add("cancelled %d", s.Cancelled)
	}
	if s.Abandoned > 0 {
		add("abandoned %d", s.Abandoned)
	}
	switch {
	case s.Stopped == tape.ReasonAbort:
		add("ABORT %s", clean(s.Why))
	case !s.Final:
		if m.Left.OK {
			add("%.0fs left", float64(m.Left.V)/1e9)
		}
		add("%d in flight", s.InFlight)
		if m.Sent.OK {
			add("%.1f req/s", m.Sent.V)
		}
		if m.Tokens.OK {
			add("%.0f tok/s", m.Tokens.V)
		}
	}
	now := m.Setup.say(phase(*s, m.Setup.Warmup))
	return fmt.Sprintf("%6.1fs %s %s", max(float64(s.T), 0)/1e9, columns.FillRight(now, 8), strings.Join(parts, " · "))
}

func classes(m map[string]int64) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(parts, ", ")
}
