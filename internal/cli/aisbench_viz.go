package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tokentape/internal/analysis/as"
	"tokentape/internal/exporter/aisbench"
	importer "tokentape/internal/importer/aisbench"
	"tokentape/internal/importer/aisbenchconfig"
	"tokentape/tape"
)

// aisbenchViz recomputes the tables of a work folder: of our runs from their tapes,
// of AISBench's own from its details. All requests and the stable stage go into
// files of their own, and the tables that were there stay.
func (a *app) aisbenchViz(config string, o aisbenchOptions) error {
	dir, err := a.reused(o)
	if err != nil {
		return err
	}
	from := importer.Options{Cap: o.cap, Stream: o.stream, Writer: toolFacts(), Beside: []string{dir, o.workDir}, NamedAs: config}
	named := func() error { return nil } // only where something is AISBench's own
	if config != "" || len(o.models) > 0 && o.configDir != "" {
		named = sync.OnceValue(func() error { return a.namedConfig(config, o, &from) })
	}
	fmt.Fprintf(a.stdout, "Current exp folder: %s\n", dir)
	layouts, err := layoutsIn(dir)
	if err != nil {
		return err
	}
	if o.dryRun {
		for _, l := range layouts {
			fmt.Fprintf(a.stdout, "%s/%s\n", l.Model, l.Dataset)
		}
		fmt.Fprintln(a.stderr, "dry run: nothing was written")
		return nil
	}
	var all endings
	for _, l := range layouts {
		all.add(a, a.recompute(l, o, &from, named))
	}
	return all.err()
}

// namedConfig evaluates the config of the command line, for what a run does not tell.
func (a *app) namedConfig(config string, o aisbenchOptions, to *importer.Options) error {
	if config == "" {
		o.datasets = nil
		composed, done, err := composeConfig(o)
		if err != nil {
			return err
		}
		defer done()
		config, to.NamedAs = composed, "--models"
	}
	c, err := aisbenchconfig.Evaluate(config, aisbenchconfig.Options{Env: a.env, ConfigDir: o.configDir})
	if err != nil { // of which nothing may be needed
		fmt.Fprintf(a.stderr, "warning: the config is not used: %v\n", err)
		return nil
	}
	to.Named = c
	return nil
}

// reused is the folder that --reuse means.
func (a *app) reused(o aisbenchOptions) (string, error) {
	if o.reuse != latest {
		dir := filepath.Join(o.workDir, o.reuse)
		if !isDir(dir) {
			return "", usageError(fmt.Sprintf("--reuse %s: %s has no such folder", o.reuse, o.workDir), "is --work-dir that of the run?")
		}
		return dir, nil
	}
	entries, err := os.ReadDir(o.workDir)
	if err != nil {
		return "", usageError(err.Error(), "is --work-dir that of the run?")
	}
	newest := ""
	for _, e := range slices.Backward(entries) { // by name, as AISBench does
		dir := filepath.Join(o.workDir, e.Name())
		if !isDir(dir) || !timeFolder.MatchString(e.Name()) {
			continue
		}
		if newest == "" {
			newest = dir
		}
		if _, err := layoutsIn(dir); err != nil {
			continue
		}
		if dir != newest {
			fmt.Fprintf(a.stderr, "--reuse: %s holds no run, so this is an earlier one\n", newest)
		}
		return dir, nil
	}
	if newest == "" {
		return "", usageError("--reuse: no folder of a run in " + o.workDir)
	}
	return newest, nil // of which it is said why it cannot be shown
}

// layoutsIn are the runs in a work folder: those with a tape of ours, and those with
// details alone, or with what a killed process left.
func layoutsIn(dir string) ([]*aisbench.Layout, error) {
	names := map[[2]string]bool{}
	for _, pattern := range []string{
		filepath.Join(besideLayout, "*", "*", "tape.jsonl*"), filepath.Join("performances", "*", "*"+detailsSuffix),
	} {
		found, err := filepath.Glob(filepath.Join(globless(dir), pattern))
		if err != nil {
			return nil, usageError(err.Error())
		}
		for _, path := range found {
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return nil, usageError(err.Error())
			}
			parts := strings.Split(filepath.ToSlash(rel), "/") // tokentape/MODEL/DATASET/tape… or performances/MODEL/DATASET_details…
			names[[2]string{parts[1], strings.TrimSuffix(parts[2], detailsSuffix)}] = true
		}
	}
	var all []*aisbench.Layout
	for n := range names {
		all = append(all, &aisbench.Layout{Dir: dir, Model: n[0], Dataset: n[1]})
	}
	if len(all) == 0 {
		return nil, usageError(dir+": no run in it, neither tokentape/MODEL/DATASET nor performances/MODEL/DATASET"+detailsSuffix,
			"of what a killed AISBench left in tmp/: tokentape import aisbench-result "+dir+" -o FILE")
	}
	slices.SortFunc(all, func(a, b *aisbench.Layout) int {
		return strings.Compare(a.Model+"/"+a.Dataset, b.Model+"/"+b.Dataset)
	})
	return all, nil
}

const detailsSuffix = "_details.jsonl"

// globless takes the meaning from what filepath.Glob would take for a pattern.
func globless(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// recompute makes the tables of one run anew.
func (a *app) recompute(l *aisbench.Layout, o aisbenchOptions, from *importer.Options, named func() error) error {
	path, err := findTape(runOfLayout(l))
	own := err == nil
	details := filepath.Join(l.Dir, "performances", l.Model, l.Dataset+detailsSuffix)
	if own && (from.Cap > 0 || from.Stream.OK) {
		fmt.Fprintf(a.stderr, "%s/%s: --max-concurrency and --stream have no effect: the tape says both\n", l.Model, l.Dataset)
	}
	if !own { // AISBench's
		if err := named(); err != nil {
			return err
		}
		f, err := os.CreateTemp("", "tokentape-*.jsonl.zst")
		if err != nil {
			return usageError(err.Error())
		}
		defer os.Remove(f.Name())
		defer f.Close()
		w := tape.NewBulkWriter(f)
		show := a.during("importing " + printable(details))
		s, err := importer.Write(w, details, *from)
		if err == nil {
			err = w.Close()
		}
		show.done()
		if err != nil {
			return usageError(err.Error())
		}
		a.imported("", s)
		path = f.Name()
	}
	run, err := a.loadRun(path)
	if err != nil {
		return err
	}
	if own && !fileExists(details) { // the process was killed before it wrote the layout
		l.Stage = o.stage(nil)
		var unfit *exitError
		show := a.during("writing the work folder")
		err := writeLayout(l, run, path)
		show.done()
		if errors.As(err, &unfit) && unfit.code != exitNothing { // that there is no table is said below
			return err
		}
		fmt.Fprintf(a.stderr, "%s/%s: written now, from what the tape has\n", l.Model, l.Dataset)
	}
	t, err := as.Make("aisbench", run)
	if err != nil {
		return &exitError{code: exitNothing, msg: err.Error()}
	}
	show := o.stage(nil)
	var missing error
	for _, stage := range []string{aisbench.Total, aisbench.Stable} {
		paths, err := l.Tables(t, stage, "_"+stage)
		switch {
		case err != nil && stage == show:
			missing = &exitError{code: exitNothing, msg: fmt.Sprintf("%s/%s: %v", l.Model, l.Dataset, err)}
		case err != nil:
			fmt.Fprintf(a.stderr, "%s/%s: %v\n", l.Model, l.Dataset, err)
		default:
			fmt.Fprintln(a.stderr, "files:", strings.Join(paths, ", "))
		}
	}
	if missing != nil {
		return missing
	}
	return a.showTable(l, t, show)
}

// showStage prints AISBench's tables of a stage of a run.
func (a *app) showStage(l *aisbench.Layout, run *as.Run, stage string) error {
	t, err := as.Make("aisbench", run)
	if err != nil {
		return &exitError{code: exitNothing, msg: err.Error()}
	}
	return a.showTable(l, t, stage)
}

// showTable prints what AISBench prints, column for column, and on standard error
// where our own numbers are.
func (a *app) showTable(l *aisbench.Layout, t *as.Table, stage string) error {
	text, err := l.Console(t, stage)
	if err != nil {
		return &exitError{code: exitNothing, msg: err.Error()}
	}
	if _, err := fmt.Fprint(a.stdout, text); err != nil {
		return &exitError{code: exitInternal, msg: "writing the tables: " + err.Error()}
	}
	fmt.Fprintf(a.stdout, "Performance Result files located in %s.\n", filepath.Join(l.Dir, "performances", l.Model))
	if own := runOfLayout(l); isDir(own) {
		fmt.Fprintf(a.stderr, "these are AISBench's definitions; what they hide, and ours beside them:\n→ tokentape report %s --as aisbench\n", own)
	}
	return nil
}
