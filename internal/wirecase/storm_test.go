package wirecase_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/dialect"
	"tokentape/internal/exchange"
	"tokentape/internal/memnet"
	"tokentape/internal/plan"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/simserver"
	"tokentape/tape"
)

// played says how each kind of fault is played in the tests below (beside its
// name) and what the client must make of it: outcome, cause, flags.
var played = map[simserver.Kind]struct {
	with    string
	outcome tape.Outcome
	rest    string // cause and flags
}{
	simserver.FaultNone:         {"", tape.OutcomeOK, ""},
	simserver.FaultStatus:       {"", tape.OutcomeStatus, ""},
	simserver.FaultRedirect:     {"", tape.OutcomeRedirect, ""},
	simserver.FaultHTML:         {"", tape.OutcomeNotStream, ""},
	simserver.FaultType:         {"", tape.OutcomeOK, ""},
	simserver.FaultOneShot:      {"", tape.OutcomeOK, "not_streamed"},
	simserver.FaultDelay:        {"for=50ms", tape.OutcomeOK, ""},
	simserver.FaultSilent:       {"", tape.OutcomeTimeout, "first_token"},
	simserver.FaultHang:         {"after=2", tape.OutcomeTimeout, "idle"},
	simserver.FaultStall:        {"after=2,for=50ms", tape.OutcomeOK, ""},
	simserver.FaultCut:          {"after=2", tape.OutcomeTruncated, ""},
	simserver.FaultReset:        {"after=2", tape.OutcomeReset, ""},
	simserver.FaultErrorEvent:   {"after=2", tape.OutcomeServer, ""},
	simserver.FaultMalformed:    {"after=2", tape.OutcomeMalformed, ""},
	simserver.FaultNaN:          {"after=2", tape.OutcomeMalformed, ""},
	simserver.FaultHuge:         {"after=2,size=300000", tape.OutcomeTooLarge, ""},
	simserver.FaultPing:         {"after=2", tape.OutcomeOK, ""},
	simserver.FaultComments:     {"for=10ms", tape.OutcomeOK, ""},
	simserver.FaultRoleEarly:    {"", tape.OutcomeOK, ""},
	simserver.FaultCRLF:         {"", tape.OutcomeOK, ""},
	simserver.FaultCR:           {"", tape.OutcomeOK, ""},
	simserver.FaultNoSpace:      {"", tape.OutcomeOK, ""},
	simserver.FaultMultiLine:    {"", tape.OutcomeOK, ""},
	simserver.FaultFields:       {"", tape.OutcomeOK, ""},
	simserver.FaultBOM:          {"", tape.OutcomeOK, ""},
	simserver.FaultDrip:         {"", tape.OutcomeOK, ""},
	simserver.FaultBuffer:       {"", tape.OutcomeOK, "buffered"},
	simserver.FaultGzip:         {"", tape.OutcomeOK, "compressed"},
	simserver.FaultGzipEnd:      {"", tape.OutcomeOK, "compressed"},
	simserver.FaultNoUsage:      {"", tape.OutcomeOK, ""},
	simserver.FaultUsageNull:    {"", tape.OutcomeOK, ""},
	simserver.FaultUsageEvery:   {"", tape.OutcomeOK, ""},
	simserver.FaultUsageDummy:   {"", tape.OutcomeOK, ""},
	simserver.FaultUsageBare:    {"", tape.OutcomeOK, ""},
	simserver.FaultUsageFloat:   {"", tape.OutcomeOK, ""},
	simserver.FaultNoDone:       {"", tape.OutcomeOK, "no_done"},
	simserver.FaultTruncate:     {"", tape.OutcomeTruncated, ""},
	simserver.FaultDoubleDone:   {"", tape.OutcomeOK, ""},
	simserver.FaultGhost:        {"", tape.OutcomeOK, ""},
	simserver.FaultLinger:       {"", tape.OutcomeOK, ""},
	simserver.FaultEmptyReasons: {"", tape.OutcomeOK, ""},
	simserver.FaultAbort:        {"", tape.OutcomeAborted, ""},
	simserver.FaultFilter:       {"", tape.OutcomeFiltered, ""},
	simserver.FaultEmpty:        {"", tape.OutcomeEmpty, ""},
}

// fault is the kind as it is played here.
func fault(t testing.TB, k simserver.Kind, share float64) simserver.Fault {
	t.Helper()
	p, ok := played[k]
	if !ok {
		t.Fatalf("fault %s: what must the client make of it? Add it to the table", k)
	}
	text := string(k)
	if p.with != "" {
		text += "," + p.with
	}
	f, err := simserver.ParseFault(text)
	if err != nil {
		t.Fatal(err)
	}
	f.Share = share
	return f
}

// judgeFault compares the outcome of a request with what its fault demands.
func judgeFault(kind simserver.Kind, q *tape.Request) error {
	want := played[kind]
	if kind == "" {
		want.outcome = tape.OutcomeOK
	}
	rest := strings.TrimSpace(q.Cause + " " + strings.Join(q.Flags, " "))
	if kind != simserver.FaultBuffer { // with nothing to wait for, many streams are
		rest = strings.TrimSpace(strings.ReplaceAll(rest, "buffered", ""))
	}
	if q.Outcome != want.outcome || rest != want.rest {
		return fmt.Errorf("fault %q: %s %q (%s), want %s %q", kind, q.Outcome, rest, q.Message, want.outcome, want.rest)
	}
	return nil
}

// maxEvent is the limit of one event here: a huge one is above it.
const maxEvent = 200_000

func chat(t testing.TB) dialect.Dialect {
	t.Helper()
	d, err := dialect.Get("openai-chat")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestFaults plays every fault of the simulated server once, in virtual time.
func TestFaults(t *testing.T) {
	for _, info := range simserver.Kinds {
		t.Run(string(info.Kind), func(t *testing.T) {
			f := fault(t, info.Kind, 1)
			synctest.Test(t, func(t *testing.T) {
				clk := clock.New()
				o := simserver.Defaults()
				o.FaultAt = map[int]simserver.Fault{0: f}
				s := simserver.NewWithClock(o, clk)
				l := memnet.Listen()
				srv := httpServer(s)
				done := make(chan struct{})
				go func() { defer close(done); _ = srv.Serve(l) }()
				c := client.New(client.Config{Clock: clk, Dial: l.Dial})
				ex := exchange.New(exchange.Config{
					Client: c, Dialect: chat(t), Clock: clk, URL: host + "/v1/chat/completions", MaxEvent: maxEvent, Output: exchange.OutputFull,
					Options: dialect.Options{Model: "m", Stream: true, OutputLen: 12, Sampling: map[string]any{"ignore_eos": true}},
					Limits:  exchange.Limits{FirstToken: 2 * time.Second, Idle: time.Second},
				})
				p, err := ex.Prepare(workload.Item{Messages: []workload.Message{{Role: "user", Content: "why?"}}})
				if err != nil {
					t.Fatal(err)
				}
				ask := func() *tape.Request {
					q := &tape.Request{ID: "r", TReleased: tape.Some(clk.Now())}
					ex.Do(context.Background(), p, q)
					return q
				}
				q := ask()
				if err := judgeFault(info.Kind, q); err != nil {
					t.Error(err)
				}
				if q.Outcome == tape.OutcomeOK && (len(strings.Fields(q.Output.Text)) != 12 || q.Tokens.Output.V != 12) {
					t.Errorf("%d words, %d tokens, want 12 of each: %q", len(strings.Fields(q.Output.Text)), q.Tokens.Output.V, q.Output.Text)
				}
				if tr := s.Trace(); len(tr) == 1 && tr[0].Fault != string(info.Kind) && info.Kind != simserver.FaultNone {
					t.Errorf("the truth names the fault %q", tr[0].Fault)
				}
				if next := ask(); next.Outcome != tape.OutcomeOK {
					t.Errorf("the request after it: %s %s", next.Outcome, next.Message)
				}
				c.Close()
				_ = srv.Close()
				<-done
				_ = s.Close()
			})
		})
	}
}

// stormSource is a source of distinct prompts.
type stormSource int64

func (n stormSource) Len() int64 { return int64(n) }

func (n stormSource) Item(i int64) (workload.Item, error) {
	text := fmt.Sprintf("question %05d of the storm: why?", i)
	return workload.Item{Ref: workload.Ref{Row: i}, Messages: []workload.Message{{Role: "user", Content: text}}, Prompt: text}, nil
}

// arena is where a storm takes place: over sockets, or in memory and virtual time.
type arena struct {
	clk   *clock.Clock
	url   string
	dial  func(ctx context.Context, network, addr string) (net.Conn, error) // nil: sockets
	sim   *simserver.Server
	close func() error
}

// sockets is an arena in the real world.
func sockets(t *testing.T, o simserver.Options) arena {
	t.Helper()
	srv, err := simserver.Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	return arena{clock.NewPrecise(), srv.URL, nil, srv.Server, srv.Close}
}

// memory is an arena inside a bubble.
func memory(_ *testing.T, o simserver.Options) arena {
	clk, l := clock.New(), memnet.Listen()
	s := simserver.NewWithClock(o, clk)
	srv := httpServer(s)
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	return arena{clk, host, l.Dial, s, func() error {
		_ = srv.Close()
		<-done
		return s.Close()
	}}
}

// storm runs n requests against a server that plays all faults, each with the
// same share, and returns the footer, the requests and the fault of each by id.
func storm(t *testing.T, where func(*testing.T, simserver.Options) arena, n, inFlight int64, change func(*run.Config)) (tape.Footer, []*tape.Request, map[string]simserver.Kind) {
	t.Helper()
	o := simserver.Instant()
	o.OutputMean, o.Keep, o.Seed = 12, int(2*n), 7
	for _, info := range simserver.Kinds {
		o.Faults = append(o.Faults, fault(t, info.Kind, 0.9/float64(len(simserver.Kinds))))
	}
	o.FaultAt = map[int]simserver.Fault{} // a run whose first answer is a refusal is stopped, and rightly
	for i := range int(inFlight) {
		o.FaultAt[i] = fault(t, simserver.FaultNone, 1)
	}
	at := where(t, o)
	clk := at.clk
	c := client.New(client.Config{Clock: clk, Dial: at.dial, MaxIdle: int(inFlight), Connect: 20 * time.Second})
	p, err := plan.Make(spec.Load{Requests: n, Concurrency: inFlight}, 0, n, "", "", spec.Seeds{Run: 1})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tape.jsonl.zst")
	w, err := tape.Create(path, true)
	if err != nil {
		t.Fatal(err)
	}
	cfg := run.Config{
		Clock: clk, Plan: p, Source: stormSource(n), Tape: w, Concurrency: inFlight, Attempts: 1, Drain: time.Second,
		Header: tape.Header{Type: "header", Schema: tape.Schema, Run: "storm", Spec: []byte("{}")},
		Exchange: exchange.New(exchange.Config{
			Client: c, Dialect: chat(t), Clock: clk, URL: at.url + "/v1/chat/completions", MaxEvent: maxEvent,
			Options: dialect.Options{Model: "sim-7b", Stream: true, OutputLen: 12, Sampling: map[string]any{"ignore_eos": true}},
			Limits:  exchange.Limits{FirstToken: 3 * time.Second, Idle: 3 * time.Second},
		}),
	}
	if change != nil {
		change(&cfg)
	}
	sum, err := run.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	truths := map[string]simserver.Kind{}
	if err := at.close(); err != nil { // waits for the handlers: their truths are told
		t.Error(err)
	}
	for _, tr := range at.sim.Trace() {
		truths[tr.ID] = simserver.Kind(tr.Fault)
	}
	rd, err := tape.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	var requests []*tape.Request
	for {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := rec.(type) {
		case *tape.Request:
			if err := x.Check(); err != nil {
				t.Errorf("request %d: %v", x.Seq, err)
			}
			requests = append(requests, x)
		case *tape.Fault:
			t.Errorf("a fault on the tape: %+v", x)
		}
	}
	return sum.Footer, requests, truths
}

// counts reports what is wrong with a footer's sum.
func adds(f tape.Footer) error {
	sum := f.OK + f.Cancelled + f.NotIssued
	for _, n := range f.Failed {
		sum += n
	}
	if sum != f.Planned {
		return fmt.Errorf("planned %d, but ok %d + failed %v + cancelled %d + not issued %d = %d", f.Planned, f.OK, f.Failed, f.Cancelled, f.NotIssued, sum)
	}
	return nil
}

func descriptors(t *testing.T) int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("NOT RUN: no /proc")
	}
	return len(d)
}

const stormSize = 5000

// TestFaultStorm: 5,000 requests over all faults, 200 in flight, in virtual time:
// the run ends by itself, all are accounted for, and each has the outcome that
// its fault demands.
func TestFaultStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, requests, faults := storm(t, memory, stormSize, 200, nil)
		table := stormOver(t, f, requests, faults, judgeFault)
		writeDoc(t, "../../docs/storm.md", stormDoc(f, table))
	})
}

// stormOver judges a storm that ran to its end, and sorts it by fault and outcome.
func stormOver(t *testing.T, f tape.Footer, requests []*tape.Request, faults map[string]simserver.Kind, judge func(simserver.Kind, *tape.Request) error) map[simserver.Kind]map[string]int {
	t.Helper()
	if err := adds(f); err != nil {
		t.Error(err)
	}
	if f.Reason != tape.ReasonCompleted || f.Planned != stormSize || f.Cancelled != 0 || f.NotIssued != 0 || len(requests) != stormSize {
		t.Errorf("%s: %d requests on the tape, %+v", f.Reason, len(requests), f)
	}
	if len(faults) != stormSize {
		t.Errorf("the server saw %d requests", len(faults))
	}
	table := map[simserver.Kind]map[string]int{}
	wrong := 0
	for _, q := range requests {
		kind, ok := faults[q.ID]
		if !ok {
			t.Errorf("request %s was never seen by the server", q.ID)
			continue
		}
		if err := judge(kind, q); err != nil {
			if wrong++; wrong < 20 {
				t.Errorf("request %d: %v", q.Seq, err)
			}
		}
		if table[kind] == nil {
			table[kind] = map[string]int{}
		}
		table[kind][string(q.Outcome)]++
	}
	for _, info := range simserver.Kinds {
		if table[info.Kind] == nil && info.Kind != simserver.FaultNone {
			t.Errorf("fault %s never happened", info.Kind)
		}
	}
	return table
}

// TestFaultStormOverSockets: the same through the kernel leaves no goroutine and
// no descriptor behind. On a busy machine a limit may be reached before its
// time; nothing else may differ.
func TestFaultStormOverSockets(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN: -short")
	}
	leaks := goleak.IgnoreCurrent()
	var d net.Dialer // what the first use of the network opens for good is no leak
	_, _ = d.DialContext(t.Context(), "tcp", "127.0.0.1:1")
	before := descriptors(t)
	f, requests, faults := storm(t, sockets, stormSize, 200, nil)
	early := 0
	stormOver(t, f, requests, faults, func(kind simserver.Kind, q *tape.Request) error {
		err := judgeFault(kind, q)
		if err != nil && q.Outcome == tape.OutcomeTimeout && (q.Cause == exchange.LimitFirstToken || q.Cause == exchange.LimitIdle) {
			early++
			return nil
		}
		return err
	})
	if early > 0 {
		t.Logf("the machine was busy: %d limits were reached before their time", early)
	}
	if early > stormSize/4 {
		t.Errorf("%d requests reached a limit before their fault did", early)
	}
	after := descriptors(t)
	for range 100 { // the kernel takes its time to report the last closes
		if after <= before {
			break
		}
		time.Sleep(20 * time.Millisecond)
		after = descriptors(t)
	}
	if after > before {
		t.Errorf("%d descriptors open before, %d after", before, after)
	}
	if err := goleak.Find(leaks); err != nil {
		t.Error(err)
	}
}

// TestFaultStormInterrupted: the same, stopped twice in the middle.
func TestFaultStormInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN: -short")
	}
	stop := make(chan struct{}, 2)
	timer := time.AfterFunc(300*time.Millisecond, func() { stop <- struct{}{}; stop <- struct{}{} })
	defer timer.Stop()
	f, requests, _ := storm(t, sockets, 20_000, 200, func(c *run.Config) { c.Stop = stop })
	if err := adds(f); err != nil {
		t.Error(err)
	}
	if f.Reason != tape.ReasonInterrupted || f.NotIssued == 0 || f.Cancelled == 0 || int64(len(requests))+f.NotIssued != f.Planned {
		t.Errorf("%s, %d requests on the tape: %+v", f.Reason, len(requests), f)
	}
}

// stormDoc is the storm's summary for people.
func stormDoc(f tape.Footer, table map[simserver.Kind]map[string]int) string {
	var b strings.Builder
	b.WriteString("# A storm of faults\n\nWritten by `go test ./internal/wirecase -run TestFaultStorm -update`, which also proves it: 5,000 requests,\n" +
		"200 in flight, against the simulated server with every kind of fault it knows at the same share, drawn with a seed.\n" +
		"The run ends by itself, each request is on the tape with the outcome that its fault demands, the sum holds. The table\n" +
		"is that of virtual time, where it is always the same; `TestFaultStormOverSockets` does it again through the kernel and\n" +
		"finds no goroutine and no descriptor left behind.\n\n")
	fmt.Fprintf(&b, "planned %d = ok %d", f.Planned, f.OK)
	for _, class := range slices.Sorted(maps.Keys(f.Failed)) {
		fmt.Fprintf(&b, " + %s %d", class, f.Failed[class])
	}
	fmt.Fprintf(&b, " + cancelled %d + not issued %d\n\n", f.Cancelled, f.NotIssued)
	b.WriteString("| fault | what the server did | requests | what the client said |\n|---|---|---|---|\n")
	row := func(kind simserver.Kind, about string) {
		said := []string{}
		total := 0
		for _, outcome := range slices.Sorted(maps.Keys(table[kind])) {
			total += table[kind][outcome]
			said = append(said, strings.TrimSpace("`"+outcome+"` "+played[kind].rest))
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %s |\n", kind, about, total, strings.Join(said, ", "))
	}
	row("", "answered as asked")
	for _, info := range simserver.Kinds[1:] {
		about := info.About
		if with := played[info.Kind].with; with != "" {
			about += " (" + with + ")"
		}
		row(info.Kind, about)
	}
	return b.String()
}
