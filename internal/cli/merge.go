package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tokentape/internal/provenance"
	"tokentape/tape"
)

func (a *app) mergeCommand() *cobra.Command {
	var out string
	var force bool
	cmd := &cobra.Command{
		Use:   "merge RUN … -o FILE",
		Short: "Make one tape of several: stripes of one load, or repeats of one run",
		Long: `merge puts the tapes of like runs on one clock, by the wall times in their headers,
and pools their requests. Runs that overlap in time are stripes of one load: their
caps and rates add up. Runs one after the other are repeats: the time between them
is in no rate. A RUN is what report takes, or a folder that holds several runs.

Runs that are not alike (model, API, dataset, kind of plan, engine, settings) are
refused, and every difference is listed. The order of the arguments changes nothing.`,
		Example: `  tokentape merge client-1/2026-11-30T040000Z client-2/2026-11-30T040000Z -o both.jsonl.zst
  tokentape report both.jsonl.zst`,
		Args: cobra.MinimumNArgs(1),
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "the tape to write, which must not exist yet, or a folder to write it into (needed)")
	cmd.Flags().BoolVar(&force, "force", false, "merge runs that are not alike all the same; the tape and its verdict say so")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if out == "" {
			return usageError("-o FILE is missing: the tape to write", "for example -o merged.jsonl.zst")
		}
		var paths []string
		for _, arg := range args {
			found, err := findTapes(arg)
			if err != nil {
				return err
			}
			paths = append(paths, found...)
		}
		if st, err := os.Stat(out); err == nil && st.IsDir() {
			out = (&runDir{out}).file(tapeName(true))
		}
		var h *tape.Header
		var refused error
		show := a.during("merging the tapes")
		defer show.done()
		err := writeNew(out, func(f *os.File) (err error) {
			w := tape.NewWriter(f, true)
			o := tape.MergeOptions{Tool: provenance.Tool(versionNumber), Force: force, Watch: func(path string, done, total int64) {
				show.bytes("reading "+printable(path), done, total)
			}}
			if h, refused = tape.Merge(w, paths, o); refused != nil {
				return refused
			}
			return w.Close()
		})
		show.done()
		if refused != nil {
			return mergeError(refused)
		}
		if err != nil {
			return usageError(err.Error())
		}
		a.merged(out, h)
		return nil
	}
	return cmd
}

// mergeError lists what makes runs unlike, a line each.
func mergeError(err error) error {
	var u *tape.UnlikeError
	if !errors.As(err, &u) {
		return tapeError(err)
	}
	hints := make([]string, 0, len(u.Differences)+1)
	for _, d := range u.Differences {
		hints = append(hints, d.String())
	}
	return usageError(fmt.Sprintf("the runs are not alike, %d of the facts that decide what a request meets differ: pooled, they would answer no question", len(u.Differences)),
		append(hints, "tokentape compare holds them beside each other; --force merges them all the same, and the report says so")...)
}

// merged says what the tape was made of and what is not as it should be.
func (a *app) merged(out string, h *tape.Header) {
	say := func(format string, args ...any) { fmt.Fprintf(a.stderr, format+"\n", args...) }
	for i, p := range h.Merged.Parts {
		stop := "no footer: an incomplete run"
		if p.Footer != nil {
			stop = fmt.Sprintf("%d planned, %d ok, %s", p.Footer.Planned, p.Footer.OK, p.Footer.Reason)
		}
		say("part %d  group %d  %+.3f s  %s  %s", i, p.Group, float64(p.Shift)/1e9, p.Header.Run, stop)
		if p.Faults > 0 {
			say("  not as it was written, %d faults, first: %s", p.Faults, p.Fault)
		}
	}
	own := slices.DeleteFunc(slices.Clone(h.Notes), func(n string) bool { // what its runs said before is in the report
		return slices.ContainsFunc(h.Merged.Parts, func(p tape.Part) bool { return slices.Contains(p.Header.Notes, n) })
	})
	if len(own) > 0 {
		say("%s", strings.Join(own, "\n"))
	}
	say("→ tokentape report %s", out)
}
