package report

import "tokentape/internal/analysis"

// as shows the run under the definitions of other tools: their rows, rounded as
// they print them, the rule by which requests enter, and what to know of both. full
// adds what does not bear on this tape.
func (c *console) as(full bool) {
	for i := range c.r.As {
		t := &c.r.As[i]
		c.heading(clean(join(": ", "As "+t.Tool, t.Title)))
		if t.Error != "" {
			c.hang("  ! ", clean(t.Error), yellow)
			continue
		}
		c.hang("  ", clean(t.Rule), dim)
		for _, s := range t.Sections {
			c.section(s)
		}
		c.blank()
		for _, text := range t.Caveats {
			c.hang("  - ", clean(text), plain)
		}
		if full && len(t.Elsewhere) > 0 {
			c.hang("  ", "What does not bear on this tape:", dim)
			for _, text := range t.Elsewhere {
				c.hang("  - ", clean(text), dim)
			}
		}
	}
}

// section is one table of a tool, as it prints it, in as many parts as the page is
// narrow: each begins with the first column.
func (c *console) section(s analysis.AsSection) {
	c.blank()
	c.hang("  ", clean(s.Title), bold)
	if len(s.Columns) == 1 { // sentences
		for _, r := range s.Rows {
			c.hang("    ", clean(join(" ", r...)), yellow)
		}
		return
	}
	for i, part := range c.parts(s) {
		if i > 0 {
			c.blank()
		}
		pick := func(cells []string) []string {
			out := make([]string, len(part))
			for i, k := range part {
				if k < len(cells) {
					out[i] = clean(cells[k])
				}
			}
			return out
		}
		t := table{head: pick(s.Columns)}
		for _, r := range s.Rows {
			t.rows = append(t.rows, row{cells: pick(r)})
		}
		c.table(t)
	}
}

// parts are the columns of each part of a table: as few parts as fit the page, and
// of them the columns spread evenly.
func (c *console) parts(s analysis.AsSection) [][]int {
	widths := make([]int, len(s.Columns))
	for k := range widths {
		widths[k] = 2 + columns.StringWidth(clean(s.Columns[k]))
		for _, r := range s.Rows {
			if k < len(r) {
				widths[k] = max(widths[k], 2+columns.StringWidth(clean(r[k])))
			}
		}
	}
	split := func(most int) (parts [][]int) {
		var part []int
		used := 0
		for k := 1; k < len(widths); k++ {
			if len(part) > 1 && (len(part) > most || !c.md && used+widths[k] > c.width) {
				parts, part = append(parts, part), nil
			}
			if part == nil {
				part, used = []int{0}, widths[0]
			}
			part, used = append(part, k), used+widths[k]
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
