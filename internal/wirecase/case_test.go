package wirecase_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/dialect"
	"tokentape/internal/exchange"
	"tokentape/internal/memnet"
	"tokentape/internal/wirecase"
	"tokentape/internal/workload"
	"tokentape/tape"
)

var update = flag.Bool("update", false, "rewrite docs/cases.md and docs/storm.md")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// load parses every case file, in order of path.
func load(t testing.TB) []*wirecase.File {
	t.Helper()
	paths, err := filepath.Glob("testdata/cases/*.case")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no case files: %v", err)
	}
	var files []*wirecase.File
	for _, path := range paths {
		f, err := wirecase.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if f.ID == "" || f.Title == "" || f.Source == "" || !strings.HasPrefix(filepath.Base(path), f.ID) {
			t.Fatalf("%s: a case wants an id that begins the file's name, a title and a source", path)
		}
		files = append(files, f)
	}
	return files
}

// pending are variants that wait for a part of the client that does not exist
// yet, and why. One that passes must be taken off the list.
var pending = map[string]string{}

// slow reports whether the slow variants run, too.
func slow() bool { return os.Getenv("TOKENTAPE_SLOW") == "1" }

// host is what the client is told to ask; all of it goes to the played server.
const host = "http://server.test"

// rig is the server that plays one variant, and the client that asks.
type rig struct {
	t      testing.TB
	clk    *clock.Clock
	v      *wirecase.Variant
	server *wirecase.Server
	dial   func(ctx context.Context, network, addr string) (net.Conn, error)

	mu      sync.Mutex
	answers []*wirecase.Answer
	seen    []string
}

// answersOf unfolds the answers: one a request, the last one for the rest.
func answersOf(v *wirecase.Variant) (out []*wirecase.Answer) {
	for _, a := range v.Answers {
		out = append(out, slices.Repeat([]*wirecase.Answer{a}, a.Times)...)
	}
	return out
}

func (r *rig) pick(req *http.Request, body []byte) *wirecase.Answer {
	dump, err := httputil.DumpRequest(req, false)
	if err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, strings.ReplaceAll(string(dump), "\r\n", "\n")+string(body))
	return r.answers[min(len(r.seen), len(r.answers))-1]
}

// listen starts the server on l; the returned function ends both.
func (r *rig) listen(l net.Listener) (stop func()) {
	r.answers = answersOf(r.v)
	r.server = &wirecase.Server{Clock: r.clk, Pick: r.pick}
	if r.answers[0].Refuse {
		refused := func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		}
		r.dial = refused
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go r.server.Conn(conn, bufio.NewReader(conn), nil, nil)
		}
	}()
	return func() {
		_ = l.Close()
		r.server.Close()
		<-done
	}
}

// exchanger is made for one request: requests of a variant may ask differently.
func (r *rig) exchanger(c *client.Client, q *wirecase.Request) (*exchange.Exchanger, error) {
	name := q.Dialect
	if name == "" {
		name = "openai-chat"
	}
	d, err := dialect.New(name, dialect.Setup{Model: "m", Stream: !q.NoStream})
	if err != nil {
		return nil, err
	}
	set := map[string]any{}
	if q.N > 0 {
		set["n"] = q.N
	}
	for _, object := range q.Set {
		if err := json.Unmarshal([]byte(object), &set); err != nil {
			return nil, err
		}
	}
	header := http.Header{}
	for _, h := range q.Headers {
		name, value, _ := strings.Cut(h, ":")
		header.Add(name, strings.TrimSpace(value))
	}
	return exchange.New(exchange.Config{
		Client: c, Dialect: d, Clock: r.clk, URL: host + d.Path(), Header: header,
		Options: dialect.Options{Model: "m", Stream: !q.NoStream, OutputLen: max(q.Output, 0), Sampling: set},
		Limits:  exchange.Limits{FirstToken: q.Limits["first_token"], Idle: q.Limits["idle"], Total: q.Limits["total"]},
		Output:  exchange.OutputFull, Secrets: q.Secrets, MaxEvent: q.MaxEvent,
	}), nil
}

// play sends the requests of the variant one after the other and judges each.
func (r *rig) play(path string, s slack) {
	requests := unfoldRequests(r.v)
	expects := unfoldExpects(r.v)
	if len(requests) == 0 {
		requests = slices.Repeat([]*wirecase.Request{{}}, len(expects))
	}
	if len(expects) != len(requests) {
		r.t.Fatalf("%s:%d: %d requests, but %d expectations", path, r.v.Line, len(requests), len(expects))
	}
	c := client.New(client.Config{Clock: r.clk, Dial: r.dial, MaxIdle: 4})
	defer c.Close()
	for i, q := range requests {
		ex, err := r.exchanger(c, q)
		if err != nil {
			r.t.Fatalf("%s:%d: %v", path, q.Line, err)
		}
		prompt := q.Prompt
		if prompt == "" {
			prompt = "hi"
		}
		p, err := ex.Prepare(workload.Item{Messages: []workload.Message{{Role: "user", Content: prompt}}, Prompt: prompt})
		if err != nil {
			r.t.Fatalf("%s:%d: %v", path, q.Line, err)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		start := r.clk.Now()
		if q.After > 0 {
			start += int64(q.After)
			_ = r.clk.SleepUntil(ctx, start)
		}
		var timer *clock.Timer
		if q.CancelAt > 0 {
			timer = r.clk.AfterFunc(int64(q.CancelAt), func() { cancel(errors.New("cancelled by the case")) })
		}
		req := &tape.Request{TReleased: tape.Some(r.clk.Now())}
		ex.Do(ctx, p, req)
		took := r.clk.Now() - start
		if timer != nil {
			timer.Stop()
		}
		cancel(nil)
		r.mu.Lock()
		seen := ""
		if i < len(r.seen) {
			seen = r.seen[i]
		}
		if n := len(r.seen); n != i+1 && !r.answers[0].Refuse {
			r.t.Errorf("%s:%d: the server read %d requests after %d were sent", path, r.v.Line, n, i+1)
		}
		r.mu.Unlock()
		judge(r.t, expects[i], path, req, took, seen, s)
	}
}

func unfoldRequests(v *wirecase.Variant) (out []*wirecase.Request) {
	for _, q := range v.Requests {
		out = append(out, slices.Repeat([]*wirecase.Request{q}, q.Times)...)
	}
	return out
}

func unfoldExpects(v *wirecase.Variant) (out []*wirecase.Expect) {
	for _, e := range v.Expects {
		out = append(out, slices.Repeat([]*wirecase.Expect{e}, e.Times)...)
	}
	return out
}

// unknownDialect is the dialect that a variant needs and that does not exist.
func unknownDialect(v *wirecase.Variant) string {
	for _, q := range v.Requests {
		if q.Dialect == "" {
			continue
		}
		if !slices.Contains(dialect.Names(), q.Dialect) {
			return q.Dialect
		}
	}
	return ""
}

// name of a variant in messages and in pending.
func name(f *wirecase.File, v *wirecase.Variant) string {
	base := strings.TrimSuffix(filepath.Base(f.Path), ".case")
	if v.Name == "" {
		return base
	}
	return base + "/" + v.Name
}

// TestCases plays every case in virtual time: times must agree to the nanosecond.
func TestCases(t *testing.T) {
	files, got := load(t), results{}
	for _, f := range files {
		for _, v := range f.Variants {
			t.Run(name(f, v), func(t *testing.T) {
				if len(v.Expects) == 0 {
					t.Fatalf("%s:%d: no expectation", f.Path, v.Line)
				}
				if d := unknownDialect(v); d != "" {
					got[name(f, v)] = "not run: there is no dialect " + d
					t.Skipf("NOT RUN: it needs the dialect %s, which does not exist yet", d)
				}
				got[name(f, v)] = passed
				if v.Slow != "" {
					got[name(f, v)] = passedSlow
				}
				if v.Slow != "" && !slow() {
					t.Skipf("NOT RUN: %s; set TOKENTAPE_SLOW=1 to run it", v.Slow)
				}
				if why, ok := pending[name(f, v)]; ok {
					got[name(f, v)] = "pending: " + why
					probe := &probe{TB: t}
					playVirtual(t, probe, f, v)
					if !probe.failed {
						t.Errorf("it passes now: take it off the list of pending cases (%s)", why)
					}
					t.Skipf("PENDING: %s", why)
				}
				playVirtual(t, t, f, v)
			})
		}
	}
	documents(t, files, got)
}

// probe notes failures instead of reporting them.
type probe struct {
	testing.TB
	failed bool
}

func (p *probe) Errorf(string, ...any) { p.failed = true }
func (p *probe) Error(...any)          { p.failed = true }
func (p *probe) Failed() bool          { return false }

func playVirtual(t *testing.T, report testing.TB, f *wirecase.File, v *wirecase.Variant) {
	synctest.Test(t, func(t *testing.T) {
		tb := report
		if _, ok := report.(*testing.T); ok {
			tb = t
		}
		r := &rig{t: tb, clk: clock.New(), v: v}
		l := memnet.Listen()
		r.dial = l.Dial
		stop := r.listen(l)
		defer stop()
		r.play(f.Path, slack{})
	})
}

// span is how long a variant takes, at least.
func span(v *wirecase.Variant) (d time.Duration) {
	for _, a := range answersOf(v) {
		if n := len(a.Steps); n > 0 {
			d += a.Steps[n-1].At + a.Steps[n-1].For
		}
	}
	return d
}

// steady reports that a variant gives the same facts on a busy machine: a reset
// overtakes bytes that nobody has read yet, and a limit may be reached early.
func steady(v *wirecase.Variant) bool {
	for _, a := range v.Answers {
		if n := len(a.Steps); n == 0 || a.Steps[n-1].End == wirecase.EndReset {
			return false
		}
	}
	for _, q := range v.Requests {
		if len(q.Limits) > 0 || q.CancelAt > 0 {
			return false
		}
	}
	return true
}

// TestCasesOverSockets plays the quick cases over TCP: the same bytes through the
// kernel give the same facts, at times that are never early. How late stamps are
// is measured elsewhere, by the fidelity benchmarks.
func TestCasesOverSockets(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN: -short")
	}
	ran := 0
	var all sync.WaitGroup // more at once than there are cores: they wait most of the time
	defer all.Wait()
	for _, f := range load(t) {
		for _, v := range f.Variants {
			if _, waits := pending[name(f, v)]; waits || span(v) > 600*time.Millisecond || v.Slow != "" || unknownDialect(v) != "" || len(v.Expects) == 0 || !steady(v) {
				continue
			}
			ran++
			all.Go(func() {
				t.Run(name(f, v), func(t *testing.T) {
					l, err := net.Listen("tcp", "127.0.0.1:0")
					if err != nil {
						t.Fatal(err)
					}
					r := &rig{t: t, clk: clock.New(), v: v}
					var d net.Dialer
					r.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
						return d.DialContext(ctx, network, l.Addr().String())
					}
					stop := r.listen(l)
					defer stop()
					r.play(f.Path, overSockets)
				})
			})
		}
	}
	if ran < 40 {
		t.Errorf("only %d variants are quick enough", ran)
	}
}
