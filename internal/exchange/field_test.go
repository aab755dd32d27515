package exchange

import (
	"fmt"
	"strings"
	"testing"

	"tokentape/internal/dialect"
	"tokentape/tape"
)

// B08: a server that refuses a field of the body is quoted with that field's name
// in front, and with the setting that put it there, in whatever form it says so.
func TestB08RefusedField(t *testing.T) {
	long := strings.Repeat("x", 3000)
	for _, tc := range []struct {
		name   string
		status int
		body   string
		cause  string
		want   string
	}{
		{"FastAPI", 422, `{"detail":[{"loc":["body","ignore_eos"],"msg":"extra fields not permitted"}]}`, CauseField,
			`422 Unprocessable Entity, which refuses the field ignore_eos (workload.sampling.ignore_eos): {"detail":[{"loc":["body","ignore_eos"]`},
		{"pydantic 2, which repeats the body", 422, `{"detail":[{"type":"extra_forbidden","loc":["body","ignore_eos"],"msg":"Extra inputs are not permitted","input":"` + long + `"}]}`, CauseField,
			"refuses the field ignore_eos (workload.sampling.ignore_eos)"},
		{"vLLM", 400, `{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'ignore_eos'), 'msg': 'Extra inputs are not permitted', 'input': True}]","type":"BadRequestError","param":null,"code":400}`, CauseField,
			"refuses the field ignore_eos (workload.sampling.ignore_eos)"},
		{"OpenAI, the length", 400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`, CauseField,
			"refuses the field max_tokens (the output length; target.max_tokens_field names another field for it)"},
		{"OpenAI, of old", 400, `{"error":{"message":"Unrecognized request argument supplied: ignore_eos","type":"invalid_request_error","param":null}}`, CauseField, "refuses the field ignore_eos (workload"},
		{"Go", 400, `json: unknown field "ignore_eos"`, CauseField, "refuses the field ignore_eos (workload"},
		{"Rust, of a row", 422, "Failed to deserialize the JSON body: unknown field `lora_id`, expected one of `model`", CauseField, "refuses the field lora_id: Failed"},
		{"a length that does not fit is no field", 400, `{"error":{"message":"This model's maximum context length is 4096 tokens.","param":"messages","code":"context_length_exceeded"}}`, CauseContextLength, "400 Bad Request: {"},
		{"no field", 422, `{"detail":"no"}`, "", `422 Unprocessable Entity: {"detail":"no"}`},
		{"another status", 500, `{"detail":[{"loc":["body","ignore_eos"]}]}`, "", `500 Internal Server Error: {"detail"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			head := fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", tc.status, len(tc.body))
			q := play(t, script{head, []step{at(5, tc.body)}}, func(c *Config) {
				c.Options = dialect.Options{Model: "m", Stream: true, OutputLen: 512, Sampling: map[string]any{"ignore_eos": true}}
			})
			if q.Outcome != tape.OutcomeStatus || q.Cause != tc.cause || !strings.Contains(q.Message, tc.want) {
				t.Errorf("%s %q: %s\nwant %q", q.Outcome, q.Cause, q.Message, tc.want)
			}
		})
	}
}
