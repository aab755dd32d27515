package spec

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Set is one assignment from the command line. Path is a field path
// ("load.requests", "workload.sampling.temperature"), Value a YAML value (plain
// text for text fields), Origin what the user typed ("--requests", "--set
// load.requests"): errors begin with it.
type Set struct{ Path, Value, Origin string }

// maxBytes bounds a spec file; what is larger is not a spec.
const maxBytes = 256 << 10

// Read loads a spec: defaults, then the file (path "" for none), then sets, each
// over what came before, then Validate. ${VAR} and ${VAR:-default} in the file
// come from env; $${ is a literal ${. The issues are all that were found, in
// file order; the Spec may be used when Failed(issues) is false. Relative paths
// in a file are relative to the file's folder, those of sets to the working
// directory.
func Read(path string, env func(string) (string, bool), sets []Set) (*Spec, []Issue) {
	return readThen(path, env, sets, func(*decoder) {})
}

// readThen is Read; then changes what was read before it is resolved and checked.
func readThen(path string, env func(string) (string, bool), sets []Set, then func(*decoder)) (*Spec, []Issue) {
	d := &decoder{spec: Default(), env: env, from: map[string]place{}}
	if env == nil {
		d.env = func(string) (string, bool) { return "", false }
	}
	if path != "" {
		d.file(path)
	}
	d.rebase(path)
	for _, set := range sets {
		d.set(set)
	}
	d.dropOverridden(sets)
	then(d)

	s := d.spec
	s.from = d.from
	s.resolve(path)
	issues := d.issues
	if len(issues) == 0 {
		issues = s.Validate()
	} else {
		// Rules about fields side by side would blame what is only misspelt, and a
		// field that could not be read still has its default.
		issues = appendNew(issues, s.checkFields())
	}
	slices.SortStableFunc(issues, func(a, b Issue) int {
		return cmp.Or(strings.Compare(a.Origin, b.Origin), a.Line-b.Line, a.Col-b.Col)
	})
	if n := len(issues) - maxIssues; n > 0 {
		issues = append(issues[:maxIssues:maxIssues], Issue{File: path, Message: fmt.Sprintf("and %d more", n)})
	}
	own := Own(s.Secrets())
	for i := range issues {
		is := &issues[i]
		for _, text := range []*string{&is.Field, &is.Origin, &is.Message, &is.Hint} {
			*text = own.Mask(*text)
		}
		lines := strings.Split(is.Excerpt, "\n") // which may be cut anywhere
		for k := range lines {
			lines[k] = own.Cut(lines[k])
		}
		is.Excerpt = strings.Join(lines, "\n")
	}
	return s, issues
}

// maxIssues bounds what one look shows.
const maxIssues = 50

// appendNew adds the issues of more whose field, or a part of it, has none in
// issues yet: one mistake is named once.
func appendNew(issues, more []Issue) []Issue {
	known := slices.Clone(issues)
	for _, is := range more {
		if !slices.ContainsFunc(known, func(k Issue) bool { return within(k.Field, is.Field) }) {
			issues = append(issues, is)
		}
	}
	return issues
}

// within reports whether path is field or something in it.
func within(path, field string) bool {
	rest, ok := strings.CutPrefix(path, field)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// file decodes a whole file over the defaults.
func (d *decoder) file(path string) {
	d.name = path
	whole := place{file: path}
	src, err := readSpec(path)
	if err != nil {
		hint := ""
		if errors.Is(err, fs.ErrNotExist) {
			hint = "name an existing spec, or give flags alone: --url http://HOST:PORT --dataset FILE"
		}
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		d.add(whole.issue("", hint, "cannot read the spec: %v", err))
		return
	}
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	d.lines = strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(src)), "\n")
	if i := invalidUTF8(src); i >= 0 {
		line := bytes.Count(src[:i], []byte("\n"))
		col := utf8.RuneCount(src[bytes.LastIndexByte(src[:i], '\n')+1:i]) + 1
		d.add(d.at(line+1, col, 1).issue("", "save the file as UTF-8", "byte 0x%02x is not UTF-8", src[i]))
		return
	}
	if bytes.IndexByte(src, 0) >= 0 {
		d.add(whole.issue("", "", "a zero byte: this is not a text file"))
		return
	}
	f, err := parse(src)
	if err != nil {
		d.syntax(err)
		return
	}
	seen := false
	for _, doc := range f.Docs {
		if doc.Body == nil {
			continue
		}
		if _, comment := doc.Body.(*ast.CommentGroupNode); comment {
			continue
		}
		if seen {
			d.add(d.node(doc.Body).issue("", "one run takes one spec; split the file", "a second YAML document"))
			return
		}
		seen = true
		d.value(doc.Body, reflect.ValueOf(d.spec).Elem(), "")
	}
}

// readSpec reads a regular file of at most maxBytes.
func readSpec(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("it is a folder")
	case info.Size() > maxBytes:
		return nil, fmt.Errorf("%d bytes is no spec (at most %d); is it the dataset?", info.Size(), maxBytes)
	}
	return os.ReadFile(path)
}

// invalidUTF8 is the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// parse reads YAML. Keys given twice are left to the decoder, which can name
// both lines. The parser is not ours: a panic inside is a syntax error here.
func parse(src []byte) (f *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			f, err = nil, errors.New("the YAML cannot be read")
		}
	}()
	if depth(src) > maxDepth {
		return nil, fmt.Errorf("nested more than %d deep", maxDepth)
	}
	return parser.ParseBytes(src, 0, parser.AllowDuplicateMapKey())
}

// maxDepth bounds nesting; a spec needs six. A stack that overflows cannot be
// recovered from.
const maxDepth = 1000

// depth is an upper bound for the nesting of brackets, and of items and
// properties that stand before one value ("- - - a", "&x !y a").
func depth(src []byte) int {
	most, open := 0, 0
	for line := range bytes.Lines(src) {
		marks := 0
		for _, word := range bytes.Fields(line) {
			if len(word) == 1 && (word[0] == '-' || word[0] == '?' || word[0] == ':') || word[0] == '&' || word[0] == '!' {
				marks++
			}
		}
		most = max(most, marks)
		for _, c := range line {
			switch c {
			case '[', '{':
				open++
			case ']', '}':
				open = max(open-1, 0)
			}
			most = max(most, open)
		}
	}
	return most
}

// flowVariable finds a bare variable inside brackets, where YAML has no place
// for its braces.
var flowVariable = regexp.MustCompile(`[\[{,].*[:,\[{ ]\$\{`)

func (d *decoder) syntax(err error) {
	var ye yaml.Error
	if !errors.As(err, &ye) {
		d.add(place{file: d.name}.issue("", "", "%v", err))
		return
	}
	message, hint := ye.GetMessage(), ""
	tk := ye.GetToken()
	if tk == nil || tk.Position == nil {
		d.add(place{file: d.name}.issue("", "", "not YAML: %s", message))
		return
	}
	at := d.at(tk.Position.Line, tk.Position.Column, 1)
	switch {
	case strings.Contains(message, "tab") || strings.HasPrefix(strings.TrimLeft(at.text, " "), "\t"):
		message, hint = "a tab in the indentation", "YAML indents with spaces"
	case len(d.lines) > 1 && strings.HasPrefix(d.lines[0], "{") && strings.HasPrefix(d.lines[1], "{"):
		message, hint = "one JSON object a line", "is it the dataset? give it as --dataset "+d.name
	case strings.Contains(message, "not allowed in this context"):
		message, hint = "this does not go on from the line above", "keys of one section begin in one column"
	case flowVariable.MatchString(at.text):
		hint = `inside [ ] and { } a variable needs quotes: "${VAR}"`
	}
	d.add(at.issue("", hint, "not YAML: %s", message))
}

// dropOverridden forgives unset variables of fields that a flag gives anyway.
func (d *decoder) dropOverridden(sets []Set) {
	kept := d.issues[:0]
	for _, is := range d.issues {
		covered := false
		for _, s := range sets {
			covered = covered || is.unset != "" && (is.Field == s.Path || strings.HasPrefix(is.Field, s.Path+"."))
		}
		if !covered {
			kept = append(kept, is)
		}
	}
	d.issues = kept
}

// rebase makes relative paths of the file relative to the working directory.
func (d *decoder) rebase(path string) {
	if path == "" {
		return
	}
	for _, p := range d.spec.paths() {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(filepath.Dir(path), *p)
		}
	}
	d.spec.sweepPaths(func(p string) string {
		if filepath.IsAbs(p) {
			return p
		}
		return filepath.Join(filepath.Dir(path), p)
	})
}

// paths are the fields that name files or folders.
func (s *Spec) paths() []*string {
	out := []*string{&s.Workload.Dataset.Path, &s.Prepare.Dataset, &s.Target.Tokenizer, &s.Target.CAFile, &s.Target.CertFile, &s.Target.KeyFile, &s.Energy.PowerFile, &s.Provenance.Source, &s.Sweep.Expected}
	for i := range s.Workload.Mix {
		out = append(out, &s.Workload.Mix[i].Dataset)
	}
	return out
}

// set decodes one assignment.
func (d *decoder) set(set Set) {
	at := place{origin: set.Origin}
	if at.origin == "" {
		at.origin = "--set " + set.Path
	}
	d.setAt(at, set)
}

// setAt is set of a value that stands elsewhere.
func (d *decoder) setAt(at place, set Set) {
	path := strings.TrimSpace(set.Path)
	if !utf8.ValidString(path) || !utf8.ValidString(set.Value) {
		d.add(at.issue("", "", "the value is not UTF-8"))
		return
	}
	if path == "target.api_key" || strings.HasPrefix(path, "target.headers.") {
		// A key that the shell fills in stands in the list of processes.
		text, _, bad := expand(set.Value, d.env)
		if bad != nil {
			if bad.unset == "" { // its message quotes what may be a secret
				bad.message = "${ begins no variable"
			}
			d.add(at.issue(path, bad.hint, "%s", bad.message))
			return
		}
		set.Value = text
	}
	v, ok := reach(reflect.ValueOf(d.spec).Elem(), path)
	if !ok {
		if name, found := strings.CutPrefix(path, "notes."); found && name != "" {
			d.setNote(at, name, set.Value)
			return
		}
		if head, _, more := strings.Cut(path, "."); more && head == "workload" && strings.HasPrefix(path, "workload.sampling.") {
			d.setSampling(at, path, set.Value)
			return
		}
		if name, found := strings.CutPrefix(path, "target.headers."); found && name != "" {
			headers := map[string]string{}
			for k, v := range d.spec.Target.Headers {
				if !strings.EqualFold(k, name) {
					headers[k] = v
				}
			}
			headers[name] = set.Value
			d.spec.Target.Headers = headers
			d.from[path] = at
			return
		}
		parent, key := "", path
		if i := strings.LastIndexByte(path, '.'); i >= 0 {
			parent, key = path[:i], path[i+1:]
		}
		d.unknownKey(at, parent, key)
		return
	}
	// A value given twice counts as given last: what it replaces leaves no trace.
	for p := range d.from {
		if strings.HasPrefix(p, path+".") && v.Kind() != reflect.Struct {
			delete(d.from, p)
		}
	}
	if strings.TrimSpace(set.Value) == "none" && canBeNone(path) {
		d.none(at, path, v)
		return
	}
	saved := d.origin
	d.origin = &at
	defer func() { d.origin = saved }()
	if scalarKind(v) {
		d.scalar(scalar{text: set.Value, plain: true, flag: true}, at, v, path)
		return
	}
	node, err := parseValue(set.Value)
	if err != nil {
		d.add(at.issue(path, "", "%q is not a YAML value", d.shownFlag(path, set.Value)))
		return
	}
	if v.Kind() == reflect.Map {
		v.SetZero()
	}
	d.value(node, v, path)
}

// setSampling assigns one body field; dots go into objects.
func (d *decoder) setSampling(at place, path, value string) {
	keys := strings.Split(strings.TrimPrefix(path, "workload.sampling."), ".")
	node, err := parseValue(value)
	if err != nil {
		d.add(at.issue(path, "", "%q is not a YAML value", d.shownFlag(path, value)))
		return
	}
	saved := d.origin
	d.origin = &at
	defer func() { d.origin = saved }()
	got, ok := d.any(node, path)
	if !ok {
		return
	}
	if d.spec.Workload.Sampling == nil {
		d.spec.Workload.Sampling = map[string]any{}
	}
	m := d.spec.Workload.Sampling
	for _, k := range keys[:len(keys)-1] {
		next, ok := m[k].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[k] = next
		}
		m = next
	}
	last := keys[len(keys)-1]
	if last == "" {
		d.add(at.issue(path, "", "no field name after the last dot"))
		return
	}
	m[last] = got
	d.from["workload.sampling."+keys[0]] = at
}

// parseValue reads one YAML value from a flag.
func parseValue(text string) (ast.Node, error) {
	if strings.IndexByte(text, 0) >= 0 {
		return nil, errors.New("a zero byte")
	}
	f, err := parse([]byte(text))
	if err != nil {
		return nil, err
	}
	if len(f.Docs) != 1 || f.Docs[0].Body == nil {
		return nil, errors.New("not one value")
	}
	return f.Docs[0].Body, nil
}
