package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/window"
	"tokentape/internal/report"
	"tokentape/internal/report/html"
	"tokentape/tape"
)

func (a *app) reportCommand() *cobra.Command {
	var windows, as []string
	var format string
	var out outFile
	var check, full, schema, withText bool
	var expect, sets []string
	var power, lang string
	var picture chartFlags
	var of curveOptions
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Read the tables off a tape again, without sending anything",
		Long: `report recomputes a run from its tape alone. RUN is the run's folder or the tape
itself, or a folder of runs such as runs/NAME: the newest in it. The numbers are the
same, byte for byte, on any machine. The folder of a sweep or search is read point by
point: the table of its points, knee, front, and --expected FILE beside them.

What is known only later (prices, devices, limits) is given by --set and --expect.`,
		Example: `  tokentape report runs/first-run
  tokentape report runs/first-run/2026-11-30T040000Z
  tokentape report runs/first-run/2026-11-30T040000Z --full
  tokentape report runs/first-run/2026-11-30T040000Z --window stable --format json
  tokentape report runs/first-run/2026-11-30T040000Z --window steady,seconds:10..60
  tokentape report runs/first-run/2026-11-30T040000Z --format markdown --out report.md
  tokentape report runs/first-run/2026-11-30T040000Z --format html --out report.html
  tokentape report runs/first-run/2026-11-30T040000Z --format html --with-text --out texts.html
  tokentape report runs/first-run/2026-11-30T040000Z --chart ttft-time --out ttft.svg
  tokentape report runs/first-run/2026-11-30T040000Z --set devices=8 --set cost.per_device_hour=2.5
  tokentape report runs/first-run/2026-11-30T040000Z-sweep --format csv
  tokentape report runs/first-run/2026-11-30T040000Z-sweep --expected expected.csv
  tokentape report runs/first-run/2026-11-30T040000Z --as vllm,aisbench
  tokentape report runs/first-run/2026-11-30T040000Z --format vllm --full --out result.json
  tokentape report runs/first-run/2026-11-30T040000Z --format aisbench --out outputs/default`,
		Args: func(cmd *cobra.Command, args []string) error {
			if schema {
				if len(args) > 0 {
					return usageError("--schema prints the form of every results.json, and reads no run", "tokentape report --schema, or leave --schema out")
				}
				return nil
			}
			return oneRun("report", 0)(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of results.json instead of a run")
	cmd.Flags().StringSliceVar(&windows, "window", nil, window.Usage+"; several side by side; default: those of the spec")
	cmd.Flags().StringVar(&format, "format", "console", "console, markdown, json, html (a page that needs nothing else), csv (statistics), requests (csv, one line a request), server (csv, what metrics pages said); vllm, sglang: the result file of that tool's client; aisbench: its work folder below --out")
	cmd.Flags().StringSliceVar(&as, "as", nil, "show the tape under other tools' definitions too: "+strings.Join(analysis.AsTools(), ", "))
	cmd.Flags().BoolVar(&full, "full", false, "every table, interval and warning (console, markdown), as in report.txt; the lists of one value a request (vllm, sglang)")
	cmd.Flags().BoolVar(&withText, "with-text", false, fmt.Sprintf("html: hold prompts and answers too, the first %d and last %d characters of each, of %s requests at most; answers are there after record.output: full, prompts where the dataset is as it was", html.TextHead, html.TextTail, report.Number(html.MostTexts)))
	out.register(cmd, "write to this file, which must not exist yet (aisbench: into this folder); default: print")
	picture.register(cmd)
	cmd.Flags().StringVar(&lang, "lang", "", langHelp)
	cmd.Flags().BoolVar(&check, "check", false, "exit as the run did")
	cmd.Flags().StringArrayVar(&expect, "expect", nil, "a condition beside those of the spec, such as 'steady.ttft_ms.p95 < 2000' or 'finish == length'; several times for several; one that misses exits 7")
	cmd.Flags().StringArrayVar(&sets, "set", nil, setHelp)
	cmd.Flags().StringVar(&of.Expected, "expected", "", "of a sweep: CSV, JSON or YAML file of expected values for each point, shown beside the measured ones; default: sweep.expected")
	cmd.Flags().BoolVar(&of.FitOnly, "fit-only", false, "of a sweep: leave runs out that are not fit for use")
	cmd.Flags().StringVar(&power, "power", "", "power series for energy per token: CSV of time,watts; default: power.csv beside the tape")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		if schema {
			return a.put(report.Schema(), out)
		}
		if dir := a.findSweep(args[0]); dir != "" {
			if len(windows) > 1 {
				return usageError("--window: a sweep is read in one window", "--window steady, or one report a window")
			}
			of.Window, of.lang = strings.Join(windows, ""), lang
			return a.reportSweep(cmd, dir, format, out, full, of)
		}
		if of.Expected != "" || of.FitOnly {
			return usageError("--expected and --fit-only are of a sweep, and "+args[0]+" holds none", "what one run must hold: --expect 'steady.ttft_ms.p95 < 2000'")
		}
		view, ok := views[format]
		ok = ok || format == formatHTML
		_, exported := exports[format]
		exported = exported || format == formatAISBench
		if !ok && !exported {
			return usageError(fmt.Sprintf("--format %s: unknown", format), "console, markdown, json, html, csv, requests, server, vllm, sglang or aisbench")
		}
		if format == formatAISBench && out.path == "" {
			return usageError("--format aisbench: a folder with many files, which cannot be printed", "--out DIR, AISBench's --work-dir: DIR/TIME/ is made in it")
		}
		if format == formatAISBench && out.force {
			return usageError("--force: of a folder nothing is written over", "leave --force out")
		}
		if exported && len(sets) > 0 {
			return usageError("--format "+format+": the file of another tool, which knows nothing of --set", "leave --set out")
		}
		if exported && (len(windows) > 0 || len(as) > 0) {
			return usageError("--format "+format+": the file of another tool, which knows neither windows nor other tools", "leave --window and --as out")
		}
		if withText && (format != formatHTML || picture.name != "") {
			return usageError("--with-text: only the page has a place for prompts and answers", "tokentape report RUN --format html --with-text --out texts.html")
		}
		if err := picture.check(cmd); err != nil {
			return err
		}
		lang, err := reportLanguage(lang, format, picture.name)
		if err != nil {
			return err
		}
		for _, w := range windows {
			if err := window.Check(w); err != nil {
				return usageError("--window: " + err.Error())
			}
		}
		if err := analysis.CheckAs(as); err != nil {
			return usageError("--as: " + err.Error())
		}
		if len(as) > 0 && (format == "csv" || format == "requests" || format == "server") {
			return usageError("--as: "+format+" has no place for other tools' tables", "--format console or json")
		}
		if err := checkConditions(expect); err != nil {
			return err
		}
		path, err := a.findRun(args[0])
		if err != nil {
			return err
		}
		o := analysis.Options{Windows: windows, As: as, Expect: expect, Charts: format == formatHTML || picture.name != ""}
		if err := after(path, sets, power, &o); err != nil {
			return err
		}
		show := a.during("analysing the tape")
		o.Watch = show.tape()
		res, err := analyse(path, o, power)
		show.done()
		if err != nil {
			return tapeError(err)
		}
		switch {
		case picture.name != "":
			err = a.chart(res, picture, lang, out)
		case format == formatAISBench:
			err = a.exportAISBench(path, out.path)
		case exported:
			err = a.export(format, path, out, full)
		case format == formatHTML:
			page := html.Options{Lang: lang}
			if withText {
				page.Texts, err = a.texts(path, res)
			}
			if err == nil {
				err = a.page(res, page, out)
			}
		default:
			err = a.emit(view, res, out, report.Options{Full: full, Lang: lang})
		}
		if err != nil {
			return err
		}
		switch {
		case check:
			return tapeEnding(res)
		case len(expect) > 0:
			return expectEnding(res)
		}
		return nil
	}
	return cmd
}

type viewFunc func(w *bytes.Buffer, r *analysis.Results, o report.Options) error

var views = map[string]viewFunc{
	"console":  func(w *bytes.Buffer, r *analysis.Results, o report.Options) error { return report.Console(w, r, o) },
	"markdown": func(w *bytes.Buffer, r *analysis.Results, o report.Options) error { return report.Markdown(w, r, o) },
	"json":     func(w *bytes.Buffer, r *analysis.Results, _ report.Options) error { return report.JSON(w, r) },
	"csv":      func(w *bytes.Buffer, r *analysis.Results, _ report.Options) error { return report.StatsCSV(w, r) },
	"requests": func(w *bytes.Buffer, r *analysis.Results, _ report.Options) error { return report.RequestsCSV(w, r) },
	"server":   func(w *bytes.Buffer, r *analysis.Results, _ report.Options) error { return report.ServerCSV(w, r) },
}

// emit makes a view, and prints it or writes it to a file.
func (a *app) emit(view viewFunc, res *analysis.Results, out outFile, of report.Options) error {
	o := report.Options{Width: 100}
	if out.path == "" {
		o = consoleOptions(a.stdout)
	}
	o.Full, o.Lang = of.Full, of.Lang
	var b bytes.Buffer
	if err := view(&b, res, o); err != nil {
		return &exitError{code: exitInternal, msg: err.Error()}
	}
	return a.put(b.Bytes(), out)
}

// tapeError ends a command whose tape cannot be read.
func tapeError(err error) error {
	if errors.Is(err, tape.ErrNotTape) {
		return usageError(err.Error(), "a run's tape is "+tapeName(true)+" in its folder; results of AISBench become one with tokentape import aisbench-result")
	}
	return usageError(err.Error())
}

// findTape accepts a run's folder or the tape itself.
func findTape(arg string) (string, error) {
	st, err := os.Stat(arg)
	if err != nil {
		return "", usageError(err.Error(), "give the folder of a run, as the run printed it: runs/NAME/TIME")
	}
	if !st.IsDir() {
		return arg, checkPack(arg)
	}
	var found []string
	for _, compress := range []bool{true, false} {
		if p := filepath.Join(arg, tapeName(compress)); fileExists(p) {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if stampName.MatchString(filepath.Base(filepath.Clean(arg))) || hasSides(arg) {
			if err := severalRuns(arg, arg); err != nil {
				return "", err
			}
		}
		msg := fmt.Sprintf("%s holds no tape (tape.jsonl.zst)", arg)
		if inside, _ := filepath.Glob(filepath.Join(arg, "*", "tape.jsonl*")); len(inside) > 0 {
			return "", usageError(msg, "did you mean "+filepath.Dir(inside[len(inside)-1])+"?")
		}
		if inside, _ := filepath.Glob(filepath.Join(arg, "*", "*", "tape.jsonl*")); len(inside) > 0 {
			return "", usageError(msg, "did you mean "+filepath.Dir(filepath.Dir(inside[len(inside)-1]))+", for the newest run in it?")
		}
		return "", usageError(msg, "give the folder of a run, as the run printed it: runs/NAME/TIME")
	}
	return "", usageError(fmt.Sprintf("%s holds two tapes: %s", arg, strings.Join(found, ", ")), "name one of them")
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
