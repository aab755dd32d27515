package spec

import "strings"

// Nearest is the one of names that key most likely meant: the same but for case
// and surrounding spaces, else the closest within a third of key's length; ""
// when none is.
func Nearest(names []string, key string) string {
	norm := func(s string) string { return strings.ToLower(strings.TrimSpace(s)) }
	key = norm(key)
	best, dist := "", len(key)/3+1
	for _, name := range names {
		if n := distance(norm(name), key); n < dist {
			best, dist = name, n
		}
	}
	return best
}
