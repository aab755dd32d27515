package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tokentape/internal/analysis"
	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/dialect"
	"tokentape/internal/exchange"
	"tokentape/internal/probe"
	"tokentape/internal/provenance"
	"tokentape/internal/report"
	"tokentape/internal/run"
	"tokentape/internal/secret"
	"tokentape/internal/spec"
	"tokentape/tape"
)

// probeFlags are the spec's fields that a probe without a load obeys.
var probeFlags = []string{"url", "api", "model", "api-key", "probe"}

func (a *app) probeCommand() *cobra.Command {
	var out, lang string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "probe [spec.yaml]",
		Short: "Find out what a server is and what it reports, without a load",
		Long: `probe goes step by step: resolve, connect, TLS, model list, engine; then about
ten short requests of its own neutral prompts, at most 32 output tokens each. It
says what each step saw, and what the server can report: token usage, cached
tokens, reasoning, speculation; which fields it obeys. What was not seen is called
not observed, and what was concluded says from what.

Each request is recorded, on a tape under runs/probe/TIME/, that report and explain
read. It needs no dataset.

  --probe short   two requests: one answer in one piece, one stream
  --probe cache   all of them, and the same long prompt twice: that one prompt is
                  then in the server's prefix cache`,
		Example: `  tokentape probe --url 127.0.0.1:30000
  tokentape probe spec.yaml --probe cache
  tokentape probe --url 127.0.0.1:30000 --api sglang-generate --json`,
		Args: cobra.MaximumNArgs(1),
	}
	f := addSpecFlagsOf(cmd, probeFlags)
	cmd.Flags().Lookup("probe").Usage = "short, or cache: see above"
	cmd.Flags().StringVar(&out, "out", "runs", "folder under which probe/TIME/ is made")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print results.json instead of the page")
	cmd.Flags().StringVar(&lang, "lang", "", langHelp)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		format := "console"
		if asJSON {
			format = "json"
		}
		in, err := reportLanguage(lang, format, "")
		if err != nil {
			return err
		}
		j, err := a.reach(args, f)
		if err != nil {
			return err
		}
		if len(j.bases) == 0 {
			return usageError("no server: target.url is not set", "tokentape probe --url 127.0.0.1:30000", "no server at hand? tokentape sim starts a simulated one")
		}
		if j.count, _, err = loadCounting(j.spec, clock.New().Wall()); err != nil {
			return err
		}
		return a.probe(cmd.Context(), j, out, asJSON, in)
	}
	return cmd
}

// probe is the whole way of a probe by itself.
func (a *app) probe(ctx context.Context, j *job, out string, asJSON bool, lang string) error {
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	clk := clock.New()
	dir, err := newRunDir(out, "probe", clk.Wall())
	if err != nil {
		return usageError(err.Error(), "another place: --out DIR")
	}
	if err := dir.write("spec.yaml", func(f *os.File) error {
		_, err := f.Write(j.spec.YAML())
		return err
	}); err != nil {
		return usageError(err.Error(), "another place: --out DIR")
	}
	name := dir.file(tapeName(j.spec.Record.Compress))
	w, err := tape.Create(name, j.spec.Record.Compress)
	if err != nil {
		return usageError(err.Error(), "another place: --out DIR")
	}
	defer w.Close()
	probeErr, err := a.probeOnto(ctx, j, clk, w)
	if err = errors.Join(err, w.Close()); err != nil {
		return &exitError{code: exitInternal, msg: j.mask(fmt.Sprintf("%s: %v", name, err))}
	}
	res, err := analyse(name, analysis.Options{}, "")
	if err != nil {
		return &exitError{code: exitInternal, msg: fmt.Sprintf("%s cannot be read back: %v", name, err)}
	}
	err = errors.Join(
		dir.write("results.json", func(f *os.File) error { return report.JSON(f, res) }),
		dir.write("report.txt", func(f *os.File) error { return report.Console(f, res, report.Options{Width: 100, Full: true}) }),
		a.show(res, asJSON, lang))
	fmt.Fprintf(a.stderr, "files: %s\n", dir.path)
	switch {
	case ctx.Err() != nil:
		return &exitError{code: exitInterrupted, msg: "interrupted; what was found out by then is on the tape"}
	case err != nil:
		return &exitError{code: exitInternal, msg: err.Error(), hints: []string{readAgain}}
	}
	return probeErr
}

// mostProbed bounds how many of several servers are probed.
const mostProbed = 16

// toProbe are the servers that a probe asks: each of the target's, to a bound.
func (j *job) toProbe() []spec.Base { return j.bases[:min(len(j.bases), mostProbed)] }

// probeOnto probes the servers one by one and writes the whole tape. The first error is
// what keeps the server from being measured, the second that of writing.
func (a *app) probeOnto(ctx context.Context, j *job, clk *clock.Clock, w *tape.Writer) (probed, written error) {
	c := j.client(clk)
	defer c.Close()
	wall, machine := clk.Epoch()
	put := func(line any) { written = errors.Join(written, w.Write(line)) }
	foot := tape.Footer{Reason: tape.ReasonCompleted, Failed: map[string]int64{}, Warmup: tape.Some(int64(0)), Tail: tape.Some(int64(0))}

	waiting := a.waiting(clk, j)
	resolved := j.resolve(ctx)
	for i, base := range j.toProbe() {
		look := j.look(c, base)
		look.Now, look.All = clk.Now, true
		if i > 0 && look.Model == "" {
			look.Model = j.looks[0].Server.Model // that a load would send
		}
		res, err := &probe.Result{}, resolved
		if err == nil {
			res, err = look.Do(ctx)
		} else if i == 0 {
			res.Steps = []tape.Step{{Name: "resolve", Result: tape.StepFailed, Seen: err.Error(), Do: strings.Join(hintsOf(err), "; ")}}
		}
		if j.looks = append(j.looks, res); err != nil && probed == nil {
			probed = j.refusal(err)
		}
	}
	waiting.Stop()
	res := j.looks[0]
	j.finishServer(&res.Server)
	notes := append(j.notes, res.Notes...)
	for i, other := range j.looks[1:] {
		var unlike []string
		if other.Server.Model != "" { // else a step says what failed
			unlike = differences(j.bases[i+1].Root, res.Server, other.Server)
		}
		for _, n := range append(unlike, other.Notes...) {
			if !slices.Contains(notes, n) {
				notes = append(notes, n)
			}
		}
	}
	if n := len(j.bases); n > mostProbed {
		notes = append(notes, fmt.Sprintf("the first %d of %d servers are probed; for another one name it: --url", mostProbed, n))
	}
	for i, n := range notes {
		notes[i] = j.mask(n)
	}
	head := tape.Header{
		Type: "header", Schema: tape.Schema, Run: newRunID(wall), Name: "probe",
		Tool: provenance.Tool(versionNumber), Command: commandLine(a.args, j.mask),
		Spec: j.spec.JSON(), Plan: tape.PlanRef{Kind: "none"}, Tok: j.count.ref(), Host: hostFacts(), Server: res.Server, Notes: notes,
		Anchor: tape.Anchor{Wall: wall.Format(time.RFC3339Nano), Clock: "monotonic", Machine: machine, ReadStamp: c.ReadStamp()},
	}
	j.veil(&head)
	put(&head)
	for i, res := range j.looks {
		connected := false
		for k := range res.Steps {
			put(&res.Steps[k])
			connected = connected || res.Steps[k].Name == "models" && res.Steps[k].T.OK
		}
		switch url := j.mask(j.bases[i].Root); {
		case ctx.Err() != nil:
			continue
		case !connected:
			put(&tape.Step{Name: "requests", URL: url, Result: tape.StepNone, Seen: "not tried: there is no connection"})
			continue
		case res.Server.Model == "" && j.spec.SendsModel():
			put(&tape.Step{Name: "requests", URL: url, Result: tape.StepNone, Seen: "not tried: the model is not known", Do: "name it: --model NAME"})
			continue
		}
		p := j.prober(clk, c, i, res.Server.Model, head.Run)
		p.First = foot.Preparation
		p.Book = func(q *tape.Request) { foot.Preparation++; put(q) }
		p.Emit, p.Keep = func(s tape.Step) { put(&s) }, func(ex *tape.Example) { put(ex) }
		what := probe.Full
		switch j.spec.Probe {
		case "short":
			what = probe.Short
		case "cache":
			what = probe.Whole
		}
		caps, err := p.Run(ctx, what)
		put(caps)
		if err != nil && probed == nil {
			probed = j.refusal(err)
		}
	}
	switch {
	case ctx.Err() != nil:
		foot.Reason = tape.ReasonInterrupted
	case probed != nil:
		foot.Reason, foot.Message = tape.ReasonProbe, strings.ReplaceAll(probed.Error(), "\n ", ";")
	}
	foot.TEnd = clk.Now()
	put(&foot)
	return probed, written
}

// prober asks the i-th server for that model, as the spec says.
func (j *job) prober(clk *clock.Clock, c *client.Client, i int, model, runID string) *probe.Prober {
	s, look := j.spec, j.looks[i]
	of := func(stream bool) dialect.Dialect {
		setup := dialectSetup(s)
		setup.Model, setup.Stream = model, stream
		d, err := dialect.New(s.Target.API, setup)
		if err != nil {
			return j.dialect // it was made of the same settings before
		}
		return d
	}
	p := &probe.Prober{
		Clock: clk, Base: j.bases[i], Whole: of(false), Stream: of(true), Model: model,
		LengthField: s.Target.MaxTokensField, Sampling: s.Workload.Sampling, RunID: runID, Nonce: runID, Look: look,
		Exchange: exchange.Config{
			Client: c, Clock: clk, Header: j.header(), Secrets: j.secrets(), Connect: s.Limits.Connect.D(),
			Limits:   exchange.Limits{FirstToken: s.Limits.FirstToken.D(), Idle: s.Limits.Idle.D(), Total: s.Limits.Total.D()},
			IDHeader: s.Target.RequestIDHeader, NoID: s.Target.RequestIDHeader == "",
		},
	}
	if len(j.bases) > 1 {
		p.Server = tape.Some(int64(i))
	}
	if j.count != nil {
		p.Content = j.count.tok.CountTokens
	}
	return p
}

// probeOf is what the spec's probe asks before a load, nil for nothing.
func (j *job) probeOf(clk *clock.Clock, c *client.Client, pre *probe.Result, runID string) run.Probe {
	if j.spec.Probe == "off" || j.spec.Probe == "" {
		return nil
	}
	return func(ctx context.Context, book func(*tape.Request), emit func(tape.Record)) error {
		defer c.CloseIdle() // the load's first request finds no connection ready, as without a probe
		sent := int64(0)
		for i := range j.toProbe() {
			p := j.prober(clk, c, i, pre.Server.Model, runID)
			p.First = sent
			p.Book = func(q *tape.Request) { sent++; book(q) }
			p.Emit, p.Keep = func(s tape.Step) { emit(&s) }, func(ex *tape.Example) { emit(ex) }
			caps, err := p.Run(ctx, j.spec.Probe)
			emit(caps)
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// probeLine says what the probe sends before the load, "" for nothing.
func (j *job) probeLine() string {
	line := j.probeWords()
	if n := len(j.toProbe()); n > 1 && line != "" {
		return fmt.Sprintf("of each of %d servers: %s", n, line)
	}
	return line
}

func (j *job) probeWords() string {
	switch j.spec.Probe {
	case "short":
		return "two requests of neutral prompts, before all else; a failure ends the run"
	case "cache":
		return "four requests of neutral prompts, before all else; one long prompt is sent twice, and is then in the server's prefix cache; a failure ends the run"
	}
	return ""
}

// refusal is a probe that found the server not fit to be measured.
func (j *job) refusal(err error) error {
	var e *exitError
	if errors.As(err, &e) {
		return e
	}
	e = &exitError{code: exitNothing, msg: j.mask(err.Error())}
	var look *probe.Error
	var sent *probe.FailedError
	switch {
	case errors.As(err, &look):
		e.hints = []string{j.mask(look.Hint)}
	case errors.As(err, &sent):
		e.hints = []string{sent.Do}
	}
	return e
}

func hintsOf(err error) []string {
	var e *exitError
	if errors.As(err, &e) {
		return e.hints
	}
	return nil
}

// waiting says after a second what is waited for; the caller stops it.
func (a *app) waiting(clk *clock.Clock, j *job) *clock.Timer {
	return clk.AfterFunc(int64(time.Second), func() {
		fmt.Fprintf(a.stderr, "waiting for an answer to GET %s\n", j.mask(j.bases[0].Join("/v1/models")))
	})
}

// look is how a server is looked at by GETs.
func (j *job) look(c probe.Getter, base spec.Base) probe.Look {
	return probe.Look{
		Get: c, Base: base, Header: exchange.Header(j.header(), j.dialect), Secrets: secret.New(j.secrets()),
		Model: j.spec.Target.Model, Own: !j.spec.SendsModel(),
	}
}
