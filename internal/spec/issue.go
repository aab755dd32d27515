package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mattn/go-runewidth"

	"tokentape/internal/secret"
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
	secret    bool     // nothing after the caret may be shown
	value     bool     // nor what the caret is at
	lines     []string // of the file
}

func (p place) issue(field, hint, format string, args ...any) Issue {
	p.value = p.value || secretPath(field)
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
	if p.value || p.secret || p.below() {
		end := col
		if key := keyAhead.FindString(string(runes[col:])); key != "" && !p.secret {
			end += len([]rune(key))
		} else if p.secret {
			end = min(col+width, len(runes))
		}
		runes = append(runes[:end:end], []rune("…")...)
		width = max(min(width, end-col), 1)
		if safe := maskLine(string(runes[:end])); safe != string(runes[:end]) {
			runes = []rune(safe)
		}
	} else {
		runes = []rune(maskLine(string(runes)))
	}
	col = min(col, len(runes))
	width = min(width, max(len(runes)-col, 1))
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
	keyAhead    = regexp.MustCompile(`^["']?[\w.-]+["']?[ ]*:([ ]+|$)`)
	bareName    = regexp.MustCompile(`^["']?\$\{\w+\}["']?[ ]*(#.*)?$`)
	urlUserinfo = regexp.MustCompile(`((?:\w+://)?)[^\s"']+@`)
)

// maskLine hides what follows a credential-like key, to the end of the line, and
// userinfo and credential-like parameters of URLs. It rather hides too much.
func maskLine(line string) string {
	line = maskParams(paramInLine, urlUserinfo.ReplaceAllString(line, "${1}***@"))
	for _, at := range keyed.FindAllStringIndex(line, -1) {
		key := strings.Trim(line[at[0]:at[1]], `"': `)
		if (looksSecret(key) || isHeader(key)) && !bareName.MatchString(line[at[1]:]) {
			return line[:at[1]] + mask
		}
	}
	return line
}

// mask stands for a secret wherever a spec is shown.
const mask = secret.Mask

// isHeader reports whether a key is, by its looks, that of a header which may hold a
// credential.
func isHeader(key string) bool {
	return len(key) > 2 && strings.EqualFold(key[:2], "x-") && secret.Header(key)
}

// mostAbove bounds how far up the key is sought that a line belongs to.
const mostAbove = 200

// below reports whether the line belongs to a key further up, by its indentation, that
// holds a credential, or is that of a header.
func (p place) below() bool {
	indent := indentOf(p.text)
	for i := p.line - 2; i >= 0 && i < len(p.lines) && i > p.line-2-mostAbove && indent > 0; i-- {
		line := p.lines[i]
		if strings.TrimSpace(line) == "" || indentOf(line) >= indent {
			continue
		}
		indent = indentOf(line)
		key, _, _ := strings.Cut(strings.TrimLeft(line, " -\t"), ":")
		if key = strings.Trim(key, `"' `); looksSecret(key) {
			return true
		} else if key == "headers" {
			own, _, ok := strings.Cut(strings.TrimSpace(p.text), ":")
			return !ok || secret.Header(strings.Trim(own, `"' `))
		}
	}
	return false
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// looksSecret reports whether a key, as it is given or misspelt, holds a credential.
// Those of the spec itself do not, but for one.
func looksSecret(name string) bool {
	return secret.Name(name) && (name == "api_key" || !ownKeys()[name])
}

// ownKeys are the last parts of all paths.
var ownKeys = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, p := range allPaths() {
		_, last := split(p)
		out[last] = true
	}
	return out
})

// freeform are the sections whose keys the user makes up.
var freeform = []string{"target.headers.", "target.custom.body.", "workload.sampling.", "workload.body.", "workload.dataset.filter.", "workload.dataset.columns.", "notes."}

// sourcePath is a path below one of telemetry.metrics.
var sourcePath = regexp.MustCompile(`^telemetry\.metrics\[[0-9]+\]\.`)

// secretPath reports whether the value at a path must not be shown.
func secretPath(path string) bool {
	if at := sourcePath.FindString(path); at != "" {
		path = "target." + path[len(at):] // its key and headers are like those of the target
	}
	if path == "target.api_key" || path == "target.headers" {
		return true
	}
	for i, section := range freeform {
		keys, ok := strings.CutPrefix(path, section)
		switch {
		case !ok:
		case i == 0:
			return secret.Header(keys)
		default:
			return slices.ContainsFunc(strings.FieldsFunc(keys, func(r rune) bool { return r == '.' || r == '[' }), secret.Name)
		}
	}
	return false
}
