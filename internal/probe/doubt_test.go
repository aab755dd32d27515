package probe

import (
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"tokentape/simserver"
	"tokentape/tape"
)

// rewriter changes what a server writes.
type rewriter struct {
	http.ResponseWriter
	change func(string) string
}

func (w rewriter) WriteHeader(status int) {
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(status)
}

func (w rewriter) Write(b []byte) (int, error) {
	w.Header().Del("Content-Length")
	_, err := w.ResponseWriter.Write([]byte(w.change(string(b))))
	return len(b), err
}

func (w rewriter) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

// Counts that cannot be true prove nothing, and their absence neither: what they would
// have told is not observed, and says why.
func TestImpossibleCounts(t *testing.T) {
	every := func(count, is string) func(n int64, text string) string {
		re := regexp.MustCompile(`"` + count + `":\s*[0-9]+`)
		return func(_ int64, text string) string { return re.ReplaceAllString(text, `"`+count+`":`+is) }
	}
	for _, c := range []struct {
		name   string
		change func(n int64, text string) string
		none   map[string]string // what is not observed, and why
	}{
		{"fewer tokens than events", every("completion_tokens", "2"), map[string]string{"tokens_per_event": "2 tokens in 10 token events", "usage": "contradictory", "ignore_eos": "contradictory"}},
		{"an absurd count", every("completion_tokens", "9223372036854775807"), map[string]string{"tokens_per_event": "9223372036854775807", "usage": "9223372036854775807", "usage_whole": "9223372036854775807", "max_tokens": "9223372036854775807"}},
		{"cached above the prompt", every("cached_tokens", "99999"), map[string]string{"cached_tokens": "99999 cached tokens of a prompt of"}},
		{"cached below 0", every("cached_tokens", "-3"), map[string]string{"cached_tokens": "none: -3", "cached_fields": "none: -3"}},
		{"a fraction", every("cached_tokens", "12.5"), map[string]string{"cached_tokens": "none: 12.5", "cached_fields": "none: 12.5"}},
		{"no input", every("prompt_tokens", "0"), map[string]string{"chat_overhead": "0 tokens of a prompt"}},
		{"left out now and then", func(n int64, text string) string {
			if n%5 == 0 {
				return every("cached_tokens", "null")(n, text)
			}
			return text
		}, map[string]string{"cached_tokens": "a count that is missing says nothing"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var n atomic.Int64
			k := world{opts: sim(func(o *simserver.Options) { o.CacheReport = "on" }), what: Whole, wrap: func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodPost {
						h.ServeHTTP(w, r)
						return
					}
					i := n.Add(1)
					h.ServeHTTP(rewriter{w, func(text string) string { return c.change(i, text) }}, r)
				})
			}}.probed(t).caps
			known := map[string]bool{
				"usage": k.Usage != "", "usage_whole": k.UsageWhole.OK, "cached_tokens": k.CachedTokens != "" && k.CachedTokens != tape.CachedUnknown, "cached_fields": len(k.CachedFields) > 0,
				"tokens_per_event": k.TokensPerEvent.OK, "chat_overhead": k.ChatOverhead.OK,
			}
			for field, why := range c.none {
				_, told := k.Honoured[field]
				if known[field] || told || !strings.Contains(k.How[field], why) {
					t.Errorf("%s is told (%t, %t), from %q, want %q", field, known[field], told, k.How[field], why)
				}
			}
		})
	}
}

// What was not asked for is called that, and nothing is without its reason.
func TestEachHasItsReason(t *testing.T) {
	for _, api := range []string{"openai-chat", "sglang-generate", "tgi", "triton-generate"} {
		for _, what := range []string{Short, Cache, Full, Whole} {
			k := world{api: api, opts: sim(), what: what}.probed(t).caps
			for _, field := range []string{"ignore_eos", "min_tokens", "chat_overhead", "usage", "cached_tokens", "role_first", "tokens_per_event"} {
				if k.How[field] == "" {
					t.Errorf("%s, %s: %s has no reason", api, what, field)
				}
			}
			if len(k.CachedFields) == 0 && k.How["cached_fields"] == "" {
				t.Errorf("%s, %s: cached_fields has no reason", api, what)
			}
			if got, ok := k.Honoured["min_new_tokens"]; api == "sglang-generate" && what == Full && (!ok || !got) {
				t.Errorf("min_new_tokens of the simulated server: %q", k.How["min_new_tokens"])
			}
			if what == Short && api == "openai-chat" && k.How["ignore_eos"] != "not asked: tokentape probe does" {
				t.Errorf("%s: %q", api, k.How["ignore_eos"])
			}
			for field, how := range k.How {
				if strings.Contains(how, "(finish )") {
					t.Errorf("%s: %s: %q", api, field, how)
				}
			}
		}
	}
}
