package probe

import (
	"fmt"
	"strings"

	"tokentape/internal/dialect"
	"tokentape/tape"
)

// Neutral prompts. Of the first two one wants a short answer, the other a long one.
const (
	shortPrompt = "Answer with one word: is water wet?"
	longPrompt  = "Count from one to two hundred in words, separated by commas."
)

// fresh is a prompt that begins as no other of the same probe, so that requests that
// ask alike find nothing of each other in a prefix cache but the chat template.
func (b *battery) fresh(prompt string) string {
	b.asked++
	return fmt.Sprintf("%c) %s", 'A'+rune(b.asked-1), prompt)
}

// Output tokens that the requests ask for.
const (
	streamOutput = 24
	fieldOutput  = 8
	leastOutput  = 24 // of min_tokens
	cacheOutput  = 4
)

// sampling fields by API, where it has one; the engines behind one API may still
// not know it.
var (
	eosFields = map[string]string{"openai-chat": "ignore_eos", "openai-completions": "ignore_eos", "sglang-generate": "ignore_eos", "llamacpp": "ignore_eos"}
	minFields = map[string]string{"openai-chat": "min_tokens", "openai-completions": "min_tokens", "sglang-generate": "min_new_tokens"}
)

// templated are the APIs whose servers put a chat template around a message.
var templated = map[string]bool{"openai-chat": true, "openai-responses": true, "anthropic-messages": true, "ollama": true}

// repeated is a prompt of n words that a tokenizer takes one by one.
func repeated(word string, n int) string {
	return strings.TrimSuffix(strings.Repeat(word+" ", n), " ")
}

// grownWords make up the prompts that find the template's overhead, a word each.
var grownWords = [3]string{"the", "and", "of"}

// run asks one question after the other.
func (b *battery) run(what string) {
	f, api := b.found, b.Stream.Name()
	f.eosField, f.leastField = eosFields[api], minFields[api]
	if what == Short || what == Cache {
		const why = "not asked: tokentape probe does"
		f.unasked(f.eosField, why)
		f.unasked(f.leastField, why)
		if f.unasked("chat_overhead", why); !templated[api] {
			f.unasked("chat_overhead", api+" sends plain text: there is no chat template")
		}
	}
	f.whole = b.send(question{step: "whole", prompt: b.fresh(shortPrompt), output: maxOutput})
	f.stream = b.send(question{step: "stream", stream: true, prompt: b.fresh(longPrompt), output: streamOutput})
	switch what {
	case Short, Cache:
		if b.failed != nil {
			return
		}
	}
	if what == Full || what == Whole {
		b.full()
	}
	if what == Cache || what == Whole {
		b.cache()
	} else {
		f.unasked("cached_tokens", "the same long prompt was not sent twice: --probe cache does, and touches the server's prefix cache")
	}
}

// full asks what can be known without a hit in the cache.
func (b *battery) full() {
	f, api := b.found, b.Stream.Name()
	f.field = ""
	if d, ok := b.Stream.(dialect.Bounding); ok {
		f.field = d.LengthField(dialect.Options{LengthField: b.LengthField})
	}
	other := map[string]string{"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}[f.field]
	if other != "" && (api == "openai-chat" || api == "openai-completions") {
		f.other = b.send(question{step: other, stream: true, prompt: b.fresh(longPrompt), output: fieldOutput, field: other, may: b.found.accepted(nil)})
	}
	try := func(fields map[string]string, value any) *reply {
		name := fields[api]
		if name == "" {
			return nil
		}
		return b.send(question{step: name, stream: true, prompt: b.fresh(shortPrompt), output: maxOutput, extra: map[string]any{name: value}, may: b.found.accepted(nil)})
	}
	f.eos = try(eosFields, true)
	f.least = try(minFields, leastOutput)
	if !templated[api] {
		f.unasked("chat_overhead", api+" sends plain text: there is no chat template")
		return
	}
	for i := range f.grown {
		prompt := repeated(grownWords[i], words(i))
		f.grown[i] = b.send(question{step: fmt.Sprintf("template, %d words", words(i)), prompt: prompt, output: 1})
		if b.Content != nil {
			if n, err := b.Content(prompt); err == nil {
				f.content[i] = tape.Some(n)
			}
		}
	}
}

// words is the length of the prompts that find the template's overhead.
func words(i int) int { return 8 << i }

// cacheWords is the length of the prompt that is sent twice: beyond the largest page
// of a prefix cache, and within half of the context where that is known.
func (b *battery) cacheWords() int {
	n := 1200
	if b.Look != nil && b.Look.Context.Tokens > 0 {
		n = min(n, int(b.Look.Context.Tokens/4))
	}
	return max(n, 8)
}

// cache sends a long prompt twice.
func (b *battery) cache() {
	n := b.cacheWords()
	for {
		// Words of one token where the model has any vocabulary; what makes the prompt
		// new stands at its beginning, since caches go by prefixes.
		prompt := "Note " + b.Nonce + ". " + repeated("the", n) + ". Answer with one word: is water wet?"
		first := b.send(question{step: "cache, first", stream: true, prompt: prompt, output: cacheOutput, may: n > 100 && b.found.accepted(nil)})
		if first.refused() && n > 100 && b.found.accepted(nil) { // too long, in all likelihood
			n /= 4
			continue
		}
		b.found.first = first
		b.found.second = b.send(question{step: "cache, again", stream: true, prompt: prompt, output: cacheOutput})
		return
	}
}
