package aisbenchconfig

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"tokentape/internal/importer/aisbench/pyconf"
	"tokentape/internal/spec"
)

// small is a config whose model has more fields, and whose abbr is that text.
func small(abbr, more string) string {
	return `import os
models = [dict(attr="service", type="VLLMCustomAPIChat", abbr=` + abbr + `, model="m", stream=True, retry=1, max_out_len=4,
    host_ip="127.0.0.1", host_port=80, batch_size=2,
    ` + more + `)]
datasets = [dict(abbr="rows", type="CustomDataset", path="rows.jsonl",
    reader_cfg=dict(input_columns=["question"]), infer_cfg=dict(prompt_template=dict(type="PromptTemplate", template="{question}")))]
`
}

func importSmall(t *testing.T, text string) (*Result, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, s := range map[string]string{"c.py": text, "rows.jsonl": `{"question":"?"}` + "\n"} {
		if err := os.WriteFile(name, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Import("c.py", Options{OutDir: ".", Env: func(name string) (string, bool) { return map[string]string{"XK": "sk-from-env"}[name], name == "XK" }})
}

// What a config holds stays what it is: a comment is one line, a key is a key.
func TestTextsStayTexts(t *testing.T) {
	res, err := importSmall(t, small(`"a\nload:\r  rate: 9\u0085b\u2028c"`, `generation_kwargs={"x: y": "\u0085\x7f", "null": 2, "a\nb": 3, "#": 4, "1": 5}`))
	if err != nil {
		t.Fatal(err)
	}
	yaml := string(res.Jobs[0].YAML)
	if err := os.WriteFile("s.yaml", res.Jobs[0].YAML, 0o600); err != nil {
		t.Fatal(err)
	}
	s, issues := spec.Read("s.yaml", nil, nil)
	for _, is := range issues {
		if !is.Warning {
			t.Errorf("%s\n%s", is.Format(), yaml)
		}
	}
	if s == nil || len(s.Workload.Sampling) != 5 || s.Load.Rate != 0 || strings.ContainsAny(yaml, "\r\u0085\u2028") {
		t.Errorf("%q", yaml)
	}
	if v := s.Workload.Sampling["x: y"]; v != "\u0085\x7f" {
		t.Errorf("%q", v)
	}
	for _, k := range []string{"x: y", "null", "a\nb", "#", "1"} {
		if _, ok := s.Workload.Sampling[k]; !ok {
			t.Errorf("key %q is lost: %v", k, s.Workload.Sampling)
		}
	}
}

// No number that is none, and no rate that no spec takes.
func TestRatesThatAreNone(t *testing.T) {
	for _, v := range []string{`float("nan")`, `float("inf")`, `-float("inf")`, `"nan"`, `1e9`} {
		_, err := importSmall(t, small(`"m"`, `request_rate=`+v+`, generation_kwargs=dict()`))
		if err == nil || !strings.Contains(err.Error(), "c.py:4") || !strings.Contains(err.Error(), "request_rate") {
			t.Errorf("%s: %v", v, err)
		}
	}
}

// Secrets of a body, at any depth, are held for the process and stand nowhere.
func TestBodySecrets(t *testing.T) {
	res, err := importSmall(t, small(`"m"`, `api_key="Bearer " + os.environ["XK"],
    generation_kwargs=dict(api_key="sk-one", extra=dict(api_key="sk-two", list=[dict(password="sk-three")]), secret=os.environ["XK"], max_time=3)`))
	if err != nil {
		t.Fatal(err)
	}
	j := res.Jobs[0]
	said := ""
	for _, w := range res.Warnings {
		said += w.String() + "\n"
	}
	if strings.Contains(string(j.YAML)+said, "sk-") || !strings.Contains(string(j.YAML), `secret: "${XK}"`) {
		t.Errorf("%s%s", j.YAML, said)
	}
	if strings.Contains(said, "clear text") || !strings.Contains(said, "is made of $XK and more") {
		t.Error(said)
	}
	want := map[string]string{"AISBENCH_API_KEY": "Bearer sk-from-env", "AISBENCH_BODY_API_KEY": "sk-one", "AISBENCH_BODY_API_KEY_2": "sk-two", "AISBENCH_BODY_PASSWORD": "sk-three"}
	for name, v := range want {
		if j.Values[name] != v {
			t.Errorf("%s is %q, want %q", name, j.Values[name], v)
		}
	}
}

// A pipe that nobody writes to is refused, not waited for.
func TestOnlyRegularFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("c.py", 0o600); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{"c.py", "/dev/zero", "."} {
		done := make(chan error, 1)
		go func() {
			_, err := pyconf.File(path, pyconf.Options{})
			done <- err
		}()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), "not a regular file") {
				t.Errorf("%s: %v", path, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: waits", path)
		}
	}
}
