package analysis

import (
	"fmt"
	"slices"
	"strings"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

// reporting is what the run knows of how one server reports cached tokens.
type reporting struct {
	part, url   int64
	probe       string   // tape.CachedAlways …; "": no probe said
	by          []string // requests of the probe
	says, off   string   // what the server said of itself: that it reports counts, that it has no cache; with where
	silent      string   // that it does not report them
	above, zero int      // index of the first request that reported a count above 0, and a 0; −1: none
}

// server is the number of the server that a request went to, made when it is new.
func (r *run) server(part, url int64) int32 {
	for i := range r.servers {
		if r.servers[i].part == part && r.servers[i].url == url {
			return int32(i)
		}
	}
	if len(r.servers) == maxServers {
		return maxServers - 1
	}
	r.servers = append(r.servers, reporting{part: part, url: url, above: -1, zero: -1})
	return int32(len(r.servers) - 1)
}

// maxServers bounds how many are told apart: a tape can name any.
const maxServers = 1024

// prove looks for evidence of how each server reports cached tokens: a probe that
// asked, or any response. Where a count that was left out is no 0, nothing is
// inferred of one.
func (r *run) prove() {
	for _, c := range r.caps {
		for i := range r.servers {
			if k := &r.servers[i]; k.part == c.Part.Or(0) && k.url == c.URL.Or(0) && c.CachedTokens != "" {
				k.probe, k.by = cachedFound(c), c.CachedBy
			}
		}
		r.proved = r.proved || probeProves(c.CachedTokens)
	}
	for i := range r.reqs {
		q := &r.reqs[i]
		k := &r.servers[q.Server]
		switch {
		case q.Cached == metric.Absent:
		case q.Cached > 0 && k.above < 0:
			k.above = i
		case q.Cached == 0 && k.zero < 0:
			k.zero = i
		}
	}
	r.cacheFacts()
	for i := range r.servers {
		k := &r.servers[i]
		r.proved = r.proved || k.above >= 0 || k.zero >= 0 || k.says != "" || k.off != ""
	}
	for i := range r.reqs {
		if q := &r.reqs[i]; !r.servers[q.Server].missingIsZero() {
			q.KeepMissing()
		}
	}
}

// cachedFound is the word of a probe for cached tokens. A plain "never" is one of an
// earlier version, which did not tell that from a cache that served none.
func cachedFound(c *tape.Capabilities) string {
	if c.CachedTokens == tape.CachedNever && !slices.Contains(c.Inferred, "cached_tokens") {
		return tape.CachedUnknown
	}
	return c.CachedTokens
}

// probeProves reports that what a probe found means that counts are reported.
func probeProves(found string) bool {
	return found == tape.CachedAlways || found == tape.CachedAbove || found == tape.CachedSome
}

// missingIsZero: this server reports counts above 0 and leaves 0 out. One that has
// reported a 0 leaves none out, whatever a probe concluded.
func (k *reporting) missingIsZero() bool {
	return k.zero < 0 && k.probe != tape.CachedAlways && (k.above >= 0 || probeProves(k.probe) || k.off != "" || k.says != "" && k.probe != tape.CachedNever)
}

// why says from what it is known what a missing count means.
func (r *run) whyMissing(k *reporting) string {
	probe := "the probe"
	if len(k.by) > 0 {
		probe += " (" + strings.Join(k.by, ", ") + ")"
	}
	switch {
	case k.zero >= 0:
		return fmt.Sprintf("%s reported a 0, so that a count left out is none", r.called(k.zero))
	case k.probe == tape.CachedAlways:
		return probe + " found that it reports 0 too, so that a count left out is none"
	case k.probe == tape.CachedAbove:
		return probe + " found that it reports counts above 0 and leaves 0 out"
	case k.above >= 0:
		return fmt.Sprintf("%s reported a count above 0, and none a 0", r.called(k.above))
	case k.probe == tape.CachedSome:
		return probe + " saw a count above 0, and none a 0"
	case k.off != "":
		return "the server has no prefix cache: " + k.off
	case k.says != "" && k.probe != tape.CachedNever:
		return "the server reports counts above 0 and leaves 0 out: " + k.says
	case k.silent != "":
		return "the server does not report them: " + k.silent
	case k.probe == tape.CachedNever:
		return probe + " found none, although the cache served a prompt sent twice, by the wait for its first token"
	case k.probe == tape.CachedUnknown:
		return probe + " sent a prompt twice and found none: the server does not report them, or served none and leaves out 0"
	}
	return "no answer of this run carried the count"
}

// contradicted says where answers say otherwise than the probe; empty for nowhere.
func (r *run) contradicted(k *reporting, missing int64) string {
	switch {
	case k.probe == tape.CachedAlways && missing > 0:
		return fmt.Sprintf("the probe found that cached tokens are always reported, and %s left them out", plural(missing, "answer"))
	case k.probe == tape.CachedAbove && k.zero >= 0:
		return fmt.Sprintf("the probe found that 0 is left out, and %s reported one", r.called(k.zero))
	case k.probe == tape.CachedNever && k.above >= 0:
		return fmt.Sprintf("the probe found that cached tokens are never reported, and %s reported some", r.called(k.above))
	case k.probe == tape.CachedNever && k.zero >= 0:
		return fmt.Sprintf("the probe found that cached tokens are never reported, and %s reported a 0", r.called(k.zero))
	}
	return ""
}

// called names the i-th request of the run.
func (r *run) called(i int) string {
	q := &r.reqs[i]
	if q.Phase == tape.PhaseMeasure {
		return fmt.Sprintf("request %d", q.Seq)
	}
	return fmt.Sprintf("%s (phase %s)", RequestName(q.Seq), q.Phase)
}

// evidence describes every server of the run.
func (r *run) evidence() []CacheEvidence {
	missing := make([]int64, len(r.servers))
	r.okMeasured(func(q *metric.Request) {
		if q.MissingCached() {
			missing[q.Server]++
		}
	})
	out := make([]CacheEvidence, len(r.servers))
	for i := range r.servers {
		k := &r.servers[i]
		e := &out[i]
		*e = CacheEvidence{Probe: k.probe, By: k.by, MissingIsZero: k.missingIsZero(), Why: r.whyMissing(k), Contradicted: r.contradicted(k, missing[i]), Missing: missing[i]}
		if k.above >= 0 {
			e.Above = &r.reqs[k.above].Seq
		}
		if k.zero >= 0 {
			e.Zero = &r.reqs[k.zero].Seq
		}
		if urls := r.header.Server.URLs; len(urls) > 1 && k.url >= 0 && k.url < int64(len(urls)) && len(r.parts()) == 0 {
			e.Server = urls[k.url]
		}
		if len(r.parts()) > 1 {
			e.Part = &k.part
		}
	}
	return out
}
