package metric

import "tokentape/tape"

// CachedTokens is the number of input tokens that the server took from its
// prefix cache. Where the server has proved in this run that it reports counts
// above 0 and leaves 0 out, a count missing beside a reported input is an inferred
// 0. A count that came and cannot be true is not known, and nothing stands in its
// place.
func (q *Request) CachedTokens(proved bool) (tokens int64, inferred, ok bool) {
	switch {
	case q.Cached != Absent:
		return q.Cached, false, true
	case proved && !q.noCached && !q.badCached && q.Input != Absent && q.InputSource != tape.SourceTokenizer:
		return 0, true, true
	}
	return 0, false, false
}

// KeepMissing says that a cached count missing in this request is not known,
// whatever other requests prove: its server reports a 0 as well, or nothing.
func (q *Request) KeepMissing() { q.noCached = true }

// MissingCached reports that the answer carried the server's own input count and no
// word of cached tokens.
func (q *Request) MissingCached() bool {
	return q.Cached == Absent && !q.badCached && q.Input != Absent && (q.InputSource == tape.SourceUsage || q.InputSource == tape.SourceEngine)
}

// BadCached reports that a cached count came and cannot be true.
func (q *Request) BadCached() bool { return q.badCached }

// Tiers are the cached tokens by where they lay, Absent where the server does not
// say.
type Tiers struct {
	Device, Host, Storage int64
}

// Sum is their sum; not ok where the server splits nothing.
func (t Tiers) Sum() (int64, bool) {
	if t == noTiers {
		return 0, false
	}
	var n int64
	for _, v := range [...]int64{t.Device, t.Host, t.Storage} {
		if v != Absent {
			n += v
		}
	}
	return n, true
}

var noTiers = Tiers{Absent, Absent, Absent}

// cached takes the counts of the cache from the tape. A server that splits the
// count without giving it has given it.
func (q *Request) cached(t *tape.Tokens) {
	q.Cached = stamp(t.Cached)
	q.Tiers = Tiers{stamp(t.CachedDevice), stamp(t.CachedHost), stamp(t.CachedStorage)}
}

// UncachedPrefillSpeed is (input tokens − cached tokens) ÷ TTFT, in tokens per
// second.
func (q *Request) UncachedPrefillSpeed(proved bool) (float64, bool) {
	d, ok := q.TTFT()
	if !ok || q.Input == Absent {
		return 0, false
	}
	cached, _, ok := q.CachedTokens(proved)
	if !ok {
		return 0, false
	}
	return perSecond(float64(q.Input-cached), float64(d))
}
