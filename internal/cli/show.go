package cli

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"tokentape/internal/analysis"
	"tokentape/internal/report"
)

func (a *app) showCommand() *cobra.Command {
	var asJSON, full bool
	var format, lang string
	var out outFile
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Say where a run comes from: who ran what, from where, on which server",
		Long: `show prints the provenance of a run, read off its tape: the command, the tool and how
it was built, the load, the data and their hashes, the client's machine and its
limits, the git state of a source folder (--source of run), the user's notes (--note
of run), the server and what it said of itself before and after, and which models
the replies named. What was not observed says so. RUN is as for tokentape report.`,
		Example: `  tokentape show runs/first-run
  tokentape show runs/first-run/2026-11-30T040000Z --full
  tokentape show runs/first-run/2026-11-30T040000Z --json
  tokentape show runs/first-run/2026-11-30T040000Z --format markdown --out provenance.md`,
		Args: oneRun("show", 0),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON, the resolved spec with it; the same as --format json")
	cmd.Flags().StringVar(&format, "format", "console", "console, markdown or json")
	cmd.Flags().StringVar(&lang, "lang", "", langHelp)
	cmd.Flags().BoolVar(&full, "full", false, "every fact that the server told (console)")
	out.register(cmd, "write to this file, which must not exist yet; default: print")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		if asJSON {
			if cmd.Flags().Changed("format") && format != "json" {
				return usageError("--json and --format "+format+" are two forms of one page", "keep one")
			}
			format = "json"
		}
		in, err := reportLanguage(lang, format, "")
		if err != nil {
			return err
		}
		path, err := a.findRun(args[0])
		if err != nil {
			return err
		}
		var view func(*bytes.Buffer, *analysis.Provenance) error
		switch format {
		case "json":
			view = func(b *bytes.Buffer, p *analysis.Provenance) error { return report.ShowJSON(b, p) }
		case "markdown":
			view = func(b *bytes.Buffer, p *analysis.Provenance) error {
				return report.ShowMarkdown(b, p, report.Options{Lang: in})
			}
		case "console":
			view = func(b *bytes.Buffer, p *analysis.Provenance) error {
				o := consoleOptions(a.stdout)
				o.Full, o.Lang = full, in
				return report.Show(b, p, o)
			}
		default:
			return usageError(fmt.Sprintf("--format %s: unknown", format), "console, markdown or json")
		}
		show := a.during("reading the tape")
		res, err := analyse(path, analysis.Options{NoCI: true, Watch: show.tape()}, "")
		show.done()
		if err != nil {
			return tapeError(err)
		}
		var b bytes.Buffer
		if err := view(&b, res.Provenance); err != nil {
			return &exitError{code: exitInternal, msg: err.Error()}
		}
		return a.put(b.Bytes(), out)
	}
	return cmd
}
