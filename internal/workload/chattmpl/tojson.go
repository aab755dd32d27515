package chattmpl

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/ardanlabs/jinja"
)

// show is what {{ x }} prints, as Python's str does it.
func show(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	switch {
	case len(args) != 1:
		return jinja.Undefined(), errors.New("an expression of several values is not supported")
	case args[0].IsNone():
		return jinja.NewString("None"), nil
	case args[0].IsFloat():
		return jinja.NewString(pyFloat(args[0].AsFloat())), nil
	}
	return args[0], nil
}

// pyFloat is repr of a Python float.
func pyFloat(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return map[bool]string{true: "nan", false: strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)), "+")}[math.IsNaN(f)]
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// toJSON is the filter as transformers defines it: json.dumps, not ASCII alone.
func toJSON(args []jinja.Value, kwargs map[string]jinja.Value) (jinja.Value, error) {
	fail := func(format string, a ...any) (jinja.Value, error) {
		return jinja.Undefined(), fmt.Errorf("tojson: "+format, a...)
	}
	if len(args) == 0 {
		return fail("nothing to write")
	}
	// The order of the filter's own parameters.
	names := []string{"ensure_ascii", "indent", "separators", "sort_keys"}
	if len(args)-1 > len(names) {
		return fail("too many arguments")
	}
	with := map[string]jinja.Value{}
	for i, a := range args[1:] {
		with[names[i]] = a
	}
	for k, v := range kwargs {
		if !slices.Contains(names, k) {
			return fail("the argument %s is not supported", k)
		}
		with[k] = v
	}
	e := jsonWriter{item: ", ", key: ": ", indent: -1, ascii: with["ensure_ascii"].IsTruthy(), sort: with["sort_keys"].IsTruthy()}
	if v := with["indent"]; v.IsNumber() && !v.IsFloat() {
		e.indent, e.item = int(v.AsInt()), ","
	} else if !v.IsNone() && !v.IsUndefined() {
		return fail("indent must be an integer")
	}
	if v := with["separators"]; v.IsList() && v.AsList().Len() == 2 && v.AsList().Get(0).IsString() && v.AsList().Get(1).IsString() {
		e.item, e.key = v.AsList().Get(0).AsString(), v.AsList().Get(1).AsString()
	} else if !v.IsNone() && !v.IsUndefined() {
		return fail("separators must be two strings")
	}
	if err := e.write(args[0], 0); err != nil {
		return fail("%w", err)
	}
	return jinja.NewString(e.out.String()), nil
}

type jsonWriter struct {
	out         strings.Builder
	item, key   string
	indent      int // -1: on one line
	ascii, sort bool
}

func (e *jsonWriter) line(depth int) {
	if e.indent >= 0 {
		e.out.WriteString("\n" + strings.Repeat(" ", e.indent*depth))
	}
}

func (e *jsonWriter) write(v jinja.Value, depth int) error {
	switch {
	case v.IsNone():
		e.out.WriteString("null")
	case v.IsBool():
		e.out.WriteString(strconv.FormatBool(v.AsBool()))
	case v.IsString():
		e.string(v.AsString())
	case v.IsFloat():
		s := pyFloat(v.AsFloat())
		e.out.WriteString(strings.NewReplacer("nan", "NaN", "inf", "Infinity").Replace(s))
	case v.IsNumber():
		e.out.WriteString(strconv.FormatInt(v.AsInt(), 10))
	case v.IsList():
		return e.group('[', ']', v.AsList().Len(), depth, func(i int) error { return e.write(v.AsList().Get(i), depth+1) })
	case v.IsDict():
		keys := slices.Clone(v.AsDict().OrderedKeys())
		if e.sort {
			slices.Sort(keys)
		}
		return e.group('{', '}', len(keys), depth, func(i int) error {
			e.string(keys[i])
			e.out.WriteString(e.key)
			x, _ := v.AsDict().Get(keys[i])
			return e.write(x, depth+1)
		})
	default:
		return fmt.Errorf("a value of this kind is not JSON serializable")
	}
	return nil
}

func (e *jsonWriter) group(open, end byte, n, depth int, member func(i int) error) error {
	e.out.WriteByte(open)
	for i := range n {
		if i > 0 {
			e.out.WriteString(e.item)
		}
		e.line(depth + 1)
		if err := member(i); err != nil {
			return err
		}
	}
	if n > 0 {
		e.line(depth)
	}
	e.out.WriteByte(end)
	return nil
}

// string writes s as Python does: escapes for quotes, backslashes and controls
// only, unless ascii asks for more.
func (e *jsonWriter) string(s string) {
	e.out.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"', r == '\\':
			e.out.WriteString(`\` + string(r))
		case r == '\n':
			e.out.WriteString(`\n`)
		case r == '\r':
			e.out.WriteString(`\r`)
		case r == '\t':
			e.out.WriteString(`\t`)
		case r == '\b':
			e.out.WriteString(`\b`)
		case r == '\f':
			e.out.WriteString(`\f`)
		case r < 0x20:
			fmt.Fprintf(&e.out, `\u%04x`, r)
		case e.ascii && r > 0x7f:
			for _, u := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&e.out, `\u%04x`, u)
			}
		default:
			e.out.WriteRune(r)
		}
	}
	e.out.WriteByte('"')
}
