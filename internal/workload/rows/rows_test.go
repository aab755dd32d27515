package rows

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/internal/workload/template"
)

// spec of a dataset file of these contents; name gives the format.
func write(t testing.TB, name, text string) spec.Workload {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	w := spec.Default().Workload
	w.Dataset.Path = path
	return w
}

func source(t testing.TB, w spec.Workload) (*Source, error) {
	t.Helper()
	s, err := Open(w, 1, nil)
	if err == nil {
		t.Cleanup(func() { s.Close() })
	}
	return s, err
}

func open(t testing.TB, text, tmpl, system string) (*Source, string, error) {
	t.Helper()
	w := write(t, "data.jsonl", text)
	w.Template, w.System = tmpl, system
	s, err := source(t, w)
	return s, w.Dataset.Path, err
}

type msg = workload.Message

func TestItems(t *testing.T) {
	user := func(s string) msg { return msg{Role: "user", Content: s} }
	system := func(s string) msg { return msg{Role: "system", Content: s} }
	tests := []struct {
		name, row, template, system string
		want                        []msg
		prompt                      string
		output                      int64
		notes                       []string
	}{
		{name: "question", row: `{"question":"Why?","answer":""}`, want: []msg{user("Why?")}, prompt: "Why?"},
		{name: "template and system", row: `{"q":"Why?"}`, template: "Q: {q}", system: "Be brief.",
			want: []msg{system("Be brief."), user("Q: Why?")}, prompt: "Q: Why?"},
		{name: "own length", row: `{"question":"x","max_tokens":7}`, want: []msg{user("x")}, prompt: "x", output: 7,
			notes: []string{"1 of 1 dataset rows set their own output length (7 tokens)"}},
		{name: "own length, other name", row: `{"question":"x","output_tokens":9,"max_tokens":null}`, want: []msg{user("x")}, prompt: "x", output: 9,
			notes: []string{"1 of 1 dataset rows set their own output length (9 tokens)"}},
		{name: "both names agree", row: `{"question":"x","output_tokens":9,"max_tokens":9}`, want: []msg{user("x")}, prompt: "x", output: 9,
			notes: []string{"1 of 1 dataset rows set their own output length (9 tokens)"}},
		{name: "messages", row: `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b","name":null},{"role":"user","content":"c"}]}`, system: "S",
			want:  []msg{system("S"), user("a"), {Role: "assistant", Content: "b"}, user("c")},
			notes: []string{"1 of 1 dataset rows have no question; their messages are sent as they are"}},
		{name: "own system message", row: `{"messages":[{"role":"system","content":"mine"},{"role":"user","content":"c"}]}`, system: "S",
			want: []msg{system("mine"), user("c")},
			notes: []string{"1 of 1 dataset rows have no question; their messages are sent as they are",
				"1 of 1 dataset rows have a system message of their own, which wins over workload.system"}},
		{name: "question wins over messages", row: `{"messages":17,"question":"x"}`, want: []msg{user("x")}, prompt: "x"},
		{name: "a template wins over messages", row: `{"messages":[{"role":"user","content":"a"}],"q":"x"}`, template: "{q}!", want: []msg{user("x!")}, prompt: "x!"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.template == "" {
				tt.template = template.Default
			}
			s, _, err := open(t, "\n"+tt.row+"\n", tt.template, tt.system)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Item(0)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256([]byte(tt.row))
			want := workload.Item{
				Ref:      workload.Ref{Row: 0, Offset: 1, SHA256: hex.EncodeToString(sum[:])},
				Messages: tt.want, Prompt: tt.prompt, OutputLen: tt.output,
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if n := s.Notes(); !reflect.DeepEqual(n, tt.notes) {
				t.Errorf("notes %q", n)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	tests := []struct {
		name, row, template string
		want                []string
	}{
		{"missing field", `{"qestion":"x","answer":""}`, "{question}", []string{"{question}", "answer, qestion", "did you mean {qestion}?"}},
		{"null field", `{"question":null}`, "{question}", []string{"{question}", "null"}},
		{"empty prompt", `{"question":""}`, "{question}", []string{"the prompt is empty"}},
		{"length 0", `{"question":"x","max_tokens":0}`, "{question}", []string{"max_tokens is 0, not a positive integer"}},
		{"length negative", `{"question":"x","output_tokens":-3}`, "{question}", []string{"output_tokens is -3"}},
		{"length as text", `{"question":"x","max_tokens":"32"}`, "{question}", []string{`max_tokens is "32"`}},
		{"length with a fraction", `{"question":"x","max_tokens":32.5}`, "{question}", []string{"max_tokens is 32.5"}},
		{"length too large", `{"question":"x","max_tokens":99999999999999999999}`, "{question}", []string{"max_tokens is 99999999999999999999"}},
		{"lengths differ", `{"question":"x","max_tokens":1,"output_tokens":2}`, "{question}", []string{"max_tokens is 1 but output_tokens is 2"}},
		{"messages of another kind", `{"messages":"hi"}`, "{question}", []string{"messages is not a list"}},
		{"no message", `{"messages":[]}`, "{question}", []string{"messages is not a list of at least one"}},
		{"null message", `{"messages":[null]}`, "{question}", []string{"messages[0] has no role"}},
		{"no role", `{"messages":[{"content":"a"}]}`, "{question}", []string{"messages[0] has no role"}},
		{"no content", `{"messages":[{"role":"user"}]}`, "{question}", []string{"messages[0].content is neither a string nor a list"}},
		{"null content", `{"messages":[{"role":"user","content":null}]}`, "{question}", []string{"messages[0].content is neither a string nor a list"}},
		{"answered", `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`, "{question}", []string{"assistant's answer", "jq"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// The bad row is the last one: all rows are checked.
			s, path, err := open(t, `{"question":"fine","q":1}`+"\n\n"+tt.row, tt.template, "")
			if err == nil {
				t.Fatalf("accepted: %v", s.Notes())
			}
			var at spec.Issue
			if !errors.As(err, &at) || at.File != path || at.Line != 3 || at.Hint == "" {
				t.Errorf("not an issue of %s:3 with a hint: %#v", path, err)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
}

// A dataset that changes while a run goes on is an error, not another prompt.
func TestEditedDataset(t *testing.T) {
	s, path, err := open(t, `{"question":"one"}`+"\n"+`{"question":"two"}`, template.Default, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"question":"one"}`+"\n"+`{"question":"TWO"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Item(0); err != nil {
		t.Error(err)
	}
	if _, err := s.Item(1); err == nil || !strings.Contains(err.Error(), path+":2:1: ") {
		t.Errorf("got %v", err)
	}
	if _, err := s.Item(2); err == nil {
		t.Error("there is no row 2")
	}
}

func BenchmarkOpen(b *testing.B) {
	row := `{"question":"` + strings.Repeat("What time is it? ", 60) + `","answer":"","max_tokens":32}` + "\n"
	s, path, err := open(b, strings.Repeat(row, 16<<20/len(row)), template.Default, "")
	if err != nil {
		b.Fatal(err)
	}
	st, _ := os.Stat(path)
	b.SetBytes(st.Size())
	for b.Loop() {
		again, err := Open(s.w, 1, nil)
		if err != nil {
			b.Fatal(err)
		}
		again.Close()
	}
}
