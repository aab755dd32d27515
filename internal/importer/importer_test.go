package importer_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tokentape/internal/analysis/as"
	expsglang "tokentape/internal/exporter/sglang"
	expvllm "tokentape/internal/exporter/vllm"
	"tokentape/internal/importer"
	"tokentape/internal/importer/aiperf"
	"tokentape/internal/importer/sglang"
	"tokentape/internal/importer/vllm"
	"tokentape/tape"
)

func file(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "result.json")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// made is a tape of what write makes, read back.
func made(write func(*tape.Writer) (*importer.Summary, error)) (h *tape.Header, reqs []*tape.Request, f *tape.Footer, s *importer.Summary, err error) {
	var b bytes.Buffer
	w := tape.NewWriter(&b, false)
	if s, err = write(w); err != nil {
		return nil, nil, nil, nil, err
	}
	if err := w.Close(); err != nil {
		return nil, nil, nil, nil, err
	}
	r := tape.NewReader(&b)
	for {
		rec, err := r.Next()
		if err != nil {
			return h, reqs, f, s, nil
		}
		switch rec := rec.(type) {
		case *tape.Header:
			h = rec
		case *tape.Request:
			reqs = append(reqs, rec)
		case *tape.Footer:
			f = rec
		case *tape.Fault:
			return h, reqs, f, s, errors.New(rec.String())
		}
	}
}

const twoOfVLLM = `{"date": "20261130-040506", "endpoint_type": "openai-chat", "backend": "openai-chat", "label": null, "model_id": "m",
 "num_prompts": 3, "request_rate": 2.5, "burstiness": 1.0, "max_concurrency": 8, "duration": NaN, "request_throughput": -Infinity,
 "input_lens": [10, 20, 30], "output_lens": [3, 1, 0], "ttfts": [0.25, 0.125, 0.0], "itls": [[0.5, 0.0], [], []],
 "start_times": [1000.5, 1000.25, 1002.25], "generated_texts": ["NaN", "\"Infinity", ""], "errors": ["", "", "Internal\nServer\u001b[31m Error"]}`

func TestVLLM(t *testing.T) {
	path := file(t, twoOfVLLM)
	h, reqs, f, s, err := made(func(w *tape.Writer) (*importer.Summary, error) { return vllm.Write(w, path, 0, tape.Tool{}) })
	if err != nil {
		t.Fatal(err)
	}
	if s.OK != 2 || s.Requests != 3 || f.OK != 2 || f.Failed["unknown"] != 1 || f.Reason != tape.ReasonImported {
		t.Errorf("summary %+v, footer %+v", s, f)
	}
	for _, want := range []string{`"api":"openai-chat"`, `"concurrency":8`, `"rate":2.5`, `"arrivals":"poisson"`, `"stream":true`} {
		if !strings.Contains(string(h.Spec), want) {
			t.Errorf("spec %s lacks %s", h.Spec, want)
		}
	}
	if h.Import.Tool != "vllm" || h.Import.Untimed || h.Server.Model != "m" || !strings.Contains(strings.Join(h.Notes, "\n"), "none of that was observed") {
		t.Errorf("header %+v, notes %v", h.Import, h.Notes)
	}
	q := reqs[0]
	if q.TReleased.V != 250e6 || q.TFirstToken.V != 500e6 || q.TLastToken.V != 1000e6 || q.TEnd.V != 1000e6 || q.Events.Kind != "c3" || q.Events.DT[2] != 0 {
		t.Errorf("request 0: %+v", q)
	}
	if q.TWroteFirst.OK || q.THeaders.OK || q.TDue.OK || q.HTTP.Status != 0 || q.Finish != "" {
		t.Errorf("not observed, but there: %+v", q)
	}
	if q.Tokens.Input.V != 10 || q.Tokens.Output.V != 3 || q.Tokens.OutputSource != tape.SourceTool {
		t.Errorf("tokens %+v", q.Tokens)
	}
	if bad := reqs[2]; bad.Outcome != tape.OutcomeUnknown || bad.TEnd.OK || bad.Tokens.Output.OK || bad.Message != "Internal Server [31m Error" {
		t.Errorf("the failed one: %+v", bad)
	}
}

func TestSGLang(t *testing.T) {
	line := `{"tag": "x", "backend": "sglang-oai-chat", "request_rate": Infinity, "max_concurrency": null, "duration": 1.5, "server_info": null,
"input_lens": [5, 6], "output_lens": [2, 2], "ttfts": [0.1, 0.2], "itls": [[0.3], [0.4]], "errors": ["", ""]}`
	line = strings.ReplaceAll(line, "\n", "")
	path := file(t, line+"\n"+strings.Replace(line, `"x"`, `"y"`, 1)+"\n")
	write := func(n int) func(w *tape.Writer) (*importer.Summary, error) {
		return func(w *tape.Writer) (*importer.Summary, error) { return sglang.Write(w, path, n, tape.Tool{}) }
	}
	h, reqs, f, _, err := made(write(2))
	if err != nil {
		t.Fatal(err)
	}
	if !h.Import.Untimed || h.Name != "y" || reqs[1].TReleased.V != 0 || reqs[1].TFirstToken.V != 200e6 || f.OK != 2 {
		t.Errorf("%+v, %s, %+v", h.Import, h.Name, reqs[1])
	}
	for n, want := range map[int]string{0: "holds 2 runs", 3: "--run 3"} {
		if _, _, _, _, err := made(write(n)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("run %d: %v, want %s", n, err, want)
		}
	}
}

const ofAIPerf = `{"metadata": {"session_num": 1, "x_request_id": "b", "x_correlation_id": "B", "turn_index": 0, "request_start_ns": 1759813207500000000, "request_ack_ns": 1, "request_end_ns": 1759813207900000000, "benchmark_phase": "profiling", "was_cancelled": false}, "metrics": {"input_sequence_length": {"value": 550, "unit": "tokens"}, "time_to_first_token": {"value": 250.0, "unit": "ms"}, "request_latency": {"value": 300.0, "unit": "ms"}, "inter_chunk_latency": {"value": [25, 25], "unit": "ms"}, "output_sequence_length": {"value": 9, "unit": "tokens"}, "reasoning_token_count": {"value": 2, "unit": "tokens"}}, "error": null}
{"metadata": {"session_num": 0, "x_request_id": "a", "x_correlation_id": "A", "turn_index": 0, "request_start_ns": 1759813207000000000, "request_end_ns": 1759813207100000000, "benchmark_phase": "warmup", "was_cancelled": false}, "metrics": {"request_latency": {"value": 100.0, "unit": "ms"}}, "error": null}
{"metadata": {"session_num": 2, "x_request_id": "c", "turn_index": 0, "request_start_ns": 1759813208000000000, "request_end_ns": 1759813208000001000, "benchmark_phase": "profiling", "was_cancelled": true}, "metrics": {"error_isl": {"value": 550, "unit": "tokens"}}, "error": {"code": 499, "type": "RequestCancellationError", "message": "Request was cancelled after 0.000 seconds"}}
{"metadata": {"session_num": 3, "x_request_id": "d", "turn_index": 0, "request_start_ns": 1759813208000000000, "request_end_ns": 1759813208000001000, "benchmark_phase": "profiling"}, "metrics": {}, "error": {"code": 503, "type": "HTTPError", "message": "busy"}}
`

func TestAIPerf(t *testing.T) {
	path := file(t, ofAIPerf)
	h, reqs, f, _, err := made(func(w *tape.Writer) (*importer.Summary, error) { return aiperf.Write(w, path, tape.Tool{}) })
	if err != nil {
		t.Fatal(err)
	}
	if h.Anchor.Wall != "2025-10-07T05:00:07Z" || f.OK != 1 || f.Cancelled != 1 || f.Failed["http_status"] != 1 || f.Preparation != 1 {
		t.Errorf("wall %s, footer %+v", h.Anchor.Wall, f)
	}
	if q := reqs[0]; q.ID != "a" || q.Phase != tape.PhaseWarmup || q.TEnd.V != 100e6 || q.TFirstToken.OK {
		t.Errorf("%+v", q)
	}
	q := reqs[1]
	if q.ID != "b" || q.TReleased.V != 500e6 || q.TFirstToken.V != 750e6 || q.TLastToken.V != 800e6 || q.TEnd.V != 900e6 || q.Tokens.Reasoning.V != 2 || q.Session.OK {
		t.Errorf("%+v", q)
	}
}

// What our own export says of a run is what the tape made of it shows, as far as
// the file goes.
func TestOwnExports(t *testing.T) {
	h := &tape.Header{Run: "01RUN", Name: "own", Spec: []byte(`{"target":{"api":"openai-chat"},"workload":{"stream":true},"load":{"concurrency":2}}`)}
	ms := func(n int64) tape.Opt[int64] { return tape.Some(n * 1e6) }
	var b bytes.Buffer
	w := tape.NewWriter(&b, false)
	err := w.Write(h)
	for i := range int64(7) {
		at := 90 * i
		q := &tape.Request{
			Type: "request", Seq: i, Phase: tape.PhaseMeasure, Outcome: tape.OutcomeOK, TReleased: ms(at), TWroteFirst: ms(at), TFirstEvent: ms(at + 40 + i),
			TFirstToken: ms(at + 40 + i), TLastToken: ms(at + 60 + i), TEnd: ms(at + 70 + i), HTTP: tape.HTTP{Status: 200},
			Events: tape.Events{DT: []int64{(40 + i) * 1e6, 13e6, 7e6, 10e6}, Kind: "c3 d"},
			Tokens: tape.Tokens{Input: tape.Some(5 + i), InputSource: tape.SourceUsage, Output: tape.Some(int64(3)), OutputSource: tape.SourceUsage},
		}
		if i == 4 {
			q = &tape.Request{Type: "request", Seq: i, Phase: tape.PhaseMeasure, Outcome: tape.OutcomeStatus, TReleased: ms(at), TEnd: ms(at + 1), HTTP: tape.HTTP{Status: 500}, Message: "no"}
		}
		err = errors.Join(err, w.Write(q))
	}
	if err := errors.Join(err, w.Write(&tape.Footer{Planned: 7}), w.Close()); err != nil {
		t.Fatal(err)
	}
	own, err := as.Load(tape.NewReader(bytes.NewReader(b.Bytes())))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := expvllm.Write(&out, own, true); err != nil {
		t.Fatal(err)
	}
	path := file(t, out.String())
	var again bytes.Buffer
	w = tape.NewWriter(&again, false)
	if _, err := vllm.Write(w, path, 0, tape.Tool{}); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	back, err := as.Load(tape.NewReader(&again))
	if err != nil {
		t.Fatal(err)
	}
	want, err1 := as.Make("vllm", own)
	got, err2 := as.Make("vllm", back)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"completed", "failed", "total_input_tokens", "total_output_tokens", "mean_ttft_ms", "p99_ttft_ms", "mean_itl_ms", "std_itl_ms", "p99_itl_ms", "mean_tpot_ms"} {
		a, b := want.Values[key], got.Values[key]
		if a == nil || b == nil || math.Abs(*a-*b) > 1e-6 {
			t.Errorf("%s: %v, and read back %v", key, show(a), show(b))
		}
	}
	out.Reset()
	if err := expsglang.Write(&out, own, true); err != nil {
		t.Fatal(err)
	}
	path = file(t, out.String())
	_, reqs, f, _, err := made(func(w *tape.Writer) (*importer.Summary, error) { return sglang.Write(w, path, 0, tape.Tool{}) })
	if err != nil || f.OK != 6 || len(reqs) != 7 {
		t.Fatal(err, f)
	}
	for i, q := range reqs {
		if i != 4 && (q.TFirstToken.V != int64(40+i)*1e6 || q.TLastToken.V != int64(60+i)*1e6) {
			t.Errorf("request %d: first token after %d ns, last after %d", i, q.TFirstToken.V, q.TLastToken.V)
		}
	}
}

func show(p *float64) string {
	if p == nil {
		return "none"
	}
	return fmt.Sprint(*p)
}

// What makes no sense is refused, by name, and never a panic.
func TestBad(t *testing.T) {
	change := func(from, to string) string { return strings.Replace(twoOfVLLM, from, to, 1) }
	for _, c := range []struct{ text, want string }{
		{"", "it is empty"},
		{"{", "result.json:1: no JSON, torn"},
		{"[1]", "not a result of vLLM's client"},
		{"{}", "--save-detailed"},
		{change(`"output_lens": [3, 1, 0]`, `"output_lens": [3, 1]`), "2 of output_lens for 3 of input_lens"},
		{change(`[1000.5, 1000.25, 1002.25]`, `[1]`), "1 of start_times"},
		{change(`0.25,`, `-0.25,`), "request 0: a time of -0.25"},
		{change(`[[0.5, 0.0]`, `[[0.5, 1e300]`), "request 0: a time of 1e+300"},
		{change(`[3, 1, 0]`, `[-3, 1, 0]`), "-3 output tokens"},
		{change(`"input_lens": [10`, `"input_lens": ["10"`), "input_lens"},
	} {
		path := file(t, c.text)
		_, _, _, _, err := made(func(w *tape.Writer) (*importer.Summary, error) { return vllm.Write(w, path, 0, tape.Tool{}) })
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "result.json") {
			t.Errorf("%.60q: %v; want %s", c.text, err, c.want)
		}
	}
	for _, c := range []struct{ from, to, want string }{
		{`"request_end_ns": 1759813207900000000`, `"request_end_ns": 1`, "it ends before it starts"},
		{`"request_start_ns": 1759813207500000000, `, "", ":1: no record of AIPerf: metadata.request_start_ns is missing"},
		{`"value": [25, 25], "unit": "ms"`, `"value": [25, 25], "unit": "sec"`, "inter_chunk_latency is no list of ms"},
		{`"value": 9, `, `"value": 9.5, `, "output_sequence_length is no count"},
		{"null}\n{", "null\n{", ":1: no record of AIPerf, or torn"},
	} {
		path := file(t, strings.Replace(ofAIPerf, c.from, c.to, 1))
		_, _, _, _, err := made(func(w *tape.Writer) (*importer.Summary, error) { return aiperf.Write(w, path, tape.Tool{}) })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s → %s: %v", c.from, c.to, err)
		}
	}
}

// FuzzFiles: whatever a file holds, there is an error or a tape without a fault.
func FuzzFiles(f *testing.F) {
	f.Add([]byte(twoOfVLLM))
	f.Add([]byte(ofAIPerf))
	f.Add([]byte(`{"input_lens":[1],"output_lens":[1],"ttfts":[NaN],"itls":[[1e-9]],"errors":[null],"request_rate":"inf"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := file(t, string(b))
		for name, write := range map[string]func(w *tape.Writer) (*importer.Summary, error){
			"vllm":   func(w *tape.Writer) (*importer.Summary, error) { return vllm.Write(w, path, 0, tape.Tool{}) },
			"sglang": func(w *tape.Writer) (*importer.Summary, error) { return sglang.Write(w, path, 1, tape.Tool{}) },
			"aiperf": func(w *tape.Writer) (*importer.Summary, error) { return aiperf.Write(w, path, tape.Tool{}) },
		} {
			if _, _, footer, s, err := made(write); err == nil && footer == nil {
				t.Errorf("%s: %+v and no footer", name, s)
			} else if s != nil && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
