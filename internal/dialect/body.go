package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"tokentape/internal/workload"
)

// Names of the fields that bound the output, in the order in which they count
// when a body has both.
var lengthFields = []string{"max_completion_tokens", "max_tokens"}

// Asked is how many output tokens the body of this item asks for; 0: none. A
// field of the row wins over the output length, and that over the sampling
// options.
func Asked(item workload.Item, o Options) int64 {
	for _, name := range lengthFields {
		if n, ok := wholeNumber(item.Extra[name]); ok {
			return n
		}
	}
	if n := outputLen(item, o); n > 0 {
		return n
	}
	for _, name := range lengthFields {
		if v, ok := o.Sampling[name]; ok {
			raw, _ := json.Marshal(v)
			if n, ok := wholeNumber(raw); ok {
				return n
			}
		}
	}
	return 0
}

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

// Body is the request body of the item.
func (d openAI) Body(item workload.Item, o Options) ([]byte, error) {
	f := &fields{values: map[string][]byte{}}
	if o.Model != "" {
		model, err := text("target.model", o.Model)
		if err != nil {
			return nil, err
		}
		f.set("model", model)
	}
	if err := d.ask(f, item); err != nil {
		return nil, err
	}
	f.set("stream", []byte("false"))
	if o.Stream {
		f.set("stream", []byte("true"))
		f.set("stream_options", []byte(`{"include_usage":true}`))
	}
	n := outputLen(item, o)
	if n > 0 {
		f.set("max_tokens", fmt.Appendf(nil, "%d", n))
	}
	for _, name := range slices.Sorted(maps.Keys(o.Sampling)) {
		where := "workload.sampling." + name
		if hint := elsewhere[name]; hint != "" {
			return nil, fmt.Errorf("%s cannot be set: %s", where, hint)
		}
		if n > 0 && slices.Contains(lengthFields, name) {
			return nil, fmt.Errorf("%s and an output length (workload.output_tokens, or the row's own) are both given: keep one", where)
		}
		raw, err := encode(o.Sampling[name])
		if err != nil {
			return nil, fmt.Errorf("%s cannot be sent as JSON: %w", where, err)
		}
		if err := merge(f, where, name, raw, o.Stream); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(item.Extra)) {
		where := fmt.Sprintf("the row's field %q", name)
		if hint := elsewhere[name]; hint != "" && name != "model" {
			return nil, fmt.Errorf("%s cannot be sent: %s", where, hint)
		}
		var raw bytes.Buffer
		if err := json.Compact(&raw, item.Extra[name]); err != nil {
			return nil, fmt.Errorf("%s is not JSON: %w", where, err)
		}
		if slices.Contains(lengthFields, name) { // the row's own length replaces any other
			for _, other := range lengthFields {
				if _, too := item.Extra[other]; !too {
					f.drop(other)
				}
			}
		}
		if err := merge(f, where, name, raw.Bytes(), o.Stream); err != nil {
			return nil, err
		}
	}
	return f.bytes()
}

// elsewhere says where a field is set that neither a row nor workload.sampling
// may override, for the answer is read accordingly.
var elsewhere = map[string]string{
	"model":    "set target.model",
	"messages": "it is made from the dataset and workload.template",
	"prompt":   "it is made from the dataset and workload.template",
	"stream":   "set workload.stream",
}

// merge sets a field; stream_options keep include_usage unless it is given.
func merge(f *fields, where, name string, raw []byte, stream bool) error {
	if name != "stream_options" {
		f.set(name, raw)
		return nil
	}
	if !stream {
		return fmt.Errorf("%s has no effect without workload.stream", where)
	}
	options := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &options); err != nil || options == nil {
		return fmt.Errorf("%s is not an object", where)
	}
	if _, ok := options["include_usage"]; !ok {
		options["include_usage"] = json.RawMessage("true")
	}
	merged, err := encode(options)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	f.set(name, merged)
	return nil
}

// ask sets messages or prompt.
func (d openAI) ask(f *fields, item workload.Item) error {
	if !d.chat {
		if item.Prompt == "" {
			return errors.New("the prompt is empty: " + d.name + " sends the rendered template as prompt")
		}
		prompt, err := text("the prompt", item.Prompt)
		if err == nil {
			f.set("prompt", prompt)
		}
		return err
	}
	messages := item.Messages
	if len(messages) == 0 {
		if item.Prompt == "" {
			return errors.New("there is no message to send")
		}
		messages = []workload.Message{{Role: "user", Content: item.Prompt}}
	}
	b := []byte{'['}
	for i, m := range messages {
		if m.Role == "" {
			return fmt.Errorf("messages[%d].role is empty", i)
		}
		role, err := text(fmt.Sprintf("messages[%d].role", i), m.Role)
		if err != nil {
			return err
		}
		content, err := text(fmt.Sprintf("messages[%d].content", i), m.Content)
		if err != nil {
			return err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"role":%s,"content":%s}`, role, content)
	}
	f.set("messages", append(b, ']'))
	return nil
}
