package pyconf

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// environ is os.environ.
type environ struct{ s *state }

func (environ) String() string        { return "os.environ" }
func (environ) Type() string          { return "os.environ" }
func (environ) Freeze()               {}
func (environ) Truth() starlark.Bool  { return true }
func (environ) Hash() (uint32, error) { return 0, fmt.Errorf("os.environ is no key") }

// variable reads an environment variable; missing is the default, nil: none.
func (s *state) variable(th *starlark.Thread, name string, missing starlark.Value) (starlark.Value, error) {
	r := read{at: s.caller(th), name: name}
	if v, ok := s.set[name]; ok {
		return starlark.String(v), nil
	}
	if s.o.Env != nil {
		r.value, r.set = s.o.Env(name)
	}
	switch {
	case r.set:
		s.reads = append(s.reads, r)
		return starlark.String(r.value), nil
	case missing == nil:
		return nil, &hinted{"the environment variable " + name + " is not set, and the config gives no default", "--env " + name + "=VALUE, or export it"}
	}
	r.value, _ = starlark.AsString(missing)
	s.reads = append(s.reads, r)
	return missing, nil
}

// getenv is os.getenv and os.environ.get.
func (s *state) getenv(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	var missing starlark.Value = starlark.None
	if err := starlark.UnpackArgs("os.getenv", args, kwargs, "key", &name, "default?", &missing); err != nil {
		return nil, err
	}
	return s.variable(th, name, missing)
}

// module gives an imported name, with what this evaluation knows of it.
func (s *state) known(v starlark.Value) starlark.Value {
	sym, ok := v.(symbol)
	if !ok {
		return v
	}
	switch sym.name {
	case "os.environ":
		return environ{s}
	case "os.getenv", "os.environ.get":
		return builtin(sym.name, s.getenv)
	case "copy.deepcopy":
		return builtin(sym.name, func(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			var v starlark.Value
			if err := starlark.UnpackPositionalArgs(sym.name, args, kwargs, 1, &v); err != nil {
				return nil, err
			}
			return s.deepCopy(v, map[starlark.Value]starlark.Value{}, 0)
		})
	case "copy.copy":
		return builtin(sym.name, func(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			var v starlark.Value
			if err := starlark.UnpackPositionalArgs(sym.name, args, kwargs, 1, &v); err != nil {
				return nil, err
			}
			return s.shallow(v)
		})
	case "mmengine.config.ConfigDict", "mmengine.ConfigDict":
		return builtin(sym.name, func(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return s.newDict(th, site{at: s.caller(th)}, args, kwargs)
		})
	case "itertools.product", "itertools.chain":
		return builtin(sym.name, func(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			if err := s.weigh(args, nil); err != nil || len(kwargs) > 0 {
				return nil, fmt.Errorf("%s: only lists are taken", sym.name)
			}
			if sym.name == "itertools.chain" {
				return s.concat(args)
			}
			return s.product(args)
		})
	case "functools.reduce", "functools.partial":
		return v
	}
	return v
}

func (s *state) product(lists starlark.Tuple) (starlark.Value, error) {
	rows := []starlark.Tuple{{}}
	for _, l := range lists {
		xs, ok := l.(starlark.Iterable)
		if !ok {
			return nil, fmt.Errorf("itertools.product: a list is needed, not a %s", l.Type())
		}
		var next []starlark.Tuple
		for _, row := range rows {
			it := xs.Iterate()
			var x starlark.Value
			for it.Next(&x) {
				if err := s.charge(16 * (len(row) + 2)); err != nil {
					it.Done()
					return nil, err
				}
				next = append(next, append(row[:len(row):len(row)], x))
			}
			it.Done()
		}
		rows = next
	}
	out := starlark.NewList(nil)
	for _, r := range rows {
		out.Append(r)
	}
	return out, nil
}

func (s *state) shallow(v starlark.Value) (starlark.Value, error) {
	switch v := v.(type) {
	case *starlark.List:
		return s.concat(starlark.Tuple{v})
	case *starlark.Dict:
		out := starlark.NewDict(v.Len())
		for _, kv := range v.Items() {
			if err := out.SetKey(kv[0], kv[1]); err != nil {
				return nil, err
			}
		}
		s.inherit(out, v)
		return out, s.charge(32 * v.Len())
	}
	return v, nil
}

// concat is a list of all elements of all of lists.
func (s *state) concat(lists starlark.Tuple) (*starlark.List, error) {
	out := starlark.NewList(nil)
	if err := s.weigh(lists, nil); err != nil {
		return nil, err
	}
	for _, l := range lists {
		xs, ok := l.(starlark.Iterable)
		if str, isText := l.(starlark.String); isText {
			xs, ok = runes(string(str)), true
		}
		if !ok {
			return nil, fmt.Errorf("a %s cannot be unpacked", l.Type())
		}
		it := xs.Iterate()
		var x starlark.Value
		for it.Next(&x) {
			out.Append(x)
		}
		it.Done()
	}
	return out, nil
}

// newDict is dict(…), whose fields come from a site, or from the dicts that it
// copies.
func (s *state) newDict(_ *starlark.Thread, from site, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := s.weigh(args, kwargs); err != nil {
		return nil, err
	}
	d := starlark.NewDict(len(kwargs))
	s.metaOf(d).at = from.at
	return d, s.update(d, from, args, kwargs)
}

// update is d.update(…).
func (s *state) update(d *starlark.Dict, from site, args starlark.Tuple, kwargs []starlark.Tuple) error {
	if len(args) > 1 {
		return fmt.Errorf("a dict is made of one dict or list of pairs, not of %d", len(args))
	}
	m := s.metaOf(d)
	for _, a := range args {
		switch a := a.(type) {
		case *starlark.Dict:
			for _, kv := range a.Items() {
				if err := s.setKey(d, kv[0], kv[1]); err != nil {
					return err
				}
			}
			for name, at := range s.metaOf(a).fields {
				m.fields[name] = at
			}
		case starlark.Iterable:
			it := a.Iterate()
			defer it.Done()
			var x starlark.Value
			for it.Next(&x) {
				pair, ok := x.(starlark.Indexable)
				if !ok || pair.Len() != 2 {
					return fmt.Errorf("a dict is made of pairs, and this is none: %s", x.Type())
				}
				if err := s.setKey(d, pair.Index(0), pair.Index(1)); err != nil {
					return err
				}
			}
		default:
			return fmt.Errorf("a dict cannot be made of a %s", a.Type())
		}
	}
	for _, kv := range kwargs {
		if err := d.SetKey(kv[0], kv[1]); err != nil {
			return err
		}
		name := string(kv[0].(starlark.String))
		if at, ok := from.fields[name]; ok {
			m.fields[name] = at
		} else if from.at.line > 0 && m.fields[name].at.line == 0 {
			m.fields[name] = span{from.at, from.at}
		}
	}
	return nil
}

// setKey sets a key, which must not be a tuple without end.
func (s *state) setKey(d *starlark.Dict, key, v starlark.Value) error {
	if err := s.weighOne(key, 0); err != nil {
		return err
	}
	if err := s.charge(32); err != nil {
		return err
	}
	return d.SetKey(key, v)
}

var operators = map[string]syntax.Token{
	"+": syntax.PLUS, "*": syntax.STAR, "%": syntax.PERCENT, "|": syntax.PIPE, "<<": syntax.LTLT, "in": syntax.IN, "not in": syntax.NOT_IN,
	"-": syntax.MINUS, "/": syntax.SLASH, "//": syntax.SLASHSLASH, "&": syntax.AMP, "^": syntax.CIRCUMFLEX, ">>": syntax.GTGT,
}

// binary is x op y within the budget.
func (s *state) binary(op string, x, y starlark.Value) (starlark.Value, error) {
	if b, ok := x.(starlark.Bool); ok && op != "|" && op != "in" && op != "not in" {
		x = asInt(b)
	}
	if b, ok := y.(starlark.Bool); ok && op != "|" && op != "in" && op != "not in" {
		y = asInt(b)
	}
	size := func(v starlark.Value) int {
		switch v := v.(type) {
		case starlark.String:
			return len(v)
		case *starlark.List:
			return 16 * v.Len()
		case starlark.Tuple:
			return 16 * len(v)
		}
		return 0
	}
	switch op {
	case "+":
		if err := s.charge(size(x) + size(y)); err != nil {
			return nil, err
		}
	case "*":
		n, ok := y.(starlark.Int)
		v := x
		if !ok {
			n, ok = x.(starlark.Int)
			v = y
		}
		if other, isInt := v.(starlark.Int); ok && isInt {
			if n.BigInt().BitLen()+other.BigInt().BitLen() > maxBits {
				return nil, fmt.Errorf("a product of more than %d bits", maxBits)
			}
		} else if k := size(v); ok && k > 0 {
			times, exact := n.Int64()
			if !exact && n.Sign() > 0 || times > int64(budget/k) {
				return nil, s.charge(budget + 1)
			}
			if times > 0 {
				if err := s.charge(int(times) * k); err != nil {
					return nil, err
				}
			}
		}
	case "%":
		if str, ok := x.(starlark.String); ok {
			t, err := percent(string(str), y, budget-s.used)
			if err == nil {
				err = s.charge(len(t))
			}
			return starlark.String(t), err
		}
	case "|":
		a, okA := x.(*starlark.Dict)
		b, okB := y.(*starlark.Dict)
		if okA && okB {
			v, err := s.shallow(a)
			if err == nil {
				err = s.update(v.(*starlark.Dict), site{}, starlark.Tuple{b}, nil)
			}
			return v, err
		}
	case "in", "not in":
		if err := s.weighOne(x, 0); err != nil {
			return nil, err
		}
		if _, ok := y.(environ); ok {
			name, isText := starlark.AsString(x)
			_, set := s.set[name]
			if !set && s.o.Env != nil {
				_, set = s.o.Env(name)
			}
			return starlark.Bool(isText && set == (op == "in")), nil
		}
		if err := s.weighOne(y, 0); err != nil {
			return nil, err
		}
	}
	return starlark.Binary(operators[op], x, y)
}

func asInt(b starlark.Bool) starlark.Int {
	if b {
		return starlark.MakeInt(1)
	}
	return starlark.MakeInt(0)
}

// augmented is x op= y; a list is changed in place.
func (s *state) augmented(op string, x, y starlark.Value) (starlark.Value, error) {
	op = strings.TrimSuffix(op, "=")
	if l, ok := x.(*starlark.List); ok && op == "+" {
		more, err := s.concat(starlark.Tuple{y})
		if err != nil {
			return nil, err
		}
		for i := range more.Len() {
			if err := l.Append(more.Index(i)); err != nil {
				return nil, err
			}
		}
		return l, nil
	}
	if d, ok := x.(*starlark.Dict); ok && op == "|" {
		return d, s.update(d, site{}, starlark.Tuple{y}, nil)
	}
	return s.binary(op, x, y)
}

// setItem is object[key] = v, or object.key = v.
func (s *state) setItem(th *starlark.Thread, at span, object, key, v starlark.Value) error {
	switch o := object.(type) {
	case *starlark.Dict:
		if err := s.setKey(o, key, v); err != nil {
			return err
		}
		if name, ok := starlark.AsString(key); ok {
			s.metaOf(o).fields[name] = at
		}
		return nil
	case environ:
		name, ok := starlark.AsString(key)
		value, isText := starlark.AsString(v)
		if !ok || !isText {
			return fmt.Errorf("os.environ holds texts")
		}
		s.set[name] = value
		s.writes = append(s.writes, Field{Name: name, At: s.at(at.at)})
		return nil
	case starlark.HasSetIndex:
		i, err := index(key, o.Len())
		if err != nil {
			return err
		}
		return o.SetIndex(i, v)
	}
	return fmt.Errorf("a %s has no items that could be set", object.Type())
}

func index(key starlark.Value, n int) (int, error) {
	i, err := starlark.AsInt32(key)
	if err != nil {
		return 0, fmt.Errorf("a whole number is needed as index, not a %s", key.Type())
	}
	at := i
	if at < 0 {
		at += n
	}
	if at < 0 || at >= n {
		return 0, fmt.Errorf("the index %d is out of range: there are %d", i, n)
	}
	return at, nil
}

// item is x[key].
func (s *state) item(th *starlark.Thread, x, key starlark.Value) (starlark.Value, error) {
	switch o := x.(type) {
	case environ:
		name, ok := starlark.AsString(key)
		if !ok {
			return nil, fmt.Errorf("os.environ: the name is a text, not a %s", key.Type())
		}
		return s.variable(th, name, nil)
	case *starlark.Dict:
		if err := s.weighOne(key, 0); err != nil {
			return nil, err
		}
		v, found, err := o.Get(key)
		if err == nil && !found {
			shown, _ := text(key, true, 100)
			var have []string
			for _, k := range o.Keys() {
				if len(have) < 12 {
					t, _ := text(k, false, 60)
					have = append(have, t)
				}
			}
			return nil, &hinted{"the dict has no key " + shown, "its keys: " + strings.Join(have, ", ")}
		}
		return v, err
	case starlark.Mapping:
		v, _, err := o.Get(key)
		return v, err
	case starlark.String:
		if err := s.charge(len(o)); err != nil {
			return nil, err
		}
		r := []rune(string(o))
		i, err := index(key, len(r))
		if err != nil {
			return nil, err
		}
		return starlark.String(r[i]), nil
	case starlark.Indexable:
		i, err := index(key, o.Len())
		if err != nil {
			return nil, err
		}
		return o.Index(i), nil
	case symbol: // Optional[int] and the like
		return o, nil
	}
	return nil, fmt.Errorf("a %s cannot be indexed", x.Type())
}

// shown is a replacement field: convert, then format.
func (s *state) shown(v starlark.Value, convert, spec string) (starlark.Value, error) {
	limit := budget - s.used
	if convert != "" {
		t, err := text(v, convert != "s", limit)
		if err != nil {
			return nil, err
		}
		v = starlark.String(t)
	}
	t, err := format(v, spec, limit)
	if err == nil {
		err = s.charge(len(t))
	}
	return starlark.String(t), err
}
