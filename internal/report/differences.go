package report

import (
	"fmt"
	"math"
	"strings"

	"tokentape/internal/analysis"
)

// differences is the table of what differs between neighbouring windows, and why.
func (c *console) differences() {
	if len(c.r.Differences) == 0 {
		return
	}
	c.heading("What differs between these columns, and why")
	for _, d := range c.r.Differences {
		c.hang("  ", d.A+" → "+d.B, bold)
		for _, row := range d.Rows {
			c.hang("    ", differenceText(row), plain)
			for _, p := range row.Parts {
				c.hang("      "+pad(withSign(p.Change), 9, true)+"  ", clean(p.Why), dim)
			}
		}
	}
}

// shortDifferences is one line for each step in output throughput that people
// would argue about, with the reason that makes most of it.
func (c *console) shortDifferences() {
	for _, d := range c.r.Differences {
		for _, row := range d.Rows {
			if row.Metric != "output_tokens_per_s" || row.Change == nil || math.Abs(*row.Change) < 0.02 || len(row.Parts) == 0 {
				continue
			}
			most := row.Parts[0]
			for _, p := range row.Parts[1:] {
				if p.Change != nil && (most.Change == nil || math.Abs(*p.Change) > math.Abs(*most.Change)) {
					most = p
				}
			}
			c.hang("  ", clean(d.A+" → "+d.B+": "+differenceText(row)+": "+most.Why), plain)
		}
	}
}

// differenceText is "output tok/s 4,590 → 5,034 (+9.7 %)".
func differenceText(row analysis.DifferenceRow) string {
	text := differenceLabel(row.Metric) + " " + value(row.A) + " → " + value(row.B)
	if row.Change != nil {
		text += fmt.Sprintf(" (%+.1f %%)", *row.Change*100)
	}
	return text
}

// differenceLabel reads "ttft_ms.mean" and "requests_per_s" out.
func differenceLabel(metric string) string {
	if name, stat, ok := strings.Cut(metric, "."); ok {
		return title(name) + " " + stat
	}
	return systemLabel(metric)
}

// withSign is a change with its sign; empty where only the reason is known.
func withSign(v *float64) string {
	switch {
	case v == nil:
		return ""
	case *v > 0:
		return "+" + num(*v)
	}
	return num(*v)
}
