package cli

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tokentape/internal/analysis"
	"tokentape/internal/report"
	"tokentape/simserver"
	"tokentape/tape"
)

var (
	update   = flag.Bool("update", false, "rewrite the golden files")
	makeRuns = flag.Bool("make-runs", false, "make the broken runs of testdata/why again, in real time, on this machine")
)

// whyRuns is where the prepared runs are, one folder each.
const whyRuns = "testdata/why"

// What tokentape why says of each prepared run is what it said before.
func TestWhyOfPreparedRuns(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(whyRuns, "*", "*.golden"))
	if *update || *makeRuns {
		names, err = filepath.Glob(filepath.Join(whyRuns, "*"))
		for i := range names {
			names[i] = filepath.Join(names[i], "why.golden")
		}
	}
	if err != nil || len(names) < 6 {
		t.Fatalf("%d prepared runs, %v", len(names), err)
	}
	for _, golden := range names {
		dir := filepath.Dir(golden)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			got := whyOf(t, dir)
			if *update || *makeRuns {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("go test ./internal/cli -run Why -update writes it anew\n--- want\n%s\n--- got\n%s", want, got)
			}
			var stage string
			for _, s := range []string{"configuration", "connect", "request", "stream", "record", "analysis"} {
				if strings.Contains(got, "in the stage "+s) {
					stage = s
				}
			}
			if want := strings.TrimLeft(regexp.MustCompile(`^\d+-`).ReplaceAllString(filepath.Base(dir), ""), "-"); !strings.HasPrefix(want, stage) && stage != "" {
				t.Errorf("the folder's name begins with its stage, which is %s", stage)
			}
			if !strings.Contains(got, "\nNext\n") {
				t.Error("no next step")
			}
			if stage == "analysis" && strings.Contains(got, "$ tokentape run") {
				t.Error("a failed analysis is mended without sending")
			}
		})
	}
}

// The short page of what went wrong is short, also of a storm of many classes; it names
// what it leaves out.
func TestWhyIsShort(t *testing.T) {
	for _, name := range []string{"stream-broken", "connect-server-dies", "request-storm", "configuration-wrong-path"} {
		at, err := (&app{stderr: io.Discard}).findTrace(filepath.Join("testdata", "why", name))
		if err != nil {
			t.Fatal(err)
		}
		w, err := at.triage()
		if err != nil {
			t.Fatal(err)
		}
		for _, classes := range []int{len(w.Failures), 14, 40} {
			for i := len(w.Failures); i < classes; i++ {
				f := w.Failures[0]
				f.Class = fmt.Sprintf("http_status %d", 500+i)
				w.Failures = append(w.Failures, f)
			}
			var b bytes.Buffer
			if err := report.WhyText(&b, w, report.Options{Width: 100}); err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(b.Bytes(), []byte("\n")); n > 60 {
				t.Errorf("%s, %d classes: %d lines:\n%s", name, classes, n, b.String())
			}
			if classes > 14 && !strings.Contains(b.String(), fmt.Sprintf("and %d more", classes-7)) || !strings.Contains(b.String(), "tokentape why RUN --full") {
				t.Errorf("%s, %d classes: it does not say what is left out:\n%s", name, classes, b.String())
			}
		}
	}
}

// whyOf is what tokentape why says of a run, but for notes: more of them are found
// with every check that is added, and they are no part of what went wrong.
func whyOf(t *testing.T, dir string) string {
	t.Helper()
	a := &app{stderr: io.Discard}
	at, err := a.findTrace(dir)
	if err != nil {
		t.Fatal(err)
	}
	w, err := at.triage()
	if err != nil {
		t.Fatal(err)
	}
	w.Notes = nil
	w.Missed = slices.DeleteFunc(w.Missed, func(c analysis.Check) bool { return c.Severity == analysis.SeverityNote })
	w.Line = strings.Split(w.Line, "; ")[0]
	var b bytes.Buffer
	if err := report.WhyText(&b, w, report.Options{Width: 100, Full: true}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// prepared are the runs of testdata/why, by the stage in which they go wrong.
// go test ./internal/cli -run MakeRuns -make-runs makes them; what they show in
// numbers differs from time to time, the goldens with them.
var prepared = []struct {
	name  string
	codes string
	serve func(t *testing.T) (url string, stop func())
	args  []string
	harm  func(t *testing.T, dir string)
}{
	{"fine", "05", simOf(simserver.Options{}), []string{"--rate", "40"}, nil},
	{"configuration-bad-spec", "2", nil, []string{"--set", "load.reqests=3"}, nil},
	{"configuration-refused-key", "3", simOf(simserver.Options{APIKey: "sk-the-right-one"}), []string{"--api-key", "sk-a-wrong-one-1234"}, nil},
	{"configuration-wrong-path", "3", notFound, []string{"--model", "m"}, nil},
	{"connect-unreachable", "3", nobody, nil, nil},
	{"connect-server-dies", "4", dying, []string{"--rate", "40"}, nil},
	{"request-storm", "4", simOf(simserver.Options{Faults: []simserver.Fault{
		{Kind: "status", Share: 0.3, Code: 429, For: 2 * time.Second}, {Kind: "status", Share: 0.1, Code: 503, Body: "upstream overloaded"}}}), []string{"--rate", "40"}, nil},
	{"stream-broken", "4", simOf(simserver.Options{Faults: []simserver.Fault{
		{Kind: "malformed", Share: 0.2, After: 3}, {Kind: "cut", Share: 0.1, After: 5}, {Kind: "error-event", Share: 0.1, After: 2}}}), []string{"--rate", "40"}, nil},
	{"record-killed", "05", simOf(simserver.Options{}), []string{"--rate", "40"}, torn},
	{"record-disk-full", "05", simOf(simserver.Options{}), []string{"--rate", "40"}, diskFull},
	{"analysis-no-reports", "05", simOf(simserver.Options{}), []string{"--rate", "40"}, noReports},
	{"request-client-bound", "5", simOf(simserver.Options{}), []string{"--requests", "200", "--rate", "2000", "--output-tokens", "2", "--concurrency", "none"}, nil},
}

func TestMakeRuns(t *testing.T) {
	if !*makeRuns {
		t.Skip("-make-runs makes them")
	}
	at, err := filepath.Abs(whyRuns)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.RemoveAll(at); err != nil {
		t.Fatal(err)
	}
	write(t, "data.jsonl", strings.Repeat("{\"question\": \"what is the time of day in that town?\"}\n{\"question\": \"and in the next?\"}\n", 3))
	for _, p := range prepared {
		t.Run(p.name, func(t *testing.T) {
			url := ""
			if p.serve != nil {
				u, stop := p.serve(t)
				defer stop()
				url = u
			}
			if p.name == "request-client-bound" {
				defer busy()()
			}
			args := []string{"run", "--dataset", "data.jsonl", "--requests", "30", "--concurrency", "4", "--repeat", "cycle", "--output-tokens", "8", "--no-live",
				"--set", "workload.sampling={ignore_eos: true}", "--name", p.name}
			if url != "" {
				args = append(args, "--url", url)
			}
			os.RemoveAll("runs")
			command(t, p.codes, append(args, p.args...)...)
			dir := filepath.Join(at, p.name)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			found, _ := filepath.Glob("runs/*/*/tape.jsonl.zst")
			if len(found) == 0 {
				copyFile(t, filepath.Join("runs", logName), filepath.Join(dir, logName))
				return
			}
			from := filepath.Dir(found[0])
			anonymous(t, found[0], filepath.Join(dir, "tape.jsonl.zst"))
			for _, name := range []string{logName, "spec.yaml"} {
				copyFile(t, filepath.Join(from, name), filepath.Join(dir, name))
			}
			for _, name := range []string{"results.json", "report.txt"} {
				write(t, filepath.Join(dir, name), "not kept here: tokentape report makes it\n")
			}
			if p.harm != nil {
				p.harm(t, dir)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	write(t, to, string(b))
}

// lines reads a tape.
func lines(t *testing.T, path string) (out []tape.Record) {
	t.Helper()
	r, err := tape.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rec)
	}
}

// rewrite makes a tape of these lines, with a footer of its own sum.
func rewrite(t *testing.T, path string, recs []tape.Record) {
	t.Helper()
	os.Remove(path)
	w, err := tape.Create(path, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil { // as a running one, which a kill leaves readable
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// anonymous takes the machine out of a tape.
func anonymous(t *testing.T, from, to string) {
	t.Helper()
	recs := lines(t, from)
	h := recs[0].(*tape.Header)
	h.Host = tape.Host{Name: "client", OS: h.Host.OS, Arch: h.Host.Arch, CPUs: 2}
	h.Tool = tape.Tool{Version: h.Tool.Version, Go: h.Tool.Go}
	rewrite(t, to, recs)
}

func simOf(o simserver.Options) func(t *testing.T) (string, func()) {
	return func(t *testing.T) (string, func()) {
		d := simserver.Defaults()
		d.Faults, d.APIKey = o.Faults, o.APIKey
		srv, err := simserver.Listen("127.0.0.1:0", d)
		if err != nil {
			t.Fatal(err)
		}
		return srv.URL, func() { srv.Close() }
	}
}

func notFound(*testing.T) (string, func()) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, "<html><head><title>404 Not Found</title></head>\n<body>nginx: no route for %s</body></html>\n", r.URL.Path)
	}))
	return srv.URL, srv.Close
}

// nobody is an address where nobody listens.
func nobody(t *testing.T) (string, func()) {
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	return srv.URL, func() {}
}

// dying is a server that is gone after 15 requests.
func dying(t *testing.T) (string, func()) {
	sim, err := simserver.Listen("127.0.0.1:0", simserver.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	var srv *httptest.Server
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && n.Add(1) == 15 {
			go func() {
				srv.Listener.Close()
				srv.CloseClientConnections()
			}()
		}
		sim.Server.ServeHTTP(w, r)
	}))
	return srv.URL, func() { srv.Close(); sim.Close() }
}

// busy keeps every core busy until it is called off.
func busy() (stop func()) {
	var over atomic.Bool
	for range 2 * runtime.NumCPU() {
		go func() {
			for !over.Load() {
			}
		}()
	}
	return func() { over.Store(true) }
}

// torn ends the tape and the log where a kill did.
func torn(t *testing.T, dir string) {
	path := filepath.Join(dir, "tape.jsonl.zst")
	recs := lines(t, path)
	rewrite(t, path, recs[:len(recs)*2/3])
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(b[:len(b)-50]))
	log, err := os.ReadFile(filepath.Join(dir, logName))
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(log), "issuing ends")
	write(t, filepath.Join(dir, logName), text[:strings.LastIndexByte(text, '\n')+1])
	gone(t, dir)
}

func gone(t *testing.T, dir string) {
	for _, name := range []string{"results.json", "report.txt"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// diskFull ends the tape where the disk was full, with what tokentape writes then.
func diskFull(t *testing.T, dir string) {
	path := filepath.Join(dir, "tape.jsonl.zst")
	recs := lines(t, path)
	rewrite(t, path, slices.DeleteFunc(recs[:len(recs)*2/3], func(r tape.Record) bool { _, ok := r.(*tape.Footer); return ok }))
	const why = "tape: writing runs/record-disk-full/tape.jsonl.zst: no space left on device"
	log := filepath.Join(dir, logName)
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(b), "issuing ends")
	at := text[strings.LastIndexByte(text, '\n')+1:]
	head, stamp := text[:len(text)-len(at)], at[:40]
	write(t, log, head+stamp+"  stop       disk: "+why+"\n"+stamp+"  exit       1: "+why+" → what is on the tape is not lost: tokentape report RUN reads the numbers off it\n")
	gone(t, dir)
}

// noReports is a run whose reports could not be written.
func noReports(t *testing.T, dir string) {
	log := filepath.Join(dir, logName)
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	out := regexp.MustCompile(`files      .*`).ReplaceAll(b, []byte("files      not written: results.json: no space left on device"))
	out = regexp.MustCompile(`exit       .*`).ReplaceAll(out, []byte("exit       1: results.json: no space left on device → what is on the tape is not lost: tokentape report RUN reads the numbers off it"))
	write(t, log, string(out))
	gone(t, dir)
}

// Of two runs that began in one second the later is the newest, a probe among them,
// which has no log.
func TestNewestOfOneSecond(t *testing.T) {
	dir := t.TempDir()
	for name, wall := range map[string]string{"probe": "2026-11-30T13:11:50.9Z", "run": "2026-11-30T13:11:50.2Z"} {
		at := filepath.Join(dir, name, "2026-11-30T131150Z")
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		rewrite(t, filepath.Join(at, "tape.jsonl.zst"), []tape.Record{&tape.Header{Type: "header", Schema: tape.Schema, Run: name, Spec: []byte("{}"), Anchor: tape.Anchor{Wall: wall}}})
		if name == "run" {
			write(t, filepath.Join(at, logName), "2026-11-30T13:11:50.200Z             -  start      tokentape 0.1.0: tokentape run\n")
		}
	}
	got, err := (&app{stderr: io.Discard}).findTrace(dir)
	if err != nil || !strings.Contains(got.name, "probe") {
		t.Errorf("%+v, %v", got, err)
	}
}

// A fault in the analysis is an error, and the triage of it names the command that
// recomputes.
func TestGuard(t *testing.T) {
	err := guard(func() error {
		var none []int
		return fmt.Errorf("never %d", none[len(none)])
	})
	var fault *faultError
	if !errors.As(err, &fault) || !strings.Contains(err.Error(), "index out of range") || !bytes.Contains(fault.stack, []byte("TestGuard")) {
		t.Errorf("%v", err)
	}
	if err := guard(func() error { return io.EOF }); err != io.EOF {
		t.Errorf("%v", err)
	}
}
