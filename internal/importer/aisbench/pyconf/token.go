package pyconf

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Pos is a place in a Python file; Line and Col count from 1, Col in characters.
type Pos struct {
	File      string
	Line, Col int
}

// String is FILE:LINE, which is how places are shown beside values.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Error is why a file cannot be evaluated, where, and what mends it.
type Error struct {
	Pos
	Message string
	Hint    string // "" when there is nothing more to say
}

func (e *Error) Error() string {
	at := e.File
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Col)
	}
	s := at + ": " + e.Message
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Limits of what is read at all; a config beyond them is data, not a config.
const (
	maxBytes  = 512 << 10 // of all files together: syntax trees take up to 400 times that
	maxDepth  = 100       // brackets, or blocks, within each other
	maxChain  = 1000      // operators in one expression without a comma
	maxBranch = 500       // elif branches in a row
)

type tokenKind uint8

const (
	tokName tokenKind = iota
	tokNumber
	tokString // text is the literal as it stands, prefix and quotes included
	tokOp
	tokEnd // end of a logical line
	tokEOF
)

type token struct {
	text      string
	line, col int32
	kind      tokenKind
	indent    int32 // of the first token of a logical line; elsewhere -1
}

// lexer cuts Python text into tokens. Line ends within brackets, comments and
// blank lines are dropped.
type lexer struct {
	file      string
	src       string
	at        int // byte offset
	line, col int
	depth     int // open brackets
	begun     bool
}

func (l *lexer) fail(line, col int, hint, format string, args ...any) *Error {
	return &Error{Pos{l.file, line, col}, fmt.Sprintf(format, args...), hint}
}

// advance moves over n bytes and keeps count of lines and characters.
func (l *lexer) advance(n int) {
	for end := l.at + n; l.at < end; {
		c := l.src[l.at]
		switch {
		case c == '\n':
			l.line, l.col = l.line+1, 1
			l.at++
		case c < utf8.RuneSelf:
			l.col++
			l.at++
		default:
			_, size := utf8.DecodeRuneInString(l.src[l.at:])
			l.col++
			l.at += size
		}
	}
}

const (
	twoOps = "**|//|==|!=|<=|>=|->|:=|+=|-=|*=|/=|%=|&=||=|^=|<<|>>|@="
	oneOps = "+-*/%@&|^~<>()[]{},:.;="
)

// next is the next token.
func (l *lexer) next() (token, *Error) {
	indent := int32(-1)
	if !l.begun {
		n, err := l.indentation()
		if err != nil {
			return token{}, err
		}
		indent = int32(n)
	}
	for {
		if l.at >= len(l.src) {
			if l.begun {
				l.begun = false
				if l.depth > 0 {
					return token{}, l.fail(l.line, l.col, "close it", "the file ends inside an open bracket")
				}
				return token{kind: tokEnd, line: int32(l.line), col: int32(l.col), indent: -1}, nil
			}
			return token{kind: tokEOF, line: int32(l.line), col: int32(l.col)}, nil
		}
		c := l.src[l.at]
		switch {
		case c == '\n':
			t := token{kind: tokEnd, line: int32(l.line), col: int32(l.col), indent: -1}
			l.advance(1)
			if l.depth == 0 {
				l.begun = false
				return t, nil
			}
		case c == ' ' || c == '\t' || c == '\f' || c == '\r':
			l.advance(1)
		case c == '#':
			l.comment()
		case c == '\\':
			n := 1
			if strings.HasPrefix(l.src[l.at+1:], "\r") {
				n++
			}
			if !strings.HasPrefix(l.src[l.at+n:], "\n") {
				return token{}, l.fail(l.line, l.col, "a backslash joins two lines only at a line's end", "a backslash in the middle of a line")
			}
			l.advance(n + 1)
		default:
			l.begun = true
			t, err := l.token()
			t.indent = indent
			return t, err
		}
	}
}

// indentation is the width of the white space before the next logical line;
// blank lines and comments are skipped.
func (l *lexer) indentation() (int, *Error) {
	width := 0
	for l.at < len(l.src) {
		switch l.src[l.at] {
		case ' ':
			width++
			l.advance(1)
		case '\t':
			width += 8 - width%8
			l.advance(1)
		case '\r', '\f':
			l.advance(1)
		case '\n':
			width = 0
			l.advance(1)
		case '#':
			l.comment()
		default:
			return width, nil
		}
	}
	return 0, nil
}

func (l *lexer) comment() {
	n := strings.IndexByte(l.src[l.at:], '\n')
	if n < 0 {
		n = len(l.src) - l.at
	}
	l.advance(n)
}

func (l *lexer) token() (token, *Error) {
	rest := l.src[l.at:]
	t := token{line: int32(l.line), col: int32(l.col)}
	take := func(kind tokenKind, n int) (token, *Error) {
		t.kind, t.text = kind, rest[:n]
		l.advance(n)
		return t, nil
	}
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case isNameStart(r):
		n := size
		for n < len(rest) {
			r, size := utf8.DecodeRuneInString(rest[n:])
			if !isNameStart(r) && !unicode.IsDigit(r) {
				break
			}
			n += size
		}
		if n < len(rest) && (rest[n] == '"' || rest[n] == '\'') && isPrefix(rest[:n]) {
			m, err := l.quoted(n)
			if err != nil {
				return t, err
			}
			return take(tokString, m)
		}
		if strings.HasPrefix(rest[:n], hookPrefix) {
			return t, l.fail(l.line, l.col, "rename it", "the name %s is used by the evaluator itself", rest[:n])
		}
		return take(tokName, n)
	case r == '"' || r == '\'':
		n, err := l.quoted(0)
		if err != nil {
			return t, err
		}
		return take(tokString, n)
	case r >= '0' && r <= '9' || r == '.' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
		n := numberLength(rest)
		if n < len(rest) {
			if r, _ := utf8.DecodeRuneInString(rest[n:]); isNameStart(r) {
				return t, l.fail(l.line, l.col, "", "%q is not a number", rest[:n+1])
			}
		}
		return take(tokNumber, n)
	}
	for _, n := range []int{3, 2, 1} {
		if len(rest) < n {
			continue
		}
		op := rest[:n]
		switch {
		case n == 3 && (op == "**=" || op == "//=" || op == "<<=" || op == ">>=" || op == "..."):
			return take(tokOp, n)
		case n == 2 && strings.Contains(twoOps, op) && !strings.ContainsAny(op[:1], "|") || n == 2 && op == "|=":
			return take(tokOp, n)
		case n == 1 && strings.Contains(oneOps, op):
			switch op {
			case "(", "[", "{":
				l.depth++
			case ")", "]", "}":
				l.depth = max(0, l.depth-1)
			}
			return take(tokOp, n)
		}
	}
	return t, l.fail(l.line, l.col, "", "the character %q has no meaning here", r)
}

func isNameStart(r rune) bool {
	return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= utf8.RuneSelf && r != utf8.RuneError && unicode.IsLetter(r)
}

// isPrefix reports whether a name before a quote belongs to the string.
func isPrefix(s string) bool {
	switch strings.ToLower(s) {
	case "r", "u", "b", "f", "br", "rb", "fr", "rf":
		return true
	}
	return false
}

// quoted is the length of the string literal whose quote begins after a prefix.
func (l *lexer) quoted(prefix int) (int, *Error) {
	rest := l.src[l.at:]
	quote := rest[prefix : prefix+1]
	if strings.HasPrefix(rest[prefix:], strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	for n := prefix + len(quote); n < len(rest); n++ {
		switch {
		case rest[n] == '\\':
			n++
		case strings.HasPrefix(rest[n:], quote):
			return n + len(quote), nil
		case rest[n] == '\n' && len(quote) == 1:
			return 0, l.fail(l.line, l.col, "close it, or use three quotes for a text of several lines", "the string is not closed on its line")
		}
	}
	return 0, l.fail(l.line, l.col, "close it", "the string is not closed before the end of the file")
}

func numberLength(s string) int {
	n := 0
	hex := len(s) > 1 && s[0] == '0' && strings.ContainsRune("xX", rune(s[1]))
	for n < len(s) {
		c := s[n]
		switch {
		case c >= '0' && c <= '9', c == '_', c == '.':
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		case (c == '+' || c == '-') && !hex && n > 0 && (s[n-1] == 'e' || s[n-1] == 'E'):
		default:
			return n
		}
		n++
	}
	return n
}
