package catalog

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Condition is one line of `expect:`, such as
//
//	steady.ttft_ms.p95 < 2000      a summary value
//	counts.failed == 0             a value of the run
//	tokens.cached == 92160         of every request
//	tokens.output == asked.output  of every request, against another value of it
type Condition struct {
	Text string // as it was written, spaces around it cut off

	// Name is the value's, without Window and Stat.
	Name string
	Kind Kind
	// Window is the kind of window, "" for what is of the run or of every request.
	Window string
	Stat   string // of a metric's summary; "value" of a check's value

	Op string // one of Ops

	// One of these is what is compared with.
	Number *float64
	Bool   *bool
	Word   string
	Other  string // another value of the same request
}

// PerRequest reports whether the condition is of every request.
func (c Condition) PerRequest() bool {
	return c.Kind == KindRequest || c.Kind == KindMetric && c.Window == ""
}

// Ops are the comparisons, longest first.
var Ops = []string{"<=", ">=", "==", "!=", "<", ">"}

// SyntaxError says what of a condition cannot be understood, and where.
type SyntaxError struct {
	At, Width int // in characters of the text that was parsed
	Message   string
	Hint      string
	// Word is the word that is not known and Known what could stand there; Known is
	// nil where that is not what is wrong.
	Word  string
	Known []string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("character %d: %s", e.At+1, e.Message)
}

// MaxCondition bounds the length of a condition in bytes.
const MaxCondition = 500

// Parse reads a condition. An error is a *SyntaxError.
func Parse(text string) (Condition, error) {
	p := parser{text: text}
	if len(text) > MaxCondition {
		return Condition{}, p.bad(0, utf8.RuneCountInString(text), "at most 500 characters", "a condition of %d bytes is too long", len(text))
	}
	p.space()
	c := Condition{Text: strings.TrimSpace(text)}
	if err := p.name(&c); err != nil {
		return Condition{}, err
	}
	if err := p.op(&c); err != nil {
		return Condition{}, err
	}
	if err := p.value(&c); err != nil {
		return Condition{}, err
	}
	return c, nil
}

// parser walks the bytes of a condition.
type parser struct {
	text string
	i    int
}

// bad is an error at bytes [at, at+width) of the text.
func (p *parser) bad(at, width int, hint, format string, args ...any) *SyntaxError {
	at = min(at, len(p.text))
	end := min(at+width, len(p.text))
	return &SyntaxError{At: utf8.RuneCountInString(p.text[:at]), Width: max(1, utf8.RuneCountInString(p.text[at:end])), Message: fmt.Sprintf(format, args...), Hint: hint}
}

func (p *parser) unknown(at int, word string, known []string, what string) *SyntaxError {
	e := p.bad(at, len(word), "", "%q is no %s", word, what)
	e.Word, e.Known = word, known
	return e
}

func (p *parser) space() {
	for p.i < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.i]) >= 0 {
		p.i++
	}
}

// word reads up to a space or a comparison.
func (p *parser) word() (at int, w string) {
	at = p.i
	for p.i < len(p.text) && strings.IndexByte(" \t\r\n<>=!", p.text[p.i]) < 0 {
		p.i++
	}
	return at, p.text[at:p.i]
}

// ownWindow is a window that the user sets, and what of it: its name has dots too.
var ownWindow = regexp.MustCompile(`^((?:seconds|rows):[0-9.]*s?\.\.[0-9.]*s?|phase:[a-z]+)\.([a-z].*)$`)

const example = "such as steady.ttft_ms.p95 < 2000, counts.failed == 0 or tokens.cached == 92160"

// name reads what is compared.
func (p *parser) name(c *Condition) error {
	at, w := p.word()
	if w == "" {
		return p.bad(at, 1, example, "a name is needed first")
	}
	first, rest, dotted := strings.Cut(w, ".")
	if m := ownWindow.FindStringSubmatch(w); m != nil {
		c.Window = m[1]
		return p.ofWindow(c, at+len(m[1])+1, m[2])
	}
	if slices.Contains(WindowKinds, first) {
		if rest == "" {
			return p.bad(at, len(w), fmt.Sprintf("such as %s.ttft_ms.p95 or %s.output_tokens_per_s", first, first), "%s is a window, not a value", first)
		}
		c.Window = first
		return p.ofWindow(c, at+len(first)+1, rest)
	}
	switch first {
	case "counts", "load", "verdict":
		e, ok := Find(w, KindCount, KindLoad, KindVerdict)
		switch {
		case !ok && strings.HasPrefix(w, "counts.by_status."):
			return p.bad(at, len(w), "a status is three digits, such as counts.by_status.429; counts.by_class.http_status counts them all", "%q is no value of counts", w)
		case !ok:
			return p.unknown(at, w, spelled(under(first, KindCount, KindLoad, KindVerdict)), "value of "+first)
		case pattern(w):
			return p.bad(at, len(w), "name one of them, such as "+spelled([]string{w})[0]+"; counts.failed counts every class", "%s stands for several counts", w)
		}
		c.Name, c.Kind = w, e.Kind
		return nil
	case "checks":
		name, isValue := strings.CutSuffix(w, ".value")
		e, ok := Find(name, KindCheck)
		if !ok {
			return p.unknown(at, name, Names(KindCheck), "check")
		}
		c.Name, c.Kind = e.Name, e.Kind
		if isValue {
			c.Stat = "value"
		}
		return nil
	}
	e, ok := Find(w, KindRequest, KindMetric)
	if !ok {
		if dotted {
			if e, ok := Find(first, KindMetric); ok && HasStat(rest) {
				return p.bad(at, len(w), fmt.Sprintf("such as steady.%s.%s", e.Name, rest), "%s of which window?", w)
			}
		}
		if _, ok := Find(w, KindSystem, KindFact); ok {
			return p.bad(at, len(w), "such as steady."+w, "%s of which window?", w)
		}
		return p.unknown(at, w, slices.Concat(WindowKinds, Names(KindRequest, KindMetric, KindCount, KindLoad, KindVerdict, KindCheck)), "window, section or value of a request")
	}
	if e.Pooled {
		return p.bad(at, len(w), "itl_max_ms and itl_mean_ms are those of a request", "%s has many values in every request", w)
	}
	c.Name, c.Kind = e.Name, e.Kind
	return nil
}

// ofWindow reads what comes after "steady.".
func (p *parser) ofWindow(c *Condition, at int, rest string) error {
	if i := strings.LastIndexByte(rest, '.'); i >= 0 && !windowed(rest) {
		name, stat := rest[:i], rest[i+1:]
		if _, ok := Find(name, KindMetric); !ok {
			if _, ok := Find(name, KindSystem, KindFact); ok {
				return p.bad(at+i, len(rest)-i, "leave it out", "%s is one value, without statistics", name)
			}
			return p.unknown(at, name, Names(KindMetric), "metric")
		}
		if !HasStat(stat) {
			return p.unknown(at+i+1, stat, Stats, "statistic")
		}
		c.Name, c.Stat, c.Kind = name, stat, KindMetric
		return nil
	}
	if e, ok := Find(rest, KindSystem, KindFact); ok {
		if pattern(rest) {
			return p.bad(at, len(rest), "write the number of devices for {n}, as in "+strings.Replace(rest, "{n}", "16", 1), "%s stands for several rows", rest)
		}
		c.Name, c.Kind = rest, e.Kind
		return nil
	}
	if _, ok := Find(rest, KindMetric); ok {
		return p.bad(at, len(rest), fmt.Sprintf("such as %s.%s.p95; without the window it is that of every request", c.Window, rest), "which statistic of %s?", rest)
	}
	return p.unknown(at, rest, Names(KindMetric, KindSystem, KindFact), "value of a window")
}

// windowed reports whether name is one value of a window; such a name can have
// dots.
func windowed(name string) bool {
	_, ok := Find(name, KindSystem, KindFact)
	return ok
}

// under are the names that begin with a section.
func under(section string, kinds ...Kind) []string {
	return slices.DeleteFunc(Names(kinds...), func(n string) bool { return !strings.HasPrefix(n, section+".") })
}

func (p *parser) op(c *Condition) error {
	p.space()
	for _, op := range Ops {
		if strings.HasPrefix(p.text[p.i:], op) {
			c.Op = op
			p.i += len(op)
			return nil
		}
	}
	hint := "one of " + strings.Join(Ops, " ")
	switch rest := p.text[p.i:]; {
	case strings.HasPrefix(rest, "=>"):
		hint = "write >="
	case strings.HasPrefix(rest, "=<"):
		hint = "write <="
	case strings.HasPrefix(rest, "="):
		hint = "write == to compare"
	}
	if p.i == len(p.text) {
		return p.bad(p.i, 1, hint+", and a value", "%s is compared with nothing", c.Text)
	}
	return p.bad(p.i, 1, hint, "a comparison is needed here")
}

// value reads what it is compared with, and checks that the two can be.
func (p *parser) value(c *Condition) error {
	p.space()
	at, quoted := p.i, false
	w := strings.TrimRight(p.text[at:], " \t\r\n")
	if n := len(w); n >= 2 && (w[0] == '"' || w[0] == '\'') && w[n-1] == w[0] {
		w, quoted = w[1:n-1], true
	}
	p.i = len(p.text)
	if w == "" {
		return p.bad(at, 2, "a number, a word, or true", "%s is compared with nothing", strings.Join([]string{c.Name, c.Op}, " "))
	}
	e, _ := Find(c.Name, c.Kind)
	equal := c.Op == "==" || c.Op == "!="
	switch word := e.Word && c.Stat == ""; {
	case e.Bool:
		v, err := strconv.ParseBool(w)
		if err != nil || len(w) < 4 || quoted {
			return p.bad(at, len(w), "true or false", "%s is true or false, never %q", c.Name, w)
		}
		c.Bool = &v
	case word && e.Kind == KindCheck && !slices.Contains(checkResults, w):
		return p.unknown(at, w, checkResults, "result of a check")
	case word && (quoted || oneWord(w)) && e.Words != nil && !slices.Contains(e.Words, w) && !(quoted && e.Name == "finish"):
		err := p.unknown(at, w, e.Words, "value of "+e.Name)
		if e.Name == "finish" {
			err.Hint = fmt.Sprintf("a reason of the server's own stands in quotes: %s %s %q", c.Name, c.Op, w)
		}
		return err
	case word && (quoted || oneWord(w)):
		c.Word = w
	case word:
		return p.bad(at, len(w), "one word, or in quotes", "%q is not a word", w)
	default:
		return p.number(c, at, w)
	}
	if !equal {
		return p.bad(at, len(w), "use == or !=", "%s has no order", c.Name)
	}
	return nil
}

var checkResults = []string{"pass", "miss", "not_observed"}

func oneWord(w string) bool { return !strings.ContainsAny(w, " \t\r\n<>=!'\"") }

// number reads a number, or, where the condition is of every request, the name of
// another value of it.
func (p *parser) number(c *Condition, at int, w string) error {
	if v, ok := number(w); ok {
		if c.Name == "http_status" && (c.Op == "==" || c.Op == "!=") && !(v >= 100 && v <= 999 && v == math.Trunc(v)) {
			return p.bad(at, len(w), "three digits, such as 429", "%s is no status", w)
		}
		c.Number = &v
		return nil
	}
	if c.PerRequest() {
		if e, ok := Find(w, KindRequest, KindMetric); ok {
			if e.Pooled {
				return p.bad(at, len(w), "itl_max_ms and itl_mean_ms are those of a request", "%s has many values in every request", w)
			}
			if e.Word {
				return p.bad(at, len(w), "compare it with a number", "%s is a word and %s a number", w, c.Name)
			}
			c.Other = e.Name
			return nil
		}
		if w[0] < '0' || w[0] > '9' {
			return p.unknown(at, w, Names(KindRequest, KindMetric), "number and no value of a request")
		}
	}
	digits := len(w) - len(strings.TrimLeft(w, "0123456789.,_"))
	hint := "such as 2000 or 0.5"
	if e, _ := Find(c.Name, c.Kind); digits > 0 && e.Unit != "" && c.Stat != "n" && c.Stat != "n_eff" {
		hint = fmt.Sprintf("write the number alone, in %s", e.Unit)
	}
	return p.bad(at, len(w), hint, "%q is not a number", w)
}

// number reads a decimal number, without Go's extras.
func number(w string) (float64, bool) {
	if strings.Trim(w, "0123456789.eE+-") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(w, 64)
	return v, err == nil
}
