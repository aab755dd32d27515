package observe

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"

	"tokentape/tape"
)

// Screen is what a frame has room for.
type Screen struct {
	Width, Height int // columns and rows of the terminal
	Color         bool
}

// columns measures text in terminal columns, not asking the environment: a frame is
// the same everywhere.
var columns = &runewidth.Condition{StrictEmojiNeutral: true}

// clean makes text that came from outside safe for a terminal: no control or format
// characters, no line breaks.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// How a row looks.
const (
	plain  = ""
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

// row is a fact of the frame: a label, and parts of which as many stand on a line as
// there is room for.
type row struct {
	label string
	parts []string
	last  string // a text that is cut where the line ends
	look  string // of the text
	keep  int    // what is kept longest on a low screen has the lowest
}

// said puts the row into the user's language.
func (r *row) said(s *Setup) {
	if s.Say == nil {
		return
	}
	r.label = s.say(r.label)
	for i, p := range r.parts {
		r.parts[i] = s.say(p)
	}
}

// labelWidth is that of the column of labels, narrow below which there is none.
const (
	labelWidth = 11
	narrow     = 40
)

// Frame draws a moment: lines of less than s.Width columns, fewer than s.Height of
// them and at least one. What there is no room for is left out, the least needed first.
// Text of others can neither steer the terminal nor break a line.
func Frame(m Moment, s Screen) []string {
	rows := frameRows(m, s.Width)
	for i := range rows {
		rows[i].said(&m.Setup)
	}
	lines := make([][]string, len(rows))
	total := 0
	for i, r := range rows {
		lines[i] = r.lines(max(s.Width-1, 1))
		total += len(lines[i])
	}
	for most := max(s.Height-1, 1); total > most; total-- {
		worst := -1
		for i, r := range rows {
			if len(lines[i]) > 0 && (worst < 0 || r.keep >= rows[worst].keep) {
				worst = i
			}
		}
		lines[worst] = lines[worst][:len(lines[worst])-1]
	}
	var out []string
	for i, r := range rows {
		for k, text := range lines[i] {
			if s.Color {
				text = r.colored(text, k == 0, i == 0)
			}
			out = append(out, text)
		}
	}
	return out
}

// lines breaks a row between its parts, at width.
func (r *row) lines(width int) []string {
	label, indent := columns.FillRight(r.label, labelWidth), strings.Repeat(" ", labelWidth)
	if width < narrow {
		label, indent = r.label+" ", " "
	}
	var lines []string
	line, empty := label, true // empty: nothing but label or indent
	next := func() { lines, line, empty = append(lines, line), indent, true }
	for _, p := range r.parts {
		text := p
		if !empty {
			text = " · " + p
		}
		if columns.StringWidth(line)+columns.StringWidth(text) <= width {
			line, empty = line+text, false
			continue
		}
		if !empty || columns.StringWidth(indent+p) <= width {
			next()
		}
		for columns.StringWidth(line+p) > width {
			head := columns.Truncate(p, max(width-columns.StringWidth(line), 1), "")
			if head == "" { // a wide character in the last column
				break
			}
			if at := strings.LastIndexByte(head, ' '); at > 0 && head != p {
				head = head[:at]
			}
			line, p = line+head, strings.TrimPrefix(p[len(head):], " ")
			next()
		}
		line, empty = line+p, false
	}
	if r.last != "" {
		if !empty && columns.StringWidth(line)+len(" · ")+columns.StringWidth(r.last) > width {
			next() // as much of it as can be is worth a line
		}
		if !empty {
			line += " · "
		}
		line += r.last
	}
	lines = append(lines, line)
	for i, l := range lines {
		if columns.StringWidth(l) > width {
			l = columns.Truncate(l, width, "…")
		}
		lines[i] = strings.TrimRight(l, " ")
	}
	return lines
}

// colored puts colours into a line of the row; the text stays the same.
func (r *row) colored(line string, first, head bool) string {
	label, rest, look := "", line, dim
	if first && strings.HasPrefix(line, r.label) {
		label, rest = r.label, line[len(r.label):]
	}
	switch {
	case head:
		look = bold
	case r.look != plain:
		look = r.look
	}
	if label != "" {
		label = look + label + reset
	}
	if r.look != plain && rest != "" {
		rest = r.look + rest + reset
	}
	return label + rest
}

func frameRows(m Moment, width int) []row {
	s := &m.State
	rows := []row{headRow(&m, width)}
	if s.Why != "" && s.Stopped != tape.ReasonDuration && s.Stopped != tape.ReasonEnough {
		rows = append(rows, row{label: "why", last: clean(s.Why), look: red, keep: 1})
	}
	sent := row{label: "sent", keep: 5}
	if s.Planned >= 0 {
		sent.add("%d of %d", s.Measured, s.Planned)
	} else {
		sent.add("%d", s.Measured)
	}
	if w := m.Setup.Warmup; w > 0 && s.Warmed < w && !s.Final {
		sent.add("warm-up %d of %d ended", s.Warmed, w)
	}
	flight := fmt.Sprintf("%d in flight", s.InFlight)
	if c := m.Setup.Concurrency; c > 0 {
		flight += fmt.Sprintf(", C %d", c)
	}
	sent.add("%s", flight)
	if behind := s.Due.V - (s.Issued - s.Before); s.Due.OK && behind > 0 && !s.Final {
		sent.add("%d are due and wait", behind)
	}
	ended := row{label: "ended", keep: 2}
	ended.add("%d ok", s.OK)
	ended.add("%d failed", failed(*s))
	if s.Cancelled > 0 {
		ended.add("%d cancelled", s.Cancelled)
	}
	if s.Abandoned > 0 {
		ended.add("%d abandoned", s.Abandoned)
	}
	rows = append(rows, sent, ended)
	if !s.Final {
		rows = append(rows, rateRow(&m))
	}
	rows = append(rows, spreadRow("TTFT", m.TTFT, 3), spreadRow("TPOT", m.TPOT, 7))
	rows = append(rows, failureRows(m.Failures)...)
	return append(rows, clientRow(&m))
}

func (r *row) add(format string, args ...any) {
	r.parts = append(r.parts, fmt.Sprintf(format, args...))
}

func headRow(m *Moment, width int) row {
	s := &m.State
	head := row{label: phase(*s, m.Setup.Warmup)}
	if s.Stopped == tape.ReasonAbort {
		head.look = red
	}
	head.add("%s", duration(max(0, s.T)))
	if share, ok := progress(m); ok && !s.Final {
		bar := ""
		if n := min(width-60, 24); n >= 8 {
			full := int(share * float64(n))
			bar = "[" + strings.Repeat("#", full) + strings.Repeat(".", n-full) + "] "
		}
		head.add("%s%.0f %%", bar, 100*share)
	}
	if m.Left.OK {
		about := "about "
		if s.Draining {
			about = "at most "
		}
		head.add("%s%s left", about, duration(m.Left.V))
	}
	return head
}

// progress is the share of the run that is over, from 0 to 1: of its requests, or of
// its time.
func progress(m *Moment) (float64, bool) {
	switch {
	case m.Planned > 0:
		return min(1, max(0, float64(m.ended())/float64(m.Planned))), true
	case m.Setup.Duration > 0 && m.Begun.OK:
		return min(1, max(0, float64(m.T-m.Begun.V)/float64(m.Setup.Duration))), true
	}
	return 0, false
}

func rateRow(m *Moment) row {
	r := row{label: "rates", keep: 4}
	if m.Offered.OK {
		r.add("offered %.1f/s", m.Offered.V)
	}
	if m.Sent.OK {
		r.add("achieved %.1f/s", m.Sent.V)
	}
	if m.Ended.OK {
		r.add("ended %.1f/s", m.Ended.V)
	}
	if m.Tokens.OK {
		r.add("%.0f output tok/s", m.Tokens.V)
	}
	if len(r.parts) == 0 {
		r.add("not yet")
	}
	return r
}

func spreadRow(label string, s Spread, keep int) row {
	r := row{label: label, keep: keep}
	if s.N == 0 {
		r.add("not observed in the last %d s", Span/1e9)
		return r
	}
	r.add("p50 %s", ms(s.P50))
	r.add("p90 %s", ms(s.P90))
	r.add("p99 %s", ms(s.P99))
	r.add("%d ended in %d s", s.N, Span/1e9)
	return r
}

// shownClasses is how many classes of failures have a row of their own.
const shownClasses = 5

func failureRows(list []Failure) (rows []row) {
	for i, f := range list {
		if i == shownClasses {
			var n int64
			for _, f := range list[i:] {
				n += f.N
			}
			rest := row{label: "failed", look: red, keep: 9}
			rest.add("%d of %d more classes", n, len(list)-i)
			return append(rows, rest)
		}
		r := row{label: "failed", last: clean(f.Message), look: red, keep: 6 + min(i, 1)*3}
		r.add("%d× %s", f.N, clean(f.Class))
		rows = append(rows, r)
	}
	return rows
}

func clientRow(m *Moment) row {
	r := row{label: "client", keep: 8}
	c := m.Client
	if c == nil {
		r.add("not sampled yet")
		return r
	}
	if c.PacerP99.OK {
		r.add("pacer lag p99 %s", ms(c.PacerP99.V))
		if c.PacerP99.V > lagShown {
			r.look = yellow
		}
	}
	r.add("recorder queue %d", m.Queue)
	cpu := fmt.Sprintf("CPU %.2f", c.CPU)
	if n := m.Setup.Cores; n > 0 {
		cpu += fmt.Sprintf(" of %d", n)
	}
	r.add("%s", cpu)
	if c.HostBusy.OK {
		r.add("host %.2f", c.HostBusy.V)
	}
	return r
}

// lagShown is the pacer lag in ns from which the client's row stands out: that of the
// check offered_rate.
const lagShown = 1_000_000

// ms writes ns as milliseconds with some three digits, as seconds from ten on.
func ms(ns int64) string {
	v := float64(ns) / 1e6
	switch {
	case v >= 10000:
		return fmt.Sprintf("%.1f s", v/1e3)
	case v >= 100:
		return fmt.Sprintf("%.0f ms", v)
	case v >= 10:
		return fmt.Sprintf("%.1f ms", v)
	}
	return fmt.Sprintf("%.2f ms", v)
}

// duration writes ns as 0:09, 12:05 or 1:02:05.
func duration(ns int64) string {
	s := ns / 1e9
	if h := s / 3600; h > 0 {
		return fmt.Sprintf("%d:%02d:%02d", h, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// Clip is a text cut to less than width columns; width 0 or less is 80.
func Clip(text string, width int) string {
	return columns.Truncate(text, max(cmp.Or(max(width, 0), 80)-1, 1), "…")
}
