package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tokentape/internal/importer/aisbench"
	"tokentape/internal/provenance"
	"tokentape/tape"
)

func (a *app) importCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Make a tape of another tool's results, or specs of its config",
		Long: `import turns what another load tester left into a tape, so that it can be reported
and compared like a run of our own, and its config into specs. What that tool did not
record is absent; what its config says and nothing here does is a warning.`,
	}
	cmd.AddCommand(a.importAISBenchConfigCommand(), a.importAISBenchCommand())
	for _, r := range resultImports {
		cmd.AddCommand(a.importResultCommand(r))
	}
	return cmd
}

func (a *app) importAISBenchCommand() *cobra.Command {
	var out string
	var o aisbench.Options
	var stream bool
	cmd := &cobra.Command{
		Use:   "aisbench-result DIR",
		Short: "AISBench's performance results: NAME_details.jsonl and db_data/",
		Long: `aisbench-result reads the details and the time points of an AISBench performance run.
DIR is its work folder, performances/ or a model's folder in it, or the details file.
Of a run that was killed it reads what is in tmp/, as a run that never ended.
Its time points go on the tape verbatim, so that report --as aisbench prints what
AISBench printed, to the last digit.`,
		Example: `  tokentape import aisbench-result outputs/default/20261101_120000 --cap 90 -o old.jsonl.zst
  tokentape report old.jsonl.zst --as aisbench`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "the tape to write, which must not exist yet (needed)")
	cmd.Flags().SetNormalizeFunc(capName)
	cmd.Flags().Int64Var(&o.Cap, "cap", 0, "requests in flight at most, AISBench's batch_size; default: case.json in DIR, AISBench's own table, or its config")
	cmd.Flags().StringVar(&o.Dataset, "dataset", "", "of what a killed run left in tmp/: the lines of this dataset's abbr")
	cmd.Flags().BoolVar(&stream, "stream", true, "answers were streams; default: case.json in DIR, AISBench's config, or true")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if out == "" {
			return usageError("-o FILE is missing: the tape to write", "for example -o "+tapeName(true))
		}
		if o.Cap < 0 {
			return usageError(fmt.Sprintf("--cap %d: below 0", o.Cap))
		}
		if cmd.Flags().Changed("stream") {
			o.Stream = tape.Some(stream)
		}
		o.Writer = toolFacts()
		var s *aisbench.Summary
		show := a.during("importing " + printable(args[0]))
		err := writeTape(out, func(f *os.File) (err error) {
			w := tape.NewBulkWriter(f)
			if s, err = aisbench.Write(w, args[0], o); err != nil {
				return err
			}
			return w.Close()
		})
		show.done()
		if err != nil {
			return usageError(err.Error())
		}
		a.imported(out, s)
		return nil
	}
	return cmd
}

// capName: both names of the cap are one.
func capName(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == "max-concurrency" {
		name = "cap"
	}
	return pflag.NormalizedName(name)
}

// writeTape is writeNew in a folder that need not be there yet; one that was made for
// nothing is removed.
func writeTape(out string, fill func(*os.File) error) error {
	dir := filepath.Dir(out)
	made := !fileExists(dir)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("the folder %s cannot be made: %w", dir, errors.Unwrap(err))
	}
	err := writeNew(out, fill)
	if err != nil && made {
		os.Remove(dir) // which it is not where something else is in it
	}
	return err
}

// toolFacts are this program's, as tapes name who wrote them.
func toolFacts() tape.Tool {
	return provenance.Tool(versionNumber)
}

// imported says what the tape holds and what was supposed or is missing.
func (a *app) imported(out string, s *aisbench.Summary) {
	say := func(format string, args ...any) { fmt.Fprintf(a.stderr, format+"\n", args...) }
	kind := "streams"
	if !s.Stream {
		kind = "answers in one piece"
	}
	say("%s: %d requests, %d ok, %s", s.Details, s.Requests, s.OK, kind)
	if s.Killed {
		say("  of a run that never ended: what its workers had written to tmp/ by then")
	}
	if s.Torn > 0 {
		say("  %d lines were cut off in the middle, and left out", s.Torn)
	}
	if s.StreamFrom != "" {
		say("  that they were %s is what %s says, since the run itself does not", kind, s.StreamFrom)
	}
	if s.StreamSupposed {
		say("  that they were streams is supposed; if not: --stream=false")
	}
	if s.Cap > 0 {
		say("  cap %d (%s)", s.Cap, s.CapFrom)
	} else {
		say("  the cap is not known, so there is no stable window: --cap N, AISBench's batch_size")
	}
	if s.Databases > 1 {
		say("  %d worker databases: AISBench's own order of their requests differs from run to run, here they follow each other", s.Databases)
	}
	if s.Uncommitted > 0 {
		say("  %d successes have no time points (never committed): failed here, as AISBench counts them", s.Uncommitted)
	}
	if s.Uncounted > 0 {
		say("  %d ok requests lack a token count of the server, and AISBench's own tokenizer is not at hand", s.Uncounted)
	}
	if out != "" {
		say("→ tokentape report %s --as aisbench", out)
	}
}
