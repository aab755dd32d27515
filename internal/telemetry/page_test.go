package telemetry

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"tokentape/tape"
)

// parse reads one page, all of it.
func parse(text []byte) (*tape.Scrape, error) {
	p := newPage(Source{All: true}, nil)
	if err := p.read(text, false); err != nil {
		return nil, err
	}
	out := new(tape.Scrape)
	p.write(out, "")
	return out, nil
}

const sglangPage = `# HELP sglang:num_queue_reqs The number of requests in the waiting queue.
# TYPE sglang:num_queue_reqs gauge
sglang:num_queue_reqs{model_name="m",engine_type="unified"} 4.0
# TYPE sglang:time_to_first_token_seconds histogram
sglang:time_to_first_token_seconds_sum{model_name="m"} 1.5
sglang:time_to_first_token_seconds_bucket{le="1.0",model_name="m"} 2.0
sglang:time_to_first_token_seconds_bucket{le="+Inf",model_name="m"} 3.0
sglang:time_to_first_token_seconds_count{model_name="m"} 3.0
# TYPE sglang:eplb_balancedness summary
sglang:eplb_balancedness_count 2
# TYPE python_gc_objects_collected_total counter
python_gc_objects_collected_total{generation="0"} 1032.0
python_gc_objects_collected_total{generation="1"} 7 1700000000000
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1.76e+09
`

func TestPage(t *testing.T) {
	type series = map[string]float64
	sglang := series{
		`sglang:num_queue_reqs{engine_type="unified",model_name="m"}`:         4,
		`sglang:time_to_first_token_seconds_sum{model_name="m"}`:              1.5,
		`sglang:time_to_first_token_seconds_count{model_name="m"}`:            3,
		`sglang:time_to_first_token_seconds_bucket{le="1",model_name="m"}`:    2,
		`sglang:time_to_first_token_seconds_bucket{le="+Inf",model_name="m"}`: 3,
		"process_start_time_seconds":                                          1.76e9,
	}
	for _, tt := range []struct {
		name, in string
		known    bool // keep known families alone
		open     bool // OpenMetrics
		want     series
		types    map[string]string
		left     int64
		infinite int64
		repeated int64
		kind     string
		err      string
	}{
		{name: "sglang", in: sglangPage, known: true, kind: KindSGLang, want: sglang, left: 3,
			types: map[string]string{"sglang:num_queue_reqs": "gauge", "sglang:time_to_first_token_seconds": "histogram", "process_start_time_seconds": "gauge"}},
		{name: "sglang, CRLF", in: strings.ReplaceAll(sglangPage, "\n", "\r\n"), known: true, kind: KindSGLang, want: sglang, left: 3,
			types: map[string]string{"sglang:num_queue_reqs": "gauge", "sglang:time_to_first_token_seconds": "histogram", "process_start_time_seconds": "gauge"}},
		{name: "nothing known", in: "# TYPE a gauge\na 1\nb 2\n", known: true, left: 2},
		{name: "vllm counters by either name", known: true, kind: KindVLLM,
			in:   "vllm:prompt_tokens_total 1\nvllm:prompt_tokens_created 5\nvllm:spec_decode_num_drafts_total 3\nvllm:spec_decode_num_drafts_created 4\nvllm:request_params_n_count 5\n",
			want: series{"vllm:prompt_tokens_total": 1, "vllm:spec_decode_num_drafts_total": 3}, left: 3},
		{name: "an engine behind Dynamo", known: true, in: "vllm:num_requests_running 1\ndynamo_component_requests_total 2\n", kind: KindDynamo,
			want: series{"vllm:num_requests_running": 1, "dynamo_component_requests_total": 2}},
		{name: "not finite is left out", in: "a 1\nb NaN\nc +Inf\nd -Inf\n", want: series{"a": 1}, infinite: 3},
		{name: "summary", in: "# TYPE s summary\ns{quantile=\"0.50\"} 7\ns_sum 9\ns_count 2\n", types: map[string]string{"s": "summary"},
			want: series{`s{quantile="0.5"}`: 7, "s_sum": 9, "s_count": 2}},
		{name: "escapes stay the format's own", in: `a{l="x\"y\\z\nü"} 1` + "\n", want: series{`a{l="x\"y\\z\nü"}`: 1}},
		{name: "a backslash before another character", in: `a{l="C:\dir"} 1`, want: series{`a{l="C:\\dir"}`: 1}},
		{name: "braces in a value", in: `a{l="} 5",m="{"} 1`, want: series{`a{l="} 5",m="{"}`: 1}},
		{name: "dots and UTF-8 in names", in: "# TYPE \"http.löad\" counter\n{\"http.löad\",a=\"b\",\"c d\"=\"e\"} 2\n", types: map[string]string{"http.löad": "counter"},
			want: series{`http.löad{a="b",c d="e"}`: 2}},
		{name: "a quoted name that is left", known: true, in: `{"http.load"} 2`, left: 1},
		{name: "no line end", in: "a 1\nb 2", want: series{"a": 1, "b": 2}},
		{name: "blanks", in: " \ta\t{ l = \"x\" , } \t1  17 \n\n  # x\n", want: series{`a{l="x"}`: 1}},
		{name: "given twice", in: "a{x=\"1\",y=\"2\"} 1\na{y=\"2\",x=\"1\"} 5\nb 1\n", want: series{`a{x="1",y="2"}`: 5, "b": 1}, repeated: 1},
		{name: "OpenMetrics", open: true, kind: KindSGLang, known: true,
			in: "# TYPE sglang:prompt_tokens counter\n# UNIT x\nsglang:prompt_tokens_total 5 1700000000.123 # {trace_id=\"a\"} 1 17.5\nsglang:prompt_tokens_created 1\n" +
				"# TYPE sglang:queue_time_seconds histogram\nsglang:queue_time_seconds_bucket{le=\"+Inf\"} 2 # {a=\"} 3\"} 0.5\n# EOF\nnonsense",
			want:  series{"sglang:prompt_tokens_total": 5, `sglang:queue_time_seconds_bucket{le="+Inf"}`: 2},
			types: map[string]string{"sglang:prompt_tokens_total": "counter", "sglang:queue_time_seconds": "histogram"}, left: 1},
		{name: "OpenMetrics, all", open: true, in: "# TYPE x info\nx_info{v=\"1\"} 1\n# TYPE c counter\nc_total 1\nc_created 3\n# TYPE u unknown\nu 4\n# EOF\n",
			want: series{`x_info{v="1"}`: 1, "c_total": 1, "c_created": 3, "u": 4}, types: map[string]string{"x_info": "info", "c_total": "counter", "c_created": "gauge"}},
		{name: "OpenMetrics cut off", open: true, in: "a 1\n", err: "ends with # EOF"},
		{name: "HTML", in: "<html><body>login</body></html>", err: "line 1: no metric name"},
		{name: "empty", in: "", err: "no series"},
		{name: "comments alone", in: "# HELP a b\n# TYPE a gauge\n", err: "no series"},
		{name: "a broken line", in: "a 1\nb{ 2\n", err: "line 2: labels"},
		{name: "no value", in: "a 1\n\nb \n", err: "line 3: no number"},
		{name: "a name alone", in: "a", err: "line 1: no metric name"},
		{name: "a word for a value", in: "a one\n", err: "no number"},
		{name: "more after it", in: "a 1 2 3\n", err: "after the value"},
		{name: "not UTF-8", in: "a{b=\"\xff\"} 1\n", err: "not UTF-8"},
		{name: "a label twice", in: `a{b="1",b="2"} 1`, err: "twice"},
		{name: "the name as a label", in: `a{__name__="b"} 1`, err: "reserved"},
		{name: "two names", in: `a{"b"} 1`, err: "labels"},
		{name: "labels alone", in: `{a="b"} 1`, err: "no metric name"},
		{name: "cut in a label", in: `a{b="c`, err: "labels"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPage(Source{All: !tt.known}, nil)
			if err := p.read([]byte(tt.in), tt.open); tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want one with %q", err, tt.err)
				}
				return
			} else if err != nil {
				t.Fatal(err)
			}
			got := new(tape.Scrape)
			p.write(got, "decode")
			if tt.kind == "" {
				tt.kind = KindOther
			}
			want := &tape.Scrape{Role: "decode", Kind: tt.kind, Nr: 1, Series: tt.want, Types: tt.types, Left: tt.left, NotFinite: tt.infinite, Repeated: tt.repeated}
			if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
}

// A page that breaks in the middle leaves no trace: neither values, nor types, nor a
// number of a reading.
func TestBrokenPageLeavesNoTrace(t *testing.T) {
	p, readings := newPage(Source{All: true}, nil), new(tape.Readings)
	take := func(text string, want map[string]float64) *tape.Scrape {
		t.Helper()
		if err := p.read([]byte(text), false); err != nil {
			if want != nil {
				t.Fatal(err)
			}
			return nil
		}
		out := &tape.Scrape{OK: true}
		p.write(out, "")
		r, err := readings.Take(out)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, r.Series); d != "" {
			t.Fatal(d)
		}
		return out
	}
	type series = map[string]float64
	take("a 1\nb 2\n", series{"a": 1, "b": 2})
	take("a 9\nc 3\nb{", nil)
	if out := take("a 9\nb 2\n", series{"a": 9, "b": 2}); out.Nr != 2 || !cmp.Equal(out.Series, series{"a": 9}) || out.Same != tape.Some(int64(1)) {
		t.Errorf("%+v", out)
	}
	take("c 3\nb{", nil)
	if out := take("a 9\n", series{"a": 9}); !slices.Equal(out.Gone, []string{"b"}) || out.Same != tape.Some(int64(1)) {
		t.Errorf("%+v", out)
	}
	if out := take("a NaN\nb 2\n", series{"b": 2}); !slices.Equal(out.Gone, []string{"a"}) || out.NotFinite != 1 {
		t.Errorf("%+v", out)
	}
	if out := take("a 9\nb 2\n", series{"a": 9, "b": 2}); !cmp.Equal(out.Series, series{"a": 9}) {
		t.Errorf("%+v", out)
	}
	// A type that comes later changes the name of a bucket.
	take("h_bucket{le=\"1.0\"} 2\n", series{`h_bucket{le="1.0"}`: 2})
	if out := take("# TYPE h histogram\nh_bucket{le=\"1.0\"} 2\n", series{`h_bucket{le="1"}`: 2}); out.Types["h"] != "histogram" || out.Same.OK {
		t.Errorf("%+v", out)
	}
	// A server that started anew is written whole.
	take("process_start_time_seconds 5\na 9\n", series{"process_start_time_seconds": 5, "a": 9})
	if out := take("process_start_time_seconds 6\na 9\n", series{"process_start_time_seconds": 6, "a": 9}); out.Same.OK || out.Kind == "" {
		t.Errorf("%+v", out)
	}
}

// Whatever a page shows from one reading to the next, the tape gives it back.
func TestReadingsGiveThePageBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, readings := newPage(Source{All: true}, nil), new(tape.Readings)
		for range rapid.IntRange(1, 12).Draw(t, "readings") {
			var text bytes.Buffer
			typ := rapid.SampledFrom([]string{"", "# TYPE h histogram\n", "# TYPE h summary\n", "# TYPE a counter\n"}).Draw(t, "type")
			text.WriteString(typ)
			for _, key := range []string{"a", "b", `a{x="1"}`, `h_bucket{le="1.0"}`, `h_bucket{le="+Inf"}`, "h_sum", `h{quantile="0.50"}`, "process_start_time_seconds"} {
				if rapid.Bool().Draw(t, "on") {
					fmt.Fprintf(&text, "%s %s\n", key, rapid.SampledFrom([]string{"0", "1", "1.0", "2", "NaN", "+Inf", "0x", "-3e4"}).Draw(t, "value"))
				}
			}
			if p.read(text.Bytes(), false) != nil {
				continue
			}
			out := &tape.Scrape{OK: true}
			p.write(out, "")
			got, err := readings.Take(out)
			if err != nil {
				t.Fatal(err)
			}
			want, err := oracle(text.Bytes())
			if err != nil {
				continue // a histogram that is none
			}
			for k := range want { // the oracle makes up what a histogram lacks
				if _, ok := got.Series[k]; !ok && want[k] == 0 {
					delete(want, k)
				}
			}
			for k := range got.Series { // and forgets what does not belong to one
				if _, ok := want[k]; !ok && strings.HasPrefix(k, "h") && typ != "" {
					want[k] = got.Series[k]
				}
			}
			if d := cmp.Diff(want, maps.Clone(got.Series)); d != "" {
				t.Fatalf("%s\n%s", d, text.String())
			}
			if fresh, _ := parse(text.Bytes()); len(fresh.Types) > 0 {
				for family, typ := range fresh.Types {
					if got.Types[family] != typ {
						t.Fatalf("%s is %q, want %q", family, got.Types[family], typ)
					}
				}
			}
		}
	})
}

// What Prometheus' own writer writes is read as its own reader would.
func TestWellFormedPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`[a-z_]{1,6}`), rapid.String().Filter(func(s string) bool { return s != "" }))
		value := rapid.Custom(func(t *rapid.T) *float64 { return proto.Float64(rapid.Float64().Draw(t, "value")) })
		var page bytes.Buffer
		types := map[string]string{}
		for i := range rapid.IntRange(1, 5).Draw(t, "families") {
			name := rapid.SampledFrom([]string{"f%d", "f%d_total", "f%d:x", "é.%d", "f%d_sum"}).Draw(t, "name")
			name = fmt.Sprintf(name, i)
			f := &dto.MetricFamily{Name: &name}
			typ := rapid.SampledFrom([]dto.MetricType{dto.MetricType_COUNTER, dto.MetricType_GAUGE, dto.MetricType_HISTOGRAM, dto.MetricType_SUMMARY, dto.MetricType_UNTYPED}).Draw(t, "type")
			f.Type = &typ
			if typ != dto.MetricType_UNTYPED {
				types[name] = strings.ToLower(typ.String())
			}
			for j := range rapid.IntRange(1, 3).Draw(t, "series") {
				m := &dto.Metric{Label: []*dto.LabelPair{{Name: proto.String("nr"), Value: proto.String(fmt.Sprint(j))}}}
				for k := range rapid.IntRange(0, 3).Draw(t, "labels") {
					m.Label = append(m.Label, &dto.LabelPair{Name: proto.String(fmt.Sprint(rapid.SampledFrom([]string{"l", "z.", "ü "}).Draw(t, "label"), k)), Value: proto.String(text.Draw(t, "text"))})
				}
				switch typ {
				case dto.MetricType_COUNTER:
					m.Counter = &dto.Counter{Value: value.Draw(t, "v")}
				case dto.MetricType_GAUGE:
					m.Gauge = &dto.Gauge{Value: value.Draw(t, "v")}
				case dto.MetricType_UNTYPED:
					m.Untyped = &dto.Untyped{Value: value.Draw(t, "v")}
				case dto.MetricType_HISTOGRAM:
					n := uint64(rapid.IntRange(0, 1e6).Draw(t, "n"))
					m.Histogram = &dto.Histogram{SampleCount: &n, SampleSum: value.Draw(t, "v"), Bucket: []*dto.Bucket{{UpperBound: proto.Float64(0.25), CumulativeCount: &n}, {UpperBound: proto.Float64(2), CumulativeCount: &n}}}
				case dto.MetricType_SUMMARY:
					n := uint64(rapid.IntRange(0, 1e6).Draw(t, "n"))
					m.Summary = &dto.Summary{SampleCount: &n, SampleSum: value.Draw(t, "v"), Quantile: []*dto.Quantile{{Quantile: proto.Float64(0.99), Value: value.Draw(t, "q")}}}
				}
				f.Metric = append(f.Metric, m)
			}
			if _, err := expfmt.MetricFamilyToText(&page, f); err != nil {
				t.Skip(err)
			}
		}
		want, err := oracle(page.Bytes())
		if err != nil {
			t.Skip(err)
		}
		got, err := parse(page.Bytes())
		if err != nil {
			t.Fatalf("%v\n%s", err, page.String())
		}
		if d := cmp.Diff(want, got.Series, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%s\n%s", d, page.String())
		}
		if d := cmp.Diff(types, got.Types, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%s\n%s", d, page.String())
		}
	})
}

// Without types, what Prometheus' own parser accepts is read, and as it reads it.
func FuzzPage(f *testing.F) {
	f.Add([]byte(sglangPage))
	f.Add([]byte("a_bucket{le=\"+Inf\"} 3\na_sum 1\na_count 3\n"))
	f.Add([]byte("{\"a.b\",c=\"d\"} 1e300 17\n"))
	f.Add([]byte("a{b=\"\xff\"} nan"))
	f.Add([]byte("a{b=\"\\\\\\n\\\"\",} -Inf -5\n\n#x\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var lines [][]byte
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			if bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("#")) {
				line = []byte("#")
			}
			lines = append(lines, line)
		}
		text = bytes.Join(lines, []byte("\n"))
		got, err := parse(text)
		if err != nil && len(bounded(err.Error())) > maxError+3 {
			t.Fatal(err)
		}
		if err == nil {
			for k, v := range got.Series {
				if k == "" || math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("series %q = %v", k, v)
				}
			}
		}
		want, bad := oracle(text)
		switch {
		case bad != nil:
		case err != nil:
			if !odd(text) {
				t.Fatalf("refused: %v", err)
			}
		default:
			if d := cmp.Diff(want, got.Series, cmpopts.EquateEmpty()); d != "" {
				t.Fatal(d)
			}
		}
	})
}

var (
	quotedText = regexp.MustCompile(`"(\\.|[^"\\])*"`)
	partQuoted = regexp.MustCompile(`[A-Za-z0-9_:"]"|"[A-Za-z0-9_:]`)
)

// odd are pages of names in quotes outside of braces or only in part in quotes, or with
// no blank behind them, which the oracle takes and no format has.
func odd(text []byte) bool {
	if partQuoted.Match(quotedText.ReplaceAll(text, []byte(`"`))) {
		return true
	}
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		line = bytes.TrimLeft(line, " \t")
		if len(line) == 0 || line[0] == '{' || line[0] == '#' {
			continue
		}
		name, err := nameOf(line)
		if err != nil || len(name) < len(line) && !isBlank(line[len(name)]) && line[len(name)] != '{' {
			return true
		}
	}
	return false
}

func TestKnownFamilies(t *testing.T) {
	for _, c := range []struct {
		kind, name string
		families   []string
		want       bool
	}{
		{"", "sglang:num_queue_reqs", nil, true},
		{"", "sglang:time_to_first_token_seconds_bucket", nil, true},
		{"", "sglang:time_to_first_token_seconds", nil, true},
		{"", "sglang:time_to_first_token", nil, false},
		{"", "sglang:grammar_ebnf_size_bucket", nil, false},
		{"", "sglang:kv_transfer_latency_ms", nil, true},
		{"", "python_info", nil, false},
		{"vllm", "sglang:num_queue_reqs", nil, false},
		{"vllm", "process_start_time_seconds", nil, true},
		{"other", "vllm:num_requests_running", nil, false},
		{"other", "my_queue_depth", []string{"my_*_depth"}, true},
		{"other", "my_queue_depth_count", []string{"my_*_depth"}, true},
		{"other", "my_depth", []string{"my_*_depth"}, false},
		{"auto", "DCGM_FI_PROF_PCIE_RX_BYTES", nil, true},
		{"", "npu_chip_info_hbm_used_memory", nil, true},
		{"", "node_cpu_seconds_total", nil, true},
		{"", "node_filesystem_avail_bytes", nil, false},
		{"", "llamacpp:requests_deferred", nil, true},
		{"", "tgi_request_mean_time_per_token_duration_sum", nil, true},
		{"", "dynamo_component_kvstats_active_blocks", nil, true},
	} {
		k := choose(c.kind, false, c.families)
		if got := k.keeps(c.name); got != c.want {
			t.Errorf("%s, kind %q: kept %v", c.name, c.kind, got)
		}
	}
	for _, c := range []struct {
		glob, name string
		want       bool
	}{{"*", "", true}, {"a*", "a", true}, {"*a", "ba", true}, {"a*b*c", "axbxc", true}, {"a*b*c", "abc", true}, {"a*bc*c", "abc", false}, {"a*a", "a", false}, {"**", "x", true}} {
		if fits(c.glob, c.name) != c.want {
			t.Errorf("%s and %s", c.glob, c.name)
		}
	}
	for _, k := range kinds {
		for _, f := range k.families {
			if kindOf(strings.ReplaceAll(f, "*", "x")) != k.kind {
				t.Errorf("%s is not known as one of %s", f, k.kind)
			}
		}
	}
}

// bigPage is one of many series like a server's, of which a share moves from one turn
// to the next.
func bigPage(series, turn int) []byte {
	rng := rand.New(rand.NewPCG(1, uint64(turn)))
	var b bytes.Buffer
	names := []string{"sglang:num_queue_reqs", "sglang:time_to_first_token_seconds", "sglang:grammar_ebnf_size", "sglang:e2e_request_latency_seconds", "sglang:routing_key_all_req_count"}
	for i := range series {
		if i%50 == 0 {
			fmt.Fprintf(&b, "# HELP %[1]s_%[2]d A family of the page.\n# TYPE %[1]s_%[2]d gauge\n", names[i/50%len(names)], i/50)
		}
		v := i
		if i%5 == 0 {
			v += turn * (1 + rng.IntN(9))
		}
		fmt.Fprintf(&b, "%s_%d{model_name=\"deepseek-ai/DeepSeek-V3\",engine_type=\"decode\",tp_rank=\"%d\",pp_rank=\"0\",le=\"%d.5\"} %d.0\n", names[i/50%len(names)], i/50, i%8, i, v)
	}
	return b.Bytes()
}

func BenchmarkPage(b *testing.B) {
	for _, all := range []bool{false, true} {
		b.Run(map[bool]string{false: "known", true: "all"}[all], func(b *testing.B) {
			// Of the five names of the page three are known: with a number behind them only to these globs.
			src := Source{All: all}
			if !all {
				src.Families = []string{"sglang:num_queue_reqs_*", "sglang:time_to_first_token_seconds_*"}
			}
			p := newPage(src, nil)
			pages := [][]byte{bigPage(5000, 0), bigPage(5000, 1), bigPage(5000, 2), bigPage(5000, 3)}
			b.SetBytes(int64(len(pages[0])))
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if err := p.read(pages[i%len(pages)], false); err != nil {
					b.Fatal(err)
				}
				p.write(new(tape.Scrape), "")
				i++
			}
		})
	}
	b.Run("expfmt", func(b *testing.B) {
		text := bigPage(5000, 1)
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := oracle(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}
