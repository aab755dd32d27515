package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tokentape/internal/clock"
	"tokentape/simserver"
)

// simFlags are the flags of sim beside those that are Options fields.
type simFlags struct {
	addr, profile, trace string
	expose               bool
	stopAfter            time.Duration
	noRole, earlyRole    bool
	faults, faultsAt     []string
	scripts              []string
	nodes, pageFaults    []string
	options              simserver.Options
}

func (a *app) simCommand() *cobra.Command {
	f := &simFlags{}
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "A simulated SGLang server, to try tokentape on and to check it with",
		Long: `sim serves a simulated SGLang server until Ctrl-C: its OpenAI routes and /generate,
and the APIs of other servers (docs/dialects) on the same engine. Its URL goes
to stdout, everything else to stderr. Time passes in it as in a continuously
batching engine: prefill costs by uncached prompt token, decode steps cost by the
number of running requests, slots are limited, prompts that begin alike hit a
prefix cache. With --trace it writes down what it really did and when.

  tokentape sim                                    a small model on one accelerator
  tokentape sim --profile instant                  all costs 0
  tokentape sim --slots 8 --decode-base-ms 20      8 at once, 20 ms a token
  tokentape sim --fault cut,share=0.01,after=5     1 % of the answers break off
  tokentape sim --script slow.case                 what it says is what goes out

A script is a file of timelines (docs/timelines.md): the bytes, their times and
the end of each answer. Every POST gets the next one; several scripts take turns,
or are drawn by ,weight=W with the seed.

A fault is KIND[,share=0.1][,code=503][,after=TOKENS][,size=BYTES][,for=2s][,body=TEXT].
The request header X-Sim-Fault asks for one, too. Kinds, with their settings in
capitals:

` + faultHelp(),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.sim(cmd, f) },
	}
	f.register(cmd.Flags())
	return cmd
}

// faultHelp is a line for each kind of fault.
func faultHelp() string {
	var b strings.Builder
	for _, k := range simserver.Kinds {
		fmt.Fprintf(&b, "  %-14s %s\n", k.Kind, k.About)
	}
	return strings.TrimRight(b.String(), "\n")
}

func (f *simFlags) register(fs *pflag.FlagSet) {
	fs.SortFlags = false
	fs.StringVar(&f.addr, "addr", "127.0.0.1:30000", "address to listen at; port 0: a free one")
	fs.BoolVar(&f.expose, "expose", false, "let --addr be another than a loopback address")
	fs.StringVar(&f.profile, "profile", "sglang", "preset that the other flags change: "+strings.Join(slices.Sorted(maps.Keys(simserver.Profiles)), " or ")+" (defaults below are sglang's)")
	fs.DurationVar(&f.stopAfter, "for", 0, "end after this time; 0: on Ctrl-C")
	fs.StringVar(&f.trace, "trace", "", "new `FILE` for the truth: a JSON line a request, ns of CLOCK_MONOTONIC")

	o := &f.options
	*o = simserver.Defaults()
	fs.StringVar(&o.Model, "model", o.Model, "served model id")
	fs.BoolVar(&o.CheckModel, "check-model", o.CheckModel, "404 for another model id, as vLLM; else any is accepted, as SGLang does")
	fs.StringVar(&o.APIKey, "api-key", "", "ask for this key, 401 without it")
	fs.Int64Var(&o.Context, "context", o.Context, "most tokens of prompt and answer together, 400 beyond")
	fs.IntVar(&o.Slots, "slots", o.Slots, "requests that run at once; more wait")
	fs.Var(unit{&o.PrefillFixed, time.Millisecond}, "prefill-fixed-ms", "cost of a prefill step")
	fs.Var(unit{&o.PrefillPerToken, time.Microsecond}, "prefill-us-per-token", "and of each uncached prompt token in it")
	fs.Var(unit{&o.DecodeBase, time.Millisecond}, "decode-base-ms", "cost of a decode step")
	fs.Var(unit{&o.DecodePerSeq, time.Microsecond}, "decode-per-seq-us", "and of each request in it")
	fs.IntVar(&o.ChunkTokens, "chunk-tokens", o.ChunkTokens, "chunked prefill: prompt tokens a step beside decode; 0: whole prompts, decode waits")
	fs.BoolVar(&o.Disaggregated, "disaggregated", o.Disaggregated, "prefill and decode do not disturb each other")
	fs.StringVar((*string)(&o.Worker), "worker", "", "prefill or decode: a worker of a disaggregated service, which refuses whoever does not come through its router")
	fs.BoolVar(&o.Cache, "cache", o.Cache, "prefix cache")
	fs.IntVar(&o.PageSize, "page-size", o.PageSize, "tokens a cache page")
	fs.IntVar(&o.CachePages, "cache-pages", o.CachePages, "cache pages, least recently used goes first")
	fs.IntVar(&o.HostPages, "host-pages", o.HostPages, "hierarchical cache: pages of the host's memory, for what falls out of the cache's; a hit costs no time")
	fs.IntVar(&o.StoragePages, "storage-pages", o.StoragePages, "and of storage behind")
	fs.StringVar((*string)(&o.CacheReport), "cache-report", string(o.CacheReport), "cached_tokens in usage: above-zero (left out at 0, as SGLang's OpenAI routes), on (at 0 too) or off")
	fs.Float64Var(&o.OutputMean, "output-mean", o.OutputMean, "mean answer in tokens, unless ignore_eos")
	fs.Float64Var(&o.OutputCV, "output-cv", o.OutputCV, "its coefficient of variation (log-normal); 0: always the mean")
	fs.IntVar(&o.TokensPerEvent, "tokens-per-event", o.TokensPerEvent, "most tokens a decode step yields (speculation)")
	fs.Float64Var(&o.AcceptRate, "accept-rate", o.AcceptRate, "chance that a drafted token is accepted, 0 to 1")
	fs.Float64Var(&o.CopyAcceptRate, "copy-accept-rate", o.CopyAcceptRate, "the same for prompts that ask for a copy \"word for word\"; 0: no difference")
	fs.BoolVar(&o.SpecUsage, "spec-usage", o.SpecUsage, "tell accepted and rejected drafts: in usage, /generate's meta_info, and sglext where the body asks with return_spec_tokens_details")
	fs.BoolVar(&o.SpecVerify, "spec-verify", o.SpecVerify, "tell verify steps: in /generate's meta_info, and sglext where the body asks; --spec-verify=false does not")
	fs.BoolVar(&f.noRole, "no-role-chunk", false, "no role-only first chunk")
	fs.BoolVar(&o.Incremental, "incremental", o.Incremental, "/generate streams only what is new, as SGLang with --incremental-streaming-output")
	fs.BoolVar(&f.earlyRole, "early-role-chunk", false, "role-only first chunk on arrival, before prefill")
	fs.BoolVar(&o.EarlyHeader, "early-header", o.EarlyHeader, "response headers on arrival, before prefill")
	fs.Uint64Var(&o.Seed, "seed", o.Seed, "of lengths, words, acceptance and faults")
	fs.StringArrayVar(&f.faults, "fault", nil, "`FAULT` with its share (see above); may be repeated")
	fs.StringArrayVar(&f.scripts, "script", nil, "`FILE`[,weight=W] of timelines that answer instead of the engine; may be repeated")
	fs.StringSliceVar(&f.nodes, "metrics-addr", nil, "more metrics `PAGES`, as NODE=ADDR,…: prefill and decode, a pair of servers behind --addr (with --disaggregated), npu and dcgm, exporters of their devices")
	fs.StringArrayVar(&f.pageFaults, "metrics-fault", nil, "`FAULT` of metrics pages, KIND[,node=prefill][,at=3s] (docs/sim.md); may be repeated")
	fs.StringArrayVar(&f.faultsAt, "fault-at", nil, "`FAULT` of one generation request, as N:FAULT, N counted from 0; may be repeated")
}

// unit is a duration given as a plain number of units.
type unit struct {
	d    *time.Duration
	unit time.Duration
}

func (u unit) Type() string { return "float" }

func (u unit) String() string {
	if u.d == nil {
		return "0" // pflag asks the zero value
	}
	return strconv.FormatFloat(float64(*u.d)/float64(u.unit), 'g', -1, 64)
}

func (u unit) Set(s string) error {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(x >= 0 && x*float64(u.unit) < float64(24*time.Hour)) {
		return errors.New("must be a number, 0 or more, and under a day")
	}
	*u.d = time.Duration(x*float64(u.unit) + 0.5)
	return nil
}

// resolve makes Options of the profile and the flags that were given.
func (f *simFlags) resolve(fs *pflag.FlagSet) (simserver.Options, error) {
	preset, ok := simserver.Profiles[f.profile]
	if !ok {
		return f.options, fmt.Errorf("--profile %s: not one of %s", f.profile, strings.Join(slices.Sorted(maps.Keys(simserver.Profiles)), ", "))
	}
	given := map[*pflag.Flag]string{}
	fs.Visit(func(fl *pflag.Flag) {
		if _, list := fl.Value.(pflag.SliceValue); !list {
			given[fl] = fl.Value.String()
		}
	})
	f.options = preset() // the flags are bound to its fields
	for fl, v := range given {
		if err := fl.Value.Set(v); err != nil {
			return f.options, fmt.Errorf("--%s %s: %w", fl.Name, v, err)
		}
	}
	o := f.options
	switch {
	case f.noRole && f.earlyRole:
		return o, errors.New("--no-role-chunk and --early-role-chunk contradict each other")
	case f.noRole:
		o.RoleChunk = simserver.RoleNone
	case f.earlyRole:
		o.RoleChunk = simserver.RoleEarly
	}
	for _, s := range f.faults {
		x, err := simserver.ParseFault(s)
		if err != nil {
			return o, err
		}
		o.Faults = append(o.Faults, x)
	}
	for _, s := range f.faultsAt {
		n, text, _ := strings.Cut(s, ":")
		i, err := strconv.Atoi(n)
		if err != nil || i < 0 {
			return o, fmt.Errorf("--fault-at %s: must be NUMBER:FAULT, such as 3:cut,after=5", s)
		}
		x, err := simserver.ParseFault(text)
		if err != nil {
			return o, err
		}
		if o.FaultAt == nil {
			o.FaultAt = map[int]simserver.Fault{}
		}
		o.FaultAt[i] = x
	}
	for _, text := range f.nodes {
		node, addr, ok := strings.Cut(text, "=")
		if !ok {
			return o, fmt.Errorf("--metrics-addr %s: must be NODE=ADDR, NODE prefill, decode, npu or dcgm", text)
		}
		if o.Nodes == nil {
			o.Nodes = map[simserver.Node]string{}
		}
		o.Nodes[simserver.Node(node)] = addr
	}
	for _, s := range f.pageFaults {
		x, err := simserver.ParseMetricsFault(s)
		if err != nil {
			return o, err
		}
		o.MetricsFaults = append(o.MetricsFaults, x)
	}
	for _, text := range f.scripts {
		s := simserver.Script{Path: text}
		if path, weight, ok := strings.Cut(text, ",weight="); ok {
			w, err := strconv.ParseFloat(weight, 64)
			if err != nil || !(w > 0) || w > 1e9 {
				return o, fmt.Errorf("--script %s: the weight must be a number above 0", text)
			}
			s = simserver.Script{Path: path, Weight: w}
		}
		o.Scripts = append(o.Scripts, s)
	}
	o.Keep = 0 // nobody asks this process for its truths
	return o, o.Validate()
}

func (a *app) sim(cmd *cobra.Command, f *simFlags) error {
	o, err := f.resolve(cmd.Flags())
	if err != nil {
		return usageError(err.Error(), "see tokentape sim --help")
	}
	for _, addr := range append([]string{f.addr}, slices.Sorted(maps.Values(o.Nodes))...) {
		if !f.expose && !loopback(addr) {
			return usageError(addr+" is not a loopback address: others could reach the simulated server", "if that is wanted: add --expose")
		}
	}
	if f.stopAfter < 0 {
		return usageError("--for must not be negative")
	}
	if f.trace != "" {
		file, err := os.OpenFile(f.trace, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return usageError("--trace: "+err.Error(), "a trace never overwrites a file: name a new one")
		}
		defer file.Close()
		o.Trace = file
	}
	parent := cmd.Context()
	if parent == nil {
		parent = context.Background()
	}
	ctx, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if f.stopAfter > 0 {
		end := clock.New().AfterFunc(int64(f.stopAfter), stop)
		defer end.Stop()
	}
	srv, err := simserver.Listen(f.addr, o)
	if err != nil {
		return usageError(err.Error(), "a free port: --addr 127.0.0.1:0")
	}
	fmt.Fprintln(a.stdout, srv.URL)
	fmt.Fprintf(a.stderr, "simulated SGLang server with model %s; try: tokentape run --url %s --dataset data.jsonl\n", o.Model, strings.TrimPrefix(srv.URL, "http://"))
	for _, node := range slices.Sorted(maps.Keys(srv.Nodes)) {
		fmt.Fprintf(a.stderr, "metrics page, %s: %s/metrics\n", node, srv.Nodes[node])
	}
	<-ctx.Done()
	st := srv.Stats()
	err = srv.Close()
	fmt.Fprintf(a.stderr, "ended: %d answers, %d broken off, %d prompt and %d output tokens\n", st.Requests, st.Aborted, st.PromptTokens, st.GenerationTokens)
	if err != nil {
		return &exitError{code: exitInternal, msg: "sim: " + err.Error()}
	}
	return nil
}

// loopback reports an address that only this machine can reach.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return true // Listen has the better message
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
