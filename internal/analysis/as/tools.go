package as

import (
	"fmt"
	"strings"
)

// Tool makes one tool's table. Errors: the run holds nothing that the tool could
// make a table of, and the message says what is missing.
type Tool func(*Run) (*Table, error)

// tools are all of them, in the order in which they are listed.
var tools = []struct {
	name string
	make Tool
}{
	{"aisbench", aisbench},
	{"aisbench@pre464", aisbenchPre464},
	{"vllm", vllm},
	{"sglang", sglang},
	{"aiperf", aiperf},
	{"guidellm", guidellm},
	{"evalscope", evalscope},
	{"inference-perf", inferencePerf},
}

// Tools are the names that Make knows.
func Tools() []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.name
	}
	return names
}

// Make is the table of the named tool. Errors: the name is unknown (the message
// lists those that are), the tape was imported from another tool that kept no
// events, or the tool's own.
func Make(tool string, r *Run) (*Table, error) {
	for _, t := range tools {
		if t.name != tool {
			continue
		}
		if own, _, _ := strings.Cut(tool, "@"); r.Imported != "" && r.Imported != own && !r.events() {
			// Zeros that look measured would come of it.
			return nil, fmt.Errorf("%s: the tape was imported from %s, which does not record what events carried; of the tools only %s can be shown", tool, r.Imported, r.Imported)
		}
		if r.Untimed {
			return nil, fmt.Errorf("%s: the tape was imported from %s, which did not record when requests were sent, and every tool's tables hold rates", tool, r.Imported)
		}
		table, err := t.make(r)
		if err == nil && r.gaps.runs > 1 {
			table.caveat(true, r.gaps.caveat())
		}
		return table, err
	}
	return nil, fmt.Errorf("no definitions of %q; known: %s", tool, strings.Join(Tools(), ", "))
}
