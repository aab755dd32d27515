package sim

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// chainKeys are the page keys of a prompt of n pages; a shared prefix of shared
// pages with family, then its own.
func chainKeys(family, own uint64, shared, n int) []uint64 {
	c := NewCounter(1)
	for i := range n {
		if i < shared {
			c.Token(family<<32 | uint64(i))
		} else {
			c.Token(1<<60 | own<<32 | uint64(i))
		}
	}
	return c.Prompt().Pages
}

// TestCacheAgainstList compares with a plain list of pages in order of use.
func TestCacheAgainstList(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		capacity := rapid.IntRange(1, 12).Draw(rt, "capacity")
		c := newCache(capacity)
		var list []uint64 // most recent first
		touch := func(k uint64) {
			if i := slices.Index(list, k); i >= 0 {
				list = slices.Delete(list, i, i+1)
			} else if len(list) == capacity {
				list = list[:capacity-1]
			}
			list = slices.Insert(list, 0, k)
		}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			keys := chainKeys(rapid.Uint64Range(0, 1).Draw(rt, "family"), rapid.Uint64Range(0, 3).Draw(rt, "own"),
				rapid.IntRange(0, 4).Draw(rt, "shared"), rapid.IntRange(0, 8).Draw(rt, "pages"))
			n := 0
			for n < len(keys) && slices.Contains(list, keys[n]) {
				n++
			}
			if got := c.match(keys); got != n {
				rt.Fatalf("match %d, want %d", got, n)
			}
			for i := n - 1; i >= 0; i-- {
				touch(keys[i])
			}
			c.insert(keys)
			for i := min(len(keys), capacity) - 1; i >= 0; i-- {
				touch(keys[i])
			}
			if c.len() != len(list) {
				rt.Fatalf("%d pages, want %d", c.len(), len(list))
			}
			if got := c.match(keys); got != min(len(keys), capacity) {
				rt.Fatalf("match %d just after insert of %d", got, len(keys))
			}
			for i := min(len(keys), capacity) - 1; i >= 0; i-- {
				touch(keys[i])
			}
		}
	})
}
