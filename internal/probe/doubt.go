package probe

import (
	"cmp"
	"fmt"
	"strings"

	"tokentape/tape"
)

// doubts are the counts of an answer that cannot be true, by their names on the tape,
// and why. They are those that analysis calls usage_contradicted: nothing is proved by
// one, and nothing by its absence.
type doubts map[string]string

// doubtful looks for such counts.
func doubtful(q *tape.Request) doubts {
	d := doubts{}
	t := &q.Tokens
	note := func(name, format string, args ...any) {
		if d[name] == "" {
			d[name] = fmt.Sprintf(format, args...)
		}
	}
	for _, said := range strings.Fields(t.Unread) {
		name, value, _ := strings.Cut(said, "=")
		note(name, "a count came that is none: %s", value)
	}
	served := t.OutputSource == tape.SourceUsage || t.OutputSource == tape.SourceEngine
	for name, n := range map[string]tape.Opt[int64]{"input": t.Input, "output": t.Output, "cached": t.Cached, "reasoning": t.Reasoning} {
		if n.OK && (n.V < 0 || n.V > tape.MaxTokens) {
			note(name, "%d is no count of any request", n.V)
		}
	}
	if t.Input.OK && t.Input.V == 0 && t.InputSource != tape.SourceTokenizer {
		note("input", "0 tokens of a prompt")
	}
	if t.Cached.OK && t.Input.OK && d["input"] == "" && t.Cached.V > t.Input.V {
		note("cached", "%d cached tokens of a prompt of %d", t.Cached.V, t.Input.V)
	}
	if served && t.Output.OK {
		if least, events := leastTokens(q); t.Output.V < least {
			note("output", "%s in %s", count(t.Output.V, "token"), count(events, "token event"))
		}
	}
	return d
}

// leastTokens is how many tokens the events of a stream must hold, and how many token
// events there are. A token can be cut where its kind changes, and the last event may
// flush what was held back.
func leastTokens(q *tape.Request) (least, events int64) {
	var last byte
	for _, kind := range q.Events.Kinds() {
		if !tape.IsToken(kind) || kind == tape.KindTool {
			continue
		}
		events++
		if least++; last != 0 && last != kind {
			least--
		}
		last = kind
	}
	if events == 0 {
		return 0, 0
	}
	return max(least-1, 1), events
}

// without is the request as findings may take it: what is doubtful is not known.
func (d doubts) without(q *tape.Request) *tape.Request {
	if len(d) == 0 {
		return q
	}
	c := *q
	for name, n := range map[string]*tape.Opt[int64]{"input": &c.Tokens.Input, "output": &c.Tokens.Output, "cached": &c.Tokens.Cached, "reasoning": &c.Tokens.Reasoning} {
		if d[name] != "" {
			*n = tape.Opt[int64]{}
		}
	}
	return &c
}

// contradictory is why nothing is known of what these counts of answers would tell, ""
// where none is doubtful.
func contradictory(name string, list ...*reply) string {
	for _, r := range list {
		if r != nil && r.doubt[name] != "" {
			return "contradictory: " + r.doubt[name] + " (" + cmp.Or(r.name, r.step) + ")"
		}
	}
	return ""
}
