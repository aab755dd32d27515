package probe

import (
	"testing"
	"unicode/utf8"

	"tokentape/internal/dialect"
	"tokentape/tape"
)

// Whatever a body holds and wherever it is cut, what is found in it is bounded, and
// the same bytes give the same.
func FuzzWire(f *testing.F) {
	for _, s := range []string{
		"data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"reasoning_content\":null}}]}\n\ndata: [DONE]\n\n",
		`{"usage":{"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"accepted_prediction_tokens":1}}}`,
		"{\"meta_info\":{\"spec_verify_ct\":1e999}}\n{\"draft_n\":\"x\"}\n", "[[[[{\"a\":[]}", "data: {\"\xff\":1}\n\n", "",
	} {
		for i := range dialect.Names() {
			f.Add([]byte(s), byte(i))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, n byte) {
		names := dialect.Names()
		d, err := dialect.New(names[int(n)%len(names)], dialect.Setup{Model: "m", Custom: dialect.Custom{Path: "/x", Framing: "ndjson", Body: map[string]any{"p": "{prompt}"}, Text: "t"}})
		if err != nil {
			t.Skip()
		}
		w := fieldsOf(d, body)
		if len(w.fields) > maxPaths {
			t.Errorf("%d fields", len(w.fields))
		}
		for path, l := range w.fields {
			if len(path) > maxPath+len(body) || len(l.text) > maxName {
				t.Errorf("%d bytes of path, %d of text", len(path), len(l.text))
			}
		}
		r := &reply{name: "probe-0", req: &tape.Request{Outcome: tape.OutcomeOK}, seen: w}
		f := newFindings(nil)
		f.whole, f.stream, f.first, f.second = r, r, r, r
		if c := f.capabilities(); !utf8.ValidString(c.Model) && utf8.Valid(body) {
			t.Errorf("model %q", c.Model)
		}
	})
}

// No answer about the engine, however odd, ends in a panic or in a context, a version
// or an entry of nobody's saying.
func FuzzEngine(f *testing.F) {
	for _, s := range []string{
		`{"version":"0.5.2","context_length":4096,"disaggregation_mode":"prefill"}`, `{"prefill":[{}],"decode":[{}]}`,
		`{"vllm_config":"kv_role='kv_producer'"}`, `{"vllm_config":{"kv_role":"kv_consumer"}}`, `{"build_info":"b1","default_generation_settings":{"n_ctx":512}}`,
		`{"model_id":"m","version":"3","max_total_tokens":2048}`, `{"version":1}`, `[]`, `null`, `{"context_length":-1}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, e := range endpoints {
			res := &Result{}
			ok := e.read(res, body, "http://h"+e.path)
			if !ok && res.Entry != (Entry{}) || res.Context.Tokens < 0 || (res.Context.Tokens > 0) != (res.Context.From != "") || (res.Entry.Kind != "") != (res.Entry.From != "") {
				t.Errorf("%s: %t %+v", e.path, ok, res)
			}
		}
	})
}
