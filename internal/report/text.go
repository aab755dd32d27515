package report

import (
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// columns measures text in terminal columns: a CJK character takes two. Built
// here and not from the environment, so that a report is the same everywhere.
var columns = &runewidth.Condition{StrictEmojiNeutral: true}

// clean makes text that came from outside (model names, error messages, paths)
// safe for a terminal: no control or format characters, no line breaks.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
			return '?'
		}
		return r
	}, s)
}

// wrap breaks text into lines of at most width columns, at spaces where it can
// and between characters where a word (or a CJK sentence) is longer.
func wrap(s string, width int) []string {
	width = max(width, 8)
	var lines []string
	line, used := "", 0
	for _, word := range strings.Fields(s) {
		w := columns.StringWidth(word)
		if used > 0 && used+1+w <= width {
			line, used = line+" "+word, used+1+w
			continue
		}
		if used > 0 {
			lines = append(lines, line)
		}
		for w > width {
			head := columns.Truncate(word, width, "")
			lines = append(lines, head)
			word = word[len(head):]
			w = columns.StringWidth(word)
		}
		line, used = word, w
	}
	if used > 0 || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// pad fills s with spaces to width columns, on the right, or on the left when
// right is set.
func pad(s string, width int, right bool) string {
	n := width - columns.StringWidth(s)
	if n <= 0 {
		return s
	}
	if right {
		return strings.Repeat(" ", n) + s
	}
	return s + strings.Repeat(" ", n)
}

// style is an ANSI colour or weight.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "1;31"
	green  style = "1;32"
	yellow style = "33"
)

// page collects the lines of a report, for a terminal or as Markdown.
type page struct {
	b     strings.Builder
	width int
	color bool
	md    bool // Markdown
	zh    bool // in Chinese: see lang.go
	last  block
}

func (p *page) paint(s string, st style) string {
	if !p.color || st == plain || s == "" {
		return s
	}
	return "\x1b[" + string(st) + "m" + s + "\x1b[0m"
}

// line writes one line without its trailing spaces.
func (p *page) line(s string, st style) {
	if p.md {
		p.mdHang("  ", s, st)
		return
	}
	p.b.WriteString(p.paint(strings.TrimRight(s, " "), st))
	p.b.WriteByte('\n')
}

func (p *page) blank() {
	if !p.md { // blocks keep themselves apart
		p.b.WriteByte('\n')
	}
}

// heading starts a section.
func (p *page) heading(s string) {
	s = p.said(s)
	if p.md {
		p.mdHeading(s)
		return
	}
	p.blank()
	for _, l := range p.wrap(s, p.width) {
		p.line(l, bold)
	}
}

// hang writes text after a lead, wrapped under itself.
func (p *page) hang(lead, text string, st style) {
	lead, text = p.saidOf(lead, text)
	if p.md {
		p.mdHang(lead, text, st)
		return
	}
	indent := columns.StringWidth(lead)
	for i, l := range p.wrap(text, p.width-indent) {
		if i == 0 {
			p.line(lead+l, st)
		} else {
			p.line(strings.Repeat(" ", indent)+l, st)
		}
	}
}

// fact is a key and its value, the value wrapped in its own column.
func (p *page) fact(key, text string) { p.hang("  "+pad(key, 13, false), text, plain) }

// table is rows of cells; the first column is left-aligned, the others right.
type table struct {
	head []string
	rows []row
}

// row is one line of a table, or, with under set, a remark below the row before.
type row struct {
	cells []string
	under string
	wide  string // instead of the cells after the first two: "not observed"
}

// table lays a table out, in as many parts as the page is narrow: each begins with the
// first column. Where even two columns are too wide, the cells stand below each other.
func (p *page) table(t table) {
	t = p.saidTable(t)
	if p.md {
		p.mdRemarked(t)
		return
	}
	widths := make([]int, len(t.head))
	for i, h := range t.head {
		widths[i] = columns.StringWidth(h)
	}
	for _, r := range t.rows {
		for i, c := range r.cells {
			widths[i] = max(widths[i], columns.StringWidth(c))
		}
	}
	for k, part := range columnParts(widths, p.width) {
		if k > 0 {
			p.blank()
		}
		p.part(t, widths, part, k == 0)
	}
}

// part is the first column of a table and some others; remarks stand in the first part.
func (p *page) part(t table, widths, part []int, first bool) {
	used := 2 + widths[0]
	for _, i := range part {
		used += 2 + widths[i]
	}
	layout := func(cells []string) string {
		var b strings.Builder
		b.WriteString("  ")
		for k, i := range append([]int{0}, part...) {
			if i >= len(cells) {
				continue
			}
			if k > 0 {
				b.WriteString("  ")
			}
			b.WriteString(pad(cells[i], widths[i], k > 0))
		}
		return b.String()
	}
	line := func(cells []string, st style) { p.line(layout(cells), st) }
	if used > p.width {
		line = func(cells []string, st style) {
			p.hang("  ", cells[0], st)
			for _, i := range part {
				if i < len(cells) && cells[i] != "" {
					p.hang("      ", strings.TrimSpace(t.head[i]+" "+cells[i]), st)
				}
			}
		}
	} else {
		p.line(layout(t.head), dim)
	}
	for _, r := range t.rows {
		switch {
		case r.under != "":
			if first {
				p.hang("      ", r.under, dim)
			}
		case r.wide != "":
			if lead := layout(r.cells) + "  "; first && columns.StringWidth(lead)+columns.StringWidth(r.wide) <= p.width {
				p.line(lead+r.wide, plain)
			} else if first {
				line(r.cells, plain)
				p.hang("      ", r.wide, plain)
			}
		default:
			line(r.cells, plain)
		}
	}
}

// columnParts are the columns of each part of a table besides the first, whose widths
// are given: as few parts as fit, and the columns spread evenly over them.
func columnParts(widths []int, width int) [][]int {
	split := func(most int) (parts [][]int) {
		var part []int
		used := 0
		for k := 1; k < len(widths); k++ {
			if len(part) > 0 && (len(part) == most || used+2+widths[k] > width) {
				parts, part = append(parts, part), nil
			}
			if part == nil {
				used = 2 + widths[0]
			}
			part, used = append(part, k), used+2+widths[k]
		}
		return append(parts, part)
	}
	few := split(len(widths))
	for most := 1; most < len(widths); most++ {
		if even := split(most); len(even) == len(few) {
			return even
		}
	}
	return few
}
