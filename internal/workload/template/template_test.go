package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tokentape/internal/workload/object"
)

func TestRender(t *testing.T) {
	const r = `{"question":"What?","n":32,"big":12345678901234567890.10,"yes":true,"list":[1, "a" ],"meta":{"title":"T","deep":{"er":"D"}},"a.b":"dotted","名字":"李","two words":"2","empty":"","esc":"a\n\"b\" \u4e2d"}`
	tests := []struct{ template, want string }{
		{Default, "What?"},
		{"Answer: {question}\n", "Answer: What?\n"},
		{"{question}{question}", "What?What?"},
		{"{n} {big} {yes}", "32 12345678901234567890.10 true"},
		{"{list} {meta}", `[1,"a"] {"title":"T","deep":{"er":"D"}}`},
		{"{meta.title}/{meta.deep.er}", "T/D"},
		{"{a.b}", "dotted"},
		{"{名字}你好{two words}", "李你好2"},
		{"{empty}.", "."},
		{"{esc}", "a\n\"b\" 中"},
		{`{{"q": "{question}"}}`, `{"q": "What?"}`},
		{"{{question}}", "{question}"},
		{"{{{question}}}", "{What?}"},
		{"}}{{", "}{"},
		{"no field", "no field"},
	}
	for _, tt := range tests {
		tmpl, err := Parse(tt.template)
		if err != nil {
			t.Errorf("%q: %v", tt.template, err)
			continue
		}
		if got, err := tmpl.Render(object.Object(r)); err != nil || got != tt.want {
			t.Errorf("%q: got %q, %v, want %q", tt.template, got, err, tt.want)
		}
		if tmpl.String() != tt.template {
			t.Errorf("%q is kept as %q", tt.template, tmpl)
		}
	}
	tmpl, _ := Parse("{b} {a} {b} {{c}}")
	if got := tmpl.Fields(); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("fields %q", got)
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		template string
		want     []string
	}{
		{"", []string{"workload.template", "empty", Default}},
		{"{question", []string{"workload.template", "character 1 of", "not closed", "{{"}},
		{"中文 {a {b}}", []string{"character 4 of", "not closed"}},
		{"question}", []string{"character 9 of", "closes nothing", "}}"}},
		{"a {} b", []string{"character 3 of", "no field", "{question}"}},
		{"{ }", []string{"no field"}},
		{"{a}}", []string{"character 4 of", "closes nothing"}},
		{"{", []string{"not closed"}},
	}
	for _, tt := range tests {
		_, err := Parse(tt.template)
		if err == nil {
			t.Errorf("%q is accepted", tt.template)
			continue
		}
		for _, w := range tt.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: %q does not say %q", tt.template, err, w)
			}
		}
	}
}

func TestRenderRefuses(t *testing.T) {
	const r = `{"prompt":"p","Question":"q","meta":{"title":"T","text":"x"},"none":null,"s":"text","list":[{"a":1}]}`
	tests := []struct {
		template, nearest string
		want              string
	}{
		{"{question}", "Question", "the row has no field {question} that the template asks for; its fields are: Question, list, meta, none, prompt, s"},
		{"{promt}", "prompt", "{promt}"},
		{"{ prompt }", "prompt", "{ prompt }"},
		{"{xyz}", "", "{xyz}"},
		{"{meta.titel}", "meta.title", "{meta.titel} that the template asks for; its fields are: text, title"},
		{"{mta.title}", "meta", "{mta.title}"},
		{"{s.x}", "", "{s.x} that the template asks for; its fields are: none"},
		{"{list.a}", "", "{list.a}"},
		{"{none}", "", "{none} of the template is null"},
		{"{none.x}", "", "{none.x}"},
	}
	for _, tt := range tests {
		tmpl, err := Parse(tt.template)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tmpl.Render(object.Object(r))
		var field *FieldError
		if !errors.As(err, &field) {
			t.Errorf("%q: %q, %v", tt.template, got, err)
			continue
		}
		if field.Nearest != tt.nearest || !strings.Contains(err.Error(), tt.want) || field.Hint() == "" {
			t.Errorf("%q: nearest %q, hint %q, %v", tt.template, field.Nearest, field.Hint(), err)
		}
	}
	many := "{"
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		many += fmt.Sprintf("%q:1,", string(c))
	}
	tmpl, _ := Parse(Default)
	if _, err := tmpl.Render(object.Object(many[:len(many)-1] + "}")); err == nil || !strings.HasSuffix(err.Error(), "k, l, …") {
		t.Errorf("26 fields: %v", err)
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("{question}", `{"question":"x"}`)
	f.Add("{{a}} {b.c} }}", `{"b":{"c":[1]}}`)
	f.Add("{a", `{"a":null}`)
	f.Fuzz(func(t *testing.T, text, fields string) {
		tmpl, err := Parse(text)
		if err != nil {
			return
		}
		escaped := strings.NewReplacer("{", "{{", "}", "}}").Replace(text)
		if plain, err := Parse(escaped); err != nil {
			t.Fatalf("%q: %v", escaped, err)
		} else if got, err := plain.Render(nil); err != nil || got != text {
			t.Fatalf("%q renders %q, %v", escaped, got, err)
		}
		if !json.Valid([]byte(fields)) || fields[0] != '{' {
			return
		}
		_, err = tmpl.Render(object.Object(fields))
		var field *FieldError
		if err != nil && !errors.As(err, &field) {
			t.Fatal(err)
		}
	})
}
