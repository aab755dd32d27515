package dialect

import (
	"bytes"

	"tokentape/internal/workload"
	"tokentape/tape"
)

// responses is /v1/responses of OpenAI, as vLLM, SGLang and llama.cpp speak it.
type responses struct{ api }

func newResponses() Dialect {
	return responses{api{
		name: "openai-responses", path: "/v1/responses", lengths: []string{"max_output_tokens"},
		own: map[string]string{
			"input":        "it is made from the dataset and workload.template",
			"instructions": "set workload.system: it is sent as a system message of input",
		},
		decoder: func() Decoder { return &responsesDecoder{core: core{typed: true}} },
	}}
}

// Body is the request body of the item: its messages are the input.
func (d responses) Body(item workload.Item, o Options) ([]byte, error) {
	return d.body(item, o, func(f, _ *fields) error {
		if err := f.model(o); err != nil {
			return err
		}
		if err := f.messages("input", item, d.name); err != nil {
			return err
		}
		f.stream(o)
		return nil
	})
}

type responsesDecoder struct{ core }

// responseDeltas are the events that carry output, by type.
var responseDeltas = map[string]byte{
	"response.output_text.delta":                tape.KindContent,
	"response.refusal.delta":                    tape.KindRefusal,
	"response.reasoning_text.delta":             tape.KindReasoning,
	"response.reasoning_summary_text.delta":     tape.KindReasoning,
	"response.function_call_arguments.delta":    tape.KindTool,
	"response.mcp_call_arguments.delta":         tape.KindTool,
	"response.custom_tool_call_input.delta":     tape.KindTool,
	"response.code_interpreter_call_code.delta": tape.KindTool,
	"response.reasoning_part.delta":             tape.KindReasoning, // vLLM before 0.11
	"response.reasoning.delta":                  tape.KindReasoning,
	"response.reasoning_summary.delta":          tape.KindReasoning,
}

// Event reads one event. The *.done events repeat what the deltas brought, and
// are no output.
func (d *responsesDecoder) Event(name string, payload []byte, dst []Mark) []Mark {
	mark, ok := d.open(name, payload)
	if !ok {
		return append(dst, mark)
	}
	var kind, delta, response, item, output, err value
	for _, m := range d.fields {
		switch string(m.key) {
		case "type":
			kind = m.val
		case "delta":
			delta = m.val
		case "response":
			response = m.val
		case "item":
			item = m.val
		case "output_index":
			output = m.val
		case "error":
			err = m.val
		}
	}
	typ := d.str(kind)
	if d.failed(err, name == "error" || string(typ) == "error") {
		return append(dst, errorMark(0))
	}
	if letter, ok := responseDeltas[string(typ)]; ok {
		if mark.Kind = d.piece(0, Piece{letter, 0, index(output), d.str(delta)}); mark.Kind == 0 {
			mark.Kind = tape.KindRole
		}
		return append(dst, mark)
	}
	switch string(typ) {
	case "response.created", "response.in_progress", "response.queued", "response.content_part.added", "response.reasoning_summary_part.added":
		d.named(response.get("model"))
		mark.Kind = tape.KindRole
	case "response.output_item.added":
		mark.Kind = tape.KindRole
		if n := d.piece(0, Piece{tape.KindTool, 0, index(output), d.str(item.get("name"))}); n != 0 {
			mark.Kind = n
		}
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		d.facts.Done = true
		mark.Kind = tape.KindFinish
		if d.response(response.members()) {
			mark.Kind = tape.KindError
		}
	}
	return append(dst, mark)
}

// response reads status and counts of a response object; it reports whether the
// response failed.
func (d *responsesDecoder) response(m members) (failed bool) {
	var status, reason, err, counts value
	for m.next() {
		switch string(m.key) {
		case "status":
			status = m.val
		case "incomplete_details":
			reason = m.val.get("reason")
		case "error":
			err = m.val
		case "usage":
			counts = m.val
		case "model":
			d.named(m.val)
		}
	}
	if counts.is('{') {
		var p usage
		p.read(&d.core, counts)
		d.input(p.input, tape.SourceUsage)
		d.core.output(p.output, tape.SourceUsage)
		set(&d.facts.Cached, p.cached)
		set(&d.facts.Reasoning, p.reasoning)
	}
	if failed = d.failed(err, string(status) == `"failed"`); failed {
		return true
	}
	if text := d.str(reason); len(text) > 0 {
		d.end(0, text)
	} else {
		d.end(0, d.str(status))
	}
	return false
}

// Whole reads a response object.
func (d *responsesDecoder) Whole(body []byte) {
	if !d.whole(body) {
		return
	}
	output := d.raw.get("output")
	call := int32(0)
	for e := output.elements(); e.next(); call++ {
		d.item(e.val(), call)
	}
	if !d.response(d.raw.members()) && !output.is('[') {
		d.malformed(bytes.Trim(body, space))
	}
}

// item reads one element of a one-shot answer's output.
func (d *responsesDecoder) item(v value, call int32) {
	switch typ := string(d.str(v.get("type"))); typ {
	case "message":
		for e := v.get("content").elements(); e.next(); {
			d.give(0, tape.KindContent, 0, d.str(e.val().get("text")))
			d.give(0, tape.KindRefusal, 0, d.str(e.val().get("refusal")))
		}
	case "reasoning":
		for _, part := range []string{"summary", "content"} {
			for e := v.get(part).elements(); e.next(); {
				d.give(0, tape.KindReasoning, 0, d.str(e.val().get("text")))
			}
		}
	default: // function_call and the like
		args := v.get("arguments")
		if args == nil {
			args = v.get("input")
		}
		d.call(0, 0, call, v.get("name"), args)
	}
}
