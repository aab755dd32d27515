package pyconf

import (
	"go.starlark.net/syntax"
)

// place is a place in the rewritten text of a file.
type place struct{ file, line, col int32 }

func (a place) before(b place) bool { return a.line < b.line || a.line == b.line && a.col < b.col }

// span is where the value of a field stands.
type span struct{ at, end place }

// site is a call whose named arguments, or a literal whose keys, become fields.
type site struct {
	at     place
	fields map[string]span
}

// tree rewrites the syntax tree, so that dicts remember where their fields came
// from, and what could grow without bound is counted.
type tree struct {
	s    *state
	file int32
}

func (t *tree) place(p syntax.Position) place { return place{t.file, p.Line, p.Col} }

func (t *tree) span(n syntax.Node) span {
	a, b := n.Span()
	return span{t.place(a), t.place(b)}
}

func (t *tree) hook(name string, at syntax.Position, args ...syntax.Expr) syntax.Expr {
	return &syntax.CallExpr{Fn: &syntax.Ident{NamePos: at, Name: hookPrefix + name}, Lparen: at, Args: args, Rparen: at}
}

func number(n int, at syntax.Position) syntax.Expr {
	return &syntax.Literal{Token: syntax.INT, TokenPos: at, Raw: itoa(n), Value: int64(n)}
}

func word(s string, at syntax.Position) syntax.Expr {
	return &syntax.Literal{Token: syntax.STRING, TokenPos: at, Raw: `""`, Value: s}
}

func (t *tree) site(at syntax.Position, fields map[string]span) syntax.Expr {
	t.s.sites = append(t.s.sites, site{t.place(at), fields})
	return number(len(t.s.sites)-1, at)
}

// named collects where the named arguments of a call stand.
func (t *tree) named(args []syntax.Expr) map[string]span {
	var out map[string]span
	for _, a := range args {
		if b, ok := a.(*syntax.BinaryExpr); ok && b.Op == syntax.EQ {
			if out == nil {
				out = map[string]span{}
			}
			name := b.X.(*syntax.Ident).Name
			if name == hookPrefix+"load" {
				b.X.(*syntax.Ident).Name, name = "load", "load"
			}
			s := t.span(b.Y)
			s.at = t.place(b.X.(*syntax.Ident).NamePos)
			out[name] = s
		}
	}
	return out
}

func (t *tree) stmts(list []syntax.Stmt) *Error {
	for i, s := range list {
		out, err := t.stmt(s)
		if err != nil {
			return err
		}
		list[i] = out
	}
	return nil
}

func (t *tree) stmt(s syntax.Stmt) (syntax.Stmt, *Error) {
	switch s := s.(type) {
	case *syntax.AssignStmt:
		return t.assign(s), nil
	case *syntax.DefStmt:
		for _, p := range s.Params {
			if b, ok := p.(*syntax.BinaryExpr); ok {
				b.Y = t.expr(b.Y)
			}
		}
		return s, t.stmts(s.Body)
	case *syntax.ExprStmt:
		if c, ok := s.X.(*syntax.CallExpr); ok {
			if fn, ok := c.Fn.(*syntax.Ident); ok && fn.Name == hookPrefix+"del" {
				return t.del(s, c)
			}
		}
		s.X = t.expr(s.X)
	case *syntax.ForStmt:
		s.X = t.expr(s.X)
		return s, t.stmts(s.Body)
	case *syntax.WhileStmt:
		s.Cond = t.expr(s.Cond)
		return s, t.stmts(s.Body)
	case *syntax.IfStmt:
		s.Cond = t.expr(s.Cond)
		if err := t.stmts(s.True); err != nil {
			return s, err
		}
		return s, t.stmts(s.False)
	case *syntax.ReturnStmt:
		if s.Result != nil {
			s.Result = t.expr(s.Result)
		}
	}
	return s, nil
}

func (t *tree) del(s *syntax.ExprStmt, c *syntax.CallExpr) (syntax.Stmt, *Error) {
	for i, a := range c.Args {
		switch a := unparen(a).(type) {
		case *syntax.IndexExpr:
			c.Args[i] = t.hook("delitem", a.Lbrack, t.expr(a.X), t.expr(a.Y))
		case *syntax.Ident:
			c.Args[i] = &syntax.Ident{NamePos: a.NamePos, Name: "None"}
		default:
			p := t.s.at(t.place(c.Lparen))
			return nil, &Error{p, "del of this is not evaluated here", `del x["key"], or del name`}
		}
	}
	return s, nil
}

func unparen(x syntax.Expr) syntax.Expr {
	for {
		p, ok := x.(*syntax.ParenExpr)
		if !ok {
			return x
		}
		x = p.X
	}
}

// assign makes assignments to keys and attributes calls, which note the place.
func (t *tree) assign(s *syntax.AssignStmt) syntax.Stmt {
	where := t.span(s.RHS)
	where.at = t.place(syntax.Start(s.LHS))
	value := t.expr(s.RHS)
	op := s.Op.String()
	at := syntax.Start(s.LHS)
	var object, key syntax.Expr
	switch lhs := unparen(s.LHS).(type) {
	case *syntax.IndexExpr:
		object, key = t.expr(lhs.X), t.expr(lhs.Y)
	case *syntax.DotExpr:
		object, key = t.expr(lhs.X), word(lhs.Name.Name, lhs.NamePos)
	case *syntax.Ident:
		if s.Op == syntax.EQ {
			s.RHS = value
			return s
		}
		load := &syntax.Ident{NamePos: lhs.NamePos, Name: lhs.Name}
		return &syntax.AssignStmt{OpPos: s.OpPos, Op: syntax.EQ, LHS: lhs, RHS: t.hook("augmented", s.OpPos, word(op, at), load, value)}
	default:
		s.RHS = value
		t.targets(s.LHS)
		return s
	}
	id := t.site(at, map[string]span{"": where})
	if s.Op == syntax.EQ {
		return &syntax.ExprStmt{X: t.hook("setitem", at, id, object, key, value)}
	}
	return &syntax.ExprStmt{X: t.hook("augitem", at, id, word(op, at), object, key, value)}
}

// targets rewrites what stands within the targets of an unpacking assignment.
func (t *tree) targets(x syntax.Expr) {
	switch x := x.(type) {
	case *syntax.ParenExpr:
		t.targets(x.X)
	case *syntax.TupleExpr:
		for _, e := range x.List {
			t.targets(e)
		}
	case *syntax.ListExpr:
		for _, e := range x.List {
			t.targets(e)
		}
	case *syntax.IndexExpr:
		x.X, x.Y = t.expr(x.X), t.expr(x.Y)
	}
}

func (t *tree) list(xs []syntax.Expr) {
	for i, x := range xs {
		xs[i] = t.expr(x)
	}
}

// counted are the operators whose results can outgrow their operands, and those
// that Python knows more of.
var counted = map[syntax.Token]bool{syntax.PLUS: true, syntax.STAR: true, syntax.PERCENT: true, syntax.PIPE: true, syntax.LTLT: true, syntax.IN: true, syntax.NOT_IN: true}

func (t *tree) expr(x syntax.Expr) syntax.Expr {
	switch x := x.(type) {
	case *syntax.ParenExpr:
		x.X = t.expr(x.X)
	case *syntax.BinaryExpr:
		x.X, x.Y = t.expr(x.X), t.expr(x.Y)
		if counted[x.Op] {
			return t.hook("binary", x.OpPos, word(x.Op.String(), x.OpPos), x.X, x.Y)
		}
	case *syntax.UnaryExpr:
		if x.X != nil {
			x.X = t.expr(x.X)
		}
	case *syntax.CondExpr:
		x.Cond, x.True, x.False = t.expr(x.Cond), t.expr(x.True), t.expr(x.False)
	case *syntax.ListExpr:
		t.list(x.List)
	case *syntax.TupleExpr:
		t.list(x.List)
	case *syntax.DictExpr:
		return t.dict(x)
	case *syntax.Comprehension:
		return t.comprehension(x)
	case *syntax.DotExpr:
		return t.hook("attr", syntax.Start(x), t.expr(x.X), word(x.Name.Name, x.NamePos))
	case *syntax.IndexExpr:
		return t.hook("index", syntax.Start(x), t.expr(x.X), t.expr(x.Y))
	case *syntax.SliceExpr:
		args := []syntax.Expr{t.expr(x.X)}
		for _, e := range []syntax.Expr{x.Lo, x.Hi, x.Step} {
			if e == nil {
				e = &syntax.Ident{NamePos: x.Lbrack, Name: "None"}
			}
			args = append(args, t.expr(e))
		}
		return t.hook("slice", syntax.Start(x), args...)
	case *syntax.CallExpr:
		return t.call(x)
	}
	return x
}

func (t *tree) call(x *syntax.CallExpr) syntax.Expr {
	fields := t.named(x.Args)
	for i, a := range x.Args {
		switch a := a.(type) {
		case *syntax.BinaryExpr:
			if a.Op == syntax.EQ {
				a.Y = t.expr(a.Y)
				continue
			}
		case *syntax.UnaryExpr:
			if a.Op == syntax.STAR || a.Op == syntax.STARSTAR {
				a.X = t.expr(a.X)
				continue
			}
		}
		x.Args[i] = t.expr(a)
	}
	at := syntax.Start(x)
	if dot, ok := x.Fn.(*syntax.DotExpr); ok {
		args := []syntax.Expr{t.site(at, fields), t.expr(dot.X), word(dot.Name.Name, dot.NamePos)}
		return t.hook("method", at, append(args, x.Args...)...)
	}
	fn := x.Fn
	if i, ok := fn.(*syntax.IndexExpr); ok { // dict[str, int](…)
		fn = i.X
	}
	if id, ok := fn.(*syntax.Ident); ok && (id.Name == "dict" || id.Name == "ConfigDict") {
		return t.hook("dict", at, append([]syntax.Expr{t.site(at, fields)}, x.Args...)...)
	}
	x.Lparen = at // where errors of the call are
	x.Fn = t.expr(x.Fn)
	return x
}

func (t *tree) dict(x *syntax.DictExpr) syntax.Expr {
	fields := make(map[string]span, len(x.List))
	flat := make([]syntax.Expr, 0, 2*len(x.List))
	for _, e := range x.List {
		entry := e.(*syntax.DictEntry)
		if key, ok := entry.Key.(*syntax.Literal); ok {
			if name, ok := key.Value.(string); ok {
				s := t.span(entry.Value)
				s.at = t.place(key.TokenPos)
				fields[name] = s
			}
		}
		flat = append(flat, t.expr(entry.Key), t.expr(entry.Value))
	}
	id := t.site(x.Lbrace, fields)
	return t.hook("literal", x.Lbrace, id, &syntax.ListExpr{Lbrack: x.Lbrace, List: flat, Rbrack: x.Rbrace})
}

// comprehension keeps a list's; a dict's becomes a list of pairs, so that the
// dict knows its place.
func (t *tree) comprehension(x *syntax.Comprehension) syntax.Expr {
	for _, c := range x.Clauses {
		switch c := c.(type) {
		case *syntax.ForClause:
			c.X = t.expr(c.X)
		case *syntax.IfClause:
			c.Cond = t.expr(c.Cond)
		}
	}
	entry, isDict := x.Body.(*syntax.DictEntry)
	if !isDict {
		x.Body = t.expr(x.Body)
		if x.Curly {
			x.Curly = false
			return t.hook("set", x.Lbrack, x)
		}
		return x
	}
	x.Curly = false
	x.Body = &syntax.TupleExpr{Lparen: entry.Colon, List: []syntax.Expr{t.expr(entry.Key), t.expr(entry.Value)}, Rparen: entry.Colon}
	return t.hook("pairs", x.Lbrack, t.site(x.Lbrack, nil), x)
}
