package rows

import (
	"encoding/json"
	"sort"

	"tokentape/internal/workload"
	"tokentape/internal/workload/dataset"
)

// messages reads the field "messages" in the form of the OpenAI chat API. Parts
// of it that a workload.Message cannot carry are errors: leaving them out would
// change what is asked.
func messages(row dataset.Row) ([]workload.Message, error) {
	raw, _ := row.Fields.Get("messages")
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || len(list) == 0 {
		return nil, row.Issue(`it looks like [{"role": "user", "content": "…"}]`, "messages is not a list of at least one message")
	}
	out := make([]workload.Message, len(list))
	for i, m := range list {
		for _, name := range sortedKeys(m) {
			if name != "role" && name != "content" && string(m[name]) != "null" {
				return nil, row.Issue("only role and content are sent; take the field out if the prompt is complete without it",
					"messages[%d] has %q, which cannot be sent", i, name)
			}
		}
		if json.Unmarshal(m["role"], &out[i].Role) != nil || out[i].Role == "" {
			return nil, row.Issue("give each message a role: system, user or assistant", "messages[%d] has no role", i)
		}
		content := m["content"]
		if len(content) > 0 && content[0] == '[' {
			return nil, row.Issue("write the content as one string", "messages[%d].content is a list of parts (multimodal), which cannot be sent yet", i)
		}
		if len(content) == 0 || content[0] != '"' || json.Unmarshal(content, &out[i].Content) != nil {
			return nil, row.Issue("give each message its text", "messages[%d].content is not a string", i)
		}
	}
	if out[len(out)-1].Role == "assistant" {
		return nil, row.Issue("take the answer out, for example with: jq -c '.messages |= .[:-1]'",
			"messages ends with the assistant's answer, so there is nothing to ask")
	}
	return out, nil
}

func sortedKeys(m map[string]json.RawMessage) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
