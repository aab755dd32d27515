package tokenizer

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
)

const (
	cacheSlots = 1 << 16
	cacheKey   = 48 // longest piece kept, in bytes
)

// cache remembers the ids of short pieces. It is direct-mapped: a new piece takes
// the slot of the old one, so it holds at most cacheSlots entries. Entries never
// change, so that readers need no lock.
type cache struct {
	seed  maphash.Seed
	slots []atomic.Pointer[cacheEntry]
}

type cacheEntry struct {
	key string
	ids []int32
}

func newCache() *cache {
	return &cache{seed: maphash.MakeSeed(), slots: make([]atomic.Pointer[cacheEntry], cacheSlots)}
}

func (c *cache) slot(s string) *atomic.Pointer[cacheEntry] {
	return &c.slots[maphash.String(c.seed, s)%cacheSlots]
}

func newEntry(s string, ids []int32) *cacheEntry {
	return &cacheEntry{key: strings.Clone(s), ids: slices.Clone(ids)}
}
