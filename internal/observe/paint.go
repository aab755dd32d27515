package observe

import (
	"fmt"
	"strings"
)

// Painter turns frames into what a terminal has to be sent. It works in the normal
// screen, changes no mode that would outlive a write, and leaves the cursor at the
// beginning of the line below the frame: whatever ends the program, an error or a
// prompt that follows stands on a line of its own, below a frame that can be read.
// The zero Painter has drawn nothing.
type Painter struct {
	lines []string // that stand on the screen
	on    Screen   // when they were drawn
}

// A line that a terminal takes for wider than it is must not run over into the next.
const (
	wrapOff = "\x1b[?7l"
	wrapOn  = "\x1b[?7h"
)

// Paint gives what changes the last frame into lines on a terminal; "" when nothing
// changed. Only lines that differ are written, but on a terminal of another size: what
// it did with those that stood there is its own affair.
func (p *Painter) Paint(lines []string, on Screen) string {
	old, up := p.lines, len(p.lines)
	if on != p.on {
		up = p.rows(on.Width)
		old = nil // the terminal may have wrapped them, or scrolled
	}
	same := 0
	for same < len(old) && same < len(lines) && old[same] == lines[same] {
		same++
	}
	if same == len(lines) && same == up {
		p.on = on
		return ""
	}
	var b strings.Builder
	b.WriteString("\r" + wrapOff)
	if n := up - same; n > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", n)
	}
	for i := same; i < len(lines); i++ {
		if i >= len(old) || old[i] != lines[i] {
			b.WriteString(lines[i] + "\x1b[K")
		}
		b.WriteString("\r\n")
	}
	b.WriteString("\x1b[J" + wrapOn)
	p.lines, p.on = append(p.lines[:0:0], lines...), on
	return b.String()
}

// Say gives what puts a text where the frame is. The next frame is drawn below it.
func (p *Painter) Say(text string, width int) string {
	up := p.rows(width)
	p.Forget()
	if up == 0 {
		return text
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J%s", up, text)
}

// Forget leaves the frame as it is: the next one is drawn where the cursor is then.
func (p *Painter) Forget() { p.lines = nil }

// rows is how many rows of the terminal the lines take now: where it became narrower,
// terminals wrap them.
func (p *Painter) rows(width int) int {
	n := 0
	for _, l := range p.lines {
		n++
		col := 0
		for _, r := range uncolored(l) {
			w := columns.RuneWidth(r)
			if col += w; col > width { // a wide character is never cut in two
				n, col = n+1, w
			}
		}
	}
	return n
}

// uncolored is a line without its colours.
func uncolored(line string) string {
	for {
		from := strings.Index(line, "\x1b[")
		if from < 0 {
			return line
		}
		to := strings.IndexByte(line[from:], 'm')
		if to < 0 {
			return line
		}
		line = line[:from] + line[from+to+1:]
	}
}
