package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A key that other texts of the spec repeat is in nothing that is written or said, and
// what will be sent keeps it.
func TestOwnSecrets(t *testing.T) {
	const hush = "sk-h4sh-me-n0w-123"
	for path, form := range map[string]string{
		"name":               "name: '%s'",
		"target.model":       "target: {model: 'm-%[1]s'}",
		"workload.template":  "workload: {template: '{question} %s'}",
		"workload.system":    "workload: {system: 'say %s'}",
		"a list of texts":    "workload: {sampling: {stop: [a, '%s']}}",
		"a key of a body":    "workload: {sampling: {x: {'%[1]s': 1, '%[1]s ': 2}}}",
		"a path":             "workload: {dataset: {path: '/x/%s/d.jsonl'}}",
		"a mix":              "workload: {mix: [{dataset: '/x/%[1]s.jsonl', template: '%[1]s {q}'}]}",
		"a filter":           "workload: {dataset: {path: d, filter: {split: '%s'}}}",
		"a column":           "workload: {dataset: {path: d, columns: {question: '%s'}}}",
		"a source":           "provenance: {source: '/x/%s'}",
		"a note":             "notes: {comment: 'the key is %s'}",
		"a note's name":      "notes: {'%s': x}",
		"a page's name":      "telemetry: {metrics: [{url: 'h', name: 'of-%s', families: ['%[1]s']}]}",
		"a URL's path":       "target: {url: 'http://h/%s'}",
		"refused":            "load: {requests: '%s'}",
		"refused, a choice":  "workload: {repeat: '%s'}",
		"refused, cut":       "workload: {dataset: {path: d, filter: {a: [" + strings.Repeat("x", 90) + ", '%s']}}}",
		"refused, condition": "expect: ['finish != %s /']",
	} {
		text := strings.ReplaceAll(strings.ReplaceAll(form, "%[1]s", hush), "%s", hush)
		sets := []Set{{Path: "target.api_key", Value: hush, Origin: "--api-key"}}
		file := filepath.Join(t.TempDir(), "first.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, issues := Read(file, environ(nil), sets)
		var b strings.Builder
		for _, i := range issues {
			b.WriteString(i.Format() + "\n" + i.Error() + "\n")
		}
		before := *s
		before.Workload.Sampling, _ = cloneAny(s.Workload.Sampling).(map[string]any)
		b.Write(s.YAML())
		b.Write(s.JSON())
		if strings.Contains(b.String(), "h4sh") {
			t.Errorf("%s is shown:\n%s", path, b.String())
		}
		if d := cmp.Diff(&before, s, cmpopts.IgnoreUnexported(Spec{})); d != "" || s.Target.APIKey != hush {
			t.Errorf("%s: what is sent has changed:\n%s", path, d)
		}
		if strings.HasPrefix(path, "refused") != Failed(issues) {
			t.Errorf("%s: %s", path, format(issues))
		}
	}
	// A word is none: the path still leads to the file, and a choice stays what it is.
	s, _ := read(t, "workload: {repeat: cycle, dataset: {path: /data/EMPTY/d.jsonl}, template: 'EMPTY {q}'}\nnotes: {comment: EMPTY}", nil, Set{Path: "target.api_key", Value: "EMPTY"})
	if m := s.Masked(); m.Workload.Dataset.Path != "/data/EMPTY/d.jsonl" || m.Workload.Template != "EMPTY {q}" || m.Notes["comment"] != mask {
		t.Errorf("%+v %v", m.Workload, m.Notes)
	}
	s, _ = read(t, "target: {api: anthropic-messages}\nworkload: {repeat: cycle}", nil, Set{Path: "target.api_key", Value: "anthropic-messages"})
	if _, issues := read(t, string(s.YAML()), nil); Failed(issues) {
		t.Error(format(issues))
	}
}
