package dialect

import (
	"strings"
	"testing"

	"tokentape/tape"
)

// What engines send of the prefix cache, as their own sources show it: SGLang's
// usage_processor.py leaves the details out at 0, its sglext splits the count.
var cacheCases = []eventCase{
	{"sglang asked with return_cached_tokens_details", "openai-chat",
		[]string{spoken("")[0], `{"choices":[],"sglext":{"cached_tokens_details":{"device":64,"host":32}}}`, `{"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":106,"prompt_tokens_details":{"cached_tokens":96}}}`},
		"c o u", "c0:a ", speculating(func(f *Facts) {
			f.Cached, f.Tiers = 96, Tiers{Device: tape.Some[int64](64), Host: tape.Some[int64](32)}
		})},
	{"and without --enable-cache-report", "openai-chat", spoken(`,"sglext":{"routed_experts":null,"cached_tokens_details":{"device":0,"host":0,"storage":48,"storage_backend":"HiCacheFile"}}`),
		"c u", "c0:a ", speculating(func(f *Facts) {
			f.Tiers = Tiers{tape.Some[int64](0), tape.Some[int64](0), tape.Some[int64](48), "HiCacheFile"}
		})},
	{"tiers that are none", "openai-chat", spoken(`,"sglext":{"cached_tokens_details":{"device":-1,"host":null,"storage":"7"}}`),
		"c u", "c0:a ", speculating(func(f *Facts) { f.Unread = []Unread{{"cached_device", "-1"}, {"cached_storage", `"7"`}} })},
	{"sglang without a hierarchical cache", "sglang-generate", []string{meta("a", `"completion_tokens":9,"cached_tokens":2,"cached_tokens_details":null,"finish_reason":"stop"`)}, "c@9", "c0:a ",
		counted(tape.SourceEngine, 6, 9, "stop", func(f *Facts) { f.Cached = 2 })},
	{"and with one", "sglang-generate", []string{meta("a", `"completion_tokens":9,"cached_tokens":2,"cached_tokens_details":{"device":2,"host":0},"finish_reason":"stop"`)}, "c@9", "c0:a ",
		counted(tape.SourceEngine, 6, 9, "stop", func(f *Facts) {
			f.Cached, f.Tiers = 2, Tiers{Device: tape.Some[int64](2), Host: tape.Some[int64](0)}
		})},
	{"a count that is none is not one that was left out", "sglang-generate", []string{meta("a", `"completion_tokens":9,"cached_tokens":-3,"finish_reason":"stop"`)}, "c@9", "c0:a ",
		counted(tape.SourceEngine, 6, 9, "stop", func(f *Facts) { f.Unread = []Unread{{"cached", "-3"}} })},
	{"part of a sum is no count of the whole", "sglang-generate", []string{`{"index":0,"text":"a","meta_info":{"completion_tokens":2,"finish_reason":"stop"}}`, `{"index":1,"text":"x","meta_info":{"completion_tokens":2.5,"finish_reason":"stop"}}`},
		"c@2 c1", "c0:a c1:x ", counted(tape.SourceEngine, Unknown, Unknown, "stop", func(f *Facts) {
			f.Choices, f.Ended, f.Unread = 2, 2, []Unread{{"output", "2.5"}}
		})},
}

func TestUnreadList(t *testing.T) {
	f := Facts{Unread: []Unread{{"input", "2.5"}, {"cached", `"a"`}}}
	if got := f.UnreadList(); got != `input=2.5 cached="a"` {
		t.Errorf("%q", got)
	}
	var c core
	c.Reset()
	c.count("cached", value(`{"a": [1,  2], "b": "`+strings.Repeat("x", 999)+`"}`))
	if got := c.facts.UnreadList(); strings.Contains(strings.TrimPrefix(got, "cached="), " ") || len(got) > maxUnreadList {
		t.Errorf("%q", got)
	}
	for range 3 {
		c.count("cached", value("-1"))
	}
	if got := c.facts.UnreadList(); got != "cached=-1" {
		t.Errorf("%q", got)
	}
}
