package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tokentape/tape"
)

// States of a Capability.
const (
	StateObserved = "observed"
	StateInferred = "inferred"
	StateNone     = "not_observed"
)

// RequestName is what people call a request: "request 12" of the plan, and beyond it
// "probe-3" and "prepare-0".
func RequestName(seq int64) string {
	switch {
	case seq >= tape.ProbeSeq:
		return "probe-" + strconv.FormatInt(seq-tape.ProbeSeq, 10)
	case seq >= tape.PrepareSeq:
		return "prepare-" + strconv.FormatInt(seq-tape.PrepareSeq, 10)
	}
	return "request " + thousands(seq)
}

// Probe is how the server was looked at before the load, or without one: steps with
// their verdicts, and what they proved of it.
type Probe struct {
	// Only says that the tape holds a probe and no load.
	Only  bool        `json:"only,omitempty"`
	Steps []ProbeStep `json:"steps,omitempty"` // in order of time
	// Capabilities are all that a probe looks for, known or not; none where nothing
	// was asked but the model list and the engine.
	Capabilities []Capability `json:"capabilities,omitempty"`
	Requests     int64        `json:"requests"` // of phase probe, in counts.preparation
}

// ProbeStep is a step of looking at the server.
type ProbeStep struct {
	Name    string   `json:"name"`
	Result  string   `json:"result"` // "ok", "failed", "not_observed"
	MS      *float64 `json:"duration_ms"`
	Seen    string   `json:"seen,omitempty"`
	Do      string   `json:"do,omitempty"` // what mends it
	URL     string   `json:"url,omitempty"`
	Status  *int64   `json:"http_status,omitempty"`
	Headers []string `json:"headers,omitempty"`
	Request string   `json:"request,omitempty"` // "probe-0"
}

// Capability is something that the server can or cannot report, or do.
type Capability struct {
	Name  string `json:"name"`
	State string `json:"state"`           // StateObserved, StateInferred, StateNone
	Value string `json:"value,omitempty"` // "" of StateNone
	From  string `json:"from,omitempty"`  // from what it is known, or why it is not
	// Server is the URL of the one that was asked, where several were.
	Server string `json:"server,omitempty"`
}

// probeVerdict judges a tape of a probe alone: the checks of the tape, and whether
// every step went well.
func (r *run) probeVerdict(res *Results) Verdict {
	v := Verdict{Fit: true, Checks: []Check{r.tapeComplete(), r.tapeConsistent(), r.countsAddUp(res)}}
	var failed []string
	for _, s := range res.Probe.Steps {
		if s.Result == tape.StepFailed {
			failed = append(failed, strconv.Quote(s.Name))
		}
	}
	all := plural(int64(len(res.Probe.Steps)), "step")
	v.Line = "probe: " + all + ", none failed"
	if n := int64(len(r.header.Notes)); n > 0 {
		v.Line += "; " + plural(n, "note")
	}
	if len(failed) > 0 {
		v.Fit, v.Line = false, fmt.Sprintf("probe: %d of %s failed: %s", len(failed), all, strings.Join(failed, ", "))
	}
	for i := range v.Checks {
		c := &v.Checks[i]
		if c.Result != ResultMiss {
			c.Do = ""
		} else if c.Name != "tape_complete" || r.footer == nil || r.footer.Reason != tape.ReasonProbe || len(r.faults) > 0 {
			v.Fit, v.Line = false, v.Line+"; "+missed[c.Name]
		} else {
			c.Result, c.Do = ResultPass, ""
			c.Why = "the probe ended by itself, with a step that failed"
		}
	}
	return v
}

// probe is the section, nil where the tape says nothing of it.
func (r *run) probe() *Probe {
	p := &Probe{Only: r.header.Plan.Kind == "none"}
	for i := range r.reqs {
		if r.reqs[i].Phase == tape.PhaseProbe {
			p.Requests++
		}
	}
	steps := slices.Clone(r.steps)
	slices.SortStableFunc(steps, func(a, b tape.Step) int { return cmp.Compare(a.T.Or(0), b.T.Or(0)) })
	if slices.ContainsFunc(steps, func(s tape.Step) bool { return !s.T.OK }) {
		steps = r.steps // some have no time: as they were written
	}
	for _, s := range steps {
		out := ProbeStep{Name: s.Name, Result: s.Result, Seen: s.Seen, Do: s.Do, URL: s.URL, Headers: s.Headers}
		if s.Took.OK {
			out.MS = ref(float64(s.Took.V) / 1e6)
		}
		if s.Status.OK {
			out.Status = &s.Status.V
		}
		if s.Request.OK && s.Request.V >= tape.ProbeSeq {
			out.Request = RequestName(s.Request.V)
		}
		p.Steps = append(p.Steps, out)
	}
	if len(r.caps) > 0 {
		p.Capabilities = r.capabilities()
	}
	if len(p.Steps) == 0 && len(p.Capabilities) == 0 && p.Requests == 0 && !p.Only {
		return nil
	}
	return p
}

// capabilities are those of each server that was asked.
func (r *run) capabilities() []Capability {
	type server struct{ part, url int64 }
	var order []server
	by := map[server][]*tape.Capabilities{}
	for _, c := range r.caps {
		s := server{c.Part.Or(0), c.URL.Or(0)}
		if by[s] == nil {
			order = append(order, s)
		}
		by[s] = append(by[s], c)
	}
	var out []Capability
	for _, s := range order {
		list := inOne(by[s])
		if len(order) > 1 {
			name := r.serverName(s.part, s.url)
			for i := range list {
				list[i].Server = name
			}
		}
		out = append(out, list...)
	}
	return out
}

// serverName is the URL of a server, of a merged tape with its part.
func (r *run) serverName(part, url int64) string {
	h, of := r.header, ""
	if parts := r.parts(); part >= 0 && part < int64(len(parts)) {
		h, of = &parts[part].Header, fmt.Sprintf(" (part %d)", part)
	}
	if url >= 0 && url < int64(len(h.Server.URLs)) {
		return h.Server.URLs[url] + of
	}
	if url == 0 {
		return h.Server.URL + of
	}
	return fmt.Sprintf("server %d%s", url, of)
}

// inOne are lines of one server, a later one adding to the earlier ones.
func inOne(lines []*tape.Capabilities) []Capability {
	var out []Capability
	add := func(name string, value func(c *tape.Capabilities) string) {
		k := Capability{Name: name, State: StateNone}
		for _, c := range lines {
			if v := value(c); v != "" {
				k.State, k.Value = StateObserved, v
				if slices.Contains(c.Inferred, name) {
					k.State = StateInferred
				}
				k.From = c.How[name]
			} else if k.State == StateNone && c.How[name] != "" {
				k.From = c.How[name]
			}
		}
		out = append(out, k)
	}
	text := func(of func(c *tape.Capabilities) string) func(c *tape.Capabilities) string { return of }
	yes := func(of func(c *tape.Capabilities) tape.Opt[bool]) func(c *tape.Capabilities) string {
		return func(c *tape.Capabilities) string {
			if v := of(c); v.OK {
				return yesNo(v.V)
			}
			return ""
		}
	}
	number := func(of func(c *tape.Capabilities) tape.Opt[int64]) func(c *tape.Capabilities) string {
		return func(c *tape.Capabilities) string {
			if v := of(c); v.OK {
				return strconv.FormatInt(v.V, 10)
			}
			return ""
		}
	}
	list := func(of func(c *tape.Capabilities) []string) func(c *tape.Capabilities) string {
		return func(c *tape.Capabilities) string { return strings.Join(of(c), ", ") }
	}
	add("entry", text(func(c *tape.Capabilities) string { return c.Entry }))
	add("model", text(func(c *tape.Capabilities) string { return c.Model }))
	add("context", number(func(c *tape.Capabilities) tape.Opt[int64] { return c.Context }))
	add("usage", text(func(c *tape.Capabilities) string { return c.Usage }))
	add("usage_whole", yes(func(c *tape.Capabilities) tape.Opt[bool] { return c.UsageWhole }))
	add("cached_tokens", text(func(c *tape.Capabilities) string {
		if found := cachedFound(c); found != tape.CachedUnknown {
			return found
		}
		return ""
	}))
	add("cached_fields", list(func(c *tape.Capabilities) []string { return c.CachedFields }))
	add("speculation", list(func(c *tape.Capabilities) []string { return c.Speculation }))
	add("reasoning_field", text(func(c *tape.Capabilities) string { return c.ReasoningField }))
	add("tokens_per_event", func(c *tape.Capabilities) string {
		if !c.TokensPerEvent.OK {
			return ""
		}
		return fmt.Sprintf("%.3g", c.TokensPerEvent.V)
	})
	add("role_first", yes(func(c *tape.Capabilities) tape.Opt[bool] { return c.RoleFirst }))
	add("role_chunk", text(func(c *tape.Capabilities) string { return c.RoleChunk }))
	add("finish", list(func(c *tape.Capabilities) []string { return c.Finish }))
	add("max_tokens_field", text(func(c *tape.Capabilities) string { return c.MaxTokensField }))
	tried := map[string]bool{"ignore_eos": true, "min_tokens": true}
	for _, c := range lines {
		for name := range c.Honoured {
			tried[name] = true
		}
		for _, name := range lengthNames {
			if c.How[name] != "" {
				tried[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tried)) {
		add(name, func(c *tape.Capabilities) string {
			if v, ok := c.Honoured[name]; ok {
				if v {
					return "honoured"
				}
				return "not honoured"
			}
			return ""
		})
	}
	add("chat_overhead", number(func(c *tape.Capabilities) tape.Opt[int64] { return c.ChatOverhead }))
	return out
}

// lengthNames are fields that bound the output under the APIs that are known.
var lengthNames = []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "num_predict", "n_predict", "min_new_tokens"}

func yesNo(v bool) string {
	if v {
		return "yes"
	}
	return "no"
}
