package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// Ask finds what a name means, for a question about it: a metric with or without
// statistic and window (ttft_ms, ttft_ms.p99, steady.ttft_ms.p99), a row of a
// window (output_tokens_per_s), a value of the run (counts.failed, or failed), a
// row of the server's metrics pages (server.queue_depth), a check with or without its section, a value of a request (tokens.cached), a word
// of the report (release), all of them also as tables call them (TTFT from due). The
// Condition it returns has no Op. An error is a *SyntaxError.
func Ask(name string) (Condition, error) {
	p := parser{text: name}
	name = strings.TrimSpace(name)
	c := Condition{Text: name}
	rest := name
	if m := ownWindow.FindStringSubmatch(name); m != nil {
		c.Window, rest = m[1], m[2]
	} else if w, after, ok := strings.Cut(name, "."); ok && slices.Contains(WindowKinds, w) {
		c.Window, rest = w, after
	} else if slices.Contains(WindowKinds, name) {
		return Condition{}, p.bad(0, len(name), fmt.Sprintf("such as %s.ttft_ms.p95 or %s.output_tokens_per_s", name, name), "%s is a window, not a value", name)
	}
	if i := strings.LastIndexByte(rest, '.'); i > 0 && HasStat(rest[i+1:]) {
		rest = said(rest[:i]) + rest[i:]
	} else if _, ok := Find(rest); !ok { // what is a name is meant so
		rest = said(rest)
	}
	take := func(name string, kinds ...Kind) bool {
		e, ok := Find(name, kinds...)
		if ok {
			c.Name, c.Kind = name, e.Kind
		}
		return ok
	}
	if i := strings.LastIndexByte(rest, '.'); i > 0 && HasStat(rest[i+1:]) && take(rest[:i], KindMetric) {
		c.Stat = rest[i+1:]
		return c, nil
	}
	if take(rest, KindSystem, KindFact) || take(rest, KindMetric) { // a rate before the metric of the same name
		return c, nil
	}
	if take(rest, KindServer) {
		return c, nil
	}
	if c.Window == "" {
		if take(rest, KindCount, KindLoad, KindVerdict, KindCheck, KindRequest, KindTerm, KindPoint) || take("checks."+rest, KindCheck) || take("counts."+rest, KindCount) || take("load."+rest, KindLoad) || take("server."+rest, KindServer) {
			return c, nil
		}
		if i := strings.LastIndexByte(rest, '.'); i > 0 {
			if _, ok := Find(rest[:i], KindMetric); ok {
				return Condition{}, p.unknown(i+1, rest[i+1:], Stats, "statistic")
			}
		}
		return Condition{}, p.unknown(0, rest, slices.Concat(WindowKinds, spelled(Names())), "name of a value")
	}
	return Condition{}, p.unknown(len(name)-len(rest), rest, Names(KindMetric, KindSystem, KindFact, KindServer), "value of a window")
}
