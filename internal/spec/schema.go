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
	describe(s, reflect.ValueOf(Default()).Elem(), "", choices())
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil { // a schema made of our own types always encodes
		panic(err)
	}
	return append(b, '\n')
}

// describe adds choices, defaults and the forms that only this format knows.
func describe(s *jsonschema.Schema, def reflect.Value, path string, choice map[string][]string) {
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		full := join(path, p.Key)
		f, ok := field(def, p.Key)
		if !ok {
			continue
		}
		p.Value = refine(p.Value, f, full, choice)
	}
}

func refine(s *jsonschema.Schema, f reflect.Value, path string, choice map[string][]string) *jsonschema.Schema {
	if !f.IsZero() && (scalarKind(f) || f.Kind() == reflect.Slice) {
		s.Default = f.Interface()
	}
	kind := f.Type()
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	switch {
	case kind == reflect.TypeFor[Duration]():
	case kind == reflect.TypeFor[Devices]():
		describe(s, f, path, choice)
		text := s.Description
		s.Description = ""
		return &jsonschema.Schema{Description: text, AnyOf: []*jsonschema.Schema{count(&jsonschema.Schema{Type: "integer"}), fromEnv(), s}}
	case kind.Kind() == reflect.Struct:
		describe(s, f, path, choice)
	case kind.Kind() == reflect.String:
		if all := choice[path]; all != nil {
			s.Type, s.AnyOf = "", []*jsonschema.Schema{{Enum: enum(all)}, fromEnv()}
		}
	case kind.Kind() == reflect.Slice && choice[path] != nil:
		s.Items = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Enum: enum(choice[path])}, fromEnv()}}
	case kind.Kind() == reflect.Slice && s.Items != nil && s.Items.Properties != nil:
		describe(s.Items, reflect.New(kind.Elem()).Elem(), path+"[]", choice)
	case kind.Kind() == reflect.Int64, kind.Kind() == reflect.Float64, kind.Kind() == reflect.Bool:
		inner := &jsonschema.Schema{Type: s.Type}
		if s.Type != "boolean" {
			count(inner)
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
