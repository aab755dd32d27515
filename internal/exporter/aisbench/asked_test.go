package aisbench

import (
	"encoding/json"
	"testing"

	"tokentape/tape"
)

// A prompt of the spec in AISBench's form: braces back, columns named, roles theirs.
func TestTemplateOfSpec(t *testing.T) {
	for _, c := range []struct{ workload, text, columns string }{
		{`{"template":"{{x}} {q} {q} {a.b}"}`, `"{x} {q} {q} {a.b}"`, `["q","a.b"]`},
		{`{"template":"hi"}`, `"hi"`, `[]`},
		{`{"system":"be {brief}","template":"{q}"}`, `dict(round=[dict(role="SYSTEM", prompt="be {brief}"), dict(role="HUMAN", prompt="{q}")])`, `["q"]`},
		{`{"body":{"messages":[{"role":"user","content":"1"},{"role":"assistant","content":"2"},{"role":"user","content":"{q}"}]}}`,
			`dict(round=[dict(role="HUMAN", prompt="1"), dict(role="BOT", prompt="2"), dict(role="HUMAN", prompt="{q}")])`, `["q"]`},
		{`{}`, "", ""},
	} {
		q := askedOf(&tape.Header{Spec: json.RawMessage(`{"workload":` + c.workload + `}`)})
		text, columns, known := q.template()
		if text != c.text || columns != c.columns || known != (c.text != "") {
			t.Errorf("%s: %s %s", c.workload, text, columns)
		}
	}
}

// Values of a body as Python has them; what is masked comes from the environment.
func TestPythonValues(t *testing.T) {
	q := askedOf(&tape.Header{Spec: json.RawMessage(`{"workload":{"sampling":{"b":true,"n":null,"list":[1,2.50,"x\"y"],"d":{},"e":{"api_key":"***"},"odd key":0.1}}}`)})
	want := `{"b": True, "d": dict(), "e": {"api_key": os.environ.get("AISBENCH_BODY_API_KEY", "")}, "list": [1, 2.50, "x\"y"], "n": None, "odd key": 0.1}`
	if got := pyValue("", q.Workload.Sampling); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
