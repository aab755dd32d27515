package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tokentape/internal/analysis/catalog"
)

// maxConditions bounds expect.
const maxConditions = 1000

// expect checks the conditions: each can be read, and stands once.
func (c *checker) expect() {
	if n := len(c.s.Expect); n > maxConditions {
		c.bad("expect", fmt.Sprintf("at most %d", maxConditions), "%d conditions are too many", n)
		return
	}
	for i, text := range c.s.Expect {
		path := fmt.Sprintf("expect[%d]", i)
		cond, err := catalog.Parse(text)
		var syntax *catalog.SyntaxError
		switch {
		case errors.As(err, &syntax):
			c.issues = append(c.issues, conditionIssue(c.s.where(path), path, text, syntax))
		case cond.Window != "" && !slices.Contains(catalog.WindowKinds, cond.Window) && !OwnWindow(cond.Window):
			c.bad(path, windowHint, "there can be no window %s", clip(cond.Window))
		case slices.Contains(c.s.Expect[:i], text):
			c.bad(path, "keep one", "%s is given twice", clip(text))
		}
	}
}

// conditionIssue points at the word of a condition that is wrong, where the line
// that it stands in is known.
func conditionIssue(at place, path, text string, e *catalog.SyntaxError) Issue {
	hint := e.Hint
	if e.Known != nil {
		hint = conditionHint(e)
	}
	runes := []rune(at.text)
	if at.col >= 1 && at.col <= len(runes) {
		if skip := strings.Index(string(runes[at.col-1:]), text); text != "" && skip >= 0 && skip <= 1 { // a quote
			at.col, at.width = at.col+skip+e.At, e.Width
		}
	}
	return at.issue(path, hint, "%s", e.Message)
}

// conditionHint suggests what a word of a condition most likely meant, and lists
// what it could be where that is a list to look through.
func conditionHint(e *catalog.SyntaxError) string {
	best := Nearest(e.Known, e.Word)
	if first, rest, ok := strings.Cut(e.Word, "."); ok && best == "" {
		if near := Nearest(e.Known, first); near != "" && !strings.Contains(near, ".") { // stedy.ttft_ms.p95
			best = near + "." + rest
		}
	}
	var parts []string
	if best != "" {
		parts = append(parts, fmt.Sprintf("did you mean %s?", best))
	}
	if len(e.Known) <= 12 || best == "" {
		known := e.Known
		if len(known) > 12 {
			known = append(slices.Clone(known[:12]), "… (tokentape explain lists them)")
		}
		parts = append(parts, "one of: "+strings.Join(known, ", "))
	}
	if e.Hint != "" && best == "" {
		return strings.Join(parts, " ") + "; " + e.Hint
	}
	return strings.TrimSpace(strings.Join(parts, " ") + " " + e.Hint)
}

// CheckCondition is what is wrong with one condition that a flag gives; nil when
// it can be read.
func CheckCondition(text, flag string) *Issue {
	_, err := catalog.Parse(text)
	var syntax *catalog.SyntaxError
	if !errors.As(err, &syntax) {
		return nil
	}
	at := place{line: 1, col: syntax.At + 1, width: syntax.Width, text: text, origin: flag}
	i := at.issue("", "", "%s", syntax.Message)
	if i.Hint = syntax.Hint; syntax.Known != nil {
		i.Hint = conditionHint(syntax)
	}
	return &i
}
