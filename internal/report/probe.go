package report

import (
	"cmp"
	"slices"
	"strings"

	"tokentape/internal/analysis"
)

// probePage is the report of a tape that holds a probe and no load.
func (c *console) probePage() {
	st := green
	if !c.r.Verdict.Fit {
		st = red
	}
	c.hang("", clean(strings.Replace(c.r.Verdict.Line, "probe:", "PROBE ·", 1)), st)
	a := c.r.About
	c.hang("  ", clean(join(" · ", a.URL, a.API, a.Model, join(" ", a.Engine, a.Version))), plain)
	c.hang("  ", clean(join(" · ", c.r.Run, toSecond(a.Started), join(": ", orAbsent(a.Stop), a.StopWhy))), dim)
	for _, k := range missed(c.r.Verdict) {
		c.check(k)
	}
	c.probed()
	c.list("Notes", c.r.Notes)
	c.list("Damage found on the tape", a.Faults)
}

// probed are the steps and what they proved.
func (c *console) probed() {
	p := c.r.Probe
	if p == nil {
		return
	}
	if len(p.Steps) > 0 {
		c.heading("Steps: what was tried, how long it took, what was seen")
		width := 0
		for _, s := range p.Steps {
			width = max(width, columns.StringWidth(clean(s.Name+parensAfter(s.Request))))
		}
		var shown []string
		told := map[string]string{} // what was seen and what to do, by the step that said it first
		for _, s := range p.Steps {
			word, st := stepWord(s.Result)
			took := ""
			if s.MS != nil {
				took = measure(s.MS, "ms")
			}
			seen, do := s.Seen, s.Do
			if first := told[seen]; first != "" && s.Result != "ok" && len(seen) > shortSeen {
				seen, do = c.said("the same as "+first), ""
			} else {
				told[seen] = s.Name
			}
			if told[do] != "" {
				do = ""
			}
			told[do] = s.Name
			word, seen = c.said(word), c.saidList(seen)
			if severalServers(p) {
				seen = join(", ", s.URL, seen)
			}
			if s.Status != nil {
				seen = join(", ", c.said("status "+count(*s.Status)), seen)
			}
			name := clean(s.Name + parensAfter(s.Request))
			switch {
			case c.md:
				c.quote("  ", clean(join(" · ", word+" "+name, took, seen)), st)
			case columns.StringWidth(seen) > mostLines*max(c.width-width-32, 1): // on lines of its own
				c.line("  "+pad(word, 13, false)+pad(name, width, false)+"  "+pad(took, 13, true), st)
				c.quote("               ", clean(seen), st)
			default:
				c.quote("  "+pad(word, 13, false)+pad(name, width, false)+"  "+pad(took, 13, true)+"  ", clean(seen), st)
			}
			if do != "" {
				c.quote("               → ", clean(c.said(do)), st)
			}
			if len(s.Headers) > 0 && !slices.Equal(s.Headers, shown) {
				shown = s.Headers
				c.quote("               ", clean(join(" · ", s.URL, strings.Join(s.Headers, " · "))), dim)
			}
		}
	}
	if len(p.Capabilities) == 0 {
		return
	}
	server := ""
	for i, k := range p.Capabilities {
		if i == 0 || k.Server != server {
			server = k.Server
			c.heading("What the server reports and obeys" + clean(parensAfter(server)))
		}
		lead := "  " + pad(clean(k.Name), 22, false) + " "
		value, from := k.Value, c.said(k.From)
		if ownWords[value] {
			value = c.said(value)
		}
		switch k.State {
		case analysis.StateNone:
			c.quote(lead, clean(join(": ", c.said(absent), from)), dim)
		case analysis.StateInferred:
			c.quote(lead, clean(value+" ("+c.said("inferred")+": "+cmp.Or(from, c.said(absent))+")"), plain)
		default:
			c.quote(lead, clean(value+parensAfter(from)), plain)
		}
	}
}

// ownWords are values of a capability that are no names.
var ownWords = map[string]bool{"yes": true, "no": true, "honoured": true, "not honoured": true}

// severalServers reports that more than one was asked.
func severalServers(p *analysis.Probe) bool {
	return slices.ContainsFunc(p.Capabilities, func(k analysis.Capability) bool { return k.Server != p.Capabilities[0].Server })
}

// What a step saw is said once where it is longer than so many bytes, and has lines of
// its own where it would take more than so many beside the name.
const (
	shortSeen = 40
	mostLines = 2
)

func parensAfter(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// stepWord is the verdict of a step as it is shown.
func stepWord(result string) (string, style) {
	switch result {
	case "ok":
		return "ok", plain
	case "failed":
		return "FAILED", red
	}
	return absent, dim
}

// probeLine is what a probe before the load found, in one line; "" for nothing.
func (c *console) probeLine() string {
	p := c.r.Probe
	if p == nil || len(p.Capabilities) == 0 {
		return ""
	}
	of := func(name string) string {
		var each []string // of the servers
		for _, k := range p.Capabilities {
			if k.Name != name {
				continue
			}
			v := absent
			if k.State != analysis.StateNone {
				v = strings.ReplaceAll(k.Value, "_", " ")
			}
			each = append(each, v)
		}
		if len(slices.Compact(slices.Clone(each))) > 1 { // by server, in their order
			return strings.Join(each, " | ")
		}
		return cmp.Or(strings.Join(each[:min(1, len(each))], ""), absent)
	}
	return count(p.Requests) + " " + plural(p.Requests, "request") + " · usage " + of("usage") + " · cached tokens " + of("cached_tokens") + " · model " + of("model")
}
