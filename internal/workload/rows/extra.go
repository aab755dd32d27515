package rows

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"tokentape/internal/workload"
	"tokentape/internal/workload/dataset"
	"tokentape/internal/workload/object"
)

// extra takes the body fields that the row gives itself: those of its object
// "extra", and the fields that workload.dataset.extra names.
func (s *Source) extra(row dataset.Row, item *workload.Item) error {
	if raw, ok := given(row, "extra"); ok {
		o, isObject := object.Of(structured(raw))
		if !isObject {
			return row.Issue(`such as {"temperature": 0.2}`, "extra is no object: %s", short(raw))
		}
		for _, name := range o.Names() {
			v, _ := o.Get(name)
			if err := sendable(row, name, v); err != nil {
				return err
			}
			setExtra(item, name, v)
		}
	}
	for _, name := range s.w.Dataset.Extra {
		if v, ok := given(row, name); ok {
			v = s.cell(v)
			if err := sendable(row, name, v); err != nil {
				return err
			}
			setExtra(item, name, v)
		}
	}
	return nil
}

// sendable refuses body fields that are made of the row in another way.
func sendable(row dataset.Row, name string, v json.RawMessage) error {
	switch name {
	case "messages", "prompt":
		return row.Issue("leave it out of extra; whole bodies are workload.dataset.format: bodies", "%s is made from the row, so it cannot be an extra field too", name)
	case "stream":
		return row.Issue("set workload.stream", "stream is not a row's own: how an answer is read follows from it")
	case "stream_options":
		o, ok := object.Of(v)
		if !ok {
			return row.Issue("", "stream_options is no object")
		}
		if usage, ok := o.Get("include_usage"); ok && string(usage) != "true" && string(usage) != "false" {
			return row.Issue("true or false, without quotes", "stream_options.include_usage is %s", short(usage))
		}
	}
	return nil
}

// setExtra sets a body field; the bytes are copied.
func setExtra(item *workload.Item, name string, v json.RawMessage) {
	if item.Extra == nil {
		item.Extra = map[string]json.RawMessage{}
	}
	item.Extra[name] = bytes.Clone(v)
}

// given is a field that has a value: neither null nor the empty cell of a table.
func given(row dataset.Row, name string) (json.RawMessage, bool) {
	raw, ok := row.Fields.Get(name)
	if !ok || string(raw) == "null" || string(raw) == `""` {
		return nil, false
	}
	return raw, true
}

// cell is a value; in a table, whose cells are texts, what a text says when it is
// a JSON list or object.
func (s *Source) cell(raw json.RawMessage) json.RawMessage {
	switch s.file.Info().Format {
	case "csv", "tsv", "parquet":
		return structured(raw)
	}
	return raw
}

// structured is a value, or what a text says when it is a JSON list or object.
func structured(raw json.RawMessage) json.RawMessage {
	if len(raw) < 4 || raw[0] != '"' || raw[1] != '[' && raw[1] != '{' {
		return raw
	}
	var text string
	if json.Unmarshal(raw, &text) == nil && json.Valid([]byte(text)) {
		return json.RawMessage(bytes.TrimSpace([]byte(text)))
	}
	return raw
}

// outputLen is the row's own output length, 0 when it has none.
func outputLen(row dataset.Row) (int64, error) {
	var n int64
	var from string
	for _, name := range []string{"max_tokens", "output_tokens"} {
		raw, ok := given(row, name)
		if !ok {
			continue
		}
		v, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil || v < 1 {
			return 0, row.Issue("write a whole number from 1, or leave the field out", "%s is %s, not a positive integer", name, short(raw))
		}
		if from != "" && v != n {
			return 0, row.Issue("keep one of the two", "%s is %d but %s is %d", from, n, name, v)
		}
		n, from = v, name
	}
	return n, nil
}

func short(raw []byte) string {
	if len(raw) > 40 {
		return fmt.Sprintf("%q…", raw[:40])
	}
	return string(raw)
}
