package pyconf

import (
	"bytes"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// hookPrefix begins the names of the functions that rewritten code calls; a
// config cannot use such a name.
const hookPrefix = "__tt_"

// mark says that the output from (line, col) on came from that place.
type mark struct{ line, col, fromLine, fromCol int32 }

// rewritten is Starlark text and the way back from its places.
type rewritten struct {
	file  string
	text  []byte
	marks []mark
}

// at is the place in the Python file of a place in the Starlark text.
func (r *rewritten) at(line, col int32) Pos {
	i := sort.Search(len(r.marks), func(i int) bool {
		m := r.marks[i]
		return m.line > line || m.line == line && m.col > col
	})
	if i == 0 {
		return Pos{r.file, 1, 1}
	}
	m := r.marks[i-1]
	return Pos{r.file, int(m.fromLine), int(m.fromCol)}
}

// node is a token, or a bracket with what it holds.
type node struct {
	token
	kids  []node // of a bracket
	group bool
	end   token // the closing bracket
}

func (n node) is(op string) bool { return !n.group && n.kind == tokOp && n.text == op }
func (n node) word(name string) bool {
	return !n.group && n.kind == tokName && n.text == name
}

// rewriter turns Python tokens into Starlark, statement by statement.
type rewriter struct {
	*lexer
	out  rewritten
	line int32 // of the output
	col  int32
	// base reads a config that this one includes, and gives its names.
	base func(at Pos, module string, level int) (id int, names []string, err *Error)
	// indents of the blocks that are open.
	indents []int32
	bases   []int32 // of blocks that are with read_base()
	elifs   int
	bound   map[string]Pos // top-level names, where they were last assigned
	nested  int            // f-strings around this expression
}

func (w *rewriter) emit(text string, t token) {
	w.out.marks = append(w.out.marks, mark{w.line, w.col, t.line, t.col})
	w.out.text = append(append(w.out.text, text...), ' ')
	w.col += int32(utf8.RuneCountInString(text)) + 1
}

func (w *rewriter) newline() {
	w.out.text = append(w.out.text, '\n')
	w.line, w.col = w.line+1, 1
}

func (w *rewriter) refuse(t token, hint, format string, args ...any) *Error {
	return w.fail(int(t.line), int(t.col), hint, format, args...)
}

// rewrite does the whole file.
func (w *rewriter) rewrite() *Error {
	w.line, w.col = 1, 1
	w.indents = []int32{0}
	for {
		line, indent, err := w.logical()
		if err != nil {
			return err
		}
		if line == nil {
			return nil
		}
		if err := w.block(line[0].token, indent); err != nil {
			return err
		}
		if err := w.statements(line, indent); err != nil {
			return err
		}
	}
}

// logical reads one logical line as a tree of brackets; nil at the end.
func (w *rewriter) logical() ([]node, int32, *Error) {
	stack := []*node{{}}
	indent := int32(-1)
	for {
		t, err := w.next()
		if err != nil {
			return nil, 0, err
		}
		if t.indent >= 0 && indent < 0 {
			indent = t.indent
		}
		top := stack[len(stack)-1]
		switch {
		case t.kind == tokEOF:
			return nil, 0, nil
		case t.kind == tokEnd:
			if len(stack) > 1 {
				return nil, 0, w.refuse(top.token, "close it", "the bracket %s is not closed", top.text)
			}
			if len(top.kids) == 0 {
				continue
			}
			return top.kids, indent, nil
		case t.kind == tokOp && strings.Contains("([{", t.text):
			if len(stack) > maxDepth {
				return nil, 0, w.refuse(t, "", "more than %d brackets within each other", maxDepth)
			}
			stack = append(stack, &node{token: t, group: true})
		case t.kind == tokOp && strings.Contains(")]}", t.text):
			if len(stack) == 1 || strings.Index("([{", top.text) != strings.Index(")]}", t.text) {
				return nil, 0, w.refuse(t, "", "the bracket %s closes nothing that is open", t.text)
			}
			top.end = t
			stack = stack[:len(stack)-1]
			parent := stack[len(stack)-1]
			parent.kids = append(parent.kids, *top)
		default:
			top.kids = append(top.kids, node{token: t})
		}
	}
}

// block keeps the stack of indents.
func (w *rewriter) block(t token, indent int32) *Error {
	last := w.indents[len(w.indents)-1]
	switch {
	case indent > last:
		if len(w.indents) > maxDepth {
			return w.refuse(t, "", "more than %d blocks within each other", maxDepth)
		}
		w.indents = append(w.indents, indent)
	case indent < last:
		for indent < w.indents[len(w.indents)-1] {
			w.indents = w.indents[:len(w.indents)-1]
		}
		if indent != w.indents[len(w.indents)-1] {
			return w.refuse(t, "", "the indent of this line is that of no block around it")
		}
	}
	for len(w.bases) > 0 && indent <= w.bases[len(w.bases)-1] {
		w.bases = w.bases[:len(w.bases)-1]
	}
	return nil
}

// compound statements have a block of their own.
var compound = []string{"if", "elif", "else", "for", "while", "def", "with", "class", "try", "except", "finally", "async"}

// statements writes one logical line, which may hold several statements.
func (w *rewriter) statements(line []node, indent int32) *Error {
	first := line[0]
	if first.kind == tokName && !first.group && slices.Contains(compound, first.text) {
		return w.compound(line, indent)
	}
	w.elifs = 0
	for len(line) > 0 {
		n := slices.IndexFunc(line, func(n node) bool { return n.is(";") })
		part := line
		if n >= 0 {
			part, line = line[:n], line[n+1:]
		} else {
			line = nil
		}
		if len(part) == 0 {
			continue
		}
		w.indent()
		if err := w.simple(part, indent); err != nil {
			return err
		}
		w.newline()
	}
	return nil
}

func (w *rewriter) indent() {
	n := len(w.indents) - 1
	w.out.text = append(w.out.text, bytes.Repeat([]byte{' '}, n)...)
	w.col += int32(n)
}

func (w *rewriter) compound(line []node, indent int32) *Error {
	first := line[0]
	if first.text != "elif" {
		w.elifs = 0
	} else if w.elifs++; w.elifs > maxBranch {
		return w.refuse(first.token, "", "more than %d elif branches", maxBranch)
	}
	w.indent()
	switch first.text {
	case "with":
		if len(line) < 4 || !line[1].word("read_base") || !line[2].group || !line[len(line)-1].is(":") {
			return w.refuse(first.token, "with read_base(): is the one that is; write the values out", "with is not evaluated here")
		}
		w.bases = append(w.bases, indent)
		w.emit("if", first.token)
		w.emit("True", first.token)
		w.emit(":", first.token)
		w.newline()
		return nil
	case "class", "try", "except", "finally", "async":
		return w.refuse(first.token, "write the values out, or import a spec of your own", "%s is not evaluated here: a config is values", first.text)
	case "def":
		return w.function(line)
	}
	if err := w.exprs(line); err != nil {
		return err
	}
	w.newline()
	return nil
}

// function writes a def line without its annotations.
func (w *rewriter) function(line []node) *Error {
	if len(line) < 4 || line[1].kind != tokName || !line[2].group {
		return w.refuse(line[0].token, "", "this def is not understood")
	}
	w.emit("def", line[0].token)
	w.emit(ident(line[1].text), line[1].token)
	w.emit("(", line[2].token)
	for i, param := range split(line[2].kids) {
		if i > 0 {
			w.emit(",", line[2].token)
		}
		if err := w.exprs(unannotated(param)); err != nil {
			return err
		}
	}
	w.emit(")", line[2].end)
	rest := line[3:]
	if rest[0].is("->") {
		n := slices.IndexFunc(rest, func(n node) bool { return n.is(":") })
		if n < 0 {
			return w.refuse(rest[0].token, "", "this def is not understood")
		}
		rest = rest[n:]
	}
	if err := w.exprs(rest); err != nil {
		return err
	}
	w.newline()
	return nil
}

// unannotated drops ": T" from "name: T = value".
func unannotated(nodes []node) []node {
	colon := slices.IndexFunc(nodes, func(n node) bool { return n.is(":") })
	if colon < 0 {
		return nodes
	}
	out := slices.Clone(nodes[:colon])
	if eq := slices.IndexFunc(nodes[colon:], func(n node) bool { return n.is("=") }); eq >= 0 {
		out = append(out, nodes[colon+eq:]...)
	}
	return out
}

// split cuts at commas; an empty last part is dropped.
func split(nodes []node) [][]node {
	var out [][]node
	for {
		n := slices.IndexFunc(nodes, func(n node) bool { return n.is(",") })
		if n < 0 {
			break
		}
		out = append(out, nodes[:n])
		nodes = nodes[n+1:]
	}
	if len(nodes) > 0 {
		out = append(out, nodes)
	}
	return out
}

func ident(name string) string {
	if name == "load" { // a word of Starlark, not of Python
		return hookPrefix + "load"
	}
	return name
}

// simple writes one statement without a block.
func (w *rewriter) simple(line []node, indent int32) *Error {
	first := line[0]
	if !first.group && first.kind == tokName {
		switch first.text {
		case "import":
			return w.imports(line)
		case "from":
			return w.from(line)
		case "assert", "raise", "del":
			w.emit(hookPrefix+first.text, first.token)
			w.emit("(", first.token)
			if len(line) == 1 {
				return w.refuse(first.token, "", "%s of nothing", first.text)
			}
			if err := w.exprs(line[1:]); err != nil {
				return err
			}
			w.emit(")", first.token)
			return nil
		case "global", "nonlocal", "yield", "await", "lambda":
			return w.refuse(first.token, "write the values out", "%s is not evaluated here", first.text)
		}
	}
	if first.is("@") {
		return w.refuse(first.token, "call the function", "decorators are not evaluated here")
	}
	line = unannotatedTop(line)
	if len(line) == 0 {
		w.emit("pass", first.token)
		return nil
	}
	w.noteBound(line, indent)
	// "x = 1," is a tuple; Starlark wants it in brackets.
	if last := line[len(line)-1]; last.is(",") {
		eq := -1
		for i, n := range line {
			if n.is("=") {
				eq = i
			}
		}
		if err := w.exprs(line[:eq+1]); err != nil {
			return err
		}
		w.emit("(", last.token)
		if err := w.exprs(line[eq+1:]); err != nil {
			return err
		}
		w.emit(")", last.token)
		return nil
	}
	// "a = b = 1" is two assignments.
	var targets [][]node
	rest := line
	for {
		n := slices.IndexFunc(rest, func(n node) bool { return n.is("=") })
		if n < 0 {
			break
		}
		targets, rest = append(targets, rest[:n]), rest[n+1:]
	}
	if len(targets) < 2 {
		return w.exprs(line)
	}
	for i, t := range targets {
		if len(t) == 0 {
			return w.refuse(first.token, "", "an assignment to nothing")
		}
		if i > 0 {
			w.emit(";", t[0].token)
		}
		value := rest
		if i > 0 { // evaluated once: the others take it from the first
			value = targets[0]
		}
		if err := w.exprs(t); err != nil {
			return err
		}
		w.emit("=", t[0].token)
		if err := w.exprs(value); err != nil {
			return err
		}
	}
	return nil
}

// unannotatedTop drops the annotation of "name: T = value".
func unannotatedTop(line []node) []node {
	colon := slices.IndexFunc(line, func(n node) bool { return n.is(":") })
	if colon <= 0 {
		return line
	}
	if slices.ContainsFunc(line[:colon], func(n node) bool { return n.is("=") || n.word("lambda") }) {
		return line
	}
	out := unannotated(line)
	if len(out) == colon { // an annotation alone
		return nil
	}
	return out
}

// noteBound remembers where top-level names get their values.
func (w *rewriter) noteBound(line []node, indent int32) {
	if len(line) < 2 || line[0].group || line[0].kind != tokName || !(line[1].is("=") || line[1].is("+=")) {
		return
	}
	if indent == 0 || w.bound[line[0].text].Line == 0 {
		w.bound[line[0].text] = Pos{w.file, int(line[0].line), int(line[0].col)}
	}
}
