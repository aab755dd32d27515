package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tokentape/internal/analysis"
)

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
		marks := concern(t)
		for _, s := range t.Sections {
			c.section(withMarks(s, marks))
		}
		c.blank()
		for _, text := range t.Caveats {
			lead := "  - "
			if n := marks.number(text); n > 0 {
				lead = fmt.Sprintf("  [%d] ", n)
			}
			c.hang(lead, clean(text), plain)
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

// caveatMarks are the caveats that name a row, in order: the index plus one is the
// number of the mark.
type caveatMarks []string

func (m caveatMarks) number(caveat string) int { return slices.Index(m, caveat) + 1 }

// of are the marks of a row, "" where no caveat names it.
func (m caveatMarks) of(label string) string {
	var ns []string
	for i, caveat := range m {
		if names(caveat, label) {
			ns = append(ns, fmt.Sprint(i+1))
		}
	}
	if ns == nil {
		return ""
	}
	return " [" + strings.Join(ns, ",") + "]"
}

// concern are the caveats of a table that name one of its rows.
func concern(t *analysis.AsTable) caveatMarks {
	var m caveatMarks
	for _, caveat := range t.Caveats {
		if slices.ContainsFunc(t.Sections, func(s analysis.AsSection) bool {
			return len(s.Columns) > 1 && slices.ContainsFunc(s.Rows, func(r []string) bool { return len(r) > 0 && names(caveat, r[0]) })
		}) {
			m = append(m, caveat)
		}
	}
	return m
}

// latencies are the short names that labels are built around: "Mean TTFT (ms):".
var latencies = regexp.MustCompile(`\b(TTFT|TPOT|ITL|E2EL?)\b`)

// names reports whether a caveat speaks of the row with that label: by the label
// without its unit, or by the latency that it is a statistic of.
func names(caveat, label string) bool {
	core, _, _ := strings.Cut(label, " (")
	core = strings.TrimSpace(strings.TrimSuffix(core, ":"))
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

// withMarks is a table with marks behind the labels of its rows.
func withMarks(s analysis.AsSection, m caveatMarks) analysis.AsSection {
	if len(s.Columns) < 2 {
		return s
	}
	rows := make([][]string, len(s.Rows))
	for i, r := range s.Rows {
		rows[i] = slices.Clone(r)
		if len(r) > 0 {
			rows[i][0] += m.of(r[0])
		}
	}
	s.Rows = rows
	return s
}
