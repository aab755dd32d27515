package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"tokentape/internal/dialect/frame"
	"tokentape/internal/workload"
)

// api is what the dialects share: names, framing, and how options become body
// fields.
type api struct {
	name, path string
	framing    frame.Kind
	header     map[string]string
	decoder    func() Decoder

	// lengths are the fields that bound the output, in the order in which they
	// count when a body has several; the first is the one that is sent.
	lengths []string
	// nest is the object of the body that takes sampling options; "": the body
	// itself. top are options that belong beside it all the same.
	nest string
	top  []string
	// own are fields that only the dialect sets, beside those of elsewhere, and
	// what to do instead.
	own map[string]string
	// usageOption: stream_options.include_usage asks for the counts.
	usageOption bool
}

func (a api) Name() string              { return a.name }
func (a api) Path() string              { return a.path }
func (a api) Framing() frame.Kind       { return a.framing }
func (a api) Header() map[string]string { return a.header }

func (a api) NewDecoder() Decoder {
	d := a.decoder()
	d.Reset()
	return d
}

// Asked is how many output tokens the body of this item asks for; 0: none. A
// field of the row wins over the output length, and that over the sampling
// options.
func (a api) Asked(item workload.Item, o Options) int64 {
	if item.Body != nil {
		return item.OutputLen // what the body itself asks for
	}
	lengths := a.lengthFields(o)
	for _, name := range lengths {
		if n, ok := wholeNumber(item.Extra[name]); ok {
			return n
		}
	}
	if n := outputLen(item, o); n > 0 {
		return n
	}
	for _, name := range lengths {
		if v, ok := o.Sampling[name]; ok {
			raw, _ := json.Marshal(v)
			if n, ok := wholeNumber(raw); ok {
				return n
			}
		}
	}
	return 0
}

// lengthFields are the fields that bound the output, the one that is sent first.
func (a api) lengthFields(o Options) []string {
	if o.LengthField == "" {
		return a.lengths
	}
	return append([]string{o.LengthField}, a.lengths...)
}

// LengthField is the field that carries the output length.
func (a api) LengthField(o Options) string {
	if all := a.lengthFields(o); len(all) > 0 {
		return all[0]
	}
	return ""
}

// elsewhere says where a field is set that neither a row nor workload.sampling
// may override, for the answer is read accordingly.
var elsewhere = map[string]string{
	"model":    "set target.model",
	"messages": "it is made from the dataset and workload.template",
	"prompt":   "it is made from the dataset and workload.template",
	"stream":   "set workload.stream",
}

// body builds a request body: what start sets, in the body and in the nested
// object (the same when there is none), then the output length, the sampling
// options and the row's own fields.
func (a api) body(item workload.Item, o Options, start func(f, in *fields) error) ([]byte, error) {
	if item.Body != nil {
		return wholeBody(item, o)
	}
	f := &fields{}
	in := f
	if a.nest != "" {
		in = &fields{}
	}
	if err := start(f, in); err != nil {
		return nil, err
	}
	n, lengths := outputLen(item, o), a.lengthFields(o)
	if n > 0 && len(lengths) > 0 {
		in.set(lengths[0], strconv.AppendInt(nil, n, 10))
	}
	put := func(where, name string, raw []byte) error {
		if name == "stream_options" && a.usageOption {
			return streamOptions(f, where, raw, o.Stream)
		}
		if name == a.nest && a.nest != "" {
			return in.add(where, raw)
		}
		if slices.Contains(a.top, name) {
			f.set(name, raw)
		} else {
			in.set(name, raw)
		}
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(o.Sampling)) {
		where := "workload.sampling." + name
		if hint := a.setElsewhere(name); hint != "" {
			return nil, fmt.Errorf("%s cannot be set: %s", where, hint)
		}
		if n > 0 && slices.Contains(lengths, name) {
			return nil, fmt.Errorf("%s and an output length (workload.output_tokens, or the row's own) are both given: keep one", where)
		}
		raw, err := encode(o.Sampling[name])
		if err != nil {
			return nil, fmt.Errorf("%s cannot be sent as JSON: %w", where, err)
		}
		if err := put(where, name, raw); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(item.Extra)) {
		where := fmt.Sprintf("the row's field %q", name)
		if hint := a.setElsewhere(name); hint != "" && name != "model" {
			return nil, fmt.Errorf("%s cannot be sent: %s", where, hint)
		}
		var raw bytes.Buffer
		if err := json.Compact(&raw, item.Extra[name]); err != nil {
			return nil, fmt.Errorf("%s is not JSON: %w", where, err)
		}
		if slices.Contains(lengths, name) { // the row's own length replaces any other
			for _, other := range lengths {
				if _, too := item.Extra[other]; !too {
					in.drop(other)
				}
			}
		}
		if name == "model" {
			f.set(name, raw.Bytes())
		} else if err := put(where, name, raw.Bytes()); err != nil {
			return nil, err
		}
	}
	if in != f && len(*in) > 0 {
		f.set(a.nest, in.bytes())
	}
	return f.bytes(), nil
}

func (a api) setElsewhere(name string) string {
	if hint := a.own[name]; hint != "" {
		return hint
	}
	return elsewhere[name]
}

// add sets the members of an object that was given whole.
func (f *fields) add(where string, raw []byte) error {
	if !value(raw).is('{') {
		return fmt.Errorf("%s is not an object", where)
	}
	for m := value(raw).members(); m.next(); {
		if hint := elsewhere[string(m.key)]; hint != "" {
			return fmt.Errorf("%s.%s cannot be set: %s", where, m.key, hint)
		}
		f.set(string(m.key), m.val)
	}
	return nil
}

// streamOptions keep include_usage unless it is given.
func streamOptions(f *fields, where string, raw []byte, stream bool) error {
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
	f.set("stream_options", merged)
	return nil
}
