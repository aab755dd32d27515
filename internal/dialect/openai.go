package dialect

import (
	"bytes"
	"encoding/json"

	"tokentape/internal/workload"
	"tokentape/tape"
)

// openAI is the API of OpenAI as the engines speak it: chat completions or
// completions.
type openAI struct {
	api
	chat bool
}

func newOpenAI(name, path string, chat bool) Dialect {
	d := openAI{chat: chat}
	d.api = api{
		name: name, path: path, lengths: []string{"max_tokens", "max_completion_tokens"}, usageOption: true,
		decoder: func() Decoder { return &openAIDecoder{chat: chat} },
	}
	return d
}

// Body is the request body of the item.
func (d openAI) Body(item workload.Item, o Options) ([]byte, error) {
	return d.body(item, o, func(f, _ *fields) error {
		if err := f.model(o); err != nil {
			return err
		}
		if d.chat {
			if err := f.messages("messages", item, ""); err != nil {
				return err
			}
		} else if err := f.promptOrIDs("prompt", "prompt", item, d.name); err != nil {
			return err
		}
		f.stream(o)
		if o.Stream {
			f.set("stream_options", []byte(`{"include_usage":true}`))
		}
		return nil
	})
}

// Choices is the n of the body.
func (d openAI) Choices(item workload.Item, o Options) int64 {
	raw := []byte(item.Extra["n"])
	switch {
	case raw != nil:
	case item.Body == nil && o.Sampling["n"] != nil:
		raw, _ = json.Marshal(o.Sampling["n"])
	case item.Body == nil:
	case bytes.Contains(item.Body, []byte(`"n"`)):
		var body struct {
			N json.RawMessage `json:"n"`
		}
		if json.Unmarshal(item.Body, &body) == nil {
			raw = body.N
		}
	}
	n, _ := wholeNumber(raw)
	return max(n, 1)
}

type openAIDecoder struct {
	core
	chat    bool
	total   bool  // a usage object of the whole response gave an output count
	running int64 // last running output-token count; what it counts is the whole response

	last alike // the event before, when one text was all its output
	said value // the string that gave the last text
}

func (d *openAIDecoder) Reset() {
	d.core.Reset()
	d.total, d.running = false, Unknown
	d.last.forget()
}

// parts are the fields of a payload that matter. One pass finds them: looking
// each up is what costs most, above all for those that are not there.
type parts struct {
	choices, usage, err, object, timings, sglext, metrics value
}

func (d *openAIDecoder) parts() (p parts) {
	for _, m := range d.fields {
		switch string(m.key) {
		case "choices":
			p.choices = m.val
		case "usage":
			p.usage = m.val
		case "error":
			p.err = m.val
		case "object":
			p.object = m.val
		case "timings":
			p.timings = m.val
		case "sglext":
			p.sglext = m.val
		case "metrics":
			p.metrics = m.val
		}
	}
	return p
}

// failure is the error object of the payload and whether the payload itself is
// one: {"object":"error","message":…} is how vLLM and others said it before.
func (p parts) failure(named bool) (e value, itself bool) {
	return p.err, named || string(p.object) == `"error"`
}

func (d *openAIDecoder) Event(name string, payload []byte, dst []Mark) []Mark {
	if name == "" {
		if text := d.last.text(payload); len(text) > len(`""`) {
			d.buf = d.buf[:0]
			d.give(0, d.last.mark.Kind, d.last.mark.Choice, d.str(text))
			return append(dst, d.last.mark)
		}
	}
	d.last.forget()
	d.pieces, d.said = 0, nil
	mark, ok := d.open(name, payload)
	if !ok {
		return append(dst, mark)
	}
	p := d.parts()
	running := d.usage(p.usage)
	d.beside(p)
	marked := len(dst)
	dst, first := d.all(p.choices, running, dst)
	if e, itself := p.failure(name == "error"); d.failed(e, itself) {
		return append(dst[:marked], errorMark(first.index))
	}
	before := d.running
	if running != Unknown {
		d.running = running
	}
	mark.Choice = first.index
	switch {
	case len(dst) > marked:
		if name == "" && d.pieces == 1 && d.said != nil {
			d.last.learn(d.raw, d.said, dst[marked])
		}
		return dst
	case !first.seen && running != Unknown:
		mark.Kind = tape.KindUsage
	case !first.seen:
	case first.finish:
		mark.Kind = tape.KindFinish
	case first.over && running != Unknown: // usage beside a dummy choice
		mark.Kind = tape.KindUsage
	case before != Unknown && running > before:
		mark.Kind, mark.Tok = tape.KindHidden, running
	default:
		mark.Kind, mark.Tok = tape.KindRole, running
	}
	return append(dst, mark)
}

// lead is what the choices of an event without output say: the first one's
// index, whether it was over before, and whether any gave a finish reason.
type lead struct {
	index              int32
	seen, over, finish bool
}

// all reads the choices and appends a mark for each that carries output.
func (d *openAIDecoder) all(choices value, running int64, dst []Mark) ([]Mark, lead) {
	var first lead
	for e := choices.elements(); e.next(); {
		m := e.members()
		if m.b == nil {
			continue
		}
		c := fieldsOf(&m)
		e.past(&m)
		i := index(c.index)
		if !first.seen {
			first = lead{index: i, seen: true, over: d.over(i)}
		}
		kind := byte(0)
		if !d.chat {
			kind = d.say(0, tape.KindContent, i, c.text)
		} else if c.delta != nil {
			kind = d.delta(c.delta, i)
		}
		reason := c.finish
		if reason.is('{') {
			reason = reason.get("type")
		}
		if d.end(i, d.str(reason)) {
			first.finish = true
		}
		if c.usage != nil {
			d.own(c.usage, i)
		}
		if c.meta != nil {
			d.metaDrafts(c.meta, d.choice(i))
			d.speculated()
		}
		if kind != 0 {
			dst = append(dst, Mark{Kind: kind, Choice: i, Tok: running})
		}
	}
	return dst, first
}

// choiceFields are the fields of a choice that matter.
type choiceFields struct {
	index, delta, text, finish, usage, meta value
}

func fieldsOf(m *members) (c choiceFields) {
	for m.next() {
		switch string(m.key) {
		case "index":
			c.index = m.val
		case "delta", "message":
			c.delta = m.val
		case "text":
			c.text = m.val
		case "finish_reason":
			c.finish = m.val
		case "usage":
			c.usage = m.val
		case "meta_info": // SGLang, asked with return_meta_info
			c.meta = m.val
		}
	}
	return c
}

// delta reads a delta, or the message of a one-shot answer.
func (d *openAIDecoder) delta(v value, i int32) (kind byte) {
	var thought, thought2, content, refusal, calls, function value
	for m := v.members(); m.next(); {
		switch string(m.key) {
		case "content":
			content = m.val
		case "reasoning_content":
			thought = m.val
		case "reasoning":
			thought2 = m.val
		case "refusal":
			refusal = m.val
		case "tool_calls":
			calls = m.val
		case "function_call": // the older form
			function = m.val
		}
	}
	// Two names for the same thing: when both carry text, it is one text.
	if kind = d.say(kind, tape.KindReasoning, i, thought); kind == 0 {
		kind = d.say(kind, tape.KindReasoning, i, thought2)
	}
	kind = d.say(kind, tape.KindContent, i, content)
	for e := content.elements(); e.next(); {
		kind = d.give(kind, tape.KindContent, i, d.str(e.val().get("text")))
	}
	kind = d.give(kind, tape.KindRefusal, i, d.str(refusal))
	at := int32(0)
	for e := calls.elements(); e.next(); at++ {
		call := at // a message's calls have no index, a delta's say theirs
		if n := e.val().get("index"); n != nil {
			call = index(n)
		}
		f := e.val().get("function")
		kind = d.call(kind, i, call, f.get("name"), f.get("arguments"))
	}
	return d.call(kind, i, 0, function.get("name"), function.get("arguments"))
}

// say is give of a string, which is remembered.
func (d *openAIDecoder) say(before, kind byte, i int32, v value) byte {
	text := d.str(v)
	if len(text) > 0 {
		d.said = v
	}
	return d.give(before, kind, i, text)
}

// usage takes the counts of a usage object; the last word on each wins. It
// returns the output count that this one carried.
func (d *openAIDecoder) usage(u value) int64 {
	if !u.is('{') {
		return Unknown
	}
	var p usage
	p.read(&d.core, u)
	d.details(p)
	if p.output != Unknown {
		d.total = true
		d.core.output(p.output, tape.SourceUsage)
	}
	return p.output
}

// own takes the usage that a choice carries (Moonshot): the output count is that
// choice's own, so they are added up, unless the response has a usage object.
func (d *openAIDecoder) own(u value, i int32) {
	var p usage
	if d.total || !u.is('{') {
		return
	}
	p.read(&d.core, u)
	d.details(p)
	if p.output == Unknown {
		return
	}
	d.choice(i).output = p.output
	d.sum(tape.SourceUsage)
}

func (d *openAIDecoder) details(p usage) {
	d.input(p.input, tape.SourceUsage)
	set(&d.facts.Cached, p.cached)
	set(&d.facts.Reasoning, p.reasoning)
	if !d.ownDrafts {
		set(&d.facts.Accepted, p.accepted)
		set(&d.facts.Rejected, p.rejected)
	}
}

// beside takes what engines add to the API.
func (d *openAIDecoder) beside(p parts) {
	d.timings(p.timings)
	if p.sglext != nil {
		d.sglext(p.sglext)
		d.tiers(p.sglext.get("cached_tokens_details"))
	}
	if p.metrics != nil {
		d.vllmMetrics(p.metrics)
	}
}

// usage are the counts of a usage object.
type usage struct {
	input, output, cached, reasoning, accepted, rejected int64
}

// read takes the counts of u, and notes with c what is none.
func (p *usage) read(c *core, u value) {
	*p = usage{Unknown, Unknown, Unknown, Unknown, Unknown, Unknown}
	hit, thought := Unknown, Unknown
	for m := u.members(); m.next(); {
		switch string(m.key) {
		case "prompt_tokens", "input_tokens":
			p.input = c.count("input", m.val)
		case "completion_tokens", "output_tokens":
			p.output = c.count("output", m.val)
		case "prompt_tokens_details", "input_tokens_details":
			p.cached = c.count("cached", m.val.get("cached_tokens"))
		case "prompt_cache_hit_tokens": // DeepSeek
			hit = c.count("cached", m.val)
		case "reasoning_tokens": // SGLang
			thought = c.count("reasoning", m.val)
		case "completion_tokens_details", "output_tokens_details":
			for m := m.val.members(); m.next(); {
				switch string(m.key) {
				case "reasoning_tokens":
					p.reasoning = c.count("reasoning", m.val)
				case "accepted_prediction_tokens":
					p.accepted = c.count("accepted", m.val)
				case "rejected_prediction_tokens":
					p.rejected = c.count("rejected", m.val)
				}
			}
		}
	}
	if p.cached == Unknown {
		p.cached = hit
	}
	if p.reasoning == Unknown {
		p.reasoning = thought
	}
}

// Whole reads a one-shot body.
func (d *openAIDecoder) Whole(body []byte) {
	if !d.whole(body) {
		return
	}
	p := d.parts()
	d.usage(p.usage)
	d.beside(p)
	d.all(p.choices, Unknown, nil)
	e, itself := p.failure(false)
	if !d.failed(e, itself) && p.choices.at(0) == nil {
		d.malformed(body)
	}
}
