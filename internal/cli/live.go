package cli

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/metric"
	"tokentape/internal/observe"
	"tokentape/internal/plan"
	"tokentape/internal/run"
	"tokentape/internal/view"
	"tokentape/tape"
)

// liveFlags say how the progress of a run is shown.
type liveFlags struct {
	values []string
	off    bool
}

const liveHelp = "what is shown while it runs, a list of: auto (full on a terminal), line (one line), full (a table), off; prometheus[:ADDR], a metrics page on loopback, port 9100 unless ADDR says another (0: any)"

func (f *liveFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.values, "live", []string{"auto"}, liveHelp)
	cmd.Flags().BoolVar(&f.off, "no-live", false, "--live off")
}

// liveAddress is an address as an argument of its own: --live prometheus :9100.
var liveAddress = regexp.MustCompile(`^[^/\\]*:[0-9]+$`)

// address takes the address of the metrics page out of the arguments, if one stands
// there.
func (f *liveFlags) address(args []string) (addr string, rest []string) {
	if !slices.Contains(f.values, "prometheus") {
		return "", args
	}
	i := slices.IndexFunc(args, func(a string) bool { return liveAddress.MatchString(a) && !fileExists(a) })
	if i < 0 {
		return "", args
	}
	return args[i], slices.Delete(slices.Clone(args), i, i+1)
}

// liveView is how the runs of a command are shown. The zero liveView is auto.
type liveView struct {
	style  observe.Style
	also   []func(observe.Moment) // others who are shown what the terminal is
	server *http.Server           // of the metrics page; nil: there is none
	say    func(string) string    // in the user's language; nil: English
}

var liveStyles = map[string]observe.Style{"auto": observe.Auto, "line": observe.OneLine, "full": observe.Full, "off": observe.Off}

// open understands the flags, and listens for those who read the metrics page.
func (f *liveFlags) open(a *app, addr string) (*liveView, error) {
	v := &liveView{}
	styled, exported := "", false
	for _, value := range f.values {
		value = strings.TrimSpace(value)
		name, at, _ := strings.Cut(strings.Replace(value, " ", ":", 1), ":")
		style, known := liveStyles[value]
		switch {
		case name == "prometheus" && exported:
			return nil, usageError("--live: prometheus twice", "one metrics page has it all")
		case name == "prometheus":
			exported, addr = true, cmp.Or(at, addr)
		case !known:
			return nil, usageError(fmt.Sprintf("--live %s: unknown", value), "auto, line, full, off or prometheus[:ADDR], for example --live full,prometheus:9100")
		case styled != "" && styled != value:
			return nil, usageError(fmt.Sprintf("--live %s beside %s", value, styled), "one of them")
		default:
			styled, v.style = value, style
		}
	}
	if f.off {
		if styled != "" && styled != "auto" && styled != "off" {
			return nil, usageError("--no-live beside --live "+styled, "one of them")
		}
		v.style = observe.Off
	}
	if !exported {
		return v, nil
	}
	listen, err := liveListen(addr)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, usageError(fmt.Sprintf("--live prometheus: the metrics page cannot be at %s: %v", listen, err), "another port, or any free one: --live prometheus:0")
	}
	page := &observe.Exporter{}
	v.also = append(v.also, page.Show)
	v.server = &http.Server{Handler: ownHost(page, listen), ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	go v.server.Serve(l)
	fmt.Fprintf(a.stderr, "metrics of the run: http://%s/metrics\n", l.Addr())
	return v, nil
}

// liveListen is where to listen: on loopback unless a host is named.
func liveListen(addr string) (string, error) {
	wrong := func() (string, error) {
		return "", usageError(fmt.Sprintf("--live prometheus:%s: no address", addr), "a port, or HOST:PORT: --live prometheus:9100, --live prometheus:0.0.0.0:9100")
	}
	addr = cmp.Or(addr, "9100")
	if !strings.Contains(addr, ":") {
		addr = ":" + addr
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return wrong()
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return wrong()
	}
	return net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port), nil
}

// ownHost refuses who asks for a name that is none of ours, as tokentape view does: a
// page elsewhere may have had it resolve to this address. Ours are addresses,
// localhost, the name that it listens at, and that of this machine.
func ownHost(page http.Handler, listen string) http.Handler {
	var names []string
	if host, _, err := net.SplitHostPort(listen); err == nil {
		names = append(names, host)
	}
	if name, err := os.Hostname(); err == nil {
		names = append(names, name)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !view.AnswersTo(r.Host, names) {
			http.Error(w, fmt.Sprintf("this page does not answer to %q; ask for its address, or listen at that name: --live prometheus:NAME:PORT", clipped(r.Host)), http.StatusForbidden)
			return
		}
		page.ServeHTTP(w, r)
	})
}

// clipped is a name of any length as a message has room for it.
func clipped(s string) string { return s[:min(len(s), 80)] }

// close ends the metrics page.
func (v *liveView) close() {
	if v != nil && v.server != nil {
		v.server.Close()
	}
}

// liveRun shows one run.
type liveRun struct {
	watch  *observe.Watch
	live   *observe.Live
	also   []func(observe.Moment)
	plan   *plan.Plan
	open   bool // rows are due by the clock
	due    int64
	row    int64 // the first one that is not due yet
	end    func()
	arenas sync.Pool
}

// watch begins to show a run; v may be nil.
func (a *app) watch(v *liveView, j *job) *liveRun {
	if v == nil {
		v = &liveView{}
	}
	s, setup := j.spec, j.liveSetup()
	setup.Say = v.say
	l := &liveRun{also: v.also, plan: j.plan, end: func() {}}
	l.open = j.plan.Params.Open() && j.plan.Kind == plan.KindRows && !s.Workload.Sessions
	if l.open {
		if last, ok := j.plan.At(j.plan.Rows() - 1); ok {
			setup.LastDue = last.Due
		}
	}
	l.arenas.New = func() any { return &metric.Arena{Off: true} }
	l.watch = observe.NewWatch(setup)
	screen := a.screen()
	l.live = observe.NewLive(a.stderr, v.style, screen)
	if screen != nil {
		l.end = l.followStops()
	}
	return l
}

// liveSetup is what of a run does not change. Its cores are those that the tape names:
// the runtime has been given more threads than there are cores by now.
func (j *job) liveSetup() observe.Setup {
	return observe.Setup{
		Concurrency: j.plan.Params.Concurrency, Rate: j.spec.Load.Rate, Warmup: j.plan.Warmup(),
		Duration: j.plan.Params.Duration, Drain: int64(j.spec.Limits.Drain), Cores: j.origin.host.CPUs,
	}
}

// followStops draws anew when the program was stopped and goes on: others have written
// to the terminal meanwhile.
func (l *liveRun) followStops() (end func()) {
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGCONT)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-again:
				l.live.Forget()
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(again); close(done) }
}

func (l *liveRun) close() {
	l.end()
	l.live.Close()
}

// follow takes from the run what is shown.
func (l *liveRun) follow(cfg *run.Config) {
	cfg.Publish = func(s run.Snapshot) {
		m := l.watch.Look(l.state(s))
		for _, show := range l.also {
			show(m)
		}
		l.live.Show(m)
	}
	cfg.Written = func(q *tape.Request) { l.watch.Ended(l.endOf(q)) }
}

// endOf is a copy of an end; its durations are as the report has them.
func (l *liveRun) endOf(q *tape.Request) observe.End {
	e := observe.End{T: q.TEnd.V, Phase: q.Phase, Outcome: q.Outcome}
	if q.Outcome.Failed() {
		e.Class, e.Message = analysis.ClassName(tape.ClassOf(q.Outcome, q.Cause, q.HTTP.Status)), q.Message
		return e
	}
	arena := l.arenas.Get().(*metric.Arena)
	defer l.arenas.Put(arena)
	r := metric.Reduce(q, arena)
	if v, ok := r.TTFT(); ok {
		e.TTFT = tape.Some(v)
	}
	if v, ok := r.TPOT(); ok {
		e.TPOT = tape.Some(int64(v))
	}
	if r.Output != metric.Absent {
		e.Output = tape.Some(r.Output)
	}
	e.Events = r.TokenEvents
	return e
}

// state is a snapshot as it is shown, with the rows that are due by then.
func (l *liveRun) state(s run.Snapshot) observe.State {
	out := observe.State{
		T: s.T, Begun: s.Begun, Planned: s.Planned, Issued: s.Issued, Before: s.Before, Measured: s.Measured, InFlight: s.InFlight,
		OK: s.OK, Failed: s.Failed, Cancelled: s.Cancelled, Abandoned: s.Abandoned, Prepared: s.Prepared, Warmed: s.Warmed, Events: s.Tokens,
		Queue: s.Queue, Draining: s.Draining, Stopped: s.Stopped, Why: s.Why, Final: s.Final,
	}
	if !l.open || !s.Begun.OK {
		return out
	}
	for s.Stopped == "" { // nothing is offered once it stops
		r, ok := l.plan.At(l.row)
		if !ok || r.Due > s.T-s.Begun.V {
			break
		}
		l.row++
		l.due++
	}
	out.Due = tape.Some(l.due)
	return out
}

// terminal is the terminal that stderr is, nil when it is none that can be drawn on.
func (a *app) terminal() *os.File {
	f, ok := a.stderr.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return f
}

// screen asks what room the terminal has, which changes; nil when there is none. While
// another job has the terminal nothing is drawn on it.
func (a *app) screen() func() (observe.Screen, bool) {
	f := a.terminal()
	if f == nil {
		return nil
	}
	_, plain := os.LookupEnv("NO_COLOR")
	return func() (observe.Screen, bool) {
		fd := int(f.Fd())
		if front, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil && front > 0 && front != unix.Getpgrp() {
			return observe.Screen{}, false
		}
		s := observe.Screen{Width: 80, Height: 24, Color: !plain}
		if w, h, err := term.GetSize(fd); err == nil && w > 0 && h > 0 {
			s.Width, s.Height = w, h
		}
		return s, true
	}
}
