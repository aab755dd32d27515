package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tokentape/internal/workload/synth"
	"tokentape/simserver"
	"tokentape/tape"
)

// command runs the command line; its exit code must be one of codes.
func command(t *testing.T, codes string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	code := Main(args, strings.NewReader(""), &out, &errs)
	if !strings.Contains(codes, fmt.Sprint(code)) {
		t.Fatalf("tokentape %s: exit code %d\n%s%s", strings.Join(args, " "), code, out.String(), errs.String())
	}
	return out.String() + errs.String()
}

// send sends a whole set, one row after another, and returns the requests on the
// tape by their rows.
func send(t *testing.T, srv *simserver.Running, set, out string, n int, more ...string) map[int64]*tape.Request {
	t.Helper()
	command(t, "05", append([]string{"run", "--url", srv.URL, "--dataset", set, "--requests", fmt.Sprint(n), "--concurrency", "1",
		"--output-tokens", "1", "--no-live", "--out", out, "--name", "set"}, more...)...)
	found, err := filepath.Glob(filepath.Join(out, "set", "*", "tape.jsonl.zst"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no tape under %s: %v", out, err)
	}
	r, err := tape.OpenFile(found[len(found)-1])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := map[int64]*tape.Request{}
	for {
		rec, err := r.Next()
		if err != nil {
			break
		}
		if q, ok := rec.(*tape.Request); ok {
			got[q.Ref.Row] = q
		}
	}
	return got
}

func cachedServer(t *testing.T, page int) *simserver.Running {
	t.Helper()
	o := simserver.Instant()
	o.PageSize, o.CachePages, o.Context = page, 1<<16, 1<<18
	srv, err := simserver.Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	return srv
}

// What the manifest expects of every row is what the simulated server's cache
// does, and what the client writes on the tape: 3,712 of 4,096 + 4 tokens.
func TestExpectedIsObserved(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		api  string
	}{
		{"first touches", []string{"--prefix-groups", "3", "--order", "interleaved"}, "openai-chat"},
		{"prepared", []string{"--prefix-groups", "3", "--popularity", "zipf:1.1", "--order", "shuffled", "--seeded-by-prepare"}, "openai-chat"},
		{"copy", []string{"--kind", "copy", "--output-len", "1"}, "openai-chat"},
		{"without a template", []string{"--chat-template", "none"}, "openai-completions"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			set := filepath.Join(dir, "set.jsonl")
			command(t, "0", append([]string{"dataset", "build", "--out", set, "--tokenizer", "sim", "--requests", "24",
				"--input", "4096", "--length-of", "templated", "--cache-share", "0.90625", "--page-size", "64", "--seed", "5"}, tt.args...)...)
			m, err := synth.ReadManifest(manifestName(set))
			if err != nil {
				t.Fatal(err)
			}
			srv := cachedServer(t, 64)
			if m.Prepare != nil {
				send(t, srv, filepath.Join(dir, m.Prepare.File), filepath.Join(dir, "prepare"), m.Prepare.Rows, "--api", tt.api)
			}
			before := len(srv.Trace())
			got := send(t, srv, set, filepath.Join(dir, "runs"), 24, "--api", tt.api)
			truth := srv.Trace()[before:]
			if len(got) != 24 || len(truth) != 24 {
				t.Fatalf("%d requests on the tape, %d at the server", len(got), len(truth))
			}
			hits := 0
			for i, want := range m.Rows {
				q := got[int64(i)]
				cached := q.Tokens.Cached.Or(0)
				if truth[i].CachedTokens != int64(want.Expected) || truth[i].PromptTokens != 4096 || cached != int64(want.Expected) {
					t.Errorf("row %d: the server had %d of %d tokens, the tape says %d, the manifest %d of %d",
						i, truth[i].CachedTokens, truth[i].PromptTokens, cached, want.Expected, want.Templated)
				}
				if want.Expected == 3712 {
					hits++
				}
			}
			if hits != 24-m.Summary.FirstTouches || hits < 20 {
				t.Errorf("%d rows hit, %d touch their prefix first", hits, m.Summary.FirstTouches)
			}
		})
	}
}

// Sets without a shared prefix hit nothing, the second of other seeds no more
// than the first, nor a set in other words.
func TestZeroCache(t *testing.T) {
	dir := t.TempDir()
	srv := cachedServer(t, 16)
	first := filepath.Join(dir, "0.jsonl")
	sets := []string{first, filepath.Join(dir, "1.jsonl"), filepath.Join(dir, "2.jsonl")}
	for _, set := range sets[:2] {
		command(t, "0", "dataset", "build", "--out", set, "--tokenizer", "sim", "--requests", "50", "--input", "300")
	}
	command(t, "0", "dataset", "build", "--out", sets[2], "--resalt", manifestName(first))
	for _, set := range sets {
		send(t, srv, set, filepath.Join(dir, "runs"), 50)
	}
	truth := srv.Trace()
	if len(truth) != 150 {
		t.Fatalf("%d requests", len(truth))
	}
	for i, x := range truth {
		if x.CachedTokens != 0 || x.PromptTokens != 307 {
			t.Errorf("request %d: %d of %d tokens cached", i, x.CachedTokens, x.PromptTokens)
		}
	}
	// The same set again is noted, and hits.
	said := command(t, "05", "run", "--url", srv.URL, "--dataset", first, "--requests", "50", "--output-tokens", "1", "--no-live", "--out", filepath.Join(dir, "runs"))
	if !strings.Contains(said, "these rows were sent to this server before, once under") || !strings.Contains(said, "--resalt") {
		t.Errorf("no note of the earlier run:\n%s", said)
	}
	if x := srv.Trace()[150]; x.CachedTokens != 304 {
		t.Errorf("%d tokens cached the second time", x.CachedTokens)
	}
}

// A copy set asks in the words by which the simulated server knows it.
func TestCopyIsAccepted(t *testing.T) {
	dir := t.TempDir()
	set := filepath.Join(dir, "set.jsonl")
	command(t, "0", "dataset", "build", "--out", set, "--tokenizer", "sim", "--requests", "2", "--input", "200", "--kind", "copy")
	o := simserver.Instant()
	o.TokensPerEvent, o.AcceptRate, o.CopyAcceptRate = 4, 0, 1
	srv, err := simserver.Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	command(t, "05", "run", "--url", srv.URL, "--dataset", set, "--requests", "2", "--concurrency", "1", "--no-live", "--out", filepath.Join(dir, "runs"), "--set", "workload.sampling.ignore_eos=true")
	for _, x := range srv.Trace() {
		if n := len(x.Tokens); n != 1+int(x.OutputTokens+2)/4 || x.OutputTokens < 150 {
			t.Errorf("%d tokens in %d events", x.OutputTokens, n)
		}
	}
}

func TestSentBeforeReadsHeads(t *testing.T) {
	out := filepath.Join(t.TempDir(), "runs [*]")
	here := []string{"http://h:30000/v1/chat/completions"}
	if got := sentBefore(out, "", "", "x", here); got != nil {
		t.Errorf("without a folder: %v", got)
	}
	write := func(run, text string) {
		dir := filepath.Join(out, "name", run)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "tape.jsonl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	header := fmt.Sprintf(`{"type":"header","schema":%q,"dataset":{"sha256":"x"}}`, tape.Schema) + "\n"
	write("2026-01-01T000000Z", header+"{torn")
	write("2026-01-02T000000Z", "no tape at all")
	write("2026-01-03T000000Z", "")
	write("2026-01-04T000000Z", header)
	got := sentBefore(out, "", "", "x", here)
	if len(got) != 1 || !strings.Contains(got[0], "2 times") || !strings.Contains(got[0], "2026-01-04") {
		t.Errorf("%v", got)
	}
	// A row that went to another server is not in this one's cache.
	for url, same := range map[string]bool{
		"http://h:30000/v1/completions": true, "http://H:30000/x": true, "http://h:30001/v1/chat/completions": false,
		"http://other:30000/v1/chat/completions": false, "unix:///tmp/s:/v1/chat/completions": false,
	} {
		sent := fmt.Sprintf(`{"type":"header","schema":%q,"dataset":{"sha256":"z"},"server":{"url":%q}}`, tape.Schema, url) + "\n"
		write("2026-01-05T000000Z", sent)
		if got := sentBefore(out, "", "", "z", here); (got != nil) != same {
			t.Errorf("%s: %v", url, got)
		}
	}
	several := fmt.Sprintf(`{"type":"header","schema":%q,"dataset":{"sha256":"z"},"server":{"url":"http://a:1/x","urls":["http://a:1/x","https://h/x"]}}`, tape.Schema) + "\n"
	write("2026-01-05T000000Z", several)
	if got := sentBefore(out, "", "", "z", []string{"http://c:1/x", "https://h:443/x"}); len(got) != 1 || !strings.Contains(got[0], "sent to this server before, once") {
		t.Errorf("%v", got)
	}
	if got := sentBefore(out, "", "", "y", here); got != nil {
		t.Errorf("another dataset: %v", got)
	}
	// A series of repeats is no news of itself; a set without a manifest is not made afresh.
	if got := sentBefore(out, filepath.Join(out, "name"), "", "z", []string{"http://a:1/x"}); got != nil {
		t.Errorf("of its own series: %v", got)
	}
	data := filepath.Join(out, "set.jsonl")
	if got := sentBefore(out, "", data, "z", []string{"http://a:1/x"}); len(got) != 1 || strings.Contains(got[0], "resalt") {
		t.Errorf("without a manifest: %v", got)
	}
	if err := os.WriteFile(manifestName(data), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := sentBefore(out, "", data, "z", []string{"http://a:1/x"}); len(got) != 1 || !strings.Contains(got[0], "--resalt "+manifestName(data)) {
		t.Errorf("with a manifest: %v", got)
	}
	for i := range mostRuns {
		write(fmt.Sprintf("2027-01-01T%06dZ", i), "")
	}
	if got := sentBefore(out, "", "", "x", here); got != nil {
		t.Errorf("runs older than the newest %d: %v", mostRuns, got)
	}
}

// letterModel is a model's folder: a WordPiece of letters, and a chat template of
// two tokens before and one behind a message.
func letterModel(t *testing.T) string {
	t.Helper()
	vocab := map[string]int{"[UNK]": 0, "<": 1, ">": 2}
	for c := 'a'; c <= 'z'; c++ {
		vocab[string(c)], vocab["##"+string(c)] = len(vocab), len(vocab)+1
	}
	b, err := json.Marshal(map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": []any{}, "normalizer": nil, "post_processor": nil,
		"pre_tokenizer": map[string]any{"type": "BertPreTokenizer"}, "decoder": map[string]any{"type": "WordPiece", "prefix": "##", "cleanup": false},
		"model": map[string]any{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 1000000, "vocab": vocab},
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "letters")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"tokenizer.json":      string(b),
		"chat_template.jinja": `{% for m in messages %}<<{{ m.content }}{% endfor %}{% if add_generation_prompt %}>{% endif %}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A model's folder gives tokenizer and chat template; a set is told from one of
// another model, another template, and a spec that adds a system message.
func TestModelFolder(t *testing.T) {
	model, dir := letterModel(t), t.TempDir()
	set := filepath.Join(dir, "set.jsonl")
	command(t, "0", "dataset", "build", "--out", set, "--tokenizer", model, "--requests", "5", "--input", "100", "--cache-share", "0.5", "--page-size", "8", "--seed", "1")
	m, err := synth.ReadManifest(manifestName(set))
	if err != nil {
		t.Fatal(err)
	}
	if r := m.Rows[4]; r.Content != 100 || r.Templated != 103 || r.Expected != 48 || m.Tokenizer.Before != 2 || m.Tokenizer.After != 1 {
		t.Errorf("%+v, %+v", r, m.Tokenizer)
	}
	command(t, "0", "dataset", "verify", set, "--tokenizer", model)
	for want, args := range map[string][]string{
		"its files are needed again":                                   {},
		"tokenizer sim has SHA-256":                                    {"--tokenizer", "sim", "--chat-template", "auto"},
		`chat template "none", the manifest says "chat_template.jinja`: {"--tokenizer", model, "--chat-template", "none"},
		"set.jsonl:5: templated tokens: 107, the manifest says 103":    {"--tokenizer", model, "--chat-template", "<<<<{content}>>>"},
		"--chat-template: \"x\" must hold {content} once":              {"--tokenizer", model, "--chat-template", "x"},
		"set.jsonl:5: content tokens: 102, the manifest says 100":      {"--tokenizer", model, "--spec", filepath.Join(dir, "spec.yaml")},
	} {
		spec := "target: {url: '127.0.0.1:1'}\nworkload: {system: ab, output_tokens: 7, dataset: {path: set.jsonl}}\nload: {requests: 5}\n"
		if err := os.WriteFile(filepath.Join(dir, "spec.yaml"), []byte(spec), 0o644); err != nil {
			t.Fatal(err)
		}
		said := command(t, "25", append([]string{"dataset", "verify", set}, args...)...)
		if !strings.Contains(said, want) {
			t.Errorf("%v: no %q in\n%s", args, want, said)
		}
	}
	if said := command(t, "2", "dataset", "build", "--out", set+"2", "--tokenizer", filepath.Join(dir, "spec.yaml")); !strings.Contains(said, "spec.yaml") {
		t.Error(said)
	}
}
