package aisbenchconfig

import (
	"regexp"
	"slices"
	"strings"

	"tokentape/internal/importer/aisbench/pyconf"
)

// message is a part of a prompt template.
type message struct{ role, text string }

// prompt is a template in our form.
type prompt struct {
	messages []message
	at       pyconf.Field
	given    bool
}

var placeholder = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_.]*)\}`)

// braces turns a template of AISBench into one of ours: its known columns stay
// placeholders, the answer is blanked, and every other brace is a brace.
func braces(s string, columns []string, answer string) string {
	var b strings.Builder
	literal := func(t string) { b.WriteString(strings.NewReplacer("{", "{{", "}", "}}").Replace(t)) }
	at := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(s, -1) {
		name := s[m[2]:m[3]]
		if name == answer && !slices.Contains(columns, name) || name == answer && name == "answer" {
			literal(s[at:m[0]])
			at = m[1]
			continue
		}
		if len(columns) > 0 && !slices.Contains(columns, name) {
			continue
		}
		literal(s[at:m[0]])
		b.WriteString(s[m[0]:m[1]])
		at = m[1]
	}
	literal(s[at:])
	return b.String()
}

// hasField reports whether a template of ours asks for a field.
func hasField(s string) bool {
	return placeholder.MatchString(strings.NewReplacer("{{", "", "}}", "").Replace(s))
}

var roles = map[string]string{"HUMAN": "user", "USER": "user", "BOT": "assistant", "ASSISTANT": "assistant", "SYSTEM": "system", "TOOL": "tool"}

// template reads prompt_template.
func (c *converter) template(d *pyconf.Dict, columns []string, answer string) prompt {
	r := c.record(d, "prompt template")
	last, _, tf := r.class("type")
	if last != "PromptTemplate" && last != "MultiTurnPromptTemplate" && last != "" {
		c.warn(tf.At, "prompt_template", "the class %s is read as PromptTemplate", last)
	}
	f, ok := r.field("template")
	p := prompt{at: f, given: ok}
	switch v := f.Value.(type) {
	case string:
		p.messages = []message{{"user", braces(v, columns, answer)}}
	case *pyconf.Dict:
		t := c.record(v, "template")
		for _, part := range []string{"begin", "round", "end"} {
			p.messages = append(p.messages, c.round(t, part, columns, answer)...)
		}
		t.rest("has no meaning in a template here: round and begin have")
	case nil:
	default:
		c.refuse(f.At, `such as template="{question}"`, "template is %s", kindOf(f.Value))
	}
	r.idle("ice_token", "has no meaning here: no examples are put in front (ZeroRetriever)")
	r.rest("has no meaning in a prompt template here")
	// The answer is blanked, so that a last BOT says nothing.
	for len(p.messages) > 0 && p.messages[len(p.messages)-1].role == "assistant" {
		p.messages = p.messages[:len(p.messages)-1]
	}
	return p
}

func (c *converter) round(t *record, part string, columns []string, answer string) []message {
	f, ok := t.field(part)
	if !ok {
		return nil
	}
	if s, isText := f.Value.(string); isText {
		return []message{{"user", braces(s, columns, answer)}}
	}
	list, ok := f.Value.([]pyconf.Value)
	if !ok {
		c.refuse(f.At, `such as round=[dict(role="HUMAN", prompt="{question}")]`, "%s is %s", part, kindOf(f.Value))
	}
	var out []message
	for _, v := range list {
		switch v := v.(type) {
		case string:
			if strings.Contains(v, "</E>") {
				continue // where examples would stand
			}
			out = append(out, message{"user", braces(v, columns, answer)})
		case *pyconf.Dict:
			m := c.record(v, "message")
			name, rf := m.text("role")
			role := roles[strings.ToUpper(name)]
			if role == "" {
				c.refuse(at(rf, v), "HUMAN, BOT or SYSTEM", "the role %q is not known", name)
			}
			text, pf := m.text("prompt")
			if p, present := v.Get("prompt"); present {
				if _, isList := p.Value.([]pyconf.Value); isList {
					c.refuse(pf.At, "images and the like go as rows of messages: docs/datasets.md", "a prompt in parts is not read here")
				}
			}
			m.seen["fallback_role"], m.seen["begin"], m.seen["end"] = true, true, true
			m.rest("has no meaning in a message here")
			out = append(out, message{role, braces(text, columns, answer)})
		default:
			c.refuse(f.At, "", "%s holds %s", part, kindOf(v))
		}
	}
	return out
}

func at(f pyconf.Field, d *pyconf.Dict) pyconf.Pos {
	if f.At.Line > 0 {
		return f.At
	}
	return d.At
}

// writePrompt writes a template: a prompt and a system message where that says it,
// the whole body where it needs several messages.
func (j *job) writePrompt(p prompt, m *model, rows *rowsOf) {
	c := j.c
	var system, rest []message
	for _, one := range p.messages {
		if one.role == "system" && len(rest) == 0 {
			system = append(system, one)
		} else {
			rest = append(rest, one)
		}
	}
	chat := m.class.api == "openai-chat"
	if !chat { // what a plain model gets: all texts, a line each
		var all []string
		for _, one := range p.messages {
			if one.text != "" {
				all = append(all, one.text)
			}
		}
		if text := strings.Join(all, "\n"); text != "" {
			j.sheet.set("workload.template", text, c.from(p.at))
			rows.template = text
		}
		return
	}
	switch {
	case len(rest) == 1 && rest[0].role == "user" && len(system) <= 1 && (len(system) == 0 || !hasField(system[0].text)):
		if len(system) == 1 {
			j.sheet.set("workload.system", strings.NewReplacer("{{", "{", "}}", "}").Replace(system[0].text), c.from(p.at))
		}
		if rest[0].text == "" {
			c.refuse(p.at.At, `such as template="{question}"`, "the template is empty")
			return
		}
		j.sheet.set("workload.template", rest[0].text, c.from(p.at))
		rows.template = rest[0].text
	case len(rest) == 0:
		c.refuse(p.at.At, `such as template="{question}"`, "the template asks nothing")
	default:
		rows.body = append(system, rest...)
		rows.bodyNote = c.from(p.at)
	}
}
