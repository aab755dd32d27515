package rows

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tokentape/internal/workload"
	"tokentape/internal/workload/dataset"
	"tokentape/internal/workload/object"
	"tokentape/internal/workload/template"
)

// bodies is a row that is a whole request body, or holds one in its field "body"
// (as files of batch requests do). It is sent as it is.
var bodies = kind{
	what: "whole request bodies", fields: []string{"body"}, whole: true,
	item: func(_ *Source, row dataset.Row, item *workload.Item) error {
		body := row.Fields
		if raw, ok := given(row, "body"); ok {
			if o, isObject := object.Of(structured(raw)); isObject {
				body = o
			}
		}
		return sendBody(row, bytes.Clone(body), item)
	},
}

// filledBody is workload.body, filled in.
func filledBody(s *Source, row dataset.Row, item *workload.Item) error {
	body, err := s.body.fill(nil, row.Fields)
	if err != nil {
		return fieldIssue(row, err)
	}
	return sendBody(row, body, item)
}

func sendBody(row dataset.Row, body object.Object, item *workload.Item) error {
	if raw, ok := body.Get("stream"); ok && string(raw) != "true" && string(raw) != "false" && string(raw) != "null" {
		return row.Issue("true or false, without quotes", "stream is %s", short(raw))
	}
	item.Body = json.RawMessage(body)
	inner := func(name string) object.Object {
		raw, _ := body.Get(name)
		o, _ := object.Of(raw)
		return o
	}
	// What the body asks for, so that the answer's length can be held against it.
	for _, o := range []object.Object{body, inner("sampling_params"), inner("parameters"), inner("options")} {
		for _, name := range []string{"max_completion_tokens", "max_tokens", "max_new_tokens", "max_output_tokens", "n_predict", "num_predict"} {
			if raw, ok := o.Get(name); ok {
				if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil && n > 0 {
					item.OutputLen = n
					return nil
				}
			}
		}
	}
	return nil
}

// node is a part of workload.body.
type node struct {
	fixed []byte // JSON without placeholders
	text  *template.Template
	field bool // text is a placeholder alone: the field's own JSON value
	names []string
	nodes []*node // of an object by names, of a list without
}

// parseBody reads workload.body; nil when there is none.
func parseBody(body map[string]any) (*node, error) {
	if len(body) == 0 {
		return nil, nil
	}
	return parseNode("workload.body", body)
}

// parseNode reads the part of workload.body at path.
func parseNode(path string, v any) (*node, error) {
	n := &node{}
	switch v := v.(type) {
	case string:
		if v == "" {
			break
		}
		t, err := template.Parse(v)
		if err != nil {
			return nil, renamed(err, map[string]string{"workload.template": path})
		}
		fields := t.Fields()
		if len(fields) == 0 {
			break
		}
		n.text, n.field = &t, len(fields) == 1 && v == "{"+fields[0]+"}"
		return n, nil
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner, err := parseNode(path+"."+name, v[name])
			if err != nil {
				return nil, err
			}
			n.names, n.nodes = append(n.names, name), append(n.nodes, inner)
		}
		return n, nil
	case []any:
		n.nodes = []*node{}
		for i, e := range v {
			inner, err := parseNode(fmt.Sprintf("%s[%d]", path, i), e)
			if err != nil {
				return nil, err
			}
			n.nodes = append(n.nodes, inner)
		}
		return n, nil
	}
	if text, ok := v.(string); ok { // braces that are doubled
		v = strings.NewReplacer("{{", "{", "}}", "}").Replace(text)
	}
	var err error
	n.fixed, err = quote(v)
	return n, err
}

// fill appends the JSON of n with the row's fields.
func (n *node) fill(b []byte, fields object.Object) ([]byte, error) {
	switch {
	case n.fixed != nil:
		return append(b, n.fixed...), nil
	case n.field:
		raw, err := n.text.Value(fields)
		if err != nil {
			return nil, err
		}
		return append(b, raw...), nil
	case n.text != nil:
		text, err := n.text.Render(fields)
		if err != nil {
			return nil, err
		}
		q, err := quote(text)
		return append(b, q...), err
	}
	open, end := byte('{'), byte('}')
	if n.names == nil && n.nodes != nil {
		open, end = '[', ']'
	}
	b = append(b, open)
	for i, inner := range n.nodes {
		if i > 0 {
			b = append(b, ',')
		}
		if n.names != nil {
			q, err := quote(n.names[i])
			if err != nil {
				return nil, err
			}
			b = append(append(b, q...), ':')
		}
		var err error
		if b, err = inner.fill(b, fields); err != nil {
			return nil, err
		}
	}
	return append(b, end), nil
}

// quote is v as JSON, with <, > and & as they are.
func quote(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// fields are the fields of a row that n is made of.
func (n *node) fields() []string {
	if n.text != nil {
		return n.text.Fields()
	}
	var all []string
	for _, inner := range n.nodes {
		all = append(all, inner.fields()...)
	}
	return all
}
