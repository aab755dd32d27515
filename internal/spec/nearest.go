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

// distance is the edit distance with swapped neighbours counted once (optimal
// string alignment), in bytes.
func distance(a, b string) int {
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
