package scrape

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tokentape/internal/analysis/catalog"
	"tokentape/internal/clock"
	"tokentape/internal/telemetry"
	"tokentape/tape"
)

const sec = 1_000_000_000

type page = map[string]float64

// pages are whole readings of one source, one a second from t = 0; nil: it failed.
func pages(all ...page) *Source {
	var c Collector
	for i, p := range all {
		s := &tape.Scrape{T: int64(i) * sec, Source: "s", OK: p != nil, Series: p}
		if p == nil {
			s.Cause, s.Error = tape.ScrapeTimeout, "no answer"
		}
		c.Add(s)
	}
	return c.Sources()[0]
}

// all covers the time from a to b in seconds.
func (s *Source) all(a, b float64) *Cover {
	c := s.Cover([]Span{{int64(a * sec), int64(b * sec)}}, s.Pace(sec))
	return &c
}

func (c *Cover) row(name string) *Value {
	for _, v := range c.Values() {
		if v.Row.Name == name {
			return &v
		}
	}
	return nil
}

func is(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > 1e-9*max(1, math.Abs(want)) {
		s := "nothing"
		if got != nil {
			s = fmt.Sprint(*got)
		}
		t.Errorf("%s is %s, want %g", what, s, want)
	}
}

// Rows and catalogue name the same, every alias is of a row, and what a row needs is
// recorded by default.
func TestNames(t *testing.T) {
	for i := range Rows {
		if e, ok := catalog.Find("server."+Rows[i].Name, catalog.KindServer); !ok || e.Title == "" || e.Definition == "" {
			t.Errorf("the catalogue does not explain %s", Rows[i].Name)
		}
	}
	if n := len(catalog.Of(catalog.KindServer)); n != len(Rows) {
		t.Errorf("%d rows, %d in the catalogue", len(Rows), n)
	}
	var text strings.Builder
	want := map[string]bool{}
	for _, a := range names {
		row := RowNamed(a.row)
		if row == nil {
			t.Errorf("%s is of no row %s", a.series, a.row)
			continue
		}
		name := a.series
		if row.Type == Histogram {
			name += "_count"
		}
		if !want[name] {
			want[name] = true
			fmt.Fprintf(&text, "%s 1\n", name)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var got *tape.Scrape
		s := telemetry.Scraper{Clock: clock.New(), Emit: func(s *tape.Scrape) { got = s; cancel() },
			Fetch: func(context.Context, telemetry.Source) (telemetry.Page, error) {
				return telemetry.Page{Status: 200, Body: []byte(text.String())}, nil
			}}
		s.Run(ctx, []telemetry.Source{{Name: "s", Interval: time.Second}})
		for name := range want {
			if _, ok := got.Series[name]; !ok && got.Same == (tape.Opt[int64]{}) {
				t.Errorf("%s is not recorded", name)
			}
		}
	})
}

func TestSplit(t *testing.T) {
	for text, want := range map[string]map[string]string{
		`a`: nil, `a{}`: {}, `a{b="c",d="e"}`: {"b": "c", "d": "e"}, `a{b="x\"y\\z\n,}"}`: {"b": "x\"y\\z\n,}"},
		`a{b`: {}, `a{b="c`: {"b": "c"}, `a{b="c"`: {"b": "c"}, `a{b="c"d="e"}`: {"b": "c", "d": "e"},
	} {
		name, got := split(text)
		if name != "a" || !cmp.Equal(got, want) {
			t.Errorf("%s: %q, %v", text, name, got)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add(`a{b="c",d="e\n"}`)
	f.Fuzz(func(_ *testing.T, s string) { split(s) })
}

func TestCounters(t *testing.T) {
	const tokens, asked = "sglang:generation_tokens_total", "sglang:num_requests_total"
	for _, c := range []struct {
		name          string
		src           *Source
		from, to      float64
		increase, per float64
		resets        int64
		absent        bool
	}{
		{"grows", pages(page{tokens: 10}, page{tokens: 25}, page{tokens: 40}), 0, 2, 30, 15, 0, false},
		{"readings at the ends count", pages(page{tokens: 10}, page{tokens: 25}, page{tokens: 40}), 0.5, 2.9, 15, 15, 0, false},
		{"one reading is no increase", pages(page{tokens: 10}, page{tokens: 25}), 0.5, 1.5, 0, 0, 0, true},
		{"a fall begins anew", pages(page{tokens: 10}, page{tokens: 25}, page{tokens: 4}, page{tokens: 9}), 0, 3, 15 + 4 + 5, 8, 1, false},
		{"the fall is outside", pages(page{tokens: 10}, page{tokens: 25}, page{tokens: 4}, page{tokens: 9}), 2, 3, 5, 5, 0, false},
		{"a series that comes later began at 0", pages(page{asked: 0}, page{asked: 1, tokens: 7}, page{asked: 2, tokens: 9}), 0, 2, 9, 4.5, 0, false},
		{"what it had counted before the first reading", pages(page{tokens: 1000}, page{tokens: 1001}), 0, 1, 1, 1, 0, false},
		{"it goes, and comes back", pages(page{tokens: 10}, page{asked: 1}, page{tokens: 12}), 0, 2, 2, 1, 0, false},
		{"a failed reading between", pages(page{tokens: 10}, nil, page{tokens: 16}), 0, 2, 6, 3, 0, false},
		{"below 0 does not count", pages(page{tokens: 10}, page{tokens: -5}, page{tokens: 16}), 0, 2, 6, 3, 0, false},
		{"floats", pages(page{tokens: 0.25}, page{tokens: 0.75}), 0, 1, 0.5, 0.5, 0, false},
		{"ranks of one engine are counted once", pages(
			page{tokens + `{dp_rank="0",tp_rank="0"}`: 1, tokens + `{dp_rank="0",tp_rank="1"}`: 1, tokens + `{dp_rank="1",tp_rank="2"}`: 10},
			page{tokens + `{dp_rank="0",tp_rank="0"}`: 3, tokens + `{dp_rank="0",tp_rank="1"}`: 3, tokens + `{dp_rank="1",tp_rank="2"}`: 50}), 0, 1, 42, 42, 0, false},
		{"another spelling", pages(page{"sglang_generation_tokens_total": 1}, page{"sglang_generation_tokens_total": 2}), 0, 1, 1, 1, 0, false},
		{"without _total", pages(page{"vllm:generation_tokens": 1}, page{"vllm:generation_tokens": 2}), 0, 1, 1, 1, 0, false},
		{"out of all bounds", pages(page{tokens: 1}, page{tokens: 1e300}, page{tokens: 2}), 0, 2, 1, 0.5, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := c.src.all(c.from, c.to).row("generation_tokens")
			if (v == nil) != c.absent {
				t.Fatalf("%+v", v)
			}
			if v == nil {
				return
			}
			is(t, "increase", v.Increase, c.increase)
			is(t, "rate", v.PerSecond, c.per)
			if v.Resets != c.resets {
				t.Errorf("%d resets, want %d", v.Resets, c.resets)
			}
		})
	}
}

func TestRestarts(t *testing.T) {
	for _, c := range []struct {
		name     string
		src      *Source
		restarts int64
		increase float64
	}{
		{"start time moved, counters unchanged", pages(page{startTime: 5, "tgi_request_success": 3}, page{startTime: 9, "tgi_request_success": 3}), 1, 3},
		{"start time moved, and higher", pages(page{startTime: 5, "tgi_request_success": 3}, page{startTime: 9, "tgi_request_success": 8}), 1, 8},
		{"labels of the start time", pages(page{startTime + `{pid="1"}`: 5, "tgi_request_success": 3}, page{startTime + `{pid="1"}`: 6, "tgi_request_success": 4}), 1, 4},
		{"one counter alone", pages(page{"tgi_request_success": 3, "tgi_request_generated_tokens_sum": 9, "tgi_request_input_length_sum": 9}, page{"tgi_request_success": 1, "tgi_request_generated_tokens_sum": 10, "tgi_request_input_length_sum": 10}), 0, 1},
		{"most counters at once", pages(page{"tgi_request_success": 3, "tgi_request_generated_tokens_sum": 9, "tgi_request_input_length_sum": 9}, page{"tgi_request_success": 1, "tgi_request_generated_tokens_sum": 0, "tgi_request_input_length_sum": 9}), 1, 1},
		{"nothing", pages(page{startTime: 5, "tgi_request_success": 3}, page{startTime: 5, "tgi_request_success": 4}), 0, 1},
		{"reset, in the same process", pages(page{startTime: 5, "tgi_request_success": 3, "tgi_request_generated_tokens_sum": 9}, page{startTime: 5, "tgi_request_success": 1, "tgi_request_generated_tokens_sum": 2}), 0, 1},
		{"another process beside it", pages(page{startTime + `{pid="1"}`: 5, "tgi_request_success": 3, "tgi_request_generated_tokens_sum": 9}, page{startTime + `{pid="1"}`: 5, startTime + `{pid="2"}`: 9, "tgi_request_success": 1, "tgi_request_generated_tokens_sum": 2}), 1, 1},
		{"its start time is gone", pages(page{startTime: 5, "tgi_request_success": 3, "tgi_request_generated_tokens_sum": 9}, page{"tgi_request_success": 1, "tgi_request_generated_tokens_sum": 2}), 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.src.Restarts != c.restarts {
				t.Errorf("%d restarts, want %d: %+v", c.src.Restarts, c.restarts, c.src.Resets)
			}
			is(t, "increase", c.src.all(0, 1).row("requests").Increase, c.increase)
		})
	}
}

func TestGauges(t *testing.T) {
	const q = "sglang:num_queue_reqs"
	src := pages(page{q: 2}, page{q: 4}, page{q: 6}, nil, nil, nil, page{q: 100}, page{q: 0})
	v := src.all(0, 7).row("queue_depth")
	// 2, 4 for a second each, 6 for none of the gap, 100 for a second
	is(t, "mean", v.Mean, (2.0+4+100)/3)
	is(t, "min", v.Min, 0)
	is(t, "max", v.Max, 100)
	is(t, "last", v.Last, 0)
	if v.N != 5 {
		t.Errorf("n %d", v.N)
	}
	gaps := src.Gaps(src.Pace(sec), 7*sec)
	if want := []Gap{{2 * sec, 6 * sec, "timeout"}}; !cmp.Equal(gaps, want) {
		t.Errorf("%+v", gaps)
	}
	if c := src.all(0, 7); c.Gaps != 1 || c.Readings != 5 || c.Covered != 7*sec {
		t.Errorf("%+v", c)
	}
	is(t, "one reading", src.all(0.5, 1.5).row("queue_depth").Mean, 4)
	if c := src.all(2.5, 5.5); len(c.Values()) != 0 || c.Readings != 0 {
		t.Errorf("in the gap: %+v", c.Values())
	}
	// several series: the sum; of shares the mean, with the ends of single ones
	two := pages(page{q + `{dp_rank="0"}`: 1, q + `{dp_rank="1"}`: 5, `sglang:token_usage{dp_rank="0"}`: 0.2, `sglang:token_usage{dp_rank="1"}`: 0.8},
		page{q + `{dp_rank="0"}`: 1, `sglang:token_usage{dp_rank="0"}`: 0.2})
	v = two.all(0, 1).row("queue_depth")
	is(t, "sum", v.Mean, 6)
	is(t, "what is left", v.Last, 1)
	v = two.all(0, 1).row("kv_usage")
	is(t, "mean of ranks", v.Mean, 0.5)
	is(t, "the fullest rank", v.Max, 0.8)
	is(t, "percent", pages(page{"DCGM_FI_DEV_GPU_UTIL": 50}).all(0, 0).row("device_utilisation").Mean, 0.5)
	is(t, "MiB", pages(page{"DCGM_FI_DEV_FB_USED": 2}).all(0, 0).row("device_memory_used").Mean, 2<<20)
}

// A page that dies is in a gap until the end of the run; one that is slow has a pace
// of its own.
func TestGapsAtTheEnds(t *testing.T) {
	src := pages(nil, nil, nil, page{"a": 1}, page{"a": 1}, nil)
	if got, want := src.Gaps(src.Pace(sec), 20*sec), []Gap{{0, 3 * sec, "timeout"}, {4 * sec, 20 * sec, "timeout"}}; !cmp.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	var c Collector
	for i := range 10 {
		c.Add(&tape.Scrape{T: int64(i) * 3 * sec, Source: "slow", OK: true, Missed: 2, Series: page{"a": 1}})
	}
	slow := c.Sources()[0]
	if gaps := slow.Gaps(slow.Pace(sec), 28*sec); len(gaps) != 0 || slow.Missed != 20 {
		t.Errorf("%+v, %d missed", gaps, slow.Missed)
	}
	never := pages(nil, nil)
	if gaps := never.Gaps(never.Pace(0), 5*sec); len(gaps) != 0 { // no pace is known
		t.Errorf("%+v", gaps)
	}
	if gaps := never.Gaps(never.Pace(sec), 5*sec); len(gaps) != 1 {
		t.Errorf("%+v", gaps)
	}
}

// buckets of SGLang's TTFT by bound, with count and sum.
func ttft(le map[string]float64, more page) page {
	p := page{}
	for b, n := range le {
		p[`sglang:time_to_first_token_seconds_bucket{le="`+b+`"}`] = n
	}
	for k, v := range more {
		p["sglang:time_to_first_token_seconds_"+k] = v
	}
	return p
}

func TestHistograms(t *testing.T) {
	type bounds struct{ value, low, high float64 } // NaN: none
	nan := math.NaN()
	zero := ttft(map[string]float64{"0.1": 0, "0.2": 0, "0.4": 0, "+Inf": 0}, page{"count": 0, "sum": 0})
	bare := ttft(map[string]float64{"0.1": 0, "0.2": 0, "0.4": 0, "+Inf": 0}, page{"count": 0})
	for _, c := range []struct {
		name     string
		a, b     page
		n        float64
		mean     float64
		p50, p99 bounds
		warning  string
	}{
		{"in the middle of a bucket", zero, ttft(map[string]float64{"0.1": 0, "0.2": 10, "0.4": 10, "+Inf": 10}, page{"count": 10, "sum": 1.5}), 10, 150, bounds{150, 100, 200}, bounds{199, 100, 200}, ""},
		{"the first bucket begins at 0", zero, ttft(map[string]float64{"0.1": 10, "0.2": 10, "0.4": 10, "+Inf": 10}, page{"count": 10, "sum": 0.5}), 10, 50, bounds{50, 0, 100}, bounds{99, 0, 100}, ""},
		{"beyond the last bound", zero, ttft(map[string]float64{"0.1": 0, "0.2": 0, "0.4": 6, "+Inf": 10}, page{"count": 10, "sum": 5}), 10, 500, bounds{200 + 200*5/6.0, 200, 400}, bounds{nan, 400, nan}, ""},
		{"only what was added", ttft(map[string]float64{"0.1": 100, "0.2": 100, "0.4": 100, "+Inf": 100}, page{"count": 100, "sum": 5}), ttft(map[string]float64{"0.1": 100, "0.2": 100, "0.4": 104, "+Inf": 104}, page{"count": 104, "sum": 6.2}), 4, 300, bounds{300, 200, 400}, bounds{398, 200, 400}, ""},
		{"empty buckets are passed over", zero, ttft(map[string]float64{"0.1": 5, "0.2": 5, "0.4": 10, "+Inf": 10}, page{"count": 10, "sum": 2}), 10, 200, bounds{100, 0, 100}, bounds{200 + 200*4.9/5, 200, 400}, ""},
		{"no bucket +Inf", ttft(map[string]float64{"0.1": 0, "0.2": 0}, page{"count": 0}), ttft(map[string]float64{"0.1": 5, "0.2": 6}, page{"count": 10}), 10, nan, bounds{100, 0, 100}, bounds{nan, 200, nan}, "no bucket +Inf: the count stands for it"},
		{"no bucket +Inf and no count", ttft(map[string]float64{"0.1": 0, "0.2": 0}, nil), ttft(map[string]float64{"0.1": 5, "0.2": 6}, nil), 6, nan, bounds{60, 0, 100}, bounds{194, 100, 200}, "what lies above the last bound is not known"},
		{"buckets that fall", bare, ttft(map[string]float64{"0.1": 6, "0.2": 4, "0.4": 10, "+Inf": 10}, page{"count": 10}), 10, nan, bounds{100 * 5 / 6.0, 0, 100}, bounds{200 + 200*3.9/4, 200, 400}, "were raised to the one before"},
		{"count and bucket +Inf differ", bare, ttft(map[string]float64{"0.1": 0, "0.2": 10, "0.4": 10, "+Inf": 10}, page{"count": 12}), 10, nan, bounds{150, 100, 200}, bounds{199, 100, 200}, "differ"},
		{"no buckets", ttft(nil, page{"count": 0, "sum": 0}), ttft(nil, page{"count": 4, "sum": 2}), 4, 500, bounds{nan, nan, nan}, bounds{nan, nan, nan}, ""},
		{"a bound that is no number", ttft(map[string]float64{"x": 0, "+Inf": 0}, nil), ttft(map[string]float64{"x": 1, "+Inf": 2}, nil), 2, nan, bounds{nan, 0, nan}, bounds{nan, 0, nan}, ""},
		{"restarted", ttft(map[string]float64{"0.1": 50, "0.2": 50, "+Inf": 50}, page{"count": 50, "sum": 1}), ttft(map[string]float64{"0.1": 0, "0.2": 4, "+Inf": 4}, page{"count": 4, "sum": 0.6}), 4, 150, bounds{150, 100, 200}, bounds{199, 100, 200}, ""},
		{"nothing came", zero, zero, 0, nan, bounds{nan, nan, nan}, bounds{nan, nan, nan}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := pages(c.a, c.b).all(0, 1).row("ttft_ms").Histogram
			if d.N != c.n {
				t.Errorf("n %g, want %g", d.N, c.n)
			}
			same := func(what string, got *float64, want float64) {
				t.Helper()
				if math.IsNaN(want) {
					if got != nil {
						t.Errorf("%s is %g, want none", what, *got)
					}
					return
				}
				is(t, what, got, want)
			}
			same("mean", d.Mean, c.mean)
			for q, want := range map[float64]bounds{0.5: c.p50, 0.99: c.p99} {
				b, ok := d.Quantile(q)
				low := &b.Low
				if !ok {
					low = nil
				}
				name := fmt.Sprintf("p%g ", q*100)
				same(name+"low", low, want.low)
				same(name+"high", b.High, want.high)
				same(name, b.Value, want.value)
			}
			if text := strings.Join(d.Warnings, "; "); (text == "") != (c.warning == "") || !strings.Contains(text, c.warning) {
				t.Errorf("warnings %q, want %q", text, c.warning)
			}
		})
	}
}

func TestDerived(t *testing.T) {
	c := pages(page{"vllm:prefix_cache_queries_total": 100, "vllm:prefix_cache_hits_total": 10, "vllm:spec_decode_num_drafts_total": 0, "vllm:spec_decode_num_draft_tokens_total": 0, "vllm:spec_decode_num_accepted_tokens_total": 0, "vllm:generation_tokens_total": 0},
		page{"vllm:prefix_cache_queries_total": 200, "vllm:prefix_cache_hits_total": 60, "vllm:spec_decode_num_drafts_total": 10, "vllm:spec_decode_num_draft_tokens_total": 40, "vllm:spec_decode_num_accepted_tokens_total": 15, "vllm:generation_tokens_total": 20},
		page{"vllm:prefix_cache_queries_total": 200, "vllm:prefix_cache_hits_total": 60, "vllm:spec_decode_num_drafts_total": 10, "vllm:spec_decode_num_draft_tokens_total": 40, "vllm:spec_decode_num_accepted_tokens_total": 15, "vllm:generation_tokens_total": 80}).all(0, 2)
	is(t, "hit rate", c.row("cache_hit_rate").Mean, 0.5)
	is(t, "accept rate", c.row("accept_rate").Mean, 15.0/40)
	is(t, "accept length", c.row("accept_length").Mean, 2.5)
	v := c.row("generation_throughput")
	is(t, "throughput", v.Mean, 40)
	is(t, "its least", v.Min, 20)
	is(t, "its greatest", v.Max, 60)
	anew := pages(page{"vllm:prefix_cache_queries_total": 100, "vllm:prefix_cache_hits_total": 10},
		page{"vllm:prefix_cache_queries_total": 8, "vllm:prefix_cache_hits_total": 2},
		page{"vllm:prefix_cache_queries_total": 9, "vllm:prefix_cache_hits_total": 1}).all(0, 2)
	if v := anew.row("cache_hit_rate"); v.Resets != 2 { // two moments, in one of them two series
		t.Errorf("%+v", v)
	}
	lines := c.src.Lines(600)
	if len(lines) != 1 || len(lines[0].Points) != 2 || lines[0].Points[1] != (Point{2 * sec, 60, 60, 60}) {
		t.Errorf("%+v", lines)
	}
	// the engine's own gauge goes before what could be derived
	own := pages(page{"sglang:gen_throughput": 7, "sglang:generation_tokens_total": 1}, page{"sglang:gen_throughput": 7, "sglang:generation_tokens_total": 100}).all(0, 1)
	is(t, "own", own.row("generation_throughput").Mean, 7)
	is(t, "CPU", pages(page{`node_cpu_seconds_total{cpu="0",mode="idle"}`: 0, `node_cpu_seconds_total{cpu="0",mode="user"}`: 0, `node_cpu_seconds_total{cpu="1",mode="system"}`: 0},
		page{`node_cpu_seconds_total{cpu="0",mode="idle"}`: 9, `node_cpu_seconds_total{cpu="0",mode="user"}`: 0.5, `node_cpu_seconds_total{cpu="1",mode="system"}`: 0.25}).all(0, 1).row("cpu_busy").PerSecond, 0.75)
	tiers := pages(page{"sglang:prompt_tokens_total": 0}, page{"sglang:prompt_tokens_total": 100, `sglang:cached_tokens_total{cache_source="device"}`: 30, `sglang:cached_tokens_total{cache_source="storage_hf3fs"}`: 10}).all(0, 1)
	is(t, "cached", tiers.row("cached_tokens").Increase, 40)
	is(t, "on the device", tiers.row("cached_tokens_device").Increase, 30)
	is(t, "in storage", tiers.row("cached_tokens_storage").Increase, 10)
	is(t, "share", tiers.row("cached_share").Mean, 0.4)
	if v := tiers.row("cached_tokens_host"); v != nil {
		t.Errorf("%+v", v)
	}
	// of two names for one row, the first in the table
	both := pages(page{"vllm:inter_token_latency_seconds_count": 0, "vllm:time_per_output_token_seconds_count": 0}, page{"vllm:inter_token_latency_seconds_count": 3, "vllm:time_per_output_token_seconds_count": 3}).all(0, 1)
	if v := both.row("itl_ms"); v.Histogram.N != 3 || v.Series != "vllm:inter_token_latency_seconds" {
		t.Errorf("%+v", v)
	}
}

// SGLang's gauges of speculation stand at 0 where there is none: that is no value. A
// rate of 0 beside a length is one: all drafts were refused.
func TestNoSpeculation(t *testing.T) {
	const length, rate = "sglang:spec_accept_length", "sglang:spec_accept_rate"
	none := pages(page{length: 0, rate: 0}, page{length: 0, rate: 0})
	for _, row := range []string{"accept_length", "accept_rate"} {
		if v := none.all(0, 1).row(row); v != nil {
			t.Errorf("%s: %+v", row, v)
		}
	}
	if l := none.Lines(0); len(l) != 0 {
		t.Errorf("%+v", l)
	}
	late := pages(page{length: 0, rate: 0}, page{length: 1, rate: 0}, page{length: 2.5, rate: 0.5}, page{length: 2.5, rate: 0.5}).all(0, 3)
	if v := late.row("accept_length"); v.N != 3 || *v.Min != 1 || *v.Max != 2.5 {
		t.Errorf("%+v", v)
	}
	if v := late.row("accept_rate"); v.N != 3 || *v.Min != 0 || *v.Max != 0.5 {
		t.Errorf("%+v", v)
	}
	alone := pages(page{rate: 0}, page{rate: 0.25}).all(0, 1).row("accept_rate")
	if alone.N != 1 || *alone.Mean != 0.25 {
		t.Errorf("%+v", alone)
	}
	if v := pages(page{"vllm:spec_decode_num_drafts_total": 0, "vllm:spec_decode_num_draft_tokens_total": 0, "vllm:spec_decode_num_accepted_tokens_total": 0},
		page{"vllm:spec_decode_num_drafts_total": 0, "vllm:spec_decode_num_draft_tokens_total": 0, "vllm:spec_decode_num_accepted_tokens_total": 0}).all(0, 1).row("accept_length"); v != nil {
		t.Errorf("%+v", v)
	}
}

// A page of SGLang says which worker it is of; one that says two things says nothing.
func TestMode(t *testing.T) {
	for want, p := range map[string]page{
		"prefill": {`sglang:num_queue_reqs{engine_type="prefill"}`: 0, "process_start_time_seconds": 1},
		"":        {`sglang:num_queue_reqs{engine_type="prefill"}`: 0, `sglang:num_running_reqs{engine_type="decode"}`: 0, `sglang:token_usage{engine_type="prefill"}`: 0},
	} {
		if s := pages(p); s.Mode != want {
			t.Errorf("%q, want %q", s.Mode, want)
		}
	}
}

// Changes alone are put together as whole readings are; what does not add up is left
// out until the next whole one.
func TestChanges(t *testing.T) {
	const a, b = "sglang:generation_tokens_total", "sglang:num_queue_reqs"
	some := tape.Some[int64]
	var c Collector
	add := func(s tape.Scrape) {
		s.Source, s.OK = "s", true
		c.Add(&s)
	}
	add(tape.Scrape{T: 0, Nr: 1, Kind: "sglang", Role: "decode", Series: page{a: 10, b: 1}, Types: map[string]string{a: "counter", b: "gauge"}})
	add(tape.Scrape{T: sec, Nr: 2, Series: page{a: 15}, Same: some(1)})
	add(tape.Scrape{T: 2 * sec, Nr: 3, Gone: []string{b}, Same: some(1)})
	add(tape.Scrape{T: 3 * sec, Nr: 5, Series: page{a: 1000}, Same: some(0)}) // 4 is missing
	add(tape.Scrape{T: 4 * sec, Nr: 6, Series: page{a: 20, b: 3}})            // whole
	add(tape.Scrape{T: 3 * sec, Nr: 7, Series: page{a: 21}, Same: some(1)})   // before the one before
	add(tape.Scrape{T: 5 * sec, Nr: 8, Series: page{b: 4}, Same: some(1)})
	src := c.Sources()[0]
	if src.Broken != 2 || !strings.Contains(src.BrokenWhy, "reading 4") || src.Role != "decode" || src.Kind != "sglang" {
		t.Errorf("%+v", src)
	}
	is(t, "increase", src.all(0, 5).row("generation_tokens").Increase, 11)
	v := src.all(0, 5).row("queue_depth")
	if v.N != 4 {
		t.Errorf("n %d", v.N)
	}
	is(t, "last", v.Last, 4)
	if all := src.All(); len(all) != 2 || all[0].Increase != 11 || all[1].Counter {
		t.Errorf("%+v", all)
	}
}

// Pages of one name, with and without parts, and roles.
func TestSources(t *testing.T) {
	var c Collector
	some := tape.Some[int64]
	for i := range int64(3) {
		c.Add(&tape.Scrape{T: i * sec, Source: "b", OK: true, Role: "decode", Nr: i + 1, Series: page{"tgi_request_success": float64(i)}})
		c.Add(&tape.Scrape{T: i * sec, Source: "a", OK: true, Role: "prefill", Nr: i + 1, Series: page{"tgi_request_success": float64(10 * i)}})
		c.Add(&tape.Scrape{T: i * sec, Source: "a", Part: some(1), OK: true, Nr: i + 1, Series: page{"tgi_request_success": float64(100 * i)}})
	}
	var got []string
	for _, s := range c.Sources() {
		got = append(got, fmt.Sprintf("%d %s %s %g", s.Part, s.Name, s.Role, *s.all(0, 2).row("requests").Increase))
	}
	if want := []string{"0 a prefill 20", "0 b decode 2", "1 a  200"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	// two pages under one name interleave: the tape's numbers tell
	var two Collector
	for i := range int64(4) {
		two.Add(&tape.Scrape{T: i * sec, Source: "x", OK: true, Nr: i/2 + 1, Series: page{"a": float64(i)}})
	}
	if s := two.Sources()[0]; s.Broken != 2 || !strings.Contains(s.BrokenWhy, "one name") {
		t.Errorf("%+v", s)
	}
	wild := &tape.Scrape{T: math.MaxInt64, Source: "w", OK: true, Series: page{"a": 1}}
	two.Add(wild)
	if s := two.Sources()[0]; s.Name != "w" || s.Broken != 1 || len(s.Times) != 0 {
		t.Errorf("%+v", s)
	}
}

func TestThin(t *testing.T) {
	var all []page
	for i := range 1000 {
		p := page{"sglang:num_queue_reqs": float64(i % 10)}
		if i == 500 {
			p["sglang:num_queue_reqs"] = 77
		}
		all = append(all, p)
	}
	src := pages(all...)
	l := src.Lines(100)
	if len(l) != 1 || len(l[0].Points) != 100 {
		t.Fatalf("%d lines", len(l))
	}
	most := 0.0
	for _, p := range l[0].Points {
		most = max(most, p.Most)
		if p.Least > p.V || p.V > p.Most || p.Least > 1 {
			t.Errorf("%+v", p)
		}
	}
	if most != 77 {
		t.Errorf("the peak is lost: %g", most)
	}
	if n := len(src.Lines(0)[0].Points); n != 1000 {
		t.Errorf("%d of all readings", n)
	}
}

// Increases over adjoining windows add up to that over both, where readings lie on
// the borders; quantiles lie between their bounds; and nothing panics.
func TestAdjoining(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 20).Draw(t, "readings")
		var all []page
		for range n {
			if rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
				all = append(all, nil)
				continue
			}
			p := page{}
			for _, k := range []string{"sglang:generation_tokens_total", "sglang:num_queue_reqs", "sglang:time_to_first_token_seconds_count", `sglang:time_to_first_token_seconds_bucket{le="0.5"}`, `sglang:time_to_first_token_seconds_bucket{le="1"}`, startTime} {
				if rapid.IntRange(0, 4).Draw(t, "there") > 0 {
					p[k] = float64(rapid.Int64Range(-2, 50).Draw(t, "value"))
				}
			}
			all = append(all, p)
		}
		src := pages(all...)
		src.Gaps(src.Pace(sec), int64(n)*sec)
		if len(src.Times) < 3 {
			return
		}
		cut := func(label string) int { return rapid.IntRange(0, len(src.Times)-1).Draw(t, label) }
		at := []int{cut("a"), cut("b"), cut("c")}
		slices.Sort(at)
		grown := func(i, j int, row string) float64 {
			c := src.Cover([]Span{{src.Times[at[i]], src.Times[at[j]]}}, src.Pace(sec))
			if v := c.row(row); v != nil && v.Increase != nil {
				return *v.Increase
			} else if v != nil && v.Histogram != nil {
				if b, ok := v.Histogram.Quantile(0.9); ok && b.Value != nil && (*b.Value < b.Low-1e-9 || *b.Value > *b.High+1e-9) {
					t.Fatalf("%+v", b)
				}
				x, _ := c.grown(c.src.tracks[slices.IndexFunc(names, func(a alias) bool { return a.series == "sglang:time_to_first_token_seconds" })].count)
				return x
			}
			return 0
		}
		for _, row := range []string{"generation_tokens", "ttft_ms"} {
			if a, b, both := grown(0, 1, row), grown(1, 2, row), grown(0, 2, row); a+b != both || a < 0 {
				t.Fatalf("%s: %g + %g is not %g, by %v", row, a, b, both, at)
			}
		}
	})
}

// Every series at the ends of windows, in a second pass.
func TestEdges(t *testing.T) {
	var lines []*tape.Scrape
	for i, p := range []page{{"a_total": 1, "g": 5}, {"a_total": 4, "g": 6}, {"a_total": 2, "g": 7, "late_total": 3}, {"a_total": 9, "late_total": 4}} {
		lines = append(lines, &tape.Scrape{T: int64(i) * sec, Source: "s", OK: true, Series: p, Types: map[string]string{"a_total": "counter", "g": "gauge", "late_total": "counter"}})
	}
	var c Collector
	for _, l := range lines {
		c.Add(l)
	}
	src := c.Sources()[0]
	both, ends := src.all(0, 3), src.Cover([]Span{{0, sec}, {2 * sec, 3 * sec}}, src.Pace(sec))
	var e Edges
	e.Want(both)
	e.Want(&ends)
	for _, l := range lines {
		e.Add(l)
	}
	show := func(c *Cover) string {
		var b strings.Builder
		for _, x := range e.Of(c) {
			text := func(p *float64) string {
				if p == nil {
					return "-"
				}
				return fmt.Sprint(*p)
			}
			fmt.Fprintf(&b, "%s %v %s %s %g; ", x.Name, x.Counter, text(x.First), text(x.Last), x.Increase)
		}
		return b.String()
	}
	if got, want := show(both), "a_total true 1 9 12; late_total true - 4 4; "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := show(&ends), "a_total true 1 9 10; g false 5 - 0; late_total true - 4 1; "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
