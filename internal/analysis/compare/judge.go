package compare

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"tokentape/internal/analysis/catalog"
	"tokentape/internal/analysis/stat"
)

// pair measures side b against side a; verdicts come later, when the p-values of all
// pairs are known.
func (c *comparison) pair(a, b *side) Pair {
	p := Pair{A: a.name, B: b.name, Metrics: []Metric{}, Differences: differences(a, b), Unlike: []string{}, Warnings: []string{}}
	rows := c.pairRows(a, b)
	if rows != nil {
		p.Rows = &rows.matched
		if len(rows.a) == 0 {
			rows = nil
		}
	}
	for _, n := range c.names {
		m := c.measure(n, a, b, rows)
		if m.A.Runs == 0 && m.B.Runs == 0 && !m.Decides {
			continue // observed nowhere
		}
		p.Metrics = append(p.Metrics, m)
	}
	p.Method = method(a, b, &p)
	p.Warnings = append(p.Warnings, c.order(a, b)...)
	p.Warnings = append(p.Warnings, c.load(a, b, &p)...)
	p.Unlike = append(p.Unlike, c.unlike(a, b)...)
	return p
}

// method says in words how the sides are compared.
func method(a, b *side, p *Pair) string {
	na, nb := len(a.runs), len(b.runs)
	switch {
	case na >= fewRuns && nb >= fewRuns:
		return fmt.Sprintf("%d and %s a side: exact rank-sum test and Hodges–Lehmann shift over the values of the runs", na, plural(nb, "run"))
	case na == 1 && nb == 1 && p.Rows != nil && p.Rows.Paired > 0:
		return fmt.Sprintf("one run a side with the same plan: %d rows that ended well on both sides are paired; between-run variance unknown: the intervals hold what varied within the runs alone", p.Rows.Paired)
	case na == 1 && nb == 1:
		why := "their plans differ"
		if p.Rows != nil {
			why = "no row ended well on both sides"
		}
		return "one run a side, unpaired (" + why + "); between-run variance unknown: the intervals hold what varied within the runs alone"
	}
	text := fmt.Sprintf("%d and %s: too few for a rank test (%d a side), so a t interval over the values of the runs, which takes them for normal and equally scattered", na, plural(nb, "run"), fewRuns)
	if na == 1 || nb == 1 {
		text += "; between-run variance of the side with one run is unknown"
	}
	return text
}

// Together corrects the p-values of several comparisons as one family: whoever holds
// many against each other at once asks as many questions. Verdicts and lines follow.
func Together(all []*Comparison) {
	var family []*Metric
	for _, c := range all {
		for i := range c.Pairs {
			for k := range c.Pairs[i].Metrics {
				m := &c.Pairs[i].Metrics[k]
				if m.PAdjusted = nil; m.Decides && m.P != nil {
					family = append(family, m)
				}
			}
		}
	}
	ps := make([]float64, len(family))
	for i, m := range family {
		ps[i] = *m.P
	}
	for i, p := range stat.Holm(ps) {
		family[i].PAdjusted = ref(p)
	}
	for _, c := range all {
		c.Family = len(family)
		for i := range c.Pairs {
			p := &c.Pairs[i]
			for k := range p.Metrics {
				p.Metrics[k].judge()
			}
			p.judge()
		}
		c.conclude()
	}
}

// judge gives the verdict of one metric. Different: the test says so, after
// correction where the metric decides, and the shift is beyond the tolerance. Same:
// the whole interval is within it. Everything else is undecided.
func (m *Metric) judge() {
	m.Verdict = Undecided
	if m.Shift == nil || m.P == nil {
		return
	}
	limit := float64(m.Tolerance * m.scale())
	p := *m.P
	if m.PAdjusted != nil {
		p = *m.PAdjusted
	}
	lo, hi := *m.ShiftCI[0], *m.ShiftCI[1]
	switch {
	case p <= Alpha && math.Abs(*m.Shift) > limit:
		switch {
		case m.Good == "":
			m.Verdict = Differs
		case (*m.Shift > 0) == (m.Good == catalog.Higher):
			m.Verdict = Better
		default:
			m.Verdict = Worse
		}
	case math.Max(math.Abs(lo), math.Abs(hi)) <= limit:
		m.Verdict = Same
	case p <= Alpha:
		m.Why = "there is a difference; whether it is beyond the tolerance is open"
	case math.Abs(*m.Shift) > limit:
		m.Why = "it could be chance"
	default:
		m.Why = "the interval reaches beyond the tolerance"
	}
}

// judge puts the verdicts of the deciding metrics together: worse when one is, else
// better when one is, else undecided when one is, else the same.
func (p *Pair) judge() {
	by := map[string][]string{}
	for i := range p.Metrics {
		m := &p.Metrics[i]
		if !m.Decides {
			continue
		}
		v := m.Verdict
		if v == Differs { // asked to decide what has no good direction
			v = Undecided
		}
		by[v] = append(by[v], m.Name+" "+m.text())
	}
	p.Verdict = Same
	for _, v := range []string{Worse, Better, Undecided} {
		if len(by[v]) > 0 {
			p.Verdict = v
			break
		}
	}
	head := map[string]string{
		Worse: p.B + " is worse than " + p.A, Better: p.B + " is better than " + p.A,
		Same: p.B + " is the same as " + p.A + " within tolerance", Undecided: "undecided whether " + p.B + " differs from " + p.A,
	}[p.Verdict]
	if p.Verdict == Worse && len(by[Better]) > 0 {
		head = p.B + " is worse than " + p.A + " in part, better in part"
	}
	var parts []string
	for _, v := range []string{Worse, Better, Same, Undecided} {
		if len(by[v]) > 0 {
			parts = append(parts, v+": "+strings.Join(by[v], ", "))
		}
	}
	p.Line = head + " – " + strings.Join(parts, "; ")
	if strings.Contains(p.Method, "between-run variance") {
		p.Line += "; between-run variance unknown"
	}
}

// text is the change in short: "+3.1 % (2.6 … 3.5)", "~" where nothing is known of
// it.
func (m *Metric) text() string {
	if m.Shift == nil {
		return "~ (not observed)"
	}
	unit, v, ci := " %", m.Change, m.ChangeCI
	if v == nil {
		return "~ (from 0)"
	}
	if m.Unit == "share" {
		unit = " points"
	}
	s := fmt.Sprintf("%+.1f%s", *v*100, unit)
	if ci[0] != nil && ci[1] != nil {
		s += fmt.Sprintf(" (%+.1f … %+.1f)", *ci[0]*100, *ci[1]*100)
	}
	return s
}

// conclude makes the one verdict of all pairs.
func (c *Comparison) conclude() {
	c.Verdict = ""
	for _, v := range []string{Worse, Undecided, Better, Same} {
		for _, p := range c.Pairs {
			if p.Verdict == v && c.Verdict == "" {
				c.Verdict = v
			}
		}
	}
	if len(c.Pairs) == 1 {
		c.Line = c.Pairs[0].Line + c.unfit()
		return
	}
	var parts []string
	for _, p := range c.Pairs {
		parts = append(parts, p.B+" "+p.Verdict)
	}
	c.Line = "against " + c.Pairs[0].A + ": " + strings.Join(parts, ", ")
	c.Line += c.unfit()
}

// unfit ends the line of a verdict that rests on runs that are not fit for use; "" when
// all are. The reason is named where it is one for all.
func (c *Comparison) unfit() string {
	all, reason := 0, ""
	n := 0
	for _, s := range c.Sides {
		for _, r := range s.Runs {
			all++
			if r.Fit {
				continue
			}
			_, why, _ := strings.Cut(r.Verdict, ": ")
			why, _, _ = strings.Cut(why, ";")
			if n++; n == 1 {
				reason = why
			} else if why != reason {
				reason = ""
			}
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(". NOT to be relied on: %d of %s %s; --fit-only leaves %s out", n, plural(all, "run"), cmp.Or(reason, "not fit for use"), map[bool]string{true: "it", false: "them"}[n == 1])
}
