package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/window"
	"tokentape/internal/report"
	"tokentape/internal/spec"
)

func (a *app) explainCommand() *cobra.Command {
	var win, format, power, lang string
	var sets []string
	cmd := &cobra.Command{
		Use:   "explain [NAME [RUN]]",
		Short: "Say what a number means and, of a run, which requests made it",
		Long: `explain alone lists every name. With a name it prints the definition: what is
computed from which fields of the tape, who enters, who does not and why. With a
run (its folder, the tape, or a folder of runs: the newest) it prints the value, how it came to be and
the requests behind it. Names are those of results.json and of expect: conditions.`,
		Example: `  tokentape explain ttft_ms
  tokentape explain ttft_ms.p99 runs/first-run/2026-11-30T040000Z
  tokentape explain output_tokens_per_s runs/first-run/2026-11-30T040000Z --window whole
  tokentape explain counts.failed runs/first-run/2026-11-30T040000Z`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return nil
			}
			return oneRun("explain NAME", 1)(cmd, args)
		},
	}
	cmd.Flags().StringVar(&win, "window", "", window.Usage+"; default: the first that exists of steady, stable, whole")
	cmd.Flags().StringVar(&format, "format", "console", "console or json")
	cmd.Flags().StringArrayVar(&sets, "set", nil, setHelp)
	cmd.Flags().StringVar(&power, "power", "", "power series for energy per token: CSV of time,watts; default: power.csv beside the tape")
	cmd.Flags().StringVar(&lang, "lang", "", "en; definitions in Chinese are on the page: tokentape report RUN --format html --lang zh")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if in, err := language(lang); err != nil {
			return err
		} else if in != "en" {
			return usageError("--lang "+lang+": how a number came to be is told in English alone", "leave --lang out", "what each metric means, in Chinese: tokentape report RUN --full --lang zh")
		}
		if format != "console" && format != "json" {
			return usageError(fmt.Sprintf("--format %s: unknown", format), "console or json")
		}
		if len(args) < 2 && (win != "" || power != "" || len(sets) > 0) {
			return usageError("--window, --power and --set are of a run", "tokentape explain NAME RUN")
		}
		o := analysis.Options{}
		if win != "" {
			if err := window.Check(win); err != nil {
				return usageError("--window: " + err.Error())
			}
			o.Windows = []string{win}
		}
		var b bytes.Buffer
		view := consoleOptions(a.stdout)
		if len(args) == 0 {
			if format == "json" {
				return a.printed(report.DefinitionsJSON(&b, analysis.Definitions()), &b)
			}
			return a.printed(report.DefinitionsText(&b, analysis.Definitions(), view), &b)
		}
		e, err := a.explain(args, o, power, sets)
		if err != nil {
			return err
		}
		if format == "json" {
			return a.printed(report.ExplainJSON(&b, e), &b)
		}
		return a.printed(report.ExplainText(&b, e, view), &b)
	}
	return cmd
}

// printed prints a view that was made without an error.
func (a *app) printed(err error, view *bytes.Buffer) error {
	if err != nil {
		return &exitError{code: exitInternal, msg: err.Error()}
	}
	return a.put(view.Bytes(), outFile{})
}

// explain answers for a name, or for a name and a run.
func (a *app) explain(args []string, o analysis.Options, power string, sets []string) (*analysis.Explanation, error) {
	e, err := analysis.Explain(args[0])
	if err != nil {
		return nil, unknownName(err)
	}
	if len(args) == 1 {
		return e, nil
	}
	path, err := a.findRun(args[1])
	if err != nil {
		return nil, err
	}
	if err := after(path, sets, power, &o); err != nil {
		return nil, err
	}
	if o.Power, err = powerOf(path, power); err != nil {
		return nil, usageError(err.Error())
	}
	show := a.during("analysing the tape")
	o.Watch = show.tape()
	e, err = analysis.ExplainFile(path, args[0], o)
	show.done()
	var unknown *analysis.UnknownName
	if errors.As(err, &unknown) {
		return nil, unknownName(err)
	} else if err != nil {
		return nil, tapeError(err)
	}
	return e, nil
}

// unknownName suggests what a name may have meant.
func unknownName(err error) error {
	var u *analysis.UnknownName
	if !errors.As(err, &u) {
		return usageError(err.Error())
	}
	hint := u.Hint
	if hint == "" {
		hint = "tokentape explain lists all names"
		if near := nearestNames(u.Known, u.Word); len(near) > 0 {
			hint = "did you mean " + strings.Join(near, ", ") + "? " + hint
		}
	}
	return usageError(u.Message, hint)
}

// nearestNames are up to three names like word: the closest by letters, then those
// that hold it or end like it.
func nearestNames(known []string, word string) []string {
	var near []string
	add := func(name string) {
		for _, have := range near {
			if have == name {
				return
			}
		}
		if name != "" && len(near) < 3 {
			near = append(near, name)
		}
	}
	add(spec.Nearest(known, word))
	for _, n := range known {
		if last := n[strings.LastIndexByte(n, '.')+1:]; last != n && spec.Nearest([]string{last}, word) != "" {
			add(n)
		}
	}
	if word = strings.ToLower(word); len(word) >= 3 {
		for _, n := range known {
			if strings.Contains(n, word) {
				add(n)
			}
		}
	}
	return near
}
