package dialect

import (
	"bytes"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fastjson"

	"tokentape/internal/dialect/frame"
	"tokentape/tape"
)

// openAI is the API of OpenAI as the engines speak it: chat completions or
// completions.
type openAI struct {
	name, path string
	chat       bool
}

func (d openAI) Name() string        { return d.name }
func (d openAI) Path() string        { return d.path }
func (d openAI) Framing() frame.Kind { return frame.SSE }

func (d openAI) NewDecoder() Decoder {
	dec := &openAIDecoder{chat: d.chat}
	dec.Reset()
	return dec
}

// Bounds of what a decoder keeps of a payload, in bytes.
const (
	maxSample  = 200
	maxMessage = 500
	maxName    = 200     // finish reason, error code and type
	maxChoices = 1024    // choices told apart; more share the last one's state
	keepParser = 1 << 20 // payloads above this size do not keep their parser
)

const space = " \t\r\n"

type openAIDecoder struct {
	chat    bool
	parser  fastjson.Parser
	large   bool // parser holds a large buffer
	facts   Facts
	sink    Sink
	running int64 // last running output-token count
	choices []choiceState
}

type choiceState struct {
	index int32
	ended bool
}

func (d *openAIDecoder) Reset() {
	if d.large {
		d.parser, d.large = fastjson.Parser{}, false
	}
	d.facts = Facts{
		Input: Unknown, Output: Unknown, Cached: Unknown, Reasoning: Unknown,
		Accepted: Unknown, Rejected: Unknown, Verify: Unknown,
	}
	d.sink, d.running, d.choices = nil, Unknown, d.choices[:0]
}

func (d *openAIDecoder) Facts() *Facts     { return &d.facts }
func (d *openAIDecoder) SetSink(sink Sink) { d.sink = sink }

func (d *openAIDecoder) Event(name string, payload []byte, dst []Mark) []Mark {
	payload = bytes.Trim(payload, space)
	if string(payload) == "[DONE]" {
		d.facts.Done = true
		return append(dst, Mark{Kind: tape.KindDone, Tok: Unknown})
	}
	other := Mark{Kind: tape.KindOther, Tok: Unknown}
	if len(payload) == 0 {
		return append(dst, other)
	}
	v := d.parse(payload)
	if v == nil {
		switch name {
		case "error":
			d.fail(&ServerError{Message: clip(payload, maxMessage)})
			other.Kind = tape.KindError
		case "", "message":
			d.malformed(payload)
		} // an event of another name is none of ours
		return append(dst, other)
	}
	p := partsOf(v)
	running := d.usage(p.usage)
	marked := len(dst)
	dst, first := d.all(p.choices, running, dst)
	if e := p.serverError(v, name == "error"); e != nil {
		d.fail(e)
		return append(dst[:marked], Mark{Kind: tape.KindError, Choice: first.index, Tok: Unknown})
	}
	before := d.running
	if running != Unknown {
		d.running = running
	}
	switch {
	case len(dst) > marked:
	case !first.seen && running != Unknown:
		dst = append(dst, Mark{Kind: tape.KindUsage, Tok: Unknown})
	case !first.seen:
		dst = append(dst, other)
	case first.finish:
		dst = append(dst, Mark{Kind: tape.KindFinish, Choice: first.index, Tok: Unknown})
	case first.over && running != Unknown: // usage beside a dummy choice
		dst = append(dst, Mark{Kind: tape.KindUsage, Choice: first.index, Tok: Unknown})
	case before != Unknown && running > before:
		dst = append(dst, Mark{Kind: tape.KindHidden, Choice: first.index, Tok: running})
	default:
		dst = append(dst, Mark{Kind: tape.KindRole, Choice: first.index, Tok: running})
	}
	return dst
}

// parts are the fields of a payload that matter. One pass finds them: looking
// each up is what costs most, above all for those that are not there.
type parts struct {
	usage, err, object *fastjson.Value
	choices            []*fastjson.Value
}

func partsOf(v *fastjson.Value) (p parts) {
	v.GetObject().Visit(func(key []byte, v *fastjson.Value) {
		switch string(key) {
		case "choices":
			p.choices = v.GetArray()
		case "usage":
			p.usage = v
		case "error":
			p.err = v
		case "object":
			p.object = v
		}
	})
	return p
}

// lead is what the choices of an event without output say: the first one's
// index, whether it was over before, and whether any gave a finish reason.
type lead struct {
	index              int32
	seen, over, finish bool
}

// all reads the choices and appends a mark for each that carries output.
func (d *openAIDecoder) all(choices []*fastjson.Value, running int64, dst []Mark) ([]Mark, lead) {
	var first lead
	for _, v := range choices {
		if v.Type() != fastjson.TypeObject {
			continue
		}
		c := fieldsOf(v)
		index := int32(0)
		if n := count(c.index); n != Unknown {
			index = int32(min(n, math.MaxInt32))
		}
		kind, finish := d.choice(c, index)
		over := d.note(index, kind != 0, finish)
		if !first.seen {
			first = lead{index: index, seen: true, over: over}
		}
		first.finish = first.finish || finish
		if kind != 0 {
			dst = append(dst, Mark{Kind: kind, Choice: index, Tok: running})
		}
	}
	return dst, first
}

// note keeps count of the choices; it reports whether this one was over before.
func (d *openAIDecoder) note(index int32, output, finish bool) (over bool) {
	at := -1
	for i := range d.choices {
		if d.choices[i].index == index {
			at = i
			break
		}
	}
	if at < 0 {
		if !output && !finish {
			return false
		}
		if at = len(d.choices); at == maxChoices {
			at--
		} else {
			d.choices = append(d.choices, choiceState{index: index})
			d.facts.Choices++
		}
	}
	over = d.choices[at].ended
	if finish && !over {
		d.choices[at].ended = true
		d.facts.Ended++
	}
	return over
}

// choiceFields are the fields of a choice that matter.
type choiceFields struct {
	index, delta, text, finish *fastjson.Value
}

func fieldsOf(v *fastjson.Value) (c choiceFields) {
	v.GetObject().Visit(func(key []byte, v *fastjson.Value) {
		switch string(key) {
		case "index":
			c.index = v
		case "delta", "message":
			c.delta = v
		case "text":
			c.text = v
		case "finish_reason":
			c.finish = v
		}
	})
	return c
}

// choice gives a choice's output to the sink. kind is the letter of the output
// that matters most (content, then refusal, tool call, reasoning), 0 for none.
func (d *openAIDecoder) choice(c choiceFields, index int32) (kind byte, finish bool) {
	if !d.chat {
		kind = d.give(0, tape.KindContent, index, str(c.text))
	} else if c.delta != nil {
		kind = d.delta(c.delta, index)
	}
	reason := c.finish
	if reason != nil && reason.Type() == fastjson.TypeObject {
		reason = reason.Get("type")
	}
	if s := str(reason); len(s) > 0 {
		finish = true
		if d.facts.Finish == "" {
			d.facts.Finish = clip(s, maxName)
		}
	}
	return kind, finish
}

// delta reads a delta, or the message of a one-shot answer.
func (d *openAIDecoder) delta(v *fastjson.Value, index int32) (kind byte) {
	var thought, thought2, content, refusal, calls, call *fastjson.Value
	v.GetObject().Visit(func(key []byte, v *fastjson.Value) {
		switch string(key) {
		case "content":
			content = v
		case "reasoning_content":
			thought = v
		case "reasoning":
			thought2 = v
		case "refusal":
			refusal = v
		case "tool_calls":
			calls = v
		case "function_call": // the older form
			call = v
		}
	})
	// Two names for the same thing: when both carry text, it is one text.
	reasoning := str(thought)
	if len(reasoning) == 0 {
		reasoning = str(thought2)
	}
	kind = d.give(kind, tape.KindReasoning, index, reasoning)
	kind = d.give(kind, tape.KindContent, index, str(content))
	for _, part := range content.GetArray() {
		kind = d.give(kind, tape.KindContent, index, str(part.Get("text")))
	}
	kind = d.give(kind, tape.KindRefusal, index, str(refusal))
	for _, c := range calls.GetArray() {
		kind = d.function(kind, index, c.Get("function"))
	}
	return d.function(kind, index, call)
}

// function reads the name and arguments of a tool call. Arguments are a string
// of JSON; some servers send the object itself.
func (d *openAIDecoder) function(kind byte, index int32, f *fastjson.Value) byte {
	if f == nil {
		return kind
	}
	kind = d.give(kind, tape.KindTool, index, str(f.Get("name")))
	args := f.Get("arguments")
	if args != nil && args.Type() == fastjson.TypeObject {
		return d.give(kind, tape.KindTool, index, args.MarshalTo(nil))
	}
	return d.give(kind, tape.KindTool, index, str(args))
}

// give hands text to the sink; it returns the weightier of two token letters,
// before when there is no text.
func (d *openAIDecoder) give(before, kind byte, index int32, text []byte) byte {
	if len(text) == 0 {
		return before
	}
	d.facts.HasOutput = true
	d.facts.Refused = d.facts.Refused || kind == tape.KindRefusal
	if d.sink != nil {
		d.sink(kind, index, text)
	}
	if weight(kind) > weight(before) {
		return kind
	}
	return before
}

// weight orders the token letters by how much they say about a delta that has
// several kinds of output.
func weight(kind byte) int { return strings.IndexByte("stxc", kind) }

// Whole reads a one-shot body. A "data: [DONE]" behind it, which some proxies
// add, is passed over.
func (d *openAIDecoder) Whole(body []byte) {
	d.facts.Whole = true
	body = bytes.Trim(body, space)
	if end := bytes.LastIndexByte(body, '}') + 1; end > 0 && bytes.HasPrefix(bytes.TrimLeft(body[end:], space), []byte("data:")) {
		body = body[:end]
	}
	v := d.parse(body)
	if v == nil {
		d.malformed(body)
		return
	}
	p := partsOf(v)
	d.usage(p.usage)
	d.all(p.choices, Unknown, nil)
	if e := p.serverError(v, false); e != nil {
		d.fail(e)
	} else if len(p.choices) == 0 {
		d.malformed(body)
	}
}

// parse is the payload when it is a JSON object, nil otherwise.
func (d *openAIDecoder) parse(payload []byte) *fastjson.Value {
	if len(payload) == 0 || payload[0] != '{' || !valid(payload) {
		return nil
	}
	d.large = d.large || len(payload) > keepParser
	v, err := d.parser.ParseBytes(payload)
	if err != nil {
		return nil
	}
	return v
}

// usage takes the counts of a usage object; the last word on each wins. It
// returns the output count that this one carried.
func (d *openAIDecoder) usage(u *fastjson.Value) int64 {
	if u == nil || u.Type() != fastjson.TypeObject {
		return Unknown
	}
	set := func(dst *int64, v *fastjson.Value) bool {
		n := count(v)
		if n != Unknown {
			*dst = n
		}
		return n != Unknown
	}
	set(&d.facts.Input, u.Get("prompt_tokens"))
	if !set(&d.facts.Cached, u.Get("prompt_tokens_details", "cached_tokens")) {
		set(&d.facts.Cached, u.Get("prompt_cache_hit_tokens")) // DeepSeek
	}
	if !set(&d.facts.Reasoning, u.Get("completion_tokens_details", "reasoning_tokens")) {
		set(&d.facts.Reasoning, u.Get("reasoning_tokens")) // SGLang
	}
	output := count(u.Get("completion_tokens"))
	if output != Unknown {
		d.facts.Output, d.facts.CountSource = output, tape.SourceUsage
	}
	return output
}

func (d *openAIDecoder) fail(e *ServerError) {
	if d.facts.Err == nil {
		d.facts.Err = e
	}
}

func (d *openAIDecoder) malformed(payload []byte) {
	d.facts.Malformed++
	if d.facts.Malformed == 1 {
		d.facts.Sample = clip(payload, maxSample)
	}
}

// serverError is the error that the payload v carries, nil for none: "error":null
// is no error. named says that the event itself is called error.
func (p parts) serverError(v *fastjson.Value, named bool) *ServerError {
	e := p.err
	switch {
	case e == nil, e.Type() == fastjson.TypeNull, e.Type() == fastjson.TypeFalse,
		e.Type() == fastjson.TypeString && len(str(e)) == 0:
		// {"object":"error","message":…} is how vLLM and others said it before.
		if !named && string(str(p.object)) != "error" {
			return nil
		}
		e = v
	}
	if e.Type() != fastjson.TypeObject {
		return &ServerError{Message: clip(word(e), maxMessage)}
	}
	out := &ServerError{
		Code:    clip(word(e.Get("code")), maxName),
		Type:    clip(word(e.Get("type")), maxName),
		Message: clip(word(e.Get("message")), maxMessage),
	}
	if out.Message == "" {
		out.Message = clip(e.MarshalTo(nil), maxMessage)
	}
	return out
}

// word is a string's text, and any other value's JSON; null and nil are empty.
func word(v *fastjson.Value) []byte {
	switch {
	case v == nil, v.Type() == fastjson.TypeNull:
		return nil
	case v.Type() == fastjson.TypeString:
		return str(v)
	}
	return v.MarshalTo(nil)
}

// str is the text of a string value, nil for any other.
func str(v *fastjson.Value) []byte {
	if v == nil {
		return nil
	}
	return v.GetStringBytes()
}

// count is a token count, Unknown unless the value is a whole number from 0 to
// 2^53; 5.0 is one.
func count(v *fastjson.Value) int64 {
	if v == nil || v.Type() != fastjson.TypeNumber {
		return Unknown
	}
	n, err := v.Int64()
	if err != nil {
		f, err := v.Float64()
		if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return Unknown
		}
		n = int64(f)
	}
	if n < 0 || n > 1<<53 {
		return Unknown
	}
	return n
}

// clip is at most n bytes of b as valid UTF-8, cut at a character's border.
func clip(b []byte, n int) string {
	s := strings.ToValidUTF8(string(b[:min(len(b), n+utf8.UTFMax)]), "\uFFFD")
	if len(s) <= n {
		return s
	}
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
