package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tokentape/internal/analysis"
)

// short is the report on one page.
func (c *console) short() {
	c.firstLine()
	for _, k := range missed(c.r.Verdict) {
		word, st := severity(k)
		c.hang("  "+word+"  ", clean(join(" → ", join(": ", k.Name, k.Why), k.Do)), st)
	}
	if c.md { // what decides in sight, the rest folded away
		c.expected()
		c.tables()
		c.fold("Run, load, notes and definitions", func() { c.judged(); c.facts(); c.qualifications() })
		return
	}
	c.judged()
	c.expected()
	c.facts()
	c.tables()
	c.qualifications()
}

// qualifications are what one has to know beside the tables.
func (c *console) qualifications() {
	c.shortSpeculation()
	c.reasons()
	c.list("Notes", c.r.Notes)
	c.list("Damage found on the tape", c.r.About.Faults)
	c.definitions()
}

// judged counts the checks that did not miss.
func (c *console) judged() {
	passed := 0
	var none []string
	for _, k := range c.r.Verdict.Checks {
		switch k.Result {
		case analysis.ResultPass:
			passed++
		case analysis.ResultNone:
			none = append(none, join(" ", k.Name, parens(c.said(inShort(k.Why)))))
		}
	}
	var parts []string
	if passed > 0 {
		parts = append(parts, fmt.Sprintf("%d %s passed", passed, plural(int64(passed), "check")))
	}
	switch n := int64(len(none)); {
	case n > 2 && c.md:
		parts = append(parts, count(n)+" could not be judged")
	case n > 2:
		parts = append(parts, count(n)+" could not be judged (--full says why)")
	case n > 0:
		parts = append(parts, "not judged: "+strings.Join(none, ", "))
	}
	if len(parts) > 0 {
		c.hang("  ", clean(strings.Join(parts, "; ")), dim)
	}
}

// inShort is the first clause of a reason.
func inShort(why string) string {
	if i := strings.IndexAny(why, ";:("); i > 0 {
		why = why[:i]
	}
	return strings.TrimSpace(why)
}

// fileName is the last element of a path, of either kind of separator.
func fileName(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// toSecond is a time in RFC 3339 without its fraction.
func toSecond(t string) string {
	if s, _, ok := strings.Cut(t, "."); ok {
		return s + "Z"
	}
	return t
}

// rows is the size of a dataset; an imported tape knows none.
func rows(n int64) string {
	if n == 0 {
		return "rows " + absent
	}
	return count(n) + " " + plural(n, "row")
}

// facts are what was run, how it ended and what load it was.
func (c *console) facts() {
	a, n := c.r.About, c.r.Counts
	c.heading(clean(join(" · ", c.r.Name, c.r.Run, toSecond(a.Started), join(": ", orAbsent(a.Stop), a.StopWhy))))
	key := func(name, text string) { c.hang("  "+pad(name, 10, false), clean(text), plain) }
	key("server", orAbsent(join(" · ", a.URL, a.API, a.Model, join(" ", a.Engine, a.Version))))
	key("data", fmt.Sprintf("%s, %s, %s · plan %s · tape %s", fileName(a.Dataset), rows(a.DataRows),
		short(a.DataSHA256), short(a.PlanSHA256), short(c.r.TapeSHA256)))

	classes := slices.Sorted(maps.Keys(n.ByClass))
	var by []string
	for _, class := range classes {
		text := class + " " + count(n.ByClass[class])
		if codes := statuses(n, class); codes != "" {
			text += " (" + codes + ")"
		}
		by = append(by, text)
	}
	failed := ""
	if len(by) > 0 {
		failed = " (" + strings.Join(by, ", ") + ")"
	}
	text := fmt.Sprintf("%s planned = %s ok + %s failed%s + %s cancelled%s + %s not issued%s",
		count(n.Planned), count(n.OK), count(n.Failed), failed, count(n.Cancelled), abandoned(n.Abandoned), count(n.NotIssued), unrecorded(n.Unrecorded))
	if n.Preparation > 0 {
		text += " · " + phases(n)
	}
	if n.Attempts != n.Issued {
		text += " · " + count(n.Attempts) + " attempts for " + count(n.Issued)
	}
	if len(n.Finish) > 0 {
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(n.Finish)) {
			parts = append(parts, quoteEmpty(k)+" "+count(n.Finish[k]))
		}
		text += " · finish: " + strings.Join(parts, ", ")
	}
	if len(n.Flags) > 0 {
		text += " · flags: " + flags(n.Flags)
	}
	if n.Abandoned > 0 {
		text += " · " + count(n.AbandonedOutputTokens) + " output tokens of abandoned streams"
	}
	if n.LostOutputTokens > 0 {
		text += " · " + count(n.LostOutputTokens) + " output tokens lost with requests that did not end well"
	}
	key("requests", text)
	example := func(of, message string) {
		c.hang("            ", columns.Truncate(clean(of+": "+message), 2*(c.width-12), "…"), yellow)
	}
	for _, class := range slices.Sorted(maps.Keys(n.Examples)) {
		if statuses(n, class) == "" {
			example(class, n.Examples[class])
			continue
		}
		for _, code := range slices.Sorted(maps.Keys(n.StatusExamples)) {
			example(code, n.StatusExamples[code])
		}
	}
	c.remotes() // they hang under requests
	if text := c.probeLine(); text != "" {
		key("probe", text)
	}
	key("load", c.loadLine())
	c.cacheInShort()
	c.metricsInShort()
}

// loadLine is load in one run of words, without what was not observed.
func (c *console) loadLine() string {
	l := c.r.Load
	parts := []string{orAbsent(l.Loop) + " loop", "N " + count(l.Requests)}
	if l.Concurrency > 0 {
		parts = append(parts, "C "+count(l.Concurrency))
	} else {
		parts = append(parts, "no cap C")
	}
	unit := "requests/s"
	if l.Loop == "partly open" {
		unit = "sessions/s"
	}
	if l.RateAsked != nil {
		parts = append(parts, "r "+num(*l.RateAsked)+"/s")
	}
	switch {
	case l.RatePlanned != nil:
		parts = append(parts, fmt.Sprintf("planned %s, achieved %s %s", num(*l.RatePlanned), value(l.RateAchieved), unit))
	case l.RateAchieved != nil:
		parts = append(parts, fmt.Sprintf("sent %s %s", num(*l.RateAchieved), unit))
	}
	if w := l.SlotWaitShare; w != nil && *w == 0 {
		parts = append(parts, "none waited for a slot")
	} else if w != nil {
		parts = append(parts, fmt.Sprintf("%s waited for a slot, mean %s, max %s", share(w), measure(l.SlotWaitMeanMS, "ms"), measure(l.SlotWaitMaxMS, "ms")))
	}
	lag := "pacer lag"
	if l.Loop == "closed" { // client_bound judges those after it alone
		lag += " with the start"
	}
	if a, b := l.PacerLagP50MS, l.PacerLagP99MS; a != nil && b != nil && *a == *b {
		parts = append(parts, lag+" "+measure(a, "ms"))
	} else if a != nil || b != nil {
		parts = append(parts, fmt.Sprintf("%s p50 %s, p99 %s", lag, value(a), measure(b, "ms")))
	}
	parts = append(parts, fmt.Sprintf("in flight mean %s, peak %s", value(l.ConcurrencyMean), peak(l)))
	if l.CPUMean != nil {
		parts = append(parts, "client CPU "+num(*l.CPUMean)+" cores")
	}
	return strings.Join(parts, " · ")
}

// definitions explain what is in the tables, a line each.
func (c *console) definitions() {
	if guard := c.tailGuards(); guard != "" {
		c.blank()
		c.hang("", guard, plain)
	} else {
		c.blank()
	}
	var defs [][2]string
	for _, t := range terms {
		if c.metrics[t.name] {
			defs = append(defs, [2]string{t.title, briefs[t.name]})
		}
	}
	for _, t := range speculated(c.r.Windows) {
		defs = append(defs, [2]string{t.title, t.text})
	}
	var sources []string
	for _, w := range c.exist() {
		if s := w.System.OutputTokensSource; s != "" && !slices.Contains(sources, s) {
			sources = append(sources, s)
		}
	}
	if len(sources) > 0 {
		defs = append(defs, [2]string{"tok/s", "output tokens counted by: " + clean(strings.Join(sources, ", "))})
	}
	defs = append(defs, c.economyTerms()...)
	if c.intervals {
		defs = append(defs, [2]string{"(a–b)", "95 % interval, by sectioning in order of due time"})
	}
	if c.dashes {
		defs = append(defs, [2]string{dash, "too few samples for this quantile"})
	}
	title := 0
	for _, d := range defs {
		title = max(title, columns.StringWidth(d[0]))
	}
	for _, d := range defs {
		c.hang("  "+pad(d[0], title, false)+"  ", d[1], dim)
	}
	if !c.md {
		c.hang("", "full tables: tokentape report RUN --full", dim)
	}
}
