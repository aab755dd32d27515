package observe

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/mattn/go-runewidth"
	"pgregory.net/rapid"
)

// terminal is a terminal as far as a Painter uses one, with all that has scrolled out.
// It wraps lines anew when its width changes.
type terminal struct {
	t             interface{ Fatalf(string, ...any) }
	width, height int
	rows          []termRow // the last height of them are on the screen
	row, col      int       // of the cursor, in rows
	noWrap        bool
	wrote         int
}

type termRow struct {
	text []rune
	more bool // goes on in the next row
}

func newTerminal(t interface{ Fatalf(string, ...any) }, width, height int) *terminal {
	return &terminal{t: t, width: width, height: height, rows: make([]termRow, 1)}
}

func (s *terminal) top() int { return max(0, len(s.rows)-s.height) }

func (s *terminal) Write(b []byte) (int, error) {
	s.wrote += len(b)
	text := string(b)
	for len(text) > 0 {
		if strings.HasPrefix(text, "\x1b[") {
			end := strings.IndexFunc(text[2:], unicode.IsLetter)
			if end < 0 {
				s.t.Fatalf("a sequence without an end: %q", text)
			}
			s.control(text[2:2+end], text[2+end])
			text = text[3+end:]
			continue
		}
		r := []rune(text[:min(len(text), 4)])[0]
		text = text[len(string(r)):]
		switch {
		case r == '\r':
			s.col = 0
		case r == '\n': // with the carriage return of a cooked terminal
			s.col = 0
			s.down()
		case r < ' ' || r == 0x7f:
			s.t.Fatalf("control character %q", r)
		default:
			s.put(r)
		}
	}
	return len(b), nil
}

func (s *terminal) down() {
	s.row++
	if s.row == len(s.rows) {
		s.rows = append(s.rows, termRow{})
	}
}

func (s *terminal) put(r rune) {
	w := columns.RuneWidth(r)
	if w == 0 {
		return
	}
	if s.col+w > s.width {
		if s.noWrap {
			s.col = s.width - w
		} else {
			s.rows[s.row].more = true
			s.col = 0
			s.down()
		}
	}
	line := &s.rows[s.row].text
	for len(*line) < s.col+w {
		*line = append(*line, ' ')
	}
	(*line)[s.col] = r
	for i := 1; i < w; i++ {
		(*line)[s.col+i] = 0
	}
	s.col += w
}

func (s *terminal) control(args string, what byte) {
	n, _ := strconv.Atoi(args)
	switch what {
	case 'A':
		s.row = max(s.top(), s.row-max(n, 1))
	case 'K':
		r := &s.rows[s.row]
		r.text, r.more = r.text[:min(s.col, len(r.text))], false
	case 'J':
		s.rows = s.rows[:s.row+1]
		s.control("", 'K')
	case 'h', 'l':
		if args != "?7" {
			s.t.Fatalf("mode %s%c", args, what)
		}
		s.noWrap = what == 'l'
	case 'm':
	default:
		s.t.Fatalf("unknown sequence %s%c", args, what)
	}
}

// resize wraps all lines anew.
func (s *terminal) resize(width, height int) {
	var rows []termRow
	cursor := 0
	for i := 0; i < len(s.rows); i++ {
		line := s.rows[i].text
		at := i == s.row
		for s.rows[i].more && i+1 < len(s.rows) {
			i++
			line = append(line[:len(line):len(line)], s.rows[i].text...)
			at = at || i == s.row
		}
		if at {
			cursor = len(rows)
		}
		for len(line) > width {
			cut := width
			if line[cut] == 0 { // not through a wide character
				cut--
			}
			rows = append(rows, termRow{line[:cut:cut], true})
			line = line[cut:]
		}
		rows = append(rows, termRow{text: line})
	}
	s.rows, s.row, s.width, s.height = rows, cursor, width, height
}

// all is every line down to the cursor, or below it where something stands there.
func (s *terminal) all() []string {
	var out []string
	for _, r := range s.rows {
		out = append(out, strings.TrimRight(strings.ReplaceAll(string(r.text), "\x00", ""), " "))
	}
	if n := len(out); s.col == 0 && s.row == n-1 && out[n-1] == "" {
		out = out[:n-1]
	}
	return out
}

// Whatever is drawn and said in between, and however the terminal changes its size: it
// shows what was said, then the last frame, and nothing else; the cursor is below it,
// and no mode stays changed.
func TestPaint(t *testing.T) {
	line := rapid.SampledFrom([]string{"", "a", "sent 12", "x · y", "\x1b[31mfailed\x1b[0m 漢字", "0123456789012345", "emoji 🙂 end"})
	rapid.Check(t, func(t *rapid.T) {
		term := newTerminal(t, rapid.IntRange(20, 40).Draw(t, "width"), 30)
		var p Painter
		var said, frame []string
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				text := fmt.Sprintf("said %d", len(said))
				term.Write([]byte(p.Say(text+"\n", term.width)))
				said, frame = append(said, text), nil
			case 1:
				term.resize(rapid.IntRange(8, 40).Draw(t, "width"), rapid.IntRange(20, 40).Draw(t, "height"))
			case 2: // somebody else writes, and says so
				term.Write([]byte("$ fg\n"))
				for _, l := range frame {
					said = append(said, strings.TrimRight(uncolored(l), " "))
				}
				said, frame = append(said, "$ fg"), nil
				p.Forget()
			default:
				frame = rapid.SliceOfN(line, 1, 8).Draw(t, "frame")
				for i, l := range frame {
					if columns.StringWidth(uncolored(l)) >= term.width {
						frame[i] = "short"
					}
				}
				out := p.Paint(frame, Screen{Width: term.width, Height: term.height})
				if again := p.Paint(frame, Screen{Width: term.width, Height: term.height}); again != "" {
					t.Fatalf("drawn twice: %q", again)
				}
				term.Write([]byte(out))
				var want []string
				want = append(want, said...)
				for _, l := range frame {
					want = append(want, strings.TrimRight(uncolored(l), " "))
				}
				joined := newTerminal(t, term.width, term.height)
				joined.rows = append(joined.rows[:0:0], term.rows...)
				joined.row, joined.col = term.row, term.col
				joined.resize(1000, term.height) // what resizing wrapped is one line again
				if got := strings.Join(joined.all(), "\n"); got != strings.Join(want, "\n") {
					t.Fatalf("shows\n%s\nnot\n%s\nafter %q", got, strings.Join(want, "\n"), out)
				}
			}
			if term.noWrap || term.col != 0 {
				t.Fatalf("left with noWrap %t in column %d", term.noWrap, term.col)
			}
		}
	})
}

// On a terminal of another height all lines are drawn anew, over the old ones.
func TestPaintOtherHeight(t *testing.T) {
	var p Painter
	lines := []string{"head 1", "sent 100", "client idle"}
	p.Paint(lines, Screen{Width: 120, Height: 40})
	got := p.Paint(lines, Screen{Width: 120, Height: 30})
	if !strings.Contains(got, "\x1b[3A") || !strings.Contains(got, "head 1") || !strings.Contains(got, "client idle") {
		t.Errorf("on another height only this was drawn: %q", got)
	}
}

// Only lines that changed are written.
func TestPaintLittle(t *testing.T) {
	var p Painter
	frame := []string{"head 1", "sent 100", "ended 12", "client idle"}
	p.Paint(frame, Screen{Width: 80})
	if got := p.Paint([]string{"head 1", "sent 101", "ended 12", "client idle"}, Screen{Width: 80}); strings.Contains(got, "head") || strings.Contains(got, "ended") || !strings.Contains(got, "sent 101") {
		t.Errorf("%q", got)
	}
}

func init() { runewidth.DefaultCondition.EastAsianWidth = true } // the environment must not matter
