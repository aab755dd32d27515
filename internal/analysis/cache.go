package analysis

import (
	"maps"
	"slices"

	"tokentape/internal/analysis/metric"
)

// cacheSum adds up what is known of the cache over requests.
type cacheSum struct {
	CacheShare
	cached, input     int64
	expected, planned int64 // and the input beside it
}

// add takes one request, and what was expected of it (metric.Absent: nothing was
// said).
func (s *cacheSum) add(q *metric.Request, proved bool, want int64) {
	s.Requests++
	n, inferred, ok := q.CachedTokens(proved)
	switch {
	case !ok:
		s.NotObserved++
	case inferred:
		s.Inferred++
	default:
		s.Observed++
	}
	if ok && q.Input != metric.Absent {
		s.N++
		s.cached, s.input = s.cached+n, s.input+q.Input
	}
	if want != metric.Absent && q.Input != metric.Absent {
		s.NominalN++
		s.expected, s.planned = s.expected+want, s.planned+q.Input
	}
}

// share is the sum as results have it.
func (s *cacheSum) share() CacheShare {
	out := s.CacheShare
	if s.N > 0 {
		out.Cached, out.Input = &s.cached, &s.input
	}
	if v, ok := share(s.cached, s.input); ok {
		out.Ratio = &v
	}
	if v, ok := share(s.expected, s.planned); ok {
		out.NominalRatio = &v
	}
	return out
}

// okCached calls f for every ok request of the measured phase.
func (r *run) okCached(f func(i int, q *metric.Request)) {
	r.eachMeasured(func(i int, q *metric.Request) {
		if q.OK {
			f(i, q)
		}
	})
}

// cache is what can be said of the prefix cache.
func (r *run) cache() *Cache {
	c := &Cache{Plan: r.cachePlanned(), Evidence: r.evidence(), Tiers: r.tiers()}
	var all cacheSum
	r.okCached(func(i int, q *metric.Request) {
		all.add(q, r.proved, r.facts[i].expected)
		if q.BadCached() {
			c.Contradicted++
		}
	})
	c.All = all.share()
	if r.proved {
		r.first = r.firstTouches()
	}
	if c.All.N > 0 {
		c.Touches = r.touches()
		r.groupShares(c)
		c.Time = r.cacheOverTime()
	}
	r.cacheVerdict(c)
	return c
}

// cachePlanned holds what was served against what was expected; nil where nothing was.
func (r *run) cachePlanned() *CachePlanned {
	p := &CachePlanned{}
	if plan := r.header.Cache; plan != nil {
		p.By, p.Zero = plan.By, plan.Zero
	}
	r.okCached(func(i int, q *metric.Request) {
		want := r.facts[i].expected
		if want == metric.Absent {
			return
		}
		p.Requests++
		if q.Input != metric.Absent {
			p.PlannedTokens, p.PlannedInput = p.PlannedTokens+want, p.PlannedInput+q.Input
		}
		hit, _, ok := q.CachedTokens(r.proved)
		if !ok || q.Input == metric.Absent {
			return
		}
		p.N++
		p.Cached, p.Expected, p.Input = p.Cached+hit, p.Expected+want, p.Input+q.Input
		d := max(hit-want, want-hit)
		if p.Apart += d; d > 0 {
			p.Off++
		}
	})
	if p.Requests == 0 {
		return nil
	}
	if v, ok := share(p.Apart, p.Input); ok {
		p.Share = &v
	}
	return p
}

// tiers adds up where the cached tokens lay; nil where no server says.
func (r *run) tiers() *CacheTiers {
	t := &CacheTiers{}
	add := func(to **int64, n int64) {
		if n == metric.Absent {
			return
		}
		if *to == nil {
			*to = new(int64)
		}
		**to += n
	}
	backends := map[string]bool{}
	r.okCached(func(i int, q *metric.Request) {
		sum, ok := q.Tiers.Sum()
		if !ok {
			return
		}
		t.N++
		t.Cached += q.Cached
		t.Untold += q.Cached - sum
		add(&t.Device, q.Tiers.Device)
		add(&t.Host, q.Tiers.Host)
		add(&t.Storage, q.Tiers.Storage)
		if b := r.facts[i].backend; b != "" {
			backends[b] = true
		}
	})
	if t.N == 0 {
		return nil
	}
	t.Backends = slices.Sorted(maps.Keys(backends))
	return t
}
