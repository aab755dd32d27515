package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"tokentape/internal/probe"
	"tokentape/internal/spec"
	"tokentape/internal/workload/rows"
)

// statement says, before the first request, what will be sent. said holds what a run
// before has said, which is left out, and takes what this one says; nil: there is none.
func statement(w io.Writer, j *job, pre *probe.Result, dir string, said map[string]bool) {
	s := j.spec
	line := func(label, format string, args ...any) {
		text := fmt.Sprintf("  %-9s %s\n", label, j.mask(fmt.Sprintf(format, args...)))
		if said[text] {
			return
		}
		if said != nil {
			said[text] = true
		}
		io.WriteString(w, text)
	}
	fmt.Fprintln(w, "will send")
	line("to", "POST %s (%s)", j.url(), s.Target.API)
	for _, l := range j.networkLines(pre.Server) {
		line("", "%s", l)
	}
	model := pre.Server.Model
	if !s.SendsModel() {
		model = "as each request body says,"
	}
	line("model", "%s%s", model, engineNote(pre))
	if c := pre.Context; c.Tokens > 0 {
		line("", "holds %d tokens of prompt and answer together (%s)", c.Tokens, c.From)
	}
	if m, ok := j.source.(*rows.Mix); ok {
		for i, p := range m.Parts() {
			part := s.Workload.Mix[i]
			line("rows", "weight %g: %s: %d rows, sha256 %.12s…, template %q", part.Weight, p.Path, p.Rows, p.SHA256, cmp.Or(part.Template, s.Workload.Template))
		}
	} else {
		info := j.source.Info()
		line("rows", "%s: %d rows, sha256 %.12s…, template %q", info.Path, info.Rows, info.SHA256, s.Workload.Template)
	}
	line("output", "%s", outputNote(s))
	line("tokens", "%s", j.count.line())
	if l := j.probeLine(); l != "" {
		line("probe", "%s", l)
	}
	for _, l := range j.prep.lines(s) {
		line("prepare", "%s", l)
	}
	line("load", "%s%s", j.plan, tailNote(j))
	for i, l := range metricsNote(s) {
		line([]string{"metrics", ""}[min(i, 1)], "%s", l)
	}
	if s.Workload.Sessions {
		line("turns", "%s", turnsNote(s))
	}
	line("N, C, r", "%s", threeThings(j))
	line("limits", "%s", limitsNote(s))
	for _, l := range failureNotes(s) {
		line(l[0], "%s", l[1])
	}
	line("seed", "%d", s.Seeds.Run)
	if dir != "" {
		line("files", "%s", dir)
	}
	for _, n := range slices.Concat(j.said, j.notes, pre.Notes) {
		line("note", "%s", n)
	}
}

func engineNote(pre *probe.Result) string {
	if pre.Server.Engine == "" {
		return ""
	}
	return fmt.Sprintf(" on %s", strings.TrimSpace(pre.Server.Engine+" "+pre.Server.Version))
}

func outputNote(s *spec.Spec) string {
	if s.Workload.OutputTokens == 0 {
		return "as long as the row or the server decides"
	}
	return fmt.Sprintf("max_tokens %d, %s", s.Workload.OutputTokens, streamNote(s))
}

func turnsNote(s *spec.Spec) string {
	what := "each after the answer before, going on with the server's own answers (reasoning left out)"
	if s.Workload.History == "recorded" {
		what = "each after the answer before, going on with the recorded answers"
	}
	if h := s.Target.SessionHeader; h != "" {
		what += "; " + h + " carries the session's id"
	}
	return what + "; a turn that fails ends its session"
}

func streamNote(s *spec.Spec) string {
	if s.Workload.Stream {
		return "streamed"
	}
	return "not streamed: no TTFT, TPOT or ITL"
}

func tailNote(j *job) string {
	if j.spec.Load.Tail != "auto" {
		return ""
	}
	return ", then an unmeasured tail until they have ended"
}

func threeThings(j *job) string {
	s := j.spec
	n, c, r := "bound by time", "no cap", "closed loop"
	if planned := j.plan.Planned(); planned >= 0 {
		n = fmt.Sprint(planned)
	}
	if s.Load.Concurrency > 0 {
		c = fmt.Sprint(s.Load.Concurrency)
	}
	switch {
	case s.Load.Rate > 0 && s.Workload.Sessions:
		r = fmt.Sprintf("%g sessions/s", s.Load.Rate)
	case s.Load.Rate > 0:
		r = fmt.Sprintf("%g/s", s.Load.Rate)
	case s.Load.Open():
		r = "by the schedule"
	}
	return fmt.Sprintf("N %s · C %s · r %s", n, c, r)
}

func limitsNote(s *spec.Spec) string {
	show := func(name string, d spec.Duration) string {
		if d == 0 {
			return name + " none"
		}
		return name + " " + d.String()
	}
	l := s.Limits
	return strings.Join([]string{show("connect", l.Connect), show("first token", l.FirstToken), show("silence", l.Idle), show("total", l.Total)}, " · ")
}
