package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tokentape/internal/clock"
	"tokentape/internal/exporter/aisbench"
	"tokentape/internal/importer/aisbench/pyconf"
	"tokentape/internal/importer/aisbenchconfig"
	"tokentape/internal/workload"
)

// besideLayout is the folder in AISBench's work folder that holds specs, tapes and
// reports.
const besideLayout = "tokentape"

// aisbenchPerf sends what the config asks for, one model and dataset after the
// other, and writes each into AISBench's layout.
func (a *app) aisbenchPerf(ctx context.Context, config string, o aisbenchOptions) error {
	if config == "" {
		composed, done, err := composeConfig(o)
		if err != nil {
			return err
		}
		defer done()
		config = composed
	}
	now := clock.New().Wall().Local()
	dir := filepath.Join(o.workDir, now.Format(workFolderTime))
	options := aisbenchconfig.Options{
		Env: a.env, ConfigDir: o.configDir, OutDir: filepath.Join(dir, besideLayout), NumPrompts: o.prompts, Warmups: o.warmups,
	}
	if o.pressure {
		options.Pressure = o.pressureTime
	}
	res, err := a.importConfig(config, options)
	if err != nil {
		return err
	}
	for _, w := range res.Warnings {
		fmt.Fprintln(a.stderr, "warning:", w)
	}
	if !o.warmupsSaid {
		fmt.Fprintln(a.stderr, "1 request goes out first and is not measured, AISBench's default; --num-warmups 0 sends none")
	}
	if o.dryRun {
		for _, j := range res.Jobs {
			fmt.Fprintf(a.stdout, "# %s/%s\n%s", aisbench.Name(j.Model), aisbench.Name(j.Dataset), j.YAML)
		}
		fmt.Fprintf(a.stderr, "dry run: %s, nothing was sent or written\n", several(len(res.Jobs), "load"))
		return nil
	}
	if dir, err = makeWorkFolder(o.workDir, now); err != nil {
		return usageError(err.Error(), "another place: --work-dir DIR")
	}
	fmt.Fprintf(a.stdout, "Current exp folder: %s\n", dir)
	var all endings
	taken := map[string]int{}
	for _, j := range res.Jobs {
		l := &aisbench.Layout{Dir: dir, Model: aisbench.Name(j.Model), Dataset: aisbench.Name(j.Dataset)}
		key := l.Model + "/" + l.Dataset
		if taken[key]++; taken[key] > 1 {
			l.Dataset = fmt.Sprintf("%s-%d", l.Dataset, taken[key])
		}
		err := a.aisbenchJob(ctx, j, l, o)
		all.add(a, err)
		if slices.Contains(all.codes, exitInterrupted) {
			break
		}
	}
	if _, err := layoutsIn(dir); err != nil { // nothing was sent, and all in it is of this very run
		if err := os.RemoveAll(dir); err == nil {
			fmt.Fprintf(a.stderr, "nothing was sent: %s is removed; the specs that it held: tokentape import aisbench CONFIG.py -o FOLDER/\n", dir)
		}
	}
	return all.err()
}

func several(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// makeWorkFolder makes AISBench's folder of a run, named by the time; where there is
// such a one, by a later second.
func makeWorkFolder(workDir string, now time.Time) (string, error) {
	if err := os.MkdirAll(workDir, 0o755); err != nil {
		return "", err
	}
	for range 3600 {
		dir := filepath.Join(workDir, now.Format(workFolderTime))
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			return dir, os.Mkdir(filepath.Join(dir, besideLayout), 0o755)
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		now = now.Add(time.Second)
	}
	return "", fmt.Errorf("%s: the folders of the next hour are all there", workDir)
}

// aisbenchJob sends one load and writes it as a layout; the tape and the report lie
// beside it. The error is that of the run, or of the tables.
func (a *app) aisbenchJob(ctx context.Context, c aisbenchconfig.Job, l *aisbench.Layout, o aisbenchOptions) error {
	beside := filepath.Join(l.Dir, besideLayout)
	for _, f := range c.Files {
		if err := writeNew(filepath.Join(beside, f.Name), func(w *os.File) error { return buffered(w, f.Write) }); err != nil {
			return usageError(err.Error())
		}
	}
	path := filepath.Join(beside, c.Name+".yaml")
	if err := writeNew(path, func(w *os.File) error { _, err := w.Write(c.YAML); return err }); err != nil {
		return usageError(err.Error())
	}
	with := *a
	with.env = func(name string) (string, bool) {
		if v, ok := c.Values[name]; ok {
			return v, true
		}
		return a.env(name)
	}
	flags := addSpecFlags(&cobra.Command{})
	flags.sets = []string{"record.output=full"} // details hold the answers
	j, err := with.prepare([]string{path}, flags, "")
	if err != nil {
		return err
	}
	defer j.close()
	if err := j.needServer(path); err != nil {
		return err
	}
	l.Path, l.Input, l.Stage = j.spec.Target.Tokenizer, j.inputOf, o.stage(j.spec.Report.Windows)
	dir := runOfLayout(l)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return usageError(err.Error())
	}
	_, ran := with.run(ctx, j, runOptions{out: beside, dir: dir, quiet: true})
	tapePath, err := findTape(dir)
	if err != nil {
		return ran // before the first request
	}
	run, err := a.loadRun(tapePath)
	if err != nil {
		return errors.Join(ran, err)
	}
	var all endings
	if err := writeLayout(l, run, tapePath); err != nil {
		all.add(a, ran)
		all.add(a, err)
		return all.err()
	}
	if err := a.showStage(l, run, l.Stage); err != nil {
		all.add(a, ran)
		all.add(a, err)
		return all.err()
	}
	return ran
}

// runOfLayout is the folder of the run beside a layout.
func runOfLayout(l *aisbench.Layout) string {
	return filepath.Join(l.Dir, besideLayout, l.Model, l.Dataset)
}

// inputOf is the prompt of a row of the plan, as AISBench keeps it: the text of a
// lone message of the user, else the list of messages.
func (j *job) inputOf(seq int64) (json.RawMessage, error) {
	row, ok := j.plan.At(seq)
	if !ok {
		return json.RawMessage(`""`), nil
	}
	item, err := j.source.Item(row.Item)
	if err != nil {
		return nil, err
	}
	switch {
	case item.Body != nil:
		return item.Body, nil
	case item.TokenIDs != nil:
		return json.Marshal(item.TokenIDs)
	case len(item.Messages) == 0:
		return json.Marshal(item.Prompt)
	case len(item.Messages) == 1 && item.Messages[0].Raw == nil && item.Messages[0].Role == "user":
		return json.Marshal(item.Messages[0].Content)
	}
	return messagesJSON(item.Messages)
}

func messagesJSON(messages []workload.Message) (json.RawMessage, error) {
	var out []any
	for _, m := range messages {
		if m.Raw != nil {
			out = append(out, m.Raw)
			continue
		}
		out = append(out, struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		}{m.Role, m.Content})
	}
	return json.Marshal(out)
}

var (
	moduleName  = regexp.MustCompile(`^[A-Za-z0-9_\-]+$`)
	modelsName  = regexp.MustCompile(`(?m)^(models)\s*=`)
	dataSetName = regexp.MustCompile(`(?m)^(\w*datasets)\s*=`)
)

// composeConfig writes a config that takes in the files of --models and --datasets;
// done removes it.
func composeConfig(o aisbenchOptions) (path string, done func(), err error) {
	var head, lists strings.Builder
	head.WriteString("from mmengine.config import read_base\nwith read_base():\n")
	n := 0
	for _, kind := range []struct {
		folder string
		names  []string
		list   *regexp.Regexp
	}{{"models", o.models, modelsName}, {"datasets", o.datasets, dataSetName}} {
		fmt.Fprintf(&lists, "%s = [", kind.folder)
		if len(kind.names) == 0 { // of perf_viz
			lists.WriteString("]\n")
			continue
		}
		for _, name := range kind.names {
			module, text, err := findConfig(o.configDir, kind.folder, name)
			if err != nil {
				return "", nil, err
			}
			found := kind.list.FindAllStringSubmatch(text, -1)
			if len(found) == 0 {
				return "", nil, usageError(fmt.Sprintf("%s: no list of %s in it", module, kind.folder))
			}
			for _, f := range found {
				n++
				fmt.Fprintf(&head, "    from ais_bench.benchmark.configs.%s import %s as list_%d\n", module, f[1], n)
				fmt.Fprintf(&lists, "*list_%d, ", n)
			}
		}
		lists.WriteString("]\n")
	}
	dir, err := os.MkdirTemp("", "tokentape-aisbench-*")
	if err != nil {
		return "", nil, usageError(err.Error())
	}
	path = filepath.Join(dir, "composed.py")
	if err := os.WriteFile(path, []byte(head.String()+lists.String()), 0o600); err != nil {
		return "", nil, usageError(err.Error())
	}
	return path, func() { os.RemoveAll(dir) }, nil
}

// findConfig looks for NAME.py below a folder of AISBench's configs.
func findConfig(dir, folder, name string) (module, text string, err error) {
	if !moduleName.MatchString(name) {
		return "", "", usageError(fmt.Sprintf("--%s %s: the name of a file without .py", folder, name))
	}
	var found []string
	root := filepath.Join(dir, folder)
	walked := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() == name+".py" {
			found = append(found, path)
		}
		return err
	})
	switch {
	case walked != nil:
		return "", "", usageError(walked.Error(), "--config-dir is AISBench's folder ais_bench/benchmark/configs")
	case len(found) == 0:
		return "", "", usageError(fmt.Sprintf("--%s %s: no %s.py below %s", folder, name, name, root))
	case len(found) > 1:
		return "", "", usageError(fmt.Sprintf("--%s %s: several files of that name: %s", folder, name, strings.Join(found, ", ")))
	}
	b, err := pyconf.ReadFile(found[0])
	if err != nil {
		return "", "", usageError(err.Error())
	}
	rel, err := filepath.Rel(dir, found[0])
	if err != nil {
		return "", "", usageError(err.Error())
	}
	return strings.ReplaceAll(strings.TrimSuffix(filepath.ToSlash(rel), ".py"), "/", "."), string(b), nil
}
