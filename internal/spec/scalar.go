package spec

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// scalar is one value as text, before its field says what it means.
type scalar struct {
	text     string
	raw      string // as the file has it, variables and all
	kind     ast.NodeType
	plain    bool // not quoted
	flag     bool // from the command line: already text
	variable bool // holds what came from the environment
	failed   bool // an issue was raised already
}

// readScalar takes a scalar node, its variables filled in.
func (d *decoder) readScalar(n ast.Node, path string) (scalar, bool) {
	sc := scalar{plain: true}
	switch n := n.(type) {
	case nil:
		sc.kind = ast.NullType
		return sc, true
	case *ast.StringNode:
		sc.text = n.Value
		sc.plain = n.Token == nil || n.Token.Type != token.SingleQuoteType && n.Token.Type != token.DoubleQuoteType
	case *ast.LiteralNode:
		sc.plain = false
		if n.Value != nil {
			sc.text = n.Value.Value
		}
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
		sc.text = strings.TrimSpace(n.GetToken().Value)
	default:
		return sc, false
	}
	sc.kind = n.Type()
	sc.raw = sc.text
	// Of a flag the shell fills in variables, but for credentials, which would then stand
	// in the list of processes.
	if d.origin != nil && !sourcePath.MatchString(path) || sc.kind != ast.StringType && sc.kind != ast.LiteralType {
		return sc, true
	}
	text, used, err := expand(sc.text, d.env)
	if err != nil {
		sc.failed = true
		at := d.node(n)
		is := at.issue(path, err.hint, "%s", err.message)
		is.unset = err.unset
		d.add(is)
		return sc, true
	}
	if !utf8.ValidString(text) {
		sc.failed = true
		d.add(d.node(n).issue(path, "", "%s fills in bytes that are not UTF-8", clip(d.shown(scalar{text: sc.raw}, path))))
	}
	sc.text, sc.variable = text, used
	return sc, true
}

// shown is a scalar's text for a message: what a variable held is not shown for
// credentials.
func (d *decoder) shown(sc scalar, path string) string {
	switch {
	case sc.variable && looksSecret(sc.raw):
		return sc.raw
	case secretPath(path):
		return mask
	}
	return maskURL(sc.text)
}

// shownFlag is a flag's value that is not YAML, for a message.
func (d *decoder) shownFlag(path, value string) string {
	if secretPath(path) {
		return mask
	}
	return clip(maskLine(maskURL(value)))
}

type expandError struct{ message, hint, unset string }

var variable = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`)

// expand fills ${VAR} and ${VAR:-default} (used when VAR is unset or empty);
// $${ gives ${. used reports whether there was any.
func expand(s string, env func(string) (string, bool)) (out string, used bool, bad *expandError) {
	var b strings.Builder
	for s != "" {
		i := strings.IndexByte(s, '$')
		if i < 0 {
			break
		}
		b.WriteString(s[:i])
		s = s[i:]
		switch {
		case strings.HasPrefix(s, "$${"):
			b.WriteString("${")
			s = s[3:]
		case strings.HasPrefix(s, "${"):
			m := variable.FindStringSubmatch(s)
			if m == nil {
				return "", false, &expandError{
					message: fmt.Sprintf("%q is not a variable", clip(s)),
					hint:    "${NAME} or ${NAME:-default}; $${ for a literal ${",
				}
			}
			val, ok := env(m[1])
			if m[2] != "" && val == "" {
				val, ok = m[3], true
			}
			if !ok {
				return "", false, &expandError{
					message: fmt.Sprintf("variable %s is not set", m[1]),
					hint:    fmt.Sprintf("export %s=…, or give a default: ${%s:-value}", m[1], m[1]),
					unset:   m[1],
				}
			}
			b.WriteString(val)
			used = true
			s = s[len(m[0]):]
		default:
			b.WriteByte('$')
			s = s[1:]
		}
	}
	b.WriteString(s)
	return b.String(), used, nil
}

// keyOf is a mapping key's text. Keys may be anything that is written as one
// word; only the merge key and complex keys are refused.
func keyOf(k ast.MapKeyNode) (string, bool) {
	switch k := k.(type) {
	case *ast.StringNode:
		return k.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return k.GetToken().Value, true
	}
	return "", false
}

// nodeWord names a node for people.
func nodeWord(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a map"
	case *ast.SequenceNode:
		return "a list"
	case *ast.AnchorNode:
		return "an anchor (&name)"
	case *ast.AliasNode:
		return "an alias (*name)"
	case *ast.TagNode:
		return "a tag (!name)"
	case *ast.MergeKeyNode:
		return "a merge key (<<)"
	}
	return "this"
}
