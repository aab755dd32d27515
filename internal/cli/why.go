package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tokentape/internal/analysis"
	"tokentape/internal/report"
	"tokentape/tape"
)

func (a *app) whyCommand() *cobra.Command {
	var format, lang string
	var full bool
	cmd := &cobra.Command{
		Use:   "why [RUN]",
		Short: "Say in which stage a run went wrong, with the bytes, and what to do",
		Long: `why reads the tape and the run.log of a run and says whether something went wrong
and where: configuration, connect, request, stream, record or analysis. It shows an
example of the most frequent failures with its bytes, when they came and what they
have in common, missed checks with their evidence, and the next step as a command.
With --full it does so for each class of failures, with all bytes that were kept.
Nothing is sent.

RUN is a run's folder, also that of a run that never began, a tape, a run.log, or a
folder of runs: the newest in it. Without RUN it is runs.`,
		Example: `  tokentape why
  tokentape why runs/first-run/2026-11-30T040000Z
  tokentape why runs/first-run --format json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return oneRun("why", 0)(cmd, args)
		},
	}
	cmd.Flags().StringVar(&format, "format", "console", "console or json")
	cmd.Flags().BoolVar(&full, "full", false, "every class with its example, all that missed, the lines of run.log")
	cmd.Flags().StringVar(&lang, "lang", "", langHelp)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if format != "console" && format != "json" {
			return usageError(fmt.Sprintf("--format %s: unknown", format), "console or json")
		}
		in, err := reportLanguage(lang, format, "")
		if err != nil {
			return err
		}
		arg := "runs"
		if len(args) > 0 {
			arg = args[0]
		} else if !isDir(arg) {
			return usageError("there is no folder runs here", "tokentape why RUN: the folder of a run, as the run printed it")
		}
		at, err := a.findTrace(arg)
		if err != nil {
			return err
		}
		show := a.during("looking at the tape")
		t, err := at.triage()
		show.done()
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if format == "json" {
			err = a.printed(report.WhyJSON(&b, t), &b)
		} else {
			o := consoleOptions(a.stdout)
			o.Full, o.Lang = full, in
			err = a.printed(report.WhyText(&b, t, o), &b)
		}
		if err == nil && t.Unsaid {
			return &exitError{code: exitInternal, msg: "what became of the run could not be said: " + t.Line}
		}
		return err
	}
	return cmd
}

// trace is what a run left behind.
type trace struct {
	name string // as commands name it
	tape string // path, "" for none
	log  string // path, "" for none
}

// findTrace accepts what findRun does, and what is left of runs that never began.
func (a *app) findTrace(arg string) (*trace, error) {
	st, err := os.Stat(arg)
	if err != nil {
		return nil, usageError(err.Error(), "give the folder of a run, as the run printed it: runs/NAME/TIME")
	}
	if !st.IsDir() {
		if filepath.Base(arg) == logName {
			return &trace{name: arg, log: arg}, nil
		}
		return besideTape(arg, arg), nil
	}
	if path, err := findTape(arg); err == nil {
		return besideTape(arg, path), nil
	} else if tapes, _ := filepath.Glob(filepath.Join(globbed(arg), "tape.jsonl*")); len(tapes) > 1 {
		return nil, err // which of them, the user must say
	}
	found := tracesBelow(arg)
	if len(found) == 0 {
		_, err := findTape(arg)
		return nil, err
	}
	newest := slices.MaxFunc(found, func(x, y *trace) int { return strings.Compare(x.began(), y.began()) })
	if newest.log != filepath.Join(arg, logName) {
		fmt.Fprintf(a.stderr, "tokentape: %s, the newest in %s\n", newest.name, arg)
	}
	return newest, nil
}

// besideTape is a run of which there is a tape.
func besideTape(name, path string) *trace {
	t := &trace{name: name, tape: path}
	if log := filepath.Join(filepath.Dir(path), logName); fileExists(log) {
		t.log = log
	}
	return t
}

// tracesBelow are the runs in a folder, in folders of runs, and in those of
// repeats, and the logs of those that never began.
func tracesBelow(dir string) []*trace {
	var out []*trace
	for _, at := range []string{"", "*", "*/*", "*/*/*", "*/*/*/*"} {
		found, _ := filepath.Glob(filepath.Join(globbed(dir), at, "tape.jsonl*"))
		for _, path := range found {
			out = append(out, besideTape(filepath.Dir(path), path))
		}
		found, _ = filepath.Glob(filepath.Join(globbed(dir), at, logName))
		for _, path := range found {
			in := filepath.Dir(path)
			if tapes, _ := filepath.Glob(filepath.Join(globbed(in), "tape.jsonl*")); len(tapes) == 0 {
				out = append(out, &trace{name: in, log: path})
			}
		}
	}
	return out
}

// began is when a run began, sortable: as its log says, else as its folder is named.
func (t *trace) began() string {
	if l := t.readLog(); l != nil {
		return l.Lines[0].Wall
	}
	if w := t.anchored(); w != "" {
		return w
	}
	for dir := filepath.Clean(t.name); dir != "." && dir != "/"; dir = filepath.Dir(dir) {
		if m := stampName.FindStringSubmatch(filepath.Base(dir)); m != nil {
			s := m[1] // 2026-11-30T040000Z
			return s[:13] + ":" + s[13:15] + ":" + s[15:17]
		}
	}
	return ""
}

// anchored is when the tape says that it began, to the millisecond as a run.log does;
// "" where there is none that can be read.
func (t *trace) anchored() string {
	if t.tape == "" {
		return ""
	}
	r, err := tape.OpenFile(t.tape)
	if err != nil {
		return ""
	}
	defer r.Close()
	rec, err := r.Next()
	h, ok := rec.(*tape.Header)
	if err != nil || !ok {
		return ""
	}
	at, err := time.Parse(time.RFC3339Nano, h.Anchor.Wall)
	if err != nil {
		return ""
	}
	return at.UTC().Format("2006-01-02T15:04:05.000Z")
}

// mostLog bounds what is read of a log, in bytes.
const mostLog = 4 << 20

// readLog is the run's log, nil when there is none that can be read.
func (t *trace) readLog() *analysis.RunLog {
	if t.log == "" {
		return nil
	}
	f, err := os.Open(t.log)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostLog))
	if err != nil {
		return nil
	}
	l, err := analysis.ParseRunLog(string(text))
	if err != nil {
		return nil
	}
	return l
}

// triage asks what went wrong.
func (t *trace) triage() (*analysis.Triage, error) {
	at := analysis.Whereabouts{Run: shellWords([]string{t.name}), Log: t.readLog()}
	if t.tape == "" {
		if at.Log == nil {
			return nil, usageError(t.log+": not a run.log that can be read", "a run.log begins with a line of the kind start")
		}
		return analysis.WhyNoRun(at), nil
	}
	dir := filepath.Dir(t.tape)
	if spec := filepath.Join(dir, "spec.yaml"); fileExists(spec) {
		at.Spec = shellWords([]string{spec})
		there := fileExists(filepath.Join(dir, "results.json")) && fileExists(filepath.Join(dir, "report.txt"))
		at.Reports = &there
	}
	o := analysis.Options{NoCI: true}
	var err error
	if o.Power, err = powerOf(t.tape, ""); err != nil {
		return analysis.WhyNoAnalysis(at, err.Error()), nil
	}
	var w *analysis.Triage
	err = guard(func() error {
		var err error
		w, err = analysis.WhyFile(t.tape, at, o)
		return err
	})
	var broken *faultError
	switch {
	case err == nil:
		return w, nil
	case errors.As(err, &broken):
		return analysis.WhyNoAnalysis(at, err.Error()), nil
	case errors.Is(err, tape.ErrNotTape) && at.Log == nil && at.Spec == "":
		return nil, tapeError(err)
	}
	return analysis.WhyNoTape(at, err), nil
}

// faultError is a fault of the analysis itself. The tape is as it was.
type faultError struct {
	what  any
	stack []byte
}

func (e *faultError) Error() string {
	return fmt.Sprintf("the analysis broke down: %v (a fault of tokentape, not of the run; the tape is as it was)", e.what)
}

// guard makes a fault in f an error: what was measured is on the tape, and must not
// go down with what is made of it.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &faultError{v, debug.Stack()}
		}
	}()
	return f()
}
