package catalog

import (
	"slices"
	"strings"
)

// The words that a value can be, or that can stand for the * of a name. They are the
// tape's (analysis has a test that the two agree): a condition on another word would
// hold or miss whatever a run did.
var (
	// failures are the outcome classes of failed requests.
	failures = []string{
		"http_status", "connect", "timeout", "reset", "truncated_stream", "server_error", "malformed_stream", "event_too_large", "not_a_stream",
		"redirect", "empty_response", "filtered", "aborted", "client_limit", "unknown",
	}
	outcomes = slices.Concat([]string{"ok", "cancelled", "abandoned"}, failures)
	flags    = []string{"not_streamed", "no_done", "buffered", "compressed", "refusal", "retry_cut"}
	// finishes are the reasons of the APIs and engines that are spoken here. A server
	// of another may have its own: finish == "its own", in quotes.
	finishes = []string{
		"stop", "length", "tool_calls", "function_call", "content_filter", "abort", "error", "insufficient_system_resource",
		"end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded",
		"eos_token", "eos", "word", "limit", "load", "unload",
	}
	loops = []string{"closed", "open", "partly open"}
)

// stands reports whether rest can stand for the * of the entry's name.
func (e Entry) stands(rest string) bool {
	if e.Status {
		return len(rest) == 3 && strings.Trim(rest, "0123456789") == "" && rest[0] != '0'
	}
	return slices.Contains(e.Words, rest)
}

// pattern reports whether name stands for several names: its * or {n} was not filled.
func pattern(name string) bool { return strings.ContainsAny(name, "*{") }

// spelled are names with every word that their * can be, for suggestions.
func spelled(names []string) []string {
	var out []string
	for _, n := range names {
		head, ok := strings.CutSuffix(n, "*")
		e, found := Find(n)
		if !ok || !found {
			out = append(out, n)
			continue
		}
		words := e.Words
		if e.Status {
			words = []string{"429"}
		}
		for _, w := range words {
			out = append(out, head+w)
		}
	}
	return out
}

// WordOf reports whether an entry of this name and kind can be this word; true of an
// entry whose words are not known.
func WordOf(name string, kind Kind, word string) bool {
	e, ok := Find(name, kind)
	return !ok || e.Words == nil || slices.Contains(e.Words, word)
}
