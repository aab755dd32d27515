package pyconf

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
)

// hooks are what rewritten code calls.
func (s *state) hooks() map[string]function {
	type th = *starlark.Thread
	type in = starlark.Tuple
	type kw = []starlark.Tuple
	siteOf := func(v starlark.Value) site {
		n, _ := starlark.AsInt32(v)
		return s.sites[n]
	}
	str := func(v starlark.Value) string { t, _ := starlark.AsString(v); return t }
	none := starlark.None
	return map[string]function{
		"import": func(_ th, a in, _ kw) (starlark.Value, error) { return s.known(imported(str(a[0]))), nil },
		"base": func(_ th, a in, _ kw) (starlark.Value, error) {
			n, _ := starlark.AsInt32(a[0])
			return s.deepCopy(s.modules[n].globals[str(a[1])], map[starlark.Value]starlark.Value{}, 0)
		},
		"pow": s.pow,
		"dict": func(t th, a in, k kw) (starlark.Value, error) {
			return s.newDict(t, siteOf(a[0]), a[1:], k)
		},
		"pairs": func(t th, a in, _ kw) (starlark.Value, error) {
			return s.newDict(t, siteOf(a[0]), a[1:], nil)
		},
		"literal": func(_ th, a in, _ kw) (starlark.Value, error) {
			from, flat := siteOf(a[0]), a[1].(*starlark.List)
			d := starlark.NewDict(flat.Len() / 2)
			m := s.metaOf(d)
			m.at = from.at
			for i := 0; i < flat.Len(); i += 2 {
				if err := s.setKey(d, flat.Index(i), flat.Index(i+1)); err != nil {
					return nil, err
				}
			}
			for name, at := range from.fields {
				m.fields[name] = at
			}
			return d, nil
		},
		"merge": func(t th, a in, _ kw) (starlark.Value, error) {
			d := starlark.NewDict(8)
			s.metaOf(d).at = s.caller(t)
			for i := range a[0].(*starlark.List).Len() {
				part, ok := a[0].(*starlark.List).Index(i).(*starlark.Dict)
				if !ok {
					return nil, fmt.Errorf("** of a %s: a dict is needed", a[0].(*starlark.List).Index(i).Type())
				}
				if err := s.update(d, site{}, starlark.Tuple{part}, nil); err != nil {
					return nil, err
				}
			}
			return d, nil
		},
		"list": func(_ th, a in, _ kw) (starlark.Value, error) { return s.concat(elements(a[0])) },
		"tuple": func(_ th, a in, _ kw) (starlark.Value, error) {
			l, err := s.concat(elements(a[0]))
			if err != nil {
				return nil, err
			}
			return elements(l), nil
		},
		"set": func(t th, a in, _ kw) (starlark.Value, error) { return s.universe("set")(t, a, nil) },
		"join": func(_ th, a in, _ kw) (starlark.Value, error) {
			var b strings.Builder
			for _, v := range elements(a[0]) {
				if err := s.charge(len(str(v))); err != nil {
					return nil, err
				}
				b.WriteString(str(v))
			}
			return starlark.String(b.String()), nil
		},
		"show":      func(_ th, a in, _ kw) (starlark.Value, error) { return s.shown(a[0], str(a[1]), str(a[2])) },
		"binary":    func(_ th, a in, _ kw) (starlark.Value, error) { return s.binary(str(a[0]), a[1], a[2]) },
		"augmented": func(_ th, a in, _ kw) (starlark.Value, error) { return s.augmented(str(a[0]), a[1], a[2]) },
		"setitem": func(t th, a in, _ kw) (starlark.Value, error) {
			return none, s.setItem(t, siteOf(a[0]).fields[""], a[1], a[2], a[3])
		},
		"augitem": func(t th, a in, _ kw) (starlark.Value, error) {
			old, err := s.item(t, a[2], a[3])
			if err != nil {
				return nil, err
			}
			v, err := s.augmented(str(a[1]), old, a[4])
			if err != nil {
				return nil, err
			}
			return none, s.setItem(t, siteOf(a[0]).fields[""], a[2], a[3], v)
		},
		"index": func(t th, a in, _ kw) (starlark.Value, error) { return s.item(t, a[0], a[1]) },
		"slice": func(_ th, a in, _ kw) (starlark.Value, error) { return s.slice(a) },
		"attr":  func(_ th, a in, _ kw) (starlark.Value, error) { return s.attr(a[0], str(a[1])) },
		"method": func(t th, a in, k kw) (starlark.Value, error) {
			return s.method(t, siteOf(a[0]), a[1], str(a[2]), a[3:], k)
		},
		"assert": func(_ th, a in, _ kw) (starlark.Value, error) {
			if a[0].Truth() {
				return none, nil
			}
			msg := "an assertion of the config does not hold"
			if len(a) > 1 {
				t, _ := text(a[1], false, 1000)
				msg += ": " + t
			}
			return nil, fmt.Errorf("%s", msg)
		},
		"raise": func(_ th, a in, _ kw) (starlark.Value, error) {
			t, _ := text(a[0], false, 1000)
			return nil, fmt.Errorf("the config raises %s", t)
		},
		"del": func(th, in, kw) (starlark.Value, error) { return none, nil },
		"delitem": func(_ th, a in, _ kw) (starlark.Value, error) {
			switch o := a[0].(type) {
			case *starlark.Dict:
				_, found, err := o.Delete(a[1])
				if err == nil && !found {
					err = fmt.Errorf("del: the dict has no such key")
				}
				return none, err
			case *starlark.List:
				i, err := index(a[1], o.Len())
				if err != nil {
					return nil, err
				}
				pop, _ := o.Attr("pop")
				return starlark.Call(&starlark.Thread{}, pop, in{starlark.MakeInt(i)}, nil)
			}
			return nil, fmt.Errorf("del of an item of a %s", a[0].Type())
		},
	}
}

func elements(v starlark.Value) starlark.Tuple {
	l := v.(*starlark.List)
	out := make(starlark.Tuple, l.Len())
	for i := range out {
		out[i] = l.Index(i)
	}
	return out
}

// slice is x[lo:hi:step]; a text is cut by characters.
func (s *state) slice(a starlark.Tuple) (starlark.Value, error) {
	str, isText := a[0].(starlark.String)
	x := a[0]
	if isText {
		x = runes(string(str))
	}
	seq, ok := x.(starlark.Sliceable)
	if !ok {
		return nil, fmt.Errorf("a %s cannot be sliced", a[0].Type())
	}
	if err := s.weighOne(x, 0); err != nil {
		return nil, err
	}
	bound := [3]int{0, seq.Len(), 1}
	given := [3]bool{}
	for i, v := range a[1:] {
		if v == starlark.None {
			continue
		}
		n, err := starlark.AsInt32(v)
		if err != nil {
			return nil, fmt.Errorf("a slice takes whole numbers, not a %s", v.Type())
		}
		bound[i], given[i] = n, true
	}
	n, step := seq.Len(), bound[2]
	if step == 0 {
		return nil, fmt.Errorf("a slice with step 0")
	}
	clamp := func(i, least, most int) int {
		if i < 0 {
			i += n
		}
		return min(max(i, least), most)
	}
	lo, hi := 0, n
	if step < 0 {
		lo, hi = n-1, -1
	}
	least, most := 0, n
	if step < 0 {
		least, most = -1, n-1
	}
	if given[0] {
		lo = clamp(bound[0], least, most)
	}
	if given[1] {
		hi = clamp(bound[1], least, most)
	}
	out := seq.Slice(lo, hi, step)
	if !isText {
		return out, nil
	}
	var b strings.Builder
	for _, r := range out.(starlark.Tuple) {
		b.WriteString(string(r.(starlark.String)))
	}
	return starlark.String(b.String()), nil
}

// attr is x.name: a method, a part of a module, or a key of a dict, as configs
// that others loaded have them.
func (s *state) attr(x starlark.Value, name string) (starlark.Value, error) {
	switch o := x.(type) {
	case symbol:
		return s.known(imported(o.name + "." + name)), nil
	case environ:
		if name == "get" {
			return builtin("os.environ.get", s.getenv), nil
		}
		return nil, &hinted{"os.environ." + name + " is not known here", `os.environ["NAME"] and os.environ.get("NAME", default) are`}
	case *starlark.Dict:
		if v, found, _ := o.Get(starlark.String(name)); found {
			return v, nil
		}
	}
	if ours(x, name) {
		return builtin(name, func(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return s.method(th, site{at: s.caller(th)}, x, name, args, kwargs)
		}), nil
	}
	if h, ok := x.(starlark.HasAttrs); ok {
		if v, err := h.Attr(name); err == nil && v != nil {
			return v, nil
		}
	}
	return nil, fmt.Errorf("a %s has no attribute %s", x.Type(), name)
}

// ours reports whether a method of Python is done by method.
func ours(x starlark.Value, name string) bool {
	switch x.(type) {
	case starlark.String:
		return strings.Contains(" format join replace zfill ljust rjust center casefold swapcase encode ", " "+name+" ")
	case *starlark.List:
		return strings.Contains(" copy count sort reverse extend ", " "+name+" ")
	case *starlark.Dict:
		return strings.Contains(" update copy setdefault get ", " "+name+" ")
	}
	return false
}

// method is x.name(…).
func (s *state) method(th *starlark.Thread, from site, x starlark.Value, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := s.weigh(args, kwargs); err != nil {
		return nil, err
	}
	if ours(x, name) {
		switch o := x.(type) {
		case starlark.String:
			return s.textMethod(string(o), name, args, kwargs)
		case *starlark.List:
			return s.listMethod(th, o, name, args, kwargs)
		case *starlark.Dict:
			switch name {
			case "update":
				return starlark.None, s.update(o, from, args, kwargs)
			case "copy":
				return s.shallow(o)
			case "setdefault":
				if len(args) == 2 {
					if v, found, err := o.Get(args[0]); err != nil || found {
						return v, err
					}
					return args[1], s.setItem(th, span{from.at, from.at}, o, args[0], args[1])
				}
			}
		}
	}
	if e, ok := x.(environ); ok && name == "setdefault" && len(args) == 2 {
		key, _ := starlark.AsString(args[0])
		if v, err := e.s.variable(th, key, starlark.None); err != nil || v != starlark.None {
			return v, err
		}
		return args[1], s.setItem(th, span{from.at, from.at}, e, args[0], args[1])
	}
	if str, ok := x.(starlark.String); ok {
		if err := s.charge(len(str)); err != nil {
			return nil, err
		}
	}
	fn, err := s.attr(x, name)
	if err != nil {
		return nil, err
	}
	return starlark.Call(th, fn, args, kwargs)
}

func (s *state) listMethod(th *starlark.Thread, l *starlark.List, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := s.weighOne(l, 0); err != nil {
		return nil, err
	}
	switch name {
	case "copy":
		return s.concat(starlark.Tuple{l})
	case "extend":
		if len(args) != 1 {
			return nil, fmt.Errorf("extend: one list is needed")
		}
		_, err := s.augmented("+=", l, args[0])
		return starlark.None, err
	case "count":
		n := 0
		for _, x := range elements(l) {
			if same, err := starlark.Equal(x, args[0]); len(args) == 1 && err == nil && same {
				n++
			}
		}
		return starlark.MakeInt(n), nil
	}
	// sort, reverse: in place
	var out starlark.Value = starlark.None
	var err error
	if name == "sort" {
		out, err = starlark.Call(th, starlark.Universe["sorted"], starlark.Tuple{l}, kwargs)
	} else {
		out, err = starlark.Call(th, starlark.Universe["reversed"], starlark.Tuple{l}, nil)
	}
	if err != nil {
		return nil, err
	}
	for i, x := range elements(out) {
		if err := l.SetIndex(i, x); err != nil {
			return nil, err
		}
	}
	return starlark.None, nil
}

func (s *state) textMethod(str, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	done := func(t string) (starlark.Value, error) { return starlark.String(t), s.charge(len(t)) }
	if len(kwargs) > 0 && name != "format" {
		return nil, fmt.Errorf("%s takes no names of arguments here", name)
	}
	switch name {
	case "encode":
		return nil, fmt.Errorf("bytes have no place in a config")
	case "casefold":
		return done(strings.ToLower(str))
	case "swapcase":
		return done(strings.Map(func(r rune) rune {
			if u := []rune(strings.ToUpper(string(r))); len(u) == 1 && u[0] != r {
				return u[0]
			}
			return []rune(strings.ToLower(string(r)))[0]
		}, str))
	case "format":
		return s.formatted(str, args, kwargs)
	case "join":
		var xs starlark.Iterable
		if err := starlark.UnpackPositionalArgs(name, args, kwargs, 1, &xs); err != nil {
			return nil, err
		}
		it := xs.Iterate()
		defer it.Done()
		var parts []string
		var x starlark.Value
		for it.Next(&x) {
			p, ok := starlark.AsString(x)
			if !ok {
				return nil, fmt.Errorf("join: element %d is a %s, not a text", len(parts), x.Type())
			}
			if err := s.charge(len(p) + len(str) + 16); err != nil {
				return nil, err
			}
			parts = append(parts, p)
		}
		return starlark.String(strings.Join(parts, str)), nil
	case "replace":
		var old, by string
		count := -1
		if err := starlark.UnpackPositionalArgs(name, args, kwargs, 2, &old, &by, &count); err != nil {
			return nil, err
		}
		n := strings.Count(str, old)
		if count >= 0 {
			n = min(n, count)
		}
		if len(by) > 0 && n > budget/len(by) {
			return nil, s.charge(budget + 1)
		}
		if err := s.charge(len(str) + n*len(by)); err != nil {
			return nil, err
		}
		return starlark.String(strings.Replace(str, old, by, count)), nil
	}
	width, fill := 0, " "
	if err := starlark.UnpackPositionalArgs(name, args, kwargs, 1, &width, &fill); err != nil {
		return nil, err
	}
	if width > maxWidth || len([]rune(fill)) != 1 {
		return nil, fmt.Errorf("%s: too wide, or not one character to fill with", name)
	}
	l := layout{fill: []rune(fill)[0], width: width}
	switch name {
	case "zfill":
		sign := ""
		if str != "" && (str[0] == '-' || str[0] == '+') {
			sign, str = str[:1], str[1:]
		}
		l.fill = '0'
		return done(l.pad(sign, str, '='))
	case "rjust":
		return done(l.pad("", str, '>'))
	case "center":
		return done(l.pad("", str, '^'))
	}
	return done(l.pad("", str, '<'))
}

// formatted is str.format(…).
func (s *state) formatted(str string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var b strings.Builder
	auto := 0
	for i := 0; i < len(str); i++ {
		c := str[i]
		if c != '{' && c != '}' {
			b.WriteByte(c)
			continue
		}
		if i+1 < len(str) && str[i+1] == c {
			b.WriteByte(c)
			i++
			continue
		}
		end := strings.IndexByte(str[i:], '}')
		if c == '}' || end < 0 {
			return nil, fmt.Errorf("format: a brace stands alone; {{ and }} are braces")
		}
		field, spec, _ := strings.Cut(str[i+1:i+end], ":")
		field, convert, _ := strings.Cut(field, "!")
		i += end
		if strings.ContainsAny(field, ".[") || strings.Contains(spec, "{") {
			return nil, fmt.Errorf("format: {%s} is not evaluated here; use an f-string", field)
		}
		var v starlark.Value
		if field == "" {
			field = itoa(auto)
			auto++
		}
		for _, kv := range kwargs {
			if string(kv[0].(starlark.String)) == field {
				v = kv[1]
			}
		}
		for k, a := range args {
			if itoa(k) == field {
				v = a
			}
		}
		if v == nil {
			return nil, fmt.Errorf("format: there is no value for {%s}", field)
		}
		t, err := s.shown(v, convert, spec)
		if err != nil {
			return nil, err
		}
		b.WriteString(string(t.(starlark.String)))
	}
	return starlark.String(b.String()), nil
}
