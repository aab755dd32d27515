package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"tokentape/internal/workload"
	"tokentape/tape"
)

func outputLen(item workload.Item, o Options) int64 {
	if item.OutputLen > 0 {
		return item.OutputLen
	}
	return o.OutputLen
}

func wholeNumber(raw []byte) (n int64, ok bool) {
	return n, len(raw) > 0 && json.Unmarshal(raw, &n) == nil && n > 0
}

// fields is a JSON object under construction; its order is that of first
// setting, so that equal input gives equal bytes. There are a few, so that looking
// for a name costs less than a map would.
type fields []field

type field struct {
	name  string
	value []byte
}

func (f *fields) at(name string) int {
	return slices.IndexFunc(*f, func(x field) bool { return x.name == name })
}

func (f *fields) set(name string, value []byte) {
	if i := f.at(name); i >= 0 {
		(*f)[i].value = value
	} else {
		*f = append(*f, field{name, value})
	}
}

func (f *fields) drop(name string) {
	if i := f.at(name); i >= 0 {
		*f = slices.Delete(*f, i, i+1)
	}
}

func (f *fields) bytes() []byte {
	size := 2
	for _, x := range *f {
		size += len(x.name) + len(x.value) + len(`"":,`)
	}
	b := append(make([]byte, 0, size), '{')
	for i, x := range *f {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(tape.AppendString(b, x.name), ':')
		b = append(b, x.value...)
	}
	return append(b, '}')
}

// encode is v as JSON in one line, with <, > and & as they are. Maps come out
// with sorted keys.
func encode(v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return tape.AppendString(nil, v), nil
	case bool:
		return strconv.AppendBool(nil, v), nil
	case int:
		return strconv.AppendInt(nil, int64(v), 10), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// appendText appends a string of the workload. Broken UTF-8 would silently turn
// into U+FFFD, and the server would get another prompt.
func appendText(b []byte, where func() string, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("%s is not valid UTF-8: convert the dataset to UTF-8", where())
	}
	return tape.AppendString(slices.Grow(b, len(s)+len(s)/16+2), s), nil
}

func text(where, s string) ([]byte, error) {
	return appendText(nil, func() string { return where }, s)
}

// model sets the model's id.
func (f *fields) model(o Options) error {
	if o.Model == "" {
		return nil
	}
	model, err := text("target.model", o.Model)
	if err == nil {
		f.set("model", model)
	}
	return err
}

// stream sets whether a stream is asked for.
func (f *fields) stream(o Options) { f.set("stream", strconv.AppendBool(nil, o.Stream)) }

// messages sets the messages of the item. plain names an API that takes no other
// than plain ones; "": messages in parts go as they are.
func (f *fields) messages(field string, item workload.Item, plain string) error {
	list, err := messagesOf(item)
	if err != nil {
		return err
	}
	raw, err := encodeMessages(list, plain)
	if err == nil {
		f.set(field, raw)
	}
	return err
}

func messagesOf(item workload.Item) ([]workload.Message, error) {
	switch {
	case len(item.Messages) > 0:
		return item.Messages, nil
	case item.TokenIDs != nil:
		return nil, errors.New("the row is a prompt of token ids, which only target.api openai-completions, sglang-generate and llamacpp take")
	case item.Prompt == "":
		return nil, errors.New("there is no message to send")
	}
	return []workload.Message{{Role: "user", Content: item.Prompt}}, nil
}

func encodeMessages(list []workload.Message, plain string) ([]byte, error) {
	b := []byte{'['}
	for i, m := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if m.Raw != nil {
			if plain != "" {
				return nil, fmt.Errorf("messages[%d] has parts, tool calls or a name in the form of openai-chat, which %s has not: set target.api: openai-chat, or send whole bodies (workload.dataset.format: bodies)", i, plain)
			}
			b = append(b, m.Raw...)
			continue
		}
		if m.Role == "" {
			return nil, fmt.Errorf("messages[%d].role is empty", i)
		}
		var err error
		if b, err = appendText(append(b, `{"role":`...), func() string { return fmt.Sprintf("messages[%d].role", i) }, m.Role); err != nil {
			return nil, err
		}
		if b, err = appendText(append(b, `,"content":`...), func() string { return fmt.Sprintf("messages[%d].content", i) }, m.Content); err != nil {
			return nil, err
		}
		b = append(b, '}')
	}
	return append(b, ']'), nil
}

// promptOrIDs sets the prompt, as text in one field or as token ids in the other.
func (f *fields) promptOrIDs(field, ids string, item workload.Item, name string) error {
	if item.TokenIDs == nil {
		return f.prompt(field, item, name)
	}
	b := make([]byte, 0, 7*len(item.TokenIDs)+2)
	for i, id := range item.TokenIDs {
		b = append(b, ',')
		if i == 0 {
			b[0] = '['
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	f.set(ids, append(b, ']'))
	return nil
}

// wholeBody is a body that the row brings, with the fields that it leaves to the
// spec.
func wholeBody(item workload.Item, o Options) ([]byte, error) {
	if len(item.Override) == 0 {
		return item.Body, nil
	}
	f := &fields{}
	for m := value(item.Body).members(); m.next(); {
		f.set(string(m.key), m.val)
	}
	for _, name := range item.Override {
		switch name {
		case "model":
			if err := f.model(o); err != nil {
				return nil, err
			}
		case "stream":
			f.stream(o)
		default:
			return nil, fmt.Errorf("workload.dataset.override: %s cannot be overridden: only model and stream", name)
		}
	}
	return f.bytes(), nil
}

// prompt sets the rendered template, for the APIs that take text.
func (f *fields) prompt(field string, item workload.Item, name string) error {
	if item.TokenIDs != nil {
		return errors.New("the row is a prompt of token ids, which " + name + " does not take: target.api openai-completions, sglang-generate and llamacpp do")
	}
	if item.Prompt == "" {
		return errors.New("the prompt is empty: " + name + " sends the rendered template as prompt, and no messages")
	}
	prompt, err := text("the prompt", item.Prompt)
	if err == nil {
		f.set(field, prompt)
	}
	return err
}
