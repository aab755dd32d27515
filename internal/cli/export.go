package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"tokentape/internal/analysis/as"
	"tokentape/internal/exporter/aisbench"
	"tokentape/internal/exporter/sglang"
	"tokentape/internal/exporter/vllm"
	"tokentape/tape"
)

// exports are the formats of report that are other tools' files, by their names.
var exports = map[string]func(w io.Writer, r *as.Run, detailed bool) error{
	"vllm":   vllm.Write,
	"sglang": sglang.Write,
}

// export writes the tape in another tool's layout, with the lists of one value a
// request when detailed.
func (a *app) export(format, path string, out outFile, detailed bool) error {
	run, err := a.loadRun(path)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := exports[format](&b, run, detailed); err != nil {
		return usageError("--format " + format + ": " + err.Error())
	}
	return a.put(b.Bytes(), out)
}

// loadRun reads a tape as other tools' definitions need it, and says when it has no
// end.
func (a *app) loadRun(path string) (*as.Run, error) {
	f, err := tape.OpenFile(path)
	if err != nil {
		return nil, usageError(err.Error())
	}
	defer f.Close()
	show := a.during("reading the tape")
	f.Watch(show.tape())
	run, err := as.Load(f)
	show.done()
	if err != nil {
		return nil, tapeError(err)
	}
	if !run.End.OK {
		fmt.Fprintln(a.stderr, "tokentape: the tape has no footer: the run did not end in order, and the export holds what was recorded. tokentape report says more.")
	}
	return run, nil
}

// formatAISBench is the format of report that is a folder.
const formatAISBench = "aisbench"

// exportAISBench writes the tape as a work folder of AISBench below out.
func (a *app) exportAISBench(path, out string) error {
	run, err := a.loadRun(path)
	if err != nil {
		return err
	}
	l := layoutOf(run, out)
	show := a.during("writing the work folder")
	err = writeLayout(l, run, path)
	show.done()
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "files: %s\n", l.Dir)
	return nil
}

// layoutOf names the places as AISBench would: a folder by the time of the run, the
// model, and the dataset by its file's name up to the first dot. A run that was
// imported from AISBench keeps its names.
func layoutOf(run *as.Run, out string) *aisbench.Layout {
	model, data, _ := strings.Cut(run.Name, "/")
	if run.Imported == "" {
		model = run.Model
		data, _, _ = strings.Cut(filepath.Base(run.Dataset), ".")
	}
	return &aisbench.Layout{Dir: filepath.Join(out, workFolder(run)), Model: aisbench.Name(model), Dataset: aisbench.Name(data)}
}

// workFolder is the run's beginning in AISBench's form, in UTC; without one, its id.
func workFolder(run *as.Run) string {
	if t, err := time.Parse(time.RFC3339Nano, run.Wall); err == nil {
		return t.UTC().Format(workFolderTime)
	}
	id, _, _ := strings.Cut(run.ID, "-")
	if t, err := time.Parse("20060102T150405", id); err == nil {
		return t.Format(workFolderTime)
	}
	return aisbench.Name(run.ID)
}

const workFolderTime = "20060102_150405"

// writeLayout writes what the tape at path, which is run, holds. Error: that of the
// files, and a run of which AISBench makes no table.
func writeLayout(l *aisbench.Layout, run *as.Run, path string) error {
	f, err := tape.OpenFile(path)
	if err != nil {
		return usageError(err.Error())
	}
	defer f.Close()
	err = l.Write(run, f)
	var none *aisbench.NoTable
	switch {
	case errors.As(err, &none):
		return &exitError{code: exitNothing, msg: err.Error(), hints: []string{"everything but its tables is in " + l.Dir}}
	case err != nil:
		return usageError(err.Error())
	}
	return nil
}
