package spec

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// given reports whether a field was set by file or flag; in a Spec that was made
// in code, whether it differs from the default.
func (s *Spec) given(path string) bool {
	if s.from != nil {
		return s.wasSet(path)
	}
	d := Default()
	if total, most := s.Load.stages(); total > 0 {
		switch path { // what stages decide was not given
		case "load.duration":
			return s.Load.Duration != total
		case "load.concurrency":
			return s.Load.Concurrency != most && s.Load.Concurrency != 0 && s.Load.Concurrency != d.Load.Concurrency
		case "load.session_concurrency":
			return s.Load.SessionConcurrency != most && s.Load.SessionConcurrency != 0
		}
	}
	switch path {
	case "load.requests":
		return s.Load.Requests != d.Load.Requests && !(s.Load.Requests == 0 && (s.Load.Duration > 0 || s.Load.Arrivals == "replay" || s.Workload.Sessions || len(s.Load.Stages) > 0))
	case "load.concurrency":
		return s.Load.Concurrency != d.Load.Concurrency && !(s.Load.Concurrency == 0 && (s.Load.Open() || s.Workload.Sessions))
	}
	return differs(s, d, path)
}

// noEffect is a reason why a field changes nothing beside the others, and the
// mend.
type noEffect struct{ path, why, mend string }

// withoutEffect lists the fields that change nothing beside the others. It looks
// at values alone: Validate complains of those that were given, YAML leaves them
// out.
func (s *Spec) withoutEffect() []noEffect {
	var out []noEffect
	idle := func(when bool, path, why, mend string) {
		if when {
			out = append(out, noEffect{path, why, mend})
		}
	}
	s.apiEffect(idle)
	s.networkEffect(idle)
	s.failureEffect(idle)
	s.datasetEffect(idle)

	l := s.Load
	s.scheduleEffect(idle)
	s.prepareEffect(idle)
	s.mixEffect(idle)
	s.sweepEffect(idle)
	s.searchEffect(idle)
	s.economyEffect(idle)
	open, replay := l.Open(), l.Arrivals == "replay"
	const needsRate = "without load.rate there are no arrivals: each request waits for a free slot"
	idle(!open, "load.arrivals", needsRate, "give load.rate (--rate), or remove it")
	idle(!open, "load.burstiness", needsRate, "give load.rate (--rate), or remove it")
	idle(!open, "load.conditioned", needsRate, "give load.rate (--rate), or remove it")
	idle(open && l.Arrivals != "gamma", "load.burstiness", "load.arrivals is "+l.Arrivals, "load.arrivals: gamma, or remove it")
	idle(open && l.Arrivals != "poisson", "load.conditioned", "load.arrivals is "+l.Arrivals, "load.arrivals: poisson, or remove it")
	idle(open && l.Arrivals == "poisson" && l.Requests == 0 && l.Sessions == 0, "load.conditioned", "load.duration alone does not fix the number of arrivals", "give load.requests, or remove it")
	idle(l.Ramp.Shape == "", "load.ramp.from", "load.ramp.shape is not given", "load.ramp.shape: linear or exponential")
	idle(l.Ramp.Shape == "", "load.ramp.duration", "load.ramp.shape is not given", "load.ramp.shape: linear or exponential")
	idle(!open && l.Requests == 0 && !s.Workload.Sessions, "load.tail", "a closed loop bound by load.duration issues until it ends, so nothing comes after", "give load.requests, or remove it")

	idle(!open || l.Arrivals == "constant" || replay, "seeds.arrivals", "no arrival is drawn at random", "load.arrivals: poisson or gamma, or remove it")
	idle(s.Workload.Order != "shuffle", "seeds.order", "workload.order is "+s.Workload.Order, "workload.order: shuffle, or remove it")

	const whole = "workload.stream is false: a whole answer has no token times"
	idle(!s.Workload.Stream, "report.slo.ttft_ms", whole, "use report.slo.e2e_ms")
	idle(!s.Workload.Stream, "report.slo.ttft_from_due_ms", whole, "use report.slo.e2e_from_due_ms")
	idle(!open && !s.Workload.Sessions, "report.slo.ttft_from_due_ms", "without load.rate no request is due before it is sent", "use report.slo.ttft_ms")
	idle(!open && !s.Workload.Sessions, "report.slo.e2e_from_due_ms", "without load.rate no request is due before it is sent", "use report.slo.e2e_ms")
	idle(!s.Workload.Stream, "report.slo.tpot_ms", whole, "use report.slo.e2e_ms")
	idle(!s.Workload.Stream, "report.slo.itl_ms", whole, "use report.slo.e2e_ms")
	idle(!s.Workload.Stream, "workload.sampling.stream_options", "workload.stream is false", "remove it")
	return out
}

// checkTogether checks fields side by side.
func (s *Spec) checkTogether() []Issue {
	c := &checker{s: s}
	seen := map[string]bool{}
	for _, e := range s.withoutEffect() {
		// A value that is off anyway ("insecure: false") asks for nothing.
		if !seen[e.path] && s.given(e.path) && !isOff(s, e.path) {
			seen[e.path] = true
			c.bad(e.path, e.mend, "has no effect: %s", e.why)
		}
	}
	c.credentials()
	c.plainHTTP2()
	c.abandon()
	c.abort()
	c.ramp()
	c.bounds()
	return c.issues
}

// isOff reports whether a field asks for nothing: false, or an empty text.
func isOff(s *Spec, path string) bool {
	switch path {
	case "load.conditioned":
		return !s.Load.Conditioned
	case "load.stagger":
		return s.Load.Stagger == 0
	case "target.session_header":
		return s.Target.SessionHeader == ""
	case "target.max_tokens_field":
		return s.Target.MaxTokensField == ""
	case "target.insecure":
		return !s.Target.Insecure
	case "target.ca_file", "target.cert_file", "target.key_file", "target.server_name", "target.proxy", "target.spread", "target.renew_after":
		v, _ := reach(reflect.ValueOf(s).Elem(), path)
		return v.IsZero()
	case "target.resolve":
		return s.Target.Resolve == Default().Target.Resolve
	case "target.custom":
		return reflect.ValueOf(s.Target.Custom).IsZero()
	case "target.custom.cumulative":
		return !s.Target.Custom.Cumulative
	case "workload.output_tokens":
		return s.Workload.OutputTokens == 0
	case "workload.dataset.extra":
		return len(s.Workload.Dataset.Extra) == 0
	case "workload.dataset.override":
		return len(s.Workload.Dataset.Override) == 0
	case "workload.system":
		return s.Workload.System == ""
	case "workload.stream":
		return s.Workload.Stream
	case "target.model":
		return s.Target.Model == ""
	case "load.tail":
		return s.Load.Tail == "none"
	case "load.retry.retry_after":
		return !s.Load.Retry.RetryAfter
	}
	return false
}

func isHTTPS(raw string) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(raw)), "https://")
}

// credentials refuses two values for one Authorization header.
func (c *checker) credentials() {
	t := c.s.Target
	_, _, inURL := splitUserinfo(t.URL)
	header := ""
	for name := range t.Headers {
		if strings.EqualFold(name, "Authorization") {
			header = "target.headers." + name
		}
	}
	switch {
	case t.APIKey != "" && header != "":
		c.bad(header, "keep one", "target.api_key sets the same header")
	case t.APIKey != "" && inURL:
		c.bad("target.url", "keep one", "user and password in the URL, and target.api_key, set the same header")
	case header != "" && inURL:
		c.bad("target.url", "keep one", "user and password in the URL, and %s, set the same header", header)
	}
}

func (c *checker) ramp() {
	l := c.s.Load
	if l.Ramp.Shape == "" || len(l.Stages) > 0 || l.Arrivals == "replay" {
		return
	}
	if l.Ramp.Duration == 0 {
		c.bad("load.ramp.duration", "such as 30s", "load.ramp.shape %s needs a length", l.Ramp.Shape)
		return
	}
	to, field := l.Rate, "load.rate"
	if l.Rate == 0 {
		to, field = float64(l.Concurrency), "load.concurrency"
		if c.s.Workload.Sessions {
			to, field = float64(l.SessionConcurrency), "load.session_concurrency"
		}
	}
	from, said := l.Ramp.From, fmt.Sprint(l.Ramp.From)
	if from == 0 {
		from, said = 1, "1 (when not given)"
	}
	if from >= to {
		hint := fmt.Sprintf("a ramp rises to %s: set load.ramp.from below it", field)
		if l.Rate == 0 && l.Concurrency <= 1 {
			hint = "give load.rate or load.concurrency for the ramp to rise to"
		}
		c.bad("load.ramp.from", hint, "%s is not below %s %v", said, field, to)
	}
	if l.Duration > 0 && l.Ramp.Duration > l.Duration {
		c.bad("load.ramp.duration", "make the ramp shorter, or the run longer", "the ramp of %s is longer than load.duration %s, so %s %v is never reached", l.Ramp.Duration, l.Duration, field, to)
	}
}

// bounds says what is allowed yet worth knowing, and refuses what cannot end.
func (c *checker) bounds() {
	l, t := c.s.Load, c.s.Limits
	switch {
	case c.s.Workload.Sessions:
		c.sessionBounds()
	case l.Requests == 0 && l.Duration == 0 && l.Arrivals != "replay" && len(l.Stages) == 0:
		c.bad("load.requests", "give load.requests or load.duration", "neither requests nor duration: the run would never end")
	case l.Concurrency == 0 && !l.Open() && len(l.Stages) == 0:
		c.bad("load.concurrency", "give load.concurrency or load.rate", "no cap needs a rate")
	}
	if l.Requests > 0 && l.Duration > 0 && len(l.Stages) == 0 {
		c.note("load.duration", "", "load.requests %d and load.duration %s both bound the run: it ends with whichever comes first", l.Requests, l.Duration)
	}
	if most := l.Requests + l.Warmup; l.Requests > 0 && !c.s.Workload.Sessions && l.Concurrency > most && c.s.given("load.concurrency") {
		c.note("load.concurrency", "", "%d is never reached: there are %d requests", l.Concurrency, most)
	}
	for _, f := range []struct {
		path  string
		value Duration
	}{{"limits.connect", t.Connect}, {"limits.first_token", t.FirstToken}, {"limits.idle", t.Idle}} {
		if t.Total > 0 && f.value > t.Total && c.s.given(f.path) {
			c.note(f.path, "", "%s never ends a request: limits.total %s comes first", f.value, t.Total)
		}
	}
	drawn := l.Open() && l.Arrivals != "constant" && l.Arrivals != "replay" && c.s.Seeds.Arrivals == nil ||
		c.s.Workload.Order == "shuffle" && c.s.Seeds.Order == nil ||
		len(c.s.Workload.Mix) > 1 && c.s.Seeds.Mix == nil ||
		c.s.Workload.Sessions && l.Think.Mean > 0 && l.Think.Kind != "fixed" && c.s.Seeds.Think == nil ||
		l.Attempts > 1 && l.Retry.Backoff.Initial > 0 && l.Retry.Backoff.Jitter > 0 && c.s.Seeds.Retry == nil ||
		l.Abandon.Share > 0 && l.Abandon.Share < 1 && c.s.Seeds.Abandon == nil
	if !drawn && c.s.given("seeds.run") && c.s.from["seeds.run"].origin != lookOrigin {
		c.note("seeds.run", "", "nothing is drawn from it: arrivals and order are fixed here (a trace has its prompts made from it)")
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
