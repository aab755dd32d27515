package dialect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tokentape/tape"
)

// samples are one token event of each API as its server sends it.
var samples = map[string]string{
	"openai-chat":        chatChunk,
	"openai-completions": `{"id":"cmpl-0123456789abcdef0123456789abcdef","object":"text_completion","created":1700000000,"model":"deepseek-v4-flash","choices":[{"index":0,"text":" word","logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}`,
	"openai-responses":   `{"type":"response.output_text.delta","sequence_number":17,"item_id":"msg_0123456789abcdef0123456789abcdef","output_index":0,"content_index":0,"delta":" word","logprobs":[]}`,
	"anthropic-messages": `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}`,
	"sglang-generate":    `{"text":" word","output_ids":[1234],"meta_info":{"id":"0123456789abcdef0123456789abcdef","finish_reason":null,"prompt_tokens":16388,"weight_version":"default","completion_tokens":1,"cached_tokens":16384,"cached_tokens_details":null}}`,
	"tgi":                `{"index":1,"token":{"id":1234,"text":" word","logprob":-0.3544922,"special":false},"generated_text":null,"details":null}`,
	"ollama":             `{"model":"deepseek-v4-flash","created_at":"2026-11-30T04:00:00.123456789Z","message":{"role":"assistant","content":" word"},"done":false}`,
	"llamacpp":           `{"index":0,"content":" word","tokens":[1234],"stop":false,"id_slot":0,"tokens_predicted":1,"tokens_evaluated":43}`,
	"triton-generate":    `{"model_name":"m","model_version":"1","text_output":" word","sequence_end":false,"sequence_id":0,"sequence_start":false}`,
	"custom":             `{"id":1,"out":{"text":" word","n":1}}`,
}

// counted sets counts of one choice that ended, from one source.
func counted(source string, input, output int64, finish string, more func(*Facts)) Facts {
	return known(func(f *Facts) {
		f.HasOutput, f.Choices, f.Ended, f.Finish = true, 1, 1, finish
		if f.Input = input; input != Unknown {
			f.InputSource = source
		}
		if f.Output = output; output != Unknown {
			f.CountSource = source
		}
		more(f)
	})
}

func meta(text, more string) string {
	return `{"text":"` + text + `","meta_info":{"id":"r","prompt_tokens":6,` + more + `}}`
}

var nativeCases = []eventCase{
	{"usage of a choice", "openai-chat", []string{`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":8,"completion_tokens":3,"cached_tokens":0}}]}`,
		`{"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":"stop","usage":{"prompt_tokens":8,"completion_tokens":4}}]}`}, "c f c1", "c0:a c1:b ",
		counted(tape.SourceUsage, 8, 7, "stop", func(f *Facts) { f.Choices, f.Ended = 2, 2 })},
	{"speculation", "openai-chat", []string{`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":8,"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":0,"accepted_prediction_tokens":5,"rejected_prediction_tokens":1}}}`}, "c@9", "c0:a ",
		counted(tape.SourceUsage, 8, 9, "stop", func(f *Facts) { f.Reasoning, f.Accepted, f.Rejected = 0, 5, 1 })},
	{"timings without usage", "openai-chat", []string{`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"timings":{"cache_n":7,"prompt_n":36,"prompt_ms":246.5,"predicted_n":1,"predicted_ms":0.028,"predicted_per_second":null}}`}, "c", "c0:a ",
		counted(tape.SourceEngine, 43, 1, "stop", func(f *Facts) {
			f.Cached, f.Engine = 7, []Figure{{"prompt_ms", 246.5}, {"predicted_ms", 0.028}}
		})},
	{"usage wins over timings", "openai-chat", []string{`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":50,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`, `{"choices":[],"timings":{"cache_n":7,"prompt_n":36,"predicted_n":1,"draft_n":4,"draft_n_accepted":3}}`}, "c@2 o", "c0:a ",
		counted(tape.SourceUsage, 50, 2, "stop", func(f *Facts) { f.Cached, f.Accepted, f.Rejected, f.Drafted = 0, 3, 1, 4 })},

	{"responses", "openai-responses", []string{
		`response.created|{"type":"response.created","sequence_number":0,"response":{"id":"r","status":"in_progress","error":null,"usage":null}}`,
		`response.output_item.added|{"type":"response.output_item.added","output_index":0,"item":{"id":"rs","type":"reasoning","summary":[]}}`,
		`response.reasoning_summary_text.delta|{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"Hm"}`,
		`response.reasoning_text.delta|{"type":"response.reasoning_text.delta","output_index":0,"delta":"."}`,
		`response.output_text.delta|{"type":"response.output_text.delta","output_index":1,"delta":"Hi"}`,
		`response.output_text.delta|{"type":"response.output_text.delta","output_index":1,"delta":""}`,
		`response.output_text.done|{"type":"response.output_text.done","output_index":1,"text":"Hi"}`,
		`response.output_item.added|{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","name":"f","arguments":""}}`,
		`response.function_call_arguments.delta|{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{}"}`,
		`response.function_call_arguments.done|{"type":"response.function_call_arguments.done","output_index":2,"arguments":"{}"}`,
		`response.completed|{"type":"response.completed","response":{"status":"completed","error":null,"incomplete_details":null,"usage":{"input_tokens":5,"input_tokens_details":{"cached_tokens":4},"output_tokens":6,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":11}}}`},
		"r r s s c r o t t o f", "s0:Hm s0:. c0:Hi t0:f t0:{} ",
		counted(tape.SourceUsage, 5, 6, "completed", func(f *Facts) { f.Done, f.Cached, f.Reasoning = true, 4, 2 })},
	{"responses incomplete", "openai-responses", []string{`{"type":"response.refusal.delta","delta":"No"}`, `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":null}}`}, "x f", "x0:No ",
		counted("", Unknown, Unknown, "max_output_tokens", func(f *Facts) { f.Done, f.Refused = true, true })},
	{"responses failed", "openai-responses", []string{`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"boom"}}}`}, "e", "",
		known(func(f *Facts) { f.Done, f.Err = true, &ServerError{Code: "server_error", Message: "boom"} })},
	{"responses error event", "openai-responses", []string{`{"type":"error","code":"rate_limit_exceeded","message":"slow","param":null}`}, "e", "",
		known(func(f *Facts) {
			f.Err = &ServerError{Code: "rate_limit_exceeded", Type: "error", Message: "slow"}
		})},
	{"responses torn", "openai-responses", []string{`response.output_text.delta|{"type":"resp`}, "o", "", known(func(f *Facts) { f.Malformed, f.Sample = 1, `{"type":"resp` })},

	{"anthropic", "anthropic-messages", []string{
		`message_start|{"type":"message_start","message":{"id":"m","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":5,"cache_creation_input_tokens":2,"cache_read_input_tokens":30,"output_tokens":1}}}`,
		`content_block_start|{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`content_block_delta|{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}`,
		`content_block_delta|{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"abc"}}`,
		`content_block_stop|{"type":"content_block_stop","index":0}`, `ping|{"type":"ping"}`,
		`content_block_delta|{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}`,
		`content_block_start|{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`,
		`content_block_delta|{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}`,
		`content_block_delta|{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
		`message_delta|{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":15}}`,
		`message_stop|{"type":"message_stop"}`},
		"r r s r o o c t r t f d", "s0:Hm c0:Hi t0:f t0:{} ",
		counted(tape.SourceUsage, 37, 15, "tool_use", func(f *Facts) { f.Done, f.Cached = true, 30 })},
	{"anthropic cut short", "anthropic-messages", []string{`{"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}`}, "r c", "c0:Hi ",
		known(func(f *Facts) { f.HasOutput, f.Choices, f.Input, f.InputSource = true, 1, 5, tape.SourceUsage })},
	{"anthropic error", "anthropic-messages", []string{`error|{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`}, "e", "",
		known(func(f *Facts) { f.Err = &ServerError{Type: "overloaded_error", Message: "Overloaded"} })},
	{"anthropic refusal", "anthropic-messages", []string{`{"type":"message_delta","delta":{"stop_reason":"refusal"},"usage":{"output_tokens":0}}`}, "f", "",
		counted(tape.SourceUsage, Unknown, 0, "refusal", func(f *Facts) { f.HasOutput, f.Refused = false, true })},

	{"sglang", "sglang-generate", []string{meta("A", `"completion_tokens":1,"cached_tokens":4,"finish_reason":null`), meta("A B C", `"completion_tokens":3,"cached_tokens":4,"finish_reason":null,"spec_verify_ct":2`),
		meta("A B C", `"completion_tokens":4,"finish_reason":null`), meta("A B C D", `"completion_tokens":5,"finish_reason":{"type":"length","length":5},"spec_verify_ct":3,"spec_accepted_drafts":2,"spec_proposed_drafts":6,"e2e_latency":0.5`), "[DONE]"},
		"c@1 c@3 h@4 c@5 d", "c0:A c0: B C c0: D ",
		counted(tape.SourceEngine, 6, 5, "length", func(f *Facts) {
			f.Done, f.Cached, f.Verify, f.Accepted, f.Rejected, f.Drafted, f.Engine = true, 4, 3, 2, 4, 6, []Figure{{"e2e_latency_s", 0.5}}
		})},
	{"sglang incremental, told by ids", "sglang-generate", []string{`{"text":"a","output_ids":[1],"meta_info":{"completion_tokens":1}}`, `{"text":"a","output_ids":[1],"meta_info":{"completion_tokens":2}}`, `{"text":"","output_ids":[2],"meta_info":{"completion_tokens":3,"finish_reason":{"type":"stop","matched":2}}}`},
		"c@1 c@2 f", "c0:a c0:a ", counted(tape.SourceEngine, Unknown, 3, "stop", func(*Facts) {})},
	{"sglang incremental, told by text", "sglang-generate", []string{meta("a", `"completion_tokens":1`), meta(" b", `"completion_tokens":2`), meta(" b", `"completion_tokens":3,"finish_reason":{"type":"length","length":3}`)},
		"c@1 c@2 c@3", "c0:a c0: b c0: b ", counted(tape.SourceEngine, 6, 3, "length", func(*Facts) {})},
	{"sglang ids alone", "sglang-generate", []string{`{"output_ids":[1],"meta_info":{"completion_tokens":1}}`, `{"output_ids":[1,2],"meta_info":{"completion_tokens":2,"finish_reason":{"type":"length","length":2}}}`}, "c@1 c@2", "",
		counted(tape.SourceEngine, Unknown, 2, "length", func(*Facts) {})},
	{"sglang stop string taken back", "sglang-generate", []string{meta("a long enough beginning END", `"completion_tokens":5`), meta("a long enough beginning ", `"completion_tokens":6,"finish_reason":{"type":"stop","matched":"END"}`)}, "c@5 f", "c0:a long enough beginning END ",
		counted(tape.SourceEngine, 6, 6, "stop", func(*Facts) {})},
	{"sglang abort", "sglang-generate", []string{meta("", `"completion_tokens":0,"finish_reason":{"type":"abort","message":"input too long","status_code":400,"err_type":"BadRequestError"}`)}, "f", "",
		counted(tape.SourceEngine, 6, 0, "abort", func(f *Facts) {
			f.HasOutput, f.Err = false, &ServerError{"400", "BadRequestError", "input too long"}
		})},
	{"sglang choices", "sglang-generate", []string{`{"index":0,"text":"a","meta_info":{"completion_tokens":1}}`, `{"index":1,"text":"x","meta_info":{"completion_tokens":1}}`, `{"index":1,"text":"xy","meta_info":{"completion_tokens":2,"finish_reason":"stop"}}`, `{"index":0,"text":"ab","meta_info":{"completion_tokens":2,"finish_reason":"stop"}}`},
		"c@1 c1 c1 c", "c0:a c1:x c1:y c0:b ", counted(tape.SourceEngine, Unknown, 4, "stop", func(f *Facts) { f.Choices, f.Ended = 2, 2 })},
	{"sglang half a pair", "sglang-generate", []string{meta("a", `"completion_tokens":1,"spec_num_correct_drafts":1,"spec_accept_token_num":3,"spec_draft_token_num":4,"finish_reason":"stop"`)}, "c@1", "c0:a ",
		counted(tape.SourceEngine, 6, 1, "stop", func(f *Facts) { f.Accepted, f.Rejected, f.Drafted = 3, 1, 4 })},

	{"tgi", "tgi", []string{`{"index":1,"token":{"id":5,"text":" Hi","special":false},"generated_text":null,"details":null}`, `{"index":2,"token":{"id":3,"text":"<x>","special":true},"generated_text":null,"details":null}`,
		`{"index":3,"token":{"id":2,"text":"</s>","special":true},"generated_text":" Hi","details":{"finish_reason":"eos_token","generated_tokens":3,"input_length":9,"seed":null}}`}, "c h f", "c0: Hi ",
		counted(tape.SourceEngine, 9, 3, "eos_token", func(f *Facts) { f.Done = true })},
	{"tgi without details", "tgi", []string{`{"index":1,"token":{"text":" Hi","special":false},"generated_text":" Hi","details":null}`}, "c", "c0: Hi ",
		known(func(f *Facts) { f.HasOutput, f.Choices, f.Done = true, 1, true })},
	{"tgi error", "tgi", []string{`{"error":"Model is overloaded","error_type":"overloaded"}`}, "e", "", known(func(f *Facts) { f.Err = &ServerError{Type: "overloaded", Message: "Model is overloaded"} })},

	{"ollama", "ollama", []string{`{"model":"m","message":{"role":"assistant","content":"","thinking":"Hm"},"done":false}`, `{"message":{"role":"assistant","content":"Hi"},"done":false}`,
		`{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}},{"function":{"name":"g","arguments":{}}}]},"done":false}`, `{"message":{"role":"assistant","content":""},"done":false}`,
		`{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":200000000,"prompt_eval_count":11,"eval_count":3,"eval_duration":100000000}`},
		"s c t r f", `s0:Hm c0:Hi t0:f t0:{"a":1} t0:g t0:{} `,
		counted(tape.SourceEngine, 11, 3, "stop", func(f *Facts) {
			f.Done, f.Engine, f.Model = true, []Figure{{"total_duration_ns", 2e8}, {"eval_duration_ns", 1e8}}, "m"
		})},
	{"ollama error", "ollama", []string{`{"error":"an error was encountered"}`}, "e", "", known(func(f *Facts) { f.Err = &ServerError{Message: "an error was encountered"} })},
	{"ollama in one object", "ollama", []string{`{"message":{"content":"Hi"},"done":true}`}, "c", "c0:Hi ", known(func(f *Facts) { f.HasOutput, f.Choices, f.Done = true, 1, true })},

	{"llamacpp", "llamacpp", []string{`{"index":0,"content":" Hi","stop":false,"tokens_predicted":1,"tokens_evaluated":43}`, `{"index":0,"content":"","stop":false,"tokens_predicted":2,"tokens_evaluated":43}`,
		`{"index":0,"content":"","stop":true,"stop_type":"limit","tokens_predicted":3,"tokens_evaluated":43,"tokens_cached":45,"timings":{"cache_n":7,"prompt_n":36,"prompt_ms":1.5,"predicted_n":3,"predicted_ms":2}}`}, "c@1 h@2 f", "c0: Hi ",
		counted(tape.SourceEngine, 43, 3, "limit", func(f *Facts) {
			f.Done, f.Cached, f.Engine = true, 7, []Figure{{"prompt_ms", 1.5}, {"predicted_ms", 2}}
		})},
	{"llamacpp of old", "llamacpp", []string{`{"content":"a","stop":false}`, `{"content":"","stop":true,"stopped_eos":true,"stopped_limit":false,"stopped_word":false}`}, "c f", "c0:a ",
		counted("", Unknown, Unknown, "eos", func(f *Facts) { f.Done = true })},

	{"triton", "triton-generate", []string{`{"model_name":"m","text_output":" a"}`, `{"text_output":[" b","c"]}`, `{"text_output":""}`, `{"x":1}`}, "c c r o", "c0: a c0: b c0:c ",
		known(func(f *Facts) { f.HasOutput, f.Choices, f.EndIsDone, f.Model = true, 1, true, "m" })},
	{"triton error", "triton-generate", []string{`{"error":"bad input"}`}, "e", "", known(func(f *Facts) { f.EndIsDone, f.Err = true, &ServerError{Message: "bad input"} })},
}

func TestNativeWhole(t *testing.T) {
	for _, tc := range []struct {
		api, body, text string
		want            Facts
	}{
		{"openai-responses", `{"object":"response","status":"completed","error":null,"output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}]},{"type":"message","content":[{"type":"output_text","text":"Hi"},{"type":"refusal","refusal":"No"}]},{"type":"function_call","name":"f","arguments":"{}"}],"usage":{"input_tokens":5,"output_tokens":6}}`,
			"s0:Hm c0:Hi x0:No t0:f t0:{} ", counted(tape.SourceUsage, 5, 6, "completed", func(f *Facts) { f.Refused = true })},
		{"openai-responses", `{"a":1}`, "", known(func(f *Facts) { f.Malformed, f.Sample = 1, `{"a":1}` })},
		{"anthropic-messages", `{"type":"message","content":[{"type":"thinking","thinking":"Hm"},{"type":"text","text":"Hi"},{"type":"tool_use","name":"f","input":{"a":1}}],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":6}}`,
			`s0:Hm c0:Hi t0:f t0:{"a":1} `, counted(tape.SourceUsage, 5, 6, "end_turn", func(*Facts) {})},
		{"anthropic-messages", `{"type":"error","error":{"type":"api_error","message":"boom"}}`, "", known(func(f *Facts) { f.Err = &ServerError{Type: "api_error", Message: "boom"} })},
		{"sglang-generate", meta("A B", `"completion_tokens":2,"cached_tokens":0,"finish_reason":{"type":"stop","matched":2}`), "c0:A B ", counted(tape.SourceEngine, 6, 2, "stop", func(f *Facts) { f.Cached = 0 })},
		{"sglang-generate", "[" + meta("A", `"completion_tokens":2,"finish_reason":"stop"`) + "," + meta("B", `"completion_tokens":3,"finish_reason":"stop"`) + "]", "c0:A c1:B ",
			counted(tape.SourceEngine, 6, 5, "stop", func(f *Facts) { f.Choices, f.Ended = 2, 2 })},
		{"sglang-generate", `{"a":1}`, "", known(func(f *Facts) { f.Malformed, f.Sample = 1, `{"a":1}` })},
		{"tgi", `{"generated_text":" Hi","details":{"finish_reason":"length","generated_tokens":1,"prefill":[{"id":1},{"id":2}]}}`, "c0: Hi ", counted(tape.SourceEngine, 2, 1, "length", func(*Facts) {})},
		{"ollama", `{"message":{"content":"Hi"},"done":true,"done_reason":"length","eval_count":1}`, "c0:Hi ", counted(tape.SourceEngine, Unknown, 1, "length", func(f *Facts) { f.Done = true })},
		{"llamacpp", `{"content":" Hi","stop":true,"stop_type":"eos","tokens_predicted":1,"tokens_evaluated":4}`, "c0: Hi ", counted(tape.SourceEngine, 4, 1, "eos", func(f *Facts) { f.Done = true })},
		{"triton-generate", `{"text_output":"hi there"}`, "c0:hi there ", known(func(f *Facts) { f.HasOutput, f.Choices, f.EndIsDone = true, 1, true })},
		{"triton-generate", `{"a":1}`, "", known(func(f *Facts) { f.Malformed, f.Sample, f.EndIsDone = 1, `{"a":1}`, true })},
	} {
		dec := dialectFor(t, tc.api).NewDecoder()
		var text collected
		dec.SetSink(text.sink)
		dec.Whole([]byte(tc.body))
		tc.want.Whole = true
		if d := cmp.Diff(tc.want, *dec.Facts()); d != "" || text.text.String() != tc.text {
			t.Errorf("%s %s (-want +got):\n%s\ntext %q", tc.api, tc.body, d, text.text.String())
		}
	}
}

func TestEchoIsTakenOff(t *testing.T) {
	for prompt, want := range map[string]string{"say": "c0: a c0:say ", "": "c0:say a c0:say ", "else": "c0:say a c0:say "} {
		dec := dialectFor(t, "triton-generate").NewDecoder()
		var text collected
		dec.SetSink(text.sink)
		dec.(Prompted).SetPrompt(prompt)
		dec.Event("", []byte(`{"text_output":""}`), nil)
		dec.Event("", []byte(`{"text_output":"say a"}`), nil)
		dec.Event("", []byte(`{"text_output":"say"}`), nil)
		if got := text.text.String(); got != want {
			t.Errorf("%q: %q, want %q", prompt, got, want)
		}
	}
}

// Calls are told apart by their index, whatever the order of their pieces.
func TestToolCallsAreTold(t *testing.T) {
	dec := dialectFor(t, "openai-chat").NewDecoder()
	calls := map[int32]string{}
	dec.SetSink(func(p Piece) { calls[p.Call] += string(p.Text) })
	for _, c := range []string{
		`[{"index":0,"id":"k","function":{"name":"f","arguments":""}}]`, `[{"index":1,"function":{"name":"g","arguments":"{"}}]`,
		`[{"index":0,"function":{"arguments":"{\"a\":"}}]`, `[{"index":1,"function":{"arguments":"}"}},{"index":0,"function":{"arguments":"1}"}}]`,
	} {
		dec.Event("", []byte(`{"choices":[{"index":0,"delta":{"tool_calls":`+c+`}}]}`), nil)
	}
	if calls[0] != `f{"a":1}` || calls[1] != "g{}" || len(calls) != 2 {
		t.Errorf("calls %q", calls)
	}
}

// The same payloads, decoded again and again, leave nothing behind.
func TestNoDecoderAllocates(t *testing.T) {
	for name, payload := range samples {
		dec := dialectFor(t, name).NewDecoder()
		dec.SetSink(func(Piece) {})
		b, marks := []byte(payload), make([]Mark, 0, 4)
		dec.Event("", b, marks[:0])
		if n := testing.AllocsPerRun(100, func() { marks = dec.Event("", b, marks[:0]) }); n > 0 {
			t.Errorf("%s: %v allocations an event", name, n)
		}
		if len(marks) == 0 || !strings.ContainsRune("crh", rune(marks[0].Kind)) {
			t.Errorf("%s: %v", name, marks)
		}
	}
}
