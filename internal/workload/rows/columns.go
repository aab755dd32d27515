package rows

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tokentape/internal/workload/dataset"
	"tokentape/internal/workload/object"
)

// mapped gives the fields that workload.dataset.columns names their other names
// too. A field that the row lacks stays missing.
func (s *Source) mapped(row dataset.Row) (dataset.Row, error) {
	columns := s.w.Dataset.Columns
	if len(columns) == 0 {
		return row, nil
	}
	b := make([]byte, 0, len(row.Fields)+len(row.Fields)/2+64)
	b = append(b, row.Fields[:len(row.Fields)-1]...) // up to the closing brace
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		raw, ok := find(row.Fields, columns[name])
		if !ok {
			continue
		}
		key, err := quote(name)
		if err != nil {
			return row, row.Issue("", "workload.dataset.columns.%s: %v", name, err)
		}
		if len(strings.TrimSpace(string(b[1:min(len(b), 9)]))) > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, key...), ':'), raw...)
	}
	row.Fields = object.Object(append(b, '}'))
	return row, nil
}

// find is a field by its name, or within objects by names with dots between.
func find(o object.Object, path string) (json.RawMessage, bool) {
	if raw, ok := o.Get(path); ok {
		return raw, true
	}
	name, rest, nested := strings.Cut(path, ".")
	if !nested {
		return nil, false
	}
	raw, ok := o.Get(name)
	if !ok {
		return nil, false
	}
	inner, ok := object.Of(raw)
	if !ok {
		return nil, false
	}
	return find(inner, rest)
}

// passes reports whether a row has the values of workload.dataset.filter.
func (s *Source) passes(row dataset.Row) (bool, error) {
	for name, want := range s.w.Dataset.Filter {
		raw, ok := find(row.Fields, name)
		if !ok || plain(raw) != fmt.Sprint(want) {
			return false, nil
		}
	}
	return true, nil
}

// plain is the text of a value.
func plain(raw json.RawMessage) string {
	var text string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
