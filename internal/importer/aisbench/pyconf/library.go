package pyconf

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"go.starlark.net/starlark"
)

// imported gives what is known of an imported name, else the name alone.
func imported(name string) starlark.Value {
	if v, ok := library[name]; ok {
		return v
	}
	return symbol{name}
}

func real(name string, f func(float64) float64, whole bool) *starlark.Builtin {
	return builtin(name, func(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var x starlark.Value
		if err := starlark.UnpackPositionalArgs(name, args, kwargs, 1, &x); err != nil {
			return nil, err
		}
		v, ok := starlark.AsFloat(x)
		if !ok {
			return nil, fmt.Errorf("%s: a number is needed, not a %s", name, x.Type())
		}
		if y := f(v); !math.IsNaN(y) && !(math.IsInf(y, 0) && !math.IsInf(v, 0)) {
			if whole {
				return starlark.NumberToInt(starlark.Float(y))
			}
			return starlark.Float(y), nil
		}
		return nil, fmt.Errorf("%s(%v) has no value", name, x)
	})
}

func paths(name string, f func([]string) string) *starlark.Builtin {
	return builtin(name, func(_ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var parts []string
		for _, a := range args {
			p, ok := starlark.AsString(a)
			if !ok {
				return nil, fmt.Errorf("%s: text is needed, not a %s", name, a.Type())
			}
			parts = append(parts, p)
		}
		if len(parts) == 0 || len(kwargs) > 0 {
			return nil, fmt.Errorf("%s: a path is needed", name)
		}
		return starlark.String(f(parts)), nil
	})
}

// library is what can be called of other modules: it computes, and touches
// nothing.
var library = map[string]starlark.Value{
	"math.pi": starlark.Float(math.Pi), "math.e": starlark.Float(math.E), "math.inf": starlark.Float(math.Inf(1)),
	"math.ceil": real("math.ceil", math.Ceil, true), "math.floor": real("math.floor", math.Floor, true), "math.trunc": real("math.trunc", math.Trunc, true),
	"math.sqrt": real("math.sqrt", math.Sqrt, false), "math.log": real("math.log", math.Log, false), "math.log2": real("math.log2", math.Log2, false),
	"math.log10": real("math.log10", math.Log10, false), "math.exp": real("math.exp", math.Exp, false),
	"os.path.join": paths("os.path.join", func(p []string) string {
		out := ""
		for _, e := range p {
			switch {
			case filepath.IsAbs(e) || out == "":
				out = e
			default:
				out = strings.TrimSuffix(out, "/") + "/" + e
			}
		}
		return out
	}),
	"os.path.basename": paths("os.path.basename", func(p []string) string { return p[0][strings.LastIndexByte(p[0], '/')+1:] }),
	"os.path.dirname": paths("os.path.dirname", func(p []string) string {
		return strings.TrimSuffix(p[0][:strings.LastIndexByte(p[0], '/')+1], "/")
	}),
	"os.path.normpath": paths("os.path.normpath", func(p []string) string { return filepath.Clean(p[0]) }),
	"os.path.abspath":  paths("os.path.abspath", absolute), "os.path.realpath": paths("os.path.realpath", absolute),
	"os.sep": starlark.String("/"),
	"typing": symbol{"typing"},
}

func absolute(p []string) string {
	if abs, err := filepath.Abs(p[0]); err == nil {
		return abs
	}
	return p[0]
}
