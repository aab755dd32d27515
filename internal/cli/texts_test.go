package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// Prompts are made again as they were sent: by template, of messages, of a session's
// turn, of whole bodies without what stands under a credential's name; and not where the
// row is another by now.
func TestPrompts(t *testing.T) {
	for _, c := range []struct {
		name, row, set string
		turn           int
		want           string
	}{
		{"question", `{"question":"what </script> is"}`, "", 0, "what </script> is"},
		{"template", `{"a":"x","b":"y"}`, "workload.template={b} then {a}", 0, "y then x"},
		{"system", `{"question":"q"}`, "workload.system=be brief", 0, "system: be brief\n\nuser: q"},
		{"messages", `{"messages":[{"role":"user","content":"one"},{"role":"assistant","content":"two"},{"role":"user","content":"three"}]}`, "", 0, "user: one\n\nassistant: two\n\nuser: three"},
		{"first turn", `{"messages":[{"role":"user","content":"one"},{"role":"assistant","content":"two"},{"role":"user","content":"three"}]}`, "workload.sessions=true", 0, "one"},
		{"later turn", `{"messages":[{"role":"user","content":"one"},{"role":"assistant","content":"two"},{"role":"user","content":"three"}]}`, "workload.sessions=true", 1, "three"},
		{"body", `{"prompt":"p","api_key":"sk-0123456789abcdef","n":1}`, "workload.dataset.format=bodies", 0, `{"prompt":"p","api_key":"***","n":1}`},
		{"ids", `{"prompt_token_ids":[1,2,3]}`, "", 0, "1 2 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data.jsonl")
			if err := os.WriteFile(path, []byte(c.row+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			sets := []spec.Set{{Path: "workload.dataset.path", Value: path}}
			if k, v, ok := strings.Cut(c.set, "="); ok {
				sets = append(sets, spec.Set{Path: k, Value: v})
			}
			s, issues := spec.Read("", func(string) (string, bool) { return "", false }, sets)
			for _, i := range issues {
				if !i.Warning && strings.HasPrefix(i.Field, "workload") {
					t.Fatal(i)
				}
			}
			text, err := json.Marshal(s.Masked())
			if err != nil {
				t.Fatal(err)
			}
			h := &tape.Header{Spec: text}
			p := openPrompts(h, nil)
			if p.why != "" {
				t.Fatal(p.why)
			}
			defer p.close()
			item, err := p.source.Item(0)
			if err != nil {
				t.Fatal(err)
			}
			q := &tape.Request{Phase: tape.PhaseMeasure, Turn: c.turn, Ref: tape.Ref{SHA256: item.Ref.SHA256}}
			if got := p.of(q); got != c.want {
				t.Errorf("%q, want %q; %s", got, c.want, p.first)
			}
			q.Ref.SHA256 = fmt.Sprintf("%064x", 1)
			if got := p.of(q); got != "" || p.other != 1 {
				t.Errorf("of another row: %q", got)
			}
		})
	}
	if got := promptText(workload.Item{}); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}
