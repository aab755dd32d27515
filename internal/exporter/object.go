package exporter

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Object is a JSON object whose fields keep the order in which they were added, as
// a Python dict does; a name twice is an error when it is written.
type Object struct {
	names  []string
	values []any
}

// Add appends a field. A nil pointer is null.
func (o *Object) Add(name string, value any) {
	o.names = append(o.names, name)
	o.values = append(o.values, value)
}

// Copy appends a field for each name, of values by those names; what is missing
// there, or nil, is null.
func (o *Object) Copy(values map[string]*float64, names ...string) {
	for _, name := range names {
		o.Add(name, values[name])
	}
}

// MarshalJSON writes the fields in their order. Errors: a name that stands twice,
// a value that JSON cannot hold.
func (o *Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	seen := map[string]bool{}
	b.WriteByte('{')
	for i, name := range o.names {
		if seen[name] {
			return nil, fmt.Errorf("the field %q stands twice", name)
		}
		seen[name] = true
		if i > 0 {
			b.WriteByte(',')
		}
		key, _ := json.Marshal(name)
		val, err := json.Marshal(o.values[i])
		if err != nil {
			return nil, fmt.Errorf("the field %q: %w", name, err)
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(val)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
