package analysis

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// names joins the sources of a set, most frequent first.
func names(m map[string]int) string {
	keys := ranked(m)
	for i, k := range keys {
		keys[i] = label(k)
	}
	return strings.Join(keys, " and ")
}

// breakdown is "usage 10, events 2".
func breakdown(m map[string]int) string {
	var parts []string
	for _, k := range ranked(m) {
		parts = append(parts, fmt.Sprintf("%s %d", label(k), m[k]))
	}
	return strings.Join(parts, ", ")
}

func ranked(m map[string]int) []string {
	keys := slices.Sorted(maps.Keys(m))
	slices.SortStableFunc(keys, func(a, b string) int { return m[b] - m[a] })
	return keys
}

// label names a source that the tape left empty.
func label(s string) string {
	if s == "" {
		return "unnamed"
	}
	return s
}
