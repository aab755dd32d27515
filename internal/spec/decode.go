package spec

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// decoder lays YAML over a Spec, field by field, and goes on after an issue, so
// that one look shows them all.
type decoder struct {
	spec   *Spec
	env    func(string) (string, bool)
	from   map[string]place
	issues []Issue

	name   string   // of the file
	lines  []string // of the file
	origin *place   // set while a flag's value is read: positions are its own
}

func (d *decoder) add(i Issue) { d.issues = append(d.issues, i) }

func (d *decoder) at(line, col, width int) place {
	if d.origin != nil {
		return *d.origin
	}
	p := place{file: d.name, line: line, col: col, width: width}
	if line >= 1 && line <= len(d.lines) {
		p.text, p.lines = d.lines[line-1], d.lines
	}
	return p
}

func (d *decoder) token(tk *token.Token) place {
	if tk == nil || tk.Position == nil {
		return d.at(1, 1, 1)
	}
	return d.at(tk.Position.Line, tk.Position.Column, max(len([]rune(strings.TrimSpace(tk.Origin))), 1))
}

func (d *decoder) node(n ast.Node) place {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		return d.token(m.Values[0].Key.GetToken())
	}
	return d.token(n.GetToken())
}

// scalarKind reports whether a field takes one scalar.
func scalarKind(v reflect.Value) bool {
	if v.Kind() == reflect.Pointer {
		return scalarKind(reflect.New(v.Type().Elem()).Elem())
	}
	switch v.Kind() {
	case reflect.String, reflect.Bool, reflect.Int64, reflect.Float64:
		return true
	}
	return false
}

// field is the struct field with that key.
func field(v reflect.Value, key string) (reflect.Value, bool) {
	t := v.Type()
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && jsonName(f) == key {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// reach walks a field path through structs.
func reach(v reflect.Value, path string) (reflect.Value, bool) {
	for key := range strings.SplitSeq(path, ".") {
		if v.Kind() != reflect.Struct {
			return reflect.Value{}, false
		}
		var ok bool
		if v, ok = field(v, key); !ok {
			return reflect.Value{}, false
		}
	}
	return v, true
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// value decodes a node into a field.
func (d *decoder) value(n ast.Node, v reflect.Value, path string) {
	if v.Kind() == reflect.Interface {
		if got, ok := d.any(n, path); ok && got != nil {
			v.Set(reflect.ValueOf(got))
		}
		return
	}
	if sc, ok := d.readScalar(n, path); ok {
		if v.Type() == reflect.TypeFor[Devices]() && sc.kind != ast.NullType {
			v.SetZero()
			v, _ = field(v, "total")
		}
		if scalarKind(v) {
			d.scalar(sc, d.node(n), v, path)
			return
		}
		if sc.kind == ast.NullType {
			return // a section with nothing in it
		}
		needed, hint := shapeOf(v, path)
		if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.String {
			hint = fmt.Sprintf("write [%s]", clip(d.shown(sc, path)))
		}
		if first := keysOf(v.Type()); len(first) > 0 && (first[0] == "path" || first[0] == "url") {
			hint = fmt.Sprintf("write {%s: %s}", first[0], clip(d.shown(sc, path)))
		}
		d.add(d.node(n).issue(path, hint, "%s is needed, not %q", needed, clip(d.shown(sc, path))))
		return
	}
	if v.Kind() == reflect.Pointer || scalarKind(v) {
		needed, hint := shapeOf(v, path)
		d.add(d.node(n).issue(path, hint, "%s is needed, not %s", needed, nodeWord(n)))
		return
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		d.mapping(n, v, path)
	case *ast.MappingValueNode:
		d.mapping(ast.Mapping(n.GetToken(), false, n), v, path)
	case *ast.SequenceNode:
		d.sequence(n, v, path)
	default:
		d.unsupported(n, path)
	}
}

func (d *decoder) unsupported(n ast.Node, path string) {
	d.add(d.node(n).issue(path, "write the value itself", "%s is not understood here", nodeWord(n)))
}

// mapping decodes a map into a struct or a map, and refuses a key given twice.
func (d *decoder) mapping(n *ast.MappingNode, v reflect.Value, path string) {
	if v.Kind() == reflect.Slice {
		needed, hint := shapeOf(v, path)
		d.add(d.node(n).issue(path, hint, "%s is needed, not %s", needed, nodeWord(n)))
		return
	}
	seen := map[string]int{}
	for _, kv := range n.Values {
		key, ok := keyOf(kv.Key)
		at := d.token(kv.Key.GetToken())
		if !ok {
			d.add(at.issue(path, "", "%s is not understood as a key", nodeWord(kv.Key)))
			continue
		}
		if strings.Contains(key, "${") {
			d.add(at.issue(path, "", "the key %q: variables are filled into values, not keys", clip(key)))
			continue
		}
		full := join(path, key)
		if first, again := seen[key]; again {
			d.add(at.issue(full, "keep one", "given twice, first on line %d", first))
			continue
		}
		seen[key] = at.line
		switch v.Kind() {
		case reflect.Struct:
			f, ok := field(v, key)
			if !ok {
				d.unknownKey(at, path, key)
				continue
			}
			d.from[full] = d.valuePlace(kv)
			d.value(kv.Value, f, full)
		case reflect.Map:
			d.entry(kv, v, key, full)
		}
	}
}

// valuePlace is where a value stands, or its key when the value is a block.
func (d *decoder) valuePlace(kv *ast.MappingValueNode) place {
	switch n := kv.Value.(type) {
	case *ast.MappingNode, *ast.MappingValueNode, *ast.SequenceNode, *ast.NullNode, *ast.LiteralNode, nil:
		return d.token(kv.Key.GetToken())
	default:
		return d.node(n)
	}
}

func (d *decoder) entry(kv *ast.MappingValueNode, v reflect.Value, key, full string) {
	var elem reflect.Value
	if v.Type().Elem().Kind() == reflect.Interface {
		got, ok := d.any(kv.Value, full)
		if !ok {
			return
		}
		elem = reflect.New(v.Type().Elem()).Elem()
		if got != nil {
			elem.Set(reflect.ValueOf(got))
		}
	} else {
		elem = reflect.New(v.Type().Elem()).Elem()
		d.value(kv.Value, elem, full)
	}
	d.from[full] = d.valuePlace(kv)
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	v.SetMapIndex(reflect.ValueOf(key), elem)
}

func (d *decoder) sequence(n *ast.SequenceNode, v reflect.Value, path string) {
	if v.Kind() != reflect.Slice {
		needed, hint := shapeOf(v, path)
		d.add(d.node(n).issue(path, hint, "%s is needed, not a list", needed))
		return
	}
	d.note(path, d.node(n))
	out := reflect.MakeSlice(v.Type(), len(n.Values), len(n.Values))
	for i, item := range n.Values {
		full := fmt.Sprintf("%s[%d]", path, i)
		d.from[full] = d.node(item)
		d.value(item, out.Index(i), full)
	}
	v.Set(out)
}

// any decodes a free value: what JSON can say.
func (d *decoder) any(n ast.Node, path string) (any, bool) {
	if sc, ok := d.readScalar(n, path); ok {
		return d.anyScalar(sc, d.node(n), path)
	}
	switch n := n.(type) {
	case *ast.MappingValueNode:
		return d.any(ast.Mapping(n.GetToken(), false, n), path)
	case *ast.MappingNode:
		out := reflect.ValueOf(map[string]any{})
		before := len(d.issues)
		d.mapping(n, out, path)
		return out.Interface(), len(d.issues) == before
	case *ast.SequenceNode:
		out := make([]any, 0, len(n.Values))
		for i, item := range n.Values {
			full := fmt.Sprintf("%s[%d]", path, i)
			d.note(full, d.node(item))
			v, ok := d.any(item, full)
			if !ok {
				return nil, false
			}
			out = append(out, v)
		}
		return out, true
	}
	d.unsupported(n, path)
	return nil, false
}

func (d *decoder) anyScalar(sc scalar, at place, path string) (any, bool) {
	if sc.failed {
		return nil, false
	}
	if !sc.plain {
		return sc.text, true
	}
	if sc.text == "" || sc.text == "null" || sc.text == "~" || sc.kind == ast.NullType {
		return nil, true
	}
	if b, ok := parseBool(sc.text); ok {
		return b, true
	}
	if leadingZero.MatchString(sc.text) {
		shown := clip(d.shown(sc, path))
		d.add(at.issue(path, fmt.Sprintf("write it without, or %q in quotes", shown), "%s is a number with a leading zero", shown))
		return nil, false
	}
	if i, err := strconv.ParseInt(sc.text, 10, 64); err == nil {
		return i, true
	}
	if f, ok := parseFloat(sc.text); ok {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			d.add(at.issue(path, "", "%s is not a finite number", clip(d.shown(sc, path))))
			return nil, false
		}
		if strings.Trim(sc.text, "+-0123456789") == "" {
			d.add(at.issue(path, "", "%s is too large", clip(d.shown(sc, path))))
			return nil, false
		}
		return f, true
	}
	if sc.kind == ast.IntegerType || sc.kind == ast.FloatType {
		shown := clip(d.shown(sc, path))
		d.add(at.issue(path, fmt.Sprintf("write it in decimal, or %q in quotes", shown), "%s is a number that JSON cannot say", shown))
		return nil, false
	}
	return sc.text, true
}

// leadingZero marks 010, which is eight to some readers of YAML and ten to others.
var leadingZero = regexp.MustCompile(`^[+-]?0[0-9]`)

func parseBool(s string) (value, ok bool) {
	switch s {
	case "true", "True", "TRUE":
		return true, true
	case "false", "False", "FALSE":
		return false, true
	}
	return false, false
}

// parseFloat reads what YAML calls a number, and no Go extras such as 0x1p2, 1_0
// or "infinity".
func parseFloat(s string) (float64, bool) {
	t := strings.ToLower(strings.TrimLeft(s, "+-"))
	switch t {
	case ".nan", "nan":
		return math.NaN(), true
	case ".inf", "inf", "infinity":
		return math.Inf(1), true
	}
	if t == "" || leadingZero.MatchString(s) || strings.Trim(t, "0123456789.e+-") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// scalar sets one field from text.
func (d *decoder) scalar(sc scalar, at place, v reflect.Value, path string) {
	if sc.failed {
		return
	}
	needed, hint := shapeOf(v, path)
	bad := func(format string, args ...any) { d.add(at.issue(path, hint, format, args...)) }
	if v.Kind() == reflect.Pointer {
		p := reflect.New(v.Type().Elem())
		before := len(d.issues)
		d.scalar(sc, at, p.Elem(), path)
		if len(d.issues) == before {
			v.Set(p)
		}
		return
	}
	if sc.kind == ast.NullType {
		d.add(at.issue(path, "give a value, or remove the line", "no value"))
		return
	}
	text := sc.text
	shown := clip(d.shown(sc, path))
	if v.Kind() == reflect.String {
		if sc.plain && !sc.flag && !sc.variable && sc.kind != ast.StringType && !slices.Contains(choices()[path], text) && !strings.HasPrefix(path, "notes.") && path != "sweep.requests" {
			hint = fmt.Sprintf("write %q in quotes", shown)
			bad("text is needed, not %s", shown)
			return
		}
		v.SetString(text)
		d.note(path, at)
		return
	}
	if !sc.plain && !sc.variable {
		hint = "remove the quotes"
		if _, ok := parseFloat(text); !ok && v.Kind() != reflect.Bool {
			hint = ""
		}
		bad("%s is needed, not the text %q", needed, shown)
		return
	}
	text = strings.TrimSpace(text)
	switch {
	case v.Type() == reflect.TypeFor[Duration]():
		dur, err := time.ParseDuration(text)
		if err != nil {
			if f, ok := parseFloat(text); ok && f >= 0 && !math.IsInf(f, 0) {
				hint = fmt.Sprintf("with a unit: %ss", shown)
			}
			bad("%q is not a duration", shown)
			return
		}
		if dur < 0 {
			bad("%s is negative", shown)
			return
		}
		v.SetInt(int64(dur))
	case v.Kind() == reflect.Bool:
		b, ok := parseBool(text)
		if !ok {
			bad("%q is not true or false", shown)
			return
		}
		v.SetBool(b)
	default:
		if !d.number(text, shown, v, needed, bad) {
			return
		}
	}
	d.note(path, at)
}

func (d *decoder) number(text, shown string, v reflect.Value, needed string, bad func(string, ...any)) bool {
	f, ok := parseFloat(text)
	switch {
	case !ok:
		bad("%q is not %s", shown, needed)
		return false
	case math.IsNaN(f) || math.IsInf(f, 0):
		bad("%s is not a finite number", shown)
		return false
	case f < 0:
		bad("%s is negative", shown)
		return false
	case v.Kind() == reflect.Float64:
		v.SetFloat(f + 0) // +0 for −0
		return true
	}
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		if f >= math.MaxInt64 {
			bad("%s is too large", shown)
		} else {
			bad("%s is not %s", shown, needed)
		}
		return false
	}
	v.SetInt(i)
	return true
}

// note remembers that a field was given, unless its key's place is known.
func (d *decoder) note(path string, at place) {
	if _, ok := d.from[path]; !ok || d.origin != nil {
		d.from[path] = at
	}
}

// shapeOf says what a field takes, in words, and by example.
func shapeOf(v reflect.Value, path string) (needed, hint string) {
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	last := path[strings.LastIndexByte(path, '.')+1:]
	switch {
	case t == reflect.TypeFor[Duration]():
		return "a duration", "such as 10s, 1m30s or 250ms"
	case t == reflect.TypeFor[Devices]():
		return "a whole number or a map", "such as 16, or {prefill: 8, decode: 8}"
	}
	switch t.Kind() {
	case reflect.String:
		return "text", ""
	case reflect.Bool:
		return "true or false", ""
	case reflect.Int64:
		return "a whole number", ""
	case reflect.Float64:
		return "a number", ""
	case reflect.Slice:
		switch {
		case t.Elem().Kind() == reflect.String:
			return "a list", ""
		case t.Elem().Kind() == reflect.Interface:
			return "a list", "such as [1, 2, 4]"
		case t.Elem() == reflect.TypeFor[Axis]():
			return "a list of maps", "such as [{field: load.concurrency, values: [1, 2, 4, 8]}]"
		case t.Elem() != reflect.TypeFor[MetricsSource]():
			return "a list of maps", "keys of each: " + strings.Join(keysOf(t.Elem()), ", ")
		}
		return "a list of maps", "such as [{name: engine, url: http://h:8000/metrics}]"
	case reflect.Map:
		return "a map", fmt.Sprintf("such as %s: {name: value}", last)
	}
	return "a map of settings", "keys of " + cmp.Or(path, "a spec") + ": " + strings.Join(keysOf(t), ", ")
}

func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}
