package dialect

import (
	"bytes"
	"fmt"

	"tokentape/internal/workload"
	"tokentape/tape"
)

// triton is the generate extension of Triton Inference Server, with the names
// that its vLLM and TensorRT-LLM back-ends use.
type triton struct{ api }

func newTriton(s Setup) (Dialect, error) {
	const name = "triton-generate"
	path := "/v2/models/{model}/generate_stream"
	if !s.Stream {
		path = "/v2/models/{model}/generate"
	}
	path, err := pathOf(path, s.Model, name)
	if err != nil {
		return nil, err
	}
	return triton{api{
		name: name, path: path, lengths: []string{"max_tokens"}, nest: "parameters",
		top:     []string{"bad_words", "stop_words", "end_id", "pad_id", "image", "images"},
		own:     map[string]string{"text_input": "it is made from the dataset and workload.template"},
		decoder: func() Decoder { return &tritonDecoder{} },
	}}, nil
}

// Body is the request body of the item. Not every back-end obeys the wish to
// leave the prompt out of the output; the decoder takes it off.
func (d triton) Body(item workload.Item, o Options) ([]byte, error) {
	return d.body(item, o, func(f, in *fields) error {
		in.set("stream", fmt.Appendf(nil, "%t", o.Stream))
		in.set("exclude_input_in_output", []byte("true"))
		return f.prompt("text_input", item, d.name)
	})
}

// tritonDecoder: there is no finish reason, count or end mark; a clean end of
// the body is the end.
type tritonDecoder struct {
	core
	echo echo
}

func (d *tritonDecoder) Reset() {
	d.core.Reset()
	d.facts.EndIsDone = true
	d.echo = echo{}
}

func (d *tritonDecoder) SetPrompt(s string) { d.echo.prompt = s }

func (d *tritonDecoder) Event(name string, payload []byte, dst []Mark) []Mark {
	mark, ok := d.open(name, payload)
	if !ok {
		return append(dst, mark)
	}
	mark.Kind = d.read(name == "error")
	return append(dst, mark)
}

func (d *tritonDecoder) read(named bool) byte {
	var output, err value
	for _, m := range d.fields {
		switch string(m.key) {
		case "text_output":
			output = m.val
		case "model_name":
			d.named(m.val)
		case "error":
			err = m.val
		}
	}
	if d.failed(err, named) {
		return tape.KindError
	}
	if output == nil {
		return tape.KindOther
	}
	kind := d.give(0, tape.KindContent, 0, d.echo.cut(d.str(output)))
	for e := output.elements(); e.next(); {
		kind = d.give(kind, tape.KindContent, 0, d.echo.cut(d.str(e.val())))
	}
	return or(kind, tape.KindRole)
}

// Whole reads a one-shot answer: the same object, once.
func (d *tritonDecoder) Whole(body []byte) {
	if !d.whole(body) {
		return
	}
	if d.read(false) == tape.KindOther {
		d.malformed(bytes.Trim(body, space))
	}
}
