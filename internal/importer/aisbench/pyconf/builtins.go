package pyconf

import (
	"fmt"
	"math"
	"math/big"
	"sort"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

type function = func(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)

func builtin(name string, f function) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return f(th, args, kwargs)
	})
}

// caller is the place of the call that a builtin is in.
func (s *state) caller(th *starlark.Thread) place {
	for i := 1; i < th.CallStackDepth(); i++ {
		p := th.CallFrame(i).Pos
		for n := range s.files {
			if p.Filename() == itoa(n) {
				return place{int32(n), p.Line, p.Col}
			}
		}
	}
	return place{}
}

// weigh charges for what a builtin will walk over.
func (s *state) weigh(args starlark.Tuple, kwargs []starlark.Tuple) error {
	for _, a := range args {
		if err := s.weighOne(a, 0); err != nil {
			return err
		}
	}
	for _, kv := range kwargs {
		if err := s.weighOne(kv[1], 0); err != nil {
			return err
		}
	}
	return nil
}

func (s *state) weighOne(v starlark.Value, depth int) error {
	switch v := v.(type) {
	case starlark.String:
		return s.charge(len(v))
	case starlark.Tuple:
		if depth > 20 {
			return fmt.Errorf("tuples within tuples without end")
		}
		for _, x := range v {
			if err := s.charge(16); err != nil {
				return err
			}
			if err := s.weighOne(x, depth+1); err != nil {
				return err
			}
		}
	case starlark.Sequence:
		if v.Len() > budget/16 {
			return s.charge(budget + 1)
		}
		return s.charge(16 * v.Len())
	}
	return nil
}

// refusals say what a call would do, by the beginning of its name.
var refusals = []struct{ names, does, hint string }{
	{"subprocess os.system os.popen os.exec os.spawn os.fork os.kill shutil multiprocessing threading ctypes sys.exit os._exit exit quit breakpoint", "would run or end a program", "write its result into the config, or pass it with --env NAME=VALUE"},
	{"requests urllib http httpx aiohttp socket ssl ftplib", "would open a connection", "write its result into the config, or pass it with --env NAME=VALUE"},
	{"open io pathlib glob tempfile os.listdir os.walk os.makedirs os.mkdir os.remove os.stat os.scandir os.path.exists os.path.isfile os.path.isdir os.path.getsize os.access json.load yaml pickle csv pandas numpy.load torch", "would read or write files", "only configs of the same tree are read: write the values out, or pass them with --env NAME=VALUE"},
	{"exec eval compile __import__ importlib runpy input execfile globals vars delattr setattr", "would run code that is made on the spot", "write the code out"},
	{"random secrets uuid time datetime numpy.random", "gives another value each time", "write the value out, or pass it with --env NAME=VALUE"},
}

// refusal is why a name cannot be called.
func refusal(name string) error {
	for _, r := range refusals {
		for _, n := range strings.Fields(r.names) {
			if name == n || strings.HasPrefix(name, n+".") || strings.HasPrefix(n, "os.") && strings.HasPrefix(name, n) {
				return &hinted{name + "(…) " + r.does + ", and nothing is executed here", r.hint}
			}
		}
	}
	return &hinted{name + "(…) is imported, and imported code is not run here: only its name is known", "write the value out, or pass it with --env NAME=VALUE"}
}

func raised(name string) *starlark.Builtin {
	return builtin(name, func(_ *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		msg := name
		for _, a := range args {
			t, err := text(a, false, 1000)
			if err != nil {
				return nil, err
			}
			msg += ": " + t
		}
		return starlark.String(msg), nil
	})
}

// predeclared are the names that a config finds.
func (s *state) predeclared(path string) starlark.StringDict {
	out := starlark.StringDict{
		"__file__": starlark.String(path), "__name__": starlark.String("config"),
		"NotImplemented": starlark.None,
	}
	counted := func(name string) {
		b := starlark.Universe[name].(*starlark.Builtin)
		out[name] = builtin(name, func(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			if err := s.weigh(args, kwargs); err != nil {
				return nil, err
			}
			return starlark.Call(th, b, args, kwargs)
		})
	}
	for _, name := range []string{"abs", "all", "any", "enumerate", "hasattr", "max", "min", "reversed", "sorted", "zip", "chr", "ord"} {
		counted(name)
	}
	for _, name := range []string{"exec", "eval", "compile", "open", "input", "__import__", "exit", "quit", "breakpoint", "setattr", "delattr"} {
		out[name] = symbol{name}
	}
	for _, name := range []string{"Exception", "ValueError", "TypeError", "KeyError", "RuntimeError", "AssertionError", "EnvironmentError", "FileNotFoundError", "NotImplementedError"} {
		out[name] = raised(name)
	}
	for name, f := range s.hooks() {
		out[hookPrefix+name] = builtin(name, f)
	}
	for name, f := range s.functions() {
		out[name] = builtin(name, f)
	}
	for _, t := range []struct {
		name string
		f    function
		of   string
	}{
		{"str", s.str, "string"}, {"int", s.int, "int"}, {"float", s.universe("float"), "float int"}, {"bool", s.universe("bool"), "bool"},
		{"list", s.universe("list"), "list"}, {"tuple", s.universe("tuple"), "tuple"}, {"set", s.universe("set"), "set"}, {"frozenset", s.universe("set"), "set"},
		{"dict", func(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return s.newDict(th, site{at: s.caller(th)}, args, kwargs)
		}, "dict"},
	} {
		out[t.name] = &typeObject{t.name, builtin(t.name, t.f), strings.Fields(t.of)}
	}
	out["float"].(*typeObject).of = []string{"float"}
	out["object"] = symbol{"object"}
	return out
}

// universe is a function of Starlark that is right for Python too.
func (s *state) universe(name string) function {
	return func(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := s.weigh(args, kwargs); err != nil {
			return nil, err
		}
		for i, a := range args {
			if str, ok := a.(starlark.String); ok && name != "float" && name != "bool" {
				args[i] = runes(string(str))
			} else if ok && name == "float" {
				args[i] = starlark.String(strings.ReplaceAll(strings.TrimSpace(string(str)), "_", ""))
			}
		}
		v, err := starlark.Call(th, starlark.Universe[name], args, kwargs)
		if err != nil && name == "float" && len(args) == 1 && args[0].Type() == "string" {
			err = &hinted{"float: the text is not a number", "give it another value, with --env NAME=VALUE where it comes from the environment"}
		}
		return v, err
	}
}

// runes are the characters of a text.
func runes(s string) starlark.Tuple {
	var out starlark.Tuple
	for _, r := range s {
		out = append(out, starlark.String(r))
	}
	return out
}

func (s *state) str(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) == 0 {
		return starlark.String(""), nil
	}
	t, err := text(args[0], false, budget-s.used)
	if err == nil {
		err = s.charge(len(t))
	}
	return starlark.String(t), err
}

func (s *state) int(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) > 0 {
		if str, ok := args[0].(starlark.String); ok {
			t := strings.ReplaceAll(strings.TrimSpace(string(str)), "_", "")
			if len(t) > 2000 {
				return nil, fmt.Errorf("int: a number of %d digits", len(t))
			}
			args[0] = starlark.String(t)
		}
	}
	v, err := starlark.Call(th, starlark.Universe["int"], args, kwargs)
	if err != nil && len(args) > 0 {
		if _, ok := args[0].(starlark.String); ok {
			return nil, &hinted{"int: the text is not a whole number", "give it another value, with --env NAME=VALUE where it comes from the environment"}
		}
	}
	return v, err
}

// functions of Python that Starlark lacks, or has in another way.
func (s *state) functions() map[string]function {
	type in = starlark.Tuple
	type kw = []starlark.Tuple
	return map[string]function{
		"print": func(*starlark.Thread, in, kw) (starlark.Value, error) { return starlark.None, nil },
		"len": func(_ *starlark.Thread, args in, kwargs kw) (starlark.Value, error) {
			var v starlark.Value
			if err := starlark.UnpackPositionalArgs("len", args, kwargs, 1, &v); err != nil {
				return nil, err
			}
			if str, ok := v.(starlark.String); ok {
				return starlark.MakeInt(utf8.RuneCountInString(string(str))), nil
			}
			if n := starlark.Len(v); n >= 0 {
				return starlark.MakeInt(n), nil
			}
			return nil, fmt.Errorf("len: a %s has no length", v.Type())
		},
		"range": func(th *starlark.Thread, args in, kwargs kw) (starlark.Value, error) {
			return starlark.Call(th, starlark.Universe["range"], args, kwargs)
		},
		"repr": func(_ *starlark.Thread, args in, kwargs kw) (starlark.Value, error) {
			var v starlark.Value
			if err := starlark.UnpackPositionalArgs("repr", args, kwargs, 1, &v); err != nil {
				return nil, err
			}
			return s.shown(v, "r", "")
		},
		"format": func(_ *starlark.Thread, args in, kwargs kw) (starlark.Value, error) {
			var v starlark.Value
			spec := ""
			if err := starlark.UnpackPositionalArgs("format", args, kwargs, 1, &v, &spec); err != nil {
				return nil, err
			}
			return s.shown(v, "", spec)
		},
		"round": func(_ *starlark.Thread, args in, kwargs kw) (starlark.Value, error) {
			var v starlark.Value
			var digits starlark.Value = starlark.None
			if err := starlark.UnpackArgs("round", args, kwargs, "number", &v, "ndigits?", &digits); err != nil {
				return nil, err
			}
			return round(v, digits)
		},
		"sum": func(_ *starlark.Thread, args in, kwargs kw) (starlark.Value, error) {
			var xs starlark.Iterable
			var total starlark.Value = starlark.MakeInt(0)
			if err := starlark.UnpackArgs("sum", args, kwargs, "iterable", &xs, "start?", &total); err != nil {
				return nil, err
			}
			if err := s.weigh(args[:1], nil); err != nil {
				return nil, err
			}
			it := xs.Iterate()
			defer it.Done()
			var x starlark.Value
			for it.Next(&x) {
				var err error
				if total, err = s.binary("+", total, x); err != nil {
					return nil, err
				}
			}
			return total, nil
		},
		"divmod": func(_ *starlark.Thread, args in, kwargs kw) (starlark.Value, error) {
			var a, b starlark.Value
			if err := starlark.UnpackPositionalArgs("divmod", args, kwargs, 2, &a, &b); err != nil {
				return nil, err
			}
			q, err := starlark.Binary(syntax.SLASHSLASH, a, b)
			if err != nil {
				return nil, err
			}
			r, err := starlark.Binary(syntax.PERCENT, a, b)
			return starlark.Tuple{q, r}, err
		},
		"pow":        s.pow,
		"isinstance": isInstance,
		"type": func(_ *starlark.Thread, args in, kwargs kw) (starlark.Value, error) {
			var v starlark.Value
			if err := starlark.UnpackPositionalArgs("type", args, kwargs, 1, &v); err != nil {
				return nil, err
			}
			return symbol{v.Type()}, nil
		},
		"callable": func(_ *starlark.Thread, args in, kwargs kw) (starlark.Value, error) {
			if len(args) != 1 {
				return nil, fmt.Errorf("callable: one value is needed")
			}
			_, ok := args[0].(starlark.Callable)
			return starlark.Bool(ok), nil
		},
		"map": func(th *starlark.Thread, args in, kwargs kw) (starlark.Value, error) {
			return s.each(th, args, kwargs, func(x, y starlark.Value) starlark.Value { return y })
		},
		"filter": func(th *starlark.Thread, args in, kwargs kw) (starlark.Value, error) {
			return s.each(th, args, kwargs, func(x, y starlark.Value) starlark.Value {
				if y.Truth() {
					return x
				}
				return nil
			})
		},
		"getattr": func(_ *starlark.Thread, args in, kwargs kw) (starlark.Value, error) {
			var x, d starlark.Value
			var name string
			if err := starlark.UnpackPositionalArgs("getattr", args, kwargs, 2, &x, &name, &d); err != nil {
				return nil, err
			}
			v, err := s.attr(x, name)
			if err != nil && d != nil {
				return d, nil
			}
			return v, err
		},
		"locals":  s.locals,
		"globals": s.locals,
		"vars":    s.locals,
	}
}

// locals is a dict of the names that the file has so far.
func (s *state) locals(th *starlark.Thread, _ starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	d := starlark.NewDict(8)
	for i := 1; i < th.CallStackDepth(); i++ {
		fn, ok := th.DebugFrame(i).Callable().(*starlark.Function)
		if !ok {
			continue
		}
		globals := fn.Globals()
		names := globals.Keys()
		// In the order in which they were assigned, as Python has it.
		if p := s.caller(th); len(s.files) > 0 {
			bound := s.binding(p.file)
			sort.SliceStable(names, func(i, j int) bool {
				a, b := bound[names[i]], bound[names[j]]
				return a.Line < b.Line || a.Line == b.Line && a.Col < b.Col
			})
		}
		for _, name := range names {
			if err := d.SetKey(starlark.String(name), globals[name]); err != nil {
				return nil, err
			}
		}
		break
	}
	return d, nil
}

func (s *state) each(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple, keep func(x, y starlark.Value) starlark.Value) (starlark.Value, error) {
	var f starlark.Callable
	var xs starlark.Iterable
	if err := starlark.UnpackPositionalArgs("map", args, kwargs, 2, &f, &xs); err != nil {
		return nil, err
	}
	if err := s.weigh(args[1:], nil); err != nil {
		return nil, err
	}
	out := starlark.NewList(nil)
	it := xs.Iterate()
	defer it.Done()
	var x starlark.Value
	for it.Next(&x) {
		y, err := starlark.Call(th, f, starlark.Tuple{x}, nil)
		if err != nil {
			return nil, err
		}
		if v := keep(x, y); v != nil {
			out.Append(v)
		}
	}
	return out, nil
}

func isInstance(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v, of starlark.Value
	if err := starlark.UnpackPositionalArgs("isinstance", args, kwargs, 2, &v, &of); err != nil {
		return nil, err
	}
	types, ok := of.(starlark.Tuple)
	if !ok {
		types = starlark.Tuple{of}
	}
	for _, t := range types {
		if t, ok := t.(*typeObject); ok {
			for _, name := range t.of {
				if v.Type() == name || name == "int" && v.Type() == "bool" {
					return starlark.True, nil
				}
			}
		}
	}
	return starlark.False, nil
}

// round is round(x, n), halves to even.
func round(v, digits starlark.Value) (starlark.Value, error) {
	f, isFloat := v.(starlark.Float)
	if !isFloat {
		if _, ok := v.(starlark.Int); !ok {
			return nil, fmt.Errorf("round: a number is needed, not a %s", v.Type())
		}
		return v, nil
	}
	if digits == starlark.None {
		return starlark.NumberToInt(starlark.Float(math.RoundToEven(float64(f))))
	}
	n, err := starlark.AsInt32(digits)
	if err != nil || n < -300 || n > 300 {
		return nil, fmt.Errorf("round: %v digits", digits)
	}
	l := layout{fill: ' ', precision: max(n, 0), kind: 'f'}
	if n >= 0 {
		var out float64
		_, err := fmt.Sscan(l.float(float64(f)), &out)
		return starlark.Float(out), err
	}
	p := math.Pow10(-n)
	return starlark.Float(math.RoundToEven(float64(f)/p) * p), nil
}

// maxBits bounds whole numbers.
const maxBits = 1 << 16

func (s *state) pow(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x, y starlark.Value
	if err := starlark.UnpackPositionalArgs("pow", args, kwargs, 2, &x, &y); err != nil {
		return nil, err
	}
	a, okA := x.(starlark.Int)
	b, okB := y.(starlark.Int)
	if okA && okB && b.Sign() >= 0 {
		n, ok := b.Int64()
		if bits := a.BigInt().BitLen(); bits > 1 && (!ok || n > int64(maxBits/bits)) {
			return nil, fmt.Errorf("%v ** %v is too large", x, y)
		} else if bits <= 1 && !ok {
			n = 2 - int64(b.BigInt().Bit(0)) // of −1, 0 and 1 only even or odd matters
		}
		return starlark.MakeBigInt(new(big.Int).Exp(a.BigInt(), big.NewInt(n), nil)), nil
	}
	fa, okA := starlark.AsFloat(x)
	fb, okB := starlark.AsFloat(y)
	if !okA || !okB {
		return nil, fmt.Errorf("** of a %s and a %s", x.Type(), y.Type())
	}
	if fa == 0 && fb < 0 {
		return nil, fmt.Errorf("0 ** %v is a division by zero", y)
	}
	if fa < 0 && fb != math.Trunc(fb) {
		return nil, fmt.Errorf("%v ** %v is no real number", x, y)
	}
	return starlark.Float(math.Pow(fa, fb)), nil
}
