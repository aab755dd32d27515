package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tokentape/internal/analysis/compare"
	"tokentape/internal/analysis/window"
	"tokentape/internal/report"
)

// exitWorse is compare's own.
const exitWorse = 6

func (a *app) compareCommand() *cobra.Command {
	var o compare.Options
	var format, lang string
	var out outFile
	var tolerances []string
	var full bool
	cmd := &cobra.Command{
		Use:   "compare A B …",
		Short: "Say whether runs are better or worse than others, and how sure that is",
		Long: `compare holds every further side against the first. A side is the folder of a run,
a tape, or a folder that holds several runs of one side (tokentape run --repeat K).
A folder with a/ and b/ in it (run --repeat K --against …) is two sides by itself,
and a folder of such folders, runs/NAME, means the newest of them. Two sweeps are
compared point by point, as far as both have a point.

Five runs a side or more, taken in turns, are compared by an exact rank test. One
run a side with the same plan is paired row by row, and the verdict then says that
the variance between runs is unknown. ~ is undecided.

A metric is better or worse when the test says that it differs and the shift is
beyond the tolerance, and the same when its whole interval is within. Exit code 6
is worse; better, same and undecided are 0.`,
		Example: `  tokentape compare runs/base/2026-11-30T040000Z runs/new/2026-11-30T050000Z
  tokentape compare before/ after/ --on ttft_ms.p95,output_tokens_per_s --tolerance 5%
  tokentape compare runs/ab/2026-11-30T040000Z --format markdown
  tokentape compare runs/base/2026-11-30T040000Z-sweep runs/new/2026-11-30T050000Z-sweep`,
		Args: cobra.MinimumNArgs(1),
	}
	cmd.Flags().StringSliceVar(&o.On, "on", nil, "metrics that decide; default "+strings.Join(compare.DefaultOn, ","))
	cmd.Flags().StringSliceVar(&tolerances, "tolerance", nil, "change that does not matter, such as 3%, or METRIC=5% of one metric; may be repeated (default 2%; 10% with one run a side)")
	cmd.Flags().StringVar(&o.Window, "window", "", window.Usage+"; default: steady where every run has it, else whole")
	cmd.Flags().BoolVar(&o.FitOnly, "fit-only", false, "leave runs out that are not fit for use")
	cmd.Flags().StringVar(&format, "format", "console", "console, json, markdown; of two sweeps html too: their curves over each other")
	cmd.Flags().BoolVar(&full, "full", false, "every metric on the console")
	cmd.Flags().StringVar(&lang, "lang", "", langHelp)
	out.register(cmd, "write to this file, which must not exist yet; default: print")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		view, ok := compareViews[format]
		if !ok && format != formatHTML {
			return usageError(fmt.Sprintf("--format %s: unknown", format), "console, json or markdown; html of two sweeps")
		}
		in, err := reportLanguage(lang, format, "")
		if err != nil {
			return err
		}
		if err := setTolerances(&o, tolerances); err != nil {
			return err
		}
		if sweeps, err := a.sweepsOf(args); err != nil {
			return err
		} else if sweeps != nil {
			return a.compareSweeps(sweeps, o, format, lang, full, out)
		}
		if !ok {
			return usageError("--format html: of two sweeps", "runs over each other on a page: tokentape view DIR")
		}
		sides, err := a.findSides(args)
		if err != nil {
			return err
		}
		show := a.during("comparing the runs")
		c, err := compare.Compare(sides, o)
		show.done()
		if err != nil {
			return tapeError(err)
		}
		ro := report.Options{Width: 80}
		if out.path == "" {
			ro = consoleOptions(a.stdout)
		}
		ro.Full, ro.Lang = full, in
		var b bytes.Buffer
		if err := view(&b, c, ro); err != nil {
			return &exitError{code: exitInternal, msg: err.Error()}
		}
		if err := a.put(b.Bytes(), out); err != nil {
			return err
		}
		if c.Verdict == compare.Worse {
			return &exitError{code: exitWorse, msg: c.Line}
		}
		return nil
	}
	return cmd
}

var compareViews = map[string]func(*bytes.Buffer, *compare.Comparison, report.Options) error{
	"console": func(w *bytes.Buffer, c *compare.Comparison, o report.Options) error {
		return report.CompareConsole(w, c, o)
	},
	"json": func(w *bytes.Buffer, c *compare.Comparison, _ report.Options) error {
		return report.CompareJSON(w, c)
	},
	"markdown": func(w *bytes.Buffer, c *compare.Comparison, o report.Options) error {
		return report.CompareMarkdown(w, c, o)
	},
}

// setTolerances reads 3%, 0.03, and METRIC= before either.
func setTolerances(o *compare.Options, texts []string) error {
	for _, text := range texts {
		metric, value, of := strings.Cut(text, "=")
		if !of {
			metric, value = "", text
		}
		number, percent := strings.CutSuffix(strings.TrimSpace(value), "%")
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if percent {
			v /= 100
		}
		switch {
		case err != nil, !(v >= 0 && v <= 1):
			return usageError(fmt.Sprintf("--tolerance %s: not a share", text), "a percentage such as 3%, or ttft_ms.p95=5% for one metric")
		case of:
			if o.PerMetric == nil {
				o.PerMetric = map[string]float64{}
			}
			o.PerMetric[strings.TrimSpace(metric)] = v
		default:
			o.Tolerance = &v
		}
	}
	return nil
}

// findSides makes sides of the arguments. One folder with a/ and b/ is both, and
// one folder of such folders means the newest of them.
func (a *app) findSides(args []string) ([]compare.Input, error) {
	if len(args) == 1 {
		both := args[0]
		if !hasSides(both) {
			if both = newestIn(args[0], hasSides); both == "" {
				return nil, usageError(args[0]+" is one side, and there is no other to hold against it", "tokentape compare A B; one folder alone must hold a/ and b/, as tokentape run --repeat K --against … makes it")
			}
			a.sayNewest(both, args[0])
		}
		args = []string{filepath.Join(both, "a"), filepath.Join(both, "b")}
	}
	var sides []compare.Input
	for _, arg := range args {
		tapes, err := findTapes(arg)
		if err != nil {
			return nil, err
		}
		sides = append(sides, compare.Input{Path: arg, Tapes: tapes})
	}
	return sides, nil
}

// findTapes accepts what report does, and a folder whose folders are runs.
func findTapes(arg string) ([]string, error) {
	path, err := findTape(arg)
	if err == nil {
		return []string{path}, nil
	}
	entries, readErr := os.ReadDir(arg)
	if readErr != nil {
		return nil, err
	}
	var tapes []string
	for _, e := range entries {
		inside, insideErr := findTape(filepath.Join(arg, e.Name()))
		if e.IsDir() && insideErr == nil {
			tapes = append(tapes, inside)
		}
	}
	if len(tapes) == 0 {
		var usage *exitError
		if errors.As(err, &usage) && isDir(filepath.Join(arg, "a")) {
			return nil, usageError(arg+" holds two sides, a and b", "tokentape compare "+arg+" alone, or name one of them; tokentape compare "+filepath.Dir(arg)+" means the newest in it")
		}
		return nil, err
	}
	slices.Sort(tapes)
	return tapes, nil
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
