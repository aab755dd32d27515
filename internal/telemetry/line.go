package telemetry

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// sample is a line of a page, cut up and not yet understood. It points into the line.
type sample struct {
	name  []byte // as it is read; nil: it stands in quotes within the braces
	key   []byte // name and labels as they stand
	value []byte
}

// What is wrong with a line.
var (
	errName     = errors.New("no metric name at its begin")
	errLabels   = errors.New("labels that cannot be read")
	errTwice    = errors.New("a label given twice")
	errReserved = errors.New("the label __name__ is reserved")
	errText     = errors.New("not UTF-8")
	errValue    = errors.New("no number where the value stands")
	errAfter    = errors.New("something other than a timestamp or an exemplar after the value")
)

func isNameStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == ':'
}

func isName(c byte) bool { return isNameStart(c) || '0' <= c && c <= '9' }

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func skipBlanks(b []byte) []byte {
	for len(b) > 0 && isBlank(b[0]) {
		b = b[1:]
	}
	return b
}

// nameOf is the name that a line begins with, nil where it begins with braces.
func nameOf(line []byte) ([]byte, error) {
	if line[0] == '{' {
		return nil, nil
	}
	if !isNameStart(line[0]) {
		return nil, errName
	}
	n := 1
	for n < len(line) && isName(line[n]) {
		n++
	}
	return line[:n], nil
}

// cut finds name, labels and value of a line that begins with no blank, and refuses
// what stands after the value and is neither a timestamp nor an exemplar.
func cut(line []byte) (s sample, err error) {
	if s.name, err = nameOf(line); err != nil {
		return s, err
	}
	end := len(s.name)
	rest := skipBlanks(line[end:])
	if len(rest) > 0 && rest[0] == '{' {
		n := braces(rest)
		if n < 0 {
			return s, errLabels
		}
		end = len(line) - len(rest) + n
	} else if len(rest) == len(line)-end {
		return s, errName // no blank between name and value
	}
	s.key = line[:end]
	rest = skipBlanks(line[end:])
	n := 0
	for n < len(rest) && !isBlank(rest[n]) {
		n++
	}
	if s.value = rest[:n]; n == 0 {
		return s, errValue
	}
	return s, after(skipBlanks(rest[n:]))
}

// after checks what follows the value: a timestamp, in ms or as a fraction in seconds,
// and an exemplar, both as OpenMetrics has them. Neither is kept.
func after(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if b[0] != '#' {
		n := 0
		for n < len(b) && !isBlank(b[n]) {
			n++
		}
		if _, err := float(b[:n]); err != nil {
			return errAfter
		}
		b = skipBlanks(b[n:])
	}
	if len(b) > 0 && b[0] != '#' {
		return errAfter
	}
	return nil
}

// braces is the length of the labels that b begins with, braces included, or −1.
func braces(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '}':
			return i + 1
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		}
	}
	return -1
}

// float reads a value as the formats write it.
func float(b []byte) (float64, error) {
	if bytes.ContainsAny(b, "pPxX_") { // Go's own
		return 0, errValue
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return 0, errValue
	}
	return v, nil
}

type label struct{ name, value string }

// split reads name and labels of a key.
func split(key []byte) (name string, labels []label, err error) {
	rest := key
	if key[0] != '{' {
		n := bytes.IndexByte(key, '{')
		if n < 0 {
			return string(key), nil, nil
		}
		name, rest = string(bytes.TrimRight(key[:n], " \t")), key[n:]
	}
	rest = rest[1:] // the brace
	for {
		if rest = skipBlanks(rest); len(rest) > 0 && rest[0] == '}' {
			break
		}
		var text string
		quoted := len(rest) > 0 && rest[0] == '"'
		if quoted {
			if text, rest, err = unquote(rest); err != nil {
				return "", nil, err
			}
		} else {
			n := 0
			for n < len(rest) && isName(rest[n]) && rest[n] != ':' {
				n++
			}
			text, rest = string(rest[:n]), rest[n:]
		}
		rest = skipBlanks(rest)
		switch {
		case text == "" || !quoted && '0' <= text[0] && text[0] <= '9' || len(rest) == 0:
			return "", nil, errLabels
		case rest[0] == '=':
			if text == "__name__" {
				return "", nil, errReserved
			}
			var value string
			if value, rest, err = unquote(skipBlanks(rest[1:])); err != nil {
				return "", nil, err
			}
			labels = append(labels, label{text, value})
		case name == "":
			name = text
		default:
			return "", nil, errLabels
		}
		if rest = skipBlanks(rest); len(rest) == 0 || rest[0] != ',' && rest[0] != '}' {
			return "", nil, errLabels
		}
		if rest[0] == ',' {
			rest = rest[1:]
		}
	}
	if name == "" {
		return "", nil, errName
	}
	slices.SortFunc(labels, func(a, b label) int { return strings.Compare(a.name, b.name) })
	for i := 1; i < len(labels); i++ {
		if labels[i].name == labels[i-1].name {
			return "", nil, errTwice
		}
	}
	return name, labels, nil
}

// unquote reads the text in double quotes that b begins with. A backslash before
// anything else than n, " and itself stands for itself.
func unquote(b []byte) (text string, rest []byte, err error) {
	if len(b) == 0 || b[0] != '"' {
		return "", nil, errLabels
	}
	end, plain := 1, true
	for ; end < len(b) && b[end] != '"'; end++ {
		if b[end] == '\\' {
			plain = false
			end++
		}
	}
	if end >= len(b) {
		return "", nil, errLabels
	}
	raw := b[1:end]
	if !utf8.Valid(raw) {
		return "", nil, errText
	}
	if plain {
		return string(raw), b[end+1:], nil
	}
	return unescape.Replace(string(raw)), b[end+1:], nil
}

var (
	unescape = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\"`, `"`)
	escape   = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// canonical is a series as the tape names it: name{a="b",c="d"}, labels sorted by
// name, an edge of a histogram or summary as Prometheus writes it.
func canonical(name string, labels []label, typ string) string {
	if len(labels) == 0 {
		return name
	}
	b := append(make([]byte, 0, len(name)+32*len(labels)), name...)
	sep := byte('{')
	for _, l := range labels {
		value := l.value
		if l.name == "le" && (typ == "histogram" || typ == "gaugehistogram") || l.name == "quantile" && typ == "summary" {
			if v, err := float([]byte(value)); err == nil {
				value = edge64(v)
			}
		}
		b = append(append(append(b, sep), l.name...), '=', '"')
		b = append(append(b, escape.Replace(value)...), '"')
		sep = ','
	}
	return string(append(b, '}'))
}

// edge64 writes a bucket's edge as Prometheus does.
func edge64(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
