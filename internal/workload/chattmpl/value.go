package chattmpl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/ardanlabs/jinja"
)

// object is a JSON object of a file, in its order.
type object struct {
	file    string
	members []member
}

type member struct {
	key string
	raw json.RawMessage
}

// get is the last member of a name.
func (o object) get(key string) (raw json.RawMessage, ok bool) {
	for _, m := range o.members {
		if m.key == key {
			raw, ok = m.raw, true
		}
	}
	return raw, ok
}

// readObject is empty for a missing file.
func readObject(path string) (object, error) {
	b, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return object{file: path}, nil
	}
	if err != nil {
		return object{}, err
	}
	o, err := parseObject(bytes.TrimPrefix(b, []byte("\uFEFF")))
	if err != nil {
		return o, fmt.Errorf("%s: %w", path, err)
	}
	o.file = path
	return o, nil
}

func parseObject(b []byte) (object, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return object{}, errors.New("not a JSON object")
	}
	var o object
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return o, err
		}
		m := member{key: key.(string)}
		if err := dec.Decode(&m.raw); err != nil {
			return o, err
		}
		o.members = append(o.members, m)
	}
	_, err := dec.Token()
	return o, err
}

// maxDepth is the deepest nesting of a value that is read.
const maxDepth = 200

// value reads JSON for a template: objects keep their order, and integers stay
// integers, since templates write both.
func value(raw json.RawMessage) (jinja.Value, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v, err := next(dec, 0)
	if err == nil {
		if _, end := dec.Token(); end != io.EOF {
			err = errors.New("more than one JSON value")
		}
	}
	if err != nil {
		return jinja.Undefined(), fmt.Errorf("not JSON: %w", err)
	}
	return v, nil
}

func next(dec *json.Decoder, depth int) (jinja.Value, error) {
	tok, err := dec.Token()
	if err != nil {
		return jinja.Undefined(), err
	}
	if depth > maxDepth {
		return jinja.Undefined(), errors.New("nested too deeply")
	}
	switch x := tok.(type) {
	case nil:
		return jinja.None(), nil
	case bool:
		return jinja.NewBool(x), nil
	case string:
		return jinja.NewString(x), nil
	case json.Number:
		if i, err := x.Int64(); err == nil {
			return jinja.NewInt(i), nil
		}
		f, err := x.Float64()
		return jinja.NewFloat(f), err
	case json.Delim:
		if x == '[' {
			var items []jinja.Value
			for dec.More() {
				v, err := next(dec, depth+1)
				if err != nil {
					return v, err
				}
				items = append(items, v)
			}
			_, err := dec.Token()
			return jinja.NewList(items), err
		}
		d := jinja.NewDict()
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return d, err
			}
			v, err := next(dec, depth+1)
			if err != nil {
				return v, err
			}
			d.AsDict().Set(key.(string), v)
		}
		_, err := dec.Token()
		return d, err
	}
	return jinja.Undefined(), fmt.Errorf("unexpected %v", tok)
}
