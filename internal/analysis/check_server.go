package analysis

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

// tokenSources: one kind of count in one number.
func (r *run) tokenSources() Check {
	c := Check{Name: "token_sources", Severity: SeverityFail, Result: ResultPass, Unit: "sources", Limit: ref(1),
		Do: "have the server report usage on every response (stream_options.include_usage), or give target.tokenizer"}
	in, out := map[string]int{}, map[string]int{}
	r.okMeasured(func(q *metric.Request) {
		if q.Input != metric.Absent {
			in[q.InputSource]++
		}
		if q.Output != metric.Absent {
			out[q.OutputSource]++
		}
	})
	c.Value = ref(float64(max(len(in), len(out))))
	switch {
	case len(in) == 0 && len(out) == 0:
		c.Result, c.Value, c.Why = ResultNone, nil, "no token counts"
	case len(in) > 1 || len(out) > 1:
		c.Result, c.Why = ResultMiss, fmt.Sprintf("output from %s; input from %s", orNone(breakdown(out)), orNone(breakdown(in)))
	default:
		c.Why = fmt.Sprintf("output from %s, input from %s", orNone(names(out)), orNone(names(in)))
	}
	return c
}

func orNone(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// failures: the share of failures is within limits.failed_share. Cancelled
// and abandoned requests are neither, and those that failed on the client's
// machine have a check of their own (client_limit).
func (r *run) failures(res *Results) Check {
	c := Check{Name: CheckFailures, Severity: SeverityFail, Result: ResultPass, Unit: "share", Limit: ref(r.spec.Limits.FailedShare),
		Do: "see the message of each class; limits.failed_share sets what is accepted"}
	n := res.Counts
	byClass := maps.Clone(n.ByClass)
	delete(byClass, string(tape.OutcomeClient))
	failed := n.Failed - n.ByClass[string(tape.OutcomeClient)]
	v, ok := share(failed, n.OK+failed)
	if !ok {
		c.Result, c.Why = ResultNone, "no measured request ended"
		return c
	}
	c.Value, c.Why = &v, fmt.Sprintf("%d of %d failed", failed, n.OK+failed)
	worst, message := r.commonest()
	for i, class := range slices.Sorted(maps.Keys(byClass)) {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		c.Why += fmt.Sprintf("%s%s %d", sep, class, byClass[class])
		if class == worst {
			c.Why += " (" + short(said(message), 80) + ")"
		}
	}
	c.Why += r.whenFailed(res)
	if do := r.otherEntry(); do != "" {
		c.Do = do + "; this is a worker of a disaggregated service, which takes no requests of others"
	}
	if v > r.spec.Limits.FailedShare {
		c.Result = ResultMiss
	}
	return c
}

// otherEntry is what the look at the server advises where it found a worker of a
// disaggregated service instead of the entry; "": it did not.
func (r *run) otherEntry() string {
	for _, n := range r.header.Notes {
		if strings.HasPrefix(n, tape.NoteNotEntry) {
			return "give the address of the router or load balancer before the workers as target.url"
		}
	}
	return ""
}

// notStreamed: answers came as streams where that was asked for.
func (r *run) notStreamed(res *Results) Check {
	c := Check{Name: "not_streamed", Severity: SeverityNote, Result: ResultNone, Unit: "share", Limit: ref(0),
		Do: "have the server and every proxy before it stream (text/event-stream), or measure E2E alone with workload.stream: false"}
	if !r.spec.Workload.Stream {
		c.Why = "no streaming was asked for"
		return c
	}
	n := res.Counts.Flags["not_streamed"]
	v, ok := share(n, res.Counts.OK)
	if !ok {
		c.Why = "no ok request"
		return c
	}
	c.Result, c.Value, c.Why = ResultPass, &v, "every answer was streamed"
	if n > 0 {
		c.Result, c.Why = ResultMiss, fmt.Sprintf("%d of %d answers were not streamed: no TTFT, TPOT, ITL", n, res.Counts.OK)
	}
	return c
}

// commonest is the message that most failed requests ended with, the first of
// those that are as common, and its class; both empty where none said anything.
func (r *run) commonest() (class, message string) {
	type end struct{ class, message string }
	times := map[end]int64{}
	most := int64(0)
	each := func(f func(end)) {
		r.eachMeasured(func(i int, _ *metric.Request) {
			if o := r.facts[i].outcome; o.Failed() && o != tape.OutcomeClient && r.facts[i].message != "" {
				f(end{string(o), r.facts[i].message})
			}
		})
	}
	each(func(e end) { times[e]++; most = max(most, times[e]) })
	each(func(e end) {
		if message == "" && times[e] == most {
			class, message = e.class, e.message
		}
	})
	return class, message
}

// said is a message without the request that it begins with, and of a body in it what
// it says in words: the report names the server, and half a JSON object tells nobody
// anything.
func said(message string) string {
	if rest, ok := strings.CutPrefix(message, "POST "); ok {
		if _, what, ok := strings.Cut(rest, " "); ok {
			message = what
		}
	}
	if i := strings.IndexAny(message, "{<"); i > 1 && strings.HasSuffix(message[:i], ": ") {
		head, body := message[:i], message[i:]
		if m := inBody.FindStringSubmatch(body); m != nil {
			return head + m[1]
		}
		if body[0] == '<' || inObject.MatchString(body) {
			return strings.TrimSuffix(strings.TrimSuffix(head, ": "), "; the first")
		}
	}
	return message
}

// inBody is what an object of an error says, whole or cut; inObject begins one.
var (
	inBody   = regexp.MustCompile(`"(?:message|error|detail|msg)"\s*:\s*"((?:[^"\\]|\\.)*)`)
	inObject = regexp.MustCompile(`^\{\s*"`)
)

// short is s in one line of at most n characters, none of which steers a
// terminal: a check's why ends on stderr too.
func short(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return '?'
		}
		return r
	}, strings.Join(strings.Fields(s), " "))
	if rs := []rune(s); len(rs) > n {
		return string(rs[:n-1]) + "…"
	}
	return s
}

// usageMissing: every ok response carried the server's own counts.
func (r *run) usageMissing() Check {
	c := Check{Name: "usage_missing", Severity: SeverityNote, Result: ResultPass, Unit: "share", Limit: ref(0),
		Do: r.tellUsage()}
	var n, missing int64
	r.okMeasured(func(q *metric.Request) {
		switch {
		case q.Output != metric.Absent && q.OutputSource == tape.SourceTool:
			return // who counted was not recorded
		case unserved(q):
			missing++
		}
		n++
	})
	v, ok := share(missing, n)
	if !ok {
		c.Result, c.Why = ResultNone, "no ok request of which it is known who counted"
		return c
	}
	c.Value, c.Why = &v, fmt.Sprintf("%d of %d ok responses without the server's output count", missing, n)
	if missing > 0 {
		c.Result = ResultMiss
	}
	return c
}

// tellUsage is what would bring the server's counts, beside what was done already.
func (r *run) tellUsage() string {
	const local = "; or count on the client: target.tokenizer"
	switch {
	case strings.Contains(strings.Join(strings.Fields(string(r.header.Spec)), ""), `"include_usage":false`):
		return "the spec asks for none: take stream_options.include_usage: false out of workload.sampling" + local
	case strings.HasPrefix(r.spec.Target.API, "openai-c"):
		return "it was asked for (stream_options.include_usage): see whether a proxy drops the last event, or the server is too old to send it" + local
	}
	return "see whether a proxy drops the last event, or the server's version sends no counts" + local
}

// unserved reports an output count that the server did not give. One that it gave
// and that cannot be true is another matter: usage_contradicted.
func unserved(q *metric.Request) bool {
	if slices.ContainsFunc(q.Contradicts, func(c metric.Contradiction) bool {
		return c.Kind == metric.NoOutput || c.Kind == metric.FewerThanEvents || strings.HasPrefix(c.Said, "output=")
	}) {
		return false
	}
	return q.Output == metric.Absent && len(q.Contradicts) == 0 || q.OutputSource != tape.SourceUsage && q.OutputSource != tape.SourceEngine
}

// bursts: output arrived event by event. More than 80 % of the token events of
// most responses in bursts (under 1 ms apart) means a buffering proxy,
// speculation or a stream interval: the numbers stand as measured.
func (r *run) bursts() Check {
	c := Check{Name: "bursts", Severity: SeverityNote, Result: ResultPass, Unit: "share", Limit: ref(0.5),
		Do: "look for a buffering proxy, speculation or a stream interval; ITL and TTFT are those of the bursts"}
	var n, bursty int64
	r.okMeasured(func(q *metric.Request) {
		if q.TokenEvents < 2 || q.Choices > 1 {
			return
		}
		n++
		if q.Bursty {
			bursty++
		}
	})
	v, ok := share(bursty, n)
	if !ok {
		c.Result, c.Why = ResultNone, "no streamed response with several token events"
		return c
	}
	c.Value, c.Why = &v, fmt.Sprintf("%s of responses came mostly in bursts", percent(v))
	if v > 0.5 {
		c.Result = ResultMiss
		c.Why = fmt.Sprintf("output arrived in bursts: in %s of responses more than 80 %% of token events share a read or lie under 1 ms apart", percent(v))
	}
	return c
}
