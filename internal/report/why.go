package report

import (
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"tokentape/internal/analysis"
)

// WhyJSON writes a triage as JSON.
func WhyJSON(w io.Writer, t *analysis.Triage) error { return indented(w, t) }

// What the short page of a triage holds, so that it fits on a screen or two whatever
// went wrong; all of it is with Options.Full.
const (
	classesNamed = 6 // in a line each, beside the one that is shown with its example
	missedShown  = 2 // checks; half of it where failures stand above
	nextShown    = 3 // steps
	logShown     = 6 // lines of run.log, where no failure says more
)

// WhyText writes a triage for people: the state in one line, the stages, each
// class of failures with its example, what missed, what to do next. Without o.Full the
// most frequent class stands for the others, which are named.
func WhyText(w io.Writer, t *analysis.Triage, o Options) error {
	if err := finiteValue(reflect.ValueOf(t), "triage"); err != nil {
		return err
	}
	p := &page{width: max(o.Width, 60), color: o.Color, zh: o.Lang == zh}
	lead, st := whyLead(t)
	p.hang("", clean(lead+": "+t.Line), st)
	if about := join(" · ", t.Name, t.Run); about != "" {
		p.quote("  ", clean(about), dim)
	}
	whyStages(p, t)
	for _, s := range t.Steps {
		whyStep(p, s)
	}
	for i, f := range t.Failures {
		if i == 0 || o.Full {
			whyFailure(p, f, o.Full)
		}
	}
	left := false // something is with --full alone
	if !o.Full && len(t.Failures) > 0 {
		left = whyOthers(p, t.Failures[1:])
	}
	shown := *t
	if !o.Full {
		most := missedShown
		if len(t.Failures) > 0 {
			most /= 2
		}
		shown.Missed, shown.Evidence = nil, nil
		for i, c := range t.Missed {
			// What failed stands above.
			if said := len(t.Failures) > 0 && strings.HasPrefix(c.Name, analysis.CheckFailures); !said && len(shown.Missed) < most {
				shown.Missed, shown.Evidence = append(shown.Missed, c), append(shown.Evidence, t.Evidence[i])
			}
		}
		shown.Next = slices.Clone(t.Next[:min(len(t.Next), nextShown)])
		for i := range shown.Next {
			if len(t.Failures) > 0 && shown.Next[i].Why == t.Failures[0].Do && shown.Next[i].Command != "" {
				shown.Next[i].Why = ""
			}
		}
		if len(t.Failures) > 0 {
			shown.Log = nil
		} else if n := len(t.Log) - logShown; n > 0 {
			shown.Log = t.Log[n:]
		}
		left = left || len(shown.Missed) < len(t.Missed) || len(shown.Next) < len(t.Next) || len(shown.Log) < len(t.Log)
	}
	whyMissed(p, &shown)
	if n := int64(len(t.Missed) - len(shown.Missed)); n > 0 {
		p.hang("  ", fmt.Sprintf("and %s more", count(n)), dim)
	}
	if len(t.Faults) > 0 {
		p.heading("Damage found on the tape")
		for _, f := range t.Faults[:min(len(t.Faults), 5)] {
			p.hang("  ", clean(f), plain)
		}
		if n := int64(len(t.Faults) - 5); n > 0 {
			p.hang("  ", count(n)+" more: tokentape report RUN --full", dim)
		}
	}
	if len(t.Notes) > 0 {
		p.heading("Notes")
		for _, n := range t.Notes {
			p.hang("  · ", clean(n), plain)
		}
	}
	whyLog(p, &shown)
	if len(t.Next) > 0 {
		p.heading("Next")
		for _, s := range shown.Next {
			if s.Command != "" {
				p.line("  $ "+clean(s.Command), bold)
				if s.Why != "" {
					p.hang("    ", clean(s.Why), plain)
				}
			} else {
				p.hang("  → ", clean(s.Why), plain)
			}
		}
	}
	if left {
		p.blank()
		p.hang("", "more of it: tokentape why RUN --full", dim)
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

// whyLead is the state in words.
func whyLead(t *analysis.Triage) (string, style) {
	in := ""
	if t.Stage != "" {
		in = ", in the stage " + t.Stage
	}
	switch t.State {
	case analysis.StateFine:
		return "FINE", green
	case analysis.StateNotes:
		return "FIT FOR USE, with notes", green
	case analysis.StateUnfit:
		return "NOT FIT FOR USE" + in, red
	case analysis.StateStopped:
		return "STOPPED by the user", yellow
	case analysis.StateNoRun:
		return "NEVER BEGAN" + in, red
	case analysis.StateNoTape:
		return "NO TAPE that can be read" + in, red
	}
	return "WENT WRONG" + in, red
}

func whyStages(p *page, t *analysis.Triage) {
	p.blank()
	for _, s := range t.Stages {
		word, st := "ok", plain
		switch s.State {
		case analysis.StageBad:
			word, st = "!!", red
		case analysis.StageUnknown:
			word, st = "··", dim
		}
		p.hang("  "+pad(p.said(s.Name), 13, false)+"  "+word+"  ", p.saidList(clean(s.Text)), st)
	}
}

// whyStep shows a step of looking at the server that failed, with what came back.
func whyStep(p *page, s analysis.ProbeStep) {
	p.heading(clean("step " + s.Name))
	if s.URL != "" {
		p.bytes("    > ", clean("GET "+s.URL), plain)
	}
	if s.Status != nil {
		p.line("    < "+count(*s.Status), plain)
	}
	for _, h := range s.Headers {
		p.bytes("    < ", clean(h), plain)
	}
	p.hang("  seen       ", clean(s.Seen), plain)
	if s.Do != "" {
		p.hang("  do         ", clean(s.Do), plain)
	}
}

// whyOthers names the classes that are not shown, with what the first of them said.
func whyOthers(p *page, fs []analysis.Failure) (left bool) {
	if len(fs) == 0 {
		return false
	}
	p.heading("Other failures")
	for _, f := range fs[:min(len(fs), classesNamed)] {
		text := fmt.Sprintf("%s · %s · %s", f.Class, count(f.Count+f.Retried), p.said(f.Stage))
		if len(f.Said) > 0 {
			text += " · " + posted.ReplaceAllString(f.Said[0].Text, "")
		}
		p.line("  "+columns.Truncate(clean(text), p.width-2, "…"), plain)
	}
	if n := len(fs) - classesNamed; n > 0 {
		p.hang("  ", fmt.Sprintf("and %d more", n), dim)
	}
	return true
}

func whyFailure(p *page, f analysis.Failure, full bool) {
	head := fmt.Sprintf("%s · %s of %s %s", f.Class, count(f.Count), count(f.Of), plural(f.Of, "request"))
	if f.Retried > 0 {
		head += fmt.Sprintf(" · %s %s that were tried again", count(f.Retried), plural(f.Retried, "attempt"))
	}
	p.heading(clean(head + " · " + f.Stage))
	key := func(name, text string) {
		if text != "" {
			p.hang("  "+pad(name, 11, false), clean(text), plain)
		}
	}
	key("phases", f.Phases)
	if f.First != nil {
		key("first", whyMoment(f.First))
		if f.Last != nil && f.Last.Seq != f.First.Seq {
			key("last", whyMoment(f.Last))
		}
	}
	key("in time", f.InTime)
	key("connection", f.ByConnection)
	key("address", f.ByRemote)
	key("length", f.ByLength)
	key("how far", f.HowFar)
	for i, s := range f.Said {
		key([]string{"said", ""}[min(i, 1)], fmt.Sprintf("%s × %s", count(s.Count), s.Text))
	}
	if f.SaidMore > 0 {
		key("", fmt.Sprintf("%s × something else", count(f.SaidMore)))
	}
	if f.Example != nil {
		says := ": " + f.Example.Message
		for _, s := range f.Said {
			if s.Text == f.Example.Message {
				says = ""
			}
		}
		whyExample(p, f.Example, says, full)
	} else {
		key("example", "not observed: a tape of before examples were kept")
	}
	key("do", f.Do)
}

func whyMoment(m *analysis.Moment) string {
	text := fmt.Sprintf("%s, released at %.3f s", analysis.RequestName(m.Seq), m.TS)
	if m.Wall != "" {
		text += ", " + m.Wall
	}
	return text
}

// whyExample shows the bytes of an example: what was sent behind >, what came
// behind <, what is said of it in brackets.
// Of what is long the short page has one line.
func whyExample(p *page, e *analysis.WireExample, says string, full bool) {
	head := analysis.RequestName(e.Seq)
	if e.Attempt > 1 {
		head += fmt.Sprintf(", attempt %d", e.Attempt)
	}
	head += fmt.Sprintf(", ended at %.3f s", float64(e.T)/1e9)
	p.hang("  "+pad("example", 11, false), clean(head+says), plain)
	line := func(mark, text string, st style) {
		if text = clean(text); !full {
			text = columns.Truncate(text, p.width-6, "…")
		}
		p.bytes("    "+mark+" ", text, st)
	}
	line(">", e.Method+" "+e.URL, plain)
	if full {
		for _, h := range e.Request {
			line(">", h, plain)
		}
	}
	line(">", p.said(fmt.Sprintf("[%s %s of body]", count(e.Sent), plural(e.Sent, "byte"))), dim)
	if e.Status == 0 {
		line("<", p.said("[no response]"), dim)
		return
	}
	line("<", strings.TrimSpace(fmt.Sprintf("%s %d", e.Proto, e.Status)), plain)
	for _, h := range e.Response {
		if full || !ordinary.MatchString(h) {
			line("<", h, plain)
		}
	}
	came := fmt.Sprintf("%s %s of body", count(e.Body), plural(e.Body, "byte"))
	if e.Events > 0 {
		came += fmt.Sprintf(", %s %s", count(e.Events), plural(e.Events, "event"))
	}
	if e.Head != "" {
		came += ", from the first byte:"
	}
	line("<", p.said("["+came+"]"), dim)
	if e.Head != "" {
		line("<", e.Head, plain)
	}
	if e.Event != "" {
		line("<", p.said(fmt.Sprintf("[the event at fault, behind %s %s, ends at byte %s:]", count(e.EventNo.V), plural(e.EventNo.V, "event"), count(e.EventAt.V))), dim)
		line("!", e.Event, red)
	}
	if e.Tail != "" && e.Event == "" { // else the event is what matters; --format json has both
		line("<", p.said(fmt.Sprintf("[the end, from byte %s:]", count(e.TailAt.V))), dim)
		line("<", e.Tail, plain)
	}
}

// posted is the request that a message begins with, the same for all.
var posted = regexp.MustCompile(`^POST \S+ `)

// ordinary are headers of every answer, which tell nothing of a failure.
var ordinary = regexp.MustCompile(`(?i)^(date|server|x-request-id|content-length|connection|cache-control|vary|transfer-encoding):`)

// bytes writes a text as it stands, cut where the page ends.
func (p *page) bytes(lead, text string, st style) {
	room := max(p.width-columns.StringWidth(lead), 8)
	for first := true; first || text != ""; first = false {
		part := columns.Truncate(text, room, "")
		if text = text[len(part):]; part == "" {
			part, text = text, "" // a character wider than the room
		}
		p.line(lead+part, st)
		lead = strings.Repeat(" ", columns.StringWidth(lead))
	}
}

func whyMissed(p *page, t *analysis.Triage) {
	if len(t.Missed) == 0 {
		return
	}
	p.heading("Checks that missed")
	for i, c := range t.Missed {
		word, st := severity(c)
		p.hang("  "+word+"  ", clean(join(": ", c.Name, c.Why)), st)
		if c.Do != "" {
			p.hang("        do: ", clean(c.Do), plain)
		}
		if i < len(t.Evidence) && t.Evidence[i] != "" {
			p.hang("        $ ", clean(t.Evidence[i]), dim)
		}
	}
}

func whyLog(p *page, t *analysis.Triage) {
	if len(t.Log) == 0 {
		return
	}
	p.heading("From run.log")
	for _, l := range t.Log {
		at := ""
		if _, clock, ok := strings.Cut(l.Wall, "T"); ok {
			at = strings.TrimSuffix(clock, "Z")
		}
		if l.T != nil {
			at += fmt.Sprintf(" %+.3f s", *l.T)
		}
		p.quote("  "+pad(at, 25, false)+pad(l.Kind, 11, false), clean(l.Text), plain)
	}
}
