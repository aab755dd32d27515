package words

import (
	"regexp"
	"slices"
	"strings"
)

// names are what is the same in both languages: terms of the field, units, windows,
// phases, classes of outcomes, tools and commands. Lower case stands for any case.
var names = strings.Fields(`ttft ttfo tpot itl e2e slo token tokens tok tokenizer prefill decode usage n c r p pt sd
	ms s ns min h kb mb gb mib gib cpu gpu gc io api json csv svg html http https tls url id ids json curl keep-alive ttl kv pd
	whole steady stable bounded custom seconds rows prepare warmup measure tail probe
	ok timeout reset connect redirect aborted filtered client speculation failures bursts repeats attempts
	tokentape runs run.log explain report compare why show view plan doctor git
	holm hodges lehmann student aisbench aiperf vllm sglang openai llama-server prometheus go gogc gomaxprocs
	resolve connect tls models engine unified summary cgroup cancelled
	post get run cpus openai-chat sglang-generate stop length abort eos zero auto cycle decode prefill sim mix mixed router`)

var (
	// identifier is a word with something in it that no word of a sentence has.
	identifier = regexp.MustCompile(`(?:--)?[A-Za-z0-9]*(?:[_./:=@\\*{}$<>\[\]%+#?&~^|0-9]+-?[A-Za-z0-9]+)+[_./:=@\\*{}$<>\[\]%+#?&~^|0-9-]*|--[a-z][a-z-]*|[a-z0-9]+[_./]`)
	quoted     = regexp.MustCompile(`"[^"]*"|'[^']*'|` + "`[^`]*`")
	word       = regexp.MustCompile(`[A-Za-z]+(?:['’-][A-Za-z]+)*`)
)

// least is how many bytes of a text from outside are looked for: fewer are everywhere.
const least = 4

// English are the English words of a text that should be Chinese: all that are no
// names, units or identifiers, no quotes, and in none of the texts from outside. A test
// of a Chinese view wants none.
func English(text string, outside ...string) []string {
	slices.SortFunc(outside, func(a, b string) int { return len(b) - len(a) })
	for _, o := range outside {
		if len(o) >= least {
			text = strings.ReplaceAll(text, o, " ")
		}
	}
	text = quoted.ReplaceAllString(text, " ")
	text = identifier.ReplaceAllString(text, " ")
	var found []string
	for _, w := range word.FindAllString(text, -1) {
		if len(w) > 1 && !slices.Contains(names, strings.ToLower(w)) {
			found = append(found, w)
		}
	}
	return found
}
