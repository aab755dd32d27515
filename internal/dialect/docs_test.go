package dialect

import (
	"os"
	"strings"
	"testing"

	"tokentape/internal/spec"
	"tokentape/internal/workload"
)

// Each dialect's page shows the request that goes out, and the index lists it.
func TestPagesAreTrue(t *testing.T) {
	index, err := os.ReadFile("../../docs/dialects/README.md")
	if err != nil {
		t.Fatal(err)
	}
	s := setup
	s.Custom = Custom{
		Path: "/generate", Body: map[string]any{"text": "{prompt}", "stream": "{stream}", "sampling_params": map[string]any{"max_new_tokens": "{max_tokens}"}}, Text: "text",
	}
	question := "What is a KV cache?"
	item := workload.Item{Prompt: question, Messages: []workload.Message{{Role: "user", Content: question}}}
	for _, name := range Names() {
		page, err := os.ReadFile("../../docs/dialects/" + name + ".md")
		if err != nil {
			t.Error(err)
			continue
		}
		d, err := New(name, s)
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Model: "m", Stream: true, OutputLen: 64}
		if name != "custom" {
			o.Sampling = map[string]any{"top_p": 0.9}
		}
		body, err := d.Body(item, o)
		if err != nil {
			t.Fatal(err)
		}
		shown := []string{"\n" + string(body) + "\n", "POST http://127.0.0.1:30000" + d.Path() + "\n", "## What is read from where", "## What this server cannot report"}
		for field, v := range d.Header() {
			shown = append(shown, field+": "+v+"\n")
		}
		for _, want := range shown {
			if !strings.Contains(string(page), want) {
				t.Errorf("docs/dialects/%s.md does not show %q", name, want)
			}
		}
		if !strings.Contains(string(index), "["+name+"]("+name+".md)") {
			t.Errorf("docs/dialects/README.md does not list %s", name)
		}
	}
}

// The spec knows the same APIs and endpoints.
func TestSpecKnowsTheSame(t *testing.T) {
	for _, name := range Names() {
		api, ok := spec.FindAPI(name)
		if !ok {
			t.Errorf("the spec does not know %s", name)
			continue
		}
		for _, stream := range []bool{true, false} {
			s := setup
			s.Stream = stream
			d, err := New(name, s)
			if err != nil {
				t.Fatal(err)
			}
			path := api.Path
			if !stream && api.Whole != "" {
				path = api.Whole
			}
			if name == "custom" {
				path = setup.Custom.Path
			}
			if path = strings.ReplaceAll(path, "{model}", "m"); d.Path() != path {
				t.Errorf("%s: %s, the spec says %s", name, d.Path(), path)
			}
		}
	}
	if len(spec.APIs) != len(Names()) {
		t.Errorf("the spec knows %d APIs, this package %d", len(spec.APIs), len(Names()))
	}
}

// The spec refuses the same field paths, with their place in the file.
func TestSpecKnowsPaths(t *testing.T) {
	for _, p := range []string{"a", "a.b[0].c", "[0].a", "a[0][1]", "a-b.c_d", "a[", "a..b", "a[-1]", "a b", ".a", "a.", "a[0]b", "[]", "a]"} {
		_, issues := spec.Read("", nil, []spec.Set{{Path: "target.api", Value: "custom"}, {Path: "target.custom.text", Value: p, Origin: "--set"}})
		refused := false
		for _, i := range issues {
			refused = refused || i.Field == "target.custom.text" && strings.Contains(i.Message, "no field path")
		}
		if _, err := parsePath("x", p); refused != (err != nil) {
			t.Errorf("%q: the spec refuses it: %v; here: %v", p, refused, err)
		}
	}
}
