package tokenizer

// table maps uint64 keys to uint64 values: an open-addressed hash table, because
// the merges of a large vocabulary are looked up for every pair of neighbours.
// Keys below 1<<63 only.
type table struct {
	keys, vals []uint64
	shift      uint
	n          int
}

const noKey = ^uint64(0)

func newTable(n int) *table {
	bits := uint(4)
	for 1<<bits < 2*n {
		bits++
	}
	t := &table{shift: 64 - bits, keys: make([]uint64, 1<<bits), vals: make([]uint64, 1<<bits)}
	for i := range t.keys {
		t.keys[i] = noKey
	}
	return t
}

func (t *table) find(k uint64) int {
	mask := len(t.keys) - 1
	i := int((k * 0x9E3779B97F4A7C15) >> t.shift)
	for t.keys[i] != k && t.keys[i] != noKey {
		i = (i + 1) & mask
	}
	return i
}

func (t *table) get(k uint64) (uint64, bool) {
	i := t.find(k)
	return t.vals[i], t.keys[i] == k
}

func (t *table) set(k, v uint64) {
	if 2*t.n >= len(t.keys) {
		old := *t
		*t = *newTable(2 * old.n)
		for i, key := range old.keys {
			if key != noKey {
				t.set(key, old.vals[i])
			}
		}
	}
	i := t.find(k)
	if t.keys[i] == noKey {
		t.n++
	}
	t.keys[i], t.vals[i] = k, v
}

// trie finds the strings of a set that start at a place of a text.
type trie struct {
	next  *table  // node<<8 | byte → node
	value []int32 // of a node; -1: no string ends here
}

func newTrie() *trie { return &trie{next: newTable(1024), value: []int32{-1}} }

func (t *trie) add(s string, v int32) {
	node := uint64(0)
	for i := range len(s) {
		k := node<<8 | uint64(s[i])
		to, ok := t.next.get(k)
		if !ok {
			to = uint64(len(t.value))
			t.value = append(t.value, -1)
			t.next.set(k, to)
		}
		node = to
	}
	t.value[node] = v
}

// step goes from node by one byte; ok is false where no string goes on.
func (t *trie) step(node uint64, c byte) (to uint64, ok bool) {
	return t.next.get(node<<8 | uint64(c))
}

// longest is the longest string that s starts with, and its value; n is 0 when
// there is none.
func (t *trie) longest(s string) (n int, v int32) {
	node, v := uint64(0), int32(-1)
	for i := range len(s) {
		to, ok := t.step(node, s[i])
		if !ok {
			break
		}
		if node = to; t.value[node] >= 0 {
			n, v = i+1, t.value[node]
		}
	}
	return n, v
}
