package dialect

import (
	"bytes"

	"tokentape/internal/workload"
	"tokentape/tape"
)

// tgi is Hugging Face's text-generation-inference.
type tgi struct{ api }

func newTGI(s Setup) (Dialect, error) {
	d := tgi{api{
		name: "tgi", path: "/generate_stream", lengths: []string{"max_new_tokens"}, nest: "parameters",
		own:     map[string]string{"inputs": "it is made from the dataset and workload.template"},
		decoder: func() Decoder { return &tgiDecoder{} },
	}}
	if !s.Stream {
		d.path = "/generate"
	}
	return d, nil
}

// Body is the request body of the item. details asks for the counts. Whether it
// is a stream is for the path to say.
func (d tgi) Body(item workload.Item, o Options) ([]byte, error) {
	return d.body(item, o, func(f, in *fields) error {
		in.set("details", []byte("true"))
		return f.prompt("inputs", item, d.name)
	})
}

type tgiDecoder struct {
	core
	index int64 // of the event before
}

func (d *tgiDecoder) Reset() {
	d.core.Reset()
	d.index = Unknown
}

// Event reads one event: one token. The last one has generated_text, which
// repeats it all.
func (d *tgiDecoder) Event(name string, payload []byte, dst []Mark) []Mark {
	mark, ok := d.open(name, payload)
	if !ok {
		return append(dst, mark)
	}
	var at, token, all, details, err value
	for _, m := range d.fields {
		switch string(m.key) {
		case "index":
			at = m.val
		case "token":
			token = m.val
		case "generated_text":
			all = m.val
		case "details":
			details = m.val
		case "error":
			err = m.val
		}
	}
	if d.failed(err, name == "error") {
		return append(dst, errorMark(0))
	}
	if token == nil && all == nil {
		return append(dst, mark)
	}
	kind := byte(0)
	if string(token.get("special")) != "true" {
		kind = d.give(0, tape.KindContent, 0, d.str(token.get("text")))
	}
	d.details(details)
	n, before := at.count(), d.index
	set(&d.index, n)
	switch {
	case all.is('"'):
		d.facts.Done = true
		mark.Kind = or(kind, tape.KindFinish)
		if kind == 0 && !d.facts.HasOutput { // the text came in no event of its own
			mark.Kind = or(d.give(0, tape.KindContent, 0, d.str(all)), tape.KindFinish)
		}
	case kind != 0:
		mark.Kind = kind
	case before != Unknown && n > before: // a special token: made, but no text
		mark.Kind = tape.KindHidden
	default:
		mark.Kind = tape.KindRole
	}
	return append(dst, mark)
}

func (d *tgiDecoder) details(v value) {
	for m := v.members(); m.next(); {
		switch string(m.key) {
		case "finish_reason":
			d.end(0, d.str(m.val))
		case "generated_tokens":
			d.output(d.count("output", m.val), tape.SourceEngine)
		case "input_length":
			d.input(d.count("input", m.val), tape.SourceEngine)
		case "prefill": // one entry a prompt token, when asked for
			if n := m.val.size(); n > 0 {
				d.input(n, tape.SourceEngine)
			}
		}
	}
}

// Whole reads a one-shot answer.
func (d *tgiDecoder) Whole(body []byte) {
	if !d.whole(body) {
		return
	}
	all := d.raw.get("generated_text")
	d.give(0, tape.KindContent, 0, d.str(all))
	d.details(d.raw.get("details"))
	if !d.failed(d.raw.get("error"), false) && !all.is('"') {
		d.malformed(bytes.Trim(body, space))
	}
}
