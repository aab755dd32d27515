package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tokentape/internal/analysis/compare"
	"tokentape/internal/analysis/curve"
	"tokentape/internal/report"
	"tokentape/internal/report/html"
	"tokentape/internal/search"
	"tokentape/internal/sweep"
)

// curveOptions say how a sweep is read, and what is printed.
type curveOptions struct {
	curve.Options
	json bool   // curve.json instead of the table
	lang string // of the page
}

// curveFiles are written beside sweep.json, over those of before: they can be made
// again of the tapes at any time.
var curveFiles = []struct{ name, format string }{
	{"curve.json", "json"}, {"curve.csv", "csv"}, {"curve.md", "markdown"}, {"curve.html", formatHTML},
}

// curves reads the points in the folder of a sweep or search together, writes what
// they say beside them, and prints it. It has no exit code of its own for what was
// measured: whoever ran the points has.
func (a *app) curves(dir string, o curveOptions) error {
	c, err := a.readCurves(dir, o.Options)
	if err != nil {
		return err
	}
	for _, f := range curveFiles {
		view, err := curveView(c, f.format, o.lang, report.Options{Full: true})
		if err == nil {
			err = writeOver(filepath.Join(dir, f.name), func(f *os.File) error { _, err := f.Write(view); return err })
		}
		if err != nil {
			return &exitError{code: exitInternal, msg: err.Error(), hints: []string{"the tapes are whole: tokentape report " + dir}}
		}
	}
	format, ro := "console", consoleOptions(a.stdout)
	if o.json {
		format = "json"
	}
	view, err := curveView(c, format, o.lang, ro)
	if err != nil {
		return &exitError{code: exitInternal, msg: err.Error()}
	}
	return a.put(view, outFile{})
}

// readCurves is curve.Read with its progress, and errors for people.
func (a *app) readCurves(dir string, o curve.Options) (*curve.Curves, error) {
	show := a.loading()
	o.Watch = func(done, total int) {
		show.show("reading the points", int64(done), int64(total), func() string { return fmt.Sprintf("%d of %d runs", done, total) })
	}
	c, err := curve.Read(dir, o)
	show.done()
	if err != nil {
		return nil, curveError(dir, err)
	}
	if c.Kind == "search" {
		c.Search = searched(dir)
	}
	return c, nil
}

// searched is what the search in dir decided; nil where its file cannot be read.
func searched(dir string) []string {
	text, err := os.ReadFile(filepath.Join(dir, search.FileName))
	if err != nil {
		return nil
	}
	f, err := search.ReadFile(text)
	if err != nil {
		return []string{err.Error()}
	}
	line, run := "the search has not ended", ""
	if v := f.Verdict; v != nil {
		line, run = v.Line, v.Run
	}
	out := []string{line, "limits: " + strings.Join(f.SLO, ", ")}
	for i := range f.Looks {
		l := &f.Looks[i]
		text := fmt.Sprintf("look %d (%s) at %s: %s", l.N, strings.ReplaceAll(l.Kind, "_", " "), f.Asked.Load(l.At), strings.ReplaceAll(l.Decision, "_", "-"))
		if why := strings.TrimPrefix(l.Why, l.Decision+": "); why != "" {
			text += ": " + why
		}
		if run != "" && l.Run == run {
			text += " (the verdict's measurement)"
		}
		out = append(out, text)
	}
	return out
}

func curveError(dir string, err error) error {
	var expected *curve.ExpectedError
	if errors.As(err, &expected) {
		return usageError(expected.Error(), expected.Hint)
	}
	return usageError(err.Error(), "each point is a run of its own: tokentape report "+filepath.Join(dir, "points", "NAME"))
}

// curveView makes one view of a sweep.
func curveView(c *curve.Curves, format, lang string, o report.Options) ([]byte, error) {
	var b bytes.Buffer
	var err error
	switch format {
	case "console":
		err = report.CurveConsole(&b, c, o)
	case "markdown":
		err = report.CurveMarkdown(&b, c, o)
	case "json":
		err = report.CurveJSON(&b, c)
	case "csv":
		err = report.CurveCSV(&b, c)
	default:
		err = html.WriteCurves(&b, c, html.Options{Lang: lang})
	}
	return b.Bytes(), err
}

// findSweep is the folder of a sweep or search: arg itself, or the newest in it where
// that is one; "" where it is neither. The newest is said.
func (a *app) findSweep(arg string) string {
	if sweep.Holds(arg) {
		return arg
	}
	entries, _ := os.ReadDir(arg)
	newest, n := "", 0
	for _, e := range entries { // their names begin with the time
		at := filepath.Join(arg, e.Name())
		if stampStart.MatchString(e.Name()) && (sweep.Holds(at) || holdsRuns(at)) {
			newest, n = at, n+1
		}
	}
	if newest == "" || !sweep.Holds(newest) {
		return ""
	}
	fmt.Fprintf(a.stderr, "tokentape: %s, the newest of %d in %s\n", newest, n, arg)
	return newest
}

// stampStart is how names of folders of runs and sweeps begin.
var stampStart = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d{6}Z`)

// curveFormats are those of report that a sweep has.
var curveFormats = []string{"console", "markdown", "json", "csv", formatHTML}

// ofRun are flags of report that say something of one run alone.
var ofRun = []string{"as", "chart", "check", "expect", "power", "set", "with-text"}

// sweepLanguage is reportLanguage for what is said of sweeps: their tables speak English
// alone, so that another language is refused, or, where the environment asked for it,
// not given and said so.
func (a *app) sweepLanguage(lang, format string) (string, error) {
	in, err := reportLanguage(lang, format, "")
	english, _ := language("")
	switch {
	case err != nil, format == formatHTML, in == english:
		return in, err
	case lang == langAuto:
		fmt.Fprintln(a.stderr, "tokentape: the tables of sweeps are in English alone; their page is not: --format html")
		return english, nil
	}
	return "", usageError("--lang "+lang+": the tables of sweeps are in English alone", "their page is in both languages: --format html --lang "+lang+" --out FILE.html")
}

// reportSweep is report for the folder of a sweep or search.
func (a *app) reportSweep(cmd *cobra.Command, dir, format string, out outFile, full bool, o curveOptions) error {
	if !slices.Contains(curveFormats, format) {
		return usageError("--format "+format+": of one run alone, and "+dir+" holds a sweep", strings.Join(curveFormats, ", ")+"; or one of its points: tokentape report "+filepath.Join(dir, "points", "NAME"))
	}
	for _, name := range ofRun {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return usageError("--"+name+": of one run alone, and "+dir+" holds a sweep", "tokentape report "+filepath.Join(dir, "points", "NAME")+" --"+name+" …")
		}
	}
	var err error
	if o.lang, err = a.sweepLanguage(o.lang, format); err != nil {
		return err
	}
	c, err := a.readCurves(dir, o.Options)
	if err != nil {
		return err
	}
	ro := report.Options{Width: 100}
	if out.path == "" {
		ro = consoleOptions(a.stdout)
	}
	ro.Full = full
	view, err := curveView(c, format, o.lang, ro)
	if err != nil {
		return &exitError{code: exitInternal, msg: err.Error()}
	}
	if err := a.put(view, out); err != nil {
		return err
	}
	if c.Measured == 0 {
		return &exitError{code: exitNothing, msg: "no point of the sweep was measured", quiet: true}
	}
	return nil
}

// sweepsOf are the folders of what is to be compared where they are sweeps, all of them;
// nil where none is.
func (a *app) sweepsOf(args []string) ([]string, error) {
	var dirs []string
	for _, arg := range args {
		if dir := a.findSweep(arg); dir != "" {
			dirs = append(dirs, dir)
		}
	}
	switch n := len(dirs); {
	case n == 0:
		return nil, nil
	case n != len(args) || n != 2:
		return nil, usageError(fmt.Sprintf("%d of %d are sweeps: a sweep is compared with one other sweep", n, len(args)), "tokentape compare SWEEP_A SWEEP_B; single points: SWEEP_A/points/NAME SWEEP_B/points/NAME")
	}
	return dirs, nil
}

// compareSweeps is compare for two sweeps.
func (a *app) compareSweeps(args []string, o compare.Options, format, lang string, full bool, out outFile) error {
	lang, err := a.sweepLanguage(lang, format)
	if err != nil {
		return err
	}
	show := a.during("comparing the sweeps")
	c, err := curve.Compare(args[0], args[1], curve.Options{}, o)
	show.done()
	if err != nil {
		return tapeError(err)
	}
	ro := report.Options{Width: 80}
	if out.path == "" {
		ro = consoleOptions(a.stdout)
	}
	ro.Full = full
	var b bytes.Buffer
	switch format {
	case "json":
		err = report.CurveCompareJSON(&b, c)
	case "markdown":
		err = report.CurveCompareMarkdown(&b, c, ro)
	case formatHTML:
		err = html.WriteCurveComparison(&b, c, html.Options{Lang: lang})
	default:
		err = report.CurveCompareConsole(&b, c, ro)
	}
	if err != nil {
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
