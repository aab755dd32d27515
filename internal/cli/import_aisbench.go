package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tokentape/internal/importer/aisbench/pyconf"
	"tokentape/internal/importer/aisbenchconfig"
	"tokentape/internal/spec"
	"tokentape/internal/workload/rows"
	"tokentape/internal/workload/tokenizer"
)

func (a *app) importAISBenchConfigCommand() *cobra.Command {
	var out string
	var vars []string
	o := aisbenchconfig.Options{}
	cmd := &cobra.Command{
		Use:   "aisbench CONFIG.py",
		Short: "AISBench's performance config: a spec for each model and dataset",
		Long: `aisbench evaluates the Python config, without Python and without running anything,
and writes what it asks for as a spec. Every field says which line it came from;
what has no meaning here, and what means something else, is a warning.
Several models or datasets make several specs, each with its name in the file's.`,
		Example: `  tokentape import aisbench perf_config.py --env SERVED_MODEL=qwen3 -o spec.yaml
  tokentape run spec.yaml`,
		Args: cobra.ExactArgs(1),
	}
	fs := cmd.Flags()
	fs.StringVarP(&out, "out", "o", "", "the spec to write, or a folder; nothing is overwritten (default: one spec to standard output)")
	fs.StringArrayVar(&vars, "env", nil, "an environment variable that the config reads: NAME=VALUE, over one of the same name (may be given more than once)")
	fs.StringVar(&o.ConfigDir, "config-dir", "", "AISBench's folder configs/, for configs that include files of it")
	fs.Int64Var(&o.NumPrompts, "num-prompts", 0, "AISBench's flag: the first N rows (default: all)")
	fs.Int64Var(&o.Warmups, "num-warmups", 1, "AISBench's flag: requests before the measured ones")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.NumPrompts < 0 || o.Warmups < 0 || cmd.Flags().Changed("num-prompts") && o.NumPrompts == 0 {
			return usageError("--num-prompts is 1 or more, --num-warmups 0 or more")
		}
		env, err := overrides(vars)
		if err != nil {
			return err
		}
		o.Env = env
		dir, base, one := outputPlace(out)
		o.OutDir = dir
		res, err := a.importConfig(args[0], o)
		if err != nil {
			return err
		}
		return a.writeSpecs(res, dir, base, one, out)
	}
	return cmd
}

// overrides gives the variables of --env over those of the environment.
func overrides(vars []string) (func(string) (string, bool), error) {
	set := map[string]string{}
	for _, kv := range vars {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			return nil, usageError("--env "+name+": there is no =", "write --env NAME=VALUE")
		}
		set[name] = value
	}
	return func(name string) (string, bool) {
		if v, ok := set[name]; ok {
			return v, true
		}
		return os.LookupEnv(name)
	}, nil
}

// outputPlace is the folder and the name of what -o says; one: a file of that very
// name when there is one spec.
func outputPlace(out string) (dir, base string, one bool) {
	if out == "" {
		return ".", "", false
	}
	if st, err := os.Stat(out); err == nil && st.IsDir() || strings.HasSuffix(out, "/") {
		return filepath.Clean(out), "", false
	}
	return filepath.Dir(out), filepath.Base(out), true
}

// importConfig reads a config, and counts rows as a run would.
func (a *app) importConfig(path string, o aisbenchconfig.Options) (*aisbenchconfig.Result, error) {
	o.Count = func(w spec.Workload) (int64, error) {
		s, err := rows.OpenWith(w, 1, rows.Options{})
		if err != nil {
			return 0, err
		}
		defer s.Close()
		return s.Len(), nil
	}
	o.TokenizerProblem = func(path string) string {
		if _, err := tokenizer.Load(path); err != nil {
			return err.Error()
		}
		return ""
	}
	show := a.during("reading the config and its datasets")
	res, err := aisbenchconfig.Import(path, o)
	show.done()
	var at *pyconf.Error
	var all aisbenchconfig.Refusals
	switch {
	case errors.As(err, &at):
		head := *at
		head.Hint = ""
		return nil, usageError(head.Error(), hints(at.Hint)...)
	case errors.As(err, &all):
		return nil, usageError(all.Error())
	case err != nil:
		return nil, usageError(err.Error())
	}
	return res, nil
}

func hints(h string) []string {
	if h == "" {
		return nil
	}
	return []string{h}
}

// writeSpecs writes the specs and the rows that they name, and says what is worth
// saying.
func (a *app) writeSpecs(res *aisbenchconfig.Result, dir, base string, one bool, out string) error {
	for _, w := range res.Warnings {
		fmt.Fprintln(a.stderr, "warning:", w)
	}
	say := func(format string, args ...any) { fmt.Fprintf(a.stderr, format+"\n", args...) }
	if out == "" {
		if len(res.Jobs) > 1 {
			var names []string
			for _, j := range res.Jobs {
				names = append(names, j.Name)
			}
			return usageError(fmt.Sprintf("the config makes %d specs (%s), which standard output cannot hold", len(res.Jobs), strings.Join(names, ", ")),
				"-o spec.yaml writes spec-"+names[0]+".yaml and so on; -o FOLDER/ writes "+names[0]+".yaml")
		}
		if n := len(res.Jobs[0].Files); n > 0 {
			return usageError("the spec names a file of rows that is made with it, "+res.Jobs[0].Files[0].Name, "-o spec.yaml writes both")
		}
		if err := checkSpec(res.Jobs[0].YAML, ""); err != nil {
			return err
		}
		_, err := a.stdout.Write(res.Jobs[0].YAML)
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return usageError(err.Error())
	}
	paths := make([]string, len(res.Jobs))
	for i, j := range res.Jobs {
		ext := filepath.Ext(base)
		switch {
		case !one:
			paths[i] = filepath.Join(dir, j.Name+".yaml")
		case len(res.Jobs) == 1:
			paths[i] = filepath.Join(dir, base)
		default:
			paths[i] = filepath.Join(dir, strings.TrimSuffix(base, ext)+"-"+j.Name+ext)
		}
		all := []string{paths[i]}
		for _, f := range j.Files {
			all = append(all, filepath.Join(dir, f.Name))
		}
		for _, p := range all {
			if _, err := os.Lstat(p); err == nil {
				return usageError(p + ": there is such a file already; nothing is overwritten")
			}
		}
		if err := checkSpec(j.YAML, dir); err != nil {
			return err
		}
	}
	for i, j := range res.Jobs {
		for _, f := range j.Files {
			if err := writeNew(filepath.Join(dir, f.Name), func(w *os.File) error { return buffered(w, f.Write) }); err != nil {
				return usageError(err.Error())
			}
			say("rows: %s", filepath.Join(dir, f.Name))
		}
		err := writeNew(paths[i], func(w *os.File) error { _, err := w.Write(j.YAML); return err })
		if err != nil {
			return usageError(err.Error())
		}
		say("→ tokentape run %s", paths[i])
	}
	return nil
}

// checkSpec reads a spec as a run would; variables that it refers to need not be
// set yet.
func checkSpec(yaml []byte, dir string) error {
	f, err := os.CreateTemp(dir, ".import-*.yaml")
	if err != nil {
		f, err = os.CreateTemp("", "import-*.yaml")
	}
	if err != nil {
		return usageError(err.Error())
	}
	defer os.Remove(f.Name())
	_, err = f.Write(yaml)
	if err = errors.Join(err, f.Close()); err != nil {
		return usageError(err.Error())
	}
	_, issues := spec.Read(f.Name(), func(string) (string, bool) { return "set", true }, nil)
	var lines []string
	for _, is := range issues {
		if !is.Warning {
			lines = append(lines, strings.ReplaceAll(is.Error(), f.Name(), "the spec"))
		}
	}
	if len(lines) > 0 {
		return usageError("what the config asks for is no valid spec:\n" + strings.Join(lines, "\n"))
	}
	return nil
}

// buffered writes through a buffer.
func buffered(w io.Writer, write func(io.Writer) error) error {
	b := bufio.NewWriterSize(w, 1<<20)
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}
