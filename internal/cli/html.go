package cli

import (
	"bufio"
	"io"
	"os"

	"tokentape/internal/analysis"
	"tokentape/internal/report/html"
)

// formatHTML is the page; pageName is its file in the folder of a run.
const (
	formatHTML = "html"
	pageName   = "report.html"
)

// page prints the page, or writes it to a file, without ever holding all of it.
func (a *app) page(res *analysis.Results, o html.Options, out outFile) error {
	if out.path == "" {
		if err := writePage(a.stdout, res, o); err != nil {
			return &exitError{code: exitInternal, msg: "writing the page: " + err.Error()}
		}
		return nil
	}
	show := a.during("writing the page")
	err := out.writer()(out.path, func(f *os.File) error { return writePage(f, res, o) })
	show.done()
	if err != nil {
		hint := "another place: --out FILE"
		if !out.force && fileExists(out.path) {
			hint += "; or --force, which writes over it"
		}
		return usageError(err.Error(), hint)
	}
	return nil
}

func writePage(w io.Writer, res *analysis.Results, o html.Options) error {
	b := bufio.NewWriter(w)
	if err := html.Write(b, res, o); err != nil {
		return err
	}
	return b.Flush()
}
