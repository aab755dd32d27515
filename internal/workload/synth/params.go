package synth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strconv"
	"strings"
)

// The values of Params.LengthOf.
const (
	OfContent   = "content"   // tokens of the message alone
	OfTemplated = "templated" // tokens of the prompt as the server counts it
)

// The values of Params.Kind.
const (
	KindPlain = "plain"
	KindCopy  = "copy" // the answer repeats a passage of the prompt
)

// The values of Params.Order.
const (
	Grouped     = "grouped"     // group after group
	Interleaved = "interleaved" // every group spread evenly over the set
	Shuffled    = "shuffled"    // by the seed
)

// Params say what a set is. The same Params and files give the same bytes.
type Params struct {
	Requests int    `json:"requests"`         // 1 … 10,000,000
	Input    string `json:"input"`            // ParseLengths
	LengthOf string `json:"length_of"`        // what Input counts: OfContent or OfTemplated
	Output   string `json:"output,omitempty"` // ParseLengths; "": no max_tokens, of KindCopy the passage's length
	Kind     string `json:"kind"`             // KindPlain or KindCopy

	// CacheShare is the share of the actual, templated input that a prefix cache
	// has, 0…1, as written: "0.90" means between 0.895 and 0.905. CachedTokens is
	// the same in tokens of every row. At most one is given; without either no
	// prompt begins as another.
	CacheShare   string `json:"cache_share,omitempty"`
	CachedTokens int    `json:"cached_tokens,omitempty"`
	Groups       int    `json:"prefix_groups,omitempty"` // prompts of one group share a prefix
	Popularity   string `json:"popularity,omitempty"`    // of groups: "uniform" or "zipf:S"
	Prepare      bool   `json:"seeded_by_prepare,omitempty"`
	PageSize     int    `json:"page_size"` // tokens of a page of the server's prefix cache, ≥ 1
	Order        string `json:"order"`     // Grouped, Interleaved or Shuffled

	From string `json:"from,omitempty"` // corpus; "": random words

	Seed uint64 `json:"seed"` // of lengths and order
	Salt uint64 `json:"salt"` // of the text, with Seed: another salt is the same set in other words
}

// Defaults are the parameters that Build uses where none are given.
func Defaults() Params {
	return Params{Requests: 1, Input: "1024", LengthOf: OfContent, Kind: KindPlain, Popularity: "uniform", PageSize: 16, Order: Interleaved}
}

const maxRequests = 10_000_000

// settled are Params with everything read that can be read.
type settled struct {
	Params
	in, out Lengths
	share   float64 // -1: not given
	digits  int     // of share, after the point
	zipf    float64 // exponent of popularity; 0: uniform
}

func (p Params) cached() bool { return p.CacheShare != "" || p.CachedTokens > 0 }

func (p Params) settle() (s settled, err error) {
	s = settled{Params: p, share: -1}
	fail := func(format string, args ...any) (settled, error) { return s, fmt.Errorf(format, args...) }
	if p.Requests < 1 || p.Requests > maxRequests {
		return fail("--requests %d: must be from 1 to %d", p.Requests, maxRequests)
	}
	if s.in, err = ParseLengths(p.Input); err != nil {
		return fail("--input: %w", err)
	}
	if p.Output != "" {
		if s.out, err = ParseLengths(p.Output); err != nil {
			return fail("--output-len: %w", err)
		}
	}
	switch {
	case s.in.Joint() && p.Output != "":
		return fail("--output-len has no effect beside --input %s, which gives pairs; leave it out", p.Input)
	case s.out.Joint():
		return fail("--output-len %s: pairs of input and output belong to --input", p.Output)
	case p.PageSize < 1 || p.PageSize > 1<<20:
		return fail("--page-size %d: must be from 1 to %d tokens", p.PageSize, 1<<20)
	case p.CacheShare != "" && p.CachedTokens != 0:
		return fail("--cache-share and --cached-tokens say the same thing: give one")
	case p.CachedTokens < 0:
		return fail("--cached-tokens %d: must not be negative", p.CachedTokens)
	case p.Groups < 0 || p.Groups > p.Requests:
		return fail("--prefix-groups %d: must be from 1 to the %d requests", p.Groups, p.Requests)
	}
	for _, e := range []struct {
		flag, value string
		allowed     []string
	}{
		{"--length-of", p.LengthOf, []string{OfContent, OfTemplated}},
		{"--kind", p.Kind, []string{KindPlain, KindCopy}},
		{"--order", p.Order, []string{Grouped, Interleaved, Shuffled}},
	} {
		ok := false
		for _, a := range e.allowed {
			ok = ok || a == e.value
		}
		if !ok {
			return fail("%s %q: must be %s", e.flag, e.value, strings.Join(e.allowed, " or "))
		}
	}
	if p.CacheShare != "" {
		x, err := strconv.ParseFloat(p.CacheShare, 64)
		if err != nil || strings.ContainsAny(p.CacheShare, "eExX_") || !(x >= 0 && x < 1) {
			hint := ""
			if x, ok := strings.CutSuffix(p.CacheShare, "%"); ok {
				if f, err := strconv.ParseFloat(x, 64); err == nil && f >= 0 && f < 100 {
					_, digits, _ := strings.Cut(x, ".")
					hint = "; write --cache-share " + round(f/100, len(digits)+2)
				}
			}
			return fail("--cache-share %s: must be a share from 0 to below 1: the last token is always computed%s", p.CacheShare, hint)
		}
		if s.share = x; x == 0 {
			s.share, s.CacheShare = -1, ""
		}
		if _, after, ok := strings.Cut(p.CacheShare, "."); ok {
			s.digits = len(after)
		}
	}
	if !s.cached() {
		if p.Groups > 0 || p.Prepare {
			return fail("--prefix-groups and --seeded-by-prepare have no effect without --cache-share or --cached-tokens: add one")
		}
	} else if s.Groups == 0 {
		s.Groups = 1
	}
	switch exp, ok := strings.CutPrefix(p.Popularity, "zipf:"); {
	case ok:
		if s.zipf, err = number(exp, 0, 20); err != nil {
			return fail("--popularity %s: %w", p.Popularity, err)
		}
	case p.Popularity != "uniform" && p.Popularity != "":
		return fail("--popularity %q: must be uniform or zipf:S, for example zipf:1.1", p.Popularity)
	}
	return s, nil
}

// shape is what is asked of one row before its text is made.
type shape struct {
	group  int // -1: none
	member int // number within the group
	target int // tokens, as LengthOf counts
	output int // 0: not set
}

// stream is a source of random numbers for one purpose and one thing.
func stream(seed uint64, purpose string, i int) *rand.Rand {
	h := seed
	for k := range len(purpose) {
		h = scramble(h ^ uint64(purpose[k]))
	}
	return rand.New(rand.NewPCG(h, scramble(uint64(i))))
}

// shapes are all rows in their order.
func (s *settled) shapes() []shape {
	in, out := stream(s.Seed, "input", 0), stream(s.Seed, "output", 0)
	list := make([]shape, s.Requests)
	groups := s.groups()
	seen := map[int]int{}
	for i := range list {
		x := &list[i]
		x.group, x.member = -1, i
		if groups != nil {
			x.group, x.member = groups[i], seen[groups[i]]
			seen[x.group]++
		}
		x.target = s.in.draw(in, int64(i))
		switch {
		case s.in.Joint():
			x.output = s.in.pairs[i%len(s.in.pairs)].out
		case s.out.draw != nil:
			x.output = s.out.draw(out, int64(i))
		}
	}
	return list
}

// groups is the group of every row, nil without groups. The number of rows of a
// group is its share of popularity, rounded so that they add up.
func (s *settled) groups() []int {
	if !s.cached() {
		return nil
	}
	counts := apportion(s.Requests, s.Groups, s.zipf)
	out := make([]int, 0, s.Requests)
	for g, n := range counts {
		for range n {
			out = append(out, g)
		}
	}
	switch s.Order {
	case Shuffled:
		stream(s.Seed, "order", 0).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	case Interleaved:
		// Row k of n of a group is due at (k+½)/n of the way.
		type due struct {
			at float64
			g  int
		}
		list := make([]due, 0, len(out))
		for g, n := range counts {
			for k := range n {
				list = append(list, due{(float64(k) + 0.5) / float64(n), g})
			}
		}
		sort.SliceStable(list, func(i, j int) bool { return list[i].at < list[j].at })
		for i, d := range list {
			out[i] = d.g
		}
	}
	return out
}

// apportion gives n rows to groups whose weights are k^-exp, by largest
// remainders.
func apportion(n, groups int, exp float64) []int {
	weights := make([]float64, groups)
	sum := 0.0
	for k := range weights {
		weights[k] = math.Pow(float64(k+1), -exp)
		sum += weights[k]
	}
	counts, order := make([]int, groups), make([]int, groups)
	left := n
	for k, w := range weights {
		weights[k] = w / sum * float64(n)
		counts[k] = int(weights[k])
		left -= counts[k]
		order[k] = k
	}
	sort.SliceStable(order, func(i, j int) bool {
		return weights[order[i]]-float64(counts[order[i]]) > weights[order[j]]-float64(counts[order[j]])
	})
	for i := range left {
		counts[order[i%groups]]++
	}
	return counts
}
