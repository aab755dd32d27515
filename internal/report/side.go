package report

import "strings"

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
// their values, or below them where a line would be wider than the page. Columns
// with intervals beside values begin at the left, others end at the right.
func (p *page) sideTables(tables []sideTable) {
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
	line := func(r sideRow, st style) {
		b := strings.Builder{}
		b.WriteString(pad(r.label, label, false))
		for i, c := range r.cells {
			text := c.value
			if cols[i].interval > 0 {
				text = pad(c.value, cols[i].value, true) + " " + pad(c.interval, cols[i].interval, false)
			}
			b.WriteString("  " + pad(text, cols[i].block, cols[i].interval == 0))
		}
		p.line(b.String(), st)
	}
	head := func(r sideRow, st style) {
		b := strings.Builder{}
		b.WriteString(pad(r.label, label, false))
		for i, c := range r.cells {
			b.WriteString("  " + pad(c.value, cols[i].block, cols[i].interval == 0))
		}
		p.line(b.String(), st)
	}
	for _, t := range tables {
		p.blank()
		for i, r := range t.heads {
			head(r, []style{bold, dim}[min(i, 1)])
		}
		for _, r := range t.rows {
			if !below {
				line(r, plain)
				continue
			}
			values, intervals := sideRow{label: r.label}, sideRow{}
			some := false
			for _, c := range r.cells {
				values.cells = append(values.cells, beside{value: c.value})
				intervals.cells = append(intervals.cells, beside{value: c.interval})
				some = some || c.interval != ""
			}
			line(values, plain)
			if some {
				line(intervals, dim)
			}
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
