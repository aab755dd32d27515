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
		c := newCache(capacity, 0, 0)
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
			if got, _ := c.match(keys); got != n {
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
			if got, _ := c.match(keys); got != min(len(keys), capacity) {
				rt.Fatalf("match %d just after insert of %d", got, len(keys))
			}
			for i := min(len(keys), capacity) - 1; i >= 0; i-- {
				touch(keys[i])
			}
		}
	})
}

// The tiers are one list of pages in order of use, cut at their capacities.
func TestTiersAgainstList(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var caps [tierCount]int
		for i := range caps {
			caps[i] = rapid.IntRange(0, 5).Draw(rt, "capacity")
		}
		caps[Device] = max(caps[Device], 1)
		c := newCache(caps[Device], caps[Host], caps[Storage])
		var list []uint64 // most recent first
		touch := func(keys []uint64) {
			for i := len(keys) - 1; i >= 0; i-- {
				if at := slices.Index(list, keys[i]); at >= 0 {
					list = slices.Delete(list, at, at+1)
				}
				list = slices.Insert(list, 0, keys[i])
				list = list[:min(len(list), c.all)]
			}
		}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			keys := chainKeys(rapid.Uint64Range(0, 1).Draw(rt, "family"), rapid.Uint64Range(0, 3).Draw(rt, "own"),
				rapid.IntRange(0, 4).Draw(rt, "shared"), rapid.IntRange(0, 8).Draw(rt, "pages"))
			n, want := 0, [tierCount]int{}
			for ; n < len(keys); n++ {
				at := slices.Index(list, keys[n])
				if at < 0 {
					break
				}
				switch {
				case at < caps[Device]:
					want[Device]++
				case at < caps[Device]+caps[Host]:
					want[Host]++
				default:
					want[Storage]++
				}
			}
			got, in := c.match(keys)
			if got != n || in != want {
				rt.Fatalf("match %d %v, want %d %v", got, in, n, want)
			}
			touch(keys[:n])
			keys = keys[:min(len(keys), c.all)]
			c.insert(keys)
			touch(keys)
			if c.len() != len(list) {
				rt.Fatalf("%d pages, want %d", c.len(), len(list))
			}
			for i := range caps {
				if c.tiers[i].n > caps[i] {
					rt.Fatalf("tier %d holds %d of %d", i, c.tiers[i].n, caps[i])
				}
			}
		}
	})
}
