package observe

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"tokentape/tape"
)

// State is one moment of a run, as shown. Times are nanoseconds since the run's
// epoch; Planned is −1 when time, not a number, ends the run.
type State struct {
	T         int64
	Planned   int64
	Issued    int64 // all phases
	Measured  int64
	InFlight  int64
	OK        int64
	Failed    map[string]int64
	Cancelled int64
	Abandoned int64
	Prepared  int64
	Tokens    int64
	Draining  bool
	Stopped   string
	Why       string // beside Stopped
	Final     bool
}

// Live writes the progress of a run: one line rewritten in place on a terminal,
// a line every five seconds elsewhere. Not safe for concurrent use.
type Live struct {
	W        io.Writer
	Terminal bool
	Width    int   // columns of the terminal; 0: 80
	Warmup   int64 // warm-up requests planned
	Duration int64 // planned end of issuing in nanoseconds; 0: none
	Quiet    bool

	past []State // of the last two seconds
	last int64   // T of the last plain line
}

const (
	rateSpan   = 2_000_000_000
	plainEvery = 5_000_000_000
)

// Show takes the next state.
func (l *Live) Show(s State) {
	if l.Quiet {
		return
	}
	l.past = append(l.past, s)
	for len(l.past) > 2 && l.past[0].T < s.T-rateSpan {
		l.past = l.past[1:]
	}
	line := Line(l.past[0], s, l.Warmup, l.Duration)
	if l.Terminal {
		width := l.Width
		if width <= 0 {
			width = 80
		}
		line = runewidth.Truncate(line, width-1, "…")
		fmt.Fprintf(l.W, "\r\x1b[K%s", line)
		if s.Final {
			fmt.Fprintln(l.W)
		}
		return
	}
	if s.Final || s.T-l.last >= plainEvery {
		l.last = s.T
		fmt.Fprintln(l.W, line)
	}
}

// Line is the text of one state; from is an earlier state that rates are taken
// against.
func Line(from, s State, warmup, duration int64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%6.1fs %-8s", max(float64(s.T), 0)/1e9, phase(s, warmup))
	if s.Planned >= 0 {
		fmt.Fprintf(&b, " sent %d/%d", s.Measured, s.Planned)
	} else {
		fmt.Fprintf(&b, " sent %d", s.Measured)
	}
	fmt.Fprintf(&b, " · done %d", s.OK)
	if n := failed(s); n > 0 {
		fmt.Fprintf(&b, " · FAILED %d (%s)", n, classes(s.Failed))
	}
	if s.Cancelled > 0 {
		fmt.Fprintf(&b, " · cancelled %d", s.Cancelled)
	}
	if s.Abandoned > 0 {
		fmt.Fprintf(&b, " · abandoned %d", s.Abandoned)
	}
	if s.Stopped == tape.ReasonAbort {
		fmt.Fprintf(&b, " · ABORT %s", s.Why)
		return b.String()
	}
	if s.Final {
		return b.String()
	}
	// The widest and least missed last: a narrow terminal cuts there.
	if left, ok := left(s, duration); ok {
		fmt.Fprintf(&b, " · %.0fs left", left)
	}
	fmt.Fprintf(&b, " · %d in flight", s.InFlight)
	if dt := float64(s.T-from.T) / 1e9; dt > 0.05 {
		fmt.Fprintf(&b, " · %.1f req/s · %.0f tok/s", float64(s.Issued-from.Issued)/dt, float64(s.Tokens-from.Tokens)/dt)
	}
	return b.String()
}

func phase(s State, warmup int64) string {
	switch {
	case s.Final:
		return "done"
	case s.Stopped == tape.ReasonAbort:
		return "aborting"
	case s.Draining:
		return "draining"
	case s.Stopped != "":
		return "stopping"
	case s.T < 0:
		return "starting"
	case s.Measured == 0 && s.Issued <= warmup && warmup > 0:
		return "warm-up"
	case s.Planned >= 0 && s.Measured == s.Planned:
		return "ending"
	}
	return "measure"
}

func failed(s State) (n int64) {
	for _, k := range s.Failed {
		n += k
	}
	return n
}

func classes(m map[string]int64) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(parts, ", ")
}

// left estimates the seconds until the run ends, from what has ended so far.
func left(s State, duration int64) (float64, bool) {
	if duration > 0 {
		return max(0, float64(duration-s.T)/1e9), true
	}
	ended := s.OK + s.Cancelled + s.Abandoned + failed(s)
	if s.Planned <= 0 || ended < 3 || s.T <= 0 {
		return 0, false
	}
	return float64(s.Planned-ended) * float64(s.T) / 1e9 / float64(ended), true
}
