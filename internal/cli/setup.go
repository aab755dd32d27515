package cli

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/dialect"
	"tokentape/internal/exchange"
	"tokentape/internal/plan"
	"tokentape/internal/probe"
	"tokentape/internal/secret"
	"tokentape/internal/spec"
	"tokentape/internal/sweep"
	"tokentape/internal/workload"
	"tokentape/internal/workload/dataset"
	"tokentape/internal/workload/rows"
)

// specFlags are the flags of every verb that reads a spec. Each one is a field
// of the spec under a shorter name.
type specFlags struct {
	sets    []string
	metrics []string
	notes   []string
	values  map[string]*string
	cmd     *cobra.Command
	more    []spec.Set      // of flags that are a verb's own
	point   []spec.PointSet // of a series: what this run gives; nil: it is none of a series
	share   *sweep.Share    // the rows that are its own; nil: all
}

// pathFlags are fields of the spec under the shorter names of flags.
type pathFlags []struct{ flag, path, help string }

// register adds those of these names, nil: all, and says where their values will be.
func (l pathFlags) register(fs *pflag.FlagSet, names []string) map[string]*string {
	values := map[string]*string{}
	for _, p := range l {
		if names == nil || slices.Contains(names, p.flag) {
			values[p.flag] = fs.String(p.flag, "", p.help)
		}
	}
	return values
}

// given are the assignments of the flags that were set.
func (l pathFlags) given(fs *pflag.FlagSet, values map[string]*string) (sets []spec.Set) {
	for _, p := range l {
		if values[p.flag] != nil && fs.Changed(p.flag) {
			sets = append(sets, spec.Set{Path: p.path, Value: *values[p.flag], Origin: "--" + p.flag})
		}
	}
	return sets
}

var specFlagPaths = pathFlags{
	{"url", "target.url", "server: host:port, or any form of its base or endpoint URL"},
	{"api", "target.api", "what the server speaks: " + strings.Join(dialect.Names(), ", ")},
	{"model", "target.model", "model id; default: the only one the server lists"},
	{"api-key", "target.api_key", "sent as a bearer token; never written down; '${VARIABLE}' is read from the environment"},
	{"dataset", "workload.dataset.path", "rows to send: JSONL, JSON, CSV, TSV, text, Parquet, or a trace"},
	{"dataset-format", "workload.dataset.format", "how rows are laid out, or what they mean (docs/datasets.md)"},
	{"on-bad-row", "workload.dataset.on_bad_row", "fail, or skip: leave bad rows out and count them"},
	{"template", "workload.template", "prompt of a row, fields in braces (default {question})"},
	{"output-tokens", "workload.output_tokens", "max_tokens of every request; none: the row's own, or the server's limit"},
	{"repeat", "workload.repeat", "none, or cycle: use rows again when they run out"},
	{"requests", "load.requests", "N: how many requests are measured; none: as many as --duration holds"},
	{"concurrency", "load.concurrency", "C: how many may be in flight at once; none: no cap, beside a rate"},
	{"rate", "load.rate", "r: requests offered per second; none: a closed loop"},
	{"arrivals", "load.arrivals", "spacing at that rate: constant, poisson, gamma; or replay: the times of a trace"},
	{"duration", "load.duration", "stop issuing after this time, e.g. 60s; none: after N"},
	{"warmup", "load.warmup", "requests sent first and not measured"},
	{"attempts", "load.attempts", "tries per request; 1 sends once; of what and when: load.retry"},
	{"seed", "seeds.run", "seed of everything random"},
	{"probe", "probe", "short: two requests beside GETs before the load; cache: and one long prompt twice; off"},
	{"name", "name", "name of the run and of its folder"},
	{"source", "provenance.source", "folder of source code, such as the server's, whose git state is kept with the run"},
}

func addSpecFlags(cmd *cobra.Command) *specFlags { return addSpecFlagsOf(cmd, nil) }

// addSpecFlagsOf adds those of these names; nil: all.
func addSpecFlagsOf(cmd *cobra.Command, names []string) *specFlags {
	f := &specFlags{values: specFlagPaths.register(cmd.Flags(), names), cmd: cmd}
	cmd.Flags().StringArrayVar(&f.metrics, "metrics", nil, "metrics page to scrape beside the load: `URL` or NAME=URL (may be given more than once)")
	addOriginFlags(cmd, f)
	cmd.Flags().StringArrayVar(&f.sets, "set", nil, "any field of the spec: path=value (may be given more than once)")
	return f
}

// assignments are the flags that were given, as the spec takes them.
func (f *specFlags) assignments() ([]spec.Set, error) {
	sets := specFlagPaths.given(f.cmd.Flags(), f.values)
	if len(f.metrics) > 0 {
		sets = append(sets, spec.Set{Path: "telemetry.metrics", Value: metricsList(f.metrics), Origin: "--metrics"})
	}
	notes, err := noteSets(f.notes)
	if err != nil {
		return nil, err
	}
	more, err := parseSets(f.sets)
	return slices.Concat(sets, notes, more, f.more), err
}

// parseSets reads what was given by --set.
func parseSets(texts []string) ([]spec.Set, error) {
	var sets []spec.Set
	for _, kv := range texts {
		path, value, ok := strings.Cut(kv, "=")
		if !ok {
			name, _, _ := strings.Cut(kv, ":") // what follows may be a secret
			return nil, usageError(fmt.Sprintf("--set %s: there is no =", name), "write --set load.requests=640")
		}
		sets = append(sets, spec.Set{Path: strings.TrimSpace(path), Value: value, Origin: "--set " + path})
	}
	return sets, nil
}

// itemSource is a dataset, or several.
type itemSource interface {
	workload.Source
	Times() []int64
	Info() dataset.Info
	Notes() []string
	MeanBytes() int64
	Longest() (input, output int64)
	Where(i int64) string
	Close() error
}

// openItems opens what the workload names, and checks every row.
func openItems(w spec.Workload, seed int64, o rows.Options) (itemSource, error) {
	if len(w.Mix) > 0 {
		m, err := rows.OpenMix(w, seed, o)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	s, err := rows.OpenWith(w, seed, o)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// job is a spec with everything that can be made of it before a server is asked.
type job struct {
	spec    *spec.Spec
	specSum string          // of spec.yaml as it was written, hex
	bases   []spec.Base     // of the servers, in the order in which requests take them
	looks   []*probe.Result // of each of them, by GETs
	net     network
	dialect dialect.Dialect
	source  itemSource
	plan    *plan.Plan
	count   *counting // nil: no target.tokenizer
	prep    preparation
	cache   cachePlan
	notes   []string
	origin  origin
	shared  *shared  // with other runs of a series; nil: it is none of one
	hidden  secrets  // what rows hold under credentials' names
	said    []string // notes for the statement alone: they say nothing about the numbers
}

// needServer refuses a job that does not say whom to ask; a plan needs nobody.
func (j *job) needServer(path string) error {
	if len(j.bases) > 0 {
		return nil
	}
	where := ""
	if path != "" {
		where = " in " + path
	}
	return usageError("no server: target.url is not set"+where, "tokentape run --url 127.0.0.1:30000 …", "no server at hand? tokentape sim starts a simulated one")
}

func (j *job) close() {
	if j.source != nil {
		j.source.Close()
	}
	if j.prep.own {
		j.prep.source.Close()
	}
}

// loadSpec reads and checks the spec. Warnings are returned, errors end it.
func (a *app) loadSpec(args []string, f *specFlags) (*spec.Spec, []string, error) {
	sets, err := f.assignments()
	if err != nil {
		return nil, nil, err
	}
	path := ""
	if len(args) > 0 {
		path = args[0]
	}
	var s *spec.Spec
	var issues []spec.Issue
	if f.point != nil {
		s, issues = spec.ReadPoint(path, a.env, sets, f.point)
	} else {
		s, issues = spec.Read(path, a.env, sets)
	}
	a.own = spec.Own(s.Secrets())
	var errs, notes []string
	for _, i := range issues {
		if i.Warning {
			notes = append(notes, i.Error())
		} else {
			errs = append(errs, i.Format())
		}
	}
	if len(errs) > 0 {
		return nil, nil, &exitError{code: exitUsage, msg: strings.Join(errs, "\n")}
	}
	return s, notes, nil
}

// reach is a job that knows how its server is spoken to, and nothing of what is
// asked.
func (a *app) reach(args []string, f *specFlags) (*job, error) {
	s, notes, err := a.loadSpec(args, f)
	if err != nil {
		return nil, err
	}
	j := &job{spec: s, notes: notes, shared: a.shared}
	if j.dialect, err = dialect.New(s.Target.API, dialectSetup(s)); err != nil {
		return nil, usageError(err.Error())
	}
	for _, raw := range s.Target.Servers() {
		base, urlNotes, err := spec.ResolveURL(raw, j.dialect.Path())
		if err != nil {
			return nil, usageError(err.Error())
		}
		j.bases = append(j.bases, base)
		j.said = append(j.said, urlNotes...)
	}
	return j, j.makeNetwork()
}

// prepare makes a job: spec, dataset, plan. Every row is checked here, so that
// nothing is sent when a later one could not be.
func (a *app) prepare(args []string, f *specFlags, planFile string) (*job, error) {
	j, err := a.reach(args, f)
	if err != nil {
		return nil, err
	}
	s, ok := j.spec, false
	defer func() {
		if !ok {
			j.close()
		}
	}()
	if !s.Search.IsZero() {
		return nil, usageError("the spec seeks the "+s.Search.For+" that holds its limits, and this is one run",
			"tokentape search "+shellWords(args), "one run of it, at what load says: --set search.for=none")
	}
	if n := sweep.Count(s); n > 0 {
		return nil, usageError(fmt.Sprintf("the spec has a sweep of %d points, and this is one run", n),
			"tokentape sweep "+shellWords(args), "one run of it, at what load says: --set 'sweep.over=[]'")
	}
	if s.Workload.Dataset.Path == "" && len(s.Workload.Mix) == 0 {
		return nil, usageError("nothing to ask: workload.dataset.path is not set", `a JSONL file with one {"question": "…"} a line: --dataset data.jsonl`)
	}
	show := a.loading()
	defer show.done()
	// What is kept of rows holds no pointers, so that collecting more often costs
	// next to nothing, and a file of many short rows stays small in memory.
	defer debug.SetGCPercent(debug.SetGCPercent(40))
	if j.source, err = j.shared.open(j, f.share, rows.Options{Watch: show.file(), Check: func(item workload.Item) error {
		if s.Workload.Sessions {
			if _, err := workload.Converse(item, j.recorded()); err != nil {
				return err
			}
		}
		return j.sendable(item)
	}}); err != nil {
		show.done()
		return nil, usageError(err.Error())
	}
	j.notes = append(j.notes, j.source.Notes()...)
	if err := j.loadTokenizer(); err != nil {
		return nil, err
	}
	if err := j.makePreparation(show); err != nil {
		return nil, err
	}
	data, err := j.planData(show)
	if err != nil {
		return nil, usageError(err.Error())
	}
	if planFile != "" {
		if j.plan, err = readPlan(planFile, j, data); err == nil {
			j.obeyPlan(planFile)
		}
	} else {
		j.plan, err = plan.MakeOf(s.Load, s.Workload.OutputTokens, data, s.Workload.Repeat, s.Workload.Order, s.Seeds)
	}
	if err != nil {
		return nil, usageError(err.Error())
	}
	j.plan.DatasetSHA256 = j.source.Info().SHA256
	if err := j.checkTail(); err != nil {
		return nil, err
	}
	j.notes = append(j.notes, j.plan.NeverReached()...)
	if n := j.plan.Repeats(); n != 0 {
		j.notes = append(j.notes, repeatsNote(n))
	}
	ok = true
	return j, nil
}

// checkTail refuses a tail for which there are no rows.
func (j *job) checkTail() error {
	if j.spec.Load.Tail != "auto" || j.plan.TailRows() != 0 {
		return nil
	}
	return usageError(fmt.Sprintf("load.tail: auto needs rows after the %d that are planned, and %s has %d",
		j.plan.Rows(), j.source.Info().Path, j.source.Len()), "more rows, or --repeat cycle")
}

func repeatsNote(n int64) string {
	if n < 0 {
		return "dataset rows are sent again when they run out; a repeated prompt can hit the server's prefix cache"
	}
	return fmt.Sprintf("%d requests send a dataset row that was sent before; they can hit the server's prefix cache", n)
}

// recorded reports whether later turns go on with the recorded answers.
func (j *job) recorded() bool { return j.spec.Workload.History == "recorded" }

// planData is what the plan has to know of the rows.
func (j *job) planData(show *loading) (plan.Data, error) {
	d := plan.Data{Rows: j.source.Len(), Times: j.source.Times()}
	if m, ok := j.source.(*rows.Mix); ok {
		for i, n := range m.Lens() {
			d.Parts = append(d.Parts, plan.Part{Rows: n, Weight: j.spec.Workload.Mix[i].Weight})
		}
	}
	if !j.spec.Workload.Sessions {
		return d, nil
	}
	d.Turns = make([]int32, d.Rows)
	for i := range d.Turns {
		show.rows("counting turns", int64(i), d.Rows)
		item, err := j.source.Item(int64(i))
		if err != nil {
			return d, err
		}
		c, err := workload.Converse(item, j.recorded())
		if err != nil {
			return d, fmt.Errorf("row %d: %w", i, err)
		}
		d.Turns[i] = int32(c.Turns())
	}
	return d, nil
}

func readPlan(path string, j *job, data plan.Data) (*plan.Plan, error) {
	p, err := plan.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if sum := j.source.Info().SHA256; p.DatasetSHA256 != "" && p.DatasetSHA256 != sum {
		return nil, fmt.Errorf("%s was made for another dataset (sha256 %.12s…) than %s (sha256 %.12s…)",
			path, p.DatasetSHA256, j.source.Info().Path, sum)
	}
	if n := j.source.Len(); p.Params.DataRows != n {
		return nil, fmt.Errorf("%s was made for %d rows of %s, this spec chooses %d: workload.dataset.filter, skip, limit and on_bad_row must be as they were",
			path, p.Params.DataRows, j.source.Info().Path, n)
	}
	if p.Params.Sessions != j.spec.Workload.Sessions {
		return nil, fmt.Errorf("%s was made with workload.sessions: %t, this spec says %t", path, p.Params.Sessions, j.spec.Workload.Sessions)
	}
	return p, p.CheckTurns(data.Turns)
}

// obeyPlan makes the spec say what the plan does: its rows are fixed, whatever
// the spec's load asks for.
func (j *job) obeyPlan(path string) {
	q, l := j.plan.Params, &j.spec.Load
	was := *l
	l.Requests, l.Concurrency, l.Rate = q.Requests, q.Concurrency, q.Rate
	l.Arrivals, l.Burstiness, l.Conditioned = q.Arrivals, q.Burstiness, q.Conditioned
	l.Duration, l.Warmup = spec.Duration(q.Duration), q.Warmup
	l.Ramp = spec.Ramp{Shape: q.RampShape, From: q.RampFrom, Duration: spec.Duration(q.RampDuration)}
	l.Stagger, l.Stages, l.Replay = spec.Duration(q.Stagger), nil, was.Replay
	for _, s := range q.Stages {
		l.Stages = append(l.Stages, spec.Stage{Rate: s.Rate, Concurrency: s.Concurrency, Duration: spec.Duration(s.Duration)})
	}
	if r := q.Replay; r != nil {
		l.Replay = spec.Replay{Scale: r.Scale, From: spec.Duration(r.From), To: spec.Duration(r.To)}
	}
	if q.Sessions {
		l.Requests, l.Sessions, l.SessionConcurrency = q.Turns, q.Requests, q.SessionConcurrency
		if l.Think.Mean = spec.Duration(q.ThinkMean); q.Think != "" {
			l.Think.Kind = q.Think
		}
	}
	if l.Arrivals == "" {
		l.Arrivals = was.Arrivals
	}
	if l.Burstiness == 0 {
		l.Burstiness = was.Burstiness
	}
	j.spec.Workload.OutputTokens = q.Output
	j.notes = append(j.notes, "the load is that of the plan "+path)
}

// dialectSetup is what the spec says about the API.
func dialectSetup(s *spec.Spec) dialect.Setup {
	c := s.Target.Custom
	return dialect.Setup{Model: s.Target.Model, Stream: s.Workload.Stream, Custom: dialect.Custom{
		Path: c.Path, Framing: c.Framing, Body: c.Body,
		Text: c.Text, Reasoning: c.Reasoning, ToolCall: c.ToolCall, Cumulative: c.Cumulative,
		Finish: c.Finish, Error: c.Error, Usage: dialect.CustomUsage(c.Usage), Done: c.Done, DonePath: c.DonePath,
	}}
}

// header is what every request to the server carries besides its own fields.
func (j *job) header() http.Header {
	h := http.Header{}
	if k := j.spec.Target.APIKey; k != "" {
		h.Set("Authorization", "Bearer "+k)
	}
	for k, v := range j.spec.Target.Headers {
		h[k] = []string{v} // spelt as the user spelt it
	}
	return h
}

// headerFor is what a side request to another URL carries: the user's key and
// headers go to the target's own host only.
func (j *job) headerFor(other string) http.Header {
	if !j.isTarget(other) {
		return http.Header{}
	}
	return j.header()
}

// url is the endpoint of the first server.
func (j *job) url() string { return j.urls()[0] }

// urls are the endpoints of all servers.
func (j *job) urls() []string {
	out := make([]string, len(j.bases))
	for i, b := range j.bases {
		out[i] = b.Join(j.dialect.Path())
	}
	return out
}

func (j *job) exchanger(clk *clock.Clock, c *client.Client, model string, onTokens func(n int, t int64)) *exchange.Exchanger {
	s := j.spec
	return exchange.New(exchange.Config{
		Client: c, Dialect: j.dialect, Clock: clk, URL: j.url(), URLs: j.urls(), Header: j.header(),
		Options: j.options(model),
		Limits:  exchange.Limits{FirstToken: s.Limits.FirstToken.D(), Idle: s.Limits.Idle.D(), Total: s.Limits.Total.D()},
		Output:  s.Record.Output, Secrets: j.secrets(), OnTokens: onTokens,
		KeepText: j.count != nil, KeepReply: s.Workload.Sessions && !j.recorded(), SessionHeader: s.Target.SessionHeader,
		IDHeader: s.Target.RequestIDHeader, NoID: s.Target.RequestIDHeader == "",
	})
}

// options are what the spec says of every request body.
func (j *job) options(model string) dialect.Options {
	w := j.spec.Workload
	return dialect.Options{Model: model, Stream: w.Stream, OutputLen: w.OutputTokens, LengthField: j.spec.Target.MaxTokensField, Sampling: w.Sampling}
}

// mask replaces every secret of the spec in a text, however it is spelt there.
func (j *job) mask(text string) string {
	return secret.New(j.secrets()).Mask(text)
}
