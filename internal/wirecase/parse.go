package wirecase

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// maxFile bounds the text of one file.
const maxFile = 4 << 20

// Load reads and parses the file at path.
func Load(path string) (*File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, b)
}

// Parse reads text in the form of docs/timelines.md; path is for messages. Its
// error is an *Error with the line of the first fault.
func Parse(path string, text []byte) (f *File, err error) {
	p := &parser{file: &File{Path: path}, lets: map[string][]element{}, left: maxBytes}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*Error)
			if !ok {
				panic(r)
			}
			f, err = nil, e
		}
	}()
	switch {
	case len(text) > maxFile:
		p.fail(1, "the file has more than %d bytes; write long payloads with <x*N> or repeat(N, …)", maxFile)
	case !utf8.Valid(text):
		p.fail(1+bytes.Count(text[:invalid(text)], []byte("\n")), `bytes that are not UTF-8: write them as "\xEF"`)
	}
	p.blocks(string(text))
	p.end()
	return p.file, nil
}

func invalid(text []byte) int {
	for i := 0; ; {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
}

// block is a line at the margin with the indented lines below it.
type block struct {
	line int
	word string
	arg  string
	body source
}

type parser struct {
	file *File
	lets map[string][]element
	left int // bytes that may still be made
	base Variant
	now  *Variant // nil: before the first variant
}

func (p *parser) fail(line int, format string, args ...any) {
	panic(&Error{p.file.Path, line, fmt.Sprintf(format, args...)})
}

func (p *parser) afford(line, n int) {
	if n < 0 || n > p.left {
		p.fail(line, "the payloads of this file come to more than %d bytes", maxBytes)
	}
	p.left -= n
}

func (p *parser) spend(line int, b []byte) []byte {
	p.afford(line, len(b))
	return b
}

// blocks cuts the text and reads each block.
func (p *parser) blocks(text string) {
	var b *block
	close := func() {
		if b != nil {
			p.block(b)
		}
		b = nil
	}
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		line = strings.TrimRight(line, " \t\r")
		trimmed := strings.TrimLeft(line, " \t")
		switch {
		case trimmed == "" || trimmed[0] == '#':
		case trimmed != line:
			if b == nil {
				p.fail(n, "an indented line before the first block")
			}
			b.body.add(n, trimmed)
		default:
			close()
			word, arg, _ := strings.Cut(line, " ")
			b = &block{line: n, word: word, arg: strings.TrimSpace(arg)}
		}
	}
	close()
}

var idForm = regexp.MustCompile(`^[A-Z][0-9]{2}$`)
var letForm = regexp.MustCompile(`^([A-Z][A-Z0-9_]*)\s*=\s*(.*)$`)
var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]*$`)

func (p *parser) block(b *block) {
	plain := func() string {
		text := strings.TrimSpace(b.arg + " " + strings.ReplaceAll(b.body.text(), "\n", " "))
		if text == "" {
			p.fail(b.line, "%s: its text is missing", b.word)
		}
		return text
	}
	once := func(dst *string) {
		if *dst != "" {
			p.fail(b.line, "a second %s", b.word)
		}
		*dst = plain()
	}
	switch b.word {
	case "case":
		once(&p.file.ID)
		if !idForm.MatchString(p.file.ID) {
			p.fail(b.line, "case %s: an id is a letter and two digits, such as A04", p.file.ID)
		}
	case "title":
		once(&p.file.Title)
	case "source":
		once(&p.file.Source)
	case "policy":
		p.file.Policy = append(p.file.Policy, plain())
	case "slow":
		once(&p.current().Slow)
	case "let":
		p.let(b)
	case "variant":
		p.variant(b)
	case "request":
		p.current().Requests = append(p.current().Requests, p.request(b))
	case "answer":
		p.current().Answers = append(p.current().Answers, p.answer(b))
	case "expect":
		p.current().Expects = append(p.current().Expects, p.expect(b))
	default:
		p.fail(b.line, "no block %q; blocks are case, title, source, policy, slow, let, request, answer, expect, variant", b.word)
	}
}

func (p *parser) let(b *block) {
	m := letForm.FindStringSubmatch(b.arg)
	if m == nil {
		p.fail(b.line, "let wants NAME = WORDS, the name in capitals")
	}
	name := m[1]
	if _, taken := p.lets[name]; taken || texts[name] != "" || calls[name] != "" || ends[name] != EndNone || name == "ROLE" || name == "DONE" {
		p.fail(b.line, "let %s: the name is taken", name)
	}
	var src source
	src.add(b.line, m[2])
	for line, text := range b.body.each() {
		src.add(line, text)
	}
	els := p.lexer(src).elements()
	if len(els) == 0 {
		p.fail(b.line, "let %s: its words are missing", name)
	}
	p.lets[name] = els
}

func (p *parser) current() *Variant {
	if p.now != nil {
		return p.now
	}
	return &p.base
}

func (p *parser) variant(b *block) {
	name, title, _ := strings.Cut(b.arg, " ")
	if !nameForm.MatchString(name) {
		p.fail(b.line, "variant wants a NAME in small letters and digits, then a title")
	}
	if len(b.body.lines) > 0 {
		p.fail(b.body.lines[0], "a variant's blocks stand at the margin, too")
	}
	for _, v := range p.file.Variants {
		if v.Name == name {
			p.fail(b.line, "a second variant %s", name)
		}
	}
	p.now = &Variant{Name: name, Title: strings.TrimSpace(title), Line: b.line}
	p.file.Variants = append(p.file.Variants, p.now)
}

// times reads the xN behind request, answer or expect.
func (p *parser) times(b *block) int {
	if b.arg == "" {
		return 1
	}
	n, err := strconv.Atoi(strings.TrimPrefix(b.arg, "x"))
	if err != nil || b.arg[0] != 'x' || n < 1 || n > maxRepeat {
		p.fail(b.line, "%s %s: only xN may stand here, how many in a row", b.word, b.arg)
	}
	return n
}

// each calls f for every line of a body with its first word and the rest.
func (p *parser) each(b *block, f func(line int, word, arg string)) {
	for line, text := range b.body.each() {
		word, arg, _ := strings.Cut(text, " ")
		f(line, word, strings.TrimSpace(arg))
	}
}

func (p *parser) request(b *block) *Request {
	r := &Request{Line: b.line, Times: p.times(b)}
	p.each(b, func(line int, word, arg string) {
		number := func() int64 {
			n, err := strconv.ParseInt(arg, 10, 64)
			if err != nil || n < 1 {
				p.fail(line, "%s %s: must be a whole number above 0", word, arg)
			}
			return n
		}
		switch word {
		case "dialect":
			r.Dialect = arg
		case "stream":
			if arg != "true" && arg != "false" {
				p.fail(line, "stream is true or false")
			}
			r.NoStream = arg == "false"
		case "n":
			r.N = number()
		case "output":
			r.Output = number()
		case "max_event":
			r.MaxEvent = int(min(number(), maxFile<<10))
		case "prompt":
			r.Prompt = p.text(line, arg)
		case "header":
			if name, _, ok := strings.Cut(arg, ":"); !ok || name == "" {
				p.fail(line, "header wants Name: value")
			}
			r.Headers = append(r.Headers, arg)
		case "secret":
			r.Secrets = append(r.Secrets, p.text(line, arg))
		case "set":
			var object map[string]any
			if err := json.Unmarshal([]byte(arg), &object); err != nil || object == nil {
				p.fail(line, "set wants a JSON object for the request's body")
			}
			r.Set = append(r.Set, arg)
		case "limit":
			name, ms, _ := strings.Cut(arg, " ")
			d, err := parseMS(ms)
			if err != nil || d == 0 || !slices.Contains([]string{"first_token", "idle", "total"}, name) {
				p.fail(line, "limit wants first_token, idle or total, and milliseconds")
			}
			if r.Limits == nil {
				r.Limits = map[string]time.Duration{}
			}
			r.Limits[name] = d
		case "after", "cancel":
			d, err := parseMS(arg)
			if err != nil || d == 0 {
				p.fail(line, "%s wants milliseconds", word)
			}
			if r.After = d; word == "cancel" {
				r.After, r.CancelAt = 0, d
			}
		default:
			p.fail(line, "no setting %q of a request; settings are dialect, stream, n, output, prompt, max_event, header, secret, set, limit, after, cancel", word)
		}
	})
	return r
}

// text is an argument as it stands, or what a quoted one says.
func (p *parser) text(line int, arg string) string {
	if arg == "" || arg[0] != '"' && arg[0] != '`' {
		return arg
	}
	s, err := strconv.Unquote(arg)
	if err != nil {
		p.fail(line, "%s: a quote that does not end at the line's end, or a bad escape", arg)
	}
	return s
}

func (p *parser) expect(b *block) *Expect {
	e := &Expect{Line: b.line, Times: p.times(b), Want: map[string]string{}, At: map[string]int{}}
	p.each(b, func(line int, word, arg string) {
		list := map[string]*[]string{"has": &e.Has, "lacks": &e.Lacks, "seen": &e.Seen, "unseen": &e.Unseen}[word]
		if list != nil {
			if arg == "" {
				p.fail(line, "%s what?", word)
			}
			*list = append(*list, p.text(line, arg))
			return
		}
		if _, ok := Keys[word]; !ok {
			p.fail(line, "no key %q of an expectation; keys are has, lacks, seen, unseen, %s", word, strings.Join(slices.Sorted(maps.Keys(Keys)), ", "))
		}
		if _, twice := e.Want[word]; twice {
			p.fail(line, "a second %s", word)
		}
		e.Want[word], e.At[word] = p.text(line, arg), line
	})
	return e
}

// end checks the whole and hands what stands before the first variant to all.
func (p *parser) end() {
	if len(p.file.Variants) == 0 {
		p.base.Line = 1
		p.file.Variants = []*Variant{&p.base}
	}
	for _, v := range p.file.Variants {
		if v != &p.base {
			p.inherit(v)
		}
		if len(v.Answers) == 0 {
			p.fail(v.Line, "no answer block")
		}
	}
}

func (p *parser) inherit(v *Variant) {
	if v.Slow == "" {
		v.Slow = p.base.Slow
	}
	if len(v.Requests) == 0 {
		v.Requests = p.base.Requests
	}
	if len(v.Answers) == 0 {
		v.Answers = p.base.Answers
	}
	for i, e := range p.base.Expects {
		if i >= len(v.Expects) {
			v.Expects = append(v.Expects, e)
			continue
		}
		own := v.Expects[i]
		own.Has, own.Lacks = append(slices.Clip(e.Has), own.Has...), append(slices.Clip(e.Lacks), own.Lacks...)
		own.Seen, own.Unseen = append(slices.Clip(e.Seen), own.Seen...), append(slices.Clip(e.Unseen), own.Unseen...)
		for key, value := range e.Want {
			if _, ok := own.Want[key]; !ok {
				own.Want[key], own.At[key] = value, e.At[key]
			}
		}
	}
}

// statusLine completes "429" by the usual words.
func statusLine(proto, status string) string {
	if code, err := strconv.Atoi(status); err == nil {
		if text := http.StatusText(code); text != "" {
			status += " " + text
		}
	}
	return proto + " " + status
}
