package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tokentape/internal/report"
	"tokentape/internal/search"
	"tokentape/internal/spec"
	"tokentape/internal/sweep"
)

// exitOpen: a search ended before it could decide.
const exitOpen = 8

// searchFlagPaths are fields of the section search under shorter names.
var searchFlagPaths = pathFlags{
	{"for", "search.for", "what is sought: rate (open loop) or concurrency (closed)"},
	{"from", "search.from", "the least load, where the search begins"},
	{"to", "search.to", "the most load"},
	{"share", "search.share", "share of requests that must keep the limits on requests (0.95)"},
	{"goal", "search.goal", "highest: the highest load that holds; goodput: the load with the most good requests"},
	{"precision", "search.precision", "loads nearer than this are not told apart (0.05)"},
	{"most-looks", "search.most_looks", "runs at most (16)"},
	{"at-most", "search.at_most", "time of all looks together, e.g. 20m"},
	{"ramp", "search.ramp", "length of a first run whose load climbs until the limits break, e.g. 60s"},
	{"prompts", "search.prompts", "distinct: no two looks send the same rows; same: all do"},
}

// searchOptions are the flags of search that are no field of the spec.
type searchOptions struct {
	plan, full, markdown bool
}

func (a *app) searchCommand() *cobra.Command {
	var o runOptions
	var so searchOptions
	var live liveFlags
	var slo []string
	cmd := &cobra.Command{
		Use:   "search SPEC.yaml|SEARCH",
		Short: "Find the highest rate or concurrency that holds an SLO, or the one with the most goodput",
		Long: `search makes runs, looks, at one load after the other: doubling until the limits
break, then halving what is left between the highest load that holds and the lowest that
does not. Limits are given by --slo (or search.slo, or report.slo):

  --slo 'ttft_ms < 500' --slo 'tpot_ms < 30'    of every request; 95 % must keep both
  --slo 'steady.ttft_ms.p95 < 2000'             of a look's results

A look is decided by intervals: it holds, fails, or is undecided and looked at again,
for longer. How many looks there are at most is declared before the first, and every
interval is wider for it. A load whose backlog grows, whose rate does not end, or at
which requests fail, does not hold; what the client cannot carry is no limit of the
server, and said to be the client's. The winner is measured again, with seeds and
prompts of its own, and only that measurement is reported.

One look is load.requests or load.duration long. Everything is in
runs/NAME/TIME-search/: search.json (looks, decisions, verdict), the runs, and the curves
through them. With that folder in place of a spec, search goes on where it stopped.`,
		Example: `  tokentape search spec.yaml --for rate --from 1 --to 64 --slo 'ttft_ms < 500' --requests 2000
  tokentape search spec.yaml --for concurrency --from 1 --to 256 --slo 'steady.tpot_ms.p95 < 50'
  tokentape search runs/NAME/TIME-search --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			_, args = live.address(args)
			return cobra.MaximumNArgs(1)(cmd, args)
		},
	}
	f := addSpecFlags(cmd)
	live.register(cmd)
	fs := cmd.Flags()
	values := searchFlagPaths.register(fs, nil)
	fs.StringArrayVar(&slo, "slo", nil, "a limit that must hold (may be given more than once)")
	fs.BoolVar(&so.plan, "plan", false, "say what would be looked at and for how long, and send nothing")
	fs.BoolVar(&so.full, "full", false, "print every fact of every look")
	fs.BoolVar(&so.markdown, "markdown", false, "print Markdown")
	fs.StringVar(&o.out, "out", "runs", "folder under which NAME/TIME-search/ is made")
	fs.BoolVar(&o.json, "json", false, "print search.json instead of the log of looks")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		addr, args := live.address(args)
		more := searchFlagPaths.given(fs, values)
		if len(slo) > 0 {
			var list []string
			for _, text := range slo {
				list = append(list, overText(text))
			}
			more = append(more, spec.Set{Path: "search.slo", Value: "[" + strings.Join(list, ", ") + "]", Origin: "--slo"})
		}
		f.more = more
		var err error
		if o.live, err = live.open(a, addr); err != nil {
			return err
		}
		defer o.live.close()
		if !so.plan { // which leaves nothing behind
			o.log = newRunLog(a.args)
		}
		err = a.search(cmd.Context(), args, f, o, so)
		o.log.end(o.out, err)
		return err
	}
	return cmd
}

// quest is a search that is going on.
type quest struct {
	*series
	a    *app // the one that prints; the series' own prints nothing
	file *search.File
	so   searchOptions
}

// search looks for what a spec asks for, or goes on with the search in a folder.
func (a *app) search(ctx context.Context, args []string, f *specFlags, o runOptions, so searchOptions) error {
	silent := *a // the log of looks is what stands on standard output
	silent.stdout = io.Discard
	dir := ""
	if len(args) == 1 && isDir(args[0]) {
		dir = a.findSearch(args[0])
		if err := so.fit(f); err != nil {
			return err
		}
		args = []string{filepath.Join(dir, sweepSpec)}
	}
	s, err := silent.newSeries("search", args, f, o)
	a.own = silent.own
	if err != nil {
		return err
	}
	defer s.close()
	q := &quest{series: s, a: a, so: so}
	if dir != "" {
		return q.resume(ctx, dir)
	}
	if s.base.Search.IsZero() {
		return usageError("nothing is sought: search.for is not set", "--for rate --from 1 --to 64 --slo 'ttft_ms < 500'")
	}
	w := s.base.Search
	s.m.Fields, s.m.Prompts, s.m.Order = []string{w.Field()}, w.Prompts, ""
	q.file = search.NewFile(s.base.Name, paramsOf(s.base), limitsOf(s.base))
	if err := q.check(); err != nil {
		return err
	}
	q.announce()
	if so.plan {
		return nil
	}
	if err := s.begin(); err != nil {
		return err
	}
	if err := q.keep(); err != nil {
		return err
	}
	return q.run(ctx)
}

// fit refuses settings that would make the looks that are left unlike those before.
func (so searchOptions) fit(f *specFlags) error {
	sets, err := f.assignments()
	if err != nil {
		return err
	}
	for _, set := range sets {
		if set.Path != "target.api_key" && !strings.HasPrefix(set.Path, "target.headers") && set.Path != "telemetry.metrics" {
			return usageError(set.Origin+" would make another search of the one that was begun", "leave it out; secrets alone are given again (--api-key). Another search: tokentape search SPEC")
		}
	}
	if so.plan {
		return usageError("--plan is for a search that was not begun", "leave it out")
	}
	return nil
}

// resume goes on with a search; one that has ended is shown again.
func (q *quest) resume(ctx context.Context, dir string) error {
	again := "tokentape search SPEC begins another"
	m, err := sweep.Read(dir)
	if err == nil && m.Kind != "search" {
		err = fmt.Errorf("%s is the folder of a %s", dir, m.Kind)
	}
	if err != nil {
		return usageError(err.Error(), again)
	}
	path := filepath.Join(dir, search.FileName)
	text, err := os.ReadFile(path)
	if err == nil {
		if q.file, err = search.ReadFile(text); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	if err != nil {
		return usageError(err.Error(), again)
	}
	q.m = m
	if v := q.file.Verdict; v != nil && v.End != search.EndInterrupted && v.End != search.EndRun {
		q.dir = dir
		return q.show()
	}
	if err := q.unchanged(dir); err != nil {
		return err
	}
	if asked, slo := paramsOf(q.base), limitsOf(q.base); q.file.Asked != asked || !slices.Equal(q.file.SLO, slo) {
		return usageError(fmt.Sprintf("%s asks for something else than %s: what is left would be unlike what was looked at", q.args[0], path), again)
	}
	if masks := q.base.Masks(); len(masks) > 0 {
		return usageError(fmt.Sprintf("%s holds no secrets, and %s was one", q.args[0], masks[0].Field), "give it again: --api-key '${API_KEY}', or --set "+masks[0].Field+"=…")
	}
	if err := q.lock(dir); err != nil {
		return err
	}
	q.o.out = filepath.Dir(filepath.Dir(dir))
	q.file.Verdict = nil
	for i := range q.m.Points { // those that were cut stay as they are; their rows are not sent again
		if q.m.Points[i].State == sweep.Running {
			q.m.Points[i].State, q.m.Points[i].Reason = sweep.Failed, "cut; the search went on without it"
		}
		q.sets = append(q.sets, nil)
	}
	fmt.Fprintf(q.a.stderr, "going on after %d of at most %d looks\n", len(q.file.Looks), q.file.Asked.MostLooks)
	return q.run(ctx)
}

// run makes looks until there is a verdict.
func (q *quest) run(ctx context.Context) error {
	ctx, stop := interrupts(ctx)
	defer stop()
	p := q.file.Asked
	broken := error(nil)
	end := ""
	for end == "" {
		step, ok, why := p.Next(q.file.Looks)
		switch {
		case !ok:
			end = why
			continue
		case ctx.Err() != nil:
			end = search.EndInterrupted
			continue
		}
		l, fault, err := q.look(ctx, step)
		if err != nil {
			return err
		}
		switch fault {
		case "":
			q.file.Add(*l)
			last := q.file.Looks[len(q.file.Looks)-1]
			fmt.Fprintf(q.a.stderr, "look %d · %s · %s: %s\n", last.N, p.Load(last.At), strings.ReplaceAll(last.Decision, "_", "-"), last.Why)
			q.o.log.say("look", "%d at %s: %s: %s", last.N, p.Load(last.At), last.Decision, last.Why)
		default:
			end, broken = fault, q.last
		}
		if err := q.keep(); err != nil {
			return err
		}
	}
	v := p.Conclude(q.file.Looks, end)
	q.file.Verdict = &v
	if err := q.keep(); err != nil {
		return err
	}
	q.o.log.say("verdict", "%s: %s", v.Result, v.Line)
	err := q.show()
	if end == search.EndRun && broken != nil {
		fmt.Fprintf(q.a.stderr, "no further looks: the last run did not measure anything\n  → tokentape search %s goes on when that is mended\n", shellWords([]string{q.dir}))
		return broken
	}
	return err
}

// keep writes search.json, over that of before.
func (q *quest) keep() error {
	var b bytes.Buffer
	err := report.SearchJSON(&b, q.file)
	if err == nil {
		err = writeOver(filepath.Join(q.dir, search.FileName), func(f *os.File) error { _, err := f.Write(b.Bytes()); return err })
	}
	if err != nil {
		return &exitError{code: exitInternal, msg: err.Error(), hints: []string{"the looks that were made keep their tapes: " + filepath.Join(q.dir, sweepPoints)}}
	}
	return nil
}

// show prints the search, makes its curves, and gives its exit code.
func (q *quest) show() error {
	var b bytes.Buffer
	o := consoleOptions(q.a.stdout)
	o.Full = q.so.full
	var err error
	switch {
	case q.o.json:
		err = report.SearchJSON(&b, q.file)
	case q.so.markdown:
		err = report.SearchMarkdown(&b, q.file, o)
	default:
		err = report.SearchConsole(&b, q.file, o)
	}
	if err != nil {
		return &exitError{code: exitInternal, msg: err.Error()}
	}
	if err := q.a.put(b.Bytes(), outFile{}); err != nil {
		return err
	}
	if len(q.file.Looks) > 0 {
		silent := *q.a
		silent.stdout = io.Discard
		if err := silent.curves(q.dir, curveOptions{}); err != nil {
			fmt.Fprintf(q.a.stderr, "no curves: %v\n", err)
		}
	}
	fmt.Fprintf(q.a.stderr, "search: %s\n", q.dir)
	return searchEnding(q.file)
}

// searchEnding is the exit code of a verdict.
func searchEnding(f *search.File) error {
	v := f.Verdict
	code := 0
	switch {
	case v == nil:
		return &exitError{code: exitOpen, msg: "the search has not ended"}
	case v.End == search.EndInterrupted:
		code = exitInterrupted
	case v.Result == search.Found || v.Result == search.AtLeast:
		return nil
	case v.Result == search.None:
		code = exitMissed
	case v.Result == search.Client:
		code = exitUnfit
	default:
		code = exitOpen
	}
	return &exitError{code: code, msg: v.Line}
}

// announce says before the first look what is going to be done.
func (q *quest) announce() {
	p := q.file.Asked
	w := q.a.stderr
	length := ""
	if p.Requests > 0 {
		length = fmt.Sprintf("%d requests", p.Requests)
	}
	if p.DurationS > 0 {
		length = strings.TrimPrefix(length+", at most "+(time.Duration(p.DurationS*1e9)).String(), ", at most ")
	}
	fmt.Fprintf(w, "search      %s from %.4g to %s · precision %g %%\n", p.For, p.From, p.Load(p.To), 100*p.Precision)
	fmt.Fprintf(w, "limits      %s\n", strings.Join(q.file.SLO, ", "))
	fmt.Fprintf(w, "looks       at most %d, each bound at %.4g %% · a look is %s, less far from the limit, up to four times as much near it\n", p.MostLooks, 100*q.file.Level, length)
	if n := p.Enough(); p.Goal == search.Highest && n > p.MostLooks {
		fmt.Fprintf(w, "            they may not do: up to %d where each decides (%d of them measure the winner again): --most-looks %d\n", n, search.Reserve, n)
	}
	switch {
	case q.file.EstimateS != nil:
		fmt.Fprintf(w, "time        at most about %s\n", long(time.Duration(*q.file.EstimateS*1e9)))
	default:
		fmt.Fprintf(w, "time        not known before the first look (--at-most bounds it)\n")
	}
}
