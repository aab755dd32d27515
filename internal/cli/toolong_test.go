package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"pgregory.net/rapid"

	"tokentape/internal/probe"
	"tokentape/internal/workload"
	"tokentape/internal/workload/tokenizer"
)

// checkedLength is what is said of rows under a limit: the note, or the error.
func checkedLength(t *testing.T, limit int64, engine string, cuts bool, args ...string) string {
	t.Helper()
	var said bytes.Buffer
	a := &app{stdout: &said, stderr: &said, env: func(string) (string, bool) { return "", false }}
	cmd := &cobra.Command{}
	f := addSpecFlags(cmd)
	if err := cmd.ParseFlags(append([]string{"--url", "127.0.0.1:1"}, args...)); err != nil {
		t.Fatal(err)
	}
	j, err := a.prepare(nil, f, "")
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	pre := &probe.Result{Context: probe.Context{Tokens: limit, From: "here", Cuts: cuts}}
	pre.Server.Engine = engine
	before := len(j.notes)
	if err := j.checkLength(context.Background(), pre, a.loading()); err != nil {
		return "error: " + err.Error()
	}
	return strings.Join(j.notes[before:], "\n")
}

// C06: a limit of 100 tokens, prompts of 50 and 90, 20 tokens of output. What is
// counted is what the plan sends.
func TestC06LongerThanTheModel(t *testing.T) {
	model, dir := letterModel(t), t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	letters := func(n int) string { return strings.Repeat("a", n-3) } // the template has three tokens
	two := write("two.jsonl", fmt.Sprintf("{\"question\":%q}\n\n{\"question\":%q}\n", letters(50), letters(90)))
	long := write("long.jsonl", fmt.Sprintf("{\"question\":%q}\n{\"question\":%q}\n", letters(90), letters(101)))
	ids := write("ids.jsonl", `{"prompt":[`+strings.Repeat("1,", 89)+"1]}\n"+`{"prompt":[1]}`+"\n")
	trace := write("trace.jsonl", `{"timestamp":0,"input_length":90,"output_length":20}`+"\n"+`{"timestamp":1,"input_length":5,"output_length":20}`+"\n")
	talk := write("talk.jsonl", fmt.Sprintf(`{"messages":[{"role":"user","content":%q},{"role":"assistant","content":%q},{"role":"user","content":%q}]}`+"\n", letters(33), letters(33), letters(33)))
	tok := []string{"--set", "target.tokenizer=" + model}
	out := []string{"--output-tokens", "20"}
	for _, c := range []struct {
		name, engine string
		cuts         bool
		args         []string
		want         string // "": nothing
	}{
		{"one of two", "sglang", false, append(tok, "--dataset", two, "--requests", "2"), "1 of 2 rows to be sent ask for more than the server's limit of 100 tokens (here); the first, " + two + ":3, asks for 90 input + 20 output = 110 tokens; a server refuses or cuts such requests: shorter prompts, or fewer output tokens (workload.output_tokens, or the row's own max_tokens), or a server with a longer context"},
		{"only the short one is sent", "sglang", false, append(tok, "--dataset", two, "--requests", "1"), ""},
		{"a duration can send all", "sglang", false, append(tok, "--dataset", two, "--duration", "1s", "--repeat", "cycle"), "1 of 2 rows"},
		{"none fits", "vllm", false, append(tok, "--dataset", long, "--requests", "2"), "error: nothing could be measured: 2 of 2 rows to be sent"},
		{"none fits an engine that is not known", "", false, append(tok, "--dataset", long, "--requests", "2"), "2 of 2 rows to be sent"},
		{"none fits a server that cuts", "sglang", true, append(tok, "--dataset", long, "--requests", "2"), "2 of 2 rows to be sent ask for more than the server's limit of 100 tokens (here); the first, " + long + ":1, asks for 90 input + 20 output = 110 tokens; the server says that it cuts longer prompts"},
		{"prompts are not counted", "sglang", false, []string{"--dataset", long, "--requests", "2"}, ""},
		{"token ids need no tokenizer", "sglang", false, []string{"--api", "openai-completions", "--dataset", ids, "--requests", "2"}, "1 of 2 rows to be sent ask for more than the server's limit of 100 tokens (here); the first, " + ids + ":1, asks for 90 input + 20 output"},
		{"a trace says its lengths", "sglang", false, []string{"--dataset", trace, "--requests", "2"}, "the first, " + trace + ":1, asks for 90 input + 20 output"},
		{"the recorded conversation", "sglang", false, append(tok, "--dataset", talk, "--set", "workload.sessions=true", "--set", "workload.history=recorded", "--set", "load.sessions=1"), "1 of 1 rows"},
		{"the server's answers are not known", "sglang", false, append(tok, "--dataset", talk, "--set", "workload.sessions=true", "--set", "load.sessions=1"), ""},
	} {
		args := c.args
		if c.name != "a trace says its lengths" {
			args = append(append([]string(nil), out...), args...)
		}
		engine := c.engine
		if c.name == "the recorded conversation" {
			engine = ""
		}
		got := checkedLength(t, 100, engine, c.cuts, args...)
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) && !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := checkedLength(t, 100, "sglang", false, "--dataset", two, "--requests", "2", "--output-tokens", "100"); !strings.Contains(got, "error: nothing could be measured: 2 of 2 rows") || !strings.Contains(got, "100 output tokens alone") {
		t.Error(got)
	}
	if got := checkedLength(t, 0, "sglang", false, "--dataset", two, "--requests", "2", "--output-tokens", "100"); got != "" {
		t.Errorf("a limit that is not known: %s", got)
	}
}

// What most says without the tokenizer, input does not exceed.
func TestMostIsABound(t *testing.T) {
	tok, err := tokenizer.Load(letterModel(t))
	if err != nil {
		t.Fatal(err)
	}
	c := &counting{tok: tok, content: true}
	rapid.Check(t, func(r *rapid.T) {
		item := workload.Item{Messages: []workload.Message{{Role: "user", Content: rapid.String().Draw(r, "a")}, {Role: "user", Content: rapid.StringMatching(`[a-z .,!é中]*`).Draw(r, "b")}}}
		n, err := c.input(item)
		most, err2 := c.most(item)
		if err != nil || err2 != nil || n > most {
			r.Fatalf("%d tokens, at most %d: %v %v", n, most, err, err2)
		}
	})
}
