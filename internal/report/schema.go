package report

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"tokentape/internal/analysis"
)

// Schema is the JSON Schema (draft 2020-12) of results.json. It is open: later
// versions add fields. Names carry their units; what each means is in the
// catalogue (docs/metrics.md, tokentape explain NAME).
func Schema() []byte {
	return schemaOf(reflect.TypeFor[analysis.Results](), "tokentape results", analysis.Schema,
		"Numbers of one run, off its tape. null: not observed, never 0. Definitions: tokentape explain NAME, docs/metrics.md.")
}

// schemaOf is the schema of a document of type t, whose field schema says version.
func schemaOf(t reflect.Type, title, version, description string) []byte {
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true, AllowAdditionalProperties: true}
	s := r.ReflectFromType(t)
	s.Title, s.Description = title, description
	absentIsNull(s, t)
	if p, ok := s.Properties.Get("schema"); ok {
		p.Const = version
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil { // a schema made of our own types always encodes
		panic(err)
	}
	return append(b, '\n')
}

// absentIsNull lets every pointer, and every list or map that Go writes as null
// when it is empty, be null.
func absentIsNull(s *jsonschema.Schema, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		if s.Items != nil {
			s.Items = nullable(s.Items, t.Elem())
		}
	case reflect.Map:
		if s.AdditionalProperties != nil {
			s.AdditionalProperties = nullable(s.AdditionalProperties, t.Elem())
		}
	case reflect.Struct:
		if s.Properties == nil {
			return
		}
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if p, ok := s.Properties.Get(name); ok {
				s.Properties.Set(name, nullable(p, f.Type))
			}
		}
	}
}

func nullable(s *jsonschema.Schema, t reflect.Type) *jsonschema.Schema {
	absentIsNull(s, t)
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
	}
	return s
}
