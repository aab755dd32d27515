package spec

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Issue is one thing wrong with a spec, or with Warning set one thing worth
// saying. Line and Col count from 1, Col in characters; 0 when the value came
// from a flag or was never given.
type Issue struct {
	File      string
	Line, Col int
	Origin    string // the flag that gave the value: "--requests"; "" for a file
	Field     string // "load.requests"
	Message   string
	Hint      string // what mends it
	Excerpt   string // the source line and a caret, secrets masked; "" without a position
	Warning   bool

	unset string // name of the variable whose absence this issue is about
}

// Error is the issue on one line, without the excerpt.
func (i Issue) Error() string {
	s := i.head()
	if i.Hint != "" {
		s += "; " + i.Hint
	}
	return s
}

// Format is the issue over several lines: what and where, the source line with a
// caret, the mend. It ends without a newline.
func (i Issue) Format() string {
	s := i.head()
	if i.Excerpt != "" {
		s += "\n" + i.Excerpt
	}
	if i.Hint != "" {
		s += "\n  hint: " + i.Hint
	}
	return s
}

func (i Issue) head() string {
	var b strings.Builder
	switch {
	case i.Origin != "":
		b.WriteString(i.Origin + ": ")
	case i.File != "" && i.Line > 0:
		fmt.Fprintf(&b, "%s:%d:%d: ", i.File, i.Line, i.Col)
	case i.File != "":
		b.WriteString(i.File + ": ")
	}
	if i.Field != "" && i.Field != strings.TrimPrefix(i.Origin, "--set ") {
		b.WriteString(i.Field + ": ")
	}
	b.WriteString(i.Message)
	return b.String()
}

// Failed reports whether any issue is more than a warning.
func Failed(issues []Issue) bool {
	for _, i := range issues {
		if !i.Warning {
			return true
		}
	}
	return false
}

// place is where a value came from.
type place struct {
	file      string
	line, col int
	width     int    // characters to underline
	text      string // the source line
	origin    string
	secret    bool // nothing after the caret may be shown
}

func (p place) issue(field, hint, format string, args ...any) Issue {
	return Issue{
		File: p.file, Line: p.line, Col: p.col, Origin: p.origin,
		Field: field, Message: fmt.Sprintf(format, args...), Hint: hint, Excerpt: p.excerpt(),
	}
}

// excerptMax bounds what is shown of a long line, in characters.
const excerptMax = 100

// excerpt is the source line and a caret line below it.
func (p place) excerpt() string {
	if p.line == 0 {
		return ""
	}
	runes := []rune(strings.ReplaceAll(p.text, "\t", " "))
	col := min(max(p.col-1, 0), len(runes))
	width := min(max(p.width, 1), max(len(runes)-col, 1))
	if p.secret {
		runes = append(runes[:min(col+width, len(runes)):min(col+width, len(runes))], []rune("…")...)
	} else {
		runes = []rune(maskLine(string(runes)))
		col = min(col, len(runes))
		width = min(width, max(len(runes)-col, 1))
	}
	if len(runes) > excerptMax {
		from := 0
		if col > excerptMax*3/4 {
			from = col - excerptMax/2
		}
		to := min(from+excerptMax, len(runes))
		cut := runes[from:to]
		if to < len(runes) {
			cut = append(cut[:len(cut):len(cut)], '…')
		}
		if from > 0 {
			cut = append([]rune{'…'}, cut...)
			col++
		}
		runes, col = cut, col-from
		width = min(width, max(len(runes)-col, 1))
	}
	num := strconv.Itoa(p.line)
	pad := runewidth.StringWidth(string(runes[:col]))
	carets := 1
	if end := min(col+width, len(runes)); end > col {
		carets = max(runewidth.StringWidth(string(runes[col:end])), 1)
	}
	return fmt.Sprintf("  %s | %s\n  %s | %s%s", num, string(runes),
		strings.Repeat(" ", len(num)), strings.Repeat(" ", pad), strings.Repeat("^", carets))
}

var (
	keyed       = regexp.MustCompile(`["']?[\w.-]+["']?[ ]*:[ ]+`)
	bareName    = regexp.MustCompile(`^["']?\$\{\w+\}["']?[ ]*(#.*)?$`)
	urlUserinfo = regexp.MustCompile(`((?:\w+://)?)[^\s"']+@`)
)

// maskLine hides what follows a credential-like key, to the end of the line, and
// userinfo and credential-like parameters of URLs. It rather hides too much.
func maskLine(line string) string {
	line = maskParams(paramInLine, urlUserinfo.ReplaceAllString(line, "${1}***@"))
	for _, at := range keyed.FindAllStringIndex(line, -1) {
		key := strings.Trim(line[at[0]:at[1]], `"': `)
		if looksSecret(key) && !bareName.MatchString(line[at[1]:]) {
			return line[:at[1]] + mask
		}
	}
	return line
}

// mask stands for a secret wherever a spec is shown.
const mask = "***"

// secretWords mark header names (and misspelt keys) that carry credentials.
var secretWords = []string{"auth", "key", "token", "secret", "cookie", "password", "passwd", "credential", "signature"}

// notSecret takes out of a name what contains such a word and is none.
var notSecret = strings.NewReplacer("tokenizer", "", "first_token", "", "tokens", "")

func looksSecret(name string) bool {
	name = notSecret.Replace(strings.ToLower(name))
	for _, w := range secretWords {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}
