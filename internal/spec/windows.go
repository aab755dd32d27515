package spec

import (
	"regexp"
	"strconv"
	"strings"
)

// windowText is what a window of report.windows that is no rule's name looks
// like: seconds since the run's t = 0, plan rows, or a phase. What it means is
// analysis's, which reads the same texts from the tape.
const windowText = `^(?:seconds:([0-9]{1,8}(?:\.[0-9]+)?s?)?\.\.([0-9]{1,8}(?:\.[0-9]+)?s?)?|rows:([0-9]{1,15})?\.\.([0-9]{1,15})?|phase:(?:probe|prepare|warmup|measure|tail))$`

// windowHint names them beside the known choices.
const windowHint = "seconds:10..60, rows:100..299, phase:warmup"

var windowShape = regexp.MustCompile(windowText)

// OwnWindow reports whether a window's text says itself what it spans, such as
// "seconds:10..60", and does not end before it begins.
func OwnWindow(w string) bool {
	m := windowShape.FindStringSubmatch(w)
	if m == nil {
		return false
	}
	for i := 1; i < len(m); i += 2 {
		if m[i] != "" && m[i+1] != "" && bound(m[i+1]) < bound(m[i]) {
			return false
		}
	}
	return true
}

// bound is a number that windowText has matched.
func bound(s string) float64 {
	v, _ := strconv.ParseFloat(strings.TrimSuffix(s, "s"), 64)
	return v
}

// looksOwn reports whether a window was meant to say what it spans.
func looksOwn(w string) bool { return strings.Contains(w, ":") || strings.Contains(w, "..") }
