package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// outFile is where a view goes; the zero outFile is standard output.
type outFile struct {
	path  string
	force bool // write over a file that is there
}

func (o *outFile) register(cmd *cobra.Command, help string) {
	cmd.Flags().StringVar(&o.path, "out", "", help)
	cmd.Flags().BoolVar(&o.force, "force", false, "write over the file of --out")
}

// check refuses --force without a file.
func (o outFile) check() error {
	if o.force && o.path == "" {
		return usageError("--force has no effect without --out", "--out FILE --force writes over FILE")
	}
	return nil
}

// writer makes a file, new or over another, as was asked for.
func (o outFile) writer() func(path string, fill func(*os.File) error) error {
	if o.force {
		return writeOver
	}
	return writeNew
}

// put prints a view, or writes it to a file, which must be new unless forced.
func (a *app) put(view []byte, out outFile) error {
	if out.path == "" {
		if _, err := a.stdout.Write(view); err != nil {
			return &exitError{code: exitInternal, msg: "writing the report: " + err.Error()}
		}
		return nil
	}
	err := out.writer()(out.path, func(f *os.File) error {
		_, err := f.Write(view)
		return err
	})
	if err != nil {
		// The numbers are not lost for want of a place to put them.
		a.stdout.Write(view)
		hint := "another place: --out FILE"
		if !out.force && fileExists(out.path) {
			hint += "; or --force, which writes over it"
		}
		return usageError(err.Error(), "the report went to standard output instead; "+hint)
	}
	return nil
}

// writeOver is writeNew for a path where a file may be: it is replaced in one step.
func writeOver(path string, fill func(*os.File) error) error {
	st, err := os.Stat(path)
	if err != nil {
		return writeNew(path, fill)
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s: not a file that could be written over", path)
	}
	tmp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := writeNew(tmp, fill); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		os.Remove(tmp)
		return err
	}
	return nil
}
