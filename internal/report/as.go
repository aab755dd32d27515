package report

import (
	"regexp"
	"slices"
	"strings"

	"tokentape/internal/analysis"
)

// as shows the run under the definitions of other tools: their rows, rounded as
// they print them, the rule by which requests enter, and what to know of both: row
// names stay that tool's own, so that a caveat names its rows and not they it. full
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
			c.hang("  - ", clean(concerned(t, text)+text), plain)
		}
		if full && len(t.Elsewhere) > 0 {
			c.hang("  ", "What does not bear on this tape:", dim)
			for _, text := range t.Elsewhere {
				c.hang("  - ", clean(text), dim)
			}
		}
	}
}

// section is one table of a tool, as it prints it.
func (c *console) section(s analysis.AsSection) {
	c.blank()
	c.hang("  ", clean(s.Title), bold)
	if len(s.Columns) == 1 { // sentences
		for _, r := range s.Rows {
			c.hang("    ", clean(join(" ", r...)), yellow)
		}
		return
	}
	t := table{}
	for _, head := range s.Columns {
		t.head = append(t.head, clean(head))
	}
	for _, r := range s.Rows {
		cells := make([]string, len(t.head))
		for k := range min(len(cells), len(r)) {
			cells[k] = clean(r[k])
		}
		t.rows = append(t.rows, row{cells: cells})
	}
	c.table(t)
}

// concerned are the rows of a table that a caveat speaks of, to stand before it; ""
// where there are none.
func concerned(t *analysis.AsTable, caveat string) string {
	var rows []string
	for _, s := range t.Sections {
		if len(s.Columns) < 2 {
			continue
		}
		for _, r := range s.Rows {
			if len(r) > 0 && names(caveat, r[0]) && !slices.Contains(rows, core(r[0])) {
				rows = append(rows, core(r[0]))
			}
		}
	}
	if rows == nil {
		return ""
	}
	return "[" + strings.Join(rows, ", ") + "] "
}

// core is a label without unit and colon.
func core(label string) string {
	label, _, _ = strings.Cut(label, " (")
	return strings.TrimSpace(strings.TrimSuffix(label, ":"))
}

// latencies are the short names that labels are built around: "Mean TTFT (ms):".
var latencies = regexp.MustCompile(`\b(TTFT|TPOT|ITL|E2EL?)\b`)

// names reports whether a caveat speaks of the row with that label: by the label
// without its unit, or by the latency that it is a statistic of.
func names(caveat, label string) bool {
	core := core(label)
	if len(core) > 3 && regexp.MustCompile(`(?i)(^|\W)`+regexp.QuoteMeta(core)+`($|\W)`).MatchString(caveat) {
		return true
	}
	for _, of := range latencies.FindAllString(core, -1) {
		for _, said := range latencies.FindAllString(caveat, -1) {
			if strings.TrimSuffix(of, "L") == strings.TrimSuffix(said, "L") {
				return true
			}
		}
	}
	return false
}
