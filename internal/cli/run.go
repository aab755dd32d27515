package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tokentape/internal/analysis"
	"tokentape/internal/clock"
	"tokentape/internal/observe"
	"tokentape/internal/probe"
	"tokentape/internal/provenance"
	"tokentape/internal/report"
	"tokentape/internal/report/html"
	"tokentape/internal/resource"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/internal/telemetry"
	"tokentape/internal/workload/rows"
	"tokentape/tape"
)

// runOptions are the flags of run that are no field of the spec.
type runOptions struct {
	out    string
	plan   string
	json   bool
	live   *liveView // nil: auto
	dir    string    // of the run, which must not exist yet; "": a new one below out
	quiet  bool      // no report on standard output
	lang   string    // of the report on standard output; "": English
	series string    // the folder of the repeats that the run is one of; "": none
	log    *runLog
	watch  func(path string, clk *clock.Clock, cfg *run.Config, log *runLog) // may end the run by cfg.Enough; nil: nobody does
	until  *spec.Until                                                       // of a point: when it is exact enough; nil: the load says when it ends
	said   map[string]bool                                                   // lines of statements of earlier runs of a series, which are not said again
	after  func(*run.Summary, *analysis.Results)                             // told what became of a run that sent something; nil: nobody
}

func (a *app) runCommand() *cobra.Command {
	var o runOptions
	var r repeatOptions
	var live liveFlags
	cmd := &cobra.Command{
		Use:   "run [spec.yaml]",
		Short: "Send a load, record it on a tape, report",
		Long: `run sends what the spec and the flags say (flags win), records every request on
a tape under runs/NAME/TIME/, and prints the report read off that tape.

N (--requests), C (--concurrency) and r (--rate) are three separate things: how
many requests, how many at most in flight, how many offered per second.

Nothing is tried again, closed on purpose or stopped early unless asked for: see
load.retry, load.abandon and limits.abort in tokentape spec schema; each can be
given by --set.`,
		Example: `  tokentape run --url 127.0.0.1:30000 --dataset data.jsonl --output-tokens 32
  tokentape run spec.yaml --requests 640 --concurrency 90 --rate 6
  tokentape run spec.yaml --repeat 5 --against HOST:PORT`,
		Args: func(cmd *cobra.Command, args []string) error {
			_, args = live.address(args)
			return cobra.MaximumNArgs(1)(cmd, args)
		},
	}
	f := addSpecFlags(cmd)
	r.register(cmd)
	live.register(cmd)
	cmd.Flags().StringVar(&o.out, "out", "runs", "folder under which NAME/TIME/ is made")
	cmd.Flags().StringVar(&o.plan, "plan", "", "send this plan, made by tokentape plan --out")
	cmd.Flags().BoolVar(&o.json, "json", false, "print results.json instead of the report")
	cmd.Flags().StringVar(&o.lang, "lang", "", langHelp)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := r.resolve(f); err != nil {
			return err
		}
		lang, err := language(o.lang)
		if err != nil {
			return err
		}
		o.lang = lang
		if o.plan != "" {
			if err := noPlanFlags(cmd); err != nil {
				return err
			}
		}
		addr, args := live.address(args)
		if o.live, err = live.open(a, addr); err != nil {
			return err
		}
		defer o.live.close()
		o.live.say = report.LiveSayer(lang)
		o.log = newRunLog(a.args)
		err = a.runOrRepeat(cmd.Context(), args, f, o, r)
		o.log.end(o.out, err)
		return err
	}
	return cmd
}

func (a *app) runOrRepeat(ctx context.Context, args []string, f *specFlags, o runOptions, r repeatOptions) error {
	if r.times > 0 {
		return a.repeat(ctx, args, f, o, r)
	}
	if len(args) > 0 {
		o.log.say("spec", "%s", args[0])
	}
	j, err := a.prepare(args, f, o.plan)
	if err != nil {
		return err
	}
	defer j.close()
	if err := j.needServer(strings.Join(args, "")); err != nil {
		return err
	}
	_, err = a.run(ctx, j, o)
	return err
}

// noPlanFlags refuses flags that a plan made earlier has decided already.
func noPlanFlags(cmd *cobra.Command) error {
	for _, name := range []string{"requests", "concurrency", "rate", "arrivals", "duration", "warmup", "output-tokens", "seed", "repeat"} {
		if cmd.Flags().Changed(name) {
			return usageError(fmt.Sprintf("--%s has no effect beside --plan: the plan's rows are fixed", name),
				"make another plan with tokentape plan --"+name+" … --out FILE")
		}
	}
	return nil
}

// run is the whole way from preflight to the report. It returns the folder of
// the run, also beside an error when there is one. Without a log of the command it
// keeps one of its own.
func (a *app) run(ctx context.Context, j *job, o runOptions) (string, error) {
	own := o.log == nil
	if own {
		o.log = newRunLog(a.args)
	}
	dir, err := a.runLogged(ctx, j, o)
	if err != nil && dir != "" {
		fmt.Fprintf(a.stderr, "why: tokentape why %s\n", shellWords([]string{dir}))
	}
	if own {
		o.log.end(o.out, err)
	}
	return dir, err
}

func (a *app) runLogged(ctx context.Context, j *job, o runOptions) (string, error) {
	if ctx == nil {
		ctx = context.Background()
	}
	clk := clock.NewPrecise()
	o.log.asked(j)
	pre, err := a.ready(ctx, j, clk)
	o.log.preflight(j, pre, err)
	if err != nil {
		return "", err
	}

	j.notes = append(j.notes, sentBefore(o.out, o.series, j.source.Info().Path, j.source.Info().SHA256, append(pre.Server.URLs, pre.Server.URL))...)
	j.expectCache()
	dir, err := o.folder(j.shownName(), clk.Wall())
	if err != nil {
		return "", o.folderError(err)
	}
	if err := o.log.open(dir); err != nil {
		return dir.path, o.folderError(err)
	}
	if err := j.writeInputs(dir); err != nil {
		return dir.path, o.folderError(err)
	}
	name := tapeName(j.spec.Record.Compress)
	w, err := tape.Create(dir.file(name), j.spec.Record.Compress)
	if err != nil {
		return dir.path, o.folderError(err)
	}
	statement(a.stderr, j, pre, dir.path, o.said)

	// Interrupts are obeyed while requests go out, and have no effect on the
	// moments in which the reports are written.
	sig := make(chan os.Signal, 2)
	signal.Notify(sig, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(sig)
	sum, runErr := a.drive(ctx, j, pre, clk, w, dir.file(name), sig, o)

	a.keepPower(j.spec.Energy.PowerFile, dir)
	began := clk.Now()
	show := a.during("analysing the tape, writing the reports")
	defer show.done()
	res, err := analyse(dir.file(name), analysis.Options{Charts: true, Watch: show.tape()}, "")
	o.log.analysed(time.Duration(clk.Now()-began), err)
	if err != nil {
		return dir.path, &exitError{code: exitInternal, msg: fmt.Sprintf("%s cannot be read back: %v", dir.file(name), errors.Join(err, runErr)), hints: []string{here(readAgain, dir.path)}}
	}
	writeErr := writeReports(dir, res)
	if o.after != nil && sum != nil {
		o.after(sum, res)
	}
	show.done()
	o.log.wrote(dir, writeErr)
	if !o.quiet {
		writeErr = errors.Join(writeErr, a.show(res, o.json, o.lang))
	}
	fmt.Fprintf(a.stderr, "files: %s\n", dir.path)
	err = j.ending(sum, res, runErr, writeErr)
	var e *exitError
	if errors.As(err, &e) {
		for i := range e.hints {
			e.hints[i] = here(e.hints[i], dir.path)
		}
	}
	return dir.path, err
}

// here names the run in a hint that speaks of RUN.
func here(hint, run string) string {
	return strings.Replace(hint, " RUN ", " "+shellWords([]string{run})+" ", 1)
}

// ready does all that comes before the first request: names, resources, preflight.
func (a *app) ready(ctx context.Context, j *job, clk *clock.Clock) (*probe.Result, error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	waiting := a.waiting(clk, j)
	defer waiting.Stop()
	pre, err := func() (*probe.Result, error) {
		if err := j.sourceFolder(); err != nil {
			return nil, err
		}
		if err := j.resolve(ctx); err != nil {
			return nil, err
		}
		if err := j.resources(resource.Here()); err != nil {
			return nil, err
		}
		pre, err := j.preflight(ctx, clk)
		if err == nil {
			waiting.Stop()
			err = j.checkLength(ctx, pre, a.loading())
		}
		if err == nil {
			a.originate(ctx, j, clk)
		}
		return pre, err
	}()
	if err != nil && ctx.Err() != nil {
		return nil, &exitError{code: exitInterrupted, msg: "interrupted before anything was sent"}
	}
	return pre, err
}

// writeInputs puts the resolved spec and the plan beside the tape. It also finds
// out, before any load, whether the place can be written.
func (j *job) writeInputs(dir *runDir) error {
	text := j.spec.YAML()
	j.specSum, _, _ = hashOf(bytes.NewReader(text)) // of memory: cannot fail
	if err := dir.write("spec.yaml", func(f *os.File) error {
		_, err := f.Write(text)
		return err
	}); err != nil {
		return err
	}
	return dir.write("plan.jsonl", func(f *os.File) error { return j.plan.Write(f) })
}

func tapeName(compress bool) string {
	if compress {
		return "tape.jsonl.zst"
	}
	return "tape.jsonl"
}

// drive sends the load.
func (a *app) drive(ctx context.Context, j *job, pre *probe.Result, clk *clock.Clock, w *tape.Writer, path string, sig <-chan os.Signal, o runOptions) (*run.Summary, error) {
	defer run.Tune()()
	s := j.spec
	c, waits := j.loadClient(clk)
	defer c.Close()
	var tokens atomic.Int64
	x := j.exchanger(clk, c, pre.Server.Model, func(n int, _ int64) { tokens.Add(int64(n)) })

	stop, done := make(chan struct{}), make(chan struct{})
	defer close(done)
	live := a.watch(o.live, j)
	defer live.close()
	go forwardInterrupts(live.live, sig, stop, done, s.Limits.Drain.String(), o.log)

	cfg := run.Config{
		Clock: clk, Plan: j.plan, Source: j.source, Exchange: x, Tape: w,
		Header: j.tapeHeader(pre, clk), ReadStamp: c.ReadStamp(),
		Concurrency: j.plan.Params.Concurrency, Sessions: j.plan.Params.SessionConcurrency, Recorded: j.recorded(),
		Duration: time.Duration(j.plan.Params.Duration), Attempts: int(s.Load.Attempts),
		Retry: retryOf(s), Abandon: abandonOf(s),
		Drain: s.Limits.Drain.D(), Tail: s.Load.Tail == "auto",
		Tokens: tokens.Load,
		Stop:   stop,
	}
	cfg.Before, cfg.Probe = pre.Steps, j.probeOf(clk, c, pre, cfg.Header.Run)
	if len(j.prep.flush) > 0 || j.prep.source != nil {
		side := j.otherClient(clk)
		defer side.Close()
		cfg.Prepare = j.prepareOf(c, side)
	}
	cfg.Cached, cfg.Group = j.cache.of, j.groups()
	if j.count != nil {
		cfg.Counter = j.count.tok
	}
	if j.count.countsInput() {
		cfg.Inputs, cfg.Least = j.count.counter, j.count.content
	}
	cfg.Samplers = append(cfg.Samplers, func(ctx context.Context, gauges func() run.Gauges, emit func(any)) {
		telemetry.Client(ctx, clk, s.Telemetry.Interval.D(), func() telemetry.Gauges { return telemetry.Gauges(gauges()) },
			func(c *tape.ClientSample) { c.Wait = waits.Take(); o.log.sampled(c); live.watch.Sampled(*c); emit(c) })
	})
	cfg.Samplers = append(cfg.Samplers, j.testify(clk))
	if len(s.Telemetry.Metrics) > 0 {
		sample, end := j.scraper(clk)
		defer end()
		cfg.Samplers = append(cfg.Samplers, sample)
	}
	obeyUntil(o.until, path, clk, &cfg, o.log)
	if o.watch != nil {
		o.watch(path, clk, &cfg, o.log)
	}
	ctx, release := obeyAbort(ctx, s, &cfg)
	defer release()
	o.log.follow(&cfg)
	live.follow(&cfg)
	return run.Run(ctx, cfg)
}

// forwardInterrupts tells the run of Ctrl-C, and the user what it does.
func forwardInterrupts(live *observe.Live, sig <-chan os.Signal, stop chan<- struct{}, done <-chan struct{}, drain string, log *runLog) {
	said := []string{
		fmt.Sprintf("\nno more requests are sent; running ones get %s (interrupt again to cancel them now)\n", drain),
		"\ncancelling what still runs\n",
	}
	for _, text := range said {
		select {
		case s := <-sig:
			live.Say(text)
			log.say("interrupt", "%s: %s", s, strings.TrimSpace(text))
		case <-done:
			return
		}
		select {
		case stop <- struct{}{}:
		case <-done:
			return
		}
	}
}

func (j *job) tapeHeader(pre *probe.Result, clk *clock.Clock) tape.Header {
	info := j.source.Info()
	var notes []string
	for _, l := range j.prep.lines(j.spec) {
		notes = append(notes, j.mask("preparation: "+l))
	}
	for _, n := range append(j.notes, pre.Notes...) {
		notes = append(notes, j.mask(n))
	}
	var parts []tape.DataRef
	if m, ok := j.source.(*rows.Mix); ok {
		for _, p := range m.Parts() {
			parts = append(parts, tape.DataRef{Path: p.Path, Bytes: p.Bytes, Rows: p.Rows, SHA256: p.SHA256})
		}
	}
	head := tape.Header{
		Type: "header", Schema: tape.Schema, Run: newRunID(clk.Wall()), Name: j.spec.Name,
		Tool: provenance.Tool(versionNumber),
		Spec: j.spec.JSON(), SpecSHA256: j.specSum,
		Plan:  tape.PlanRef{SHA256: j.plan.SHA256(), Rows: j.plan.Rows(), Warmup: j.plan.Warmup(), Kind: j.plan.Kind},
		Data:  tape.DataRef{Path: info.Path, Bytes: info.Bytes, Rows: info.Rows, SHA256: info.SHA256},
		Parts: parts, Tok: j.count.ref(), Host: j.origin.host, Envelope: j.origin.envelope, Command: j.origin.command, Source: j.origin.source, Server: pre.Server, Notes: notes, Cache: j.cache.head,
	}
	j.veil(&head)
	return head
}

// writeReports makes the files that are read off the tape.
func writeReports(dir *runDir, res *analysis.Results) error {
	return errors.Join(
		dir.write("results.json", func(f *os.File) error { return report.JSON(f, res) }),
		dir.write("report.txt", func(f *os.File) error { return report.Console(f, res, report.Options{Width: 100, Full: true}) }),
		dir.write("stats.csv", func(f *os.File) error { return report.StatsCSV(f, res) }),
		dir.write("requests.csv", func(f *os.File) error { return report.RequestsCSV(f, res) }),
		dir.write(pageName, func(f *os.File) error { return writePage(f, res, html.Options{}) }),
		writeServer(dir, res),
	)
}

// show prints the report, or results.json alone.
func (a *app) show(res *analysis.Results, asJSON bool, lang string) error {
	if asJSON {
		return report.JSON(a.stdout, res)
	}
	o := consoleOptions(a.stdout)
	o.Lang = lang
	return report.Console(a.stdout, res, o)
}

func consoleOptions(w io.Writer) report.Options {
	o := report.Options{Width: 100}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n >= 40 {
		o.Width = n
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			o.Width = width
		}
		_, plain := os.LookupEnv("NO_COLOR")
		o.Color = !plain
	}
	return o
}

const readAgain = "what is on the tape is not lost: tokentape report RUN reads the numbers off it"

// ending decides the exit code of a run; docs/exit-codes.md.
func (j *job) ending(sum *run.Summary, res *analysis.Results, runErr, writeErr error) error {
	if sum == nil {
		return runErr
	}
	reason := sum.Footer.Reason
	switch {
	case reason == tape.ReasonInterrupted:
		return &exitError{code: exitInterrupted, msg: "interrupted; what had ended by then is on the tape", quiet: runErr == nil && writeErr == nil}
	case runErr != nil:
		return &exitError{code: exitInternal, msg: j.mask(runErr.Error()), hints: []string{readAgain}}
	case writeErr != nil:
		return &exitError{code: exitInternal, msg: writeErr.Error(), hints: []string{readAgain}}
	case reason == tape.ReasonRefused || reason == tape.ReasonWarmup || reason == tape.ReasonPrepare || reason == tape.ReasonProbe:
		return j.nothingMeasured(sum)
	}
	return verdictEnding(res)
}

// nothingMeasured explains a run that its first answers ended.
func (j *job) nothingMeasured(sum *run.Summary) error {
	e := &exitError{code: exitNothing, msg: "nothing was measured: " + sum.Footer.Message}
	if f := sum.FirstFailure; f != nil {
		e.msg = fmt.Sprintf("nothing was measured: %s: %s", statusText(f), f.Message)
		if !strings.HasPrefix(f.Message, "POST ") { // which says where, and what was answered
			e.msg = fmt.Sprintf("nothing was measured: POST %s: %s: %s", j.url(), statusText(f), f.Message)
		}
		switch f.HTTP.Status {
		case 401, 403:
			e.hints = append(e.hints, "set target.api_key, for example --api-key '${API_KEY}'")
		case 404, 405:
			e.hints = append(e.hints, "is the path right, and does the server serve the model that was asked for? (--url, --api, --model)")
		}
	}
	e.msg = j.mask(e.msg)
	return e
}

func statusText(f *tape.Request) string {
	if f.HTTP.Status != 0 {
		return fmt.Sprintf("%s, status %d", f.Outcome, f.HTTP.Status)
	}
	return string(f.Outcome)
}

// verdictEnding is the exit code that the results themselves ask for: too many
// failures before a run without a single success, and that before every other
// missed check.
func verdictEnding(res *analysis.Results) error {
	if res.About.Stop == tape.ReasonAbort {
		return &exitError{code: exitFailures, msg: "stopped: " + res.About.StopWhy}
	}
	for _, c := range res.Verdict.Checks {
		if c.Name == analysis.CheckFailures && c.Result == analysis.ResultMiss {
			return &exitError{code: exitFailures, msg: c.Why}
		}
	}
	switch {
	case res.Probe != nil && res.Probe.Only:
		if !res.Verdict.Fit {
			return &exitError{code: exitNothing, msg: res.Verdict.Line}
		}
		return nil
	case res.Counts.OK == 0:
		return &exitError{code: exitNothing, msg: "nothing was measured: no request ended well"}
	case !res.Verdict.Fit:
		return &exitError{code: exitUnfit, msg: res.Verdict.Line}
	}
	return expectEnding(res)
}

// tapeEnding is the exit code of the run behind a tape, read off the tape.
func tapeEnding(res *analysis.Results) error {
	switch res.About.Stop {
	case tape.ReasonInterrupted:
		return &exitError{code: exitInterrupted, msg: "the run was interrupted"}
	case tape.ReasonDisk, tape.ReasonInternal, tape.ReasonDataset:
		return &exitError{code: exitInternal, msg: "the run broke off: " + res.About.StopWhy}
	case tape.ReasonRefused, tape.ReasonWarmup, tape.ReasonPrepare, tape.ReasonProbe:
		return &exitError{code: exitNothing, msg: "nothing was measured: " + res.About.StopWhy}
	}
	return verdictEnding(res)
}
