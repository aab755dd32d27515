package dialect

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// path is a parsed field path: keys, and indexes of arrays as strings in
// brackets.
type path []step

type step struct {
	key   string
	index int // of an array, when key is ""
}

var pathSyntax = regexp.MustCompile(`^([^.\[\]\s]+|\[[0-9]{1,9}\])(\.[^.\[\]\s]+|\[[0-9]{1,9}\])*$`)

// parsePath reads "a.b[0].c"; "" is the empty path. where names the setting in
// the error.
func parsePath(where, s string) (path, error) {
	if s == "" {
		return nil, nil
	}
	if !pathSyntax.MatchString(s) {
		return nil, fmt.Errorf("%s: %q is no field path; write keys joined by dots and numbers in brackets, such as choices[0].text", where, s)
	}
	var p path
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '.' || r == '[' }) {
		if number, ok := strings.CutSuffix(part, "]"); ok {
			n, _ := strconv.Atoi(number)
			p = append(p, step{index: n})
		} else {
			p = append(p, step{key: part})
		}
	}
	return p, nil
}

// in is the value at the path, nil when there is none or the path is empty.
func (p path) in(v value) value {
	if len(p) == 0 {
		return nil
	}
	for _, s := range p {
		if s.key != "" {
			v = v.get(s.key)
		} else {
			v = v.at(s.index)
		}
	}
	return v
}
