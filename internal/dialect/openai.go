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
	running := d.usage(v.Get("usage"))
	marked := len(dst)
	dst, first := d.all(v.GetArray("choices"), running, dst)
	if e := serverError(v, name == "error"); e != nil {
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

// lead is what the choices of an event without output say: the first one's
// index, whether it was over before, and whether any gave a finish reason.
type lead struct {
	index              int32
	seen, over, finish bool
}

// all reads the choices and appends a mark for each that carries output.
func (d *openAIDecoder) all(choices []*fastjson.Value, running int64, dst []Mark) ([]Mark, lead) {
	var first lead
	for _, c := range choices {
		if c.Type() != fastjson.TypeObject {
			continue
		}
		index := int32(0)
		if n := count(c.Get("index")); n != Unknown {
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

// choice gives a choice's output to the sink. kind is the letter of the output
// that matters most (content, then refusal, tool call, reasoning), 0 for none.
func (d *openAIDecoder) choice(c *fastjson.Value, index int32) (kind byte, finish bool) {
	give := func(k byte, s []byte) {
		if len(s) == 0 {
			return
		}
		d.facts.HasOutput = true
		d.facts.Refused = d.facts.Refused || k == tape.KindRefusal
		if weight(k) > weight(kind) {
			kind = k
		}
		if d.sink != nil {
			d.sink(k, index, s)
		}
	}
	if !d.chat {
		give(tape.KindContent, str(c.Get("text")))
	} else {
		m := c.Get("delta")
		if m == nil {
			m = c.Get("message")
		}
		// Two names for the same thing: when both carry text, it is one text.
		reasoning := str(m.Get("reasoning_content"))
		if len(reasoning) == 0 {
			reasoning = str(m.Get("reasoning"))
		}
		give(tape.KindReasoning, reasoning)
		content := m.Get("content")
		give(tape.KindContent, str(content))
		for _, part := range content.GetArray() {
			give(tape.KindContent, str(part.Get("text")))
		}
		give(tape.KindRefusal, str(m.Get("refusal")))
		for _, call := range m.GetArray("tool_calls") {
			f := call.Get("function")
			give(tape.KindTool, str(f.Get("name")))
			give(tape.KindTool, arguments(f))
		}
		if f := m.Get("function_call"); f != nil { // the older form
			give(tape.KindTool, str(f.Get("name")))
			give(tape.KindTool, arguments(f))
		}
	}
	reason := c.Get("finish_reason")
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

// weight orders the token letters by how much they say about a delta that has
// several kinds of output.
func weight(kind byte) int { return strings.IndexByte("stxc", kind) }

// arguments of a call are a string of JSON; some servers send the object itself.
func arguments(f *fastjson.Value) []byte {
	a := f.Get("arguments")
	if a != nil && a.Type() == fastjson.TypeObject {
		return a.MarshalTo(nil)
	}
	return str(a)
}

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
	d.usage(v.Get("usage"))
	choices := v.GetArray("choices")
	d.all(choices, Unknown, nil)
	if e := serverError(v, false); e != nil {
		d.fail(e)
	} else if len(choices) == 0 {
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

// serverError is the error that an event carries, nil for none: "error":null is
// no error. named says that the event itself is called error.
func serverError(v *fastjson.Value, named bool) *ServerError {
	e := v.Get("error")
	switch {
	case e == nil, e.Type() == fastjson.TypeNull, e.Type() == fastjson.TypeFalse,
		e.Type() == fastjson.TypeString && len(str(e)) == 0:
		// {"object":"error","message":…} is how vLLM and others said it before.
		if !named && string(str(v.Get("object"))) != "error" {
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

// clip is at most n bytes of b, cut at a character's border.
func clip(b []byte, n int) string {
	if len(b) > n {
		for n > 0 && !utf8.RuneStart(b[n]) {
			n--
		}
		b = b[:n]
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
