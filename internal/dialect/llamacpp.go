package dialect

import (
	"bytes"

	"tokentape/internal/workload"
	"tokentape/tape"
)

// llamaCpp is llama.cpp's own /completion. Its OpenAI routes are openai-chat and
// openai-completions, which read its timings too.
type llamaCpp struct{ api }

func newLlamaCpp() Dialect {
	return llamaCpp{api{
		name: "llamacpp", path: "/completion", lengths: []string{"n_predict", "max_tokens"},
		decoder: func() Decoder { return &llamaDecoder{} },
	}}
}

// Body is the request body of the item.
func (d llamaCpp) Body(item workload.Item, o Options) ([]byte, error) {
	return d.body(item, o, func(f, _ *fields) error {
		if err := f.promptOrIDs("prompt", "prompt", item, d.name); err != nil {
			return err
		}
		f.stream(o)
		return nil
	})
}

type llamaDecoder struct{ core }

func (d *llamaDecoder) Event(name string, payload []byte, dst []Mark) []Mark {
	mark, ok := d.open(name, payload)
	if !ok {
		return append(dst, mark)
	}
	d.read(name == "error", &mark)
	return append(dst, mark)
}

// read understands one object. tokens_cached is what the slot holds at the end,
// not what was reused of the prompt: only timings.cache_n says that.
func (d *llamaDecoder) read(named bool, mark *Mark) {
	var content, stop, reason, word, limit, eos, err, times value
	predicted := Unknown
	for _, m := range d.fields {
		switch string(m.key) {
		case "index":
			mark.Choice = index(m.val)
		case "content":
			content = m.val
		case "stop":
			stop = m.val
		case "stop_type":
			reason = m.val
		case "stopped_word":
			word = m.val
		case "stopped_limit":
			limit = m.val
		case "stopped_eos":
			eos = m.val
		case "tokens_predicted":
			predicted = m.val.count()
		case "tokens_evaluated": // of the whole prompt
			d.input(d.count("input", m.val), tape.SourceEngine)
		case "timings":
			times = m.val
		case "error":
			err = m.val
		}
	}
	if d.failed(err, named) {
		*mark = errorMark(mark.Choice)
		return
	}
	if content == nil && stop == nil {
		return
	}
	kind := d.give(0, tape.KindContent, mark.Choice, d.str(content))
	ch := d.choice(mark.Choice)
	before := ch.running
	set(&ch.running, predicted)
	mark.Tok = predicted
	switch {
	case string(stop) == "true":
		d.facts.Done = true
		d.end(mark.Choice, llamaReason(d.str(reason), word, limit, eos))
		mark.Kind = or(kind, tape.KindFinish)
		if kind == 0 {
			mark.Tok = Unknown
		}
	case kind != 0:
		mark.Kind = kind
	case before != Unknown && predicted > before:
		mark.Kind = tape.KindHidden
	default:
		mark.Kind = tape.KindRole
	}
	d.output(predicted, tape.SourceEngine)
	d.timings(times)
}

// llamaReason is why it stopped: stop_type, or the older booleans.
func llamaReason(typ []byte, word, limit, eos value) []byte {
	if len(typ) > 0 {
		return typ
	}
	for _, old := range []struct {
		v    value
		name string
	}{{word, "word"}, {limit, "limit"}, {eos, "eos"}} {
		if string(old.v) == "true" {
			return []byte(old.name)
		}
	}
	return []byte("stop")
}

// Whole reads a one-shot answer: the same object, once.
func (d *llamaDecoder) Whole(body []byte) {
	if !d.whole(body) {
		return
	}
	mark := Mark{Kind: tape.KindOther}
	if d.read(false, &mark); mark.Kind == tape.KindOther {
		d.malformed(bytes.Trim(body, space))
	}
}
