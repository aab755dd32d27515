package rows

import (
	"encoding/json"
	"strings"

	"tokentape/internal/workload"
	"tokentape/internal/workload/dataset"
)

// sharegpt is a conversation: a list of {from, value} (or {role, content}) by
// turns. The first human turn is asked, or with workload.dataset.turns all
// everything up to the last human turn. Conversations that ask nothing are
// common in such files: they are left out and counted.
var sharegpt = kind{
	what: "ShareGPT conversations",
	is:   func(row dataset.Row) bool { return has(row, "conversations") },
	item: shareGPTItem, fields: []string{"conversations"},
}

// Reasons for which a conversation is left out.
const (
	leftNone        = leaves("no_conversations") // the row has no list of turns
	leftEmpty       = leaves("empty")            // the list is empty, or holds a system message alone
	leftNoAnswer    = leaves("no_answer")        // the first human turn was never answered
	leftWrongOrder  = leaves("wrong_order")      // human and assistant do not take turns, human first
	leftEmptyPrompt = leaves("empty_prompt")
	leftRole        = leaves("unknown_role")
)

var shareRoles = map[string]string{
	"human": "user", "user": "user", "system": "system",
	"gpt": "assistant", "assistant": "assistant", "chatgpt": "assistant", "bing": "assistant", "bard": "assistant", "model": "assistant",
}

func shareGPTItem(s *Source, row dataset.Row, item *workload.Item) error {
	raw, ok := row.Fields.Get("conversations")
	if !ok || string(raw) == "null" {
		return leftNone
	}
	var list []struct{ From, Value, Role, Content string }
	if err := json.Unmarshal(structured(raw), &list); err != nil {
		return row.Issue(`it looks like [{"from": "human", "value": "…"}, {"from": "gpt", "value": "…"}]`, "conversations is not a list of turns: %v", err)
	}
	var turns []workload.Message
	for i, t := range list {
		role := shareRoles[strings.ToLower(t.From+t.Role)]
		switch {
		case role == "":
			return leftRole
		case role == "system" && i > 0:
			return leftWrongOrder
		}
		turns = append(turns, workload.Message{Role: role, Content: t.Value + t.Content})
	}
	var system []workload.Message
	if len(turns) > 0 && turns[0].Role == "system" {
		system, turns = turns[:1], turns[1:]
	}
	switch {
	case len(turns) == 0:
		return leftEmpty
	case turns[0].Role != "user":
		return leftWrongOrder
	case len(turns) == 1:
		return leftNoAnswer
	case turns[1].Role != "assistant":
		return leftWrongOrder
	}
	if s.w.Dataset.Turns != "all" {
		turns = turns[:1]
	}
	for i, t := range turns {
		if (t.Role == "user") != (i%2 == 0) {
			return leftWrongOrder
		}
		if t.Role == "user" && strings.TrimSpace(t.Content) == "" {
			return leftEmptyPrompt
		}
	}
	if turns[len(turns)-1].Role == "assistant" {
		turns = turns[:len(turns)-1]
	}
	item.Messages = append(system, turns...)
	if len(turns) == 1 {
		item.Prompt = turns[0].Content
	}
	return nil
}
