package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tokentape/simserver"
)

// startSim runs the verb until the test ends it; url is what it printed.
func startSim(t *testing.T, args ...string) (url string, end func() (stderr string, err error)) {
	t.Helper()
	out, w := io.Pipe()
	var errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: w, stderr: &errs}
	cmd := a.simCommand()
	cmd.SetArgs(append([]string{"--addr", "127.0.0.1:0"}, args...))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx) }()
	buf := make([]byte, 100)
	n, err := out.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(buf[:n])), func() (string, error) {
		cancel()
		err := <-done
		return errs.String(), err
	}
}

func TestSimServesAndEnds(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "truth.jsonl")
	url, end := startSim(t, "--profile", "instant", "--model", "m7", "--trace", trace, "--fault-at", "0:status,code=429")
	resp, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 429 {
		t.Errorf("status %d, want 429", resp.StatusCode)
	}
	resp, err = http.Post(url+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if !strings.Contains(string(body), `"model":"m7"`) {
		t.Errorf("%s", body)
	}
	stderr, err := end()
	if err != nil || !strings.Contains(stderr, "ended: 1 answers") {
		t.Errorf("%v, %s", err, stderr)
	}
	b, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	var tr simserver.Truth
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &tr); err != nil || len(lines) != 2 || tr.N != 1 || tr.OutputTokens != 16 {
		t.Errorf("trace: %s, %v", b, err)
	}
}

func TestSimPlaysScripts(t *testing.T) {
	script := filepath.Join(t.TempDir(), "two.case")
	if err := os.WriteFile(script, []byte("answer\n  length auto\n  @0 \"one\" END\nanswer\n  status 429\n  length auto\n  @20 \"two\" END\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	url, end := startSim(t, "--script", script)
	for i, want := range []string{"200 one", "429 two", "200 one"} {
		resp, err := http.Post(url+"/any/path", "application/json", strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if got := fmt.Sprint(resp.StatusCode, " ", string(body)); got != want {
			t.Errorf("answer %d: %q, want %q", i, got, want)
		}
	}
	resp, err := http.Get(url + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("models beside a script: %d", resp.StatusCode)
	}
	if stderr, err := end(); err != nil {
		t.Errorf("%v, %s", err, stderr)
	}
}

func TestSimForEnds(t *testing.T) {
	var out, errs bytes.Buffer
	a := &app{stdout: &out, stderr: &errs}
	cmd := a.simCommand()
	cmd.SetArgs([]string{"--addr", "127.0.0.1:0", "--for", "20ms"})
	start := time.Now()
	if err := cmd.Execute(); err != nil || !strings.HasPrefix(out.String(), "http://127.0.0.1:") {
		t.Errorf("%v, %s", err, &out)
	}
	if d := time.Since(start); d < 20*time.Millisecond {
		t.Errorf("ended after %s", d)
	}
}

func TestSimFlags(t *testing.T) {
	f := &simFlags{}
	cmd := (&app{}).simCommand()
	cmd.ResetFlags()
	f.register(cmd.Flags())
	if err := cmd.ParseFlags(strings.Fields("--decode-base-ms 2.5 --profile instant --prefill-us-per-token 0.5 --no-role-chunk --cache-report off --cache=false --fault cut,share=0.1 --fault-at 3:no-done")); err != nil {
		t.Fatal(err)
	}
	o, err := f.resolve(cmd.Flags())
	if err != nil {
		t.Fatal(err)
	}
	if o.DecodeBase != 2500*time.Microsecond || o.PrefillPerToken != 500*time.Nanosecond || o.PrefillFixed != 0 || o.Slots != simserver.Instant().Slots ||
		o.RoleChunk != simserver.RoleNone || o.CacheReport != simserver.CacheReportOff || o.Cache || len(o.Faults) != 1 || o.FaultAt[3].Kind != simserver.FaultNoDone {
		t.Errorf("%+v", o)
	}
}

func TestSimRefuses(t *testing.T) {
	taken := filepath.Join(t.TempDir(), "taken")
	if err := os.WriteFile(taken, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "broken.case")
	if err := os.WriteFile(broken, []byte("answer\n  @0 \"x\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for args, part := range map[string]string{
		"--script /nowhere.case":                        "/nowhere.case",
		"--script " + broken:                            "broken.case:2: the timeline must end in END",
		"--script " + broken + ",weight=0":              "above 0",
		"--script " + broken + " --fault cut,share=0.1": "cannot go together",
		"--addr 0.0.0.0:0":                              "--expose",
		"--addr nonsense":                               "--addr 127.0.0.1:0",
		"--profile fast":                                "instant",
		"--slots 0":                                     "Slots",
		"--cache-report maybe":                          "above-zero",
		"--decode-base-ms NaN":                          "number",
		"--decode-base-ms -1":                           "number",
		"--fault burn":                                  "burn",
		"--fault-at x:cut":                              "NUMBER:FAULT",
		"--fault cut,share=0.7 --fault no-done":         "more than 1",
		"--no-role-chunk --early-role-chunk":            "contradict",
		"--trace " + taken:                              "never overwrites",
		"--output-mean 0":                               "OutputMean",
		"--addr 127.0.0.1:0 --for -1s":                  "--for",
	} {
		a := &app{stdout: io.Discard, stderr: io.Discard}
		cmd := a.simCommand()
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetFlagErrorFunc(a.rootCommand().FlagErrorFunc())
		cmd.SetArgs(strings.Fields(args))
		err := cmd.Execute()
		e, ok := err.(*exitError)
		if !ok || e.code != exitUsage || !strings.Contains(e.msg+strings.Join(e.hints, " "), part) {
			t.Errorf("%s: %v", args, err)
		}
	}
}
