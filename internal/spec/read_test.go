package spec

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func format(issues []Issue) string {
	var b strings.Builder
	for _, i := range issues {
		if i.Warning {
			b.WriteString("note: ")
		}
		b.WriteString(i.Format() + "\n")
	}
	return b.String()
}

func environ(m map[string]string) func(string) (string, bool) {
	return func(k string) (string, bool) { v, ok := m[k]; return v, ok }
}

// TestBadFiles holds what a person sees for each kind of mistake.
func TestBadFiles(t *testing.T) {
	files, _ := filepath.Glob("testdata/bad/*.yaml")
	if len(files) < 10 {
		t.Fatal("no files")
	}
	env := environ(map[string]string{"API_KEY": "sk-this-must-not-be-shown"})
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			_, issues := Read(f, env, nil)
			got := format(issues)
			if !Failed(issues) {
				t.Errorf("accepted:\n%s", got)
			}
			if strings.Contains(got, "must-not-be-shown") {
				t.Error("a secret is shown")
			}
			golden(t, strings.TrimSuffix(f, ".yaml")+".golden", got)
		})
	}
}

func TestBadSets(t *testing.T) {
	_, issues := Read("", nil, []Set{
		{"load.requests", "many", "--requests"},
		{"load.concurrency", "-1", "--concurrency"},
		{"load.rate", "nan", "--rate"},
		{"load.arrivals", "poison", "--arrivals"},
		{"load.duration", "30", "--duration"},
		{"load.concurency", "4", "--set load.concurency"},
		{"concurrency", "4", "--set concurrency"},
		{"load", "4", "--set load"},
		{"report.windows", "steady", "--set report.windows"},
		{"report.windows", "[steady, whol]", "--set report.windows"},
		{"devices", "{prefill: 8, decoder: 8}", "--set devices"},
		{"workload.sampling.temperature", "{", "--set workload.sampling.temperature"},
		{"workload.sampling.", "1", "--set workload.sampling."},
		{"target.url", "http://u:hunter2@h:99999", "--url"},
		{"target.headers.Host", "x", "--set target.headers.Host"},
		{"", "1", ""},
		{"name", "\xff", "--name"},
	})
	golden(t, "testdata/sets.golden", format(issues))
}

func TestReadNoFile(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, make([]byte, maxBytes+1), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.yaml"): "cannot read the spec: no such file or directory",
		dir:                             "it is a folder",
		big:                             "is it the dataset?",
	} {
		_, issues := Read(path, nil, nil)
		if len(issues) != 1 || !strings.Contains(issues[0].Error(), want) || !strings.HasPrefix(issues[0].Error(), path+": ") {
			t.Errorf("%s: %v; want %q", path, issues, want)
		}
	}
}

// read makes a Spec of text and sets, and fails on any issue that is no note.
func read(t *testing.T, text string, env map[string]string, sets ...Set) (*Spec, []Issue) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "first.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s, issues := Read(path, environ(env), sets)
	if Failed(issues) {
		t.Fatalf("refused:\n%s", format(issues))
	}
	return s, issues
}

func TestDefaultsDependOnWhatWasSet(t *testing.T) {
	for _, c := range []struct {
		text string
		n, c int64
	}{
		{"", 1, 1},
		{"# nothing\n", 1, 1},
		{"load:\n  # nothing\n", 1, 1},
		{"load: {requests: 4}", 4, 1},
		{"load: {rate: 2}", 1, 0},
		{"load: {rate: 2, concurrency: 1}", 1, 1},
		{"load: {duration: 3s}", 0, 1},
		{"load: {duration: 3s, requests: 1}", 1, 1},
		{"load: {duration: 3s, rate: 6, concurrency: 90}", 0, 90},
	} {
		s, _ := read(t, c.text, nil)
		if s.Load.Requests != c.n || s.Load.Concurrency != c.c {
			t.Errorf("%q: N %d C %d, want %d %d", c.text, s.Load.Requests, s.Load.Concurrency, c.n, c.c)
		}
		if s.Name != "first" {
			t.Errorf("name %q, want the file's", s.Name)
		}
	}
	s, issues := Read("", nil, []Set{{"load.rate", "2", "--rate"}})
	if len(issues) > 0 || s.Load.Concurrency != 0 || s.Name != "run" {
		t.Errorf("flags alone: %+v %v", s.Load, issues)
	}
}

func TestVariables(t *testing.T) {
	text := `
name: ${N:-a}${EMPTY}b
target: {url: "http://${HOST}:1", api_key: "${KEY:-}"}
workload:
  template: 'cost $5 $${X} {question}'
  stream: ${S}
  sampling:
    temperature: ${T}
    quoted: "${T}"
    list: ["${T}", $x]
load:
  requests: ${REQ:-4}
  rate: "${RATE}"
limits: {idle: "${EMPTY:-3s}"}
devices: ${D}
`
	s, _ := read(t, text, map[string]string{"HOST": "h", "S": "false", "T": "0.5", "RATE": "2.5", "EMPTY": "", "D": "16"})
	if s.Name != "ab" || s.Target.URL != "http://h:1" || s.Target.APIKey != "" || s.Workload.Template != "cost $5 ${X} {question}" ||
		s.Workload.Stream || s.Load.Requests != 4 || s.Load.Rate != 2.5 || s.Limits.Idle.D() != 3*time.Second || s.Devices.Total != 16 {
		t.Errorf("%+v", s)
	}
	want := map[string]any{"temperature": 0.5, "quoted": "0.5", "list": []any{"0.5", "$x"}}
	if diff := cmp.Diff(want, s.Workload.Sampling); diff != "" {
		t.Error(diff)
	}
}

func TestSetsOverrideTheFile(t *testing.T) {
	text := `
target: {url: "${URL}", headers: {x-trace: a, Other: b}}
workload: {dataset: {path: rows.jsonl}, sampling: {temperature: 1, stop: [a]}}
load: {requests: 4}
report: {windows: [whole]}
devices: {prefill: 1, decode: 2}
`
	s, _ := read(t, text, nil,
		Set{"target.url", "h:1", "--url"}, // the variable need not be set any more
		Set{"target.headers.X-Trace", "0123", "--set target.headers.X-Trace"},
		Set{"workload.sampling.chat_template_kwargs.enable_thinking", "false", "--set …"},
		Set{"workload.sampling.temperature", "0", "--set …"},
		Set{"target.model", "0123", "--model"},
		Set{"load.requests", "8", "--requests"},
		Set{"load.requests", "9", "--set load.requests"},
		Set{"report.windows", "[steady, stable]", "--set report.windows"},
		Set{"devices", "16", "--set devices"},
		Set{"target.ca_file", "ca.pem", "--set target.ca_file"},
		Set{"target.url", "https://h:1", "--url"},
	)
	if s.Target.URL != "https://h:1" || s.Target.Model != "0123" || s.Load.Requests != 9 || s.Devices != (Devices{Total: 16}) {
		t.Errorf("%+v", s)
	}
	if s.Target.CAFile != "ca.pem" {
		t.Errorf("a flag's path is relative to the working directory, not %s", s.Target.CAFile)
	}
	if !filepath.IsAbs(s.Workload.Dataset.Path) || filepath.Base(s.Workload.Dataset.Path) != "rows.jsonl" {
		t.Errorf("a file's path is relative to its folder, not %s", s.Workload.Dataset.Path)
	}
	want := map[string]any{"temperature": int64(0), "stop": []any{"a"}, "chat_template_kwargs": map[string]any{"enable_thinking": false}}
	if diff := cmp.Diff(want, s.Workload.Sampling); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"X-Trace": "0123", "Other": "b"}, s.Target.Headers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"steady", "stable"}, s.Report.Windows); diff != "" {
		t.Error(diff)
	}
}

func TestDurationText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 10 * time.Second: "10s", 90 * time.Second: "1m30s", 600 * time.Second: "10m", time.Hour: "1h",
		time.Hour + time.Second: "1h0m1s", 250 * time.Millisecond: "250ms", 20 * time.Hour: "20h", 100 * time.Minute: "1h40m",
	} {
		if got := Duration(d).String(); got != want {
			t.Errorf("%v prints as %s, want %s", d, got, want)
		}
		var back Duration
		if err := back.UnmarshalText([]byte(want)); err != nil || back.D() != d {
			t.Errorf("%s reads as %v, %v", want, back, err)
		}
	}
}

func TestSuggest(t *testing.T) {
	for _, c := range []struct{ section, key, want string }{
		{"load", "concurency", "load.concurrency"},
		{"load", "Requests", "load.requests"},
		{"", "requests", "load.requests"},
		{"target", "concurrency", "load.concurrency"},
		{"limits", "first-token", "limits.first_token"},
		{"load", "timeout", "limits.total"},
		{"", "worklaod", "workload"},
		{"load", "zzz", ""},
		{"report.slo", "ttft", "report.slo.ttft_ms"},
	} {
		if got := suggest(c.section, c.key); got != c.want {
			t.Errorf("%s in %q: %q, want %q", c.key, c.section, got, c.want)
		}
	}
}
