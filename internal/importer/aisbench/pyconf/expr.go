package pyconf

import (
	"slices"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// words that are statements or operators, so that what follows is no operand of
// theirs.
var wordOps = []string{"and", "or", "not", "in", "is", "if", "else", "for", "elif", "while", "return", "print"}

// operand reports whether an operator after n is a binary one.
func operand(n node) bool {
	if n.group {
		return true
	}
	switch n.kind {
	case tokName:
		return !slices.Contains(wordOps[:len(wordOps)-1], n.text)
	case tokNumber, tokString:
		return true
	}
	return false
}

// exprs writes nodes, with what Starlark lacks put in its words.
func (w *rewriter) exprs(nodes []node) *Error {
	chain := 0
	for i := 0; i < len(nodes); i++ {
		n := nodes[i]
		switch {
		case n.is(","), n.is(":"):
			chain = 0
		case n.kind == tokOp || n.group || n.kind == tokName && slices.Contains(wordOps, n.text):
			if chain++; chain > maxChain {
				return w.refuse(n.token, "put parts of it into variables", "an expression of more than %d operators", maxChain)
			}
		}
		if i > 0 && nodes[i-1].is(".") && (n.group || n.kind != tokName) {
			return w.refuse(n.token, "", "no name stands after the dot")
		}
		// A power binds tighter than anything to its left but calls and the like.
		if end := w.power(nodes, i); end > i {
			if err := w.writePower(nodes[i:end]); err != nil {
				return err
			}
			i = end - 1
			continue
		}
		if !n.group && n.kind == tokString {
			end := i + 1
			for end < len(nodes) && !nodes[end].group && nodes[end].kind == tokString {
				end++
			}
			if err := w.strings(nodes[i:end]); err != nil {
				return err
			}
			i = end - 1
			continue
		}
		if n.word("is") {
			op := "=="
			if i+1 < len(nodes) && nodes[i+1].word("not") {
				op, i = "!=", i+1
			}
			w.emit(op, n.token)
			continue
		}
		if n.word("not") && i+1 < len(nodes) && nodes[i+1].word("in") {
			w.emit("not", n.token)
			continue
		}
		call := i > 0 && operand(nodes[i-1]) && n.group
		if err := w.node(n, call); err != nil {
			return err
		}
	}
	return nil
}

// primary is the end of the operand that begins at i: a token or bracket and the
// calls, indexes and attributes after it; i when there is none.
func primary(nodes []node, i int) int {
	if i >= len(nodes) || !operand(nodes[i]) {
		return i
	}
	for i++; i < len(nodes); {
		switch {
		case nodes[i].group && nodes[i].text != "{":
			i++
		case nodes[i].is(".") && i+1 < len(nodes):
			i += 2
		default:
			return i
		}
	}
	return i
}

// power is the end of "a ** b" that begins at i, or i.
func (w *rewriter) power(nodes []node, i int) int {
	if i > 0 && (operand(nodes[i-1]) || nodes[i-1].is(".")) {
		return i // in the middle of an operand
	}
	end := primary(nodes, i)
	if end == i || end >= len(nodes) || !nodes[end].is("**") {
		return i
	}
	for end < len(nodes) && nodes[end].is("**") {
		end++
		for end < len(nodes) && (nodes[end].is("-") || nodes[end].is("+") || nodes[end].is("~")) {
			end++
		}
		next := primary(nodes, end)
		if next == end {
			return i
		}
		end = next
	}
	return end
}

// writePower writes a ** b ** c as pow(a, pow(b, c)).
func (w *rewriter) writePower(nodes []node) *Error {
	n := slices.IndexFunc(nodes, func(n node) bool { return n.is("**") })
	if n < 0 {
		return w.exprs(nodes)
	}
	w.emit(hookPrefix+"pow(", nodes[n].token)
	if err := w.exprs(nodes[:n]); err != nil {
		return err
	}
	w.emit(",", nodes[n].token)
	rest := nodes[n+1:]
	signs := 0
	for signs < len(rest) && !operand(rest[signs]) {
		w.emit(rest[signs].text, rest[signs].token)
		signs++
	}
	if err := w.writePower(rest[signs:]); err != nil {
		return err
	}
	w.emit(")", nodes[n].token)
	return nil
}

// node writes one token or bracket. call: a bracket that calls or indexes what
// stands before it.
func (w *rewriter) node(n node, call bool) *Error {
	if n.group {
		return w.bracket(n, call)
	}
	switch n.kind {
	case tokName:
		switch n.text {
		case "lambda", "yield", "await", "async":
			return w.refuse(n.token, "write the value out", "%s is not evaluated here", n.text)
		case "import", "from", "class", "with", "try", "except", "finally", "global", "nonlocal", "raise", "del", "assert", "as":
			return w.refuse(n.token, "", "%q cannot stand here", n.text)
		}
		w.emit(ident(n.text), n.token)
	case tokNumber:
		return w.number(n.token)
	case tokOp:
		switch n.text {
		case ":=", "->", "@", "@=", "...", "**=":
			return w.refuse(n.token, "write it in another way", "%q is not evaluated here", n.text)
		}
		w.emit(n.text, n.token)
	}
	return nil
}

func (w *rewriter) number(t token) *Error {
	text := strings.ToLower(strings.ReplaceAll(t.text, "_", ""))
	whole := strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0o") || strings.HasPrefix(text, "0b")
	if !whole && !strings.ContainsAny(text, ".e") {
		if text = strings.TrimLeft(text, "0"); text == "" {
			text = "0"
		}
		if strings.Trim(text, "0123456789") != "" {
			return w.refuse(t, "", "%q is not a number", t.text)
		}
	} else if !whole {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return w.refuse(t, "", "%q is not a number", t.text)
		}
		if text = strconv.FormatFloat(f, 'g', -1, 64); !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
	} else if len(text) > 2000 {
		return w.refuse(t, "", "a number of %d digits", len(text))
	}
	if len(text) > 2000 {
		return w.refuse(t, "", "a number of %d digits", len(text))
	}
	w.emit(text, t)
	return nil
}

// has reports whether nodes hold a word at their own depth.
func has(nodes []node, test func(node) bool) bool { return slices.ContainsFunc(nodes, test) }

func isFor(n node) bool { return n.word("for") }

// bracket writes a bracket and what it holds.
func (w *rewriter) bracket(n node, call bool) *Error {
	loop := has(n.kids, isFor)
	switch {
	case n.text == "(" && loop: // a generator: its values are what matters
		open, end := "[", "]"
		if call {
			open, end = "( [", "] )"
		}
		return w.wrap(open, n, n.kids, end)
	case n.text == "{" && loop, call || len(n.kids) == 0:
	case n.text == "{":
		return w.braces(n)
	case starred(n.kids) && (n.text == "[" || has(n.kids, func(n node) bool { return n.is(",") })):
		return w.unpack(n)
	}
	return w.wrap(n.text, n, n.kids, n.end.text)
}

func (w *rewriter) wrap(open string, n node, kids []node, end string) *Error {
	w.emit(open, n.token)
	if err := w.exprs(kids); err != nil {
		return err
	}
	w.emit(end, n.end)
	return nil
}

// starred reports whether some element is unpacked.
func starred(kids []node) bool {
	for i, k := range kids {
		if k.is("*") && (i == 0 || kids[i-1].is(",")) {
			return true
		}
	}
	return false
}

// braces writes a dict or a set.
func (w *rewriter) braces(n node) *Error {
	colon := has(n.kids, func(n node) bool { return n.is(":") })
	merged := false
	for i, k := range n.kids {
		merged = merged || k.is("**") && (i == 0 || n.kids[i-1].is(","))
	}
	if !colon && !merged {
		if starred(n.kids) {
			return w.refuse(n.token, "write set(a + b)", "unpacking in a set is not evaluated here")
		}
		return w.wrap(hookPrefix+"set ( [", n, n.kids, "] )")
	}
	if !merged {
		return w.wrap("{", n, n.kids, "}")
	}
	return w.spread(n, hookPrefix+"merge", "**", "{", "}")
}

// unpack writes [*a, b] as the sum of lists.
func (w *rewriter) unpack(n node) *Error {
	name := hookPrefix + "list"
	if n.text == "(" {
		name = hookPrefix + "tuple"
	}
	return w.spread(n, name, "*", "[", "]")
}

// spread writes a display with unpacked parts as a call of hook with the list of its
// parts: those behind mark as they are, each other one as a display of its own.
func (w *rewriter) spread(n node, hook, mark, open, shut string) *Error {
	w.emit(hook+" ( [", n.token)
	for i, part := range split(n.kids) {
		if i > 0 {
			w.emit(",", n.token)
		}
		switch {
		case len(part) == 0:
			return w.refuse(n.token, "", "nothing between two commas")
		case part[0].is(mark):
			if err := w.exprs(part[1:]); err != nil {
				return err
			}
		default:
			w.emit(open, part[0].token)
			if err := w.exprs(part); err != nil {
				return err
			}
			w.emit(shut, part[0].token)
		}
	}
	w.emit("] )", n.end)
	return nil
}

// strings writes neighbouring string literals as one.
func (w *rewriter) strings(nodes []node) *Error {
	var all []piece
	plain := true
	for _, n := range nodes {
		lit, err := w.literal(n.token)
		if err != nil {
			return err
		}
		if !lit.f {
			s, err := w.text(lit.body, lit.raw, lit.line, lit.col)
			if err != nil {
				return err
			}
			all = append(all, piece{text: s})
			continue
		}
		parts, err := w.pieces(lit.body, lit.raw, lit.line, lit.col, 0)
		if err != nil {
			return err
		}
		for _, p := range parts {
			plain = plain && p.expr == ""
		}
		all = append(all, parts...)
	}
	if plain {
		var b strings.Builder
		for _, p := range all {
			b.WriteString(p.text)
		}
		w.emit(quote(b.String()), nodes[0].token)
		return nil
	}
	return w.joined(all, nodes[0].token)
}

// joined writes the pieces of an f-string as a call that joins them.
func (w *rewriter) joined(parts []piece, t token) *Error {
	w.emit(hookPrefix+"join ( [", t)
	for i, p := range parts {
		if i > 0 {
			w.emit(",", t)
		}
		if p.expr == "" {
			w.emit(quote(p.text), t)
			continue
		}
		at := token{line: int32(p.line), col: int32(p.col)}
		w.emit(hookPrefix+"show", at)
		w.emit("(", at)
		if err := w.inner(p); err != nil {
			return err
		}
		w.emit(",", at)
		w.emit(quote(p.convert), at)
		w.emit(",", at)
		if err := w.joined(p.spec, at); err != nil {
			return err
		}
		w.emit(")", at)
	}
	w.emit("] )", t)
	return nil
}

// inner writes the expression of a replacement field.
func (w *rewriter) inner(p piece) *Error {
	sub := &rewriter{
		lexer: &lexer{file: w.file, src: "(" + p.expr + ")", line: p.line, col: p.col - 1},
		base:  w.base, bound: w.bound,
	}
	nodes, _, err := sub.logical()
	if err != nil {
		return err
	}
	sub.out, sub.line, sub.col = w.out, w.line, w.col
	if sub.nested = w.nested + 1; sub.nested > 3 {
		return w.fail(p.line, p.col, "", "f-strings within f-strings are nested too deep")
	}
	if err := sub.exprs(nodes); err != nil {
		return err
	}
	w.out, w.line, w.col = sub.out, sub.line, sub.col
	return nil
}
