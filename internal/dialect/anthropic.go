package dialect

import (
	"bytes"
	"errors"

	"tokentape/internal/workload"
	"tokentape/tape"
)

// anthropic is /v1/messages of Anthropic, as vLLM, SGLang and llama.cpp speak it
// too.
type anthropic struct{ api }

// anthropicVersion is the only version of the API so far.
const anthropicVersion = "2023-06-01"

func newAnthropic() Dialect {
	return anthropic{api{
		name: "anthropic-messages", path: "/v1/messages", lengths: []string{"max_tokens"},
		header:  map[string]string{"anthropic-version": anthropicVersion},
		own:     map[string]string{"system": "set workload.system"},
		decoder: func() Decoder { return &anthropicDecoder{core: core{typed: true}} },
	}}
}

// Body is the request body of the item. System messages stand apart.
func (d anthropic) Body(item workload.Item, o Options) ([]byte, error) {
	if item.Body == nil && d.Asked(item, o) == 0 {
		return nil, errors.New("max_tokens is missing: anthropic-messages refuses a request without it; set workload.output_tokens (--output-tokens)")
	}
	return d.body(item, o, func(f, _ *fields) error {
		if err := f.model(o); err != nil {
			return err
		}
		list, err := messagesOf(item)
		if err != nil {
			return err
		}
		var system string
		var rest []workload.Message
		for _, m := range list {
			if m.Role != "system" || m.Raw != nil {
				rest = append(rest, m)
			} else if system == "" {
				system = m.Content
			} else {
				system += "\n\n" + m.Content
			}
		}
		if len(rest) == 0 {
			return errors.New("there is no message to send beside the system message")
		}
		if system != "" {
			raw, err := text("the system message", system)
			if err != nil {
				return err
			}
			f.set("system", raw)
		}
		raw, err := encodeMessages(rest, d.name)
		if err != nil {
			return err
		}
		f.set("messages", raw)
		f.stream(o)
		return nil
	})
}

type anthropicDecoder struct{ core }

func (d *anthropicDecoder) Event(name string, payload []byte, dst []Mark) []Mark {
	mark, ok := d.open(name, payload)
	if !ok {
		return append(dst, mark)
	}
	var kind, at, delta, block, message, counts, err value
	for _, m := range d.fields {
		switch string(m.key) {
		case "type":
			kind = m.val
		case "index":
			at = m.val
		case "delta":
			delta = m.val
		case "content_block":
			block = m.val
		case "message":
			message = m.val
		case "usage":
			counts = m.val
		case "error":
			err = m.val
		}
	}
	typ := d.str(kind)
	if d.failed(err, name == "error" || string(typ) == "error") {
		return append(dst, errorMark(0))
	}
	switch string(typ) {
	case "message_start":
		// Its output count is of what was there at the start, and no total.
		d.usage(message.get("usage"), false)
		d.named(message.get("model"))
		mark.Kind = tape.KindRole
	case "content_block_start":
		mark.Kind = or(d.part(block, index(at)), tape.KindRole)
	case "content_block_delta":
		mark.Kind = or(d.part(delta, index(at)), tape.KindRole)
	case "message_delta":
		d.usage(counts, true)
		mark.Kind = tape.KindUsage
		if d.stop(delta.get("stop_reason")) {
			mark.Kind = tape.KindFinish
		}
	case "message_stop":
		d.facts.Done = true
		mark.Kind = tape.KindDone
	}
	return append(dst, mark)
}

// or is the letter kind, def when there is none.
func or(kind, def byte) byte {
	if kind == 0 {
		return def
	}
	return kind
}

// part reads a block of content, or a delta of one. Its type is in the name of
// the field that is there.
func (d *anthropicDecoder) part(v value, call int32) (kind byte) {
	for m := v.members(); m.next(); {
		switch string(m.key) {
		case "text":
			kind = d.give(kind, tape.KindContent, 0, d.str(m.val))
		case "thinking":
			kind = d.give(kind, tape.KindReasoning, 0, d.str(m.val))
		case "name", "partial_json":
			kind = d.piece(kind, Piece{tape.KindTool, 0, call, d.str(m.val)})
		}
	}
	return kind
}

func (d *anthropicDecoder) stop(reason value) bool {
	text := d.str(reason)
	d.facts.Refused = d.facts.Refused || string(text) == "refusal"
	return d.end(0, text)
}

// usage takes the counts. Cached and newly cached tokens are beside
// input_tokens here, not within: the prompt is the sum.
func (d *anthropicDecoder) usage(u value, output bool) {
	in, read, made := Unknown, Unknown, Unknown
	for m := u.members(); m.next(); {
		switch string(m.key) {
		case "input_tokens":
			in = d.count("input", m.val)
		case "cache_read_input_tokens":
			read = d.count("cached", m.val)
		case "cache_creation_input_tokens":
			made = d.count("input", m.val)
		case "output_tokens":
			if output {
				d.core.output(d.count("output", m.val), tape.SourceUsage)
			}
		case "output_tokens_details":
			set(&d.facts.Reasoning, d.count("reasoning", m.val.get("thinking_tokens")))
		}
	}
	if in != Unknown && len(d.facts.Unread) == 0 { // a part that is no count leaves the sum unknown
		d.input(in+max(read, 0)+max(made, 0), tape.SourceUsage)
	}
	set(&d.facts.Cached, read)
}

// Whole reads a message object.
func (d *anthropicDecoder) Whole(body []byte) {
	if !d.whole(body) {
		return
	}
	content := d.raw.get("content")
	call := int32(0)
	for e := content.elements(); e.next(); call++ {
		d.part(e.val(), call)
		if args := e.val().get("input"); args.is('{') {
			d.piece(0, Piece{tape.KindTool, 0, call, args})
		}
	}
	d.usage(d.raw.get("usage"), true)
	d.stop(d.raw.get("stop_reason"))
	named := string(d.raw.get("type")) == `"error"`
	if !d.failed(d.raw.get("error"), named) && !content.is('[') {
		d.malformed(bytes.Trim(body, space))
	}
}
