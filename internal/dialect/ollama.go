package dialect

import (
	"bytes"

	"tokentape/internal/dialect/frame"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// ollama is Ollama's own /api/chat.
type ollama struct{ api }

func newOllama() Dialect {
	return ollama{api{
		name: "ollama", path: "/api/chat", framing: frame.NDJSON, lengths: []string{"num_predict"},
		nest:    "options",
		top:     []string{"format", "keep_alive", "think", "tools", "logprobs", "top_logprobs", "truncate", "shift"},
		decoder: func() Decoder { return &ollamaDecoder{} },
	}}
}

// Body is the request body of the item.
func (d ollama) Body(item workload.Item, o Options) ([]byte, error) {
	return d.body(item, o, func(f, _ *fields) error {
		if err := f.model(o); err != nil {
			return err
		}
		if err := f.messages("messages", item, d.name); err != nil {
			return err
		}
		f.stream(o)
		return nil
	})
}

type ollamaDecoder struct{ core }

func (d *ollamaDecoder) Event(name string, payload []byte, dst []Mark) []Mark {
	mark, ok := d.open(name, payload)
	if !ok {
		return append(dst, mark)
	}
	mark.Kind = d.read()
	return append(dst, mark)
}

// ollamaTimes are the durations of the last object, in ns.
var ollamaTimes = map[string]string{
	"total_duration": "total_duration_ns", "load_duration": "load_duration_ns",
	"prompt_eval_duration": "prompt_eval_duration_ns", "eval_duration": "eval_duration_ns",
}

// read understands one object and says what it is.
func (d *ollamaDecoder) read() byte {
	var message, response, done, reason, err value
	for _, m := range d.fields {
		switch string(m.key) {
		case "message":
			message = m.val
		case "response": // of /api/generate
			response = m.val
		case "done":
			done = m.val
		case "done_reason":
			reason = m.val
		case "error":
			err = m.val
		case "prompt_eval_count":
			d.input(d.count("input", m.val), tape.SourceEngine)
		case "eval_count":
			d.output(d.count("output", m.val), tape.SourceEngine)
		default:
			if as := ollamaTimes[string(m.key)]; as != "" {
				d.state(as, m.val.number())
			}
		}
	}
	if d.failed(err, false) {
		return tape.KindError
	}
	kind := d.give(0, tape.KindContent, 0, d.str(response))
	for m := message.members(); m.next(); {
		switch string(m.key) {
		case "content":
			kind = d.give(kind, tape.KindContent, 0, d.str(m.val))
		case "thinking":
			kind = d.give(kind, tape.KindReasoning, 0, d.str(m.val))
		case "tool_calls":
			call := int32(0)
			for e := m.val.elements(); e.next(); call++ {
				f := e.val().get("function")
				if n := f.get("index"); n != nil {
					call = index(n)
				}
				kind = d.call(kind, 0, call, f.get("name"), f.get("arguments"))
			}
		}
	}
	d.end(0, d.str(reason))
	switch {
	case string(done) == "true":
		d.facts.Done = true
		return or(kind, tape.KindFinish)
	case done == nil && message == nil && response == nil:
		return tape.KindOther
	}
	return or(kind, tape.KindRole)
}

// Whole reads a one-shot answer: the same object, once.
func (d *ollamaDecoder) Whole(body []byte) {
	if !d.whole(body) {
		return
	}
	if d.read() == tape.KindOther {
		d.malformed(bytes.Trim(body, space))
	}
}
