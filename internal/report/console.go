package report

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tokentape/internal/analysis"
)

// Options say how a console report is laid out.
type Options struct {
	Width int    // terminal columns; 0: 80; below 60 counts as 60
	Color bool   // ANSI colours
	Full  bool   // every table, interval and warning, instead of one page
	Lang  string // of words.Languages; "": English. What has no Chinese yet stays English
}

// Console writes the report for people. The first line is the verdict; what
// missed, why and what to do follow at once; tables come after the facts that
// one has to know to read them; warnings and definitions close it.
//
// Without Full it is one page: the windows side by side, and one line for all
// that too few samples leave open.
func Console(w io.Writer, r *analysis.Results, o Options) error {
	width := o.Width
	if width == 0 {
		width = 80
	}
	return write(w, r, o, page{width: max(width, 60), color: o.Color, zh: o.Lang == zh})
}

// write lays the report out on an empty page.
func write(w io.Writer, r *analysis.Results, o Options, p page) error {
	if err := finite(r); err != nil {
		return err
	}
	c := &console{page: p, r: r}
	switch {
	case r.Probe != nil && r.Probe.Only:
		c.probePage()
	case o.Full:
		c.full()
	default:
		c.short()
	}
	c.as(o.Full)
	_, err := io.WriteString(w, c.b.String())
	return err
}

func (c *console) full() {
	c.verdict()
	c.expected()
	c.fold("Run, requests and load", func() { c.about(); c.counts(); c.load(); c.probed() })
	c.windows()
	c.cache()
	c.metricsPages()
	c.speculation()
	c.fold("Differences, warnings, checks and definitions", func() { c.differences(); c.remarks(); c.glossary() })
}

type console struct {
	page
	r         *analysis.Results
	footnotes []string
	metrics   map[string]bool // shown, so explained
	dashes    bool            // a dash was shown, so explained
	intervals bool            // an interval was shown, so explained
}

// note is the number of a footnote; equal texts share one.
func (c *console) note(text string) string {
	i := slices.Index(c.footnotes, text)
	if i < 0 {
		c.footnotes = append(c.footnotes, text)
		i = len(c.footnotes) - 1
	}
	return fmt.Sprintf("[%d]", i+1)
}

// marks are the numbers of several footnotes.
func (c *console) marks(texts []string) string {
	var m []string
	for _, t := range texts {
		if n := c.note(t); !slices.Contains(m, n) {
			m = append(m, n)
		}
	}
	return strings.Join(m, " ")
}

func (c *console) verdict() {
	c.firstLine()
	for _, k := range missed(c.r.Verdict) {
		c.check(k)
	}
}

func (c *console) firstLine() {
	st := green
	if !c.r.Verdict.Fit {
		st = red
	}
	c.hang("", verdictLine(c.r.Verdict), st)
}

// missed are the checks that missed, failures before notes.
func missed(v analysis.Verdict) []analysis.Check {
	var ks []analysis.Check
	for _, severity := range []string{analysis.SeverityFail, analysis.SeverityNote} {
		for _, k := range v.Checks {
			if k.Severity == severity && k.Result == analysis.ResultMiss {
				ks = append(ks, k)
			}
		}
	}
	return ks
}

// severity is the word and the style of a missed check.
func severity(k analysis.Check) (string, style) {
	if k.Severity == analysis.SeverityFail {
		return "FAIL", red
	}
	return "note", yellow
}

// notesOf finds where a verdict's notes begin.
var notesOf = regexp.MustCompile(`; (\d+ notes?)\b`)

// verdictLine is the verdict as analysis worded it, its first words in capitals
// and its notes set apart.
func verdictLine(v analysis.Verdict) string {
	lead := "NOT FIT FOR USE"
	if v.Fit {
		lead = "FIT FOR USE"
	}
	rest := v.Line
	if n := len(lead); len(rest) >= n && strings.EqualFold(rest[:n], lead) {
		rest = rest[n:]
	} else if rest != "" {
		rest = ": " + rest
	}
	return lead + clean(notesOf.ReplaceAllString(rest, " · $1"))
}

func (c *console) check(k analysis.Check) {
	word, st := severity(k)
	text := k.Name
	if k.Value != nil {
		text += ": " + measure(k.Value, k.Unit)
		if k.Limit != nil {
			text += ", limit " + measure(k.Limit, k.Unit)
		}
	}
	c.hang("  "+word+"  ", text, st)
	if k.Why != "" {
		c.hang("        ", clean(k.Why), plain)
	}
	if k.Do != "" {
		c.hang("        → ", clean(k.Do), plain)
	}
}

// about says what was run, where and when.
func (c *console) about() {
	a := c.r.About
	title := "Run"
	if c.r.Name != "" {
		title += " " + clean(c.r.Name)
	}
	c.heading(title + " · " + c.r.Run)
	c.fact("started", orAbsent(a.Started)+" (t = 0)")
	c.fact("server", clean(join(" · ", a.URL, a.API)))
	c.fact("model", orAbsent(clean(a.Model)))
	c.fact("engine", orAbsent(clean(join(" ", a.Engine, a.Version))))
	c.fact("dataset", clean(join(" · ", a.Dataset, rows(a.DataRows), "sha256 "+short(a.DataSHA256))))
	c.fact("plan", "sha256 "+short(a.PlanSHA256))
	c.fact("tape", "sha256 "+short(c.r.TapeSHA256))
	c.devices()
	c.fact("client", clean(join(" · ", a.Host, a.Tool)))
	c.fact("stopped", clean(join(": ", orAbsent(a.Stop), a.StopWhy)))
}

// abandoned is its term of the equation; most loads have none.
func abandoned(n int64) string {
	if n == 0 {
		return ""
	}
	return " + " + count(n) + " abandoned"
}

// unrecorded is the term of a tape that broke off.
func unrecorded(n int64) string {
	if n == 0 {
		return ""
	}
	return " + " + count(n) + " without a record (in flight when the tape ended, or never sent)"
}

// counts is the equation that must add up, and what stands behind its terms.
func (c *console) counts() {
	n := c.r.Counts
	c.heading("Requests")
	c.hang("  ", fmt.Sprintf("%s planned = %s ok + %s failed + %s cancelled%s + %s not issued%s",
		count(n.Planned), count(n.OK), count(n.Failed), count(n.Cancelled), abandoned(n.Abandoned), count(n.NotIssued), unrecorded(n.Unrecorded)), plain)
	for _, class := range slices.Sorted(maps.Keys(n.ByClass)) {
		text := count(n.ByClass[class]) + " " + class
		if by := statuses(n, class); by != "" {
			c.hang("    ", text+" ("+by+")", yellow)
			for _, code := range slices.Sorted(maps.Keys(n.StatusExamples)) {
				c.hang("      ", code+", for example: "+clean(n.StatusExamples[code]), yellow)
			}
			continue
		}
		if m := n.Examples[class]; m != "" {
			text += ", for example: " + clean(m)
		}
		c.hang("    ", text, yellow)
	}
	for _, class := range slices.Sorted(maps.Keys(n.Examples)) {
		if _, shown := n.ByClass[class]; !shown {
			c.hang("    ", class+", for example: "+clean(n.Examples[class]), yellow)
		}
	}
	if len(n.Finish) > 0 {
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(n.Finish)) {
			parts = append(parts, quoteEmpty(k)+" "+count(n.Finish[k]))
		}
		c.fact("finish", clean(strings.Join(parts, " · ")))
	}
	if len(n.Flags) > 0 {
		c.fact("flags", flags(n.Flags)+" (of ok requests)")
	}
	c.remotes()
	if n.Attempts != n.Issued {
		c.fact("attempts", fmt.Sprintf("%s for %s issued requests; %s sent more than once waited %s s in all, which their latencies hold", count(n.Attempts), count(n.Issued), count(n.Retried), num(n.RetryWaitS)))
	}
	if n.Preparation > 0 {
		c.fact("beside these", fmt.Sprintf("%s %s (%s), in no number below", count(n.Preparation), plural(n.Preparation, "request"), phases(n)))
	}
	for _, x := range c.r.Calls {
		c.fact(x.What, clean(called(x)))
	}
	if n.Abandoned > 0 {
		c.fact("abandoned", fmt.Sprintf("%s %s closed in the middle as load.abandon asks, after %s output tokens in all: in no latency and no token statistic", count(n.Abandoned), plural(n.Abandoned, "stream"), count(n.AbandonedOutputTokens)))
	}
	if n.LostOutputTokens > 0 {
		c.fact("lost", fmt.Sprintf("%s output tokens delivered by requests that failed or were cancelled, in no token statistic", count(n.LostOutputTokens)))
	}
}

// phases names the requests that are not measured, phase by phase.
func phases(n analysis.Counts) string {
	var parts []string
	for _, p := range []struct {
		n    int64
		what string
	}{{n.Preparation - n.Warmup - n.Tail, "preparation"}, {n.Warmup, "warm-up"}, {n.Tail, "tail"}} {
		if p.n > 0 {
			parts = append(parts, count(p.n)+" of "+p.what)
		}
	}
	return strings.Join(parts, ", ")
}

// called is a call beside the load in words.
func called(x analysis.Call) string {
	status := "no answer"
	if x.Status != nil {
		status = fmt.Sprint("status ", *x.Status)
	}
	return join(": ", fmt.Sprintf("POST %s at %s s, %s after %s ms", x.URL, num(x.TS), status, num(x.MS)), x.Message)
}

// statuses splits the count of a class by status code: "429: 2, 503: 1".
func statuses(n analysis.Counts, class string) string {
	if class != analysis.ClassStatus {
		return ""
	}
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(n.ByStatus)) {
		parts = append(parts, code+": "+count(n.ByStatus[code]))
	}
	return strings.Join(parts, ", ")
}

// flags are names with their counts, in one line.
func flags(m map[string]int64) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, k+" "+count(m[k]))
	}
	return clean(strings.Join(parts, ", "))
}

// load keeps what was offered apart from what happened.
func (c *console) load() {
	l := c.r.Load
	c.heading("Load: " + orAbsent(l.Loop) + " loop")
	limits := count(l.Requests) + " " + plural(l.Requests, "request") + " (N) · "
	if l.Concurrency > 0 {
		limits += "at most " + count(l.Concurrency) + " in flight (C) · "
	} else {
		limits += "no cap on requests in flight · "
	}
	if l.RateAsked != nil {
		unit := " requests/s (r)"
		if l.Loop == "partly open" {
			unit = " sessions/s (r)"
		}
		limits += num(*l.RateAsked) + unit
	} else if l.Loop == "" {
		limits += "when requests were due was not observed"
	} else if l.Loop != "closed" {
		limits += "no single rate, each goes out when the schedule says"
	} else {
		limits += "no rate, the next request goes out when one ends"
	}
	c.fact("asked", limits)
	if l.RatePlanned == nil && l.RateAchieved != nil { // nothing to achieve: the start lets C go at once
		c.fact("rate", "sent "+measure(l.RateAchieved, "/s"))
	} else {
		c.fact("rate", fmt.Sprintf("planned %s · achieved %s", measure(l.RatePlanned, "/s"), measure(l.RateAchieved, "/s")))
	}
	wait := absent
	if l.SlotWaitShare != nil {
		wait = share(l.SlotWaitShare) + " of requests waited for a slot"
		if l.SlotWaitMeanMS != nil {
			wait += fmt.Sprintf(" · those on average %s, at most %s", measure(l.SlotWaitMeanMS, "ms"), measure(l.SlotWaitMaxMS, "ms"))
		}
	}
	c.fact("slot wait", wait)
	of := ""
	if l.Loop == "closed" && l.PacerLagP99MS != nil { // client_bound judges those after it alone
		of = " · with those of the start"
	}
	c.fact("pacer lag", fmt.Sprintf("p50 %s · p99 %s · max %s%s", measure(l.PacerLagP50MS, "ms"), measure(l.PacerLagP99MS, "ms"), measure(l.PacerLagMaxMS, "ms"), of))
	if l.RateAsked != nil && l.Late != nil {
		c.fact("send lag", fmt.Sprintf("p99 %s · max %s · %s %s more than 1 ms after due", measure(l.SendLagP99MS, "ms"), measure(l.SendLagMaxMS, "ms"), count(*l.Late), plural(*l.Late, "row")))
	}
	c.fact("in flight", fmt.Sprintf("mean %s · peak %s", value(l.ConcurrencyMean), peak(l)))
	if l.NewConnections == nil {
		c.fact("connections", absent)
	} else {
		c.fact("connections", fmt.Sprintf("%s new · %s reused", count(*l.NewConnections), whole(l.ReusedConnections)))
	}
	if l.ClientWaitReads != nil {
		c.fact("client wait", fmt.Sprintf("p50 %s · p99 %s · max %s · of %s", measure(l.ClientWaitP50MS, "ms"), measure(l.ClientWaitP99MS, "ms"), measure(l.ClientWaitMaxMS, "ms"), count(*l.ClientWaitReads)+" reads"))
	}
	c.fact("client", fmt.Sprintf("CPU mean %s, peak %s · scheduling p99 %s · GC pauses %s in all · recorder queue peak %s",
		measure(l.CPUMean, "cores"), measure(l.CPUPeak, "cores"), measure(l.SchedP99MS, "ms"), measure(l.GCPauseMS, "ms"), observed(l.QueuePeak)))
}

// remarks closes with everything that qualifies the numbers.
func (c *console) remarks() {
	if len(c.footnotes) > 0 {
		c.heading("Warnings")
		for i, t := range c.footnotes {
			c.hang(fmt.Sprintf("  %4s ", fmt.Sprintf("[%d]", i+1)), clean(t), plain)
		}
	}
	c.list("Notes", c.r.Notes)
	c.list("Damage found on the tape", c.r.About.Faults)
	var passed, none []string
	for _, k := range c.r.Verdict.Checks {
		switch k.Result {
		case analysis.ResultPass:
			passed = append(passed, k.Name)
		case analysis.ResultNone:
			none = append(none, k.Name+" ("+c.said(clean(k.Why))+")")
		}
	}
	if len(passed)+len(none) > 0 {
		c.heading("Checks")
		if len(passed) > 0 {
			c.fact("passed", strings.Join(passed, ", "))
		}
		if len(none) > 0 {
			c.fact("not judged", strings.Join(none, ", "))
		}
	}
}

func (c *console) list(title string, items []string) {
	if len(items) == 0 {
		return
	}
	c.heading(title)
	for _, t := range items {
		c.hang("  - ", clean(t), plain)
	}
}

func (c *console) glossary() {
	if len(c.metrics) == 0 && !c.dashes {
		return
	}
	c.heading("What the words mean")
	for _, t := range terms {
		if c.metrics[t.name] {
			c.hang("  "+pad(t.title, 14, false)+" ", t.text, dim)
		}
	}
	for _, t := range speculated(c.r.Windows) {
		c.hang("  "+pad(t.title, 14, false)+" ", t.text, dim)
	}
	for _, t := range c.loadTerms() {
		c.hang("  "+pad(t.name, 14, false)+" ", t.text, dim)
	}
	if len(c.metrics) > 0 {
		for _, t := range footings {
			c.hang("  "+pad(t.title, 14, false)+" ", t.text, dim)
		}
	}
	if c.dashes {
		c.hang("  "+pad(dash, 14, false)+" ", absent+": absent is not zero", dim)
	}
}

func orAbsent(s string) string {
	if s == "" {
		return absent
	}
	return s
}

func quoteEmpty(s string) string {
	if s == "" {
		return "none seen"
	}
	return s
}

// join is strings.Join without the empty parts.
func join(sep string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), sep)
}

// short is the head of a hash, enough to tell two apart by eye.
func short(hash string) string {
	if hash == "" {
		return absent
	}
	return hash[:min(12, len(hash))]
}

func plural(n int64, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}
