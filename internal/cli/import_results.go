package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"tokentape/internal/importer"
	"tokentape/internal/importer/aiperf"
	"tokentape/internal/importer/sglang"
	"tokentape/internal/importer/vllm"
	"tokentape/tape"
)

// resultImport is a verb that makes a tape of one file of another tool.
type resultImport struct {
	tool, what, long string
	several          bool // a file can hold several runs
	write            func(w *tape.Writer, path string, number int, writer tape.Tool) (*importer.Summary, error)
}

var resultImports = []resultImport{
	{"vllm", "vLLM's client: the JSON file of --save-result --save-detailed", `vllm reads the result file of vllm bench serve. Its lists of one value a request are
needed (--save-detailed); without start_times, which older versions do not write,
there are no rates and no windows.`, true, vllm.Write},
	{"sglang", "SGLang's client: the JSON lines of --output-details", `sglang reads the result file of sglang.bench_serving. Its lists of one value a request
are needed (--output-details). It does not write when requests were sent, so that
there are no rates, no requests in flight and no windows.`, true, sglang.Write},
	{"aiperf", "AIPerf: the records of single requests, profile_export.jsonl", `aiperf reads AIPerf's records of single requests.`, false,
		func(w *tape.Writer, path string, _ int, writer tape.Tool) (*importer.Summary, error) {
			return aiperf.Write(w, path, writer)
		}},
}

func (a *app) importResultCommand(r resultImport) *cobra.Command {
	var out string
	var number int
	cmd := &cobra.Command{
		Use:   r.tool + " FILE",
		Short: r.what,
		Long: r.long + `
What that tool did not record is not observed; the tape's header says what.`,
		Example: "  tokentape import " + r.tool + " result.json -o old.jsonl.zst\n  tokentape report old.jsonl.zst --as " + r.tool,
		Args:    cobra.ExactArgs(1),
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "the tape to write, which must not exist yet (needed)")
	if r.several {
		cmd.Flags().IntVar(&number, "run", 0, "which of the runs in the file, counted from 1; needed when it holds several")
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if out == "" {
			return usageError("-o FILE is missing: the tape to write", "for example -o "+tapeName(true))
		}
		var s *importer.Summary
		show := a.during("importing " + printable(args[0]))
		err := writeTape(out, func(f *os.File) (err error) {
			w := tape.NewBulkWriter(f)
			if s, err = r.write(w, args[0], number, toolFacts()); err != nil {
				return err
			}
			return w.Close()
		})
		show.done()
		if err != nil {
			return usageError(err.Error())
		}
		fmt.Fprintf(a.stderr, "%s: %d requests, %d ok\n", args[0], s.Requests, s.OK)
		for _, n := range s.Notes {
			fmt.Fprintln(a.stderr, "  "+n)
		}
		again := "→ tokentape report " + out
		if !s.Untimed {
			again += " --as " + r.tool
		}
		fmt.Fprintln(a.stderr, again)
		return nil
	}
	return cmd
}
