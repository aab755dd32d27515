package dialect

import (
	"testing"

	"tokentape/tape"
)

// spoken is the last payload of a chat answer of 106 tokens, with more beside its
// usage.
func spoken(more string) []string {
	return []string{`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`, `{"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":106}` + more + `}`}
}

func speculating(more func(*Facts)) Facts {
	return counted(tape.SourceUsage, 8, 106, "stop", more)
}

// What engines send of speculation, as their own sources and users show it.
var speculationCases = []eventCase{
	{"sglang asked with return_spec_tokens_details", "openai-chat", spoken(`,"sglext":{"spec_tokens_details":{"spec_accept_rate":0.2930232558139535,"spec_accept_length":2.4651162790697674,"spec_num_correct_drafts":63,"spec_num_proposed_drafts":215,"spec_verify_ct":43,"spec_correct_drafts_histogram":[11,14,11,4,0,3]}}`),
		"c u", "c0:a ", speculating(func(f *Facts) {
			f.Accepted, f.Rejected, f.Drafted, f.Verify, f.StepsAccepting = 63, 152, 215, 43, []int64{11, 14, 11, 4, 0, 3}
			f.Engine = []Figure{{"spec_accept_rate", 0.2930232558139535}, {"spec_accept_length", 2.4651162790697674}}
		})},
	{"sglang asked with return_meta_info", "openai-chat", []string{`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop","meta_info":{"spec_verify_ct":43}}]}`, spoken("")[1]},
		"c u", "c0:a ", speculating(func(f *Facts) { f.Verify = 43 })},
	{"vllm with --per-request-spec-decode-metrics", "openai-chat", spoken(`,"metrics":{"time_to_first_token_ms":3,"speculative_decoding":{"mean_acceptance_length":1.25,"draft_acceptance_rate":0.5,"acceptance_histogram":[39,1,0,3],"num_spec_steps":43,"num_accepted_draft_tokens":10,"num_draft_tokens":129,"num_spec_tokens":3}}`),
		"c u", "c0:a ", speculating(func(f *Facts) {
			f.Accepted, f.Rejected, f.Drafted, f.Verify, f.StepsAccepting = 10, 119, 129, 43, []int64{39, 1, 0, 3}
			f.Engine = []Figure{{"mean_acceptance_length", 1.25}, {"draft_acceptance_rate", 0.5}}
		})},
	{"vllm without", "openai-chat", spoken(`,"metrics":{"speculative_decoding":null}`), "c u", "c0:a ", speculating(func(*Facts) {})},
	{"llama.cpp", "openai-chat", spoken(`,"timings":{"draft_n":347,"draft_n_accepted":65}`), "c u", "c0:a ",
		speculating(func(f *Facts) { f.Accepted, f.Rejected, f.Drafted = 65, 282, 347 })},
	{"mlx-vlm counts rounds", "openai-chat", spoken(`,"timings":{"draft_kind":"mtp","draft_rounds":30,"draft_n":90,"draft_n_accepted":81}`), "c u", "c0:a ",
		speculating(func(f *Facts) { f.Accepted, f.Rejected, f.Drafted, f.Verify = 81, 9, 90, 30 })},
	{"the engine's own counts win over those of a prediction, before and after", "openai-chat",
		[]string{`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"timings":{"draft_n":9,"draft_n_accepted":4}}`, `{"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":106,"completion_tokens_details":{"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}`},
		"c u", "c0:a ", speculating(func(f *Facts) { f.Accepted, f.Rejected, f.Drafted = 4, 5, 9 })},
	{"more accepted than proposed: both stay, nothing is made of them", "openai-chat", spoken(`,"timings":{"draft_n":4,"draft_n_accepted":65}`), "c u", "c0:a ",
		speculating(func(f *Facts) { f.Accepted, f.Drafted = 65, 4 })},
	{"no counts: negative, broken, of another kind", "openai-chat", spoken(`,"timings":{"draft_n":-4,"draft_n_accepted":1.5,"draft_rounds":"7"},"metrics":[1],"sglext":{"spec_tokens_details":[2]}`), "c u", "c0:a ", speculating(func(*Facts) {})},
	{"no steps: one is no count", "openai-chat", spoken(`,"metrics":{"speculative_decoding":{"acceptance_histogram":[1,-2,3],"num_spec_steps":4}}`), "c u", "c0:a ",
		speculating(func(f *Facts) { f.Verify, f.StepsAccepting = 4, []int64{} })},
	{"tokenspeed", "sglang-generate", []string{meta("a", `"completion_tokens":9,"spec_verify_ct":3,"spec_accepted_tokens":5,"spec_draft_tokens":12,"finish_reason":"stop"`)}, "c@9", "c0:a ",
		counted(tape.SourceEngine, 6, 9, "stop", func(f *Facts) { f.Verify, f.Accepted, f.Rejected, f.Drafted = 3, 5, 7, 12 })},
	{"sglang, accepted alone", "sglang-generate", []string{meta("a", `"completion_tokens":9,"spec_verify_ct":3,"spec_accepted_drafts":5,"spec_accept_length":3,"finish_reason":"stop"`)}, "c@9", "c0:a ",
		counted(tape.SourceEngine, 6, 9, "stop", func(f *Facts) { f.Verify, f.Accepted, f.Engine = 3, 5, []Figure{{"spec_accept_length", 3}} })},
	{"sglang, steps of two choices", "sglang-generate", []string{`{"index":0,"text":"a","meta_info":{"completion_tokens":2,"spec_verify_ct":1,"spec_accept_histogram":[0,1],"finish_reason":"stop"}}`, `{"index":1,"text":"x","meta_info":{"completion_tokens":4,"spec_verify_ct":2,"spec_accept_histogram":[1,0,1],"finish_reason":"stop"}}`},
		"c@2 c1", "c0:a c1:x ", counted(tape.SourceEngine, Unknown, 6, "stop", func(f *Facts) { f.Choices, f.Ended, f.Verify, f.StepsAccepting = 2, 2, 3, []int64{1, 1, 1} })},
}

// Steps of one answer are not those of the next.
func TestSpeculationIsReset(t *testing.T) {
	d := newOpenAI("openai-chat", "/v1/chat/completions", true).NewDecoder()
	d.Reset()
	d.Event("", []byte(spoken(`,"metrics":{"speculative_decoding":{"acceptance_histogram":[3,1],"num_spec_steps":4}}`)[1]), nil)
	if got := d.Facts().StepsAccepting; len(got) != 2 {
		t.Fatalf("steps %v", got)
	}
	d.Reset()
	if f := d.Facts(); f.StepsAccepting != nil || f.Verify != Unknown {
		t.Fatalf("left over: %v, %d", f.StepsAccepting, f.Verify)
	}
}
