package synth

import "sort"

// tree is the prefix tree of prompts by pages: what a prefix cache without limits
// holds after them. A page is kept as a 32-bit hash of its ids; two prompts are
// compared page by page from their start, so only where they part can two hashes
// agree by chance.
type tree struct {
	size  int // tokens a page
	nodes []node
	ends  []rowEnd // by row
}

type node struct {
	parent   int32
	rows     int32 // that pass through or end here
	first    int32 // of them
	pages    []uint32
	children map[uint32]int32 // by their first page
	ended    []int32          // rows that end here
}

type rowEnd struct {
	tokens int32
	cached int32 // of them, without a limit
}

func newTree(pageSize int) *tree {
	return &tree{size: pageSize, nodes: []node{{parent: -1}}}
}

// pages are the hashes of the full pages of ids, or of bytes.
func pages[T uint64 | byte](ids []T, size int) []uint32 {
	out := make([]uint32, 0, len(ids)/size)
	for len(ids) >= size {
		h := uint64(14695981039346656037)
		for _, id := range ids[:size] {
			h = scramble(h ^ uint64(id))
		}
		out = append(out, uint32(h>>32))
		ids = ids[size:]
	}
	return out
}

// scramble is the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// add inserts a prompt of so many tokens, given by its full pages, and returns
// how many of its tokens a cache without limits that saw all prompts before it
// has: whole pages, and never the last token, whose output is the first token.
func (t *tree) add(keys []uint32, tokens int) (cached int) {
	row := int32(len(t.ends))
	t.ends = append(t.ends, rowEnd{tokens: int32(tokens)})
	defer func() { t.ends[row].cached = int32(cached) }()
	t.nodes[0].rows++
	at, depth := int32(0), 0
	for depth < len(keys) {
		next, ok := t.nodes[at].children[keys[depth]]
		if !ok {
			leaf := t.push(node{parent: at, rows: 1, first: row, pages: append([]uint32(nil), keys[depth:]...), ended: []int32{row}})
			t.link(at, leaf)
			return t.hit(depth, tokens)
		}
		seg := t.nodes[next].pages
		n := 0
		for n < len(seg) && depth+n < len(keys) && seg[n] == keys[depth+n] {
			n++
		}
		if n < len(seg) {
			t.split(next, n)
		}
		t.nodes[next].rows++
		at, depth = next, depth+n
	}
	t.nodes[at].ended = append(t.nodes[at].ended, row)
	return t.hit(depth, tokens)
}

func (t *tree) hit(pages, tokens int) int {
	if tokens == 0 {
		return 0
	}
	return min(pages, (tokens-1)/t.size) * t.size
}

func (t *tree) push(n node) int32 {
	t.nodes = append(t.nodes, n)
	return int32(len(t.nodes) - 1)
}

func (t *tree) link(parent, child int32) {
	p := &t.nodes[parent]
	if p.children == nil {
		p.children = map[uint32]int32{}
	}
	p.children[t.nodes[child].pages[0]] = child
	t.nodes[child].parent = parent
}

// split cuts node i after n pages: i keeps them, a new child has the rest.
func (t *tree) split(i int32, n int) {
	old := t.nodes[i]
	rest := t.push(node{rows: old.rows, first: old.first, pages: old.pages[n:], children: old.children, ended: old.ended})
	for _, c := range old.children {
		t.nodes[c].parent = rest
	}
	t.nodes[i] = node{parent: old.parent, rows: old.rows, first: old.first, pages: old.pages[:n:n]}
	t.link(i, rest)
}

// walk visits all nodes, parents first, siblings by their number of rows, the
// most first, then by their first row. depth is in pages, at the node's end.
func (t *tree) walk(visit func(i int32, depth int)) {
	type item struct {
		i     int32
		depth int
	}
	stack := []item{{0, 0}}
	for len(stack) > 0 {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		visit(it.i, it.depth)
		kids := make([]int32, 0, len(t.nodes[it.i].children))
		for _, c := range t.nodes[it.i].children {
			kids = append(kids, c)
		}
		// The stack turns the order round.
		sort.Slice(kids, func(a, b int) bool {
			x, y := &t.nodes[kids[a]], &t.nodes[kids[b]]
			if x.rows != y.rows {
				return x.rows < y.rows
			}
			return x.first > y.first
		})
		for _, c := range kids {
			stack = append(stack, item{c, it.depth + len(t.nodes[c].pages)})
		}
	}
}

// grouped is the order that keeps prompts with long common beginnings together.
func (t *tree) grouped() []int32 {
	var out []int32
	t.walk(func(i int32, _ int) { out = append(out, t.nodes[i].ended...) })
	return out
}

// lru is how many tokens are cached when the prompts come in an order and the
// cache holds capacity pages, of which the least recently used goes first. A
// chain is touched from its end, so that no page outlives the ones before it. It
// is written apart from the simulated server's cache, so that one can prove the
// other.
func (t *tree) lru(order []int32, capacity int) (cached int64) {
	leaf := make([]int32, len(t.ends))
	for i := range t.nodes {
		for _, r := range t.nodes[i].ended {
			leaf[r] = int32(i)
		}
	}
	type entry struct {
		key        uint64
		prev, next int32
	}
	ring := []entry{{}} // 0 is the root: next is the most recent
	at := map[uint64]int32{}
	unlink := func(e int32) {
		ring[ring[e].prev].next, ring[ring[e].next].prev = ring[e].next, ring[e].prev
	}
	front := func(e int32) {
		ring[e].prev, ring[e].next = 0, ring[0].next
		ring[ring[0].next].prev = e
		ring[0].next = e
	}
	var keys []uint64
	for _, row := range order {
		keys = keys[:0]
		for i := leaf[row]; i > 0; i = t.nodes[i].parent {
			for k := len(t.nodes[i].pages) - 1; k >= 0; k-- {
				keys = append(keys, uint64(i)<<32|uint64(k))
			}
		}
		n := 0 // keys run from the end to the start
		for n < len(keys) {
			if _, ok := at[keys[len(keys)-1-n]]; !ok {
				break
			}
			n++
		}
		cached += int64(t.hit(n, int(t.ends[row].tokens)))
		for _, k := range keys[max(len(keys)-capacity, 0):] {
			e, ok := at[k]
			switch {
			case ok:
				unlink(e)
			case len(at) == capacity:
				e = ring[0].prev
				unlink(e)
				delete(at, ring[e].key)
			default:
				ring = append(ring, entry{})
				e = int32(len(ring) - 1)
			}
			ring[e].key = k
			at[k] = e
			front(e)
		}
	}
	return cached
}
