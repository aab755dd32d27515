package synth

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// naiveLRU is the prefix cache of pages in its plainest form: a list of chains,
// the most recent page last.
func naiveLRU(prompts [][]uint64, order []int32, size, capacity int) (cached int64) {
	var list []string
	for _, row := range order {
		ids := prompts[row]
		var keys []string
		for n := size; n <= len(ids); n += size {
			var b []byte
			for _, id := range ids[:n] {
				b = append(b, byte(id))
			}
			keys = append(keys, string(b))
		}
		n := 0
		for n < len(keys) && slices.Contains(list, keys[n]) {
			n++
		}
		if len(ids) > 0 {
			cached += int64(min(n, (len(ids)-1)/size) * size)
		}
		keys = keys[:min(len(keys), capacity)]
		for i := len(keys) - 1; i >= 0; i-- {
			if k := slices.Index(list, keys[i]); k >= 0 {
				list = slices.Delete(list, k, k+1)
			} else if len(list) == capacity {
				list = list[1:]
			}
			list = append(list, keys[i])
		}
	}
	return cached
}

// The tree says of every prompt what comparing it with all before it says, and
// its LRU is the plain one's.
func TestTreeIsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 3).Draw(t, "size")
		prompts := rapid.SliceOfN(rapid.SliceOfN(rapid.Uint64Range(0, 2), 0, 12), 1, 12).Draw(t, "prompts")
		tr := newTree(size)
		var sum int64
		for i, p := range prompts {
			want := 0
			for _, q := range prompts[:i] {
				want = max(want, common(p, q)/size*size)
			}
			if len(p) > 0 {
				want = min(want, (len(p)-1)/size*size)
			}
			if got := tr.add(pages(p, size), len(p)); got != want {
				t.Fatalf("prompt %d: %d cached, want %d", i, got, want)
			}
			sum += int64(want)
		}
		order := make([]int32, len(prompts))
		for i := range order {
			order[i] = int32(i)
		}
		if got := tr.lru(order, 1000); got != sum {
			t.Fatalf("a cache that holds all: %d, want %d", got, sum)
		}
		grouped := tr.grouped()
		if got := slices.Sorted(slices.Values(grouped)); !slices.Equal(got, order) {
			t.Fatalf("the grouped order is no permutation: %v", grouped)
		}
		room := rapid.IntRange(1, 9).Draw(t, "room")
		for _, o := range [][]int32{order, grouped} {
			if got, want := tr.lru(o, room), naiveLRU(prompts, o, size, room); got != want {
				t.Fatalf("room for %d pages, order %v: %d, want %d", room, o, got, want)
			}
		}
	})
}

// Alternating groups beat a cache that holds one; one after the other do not.
func TestBestOrder(t *testing.T) {
	tr := newTree(2)
	for i := range 6 {
		g := uint64(i % 2 * 10)
		ids := []uint64{g, g + 1, g + 2, g + 3, uint64(100 + i), 0}
		tr.add(pages(ids, 2), len(ids))
	}
	p := Prefix{Unit: "tokens", Total: 36, Cached: 16}
	p.describe(tr, 6)
	if p.FileOrder != 0 || p.BestOrder != 16 {
		t.Errorf("%d in file order, %d grouped; want 0 and 16", p.FileOrder, p.BestOrder)
	}
	if len(p.Groups) != 2 || p.Groups[0] != (Group{Rows: 3, Shared: 4, First: 0, Total: 18, Cached: 8}) || p.Groups[1].First != 1 {
		t.Errorf("groups %+v", p.Groups)
	}
}
