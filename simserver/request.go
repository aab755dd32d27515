package simserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"

	"tokentape/internal/sim"
)

// copyMarker in a request tells a prompt whose answer repeats a passage of it, so
// that drafted tokens are accepted at Options.CopyAcceptRate.
const copyMarker = "word for word"

// maxBody bounds a request body in bytes.
const maxBody = 64 << 20

// apiError is an error answer in SGLang's form.
type apiError struct {
	status int
	kind   string
	msg    string
}

func badRequest(format string, args ...any) *apiError {
	return &apiError{http.StatusBadRequest, "BadRequestError", fmt.Sprintf(format, args...)}
}

func (e *apiError) json() []byte {
	b, _ := json.Marshal(struct { // strings and numbers: cannot fail
		Object  string  `json:"object"`
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    int     `json:"code"`
	}{"error", e.msg, e.kind, nil, e.status})
	return b
}

// wireRequest is what is read of a body; everything else is accepted and ignored.
type wireRequest struct {
	Model               string          `json:"model"`
	Messages            []wireMessage   `json:"messages"`
	Prompt              json.RawMessage `json:"prompt"`
	Stream              bool            `json:"stream"`
	MaxTokens           *int64          `json:"max_tokens"`
	MaxCompletionTokens *int64          `json:"max_completion_tokens"`
	MinTokens           int64           `json:"min_tokens"`
	IgnoreEOS           bool            `json:"ignore_eos"`
	N                   *int64          `json:"n"`
	Seed                *int64          `json:"seed"`
	SpecDetails         bool            `json:"return_spec_tokens_details"`
	CachedDetails       bool            `json:"return_cached_tokens_details"`
	StreamOptions       *struct {
		IncludeUsage    bool `json:"include_usage"`
		ContinuousUsage bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
}

type wireMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// generation is a request that can be served.
type generation struct {
	chat            bool
	model           string
	stream          bool
	usage, everyUse bool
	details         bool   // counts of speculation in sglext
	tiers           bool   // cached tokens by tier in sglext
	sglang          bool   // at /generate: SGLang's form, not TGI's
	echo            string // Triton: the prompt, repeated before the output
	req             sim.Request
}

// defaultCompletionTokens is the API's max_tokens for completions.
const defaultCompletionTokens = 16

func (o *Options) parse(body []byte, chat bool) (*generation, *apiError) {
	var w wireRequest
	if err := json.Unmarshal(body, &w); err != nil {
		var te *json.UnmarshalTypeError
		if errors.As(err, &te) && te.Field != "" {
			return nil, badRequest("body.%s: input should be a valid %s, not %s", te.Field, te.Type, te.Value)
		}
		return nil, badRequest("body: JSON decode error: %v", err)
	}
	g := &generation{chat: chat, model: w.Model, stream: w.Stream, details: w.SpecDetails, tiers: w.CachedDetails}
	if g.model == "" {
		g.model = o.Model
	}
	if o.CheckModel && g.model != o.Model {
		return nil, &apiError{http.StatusNotFound, "NotFoundError", fmt.Sprintf("The model `%s` does not exist.", g.model)}
	}
	if w.N != nil && *w.N != 1 {
		return nil, badRequest("n must be 1: this simulated server makes one choice")
	}
	if so := w.StreamOptions; so != nil {
		g.usage, g.everyUse = so.IncludeUsage, so.IncludeUsage && so.ContinuousUsage
	}
	c := sim.NewCounter(o.PageSize)
	var bad *apiError
	if chat {
		bad = countChat(c, w.Messages)
	} else {
		bad = countPrompt(c, w.Prompt)
	}
	if bad != nil {
		return nil, bad
	}
	g.req.Prompt = c.Prompt()
	return g, o.limits(g, &w)
}

func (o *Options) limits(g *generation, w *wireRequest) *apiError {
	in := g.req.Prompt.Tokens
	if in >= o.Context {
		return badRequest("The input (%d tokens) is longer than the model's context length (%d tokens).", in, o.Context)
	}
	out := w.MaxTokens
	if w.MaxCompletionTokens != nil {
		out = w.MaxCompletionTokens
	}
	switch {
	case out != nil:
		g.req.MaxTokens = *out
	case g.chat:
		g.req.MaxTokens = o.Context - in
	default:
		g.req.MaxTokens = min(defaultCompletionTokens, o.Context-in)
	}
	switch {
	case g.req.MaxTokens < 1:
		return badRequest("max_tokens must be at least 1, got %d.", g.req.MaxTokens)
	case g.req.MaxTokens > o.Context-in:
		total := uint64(in) + uint64(g.req.MaxTokens)
		return badRequest("Requested token count exceeds the model's maximum context length of %d tokens. "+
			"You requested a total of %d tokens: %d tokens from the input messages and %d tokens for the completion. "+
			"Please reduce the number of tokens in the input messages or the completion to fit within the limit.",
			o.Context, total, in, g.req.MaxTokens)
	case w.MinTokens < 0 || w.MinTokens > g.req.MaxTokens:
		return badRequest("min_tokens must be in [0, max_tokens(%d)], got %d.", g.req.MaxTokens, w.MinTokens)
	}
	g.req.MinTokens, g.req.IgnoreEOS = w.MinTokens, w.IgnoreEOS
	if w.Seed != nil {
		g.req.Seed = uint64(*w.Seed)
	}
	return nil
}

func countChat(c *sim.Counter, messages []wireMessage) *apiError {
	if len(messages) == 0 {
		return badRequest("body.messages: at least one message is required.")
	}
	for i, m := range messages {
		if m.Role == "" {
			return badRequest("body.messages.%d.role: field required", i)
		}
		text, ok := contentText(m.Content)
		if !ok {
			return badRequest("body.messages.%d.content: input should be a string, null or a list of parts with a type", i)
		}
		c.Message(m.Role, text)
	}
	c.Reply()
	return nil
}

// contentText is a message's text; parts that are not text count nothing.
func contentText(raw json.RawMessage) (string, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return "", true
	}
	if raw[0] == '"' {
		var s string
		return s, json.Unmarshal(raw, &s) == nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", false
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type == "" {
			return "", false
		}
		b.WriteString(p.Text)
	}
	return b.String(), true
}

func countPrompt(c *sim.Counter, raw json.RawMessage) *apiError {
	var (
		text  string
		texts []string
		ids   []float64
		lists [][]float64
	)
	switch {
	case len(raw) == 0 || bytes.Equal(raw, []byte("null")):
		return badRequest("body.prompt: field required")
	case json.Unmarshal(raw, &text) == nil:
		c.Text(text)
	case json.Unmarshal(raw, &texts) == nil:
		if len(texts) != 1 {
			return badRequest("body.prompt: %d prompts in one request; this simulated server takes one", len(texts))
		}
		c.Text(texts[0])
	case json.Unmarshal(raw, &ids) == nil || json.Unmarshal(raw, &lists) == nil && len(lists) == 1:
		if lists != nil {
			ids = lists[0]
		}
		for _, id := range ids {
			if id != math.Trunc(id) || id < 0 || id > math.MaxInt32 {
				return badRequest("body.prompt: %v is no token id", id)
			}
			c.Token(uint64(id))
		}
	default:
		return badRequest("body.prompt: input should be a string, a list of one string, or token ids")
	}
	if c.Prompt().Tokens == 0 {
		return badRequest("The prompt is empty: at least one token is required.")
	}
	return nil
}
