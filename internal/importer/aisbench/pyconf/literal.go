package pyconf

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// piece is a part of an f-string: text, or an expression with its format.
type piece struct {
	text      string // of a literal part
	expr      string // of an expression, "" for text
	line, col int    // of the expression
	convert   string // "r", "s" or "a"
	spec      []piece
	shown     string // "x=" of {x=}
}

// literal is a string token taken apart.
type literal struct {
	raw, f bool
	body   string
	// line and col of the body's first character.
	line, col int
}

func (l *lexer) literal(t token) (literal, *Error) {
	n := strings.IndexAny(t.text, `'"`)
	prefix := strings.ToLower(t.text[:n])
	if strings.Contains(prefix, "b") {
		return literal{}, l.fail(int(t.line), int(t.col), "write text, without the b", "bytes have no place in a config")
	}
	quote := 1
	if q := t.text[n : n+1]; strings.HasPrefix(t.text[n:], strings.Repeat(q, 3)) && len(t.text) >= n+6 {
		quote = 3
	}
	return literal{
		raw: strings.Contains(prefix, "r"), f: strings.Contains(prefix, "f"),
		body: strings.ReplaceAll(t.text[n+quote:len(t.text)-quote], "\r\n", "\n"),
		line: int(t.line), col: int(t.col) + n + quote,
	}, nil
}

// text is what the characters of a literal stand for.
func (l *lexer) text(body string, raw bool, line, col int) (string, *Error) {
	if raw || strings.IndexByte(body, '\\') < 0 {
		return body, nil
	}
	var b strings.Builder
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' || i+1 == len(body) {
			b.WriteByte(body[i])
			continue
		}
		i++
		c := body[i]
		if k := strings.IndexByte("abfnrtv\\'\"", c); k >= 0 {
			b.WriteByte("\a\b\f\n\r\t\v\\'\""[k])
			continue
		}
		digits, base := 0, 16
		switch {
		case c == '\n':
			continue
		case c >= '0' && c <= '7':
			i--
			for digits = 1; digits < 3 && i+1+digits < len(body) && body[i+1+digits] >= '0' && body[i+1+digits] <= '7'; {
				digits++
			}
			base = 8
		case c == 'x':
			digits = 2
		case c == 'u':
			digits = 4
		case c == 'U':
			digits = 8
		case c == 'N':
			return "", l.fail(line, col, "write the character itself, or its number as \\uXXXX", "names of characters (\\N{…}) are not known here")
		default: // Python keeps what it does not know
			b.WriteByte('\\')
			b.WriteByte(c)
			continue
		}
		if i+1+digits > len(body) {
			return "", l.fail(line, col, "", "the escape \\%c is cut short", c)
		}
		v, err := strconv.ParseUint(body[i+1:i+1+digits], base, 32)
		if err != nil || v > utf8.MaxRune || !utf8.ValidRune(rune(v)) {
			return "", l.fail(line, col, "", "the escape \\%s is no character", body[i:i+1+digits])
		}
		b.WriteRune(rune(v))
		i += digits
	}
	return b.String(), nil
}

// pieces takes an f-string apart.
func (l *lexer) pieces(body string, raw bool, line, col, depth int) ([]piece, *Error) {
	if depth > 3 {
		return nil, l.fail(line, col, "", "formats within formats are nested too deep")
	}
	var out []piece
	start := 0
	// place is where an offset of the body stands.
	place := func(at int) (int, int) {
		before := body[:at]
		if k := strings.LastIndexByte(before, '\n'); k >= 0 {
			return line + strings.Count(before, "\n"), utf8.RuneCountInString(before[k+1:]) + 1
		}
		return line, col + utf8.RuneCountInString(before)
	}
	flush := func(end int) *Error {
		at, ac := place(start)
		s, err := l.text(body[start:end], raw, at, ac)
		if err == nil && s != "" {
			out = append(out, piece{text: s})
		}
		return err
	}
	for i := 0; i < len(body); i++ {
		c := body[i]
		if c == '\\' && !raw && strings.HasPrefix(body[i:], "\\N{") {
			n, m := place(i)
			return nil, l.fail(n, m, "write the character itself", "names of characters (\\N{…}) are not known here")
		}
		if c != '{' && c != '}' {
			continue
		}
		if err := flush(i); err != nil {
			return nil, err
		}
		if i+1 < len(body) && body[i+1] == c && depth == 0 {
			start = i + 1 // the second brace begins the next text
			i++
			continue
		}
		n, m := place(i)
		if c == '}' {
			return nil, l.fail(n, m, "write }} for a brace", "a brace that closes nothing in an f-string")
		}
		p, next, err := l.field(body, i+1, raw, place, depth)
		if err != nil {
			return nil, err
		}
		if p.shown != "" {
			out = append(out, piece{text: p.shown})
		}
		out = append(out, p)
		i, start = next, next+1
	}
	return out, flush(len(body))
}

// field reads what stands between braces, from at on; next is the offset of the
// closing brace.
func (l *lexer) field(body string, at int, raw bool, place func(int) (int, int), depth int) (p piece, next int, err *Error) {
	p.line, p.col = place(at)
	end := exprEnd(body, at)
	expr := body[at:end]
	if end < len(body) && body[end] == '=' {
		p.shown = body[at : end+1]
		end++
		for end < len(body) && body[end] == ' ' {
			end++
		}
		p.convert = "r"
	}
	if p.expr = expr; strings.TrimSpace(expr) == "" {
		return p, 0, l.fail(p.line, p.col, "", "no expression between the braces of an f-string")
	}
	if end+1 < len(body) && body[end] == '!' {
		p.convert = body[end+1 : end+2]
		if !strings.Contains("rsa", p.convert) {
			return p, 0, l.fail(p.line, p.col, "!r, !s or !a", "the conversion !%s is not known", p.convert)
		}
		end += 2
	}
	if end < len(body) && body[end] == ':' {
		from, open := end+1, 0
		for end = from; end < len(body) && (body[end] != '}' || open > 0); end++ {
			switch body[end] {
			case '{':
				open++
			case '}':
				open--
			}
		}
		if p.shown != "" {
			p.convert = ""
		}
		n, m := place(from)
		if p.spec, err = l.pieces(body[from:end], raw, n, m, depth+1); err != nil {
			return p, 0, err
		}
	}
	if end >= len(body) || body[end] != '}' {
		return p, 0, l.fail(p.line, p.col, "close it, or write {{ for a brace", "a brace of an f-string is not closed")
	}
	return p, end, nil
}

// exprEnd is the offset at which the expression of a replacement field ends: a
// brace, !, : or = of its own.
func exprEnd(body string, at int) int {
	open := 0
	for i := at; i < len(body); i++ {
		switch c := body[i]; c {
		case '(', '[', '{':
			open++
		case ')', ']':
			open--
		case '}':
			if open <= 0 {
				return i
			}
			open--
		case '\'', '"':
			if k := strings.IndexByte(body[i+1:], c); k >= 0 {
				i += 1 + k
			}
		case '!':
			if open <= 0 && !strings.HasPrefix(body[i:], "!=") {
				return i
			}
			if strings.HasPrefix(body[i:], "!=") {
				i++
			}
		case ':':
			if open <= 0 {
				return i
			}
		case '=':
			if open > 0 || strings.HasPrefix(body[i:], "==") {
				if strings.HasPrefix(body[i:], "==") {
					i++
				}
				continue
			}
			if i > at && strings.IndexByte("<>!=", body[i-1]) >= 0 {
				continue
			}
			return i
		}
	}
	return len(body)
}

// quote writes a Starlark string literal in ASCII, so that columns count alike.
func quote(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r >= ' ' && r < 0x7f:
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
