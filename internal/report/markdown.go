package report

import (
	"io"
	"strings"

	"tokentape/internal/analysis"
)

// Markdown writes the console report as GitHub-flavoured Markdown, fit for a pull
// request: the same sections in the same words, tables as tables. Text that came
// from outside cannot turn into markup. Without o.Full it is the one-page report.
func Markdown(w io.Writer, r *analysis.Results, o Options) error {
	return write(w, r, o, page{width: 120, md: true, zh: o.Lang == zh})
}

// block is what the last lines of a Markdown page belong to: blocks of different
// kinds are kept apart by an empty line.
type block int

const (
	blockNone block = iota
	blockText
	blockList
	blockTable
)

// begin ends the block before, unless the page goes on with the same list.
func (p *page) begin(kind block) {
	if p.b.Len() > 0 && (p.last != kind || kind != blockList) {
		p.b.WriteByte('\n')
	}
	p.last = kind
}

// fold hides what content writes behind a summary; on a terminal nothing is hidden.
func (p *page) fold(summary string, content func()) {
	if !p.md {
		content()
		return
	}
	p.begin(blockText)
	p.b.WriteString("<details><summary>" + escape(p.said(summary)) + "</summary>\n")
	p.last = blockText
	content()
	p.begin(blockText)
	p.b.WriteString("</details>\n")
}

func (p *page) mdHeading(s string) {
	p.begin(blockText)
	p.b.WriteString("## " + escape(s) + "\n")
}

// mdHang is a list item; the lead is its term. A lead far to the right belongs to
// the item before.
func (p *page) mdHang(lead, text string, st style) {
	term := strings.TrimSpace(lead)
	if term == "" && !strings.HasPrefix(lead, " ") { // a line of its own
		p.begin(blockText)
		text = escape(text)
		if st == red || st == green || st == bold {
			text = "**" + text + "**"
		}
		p.b.WriteString(text + "\n")
		return
	}
	p.begin(blockList)
	if indent := len(lead) - len(strings.TrimLeft(lead, " ")); indent >= 6 {
		p.b.WriteString("  ")
	}
	switch term {
	case "", "-":
		p.b.WriteString("- ")
	case "!", "→":
		p.b.WriteString("- " + term + " ")
	default:
		p.b.WriteString("- **" + escape(term) + "** ")
	}
	p.b.WriteString(escape(strings.Join(strings.Fields(text), " ")) + "\n")
}

// mdTable writes rows of equal length below a head.
func (p *page) mdTable(head []string, rows [][]string) {
	p.begin(blockTable)
	line := func(cells []string) {
		for i := range head {
			c := ""
			if i < len(cells) {
				c = escape(strings.Join(strings.Fields(cells[i]), " "))
			}
			p.b.WriteString("| " + c + " ")
		}
		p.b.WriteString("|\n")
	}
	line(head)
	p.b.WriteString("|---|" + strings.Repeat("---:|", len(head)-1) + "\n")
	for _, r := range rows {
		line(r)
	}
}

// remarked is a table whose remarks below a row have a column of their own.
func (p *page) mdRemarked(t table) {
	head := append(append([]string{}, t.head...), p.said("remarks"))
	var rows [][]string
	some := false
	for _, r := range t.rows {
		if r.under != "" && len(rows) > 0 {
			rows[len(rows)-1][len(head)-1] = r.under
			some = true
			continue
		}
		cells := make([]string, len(head))
		copy(cells, r.cells)
		if r.wide != "" && len(r.cells) < len(t.head) {
			cells[len(r.cells)] = r.wide
		}
		rows = append(rows, cells)
	}
	if !some {
		head = head[:len(head)-1]
	}
	p.mdTable(head, rows)
}

func (p *page) mdSide(t sideTable) {
	cells := func(r sideRow) []string {
		out := []string{r.label}
		for _, c := range r.cells {
			out = append(out, join(" ", c.value, c.interval))
		}
		return out
	}
	var rows [][]string
	for _, r := range t.heads[1:] {
		rows = append(rows, cells(r))
	}
	for _, r := range t.rows {
		rows = append(rows, cells(r))
	}
	p.mdTable(cells(t.heads[0]), rows)
}

// escape takes the meaning from Markdown's characters. A name after @ would call
// a person, so the sign is followed by a character of no width.
var escape = strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "`", "\\`", "@", "@\u200b", "[", `\[`, "~", `\~`, "#", `\#`).Replace
