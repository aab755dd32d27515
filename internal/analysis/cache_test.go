package analysis

import (
	"fmt"
	"strings"
	"testing"

	"tokentape/tape"
)

// saysOfCache puts an argument of the server on the tape.
func (s *script) saysOfCache(name, value string) {
	s.more = append(s.more, &tape.ServerFacts{Type: "server", When: tape.FactsBefore, T: -5, URL: "http://127.0.0.1:30000", OK: true, Facts: map[string]string{"/get_server_info " + name: value}})
}

// What the report advises is never against what was asked or what the server said.
func TestCacheAdvice(t *testing.T) {
	for _, c := range []struct {
		name  string
		edit  func(*script)
		wants bool // that it is asked twice
		flag  bool // that reporting is switched on
	}{
		{"nothing known", func(*script) {}, true, true},
		{"asked twice", func(s *script) {
			s.more = append(s.more, &tape.Capabilities{Type: "capabilities", CachedTokens: tape.CachedUnknown})
		}, false, true},
		{"on", func(s *script) {
			s.saysOfCache("enable_cache_report", "true")
			s.more = append(s.more, &tape.Capabilities{Type: "capabilities", CachedTokens: tape.CachedNever, Inferred: []string{"cached_tokens"}})
		}, false, false},
	} {
		s := steadyRun(10)
		s.cached(tape.Some[int64](0), tape.Opt[int64]{})
		s.cache = &tape.CachePlan{By: tape.CacheBySpec, Zero: true}
		c.edit(s)
		do := s.analyse(t, Options{}).Cache.Do
		if got := strings.Contains(do, "probe: cache"); got != c.wants {
			t.Errorf("%s: %s", c.name, do)
		}
		if got := strings.Contains(do, "enable-cache-report"); got != c.flag {
			t.Errorf("%s: %s", c.name, do)
		}
	}
}

// What a missing count means hangs on what its server has proved in the run.
func TestCachedInference(t *testing.T) {
	count := tape.Some[int64]
	capable := func(found string) *tape.Capabilities {
		c := &tape.Capabilities{Type: "capabilities", CachedTokens: found, By: []string{"probe-0", "probe-1", "probe-2"}, CachedBy: []string{"probe-1", "probe-2"}}
		if found == tape.CachedNever {
			c.Inferred = []string{"cached_tokens"}
		}
		return c
	}
	for _, c := range []struct {
		name  string
		probe string
		edit  func(*script)
		want  string // observed/inferred/not observed, ratio
		line  string // part of the sentence
		state string // of the check cache_state
		also  string // part of its why
	}{
		{"nobody said anything", "", func(*script) {}, "0/0/10 null",
			"not observable: the server reported no cached tokens in 10 requests: it served none and leaves out 0, or does not report them", ResultNone, "not observable"},
		{"one answer with a count", "", func(s *script) { s.reqs[3].Tokens.Cached = count(50) }, "1/9/0 0.050",
			"5 % of input tokens came from the prefix cache (50 of 1,000), observed in 1, inferred 0 in 9 of 10 requests (request 3 reported a count above 0, and none a 0)", ResultPass, "inferred 0 in 9"},
		{"one answer with a 0: the server leaves none out", "", func(s *script) { s.reqs[3].Tokens.Cached = count(0) }, "1/0/9 0.000",
			"observed in 1 of 10 requests; not observed in 9: request 3 reported a 0, so that a count left out is none", ResultPass, "not observed in 9"},
		{"a count and a 0", "", func(s *script) { s.reqs[3].Tokens.Cached, s.reqs[4].Tokens.Cached = count(50), count(0) }, "2/0/8 0.250", "request 4 reported a 0", ResultPass, "not observed in 8"},
		{"every answer says", "", func(s *script) { s.cached(tape.Opt[int64]{}, count(0)) }, "10/0/0 0.000", "0 % of input tokens came from the prefix cache (0 of 1,000), observed in 10 of 10 requests", ResultPass, "observed in 10"},
		{"the probe saw 0 left out", tape.CachedAbove, func(*script) {}, "0/10/0 0.000",
			"inferred 0 in 10 of 10 requests (the probe (probe-1, probe-2) found that it reports counts above 0 and leaves 0 out)", ResultPass, "inferred 0 in 10"},
		{"the probe saw a count", tape.CachedSome, func(*script) {}, "0/10/0 0.000", "saw a count above 0, and none a 0", ResultPass, ""},
		{"the probe saw a 0: a missing count is no 0", tape.CachedAlways, func(*script) {}, "0/0/10 null",
			"in 10 requests: the probe (probe-1, probe-2) found that it reports 0 too, so that a count left out is none", ResultNone, ""},
		{"and in some requests", tape.CachedAlways, func(s *script) { s.cached(tape.Opt[int64]{}, count(50)); s.reqs[0].Tokens.Cached = tape.Opt[int64]{} }, "9/0/1 0.500",
			"not observed in 1: the probe found that cached tokens are always reported, and 1 answer left them out", ResultPass, ""},
		{"the probe saw none", tape.CachedNever, func(*script) {}, "0/0/10 null", "found none, although the cache served a prompt sent twice", ResultNone, ""},
		{"the probe could not tell", tape.CachedUnknown, func(*script) {}, "0/0/10 null", "sent a prompt twice and found none", ResultNone, ""},
		{"the server says that it reports", "", func(s *script) { s.saysOfCache("enable_cache_report", "true") }, "0/10/0 0.000",
			"(the server reports counts above 0 and leaves 0 out: enable_cache_report: true (GET /get_server_info))", ResultPass, ""},
		{"the server says that it reports, the probe that it served and did not", tape.CachedNever, func(s *script) { s.saysOfCache("enable_cache_report", "true") }, "0/0/10 null", "although the cache served", ResultNone, ""},
		{"the server says that it has no cache", tape.CachedUnknown, func(s *script) { s.saysOfCache("disable_radix_cache", "true") }, "0/10/0 0.000",
			"the server has no prefix cache: disable_radix_cache: true", ResultPass, ""},
		{"the server says that it does not report", "", func(s *script) { s.saysOfCache("enable_cache_report", "false") }, "0/0/10 null",
			"in 10 requests: the server does not report them: enable_cache_report: false (GET /get_server_info)", ResultNone, ""},
		{"the probe saw none, and an answer has one", tape.CachedNever, func(s *script) { s.reqs[3].Tokens.Cached = count(50) }, "1/9/0 0.050",
			"the probe found that cached tokens are never reported, and request 3 reported some", ResultMiss, "never reported, and request 3"},
		{"the probe saw 0 left out, and an answer has one", tape.CachedAbove, func(s *script) { s.reqs[3].Tokens.Cached = count(0) }, "1/0/9 0.000", "the probe found that 0 is left out, and request 3 reported one", ResultMiss, "0 is left out"},
		{"a word of a later version", "sometimes", func(*script) {}, "0/0/10 null", "not observable", ResultNone, ""},
		{"a warm-up request proves it too", "", func(s *script) {
			q := ok(10, 1000*msec, every(20, 50*msec, 10*msec)...)
			q.Phase, q.Tokens.Cached = tape.PhaseWarmup, count(7)
			s.reqs = append(s.reqs, q)
		}, "0/10/0 0.000", "request 10 (phase warmup) reported a count above 0", ResultPass, ""},
		{"an impossible count proves nothing, and nothing is inferred of it", "", func(s *script) { s.reqs[3].Tokens.Cached, s.reqs[4].Tokens.Cached = count(101), count(50) }, "1/8/1 0.056",
			"not observed in 1: 1 count that cannot be true (usage_contradicted)", ResultPass, ""},
		{"nor of one that is no count", "", func(s *script) { s.reqs[3].Tokens.Unread, s.reqs[4].Tokens.Cached = "cached=-3", count(50) }, "1/8/1 0.056", "1 count that cannot be true", ResultPass, ""},
		{"without usage nothing is inferred", "", func(s *script) { s.reqs[3].Tokens, s.reqs[4].Tokens.Cached = tape.Tokens{}, count(50) }, "1/8/1 0.056", "not observed in 1: their answers carried no usage", ResultPass, ""},
		{"nor from the tokenizer's input", "", func(s *script) {
			s.reqs[3].Tokens.InputSource, s.reqs[4].Tokens.Cached = tape.SourceTokenizer, count(50)
		}, "1/8/1 0.056", "not observed in 1", ResultPass, ""},
		{"two servers prove each for itself", "", func(s *script) {
			for i, q := range s.reqs {
				q.URL = count(int64(i % 2))
			}
			s.reqs[4].Tokens.Cached = count(50)
			s.urls = []string{"http://a/v1", "http://b/v1"}
		}, "1/4/5 0.100", "not observed in 5: http://b/v1: no answer of this run carried the count", ResultPass, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := steadyRun(10)
			if c.probe != "" {
				s.more = append(s.more, capable(c.probe))
			}
			c.edit(s)
			res := s.analyse(t, Options{})
			a := res.Cache.All
			if got := fmt.Sprintf("%d/%d/%d %s", a.Observed, a.Inferred, a.NotObserved, num(a.Ratio, 3)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			said := res.Cache.Line
			for _, e := range res.Cache.Evidence {
				said += "; " + e.Contradicted
			}
			if !strings.Contains(said, c.line) {
				t.Errorf("%q does not say %q", said, c.line)
			}
			if k := check(t, res, "cache_state"); k.Result != c.state || !strings.Contains(k.Why, c.also) {
				t.Errorf("cache_state %s: %s", k.Result, k.Why)
			}
			// Windows, rows and the section count alike.
			w := windowOf(t, res, "whole")
			if *w.Facts.CachedN+*w.Facts.CachedInferN != a.Observed+a.Inferred || num(w.Facts.CachedRatio, 9) != num(a.Ratio, 9) {
				t.Errorf("the window says %d + %d, %s", *w.Facts.CachedN, *w.Facts.CachedInferN, num(w.Facts.CachedRatio, 9))
			}
			sources := map[string]int64{}
			for _, row := range res.Rows.All() {
				if row.Phase != string(tape.PhaseMeasure) {
					continue
				}
				if sources[row.CachedSource]++; (row.CachedSource == "") != (row.Cached == nil) {
					t.Errorf("row %d: %v from %q", row.Seq, row.Cached, row.CachedSource)
				}
			}
			if sources[CachedObserved] != a.Observed || sources[CachedInferred] != a.Inferred || sources[""] != a.NotObserved {
				t.Errorf("rows: %v", sources)
			}
			// A value that is made of it says so.
			e := explain(t, s, "cached_tokens")
			if want := fmt.Sprintf("observed in %d, inferred 0 in %d, not observed in %d", a.Observed, a.Inferred, a.NotObserved); !strings.Contains(join(e.How, "\n"), want) {
				t.Errorf("%q not in %q", want, e.How)
			}
		})
	}
}

func TestZeroCacheVerdict(t *testing.T) {
	count := tape.Some[int64]
	none := tape.Opt[int64]{}
	for _, c := range []struct {
		name          string
		by            string
		edit          func(*script)
		verdict, line string
		do            string
	}{
		{"reported at 0", tape.CacheBySpec, func(s *script) { s.cached(count(0), count(0)) }, CacheConfirmed,
			"zero cache confirmed: 0 % of input tokens came from the prefix cache (0 of 1,000), observed in 10 of 10 requests", ""},
		{"left out at 0, and one hit below the limit", tape.CacheBySpec, func(s *script) { s.cached(count(0), none); s.reqs[0].Tokens.Cached = count(9) }, CacheConfirmed,
			"observed in 1, inferred 0 in 9 of 10 requests (request 0 reported", ""},
		{"hits", tape.CacheBySpec, func(s *script) { s.cached(count(0), count(59)) }, CacheRefuted, "zero cache refuted: 59 % of input tokens came from the prefix cache (590 of 1,000), observed in 10 of 10 requests", ""},
		{"silence", tape.CacheBySpec, func(s *script) { s.cached(count(0), none) }, CacheHidden, "zero cache not observable: the server reported no cached tokens in 10 requests", "--enable-cache-report"},
		{"silence in part", tape.CacheBySpec, func(s *script) { s.cached(count(0), none); s.reqs[0].Tokens.Cached = count(0) }, CachePartly, "zero cache confirmed in 1 of 10 requests: 0 %", "probe: cache"},
		{"all failed", tape.CacheBySpec, func(s *script) {
			for i := range s.reqs {
				s.reqs[i] = failed(int64(i), 0, msec, tape.OutcomeReset, "reset")
			}
		}, CacheStated, "", ""},
		{"as built", tape.CacheByManifest, func(s *script) { s.cached(count(50), count(50)) }, CacheAsPlanned, "50 % of input tokens came from the prefix cache (500 of 1,000), as planned (50 % expected), observed in 10 of 10", ""},
		{"not as built", tape.CacheByManifest, func(s *script) { s.cached(count(50), count(20)) }, CacheOffPlan, "20 % of input tokens came from the prefix cache (200 of 1,000), not as planned (50 % expected)", ""},
		{"later turns are not expected", tape.CacheByManifest, func(s *script) {
			s.cached(none, count(90))
			s.reqs[0].Asked.Cached, s.reqs[0].Tokens.Cached = count(0), count(0)
		}, CacheAsPlanned,
			"0 % of input tokens came from the prefix cache (0 of 100) in the 1 request of which something was expected, 81 % in all", ""},
		{"nothing was expected", "", func(s *script) { s.cached(none, count(30)) }, CacheStated, "30 % of input tokens came from the prefix cache (300 of 1,000), observed in 10 of 10 requests", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := steadyRun(10)
			c.edit(s)
			if s.cache = nil; c.by != "" {
				s.cache = &tape.CachePlan{By: c.by, Zero: c.by == tape.CacheBySpec}
			}
			x := s.analyse(t, Options{}).Cache
			if c.name == "all failed" {
				if x.Verdict != CacheHidden || !strings.Contains(x.Line, "no measured request ended well") {
					t.Errorf("%s: %s", x.Verdict, x.Line)
				}
				return
			}
			if x.Verdict != c.verdict || !strings.Contains(x.Line, c.line) || !strings.Contains(x.Do, c.do) || c.do == "" && x.Do != "" {
				t.Errorf("%s: %s (%s)", x.Verdict, x.Line, x.Do)
			}
		})
	}
}

// The advice names the engine that was met.
func TestMakeVisible(t *testing.T) {
	for engine, want := range map[string]string{"sglang": "start SGLang with --enable-cache-report", "vLLM": "start vLLM with --enable-prompt-tokens-details", "": "SGLang with --enable-cache-report, vLLM with"} {
		r := &run{header: &tape.Header{Server: tape.Server{Engine: engine}}}
		if got := r.makeVisible(false); !strings.Contains(got, want) {
			t.Errorf("%s: %s", engine, got)
		}
	}
	r := &run{header: &tape.Header{}}
	r.spec.Target.API = "ollama"
	if got := r.makeVisible(true); !strings.Contains(got, "no field") || strings.Contains(got, "probe") {
		t.Error(got)
	}
}

// First touches, those sent beside them, and repeats; by group, by session, by row,
// on each server apart; preparation counts.
func TestTouches(t *testing.T) {
	count := tape.Some[int64]
	names := func(s *script) (out string) {
		res := s.analyse(t, Options{})
		for _, row := range res.Rows.All() {
			if row.Phase == string(tape.PhaseMeasure) {
				out += map[string]string{TouchFirst: "f", TouchBeside: "b", TouchRepeat: "r", "": "-"}[row.Touch]
			}
		}
		x := res.Cache.Touches
		if x == nil {
			return out
		}
		return fmt.Sprintf("%s %d/%d/%d %s %s", out, x.First.Requests, x.Beside.Requests, x.Repeat.Requests, num(x.First.Ratio, 2), num(x.Repeat.Ratio, 2))
	}
	reported := func(n int64) *script {
		s := steadyRun(n) // 100 ms apart, first token after 50 ms
		for i, q := range s.reqs {
			q.Tokens.Cached = count(int64(i) * 10)
		}
		return s
	}
	for _, c := range []struct {
		name string
		edit func(*script)
		want string
	}{
		{"every row its own", func(*script) {}, "ffff 4/0/0 0.15 null"},
		{"rows again", func(s *script) { s.reqs[2].Ref, s.reqs[3].Ref = s.reqs[0].Ref, s.reqs[1].Ref }, "ffrr 2/0/2 0.05 0.25"},
		{"groups", func(s *script) {
			for i, q := range s.reqs {
				q.Asked.Group = fmt.Sprint(tape.GroupManifest, i/3)
			}
		}, "frrf 2/0/2 0.15 0.15"},
		{"a system message makes no first touch", func(s *script) {
			for _, q := range s.reqs {
				q.Asked.Group = tape.GroupSystem + "aa"
			}
		}, "ffff 4/0/0 0.15 null"},
		{"turns of a session", func(s *script) {
			for i, q := range s.reqs {
				q.Session, q.Turn = tape.Some("s1"), i
			}
		}, "frrr 1/0/3 0.00 0.20"},
		{"sent before the first had a token", func(s *script) {
			for _, q := range s.reqs {
				q.Asked.Group = "manifest:0"
			}
			moved(s.reqs[1], -60*msec) // 40 ms after the first
		}, "fbrr 1/1/2 0.00 0.25"},
		{"not by number, by time", func(s *script) {
			s.reqs[0].Ref = s.reqs[3].Ref
			moved(s.reqs[0], 5000*msec)
		}, "rfff 3/0/1 0.20 0.00"},
		{"on two servers", func(s *script) {
			for i, q := range s.reqs {
				q.Asked.Group, q.URL = "manifest:0", count(int64(i%2))
			}
		}, "ffrr 2/0/2 0.05 0.25"},
		{"seeded by preparation", func(s *script) {
			q := ok(tape.PrepareSeq, -500*msec, 10*msec)
			q.Phase, q.Asked.Group = tape.PhasePrepare, "manifest:0"
			s.reqs = append(s.reqs, q)
			for _, q := range s.reqs {
				q.Asked.Group = "manifest:0"
			}
		}, "rrrr 0/0/4 null 0.15"},
		{"the same row of another dataset", func(s *script) {
			for i, q := range s.reqs {
				q.Ref = tape.Ref{Row: 1, Data: int64(i % 2)}
			}
		}, "ffrr 2/0/2 0.05 0.25"},
		{"nothing reported: nothing to tell apart", func(s *script) {
			for _, q := range s.reqs {
				q.Tokens.Cached = tape.Opt[int64]{}
			}
		}, "----"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := reported(4)
			c.edit(s)
			if got := names(s); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// moved moves a request in time.
func moved(q *tape.Request, by int64) {
	for _, t := range []*tape.Opt[int64]{&q.TDue, &q.TReady, &q.TReleased, &q.TConn, &q.TWroteFirst, &q.TWrote, &q.TFirstEvent, &q.TFirstToken, &q.TFirstVisible, &q.TLastToken, &q.TEnd} {
		t.V += by
	}
}

func TestGroupsTiersAndTime(t *testing.T) {
	count := tape.Some[int64]
	s := steadyRun(300)
	for i, q := range s.reqs {
		q.Asked.Group = fmt.Sprint(tape.GroupManifest, i%25)
		q.Tokens.Cached = count(50)
		if i < 25 {
			q.Tokens.Cached = count(0)
		}
		if i >= 200 { // ten more of the group 7
			q.Tokens.CachedDevice, q.Tokens.CachedHost = count(20), count(20)
		}
		if i >= 290 {
			q.Asked.Group = "manifest:7"
		}
	}
	s.reqs[299].Tokens.CachedStorage, s.reqs[299].Tokens.CachedBackend = count(10), "HiCacheFile"
	x := s.analyse(t, Options{}).Cache
	if x.GroupCount != 25 || len(x.Groups) != shownGroups || x.Rest == nil {
		t.Fatalf("%d groups, %d listed, rest %+v", x.GroupCount, len(x.Groups), x.Rest)
	}
	g := x.Groups[0]
	if g.Name != "manifest:7" || g.Requests != 22 || *g.FirstRatio != 0 || num(g.RepeatRatio, 2) != "0.50" || g.FirstSeq != 7 || g.RepeatN != 21 {
		t.Errorf("%+v", g)
	}
	var n int64
	for _, g := range x.Groups {
		n += g.Requests
	}
	if n+x.Rest.Requests != 300 {
		t.Errorf("%d + %d requests", n, x.Rest.Requests)
	}
	if len(x.Time) != 20 || num(x.Time[0].Ratio, 2) != "0.00" || num(x.Time[19].Ratio, 2) != "0.50" {
		t.Errorf("%d slices", len(x.Time))
	}
	n = 0
	for _, k := range x.Time {
		n += k.Requests
	}
	if n != 300 {
		t.Errorf("slices hold %d requests", n)
	}
	if w := x.Tiers; w.N != 100 || w.Cached != 5000 || *w.Device != 2000 || *w.Host != 2000 || *w.Storage != 10 || w.Untold != 990 || join(w.Backends, " ") != "HiCacheFile" {
		t.Errorf("%+v", w)
	}
	// No cache, no word of groups; and no division by nothing.
	for _, q := range s.reqs {
		q.Tokens.Cached, q.Tokens.CachedDevice, q.Tokens.CachedHost, q.Tokens.CachedStorage = tape.Opt[int64]{}, tape.Opt[int64]{}, tape.Opt[int64]{}, tape.Opt[int64]{}
	}
	if x := s.analyse(t, Options{}).Cache; x.Groups != nil || x.Time != nil || x.Tiers != nil || x.Touches != nil {
		t.Errorf("%+v", x)
	}
}

// Metrics pages are a third account, and the only one where answers say nothing.
func TestCacheWitness(t *testing.T) {
	page := func(at int64, cached, prompt float64) *tape.Scrape {
		return &tape.Scrape{Type: "scrape", T: at, Source: "http://h/metrics", OK: true, Kind: "sglang", Series: map[string]float64{"sglang:cached_tokens_total": cached, "sglang:prompt_tokens_total": prompt}}
	}
	s := steadyRun(10)
	s.more = append(s.more, page(0, 100, 1000), page(500*msec, 300, 1500), page(1200*msec, 400, 2000))
	x := s.analyse(t, Options{}).Cache
	if len(x.Witnesses) != 1 {
		t.Fatalf("%+v", x)
	}
	if w := x.Witnesses[0]; num(w.Ratio, 2) == "null" || !strings.Contains(w.Says, "the answers say nothing") || !strings.Contains(x.Line, "its metrics pages say") {
		t.Errorf("%+v: %s", w, x.Line)
	}
	// Where zero was meant, what they say refutes it.
	s.cache = &tape.CachePlan{By: tape.CacheBySpec, Zero: true}
	for _, q := range s.reqs {
		q.Asked.Cached = tape.Some[int64](0)
	}
	res := s.analyse(t, Options{})
	if x := res.Cache; x.Verdict != CacheByPages || !strings.Contains(x.Line, "(inferred: counters of the whole server") || !strings.Contains(res.Verdict.Line, CacheByPages) {
		t.Errorf("%s: %s; %s", x.Verdict, x.Line, res.Verdict.Line)
	}
	for _, q := range s.reqs {
		q.Tokens.Cached = tape.Some[int64](30)
	}
	if x := s.analyse(t, Options{}).Cache; !strings.Contains(x.Witnesses[0].Says, "the answers say 30 %") {
		t.Errorf("%+v", x.Witnesses)
	}
}
