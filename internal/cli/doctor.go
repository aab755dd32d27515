package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"tokentape/internal/clock"
	"tokentape/internal/doctor"
	"tokentape/internal/provenance"
	"tokentape/internal/resource"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/internal/sweep"
	"tokentape/tape"
)

// doctorOptions are the flags of doctor that are no field of the spec.
type doctorOptions struct {
	quick, json, noSave, noEnvelope, serve bool
	perStream                              float64
}

func (a *app) doctorCommand() *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor [spec.yaml]",
		Short: "Look whether this host can carry a load, and how large a one",
		Long: `doctor measures on this host what stamps depend on: how late waits end, the clock,
whether the machine keeps its speed, other work, limits of descriptors, ports and memory; and the client's own
envelope: how many streams at which token rate it reads before the 99th
percentile of a stamp's error passes 1 ms, by short loads against a server that
it starts in another process, which writes down what it did. That takes under
30 s, with --quick under 9 s, and nothing leaves this host without --url.

With --url, the name in it is looked up and five connections are made to the
server, with two GETs of its model list over each. Nothing else is sent.

With a spec (or its flags) doctor says whether this host can carry that load, of a
sweep or a search the largest, and exits 5 when it cannot, or no load at all. The
envelope is kept in the user's folder of caches, a quick look's or a busy machine's
not over a better one of the last 7 days; each later run is held against it in its
verdict (client_envelope).`,
		Example: `  tokentape doctor
  tokentape doctor spec.yaml --concurrency 500
  tokentape doctor --quick --url HOST:PORT --json`,
		Args: cobra.MaximumNArgs(1),
	}
	f := addSpecFlags(cmd)
	cmd.Flags().BoolVar(&o.quick, "quick", false, "a shorter look: one token rate, coarser steps")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	cmd.Flags().BoolVar(&o.noSave, "no-save", false, "do not keep the envelope")
	cmd.Flags().BoolVar(&o.noEnvelope, "no-envelope", false, "do not measure it: use the one that is kept, if any")
	cmd.Flags().Float64Var(&o.perStream, "tokens-per-s", 50, "of a stream, to reckon with where the spec tells no rate of tokens")
	cmd.Flags().BoolVar(&o.serve, "serve", false, "be the built-in server")
	_ = cmd.Flags().MarkHidden("serve")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		if o.serve {
			debug.SetGCPercent(800) // what is measured is the client, not this collector
			if err := doctor.Serve(ctx, clock.New(), a.stdin, a.stdout); err != nil {
				return &exitError{code: exitInternal, msg: "the built-in server: " + err.Error()}
			}
			return nil
		}
		if !(o.perStream > 0 && o.perStream <= 1e6) {
			return usageError("--tokens-per-s must be above 0 and at most a million", "--tokens-per-s 50")
		}
		err := a.doctor(ctx, args, f, o)
		if err != nil && ctx.Err() != nil {
			return &exitError{code: exitInterrupted, msg: "interrupted: nothing was kept"}
		}
		return err
	}
	return cmd
}

// doctorReport is what doctor found.
type doctorReport struct {
	Schema   string         `json:"schema"` // "tokentape.doctor/1"
	Tool     string         `json:"tool"`
	Measured string         `json:"measured"` // RFC 3339, UTC
	Verdict  string         `json:"verdict"`  // the worst of the items'
	Items    []doctor.Item  `json:"items"`
	Envelope *tape.Envelope `json:"envelope"`
	Kept     string         `json:"kept,omitempty"`  // file of the envelope, when it was written
	Stays    string         `json:"stays,omitempty"` // the same, when it holds a sounder look that this one did not replace
}

func (a *app) doctor(ctx context.Context, args []string, f *specFlags, o doctorOptions) error {
	j, planned, err := a.doctorJob(args, f, o)
	if err != nil {
		return err
	}
	if a.shared != nil { // by points
		defer func() {
			a.shared.close()
			a.shared = nil
		}()
	}
	if j != nil {
		defer j.close()
	}
	clk := clock.NewPrecise()
	host := provenance.Host("/", a.env, clk.Wall()) // before the processors are set, as a run does
	defer run.Tune()()
	rep := doctorReport{Schema: "tokentape.doctor/1", Tool: versionNumber, Measured: clk.Wall().Format(time.RFC3339)}
	r := doctor.Readings{Host: host, Machine: resource.Here(), Before: doctor.Count("/"), Env: a.env}
	begin, cpu := clk.Now(), ownCPU()

	fmt.Fprintln(a.stderr, "looking at this host; the loads below stay on it")
	waits, work := 200, 3*time.Second
	if o.quick {
		waits, work = 60, time.Second
	}
	if r.Speed, err = doctor.Full(ctx, clk, work); err != nil { // alone: it takes a processor
		return err
	}
	if r.Precise, err = doctor.Late(ctx, clk, waits, 2*time.Millisecond); err == nil {
		r.Plain, err = doctor.Late(ctx, clock.New(), waits, time.Millisecond)
	}
	if err != nil {
		return err
	}
	r.Clock = doctor.ClockCost(clk)
	reach, env, why := a.measure(ctx, clk, r.Machine, o)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.After, r.Took, r.CPU = doctor.Count("/"), time.Duration(clk.Now()-begin), 0
	r.CPU = float64(ownCPU()-cpu) / float64(r.Took)

	rep.Items = append(doctor.Host(r), reach...)
	target, failed := a.doctorTarget(ctx, clk, j, f)
	rep.Items = append(rep.Items, target...)
	before, path, _ := keptEnvelope(host) // what cannot be read is replaced
	judge := before                       // of the plan, as later of runs
	if env != nil {
		env.Measured, rep.Envelope = rep.Measured, env
		k := &doctor.Kept{Tool: versionNumber, Host: doctor.FactsOf(host, mostDescriptors()), Look: doctor.LookFull, Busy: r.OtherCores(), Envelope: *env}
		if o.quick {
			k.Look = doctor.LookQuick
		}
		item := doctor.Bounded(doctor.Envelope(k, true, ""), env, r.Machine)
		if !k.Wins(before) {
			rep.Stays = path
			item.Value += "; not kept: what stays is the envelope of " + before.Of()
		} else if judge = k; !o.noSave {
			rep.Kept = a.keepEnvelope(path, k)
		}
		rep.Items = append(rep.Items, item)
	} else {
		if before != nil {
			rep.Envelope = &before.Envelope
		}
		item := doctor.Envelope(before, false, cmp.Or(why, "not measured, and none is kept"))
		if why != "" && item.Verdict != doctor.None { // of another day
			item.Verdict, item.Value, item.Do = doctor.Note, "not measured now, for "+why+"; the one that is kept: "+item.Value, "what is SHORT above, then tokentape doctor again"
		}
		if why != "" && item.Verdict == doctor.None {
			item.Do = "what stands above says what to mend; then tokentape doctor measures it"
		}
		rep.Items = append(rep.Items, item)
	}
	if planned != nil {
		rep.Items = append(rep.Items, doctor.Carry(*planned, judge, r.Machine)...)
	}
	rep.Verdict = worstOf(rep.Items)
	if err := a.printDoctor(rep, planned != nil, failed != nil, o.json); err != nil {
		return err
	}
	return doctorEnding(rep, failed)
}

// doctorEnding is the exit code: what was asked for and cannot be had.
func doctorEnding(rep doctorReport, failed error) error {
	if rep.Verdict == doctor.Short {
		return &exitError{code: exitUnfit, quiet: true}
	}
	return failed
}

// worstOf is the verdict of all items; what was not observed says nothing.
func worstOf(items []doctor.Item) string {
	worst := doctor.OK
	for _, i := range items {
		if i.Verdict == doctor.Short || i.Verdict == doctor.Note && worst == doctor.OK {
			worst = i.Verdict
		}
	}
	return worst
}

// doctorJob is the job whose load is asked about, or whose server; nil for neither. The
// plan is nil unless a load was given: --url alone names a server.
func (a *app) doctorJob(args []string, f *specFlags, o doctorOptions) (*job, *doctor.Planned, error) {
	load, server := len(args) > 0, false
	own := map[string]bool{"quick": true, "json": true, "no-save": true, "no-envelope": true, "tokens-per-s": true, "help": true}
	f.cmd.Flags().Visit(func(fl *pflag.Flag) {
		switch {
		case own[fl.Name]:
		case fl.Name == "url":
			server = true
		default:
			load = true
		}
	})
	switch {
	case load:
		return a.largest(args, f, o.perStream)
	case server:
		j, err := a.reach(args, f)
		return j, nil, err
	}
	return nil, nil, nil
}

// largest is the job of a spec, with how large its load is; of a sweep that of the point
// with the most streams, or tokens/s, and of a search that of the most load.
func (a *app) largest(args []string, f *specFlags, perStream float64) (*job, *doctor.Planned, error) {
	s, _, err := a.loadSpec(args, f)
	if err != nil {
		return nil, nil, err
	}
	points := []sweep.Place{{}}
	switch {
	case !s.Search.IsZero():
		points[0] = sweep.Place{Point: sweep.Point{Name: fmt.Sprintf("%s %g", s.Search.For, s.Search.To)}, Sets: s.LookSets(spec.LookAt{At: s.Search.To, Times: 1, Seed: s.Seeds.Run})}
	case !s.Sweep.IsZero():
		if points, err = sweep.Expand(s); err != nil {
			return nil, nil, usageError(err.Error(), "fewer values in sweep.over, or sweep.most_points")
		}
	}
	a.shared = &shared{}
	var most *job
	var plan doctor.Planned
	for _, pt := range points {
		one := *f
		one.point = pt.Sets
		j, err := a.prepare(args, &one, "")
		if err != nil {
			if most != nil {
				most.close()
			}
			return nil, nil, err
		}
		p := j.planned(perStream)
		if most != nil && (p.Streams < plan.Streams || p.Streams == plan.Streams && p.Events <= plan.Events) {
			j.close()
			continue
		}
		if most != nil {
			most.close()
		}
		if pt.Name != "" {
			p.How = "the largest load of all, " + pt.Name + "; " + p.How
		}
		most, plan = j, p
	}
	if pt, _, _ := strings.Cut(plan.How, ";"); len(points) > 1 || points[0].Name != "" {
		fmt.Fprintln(a.stderr, "what is judged is "+pt)
	}
	return most, &plan, nil
}

// planned is how large the load of a spec will be, as far as it tells.
func (j *job) planned(perStream float64) doctor.Planned {
	n := j.need()
	p := doctor.Planned{Need: n, Streams: n.InFlight}
	output := n.Output
	how := "streams: load.concurrency"
	if p.Streams == 0 {
		how = "streams: no cap, as many as the server leaves open"
		if n.Rate > 0 && output > 0 {
			p.Streams = int64(n.Rate*float64(output)/perStream) + 1
			how = fmt.Sprintf("streams: load.rate times the time that %d tokens take at %g/s", output, perStream)
		}
	}
	p.Events = float64(p.Streams) * perStream
	how += fmt.Sprintf("; tokens/s: %g of each (--tokens-per-s)", perStream)
	if offered := n.Rate * float64(output); offered > 0 && offered < p.Events {
		p.Events = offered
		how += fmt.Sprintf(", but no more than load.rate times %d tokens", output)
	}
	p.How = how
	return p
}

// measure looks at what needs the built-in server: the loopback, the kernel's stamps and
// the envelope. why is the reason for an envelope that is nil.
func (a *app) measure(ctx context.Context, clk *clock.Clock, m resource.Machine, o doctorOptions) (items []doctor.Item, e *tape.Envelope, why string) {
	srv, err := startDoctorServer(ctx)
	if err != nil {
		why = "the built-in server did not start: " + err.Error()
		return []doctor.Item{doctor.Loopback(doctor.Trip{}, err)}, nil, why
	}
	defer srv.stop()
	trip, err := doctor.Reach(ctx, clk, doctor.Direct(), srv.url+"/", nil, 8)
	if err == nil {
		doctor.Told(ctx, clk, doctor.Direct(), srv.url+"/", time.Second, &trip)
	}
	items = []doctor.Item{doctor.Loopback(trip, err), doctor.Stamps(trip)}
	if o.noEnvelope {
		return items, nil, ""
	}
	if few := doctor.Few(m); few != "" {
		return items, nil, few
	}
	load := &doctor.Load{Clock: clk, URL: srv.url, Span: time.Second}
	goal := doctor.Goal{Limit: time.Millisecond, Rates: []float64{20, 100}, From: 64, Most: doctor.MostStreams(m), Budget: 24 * time.Second, Finer: 2}
	if o.quick {
		load.Span, goal.Rates, goal.Budget, goal.Finer = 400*time.Millisecond, []float64{50}, 5500*time.Millisecond, 1
	}
	var said string
	points, err := doctor.Search(ctx, goal, clk.Now, load.Took(), func(ctx context.Context, n int64, rate float64) (tape.EnvelopePoint, error) {
		p, err := load.Try(ctx, n, rate)
		if err == nil {
			fmt.Fprintf(a.stderr, "  %5d streams at %3g tokens/s: p99 stamp error %.2f ms, %.0f events/s\n", n, rate, float64(p.Error)/1e6, p.Events)
		}
		return p, err
	})
	if err != nil {
		said = "a load failed: " + err.Error()
		fmt.Fprintln(a.stderr, "  "+said)
	}
	if len(points) == 0 {
		return items, nil, cmp.Or(said, "there was no time for a load")
	}
	return items, &tape.Envelope{Limit: int64(goal.Limit), Points: points}, ""
}

// doctorServer is the built-in server in a process of its own.
type doctorServer struct {
	url  string
	stop func()
}

func startDoctorServer(ctx context.Context) (*doctorServer, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, exe, "doctor", "--serve")
	cmd.Args[0] = os.Args[0]
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := func() {
		_ = in.Close() // it ends by itself
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(io.LimitReader(out, 1<<10)).ReadString('\n')
	if line = strings.TrimSpace(line); err != nil || !strings.HasPrefix(line, "http://") {
		stop()
		return nil, fmt.Errorf("it said %q: %w", line, err)
	}
	return &doctorServer{line, stop}, nil
}

// doctorTarget asks the server that --url names. The error is that it was not reached.
func (a *app) doctorTarget(ctx context.Context, clk *clock.Clock, j *job, f *specFlags) ([]doctor.Item, error) {
	if j == nil || len(j.bases) == 0 || !f.cmd.Flags().Changed("url") {
		inSpec := j != nil && len(j.bases) > 0
		return []doctor.Item{doctor.NoTarget("target", inSpec), doctor.NoTarget("dns", inSpec)}, nil
	}
	shown := j.bases[0].Join("/v1/models")
	header := j.header()
	fmt.Fprintf(a.stderr, "asking the target: its name, 5 connections, GET %s twice over each, at most %s\n", j.mask(shown), doctor.TargetTime)
	ctx, cancel := context.WithTimeout(ctx, doctor.TargetTime)
	defer cancel()
	answers, dnsErr := doctor.LookUp(ctx, clk, shown)
	trip, err := doctor.Reach(ctx, clk, j.net.cfg, shown, header, 5)
	if errors.Is(err, context.DeadlineExceeded) || err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", doctor.TargetTime)
	}
	items := []doctor.Item{doctor.Target(j.mask(shown), trip, maskError(j, err)), doctor.DNS(answers, maskError(j, dnsErr))}
	if err != nil {
		return items, &exitError{code: exitNothing, msg: "the target was not reached: " + j.mask(err.Error()), hints: []string{"tokentape probe --url … says more of why"}}
	}
	return items, nil
}

func maskError(j *job, err error) error {
	if err == nil {
		return nil
	}
	return errors.New(j.mask(err.Error()))
}

// keepEnvelope keeps what was measured for later runs of the same host, and returns the
// file; "": nothing was, and it has said why.
func (a *app) keepEnvelope(path string, k *doctor.Kept) string {
	if most, _ := k.Envelope.Most(); most == 0 {
		fmt.Fprintln(a.stderr, "no load held, so that there is no envelope to keep") // nor to hold runs against
		return ""
	}
	err := errors.New("there is no folder for caches (HOME, XDG_CACHE_HOME)")
	if path != "" {
		err = doctor.Keep(path, *k)
	}
	if err != nil {
		fmt.Fprintln(a.stderr, "the envelope could not be kept: "+err.Error())
		return ""
	}
	return path
}

// keptEnvelope is what doctor kept of this host, and its file; nil when it did not, or
// when the file cannot be read, which the error says. path is "" without a folder of caches.
func keptEnvelope(h tape.Host) (k *doctor.Kept, path string, err error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil, "", nil // no home, so nothing was kept
	}
	f := doctor.FactsOf(h, mostDescriptors())
	path = doctor.KeptPath(dir, f)
	k, err = doctor.Known(path, f)
	return k, path, err
}

// knownEnvelope is the envelope of this host that runs are held against; nil when none is
// kept.
func knownEnvelope(h tape.Host) (*tape.Envelope, error) {
	k, _, err := keptEnvelope(h)
	if k == nil {
		return nil, err
	}
	return &k.Envelope, err
}

// mostDescriptors is how many a run may open here, which raises its soft limit to the hard
// one; 0: not known.
func mostDescriptors() int64 {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return 0
	}
	return int64(min(r.Max, 1<<40))
}

// ownCPU is the processor time of this process and of those that it waited for, in ns.
func ownCPU() (ns int64) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if unix.Getrusage(who, &u) == nil {
			ns += u.Utime.Nano() + u.Stime.Nano()
		}
	}
	return ns
}

var doctorWords = map[string]string{doctor.OK: "ok", doctor.Note: "NOTE", doctor.Short: "SHORT", doctor.None: "–"}

// printDoctor prints what was found: plan says that a load was asked about, unreached that
// the target did not answer.
func (a *app) printDoctor(rep doctorReport, plan, unreached, asJSON bool) error {
	if asJSON {
		b, err := json.MarshalIndent(rep, "", "  ")
		if err == nil {
			_, err = a.stdout.Write(append(b, '\n'))
		}
		if err != nil {
			return &exitError{code: exitInternal, msg: err.Error()}
		}
		return nil
	}
	var b strings.Builder
	for _, i := range rep.Items {
		fmt.Fprintf(&b, "%-6s%-16s%s\n", doctorWords[i.Verdict], strings.ReplaceAll(i.Name, "_", " "), i.Value)
		const under = "                      "
		if i.Verdict == doctor.Note || i.Verdict == doctor.Short {
			if i.Limit != "" {
				fmt.Fprintf(&b, "%slimit: %s\n", under, i.Limit)
			}
			fmt.Fprintf(&b, "%show: %s\n", under, i.How)
		}
		if i.Do != "" {
			fmt.Fprintf(&b, "%s→ %s\n", under, i.Do)
		}
	}
	switch {
	case rep.Verdict == doctor.Short && plan:
		b.WriteString("\nthis host cannot carry what is planned\n")
	case rep.Verdict == doctor.Short:
		b.WriteString("\nthis host can carry no load as it is: what is SHORT comes first\n")
	case unreached:
		b.WriteString("\nthe target was not reached; on this host nothing forbids a load\n")
	case rep.Verdict == doctor.Note:
		b.WriteString("\nnothing forbids a load; the notes say what can make its numbers wrong or its client slow\n")
	default:
		b.WriteString("\nnothing stands in the way\n")
	}
	if rep.Kept != "" {
		fmt.Fprintf(&b, "the envelope is kept in %s\n", rep.Kept)
	}
	if rep.Stays != "" {
		fmt.Fprintf(&b, "the kept envelope stays, for a full look beside little other work stands for a week; to keep that of the next look delete %s\n", rep.Stays)
	}
	if _, err := io.WriteString(a.stdout, b.String()); err != nil {
		return &exitError{code: exitInternal, msg: err.Error()}
	}
	return nil
}
