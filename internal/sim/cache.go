package sim

// Tiers of the prefix cache.
const (
	Device = iota
	Host
	Storage
	tierCount
)

// cache is a prefix cache of pages: a page's key is the hash of everything up to
// its end, so a page can only hit when all pages before it would. Its tiers hold
// the pages in order of use, the device those used last; what is used goes to the
// device, what a tier has no room for to the next one, and from the last one away.
// A chain is touched from its end to its start, so a page never outlives the pages
// before it.
type cache struct {
	pages map[uint64]*page
	tiers [tierCount]tier
	all   int // capacity of all tiers
}

// tier is a ring: root.next is the most recent.
type tier struct {
	root        page
	n, capacity int
}

type page struct {
	key        uint64
	tier       int
	prev, next *page
}

// newCache makes a cache with room for that many pages in each tier.
func newCache(device, host, storage int) *cache {
	c := &cache{all: device + host + storage}
	for i, n := range [tierCount]int{device, host, storage} {
		c.tiers[i].capacity = n
	}
	c.flush()
	return c
}

func (c *cache) flush() {
	c.pages = make(map[uint64]*page)
	for i := range c.tiers {
		t := &c.tiers[i]
		t.n, t.root.prev, t.root.next = 0, &t.root, &t.root
	}
}

func (c *cache) len() int { return len(c.pages) }

// match is the number of leading keys that are present, by the tier they lay in; it
// touches them.
func (c *cache) match(keys []uint64) (n int, in [tierCount]int) {
	for n < len(keys) {
		p := c.pages[keys[n]]
		if p == nil {
			break
		}
		in[p.tier]++
		n++
	}
	for i := n - 1; i >= 0; i-- {
		c.touch(c.pages[keys[i]])
	}
	return n, in
}

// insert adds a chain, given from its start. Of a chain longer than the cache,
// the start stays.
func (c *cache) insert(keys []uint64) {
	keys = keys[:min(len(keys), c.all)]
	for i := len(keys) - 1; i >= 0; i-- {
		p := c.pages[keys[i]]
		if p == nil {
			p = &page{key: keys[i], tier: -1}
			c.pages[p.key] = p
		}
		c.touch(p)
	}
}

// touch makes p the most recent page of the device.
func (c *cache) touch(p *page) {
	c.unlink(p)
	for i := range c.tiers {
		t := &c.tiers[i]
		if t.capacity == 0 {
			continue
		}
		var over *page
		if t.n == t.capacity {
			over = t.root.prev
			c.unlink(over)
		}
		p.tier = i
		p.next, p.prev = t.root.next, &t.root
		p.next.prev, t.root.next = p, p
		t.n++
		if p = over; p == nil {
			return
		}
	}
	delete(c.pages, p.key)
}

// unlink takes p out of its tier, where it is in one.
func (c *cache) unlink(p *page) {
	if p.tier < 0 {
		return
	}
	p.prev.next, p.next.prev = p.next, p.prev
	c.tiers[p.tier].n--
	p.tier = -1
}
