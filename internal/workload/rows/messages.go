package rows

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"

	"tokentape/internal/workload"
	"tokentape/internal/workload/dataset"
)

// messagesKind is a row in the form of the OpenAI chat API: its "messages", with
// parts (text, images by URL or as base64), tool calls and names, and the fields
// beside them that are part of what is asked.
var messagesKind = kind{item: messagesItem, what: "messages", fields: append([]string{"messages"}, chatFields...)}

// chatFields stand beside the messages in a request of the OpenAI chat API and
// are sent as they are. Any other field of a row, such as an id or the model that
// once answered, is not.
var chatFields = []string{
	"tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "response_format",
	"temperature", "top_p", "top_k", "min_p", "n", "stop", "seed", "presence_penalty", "frequency_penalty", "repetition_penalty",
	"logit_bias", "logprobs", "top_logprobs", "reasoning_effort", "chat_template_kwargs", "ignore_eos", "min_tokens", "max_completion_tokens",
}

func messagesItem(_ *Source, row dataset.Row, item *workload.Item) (err error) {
	if item.Messages, err = messages(row); err != nil {
		return err
	}
	for _, name := range chatFields {
		if raw, ok := given(row, name); ok {
			setExtra(item, name, structured(raw))
		}
	}
	return nil
}

// messages reads the field "messages".
func messages(row dataset.Row) ([]workload.Message, error) {
	raw, _ := row.Fields.Get("messages")
	var list []json.RawMessage
	if err := json.Unmarshal(structured(raw), &list); err != nil || len(list) == 0 {
		return nil, row.Issue(`it looks like [{"role": "user", "content": "…"}]`, "messages is not a list of at least one message")
	}
	out := make([]workload.Message, len(list))
	for i, raw := range list {
		var err error
		if out[i], err = message(row, i, raw); err != nil {
			return nil, err
		}
	}
	if out[len(out)-1].Role == "assistant" {
		return nil, row.Issue("take the answer out, for example with: jq -c '.messages |= .[:-1]'",
			"messages ends with the assistant's answer, so there is nothing to ask")
	}
	return out, nil
}

func message(row dataset.Row, i int, raw json.RawMessage) (m workload.Message, err error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || json.Unmarshal(fields["role"], &m.Role) != nil || m.Role == "" {
		return m, row.Issue("give each message a role: system, user, assistant or tool", "messages[%d] has no role", i)
	}
	plain := true
	for name, v := range fields {
		plain = plain && (name == "role" || name == "content" || string(v) == "null")
	}
	content := fields["content"]
	switch {
	case len(content) > 0 && content[0] == '"':
		_ = json.Unmarshal(content, &m.Content) // a text, by its first byte
	case len(content) > 0 && content[0] == '[':
		plain = false
		if m.Content, err = parts(row, i, content); err != nil {
			return m, err
		}
	case (len(content) == 0 || string(content) == "null") && (fields["tool_calls"] != nil || fields["function_call"] != nil):
	default:
		return m, row.Issue("give each message its text, or a list of parts", "messages[%d].content is neither a string nor a list", i)
	}
	if plain {
		return m, nil
	}
	var one bytes.Buffer
	if err := json.Compact(&one, raw); err != nil {
		return m, row.Issue("", "messages[%d]: %v", i, err)
	}
	m.Raw = one.Bytes()
	return m, nil
}

// parts checks the parts of a message, and gives the text of them.
func parts(row dataset.Row, i int, content json.RawMessage) (string, error) {
	var list []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal(content, &list); err != nil || len(list) == 0 {
		return "", row.Issue(`such as [{"type": "text", "text": "…"}, {"type": "image_url", "image_url": {"url": "…"}}]`,
			"messages[%d].content is not a list of parts", i)
	}
	var text []string
	for k, p := range list {
		switch p.Type {
		case "":
			return "", row.Issue(`give each part a type, such as "text" or "image_url"`, "messages[%d].content[%d] has no type", i, k)
		case "text":
			text = append(text, p.Text)
		case "image_url":
			if why := badImage(p.ImageURL.URL); why != "" {
				return "", row.Issue("give http(s)://…, or data:image/png;base64,… made with: base64 -w0 FILE", "messages[%d].content[%d].image_url.url %s", i, k, why)
			}
		}
	}
	return strings.Join(text, "\n"), nil
}

// badImage says why a server cannot have an image, or "".
func badImage(url string) string {
	lower := strings.ToLower(url[:min(len(url), 8)])
	switch {
	case url == "":
		return "is empty"
	case strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://"):
		return ""
	case !strings.HasPrefix(lower, "data:"):
		return "is neither a URL nor data: " + short([]byte(url))
	}
	head, data, ok := strings.Cut(url, ",")
	if !ok || data == "" {
		return "holds no data"
	}
	if !strings.HasSuffix(head, ";base64") {
		return "is not base64: " + short([]byte(head))
	}
	if _, err := io.Copy(io.Discard, base64.NewDecoder(base64.StdEncoding, strings.NewReader(data))); err != nil {
		return "is not base64: " + err.Error()
	}
	return ""
}
