package pyconf

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Value is a value of a config: nil, bool, int64, float64, string, Symbol,
// []Value or *Dict.
type Value any

// Symbol is something imported, by its dotted name: a class, a function.
type Symbol string

// Field is one entry of a Dict.
type Field struct {
	Name  string
	Value Value
	At    Pos      // where it got its value
	Env   []string // environment variables that are read there
	Alone bool     // the value is such a read and nothing else
}

// Dict is a dict with keys that are texts, in their order.
type Dict struct {
	At     Pos // of the dict itself
	Fields []Field
}

// Get is the field of that name.
func (d *Dict) Get(name string) (Field, bool) {
	if d != nil {
		for _, f := range d.Fields {
			if f.Name == name {
				return f, true
			}
		}
	}
	return Field{}, false
}

// meta is where the fields of a dict came from.
type meta struct {
	at     place
	fields map[string]span
}

func (s *state) metaOf(d *starlark.Dict) *meta {
	m := s.metas[d]
	if m == nil {
		m = &meta{fields: map[string]span{}}
		s.metas[d] = m
	}
	return m
}

// exporter turns Starlark values into Values, bounded.
type exporter struct {
	s    *state
	left int // values that may still be made
}

// maxValues bounds what one config comes to; shared parts count each time.
const maxValues = 2_000_000

func (e *exporter) value(v starlark.Value, depth int) (Value, error) {
	if e.left--; e.left < 0 || depth > maxDepth {
		return nil, fmt.Errorf("more than %d values, or lists within lists without end", maxValues)
	}
	switch v := v.(type) {
	case starlark.NoneType:
		return nil, nil
	case starlark.Bool:
		return bool(v), nil
	case starlark.Int:
		if n, ok := v.Int64(); ok {
			return n, nil
		}
		return float64(v.Float()), nil
	case starlark.Float:
		return float64(v), nil
	case starlark.String:
		return string(v), nil
	case symbol:
		return Symbol(v.name), nil
	case *typeObject:
		return Symbol(v.name), nil
	case *starlark.Dict:
		return e.dict(v, depth)
	case starlark.Iterable:
		var out []Value
		it := v.Iterate()
		defer it.Done()
		var x starlark.Value
		for it.Next(&x) {
			one, err := e.value(x, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}
		return out, nil
	}
	return Symbol(v.Type()), nil
}

func (e *exporter) dict(d *starlark.Dict, depth int) (*Dict, error) {
	m := e.s.metaOf(d)
	out := &Dict{At: e.s.at(m.at)}
	for _, kv := range d.Items() {
		name, ok := starlark.AsString(kv[0])
		if !ok {
			var err error
			if name, err = text(kv[0], false, 1000); err != nil {
				return nil, err
			}
		}
		v, err := e.value(kv[1], depth+1)
		if err != nil {
			return nil, err
		}
		f := Field{Name: name, Value: v, At: out.At}
		if s, ok := m.fields[name]; ok && s.at.line > 0 {
			f.At = e.s.at(s.at)
			for _, r := range e.s.reads {
				if r.at.file == s.at.file && !r.at.before(s.at) && r.at.before(s.end) && !slices.Contains(f.Env, r.name) {
					f.Env = append(f.Env, r.name)
					f.Alone = r.value == v
				}
			}
			f.Alone = f.Alone && len(f.Env) == 1
		}
		out.Fields = append(out.Fields, f)
	}
	return out, nil
}

// deepCopy copies lists and dicts, and where fields came from.
func (s *state) deepCopy(v starlark.Value, seen map[starlark.Value]starlark.Value, depth int) (starlark.Value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("lists within lists without end")
	}
	if err := s.charge(16); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *starlark.List:
		if c, ok := seen[v]; ok {
			return c, nil
		}
		out := starlark.NewList(nil)
		seen[v] = out
		for i := range v.Len() {
			c, err := s.deepCopy(v.Index(i), seen, depth+1)
			if err != nil {
				return nil, err
			}
			out.Append(c)
		}
		return out, nil
	case *starlark.Dict:
		if c, ok := seen[v]; ok {
			return c, nil
		}
		out := starlark.NewDict(v.Len())
		seen[v] = out
		for _, kv := range v.Items() {
			c, err := s.deepCopy(kv[1], seen, depth+1)
			if err != nil {
				return nil, err
			}
			if err := out.SetKey(kv[0], c); err != nil {
				return nil, err
			}
		}
		s.inherit(out, v)
		return out, nil
	case starlark.Tuple:
		out := make(starlark.Tuple, len(v))
		for i, x := range v {
			c, err := s.deepCopy(x, seen, depth+1)
			if err != nil {
				return nil, err
			}
			out[i] = c
		}
		return out, nil
	}
	return v, nil
}

// inherit lets dict take the places that from has for its fields.
func (s *state) inherit(dict, from *starlark.Dict) {
	m, old := s.metaOf(dict), s.metaOf(from)
	for name, at := range old.fields {
		m.fields[name] = at
	}
	if m.at.line == 0 {
		m.at = old.at
	}
}

// symbol is something imported: a name without behaviour.
type symbol struct{ name string }

var (
	_ starlark.HasAttrs = symbol{}
	_ starlark.Callable = symbol{}
)

func (s symbol) String() string        { return s.name }
func (s symbol) Type() string          { return "imported name" }
func (s symbol) Freeze()               {}
func (s symbol) Truth() starlark.Bool  { return true }
func (s symbol) Hash() (uint32, error) { return starlark.String(s.name).Hash() }
func (s symbol) Name() string          { return s.name }
func (s symbol) AttrNames() []string   { return nil }

func (s symbol) Attr(name string) (starlark.Value, error) {
	return imported(s.name + "." + name), nil
}

func (s symbol) CallInternal(*starlark.Thread, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return nil, refusal(s.name)
}

// typeObject is a type of Python: called, asked about, or parametrised.
type typeObject struct {
	name string
	call *starlark.Builtin
	of   []string // Starlark's names for it
}

var (
	_ starlark.Callable  = (*typeObject)(nil)
	_ starlark.Mapping   = (*typeObject)(nil)
	_ starlark.HasBinary = (*typeObject)(nil)
)

func (t *typeObject) String() string        { return t.name }
func (t *typeObject) Type() string          { return "type" }
func (t *typeObject) Freeze()               {}
func (t *typeObject) Truth() starlark.Bool  { return true }
func (t *typeObject) Hash() (uint32, error) { return starlark.String(t.name).Hash() }
func (t *typeObject) Name() string          { return t.name }

func (t *typeObject) CallInternal(thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return t.call.CallInternal(thread, args, kwargs)
}

// Get is list[int], which is list.
func (t *typeObject) Get(starlark.Value) (starlark.Value, bool, error) { return t, true, nil }

// Binary is int | str.
func (t *typeObject) Binary(syntax.Token, starlark.Value, starlark.Side) (starlark.Value, error) {
	return t, nil
}
