package dialect

import (
	"bytes"
	"math"
	"strings"

	"tokentape/tape"
)

// Bounds of what a decoder keeps of a payload, in bytes.
const (
	maxSample  = 200
	maxMessage = 500
	maxName    = 200     // finish reason, error code and type
	keepBuffer = 1 << 20 // a buffer for unescaped text above this size is not kept
)

// MaxChoices is how many choices a decoder tells apart; more share the last
// one's state.
const MaxChoices = 1024

const space = " \t\r\n"

// core is what every decoder has: facts, choices, and the ways to write to both.
type core struct {
	facts   Facts
	sink    Sink
	raw     value    // the payload under work, and
	fields  []member // its members
	buf     []byte   // texts of one event whose escapes had to be undone
	choices []choice
	pieces  int // texts given since it was set to 0
	// typed says that the events of this API have names of their own, so that
	// one of any name must be readable.
	typed bool
	// ownDrafts says that the engine's own fields told of drafts.
	ownDrafts bool
}

// choice is what is known of one choice.
type choice struct {
	index                     int32
	ended                     bool
	running                   int64 // last running count of output tokens
	output                    int64 // counts of this choice alone
	verify, accepted, drafted int64
	steps                     []int64 // verify steps by accepted drafts
	grown                     grown
}

func (c *core) Facts() *Facts     { return &c.facts }
func (c *core) SetSink(sink Sink) { c.sink = sink }

func (c *core) Reset() {
	if cap(c.buf) > keepBuffer {
		c.buf = nil
	}
	c.facts = Facts{
		Input: Unknown, Output: Unknown, Cached: Unknown, Reasoning: Unknown,
		Accepted: Unknown, Rejected: Unknown, Drafted: Unknown, Verify: Unknown,
	}
	c.ownDrafts = false
	if cap(c.fields) > 64 {
		c.fields = nil
	}
	clear(c.fields[:cap(c.fields)]) // they hold on to the last payload
	c.fields, c.raw = c.fields[:0], nil
	c.sink, c.buf, c.choices = nil, c.buf[:0], c.choices[:0]
}

// open finds the members of a payload of a stream; ok is false when mark says
// all there is to say about it.
func (c *core) open(name string, payload []byte) (mark Mark, ok bool) {
	c.buf = c.buf[:0]
	mark = Mark{Kind: tape.KindOther, Tok: Unknown}
	payload = bytes.Trim(payload, space)
	if len(payload) == 0 {
		return mark, false
	}
	if string(payload) == "[DONE]" {
		c.facts.Done = true
		mark.Kind = tape.KindDone
		return mark, false
	}
	if c.object(payload) {
		return mark, true
	}
	switch {
	case name == "error":
		c.fail(&ServerError{Message: clip(payload, maxMessage)})
		mark.Kind = tape.KindError
	case c.typed, name == "", name == "message":
		c.malformed(payload)
	} // an event of another name is none of ours
	return mark, false
}

// whole finds the members of a one-shot body; false when it is malformed. A
// "data: [DONE]" behind it, which some proxies add, is passed over.
func (c *core) whole(body []byte) bool {
	c.buf = c.buf[:0]
	c.facts.Whole = true
	body = bytes.Trim(body, space)
	if end := bytes.LastIndexByte(body, '}') + 1; end > 0 && bytes.HasPrefix(bytes.TrimLeft(body[end:], space), []byte("data:")) {
		body = body[:end]
	}
	if !c.object(body) {
		c.malformed(body)
		return false
	}
	return true
}

func (c *core) object(payload []byte) (ok bool) {
	c.fields, ok = object(c.fields[:0], payload)
	c.raw = payload
	for i := range c.fields {
		if string(c.fields[i].key) == "model" {
			c.named(c.fields[i].val)
			break
		}
	}
	return ok
}

// str is the text of a string value, nil for any other; it is valid until the
// next event.
func (c *core) str(v value) []byte { return v.text(&c.buf) }

// choice is the state of a choice, made when it is new.
func (c *core) choice(index int32) *choice {
	for i := range c.choices {
		if c.choices[i].index == index {
			return &c.choices[i]
		}
	}
	if len(c.choices) == MaxChoices {
		return &c.choices[MaxChoices-1]
	}
	c.choices = append(c.choices, choice{
		index: index, running: Unknown, output: Unknown, verify: Unknown, accepted: Unknown, drafted: Unknown,
	})
	c.facts.Choices++
	return &c.choices[len(c.choices)-1]
}

// over reports whether a choice has given its finish reason.
func (c *core) over(index int32) bool {
	for i := range c.choices {
		if c.choices[i].index == index {
			return c.choices[i].ended
		}
	}
	return false
}

// end notes the finish reason of a choice; an empty one is none.
func (c *core) end(index int32, reason []byte) bool {
	if len(reason) == 0 {
		return false
	}
	if c.facts.Finish == "" {
		c.facts.Finish = clip(reason, maxName)
	}
	if ch := c.choice(index); !ch.ended {
		ch.ended = true
		c.facts.Ended++
	}
	return true
}

// index is the number of a choice, 0 unless the value is a whole number.
func index(v value) int32 {
	if n := v.count(); n != Unknown {
		return int32(min(n, math.MaxInt32))
	}
	return 0
}

// give hands text to the sink; it returns the weightier of two token letters,
// before when there is no text.
func (c *core) give(before, kind byte, index int32, text []byte) byte {
	return c.piece(before, Piece{Kind: kind, Choice: index, Text: text})
}

func (c *core) piece(before byte, p Piece) byte {
	if len(p.Text) == 0 {
		return before
	}
	c.pieces++
	c.facts.HasOutput = true
	c.facts.Refused = c.facts.Refused || p.Kind == tape.KindRefusal
	c.choice(p.Choice)
	if c.sink != nil {
		c.sink(p)
	}
	if weight(p.Kind) > weight(before) {
		return p.Kind
	}
	return before
}

// weight orders the token letters by how much they say about an event that has
// several kinds of output: content, then refusal, tool call, reasoning.
func weight(kind byte) int { return strings.IndexByte("stxc", kind) }

// call hands the name and the arguments of tool call number call to the sink.
// Arguments are a string of JSON; some servers send the object itself.
func (c *core) call(before byte, index, call int32, name, arguments value) byte {
	before = c.piece(before, Piece{tape.KindTool, index, call, c.str(name)})
	args := c.str(arguments)
	if arguments.is('{') {
		args = arguments
	}
	return c.piece(before, Piece{tape.KindTool, index, call, args})
}

// Counts. The last word on each wins, but the engine's own fields never replace
// what a usage object said.

func (c *core) input(n int64, source string) {
	if n != Unknown && !(source == tape.SourceEngine && c.facts.InputSource == tape.SourceUsage) {
		c.facts.Input, c.facts.InputSource = n, source
	}
}

func (c *core) output(n int64, source string) {
	if n != Unknown && !(source == tape.SourceEngine && c.facts.CountSource == tape.SourceUsage) {
		c.facts.Output, c.facts.CountSource = n, source
	}
}

// sum adds up the outputs of the choices, where each has one: part of a sum is no
// count of the whole.
func (c *core) sum(source string) {
	n := int64(0)
	for i := range c.choices {
		if c.choices[i].output == Unknown {
			if c.facts.CountSource == source {
				c.facts.Output, c.facts.CountSource = Unknown, ""
			}
			return
		}
		n += c.choices[i].output
	}
	c.output(n, source)
}

// set stores a count that is known.
func set(dst *int64, n int64) bool {
	if n != Unknown {
		*dst = n
	}
	return n != Unknown
}

// state keeps a figure that the engine says about its own work.
func (c *core) state(name string, n float64) {
	if math.IsNaN(n) {
		return
	}
	for i := range c.facts.Engine {
		if c.facts.Engine[i].Name == name {
			c.facts.Engine[i].Value = n
			return
		}
	}
	c.facts.Engine = append(c.facts.Engine, Figure{name, n})
}

func (c *core) fail(e *ServerError) {
	if c.facts.Err == nil {
		c.facts.Err = e
	}
}

func (c *core) malformed(payload []byte) {
	c.facts.Malformed++
	if c.facts.Malformed == 1 {
		c.facts.Sample = clip(payload, maxSample)
	}
}

// failed notes the error e of the payload, if it is one: "error":null is none, nor is {} or 0.
// itself says that the payload is one.
func (c *core) failed(e value, itself bool) bool {
	if e.nothing() {
		if !itself {
			return false
		}
		e = c.raw
	}
	out := &ServerError{}
	if e.is('{') {
		out.Code = clip(e.get("code").word(), maxName)
		out.Type = clip(e.get("type").word(), maxName)
		out.Message = clip(e.get("message").word(), maxMessage)
	} else {
		out.Type = clip(c.raw.get("error_type").word(), maxName) // TGI
		out.Message = clip(e.word(), maxMessage)
	}
	if out.Message == "" {
		out.Message = clip(e, maxMessage)
	}
	c.fail(out)
	return true
}

// errorMark is the mark of an event that carries an error.
func errorMark(index int32) Mark { return Mark{tape.KindError, index, Unknown} }
