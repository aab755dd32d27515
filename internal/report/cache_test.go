package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"tokentape/internal/analysis"
)

// cached is a cache of which most is known.
func cached() *analysis.Cache {
	share := func(requests, observed, inferred int64, ratio float64) analysis.CacheShare {
		s := analysis.CacheShare{Requests: requests, Observed: observed, Inferred: inferred, NotObserved: requests - observed - inferred, N: observed + inferred}
		if s.N > 0 {
			input := s.N * 1000
			s.Input, s.Cached, s.Ratio = &input, new(int64(float64(input)*ratio)), &ratio
			s.NominalRatio, s.NominalN = p(0.9), requests
		}
		return s
	}
	return &analysis.Cache{
		Verdict: analysis.CacheOffPlan, Line: "59 % of input tokens came from the prefix cache (374,060 of 634,000), not as planned (90 % expected), observed in 600, inferred 0 in 34 of 636 requests",
		Do:  "start SGLang with --enable-cache-report",
		All: share(636, 600, 34, 0.59), Contradicted: 1,
		Plan: &analysis.CachePlanned{By: "manifest", Requests: 636, N: 634, Expected: 570600, Cached: 374060, Apart: 196540, Input: 634000, Off: 400, Share: p(0.31)},
		Evidence: []analysis.CacheEvidence{
			{Server: "http://a/v1", Above: new(int64(3)), MissingIsZero: true, Why: "request 3 reported a count above 0, and none a 0", Missing: 34},
			{Server: "http://b\x1b[31m/v1", Probe: "always", By: []string{"probe-1"}, Why: "the probe (probe-1) found that it reports 0 too, so that a count left out is none", Missing: 1, Contradicted: "the probe found that cached tokens are always reported, and 1 answer left them out"},
		},
		Touches: &analysis.CacheTouches{First: share(40, 6, 34, 0.02), Beside: share(3, 3, 0, 0.1), Repeat: share(593, 591, 0, 0.63)},
		Groups: []analysis.CacheGroup{
			{Name: "manifest:7", CacheShare: share(300, 290, 10, 0.61), FirstSeq: 7, FirstRatio: p(0.0), RepeatRatio: p(0.62), RepeatN: 299},
			{Name: "session:01JDX8Z6K1AAAAAAAAAAAAAAAAAA-s1", CacheShare: share(2, 0, 0, 0), FirstMissing: "of phase prepare"},
		},
		Rest: func() *analysis.CacheShare { s := share(334, 310, 24, 0.57); return &s }(), GroupCount: 40,
		Time:      []analysis.CacheSlice{{From: 0, To: 52.75, CacheShare: share(300, 280, 20, 0.4)}, {From: 52.75, To: 105.5, CacheShare: share(0, 0, 0, 0)}},
		Tiers:     &analysis.CacheTiers{N: 600, Cached: 374060, Device: new(int64(300000)), Host: new(int64(70000)), Storage: new(int64(4000)), Untold: 60, Backends: []string{"HiCacheFile"}},
		Witnesses: []analysis.CacheWitness{{Source: "http://a/metrics", Ratio: p(0.6), Says: "the answers say 59 %"}},
	}
}

// Everything that is known of the cache is in the full views and stats.csv; the first
// page has a line of it, or none.
func TestCacheViews(t *testing.T) {
	r := openLoop()
	r.Cache = cached()
	text := func(f func(b *bytes.Buffer) error) string {
		t.Helper()
		var b bytes.Buffer
		if err := f(&b); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	full := text(func(b *bytes.Buffer) error { return Console(b, r, Options{Full: true, Width: 140}) })
	md := strings.NewReplacer("\u200b", "", "\\", "").Replace(text(func(b *bytes.Buffer) error { return Markdown(b, r, Options{Full: true}) }))
	for _, want := range []string{
		"Prefix cache: not as planned", "--enable-cache-report", "observed in 600, inferred 0 in 34, not observed in 2 of 636 ok requests",
		"Σ cached ÷ Σ input = 374,060 ÷ 634,000 over 634", "http://a/v1: a count left out is an inferred 0 (34 of these): request 3 reported",
		"http://b?[31m/v1: a count left out is not observed (1 of these)", "always reported, and 1 answer left them out",
		"the set's manifest: 570,600 tokens expected, 374,060 served, 196,540 apart row by row, of 634,000 input tokens in 634 requests (of 636 of which something was expected)",
		"device 300,000 · host 70,000 · storage 4,000 (HiCacheFile) · in no tier 60 of 374,060 cached tokens, in 600 requests that say so",
		"http://a/metrics: 60 %, the answers say 59 %", "first touch", "in flight with it", "session:0…", "38 others", "of phase prepare", "0 to 52.75",
	} {
		for view, got := range map[string]string{"console": full, "markdown": md} {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q", view, want)
			}
		}
	}
	short := text(func(b *bytes.Buffer) error { return Console(b, r, Options{}) })
	if !strings.Contains(short, "cache 59 % of input tokens came from the prefix cache (374,060 of 634,000)") || strings.Contains(short, "first touch") {
		t.Error("the first page should have one line of it")
	}
	csv := text(func(b *bytes.Buffer) error { return StatsCSV(b, r) })
	for _, want := range []string{"cache,,,,cached_ratio,share,634,,0.59", "first_touch_cached_ratio", "beside_first_cached_ratio", "repeat_cached_ratio", "nominal_cached_ratio", "cached_ratio of manifest:7", "cached_ratio of other groups", "storage_tokens,tokens,600,,4000", "cached_ratio by http://a/metrics", `"observed 600, inferred 34, not observed 2"`} {
		if !strings.Contains(csv, want) {
			t.Errorf("stats.csv lacks %q", want)
		}
	}
	for want, x := range map[string]*analysis.Cache{
		"cache cached tokens not observed": {Verdict: analysis.CacheHidden, Line: "not observable: nobody said", All: analysis.CacheShare{Requests: 5}},
		"cache not observable: absurd":     {Verdict: analysis.CacheHidden, Line: "not observable: absurd", All: analysis.CacheShare{Requests: 5}, Contradicted: 5},
	} {
		r.Cache = x
		if short := text(func(b *bytes.Buffer) error { return Console(b, r, Options{}) }); !strings.Contains(strings.Join(strings.Fields(short), " "), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	r.Cache = &analysis.Cache{Verdict: analysis.CacheHidden, Plan: &analysis.CachePlanned{By: "manifest", Requests: 20, PlannedTokens: 4864, PlannedInput: 10371}}
	if full := text(func(b *bytes.Buffer) error { return Console(b, r, Options{Full: true, Width: 200}) }); !strings.Contains(full, "4,864 tokens expected of 10,371 input tokens in 20 requests; served: not observed") || strings.Contains(full, "0 served") {
		t.Error("a plan of which nothing was told")
	}
	for _, verdict := range []struct {
		zero  bool
		shown bool
	}{{true, true}, {false, false}} {
		r.Cache = &analysis.Cache{Verdict: analysis.CacheHidden, Line: "not observable: nobody said", All: analysis.CacheShare{Requests: 5}, Plan: &analysis.CachePlanned{Zero: verdict.zero}}
		short := text(func(b *bytes.Buffer) error { return Console(b, r, Options{}) })
		if strings.Contains(short, "nobody said") != verdict.shown {
			t.Errorf("zero %v: shown %v", verdict.zero, !verdict.shown)
		}
	}
}

// Every line of a page keeps to its width.
func TestCacheFits(t *testing.T) {
	for _, width := range []int{60, 80, 200} {
		var b bytes.Buffer
		r := openLoop()
		r.Cache = cached()
		if err := Console(&b, r, Options{Full: true, Width: width}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(b.String(), "\n")
		from := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "Prefix cache") })
		for _, l := range lines[from:] {
			if columns.StringWidth(l) > width {
				t.Errorf("%d columns on a page of %d: %q", columns.StringWidth(l), width, l)
			}
		}
	}
}
