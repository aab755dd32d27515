package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/observe"
	"tokentape/internal/plan"
	"tokentape/internal/provenance"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/simserver"
	"tokentape/tape"
)

// direct asks no environment for a proxy: net/http would remember the answer for all
// tests that follow.
var direct = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func liveData(t *testing.T, rows int) string {
	t.Helper()
	var b bytes.Buffer
	for i := range rows {
		fmt.Fprintf(&b, "{\"question\": \"Question %d: what limits the throughput of a server?\"}\n", i)
	}
	path := filepath.Join(t.TempDir(), "data.jsonl")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The cores of the live view are those that the tape names, whatever the runtime was
// given for the run.
func TestLiveCores(t *testing.T) {
	before := provenance.Host("/", os.LookupEnv, time.Time{}).CPUs
	defer run.Tune()()
	j := &job{spec: &spec.Spec{}, plan: &plan.Plan{}}
	j.origin.host.CPUs = before
	if got := j.liveSetup().Cores; got != before {
		t.Errorf("%d cores, want %d", got, before)
	}
}

// The metrics page answers to who asks for this machine, and to no page elsewhere that
// had its name resolve here.
func TestLiveHost(t *testing.T) {
	self, err := os.Hostname()
	if err != nil {
		t.Skip(err)
	}
	h := ownHost(&observe.Exporter{}, "gpu-box.example:9100")
	for host, want := range map[string]int{"127.0.0.1:9100": 200, "[::1]:9100": 200, "localhost:9100": 200, "10.0.0.7": 200, "GPU-box.example:9100": 200, self + ":9100": 200,
		"evil.example:9100": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example:9100": 403, "": 403, strings.Repeat("x", 9999): 403} {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%.40q: %d, want %d", host, w.Code, want)
		}
		if body := w.Body.String(); want == 403 && (strings.Contains(body, "tokentape_") || len(body) > 300) {
			t.Errorf("%.40q: %q", host, body)
		}
	}
}

// harmless are sequences that leave nothing behind but what is written; that lines are
// not wrapped ends with each frame.
var harmless = regexp.MustCompile(`^(\?7[lh]|[0-9]*[AJK])`)

// A run on a terminal: it is drawn, obeys another size, an interrupt is told, the last
// frame stays above what follows, and the terminal is as it was.
func TestLiveOnTerminal(t *testing.T) {
	srv, err := simserver.Listen("127.0.0.1:0", simserver.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	p := openPTY(t, 100, 30)
	cmd := exec.Command(os.Args[0], "run", "--url", srv.URL, "--dataset", liveData(t, 20), "--repeat", "cycle", "--requests", "100000", "--concurrency", "2",
		"--output-tokens", "4", "--name", "seen", "--out", t.TempDir())
	cmd.Env = append(os.Environ(), "TOKENTAPE_TEST_CHILD=1", "TERM=xterm", "NO_COLOR=1")
	cmd.Stdin, cmd.Stderr = p.slave, p.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	p.wait(t, "measure    0:", "\nTTFT       p50 ", "\nclient     pacer lag p99 ")
	p.resize(t, 30, 30)
	p.wait(t, "\nTTFT p50 ", "\nclient ")
	p.master.Write([]byte("\x03"))
	p.wait(t, "no more requests are sent")
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Errorf("ended with %v", err)
	}
	text := p.end(t)
	for i, part := range strings.Split(text, "\x1b[")[1:] {
		if !harmless.MatchString(part) {
			t.Errorf("sequence %d changes the terminal: %q", i, part)
		}
	}
	if strings.Count(text, "\x1b[?7l") != strings.Count(text, "\x1b[?7h") {
		t.Errorf("lines are left without wrapping")
	}
	last := text[strings.LastIndex(text, "\x1b[?7h"):]
	if !strings.Contains(text, "done 0:") || !strings.Contains(last, "files: ") || strings.Count(last, "\x1b") != 1 {
		t.Errorf("what follows the last frame: %q", last)
	}
}

// The flags that are refused, and where the metrics page is.
func TestLiveFlags(t *testing.T) {
	open := func(values ...string) (*liveView, string, error) {
		var said bytes.Buffer
		f := liveFlags{values: values}
		v, err := f.open(&app{stderr: &said}, "")
		t.Cleanup(v.close)
		return v, said.String(), err
	}
	for value, want := range map[string]string{
		"nothing":               "auto, line, full, off or prometheus",
		"prometheus:x":          "a port, or HOST:PORT",
		"prometheus:host":       "a port, or HOST:PORT",
		"prometheus:1:2:3":      "a port, or HOST:PORT",
		"prometheus:99999":      "a port, or HOST:PORT",
		"full,line":             "one of them",
		"prometheus:0,full,off": "one of them",
		"prometheus,prometheus": "one metrics page",
	} {
		_, _, err := open(strings.Split(value, ",")...)
		var e *exitError
		if !errors.As(err, &e) || e.code != exitUsage || !strings.Contains(strings.Join(e.hints, " "), want) {
			t.Errorf("--live %s: %v", value, err)
		}
	}
	for addr, want := range map[string]string{
		"": "127.0.0.1:9100", "0": "127.0.0.1:0", ":9100": "127.0.0.1:9100", "0.0.0.0:80": "0.0.0.0:80", "[::1]:9": "[::1]:9", "localhost:9": "localhost:9",
	} {
		if got, err := liveListen(addr); got != want || err != nil {
			t.Errorf("%q: %s, %v", addr, got, err)
		}
	}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	if _, _, err := open("prometheus:" + busy.Addr().String()); err == nil || !strings.Contains(err.Error(), busy.Addr().String()) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a busy port: %v", err)
	}
	v, said, err := open("off", "prometheus:0")
	if err != nil || v.style != observe.Off {
		t.Fatalf("%+v %v", v, err)
	}
	url := strings.TrimSpace(strings.TrimPrefix(said, "metrics of the run: "))
	resp, err := direct.Get(url)
	if err != nil {
		t.Fatalf("%q: %v", said, err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); !strings.Contains(string(b), "tokentape_running 0") {
		t.Errorf("%s", b)
	}
}

// While a run goes on its metrics page says what its terminal is shown, and afterwards
// that it is over.
func TestLivePage(t *testing.T) {
	srv, err := simserver.Listen("127.0.0.1:0", simserver.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	var said bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &said, env: os.LookupEnv}
	flags := liveFlags{values: []string{"off", "prometheus:0"}}
	v, err := flags.open(a, "")
	if err != nil {
		t.Fatal(err)
	}
	defer v.close()
	url := strings.TrimSpace(strings.TrimPrefix(said.String(), "metrics of the run: "))
	get := func() string {
		resp, err := direct.Get(url)
		if err != nil {
			t.Error(err)
			return ""
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return string(b)
	}
	looked := 0
	v.also = append(v.also, func(m observe.Moment) { // the page was shown it before
		page := get()
		running := 1
		if m.Final {
			running = 0
		}
		looked++
		for _, want := range []string{
			fmt.Sprintf("\ntokentape_running %d\n", running),
			fmt.Sprintf("\ntokentape_requests_ended_total{outcome=\"ok\"} %d\n", m.OK),
			fmt.Sprintf("\ntokentape_ttft_seconds_count %d\n", m.TTFT.All),
		} {
			if !strings.Contains(page, want) {
				t.Errorf("the page lacks %q:\n%s", want, page)
			}
		}
		if m.Final && (m.OK != 12 || m.TTFT.All != 14 || m.TPOT.All != 14 || m.Issued-m.Before != 14 || m.Due != tape.Some[int64](14)) {
			t.Errorf("at the end %+v", m)
		}
	})
	cmd := &cobra.Command{}
	f := addSpecFlags(cmd)
	if err := cmd.ParseFlags([]string{"--url", srv.URL, "--dataset", liveData(t, 20), "--requests", "12", "--rate", "50", "--warmup", "2",
		"--output-tokens", "4", "--probe", "short", "--set", "workload.sampling={ignore_eos: true}"}); err != nil {
		t.Fatal(err)
	}
	j, err := a.prepare(nil, f, "")
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	_, err = a.run(t.Context(), j, runOptions{out: t.TempDir(), live: v})
	var exit *exitError
	if err != nil && (!errors.As(err, &exit) || exit.code != exitUnfit) { // unfit: of this machine
		t.Fatal(err)
	}
	if looked == 0 {
		t.Error("the run published nothing")
	}
}

// An address may stand as an argument of its own, where no spec can be meant.
func TestLiveAddress(t *testing.T) {
	f := liveFlags{values: []string{"prometheus"}}
	if addr, rest := f.address([]string{"spec.yaml", ":9100"}); addr != ":9100" || len(rest) != 1 || rest[0] != "spec.yaml" {
		t.Errorf("%q %q", addr, rest)
	}
	if addr, rest := f.address([]string{"spec.yaml"}); addr != "" || len(rest) != 1 {
		t.Errorf("%q %q", addr, rest)
	}
	f.values = []string{"full"}
	if addr, rest := f.address([]string{":9100"}); addr != "" || len(rest) != 1 {
		t.Errorf("%q %q", addr, rest)
	}
}

// What is shown of a request is what the report will say of it.
func TestLiveEnd(t *testing.T) {
	some := tape.Some[int64]
	q := &tape.Request{
		Phase: tape.PhaseMeasure, Outcome: tape.OutcomeOK, TReleased: some(100), TWroteFirst: some(110), TFirstToken: some(1_110), TLastToken: some(4_110), TEnd: some(4_200),
		Events: tape.Events{DT: []int64{1_000, 1_000, 2_000}, Kind: "c3", Tok: []int64{2, 5, 8}}, Tokens: tape.Tokens{Output: some(8), OutputSource: tape.SourceUsage},
	}
	l := &liveRun{}
	l.arenas.New = func() any { return &metric.Arena{Off: true} }
	e := l.endOf(q)
	r := metric.Reduce(q, &metric.Arena{})
	ttft, _ := r.TTFT()
	tpot, _ := r.TPOT()
	if e.TTFT != some(ttft) || e.TPOT != some(int64(tpot)) || ttft != 1010 || tpot != 500 || e.Output != some(8) || e.Events != 3 || e.T != 4_200 {
		t.Errorf("%+v, not %d and %g", e, ttft, tpot)
	}
	q.Outcome, q.HTTP.Status, q.Cause, q.Message = tape.OutcomeStatus, 429, "rate_limit", "slow down"
	if e := l.endOf(q); e.TTFT.OK || e.Class != "http_status 429 (rate_limit)" || e.Message != "slow down" {
		t.Errorf("%+v", e)
	}
}

var recordLive = flag.Bool("record-live", false, "record the moments that docs/howto/live.md shows anew")

// TestRecordLive records a run against the simulated server on a terminal of its own.
// Then go test ./internal/observe -update draws the frames of the document anew.
func TestRecordLive(t *testing.T) {
	if !*recordLive {
		t.Skip("the recorded moments stay: -record-live makes others")
	}
	o := simserver.Defaults()
	o.Faults = append(o.Faults, simserver.Fault{Kind: "status", Share: 0.03, Code: 429})
	srv, err := simserver.Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	p := openPTY(t, 100, 30)
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: p.slave, env: os.LookupEnv}
	cmd := &cobra.Command{}
	f := addSpecFlags(cmd)
	if err := cmd.ParseFlags([]string{"--url", srv.URL, "--dataset", liveData(t, 300), "--requests", "240", "--concurrency", "16", "--rate", "20", "--warmup", "8",
		"--output-tokens", "64", "--set", "workload.sampling={ignore_eos: true}", "--set", "limits.failed_share=0.5"}); err != nil {
		t.Fatal(err)
	}
	j, err := a.prepare(nil, f, "")
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	var all []observe.Moment
	v := &liveView{also: []func(observe.Moment){func(m observe.Moment) { all = append(all, m) }}}
	if _, err := a.run(t.Context(), j, runOptions{out: t.TempDir(), live: v}); err != nil {
		t.Log(err) // about this machine, perhaps
	}
	p.end(t)
	var b bytes.Buffer
	for _, at := range []float64{0.02, 0.25, 0.75, 1} {
		if err := json.NewEncoder(&b).Encode(all[int(at*float64(len(all)-1))]); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("../observe/testdata/moments.jsonl", b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
