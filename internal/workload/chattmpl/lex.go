package chattmpl

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// prepare rewrites a template so that the engine cannot differ from Jinja2 in
// three places where it would without a word:
//
//   - blanks around tags: it trims the next text even if another tag lies between.
//     Here they are trimmed as Jinja2's lexer does with trim_blocks and
//     lstrip_blocks, and what is left of the text becomes an expression that is a
//     string, which nothing trims.
//   - printing: it prints nothing for none, and 1.0 as 1; {{ x }} becomes
//     {{ _show(x) }}.
//   - strings: it knows five escapes; all are resolved here.
//   - tojson with an indent sorts keys and escapes <>&; it becomes _tojson.
//
// Line numbers of the engine's messages count from the rewritten template, which
// has as many lines but for trimmed ones.
func prepare(src string) (string, error) {
	src = strings.TrimSuffix(newlines.Replace(src), "\n")
	var out strings.Builder
	lineStart := true // does the rest start a line
	for src != "" {
		open := nextTag(src)
		if open < 0 {
			writeText(&out, src)
			break
		}
		text, kind := src[:open], src[open+1]
		src = src[open+2:]
		sign := byte(0)
		if src != "" && (src[0] == '-' || src[0] == '+') {
			sign = src[0]
			src = src[1:]
		}
		switch {
		case sign == '-':
			text = strings.TrimRightFunc(text, unicode.IsSpace)
		case sign == 0 && kind != '{':
			// Blanks between the start of a line and a block or comment.
			at := strings.LastIndexByte(text, '\n') + 1
			if (at > 0 || lineStart) && strings.TrimSpace(text[at:]) == "" {
				text = text[:at]
			}
		}
		writeText(&out, text)
		inner, rest, err := tagEnd(src, kind)
		if err != nil {
			return "", err
		}
		tag, end := trimSign(inner)
		consumed := rest
		switch {
		case end == '-':
			rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
		case end == 0 && kind != '{':
			if strings.TrimSpace(tag) != "raw" {
				rest = strings.TrimPrefix(rest, "\n")
			}
		}
		skipped := consumed[:len(consumed)-len(rest)]
		lineStart = strings.HasSuffix(skipped, "\n")
		switch {
		case kind == '#':
		case kind == '{':
			expr, err := rename(tag)
			if err != nil {
				return "", err
			}
			out.WriteString("{{ _show(" + expr + ") }}")
		case strings.TrimSpace(tag) == "raw":
			text, after, err := rawEnd(rest)
			if err != nil {
				return "", err
			}
			writeText(&out, text)
			lineStart = strings.HasSuffix(rest[:len(rest)-len(after)], "\n")
			rest = after
		case strings.TrimSpace(tag) == "generation" || strings.TrimSpace(tag) == "endgeneration":
			// Marks for training; they print nothing.
		default:
			stmt, err := rename(strings.TrimSpace(tag))
			if err != nil {
				return "", err
			}
			out.WriteString("{% " + stmt + " %}")
		}
		src = rest
	}
	return out.String(), nil
}

// nextTag is where the first {{, {% or {# is; -1: nowhere.
func nextTag(s string) int {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '{' && (s[i+1] == '{' || s[i+1] == '%' || s[i+1] == '#') {
			return i
		}
	}
	return -1
}

// tagEnd splits s behind the end of the tag that it starts in: past strings and
// balanced brackets, but for comments.
func tagEnd(s string, kind byte) (inner, rest string, err error) {
	closer := map[byte]string{'{': "}}", '%': "%}", '#': "#}"}[kind]
	if kind == '#' {
		if inner, rest, ok := strings.Cut(s, closer); ok {
			return inner, rest, nil
		}
		return "", "", errors.New("a comment {# without its #}")
	}
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case depth == 0 && strings.HasPrefix(s[i:], closer):
			return s[:i], s[i+2:], nil
		case c == '\'' || c == '"':
			n := stringLen(s[i:])
			if n == 0 {
				return "", "", fmt.Errorf("a string without its end: %.40q", s[i:])
			}
			i += n - 1
		case c == '(' || c == '[' || c == '{':
			depth++
		case (c == ')' || c == ']' || c == '}') && depth > 0:
			depth--
		}
	}
	return "", "", fmt.Errorf("a tag without its %s: %.40q", closer, s)
}

// stringLen is the length of the string literal that s starts with; 0: it has no
// end.
func stringLen(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return 0
}

// trimSign takes the - or + off the end of a tag.
func trimSign(inner string) (string, byte) {
	if n := len(inner); n > 0 && (inner[n-1] == '-' || inner[n-1] == '+') {
		return inner[:n-1], inner[n-1]
	}
	return inner, 0
}

// rawEnd splits s at {% endraw %}.
func rawEnd(s string) (text, after string, err error) {
	for i := 0; ; i += 2 {
		at := strings.Index(s[i:], "{%")
		if at < 0 {
			return "", "", errors.New("{% raw %} without its {% endraw %}")
		}
		i += at
		inner, rest, ok := strings.Cut(s[i+2:], "%}")
		left := strings.HasPrefix(inner, "-")
		inner, right := trimSign(strings.TrimLeft(inner, "-+"))
		if !ok || strings.TrimSpace(inner) != "endraw" {
			continue
		}
		text = s[:i]
		if left {
			text = strings.TrimRightFunc(text, unicode.IsSpace)
		}
		switch right {
		case '-':
			rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
		case 0:
			rest = strings.TrimPrefix(rest, "\n")
		}
		return text, rest, nil
	}
}

var quote = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// writeText writes literal text as an expression.
func writeText(out *strings.Builder, text string) {
	if text != "" {
		out.WriteString(`{{ "` + quote.Replace(text) + `" }}`)
	}
}

// rename makes the filter tojson ours, writes strings anew and keeps closing
// braces apart.
func rename(tag string) (string, error) {
	const old = "tojson"
	var out strings.Builder
	for i := 0; i < len(tag); {
		switch {
		case tag[i] == '\'' || tag[i] == '"':
			n := stringLen(tag[i:])
			if n == 0 {
				return "", fmt.Errorf("a string without its end: %.40q", tag[i:])
			}
			s, err := unescape(tag[i+1 : i+n-1])
			if err != nil {
				return "", err
			}
			out.WriteString(`"` + quote.Replace(s) + `"`)
			i += n
		case strings.HasPrefix(tag[i:], old) && (i == 0 || !isName(tag[i-1])) && (i+len(old) == len(tag) || !isName(tag[i+len(old)])):
			out.WriteString("_" + old)
			i += len(old)
		default:
			out.WriteByte(tag[i])
			if tag[i] == '}' { // the engine takes }} for the end of the tag
				out.WriteByte(' ')
			}
			i++
		}
	}
	return out.String(), nil
}

var escapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", 'v': "\v", 'a': "\a", '\\': `\`, '\'': "'", '"': `"`, '\n': ""}

// unescape resolves the escapes of a Python string literal.
func unescape(s string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		i++
		if to, ok := escapes[s[i]]; ok {
			out.WriteString(to)
			continue
		}
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[i]]
		switch {
		case digits > 0:
			if i+digits >= len(s) {
				return "", fmt.Errorf("a broken escape in the string %.40q", s)
			}
			r, err := strconv.ParseUint(s[i+1:i+1+digits], 16, 32)
			if err != nil || !utf8.ValidRune(rune(r)) {
				return "", fmt.Errorf("a broken escape in the string %.40q", s)
			}
			out.WriteRune(rune(r))
			i += digits
		case s[i] == 'N' || s[i] >= '0' && s[i] <= '7':
			return "", fmt.Errorf("the escape \\%c in the string %.40q is not supported", s[i], s)
		default: // not an escape
			out.WriteString(s[i-1 : i+1])
		}
	}
	return out.String(), nil
}

func isName(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}
