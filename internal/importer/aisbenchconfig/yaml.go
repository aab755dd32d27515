package aisbenchconfig

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"tokentape/internal/importer/aisbench/pyconf"
)

// raw is YAML as it stands, such as a reference ${KEY}.
type raw string

// sheet is a spec being written: fields in order, each with where it came from.
type sheet struct{ root knot }

type knot struct {
	name  string
	value string
	note  string
	kids  []*knot
}

// set gives the field at a path of keys a value; note says where it came from. A
// key that holds a dot stands last.
func (s *sheet) set(path string, value any, note string) {
	s.setKeys(strings.Split(path, "."), value, note)
}

func (s *sheet) setKeys(keys []string, value any, note string) {
	at := &s.root
	for _, k := range keys {
		var next *knot
		for _, kid := range at.kids {
			if kid.name == k {
				next = kid
			}
		}
		if next == nil {
			next = &knot{name: k}
			at.kids = append(at.kids, next)
		}
		at = next
	}
	at.value, at.note = flow(value), note
}

// order is that of a spec: sections, and the fields in them that come first or last.
var order = []string{"name", "target", "workload", "load", "report", "seeds"}

var inside = map[string][]string{
	"workload": {"dataset", "template", "body", "system", "output_tokens", "sampling", "stream", "repeat", "order", "sessions", "history"},
	"dataset":  {"path", "format"},
	"load":     {"requests", "sessions", "concurrency", "session_concurrency"},
}

// text is the spec.
func (s *sheet) text(head []string) []byte {
	var b strings.Builder
	for _, h := range head {
		fmt.Fprintf(&b, "# %s\n", comment(h))
	}
	for _, section := range order {
		for _, k := range s.root.kids {
			if k.name == section {
				k.write(&b, "")
			}
		}
	}
	return []byte(b.String())
}

func (k *knot) write(b *strings.Builder, indent string) {
	name := k.name
	if !bare.MatchString(name) || oddKey.MatchString(name) {
		name = quoted(name)
	}
	if len(k.kids) == 0 {
		fmt.Fprintf(b, "%s%s: %s", indent, name, k.value)
		if k.note != "" {
			fmt.Fprintf(b, "  # %s", comment(k.note))
		}
		b.WriteByte('\n')
		return
	}
	fmt.Fprintf(b, "%s%s:\n", indent, name)
	for _, kid := range k.ordered() {
		kid.write(b, indent+"  ")
	}
}

var (
	bare    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	notBare = regexp.MustCompile(`(?i)^(true|false|null|yes|no|on|off|y|n|nan|inf)$`)
	oddKey  = regexp.MustCompile(`(?i)^(true|false|null|yes|no|off)$`)
	plain   = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./-]*$`)
)

// comment is a text of the config for a comment: on one line, since YAML would read
// the next one.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\ufeff' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// flow is a value on one line.
func flow(v any) string {
	switch v := v.(type) {
	case raw:
		return string(v)
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		if v == float64(int64(v)) && v < 1e15 && v > -1e15 {
			return strconv.FormatInt(int64(v), 10)
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	case time.Duration:
		return v.String()
	case string:
		if plain.MatchString(v) && !notBare.MatchString(v) {
			return v
		}
		return quoted(v)
	case pyconf.Symbol:
		return quoted(string(v))
	case []string:
		var parts []string
		for _, e := range v {
			parts = append(parts, flow(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case []pyconf.Value:
		var parts []string
		for _, e := range v {
			parts = append(parts, flow(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *pyconf.Dict:
		var parts []string
		for _, f := range v.Fields {
			parts = append(parts, flow(f.Name)+": "+flow(f.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return quoted(fmt.Sprint(v))
}

func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(strings.ReplaceAll(s, "${", "$${")) // a text always encodes
	return breaks.ReplaceAllStringFunc(strings.TrimSuffix(b.String(), "\n"), func(s string) string {
		return fmt.Sprintf(`\u%04x`, []rune(s)[0])
	})
}

// breaks are what JSON lets stand and YAML does not, or takes for the end of a line.
var breaks = regexp.MustCompile(`[\x{7f}-\x{9f}\x{feff}]`)

// ordered are the fields below k, those that inside names first.
func (k *knot) ordered() []*knot {
	rank := func(x *knot) int {
		if n := slices.Index(inside[k.name], x.name); n >= 0 {
			return n
		}
		return len(inside[k.name])
	}
	out := slices.Clone(k.kids)
	slices.SortStableFunc(out, func(a, b *knot) int { return rank(a) - rank(b) })
	return out
}
