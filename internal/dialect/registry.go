package dialect

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Setup is what a dialect has to know before the first request.
type Setup struct {
	Model  string // target.model; APIs whose path names the model need it
	Stream bool   // workload.stream; some APIs have a path for each
	Custom Custom // of api custom
}

// dialects are the known values of target.api.
var dialects = map[string]func(Setup) (Dialect, error){
	"openai-chat":        fixed(newOpenAI("openai-chat", "/v1/chat/completions", true)),
	"openai-completions": fixed(newOpenAI("openai-completions", "/v1/completions", false)),
	"openai-responses":   fixed(newResponses()),
	"anthropic-messages": fixed(newAnthropic()),
	"sglang-generate":    fixed(newSGLang()),
	"tgi":                newTGI,
	"ollama":             fixed(newOllama()),
	"llamacpp":           fixed(newLlamaCpp()),
	"triton-generate":    newTriton,
	"custom":             newCustom,
}

func fixed(d Dialect) func(Setup) (Dialect, error) {
	return func(Setup) (Dialect, error) { return d, nil }
}

// New is the dialect of that name. Its error lists the known ones, or says what
// the setup lacks.
func New(name string, s Setup) (Dialect, error) {
	if d, ok := dialects[name]; ok {
		return d(s)
	}
	return nil, fmt.Errorf("unknown api %q; known are %s", name, strings.Join(Names(), ", "))
}

// Get is New for streams of an API that needs no more setup.
func Get(name string) (Dialect, error) { return New(name, Setup{Stream: true}) }

// Names are the known dialects, sorted.
func Names() []string { return slices.Sorted(maps.Keys(dialects)) }

// pathOf fills the model into a path.
func pathOf(path, model, name string) (string, error) {
	if !strings.Contains(path, "{model}") {
		return path, nil
	}
	if model == "" {
		return "", fmt.Errorf("target.model is needed: the path of %s names it (%s)", name, path)
	}
	return strings.ReplaceAll(path, "{model}", url.PathEscape(model)), nil
}
