package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"tokentape/internal/spec"
	"tokentape/internal/workload/object"
)

// Default is the template when the spec gives none.
const Default = "{question}"

// Template is a parsed template. The zero Template renders nothing; use Parse.
type Template struct {
	text  string
	parts []part
}

// part is literal text, or a field when path is not empty.
type part struct {
	literal string
	path    string
}

// Parse reads a template: a field of the row stands in braces, {question}; a
// field of an object in a field after a dot, {meta.title} (unless the row has a
// field whose name holds the dot); {{ and }} are braces. Its error, a spec.Issue,
// names the character.
func Parse(text string) (Template, error) {
	t := Template{text: text}
	fail := func(at int, message, hint string) (Template, error) {
		return Template{}, spec.Issue{Field: "workload.template", Message: fmt.Sprintf("character %d of %q: %s", utf8.RuneCountInString(text[:at])+1, text, message), Hint: hint}
	}
	if text == "" {
		return Template{}, spec.Issue{Field: "workload.template", Message: "the template is empty", Hint: "the default is " + Default}
	}
	var lit strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case (c == '{' || c == '}') && i+1 < len(text) && text[i+1] == c:
			lit.WriteByte(c)
			i++
		case c == '}':
			return fail(i, "this brace closes nothing", "write }} for a brace")
		case c == '{':
			n := strings.IndexAny(text[i+1:], "{}")
			if n < 0 || text[i+1+n] == '{' {
				return fail(i, "this brace is not closed", "write {{ for a brace")
			}
			path := text[i+1 : i+1+n]
			if strings.TrimSpace(path) == "" {
				return fail(i, "no field stands between the braces", "name one, for example {question}, or write {{}} for braces")
			}
			if lit.Len() > 0 {
				t.parts = append(t.parts, part{literal: lit.String()})
				lit.Reset()
			}
			t.parts = append(t.parts, part{path: path})
			i += 1 + n
		default:
			lit.WriteByte(c)
		}
	}
	if lit.Len() > 0 {
		t.parts = append(t.parts, part{literal: lit.String()})
	}
	return t, nil
}

// String is the text that was parsed.
func (t Template) String() string { return t.text }

// Fields are the paths that the template uses, in order, each once.
func (t Template) Fields() []string {
	var out []string
	seen := map[string]bool{}
	for _, p := range t.parts {
		if p.path != "" && !seen[p.path] {
			seen[p.path] = true
			out = append(out, p.path)
		}
	}
	return out
}

// FieldError is a field that a row cannot give.
type FieldError struct {
	Path    string   // as in the template
	Null    bool     // the field is there, but null
	Have    []string // the names that stand where Path failed, sorted
	Nearest string   // the path that was most likely meant, or ""
}

func (e *FieldError) Error() string {
	if e.Null {
		return fmt.Sprintf("the field {%s} of the template is null in this row", e.Path)
	}
	have := "none"
	if len(e.Have) > 0 {
		names := e.Have
		if len(names) > 12 {
			names = append(names[:12:12], "…")
		}
		have = strings.Join(names, ", ")
	}
	return fmt.Sprintf("the row has no field {%s} that the template asks for; its fields are: %s", e.Path, have)
}

// Hint is what mends it.
func (e *FieldError) Hint() string {
	if e.Null {
		return "give it a value, or take the row out"
	}
	if e.Nearest != "" {
		return fmt.Sprintf("did you mean {%s}? set workload.template", e.Nearest)
	}
	return "set workload.template to fields that every row has"
}

// Render is the prompt of a row. A string field is its text; a number, true or
// false its JSON text; an object or array its JSON, compact. The error is a
// *FieldError.
func (t Template) Render(fields object.Object) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		if p.path == "" {
			b.WriteString(p.literal)
			continue
		}
		raw, err := lookup(fields, p.path)
		if err != nil {
			return "", err
		}
		if err := render(&b, p.path, raw); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func render(b *strings.Builder, path string, raw json.RawMessage) error {
	switch {
	case string(raw) == "null":
		return &FieldError{Path: path, Null: true}
	case raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0:
		b.Write(raw[1 : len(raw)-1])
	case raw[0] == '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return fmt.Errorf("the field {%s}: %w", path, err)
		}
		b.WriteString(s)
	case raw[0] == '{' || raw[0] == '[':
		var c bytes.Buffer
		if err := json.Compact(&c, raw); err != nil {
			return fmt.Errorf("the field {%s}: %w", path, err)
		}
		b.Write(c.Bytes())
	default:
		b.Write(raw)
	}
	return nil
}

// lookup finds path: the whole as a name first, then name by name.
func lookup(fields object.Object, path string) (json.RawMessage, error) {
	if raw, ok := fields.Get(path); ok {
		return raw, nil
	}
	done, rest := "", path
	for {
		name, more, nested := strings.Cut(rest, ".")
		raw, ok := fields.Get(name)
		if !ok {
			return nil, missing(fields, path, done, rest, name)
		}
		if !nested {
			return raw, nil
		}
		inner, ok := object.Of(raw)
		if !ok {
			return nil, missing(nil, path, done+name+".", more, more)
		}
		fields, done, rest = inner, done+name+".", more
	}
}

func missing(fields object.Object, path, done, rest, name string) *FieldError {
	e := &FieldError{Path: path, Have: fields.Names()}
	best := spec.Nearest(e.Have, name)
	if best == "" {
		best = spec.Nearest(e.Have, rest)
	}
	if best != "" {
		e.Nearest = done + best
	}
	return e
}

// Value is the JSON of the field of a template that is one placeholder alone. The
// error is a *FieldError.
func (t Template) Value(fields object.Object) (json.RawMessage, error) {
	raw, err := lookup(fields, t.parts[0].path)
	if err == nil && string(raw) == "null" {
		err = &FieldError{Path: t.parts[0].path, Null: true}
	}
	return raw, err
}
