package analysis

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

// prompt names what a request finds in the cache of one server: its group, where a
// manifest or a session makes one, else its own bytes.
type prompt struct {
	server int32
	name   string // of the group; "": content stands for the prompt
	data   int64
	hash   uint64
}

// touchKey is the key by which first touches are told from repeats.
func (r *run) touchKey(i int) prompt {
	q, f := &r.reqs[i], &r.facts[i]
	switch {
	case strings.HasPrefix(f.group, tape.GroupManifest):
		return prompt{server: q.Server, name: f.group}
	case q.Session:
		return prompt{server: q.Server, name: f.session}
	}
	return prompt{server: q.Server, data: f.data, hash: f.content}
}

// sent is when a request went out; metric.Absent: never.
func sent(q *metric.Request) int64 {
	if q.WroteFirst != metric.Absent {
		return q.WroteFirst
	}
	return q.Released
}

// firstTouches gives, by key, the index of the request that went out first, of
// whatever phase.
func (r *run) firstTouches() map[prompt]int {
	first := map[prompt]int{}
	for i := range r.reqs {
		at := sent(&r.reqs[i])
		if at == metric.Absent {
			continue
		}
		key := r.touchKey(i)
		if j, ok := first[key]; !ok || at < sent(&r.reqs[j]) {
			first[key] = i
		}
	}
	return first
}

// touches tell first touches from repeats; nil where the tape does not say when
// requests were sent.
func (r *run) touches() *CacheTouches {
	if r.untimed() {
		return nil
	}
	sums := map[string]*cacheSum{TouchFirst: {}, TouchBeside: {}, TouchRepeat: {}}
	r.okCached(func(i int, q *metric.Request) {
		if s := sums[r.touch(i)]; s != nil {
			s.add(q, r.proved, r.facts[i].expected)
		}
	})
	return &CacheTouches{sums[TouchFirst].share(), sums[TouchBeside].share(), sums[TouchRepeat].share()}
}

// touch is what the i-th request was to the cache; "" where it was not sent.
func (r *run) touch(i int) string {
	at := sent(&r.reqs[i])
	first, ok := r.first[r.touchKey(i)]
	switch {
	case !ok || at == metric.Absent:
		return ""
	case first == i:
		return TouchFirst
	case at < prefilled(&r.reqs[first]):
		return TouchBeside
	}
	return TouchRepeat
}

// rowCache is what the row of the i-th request says of the cache.
func (r *run) rowCache(i int) RowCache {
	q := &r.reqs[i]
	c := RowCache{Device: known(q.Tiers.Device), Host: known(q.Tiers.Host), Storage: known(q.Tiers.Storage), Group: r.facts[i].group}
	if c.Group == "" && q.Session {
		c.Group = groupSession + r.facts[i].session
	}
	n, inferred, ok := q.CachedTokens(r.proved)
	if ok {
		c.Cached, c.CachedSource = &n, CachedObserved
		if inferred {
			c.CachedSource = CachedInferred
		}
		if q.Input != metric.Absent && q.Input > 0 {
			c.CachedRatio = ref(float64(n) / float64(q.Input))
		}
	}
	if r.proved && !r.untimed() {
		c.Touch = r.touch(i)
	}
	return c
}

// prefilled is when the prompt of a request was computed at the latest: it had a
// token, or it ended.
func prefilled(q *metric.Request) int64 {
	if q.FirstToken != metric.Absent {
		return q.FirstToken
	}
	if q.End != metric.Absent {
		return q.End
	}
	return math.MaxInt64
}

// shownGroups is how many groups are listed; the others are added up.
const shownGroups = 20

// groupShares fills the prefix groups: those of the tape, else sessions.
func (r *run) groupShares(c *Cache) {
	type group struct {
		CacheGroup
		sum, repeat cacheSum
		first       int // index; −1: none was sent
	}
	all := map[string]*group{}
	of := func(i int) *group {
		name := r.facts[i].group
		if name == "" && r.reqs[i].Session {
			name = groupSession + r.facts[i].session
		}
		if name == "" {
			return nil
		}
		g := all[name]
		if g == nil {
			g = &group{CacheGroup: CacheGroup{Name: name}, first: -1}
			all[name] = g
		}
		return g
	}
	for i := range r.reqs {
		if g := of(i); g != nil && sent(&r.reqs[i]) != metric.Absent && (g.first < 0 || sent(&r.reqs[i]) < sent(&r.reqs[g.first])) {
			g.first = i
		}
	}
	r.okCached(func(i int, q *metric.Request) {
		g := of(i)
		if g == nil {
			return
		}
		g.sum.add(q, r.proved, r.facts[i].expected)
		if i != g.first {
			g.repeat.add(q, r.proved, r.facts[i].expected)
		}
	})
	var groups []*group
	for _, g := range all {
		if g.sum.Requests > 0 {
			groups = append(groups, g)
		}
	}
	slices.SortFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.sum.Requests, a.sum.Requests), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	if len(groups) == 0 {
		return
	}
	c.GroupCount = int64(len(groups))
	var rest cacheSum
	for k, g := range groups {
		if k >= shownGroups {
			rest.merge(&g.sum)
			continue
		}
		out := g.CacheGroup
		out.CacheShare = g.sum.share()
		out.RepeatN = g.repeat.N
		if v, ok := share(g.repeat.cached, g.repeat.input); ok {
			out.RepeatRatio = &v
		}
		out.FirstSeq, out.FirstRatio, out.FirstMissing = r.firstOf(g.first)
		c.Groups = append(c.Groups, out)
	}
	if len(groups) > shownGroups {
		s := rest.share()
		c.Rest = &s
	}
}

// groupSession begins the name of a group that a session makes.
const groupSession = "session:"

// firstOf says what the first request of a group, the i-th of the run, found.
func (r *run) firstOf(i int) (seq int64, ratio *float64, why string) {
	if i < 0 {
		return 0, nil, "none was sent"
	}
	q := &r.reqs[i]
	n, _, ok := q.CachedTokens(r.proved)
	switch {
	case q.Phase != tape.PhaseMeasure:
		return q.Seq, nil, "of phase " + string(q.Phase)
	case !q.OK:
		return q.Seq, nil, string(r.facts[i].outcome)
	case !ok || q.Input <= 0:
		return q.Seq, nil, "not observed"
	}
	return q.Seq, ref(float64(n) / float64(q.Input)), ""
}

// merge takes the requests of another sum.
func (s *cacheSum) merge(o *cacheSum) {
	for _, p := range []struct{ to, n *int64 }{
		{&s.Requests, &o.Requests}, {&s.Observed, &o.Observed}, {&s.Inferred, &o.Inferred}, {&s.NotObserved, &o.NotObserved}, {&s.N, &o.N}, {&s.NominalN, &o.NominalN},
		{&s.cached, &o.cached}, {&s.input, &o.input}, {&s.expected, &o.expected}, {&s.planned, &o.planned},
	} {
		*p.to += *p.n
	}
}

// cacheOverTime cuts the time in which measured requests were released into equal
// parts: 20, or 10 where fewer than 200 are known, none where fewer than 20 are.
func (r *run) cacheOverTime() []CacheSlice {
	if r.untimed() {
		return nil
	}
	var s span
	var n int64
	r.okCached(func(_ int, q *metric.Request) {
		if q.Released != metric.Absent {
			s.add(q.Released)
			n++
		}
	})
	parts := int64(20)
	switch {
	case n < 20 || s.last-s.first < parts:
		return nil
	case n < 200:
		parts = 10
	}
	sums := make([]cacheSum, parts)
	length := s.last - s.first
	r.okCached(func(i int, q *metric.Request) {
		if q.Released != metric.Absent {
			k := int64(float64(q.Released-s.first) / float64(length) * float64(parts))
			sums[min(k, parts-1)].add(q, r.proved, r.facts[i].expected)
		}
	})
	out := make([]CacheSlice, parts)
	for k := range out {
		at := func(k int) float64 { return (float64(s.first) + float64(length)*float64(k)/float64(parts)) / 1e9 }
		out[k] = CacheSlice{at(k), at(k + 1), sums[k].share()}
	}
	return out
}
