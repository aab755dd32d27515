package cli

import (
	"bytes"
	"fmt"
	"io"

	"tokentape/internal/analysis/as"
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
func (a *app) export(format, path, out string, detailed bool) error {
	f, err := tape.OpenFile(path)
	if err != nil {
		return usageError(err.Error())
	}
	defer f.Close()
	run, err := as.Load(f)
	if err != nil {
		return usageError(err.Error())
	}
	var b bytes.Buffer
	if err := exports[format](&b, run, detailed); err != nil {
		return usageError("--format " + format + ": " + err.Error())
	}
	if !run.End.OK {
		fmt.Fprintln(a.stderr, "tokentape: the tape has no footer: the run did not end in order, and the export holds what was recorded. tokentape report says more.")
	}
	return a.put(b.Bytes(), out)
}
