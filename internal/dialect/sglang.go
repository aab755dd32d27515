package dialect

import (
	"bytes"

	"tokentape/internal/workload"
	"tokentape/tape"
)

// sglang is SGLang's own /generate.
type sglang struct{ api }

func newSGLang() Dialect {
	const made = "it is made from the dataset and workload.template"
	return sglang{api{
		name: "sglang-generate", path: "/generate", lengths: []string{"max_new_tokens"},
		nest: "sampling_params",
		top: []string{
			"input_ids", "rid", "lora_path", "return_logprob", "logprob_start_len", "top_logprobs_num", "token_ids_logprob",
			"return_text_in_logprobs", "return_hidden_states", "session_params", "custom_logit_processor", "priority", "extra_key",
			"image_data", "video_data", "audio_data", "data_parallel_rank", "bootstrap_host", "bootstrap_port", "bootstrap_room",
		},
		own:     map[string]string{"text": made, "prompt": made},
		decoder: func() Decoder { return &sglangDecoder{} },
	}}
}

// Body is the request body of the item. Token ids in the row's field input_ids
// take the place of the text.
func (d sglang) Body(item workload.Item, o Options) ([]byte, error) {
	return d.body(item, o, func(f, _ *fields) error {
		if _, ids := item.Extra["input_ids"]; !ids {
			if err := f.promptOrIDs("text", "input_ids", item, d.name); err != nil {
				return err
			}
		}
		f.stream(o)
		return nil
	})
}

type sglangDecoder struct{ core }

// sglangFields are the fields of an answer that matter.
type sglangFields struct {
	text, ids, index, meta, err, object value
}

func (d *sglangDecoder) parts() (f sglangFields) {
	for _, m := range d.fields {
		switch string(m.key) {
		case "text":
			f.text = m.val
		case "output_ids":
			f.ids = m.val
		case "index":
			f.index = m.val
		case "meta_info":
			f.meta = m.val
		case "error":
			f.err = m.val
		case "object":
			f.object = m.val
		}
	}
	return f
}

func (d *sglangDecoder) Event(name string, payload []byte, dst []Mark) []Mark {
	mark, ok := d.open(name, payload)
	if !ok {
		return append(dst, mark)
	}
	f := d.parts()
	mark.Choice = index(f.index)
	if d.failed(f.err, name == "error" || string(f.object) == `"error"`) {
		return append(dst, errorMark(mark.Choice))
	}
	if f.meta == nil && f.text == nil && f.ids == nil {
		return append(dst, mark)
	}
	over := d.over(mark.Choice)
	output, finish := d.meta(f.meta, mark.Choice)
	ch := d.choice(mark.Choice)
	more := output != Unknown && ch.running != Unknown && output > ch.running
	kind := d.output(f, ch, output, finish)
	if output != Unknown {
		ch.running = output
		if len(d.choices) == 1 { // a count of one choice among several is not the response's
			mark.Tok = output
		}
	}
	switch {
	case kind != 0:
		mark.Kind = kind
	case finish, over:
		mark.Kind, mark.Tok = tape.KindFinish, Unknown
	case more:
		mark.Kind = tape.KindHidden
	default:
		mark.Kind = tape.KindRole
	}
	return append(dst, mark)
}

// output gives the new text away. Texts are cumulative, unless the server runs
// with --incremental-streaming-output: fewer ids than the count, or a text that
// does not begin with the one before, tell. A server without a tokenizer sends
// ids alone.
func (d *sglangDecoder) output(f sglangFields, ch *choice, output int64, finish bool) (kind byte) {
	ids := f.ids.size()
	if ids > 0 && output != Unknown && ch.grown.mode == modeUnknown && ids < output {
		ch.grown.mode = modeDelta
	}
	text := ch.grown.next(d.str(f.text), finish)
	if kind = d.give(0, tape.KindContent, ch.index, text); kind != 0 || f.text.is('"') {
		return kind
	}
	if ids > 0 && (ch.grown.mode == modeDelta || output == Unknown || output > max(ch.running, 0)) {
		d.facts.HasOutput = true
		return tape.KindContent
	}
	return 0
}

// meta takes the engine's own counts. It returns the choice's output count.
func (d *sglangDecoder) meta(v value, i int32) (output int64, finish bool) {
	output = Unknown
	spec, reasoning := noDrafts(), Unknown
	var reason value
	for m := v.members(); m.next(); {
		switch string(m.key) {
		case "prompt_tokens":
			d.input(d.count("input", m.val), tape.SourceEngine)
		case "completion_tokens":
			output = d.count("output", m.val)
		case "cached_tokens":
			set(&d.facts.Cached, d.count("cached", m.val))
		case "cached_tokens_details":
			d.tiers(m.val)
		case "reasoning_tokens":
			reasoning = d.count("reasoning", m.val)
		case "finish_reason":
			reason = m.val
		case "e2e_latency":
			d.state("e2e_latency_s", m.val.number())
		default:
			spec.field(&d.core, m.key, m.val)
		}
	}
	set(&d.facts.Reasoning, reasoning)
	if reason.is('{') {
		finish = d.reason(reason, i)
	} else {
		finish = d.end(i, d.str(reason))
	}
	ch := d.choice(i)
	set(&ch.output, output)
	spec.keep(ch)
	d.sum(tape.SourceEngine)
	d.speculated()
	return output, finish
}

// reason reads a finish reason that is an object. An abort says why.
func (d *sglangDecoder) reason(v value, i int32) bool {
	typ := d.str(v.get("type"))
	if status := v.get("status_code"); string(typ) == "abort" && !status.null() {
		d.fail(&ServerError{
			Code: clip(status.word(), maxName), Type: clip(v.get("err_type").word(), maxName), Message: clip(v.get("message").word(), maxMessage),
		})
	}
	return d.end(i, typ)
}

// Whole reads a one-shot answer: an object, or a list of them for n > 1.
func (d *sglangDecoder) Whole(body []byte) {
	list := bytes.Trim(body, space)
	if value(list).is('[') && valid(list) {
		d.facts.Whole = true
		i := int32(0)
		for e := value(list).elements(); e.next(); i++ {
			if !d.object(e.val()) {
				d.malformed(e.val())
				continue
			}
			d.one(i)
		}
		if i == 0 {
			d.malformed(list)
		}
		return
	}
	if d.whole(body) {
		d.one(0)
	}
}

func (d *sglangDecoder) one(i int32) {
	f := d.parts()
	if d.failed(f.err, string(f.object) == `"error"`) {
		return
	}
	if f.text == nil && f.ids == nil {
		d.malformed(d.raw)
		return
	}
	d.meta(f.meta, i)
	d.give(0, tape.KindContent, i, d.str(f.text))
	if f.text == nil && f.ids.size() > 0 {
		d.facts.HasOutput = true
	}
}
