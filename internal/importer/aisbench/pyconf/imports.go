package pyconf

import (
	"slices"
	"strings"
)

// imports writes "import a.b as c".
func (w *rewriter) imports(line []node) *Error {
	for i, part := range split(line[1:]) {
		name, rest, ok := dotted(part)
		if !ok || name == "" {
			return w.refuse(line[0].token, "", "this import is not understood")
		}
		bind, module := name, name
		if len(rest) == 2 && rest[0].word("as") && rest[1].kind == tokName {
			bind = rest[1].text
		} else if len(rest) > 0 {
			return w.refuse(rest[0].token, "", "this import is not understood")
		} else {
			bind, _, _ = strings.Cut(name, ".")
			module = bind
		}
		if i > 0 {
			w.emit(";", line[0].token)
		}
		w.emit(ident(bind), part[0].token)
		w.emit("="+hookPrefix+"import("+quote(module)+")", part[0].token)
	}
	return nil
}

// dotted reads "a.b.c" at the start of nodes.
func dotted(nodes []node) (string, []node, bool) {
	name := ""
	for len(nodes) > 0 && !nodes[0].group && nodes[0].kind == tokName {
		name += nodes[0].text
		nodes = nodes[1:]
		if len(nodes) == 0 || !nodes[0].is(".") {
			return name, nodes, true
		}
		name += "."
		nodes = nodes[1:]
	}
	return name, nodes, false
}

// from writes "from a.b import c as d".
func (w *rewriter) from(line []node) *Error {
	first, rest, level := line[0], line[1:], 0
	for len(rest) > 0 && (rest[0].is(".") || rest[0].is("...")) {
		level += len(rest[0].text)
		rest = rest[1:]
	}
	module, rest, _ := dotted(rest)
	// "from . import x": dotted stops at import, which is a name too.
	if level > 0 && module == "import" {
		return w.refuse(first.token, "from .NAME import …", "from . import … names no file")
	}
	if len(rest) < 2 || !rest[0].word("import") {
		return w.refuse(first.token, "", "this import is not understood")
	}
	rest = rest[1:]
	if len(rest) == 1 && rest[0].group {
		rest = rest[0].kids
	}
	included := level > 0 || len(w.bases) > 0
	id, names := 0, []string(nil)
	if included {
		var err *Error
		if id, names, err = w.base(Pos{w.file, int(first.line), int(first.col)}, module, level); err != nil {
			return err
		}
	}
	wrote := false
	bind := func(name, as string, t token) {
		if wrote {
			w.emit(";", t)
		}
		wrote = true
		w.emit(ident(as), t)
		if included {
			w.emit("="+hookPrefix+"base("+itoa(id)+","+quote(name)+")", t)
			w.bound[as] = Pos{w.file, int(t.line), int(t.col)}
		} else {
			w.emit("="+hookPrefix+"import("+quote(module+"."+name)+")", t)
		}
	}
	if len(rest) == 1 && rest[0].is("*") {
		if !included {
			if module != "mmengine.config" && module != "os" {
				return w.refuse(rest[0].token, "name what is used", "what * brings from %s is not known here", module)
			}
			w.emit("pass", first.token)
			return nil
		}
		for _, name := range names {
			if !strings.HasPrefix(name, "_") {
				bind(name, name, rest[0].token)
			}
		}
		if !wrote {
			w.emit("pass", first.token)
		}
		return nil
	}
	for _, part := range split(rest) {
		if len(part) == 0 || part[0].kind != tokName || part[0].group {
			return w.refuse(first.token, "", "this import is not understood")
		}
		name, as := part[0].text, part[0].text
		if len(part) == 3 && part[1].word("as") && part[2].kind == tokName {
			as = part[2].text
		} else if len(part) != 1 {
			return w.refuse(part[0].token, "", "this import is not understood")
		}
		if included && !slices.Contains(names, name) {
			return w.refuse(part[0].token, "its names: "+strings.Join(first12(names), ", "), "%s%s has no %s", strings.Repeat(".", level), module, name)
		}
		bind(name, as, part[0].token)
	}
	return nil
}

func first12(names []string) []string {
	if len(names) > 12 {
		return append(names[:12:12], "…")
	}
	if len(names) == 0 {
		return []string{"none"}
	}
	return names
}
