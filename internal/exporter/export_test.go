package exporter_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tokentape/internal/analysis/as"
	"tokentape/internal/exporter"
	"tokentape/internal/exporter/sglang"
	"tokentape/internal/exporter/vllm"
	"tokentape/tape"
)

// records is a tape in memory.
type records []tape.Record

func (r *records) Next() (tape.Record, error) {
	if len(*r) == 0 {
		return nil, io.EOF
	}
	rec := (*r)[0]
	*r = (*r)[1:]
	return rec, nil
}

// request has events every 10 ms from 100 ms after its release; the server counts
// out tokens.
func request(seq, at int64, kinds string, out int64, o tape.Outcome, status int) *tape.Request {
	ns := func(milli int64) tape.Opt[int64] { return tape.Some(milli * 1e6) }
	q := &tape.Request{
		Type: "request", Seq: seq, Phase: tape.PhaseMeasure, Outcome: o, Attempts: 1, Message: "secret-free",
		TReleased: ns(at), TWroteFirst: ns(at), TEnd: ns(at + 100 + int64(len(kinds))*10),
		HTTP: tape.HTTP{Status: status}, Events: tape.Events{Kind: tape.EncodeKinds([]byte(kinds))},
		Asked: tape.Asked{Output: tape.Some(out), Input: tape.Some(seq + 7)},
	}
	if o == tape.OutcomeOK {
		q.Tokens = tape.Tokens{Input: tape.Some(seq + 7), InputSource: tape.SourceUsage, Output: tape.Some(out), OutputSource: tape.SourceUsage}
	}
	for i := range kinds {
		gap := int64(10)
		if i == 0 {
			gap, q.TFirstEvent = 100, ns(at+100)
		}
		q.Events.DT = append(q.Events.DT, gap*1e6)
	}
	return q
}

func run(t *testing.T, spec string, reqs ...*tape.Request) *as.Run {
	t.Helper()
	recs := records{&tape.Header{
		Type: "header", Schema: tape.Schema, Run: "01RUN", Name: "hand", Spec: json.RawMessage(spec),
		Anchor: tape.Anchor{Wall: "2026-11-30T04:05:06.7Z"}, Server: tape.Server{Model: "m"},
	}}
	for _, q := range reqs {
		recs = append(recs, q)
	}
	recs = append(recs, &tape.Footer{Type: "footer", Planned: int64(len(reqs))})
	r, err := as.Load(&recs)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func three() []*tape.Request {
	return []*tape.Request{
		request(0, 0, "rcccfud", 3, tape.OutcomeOK, 200),
		request(1, 500, "rccfud", 6, tape.OutcomeOK, 200),
		request(2, 700, "", 5, tape.OutcomeStatus, 503),
	}
}

const openLoop = `{"target":{"api":"openai-chat"},"workload":{"stream":true},"load":{"rate":2,"arrivals":"poisson","concurrency":8}}`

type write func(io.Writer, *as.Run, bool) error

var layouts = map[string]write{"vllm": vllm.Write, "sglang": sglang.Write}

// export writes and reads back.
func export(t *testing.T, w write, r *as.Run, detailed bool) (fields map[string]any, names []string) {
	t.Helper()
	var b bytes.Buffer
	if err := w(&b, r, detailed); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n != 1 || !strings.HasSuffix(b.String(), "\n") {
		t.Fatalf("%d line ends: the file is JSON lines", n)
	}
	if err := json.Unmarshal(b.Bytes(), &fields); err != nil {
		t.Fatalf("%v in %s", err, b.String())
	}
	d := json.NewDecoder(&b)
	d.Token()
	for d.More() {
		name, _ := d.Token()
		names = append(names, name.(string))
		var skip any
		if err := d.Decode(&skip); err != nil {
			t.Fatal(err)
		}
	}
	return fields, names
}

// Required fields in their order, with the types that the tools' readers expect:
// s text, i whole number, n number, l list, L list of lists, ? null here.
var required = map[string]string{
	"vllm": `date s endpoint_type s backend s label s model_id s tokenizer_id ? num_prompts i request_rate n burstiness n max_concurrency i
		duration n completed i failed i total_input_tokens i total_output_tokens i request_throughput n request_goodput ? output_throughput n
		total_token_throughput n input_lens l output_lens l ttfts l itls L start_times l errors l max_output_tokens_per_s n max_concurrent_requests i rtfx n
		mean_ttft_ms n median_ttft_ms n std_ttft_ms n p99_ttft_ms n mean_tpot_ms n median_tpot_ms n std_tpot_ms n p99_tpot_ms n
		mean_itl_ms n median_itl_ms n std_itl_ms n p99_itl_ms n mean_e2el_ms n median_e2el_ms n std_e2el_ms n p99_e2el_ms n`,
	"sglang": `tag s backend s dataset_name ? request_rate n max_concurrency i sharegpt_output_len ? random_input_len ? random_output_len ?
		random_range_ratio ? server_info ? duration n completed i total_input_tokens i total_input_text_tokens i total_input_vision_tokens ?
		total_output_tokens i total_output_tokens_retokenized ? request_throughput n input_throughput n output_throughput n total_throughput n
		mean_e2e_latency_ms n median_e2e_latency_ms n std_e2e_latency_ms n p90_e2e_latency_ms n p95_e2e_latency_ms n p99_e2e_latency_ms n
		mean_ttft_ms n median_ttft_ms n std_ttft_ms n p90_ttft_ms n p95_ttft_ms n p99_ttft_ms n
		mean_tpot_ms n median_tpot_ms n std_tpot_ms n p90_tpot_ms n p95_tpot_ms n p99_tpot_ms n
		mean_itl_ms n median_itl_ms n std_itl_ms n p90_itl_ms n p95_itl_ms n p99_itl_ms n
		concurrency n accept_length ? max_output_tokens_per_s n max_concurrent_requests i input_lens l output_lens l ttfts l itls L errors l`,
}

func TestFields(t *testing.T) {
	for tool, w := range layouts {
		fields, names := export(t, w, run(t, openLoop, three()...), true)
		words := strings.Fields(required[tool])
		at := -1
		for i := 0; i < len(words); i += 2 {
			name, kind := words[i], words[i+1]
			v, ok := fields[name]
			if !ok {
				t.Errorf("%s: no field %s", tool, name)
				continue
			}
			if !isKind(v, kind) {
				t.Errorf("%s: %s = %v, want %s", tool, name, v, kind)
			}
			if k := slices.Index(names, name); k < at {
				t.Errorf("%s: %s stands before its place", tool, name)
			} else {
				at = k
			}
		}
		if len(names) != len(words)/2+1 { // and tokentape_run
			t.Errorf("%s: %d fields, %d are known: %v", tool, len(names), len(words)/2+1, names)
		}
		if fields["tokentape_run"] != "01RUN" {
			t.Errorf("%s: the run is %v", tool, fields["tokentape_run"])
		}
		short, _ := export(t, w, run(t, openLoop, three()...), false)
		for _, list := range []string{"input_lens", "output_lens", "ttfts", "itls", "start_times", "errors"} {
			if _, ok := short[list]; ok {
				t.Errorf("%s: %s without being asked for", tool, list)
			}
		}
	}
}

func isKind(v any, kind string) bool {
	switch kind {
	case "s":
		s, ok := v.(string)
		return ok && s != ""
	case "i":
		n, ok := v.(float64)
		return ok && n == math.Trunc(n)
	case "n":
		_, ok := v.(float64)
		return ok
	case "?":
		return v == nil
	}
	l, ok := v.([]any)
	if !ok {
		return false
	}
	for _, e := range l {
		if _, list := e.([]any); list != (kind == "L") {
			return false
		}
	}
	return true
}

// The lists give back the totals and means: what a script would make of them is
// what the file says.
func TestTotalsComeBack(t *testing.T) {
	for tool, w := range layouts {
		f, _ := export(t, w, run(t, openLoop, three()...), true)
		var in, out, ttft, itl, tpot, n, gaps, good float64
		for i, e := range f["errors"].([]any) {
			at := func(name string) float64 { return f[name].([]any)[i].(float64) }
			if e != "" {
				if at("output_lens") != 0 || at("ttfts") != 0 || len(f["itls"].([]any)[i].([]any)) != 0 {
					t.Errorf("%s: request %d failed and has values", tool, i)
				}
				continue
			}
			n++
			in += at("input_lens")
			out += at("output_lens")
			ttft += at("ttfts")
			sum := 0.0
			for _, g := range f["itls"].([]any)[i].([]any) {
				sum += g.(float64)
				gaps++
			}
			itl += sum
			if at("output_lens") > 1 {
				tpot += sum / (at("output_lens") - 1)
				good++
			}
		}
		for name, want := range map[string]float64{
			"completed": n, "total_input_tokens": in, "total_output_tokens": out, "mean_ttft_ms": ttft / n * 1000, "mean_itl_ms": itl / gaps * 1000,
			"output_throughput": out / f["duration"].(float64), "request_throughput": n / f["duration"].(float64),
		} {
			if got := f[name].(float64); math.Abs(got-want) > 1e-9*max(1, want) {
				t.Errorf("%s: %s = %v, its lists say %v", tool, name, got, want)
			}
		}
		// E2E holds the time from the last gap to usage or [DONE] besides.
		if tpot/good*1000 >= f["mean_tpot_ms"].(float64) {
			t.Errorf("%s: mean_tpot_ms = %v, gaps alone give %v", tool, f["mean_tpot_ms"], tpot/good*1000)
		}
	}
}

// By hand: 100, 110, 120, 130, 140, 150, 160 ms after the release come r c c c f u d.
func TestNumbers(t *testing.T) {
	v, _ := export(t, vllm.Write, run(t, openLoop, three()...), true)
	s, _ := export(t, sglang.Write, run(t, openLoop, three()...), true)
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"vllm date", v["date"], "20261130-040506"}, {"vllm backend", v["backend"], "openai-chat"},
		{"vllm burstiness", v["burstiness"], 1.0}, {"vllm prompts", v["num_prompts"], 3.0}, {"vllm failed", v["failed"], 1.0},
		{"vllm TTFT", v["mean_ttft_ms"], 100.0}, {"vllm ITL", v["mean_itl_ms"], 10.0}, {"vllm error", v["errors"].([]any)[2], "secret-free"},
		{"vllm duration", v["duration"], 0.8},
		{"sglang TTFT", s["mean_ttft_ms"], 110.0}, {"sglang E2E", s["mean_e2e_latency_ms"], 155.0}, {"sglang tag", s["tag"], "hand"},
	} {
		if g, ok := c.got.(float64); ok {
			if w, _ := c.want.(float64); math.Abs(g-w) > 1e-9 {
				t.Errorf("%s = %v, want %v", c.name, g, w)
			}
		} else if c.got != c.want {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
}

// A closed loop has no rate, nothing is measured of a run where all failed, and a
// file is written all the same, without what is no number.
func TestEmpty(t *testing.T) {
	closed := `{"target":{"api":"openai-completions"},"workload":{"stream":true},"load":{}}`
	for tool, w := range layouts {
		for _, reqs := range [][]*tape.Request{nil, three()[2:]} {
			f, _ := export(t, w, run(t, closed, reqs...), true)
			if f["request_rate"] != "inf" || f["max_concurrency"] != nil || f["completed"] != 0.0 {
				t.Errorf("%s: rate %v, cap %v, completed %v", tool, f["request_rate"], f["max_concurrency"], f["completed"])
			}
			if got := len(f["ttfts"].([]any)); got != len(reqs) {
				t.Errorf("%s: %d entries of %d requests", tool, got, len(reqs))
			}
			if v, ok := f["mean_e2e_latency_ms"]; ok && v != nil {
				t.Errorf("%s: a mean of nothing: %v", tool, v)
			}
		}
	}
	if err := vllm.Write(io.Discard, run(t, `{"workload":{"stream":false}}`), false); err == nil {
		t.Error("vLLM never asks for whole answers")
	}
}

// Whatever stands on a tape, a file is written that can be read, or an error says why
// not.
func TestAnyTape(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var reqs []*tape.Request
		wild := func(name string, sane int64) tape.Opt[int64] {
			switch rapid.IntRange(0, 5).Draw(rt, name) {
			case 0:
				return tape.Some(rapid.SampledFrom([]int64{math.MinInt64, -1, 1 << 53, 1<<62 + 5, math.MaxInt64}).Draw(rt, name+" wild"))
			case 1:
				return tape.Opt[int64]{}
			}
			return tape.Some(sane)
		}
		for i := range rapid.IntRange(0, 5).Draw(rt, "requests") {
			q := request(int64(i), int64(i)*100, rapid.SampledFrom([]string{"", "rcccfud", "c", "scsc", "rttf"}).Draw(rt, "events"), 3, tape.OutcomeOK, 200)
			q.Tokens.Output, q.Tokens.Input, q.Asked.Output, q.Asked.Input = wild("output", 3), wild("input", 9), wild("asked", 3), wild("prompt", 9)
			q.Tokens.Reasoning, q.TEnd, q.TReleased = wild("reasoning", 1), wild("end", 2e9), wild("released", 1e6)
			for range q.Events.DT {
				q.Events.Tok = append(q.Events.Tok, wild("running", 2).Or(-1))
			}
			reqs = append(reqs, q)
		}
		spec := rapid.SampledFrom([]string{openLoop, strings.Replace(openLoop, "openai-chat", "sglang-generate", 1)}).Draw(rt, "spec")
		for tool, w := range layouts {
			var b bytes.Buffer
			var fields map[string]any
			if err := w(&b, run(t, spec, reqs...), true); err == nil {
				if err := json.Unmarshal(b.Bytes(), &fields); err != nil {
					rt.Fatalf("%s: %v in %s", tool, err, b.String())
				}
			}
		}
	})
}

func TestObject(t *testing.T) {
	var o exporter.Object
	o.Add("b", 1)
	o.Add("a", nil)
	o.Copy(map[string]*float64{"x": nil}, "x", "y")
	b, err := json.Marshal(&o)
	if want := `{"b":1,"a":null,"x":null,"y":null}`; err != nil || string(b) != want {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
	o.Add("b", 2)
	if _, err := json.Marshal(&o); err == nil {
		t.Error("a name twice passed")
	}
	o = exporter.Object{}
	o.Add("n", math.NaN())
	if _, err := json.Marshal(&o); err == nil || !strings.Contains(err.Error(), `"n"`) {
		t.Errorf("no number: %v", err)
	}
}
