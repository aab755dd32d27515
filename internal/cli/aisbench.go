package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tokentape/internal/exporter/aisbench"
	"tokentape/tape"
)

// aisbenchOptions are AISBench's flags in its performance mode.
type aisbenchOptions struct {
	mode, summarizer string
	models, datasets []string
	configDir        string
	workDir, reuse   string
	prompts, warmups int64
	pressure         bool
	pressureTime     int64
	dryRun           bool
	warmupsSaid      bool // --num-warmups was given
	cap              int64
	stream           tape.Opt[bool]
}

// latest is what --reuse means without a value.
const latest = "latest"

func (a *app) aisbenchCommand() *cobra.Command {
	var o aisbenchOptions
	cmd := &cobra.Command{
		Use:   "aisbench [CONFIG.py]",
		Short: "AISBench's command line: its configs, flags, tables and work folder",
		Long: `aisbench takes the flags of ais_bench's performance mode and its Python configs, sends
the load, prints its tables and writes its work folder. The tape and the report lie
beside it, in WORK_DIR/TIME/tokentape/.

  --mode perf       send the load, print and write the tables (the default here)
  --mode perf_viz   recompute them from --reuse TIME, of our runs and of AISBench's own

What is other than there: --dry-run sends and writes nothing; the exit status tells
how it went; perf_viz takes all from the run itself, not from the config of the day,
and keeps the earlier tables; answers to an error inside a stream are told apart in
the report. docs/howto/aisbench.md says more.`,
		Example: `  tokentape aisbench perf_config.py --mode perf --summarizer default_perf --num-prompts 100 --work-dir out
  tokentape aisbench --mode perf_viz --reuse 20261130_120000 --summarizer stable_stage --work-dir out
  tokentape aisbench --models vllm_api_stream_chat --datasets gsm8k_gen --config-dir ais_bench/benchmark/configs`,
		DisableFlagParsing: true, // lists divided by blanks: --models a b
	}
	fs := cmd.Flags()
	fs.StringVarP(&o.mode, "mode", "m", "perf", "perf or perf_viz")
	fs.StringVar(&o.summarizer, "summarizer", "", "default_perf or stable_stage; default: as the config says, else default_perf")
	fs.StringSliceVar(&o.models, "models", nil, "files below models/ of --config-dir, by their names")
	fs.StringSliceVar(&o.datasets, "datasets", nil, "files below datasets/ of --config-dir, by their names")
	fs.StringVar(&o.configDir, "config-dir", "", "AISBench's folder of configs (ais_bench/benchmark/configs)")
	fs.StringVarP(&o.workDir, "work-dir", "w", "outputs/default", "folder in which the folder of the run, named by the time, is made")
	fs.StringVarP(&o.reuse, "reuse", "r", "", "perf_viz: the folder of a run in --work-dir; without a value: the latest")
	fs.Lookup("reuse").NoOptDefVal = latest
	fs.Int64Var(&o.prompts, "num-prompts", 0, "the first N rows (default: all)")
	fs.Int64Var(&o.warmups, "num-warmups", 1, "requests before the measured ones")
	fs.BoolVar(&o.pressure, "pressure", false, "as many clients as batch_size, one after the other, each going on for --pressure-time")
	fs.Int64Var(&o.pressureTime, "pressure-time", 15, "seconds of --pressure, from its start")
	fs.BoolVar(&o.dryRun, "dry-run", false, "show what the config asks for; nothing is sent or written")
	fs.SetNormalizeFunc(capName)
	fs.Int64Var(&o.cap, "cap", 0, "perf_viz of AISBench's own results: requests in flight at most, its batch_size (also --max-concurrency); default: as the run, case.json or CONFIG.py say")
	stream := fs.Bool("stream", true, "perf_viz of AISBench's own results: answers were streams; default: as the run, case.json or CONFIG.py say")
	for name, what := range aisbenchIdle {
		if name == "max-num-workers" || name == "max-workers-per-gpu" {
			fs.Int64(name, 1, what)
		} else {
			fs.Bool(name, false, what)
		}
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := fs.Parse(aisbenchArgs(args)); err != nil {
			return usageError(err.Error(), "see tokentape aisbench --help")
		}
		if help, _ := fs.GetBool("help"); help {
			return cmd.Help()
		}
		o.warmupsSaid = fs.Changed("num-warmups")
		if fs.Changed("stream") {
			o.stream = tape.Some(*stream)
		}
		if fs.Changed("cap") && o.cap < 1 {
			return usageError(fmt.Sprintf("--max-concurrency %d: 1 or more", o.cap))
		}
		if err := o.check(fs.Args(), fs.Changed("num-prompts")); err != nil {
			return err
		}
		for _, name := range []string{"max-num-workers", "max-workers-per-gpu", "merge-ds", "spec-decode"} {
			if fs.Changed(name) {
				fmt.Fprintf(a.stderr, "--%s: %s\n", name, aisbenchIdle[name])
			}
		}
		if o.mode == "perf_viz" {
			return a.aisbenchViz(strings.Join(fs.Args(), ""), o)
		}
		return a.aisbenchPerf(cmd.Context(), strings.Join(fs.Args(), ""), o)
	}
	return cmd
}

// aisbenchIdle are flags of AISBench that its users' scripts hold, and that change
// nothing here.
var aisbenchIdle = map[string]string{
	"debug":               "no effect: there are no worker processes, and messages go to the terminal always",
	"max-num-workers":     "no effect: models and datasets are run one after the other",
	"max-workers-per-gpu": "no effect, as there in service mode",
	"merge-ds":            "no effect: each dataset is a load of its own",
	"spec-decode":         "no effect: telemetry.metrics of a spec records all of a server's series",
}

var timeFolder = regexp.MustCompile(`^\d{8}_\d{6}$`)

// aisbenchArgs makes lists divided by blanks ones that are divided by commas, and
// gives --reuse its value.
func aisbenchArgs(args []string) (out []string) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		name, _, given := strings.Cut(arg, "=")
		switch {
		case given:
		case name == "--models" || name == "--datasets":
			var list []string
			for i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
				list = append(list, args[i])
			}
			arg += "=" + strings.Join(list, ",")
		case (name == "--reuse" || name == "-r") && i+1 < len(args) && (timeFolder.MatchString(args[i+1]) || args[i+1] == latest):
			i++
			arg = "--reuse=" + args[i]
		}
		out = append(out, arg)
	}
	return out
}

func (o *aisbenchOptions) check(args []string, prompts bool) error {
	switch {
	case o.mode == "perf" && o.reuse != "":
		o.mode = "perf_viz" // as there: a run is not gone on with
	case o.mode != "perf" && o.mode != "perf_viz":
		return usageError("--mode "+o.mode+": only perf and perf_viz are known here; answers are not scored", "accuracy is a matter for AISBench itself")
	}
	switch o.summarizer {
	case "", "default_perf", "stable_stage":
	default:
		return usageError("--summarizer "+o.summarizer+": default_perf and stable_stage are known here", "AISBench itself takes default_perf in place of any other, without a word")
	}
	named := len(o.models) + len(o.datasets)
	switch {
	case o.mode == "perf" && (o.cap > 0 || o.stream.OK):
		return usageError("--max-concurrency and --stream are for --mode perf_viz", "of a load they are batch_size and stream of the config's model")
	case prompts && o.prompts < 1, o.warmups < 0:
		return usageError("--num-prompts is 1 or more, --num-warmups 0 or more")
	case o.pressureTime < 1 || o.pressureTime > 86400:
		return usageError(fmt.Sprintf("--pressure-time %d: 1 to 86400 seconds", o.pressureTime))
	case len(args) > 1:
		return usageError("one config at most: "+strings.Join(args, " "), "--reuse TIME is a folder such as 20261130_120000")
	case len(args) == 1 && named > 0:
		return usageError("a config, or --models and --datasets: not both")
	case o.mode == "perf_viz":
		if o.reuse == "" {
			return usageError("--mode perf_viz needs --reuse TIME: which run to show", "the latest in "+o.workDir+": --reuse")
		}
	case len(args) == 0 && (len(o.models) == 0 || len(o.datasets) == 0):
		return usageError("nothing to send: name a config, or --models and --datasets", "tokentape aisbench perf_config.py")
	case named > 0 && o.configDir == "":
		return usageError("--models and --datasets are names of files in AISBench's folder of configs, which is not said", "--config-dir ais_bench/benchmark/configs")
	}
	return nil
}

// stage is that of the tables to print.
func (o *aisbenchOptions) stage(windows []string) string {
	switch {
	case o.summarizer == "stable_stage", o.summarizer == "" && len(windows) > 0 && windows[0] == "stable":
		return aisbench.Stable
	}
	return aisbench.Total
}

// endings collects how several things ended, each said when it happened.
type endings struct{ codes []int }

// add says an error that is not nil, and keeps its code.
func (e *endings) add(a *app, err error) {
	if err == nil {
		return
	}
	x := &exitError{code: exitInternal, msg: err.Error()}
	errors.As(err, &x)
	a.say(x)
	e.codes = append(e.codes, x.code)
}

// err is the ending that decides the exit code, by the order of docs/exit-codes.md.
func (e *endings) err() error {
	for _, code := range codeOrder {
		if slices.Contains(e.codes, code) {
			return &exitError{code: code, quiet: true}
		}
	}
	return nil
}
