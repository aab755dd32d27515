package simserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"tokentape/internal/clock"
)

const hello = `"messages":[{"role":"user","content":"Hello there"}]`

// The whole wire form, byte for byte, at a fixed wall time.
func TestWireGolden(t *testing.T) {
	for _, c := range []struct {
		name, path, body string
		change           func(*Options)
	}{
		{"chat-stream", "/v1/chat/completions", `{` + hello + `,"stream":true,"stream_options":{"include_usage":true}}`, func(*Options) {}},
		{"chat-whole", "/v1/chat/completions", `{` + hello + `}`, func(*Options) {}},
		{"chat-continuous", "/v1/chat/completions", `{` + hello + `,"stream":true,"max_tokens":2,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`, func(*Options) {}},
		{"completion-stream", "/v1/completions", `{"prompt":"Once upon","stream":true,"stream_options":{"include_usage":true}}`, func(*Options) {}},
		{"completion-whole", "/v1/completions", `{"prompt":"Once upon","model":"a \"quoted\" <name>"}`, func(*Options) {}},
		{"speculative", "/v1/chat/completions", `{` + hello + `,"stream":true,"ignore_eos":true,"max_tokens":7,"stream_options":{"include_usage":true}}`, func(o *Options) { o.TokensPerEvent, o.SpecUsage = 3, true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := do(newServer(t, quick(c.change)), "POST", c.path, c.body, "X-Request-Id", "r1")
				if w.Code != http.StatusOK || w.Header().Get("X-Request-Id") != "r1" {
					t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
				}
				golden(t, c.name+".txt", w.Body.String())
			})
		})
	}
}

func TestStreamShape(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*Options)
		body    string
		role    bool
		content int // content events
		tokens  int64
		finish  string
		usage   bool
	}{
		{"eos", func(*Options) {}, `"stream_options":{"include_usage":true}`, true, 4, 4, "stop", true},
		{"no usage asked", func(*Options) {}, `"max_tokens":10`, true, 4, 4, "stop", false},
		{"max_tokens", func(*Options) {}, `"max_tokens":3,"stream_options":{"include_usage":true}`, true, 3, 3, "length", true},
		{"max_completion_tokens", func(*Options) {}, `"max_completion_tokens":2,"max_tokens":9`, true, 2, 2, "length", false},
		{"ignore_eos", func(*Options) {}, `"max_tokens":20,"ignore_eos":true`, true, 20, 20, "length", false},
		{"min_tokens", func(*Options) {}, `"max_tokens":20,"min_tokens":11`, true, 11, 11, "stop", false},
		{"no role chunk", func(o *Options) { o.RoleChunk = RoleNone }, `"max_tokens":3`, false, 3, 3, "length", false},
		{"speculation", func(o *Options) { o.TokensPerEvent = 4 }, `"max_tokens":10,"ignore_eos":true,"stream_options":{"include_usage":true}`, true, 4, 10, "length", true}, // 1 + 4 + 4 + 1
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t, quick(c.change))
			w := do(s, "POST", "/v1/chat/completions", `{"stream":true,`+hello+`,`+c.body+`}`)
			ps := payloads(t, w.Body.String())
			if ps[len(ps)-1] != "[DONE]" {
				t.Fatalf("last: %s", ps[len(ps)-1])
			}
			ps = ps[:len(ps)-1]
			if c.usage {
				u := decode(t, ps[len(ps)-1])
				if len(u.Choices) != 0 || u.Usage == nil || u.Usage.Completion != c.tokens || u.Usage.Prompt != 4+2+2+3 || u.Usage.Total != u.Usage.Prompt+c.tokens {
					t.Errorf("usage: %s", ps[len(ps)-1])
				}
				ps = ps[:len(ps)-1]
			}
			if f := decode(t, ps[len(ps)-1]); *f.Choices[0].Finish != c.finish || f.Choices[0].Delta.Content != nil {
				t.Errorf("finish: %s", ps[len(ps)-1])
			}
			ps = ps[:len(ps)-1]
			if c.role {
				if r := decode(t, ps[0]); *r.Choices[0].Delta.Role != "assistant" || *r.Choices[0].Delta.Content != "" {
					t.Errorf("role: %s", ps[0])
				}
				ps = ps[1:]
			}
			if len(ps) != c.content {
				t.Errorf("%d content events, want %d", len(ps), c.content)
			}
			words := 0
			for _, p := range ps {
				ch := decode(t, p)
				if ch.Usage != nil || ch.Object != "chat.completion.chunk" || ch.Choices[0].Finish != nil || ch.Created == 0 {
					t.Errorf("content: %s", p)
				}
				words += len(strings.Fields(*ch.Choices[0].Delta.Content))
			}
			if int64(words) != c.tokens {
				t.Errorf("%d words, want %d", words, c.tokens)
			}
			tr := s.Trace()[0]
			if tr.OutputTokens != c.tokens || tr.Finish != c.finish || tr.Status != 200 || len(tr.Tokens) != c.content {
				t.Errorf("truth: %+v", tr)
			}
		})
	}
}

func TestPromptTokensAndCache(t *testing.T) {
	s := newServer(t, quick(func(o *Options) { o.PageSize = 4 }))
	ask := func(body string) *usage {
		t.Helper()
		w := do(s, "POST", "/v1/chat/completions", body)
		if w.Code != 200 {
			t.Fatal(w.Body)
		}
		return decode(t, w.Body.String()).Usage
	}
	long := `{"messages":[{"role":"system","content":"你好世界你好世界"},{"role":"user","content":` // 12 tokens, then 3 of the header
	if u := ask(long + `"one"}]}`); u.Prompt != 12+5+3 || u.Details != nil {
		t.Errorf("first: %+v", u)
	}
	// "one" is token 16: pages end at 12 and 16, so of the next prompt 12 tokens hit; the header's 3 are in a page that differs.
	if u := ask(long + `"two"}]}`); u.Details == nil || u.Details.Cached != 12 {
		t.Errorf("same system prompt: %+v", u)
	}
	// 20 tokens, 5 full pages, but the last token is always computed.
	if u := ask(long + `"two"}]}`); u.Details == nil || u.Details.Cached != 16 {
		t.Errorf("same prompt: %+v", u)
	}
	if w := do(s, "POST", "/flush_cache", ""); w.Code != 200 || !strings.HasPrefix(w.Body.String(), "Cache flushed.") {
		t.Errorf("flush: %d %s", w.Code, w.Body)
	}
	if u := ask(long + `"two"}]}`); u.Details != nil {
		t.Errorf("after flush: %+v", u)
	}
	if n := s.Seen()["/flush_cache"]; n != 1 {
		t.Errorf("flush seen %d times", n)
	}
	quiet := newServer(t, quick(func(o *Options) { o.PageSize, o.CacheReport = 1, CacheReportOff }))
	for range 2 {
		if w := do(quiet, "POST", "/v1/completions", `{"prompt":"a b c d"}`); decode(t, w.Body.String()).Usage.Details != nil {
			t.Errorf("cache report is off: %s", w.Body)
		}
	}
	if tr := quiet.Trace(); tr[1].CachedTokens != 3 || tr[1].PromptTokens != 4 {
		t.Errorf("truth: %+v", tr[1])
	}
}

func TestCacheReportAtZero(t *testing.T) {
	for report, want := range map[CacheReport]string{
		CacheReportOn: `"prompt_tokens_details":{"cached_tokens":0}`, CacheReportAboveZero: `"prompt_tokens_details":null`, CacheReportOff: `"prompt_tokens_details":null`,
	} {
		s := newServer(t, quick(func(o *Options) { o.CacheReport = report }))
		if w := do(s, "POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":"one"}]}`); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %s", report, w.Body)
		}
	}
}

func TestRefusals(t *testing.T) {
	o := quick(func(o *Options) { o.Context, o.CheckModel = 50, true })
	for _, c := range []struct {
		name, method, path, body string
		code                     int
		part                     string
	}{
		{"not JSON", "POST", "/v1/chat/completions", `{"messages":`, 400, "JSON decode error"},
		{"empty body", "POST", "/v1/chat/completions", ``, 400, "JSON decode error"},
		{"a list", "POST", "/v1/completions", `[1]`, 400, "BadRequestError"},
		{"wrong type", "POST", "/v1/chat/completions", `{` + hello + `,"max_tokens":"ten"}`, 400, "body.max_tokens"},
		{"no messages", "POST", "/v1/chat/completions", `{}`, 400, "body.messages"},
		{"no role", "POST", "/v1/chat/completions", `{"messages":[{"content":"x"}]}`, 400, "body.messages.0.role"},
		{"content a number", "POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":3}]}`, 400, "body.messages.0.content"},
		{"max_tokens 0", "POST", "/v1/chat/completions", `{` + hello + `,"max_tokens":0}`, 400, "max_tokens must be at least 1"},
		{"min over max", "POST", "/v1/chat/completions", `{` + hello + `,"max_tokens":2,"min_tokens":3}`, 400, "min_tokens"},
		{"two choices", "POST", "/v1/chat/completions", `{` + hello + `,"n":2}`, 400, "n must be 1"},
		{"context", "POST", "/v1/chat/completions", `{` + hello + `,"max_tokens":40}`, 400, "maximum context length of 50 tokens. You requested a total of 51 tokens"},
		{"context, huge", "POST", "/v1/chat/completions", `{` + hello + `,"max_tokens":9223372036854775807}`, 400, "maximum context length"},
		{"input too long", "POST", "/v1/completions", `{"prompt":"` + strings.Repeat("好", 50) + `"}`, 400, "longer than the model's context length (50 tokens)"},
		{"no prompt", "POST", "/v1/completions", `{}`, 400, "body.prompt"},
		{"empty prompt", "POST", "/v1/completions", `{"prompt":""}`, 400, "empty"},
		{"two prompts", "POST", "/v1/completions", `{"prompt":["a","b"]}`, 400, "2 prompts"},
		{"half a token", "POST", "/v1/completions", `{"prompt":[1,2.5]}`, 400, "no token id"},
		{"model", "POST", "/v1/completions", `{"prompt":"x","model":"gpt-9"}`, 404, "does not exist"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t, o)
			w := do(s, c.method, c.path, c.body)
			var e struct {
				Object, Message, Type string
				Param                 *string
				Code                  int
			}
			if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != c.code || e.Code != c.code || e.Object != "error" || e.Type == "" {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if !strings.Contains(w.Body.String(), c.part) {
				t.Errorf("%s does not say %q", w.Body, c.part)
			}
			if tr := s.Trace(); len(tr) != 1 || tr[0].Status != c.code || tr[0].Admitted != -1 {
				t.Errorf("truth: %+v", tr)
			}
		})
	}
}

func TestPromptForms(t *testing.T) {
	s := newServer(t, quick(func(o *Options) { o.OutputMean = 100 }))
	for body, want := range map[string]int64{
		`{"prompt":"a b c"}`: 3, `{"prompt":["a b c"]}`: 3, `{"prompt":[5,6,7,8]}`: 4, `{"prompt":[[5,6]]}`: 2,
	} {
		w := do(s, "POST", "/v1/completions", body)
		if u := decode(t, w.Body.String()).Usage; u == nil || u.Prompt != want || u.Completion != 16 { // the API's default
			t.Errorf("%s: %s", body, w.Body)
		}
	}
	parts := `{"messages":[{"role":"user","content":[{"type":"text","text":"a b"},{"type":"image_url","image_url":{"url":"x"}}]},{"role":"assistant","content":null}],"max_tokens":1}`
	if u := decode(t, do(s, "POST", "/v1/chat/completions", parts).Body.String()).Usage; u == nil || u.Prompt != 6+4+3 {
		t.Errorf("parts: %+v", u)
	}
}

func TestOtherPaths(t *testing.T) {
	s := newServer(t, quick(func(o *Options) { o.APIKey = "sk-1" }))
	auth := []string{"Authorization", "Bearer sk-1"}
	for _, c := range []struct {
		method, path string
		header       []string
		code         int
		part         string
	}{
		{"GET", "/health", nil, 200, ""},
		{"GET", "/metrics", nil, 200, "sglang:num_running_reqs{engine_type=\"unified\",model_name=\"sim-7b\"} 0"},
		{"GET", "/v1/models", nil, 401, `{"error":"Unauthorized"}`},
		{"POST", "/v1/chat/completions", []string{"Authorization", "Bearer sk-2"}, 401, "Unauthorized"},
		{"GET", "/v1/models", auth, 200, `"id":"sim-7b"`},
		{"GET", "/v1/models", auth, 200, `"max_model_len":32768`},
		{"GET", "/get_server_info", auth, 200, `"page_size":16`},
		{"GET", "/server_info", auth, 200, `"version":"0.5.2"`},
		{"GET", "/get_model_info", auth, 200, `"is_generation":true`},
		{"GET", "/flush_cache", auth, 200, "Cache flushed."},
		{"PUT", "/flush_cache", auth, 405, "Method Not Allowed"},
		{"GET", "/v1/chat/completions", auth, 405, "Method Not Allowed"},
		{"GET", "/v1/nonsense", auth, 404, `{"detail":"Not Found"}`},
		{"POST", "/v1/v1/chat/completions", auth, 404, `{"detail":"Not Found"}`},
	} {
		w := do(s, c.method, c.path, "", c.header...)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.part) {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
	if got := s.Seen()["/v1/models"]; got != 3 {
		t.Errorf("seen: %v", s.Seen())
	}
}

func TestSeenIsBounded(t *testing.T) {
	s := newServer(t, quick())
	for i := range 1500 {
		do(s, "GET", fmt.Sprintf("/%d", i), "")
	}
	if m := s.Seen(); len(m) > 1001 || m["other"] == 0 {
		t.Errorf("%d paths", len(m))
	}
}

func FuzzBody(f *testing.F) {
	f.Add(`{`+hello+`,"stream":true}`, true)
	f.Add(`{"prompt":[1,2],"max_tokens":1e3,"n":1}`, false)
	f.Add(`{"messages":[{"role":"","content":[{}]}],"seed":-1,"stream_options":null}`, true)
	s := NewWithClock(quick(func(o *Options) { o.Context = 100 }), clock.New())
	f.Cleanup(func() { _ = s.Close() })
	f.Fuzz(func(t *testing.T, body string, chat bool) {
		path := "/v1/completions"
		if chat {
			path = "/v1/chat/completions"
		}
		w := do(s, "POST", path, body)
		switch {
		case w.Code != 200:
			if !json.Valid(w.Body.Bytes()) {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
		case strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream"):
			for _, p := range payloads(t, w.Body.String()) {
				if p != "[DONE]" {
					decode(t, p)
				}
			}
		default:
			decode(t, w.Body.String())
		}
	})
}
