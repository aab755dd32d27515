package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// planted are the secrets of TestPlantedSecrets, each for a place of its own, with
// characters that JSON, URLs and HTML escape.
var planted = map[string]string{
	"key":    `sk-pl4nt/"one"+0123456789&<a>`,
	"header": `hd-pl4nt+two/9876543210=zz`,
	"env":    `ev-pl4nt-three-5555566666`,
	"row":    `rw-pl4nt"four"/7777788888`,
	"note":   `nt-pl4nt:five+1212121212`,
	"body":   `bd-pl4nt six/3434343434`,
	"url":    `ur-pl4nt-seven-5656565656`,
	"pass":   `pw-pl4nt-eight-7878787878`,
	"page":   `pg-pl4nt-nine-9090909090`,
	"flush":  `fl-pl4nt-ten-2323232323`,
}

// forms are the spellings in which a secret must not be found.
func forms(hush string) map[string]string {
	text, _ := json.Marshal(hush)
	loose := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(text))
	out := map[string]string{
		"plain": hush, "JSON": strings.Trim(string(text), `"`), "JSON, loose": strings.Trim(loose, `"`), "JSON in JSON": strings.Trim(quoted(string(text)), `\"`),
		"query": url.QueryEscape(hush), "path": url.PathEscape(hush), "hex": hex.EncodeToString([]byte(hush)),
	}
	for before := range 3 {
		for name, coding := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "base64 URL": base64.RawURLEncoding} {
			padded := strings.Repeat("\x00", before) + hush
			out[fmt.Sprint(name, before)] = coding.EncodeToString([]byte(padded))[(before*8+5)/6 : len(padded)*8/6]
		}
	}
	return out
}

func quoted(s string) string { b, _ := json.Marshal(s); return string(b) }

// leaks names the secrets that a text holds. Half of one is one: a cut text, too.
func leaks(text []byte) []string {
	var out []string
	for part, what := range sought() {
		if i := bytes.Index(text, []byte(part)); i >= 0 {
			out = append(out, fmt.Sprintf("%s at %d: …%s…", what, i, text[max(0, i-60):min(len(text), i+60)]))
		}
	}
	slices.Sort(out)
	return out
}

// sought are both halves of every secret in every spelling, and what they are.
var sought = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for place, hush := range planted {
		for form, spelt := range forms(hush) {
			for _, half := range []string{spelt[:len(spelt)*3/5], spelt[len(spelt)*2/5:]} {
				out[half] = place + " (" + form + ")"
			}
		}
	}
	return out
})

// spiteful is a server that repeats every secret it knows, in every spelling, wherever
// it may. The first part of the path says how (ok, locked, gone, broken, error, torn),
// and behind a dash which secrets it knows, where the client does not know all.
func spiteful(t *testing.T) *httptest.Server {
	var mu sync.Mutex
	n := 0
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		n++
		turn := n
		mu.Unlock()
		whole := strings.TrimPrefix(r.URL.Path, "/")
		if strings.HasPrefix(whole, "v1/") || !strings.Contains(whole, "/") {
			whole = "ok-key+body/" + whole // AISBench's configs have no place for a prefix
		}
		how, path, _ := strings.Cut(whole, "/")
		how, which, _ := strings.Cut(how, "-")
		var all []string
		planted := maps.Clone(planted)
		for place, hush := range planted {
			if which != "" && !slices.Contains(strings.Split(which, "+"), place) && (which != "norow" || place == "row") {
				planted[place] = "" // the client does not know it
				continue
			}
			for _, spelt := range forms(hush) {
				all = append(all, spelt)
			}
		}
		slices.Sort(all)
		echo := strings.Join(all, " , ")
		said := echo + " " + r.Header.Get("Authorization") + " " + r.URL.RawQuery + " " + string(body)
		object := func(v any) { b, _ := json.Marshal(v); w.Write(b) }
		w.Header().Set("Server", strings.Map(func(c rune) rune {
			if c < ' ' || c > '~' {
				return ' '
			}
			return c
		}, echo))
		if how == "locked" {
			w.WriteHeader(401)
			object(map[string]any{"error": map[string]any{"message": "Incorrect API key provided: " + said}})
			return
		}
		switch path {
		case "v1/models":
			object(map[string]any{"data": []any{
				map[string]any{"id": "m", "owned_by": "sglang", "root": echo, "max_model_len": 100000, planted["key"]: planted["env"]},
				map[string]any{"id": "m-" + planted["key"], "owned_by": planted["header"]}, map[string]any{"id": said},
			}})
			return
		case "get_server_info", "server_info", "get_model_info", "version", "info", "props", "api/version":
			object(map[string]any{"version": fmt.Sprint("0.5 ", turn, planted["key"]), "api_key": planted["key"], "args": all, "said": said, "deep": map[string]any{planted["row"]: []any{echo}}})
			return
		case "metrics":
			fmt.Fprintf(w, "# HELP x %s\n# TYPE sglang:num_running_reqs gauge\nsglang:num_running_reqs{a=%q} 1\nprocess_start_time_seconds %d\n", strings.ReplaceAll(said, "\n", " "), planted["page"]+planted["key"], turn)
			return
		case "flush_cache":
			io.WriteString(w, said)
			return
		}
		switch how {
		case "gone":
			w.Header().Set("Location", "http://127.0.0.1:1/x?api_key="+url.QueryEscape(planted["key"])+"&"+url.QueryEscape(planted["url"]))
			w.WriteHeader(307)
			return
		case "broken":
			w.WriteHeader(500)
			io.WriteString(w, said)
			return
		}
		if !bytes.Contains(body, []byte(`"stream":true`)) {
			object(map[string]any{"model": "m " + planted["key"], "choices": []any{map[string]any{"message": map[string]any{"content": said}, "finish_reason": planted["body"]}}, "usage": map[string]any{"prompt_tokens": 9, "completion_tokens": 2}})
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		send := func(v any) { b, _ := json.Marshal(v); fmt.Fprintf(w, "data: %s\n\n", b) }
		delta := func(text, finish string) any {
			c := map[string]any{"index": 0, "delta": map[string]any{"content": text, "reasoning_content": text}}
			if finish != "" {
				c["finish_reason"] = finish
			}
			return map[string]any{"id": planted["key"], "model": "m " + planted["key"] + planted["note"], "choices": []any{c}}
		}
		half := len(planted["key"]) / 2
		send(delta(planted["key"][:half], ""))
		send(delta(planted["key"][half:]+" "+said, ""))
		switch how {
		case "error":
			send(map[string]any{"error": map[string]any{"message": "no: " + said, "type": planted["header"], "code": planted["row"]}})
			return
		case "torn":
			fmt.Fprintf(w, "data: {\"torn\": %s\n\n", said)
			return
		}
		send(delta("", "stop "+planted["key"]))
		send(map[string]any{"choices": []any{}, "usage": map[string]any{"prompt_tokens": 9, "completion_tokens": 2}})
		io.WriteString(w, "data: [DONE]\n\n")
	}))
}

// No secret reaches a file, a message or a log, whatever the verb, whatever the server
// repeats.
func TestPlantedSecrets(t *testing.T) {
	srv := spiteful(t)
	defer srv.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := closed.Addr().String()
	closed.Close()
	host := strings.TrimPrefix(srv.URL, "http://")

	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PLANTED", planted["env"])
	given := map[string]bool{} // what the user wrote: it may hold the secrets
	put := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		given[name] = true
	}
	row := func(i int) string {
		b, _ := json.Marshal(map[string]any{"question": fmt.Sprint("row ", i), "extra": map[string]any{"api_key": planted["row"], "user": map[string]any{"session_token": planted["row"]}}})
		return string(b) + "\n"
	}
	put("data.jsonl", row(0)+row(1)+row(2)+row(3))
	q := func(place string) string { b, _ := json.Marshal(planted[place]); return string(b) }
	spec := func(name, target string) string {
		put(name, strings.Join([]string{
			"target:", "  url: " + target, "  api_key: " + q("key"), "  model: m",
			"  headers:", "    X-Secret-Header: " + q("header"), "    X-Env: ${PLANTED}",
			"workload:", "  dataset: {path: data.jsonl, extra: [extra]}", "  output_tokens: 4", "  sampling: {auth_token: " + q("body") + ", metadata: {password: " + q("body") + "}}",
			"load: {requests: 4, concurrency: 2}", "record: {output: full}", "limits: {connect: 2s, drain: 1s}",
			"prepare: {flush: '/flush_cache?api_key=" + planted["flush"] + "'}",
			"telemetry: {metrics: [{url: '" + srv.URL + "/ok/metrics?token=" + planted["page"] + "'}]}",
			"notes: {secret: " + q("note") + ", link: 'http://u:" + planted["pass"] + "@h/?token=" + planted["url"] + "'}", "",
		}, "\n"))
		return name
	}
	ok := spec("ok.yaml", host+"/ok")
	// The key, and what else is secret, in texts that are free: of the model, the prompt, a
	// path, a note, a name.
	keyed := filepath.Join("of "+planted["key"], planted["body"]+".jsonl")
	if err := os.MkdirAll(filepath.Dir(keyed), 0o700); err != nil {
		t.Fatal(err)
	}
	put(keyed, row(0)+row(1))
	free := func(name, work string) string {
		put(name, strings.Join([]string{
			"name: " + quoted(strings.ReplaceAll(planted["key"], "/", "")), "target:", "  url: " + host + "/ok-key/" + url.PathEscape(planted["header"]), "  api_key: " + q("key"), "  model: " + q("key"),
			"  headers: {X-Secret-Header: " + q("header") + "}", "  session_header: ''",
			"workload:", "  " + work, "  output_tokens: 4",
			"  system: " + quoted("say nothing of "+planted["key"]),
			"  sampling: {stop: [" + q("key") + "], " + q("header") + ": 1, auth_token: " + q("body") + "}",
			"prepare: {dataset: " + quoted(keyed) + "}",
			"load: {requests: 2, concurrency: 2}", "record: {output: full}", "provenance: {source: " + quoted(filepath.Dir(keyed)) + "}",
			"notes: {comment: " + quoted("the key is "+planted["key"]+", the header "+planted["header"]) + ", " + q("header") + ": named}", "",
		}, "\n"))
		return name
	}
	freely := free("free.yaml", "dataset: {path: "+quoted(keyed)+"}\n  template: "+quoted("{question} "+planted["key"]))
	mixed := free("mixed.yaml", "mix: [{dataset: "+quoted(keyed)+", template: "+quoted("{question} "+planted["key"])+"}, {dataset: data.jsonl}]")
	name, port, _ := strings.Cut(host, ":")
	put("clear.py", fmt.Sprintf(`
models = [dict(attr="service", type="VLLMCustomAPIChat", abbr="chat", model="m", stream=True, retry=1, max_out_len=4, api_key=%q,
               host_ip=%q, host_port=%s, batch_size=2, generation_kwargs=dict(ignore_eos=True, extra=dict(api_key=%q)))]
datasets = [dict(abbr="demo", type="CustomDataset", path="plain.jsonl", reader_cfg=dict(input_columns=["question"], output_column="answer"),
                 infer_cfg=dict(prompt_template=dict(type="PromptTemplate", template="{question}"), retriever=dict(type="ZeroRetriever"), inferencer=dict(type="GenInferencer")))]
`, planted["key"], name, port, planted["body"]))
	put("plain.jsonl", "{\"question\":\"one\",\"answer\":\"\"}\n")
	type call struct {
		name string
		args []string
	}
	calls := []call{
		{"ok", []string{"run", ok}},
		{"again", []string{"run", ok, "--name", "again", "--set", "record.compress=false", "--probe", "short", "--source", "."}},
		{"by flags", []string{"run", ok, "--name", "flags", "--api-key", planted["key"], "--note", "password=" + planted["note"], "--set", "target.headers.X-Other=" + planted["header"], "--set", "workload.sampling.api_key=" + planted["body"], "--json"}},
		{"equals", []string{"run", ok, "--name", "equals", "--api-key=" + planted["key"], "--note=password=" + planted["note"], "--set=target.headers.X-Other=" + planted["header"]}},
		{"free texts", []string{"run", freely}},
		{"free texts, refused", []string{"run", freely, "--set", "expect=[finish != " + planted["key"] + "]", "--set", "workload.repeat=" + planted["key"]}},
		{"free texts, lost", []string{"run", freely, "--dataset", "no " + planted["key"]}},
		{"free texts, mixed", []string{"run", mixed}},
		{"free texts by flags", []string{"run", freely, "--name", "freely", "--template", "{question} " + planted["key"], "--model", planted["key"], "--note", "comment=the key is " + planted["key"], "--probe", "short"}},
		{"free texts, probed", []string{"probe", freely}},
		{"free texts, planned", []string{"plan", freely}},
		{"free texts, shown", []string{"plan", freely, "--show-request", "1"}},
		{"free texts, checked", []string{"spec", "check", freely}},
		{"userinfo", []string{"run", "--name", "userinfo", "--url", "http://user:" + planted["pass"] + "@" + host + "/ok-pass", "--model", "m", "--dataset", "data.jsonl", "--requests", "2"}},
		{"query", []string{"run", "--url", "http://" + host + "/ok?api_key=" + planted["url"], "--dataset", "data.jsonl"}},
		{"malformed set", []string{"run", ok, "--set", "target.api_key:" + planted["key"]}},
		{"malformed note", []string{"run", ok, "--note", planted["note"]}},
		{"unknown field", []string{"run", ok, "--set", "target.api_kye=" + planted["key"]}},
		{"repeat", []string{"run", ok, "--name", "repeats", "--repeat", "2", "--requests", "2"}},
		{"probe", []string{"probe", "--url", host + "/ok-key", "--model", "m", "--api-key", planted["key"], "--out", "probes"}},
		{"probe of a spec", []string{"probe", spec("probe.yaml", host+"/ok-norow")}},
		{"plan", []string{"plan", ok, "--out", "plan.jsonl"}},
		{"plan, shown", []string{"plan", ok, "--show-request", "1"}},
		{"plan, shown for curl", []string{"plan", ok, "--show-request", "1", "--curl"}},
		{"spec", []string{"spec", "check", ok}},
		{"dataset", []string{"dataset", "inspect", "data.jsonl"}},
		{"sim", []string{"sim", "--addr", "127.0.0.1:0", "--for", "50ms", "--api-key", planted["key"], "--trace", "truth.jsonl"}},
		{"aisbench", []string{"aisbench", "clear.py", "--num-warmups", "0", "--work-dir", "work"}},
		{"aisbench, dry", []string{"aisbench", "clear.py", "--dry-run", "--work-dir", "dry"}},
		{"import of a config", []string{"import", "aisbench", "clear.py", "-o", "imported.yaml"}},
		{"import of a config, printed", []string{"import", "aisbench", "clear.py"}},
		{"report of no run", []string{"report", "nowhere?api_key=" + planted["url"]}},
	}
	for _, how := range []string{"locked", "gone", "broken", "error", "torn"} {
		calls = append(calls, call{how, []string{"run", spec(how+".yaml", host+"/"+how), "--name", how}})
	}
	calls = append(calls, call{"dead", []string{"run", spec("dead.yaml", dead), "--name", "dead"}},
		call{"probe, locked", []string{"probe", spec("locked-probe.yaml", host+"/locked-norow")}}, call{"probe, gone", []string{"probe", spec("gone-probe.yaml", host+"/gone-norow")}}, call{"probe, dead", []string{"probe", "dead.yaml"}})

	verbs := map[string]bool{}
	for _, c := range (&app{}).rootCommand().Commands() {
		verbs[c.Name()] = true
	}
	try := func(c call) {
		t.Helper()
		if !verbs[c.args[0]] {
			return
		}
		var out, errs bytes.Buffer
		code := Main(c.args, strings.NewReader(""), &out, &errs)
		for name, text := range map[string][]byte{"stdout": out.Bytes(), "stderr": errs.Bytes()} {
			for _, l := range leaks(text) {
				t.Errorf("%s: %s (exit %d): %s", c.name, name, code, l)
			}
		}
		t.Logf("exit %d: %s: %d bytes: %.100q", code, c.name, out.Len()+errs.Len(), errs.String())
		if code == exitInternal || strings.Contains(errs.String(), "unknown command") || strings.Contains(errs.String(), "unknown flag") {
			t.Errorf("%s: exit %d: %s", c.name, code, errs.String())
		}
	}
	for _, c := range calls {
		try(c)
	}
	runs, _ := filepath.Glob("runs/*/*")
	runs = slices.DeleteFunc(runs, func(p string) bool { i, err := os.Stat(p); return err != nil || !i.IsDir() })
	if len(runs) < 8 {
		t.Fatalf("only %d runs: %s", len(runs), runs)
	}
	for i, run := range runs {
		formats := []string{"console", "markdown", "json", "csv", "requests", "vllm", "sglang", "html"}
		if i > 1 {
			formats = formats[:1] // the others differ in what failed alone
		}
		for _, format := range formats {
			try(call{run + " as " + format, []string{"report", run, "--full", "--format", format}})
		}
		try(call{run + " show, JSON", []string{"show", run, "--json"}})
		try(call{run + " why", []string{"why", run}})
		if i > 1 {
			continue
		}
		try(call{run + " show", []string{"show", run, "--full"}})
		try(call{run + " show, Markdown", []string{"show", run, "--format", "markdown"}})
		try(call{run + " pack", []string{"pack", run}})
		try(call{run + " explain", []string{"explain", "counts.failed", run}})
	}
	try(call{"compare", []string{"compare", runs[0], runs[1]}})
	try(call{"compare, JSON", []string{"compare", runs[0], runs[len(runs)-1], "--format", "json"}})
	try(call{"merge", []string{"merge", runs[0], runs[1], "-o", "merged.zst", "--force"}})
	for _, tool := range []string{"vllm", "sglang"} {
		try(call{"export", []string{"report", runs[0], "--format", tool, "--full", "--out", tool + ".json"}})
		try(call{"import", []string{"import", tool, tool + ".json", "-o", tool + ".zst"}})
		try(call{"report of the import", []string{"report", tool + ".zst"}})
	}
	try(call{"aisbench folder", []string{"report", runs[0], "--format", "aisbench", "--out", "aisbench"}})
	for _, l := range leaksInFiles(t, dir, given) {
		t.Error(l)
	}
}

// leaksInFiles looks into every file and its name, packed ones unpacked.
func leaksInFiles(t *testing.T, dir string, given map[string]bool) []string {
	var out []string
	files := 0
	defer func() { t.Logf("%d files", files) }()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if err != nil || d.IsDir() || given[rel] {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if bytes.HasPrefix(b, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
			r, err := zstd.NewReader(bytes.NewReader(b))
			if err != nil {
				return err
			}
			defer r.Close()
			if b, err = io.ReadAll(r); err != nil {
				return err
			}
		}
		for _, l := range leaks(append([]byte(rel+"\n"), b...)) {
			out = append(out, rel+": "+l)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 30 {
		t.Errorf("only %d files were looked into", files)
	}
	return out
}
