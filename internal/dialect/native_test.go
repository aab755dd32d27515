package dialect

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
