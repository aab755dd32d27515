package sim

// cache is a prefix cache of pages: a page's key is the hash of everything up to
// its end, so a page can only hit when all pages before it would. The least
// recently used page goes first; a chain is touched from its end to its start,
// so a page never outlives the pages before it.
type cache struct {
	pages    map[uint64]*page
	root     page // ring: root.next is the most recent
	capacity int
}

type page struct {
	key        uint64
	prev, next *page
}

func newCache(capacity int) *cache {
	c := &cache{capacity: capacity}
	c.flush()
	return c
}

func (c *cache) flush() {
	c.pages = make(map[uint64]*page)
	c.root.prev, c.root.next = &c.root, &c.root
}

func (c *cache) len() int { return len(c.pages) }

// match is the number of leading keys that are present; it touches them.
func (c *cache) match(keys []uint64) int {
	n := 0
	for n < len(keys) && c.pages[keys[n]] != nil {
		n++
	}
	for i := n - 1; i >= 0; i-- {
		p := c.pages[keys[i]]
		c.unlink(p)
		c.link(p)
	}
	return n
}

// insert adds a chain, given from its start. Of a chain longer than the cache,
// the start stays.
func (c *cache) insert(keys []uint64) {
	keys = keys[:min(len(keys), c.capacity)]
	for i := len(keys) - 1; i >= 0; i-- {
		p := c.pages[keys[i]]
		switch {
		case p != nil:
			c.unlink(p)
		case len(c.pages) == c.capacity:
			p = c.root.prev
			c.unlink(p)
			delete(c.pages, p.key)
		default:
			p = &page{}
		}
		p.key = keys[i]
		c.pages[p.key] = p
		c.link(p)
	}
}

func (c *cache) link(p *page) {
	p.next, p.prev = c.root.next, &c.root
	p.next.prev, c.root.next = p, p
}

func (c *cache) unlink(p *page) { p.prev.next, p.next.prev = p.next, p.prev }
