package spec

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("spec.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("spec.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// check validates YAML text as an editor does.
func check(s *jsonschema.Schema, text []byte) error {
	b, err := yaml.YAMLToJSON(text)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return err
	}
	return s.Validate(doc)
}

func TestSchema(t *testing.T) {
	s := compileSchema(t)
	for _, good := range []string{
		"{}",
		"load: {requests: 4, rate: 0.5, duration: 1m30s, ramp: {shape: linear, duration: 250ms}}",
		"load: {requests: '${N:-4}', rate: '${R}', arrivals: '${A}', duration: '${D}'}\nrecord: {compress: '${C}'}\ndevices: '${P}'",
		"devices: 16",
		"devices: {prefill: 8, decode: 8}",
		"limits: {idle: 0}",
		"workload: {sampling: {temperature: 0, stop: [a], x: {y: null}}}",
		"report: {windows: [steady], strict: [a_b]}",
		"telemetry: {metrics: [{url: 'h:9'}]}",
		"seeds: {run: 0, order: 3}",
	} {
		if err := check(s, []byte(good)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"laod: {}", "load: {requests: many}", "load: {requests: -1}", "load: {requests: 0}", "load: {attempts: 0}", "load: {requests: 1.5}",
		"load: {duration: 30}", "load: {duration: soon}", "load: {arrivals: possion}", "devices: [1]", "devices: {total: x}",
		"report: {windows: [hole]}", "report: {windows: steady}", "workload: {stream: 1}", "telemetry: {metrics: [{uri: x}]}", "target: {headers: {a: 1}}",
	} {
		if err := check(s, []byte(bad)); err == nil {
			t.Errorf("%s: accepted", bad)
		}
	}
	if err := check(s, Default().YAML()); err != nil {
		t.Errorf("the default: %v", err)
	}
}

func TestSchemaAcceptsEverySpec(t *testing.T) {
	s := compileSchema(t)
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		spec.Workload.Sampling = nil // free values are tested with Read; goccy's JSON is not
		spec.Target.Model, spec.Workload.System, spec.Workload.Template = "m", "", "{q}"
		if text := spec.YAML(); check(s, text) != nil {
			t.Fatalf("%v\n%s", check(s, text), text)
		}
	})
}

// TestSchemaDescribesEveryField keeps an undocumented option from getting in.
func TestSchemaDescribesEveryField(t *testing.T) {
	comments := readComments()
	for _, p := range allPaths() {
		_, key := split(p)
		found := strings.Contains(string(Schema()), `"`+key+`": {`)
		if !found {
			t.Errorf("%s is not in the schema", p)
		}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	var walk func(v any, path string)
	walk = func(v any, path string) {
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		if props, ok := m["properties"].(map[string]any); ok {
			for k, p := range props {
				if d, _ := p.(map[string]any)["description"].(string); d == "" {
					t.Errorf("%s has no description: write a comment in spec.go", join(path, k))
				}
				walk(p, join(path, k))
			}
		}
		walk(m["items"], path+"[]")
		if any, ok := m["anyOf"].([]any); ok {
			for _, a := range any {
				walk(a, path)
			}
		}
	}
	walk(doc, "")
	if len(comments) < 40 {
		t.Errorf("only %d comments", len(comments))
	}
}

func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("testdata/bad/*.yaml")
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b), "load.requests", "4")
	}
	f.Add(string(Default().YAML()), "devices", "{prefill: 1, decode: 2}")
	f.Add("load: {rate: 1}", "workload.sampling.a.b", "[1, {c: d}]")
	f.Add("target: {url: 'http://u:p@h'}", "target.headers.X", "y")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text, path, value string) {
		file := filepath.Join(dir, "spec.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		env := environ(map[string]string{"N": "4", "S": "a: [b"})
		s, issues := Read(file, env, []Set{{Path: path, Value: value, Origin: "--set " + path}})
		for _, i := range issues {
			if i.Message == "" || i.Format() == "" || i.Error() == "" {
				t.Errorf("an empty issue: %+v", i)
			}
			if i.Line < 0 || i.Col < 0 || i.Line > strings.Count(text, "\n")+strings.Count(text, "\r")+1 {
				t.Errorf("a position outside the file: %+v", i)
			}
		}
		out := s.YAML()
		if Failed(issues) {
			return
		}
		if err := os.WriteFile(file, out, 0o600); err != nil {
			t.Fatal(err)
		}
		back, issues := Read(file, nil, nil)
		if Failed(issues) {
			t.Fatalf("what was accepted does not read back:\n%s\n%s", format(issues), out)
		}
		if again := back.YAML(); !bytes.Equal(again, out) {
			t.Fatalf("not stable:\n%s\n%s", out, again)
		}
	})
}
