package wirecase

import (
	"bytes"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"
)

// maxBytes bounds what the payloads of one file come to, in bytes; a variable
// for the fuzz target alone.
var maxBytes = 256 << 20

// maxTime bounds the times of a timeline.
const maxTime = 24 * time.Hour

// maxRepeat bounds every count in a file.
const maxRepeat = 10_000_000

// element is one word of a timeline: a time, bytes, or an end.
type element struct {
	line int
	kind elementKind
	step Step   // of a time: At, Count, Every, Drip, rel; of an end: the end
	rel  bool   // of a time: after the time before
	data []byte // of bytes
	raw  bool
}

type elementKind uint8

const (
	elemTime elementKind = iota
	elemData
	elemEnd
)

// source is text with the file's line of each of its own lines.
type source struct {
	b     []byte
	lines []int
}

func (s *source) add(line int, text string) {
	if len(s.lines) > 0 {
		s.b = append(s.b, '\n')
	}
	s.b = append(s.b, text...)
	s.lines = append(s.lines, line)
}

// text is all of it, each yields its lines.
func (s *source) text() string { return string(s.b) }

func (s *source) each() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for i, text := range strings.Split(s.text(), "\n") {
			if i >= len(s.lines) || !yield(s.lines[i], text) {
				return
			}
		}
	}
}

// lexer reads the words of a timeline.
type lexer struct {
	p     *parser
	text  string
	lines []int
	pos   int
	deep  int
	at, n int // up to at there are n line ends
}

func (p *parser) lexer(src source) *lexer {
	return &lexer{p: p, text: src.text(), lines: src.lines}
}

// fail ends the parsing with an *Error at the present line.
func (x *lexer) fail(format string, args ...any) { x.p.fail(x.line(), format, args...) }

func (x *lexer) line() int {
	pos := min(x.pos, len(x.text))
	if pos < x.at {
		x.at, x.n = 0, 0
	}
	x.n += strings.Count(x.text[x.at:pos], "\n")
	x.at = pos
	return x.lines[min(x.n, len(x.lines)-1)]
}

func (x *lexer) rest() string { return x.text[x.pos:] }

func (x *lexer) peek() byte {
	if x.pos < len(x.text) {
		return x.text[x.pos]
	}
	return 0
}

func (x *lexer) space() {
	for x.pos < len(x.text) && strings.IndexByte(" \t\r\n", x.text[x.pos]) >= 0 {
		x.pos++
	}
}

// elements reads all words to the end of the text.
func (x *lexer) elements() (out []element) {
	for {
		x.space()
		switch c := x.peek(); {
		case c == 0 && x.pos >= len(x.text):
			return out
		case c == '+': // "A + B" reads better, and means the same as "A B"
			x.pos++
		case c == '@':
			out = append(out, x.time())
		default:
			out = append(out, x.word()...)
		}
	}
}

// time reads @T, @+T, @T/STEP (one byte a write) or @T*N/STEP (N writes).
func (x *lexer) time() element {
	el := element{line: x.line(), kind: elemTime}
	x.pos++
	if el.rel = x.peek() == '+'; el.rel {
		x.pos++
	}
	el.step.At, el.step.Count = x.ms(), 1
	if x.peek() == '*' {
		x.pos++
		el.step.Count = x.number()
		if x.peek() != '/' {
			x.fail("@T*N wants the time between two writes: @T*N/STEP")
		}
		x.pos++
		el.step.Every = x.ms()
	} else if x.peek() == '/' {
		x.pos++
		el.step.Every, el.step.Drip = x.ms(), true
	}
	return el
}

func (x *lexer) digits() string {
	from := x.pos
	for x.pos < len(x.text) && (isDigit(x.text[x.pos]) || x.text[x.pos] == '.') {
		x.pos++
	}
	return x.text[from:x.pos]
}

func (x *lexer) ms() time.Duration {
	s := x.digits()
	d, err := parseMS(s)
	if err != nil {
		x.fail("%v", err)
	}
	return d
}

func (x *lexer) number() int {
	s := x.digits()
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > maxRepeat {
		x.fail("%q is not a whole number from 0 to %d", s, maxRepeat)
	}
	return n
}

// parseMS reads milliseconds, exact to the nanosecond.
func parseMS(s string) (time.Duration, error) {
	whole, frac, _ := strings.Cut(s, ".")
	if whole == "" || len(whole) > 9 || len(frac) > 6 || strings.HasSuffix(s, ".") {
		return 0, fmt.Errorf("%q is not a time in milliseconds", s)
	}
	n, err := strconv.ParseInt(whole+frac+strings.Repeat("0", 6-len(frac)), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a time in milliseconds", s)
	}
	if d := time.Duration(n); d <= maxTime {
		return d, nil
	}
	return 0, fmt.Errorf("%s ms is more than a day", s)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}

// word reads one word that is no time.
func (x *lexer) word() []element {
	el := element{line: x.line(), kind: elemData}
	switch c := x.peek(); {
	case c == '"' || c == '`':
		el.data = x.quoted()
	case c == '{' || c == '[':
		el.data = x.json()
	case isLetter(c):
		return x.named()
	default:
		x.fail("%q begins no word; words are @TIME, \"text\", {JSON}, names and calls such as e(C(Hi))", firstRune(x.rest()))
	}
	return []element{el}
}

func firstRune(s string) string {
	for _, r := range s {
		return string(r)
	}
	return ""
}

// quoted reads a string literal as Go has it.
func (x *lexer) quoted() []byte {
	q, err := strconv.QuotedPrefix(x.rest())
	if err != nil {
		x.fail("a string that does not end, or with a bad escape")
	}
	s, err := strconv.Unquote(q)
	if err != nil {
		x.fail("%s: %v", q, err)
	}
	x.pos += len(q)
	return x.p.spend(x.line(), []byte(s))
}

// json takes the text up to the bracket that closes the first one, as it stands.
func (x *lexer) json() []byte {
	from, depth, inString := x.pos, 0, false
	for ; x.pos < len(x.text); x.pos++ {
		switch c := x.text[x.pos]; {
		case inString && c == '\\':
			x.pos++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				x.pos++
				return x.p.spend(x.line(), []byte(x.text[from:x.pos]))
			}
		}
	}
	x.pos = from
	x.fail("a JSON value that does not end; write broken JSON as a string")
	return nil
}

// name reads letters, digits and underlines.
func (x *lexer) name() string {
	from := x.pos
	for x.pos < len(x.text) && (isLetter(x.text[x.pos]) || isDigit(x.text[x.pos])) {
		x.pos++
	}
	return x.text[from:x.pos]
}

// bytes reads words up to one of the ends (',' or ')') as one run of bytes.
func (x *lexer) bytes() []byte {
	if x.deep++; x.deep > 50 {
		x.fail("calls are nested too deep")
	}
	defer func() { x.deep-- }()
	var out []byte
	own := false // out is no other word's
	for n := 0; ; n++ {
		x.space()
		switch c := x.peek(); c {
		case '+':
			x.pos++
			n--
			continue
		case ',', ')', 0:
			if n == 0 {
				x.fail("here must stand a string, JSON, a name or a call")
			}
			return out
		case '@':
			x.fail("a time inside a call")
		}
		for _, el := range x.word() {
			if el.kind != elemData || el.raw {
				x.fail("only bytes may stand inside a call")
			}
			if out == nil {
				out = el.data
				continue
			}
			if !own {
				out, own = bytes.Clone(out), true
			}
			out = append(out, x.p.spend(el.line, el.data)...)
		}
	}
}

// expect takes one byte.
func (x *lexer) expect(c byte) {
	x.space()
	if x.peek() != c {
		x.fail("%q is missing", string(c))
	}
	x.pos++
}

// rawArg is the text up to the bracket that closes the call, which has been
// opened. <x*N> stands for N times x.
func (x *lexer) rawArg() []byte {
	from, depth := x.pos, 1
	for ; x.pos < len(x.text); x.pos++ {
		switch x.text[x.pos] {
		case '(':
			depth++
		case '\n':
			x.fail("a text that goes over the line's end; its bracket is not closed")
		case ')':
			if depth--; depth == 0 {
				text := x.text[from:x.pos]
				out := x.repeats(text)
				x.pos++
				return out
			}
		}
	}
	x.pos = from
	x.fail("a bracket that is not closed")
	return nil
}

// repeats expands <x*N>.
func (x *lexer) repeats(text string) []byte {
	var out []byte
	for {
		open := strings.IndexByte(text, '<')
		if open < 0 {
			break
		}
		shut := strings.IndexByte(text[open:], '>')
		star := -1
		if shut > 0 {
			star = strings.LastIndexByte(text[open:open+shut], '*')
		}
		if star < 1 {
			out = append(out, text[:open+1]...)
			text = text[open+1:]
			continue
		}
		unit, count := text[open+1:open+star], text[open+star+1:open+shut]
		n, err := strconv.Atoi(count)
		if err != nil || n < 0 || n > maxBytes {
			out = append(out, text[:open+1]...)
			text = text[open+1:]
			continue
		}
		out = append(out, text[:open]...)
		x.p.afford(x.line(), len(unit)*n)
		out = append(out, strings.Repeat(unit, n)...)
		text = text[open+shut+1:]
	}
	return append(out, text...)
}
