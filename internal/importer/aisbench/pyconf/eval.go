package pyconf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Options of an evaluation.
type Options struct {
	// Env gives the environment variables that a config reads; nil: there are none.
	Env func(name string) (string, bool)
	// Tree is the folder that included configs must lie in; "": that of the file.
	Tree string
	// Package gives the text of a config that is included by an absolute name,
	// such as a.b.c, and a name for its messages; nil, or ok false: there is none.
	Package func(module string) (name string, text []byte, ok bool)
	// Steps bounds the evaluation; 0: DefaultSteps.
	Steps uint64
}

// DefaultSteps is what a config may do: some seconds of work.
const DefaultSteps = 20_000_000

// budget is how many bytes a config may make in all, by joining and repeating.
const budget = 128 << 20

// maxFiles bounds the configs of one tree.
const maxFiles = 200

// Result is what a config came to.
type Result struct {
	Names  *Dict    // top-level names, imported ones included
	Reads  []Read   // environment variables, in the order of their first read
	Files  []string // read, the config itself first
	Writes []Field  // environment variables that the config sets for its process
}

// Read is an environment variable that a config read.
type Read struct {
	Name  string
	Value string
	Set   bool // it was set; else Value is the default given there
	At    Pos
}

// File evaluates a config. The error is an *Error.
func File(path string, o Options) (*Result, error) {
	if o.Tree == "" {
		o.Tree = filepath.Dir(path)
	}
	s := &state{o: o, metas: map[*starlark.Dict]*meta{}, set: map[string]string{}}
	m, err := s.file(path, Pos{File: path})
	if err != nil {
		return nil, err
	}
	return s.result(m)
}

// Source evaluates text that stands in no file of its own; included configs are
// looked for beside path. The error is an *Error.
func Source(path string, src []byte, o Options) (*Result, error) {
	if o.Tree == "" {
		o.Tree = filepath.Dir(path)
	}
	s := &state{o: o, metas: map[*starlark.Dict]*meta{}, set: map[string]string{}}
	m, err := s.source(path, src)
	if err != nil {
		return nil, err
	}
	return s.result(m)
}

// state is one evaluation.
type state struct {
	o       Options
	files   []*rewritten // by place.file
	sites   []site
	metas   map[*starlark.Dict]*meta
	reads   []read
	set     map[string]string // by the config, in os.environ
	writes  []Field
	modules []*module
	bounds  []map[string]Pos // by place.file: where top-level names are assigned
	active  []string         // paths of the files that are being read
	used    int              // of budget
	read    int              // of maxBytes
	steps   uint64
}

type read struct {
	at    place
	name  string
	value string
	set   bool
}

// module is an evaluated file.
type module struct {
	path    string
	globals starlark.StringDict
	bound   map[string]Pos
	order   []string
}

func (s *state) at(p place) Pos {
	if p.line == 0 {
		return Pos{}
	}
	return s.files[p.file].at(p.line, p.col)
}

// charge takes bytes off the budget.
func (s *state) charge(n int) error {
	if n < 0 || n > budget-s.used {
		return fmt.Errorf("the config makes more than %d MB of values; that is data: put it into a dataset file", budget>>20)
	}
	s.used += n
	return nil
}

var errIrregular = errors.New("not a regular file")

// Open opens a regular file for reading. Folders, pipes and devices are errors and are
// not opened: a pipe would wait for somebody to write, a device need not end.
func Open(path string) (*os.File, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.Unwrap(err)}
	}
	if !st.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errIrregular}
	}
	return os.Open(path)
}

// ReadFile reads a regular file whole.
func ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// file reads and evaluates a file.
func (s *state) file(path string, from Pos) (*module, *Error) {
	f, err := Open(path)
	if errors.Is(err, errIrregular) {
		return nil, &Error{from, "cannot read " + path + ": " + reason(err), "name a config, NAME.py"}
	}
	if err != nil {
		return nil, &Error{from, "cannot read " + path + ": " + reason(err), ""}
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, &Error{from, "cannot read " + path + ": " + reason(err), ""}
	}
	return s.source(path, src)
}

func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return err.Error()
}

func (s *state) source(path string, src []byte) (*module, *Error) {
	fail := func(at Pos, hint, format string, args ...any) (*module, *Error) {
		return nil, &Error{at, fmt.Sprintf(format, args...), hint}
	}
	switch {
	case len(src) > maxBytes-s.read:
		return fail(Pos{File: path}, "a config this large holds data: put that into a dataset file", "larger than %d KiB, with the files it includes", maxBytes>>10)
	case slices.Contains(s.active, path):
		return fail(Pos{File: path}, "", "the file includes itself: %s", strings.Join(append(s.active, path), " → "))
	case len(s.files) >= maxFiles:
		return fail(Pos{File: path}, "", "more than %d included files", maxFiles)
	}
	text := strings.TrimPrefix(string(src), "\ufeff")
	if i := strings.IndexByte(text, 0); i >= 0 {
		return fail(Pos{path, 1 + strings.Count(text[:i], "\n"), 1}, "", "a zero byte: this is not a text file")
	}
	if !utf8.ValidString(text) {
		return fail(Pos{path, badLine(text), 1}, "save the file as UTF-8", "the file is not UTF-8")
	}
	s.read += len(src)
	s.active = append(s.active, path)
	defer func() { s.active = s.active[:len(s.active)-1] }()

	text = strings.ReplaceAll(text, "\r\n", "\n")
	w := &rewriter{lexer: &lexer{file: path, src: text, line: 1, col: 1}, bound: map[string]Pos{}}
	w.base = s.include
	w.out.file = path
	if err := w.rewrite(); err != nil {
		return nil, err
	}
	s.files = append(s.files, &w.out)
	s.bounds = append(s.bounds, w.bound)
	n := int32(len(s.files) - 1)
	globals, err := s.run(n, path)
	if err != nil {
		return nil, err
	}
	m := &module{path: path, globals: globals, bound: w.bound}
	for name := range globals {
		m.order = append(m.order, name)
	}
	slices.SortFunc(m.order, func(a, b string) int {
		x, y := w.bound[a], w.bound[b]
		if x.Line != y.Line {
			return x.Line - y.Line
		}
		if x.Col != y.Col {
			return x.Col - y.Col
		}
		return strings.Compare(a, b)
	})
	return m, nil
}

func badLine(text string) int {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(text[i:]); n == 1 {
				return 1 + strings.Count(text[:i], "\n")
			}
		}
	}
	return 1
}

var fileOptions = &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true}

// run evaluates the rewritten text of a file.
func (s *state) run(n int32, path string) (_ starlark.StringDict, failed *Error) {
	r := s.files[n]
	name := itoa(int(n)) // of the file, in Starlark's positions
	f, err := fileOptions.Parse(name, r.text, 0)
	if err != nil {
		return nil, s.failure(err, path)
	}
	t := &tree{s, n}
	if err := t.stmts(f.Stmts); err != nil {
		return nil, err
	}
	predeclared := s.predeclared(path)
	prog, err := starlark.FileProgram(f, predeclared.Has)
	if err != nil {
		return nil, s.failure(err, path)
	}
	thread := &starlark.Thread{Name: name, Print: func(*starlark.Thread, string) {}}
	thread.SetMaxExecutionSteps(s.limit() - s.steps)
	thread.OnMaxSteps = func(t *starlark.Thread) { t.Cancel(tooLong) }
	globals, err := prog.Init(thread, predeclared)
	s.steps += thread.ExecutionSteps()
	if err != nil {
		return nil, s.failure(err, path)
	}
	return globals, nil
}

const tooLong = "the config does not come to an end"

func (s *state) limit() uint64 {
	if s.o.Steps == 0 {
		return DefaultSteps
	}
	return s.o.Steps
}

// failure says of an error of Starlark where it is in the Python file, without the
// values of variables that hold secrets.
func (s *state) failure(err error, path string) *Error {
	e := s.located(err, path)
	for _, r := range s.reads {
		if r.set && len(r.value) > 3 && secretName(r.name) {
			e.Message = strings.ReplaceAll(e.Message, r.value, "***")
			e.Hint = strings.ReplaceAll(e.Hint, r.value, "***")
		}
	}
	return e
}

// secretName reports whether a variable of this name holds a secret.
func secretName(name string) bool {
	upper := strings.ToUpper(name)
	return slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CREDENTIAL"}, func(w string) bool { return strings.Contains(upper, w) })
}

// located is the error with its place.
func (s *state) located(err error, path string) *Error {
	var syn syntax.Error
	var res resolve.ErrorList
	var ev *starlark.EvalError
	var own *Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &syn):
		msg, hint := explain(syn.Msg)
		return &Error{s.position(syn.Pos, path), msg, hint}
	case errors.As(err, &res) && len(res) > 0:
		msg, hint := explain(res[0].Msg)
		return &Error{s.position(res[0].Pos, path), msg, hint}
	case errors.As(err, &ev):
		at := Pos{File: path}
		for i := range ev.CallStack {
			if f := ev.CallStack.At(i); f.Pos.Line > 0 && f.Pos.Filename() != "<builtin>" {
				at = s.position(f.Pos, path)
				break
			}
		}
		var h *hinted
		if errors.As(ev.Unwrap(), &h) {
			return &Error{at, h.message, h.hint}
		}
		if strings.Contains(ev.Msg, tooLong) {
			return &Error{at, fmt.Sprintf("the evaluation was stopped here after %d steps: %s", s.limit(), tooLong), "make the loop or the comprehension smaller; a config only says what to run"}
		}
		msg, hint := explain(ev.Msg)
		return &Error{at, msg, hint}
	}
	msg, hint := explain(err.Error())
	return &Error{Pos{File: path}, msg, hint}
}

func (s *state) position(p syntax.Position, path string) Pos {
	for i, r := range s.files {
		if p.Filename() == itoa(i) {
			return r.at(p.Line, p.Col)
		}
	}
	return Pos{File: path}
}

// explain puts messages of Starlark in the words of Python.
func explain(msg string) (string, string) {
	for strings.HasPrefix(msg, hookPrefix) {
		_, rest, ok := strings.Cut(msg, ": ")
		if !ok {
			break
		}
		msg = rest
	}
	name, undefined := strings.CutPrefix(msg, "undefined: ")
	switch {
	case undefined:
		name, _, _ = strings.Cut(name, " ")
		return fmt.Sprintf("the name %s is not known", strings.TrimPrefix(name, hookPrefix)), "assign it or import it above; not every function of Python is known here"
	case strings.Contains(msg, "does not associate with"):
		return "comparisons in a row are not evaluated here", "write a < b and b < c"
	case strings.HasPrefix(msg, "got ") && strings.Contains(msg, ", want "):
		return msg, "a comma, a bracket or a colon may be missing before it"
	case strings.Contains(msg, "called recursively"):
		return msg, "write a loop"
	case strings.Contains(msg, hookPrefix):
		msg = strings.ReplaceAll(msg, hookPrefix, "")
	}
	return msg, ""
}

// hinted is an error with a mend.
type hinted struct{ message, hint string }

func (h *hinted) Error() string { return h.message }

// include reads a config for another one: level dots, or an absolute name.
func (s *state) include(at Pos, name string, level int) (int, []string, *Error) {
	add := func(m *module, err *Error) (int, []string, *Error) {
		if err != nil {
			return 0, nil, err
		}
		s.modules = append(s.modules, m)
		return len(s.modules) - 1, m.order, nil
	}
	if level == 0 {
		if s.o.Package != nil {
			if path, src, ok := s.o.Package(name); ok {
				return add(s.source(path, src))
			}
		}
		return 0, nil, &Error{at, "the config " + name + " is not at hand", "name the folder that holds it with --config-dir, or copy it beside this file and import it as ." + name[strings.LastIndexByte(name, '.')+1:]}
	}
	dir := filepath.Dir(at.File)
	for range level - 1 {
		dir = filepath.Join(dir, "..")
	}
	path := filepath.Join(dir, filepath.FromSlash(strings.ReplaceAll(name, ".", "/"))+".py")
	if !within(path, s.o.Tree) {
		return 0, nil, &Error{at, path + " lies outside " + s.o.Tree + ", and is not read", "name a folder that holds both with --config-dir"}
	}
	return add(s.file(path, at))
}

// within reports whether path lies in tree, also when links are followed.
func within(path, tree string) bool {
	for _, real := range []bool{false, true} {
		p, errp := filepath.Abs(path)
		t, errt := filepath.Abs(tree)
		if real && errp == nil && errt == nil {
			if r, err := filepath.EvalSymlinks(p); err == nil {
				p = r
			}
			if r, err := filepath.EvalSymlinks(t); err == nil {
				t = r
			}
		}
		rel, err := filepath.Rel(t, p)
		if errp != nil || errt != nil || err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return false
		}
	}
	return true
}

func (s *state) result(m *module) (*Result, error) {
	e := &exporter{s: s, left: maxValues}
	out := &Result{Names: &Dict{At: Pos{File: m.path}}, Writes: s.writes}
	for _, name := range m.order {
		at, ok := m.bound[name]
		if !ok { // a loop variable, or one of several targets
			at = Pos{File: m.path}
		}
		switch m.globals[name].(type) {
		case *starlark.Function, *starlark.Builtin, symbol, *typeObject, environ:
			continue
		}
		v, err := e.value(m.globals[name], 0)
		if err != nil {
			return nil, &Error{at, name + ": " + err.Error(), ""}
		}
		out.Names.Fields = append(out.Names.Fields, Field{Name: name, Value: v, At: at})
	}
	for _, f := range s.files {
		out.Files = append(out.Files, f.file)
	}
	// The config was finished last; what it includes comes after it.
	if n := len(out.Files); n > 1 {
		out.Files = append(out.Files[n-1:n:n], out.Files[:n-1]...)
	}
	for _, r := range s.reads {
		if !slices.ContainsFunc(out.Reads, func(o Read) bool { return o.Name == r.name && o.Value == r.value }) {
			out.Reads = append(out.Reads, Read{r.name, r.value, r.set, s.at(r.at)})
		}
	}
	return out, nil
}

// binding is where the top-level names of a file are assigned.
func (s *state) binding(file int32) map[string]Pos {
	if int(file) < len(s.bounds) {
		return s.bounds[file]
	}
	return nil
}
