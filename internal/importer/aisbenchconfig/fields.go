package aisbenchconfig

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tokentape/internal/importer/aisbench/pyconf"
)

// Warning is something of a config that has no meaning here, or another one.
type Warning struct {
	At      pyconf.Pos
	Field   string
	Message string
}

func (w Warning) String() string {
	s := ""
	if w.At.File != "" {
		s = w.At.String() + ": "
	}
	if w.Field != "" {
		s += w.Field + ": "
	}
	return s + w.Message
}

// Refusals are the reasons for which a config makes no spec.
type Refusals []*pyconf.Error

func (r Refusals) Error() string {
	var lines []string
	for _, e := range r {
		lines = append(lines, e.Error())
	}
	return strings.Join(lines, "\n")
}

// converter collects what is said about a config.
type converter struct {
	o        Options
	path     string
	config   *pyconf.Result
	warnings []Warning
	refused  Refusals
	off      []string // fields that ask for nothing, with their places
}

func (c *converter) warn(at pyconf.Pos, field, format string, args ...any) {
	w := Warning{at, field, fmt.Sprintf(format, args...)}
	if !slices.Contains(c.warnings, w) {
		c.warnings = append(c.warnings, w)
	}
}

func (c *converter) refuse(at pyconf.Pos, hint, format string, args ...any) {
	e := &pyconf.Error{Pos: at, Message: fmt.Sprintf(format, args...), Hint: hint}
	for _, r := range c.refused {
		if *r == *e {
			return
		}
	}
	c.refused = append(c.refused, e)
}

// short is a place for a comment: relative to the config's folder.
func (c *converter) short(at pyconf.Pos) string {
	if at.File == "" {
		return "AISBench's default"
	}
	if rel, err := filepath.Rel(filepath.Dir(c.path), at.File); err == nil {
		at.File = filepath.ToSlash(rel)
	}
	return at.String()
}

// from is the comment of a field: where it came from, and what it is there.
func (c *converter) from(f pyconf.Field) string {
	s := c.short(f.At)
	if f.Name != "" {
		s += " " + f.Name
	}
	if len(f.Env) > 0 {
		s += " ($" + strings.Join(f.Env, ", $") + ")"
	}
	return s
}

// record is a dict whose fields are taken one by one; what is left is warned of.
type record struct {
	c    *converter
	d    *pyconf.Dict
	what string // "model", "dataset"
	seen map[string]bool
}

func (c *converter) record(d *pyconf.Dict, what string) *record {
	return &record{c, d, what, map[string]bool{}}
}

// field takes a field; ok is false when it is missing or None.
func (r *record) field(name string) (pyconf.Field, bool) {
	r.seen[name] = true
	f, ok := r.d.Get(name)
	return f, ok && f.Value != nil
}

func kindOf(v pyconf.Value) string {
	switch v.(type) {
	case nil:
		return "None"
	case bool:
		return "True or False"
	case int64:
		return "a whole number"
	case float64:
		return "a number"
	case string:
		return "a text"
	case []pyconf.Value:
		return "a list"
	case *pyconf.Dict:
		return "a dict"
	}
	return "a name that is imported"
}

// text takes a text; "" when missing.
func (r *record) text(name string) (string, pyconf.Field) {
	f, ok := r.field(name)
	if !ok {
		return "", f
	}
	switch v := f.Value.(type) {
	case string:
		return v, f
	case pyconf.Symbol:
		return string(v), f
	}
	r.c.refuse(f.At, "write a text", "%s is %s; a text is needed", name, kindOf(f.Value))
	return "", f
}

// number takes a number; ok is false when it is missing. A text that is a number is
// taken too, and warned of.
func (r *record) number(name string) (float64, pyconf.Field, bool) {
	f, ok := r.field(name)
	if !ok {
		return 0, f, false
	}
	finite := func(n float64) (float64, pyconf.Field, bool) {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			r.c.refuse(f.At, "write a number", "%s is %v; a finite number is needed", name, n)
			return 0, f, false
		}
		return n, f, true
	}
	switch v := f.Value.(type) {
	case int64:
		return float64(v), f, true
	case float64:
		return finite(v)
	case string:
		if v == "" {
			return 0, f, false
		}
		if n, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil {
			if _, _, ok := finite(n); !ok {
				return 0, f, false
			}
			r.c.warn(f.At, name, "is a text, which AISBench refuses; read as the number in it")
			return n, f, true
		}
	}
	r.c.refuse(f.At, "write a number; what os.environ gives is a text: int(os.environ[…])", "%s is %s; a number is needed", name, kindOf(f.Value))
	return 0, f, false
}

// whole takes a whole number.
func (r *record) whole(name string) (int64, pyconf.Field, bool) {
	v, f, ok := r.number(name)
	if ok && (v != float64(int64(v)) || v > 1e15 || v < -1e15) {
		r.c.refuse(f.At, "", "%s is %v; a whole number is needed", name, v)
		return 0, f, false
	}
	return int64(v), f, ok
}

// truth takes True or False.
func (r *record) truth(name string) (bool, pyconf.Field, bool) {
	f, ok := r.field(name)
	if !ok {
		return false, f, false
	}
	switch v := f.Value.(type) {
	case bool:
		return v, f, true
	case int64:
		return v != 0, f, true
	}
	r.c.refuse(f.At, "write True or False", "%s is %s", name, kindOf(f.Value))
	return false, f, false
}

// dict takes a dict; nil when missing.
func (r *record) dict(name string) (*pyconf.Dict, pyconf.Field) {
	f, ok := r.field(name)
	if !ok {
		return nil, f
	}
	d, ok := f.Value.(*pyconf.Dict)
	if !ok {
		r.c.refuse(f.At, "write dict(…)", "%s is %s; a dict is needed", name, kindOf(f.Value))
	}
	return d, f
}

// texts takes a list of texts, or one text.
func (r *record) texts(name string) ([]string, pyconf.Field) {
	f, ok := r.field(name)
	if !ok {
		return nil, f
	}
	if s, ok := f.Value.(string); ok {
		return []string{s}, f
	}
	list, ok := f.Value.([]pyconf.Value)
	var out []string
	for _, v := range list {
		s, isText := v.(string)
		ok = ok && isText
		out = append(out, s)
	}
	if !ok {
		r.c.refuse(f.At, `such as ["question"]`, "%s is %s; a list of texts is needed", name, kindOf(f.Value))
		return nil, f
	}
	return out, f
}

// class takes a type: the last part of its name, and the whole.
func (r *record) class(name string) (last, whole string, f pyconf.Field) {
	f, ok := r.field(name)
	if !ok {
		return "", "", f
	}
	switch v := f.Value.(type) {
	case string:
		whole = v
	case pyconf.Symbol:
		whole = string(v)
	default:
		r.c.refuse(f.At, "an imported class, or its name with dots as a text", "type is %s", kindOf(f.Value))
	}
	return whole[strings.LastIndexByte(whole, '.')+1:], whole, f
}

// nothing reports whether a value asks for nothing.
func nothing(v pyconf.Value) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []pyconf.Value:
		return len(v) == 0
	case *pyconf.Dict:
		for _, f := range v.Fields {
			if !nothing(f.Value) {
				return false
			}
		}
		return true
	}
	return false
}

// idle takes a field that has no meaning here, and says so; one that asks for
// nothing is listed in the spec's head.
func (r *record) idle(name, why string) {
	f, present := r.d.Get(name)
	if !present || r.seen[name] {
		return
	}
	r.seen[name] = true
	if nothing(f.Value) {
		r.none(f)
		return
	}
	r.c.warn(f.At, name, "%s", why)
}

// none lists a field that asks for nothing.
func (r *record) none(f pyconf.Field) {
	what := r.c.short(f.At) + " " + f.Name
	if !slices.Contains(r.c.off, what) {
		r.c.off = append(r.c.off, what)
	}
}

// rest warns of what nobody took.
func (r *record) rest(why string) {
	for _, f := range r.d.Fields {
		r.idle(f.Name, why)
	}
}

// idles takes several fields that have no meaning here, in a fixed order.
func (r *record) idles(why map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(why)) {
		r.idle(name, "has no meaning here: "+why[name])
	}
}
