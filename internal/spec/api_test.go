package spec

import (
	"strings"
	"testing"
)

func TestEndpoint(t *testing.T) {
	for _, tc := range []struct{ api, model, whole, stream string }{
		{"openai-chat", "", "/v1/chat/completions", "/v1/chat/completions"},
		{"tgi", "", "/generate", "/generate_stream"},
		{"triton-generate", "org/m", "/v2/models/org%2Fm/generate", "/v2/models/org%2Fm/generate_stream"},
		{"custom", "m", "/ask/m", "/ask/m"},
	} {
		s := Default()
		s.Target.API, s.Target.Model, s.Target.Custom.Path = tc.api, tc.model, "/ask/{model}"
		if got := s.endpoint(); got != tc.stream {
			t.Errorf("%s: %s", tc.api, got)
		}
		s.Workload.Stream = false
		if got := s.endpoint(); got != tc.whole {
			t.Errorf("%s, not streamed: %s", tc.api, got)
		}
	}
}

func TestAPINeeds(t *testing.T) {
	for _, tc := range []struct {
		sets [][2]string
		want string // part of an issue; "": none
	}{
		{[][2]string{{"target.api", "triton-generate"}}, "target.model: it is needed"},
		{[][2]string{{"target.api", "triton-generate"}, {"target.model", "m"}, {"target.url", "http://h/v2/models/m/generate_stream"}}, ""},
		{[][2]string{{"target.api", "triton-generate"}, {"target.model", "m"}, {"target.url", "http://h/v1/chat/completions"}}, "target.api is triton-generate"},
		{[][2]string{{"target.api", "tgi"}, {"target.url", "http://h/generate_stream"}}, ""},
		{[][2]string{{"target.api", "tgi"}, {"target.url", "http://h/generate"}, {"workload.stream", "false"}}, ""},
		{[][2]string{{"target.api", "ollama"}, {"target.url", "http://h/api/chat"}}, ""},
		{[][2]string{{"target.api", "llamacpp"}, {"workload.system", "x"}}, "no place for a system message"},
		{[][2]string{{"target.custom.path", "/x"}}, "target.api is openai-chat"},
		{[][2]string{{"target.api", "custom"}}, "target.custom.path"},
		{[][2]string{{"target.api", "custom"}, {"target.custom.path", "/x"}, {"target.custom.body", "{q: '{prompt}'}"}, {"target.custom.text", "a[0].b"}}, ""},
		{[][2]string{{"target.api", "custom"}, {"target.custom.path", "/x"}, {"target.custom.body", "{q: '{prompt}'}"}, {"target.custom.text", "a"}, {"workload.output_tokens", "3"}}, "no {max_tokens}"},
		{[][2]string{{"target.api", "custom"}, {"target.custom.path", "/x"}, {"target.custom.body", "{q: ['{messages}'], m: '{max_tokens}'}"}, {"target.custom.text", "a"}, {"workload.output_tokens", "3"}, {"workload.system", "s"}}, ""},
		{[][2]string{{"target.api", "custom"}, {"target.custom.path", "/x"}, {"target.custom.body", "{q: '{prompt}'}"}, {"target.custom.text", "a"}, {"target.custom.framing", "json"}}, "json is for whole answers"},
	} {
		var sets []Set
		for _, kv := range tc.sets {
			sets = append(sets, Set{kv[0], kv[1], "--set " + kv[0]})
		}
		_, issues := Read("", nil, sets)
		var all []string
		for _, i := range issues {
			all = append(all, i.Error())
		}
		if got := strings.Join(all, "\n"); tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%v: %q, want %q", tc.sets, got, tc.want)
		}
	}
}
