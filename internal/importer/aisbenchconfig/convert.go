package aisbenchconfig

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"tokentape/internal/importer/aisbench/pyconf"
	"tokentape/internal/spec"
)

// Options of an import.
type Options struct {
	// Env gives the environment variables that the config reads; nil: none.
	Env func(name string) (string, bool)
	// ConfigDir is the folder of AISBench's own configs (configs/), which a config
	// may include by their absolute names; "": only what lies in its own folder.
	ConfigDir string
	// OutDir is the folder in which the specs will lie: paths are relative to it.
	OutDir string
	// NumPrompts is AISBench's --num-prompts; 0: all rows.
	NumPrompts int64
	// Warmups is AISBench's --num-warmups, whose default there is 1.
	Warmups int64
	// Pressure is AISBench's --pressure-time in seconds; 0: no --pressure.
	Pressure int64
	// Count says how many requests (or conversations) the rows of a workload make;
	// nil: nobody can.
	Count func(w spec.Workload) (int64, error)
	// TokenizerProblem says why a folder holds no tokenizer that can be used, ""
	// when it does; nil: a folder that exists will do.
	TokenizerProblem func(path string) string
}

// File is a file of rows that a spec names.
type File struct {
	Name  string // in Options.OutDir
	Write func(w io.Writer) error
}

// Job is one spec: a model and a dataset.
type Job struct {
	Name           string // fit for a file's name
	Model, Dataset string // their abbr in the config
	YAML           []byte
	Files          []File
	// Values are those of Result.Variables that the config holds in clear text, for a
	// run in this very process. They are secrets, and never written.
	Values map[string]string
}

// Result is what a config came to.
type Result struct {
	Jobs     []Job
	Warnings []Warning
	// Variables are the environment variables that the specs refer to.
	Variables []string
}

// Import reads a config. The error is a *pyconf.Error where it cannot be
// evaluated, and Refusals where it cannot be a spec.
func Import(path string, o Options) (*Result, error) {
	config, err := Evaluate(path, o)
	if err != nil {
		return nil, err
	}
	c := &converter{o: o, path: path, config: config}
	for _, w := range config.Writes {
		c.warn(w.At, w.Name, "is set in the environment of AISBench's own process, and has no meaning here")
	}
	c.proxies()
	models, datasets := c.entries("models"), c.entries("datasets")
	sum := c.summarizer()
	c.topLevel()
	res := &Result{}
	if len(c.refused) == 0 {
		c.jobs(res, models, datasets, sum)
	}
	if len(c.refused) > 0 {
		return nil, c.refused
	}
	res.Warnings = c.warnings
	return res, nil
}

// Evaluate gives the values of a config as they stand, of Env and ConfigDir alone. The
// error is a *pyconf.Error.
func Evaluate(path string, o Options) (*pyconf.Result, error) {
	po := pyconf.Options{Env: o.Env, Package: o.packaged}
	if o.ConfigDir != "" {
		po.Tree = common(filepath.Dir(path), o.ConfigDir)
	}
	return pyconf.File(path, po)
}

// common is the folder to which included files are bound: the configs' own where
// the config lies in it, else the config's.
func common(dir, configs string) string {
	if rel, err := filepath.Rel(configs, dir); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		return configs
	}
	return dir
}

// entries are the dicts of a top-level list.
func (c *converter) entries(name string) []*pyconf.Dict {
	f, ok := c.config.Names.Get(name)
	if !ok {
		c.refuse(pyconf.Pos{File: c.path}, "a config says "+name+" = [dict(…)]", "there are no %s", name)
		return nil
	}
	list, ok := f.Value.([]pyconf.Value)
	if !ok || len(list) == 0 {
		c.refuse(f.At, "write "+name+" = [dict(…)]", "%s is %s, not a list of at least one dict", name, emptyOr(f.Value))
		return nil
	}
	var out []*pyconf.Dict
	for i, v := range list {
		d, ok := v.(*pyconf.Dict)
		if !ok {
			c.refuse(f.At, "a list within a list is put in with *: [*a, *b]", "%s[%d] is %s, not a dict", name, i, kindOf(v))
			continue
		}
		out = append(out, d)
	}
	return out
}

func emptyOr(v pyconf.Value) string {
	if l, ok := v.([]pyconf.Value); ok && len(l) == 0 {
		return "empty"
	}
	return kindOf(v)
}

// topLevel warns of names that AISBench would read and nothing here does.
func (c *converter) topLevel() {
	for _, n := range [][2]string{
		{"work_dir", "tokentape run --out names the folder of runs"}, {"infer", "there are no tasks, partitions or worker processes here: one process sends all requests"},
		{"eval", "answers are not scored here"}, {"viz", "views are made of the tape: tokentape report"},
		{"judge_models", "answers are not judged here"}, {"cli_args", "give the flags to tokentape import aisbench"},
	} {
		name, why := n[0], n[1]
		if f, ok := c.config.Names.Get(name); ok && !nothing(f.Value) {
			c.warn(f.At, name, "has no meaning here: %s", why)
		}
	}
	if f, ok := c.config.Names.Get("_base_"); ok {
		c.refuse(f.At, "with read_base(): from .NAME import *", "_base_ (inheritance by file names) is not read here")
	}
	slices.SortStableFunc(c.warnings, func(a, b Warning) int {
		if a.At.File != b.At.File {
			return strings.Compare(a.At.File, b.At.File)
		}
		return a.At.Line - b.At.Line
	})
}

// jobs makes a spec of each pair.
func (c *converter) jobs(res *Result, models, datasets []*pyconf.Dict, sum summary) {
	if len(datasets) > 1 {
		c.warn(datasets[1].At, "datasets", "AISBench puts datasets of one class into one load under the name of the class; here each is a spec of its own. For one load of several files: workload.mix")
	}
	used := map[string]bool{}
	for _, m := range models {
		for _, d := range datasets {
			c.off = nil
			j := &job{c: c}
			model := j.model(m)
			rows := j.dataset(d, model)
			if len(c.refused) > 0 {
				continue
			}
			j.load(model, rows)
			j.report(sum)
			name := fileName(model.abbr)
			if len(datasets) > 1 || len(models) == 1 {
				name = fileName(model.abbr + "-" + rows.abbr)
			}
			base := name
			for n := 2; used[name]; n++ {
				name = fmt.Sprintf("%s-%d", base, n)
				if n == 2 {
					c.warn(m.At, "abbr", "model %s and dataset %s stand there twice: AISBench silently runs one of them, here both are specs", model.abbr, rows.abbr)
				}
			}
			used[name] = true
			j.finish(res, name, model, rows)
		}
	}
}

// fileName makes a name of letters, digits, dots and dashes.
func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.', r > 0x7f && unicode.IsPrint(r):
			return r
		}
		return '-'
	}, s)
	s = strings.Trim(s, "-.")
	if r := []rune(s); len(r) > 60 {
		s = string(r[:60])
	}
	if s == "" {
		return "imported"
	}
	return s
}

// job is one spec being made.
type job struct {
	c     *converter
	sheet sheet
	files []File
	vars  []string
	clear map[string]string // Job.Values
}

func (j *job) finish(res *Result, name string, m *model, rows *rowsOf) {
	j.sheet.set("name", name, j.c.short(m.at)+" abbr, "+j.c.short(rows.at)+" abbr")
	head := []string{"From " + filepath.Base(j.c.path) + ", a config of AISBench: model " + m.abbr + ", dataset " + rows.abbr + "."}
	if len(j.c.off) > 0 {
		head = append(head, "Left out, since they ask for nothing: "+strings.Join(j.c.off, ", ")+".")
	}
	out := Job{Name: name, Model: m.abbr, Dataset: rows.abbr}
	for i := range j.files {
		was := j.files[i].Name
		j.files[i].Name = name + "." + was
		j.sheet.set("workload.dataset.path", j.files[i].Name, rows.note)
	}
	out.YAML, out.Files, out.Values = j.sheet.text(head), j.files, j.clear
	res.Jobs = append(res.Jobs, out)
	for _, v := range j.vars {
		if !slices.Contains(res.Variables, v) {
			res.Variables = append(res.Variables, v)
		}
	}
}

// proxies warns of what AISBench takes from the environment without being asked.
func (c *converter) proxies() {
	if c.o.Env == nil {
		return
	}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"} {
		if v, ok := c.o.Env(name); ok && v != "" {
			c.warn(pyconf.Pos{File: c.path}, name, "is set, and AISBench sends through it without a word; here no proxy is used: target.proxy: environment uses it")
			return
		}
	}
}
