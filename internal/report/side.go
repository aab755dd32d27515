package report

import (
	"slices"
	"strings"
)

// beside is a value and its interval, kept apart so that values line up.
type beside struct{ value, interval string }

// sideRow is one line of a table with the windows side by side.
type sideRow struct {
	label string
	cells []beside
}

// sideTable is a heading with its columns' heads, and rows below.
type sideTable struct {
	heads []sideRow // the first is the heading; heads carry no intervals
	rows  []sideRow
}

// sideTables lays several tables out on the same columns. Intervals stand beside
// their values, or below them where a line would be wider than the page; where it still
// is, each table is cut into parts, and a label that leaves no place stands on a line of
// its own. Columns with intervals beside values begin at the left, others end at the
// right.
func (p *page) sideTables(tables []sideTable) {
	tables = p.saidSides(tables)
	if p.md {
		for _, t := range tables {
			p.mdSide(t)
		}
		return
	}
	below := false
	label, cols := sideWidths(tables, below)
	if total(label, cols) > p.width {
		below = true
		label, cols = sideWidths(tables, below)
	}
	widths := []int{label - 2} // a part's own lines are not indented
	for _, c := range cols {
		widths = append(widths, c.block)
	}
	parts := columnParts(widths, p.width)
	for _, t := range tables {
		for _, part := range parts {
			p.blank()
			p.side(t, label, cols, part, below)
		}
	}
}

// side is one part of a table: the columns of these numbers, the first of which is 1.
func (p *page) side(t sideTable, label int, cols []sideWidth, part []int, below bool) {
	used := label
	for _, k := range part {
		used += 2 + cols[k-1].block
	}
	line := func(r sideRow, head bool, st style) {
		b := strings.Builder{}
		if used > p.width && r.label != "" {
			p.hang("", r.label, st)
		} else if used <= p.width {
			b.WriteString(pad(r.label, label, false))
		}
		for _, k := range part {
			if k > len(r.cells) {
				break
			}
			c, w := r.cells[k-1], cols[k-1]
			text := c.value
			if w.interval > 0 && !head {
				text = pad(c.value, w.value, true) + " " + pad(c.interval, w.interval, false)
			}
			b.WriteString("  " + pad(text, w.block, w.interval == 0))
		}
		if strings.TrimSpace(b.String()) != "" {
			p.line(b.String(), st)
		}
	}
	for i, r := range t.heads {
		line(r, true, []style{bold, dim}[min(i, 1)])
	}
	for _, r := range t.rows {
		if !below {
			line(r, false, plain)
			continue
		}
		values, intervals := sideRow{label: r.label}, sideRow{}
		some := false
		for i, c := range r.cells {
			values.cells = append(values.cells, beside{value: c.value})
			intervals.cells = append(intervals.cells, beside{value: c.interval})
			some = some || c.interval != "" && slices.Contains(part, i+1)
		}
		line(values, false, plain)
		if some {
			line(intervals, false, dim)
		}
	}
}

type sideWidth struct{ value, interval, block int }

func sideWidths(tables []sideTable, below bool) (label int, cols []sideWidth) {
	widen := func(r sideRow, head bool) {
		label = max(label, columns.StringWidth(r.label))
		for i, c := range r.cells {
			if i == len(cols) {
				cols = append(cols, sideWidth{})
			}
			v, n := columns.StringWidth(c.value), columns.StringWidth(c.interval)
			switch {
			case head:
				cols[i].block = max(cols[i].block, v)
			case below:
				cols[i].block = max(cols[i].block, v, n)
			default:
				cols[i].value, cols[i].interval = max(cols[i].value, v), max(cols[i].interval, n)
			}
		}
	}
	for _, t := range tables {
		for _, r := range t.heads {
			widen(r, true)
		}
		for _, r := range t.rows {
			widen(r, false)
		}
	}
	for i := range cols {
		w := cols[i].value
		if cols[i].interval > 0 {
			w += 1 + cols[i].interval
		}
		cols[i].block = max(cols[i].block, w)
	}
	return label, cols
}

func total(label int, cols []sideWidth) int {
	for _, c := range cols {
		label += 2 + c.block
	}
	return label
}
