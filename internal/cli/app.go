package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"tokentape/internal/secret"
)

// Exit codes; docs/exit-codes.md explains them. When several apply the order is
// 130 > 1 > 2 > 3 > 4 > 5 > 7.
const (
	exitFit         = 0
	exitInternal    = 1
	exitUsage       = 2
	exitNothing     = 3 // nothing could be measured
	exitFailures    = 4 // failures above limits.failed_share
	exitUnfit       = 5 // measured, but a check of severity fail missed
	exitInterrupted = 130
)

// exitError ends a command with a code. Hints show what mends it.
type exitError struct {
	code  int
	msg   string
	hints []string
	quiet bool // everything has been said already
}

func (e *exitError) Error() string { return e.msg }

func usageError(msg string, hints ...string) error {
	return &exitError{code: exitUsage, msg: msg, hints: hints}
}

// app is one invocation: its streams and its environment.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	args           []string    // as given
	hidden         *secret.Set // what looks secret in them
	own            *secret.Set // secrets of the spec, once it is read
	shared         *shared     // what the runs of a series need to read once; nil: there is one run
	env            func(string) (string, bool)
}

// Main runs the command line and returns the exit code. args are without the
// program's name.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, args: args, env: os.LookupEnv}
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	_, hidden := maskWords(args)
	a.hidden = secret.New(hidden)
	err := root.Execute()
	if err == nil {
		return exitFit
	}
	var e *exitError
	if !errors.As(err, &e) {
		// What cobra itself refuses: unknown verb, unknown flag, wrong count.
		e = &exitError{code: exitUsage, msg: err.Error(), hints: []string{"see tokentape --help"}}
	}
	a.say(e)
	return e.code
}

// say prints why a command ends, and what mends it.
func (a *app) say(e *exitError) {
	if e.quiet {
		return
	}
	mask := func(text string) string { return a.own.Mask(a.hidden.Mask(text)) }
	fmt.Fprintf(a.stderr, "tokentape: %s\n", mask(e.msg))
	for _, h := range e.hints {
		if h != "" {
			fmt.Fprintf(a.stderr, "  → %s\n", mask(h))
		}
	}
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "tokentape",
		Short: "Measure how fast an LLM server really is, and keep the tape",
		Long: `tokentape load-tests an LLM server and records every time stamp on a tape.
Every table, now or later, here or elsewhere, is read off that tape.

  tokentape demo                          see it work, with a simulated server
  tokentape run --url HOST:PORT --dataset data.jsonl --output-tokens 32
  tokentape report runs/NAME/TIME         read the tables off the tape again`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		Version:           version(),
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetVersionTemplate("tokentape {{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError(err.Error(), "see "+c.CommandPath()+" --help")
	})
	root.AddCommand(a.demoCommand(), a.runCommand(), a.sweepCommand(), a.searchCommand(), a.probeCommand(), a.doctorCommand(), a.reportCommand(), a.showCommand(), a.explainCommand(), a.whyCommand(), a.importCommand(), a.aisbenchCommand(), a.compareCommand(), a.viewCommand(), a.mergeCommand(), a.packCommand(), a.checkCommand(), a.planCommand(), a.specCommand(), a.datasetCommand(), a.simCommand())
	return root
}

// versionNumber is the release this source belongs to.
const versionNumber = "0.1.0"

func version() string {
	if v := vcs(); v != "" {
		return versionNumber + " (" + v + ")"
	}
	return versionNumber
}

// vcs is the revision the binary was built from, "" when it is not known.
func vcs() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var rev, dirty string
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			rev = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+changes"
			}
		}
	}
	return strings.TrimSpace(rev + dirty)
}
