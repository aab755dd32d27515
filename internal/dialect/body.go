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
// setting, so that equal input gives equal bytes.
type fields struct {
	names  []string
	values map[string][]byte
}

func (f *fields) set(name string, value []byte) {
	if _, ok := f.values[name]; !ok {
		f.names = append(f.names, name)
	}
	f.values[name] = value
}

func (f *fields) drop(name string) {
	if _, ok := f.values[name]; ok {
		delete(f.values, name)
		f.names = slices.DeleteFunc(f.names, func(n string) bool { return n == name })
	}
}

func (f *fields) bytes() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range f.names {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := encode(name)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(f.values[name])
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// encode is v as JSON in one line, with <, > and & as they are. Maps come out
// with sorted keys.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// text encodes a string of the workload; encoding/json would silently turn
// broken UTF-8 into U+FFFD, and the server would get another prompt.
func text(where, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("%s is not valid UTF-8: convert the dataset to UTF-8", where)
	}
	return encode(s)
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
func (f *fields) stream(o Options) { f.set("stream", fmt.Appendf(nil, "%t", o.Stream)) }

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
		role, err := text(fmt.Sprintf("messages[%d].role", i), m.Role)
		if err != nil {
			return nil, err
		}
		content, err := text(fmt.Sprintf("messages[%d].content", i), m.Content)
		if err != nil {
			return nil, err
		}
		b = fmt.Appendf(b, `{"role":%s,"content":%s}`, role, content)
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
	f := &fields{values: map[string][]byte{}}
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
	return f.bytes()
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
