package dialect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// dialects are the known values of target.api.
var dialects = map[string]Dialect{
	"openai-chat":        openAI{name: "openai-chat", path: "/v1/chat/completions", chat: true},
	"openai-completions": openAI{name: "openai-completions", path: "/v1/completions"},
}

// Get is the dialect of that name. Its error lists the known ones.
func Get(name string) (Dialect, error) {
	if d, ok := dialects[name]; ok {
		return d, nil
	}
	return nil, fmt.Errorf("unknown api %q; known are %s", name, strings.Join(Names(), ", "))
}

// Names are the known dialects, sorted.
func Names() []string { return slices.Sorted(maps.Keys(dialects)) }
