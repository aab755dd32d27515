package spec

import (
	_ "embed"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"
)

// The descriptions of the schema are the comments of the struct: one text for
// who reads the code and who writes a spec.
//
//go:embed spec.go
var source string

// variableText matches a scalar that a ${VAR} fills in at load.
const variableText = `\$\{`

// Schema is the JSON Schema (draft 2020-12) of a spec file, for editors: keys,
// types, choices, defaults and descriptions. Read knows more (fields side by
// side), so what the schema accepts may still be refused.
func Schema() []byte {
	comments := readComments()
	r := jsonschema.Reflector{
		Anonymous:                  true,
		DoNotReference:             true,
		RequiredFromJSONSchemaTags: true, // every field has a default
		LookupComment: func(t reflect.Type, field string) string {
			if t.PkgPath() != reflect.TypeFor[Spec]().PkgPath() {
				return ""
			}
			return comments[strings.TrimSuffix(t.Name()+"."+field, ".")]
		},
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t == reflect.TypeFor[Duration]() {
				return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
					{Type: "string", Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$|` + variableText},
					{Const: 0},
				}}
			}
			return nil
		},
	}
	s := r.Reflect(&Spec{})
	s.Title = "tokentape spec"
	s.Description = "What tokentape is asked to do: of which server, with what, under what load."
	m := schemaMaker{choices(), comments}
	m.describe(s, reflect.ValueOf(Default()).Elem(), "")
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil { // a schema made of our own types always encodes
		panic(err)
	}
	return b
}

type schemaMaker struct {
	choice   map[string][]string
	comments map[string]string
}

// describe adds choices, defaults and the forms that only this format knows.
func (m schemaMaker) describe(s *jsonschema.Schema, def reflect.Value, path string) {
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		if f, ok := field(def, p.Key); ok {
			p.Value = m.refine(p.Value, f, join(path, p.Key))
		}
	}
}

func (m schemaMaker) refine(s *jsonschema.Schema, f reflect.Value, path string) *jsonschema.Schema {
	if !f.IsZero() && (scalarKind(f) || f.Kind() == reflect.Slice) {
		s.Default = f.Interface()
	}
	t := f.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[Duration]() {
		return s
	}
	switch t.Kind() {
	case reflect.Struct:
		m.describe(s, f, path)
		text := m.comments[t.Name()]
		if t == reflect.TypeFor[Devices]() {
			return &jsonschema.Schema{Description: text, AnyOf: []*jsonschema.Schema{count(&jsonschema.Schema{Type: "integer"}), fromEnv(), s}}
		}
		s.Description = text
	case reflect.String:
		if all := m.choice[path]; all != nil {
			s.Type, s.AnyOf = "", []*jsonschema.Schema{{Enum: enum(all)}, fromEnv()}
		}
		if path == "sweep.requests" {
			s.Type, s.AnyOf = "", []*jsonschema.Schema{{Type: "integer", Minimum: "1"}, {Type: "string"}}
		}
	case reflect.Slice:
		if all := m.choice[path]; all != nil {
			s.Items = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Enum: enum(all)}, fromEnv()}}
			if path == "report.windows" {
				s.Items.AnyOf = append(s.Items.AnyOf, &jsonschema.Schema{Type: "string", Pattern: windowText})
			}
		}
		if t.Elem().Kind() == reflect.Struct {
			m.describe(s.Items, reflect.New(t.Elem()).Elem(), path)
		}
	case reflect.Int64, reflect.Float64, reflect.Bool:
		inner := &jsonschema.Schema{Type: s.Type}
		if s.Type != "boolean" {
			count(inner)
		}
		if s.Type == "integer" && s.Default != nil && path != "seeds.run" {
			inner.Minimum = "1" // N, C and attempts: 0 would send nothing
		}
		s.Type, s.AnyOf = "", []*jsonschema.Schema{inner, fromEnv()}
	}
	return s
}

// count says that a number is not negative.
func count(s *jsonschema.Schema) *jsonschema.Schema {
	s.Minimum = "0"
	return s
}

// fromEnv is a value that the environment gives.
func fromEnv() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: variableText}
}

func enum(all []string) []any {
	out := make([]any, len(all))
	for i, v := range all {
		out[i] = v
	}
	for _, v := range all {
		if f, ok := parseFloat(v); ok { // YAML's 1.1 without quotes
			out = append(out, f)
		}
	}
	return out
}

// readComments are the comments of spec.go by "Type" and "Type.Field".
func readComments() map[string]string {
	out := map[string]string{}
	f, err := parser.ParseFile(token.NewFileSet(), "spec.go", source, parser.ParseComments)
	if err != nil { // the compiler has read the same file
		panic(err)
	}
	for _, decl := range f.Decls {
		g, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, sp := range g.Specs {
			t, ok := sp.(*ast.TypeSpec)
			if !ok {
				continue
			}
			out[t.Name.Name] = oneLine(g.Doc.Text())
			if st, ok := t.Type.(*ast.StructType); ok {
				for _, fl := range st.Fields.List {
					for _, name := range fl.Names {
						out[t.Name.Name+"."+name.Name] = oneLine(fl.Doc.Text() + " " + fl.Comment.Text())
					}
				}
			}
		}
	}
	return out
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
